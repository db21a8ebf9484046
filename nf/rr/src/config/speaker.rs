//! A peer as it is in the end: its own keys and its group's, as the sessions need them.

use super::{DefaultPolicy, Excess, Group, Manner, Peer, PrefixLimit, Rr, Secret};
use bgp::family::Family;
use bgp::{PeerAs, Settings};
use machine::Duration;
use runtime::Flow;
use std::net::IpAddr;

/// Peers of one function at most, dynamic ones included.
pub(crate) const PEERS_MAX: usize = 8_192;

/// Octets of attributes of an external peer, unless its configuration says otherwise.
const ATTRIBUTE_OCTETS_MAX: u64 = 256 << 20;
/// Time until a session that had too much comes back, unless its configuration says otherwise.
pub(crate) const EXCESS_RESTART: Duration = Duration::from_secs(300);

/// A limit of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) family: Family,
    pub(crate) max: u64,
    /// From here on there is an alarm.
    pub(crate) warn: u64,
    pub(crate) excess: Excess,
    pub(crate) restart: Duration,
}

impl Limit {
    /// What an external peer may have of a family that its configuration does not limit.
    const fn of_external(family: Family) -> Self {
        let max = match family {
            Family::Ipv4Unicast => 2_000_000,
            Family::Ipv6Unicast => 500_000,
            _ => 1_000_000,
        };
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
pub(crate) struct Proof {
    pub(crate) password: Option<Secret>,
    pub(crate) hops: Option<u8>,
}

/// A peer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Speaker {
    pub(crate) name: String,
    pub(crate) address: IpAddr,
    pub(crate) group: Option<String>,
    pub(crate) description: String,
    pub(crate) settings: Settings,
    pub(crate) client: bool,
    /// It is told this node as the next hop.
    pub(crate) next_hop_self: bool,
    pub(crate) enabled: bool,
    /// It came from a range of its group.
    pub(crate) is_dynamic: bool,
    /// What its routes go through when they come, and when they go.
    pub(crate) import: Option<String>,
    pub(crate) export: Option<String>,
    /// What a policy that is absent does; absent: by what the peer is (RFC 8212).
    pub(crate) default_policy: Option<DefaultPolicy>,
    /// How often this node's AS may stand in its paths.
    pub(crate) allow_own_as: u8,
    /// The number of the place where it stands.
    pub(crate) location: u32,
    /// Where this node connects to.
    pub(crate) target: Option<Flow>,
    pub(crate) limits: Vec<Limit>,
    /// Octets of attributes that its routes may have.
    pub(crate) attribute_octets_max: u64,
    pub(crate) proof: Proof,
}

/// What another configuration means to a session that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing, or what holds at once.
    Live,
    /// Both sides must say OPEN again.
    Reset,
}

impl Rr {
    /// Peers of another AS of which something is refused since no policy is named (RFC 8212), by
    /// their numbers: what, in words.
    #[must_use]
    pub fn refused_by_default(&self) -> Vec<(usize, &'static str)> {
        let peers = self.peer.iter().enumerate();
        let of_others =
            peers.filter(|(_, it)| matches!(self.manner(it).peer_as(self.asn), PeerAs::Is(_)));
        let refused = of_others.filter_map(|(n, peer)| {
            Some((n, Speaker::of_peer(self, peer).refused_by_default(false)?))
        });
        refused.collect()
    }
}

impl Speaker {
    /// A configured peer.
    pub(crate) fn of_peer(rr: &Rr, peer: &Peer) -> Self {
        let manner = rr.manner(peer);
        let target = rr.target(&manner, peer.address);
        Self::of(rr, &manner, (&peer.name, peer.address, peer.group.as_ref()), Some(target))
    }

    /// A peer that came from a range of `group`.
    pub(crate) fn of_range(rr: &Rr, group: &Group, address: IpAddr) -> Self {
        let manner = Manner::of_group(group);
        Self::of(rr, &manner, (&address.to_string(), address, Some(&group.name)), None)
    }

    fn of(
        rr: &Rr,
        manner: &Manner,
        (name, address, group): (&str, IpAddr, Option<&String>),
        target: Option<Flow>,
    ) -> Self {
        let settings = manner.settings(rr, target.is_none());
        let mut limits: Vec<Limit> =
            manner.prefix_limit.iter().flatten().filter_map(Limit::of).collect();
        let is_internal = manner.peer_as(rr.asn) == PeerAs::Internal;
        if !is_internal {
            let open = manner.families().iter();
            let open = open.filter(|family| limits.iter().all(|limit| limit.family != *family));
            let open: Vec<Limit> = open.map(Limit::of_external).collect();
            limits.extend(open);
        }
        let octets_max = if is_internal { u64::MAX } else { ATTRIBUTE_OCTETS_MAX };
        let password = manner.password.clone();
        Self {
            name: name.to_owned(),
            address,
            group: group.cloned(),
            description: manner.description.clone().unwrap_or_default(),
            client: manner.client.unwrap_or(false),
            next_hop_self: manner.next_hop_self.unwrap_or(false),
            enabled: manner.enabled.unwrap_or(true),
            is_dynamic: target.is_none(),
            import: manner.import.clone(),
            export: manner.export.clone(),
            default_policy: manner.default_policy,
            allow_own_as: manner.allow_own_as.unwrap_or(0),
            attribute_octets_max: manner.attribute_octets_max.unwrap_or(octets_max),
            location: rr.location_number(manner.location.as_ref()),
            target: target.filter(|_| !settings.passive),
            limits,
            proof: Proof { password, hops: manner.ttl_security_hops },
            settings,
        }
    }

