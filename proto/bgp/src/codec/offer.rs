//! What a speaker says of itself in OPEN, read out of its capabilities and written into them.

use super::capability::{Capability, CapabilityCode};
use super::{Asn, Identifier, be16, be32, octet};
use crate::family::{FAMILIES, Family, FamilySet};

/// The AFI of IPv6, for next hops (RFC 8950 §4).
const AFI_IPV6: u16 = 2;
/// Seconds that 12 bits can say (RFC 4724 §3).
const RESTART_TIME_MAX_S: u16 = 0x0FFF;
/// Seconds that 24 bits can say (RFC 9494 §3.1).
const STALE_TIME_MAX_S: u32 = 0x00FF_FFFF;

wire::rows! {
    /// What a speaker is to its external peer.
    pub enum Role: u8 {
        /// It gives transit.
        Provider = 0, "provider", "RFC 9234 §3";
        /// A route server.
        RouteServer = 1, "route-server", "RFC 9234 §3";
        /// A client of a route server.
        RouteServerClient = 2, "route-server-client", "RFC 9234 §3";
        /// It takes transit.
        Customer = 3, "customer", "RFC 9234 §3";
        /// Neither.
        Peer = 4, "peer", "RFC 9234 §3";
    }
}

impl Role {
    /// What the other one must be (RFC 9234 §4.2).
    #[must_use]
    pub const fn counterpart(self) -> Self {
        match self {
            Self::Provider => Self::Customer,
            Self::Customer => Self::Provider,
            Self::RouteServer => Self::RouteServerClient,
            Self::RouteServerClient => Self::RouteServer,
            Self::Peer => Self::Peer,
        }
    }
}

/// Graceful restart, as one side says it (RFC 4724 §3, RFC 8538 §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GracefulRestart {
    /// It has restarted and waits for the others' End-of-RIB.
    pub restarting: bool,
    /// NOTIFICATION does not end it, Hard Reset does (RFC 8538).
    pub notification: bool,
    /// Within that many seconds it is back.
    pub time_s: u16,
    /// For these families.
    pub families: FamilySet,
    /// For these it kept forwarding.
    pub forwarding: FamilySet,
}

/// Long-lived graceful restart, as one side says it (RFC 9494 §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongLived {
    /// For these families.
    pub families: FamilySet,
    /// For these it kept forwarding.
    pub forwarding: FamilySet,
    /// Seconds that stale routes are kept, by family.
    pub time_s: [u32; FAMILIES],
}

impl Default for LongLived {
    fn default() -> Self {
        let (families, forwarding) = (FamilySet::EMPTY, FamilySet::EMPTY);
        Self { families, forwarding, time_s: [0; FAMILIES] }
    }
}

/// Everything that an OPEN says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The AS.
    pub asn: Asn,
    /// The BGP Identifier.
    pub identifier: Identifier,
    /// The hold time, zero for none.
    pub hold_time_s: u16,
    /// The families.
    pub families: FamilySet,
    /// ASes of four octets are understood.
    pub four_octet_as: bool,
    /// ROUTE-REFRESH is understood.
    pub route_refresh: bool,
    /// Its beginning and end are marked.
    pub enhanced_refresh: bool,
    /// Messages of up to 65,535 octets are understood.
    pub extended_message: bool,
    /// Families for which an IPv6 next hop is understood.
    pub extended_next_hop: FamilySet,
    /// Labels of one route that are understood, by family; zero without the capability.
    pub labels_max: [u8; FAMILIES],
    /// Families with path identifiers that it wants to receive.
    pub add_path_receive: FamilySet,
    /// Families with path identifiers that it wants to send.
    pub add_path_send: FamilySet,
    /// What it is to its peer.
    pub role: Option<Role>,
    /// There were two roles that differ (RFC 9234 §4.2).
    pub roles_differ: bool,
    /// Graceful restart.
    pub graceful_restart: Option<GracefulRestart>,
    /// Long-lived graceful restart.
    pub long_lived: Option<LongLived>,
}

