//! VPLS: blocks of labels by site (RFC 4761 §3.2.2), and BGP auto-discovery (RFC 6074 §3.2.2.1),
//! told apart by their length.

use super::{Layout, RouteDistinguisher, Row, all_recognized};
use crate::codec::{be16, be32};
use core::fmt;
use core::net::Ipv4Addr;
use wire::Malformed;

const SPEC: &str = "RFC 4761 §3.2.2";
/// Octets of a block of labels.
const BLOCK_BYTES: usize = 17;
/// Octets of an auto-discovery route.
const DISCOVERY_BYTES: usize = 12;
/// Octets of a block that are key: distinguisher, VE ID, block offset.
const BLOCK_KEY_BYTES: usize = 12;

pub(super) const ROW: Row = Row {
    afi: 25,
    safi: 65,
    name: "vpls",
    spec: SPEC,
    next_hops: &[4, 16],
    next_hops_extended: &[],
    length,
    is_recognized: all_recognized,
    split,
    join,
    withdrawn_payload: |key| if usize::from(key[0]) == BLOCK_BYTES { &[0; 5] } else { &[] },
    show,
};

fn length(bytes: &[u8], _: Layout) -> Result<usize, Malformed> {
    let violation = |what| Err(Malformed::new(0, what, SPEC));
    if bytes.len() < 2 {
        return violation("the length of a VPLS route lacks");
    }
    let length = usize::from(be16(bytes, 0));
    match length {
        BLOCK_BYTES | DISCOVERY_BYTES if length + 2 <= bytes.len() => Ok(length + 2),
        BLOCK_BYTES | DISCOVERY_BYTES => violation("the VPLS route is cut off"),
        _ => violation("no VPLS route has that length"),
    }
}

/// The key begins with the length, which tells the two kinds apart.
fn split(wire: &[u8], _: Layout, key: &mut Vec<u8>, payload: &mut Vec<u8>) {
    let (body, rest) = wire[2..].split_at(BLOCK_KEY_BYTES);
    key.push(wire[1]);
    key.extend_from_slice(body);
    payload.extend_from_slice(rest);
}

fn join(key: &[u8], payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, key[0]]);
    out.extend_from_slice(&key[1..]);
    out.extend_from_slice(payload);
}

fn show(key: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Some(rest) = key.get(1..1 + BLOCK_KEY_BYTES) else { return Err(fmt::Error) };
    let distinguisher = RouteDistinguisher::of(&rest[..8]);
    if usize::from(key[0]) == BLOCK_BYTES {
        return write!(f, "{distinguisher} ve {} offset {}", be16(rest, 8), be16(rest, 10));
    }
    write!(f, "{distinguisher} pe {}", Ipv4Addr::from(be32(rest, 8)))
}

/// A route of VPLS, as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VplsRoute {
    /// A block of labels for other sites.
    Block {
        /// The route distinguisher.
        distinguisher: RouteDistinguisher,
        /// The site.
        ve_id: u16,
        /// The first site of the block.
        offset: u16,
        /// How many sites.
        size: u16,
        /// The label for the first of them, 20 bits.
        label_base: u32,
    },
    /// A provider edge that takes part.
    Discovery {
        /// The route distinguisher.
        distinguisher: RouteDistinguisher,
        /// The provider edge.
        provider_edge: Ipv4Addr,
    },
}

impl VplsRoute {
    /// Reads one. `None` if it is malformed.
    #[must_use]
    pub fn read(wire: &[u8]) -> Option<Self> {
        let whole = length(wire, Layout::default()).ok()?;
        let body = &wire[2..whole];
        let distinguisher = RouteDistinguisher::of(&body[..8]);
        if body.len() == DISCOVERY_BYTES {
            let provider_edge = Ipv4Addr::from(be32(body, 8));
            return Some(Self::Discovery { distinguisher, provider_edge });
        }
        let [ve_id, offset, size] = [8, 10, 12].map(|at| be16(body, at));
        let label_base = be32(body, 13) & 0x00FF_FFFF;
        Some(Self::Block { distinguisher, ve_id, offset, size, label_base: label_base >> 4 })
    }
}
