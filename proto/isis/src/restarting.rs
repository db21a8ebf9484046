//! What a system knows again after its restart (RFC 8706).

use crate::address::{FragmentId, Level, Levels, LspId};
use machine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// We come back, and say nothing new until we know what we knew.
#[derive(Debug)]
pub(crate) struct Restarting {
    pub(crate) began: Time,
    /// T2: it is over then at the latest.
    pub(crate) ends: Time,
    pub(crate) levels: Levels,
    /// Up to which fragment each neighbour's CSNPs told what there is.
    pub(crate) compared: BTreeMap<(u32, Level), LspId>,
    /// What there is, and did not come yet.
    pub(crate) missing: BTreeSet<FragmentId>,
}

impl Restarting {
    pub(crate) fn new(now: Time, wait: Duration, levels: Levels) -> Self {
        let (compared, missing) = (BTreeMap::new(), BTreeSet::new());
        Self { began: now, ends: now + wait, levels, compared, missing }
    }

    /// A CSNP told what there is in a range.
    pub(crate) fn compared(&mut self, circuit: u32, level: Level, range: [LspId; 2]) {
        let known = self.compared.entry((circuit, level)).or_default();
        if range[0] <= known.next() {
            *known = range[1].max(*known);
        }
    }

    pub(crate) fn lacks(&mut self, level: Level, id: LspId) {
        // Their number is bounded as that of what is asked for.
        if self.missing.len() < 1 << 20 {
            self.missing.insert((level, id));
        }
    }

    pub(crate) fn got(&mut self, level: Level, id: LspId) {
        self.missing.remove(&(level, id));
    }
}