impl Offer {
    /// A speaker of RFC 4271 without capabilities: IPv4 unicast, ASes of two octets.
    #[must_use]
    pub const fn plain(asn: Asn, identifier: Identifier, hold_time_s: u16) -> Self {
        Self {
            asn,
            identifier,
            hold_time_s,
            families: FamilySet::only(Family::Ipv4Unicast),
            four_octet_as: false,
            route_refresh: false,
            enhanced_refresh: false,
            extended_message: false,
            extended_next_hop: FamilySet::EMPTY,
            labels_max: [0; FAMILIES],
            add_path_receive: FamilySet::EMPTY,
            add_path_send: FamilySet::EMPTY,
            role: None,
            roles_differ: false,
            graceful_restart: None,
            long_lived: None,
        }
    }

    /// Everything that costs nothing: ASes of four octets, route refresh, extended messages.
    #[must_use]
    pub const fn modern(
        asn: Asn,
        identifier: Identifier,
        hold_time_s: u16,
        families: FamilySet,
    ) -> Self {
        let mut offer = Self::plain(asn, identifier, hold_time_s);
        offer.families = families;
        offer.four_octet_as = true;
        offer.route_refresh = true;
        offer.enhanced_refresh = true;
        offer.extended_message = true;
        offer
    }

    /// Takes account of a capability whose length is right; families that are not known here are
    /// passed over.
    pub(super) fn take(&mut self, code: CapabilityCode, capability: Capability<'_>) {
        let value = capability.value;
        let family = |at: usize| Family::of(be16(value, at), value[at + 2]);
        match code {
            CapabilityCode::Multiprotocol => {
                if let Some(family) = Family::of(be16(value, 0), value[3]) {
                    self.families.insert(family);
                }
            }
            CapabilityCode::RouteRefresh => self.route_refresh = true,
            CapabilityCode::EnhancedRouteRefresh => self.enhanced_refresh = true,
            CapabilityCode::ExtendedMessage => self.extended_message = true,
            CapabilityCode::FourOctetAs => {
                (self.four_octet_as, self.asn) = (true, be32(value, 0));
            }
            CapabilityCode::Role => {
                let role = Role::of(value[0]);
                self.roles_differ |= self.role.is_some() && self.role != role;
                self.role = self.role.or(role);
            }
            CapabilityCode::ExtendedNextHop => {
                for at in (0..value.len()).step_by(6) {
                    let is_ipv6 = be16(value, at + 4) == AFI_IPV6;
                    let safi = u8::try_from(be16(value, at + 2)).unwrap_or(0);
                    let family = Family::of(be16(value, at), safi).filter(|_| is_ipv6);
                    family.iter().for_each(|it| self.extended_next_hop.insert(*it));
                }
            }
            CapabilityCode::MultipleLabels => {
                for at in (0..value.len()).step_by(4) {
                    // RFC 8277 §2.1: a count below two says nothing.
                    if let Some(family) = family(at).filter(|_| value[at + 3] > 1) {
                        self.labels_max[family as usize] = value[at + 3];
                    }
                }
            }
            CapabilityCode::AddPath => {
                // RFC 7911 §4: the last one counts.
                (self.add_path_receive, self.add_path_send) = (FamilySet::EMPTY, FamilySet::EMPTY);
                for at in (0..value.len()).step_by(4) {
                    let Some(family) = family(at) else { continue };
                    // RFC 7911 §4: other numbers are passed over.
                    let mode = Some(value[at + 3]).filter(|it| *it <= 3).unwrap_or(0);
                    if mode & 1 != 0 {
                        self.add_path_receive.insert(family);
                    }
                    if mode & 2 != 0 {
                        self.add_path_send.insert(family);
                    }
                }
            }
            CapabilityCode::GracefulRestart => self.take_graceful_restart(value),
            CapabilityCode::LongLivedGracefulRestart => self.take_long_lived(value),
        }
    }

    /// The last one counts (RFC 4724 §3).
    fn take_graceful_restart(&mut self, value: &[u8]) {
        let head = be16(value, 0);
        let mut restart = GracefulRestart {
            restarting: head & 0x8000 != 0,
            notification: head & 0x4000 != 0,
            time_s: head & RESTART_TIME_MAX_S,
            ..GracefulRestart::default()
        };
        for entry in value[2..].chunks_exact(4) {
            let Some(family) = Family::of(be16(entry, 0), entry[2]) else { continue };
            restart.families.insert(family);
            if entry[3] & 0x80 != 0 {
                restart.forwarding.insert(family);
            }
        }
        self.graceful_restart = Some(restart);
    }

