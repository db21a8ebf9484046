//! A frame on its way out: to an interface with its tags, or into a pseudowire with its labels.

use super::tags;
use crate::interfaces::Row;
use crate::mpls::hash;
use crate::mpls::push::{LABELLED, PIPE_TTL, Seal, seal};
use graph::{Pool, Slot};
use table::epoch::Reader;
use table::hop::{HopLookups, Kind};

pub(crate) use super::tags::HEADER;

/// The flag of `Meta::flags` that says: the frame came by a pseudowire (`Meta::words[0]`).
pub(crate) const FROM_PSEUDOWIRE: u16 = 1 << 12;

/// Why a frame does not leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// There is no such interface or hop, or it is down.
    Down,
    /// It is longer than the interface sends.
    Length,
}

/// Octets of the longest frame that an interface sends, with its tags.
#[inline]
pub(crate) fn limit(out: &Row) -> usize {
    usize::from(out.mtu) + HEADER + usize::from(out.tags) * tags::TAG
}

/// Takes a frame's tags off, puts a pseudowire's labels before it, and sets `Meta::transmit`.
#[inline]
pub(crate) fn to_pseudowire(
    packets: &mut Pool,
    slot: Slot,
    tags: u8,
    hop: u32,
    hops: &HopLookups,
    reader: &Reader,
) -> Result<u32, Refused> {
    let (meta, cell) = packets.parts(slot);
    if !tags::take_off(meta, cell, tags) {
        return Err(Refused::Length);
    }
    let flow = hash::of_frame(packets.bytes(slot));
    let line = hops.resolve(reader, hop, flow);
    if line.kind != Kind::Rewrite || line.next & LABELLED == 0 {
        return Err(Refused::Down);
    }
    let (meta, cell) = packets.parts(slot);
    // A frame has no time to live: whatever the model, that of its labels is that of a pipe.
    let marks = Seal { ttl: PIPE_TTL, swapped: false, class: meta.class, bottom: true, hash: flow };
    if !seal(meta, cell, line, marks) {
        return Err(Refused::Length);
    }
    meta.transmit = line.interface;
    Ok(line.interface)
}
