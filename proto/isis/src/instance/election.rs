//! Who is designated on a LAN (ISO 10589 §8.4.5): the highest priority, then the highest address.

use super::Instance;
use crate::address::{Level, NodeId};
use crate::circuit::Circuit;
use machine::{Duration, Time};

/// What is new on the LAN shall soon be known to have everything.
const CSNP_SOON: Duration = Duration::from_millis(500);

impl Instance {
    pub(super) fn elect_all(&mut self, now: Time) {
        let mut has_changed = false;
        let own = self.settings.system;
        let csnp = self.settings.periods.csnp;
        for circuit in self.circuits.values_mut().filter(|it| it.is_up) {
            let is_lan = circuit.is_lan();
            for level in Level::ALL {
                let state = circuit.level(level);
                if !state.is_undecided || state.elects_at > now {
                    continue;
                }
                let is_elected = is_lan && circuit.active.has(level);
                let lan = if is_elected { elect(circuit, level, own) } else { None };
                let is_designated = lan.is_some_and(|it| it.system == own);
                let state = circuit.level_mut(level);
                state.is_undecided = false;
                if state.lan == lan {
                    continue;
                }
                has_changed = true;
                state.lan = lan;
                if state.is_designated != is_designated {
                    self.counts.elected += u64::from(is_designated);
                    state.is_designated = is_designated;
                    state.csnp_at =
                        if is_designated { now + CSNP_SOON.min(csnp) } else { Time::MAX };
                    state.hello_at = state.hello_at.min(now);
                }
            }
        }
        if has_changed {
            self.changed(now);
        }
    }
}

/// The pseudonode; none as long as whoever should be designated does not say so.
fn elect(circuit: &Circuit, level: Level, own: crate::address::SystemId) -> Option<NodeId> {
    let best = circuit.up(level).max_by_key(|it| (it.priority, it.snpa))?;
    if (circuit.settings.priority, circuit.settings.snpa) > (best.priority, best.snpa) {
        return Some(NodeId { system: own, pseudonode: circuit.id });
    }
    let is_its = best.lan.system == best.system && best.lan.pseudonode != 0;
    is_its.then_some(best.lan)
}
