//! `cross-connect`: every frame of an interface goes one way (VPWS, RFC 4448 §4): out of another
//! interface, whose tags replace its own, or into a pseudowire.

use super::frame::{self, Refused};
use super::tags;
use crate::arcs::OUT;
use crate::interfaces::Interfaces;
use crate::services::Views;
use graph::{Context, Node, Pool, Reason, Row, Slot};
use table::epoch::Reader;
use table::hop::Kind;

const SHORT: Reason = Reason(0);
const NO_HOP: Reason = Reason(1);
const DOWN: Reason = Reason(2);
const TOO_LONG: Reason = Reason(3);

/// The node.
pub(crate) struct CrossConnect {
    views: Views,
    out: Vec<Slot>,
}

impl CrossConnect {
    pub(crate) fn new(views: Views) -> Self {
        Self { views, out: Vec::new() }
    }

    #[inline]
    fn connect(
        &self,
        interfaces: &Interfaces,
        reader: &Reader,
        packets: &mut Pool,
        slot: Slot,
    ) -> Result<(), Reason> {
        let row = interfaces.row(packets.meta(slot).interface);
        let line = self.views.hops.resolve(reader, row.hop, 0);
        if line.kind == Kind::CrossConnect {
            let out = interfaces.row(line.argument);
            packets.meta_mut(slot).transmit = line.argument;
            return match row.tags == 1 && out.tags == 1 {
                true => tags::exchange(packets, slot, out).map_err(reason),
                false if !tags::take_off(packets, slot, row.tags) => Err(SHORT),
                false => frame::to_interface(packets, slot, out).map_err(reason),
            };
        }
        if line.kind != Kind::Rewrite {
            return Err(NO_HOP);
        }
        if !tags::take_off(packets, slot, row.tags) {
            return Err(SHORT);
        }
        let hops = (&*self.views.hops, reader);
        let out = frame::to_pseudowire(packets, slot, row.hop, hops).map_err(reason)?;
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
            &["cut short", "no way on", "interface is down", "longer than the interface sends"];
        Row::of("cross-connect", &[], reasons)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        let mut out = std::mem::take(&mut self.out);
        let interfaces = self.views.interfaces.read(cx.reader);
        for slot in batch {
            match self.connect(interfaces, cx.reader, cx.packets, *slot) {
                Ok(()) => out.push(*slot),
                Err(reason) => cx.next.drop(*slot, reason),
            }
        }
        cx.next.start(OUT, &out, cx.packets);
        out.clear();
        self.out = out;
    }

    fn trace(&self, packets: &Pool, slot: Slot, note: &mut String) {
        use std::fmt::Write;
        let meta = packets.meta(slot);
        // Writing to a string does not fail.
        let _ = write!(note, "interface {} → {}", meta.interface, meta.transmit);
    }
}
