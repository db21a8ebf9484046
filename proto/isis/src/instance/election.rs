//! Who is designated on a LAN (ISO 10589 §8.4.5): the highest priority, then the highest address.

use crate::address::{Level, NodeId, SystemId};
use crate::circuit::Circuit;
use machine::{Duration, Time};
use std::collections::BTreeMap;

/// What is new on the LAN shall soon be known to have everything.
const CSNP_SOON: Duration = Duration::from_millis(500);

/// What elections changed.
#[derive(Debug, Default)]
pub(super) struct Elected {
    /// Who is designated somewhere is another one.
    pub(super) has_changed: bool,
    /// How often it is us now.
    pub(super) own: u64,
}

/// Looks at every LAN where something is new.
pub(super) fn elect_all(
    circuits: &mut BTreeMap<u32, Circuit>,
    own: SystemId,
    csnp: Duration,
    now: Time,
) -> Elected {
    let mut elected = Elected::default();
    for circuit in circuits.values_mut().filter(|it| it.is_up) {
        for level in Level::ALL {
            let state = circuit.level(level);
            if !state.is_undecided || state.elects_at > now {
                continue;
            }
            let is_elected = circuit.is_lan() && circuit.active.has(level);
            let lan = if is_elected { elect(circuit, level, own) } else { None };
            let is_designated = lan.is_some_and(|it| it.system == own);
            let state = circuit.level_mut(level);
            state.is_undecided = false;
            if state.lan == lan {
                continue;
            }
            elected.has_changed = true;
            state.lan = lan;
            if state.is_designated != is_designated {
                elected.own += u64::from(is_designated);
                state.is_designated = is_designated;
                let soon = now + CSNP_SOON.min(csnp);
                state.csnp_at = if is_designated { soon } else { Time::MAX };
                state.hello_at = state.hello_at.min(now);
            }
        }
    }
    elected
}

/// The pseudonode; none as long as whoever should be designated does not say so.
fn elect(circuit: &Circuit, level: Level, own: SystemId) -> Option<NodeId> {
    let best = circuit.systems(level).max_by_key(|it| (it.priority, it.snpa))?;
    if (circuit.settings.priority, circuit.settings.snpa) > (best.priority, best.snpa) {
        return Some(NodeId { system: own, pseudonode: circuit.id });
    }
    let is_its = best.lan.system == best.system && best.lan.pseudonode != 0;
    is_its.then_some(best.lan)
}
