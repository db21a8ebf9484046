//! What holds for a peer in the end: its own keys and its group's, as the speaker needs them.

use super::{DefaultPolicy, Excess, Group, Peer, PeerOptions, PrefixLimit, Secret, Section};
use bgp::codec::ExtendedCommunity;
use bgp::family::{Family, FamilySet};
use bgp::{PeerAs, Settings};
use machine::Duration;
use rib::Customer;
use runtime::Flow;
use std::net::{IpAddr, Ipv4Addr};

/// Octets of attributes of an external peer, unless its configuration says otherwise.
const ATTRIBUTE_OCTETS_MAX: u64 = 256 << 20;
/// Time until a session that had too much comes back, unless its configuration says otherwise.
pub(crate) const EXCESS_RESTART: Duration = Duration::from_secs(300);

/// A limit of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Of which family.
    pub family: Family,
    /// Routes at most.
    pub max: u64,
    /// From here on there is an alarm.
    pub warn: u64,
    /// What happens beyond `max`.
    pub excess: Excess,
    /// Time until the session may come back.
    pub restart: Duration,
}

impl Limit {
    /// What an external peer may have of a family that its configuration does not limit.
    const fn of_external(family: Family) -> Self {
        let max = match family {
            Family::Ipv4Unicast => 2_000_000,
            Family::Ipv6Unicast => 500_000,
            _ => 1_000_000,
        };
        Self::by_default(family, max)
    }

    /// The same of a customer of a routing table: half of what the table may have, in equal parts
    /// for the customer's families. Nobody fills a table alone.
    fn of_customer(family: Family, families: FamilySet, routes_max: u64) -> Self {
        let parts = 2 * u64::try_from(families.len()).unwrap_or(u64::MAX);
        Self::by_default(family, (routes_max / parts.max(1)).max(1))
    }

    const fn by_default(family: Family, max: u64) -> Self {
        let (excess, restart) = (Excess::Restart, EXCESS_RESTART);
        Self { family, max, warn: max / 100 * 80, excess, restart }
    }

    fn of(section: &PrefixLimit) -> Option<Self> {
        let max = u64::from(section.max);
        Some(Self {
            family: Family::named(&section.family)?,
            max,
            warn: (max * u64::from(section.warn_percent)).div_ceil(100),
            excess: section.excess,
            restart: Duration::from_secs(section.restart_s.into()),
        })
    }
}

/// How a peer's packets are known to be its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeerGuard {
    /// The password for TCP MD5 (RFC 2385).
    pub password: Option<Secret>,
    /// Routers between, plus one (RFC 5082).
    pub hops: Option<u8>,
}

/// A peer, as its own section and its group's say together.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerSettings {
    /// Its name; of one from a range its address.
    pub name: String,
    /// Its address.
    pub address: IpAddr,
    /// Its group.
    pub group: Option<String>,
    /// What people call it.
    pub description: String,
    /// The settings of its session.
    pub session: Settings,
    /// It is a client of the reflector (RFC 4456).
    pub client: bool,
    /// It is told this node as the next hop.
    pub next_hop_self: bool,
    /// Its session is wanted.
    pub enabled: bool,
    /// It came from a range of its group.
    pub is_dynamic: bool,
    /// The policy that its routes go through when they come.
    pub import: Option<String>,
    /// The policy that routes go through when it is told them.
    pub export: Option<String>,
    /// What a policy that is absent does; absent: by what the peer is (RFC 8212).
    pub default_policy: Option<DefaultPolicy>,
    /// How often this node's AS may stand in its paths.
    pub allow_own_as: u8,
    /// The number of the place where it stands.
    pub location: u32,
    /// Where this node connects to.
    pub target: Option<Flow>,
    /// How many routes it may have.
    pub limits: Vec<Limit>,
    /// Octets of attributes that its routes may have.
    pub attribute_octets_max: u64,
    /// How its packets are known to be its own.
    pub guard: PeerGuard,
    /// The routing table that it is a customer of.
    pub vrf: Option<String>,
    /// What it is as a customer.
    pub customer: Customer,
}

/// What another configuration means to a session that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing, or what holds at once.
    Live,
    /// Both sides must say OPEN again.
    Reset,
}

impl PeerSettings {
    /// A configured peer.
    pub(super) fn of_peer(section: &Section<'_>, peer: &Peer) -> Self {
        let options = section.options(peer);
        let target = section.target(&options, peer.address);
        let it = Self::of(section, &options, Some(target));
        Self { name: peer.name.clone(), address: peer.address, group: peer.group.clone(), ..it }
    }

