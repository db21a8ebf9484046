//! Address families as rows: numbers, next hops, and how a route looks on the wire.
//!
//! A route's octets fall into a *key*, which says what is routed, and a *payload* (labels, ESI,
//! gateway), which says how and may change without another route coming to be. The key is what
//! tables hold; [`Family::join`] makes the octets of key and payload again.
//!
//! A family is one file here and one line in the table below.

mod evpn;
mod flowspec;
mod key;
mod label;
mod labelled;
mod link_state;
mod prefix;
mod route_target;
mod routes;
mod sr_policy;
mod vpls;
mod vpn;

pub use evpn::{Esi, EvpnRoute, EvpnType, Mac};
pub use flowspec::{Component, ComponentType, Components};
pub use key::RouteKey;
pub use label::{Label, WITHDRAWN_LABEL};
pub use labelled::LabelledPrefix;
pub use prefix::{Ipv4Prefix, Ipv6Prefix};
pub use route_target::RouteTarget;
pub use routes::{Ipv4Routes, Ipv6Routes, Route, Routes};
pub use vpls::VplsRoute;
pub use vpn::{RouteDistinguisher, VpnPrefix};

use core::fmt;
use wire::Malformed;

/// How the routes of a field are written: what was negotiated, and where they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// Each begins with a path identifier (RFC 7911 §3).
    pub add_path: bool,
    /// As many labels as there are, up to the bottom of the stack (RFC 8277 §2.3).
    pub multiple_labels: bool,
    /// They are withdrawn: the label is for compatibility only (RFC 8277 §2.4).
    pub withdrawn: bool,
}

/// Everything that is particular to a family.
pub(crate) struct Row {
    afi: u16,
    safi: u8,
    name: &'static str,
    spec: &'static str,
    /// Octets of a next hop in MP_REACH_NLRI; none when it is ignored.
    next_hops: &'static [u8],
    /// The same, where an IPv6 next hop was agreed (RFC 8950 §4).
    next_hops_extended: &'static [u8],
    /// Octets of the route that begins here, its path identifier not counted.
    length: fn(&[u8], Layout) -> Result<usize, Malformed>,
    /// Whether the type of the route is known (RFC 7606 §5.4).
    is_recognized: fn(&[u8]) -> bool,
    /// Appends the key and the payload of a route that `length` has found.
    split: fn(&[u8], Layout, &mut Vec<u8>, &mut Vec<u8>),
    /// Appends the route of a key and a payload.
    join: fn(&[u8], &[u8], &mut Vec<u8>),
    /// The payload of a withdrawal.
    withdrawn_payload: fn(&[u8]) -> &'static [u8],
    /// The route of a key, for people.
    show: fn(&[u8], &mut fmt::Formatter<'_>) -> fmt::Result,
}

macro_rules! families {
    ($($(#[$doc:meta])* $family:ident = $row:expr;)+) => {
        /// An address family that is known here: AFI and SAFI (RFC 4760 §6).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Family { $($(#[$doc])* $family),+ }

        impl Family {
            /// Every row.
            pub const ALL: &'static [Self] = &[$(Self::$family),+];
        }

        static ROWS: &[Row] = &[$($row),+];
    };
}

families! {
    /// IPv4 unicast.
    Ipv4Unicast = prefix::IPV4_UNICAST;
    /// IPv6 unicast.
    Ipv6Unicast = prefix::IPV6_UNICAST;
    /// IPv4 for multicast's reverse path.
    Ipv4Multicast = prefix::IPV4_MULTICAST;
    /// IPv6 for multicast's reverse path.
    Ipv6Multicast = prefix::IPV6_MULTICAST;
    /// IPv4 with labels.
    Ipv4Labelled = labelled::IPV4;
    /// IPv6 with labels.
    Ipv6Labelled = labelled::IPV6;
    /// IPv4 of VPNs.
    Vpnv4 = vpn::IPV4;
    /// IPv6 of VPNs.
    Vpnv6 = vpn::IPV6;
    /// Virtual private LAN service.
    Vpls = vpls::ROW;
    /// Ethernet VPN.
    Evpn = evpn::ROW;
    /// Route targets that are wanted.
    RouteTarget = route_target::ROW;
    /// Flow specifications for IPv4.
    Ipv4FlowSpec = flowspec::IPV4;
    /// Flow specifications for IPv6.
    Ipv6FlowSpec = flowspec::IPV6;
    /// Flow specifications for IPv4 in VPNs.
    Vpnv4FlowSpec = flowspec::VPNV4;
    /// Flow specifications for IPv6 in VPNs.
    Vpnv6FlowSpec = flowspec::VPNV6;
    /// Segment routing policies with IPv4 endpoints.
    Ipv4SrPolicy = sr_policy::IPV4;
    /// Segment routing policies with IPv6 endpoints.
    Ipv6SrPolicy = sr_policy::IPV6;
    /// Link state.
    LinkState = link_state::ROW;
    /// Link state of VPNs.
    LinkStateVpn = link_state::VPN;
}

/// Families that are known here.
pub const FAMILIES: usize = Family::ALL.len();

impl Family {
    #[inline]
    pub(crate) fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The family of those numbers, if it is known.
    #[must_use]
    pub fn of(afi: u16, safi: u8) -> Option<Self> {
        let is_it = |family: &&Self| family.row().afi == afi && family.row().safi == safi;
        Self::ALL.iter().find(is_it).copied()
    }

    /// The family of that name (`ipv4-unicast`).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|family| family.row().name == name).copied()
    }

    /// Address Family Identifier.
    #[must_use]
    pub fn afi(self) -> u16 {
        self.row().afi
    }

    /// Subsequent Address Family Identifier.
    #[must_use]
    pub fn safi(self) -> u8 {
        self.row().safi
    }

    /// The name, as configuration writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Document and section.
    #[must_use]
    pub fn spec(self) -> &'static str {
        self.row().spec
    }

    /// Whether a next hop of that many octets may stand in MP_REACH_NLRI.
    #[must_use]
    pub fn takes_next_hop(self, length: usize, extended: bool) -> bool {
        let row = self.row();
        let is_it = |octets: &u8| usize::from(*octets) == length;
        row.next_hops.is_empty()
            || row.next_hops.iter().any(is_it)
            || (extended && row.next_hops_extended.iter().any(is_it))
    }

    /// Whether an IPv6 next hop can be agreed for it (RFC 8950 §4).
    #[must_use]
    pub fn extends_next_hop(self) -> bool {
        !self.row().next_hops_extended.is_empty()
    }

    /// Octets of the route that `wire` begins with, which has no path identifier.
    ///
    /// # Errors
    /// It is malformed; the offset counts from the beginning of `wire`.
    #[inline]
    pub fn route_bytes(self, wire: &[u8], layout: Layout) -> Result<usize, Malformed> {
        (self.row().length)(wire, layout)
    }

    /// Appends the octets of the route of that key and payload, without path identifier.
    /// Both must come from [`Route::split`] of the same family.
    pub fn join(self, key: &[u8], payload: &[u8], out: &mut Vec<u8>) {
        (self.row().join)(key, payload, out);
    }

    /// Appends the octets that withdraw the route of that key, without path identifier.
    pub fn join_withdrawn(self, key: &[u8], out: &mut Vec<u8>) {
        let row = self.row();
        (row.join)(key, (row.withdrawn_payload)(key), out);
    }

    /// Shows the route of a key.
    #[must_use]
    pub fn show(self, key: &[u8]) -> Shown<'_> {
        Shown { family: self, key }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A route's key, for people.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    family: Family,
    key: &'a [u8],
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.family.row().show)(self.key, f)
    }
}

