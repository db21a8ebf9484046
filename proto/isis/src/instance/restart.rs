//! Restart (RFC 8706): what a system does that comes back, and those that bear it.

use super::Instance;
use super::hello::{AdjacencyId, Heard};
use crate::address::{FragmentId, Level, LspId};
use crate::adjacency::{Adjacency, AdjacencyKey};
use crate::pdu::Restart;
use machine::{Duration, Time};

/// Time between two requests (T1 says 3 s).
const T1: Duration = Duration::from_secs(1);
/// Who has not answered for so long does not bear restarts: our first CSNP, which lacks everything,
/// has made it send what it has (ISO 10589 §7.3.15.2).
const UNHELPED: Duration = Duration::from_secs(10);

/// Whole seconds, at least one.
fn seconds(time: Duration) -> u16 {
    machine::narrow::at_most(time.as_secs(), u16::MAX).max(1)
}

impl Instance {
    /// What a hello says of restarts.
    pub(super) fn said_of_restart(
        &mut self,
        now: Time,
        index: u32,
        level: Option<Level>,
    ) -> Option<Restart> {
        let circuit = self.circuits.get_mut(&index)?;
        let of = |key: &AdjacencyKey| match (key, level) {
            (AdjacencyKey::PointToPoint, None) => true,
            (AdjacencyKey::Lan(mine, _), Some(level)) => *mine == level,
            _ => false,
        };
        let waiting = |it: &&mut Adjacency| it.answer.is_some();
        let all = circuit.adjacencies.iter_mut().filter(|(key, _)| of(key)).map(|it| it.1);
        let mut waiting = all.filter(waiting);
        let answer = waiting.next().and_then(|it| it.answer.take());
        let has_more = waiting.next().is_some();
        let state = circuit.level_mut(level.unwrap_or(Level::One));
        if has_more {
            state.hello_at = state.hello_at.min(now + Duration::from_millis(10));
        }
        if self.restarting.is_some() {
            if !state.has_answer {
                state.hello_at = state.hello_at.min(now + T1);
            }
            return Some(Restart { is_request: true, ..answer.unwrap_or_default() });
        }
        let planned = self.planned.map(|(_, period_s)| Restart {
            is_planned: true,
            remaining_s: Some(period_s),
            ..Restart::default()
        });
        answer.or(planned)
    }

    /// A neighbour restarts: its adjacency stays up, and it is answered (§3.2.1).
    pub(super) fn bear_restart(&mut self, now: Time, id: AdjacencyId, heard: &Heard<'_>) {
        let Some(circuit) = self.circuits.get_mut(&id.0) else { return };
        let is_lan = circuit.is_lan();
        let Some(it) = circuit.adjacencies.get_mut(&id.1) else { return };
        let was_restarting = core::mem::replace(&mut it.is_restarting, true);
        if !was_restarting {
            // It has a holding time, not more, until it is through.
            it.hold_until = super::hello::holds(now, heard.hello);
        }
        let (system, levels) = (it.system, it.levels);
        it.answer = Some(Restart {
            is_answer: true,
            remaining_s: Some(seconds(it.hold_until.since(now))),
            neighbour: is_lan.then_some(system),
            ..Restart::default()
        });
        for state in &mut circuit.levels {
            state.hello_at = state.hello_at.min(now);
        }
        for level in levels.each().filter(|_| !was_restarting) {
            if self.is_first_without_restart(id.0, level) {
                self.tell_everything(now, id.0, level);
            }
        }
    }

    /// Whether we tell who restarts what there is: on a LAN one does, the one that would be
    /// designated.
    fn is_first_without_restart(&self, index: u32, level: Level) -> bool {
        let Some(circuit) = self.circuits.get(&index) else { return false };
        let own = (circuit.settings.priority, circuit.settings.snpa);
        let others = circuit.up(level).filter(|it| !it.is_restarting);
        let best = others.map(|it| (it.priority, it.snpa)).max();
        !circuit.is_lan() || best.is_none_or(|best| own > best)
    }

