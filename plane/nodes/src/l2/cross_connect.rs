//! `cross-connect`: every frame of an interface goes one way (VPWS, RFC 4448 §4): out of another
//! interface, whose tags replace its own, or into a pseudowire.

use super::frame::{self, Refused};
use super::tags;
use crate::arcs::OUT;
use crate::interfaces::{Interfaces, NONE};
use crate::view::Shared;
use graph::{Context, Node, Pool, Reason, Row, Slot, VECTOR_MAX};
use table::epoch::Reader;
use table::hop::Kind;

const NO_HOP: Reason = Reason(0);
const DOWN: Reason = Reason(1);
const TOO_LONG: Reason = Reason(2);

/// The node.
pub struct CrossConnect {
    shared: Shared,
}

impl CrossConnect {
    /// The node of one worker.
    pub fn new(shared: Shared) -> Self {
        Self { shared }
    }

    #[inline]
    fn connect(
        &self,
        interfaces: &Interfaces,
        reader: &Reader,
        packets: &mut Pool,
        slot: Slot,
    ) -> Result<(), Reason> {
        let (meta, cell) = packets.parts(slot);
        let swap = interfaces.swap(meta.interface);
        if swap.to != NONE {
            return tags::exchange(meta, cell, swap).map_err(reason);
        }
        let row = interfaces.row(meta.interface);
        let line = self.shared.hops.resolve(reader, row.hop, 0);
        if row.peer != NONE || line.kind == Kind::CrossConnect {
            let to = if row.peer == NONE { line.argument } else { row.peer };
            let out = interfaces.row(to);
            return tags::replace(meta, cell, row.tags, to, out).map_err(reason);
        }
        if line.kind != Kind::Rewrite {
            return Err(NO_HOP);
        }
        let hops = &self.shared.hops;
        let out = frame::to_pseudowire(packets, slot, row.tags, row.hop, hops, reader);
        let out = out.map_err(reason)?;
        let length = usize::from(packets.meta(slot).length);
        if length > frame::limit(interfaces.row(out)) { Err(TOO_LONG) } else { Ok(()) }
    }
}

fn reason(refused: Refused) -> Reason {
    match refused {
        Refused::Down => DOWN,
        Refused::Length => TOO_LONG,
    }
}

impl Node for CrossConnect {
    fn row(&self) -> Row {
        let reasons =
            &["no way on", "interface is down", "cut short or longer than the interface sends"];
        Row::of("cross-connect", &[], reasons)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let interfaces = self.shared.interfaces.read(cx.reader);
        let (mut out, mut count) = ([Slot(0); VECTOR_MAX], 0);
        for slot in batch {
            match self.connect(interfaces, cx.reader, cx.packets, *slot) {
                Ok(()) => {
                    out[count % VECTOR_MAX] = *slot;
                    count += 1;
                }
                Err(reason) => cx.next.drop(*slot, reason),
            }
        }
        cx.next.start(OUT, &out[..count], cx.packets);
    }

    fn trace(&self, packets: &Pool, slot: Slot, note: &mut String) {
        use std::fmt::Write;
        let meta = packets.meta(slot);
        // Writing to a string does not fail.
        let _ = write!(note, "interface {} → {}", meta.interface, meta.transmit);
    }
}
