//! `llc-input`: frames of IEEE 802.2 (LLC) of a routed interface. Those of IS-IS, to a group in
//! which its systems listen, by an interface that speaks it, are policed and go up to the control
//! plane as whole frames, without the tags of their interface; nobody here takes others.
//!
//! ```text
//!   6 destination │ 6 source │ tags │ 2 length │ FE FE 03 │ PDU │ what fills the frame
//! ```

use crate::header::{ETHERNET, TAG, short, word};
use crate::program::Class;
use crate::protection::{Asker, Standing};
use crate::view::Shared;
use graph::meta::PUNTED;
use graph::{Context, Node, Reason, Row, Slot};
use machine::narrow::index;

/// What stands in front of a PDU of OSI's network layer (ISO 8802-2).
const OSI: [u8; 3] = [0xfe, 0xfe, 0x03];
/// Groups of systems of level 1, of level 2, and of both (ISO 10589 §8.4.8, RFC 5309).
const GROUPS: [[u8; 6]; 3] =
    [[1, 0x80, 0xc2, 0, 0, 0x14], [1, 0x80, 0xc2, 0, 0, 0x15], [9, 0, 0x2b, 0, 0, 5]];
/// Octets of the two addresses.
const ADDRESSES: usize = 12;

const CUT: Reason = Reason(0);
const NOT_OURS: Reason = Reason(1);
const POLICED: Reason = Reason(2);
const UNSPOKEN: Reason = Reason(3);
const REASONS: &[&str] = &[
    "llc frame is cut",
    "llc frame is none of isis",
    "policed: isis, as frames",
    "isis is not spoken there",
];

/// The node.
pub struct LlcInput {
    shared: Shared,
}

impl LlcInput {
    /// The node of one worker.
    #[must_use]
    pub const fn new(shared: Shared) -> Self {
        Self { shared }
    }

    fn judged(&self, slot: Slot, cx: &mut Context<'_>) -> Result<(), Reason> {
        let meta = cx.packets.meta(slot);
        let (interface, skipped) = (meta.interface, TAG * meta.words[0] as usize);
        let frame = cx.packets.bytes(slot);
        let body = ADDRESSES + skipped + 2;
        let length = usize::from(word(frame, body - 2));
        let llc = frame.get(body..).and_then(|rest| rest.get(..length)).ok_or(CUT)?;
        let is_isis = llc.starts_with(&OSI) && GROUPS.iter().any(|it| frame.starts_with(it));
        if !is_isis {
            return Err(NOT_OURS);
        }
        if !self.shared.interfaces.read(cx.reader).row(interface).speaks(Class::Isis) {
            return Err(UNSPOKEN);
        }
        let [a, b, c, d, e, f] = *frame[6..].first_chunk().ok_or(CUT)?;
        let source = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
        // Frames like these are not routed: who sends them is on this link.
        let asker = Asker { class: Class::Isis, source, interface, standing: Standing::Near };
        let rows = self.shared.protection.read(cx.reader);
        if !self.shared.admitted.admits(rows, asker, cx.now) {
            return Err(POLICED);
        }
        let (meta, cell) = cx.packets.parts(slot);
        let start = usize::from(meta.offset);
        cell.copy_within(start..start + ADDRESSES, start + skipped);
        meta.offset += index(skipped);
        meta.length = short(ETHERNET) + index(length);
        meta.l3 = meta.offset;
        meta.words[0] = Class::Isis as u32;
        meta.flags |= PUNTED;
        Ok(())
    }
}

impl Node for LlcInput {
    fn row(&self) -> Row {
        Row::of("llc-input", &[], REASONS)
    }

    fn process(&mut self, batch: &[Slot], cx: &mut Context<'_>) {
        for slot in batch {
            match self.judged(*slot, cx) {
                Ok(()) => cx.out.punt(*slot),
                Err(reason) => cx.next.drop(*slot, reason),
            }
        }
    }
}
