//! How the next hops of one routing table are reached: each is looked at once, whatever leads over
//! it, and the plane has one hop for it.
//!
//! ```text
//!   tables ─ new next hops ─┐
//!   a changed prefix ───────┴→ due ─ some each turn ─→ reached ─ the plane is told ─→ the tables
//! ```
//! The plane comes first: what leads over a next hop that is gone is on its backup there before
//! the tables have decided anew for each route.

use super::underlay::{Labelling, Reach};
use crate::hops::{Hops, members_of};
use bgp::family::Family;
use dataplane::Rank;
use igp::Prefix;
use nodes::program::Hop;
use rib::Rib;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Next hops that are looked at in one turn at most.
const TURN_MAX: usize = 1_024;
/// Next hops that are kept beyond twice those in use.
const SPARE: usize = 1_024;
/// Families over whose next hops labels must lead.
const OF_VPNS: [Family; 2] = [Family::Vpnv4, Family::Vpnv6];

/// What is known of a next hop, for the tables: what the way costs, also where labels must lead.
type Found = (IpAddr, Option<u32>, Option<u32>);

/// The next hops of a routing table. Addresses are canonical: an IPv4 one has one form.
#[derive(Debug)]
pub(crate) struct Resolver {
    /// What its hops are called by.
    name: String,
    /// Those that routes have, whether they are reached or not.
    known: BTreeSet<IpAddr>,
    /// Those of them that are to be looked at.
    due: BTreeSet<IpAddr>,
    reached: BTreeMap<IpAddr, Reach>,
    /// Next hops that are reached otherwise than the plane was told.
    moved: BTreeSet<IpAddr>,
    /// What the tables are to be told once the plane was.
    found: Vec<Found>,
    /// With more than that those are looked for that are out of use.
    most: usize,
}

impl Resolver {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            known: BTreeSet::new(),
            due: BTreeSet::new(),
            reached: BTreeMap::new(),
            moved: BTreeSet::new(),
            found: Vec::new(),
            most: SPARE,
        }
    }

    /// All of them are to be looked at.
    pub(crate) fn doubt_all(&mut self) {
        self.due.clone_from(&self.known);
    }

    /// Those under a prefix are to be looked at.
    pub(crate) fn doubt(&mut self, prefix: Prefix) {
        if prefix.length == 0 {
            // No next hop is reached over a default route.
            return;
        }
        let last = last_of(prefix);
        self.due.extend(self.known.range(prefix.address..=last));
    }

    /// Whether there is more to be done.
    pub(crate) fn has_more(&self) -> bool {
        !(self.due.is_empty() && self.found.is_empty())
    }

    /// Tells the tables what was found, takes from them the next hops that are new, and looks at
    /// some of those that are due; whether the tables were told anything.
    pub(crate) fn resolve(
        &mut self,
        rib: &mut Rib,
        reach: impl Fn(IpAddr) -> Option<Reach>,
    ) -> bool {
        let found = core::mem::take(&mut self.found);
        found.iter().for_each(|it| tell(rib, *it));
        for new in rib.new_next_hops() {
            self.known.insert(new.to_canonical());
            self.due.insert(new.to_canonical());
        }
        if self.known.len() > self.most {
            self.forget_unused(rib);
        }
        for _ in 0..TURN_MAX {
            let Some(address) = self.due.pop_first() else { break };
            let now = reach(address);
            let over_labels = now.as_ref().filter(|it| !it.labelled().is_empty());
            let metrics = (now.as_ref().map(|it| it.metric), over_labels.map(|it| it.metric));
            self.found.push((address, metrics.0, metrics.1));
            if self.reached.get(&address) != now.as_ref() {
                match now {
                    Some(now) => self.reached.insert(address, now),
                    None => self.reached.remove(&address),
                };
                self.moved.insert(address);
            }
        }
        !found.is_empty()
    }

    /// Forgets those that no route has any more.
    fn forget_unused(&mut self, rib: &Rib) {
        let used = rib.next_hops().into_iter().map(|it| it.address.to_canonical());
        self.known = used.collect();
        self.most = 2 * self.known.len() + SPARE;
        let known = &self.known;
        self.due.retain(|it| known.contains(it));
        self.reached.retain(|it, _| known.contains(it));
        self.moved.retain(|it| known.contains(it));
    }

    /// The next hops that are reached.
    pub(super) fn reached(&self) -> impl Iterator<Item = (&IpAddr, &Reach)> {
        self.reached.iter()
    }

    /// How a next hop is reached.
    pub(super) fn reach(&self, address: IpAddr) -> Option<&Reach> {
        self.reached.get(&address)
    }

    fn name_of(&self, address: IpAddr) -> String {
        format!("{} {address}", self.name)
    }

    fn path_name_of(&self, address: IpAddr) -> String {
        format!("{} path {address}", self.name)
    }

    /// The hop of a next hop, which stays the same one however that is reached.
    pub(super) fn hop(&self, address: IpAddr, hops: &mut impl Hops) -> Option<u32> {
        let ways = &self.reached.get(&address)?.ways;
        Some(standing(&self.name_of(address), ways, hops))
    }

    /// The hop of the labels that lead to a next hop, which stays the same one.
    pub(super) fn path_to(&self, address: IpAddr, hops: &mut impl Hops) -> Option<u32> {
        let ways = self.reached.get(&address)?.labelled();
        (!ways.is_empty()).then(|| standing(&self.path_name_of(address), &ways, hops))
    }

    /// Says of next hops that are reached otherwise, and that the plane has, how they are now: of
    /// one that is not reached, a group of nobody. Routes over them stay as they are.
    pub(crate) fn say_moved(&mut self, hops: &mut impl Hops) {
        for address in core::mem::take(&mut self.moved) {
            let reach = self.reached.get(&address);
            let all = reach.map_or(&[][..], |it| &it.ways);
            let labelled = reach.map(Reach::labelled).unwrap_or_default();
            for (name, ways) in
                [(self.name_of(address), all), (self.path_name_of(address), &labelled[..])]
            {
                if hops.has(Rank::Composed, &name) {
                    standing(&name, ways, hops);
                }
            }
        }
    }

    /// Everything was said.
    pub(crate) fn said(&mut self) {
        self.moved.clear();
    }
}

