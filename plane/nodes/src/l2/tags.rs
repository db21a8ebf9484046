//! Service tags on and off a frame (IEEE 802.1Q §9): each interface has its own. Priority and drop
//! eligibility of the outer tag are the packet's class and colour meanwhile (`ethernet-input`).

use super::frame::Refused;
use crate::header::short;
use crate::interfaces::{Input, Row, Swap};
use graph::Meta;
use machine::narrow::half;

/// Octets of a tag.
pub(crate) const TAG: usize = 4;
/// Octets of both addresses.
const ADDRESSES: usize = 12;
/// Octets of an Ethernet header without tags.
pub(crate) const HEADER: usize = 14;
/// Octets of both addresses and two tags.
const WRITTEN: usize = ADDRESSES + 2 * TAG;

/// The outer tag of two (IEEE 802.1Q table 9-1).
const SERVICE: u64 = 0x88a8;
/// The only tag, or the inner of two.
const CUSTOMER: u64 = 0x8100;

/// Takes `tags` tags off; false if the frame is too short for them.
#[inline]
pub(crate) fn take_off(meta: &mut Meta, cell: &mut [u8], tags: u8) -> bool {
    let octets = u16::from(tags) * short(TAG);
    let gone = usize::from(octets);
    if usize::from(meta.length) < HEADER + gone {
        return false;
    }
    let start = usize::from(meta.offset);
    let Some(header) = cell.get_mut(start..).and_then(<[u8]>::first_chunk_mut::<WRITTEN>) else {
        return false;
    };
    if let Some(addresses) = header.first_chunk::<ADDRESSES>().copied() {
        header[gone.min(2 * TAG)..][..ADDRESSES].copy_from_slice(&addresses);
    }
    meta.offset += octets;
    meta.length -= octets;
    true
}

/// Takes `tags` tags off and puts those of the interface on by which the frame leaves.
#[inline]
pub(crate) fn replace(
    meta: &mut Meta,
    cell: &mut [u8],
    tags: u8,
    to: u32,
    row: &Row,
) -> Result<(), Refused> {
    if row.input == Input::Nothing {
        return Err(Refused::Down);
    }
    exchange(meta, cell, Swap::new(tags, to, row))
}

/// As [`replace`], where it is known how.
#[inline]
pub(crate) fn exchange(meta: &mut Meta, cell: &mut [u8], swap: Swap) -> Result<(), Refused> {
    let (gone, new) = (usize::from(swap.gone) * TAG, usize::from(swap.new) * TAG);
    let inner = usize::from(meta.length).checked_sub(gone).filter(|inner| *inner >= HEADER);
    let inner = inner.filter(|inner| *inner <= usize::from(swap.limit));
    let inner = inner.ok_or(Refused::Length)?;
    let start = usize::from(meta.offset);
    let to = (start + gone).checked_sub(new).ok_or(Refused::Length)?;
    if gone != new {
        move_addresses(cell, start, to).ok_or(Refused::Length)?;
    }
    let header = cell.get_mut(to..).and_then(<[u8]>::first_chunk_mut::<WRITTEN>);
    let header = header.ok_or(Refused::Length)?;
    let marks = u64::from(meta.class & 7) << 13 | u64::from(meta.colour != 0) << 12;
    let vlan = |nth: usize| marks | u64::from(swap.vlans[nth] & 0xfff);
    match swap.new {
        0 => {}
        1 => {
            let tag = half(CUSTOMER << 16 | vlan(0));
            header[ADDRESSES..ADDRESSES + TAG].copy_from_slice(&tag.to_be_bytes());
        }
        _ => {
            let tags = SERVICE << 48 | vlan(0) << 32 | CUSTOMER << 16 | vlan(1);
            header[ADDRESSES..].copy_from_slice(&tags.to_be_bytes());
        }
    }
    #[allow(clippy::cast_possible_truncation, reason = "the frame is within its cell of 16 bits")]
    let (to, length) = (to as u16, (inner + new) as u16);
    (meta.offset, meta.length, meta.transmit) = (to, length, swap.to);
    Ok(())
}

fn move_addresses(cell: &mut [u8], from: usize, to: usize) -> Option<()> {
    let addresses = *cell.get(from..)?.first_chunk::<ADDRESSES>()?;
    *cell.get_mut(to..)?.first_chunk_mut::<ADDRESSES>()? = addresses;
    Some(())
}
