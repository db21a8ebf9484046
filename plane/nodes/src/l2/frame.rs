//! A frame on its way out: to an interface with its tags, or into a pseudowire with its labels.

use super::tags;
use crate::interfaces::{Input, Row};
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

/// Gives a frame without service tags those of the interface (`Meta::transmit` is the caller's).
#[inline]
pub(crate) fn to_interface(packets: &mut Pool, slot: Slot, out: &Row) -> Result<(), Refused> {
    if out.input == Input::Nothing {
        return Err(Refused::Down);
    }
    if usize::from(packets.meta(slot).length) > usize::from(out.mtu) + HEADER {
        return Err(Refused::Length);
    }
    if tags::put_on(packets, slot, out) { Ok(()) } else { Err(Refused::Length) }
}

/// Puts a pseudowire's labels before a frame without service tags, and sets `Meta::transmit`.
#[inline]
pub(crate) fn to_pseudowire(
    packets: &mut Pool,
    slot: Slot,
    hop: u32,
    (hops, reader): (&HopLookups, &Reader),
) -> Result<u32, Refused> {
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
