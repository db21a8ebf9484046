//! Routes of BGP as the plane is told them, and the next hops on which they stand.
//!
//! ```text
//!   rib ─ changes ─→ read ─→ routes: next hops of each prefix ─→ Learnt: which protocol holds
//!    ↑ how far each is
//!   next hops ←─ resolve ←─ Underlay ─→ one hop of the plane for each, whatever leads over it
//! ```

use super::underlay::{Labelling, Reach};
use crate::hops::{Hops, members_of};
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
    reached: BTreeMap<IpAddr, Reach>,
    /// Next hops that are reached otherwise than the plane was told.
    moved: BTreeSet<IpAddr>,
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
            reached: BTreeMap::new(),
            moved: BTreeSet::new(),
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

    /// Finds out how next hops are reached: `all` of them, or those that are new; whether there
    /// were any.
    pub(crate) fn resolve(
        &mut self,
        rib: &mut Rib,
        all: bool,
        reach: impl Fn(IpAddr) -> Option<Reach>,
    ) -> bool {
        let mut wanted = rib.new_next_hops();
        if all {
            wanted = rib.next_hops().into_iter().map(|it| it.address).collect();
            let used: BTreeSet<IpAddr> = wanted.iter().map(IpAddr::to_canonical).collect();
            self.reached.retain(|address, _| used.contains(address));
        }
        let has_some = !wanted.is_empty();
        for address in wanted {
            let now = reach(address.to_canonical());
            rib.set_next_hop(address, now.as_ref().map(|it| it.metric));
            let address = address.to_canonical();
            if self.reached.get(&address) != now.as_ref() {
                match now {
                    Some(now) => self.reached.insert(address, now),
                    None => self.reached.remove(&address),
                };
                self.moved.insert(address);
            }
        }
        has_some
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
            Some(_) => choice.paths().filter_map(|it| it.next_hop).collect(),
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
    pub(crate) fn route(&self, prefix: Prefix) -> Option<&BgpRoute> {
        let reached = |it: &&BgpRoute| it.next_hops.iter().any(|it| self.reached.contains_key(it));
        self.routes.get(&prefix).filter(reached)
    }

    /// The next hops that are reached.
    pub(super) fn reached(&self) -> impl Iterator<Item = (&IpAddr, &Reach)> {
        self.reached.iter()
    }

    pub(crate) fn prefixes(&self) -> impl Iterator<Item = Prefix> + '_ {
        self.routes.keys().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.routes.len()
    }

    /// The hop of a route: its only next hop, or flows shared among several.
    pub(crate) fn hop(&self, route: &BgpRoute, hops: &mut impl Hops) -> u32 {
        let reached = route.next_hops.iter();
        let each: Vec<(u32, u32)> =
            reached.filter_map(|it| Some((self.next_hop(*it, hops)?, 1))).collect();
        match &each[..] {
            [(only, _)] => *only,
            _ => {
                let hop = Hop::Group { members: each, resilient: false };
                hops.hop(Rank::Paired, &format!("{hop:?}"), hop)
            }
        }
    }

    /// The ways of a route.
    pub(super) fn ways(&self, route: &BgpRoute) -> Vec<Labelling> {
        let reached = route.next_hops.iter().filter_map(|it| self.reached.get(it));
        reached.flat_map(|it| it.ways.iter().copied()).collect()
    }

    /// The hop of a next hop, which stays the same one however that is reached.
    fn next_hop(&self, address: IpAddr, hops: &mut impl Hops) -> Option<u32> {
        let ways = &self.reached.get(&address)?.ways;
        Some(standing(&format!("bgp {address}"), ways, hops))
    }

    /// Whether labels lead to a next hop.
    pub(super) fn leads_to(&self, address: IpAddr) -> bool {
        self.reached.get(&address).is_some_and(|it| !it.labelled().is_empty())
    }

    /// The hop of the labels that lead to a next hop, which stays the same one.
    pub(super) fn path_to(&self, address: IpAddr, hops: &mut impl Hops) -> Option<u32> {
        let ways = self.reached.get(&address)?.labelled();
        (!ways.is_empty()).then(|| standing(&format!("bgp path {address}"), &ways, hops))
    }

    /// Next hops that are reached otherwise than the plane was told.
    pub(super) fn moved(&self) -> &BTreeSet<IpAddr> {
        &self.moved
    }

    /// Says of next hops that are reached otherwise how they are now; routes over them stay as they
    /// are.
    pub(crate) fn say_moved(&mut self, hops: &mut impl Hops) {
        for address in core::mem::take(&mut self.moved) {
            self.next_hop(address, hops);
            self.path_to(address, hops);
        }
    }

    /// Everything was said.
    pub(crate) fn said(&mut self) {
        self.moved.clear();
        self.changed.clear();
    }
}

/// The hop of that name, by these ways.
fn standing(name: &str, ways: &[Labelling], hops: &mut impl Hops) -> u32 {
    let members = members_of(ways, hops);
    hops.hop(Rank::Composed, name, Hop::Group { members, resilient: false })
}