    /// What the peers are that come from ranges of `group`; their address is still to be written.
    pub(super) fn of_ranges(section: &Section<'_>, group: &Group) -> Self {
        let it = Self::of(section, &PeerOptions::of_group(group), None);
        Self { name: group.name.clone(), group: Some(group.name.clone()), ..it }
    }

    /// The peer of that address, where this is what the peers of its range are.
    pub(crate) fn at(&self, address: IpAddr) -> Self {
        let name = match &self.vrf {
            Some(vrf) => format!("{vrf}/{address}"),
            None => address.to_string(),
        };
        Self { name, address, ..self.clone() }
    }

    fn of(section: &Section<'_>, options: &PeerOptions, target: Option<Flow>) -> Self {
        let settings = options.settings(section, target.is_none());
        let mut limits: Vec<Limit> =
            options.prefix_limit.iter().flatten().filter_map(Limit::of).collect();
        let is_internal = options.peer_as(section.asn) == PeerAs::Internal;
        if !is_internal {
            let families = options.families();
            let table = options.vrf.as_ref().and_then(|it| section.vrfs.get(it.as_str()));
            let open = families.iter();
            let open = open.filter(|family| limits.iter().all(|limit| limit.family != *family));
            let open = open.map(|family| match table {
                Some(most) => Limit::of_customer(family, families, *most),
                None => Limit::of_external(family),
            });
            let open: Vec<Limit> = open.collect();
            limits.extend(open);
        }
        let octets_max = if is_internal { u64::MAX } else { ATTRIBUTE_OCTETS_MAX };
        let password = options.password.clone();
        Self {
            name: String::new(),
            address: Ipv4Addr::UNSPECIFIED.into(),
            group: None,
            description: options.description.clone().unwrap_or_default(),
            client: options.client.unwrap_or(false),
            next_hop_self: options.next_hop_self.unwrap_or(false),
            enabled: options.enabled.unwrap_or(true),
            is_dynamic: target.is_none(),
            import: options.import.clone(),
            export: options.export.clone(),
            default_policy: options.default_policy,
            allow_own_as: options.allow_own_as.unwrap_or(0),
            attribute_octets_max: options.attribute_octets_max.unwrap_or(octets_max),
            location: section.location_number(options.location.as_ref()),
            target: target.filter(|_| !settings.passive),
            limits,
            guard: PeerGuard { password, hops: options.ttl_security_hops },
            vrf: options.vrf.clone(),
            customer: Customer {
                site: options.site.as_deref().and_then(ExtendedCommunity::route_origin),
                as_override: options.as_override.unwrap_or(false),
                drops_core_attributes: options.vrf.is_some()
                    && !options.core_attributes.unwrap_or(false),
            },
            session: settings,
        }
    }

    /// Whether anything that comes can be too much.
    #[must_use]
    pub fn has_limits(&self) -> bool {
        !self.limits.is_empty() || self.attribute_octets_max < u64::MAX
    }

    /// Whether routes without a policy are refused: those of an external peer (RFC 8212 §2),
    /// unless its configuration says otherwise.
    #[must_use]
    pub fn refuses(&self, is_internal: bool) -> bool {
        match self.default_policy {
            Some(default) => default == DefaultPolicy::Refuse,
            None => !is_internal,
        }
    }

    /// What is refused since no policy is named.
    #[must_use]
    pub fn refused_by_default(&self, is_internal: bool) -> Option<&'static str> {
        match (&self.import, &self.export) {
            _ if !self.refuses(is_internal) => None,
            (None, None) => {
                Some("no route is taken or told: neither `import` nor `export` names a policy")
            }
            (None, Some(_)) => Some("no route is taken: `import` names no policy"),
            (Some(_), None) => Some("no route is told: `export` names no policy"),
            (Some(_), Some(_)) => None,
        }
    }

    /// What becoming `next` means to the session. Times of the session itself hold from now on, and
    /// so do policies: the tables keep what came and judge it anew. Whatever an OPEN or a
    /// connection depends on does not.
    pub(crate) fn change(&self, next: &Self) -> Change {
        let times = &next.session;
        let settings = Settings {
            connect_retry: times.connect_retry,
            delay_open: times.delay_open,
            idle_hold: times.idle_hold,
            idle_hold_max: times.idle_hold_max,
            stale: times.stale,
            ..self.session.clone()
        };
        let same = settings == next.session
            && self.address == next.address
            && self.client == next.client
            && self.next_hop_self == next.next_hop_self
            && self.allow_own_as == next.allow_own_as
            && self.location == next.location
            && self.target == next.target
            && self.guard == next.guard
            && self.vrf == next.vrf
            && self.customer == next.customer;
        if same { Change::Live } else { Change::Reset }
    }
}