    fn take_long_lived(&mut self, value: &[u8]) {
        let mut long_lived = LongLived::default();
        for entry in value.chunks_exact(7) {
            let Some(family) = Family::of(be16(entry, 0), entry[2]) else { continue };
            long_lived.families.insert(family);
            long_lived.time_s[family as usize] = be32(entry, 3) & STALE_TIME_MAX_S;
            if entry[3] & 0x80 != 0 {
                long_lived.forwarding.insert(family);
            }
        }
        self.long_lived = Some(long_lived);
    }

    /// Appends the capabilities that say all this.
    pub fn write_capabilities(&self, out: &mut Vec<u8>) {
        self.families.iter().for_each(|family| write_multiprotocol(family, out));
        if self.route_refresh {
            put(CapabilityCode::RouteRefresh, &[], out);
        }
        let mut value = Vec::with_capacity(64);
        for family in self.extended_next_hop.iter() {
            value.extend_from_slice(&family.afi().to_be_bytes());
            value.extend_from_slice(&[0, family.safi()]);
            value.extend_from_slice(&AFI_IPV6.to_be_bytes());
        }
        put_some(CapabilityCode::ExtendedNextHop, &mut value, out);
        if self.extended_message {
            put(CapabilityCode::ExtendedMessage, &[], out);
        }
        for family in Family::ALL.iter().filter(|it| self.labels_max[**it as usize] > 1) {
            put_family(*family, &[self.labels_max[*family as usize]], &mut value);
        }
        put_some(CapabilityCode::MultipleLabels, &mut value, out);
        if let Some(role) = self.role {
            put(CapabilityCode::Role, &[role.number()], out);
        }
        self.write_restart(&mut value, out);
        if self.four_octet_as {
            put(CapabilityCode::FourOctetAs, &self.asn.to_be_bytes(), out);
        }
        for family in self.add_path_receive.or(self.add_path_send).iter() {
            let receive = u8::from(self.add_path_receive.has(family));
            let send = u8::from(self.add_path_send.has(family));
            put_family(family, &[receive | send << 1], &mut value);
        }
        put_some(CapabilityCode::AddPath, &mut value, out);
        if self.enhanced_refresh {
            put(CapabilityCode::EnhancedRouteRefresh, &[], out);
        }
    }

    fn write_restart(&self, value: &mut Vec<u8>, out: &mut Vec<u8>) {
        if let Some(restart) = &self.graceful_restart {
            let flags = u16::from(restart.restarting) << 15 | u16::from(restart.notification) << 14;
            let time = restart.time_s.min(RESTART_TIME_MAX_S);
            value.extend_from_slice(&(flags | time).to_be_bytes());
            for family in restart.families.iter() {
                put_family(family, &[u8::from(restart.forwarding.has(family)) << 7], value);
            }
            put_some(CapabilityCode::GracefulRestart, value, out);
        }
        if let Some(long_lived) = &self.long_lived {
            for family in long_lived.families.iter() {
                let forwarding = u32::from(long_lived.forwarding.has(family)) << 31;
                let time = long_lived.time_s[family as usize].min(STALE_TIME_MAX_S);
                put_family(family, &(forwarding | time).to_be_bytes(), value);
            }
            put_some(CapabilityCode::LongLivedGracefulRestart, value, out);
        }
    }
}

/// Appends the capability that says a family.
pub(super) fn write_multiprotocol(family: Family, out: &mut Vec<u8>) {
    let [high, low] = family.afi().to_be_bytes();
    put(CapabilityCode::Multiprotocol, &[high, low, 0, family.safi()], out);
}

/// Appends AFI, SAFI and what follows them.
fn put_family(family: Family, rest: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&family.afi().to_be_bytes());
    out.push(family.safi());
    out.extend_from_slice(rest);
}

/// Appends a capability.
fn put(code: CapabilityCode, value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&[code.number(), octet(value.len())]);
    out.extend_from_slice(value);
}

/// Appends a capability if it has a value, and empties the value.
fn put_some(code: CapabilityCode, value: &mut Vec<u8>, out: &mut Vec<u8>) {
    if !value.is_empty() {
        put(code, value, out);
        value.clear();
    }
}

const _: () = assert!(2 + 7 * FAMILIES <= 255, "every family fits into one capability");
