//! Service tags on and off a frame (IEEE 802.1Q §9): inside, a frame has none; each interface
//! puts its own on. Priority and drop eligibility are the packet's class and colour meanwhile.

use super::frame::Refused;
use crate::interfaces::{Input, Row};
use graph::{Pool, Slot};

/// Octets of a tag.
pub(crate) const TAG: usize = 4;
/// Octets of both addresses.
const ADDRESSES: usize = 12;
/// Octets of an Ethernet header without tags.
pub(crate) const HEADER: usize = 14;

/// Takes `tags` tags off; false if the frame is too short for them.
#[inline]
pub(crate) fn take_off(packets: &mut Pool, slot: Slot, tags: u8) -> bool {
    if tags == 0 {
        return true;
    }
    let gone = usize::from(tags) * TAG;
    let (meta, octets) = packets.packet_mut(slot);
    if octets.len() < HEADER + gone {
        return false;
    }
    let control = u16::from_be_bytes([octets[ADDRESSES + 2], octets[ADDRESSES + 3]]);
    meta.class = (control >> 13) as u8;
    meta.colour = meta.colour.max((control >> 12) as u8 & 1);
    octets.copy_within(..ADDRESSES, gone);
    meta.offset += gone as u16;
    meta.length -= gone as u16;
    true
}

/// Puts an interface's tags on; false if there is no room.
#[inline]
pub(crate) fn put_on(packets: &mut Pool, slot: Slot, row: &Row) -> bool {
    let tags = usize::from(row.tags);
    if tags == 0 {
        return true;
    }
    let meta = packets.meta_mut(slot);
    let Some(offset) = usize::from(meta.offset).checked_sub(tags * TAG) else { return false };
    meta.offset = offset as u16;
    meta.length += (tags * TAG) as u16;
    let marks = u16::from(meta.class & 7) << 13 | u16::from(meta.colour != 0) << 12;
    let cell = &mut packets.cell_mut(slot)[offset..];
    cell.copy_within(tags * TAG..tags * TAG + ADDRESSES, 0);
    for nth in 0..tags {
        let control = marks | row.vlans[nth] & 0xfff;
        let kind = if nth + 1 < tags { SERVICE } else { CUSTOMER };
        let at = ADDRESSES + nth * TAG;
        cell[at..at + 2].copy_from_slice(&kind.to_be_bytes());
        cell[at + 2..at + 4].copy_from_slice(&control.to_be_bytes());
    }
    true
}

/// The outer tag of two (IEEE 802.1Q table 9-1).
const SERVICE: u16 = 0x88a8;
/// The only tag, or the inner of two.
const CUSTOMER: u16 = 0x8100;

/// The only tag of a frame becomes that of another interface, in place.
#[inline]
pub(crate) fn exchange(packets: &mut Pool, slot: Slot, out: &Row) -> Result<(), Refused> {
    let (meta, octets) = packets.packet_mut(slot);
    if out.input == Input::Nothing {
        return Err(Refused::Down);
    }
    if octets.len() > usize::from(out.mtu) + HEADER + TAG {
        return Err(Refused::Length);
    }
    let Some(header) = octets.first_chunk_mut::<{ HEADER + TAG }>() else {
        return Err(Refused::Length);
    };
    let marks = header[ADDRESSES + 2] & 0xf0;
    meta.class = marks >> 5;
    meta.colour = meta.colour.max(marks >> 4 & 1);
    let [high, low] = (out.vlans[0] & 0xfff).to_be_bytes();
    [header[ADDRESSES], header[ADDRESSES + 1]] = CUSTOMER.to_be_bytes();
    [header[ADDRESSES + 2], header[ADDRESSES + 3]] = [marks | high, low];
    Ok(())
}
