//! The decision process (RFC 4271 §9.1.2.2, RFC 4456 §9): which path of an entry is the best.
//!
//! MULTI_EXIT_DISC is compared between paths of the same neighbouring AS only, and always before
//! what follows it ("deterministic"), so that the choice does not depend on the order of arrival.

use crate::Kind;
use bgp::codec::{AsPath, Asn, AttributeType, Attributes, Identifier, aigp_metric};
use core::cmp::{Ordering, Reverse};
use core::net::IpAddr;

/// LOCAL_PREF of a route that has none.
pub(crate) const LOCAL_PREF_DEFAULT: u32 = 100;

/// What is compared before anything that a path says, as one number: the lesser is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Standing(u8);

impl Standing {
    /// Of this speaker itself: before all others, whatever they say. The field's weight.
    pub(crate) const OWN: Self = Self(0);
    /// Of a peer.
    pub(crate) const PEERS: Self = Self(1);
    /// Stale for long: behind all others (RFC 9494 §4.3).
    pub(crate) const STALE: Self = Self(2);
    /// The next hop cannot be reached: behind all others, and told to nobody.
    pub(crate) const UNREACHABLE: Self = Self(4);
    /// The import policy refuses it: behind all others, and told to nobody.
    pub(crate) const REFUSED: Self = Self(8);

    pub(crate) const fn has(self, one: Self) -> bool {
        self.0 & one.0 != 0
    }

    pub(crate) const fn with(self, one: Self, is_so: bool) -> Self {
        if is_so { Self(self.0 | one.0) } else { Self(self.0 & !one.0) }
    }
}

/// What paths are compared by, read out of the attributes once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    pub(crate) standing: Standing,
    pub(crate) local_pref: u32,
    /// The metric of AIGP; `None` is behind all (RFC 7311 §4.1).
    pub(crate) aigp: Option<u64>,
    pub(crate) hops: u16,
    pub(crate) origin: u8,
    pub(crate) med: u32,
    /// Whose MULTI_EXIT_DISC it is.
    pub(crate) neighbour: Asn,
    pub(crate) is_external: bool,
    /// To the next hop.
    pub(crate) metric: u32,
    /// ORIGINATOR_ID, or the identifier of the peer.
    pub(crate) originator: Identifier,
    pub(crate) clusters: u16,
    pub(crate) address: IpAddr,
}

fn number(value: Option<&[u8]>) -> Option<u32> {
    value.and_then(|octets| octets.first_chunk::<4>()).map(|octets| u32::from_be_bytes(*octets))
}

impl Rank {
    pub(crate) fn read(
        attributes: &[u8],
        kind: Kind,
        identifier: Identifier,
        address: IpAddr,
    ) -> Self {
        let is_external = kind == Kind::External;
        let mut rank = Self {
            standing: if kind == Kind::Own { Standing::OWN } else { Standing::PEERS },
            local_pref: LOCAL_PREF_DEFAULT,
            aigp: None,
            hops: 0,
            origin: 2,
            med: 0,
            neighbour: 0,
            is_external,
            metric: 0,
            originator: identifier,
            clusters: 0,
            address,
        };
        for attribute in Attributes::new(attributes).map_while(Result::ok) {
            let value = attribute.value;
            let Some(kind) = attribute.kind() else { continue };
            match kind {
                AttributeType::Origin => rank.origin = value.first().copied().unwrap_or(2),
                AttributeType::AsPath => {
                    let path = AsPath::new(value, true);
                    rank.hops = u16::try_from(path.hops()).unwrap_or(u16::MAX);
                    rank.neighbour = path.neighbour().unwrap_or(0);
                }
                AttributeType::MultiExitDisc => rank.med = number(Some(value)).unwrap_or(0),
                // A policy's, where the peer is external: it may say none (RFC 4271 §5.1.5).
                AttributeType::LocalPref => {
                    rank.local_pref = number(Some(value)).unwrap_or(LOCAL_PREF_DEFAULT);
                }
                AttributeType::OriginatorId => {
                    rank.originator = number(Some(value)).unwrap_or(identifier);
                }
                AttributeType::ClusterList => {
                    rank.clusters = u16::try_from(value.len() / 4).unwrap_or(u16::MAX);
                }
                AttributeType::Aigp => rank.aigp = aigp_metric(value),
                _ => {}
            }
        }
        rank
    }

    /// As seen from where the next hop has that metric, or cannot be reached.
    pub(crate) fn seen_with(self, metric: Option<u32>) -> Self {
        let standing = self.standing.with(Standing::UNREACHABLE, metric.is_none());
        Self { metric: metric.unwrap_or(u32::MAX), standing, ..self }
    }

    /// In a base that imports the path: nothing is its own there.
    pub(crate) fn elsewhere(self) -> Self {
        Self { standing: self.standing.with(Standing::PEERS, true), ..self }
    }

