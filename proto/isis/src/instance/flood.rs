//! Fragments are installed, and go on (ISO 10589 §7.3.14, §7.3.15).

use super::hello::destination;
use super::{Instance, Out};
use crate::address::{Level, LspId};
use crate::lsdb::{Entry, ZERO_AGE_S};
use crate::pdu::{LspFlags, Summary};
use machine::{Duration, Time};

/// A neighbour's CSNP tells what it has: that is waited for, so that not all is sent.
const HOLD: Duration = Duration::from_millis(100);

impl Instance {
    /// An adjacency is up.
    pub(super) fn begin_flooding(&mut self, now: Time, index: u32, level: Level) {
        let all: Vec<LspId> = self.data(level).lsdb.iter().map(|(id, _)| *id).collect();
        let is_restarting = self.restarting.is_some();
        let Some(circuit) = self.circuits.get_mut(&index) else { return };
        if circuit.is_lan() {
            let state = circuit.level_mut(level);
            if is_restarting {
                // What our database lacks in it, whoever hears it sends.
                state.tell(now);
            } else if state.is_designated {
                state.csnp_at = state.csnp_at.min(now + HOLD);
            }
            return;
        }
        let state = circuit.level_mut(level);
        if state.tell(now) {
            state.flooding.reset();
            all.into_iter().for_each(|id| state.flooding.set(id));
            state.flooding.hold(now + HOLD);
        }
    }

    /// Nobody is there any more.
    pub(super) fn end_flooding(&mut self, index: u32, level: Level) {
        let Some(circuit) = self.circuits.get_mut(&index) else { return };
        let state = circuit.level_mut(level);
        state.flooding.reset();
        state.partial.clear();
        (state.csnp_at, state.psnp_at) = (Time::MAX, Time::MAX);
    }

    /// A fragment goes to everybody but those of one circuit.
    pub(super) fn flood(&mut self, level: Level, id: LspId, except: Option<u32>) {
        for (index, circuit) in &mut self.circuits {
            if Some(*index) == except {
                circuit.level_mut(level).flooding.clear(id);
            } else if circuit.floods(level) {
                circuit.level_mut(level).flooding.set(id);
            }
        }
    }

    /// Installs a fragment; where it says something else, routes are found anew.
    pub(super) fn install(
        &mut self,
        now: Time,
        level: Level,
        summary: Summary,
        flags: LspFlags,
        octets: &[u8],
    ) {
        let is_own = summary.id.node.system == self.settings.system;
        let mut entry = Entry::new(summary, flags, octets, now);
        if is_own && entry.is_purge() && summary.sequence == u32::MAX {
            // Everybody else forgets it first: then it begins anew with number 1 (§7.3.16.1).
            entry.ends += Duration::from_secs(ZERO_AGE_S.into());
        }
        let content = entry.content();
        let is_purge = entry.is_purge();
        let was = self.data_mut(level).lsdb.install(entry);
        self.counts.installed += 1;
        self.arm(now, level, summary.id);
        if let Some(restarting) = &mut self.restarting {
            restarting.got(level, summary.id);
        }
        let is_same = was.is_some_and(|was| {
            was.flags == flags && was.is_purge() == is_purge && was.content() == content
        });
        if !is_same {
            self.data_mut(level).topology.change(summary.id.node);
            self.backoff.change(now);
        }
    }

    /// What circuits have to send leaves.
    pub(super) fn send_fragments(&mut self, now: Time, out: &mut Vec<Out>) {
        let retransmit = self.settings.periods.retransmit;
        for (index, circuit) in &mut self.circuits {
            let again = (!circuit.is_lan()).then_some(retransmit);
            for level in Level::ALL {
                let is_due = circuit.level(level).flooding.due().is_some_and(|at| at <= now);
                if !is_due {
                    continue;
                }
                let destination = destination(circuit, level);
                let mtu = usize::from(circuit.settings.mtu);
                let taken = circuit.level_mut(level).flooding.take(now, again);
                let entries = taken.iter().filter_map(|id| self.levels[level.at()].lsdb.of(*id));
                let entries = entries.filter(|entry| entry.octets.len() <= mtu);
                out.extend(entries.map(|entry| {
                    let octets = entry.leaving(now);
                    Out::Send { circuit: *index, destination, octets }
                }));
            }
        }
    }
}
