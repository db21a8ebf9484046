//! Routes that policies judge again, since what they look at beside a route has changed.

use crate::key::Key;
use crate::table::Table;
use crate::{NONE, PeerId, number};

/// Which routes are judged again, and how far that is.
pub struct Reevaluation<'a> {
    /// Whether a key is concerned.
    pub concerns: &'a dyn Fn(&[u8]) -> bool,
    /// The numbers of import policies that look at what has changed.
    pub imports: &'a [u32],
    /// An export policy does so too: what is concerned is told again.
    pub exports: bool,
    /// The entry at which it goes on.
    pub from: usize,
    /// Told of each path that is another one now: whose, its number, and its key.
    pub changed: &'a mut dyn FnMut(PeerId, u32, &[u8]),
}

impl core::fmt::Debug for Reevaluation<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut it = f.debug_struct("Reevaluation");
        it.field("imports", &self.imports).field("from", &self.from).finish_non_exhaustive()
    }
}

impl<K: Key> Table<K> {
    /// Goes over the next entries, `budget` of them with their paths, and collects the paths of
    /// those that are concerned; whether there are more.
    pub(crate) fn concerned(
        &mut self,
        again: &mut Reevaluation<'_>,
        budget: usize,
        paths: &mut Vec<(PeerId, u32)>,
    ) -> bool {
        let (mut left, mut key) = (budget, Vec::new());
        while left > 0 && again.from < self.entries.len() {
            let entry = number(again.from);
            again.from += 1;
            left -= 1;
            if self.entries[entry as usize].paths == NONE {
                continue;
            }
            key.clear();
            self.entries[entry as usize].key.octets(&mut key);
            if !(again.concerns)(&key) {
                continue;
            }
            let before = paths.len();
            paths.extend(self.paths_of(entry).map(|it| (self.paths[it as usize].peer, it)));
            left = left.saturating_sub(paths.len() - before);
            if again.exports {
                self.log(entry);
            }
        }
        again.from < self.entries.len()
    }
}
