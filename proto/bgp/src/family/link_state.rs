//! Link state: typed routes carried as they are (RFC 9552 §5.2).

use super::{Layout, Row, all_recognized, join_whole, no_payload, show_hex, split_whole};
use crate::codec::be16;
use core::fmt;
use wire::Malformed;

const SPEC: &str = "RFC 9552 §5.2";
/// Octets of type and length.
const HEAD_BYTES: usize = 4;

pub(super) const ROW: Row = Row {
    afi: 16_388,
    safi: 71,
    name: "link-state",
    spec: SPEC,
    next_hops: &[4, 16, 32],
    next_hops_extended: &[],
    length,
    is_recognized: all_recognized,
    split: split_whole,
    join: join_whole,
    withdrawn_payload: no_payload,
    show,
};

pub(super) const VPN: Row =
    Row { safi: 72, name: "link-state-vpn", next_hops: &[12, 24, 48], ..ROW };

fn length(bytes: &[u8], _: Layout) -> Result<usize, Malformed> {
    if bytes.len() < HEAD_BYTES {
        return Err(Malformed::new(0, "type and length of a link-state route lack", SPEC));
    }
    let length = HEAD_BYTES + usize::from(be16(bytes, 2));
    if length > bytes.len() {
        return Err(Malformed::new(2, "the link-state route is cut off", SPEC));
    }
    Ok(length)
}

fn show(key: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Some(body) = key.get(HEAD_BYTES..) else { return show_hex(key, f) };
    let kind = match be16(key, 0) {
        1 => "node",
        2 => "link",
        3 => "ipv4-prefix",
        4 => "ipv6-prefix",
        6 => "srv6-sid",
        _ => "other",
    };
    write!(f, "{kind} ")?;
    show_hex(body, f)
}
