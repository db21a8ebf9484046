//! Routes of BGP as the plane is told them.
//!
//! ```text
//!   rib ─ changes ─→ read ─→ routes: next hops of each prefix ─→ Learnt: which protocol holds
//!    ↑ how far each is
//!   Resolver ─→ one hop of the plane for each next hop, whatever leads over it
//! ```

use super::resolver::Resolver;
use super::underlay::Labelling;
use crate::hops::Hops;
use bgp::family::{Family, FamilySet};
use dataplane::Rank;
use igp::Prefix;
use nodes::program::Hop;
use rib::{Change, Choice, Kind, ReaderId, Rib};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Routes that are read at once at most.
const READ_MAX: usize = 20_000;

/// The families of the global table.
fn families() -> FamilySet {
    [Family::Ipv4Unicast, Family::Ipv6Unicast].into_iter().collect()
}

/// A route of BGP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BgpRoute {
    /// Next hops, among which flows are shared.
    pub(crate) next_hops: Vec<IpAddr>,
    /// Of an external peer.
    pub(crate) is_external: bool,
    is_stale: bool,
}

/// What the plane is told of BGP.
#[derive(Debug)]
pub(crate) struct Fib {
    reader: ReaderId,
    routes: BTreeMap<Prefix, BgpRoute>,
    changed: BTreeSet<Prefix>,
}

/// A prefix of so many bits.
pub(super) fn key_prefix(is_four: bool, bits: u8, octets: &[u8]) -> Option<Prefix> {
    let mut whole = [0; 16];
    whole.get_mut(..octets.len())?.copy_from_slice(octets);
    let [a, b, c, d, ..] = whole;
    let (address, most) = match is_four {
        true => (IpAddr::from([a, b, c, d]), 32),
        false => (IpAddr::from(whole), 128),
    };
    (bits <= most).then(|| Prefix::new(address, bits))
}

impl Fib {
    pub(crate) fn new(rib: &mut Rib, paths_max: u8) -> Self {
        Self {
            reader: rib.reader(families(), paths_max.into()),
            routes: BTreeMap::new(),
            changed: BTreeSet::new(),
        }
    }

    /// Others than before: everything there was is gone, and told so.
    pub(crate) fn renew(&mut self, rib: &mut Rib, paths_max: u8) {
        self.changed.extend(self.routes.keys().copied());
        self.routes.clear();
        self.reader = rib.reader(families(), paths_max.into());
    }

    /// So many equal ways from now on.
    pub(crate) fn share(&mut self, rib: &mut Rib, paths_max: u8) {
        rib.close_reader(self.reader);
        self.reader = rib.reader(families(), paths_max.into());
    }

    /// Reads what was chosen; whether there is more.
    pub(crate) fn read(&mut self, rib: &mut Rib) -> bool {
        let reader = self.reader;
        rib.read_changes(reader, READ_MAX, &mut |change| match change {
            Change::Begin(family) => {
                self.of_family(family).for_each(|(_, it)| it.is_stale = true);
            }
            Change::Route(choice) => self.choose(&choice),
            Change::End(family) => {
                let stale = self.of_family(family).filter(|(_, it)| it.is_stale);
                let gone: Vec<Prefix> = stale.map(|(prefix, _)| *prefix).collect();
                for prefix in gone {
                    self.routes.remove(&prefix);
                    self.changed.insert(prefix);
                }
            }
        })
    }

    fn of_family(&mut self, family: Family) -> impl Iterator<Item = (&Prefix, &mut BgpRoute)> {
        let is_four = family == Family::Ipv4Unicast;
        self.routes.iter_mut().filter(move |(prefix, _)| prefix.address.is_ipv4() == is_four)
    }

    fn choose(&mut self, choice: &Choice<'_>) {
        let is_four = choice.family == Family::Ipv4Unicast;
        let Some((bits, octets)) = choice.key.split_first() else { return };
        let Some(prefix) = key_prefix(is_four, *bits, octets) else { return };
        let best = choice.best().filter(|it| it.kind != Kind::Own);
        let mut next_hops: Vec<IpAddr> = match best {
            Some(_) => choice.paths().filter_map(|it| Some(it.next_hop?.to_canonical())).collect(),
            None => Vec::new(),
        };
        next_hops.sort_unstable();
        next_hops.dedup();
        let is_external = best.is_some_and(|it| it.kind == Kind::External);
        let is_other = if next_hops.is_empty() {
            self.routes.remove(&prefix).is_some()
        } else {
            let route = BgpRoute { next_hops, is_external, is_stale: false };
            self.routes.insert(prefix, route.clone()) != Some(route)
        };
        if is_other {
            self.changed.insert(prefix);
        }
    }

    /// Prefixes whose routes are others since this was asked.
    pub(crate) fn take_changed(&mut self) -> BTreeSet<Prefix> {
        core::mem::take(&mut self.changed)
    }

    /// The route to a prefix, as long as some next hop of it is reached.
    pub(crate) fn route(&self, prefix: Prefix, next_hops: &Resolver) -> Option<&BgpRoute> {
        let route = self.routes.get(&prefix)?;
        route.next_hops.iter().any(|it| next_hops.reach(*it).is_some()).then_some(route)
    }

    pub(crate) fn prefixes(&self) -> impl Iterator<Item = Prefix> + '_ {
        self.routes.keys().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.routes.len()
    }

    /// Everything was said.
    pub(crate) fn said(&mut self) {
        self.changed.clear();
    }
}

impl BgpRoute {
    /// Its hop: its only next hop, or flows shared among several.
    pub(crate) fn hop(&self, next_hops: &Resolver, hops: &mut impl Hops) -> u32 {
        let all = self.next_hops.iter();
        let each: Vec<(u32, u32)> =
            all.filter_map(|it| Some((next_hops.hop(*it, hops)?, 1))).collect();
        match &each[..] {
            [(only, _)] => *only,
            _ => {
                let hop = Hop::Group { members: each, resilient: false };
                hops.hop(Rank::Paired, &format!("{hop:?}"), hop)
            }
        }
    }

    /// Its ways.
    pub(super) fn ways(&self, next_hops: &Resolver) -> Vec<Labelling> {
        let reached = self.next_hops.iter().filter_map(|it| next_hops.reach(*it));
        reached.flat_map(|it| it.ways.iter().copied()).collect()
    }
}
