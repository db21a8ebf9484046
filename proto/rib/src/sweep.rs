//! Routes of a peer that go or become stale, all at once.

use crate::decide::Standing;
use crate::key::Key;
use crate::table::Table;
use crate::{NONE, PeerId};
use bgp::codec::WellKnownCommunity;

impl<K: Key> Table<K> {
    /// What the peer has announced is stale from now on, until it is announced again.
    pub(crate) fn age(&mut self, peer: PeerId) {
        self.source_mut(peer).epoch += 1;
    }

    /// What is stale of a peer shall go, a little with each call of [`Table::sweep`].
    pub(crate) fn purge(&mut self, peer: PeerId) {
        let source = self.source_mut(peer);
        if source.paths > 0 {
            let epoch = source.epoch;
            self.sweeps.push_back((peer, epoch));
        }
    }

    /// Takes out up to `budget` paths that shall go, and tells which.
    pub(crate) fn sweep(&mut self, budget: usize, mut gone: impl FnMut(PeerId, &K)) {
        let mut left = budget;
        while let Some(&(peer, epoch)) = self.sweeps.front() {
            let mut set = self.source_mut(peer).sets;
            while set != NONE && left > 0 {
                let older = self.sets.get(set).older;
                while left > 0 && self.sets.get(set).epoch < epoch {
                    let path = self.sets.get(set).first;
                    if path == NONE {
                        break;
                    }
                    let entry = self.paths[path as usize].entry;
                    gone(peer, &self.entries[entry as usize].key);
                    left -= 1;
                    self.remove(path);
                }
                set = older;
            }
            if left == 0 {
                return;
            }
            self.sweeps.pop_front();
        }
    }

    /// What is stale of a peer is stale for long from now on: behind all others, and told only to
    /// those who understand it. What may not be so goes, and is told (RFC 9494 §4.2, §4.3).
    pub(crate) fn long_lived(&mut self, peer: PeerId, mut gone: impl FnMut(&K)) {
        // A set that goes with its last path keeps its place in the row until another takes it.
        let (epoch, mut set) = (self.source_mut(peer).epoch, self.source_mut(peer).sets);
        while set != NONE {
            let it = self.sets.get_mut(set);
            let older = it.older;
            if it.epoch < epoch && !it.rank.is_stale() {
                let goes = it.has_community(WellKnownCommunity::NoLlgr);
                it.rank.standing = it.rank.standing.with(Standing::STALE, true);
                if goes {
                    while self.sets.get(set).first != NONE {
                        let path = self.sets.get(set).first;
                        let entry = self.paths[path as usize].entry;
                        gone(&self.entries[entry as usize].key);
                        self.remove(path);
                    }
                } else {
                    self.rerank(set, true);
                }
            }
            set = older;
        }
    }
}
