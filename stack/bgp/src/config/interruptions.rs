//! What another configuration does to the sessions of this one, said before it is made to run.

use super::{Change, PeerSettings, Section};
use config::interrupted;

/// Sessions that another configuration interrupts, by the names of their peers. What is not named
/// goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interruptions {
    /// They end with a Cease and come back: both sides say OPEN again.
    pub restarting: Vec<String>,
    /// They end and do not come back.
    pub ending: Vec<String>,
    /// Groups all of whose peers from ranges begin again.
    pub restarting_groups: Vec<String>,
    /// Ranges whose peers end.
    pub ending_ranges: Vec<String>,
}

impl Interruptions {
    /// A sentence for those that begin again, and one for those that end.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let groups = self.restarting_groups.iter();
        let groups = groups.map(|it| format!("those from the ranges of {it}"));
        let restarting: Vec<String> = self.restarting.iter().cloned().chain(groups).collect();
        let ranges = self.ending_ranges.iter().map(|it| format!("those from {it}"));
        let ending: Vec<String> = self.ending.iter().cloned().chain(ranges).collect();
        let said = [("restart", restarting), ("end", ending)].into_iter();
        said.filter_map(|(verb, it)| interrupted("session", "sessions", verb, &it)).collect()
    }
}

impl Section<'_> {
    /// What the sessions of this configuration suffer when `next` takes its place; `is_other`: the
    /// speaker is another one, and every session begins again.
    #[must_use]
    pub fn interruptions(&self, next: &Section<'_>, is_other: bool) -> Interruptions {
        let (old, new) = (self.resolve(), next.resolve());
        let mut found = Interruptions::default();
        for peer in old.peers.iter().filter(|peer| peer.enabled) {
            match new.of(peer) {
                Some(wanted) if wanted.enabled => {
                    if is_other || peer.change(&wanted) == Change::Reset {
                        found.restarting.push(peer.name.clone());
                    }
                }
                _ => found.ending.push(peer.name.clone()),
            }
        }
        for group in self.group.iter().filter(|group| !group.ranges.is_empty()) {
            let template = PeerSettings::of_ranges(self, group);
            let same = next.group.iter().find(|it| it.name == group.name);
            let wanted = same.map(|it| (it, PeerSettings::of_ranges(next, it)));
            let Some((same, wanted)) = wanted.filter(|(_, wanted)| wanted.enabled) else {
                if template.enabled {
                    found.ending_ranges.extend(group.ranges.iter().cloned());
                }
                continue;
            };
            let gone = group.ranges.iter().filter(|range| !same.ranges.contains(range));
            found.ending_ranges.extend(gone.cloned());
            let is_reset = is_other || template.change(&wanted) == Change::Reset;
            if template.enabled && is_reset && !same.ranges.is_empty() {
                found.restarting_groups.push(group.name.clone());
            }
        }
        found
    }
}
