//! Segment routing policies: distinguisher, colour, endpoint (RFC 9830 §2.1), carried as they are.

use super::{Layout, Row, all_recognized, join_whole, no_payload, show_hex, split_whole};
use crate::codec::be32;
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use wire::Malformed;

const SPEC: &str = "RFC 9830 §2.1";
const IPV4_BITS: u8 = 96;
const IPV6_BITS: u8 = 192;

pub(super) const IPV4: Row = Row {
    afi: 1,
    safi: 73,
    name: "ipv4-sr-policy",
    spec: SPEC,
    next_hops: &[4, 16, 32],
    next_hops_extended: &[],
    length: length::<IPV4_BITS>,
    is_recognized: all_recognized,
    split: split_whole,
    join: join_whole,
    withdrawn_payload: no_payload,
    show,
};

pub(super) const IPV6: Row =
    Row { afi: 2, name: "ipv6-sr-policy", length: length::<IPV6_BITS>, ..IPV4 };

fn length<const BITS: u8>(bytes: &[u8], _: Layout) -> Result<usize, Malformed> {
    let length = 1 + usize::from(BITS / 8);
    match bytes.first() {
        Some(&bits) if bits != BITS => {
            Err(Malformed::new(0, "no segment routing policy has that length", SPEC))
        }
        Some(_) if length <= bytes.len() => Ok(length),
        _ => Err(Malformed::new(0, "the segment routing policy is cut off", SPEC)),
    }
}

fn show(key: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (Some(head), Some(endpoint)) = (key.get(1..9), key.get(9..)) else {
        return show_hex(key, f);
    };
    write!(f, "{} colour {} endpoint ", be32(head, 0), be32(head, 4))?;
    match endpoint.len() {
        4 => write!(f, "{}", Ipv4Addr::from(super::address::<4>(endpoint))),
        _ => write!(f, "{}", Ipv6Addr::from(super::address::<16>(endpoint))),
    }
}
