//! Coordinated state change (Q.714 §5.3.5): a replicated subsystem asks before it goes out of
//! service.
//!
//! ```text
//! request ─ SOR to each that has it ─→ waits ─┬─ SOG of all ──→ confirm; tests are ignored
//!                                            └─ T(coord chg) ─→ denied
//! ```

use super::Node;
use crate::codec::ManagementType;
use crate::effects::Indication;
use m3ua::codec::PointCode;
use machine::Time;
use std::collections::BTreeMap;

/// Nodes that have the same subsystem, at most.
const REPLICATES_MAX: usize = 32;

/// A subsystem that wants to go out of service.
#[derive(Debug)]
struct Change {
    /// Who has not agreed yet.
    waits: Vec<PointCode>,
    /// T(coord chg), then T(ignore SST).
    due: Time,
}

/// Changes under way, one a subsystem.
#[derive(Debug, Default)]
pub(super) struct Coordination {
    changes: BTreeMap<u8, Change>,
}

impl Coordination {
    /// Whether a test of that subsystem is not answered.
    pub(super) fn ignores(&self, subsystem: u8) -> bool {
        self.changes.get(&subsystem).is_some_and(|change| change.waits.is_empty())
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.changes.values().map(|change| change.due).min()
    }
}

impl Node {
    /// N-COORD request. Without anybody to ask it is granted at once.
    pub(super) fn coordinate(&mut self, now: Time, subsystem: u8, mut asked: Vec<PointCode>) {
        asked.sort_unstable();
        asked.dedup();
        asked.truncate(REPLICATES_MAX);
        // Whoever cannot be reached cannot stand in.
        let can_reach = |it: &PointCode| self.remotes.can_reach(*it, Some(subsystem)).is_ok();
        if !asked.iter().all(can_reach) {
            return self.indicate(Indication::Coordinated(subsystem, false));
        }
        for point_code in asked.clone() {
            let here = self.settings.point_code;
            self.tell(point_code, ManagementType::OutOfServiceRequest, subsystem, here);
        }
        let due = now + self.settings.parameters.coordination;
        self.coordination.changes.insert(subsystem, Change { waits: asked, due });
        self.agreed(now, subsystem);
    }

    /// SOG came.
    pub(super) fn granted(&mut self, now: Time, by: PointCode, subsystem: u8) {
        let change = self.coordination.changes.get_mut(&subsystem);
        let Some(change) = change.filter(|it| it.waits.contains(&by)) else {
            return self.count(crate::metrics::Metric::Discarded);
        };
        change.waits.retain(|it| *it != by);
        self.agreed(now, subsystem);
    }

    fn agreed(&mut self, now: Time, subsystem: u8) {
        let Some(change) = self.coordination.changes.get_mut(&subsystem) else { return };
        if change.waits.is_empty() {
            change.due = now + self.settings.parameters.ignored_tests;
            self.indicate(Indication::Coordinated(subsystem, true));
        }
    }

    pub(super) fn coordination_due(&mut self, now: Time) {
        while let Some((subsystem, change)) =
            self.coordination.changes.extract_if(.., |_, it| it.due <= now).next()
        {
            if !change.waits.is_empty() {
                self.indicate(Indication::Coordinated(subsystem, false));
            }
        }
    }
}