    /// Whether anything that comes can be too much.
    pub(crate) fn has_limits(&self) -> bool {
        !self.limits.is_empty() || self.attribute_octets_max < u64::MAX
    }

    /// Whether routes without a policy are refused: those of an external peer (RFC 8212 §2),
    /// unless its configuration says otherwise.
    pub(crate) fn refuses(&self, is_internal: bool) -> bool {
        match self.default_policy {
            Some(default) => default == DefaultPolicy::Refuse,
            None => !is_internal,
        }
    }

    /// What is refused since no policy is named.
    pub(crate) fn refused_by_default(&self, is_internal: bool) -> Option<&'static str> {
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

    /// What becoming `next` means to the session. Times of the session itself hold from now on;
    /// whatever an OPEN or a connection depends on does not.
    pub(crate) fn change(&self, next: &Self) -> Change {
        let times = &next.settings;
        let settings = Settings {
            connect_retry: times.connect_retry,
            delay_open: times.delay_open,
            idle_hold: times.idle_hold,
            idle_hold_max: times.idle_hold_max,
            stale: times.stale,
            ..self.settings.clone()
        };
        let same = settings == next.settings
            && self.address == next.address
            && self.client == next.client
            && self.next_hop_self == next.next_hop_self
            && self.import == next.import
            && self.export == next.export
            && self.default_policy == next.default_policy
            && self.allow_own_as == next.allow_own_as
            && self.location == next.location
            && self.target == next.target
            && self.proof == next.proof;
        if same { Change::Live } else { Change::Reset }
    }
}

/// A range of a group: prefix, length, and the group's place in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) prefix: IpAddr,
    pub(crate) length: u8,
    pub(crate) group: usize,
}

impl Range {
    /// Reads `10.1.0.0/16`; an address alone is a range of one. `None` when it is neither, or has
    /// bits behind its length.
    pub(crate) fn read(text: &str, group: usize) -> Option<Self> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse::<u8>().ok()?)),
            None => (text, None),
        };
        let prefix: IpAddr = address.parse().ok()?;
        let bits = if prefix.is_ipv4() { 32 } else { 128 };
        let length = length.unwrap_or(bits);
        let range = Self { prefix, length, group };
        (length <= bits && range.masked(prefix) == number(prefix).0).then_some(range)
    }

    fn masked(&self, address: IpAddr) -> u128 {
        let (octets, bits) = number(address);
        let keep = u32::from(self.length);
        if keep == 0 { 0 } else { octets >> (bits - keep) << (bits - keep) }
    }

    /// Whether `address` is of the range.
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.prefix.is_ipv4()
            && self.masked(address) == self.masked(self.prefix)
    }

    /// Whether all of `inner` is of the range, and not the other way round.
    pub(crate) fn is_around(&self, inner: &Self) -> bool {
        self.length < inner.length && self.has(inner.prefix)
    }
}

/// An address as a number, and its bits.
fn number(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (address.to_bits().into(), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

impl Rr {
    /// The ranges of all groups, the longest first; what cannot be read is left out.
    pub(crate) fn ranges(&self) -> Vec<Range> {
        let groups = self.group.iter().enumerate();
        let read = |(n, group): (usize, &Group)| -> Vec<Range> {
            group.ranges.iter().filter_map(|text| Range::read(text, n)).collect()
        };
        let mut ranges: Vec<Range> = groups.flat_map(read).collect();
        ranges.sort_by_key(|range| core::cmp::Reverse(range.length));
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::Range;

    #[test]
    fn a_range_is_read_and_asked() {
        let range = Range::read("10.1.0.0/16", 0).expect("a range");
        assert!(range.has("10.1.255.1".parse().expect("an address")));
        assert!(!range.has("10.2.0.1".parse().expect("an address")));
        assert!(!range.has("::1".parse().expect("an address")));
        let all = Range::read("::/0", 0).expect("a range");
        assert!(all.has("2001:db8::1".parse().expect("an address")));
        for wrong in ["10.1.0.1/16", "10.0.0.0/33", "10.0.0/8", "", "::/129", "a/8"] {
            assert_eq!(Range::read(wrong, 0), None, "{wrong}");
        }
    }
}