    /// AIGP and the metric to the next hop together (RFC 7311 §4.1).
    fn total_aigp(&self) -> u64 {
        self.aigp.map_or(u64::MAX, |aigp| aigp.saturating_add(self.metric.into()))
    }

    pub(crate) const fn is_refused(&self) -> bool {
        self.standing.has(Standing::REFUSED)
    }

    pub(crate) const fn is_unreachable(&self) -> bool {
        self.standing.has(Standing::UNREACHABLE)
    }

    /// Of this speaker itself.
    pub(crate) const fn is_own(&self) -> bool {
        !self.standing.has(Standing::PEERS)
    }

    /// Whether a path of it may be taken at all.
    pub(crate) const fn is_usable(&self) -> bool {
        !self.is_refused() && !self.is_unreachable()
    }

    /// Stale for long.
    pub(crate) const fn is_stale(&self) -> bool {
        self.standing.has(Standing::STALE)
    }

    /// Whether two paths that are left when MULTI_EXIT_DISC has been looked at are equal but for
    /// who tells them: traffic may be shared between them.
    fn is_equal_to(&self, other: &Self) -> bool {
        (self.is_external, self.metric) == (other.is_external, other.metric)
    }

    /// What is compared before MULTI_EXIT_DISC; the lesser is better.
    fn before(&self) -> impl Ord + use<> {
        let aigp = self.total_aigp();
        (self.standing, Reverse(self.local_pref), aigp, self.hops, self.origin)
    }

    /// What is compared after it.
    fn after(&self) -> impl Ord + use<> {
        (!self.is_external, self.metric, self.originator, self.clusters, self.address)
    }
}

/// Which step of the decision told two paths apart, for people.
pub(crate) fn reason(best: &Rank, other: &Rank) -> &'static str {
    let standing = |one| best.standing.has(one).cmp(&other.standing.has(one));
    let steps: [(Ordering, &str); 14] = [
        (standing(Standing::REFUSED), "the import policy refuses it"),
        (standing(Standing::UNREACHABLE), "the next hop cannot be reached"),
        (standing(Standing::STALE), "the other is stale for long"),
        (standing(Standing::PEERS), "own before others"),
        (other.local_pref.cmp(&best.local_pref), "LOCAL_PREF"),
        (best.total_aigp().cmp(&other.total_aigp()), "AIGP"),
        (best.hops.cmp(&other.hops), "AS_PATH length"),
        (best.origin.cmp(&other.origin), "ORIGIN"),
        (med(best, other), "MULTI_EXIT_DISC"),
        (other.is_external.cmp(&best.is_external), "external before internal"),
        (best.metric.cmp(&other.metric), "metric to the next hop"),
        (best.originator.cmp(&other.originator), "identifier"),
        (best.clusters.cmp(&other.clusters), "CLUSTER_LIST length"),
        (best.address.cmp(&other.address), "peer address"),
    ];
    let step = steps.into_iter().find(|(order, _)| order.is_ne());
    step.map_or("path identifier", |(_, name)| name)
}

fn med(a: &Rank, b: &Rank) -> Ordering {
    if a.neighbour == b.neighbour { a.med.cmp(&b.med) } else { Ordering::Equal }
}

/// Whether a path is behind the best one of others, so that it changes nothing among them by
/// coming: it neither is better nor, by MULTI_EXIT_DISC, takes out what is. `ties` are what decides
/// last.
pub(crate) fn is_behind<T: Ord>(rank: &Rank, best: &Rank, ties: [T; 2]) -> bool {
    let [tie, tie_of_best] = ties;
    let is_after = || (rank.after(), tie) > (best.after(), tie_of_best);
    match rank.before().cmp(&best.before()) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal if rank.neighbour != best.neighbour => is_after(),
        Ordering::Equal => rank.med > best.med || rank.med == best.med && is_after(),
    }
}

/// Whether a path that is not the best one takes out no other by MULTI_EXIT_DISC that the best one
/// does not take out as well, so that it changes nothing by going.
pub(crate) fn is_idle(rank: &Rank, best: &Rank) -> bool {
    rank.neighbour == best.neighbour || rank.before() > best.before()
}

/// The best of some paths, each given with its rank; of equal ones the first by `tie`.
pub(crate) fn best<P: Copy, T: Ord>(
    candidates: &mut Vec<(Rank, P)>,
    tie: impl Fn(P) -> T,
) -> Option<P> {
    keep_first(candidates);
    let after = |(rank, path): &&(Rank, P)| (rank.after(), tie(*path));
    candidates.iter().min_by(|a, b| after(a).cmp(&after(b))).map(|(_, path)| *path)
}

/// Leaves the paths among which traffic may be shared, the best one first: those that differ by
/// nothing but who tells them (RFC 4271 §9.1.2.2, a to e).
pub(crate) fn equal<P: Copy, T: Ord>(candidates: &mut Vec<(Rank, P)>, tie: impl Fn(P) -> T) {
    keep_first(candidates);
    candidates.sort_unstable_by_key(|(rank, path)| (rank.after(), tie(*path)));
    if let Some((best, _)) = candidates.first().copied() {
        candidates.retain(|(rank, _)| rank.is_equal_to(&best));
    }
}

