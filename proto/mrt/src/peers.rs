//! PEER_INDEX_TABLE: whose routes the RIB records hold (RFC 6396 §4.3.1).

use bgp::codec::{Asn, Identifier};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Cursor, Malformed};

const SPEC: &str = "RFC 6396 §4.3.1";
/// The peer's address is IPv6.
pub(crate) const IS_IPV6: u8 = 1;
/// The peer's AS has four octets.
pub(crate) const IS_AS4: u8 = 2;
/// Octets of a peer at most.
pub const PEER_BYTES_MAX: usize = 25;

/// A peer of the collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// Its BGP Identifier, zero where the file does not tell it.
    pub identifier: Identifier,
    /// Its address.
    pub address: IpAddr,
    /// Its AS.
    pub asn: Asn,
}

/// The peers, as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerIndexTable<'a> {
    /// The collector's BGP Identifier.
    pub collector: Identifier,
    /// The name of the view, empty for none.
    pub view: &'a [u8],
    /// The peers, checked.
    pub peers: Peers<'a>,
}

impl<'a> PeerIndexTable<'a> {
    pub(crate) fn read(body: &'a [u8], at: usize) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(body, at, SPEC);
        let collector = cursor.be32("the collector's identifier is cut off")?;
        let length = cursor.be16("the length of the view's name is cut off")?;
        let view = cursor.take(usize::from(length), "the view's name is cut off")?;
        let count = cursor.be16("the count of peers is cut off")?;
        let peers = Peers { left: count, octets: cursor.rest() };
        for _ in 0..count {
            read_peer(&mut cursor)?;
        }
        match cursor.is_empty() {
            true => Ok(Self { collector, view, peers }),
            false => Err(cursor.violation("octets follow the last peer")),
        }
    }
}

fn read_peer(cursor: &mut Cursor<'_>) -> Result<Peer, Malformed> {
    let kind = cursor.octet("the type of a peer is cut off")?;
    let identifier = cursor.be32("the identifier of a peer is cut off")?;
    let address = read_address(cursor, kind & IS_IPV6 != 0)?;
    let asn = read_asn(cursor, kind & IS_AS4 != 0)?;
    Ok(Peer { identifier, address, asn })
}

/// Takes an address.
pub(crate) fn read_address(cursor: &mut Cursor<'_>, is_ipv6: bool) -> Result<IpAddr, Malformed> {
    let what = "an address is cut off";
    match is_ipv6 {
        true => cursor.array::<16>(what).map(|octets| Ipv6Addr::from(octets).into()),
        false => cursor.array::<4>(what).map(|octets| Ipv4Addr::from(octets).into()),
    }
}

/// Takes an AS of four octets or of two.
pub(crate) fn read_asn(cursor: &mut Cursor<'_>, is_as4: bool) -> Result<Asn, Malformed> {
    let what = "an AS is cut off";
    if is_as4 { cursor.be32(what) } else { cursor.be16(what).map(Asn::from) }
}

/// The peers of a table in the order of their indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peers<'a> {
    left: u16,
    octets: &'a [u8],
}

impl Iterator for Peers<'_> {
    type Item = Peer;

    fn next(&mut self) -> Option<Peer> {
        self.left = self.left.checked_sub(1)?;
        let mut cursor = Cursor::new(self.octets, 0, SPEC);
        let peer = read_peer(&mut cursor).ok()?;
        self.octets = cursor.rest();
        Some(peer)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.left), Some(usize::from(self.left)))
    }
}

impl ExactSizeIterator for Peers<'_> {}
