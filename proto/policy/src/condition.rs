//! Conditions of a rule.

use super::automaton::Automaton;
use super::community::{CommunitySet, Kind};
use super::prefix_set::{Prefix, PrefixSet};
use super::route::{Peer, Route, Slot};
use super::{Inputs, Validation};
use bgp::codec::NextHop;
use bgp::family::FamilySet;

/// What one condition asks. The cheap ones come first: they are asked in this order.
#[derive(Debug, Clone)]
pub enum Condition {
    /// The family is one of these.
    Families(FamilySet),
    /// Origin validation says this.
    Validation(Validation),
    /// ORIGIN has that number.
    Origin(u8),
    /// MULTI_EXIT_DISC lies between these.
    Med(u32, u32),
    /// LOCAL_PREF lies between these.
    LocalPref(u32, u32),
    /// It came from one of these, or goes there.
    Peers(PeerSet),
    /// The next hop lies in one of these.
    NextHops(PrefixSet),
    /// The prefix is one of these.
    Prefixes(PrefixSet),
    /// It has one of these communities.
    Communities(CommunitySet),
    /// It has one of each of these.
    AllCommunities(Vec<CommunitySet>),
    /// The length of the path lies between these.
    AsPathLength(u32, u32),
    /// The path matches.
    AsPath(Automaton),
}

/// Peers by name, AS and address.
#[derive(Debug, Clone)]
pub struct PeerSet {
    /// Names of peers and groups.
    pub names: Vec<String>,
    /// Their ASes.
    pub ases: Vec<u32>,
    /// Their addresses.
    pub addresses: PrefixSet,
}

impl PeerSet {
    fn has(&self, peer: &Peer<'_>) -> bool {
        let is_named = |name: &String| *name == peer.name || *name == peer.group;
        self.ases.contains(&peer.asn)
            || self.addresses.has(Prefix::host(peer.address))
            || self.names.iter().any(is_named)
    }
}

impl Condition {
    /// Its key in the site file.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Families(_) => "families",
            Self::Validation(_) => "validation",
            Self::Origin(_) => "origin",
            Self::Med(..) => "med",
            Self::LocalPref(..) => "local_pref",
            Self::Peers(_) => "peers",
            Self::NextHops(_) => "next_hops",
            Self::Prefixes(_) => "prefixes",
            Self::Communities(_) => "communities",
            Self::AllCommunities(_) => "all_communities",
            Self::AsPathLength(..) => "as_path_length",
            Self::AsPath(_) => "as_path",
        }
    }

    /// Marks what it looks at.
    pub const fn mark(&self, inputs: &mut Inputs) {
        match self {
            Self::Families(_) => inputs.family = true,
            Self::Validation(_) => inputs.validation = true,
            Self::Peers(_) => inputs.peer = true,
            Self::NextHops(_) => inputs.next_hop = true,
            Self::Prefixes(_) => (inputs.family, inputs.key) = (true, true),
            _ => inputs.attributes = true,
        }
    }

    /// Whether it holds for the route as it is now.
    #[inline]
    pub fn holds(&self, route: &Route<'_, '_>) -> bool {
        let is_between = |number: Option<u32>, least: &u32, most: &u32| {
            number.is_some_and(|number| (least..=most).contains(&&number))
        };
        match self {
            Self::Families(families) => families.has(route.subject.family),
            Self::Validation(validation) => route.subject.validation == Some(*validation),
            Self::Origin(origin) => route.value(Slot::Origin) == Some(&[*origin]),
            Self::Med(least, most) => is_between(route.number(Slot::Med), least, most),
            Self::LocalPref(least, most) => is_between(route.number(Slot::LocalPref), least, most),
            Self::Peers(peers) => peers.has(&route.subject.peer),
            Self::NextHops(addresses) => next_hop(route).is_some_and(|it| addresses.has(it)),
            Self::Prefixes(prefixes) => {
                let prefix = Prefix::of(route.subject.family, route.subject.key);
                prefix.is_some_and(|prefix| prefixes.has(prefix))
            }
            Self::Communities(set) => has_any(set, route),
            Self::AllCommunities(sets) => sets.iter().all(|set| has_any(set, route)),
            Self::AsPathLength(least, most) => {
                is_between(u32::try_from(route.path().hops()).ok(), least, most)
            }
            Self::AsPath(automaton) => automaton.matches(route.path().iter()),
        }
    }
}

/// The attribute in which communities of a kind stand.
pub const fn slot_of(kind: Kind) -> Slot {
    match kind {
        Kind::Standard => Slot::Communities,
        Kind::Extended => Slot::Extended,
        Kind::Large => Slot::Large,
    }
}

#[inline]
fn has_any(set: &CommunitySet, route: &Route<'_, '_>) -> bool {
    set.has_any(|kind| route.value(slot_of(kind)))
}

/// The next hop as a prefix of one address; none if it is our own one, which is not known here.
fn next_hop(route: &Route<'_, '_>) -> Option<Prefix> {
    use super::NewNextHop::{Address, Own};
    match route.next_hop {
        None => NextHop::read(route.subject.next_hop).map(|it| Prefix::host(it.address)),
        Some(Address(address)) => Some(Prefix::host(address)),
        Some(Own) => None,
    }
}