/// Leaves those that are the first ones up to MULTI_EXIT_DISC.
fn keep_first<P>(candidates: &mut Vec<(Rank, P)>) {
    let Some(top) = candidates.iter().map(|(rank, _)| rank.before()).min() else { return };
    candidates.retain(|(rank, _)| rank.before() == top);
    if candidates.len() > 1 {
        // The least MULTI_EXIT_DISC of each neighbouring AS stays.
        candidates.sort_unstable_by_key(|(rank, _)| (rank.neighbour, rank.med));
        let mut least = None;
        candidates.retain(|(rank, _)| {
            let (neighbour, med) = *least.get_or_insert((rank.neighbour, rank.med));
            if neighbour != rank.neighbour {
                least = Some((rank.neighbour, rank.med));
            }
            neighbour != rank.neighbour || med == rank.med
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank() -> Rank {
        Rank {
            standing: Standing::PEERS,
            local_pref: 100,
            aigp: None,
            hops: 3,
            origin: 0,
            med: 10,
            neighbour: 65_001,
            is_external: false,
            metric: 5,
            originator: 7,
            clusters: 1,
            address: "192.0.2.1".parse().unwrap(),
        }
    }

    #[test]
    fn each_step_decides_when_those_before_it_are_equal() {
        let better = [
            (Rank { standing: Standing::OWN, local_pref: 0, ..rank() }, "own before others"),
            (Rank { local_pref: 101, ..rank() }, "LOCAL_PREF"),
            (Rank { aigp: Some(5), ..rank() }, "AIGP"),
            (Rank { hops: 2, ..rank() }, "AS_PATH length"),
            (Rank { med: 9, ..rank() }, "MULTI_EXIT_DISC"),
            (Rank { is_external: true, ..rank() }, "external before internal"),
            (Rank { metric: 4, ..rank() }, "metric to the next hop"),
            (Rank { originator: 6, ..rank() }, "identifier"),
            (Rank { clusters: 0, ..rank() }, "CLUSTER_LIST length"),
            (Rank { address: "192.0.2.0".parse().unwrap(), ..rank() }, "peer address"),
        ];
        for (at, (rank_of_it, name)) in better.iter().enumerate() {
            assert_eq!(reason(rank_of_it, &rank()), *name);
            for order in [[0, 1], [1, 0]] {
                let both = [(*rank_of_it, 0), (rank(), 1)];
                let mut candidates: Vec<_> = order.iter().map(|&at| both[at]).collect();
                assert_eq!(best(&mut candidates, |path| path), Some(0), "{name}");
            }
            for (later, _) in &better[at + 1..] {
                let mut candidates = vec![(*later, 1), (*rank_of_it, 0)];
                assert_eq!(best(&mut candidates, |path| path), Some(0), "{name}");
            }
        }
    }

    #[test]
    fn what_is_behind_changes_nothing_by_coming_and_what_is_idle_by_going() {
        let mut state = 1_u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % bound
        };
        let (mut behind, mut idle) = (0, 0);
        for _ in 0..50_000 {
            let count = 2 + below(6) as usize;
            let all: Vec<(Rank, usize)> = (0..count)
                .map(|number| {
                    let local_pref = 100 + u32::from(below(4) == 0);
                    let (med, neighbour) = (below(3) as u32, 65_001 + below(3) as u32);
                    let originator = below(3) as u32;
                    (Rank { local_pref, med, neighbour, originator, ..rank() }, number)
                })
                .collect();
            let best_of = |some: &[(Rank, usize)]| best(&mut some.to_vec(), |number| number);
            let ((last, tie), others) = all.split_last().unwrap();
            let (of_others, of_all) = (best_of(others).unwrap(), best_of(&all).unwrap());
            if is_behind(last, &all[of_others].0, [*tie, of_others]) {
                behind += 1;
                assert_eq!(of_all, of_others, "{all:?}");
            }
            if of_all != *tie && is_idle(last, &all[of_all].0) {
                idle += 1;
                assert_eq!(of_all, of_others, "{all:?}");
            }
        }
        assert!(behind > 10_000 && idle > 10_000, "{behind} {idle}");
    }

    #[test]
    fn multi_exit_disc_counts_between_paths_of_one_neighbour_only_whatever_the_order() {
        // RFC 3345's kind of example: B loses to A by MED, C beats A by the identifier.
        let a = Rank { med: 1, originator: 9, ..rank() };
        let b = Rank { med: 2, originator: 1, ..rank() };
        let c = Rank { med: 50, neighbour: 65_002, originator: 5, ..rank() };
        let paths = [(a, 'a'), (b, 'b'), (c, 'c')];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut candidates: Vec<_> = order.iter().map(|&at| paths[at]).collect();
            assert_eq!(best(&mut candidates, |path| path), Some('c'));
        }
    }
}