    fn tell_everything(&mut self, now: Time, index: u32, level: Level) {
        let all: Vec<LspId> = self.data(level).lsdb.iter().map(|(id, _)| *id).collect();
        let Some(circuit) = self.circuits.get_mut(&index) else { return };
        let state = circuit.level_mut(level);
        if state.tell(now) {
            all.into_iter().for_each(|id| state.flooding.set(id));
        }
    }

    /// What a hello of a neighbour says of our restart, or of one that it has ahead.
    pub(super) fn notice_restart(&mut self, now: Time, id: AdjacencyId, heard: &Heard<'_>) {
        let Some(said) = heard.tlvs.restart else { return };
        let own = self.settings.system;
        let Some(circuit) = self.circuits.get_mut(&id.0) else { return };
        let is_for_us = !circuit.is_lan() || said.neighbour == Some(own);
        let level = match id.1 {
            AdjacencyKey::Lan(level, _) => Some(level),
            AdjacencyKey::PointToPoint => None,
        };
        if said.is_answer
            && is_for_us
            && let Some(restarting) = &mut self.restarting
        {
            for of in Level::ALL.into_iter().filter(|of| level.is_none_or(|level| level == *of)) {
                circuit.level_mut(of).has_answer = true;
            }
            if let Some(left_s) = said.remaining_s.filter(|it| *it > 0) {
                restarting.ends = restarting.ends.min(now + Duration::from_secs(left_s.into()));
            }
        }
        if said.is_planned
            && self.settings.helps_restart
            && let Some(it) = circuit.adjacencies.get_mut(&id.1)
        {
            let left = Duration::from_secs(said.remaining_s.unwrap_or(0).into());
            it.hold_until = it.hold_until.max(now + left);
            let neighbour = matches!(id.1, AdjacencyKey::Lan(..)).then_some(it.system);
            let remaining_s = said.remaining_s;
            it.answer = Some(Restart {
                is_planned_answer: true,
                remaining_s,
                neighbour,
                ..Restart::default()
            });
        }
    }

    /// Whether everybody told us what there is, and all of it came.
    fn knows_everything(&self, now: Time) -> bool {
        let Some(restarting) = &self.restarting else { return false };
        let up = self.circuits.iter().filter(|(_, it)| it.is_up && !it.settings.is_passive);
        let mut has_heard = false;
        for (index, circuit) in up {
            let patience = Duration::from_secs(circuit.settings.hello_s.into()) * 2;
            let is_alone = circuit.adjacencies.is_empty();
            if is_alone && now < restarting.began + patience {
                return false;
            }
            for level in circuit.active.and(restarting.levels).each() {
                if circuit.up(level).next().is_none() {
                    continue;
                }
                has_heard = true;
                let known = restarting.compared.get(&(*index, level));
                let state = circuit.level(level);
                let is_told = state.has_answer && known == Some(&LspId::LAST);
                let is_unhelped = now >= circuit.heard_at + UNHELPED;
                if !is_told && !is_unhelped || circuit.is_lan() && state.is_undecided {
                    return false;
                }
            }
        }
        has_heard && restarting.missing.is_empty()
    }

    pub(super) fn end_restart(&mut self, now: Time) {
        let Some(restarting) = &self.restarting else { return };
        if restarting.ends > now && !self.knows_everything(now) {
            return;
        }
        self.restarting = None;
        // What stands in our name is said anew, whatever it says.
        for level in Level::ALL {
            let own = self.settings.system;
            let all = self.data(level).lsdb.iter().map(|(id, _)| (level, *id));
            let own: Vec<FragmentId> = all.filter(|(_, id)| id.node.system == own).collect();
            self.own.contested.extend(own);
        }
        self.changed(now);
    }

    /// Neighbours are told that we will restart (§3.2.3).
    pub(super) fn plan_restart(&mut self, now: Time, period: Duration) {
        self.planned = Some((now + period, seconds(period)));
        // What is down says nothing: its hello would be due for ever.
        let speaking = self.circuits.values_mut().filter(|it| it.is_up && !it.settings.is_passive);
        for state in speaking.flat_map(|it| &mut it.levels) {
            state.hello_at = state.hello_at.min(now);
        }
    }
}
