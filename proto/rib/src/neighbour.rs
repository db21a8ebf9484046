//! Who stands at the other end of a session, as far as routes are concerned.

use bgp::codec::{Asn, ExtendedCommunity, Identifier, Role};
use bgp::family::Family;
use core::net::{IpAddr, Ipv6Addr};

/// The number of a peer, given by the owner: below [`crate::PEERS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u32);

impl PeerId {
    /// This speaker itself, whose routes are those of [`crate::Rib::originate`].
    pub const OWN: Self = Self(u32::MAX);
    /// Another base, whose routes are those of [`crate::Rib::import`].
    pub const IMPORTED: Self = Self(u32::MAX - 1);

    /// Whether it is no peer: routes of it are never stale, and their next hops need not be found.
    pub(crate) const fn is_none(self) -> bool {
        self.0 >= Self::IMPORTED.0
    }
}

/// What a peer is to the reflector (RFC 4456 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A client of this cluster.
    Client,
    /// An internal peer that is no client.
    NonClient,
    /// A peer in another AS.
    External,
    /// No peer: this speaker itself.
    Own,
}

impl Kind {
    /// Whether a route of a `self` is told to a `to` (RFC 4456 §6).
    pub(crate) const fn is_reflected_to(self, to: Self) -> bool {
        !matches!((self, to), (Self::NonClient, Self::NonClient))
    }
}

/// A peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// What it is to the reflector.
    pub kind: Kind,
    /// Its BGP Identifier.
    pub identifier: Identifier,
    /// Its address.
    pub address: IpAddr,
    /// Its AS.
    pub asn: Asn,
    /// Its policies: the owner's number for what its routes go through when they come and when
    /// they go; zero for none. Peers of different numbers share no update group.
    pub import: u32,
    /// As above.
    pub export: u32,
    /// Where it stands: the number of the location whose metrics count for what it is told
    /// (RFC 9107); zero for the reflector's own.
    pub location: u32,
    /// What we are to it, for an external peer (RFC 9234).
    pub role: Option<Role>,
    /// How often our own AS may stand in the paths that it tells.
    pub allow_own_as: u8,
    /// Our address on the session, where it is told as the next hop: always to external peers.
    pub next_hop_self: Option<IpAddr>,
    /// Our IPv6 address on the link of a session over IPv4: the next hop of IPv6 routes in place of
    /// that, where the peer is told ours (RFC 2545 §3).
    pub own_ipv6: Option<Ipv6Addr>,
    /// What it is as a customer of a VPN.
    pub customer: Customer,
    /// Subnets that it shares with this speaker: next hops of an external peer are of these
    /// (RFC 4271 §6.3); none, where it is not next door: they may be any.
    pub subnets: Vec<(IpAddr, u8)>,
}

impl Neighbour {
    /// Our address as the next hop of a family, where it is told that.
    pub(crate) fn own_next_hop(&self, family: Family) -> Option<IpAddr> {
        let own = self.next_hop_self?;
        let six = self.own_ipv6.filter(|_| own.is_ipv4() && family == Family::Ipv6Unicast);
        Some(six.map_or(own, IpAddr::from))
    }

    /// Whether it may name that next hop: an external peer next door names itself, or whom it
    /// shares a subnet with; of routes of VPNs, whose labels are those of the next hop, itself.
    pub(crate) fn may_name(&self, address: IpAddr, family: Family) -> bool {
        let address = address.to_canonical();
        let is_vpn = matches!(family, Family::Vpnv4 | Family::Vpnv6);
        self.kind != Kind::External
            || self.subnets.is_empty()
            || address == self.address.to_canonical()
            || !is_vpn && self.subnets.iter().any(|it| is_around(*it, address))
    }
}

/// Whether an address is in a subnet.
fn is_around(subnet: (IpAddr, u8), address: IpAddr) -> bool {
    let (differ, most) = match (subnet.0, address) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            (u128::from(one.to_bits() ^ other.to_bits()) << 96, 32)
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits() ^ other.to_bits(), 128),
        _ => return false,
    };
    differ.leading_zeros() >= u32::from(subnet.1).min(most)
}

/// What a customer of a VPN is beside a peer (RFC 4364 §7, §10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Customer {
    /// Its site: its routes are marked with this community, and routes that have it are not told to
    /// it, so that what a site with several sessions tells does not come back to it.
    pub site: Option<ExtendedCommunity>,
    /// Its AS in the paths that it is told is replaced by ours: other sites of it have the same AS,
    /// and it takes none with its own in it.
    pub as_override: bool,
    /// Attributes that steer the core are dropped from what it tells, before its import policy
    /// looks at it, and from what it is told, behind its export policy.
    pub drops_core_attributes: bool,
}

/// Who is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Audience {
    /// The peer itself.
    #[default]
    Peer,
    /// A monitoring station: what a peer is sent (RFC 8671).
    AdjRibOut,
    /// A monitoring station: what was chosen, as it is (RFC 9069).
    LocRib,
}

/// What the peers of an update group have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Who they are: stations never share a group with peers, which shall not wait for them.
    pub audience: Audience,
    /// What they are.
    pub kind: Kind,
    /// Their export policy.
    pub export: u32,
    /// Where they stand (RFC 9107).
    pub location: u32,
    /// What we are to them (RFC 9234).
    pub role: Option<Role>,
    /// They are told AIGP (RFC 7311 §3.3).
    pub aigp: bool,
    /// Octets of a message at most.
    pub message_max: usize,
    /// They are told all paths (RFC 7911).
    pub add_path: bool,
    /// They understand ASes of four octets (RFC 6793).
    pub four_octet_as: bool,
    /// They take IPv6 next hops for IPv4 (RFC 8950).
    pub extended_next_hop: bool,
    /// They say which route targets they want (RFC 4684).
    pub constrained: bool,
    /// They keep stale routes for long, and may be told such (RFC 9494 §4.3).
    pub long_lived: bool,
    /// The next hop that they are told instead of the route's own.
    pub next_hop_self: Option<IpAddr>,
    /// Routes of this site are not told to them.
    pub site: Option<ExtendedCommunity>,
    /// The AS that is replaced by ours in the paths that they are told.
    pub overridden: Option<Asn>,
    /// Attributes that steer the core are not told to them.
    pub drops_core_attributes: bool,
}

impl Terms {
    /// Whether more concerns them than a change of the best path.
    pub(crate) const fn looks_at_all(&self) -> bool {
        self.add_path || self.location != 0
    }
}