/// A set of families.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct FamilySet(u32);

const _: () = assert!(FAMILIES <= 32, "a set of families is 32 bits");

impl FamilySet {
    /// No family.
    pub const EMPTY: Self = Self(0);

    /// The set of one.
    #[must_use]
    pub const fn only(family: Family) -> Self {
        Self(1 << family as u8)
    }

    /// Whether `family` is in it.
    #[inline]
    #[must_use]
    pub const fn has(self, family: Family) -> bool {
        self.0 & (1 << family as u8) != 0
    }

    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many are in it.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Puts `family` into it.
    pub const fn insert(&mut self, family: Family) {
        self.0 |= 1 << family as u8;
    }

    /// Takes `family` out of it.
    pub const fn remove(&mut self, family: Family) {
        self.0 &= !(1 << family as u8);
    }

    /// What is in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What is in one of them.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in this one only.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The families, in the order of the rows.
    pub fn iter(self) -> impl Iterator<Item = Family> {
        Family::ALL.iter().copied().filter(move |family| self.has(*family))
    }
}

impl FromIterator<Family> for FamilySet {
    fn from_iter<I: IntoIterator<Item = Family>>(families: I) -> Self {
        let mut set = Self::EMPTY;
        families.into_iter().for_each(|family| set.insert(family));
        set
    }
}

impl fmt::Debug for FamilySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// For families in which every route is recognized.
fn all_recognized(_: &[u8]) -> bool {
    true
}

/// For families whose routes are keys as they stand.
fn split_whole(wire: &[u8], _: Layout, key: &mut Vec<u8>, _: &mut Vec<u8>) {
    key.extend_from_slice(wire);
}

/// For families whose routes are keys as they stand.
fn join_whole(key: &[u8], _: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(key);
}

/// For families without payload.
fn no_payload(_: &[u8]) -> &'static [u8] {
    &[]
}

/// Octets of so many bits.
#[inline]
const fn octets_of(bits: u8) -> usize {
    (bits as usize).div_ceil(8)
}

/// Appends `octets` with what lies behind the first `bits` bits cleared.
fn put_masked(octets: &[u8], bits: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(octets);
    if let Some(last) = out.last_mut()
        && !bits.is_multiple_of(8)
    {
        *last &= 0xFF << (8 - bits % 8);
    }
}

/// The address that `octets` begin, padded with zeros.
fn address<const N: usize>(octets: &[u8]) -> [u8; N] {
    let mut address = [0; N];
    let length = octets.len().min(N);
    address[..length].copy_from_slice(&octets[..length]);
    address
}

/// Writes an address and its length in bits; 4 or 16 octets tell which kind.
fn show_prefix(octets: &[u8], bits: u8, is_ipv6: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if is_ipv6 {
        write!(f, "{}/{bits}", core::net::Ipv6Addr::from(address::<16>(octets)))
    } else {
        write!(f, "{}/{bits}", core::net::Ipv4Addr::from(address::<4>(octets)))
    }
}

/// Writes octets as hexadecimal.
fn show_hex(octets: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    octets.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
}
