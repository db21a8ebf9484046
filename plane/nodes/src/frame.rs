//! Frames that the plane makes itself.

use crate::header::{ETHERNET, TAG, TYPE_SERVICE, TYPE_VLAN, short};
use crate::interfaces::Row as Link;
use crate::program::Mac;
use graph::{HEADROOM, Pool, Slot};
use machine::narrow::index;

/// Octets of the Ethernet header of an interface, with its tags.
#[must_use]
pub fn header_octets(link: &Link) -> u16 {
    short(ETHERNET) + u16::from(link.tags) * short(TAG)
}

/// The Ethernet header of an interface's frames to a neighbour: what a rewrite is.
#[must_use]
pub fn header(link: &Link, to: Mac, ethertype: u16) -> Vec<u8> {
    let mut made = Vec::with_capacity(header_octets(link).into());
    made.extend(to);
    made.extend(link.mac);
    for (nth, vlan) in link.vlans.iter().take(usize::from(link.tags)).enumerate() {
        let is_service = nth == 0 && link.tags == 2;
        let tag = if is_service { TYPE_SERVICE } else { TYPE_VLAN };
        made.extend(tag.to_be_bytes());
        made.extend(vlan.to_be_bytes());
    }
    made.extend(ethertype.to_be_bytes());
    made
}

/// A frame of an interface.
#[must_use]
pub fn ethernet(link: &Link, to: Mac, ethertype: u16, packet: &[u8]) -> Vec<u8> {
    let mut made = header(link, to, ethertype);
    made.extend_from_slice(packet);
    made
}

/// Makes the packet in a cell another one; false if it is too long for the cell.
pub fn replace(packets: &mut Pool, slot: Slot, frame: &[u8]) -> bool {
    let (meta, cell) = packets.parts(slot);
    let Some(room) = cell.get_mut(HEADROOM..HEADROOM + frame.len()) else { return false };
    room.copy_from_slice(frame);
    meta.offset = short(HEADROOM);
    meta.length = index(frame.len());
    true
}

/// Sends an answer that was made of a packet back to the neighbour that the packet came from:
/// link-local addresses stand in no table. False if its frame's header is not there any more.
pub fn turn_round(packets: &mut Pool, slot: Slot, interface: u32, link: &Link) -> bool {
    let octets = header_octets(link);
    let (meta, cell) = packets.parts(slot);
    let l3 = usize::from(meta.offset);
    let Some(header) = l3.checked_sub(octets.into()).and_then(|start| cell.get_mut(start..l3))
    else {
        return false;
    };
    header.copy_within(6..12, 0);
    header[6..12].copy_from_slice(&link.mac);
    meta.l3 = meta.offset;
    meta.offset -= octets;
    meta.length += octets;
    meta.transmit = interface;
    true
}
