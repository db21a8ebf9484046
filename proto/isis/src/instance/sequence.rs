//! Databases are compared: sequence numbers PDUs (ISO 10589 §7.3.15.2, §7.3.15.4, §7.3.17).

use super::hello::destination;
use super::{Instance, Out};
use crate::address::{Level, LspId, Snpa};
use crate::circuit::Compared;
use crate::discard::Discard;
use crate::pdu::{Pdu, Summary, summaries_max, write_csnp, write_psnp};
use core::cmp::Ordering;
use machine::Time;
use std::collections::BTreeSet;

/// LSPs that CSNPs of a circuit are held against within the time between two of them: so often all.
const COMPARED_TIMES: usize = 4;
/// As many they may be in any case.
const COMPARED_MIN: usize = 1_024;

impl Instance {
    /// A CSNP came.
    pub(super) fn complete(
        &mut self,
        now: Time,
        from: (u32, Snpa),
        level: Level,
        range: [LspId; 2],
        pdu: &Pdu<'_>,
    ) -> Result<(), Discard> {
        let summaries = pdu.summaries().map_err(|_| Discard::Malformed)?;
        let is_in_range = |it: &&Summary| (range[0]..=range[1]).contains(&it.id);
        let known: BTreeSet<LspId> = summaries.iter().map(|it| it.id).collect();
        for theirs in summaries.iter().filter(is_in_range) {
            self.compare(now, from.0, level, theirs);
        }
        let (lsdb, every) = (&self.levels[level.at()].lsdb, self.settings.periods.csnp);
        if let Some(circuit) = self.circuits.get_mut(&from.0) {
            let state = circuit.level_mut(level);
            // Few octets lack the whole database, and old ones have no number (RFC 5304).
            if now.since(state.compared.since) >= every {
                state.compared = Compared { since: now, count: 0 };
            }
            if state.compared.count > COMPARED_MIN + lsdb.len() * COMPARED_TIMES {
                return Err(Discard::Csnp);
            }
            for (id, entry) in lsdb.range(range[0], range[1]) {
                state.compared.count += 1;
                if !entry.is_purge() && !known.contains(id) {
                    state.flooding.set(*id);
                }
            }
        }
        if let Some(restarting) = &mut self.restarting {
            restarting.compared(from.0, level, range);
        }
        Ok(())
    }

    /// A PSNP came.
    pub(super) fn partial(
        &mut self,
        now: Time,
        index: u32,
        level: Level,
        pdu: &Pdu<'_>,
    ) -> Result<(), Discard> {
        let circuit = self.circuits.get(&index).ok_or(Discard::Circuit)?;
        if circuit.is_lan() && !circuit.level(level).is_designated {
            return Err(Discard::NotDesignated);
        }
        let summaries = pdu.summaries().map_err(|_| Discard::Malformed)?;
        summaries.iter().for_each(|theirs| self.compare(now, index, level, theirs));
        Ok(())
    }

    /// What a neighbour has of a fragment.
    fn compare(&mut self, now: Time, index: u32, level: Level, theirs: &Summary) {
        let own = self.data(level).lsdb.of(theirs.id).map(|it| it.summary(now));
        let Some(own) = own else {
            if theirs.lifetime_s != 0 && theirs.sequence != 0 {
                if let Some(restarting) = &mut self.restarting {
                    restarting.lacks(level, theirs.id);
                }
                let asked = Summary { lifetime_s: 0, sequence: 0, checksum: 0, ..*theirs };
                self.say_later(now, index, level, asked);
            }
            return;
        };
        let newness = theirs.newness(&own);
        if newness == Ordering::Greater {
            self.say_later(now, index, level, own);
            return;
        }
        let Some(circuit) = self.circuits.get_mut(&index) else { return };
        let state = circuit.level_mut(level);
        if newness == Ordering::Equal && !theirs.is_confused_with(&own) {
            state.flooding.clear(theirs.id);
        } else {
            // It has an older form, or another one that claims to be the same.
            state.flooding.set(theirs.id);
            state.partial.remove(&theirs.id);
        }
    }

    /// Something stands in the next PSNP.
    pub(super) fn say_later(&mut self, now: Time, index: u32, level: Level, summary: Summary) {
        let at = now + self.settings.periods.psnp;
        let limit = self.settings.limits.lsps;
        let known = self.data(level).lsdb.len();
        let Some(circuit) = self.circuits.get_mut(&index) else { return };
        let state = circuit.level_mut(level);
        if known + state.partial.len() <= limit {
            state.partial.insert(summary.id, summary);
            state.psnp_at = state.psnp_at.min(at);
        }
    }

    /// PSNPs that are due leave.
    pub(super) fn send_partials(&mut self, now: Time, out: &mut Vec<Out>) {
        let system = self.settings.system;
        for (index, circuit) in &mut self.circuits {
            for level in Level::ALL {
                if circuit.level(level).psnp_at > now {
                    continue;
                }
                // Whoever is designated tells everything (§7.3.17).
                let is_silent = circuit.is_lan() && circuit.level(level).is_designated;
                let (destination, mtu) = (destination(circuit, level), circuit.settings.mtu);
                let state = circuit.level_mut(level);
                state.psnp_at = Time::MAX;
                let said = core::mem::take(&mut state.partial);
                if is_silent {
                    continue;
                }
                let lsdb = &self.levels[level.at()].lsdb;
                // What came in the meantime is said as it is now.
                let now_is = |it: Summary| lsdb.of(it.id).map_or(it, |entry| entry.summary(now));
                let said: Vec<Summary> = said.into_values().map(now_is).collect();
                let authentication = &self.settings.authentication[level.at()];
                for some in said.chunks(summaries_max(mtu, authentication)) {
                    let octets = write_psnp(level, system, some, authentication);
                    out.push(Out::Send { circuit: *index, destination, octets });
                }
            }
        }
    }

    /// CSNPs that are due leave.
    pub(super) fn send_complete(&mut self, now: Time, out: &mut Vec<Out>) {
        for level in Level::ALL {
            let due = self.circuits.iter().filter(|(_, it)| it.level(level).csnp_at <= now);
            let due: Vec<u32> = due.map(|(index, _)| *index).collect();
            for index in due {
                self.send_database(now, index, level, out);
            }
        }
    }

    fn send_database(&mut self, now: Time, index: u32, level: Level, out: &mut Vec<Out>) {
        let every = self.settings.periods.csnp;
        let Some(circuit) = self.circuits.get_mut(&index) else { return };
        let floods = circuit.floods(level);
        let state = circuit.level_mut(level);
        state.csnp_at = if state.is_designated && floods { now + every } else { Time::MAX };
        if !floods {
            return;
        }
        state.told_at = Some(now);
        let (destination, mtu) = (destination(circuit, level), circuit.settings.mtu);
        let authentication = &self.settings.authentication[level.at()];
        let all = self.data(level).lsdb.iter().map(|(_, entry)| entry.summary(now));
        let all: Vec<Summary> = all.collect();
        let mut start = LspId::default();
        let mut pieces = all.chunks(summaries_max(mtu, authentication)).peekable();
        loop {
            let piece = pieces.next().unwrap_or_default();
            let is_last = pieces.peek().is_none();
            let end = piece.last().map_or(LspId::LAST, |it| it.id);
            let end = if is_last { LspId::LAST } else { end };
            let system = self.settings.system;
            let octets = write_csnp(level, system, [start, end], piece, authentication);
            out.push(Out::Send { circuit: index, destination, octets });
            if is_last {
                return;
            }
            start = end.next();
        }
    }
}
