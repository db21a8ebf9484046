//! Which versions of MAP peers have answered in.

use map::Context;
use sccp::codec::Address;
use std::collections::{BTreeMap, VecDeque};

type Place = (Address, u8);

/// Versions below the highest one, by peer and context.
#[derive(Debug)]
pub struct Versions {
    known: BTreeMap<Place, (u8, u64)>,
    /// In the order in which they were learned.
    order: VecDeque<(Place, u64)>,
    count: u64,
    max: usize,
}

impl Versions {
    /// At most so many.
    pub const fn new(max: usize) -> Self {
        Self { known: BTreeMap::new(), order: VecDeque::new(), count: 0, max }
    }

    /// The version of a peer; none: the highest one.
    pub fn at(&self, peer: &Address, context: Context) -> Option<u8> {
        self.known.get(&(*peer, context.number())).map(|it| it.0)
    }

    /// A peer answered in a version; none: in the highest one. The oldest makes room.
    pub fn learn(&mut self, peer: &Address, context: Context, version: Option<u8>) {
        let place = (*peer, context.number());
        let Some(version) = version else {
            self.known.remove(&place);
            return;
        };
        if let Some((known, _)) = self.known.get_mut(&place) {
            *known = version;
            return;
        }
        while self.order.len() >= self.max
            && let Some((oldest, count)) = self.order.pop_front()
        {
            if self.known.get(&oldest).is_some_and(|it| it.1 == count) {
                self.known.remove(&oldest);
            }
        }
        self.count += 1;
        self.known.insert(place, (version, self.count));
        self.order.push_back((place, self.count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_makes_room_and_one_that_speaks_the_highest_is_none() {
        let mut versions = Versions::new(2);
        let peer = |n| Address::subsystem(None, n);
        let context = Context::ShortMsgMoRelay;
        versions.learn(&peer(1), context, Some(1));
        versions.learn(&peer(2), context, Some(2));
        versions.learn(&peer(2), context, Some(1));
        versions.learn(&peer(1), context, None);
        versions.learn(&peer(1), context, Some(2));
        let known = |it: &Versions| [1, 2, 3].map(|n| it.at(&peer(n), context));
        assert_eq!(known(&versions), [Some(2), Some(1), None]);
        versions.learn(&peer(3), context, Some(1));
        assert_eq!(known(&versions), [Some(2), None, Some(1)]);
        assert_eq!(versions.at(&peer(3), Context::ShortMsgMtRelay), None);
    }
}
