//! `interface-output`: the end of every frame's way; counted by interface, handed to its port, or
//! to the bridge domain whose routed side the interface is.

use crate::interfaces::{INTO_BRIDGE, NO_PORT};
use crate::plane::Shared;
use graph::{Context, Edge, Node, Reason, Row, Slot, VECTOR_MAX};

const TO_BRIDGE: Edge = Edge(0);
const DOWN: Reason = Reason(0);

/// The node.
pub struct InterfaceOutput {
    shared: Shared,
}

impl InterfaceOutput {
    /// The node of one worker.
    #[must_use]
    pub const fn new(shared: Shared) -> Self {
        Self { shared }
    }
}

impl Node for InterfaceOutput {
    fn row(&self) -> Row {
        Row::of("interface-output", &["bridge-input"], &["interface is down"])
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let interfaces = self.shared.interfaces.read(cx.reader);
        let counters = &self.shared.counters;
        let first = cx.packets.meta(batch[0]).transmit;
        let (mut odd, mut octets) = (0, 0);
        for slot in batch {
            let meta = cx.packets.meta(*slot);
            odd |= meta.transmit ^ first;
            octets += u64::from(meta.length);
        }
        let port = interfaces.out(first);
        if odd == 0 && cx.out.send_all(usize::from(port), batch).is_ok() {
            return counters.sent(first, batch.len() as u64, octets);
        }
        let mut ports = [port; VECTOR_MAX];
        let ports = &mut ports[..batch.len()];
        for (slot, port) in batch.iter().zip(&mut *ports) {
            let meta = cx.packets.meta(*slot);
            *port = interfaces.out(meta.transmit);
            // Without a branch: which of several interfaces comes next is anybody's guess.
            let is_sent = u64::from(*port != NO_PORT);
            counters.sent(meta.transmit, is_sent, is_sent * u64::from(meta.length));
        }
        let odd = ports.iter().fold(0, |odd, other| odd | (other ^ port));
        if odd == 0 && cx.out.send_all(usize::from(port), batch).is_ok() {
            return;
        }
        for (slot, port) in batch.iter().zip(ports) {
            if *port == INTO_BRIDGE {
                // What the routed side sends is a frame that comes from there.
                let meta = cx.packets.meta_mut(*slot);
                meta.interface = meta.transmit;
                cx.next.to(TO_BRIDGE, *slot);
                continue;
            }
            if let Err(slot) = cx.out.send(usize::from(*port), *slot) {
                cx.next.drop(slot, DOWN);
            }
        }
    }
}
