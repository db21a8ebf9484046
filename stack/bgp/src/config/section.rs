//! What the section of a function says of its speaker, and what that means.

use super::{Group, Peer, PeerOptions, PeerSettings, Range};
use bgp::PeerAs;
use bgp::family::FamilySet;
use machine::Duration;
use policy::{Policies, PolicyConfig};
use runtime::PortId;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// What the section of a function says of its speaker. The function owns the keys, so that its
/// section is one table with keys of its own beside these.
#[derive(Debug, Clone)]
pub struct Section<'a> {
    /// The key of the function in the site file, as in `[[rr]]`.
    pub key: &'a str,
    /// The speaker's AS.
    pub asn: u32,
    /// Its BGP Identifier.
    pub identifier: Ipv4Addr,
    /// Addresses to listen on, port 179 unless told: `10.0.0.1`, `[2001:db8::1]:1179`.
    pub listen: &'a [String],
    /// Groups of peers.
    pub group: &'a [Group],
    /// Peers.
    pub peer: &'a [Peer],
    /// Routing policies, which `import` and `export` name.
    pub policy: &'a [PolicyConfig],
    /// Names of the places where peers stand (RFC 9107), as the tables number them from 1 on.
    pub locations: Vec<&'a str>,
    /// The routing tables that peers may be customers of, and how many routes each may have.
    pub vrfs: BTreeMap<&'a str, u64>,
    /// The first of its ports; it has [`super::PORTS`] of them.
    pub first_port: PortId,
}

/// A group with ranges, for peers that come from them.
#[derive(Debug, Clone)]
pub(crate) struct RangeGroup {
    /// What such a peer is, but for its address.
    pub(crate) template: PeerSettings,
    pub(crate) peers_max: usize,
    /// How long one that has gone is missed.
    pub(crate) remember: Duration,
}

impl RangeGroup {
    pub(crate) fn name(&self) -> &str {
        &self.template.name
    }
}

/// What a section means to the speaker.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resolved {
    /// Ranges of all groups, the longest first.
    pub(crate) ranges: Vec<Range>,
    /// Every group, in the order by which ranges number them.
    pub(crate) groups: Vec<RangeGroup>,
    /// Peers that have a section of their own.
    pub(crate) peers: Vec<PeerSettings>,
    /// Where each of them stands there.
    by_name: BTreeMap<String, usize>,
}

impl Resolved {
    /// A peer as this configuration wants it; `None` when it goes.
    pub(crate) fn of(&self, old: &PeerSettings) -> Option<PeerSettings> {
        match old.is_dynamic {
            true => self.of_range(old),
            false => self.by_name.get(&old.name).map(|at| self.peers[*at].clone()),
        }
    }

    /// A peer that came from a range: `None` when its range is gone or another group's, or a
    /// section of its own has come.
    fn of_range(&self, old: &PeerSettings) -> Option<PeerSettings> {
        let address = old.address;
        if self.peers.iter().any(|peer| peer.address.to_canonical() == address) {
            return None;
        }
        let range = self.ranges.iter().find(|range| range.has(address))?;
        let group = self.groups.get(range.group)?;
        let is_same = old.group.as_deref() == Some(group.name());
        (is_same && group.template.enabled).then(|| group.template.at(address))
    }
}

impl Section<'_> {
    pub(crate) fn resolve(&self) -> Resolved {
        let group = |it: &Group| RangeGroup {
            template: PeerSettings::of_ranges(self, it),
            peers_max: it.peers_max as usize,
            remember: Duration::from_secs(it.remember_s.into()),
        };
        let name = |(at, it): (usize, &Peer)| (it.name.clone(), at);
        Resolved {
            ranges: self.ranges(),
            groups: self.group.iter().map(group).collect(),
            peers: self.peer.iter().map(|peer| PeerSettings::of_peer(self, peer)).collect(),
            by_name: self.peer.iter().enumerate().map(name).collect(),
        }
    }

    /// What holds for a peer.
    pub(crate) fn options(&self, peer: &Peer) -> PeerOptions {
        let group = peer.group.as_ref();
        let group = group.and_then(|name| self.group.iter().find(|it| it.name == *name));
        PeerOptions::of(Some(peer), group)
    }

    /// The families that any session offers.
    #[must_use]
    pub fn families(&self) -> FamilySet {
        let groups = self.group.iter().filter(|group| !group.ranges.is_empty());
        let groups = groups.map(|group| PeerOptions::of_group(group).families());
        let peers = self.peer.iter().map(|peer| self.options(peer).families());
        groups.chain(peers).fold(FamilySet::EMPTY, FamilySet::or)
    }

    /// The policies; those that cannot be meant were refused by the check.
    pub(crate) fn policies(&self) -> Policies {
        Policies::compile(self.policy).unwrap_or_default()
    }

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

    /// The number of a location; zero, as for none, is this node's own place.
    pub(super) fn location_number(&self, name: Option<&String>) -> u32 {
        let Some(name) = name else { return 0 };
        (1..).zip(&self.locations).find(|(_, it)| **it == name.as_str()).map_or(0, |(at, _)| at)
    }

    /// Peers of another AS, and groups of those that come from ranges, of which something is
    /// refused since no policy is named (RFC 8212): the path of the name, and what is refused, in
    /// words.
    #[must_use]
    pub fn refused_by_default(&self) -> Vec<(String, &'static str)> {
        let is_foreign = |options: &PeerOptions| options.peer_as(self.asn) != PeerAs::Internal;
        let refused =
            |at: String, settings: PeerSettings| Some((at, settings.refused_by_default(false)?));
        let groups = self.group.iter().enumerate();
        let groups = groups.filter(|(_, it)| !it.ranges.is_empty());
        let groups = groups.filter(|(_, it)| is_foreign(&PeerOptions::of_group(it)));
        let groups = groups.filter_map(|(n, it)| {
            refused(format!("group[{n}].name"), PeerSettings::of_ranges(self, it))
        });
        let peers = self.peer.iter().enumerate();
        let peers = peers.filter(|(_, it)| is_foreign(&self.options(it)));
        let peers = peers.filter_map(|(n, it)| {
            refused(format!("peer[{n}].name"), PeerSettings::of_peer(self, it))
        });
        groups.chain(peers).collect()
    }

    /// Groups whose ranges take peers of any AS, all of whose routes are accepted: by their
    /// numbers.
    #[must_use]
    pub fn accepting_anybody(&self) -> Vec<usize> {
        let groups = self.group.iter().enumerate();
        let open = groups.filter(|(_, it)| {
            !it.ranges.is_empty()
                && it.any_asn.is_some()
                && it.import.is_none()
                && !PeerSettings::of_ranges(self, it).refuses(false)
        });
        open.map(|(n, _)| n).collect()
    }
}
