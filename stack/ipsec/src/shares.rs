//! What the connections of each source hold, by the page: the one that holds most makes way.
//!
//! A source is the address that packets come from, of IPv6 its /64. What a connection holds of less
//! than a page is not counted: of these there are as many as connections.

use std::collections::{BTreeMap, BTreeSet};

/// Octets of a page.
const PAGE: usize = 4_096;
/// Pages that the connections of one source hold at most: 16 MiB.
const OF_SOURCE_MAX: usize = 4_096;
/// Pages that all connections of a shard hold at most: 256 MiB.
const MAX: usize = 65_536;

/// Pages that so many octets fill.
pub(crate) const fn pages(octets: usize) -> usize {
    octets / PAGE
}

/// What a connection has of the room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub source: u64,
    pub pages: usize,
}

/// The shares of a source; the largest last.
#[derive(Debug)]
struct Source<P> {
    pages: usize,
    shares: BTreeSet<(usize, P)>,
}

/// All shares.
#[derive(Debug)]
pub(crate) struct Shares<P> {
    sources: BTreeMap<u64, Source<P>>,
    /// The heaviest last.
    order: BTreeSet<(usize, u64)>,
    pages: usize,
}

impl<P: Ord + Copy> Shares<P> {
    pub const fn new() -> Self {
        Self { sources: BTreeMap::new(), order: BTreeSet::new(), pages: 0 }
    }

    /// A connection has another share than before.
    pub fn change(&mut self, place: P, before: Share, after: Share) {
        if before == after {
            return;
        }
        self.weigh(before, |source| {
            source.shares.remove(&(before.pages, place));
            source.pages -= before.pages;
        });
        self.weigh(after, |source| {
            source.shares.insert((after.pages, place));
            source.pages += after.pages;
        });
        self.pages = self.pages - before.pages + after.pages;
    }

    fn weigh(&mut self, share: Share, change: impl FnOnce(&mut Source<P>)) {
        if share.pages == 0 {
            return;
        }
        let none = || Source { pages: 0, shares: BTreeSet::new() };
        let source = self.sources.entry(share.source).or_insert_with(none);
        self.order.remove(&(source.pages, share.source));
        change(source);
        match source.pages {
            0 => drop(self.sources.remove(&share.source)),
            pages => drop(self.order.insert((pages, share.source))),
        }
    }

    /// The connection that makes way, if there is too much of that source or in all: the largest of
    /// the source, or of the source that has most.
    pub fn makes_way(&self, source: u64) -> Option<P> {
        let is_beyond = self.sources.get(&source).is_some_and(|it| it.pages > OF_SOURCE_MAX);
        let heaviest = self.order.last().filter(|_| self.pages > MAX).map(|(_, source)| *source);
        let from = if is_beyond { Some(source) } else { heaviest };
        let shares = &self.sources.get(&from?)?.shares;
        shares.last().map(|(_, place)| *place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_what_a_source_may_hold_its_largest_makes_way_and_beyond_all_that_of_the_heaviest() {
        let mut shares = Shares::new();
        let of = |source, pages| Share { source, pages };
        let none = Share::default();
        for place in 0..128_u32 {
            shares.change(place, none, of(1, 32));
            assert_eq!(shares.makes_way(1), None, "{place}");
        }
        shares.change(128, none, of(1, 1));
        assert_eq!(shares.makes_way(1), Some(127));
        shares.change(127, of(1, 32), none);
        assert_eq!(shares.makes_way(1), None);
        // Many sources, each within its own.
        for source in 2..=32_u64 {
            for place in 0..64_u32 {
                shares.change(1_000 * source as u32 + place, none, of(source, 31));
            }
        }
        assert_eq!(shares.pages, 127 * 32 + 1 + 31 * 64 * 31);
        assert_eq!(shares.makes_way(5), Some(126), "of the heaviest");
        for place in 0..127_u32 {
            shares.change(place, of(1, 32), none);
        }
        assert_eq!(shares.makes_way(5), None);
        for source in 2..=32_u64 {
            for place in 0..64_u32 {
                shares.change(1_000 * source as u32 + place, of(source, 31), none);
            }
        }
        shares.change(128, of(1, 1), none);
        assert!(shares.sources.is_empty() && shares.order.is_empty() && shares.pages == 0);
    }
}
