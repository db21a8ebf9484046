//! What is remembered of those who are heard and are no neighbours.

use machine::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// What was not believed counts for so long at least.
pub(crate) const FRESH: Duration = Duration::from_secs(60);

/// Bounded by the interfaces, and by the reasons that there are.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    /// What the log has, by interface and reason, until the operator or an adjacency changes it.
    said: BTreeSet<(u32, &'static str)>,
    /// Interfaces that begin anew, and what is another thing.
    pub(crate) anew: BTreeMap<u32, &'static str>,
}

impl Doubts {
    /// Whether the log has no line of it yet; from now on it has.
    pub(crate) fn say(&mut self, interface: u32, reason: &'static str) -> bool {
        self.said.insert((interface, reason))
    }

    /// Settings changed: what is still so is said again.
    pub(crate) fn forget(&mut self) {
        self.said.clear();
    }

    /// A neighbour of an interface is adjacent; what is odd of one all the same stays said.
    pub(crate) fn adjacent(&mut self, interface: u32, odd: &[&str]) {
        self.said.retain(|(of, reason)| *of != interface || odd.contains(reason));
    }
}