/// The last address of a prefix.
fn last_of(prefix: Prefix) -> IpAddr {
    match prefix.address {
        IpAddr::V4(it) => {
            let rest = u32::MAX.checked_shr(prefix.length.into()).unwrap_or(0);
            IpAddr::from((it.to_bits() | rest).to_be_bytes())
        }
        IpAddr::V6(it) => {
            let rest = u128::MAX.checked_shr(prefix.length.into()).unwrap_or(0);
            IpAddr::from((it.to_bits() | rest).to_be_bytes())
        }
    }
}

/// Tells the tables how far a next hop is, in both forms that an IPv4 one may have.
fn tell(rib: &mut Rib, found: Found) {
    let (address, plain, over_labels) = found;
    let mapped = match address {
        IpAddr::V4(it) => Some(IpAddr::from(it.to_ipv6_mapped())),
        IpAddr::V6(_) => None,
    };
    for form in [Some(address), mapped].into_iter().flatten() {
        for family in Family::ALL {
            let metric = if OF_VPNS.contains(family) { over_labels } else { plain };
            rib.set_next_hop_of(*family, form, metric);
        }
    }
}

/// The hop of that name, by these ways.
fn standing(name: &str, ways: &[Labelling], hops: &mut impl Hops) -> u32 {
    let members = members_of(ways, hops);
    hops.hop(Rank::Composed, name, Hop::Group { members, resilient: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_address_of_a_prefix_is_found_at_every_length() {
        let last = |text: &str, length| {
            last_of(Prefix::new(text.parse().expect("an address"), length)).to_string()
        };
        assert_eq!(last("10.0.0.0", 8), "10.255.255.255");
        assert_eq!(last("10.0.0.1", 32), "10.0.0.1");
        assert_eq!(last("0.0.0.0", 0), "255.255.255.255");
        assert_eq!(last("2001:db8::", 64), "2001:db8::ffff:ffff:ffff:ffff");
        assert_eq!(last("::1", 128), "::1");
    }
}
