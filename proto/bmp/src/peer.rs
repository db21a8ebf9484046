//! The per-peer header: whose routes, and of which of his tables (RFC 7854 §4.2, RFC 8671 §4,
//! RFC 9069 §4.1).

use bgp::codec::{Asn, Identifier};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{Cursor, Malformed};

/// Octets of the per-peer header.
pub const PEER_HEADER_BYTES: usize = 42;

const IPV6: u8 = 0x80;
const POST_POLICY: u8 = 0x40;
const TWO_OCTETS: u8 = 0x20;
const ADJ_RIB_OUT: u8 = 0x10;
/// Of the Loc-RIB (RFC 9069 §4.2).
const FILTERED: u8 = 0x80;

wire::rows! {
    /// The kinds of peers.
    pub enum PeerType: u8 {
        /// Of the whole speaker.
        Global = 0, "Global Instance Peer", "RFC 7854 §4.2";
        /// Of a VPN.
        Distinguished = 1, "RD Instance Peer", "RFC 7854 §4.2";
        /// Of something that only the speaker knows.
        Local = 2, "Local Instance Peer", "RFC 7854 §4.2";
        /// The speaker's own choice.
        LocRib = 3, "Loc-RIB Instance Peer", "RFC 9069 §4.1";
    }
}

/// Whose routes, and of which of his tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PeerHeader {
    /// The kind of peer.
    pub kind: PeerType,
    /// The distinguisher of the VPN or of the instance, else zero.
    pub distinguisher: u64,
    /// The peer's address, `0.0.0.0` for the Loc-RIB.
    pub address: IpAddr,
    /// The peer's AS; of the Loc-RIB ours.
    pub asn: Asn,
    /// The peer's identifier; of the Loc-RIB ours.
    pub identifier: Identifier,
    /// The table is that behind the policy, not that before it.
    pub post_policy: bool,
    /// The table is what the peer is sent, not what it sends (RFC 8671 §4).
    pub adj_rib_out: bool,
    /// ASes in the path have two octets.
    pub two_octets: bool,
    /// The Loc-RIB is told in part only (RFC 9069 §4.2).
    pub filtered: bool,
    /// When it happened, in seconds since 1970; zero if that is not known.
    pub seconds: u32,
    /// The microseconds of that time.
    pub microseconds: u32,
}

impl PeerHeader {
    /// What a peer of the whole speaker sends, before the policy, at an unknown time.
    #[must_use]
    pub const fn of(address: IpAddr, asn: Asn, identifier: Identifier) -> Self {
        Self {
            kind: PeerType::Global,
            distinguisher: 0,
            address,
            asn,
            identifier,
            post_policy: false,
            adj_rib_out: false,
            two_octets: false,
            filtered: false,
            seconds: 0,
            microseconds: 0,
        }
    }

    /// The Loc-RIB of a speaker, at an unknown time (RFC 9069 §4.1).
    #[must_use]
    pub const fn loc_rib(asn: Asn, identifier: Identifier) -> Self {
        let nowhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        Self { kind: PeerType::LocRib, ..Self::of(nowhere, asn, identifier) }
    }

    /// `None` if the kind is not known.
    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Option<Self>, Malformed> {
        let cut = "the per-peer header is cut off";
        let octets: [u8; PEER_HEADER_BYTES] = cursor.array(cut)?;
        let mut cursor = Cursor::new(&octets, 0, "RFC 7854 §4.2");
        let [kind, flags] = cursor.array(cut)?;
        let Some(kind) = PeerType::of(kind) else { return Ok(None) };
        let is_loc_rib = kind == PeerType::LocRib;
        let has = |flag| !is_loc_rib && flags & flag != 0;
        let distinguisher = cursor.be64(cut)?;
        let address: [u8; 16] = cursor.array(cut)?;
        let address = read_address(address, has(IPV6));
        Ok(Some(Self {
            kind,
            distinguisher,
            address,
            asn: cursor.be32(cut)?,
            identifier: cursor.be32(cut)?,
            post_policy: has(POST_POLICY),
            adj_rib_out: has(ADJ_RIB_OUT),
            two_octets: has(TWO_OCTETS),
            filtered: is_loc_rib && flags & FILTERED != 0,
            seconds: cursor.be32(cut)?,
            microseconds: cursor.be32(cut)?,
        }))
    }

    /// Appends it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = if self.kind == PeerType::LocRib {
            flag(self.filtered, FILTERED)
        } else {
            flag(self.address.is_ipv6(), IPV6)
                | flag(self.post_policy, POST_POLICY)
                | flag(self.two_octets, TWO_OCTETS)
                | flag(self.adj_rib_out, ADJ_RIB_OUT)
        };
        out.extend_from_slice(&[self.kind.number(), flags]);
        out.extend_from_slice(&self.distinguisher.to_be_bytes());
        put_address(self.address, out);
        for word in [self.asn, self.identifier, self.seconds, self.microseconds] {
            out.extend_from_slice(&word.to_be_bytes());
        }
    }
}

/// Sixteen octets: IPv4 in the last four (RFC 7854 §4.2).
pub(crate) fn put_address(address: IpAddr, out: &mut Vec<u8>) {
    match address {
        IpAddr::V4(address) => {
            out.extend_from_slice(&[0; 12]);
            out.extend_from_slice(&address.octets());
        }
        IpAddr::V6(address) => out.extend_from_slice(&address.octets()),
    }
}

pub(crate) fn read_address(octets: [u8; 16], is_ipv6: bool) -> IpAddr {
    let [.., a, b, c, d] = octets;
    if is_ipv6 { Ipv6Addr::from(octets).into() } else { Ipv4Addr::new(a, b, c, d).into() }
}
