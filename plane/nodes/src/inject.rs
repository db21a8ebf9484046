//! `inject`: packets from the host's side. With `Meta::transmit` set they are frames, ready to
//! leave; without, IP packets that are routed in the table `Meta::vrf`.

use crate::arcs::OUT;
use crate::frame::header_octets;
use crate::view::Shared;
use graph::meta::{HOSTED, OWN};
use graph::{Context, Edge, Node, Reason, Row, Slot};

const TO_LOOKUP4: Edge = Edge(0);
const TO_LOOKUP6: Edge = Edge(1);
const NEITHER: Reason = Reason(0);
const REASONS: &[&str] = &["injected packet is neither ip4 nor ip6"];

/// The node.
pub struct Inject {
    shared: Shared,
}

impl Inject {
    /// The node of one worker.
    #[must_use]
    pub const fn new(shared: Shared) -> Self {
        Self { shared }
    }
}

impl Node for Inject {
    fn row(&self) -> Row {
        Row::of("inject", &["ip4-lookup", "ip6-lookup"], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let interfaces = self.shared.interfaces.read(cx.reader);
        for slot in batch {
            let version = cx.packets.bytes(*slot).first().map(|first| first >> 4);
            let octets = cx.packets.bytes(*slot).len();
            if cx.packets.meta(*slot).flags & HOSTED != 0 {
                self.shared.admitted.connections.sent(cx.packets.bytes(*slot), cx.now);
            }
            let meta = cx.packets.meta_mut(*slot);
            meta.flags |= OWN;
            match version {
                _ if meta.transmit != 0 => {
                    meta.l3 = meta.offset + header_octets(interfaces.row(meta.transmit));
                    cx.next.start(OUT, &[*slot], cx.packets);
                }
                Some(4) if octets >= crate::header::IP4 => cx.next.to(TO_LOOKUP4, *slot),
                Some(6) if octets >= crate::header::IP6 => cx.next.to(TO_LOOKUP6, *slot),
                _ => cx.next.drop(*slot, NEITHER),
            }
        }
    }
}
