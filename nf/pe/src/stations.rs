//! What the forwarder told of MAC addresses: the last events, and what alarms are raised of.

use machine::{Duration, Time};
use nodes::program::{BridgeMember, Mac, MacChange, MacLimit, MacNotice};
use std::collections::{BTreeMap, VecDeque};

/// Events that are remembered; the oldest goes.
const EVENTS_MAX: usize = 256;
/// Frozen addresses that are remembered at most.
const FROZEN_MAX: usize = 4_096;
/// An address is frozen for so long at most: that it thawed may not have been heard.
const FROZEN: Duration = Duration::from_secs(600);
/// After a refusal, until a limit counts as kept again.
const REFUSED: Duration = Duration::from_secs(60);

/// What was told.
#[derive(Default)]
pub(crate) struct Stations {
    pub(crate) recent: VecDeque<(Time, MacNotice)>,
    frozen: BTreeMap<(u32, Mac), (Time, BridgeMember)>,
    /// By domain and what was full: when, and the address.
    refused: BTreeMap<(u32, Full), (Time, Mac)>,
}

/// What was full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Full {
    /// The table, or the domain.
    Domain,
    /// An interface.
    Interface(u32),
    /// A pseudowire.
    Pseudowire(u32),
}

impl Stations {
    /// Takes note.
    pub(crate) fn note(&mut self, now: Time, notice: MacNotice) {
        let key = (notice.bridge, notice.mac);
        match notice.what {
            MacChange::Frozen { at } if self.frozen.len() < FROZEN_MAX => {
                self.frozen.insert(key, (now, at));
            }
            MacChange::Thawed => drop(self.frozen.remove(&key)),
            MacChange::Refused { at, limit } => {
                let full = match (limit, at) {
                    (MacLimit::Member, BridgeMember::Interface(at)) => Full::Interface(at),
                    (MacLimit::Member, BridgeMember::Pseudowire(at)) => Full::Pseudowire(at),
                    _ => Full::Domain,
                };
                self.refused.insert((notice.bridge, full), (now, notice.mac));
            }
            MacChange::Moved { .. } | MacChange::Frozen { .. } => {}
        }
        if self.recent.len() == EVENTS_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((now, notice));
    }

    /// Addresses that do not move any more: domain, address, member.
    pub(crate) fn frozen(&self, now: Time) -> impl Iterator<Item = (u32, Mac, BridgeMember)> {
        let there = self.frozen.iter().filter(move |(_, (since, _))| now < *since + FROZEN);
        there.map(|((bridge, mac), (_, at))| (*bridge, *mac, *at))
    }

    /// Limits that were met a short while ago: domain, what was full, the last address.
    pub(crate) fn refused(&self, now: Time) -> impl Iterator<Item = (u32, Full, Mac)> {
        let there = self.refused.iter().filter(move |(_, (since, _))| now < *since + REFUSED);
        there.map(|((bridge, full), (_, mac))| (*bridge, *full, *mac))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_end_when_addresses_thaw_and_limits_are_kept() {
        let mut stations = Stations::default();
        let at = BridgeMember::Interface(7);
        let notice = |what| MacNotice { bridge: 1, mac: [2, 0, 0, 0, 0, 9], what };
        let time = |seconds| Time::ZERO + Duration::from_secs(seconds);
        stations.note(time(1), notice(MacChange::Frozen { at }));
        assert_eq!(stations.frozen(time(500)).count(), 1);
        assert_eq!(stations.frozen(time(700)).count(), 0, "nobody is frozen for ever");
        stations.note(time(800), notice(MacChange::Frozen { at }));
        stations.note(time(801), notice(MacChange::Thawed));
        assert_eq!(stations.frozen(time(802)).count(), 0);
        stations.note(time(900), notice(MacChange::Refused { at, limit: MacLimit::Member }));
        stations.note(time(901), notice(MacChange::Refused { at, limit: MacLimit::Bridge }));
        let full: Vec<Full> = stations.refused(time(905)).map(|(_, full, _)| full).collect();
        assert_eq!(full, [Full::Domain, Full::Interface(7)]);
        assert_eq!(stations.refused(time(961)).count(), 0);
        for _ in 0..2 * EVENTS_MAX {
            stations.note(time(1_000), notice(MacChange::Thawed));
        }
        assert_eq!(stations.recent.len(), EVENTS_MAX);
    }
}
