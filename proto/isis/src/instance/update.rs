//! Fragments come (ISO 10589 §7.3.15.1, §7.3.16).

use super::Instance;
use crate::address::Level;
use crate::discard::Discard;
use crate::lsdb::fragment;
use crate::lsp::{Content, is_plain_purge};
use crate::pdu::{LspFlags, Pdu, Summary};
use core::cmp::Ordering;
use machine::Time;

/// A fragment that came.
struct Came<'a> {
    circuit: u32,
    level: Level,
    summary: Summary,
    flags: LspFlags,
    octets: &'a [u8],
}

impl Instance {
    pub(super) fn fragment(
        &mut self,
        now: Time,
        circuit: u32,
        pdu: &Pdu<'_>,
    ) -> Result<(), Discard> {
        let (level, summary, flags) = fragment(pdu).ok_or(Discard::Malformed)?;
        let is_purge = summary.lifetime_s == 0;
        // Purges of some speakers have no checksum.
        let has_none = is_purge && summary.checksum == 0;
        if !has_none && !pdu.has_right_checksum() {
            return Err(Discard::Checksum);
        }
        let is_checked = !self.settings.authentication[level.at()].is_null();
        if is_purge && is_checked && !is_plain_purge(pdu) {
            return Err(Discard::Purge);
        }
        Content::read(pdu).map_err(|_| Discard::Malformed)?;
        let came = Came { circuit, level, summary, flags, octets: pdu.octets };
        let own = self.data(level).lsdb.of(summary.id).map(|it| it.summary(now));
        let Some(own) = own else {
            if is_purge {
                self.acknowledge(now, &came);
                return Ok(());
            }
            return self.take_newer(now, &came);
        };
        if summary.is_confused_with(&own) {
            return self.take_confused(now, &came);
        }
        match summary.newness(&own) {
            Ordering::Greater => self.take_newer(now, &came),
            Ordering::Equal => {
                if let Some(circuit) = self.circuits.get_mut(&circuit) {
                    circuit.level_mut(level).flooding.clear(summary.id);
                }
                self.acknowledge(now, &came);
                Ok(())
            }
            Ordering::Less => {
                if let Some(circuit) = self.circuits.get_mut(&circuit) {
                    let state = circuit.level_mut(level);
                    state.flooding.set(summary.id);
                    state.partial.remove(&summary.id);
                }
                Ok(())
            }
        }
    }

    /// On a link of two, what came is said in a PSNP.
    fn acknowledge(&mut self, now: Time, came: &Came<'_>) {
        let Some(circuit) = self.circuits.get(&came.circuit) else { return };
        if circuit.is_lan() {
            return;
        }
        self.say_later(now, came.circuit, came.level, came.summary);
    }

    fn take_newer(&mut self, now: Time, came: &Came<'_>) -> Result<(), Discard> {
        let (level, id) = (came.level, came.summary.id);
        let limits = self.settings.limits;
        let is_own = id.node.system == self.settings.system;
        let octets = came.octets.len();
        let has_room = self.data(level).lsdb.has_room(id, octets, came.circuit, &limits);
        if !has_room {
            // What is asked for in vain is not asked for again and again.
            if let Some(circuit) = self.circuits.get_mut(&came.circuit) {
                circuit.level_mut(level).partial.remove(&id);
            }
            return Err(Discard::DatabaseFull);
        }
        self.install(now, level, came.summary, came.flags, came.octets);
        self.data_mut(level).lsdb.bear(id, came.circuit);
        self.flood(level, id, Some(came.circuit));
        self.settle_partial(now, came);
        // While we restart, what we said before stands.
        if is_own && self.restarting.is_none() {
            self.fight_back(now, level, id);
        }
        Ok(())
    }

    /// On a link of two it is acknowledged; on a LAN it is asked for no more.
    fn settle_partial(&mut self, now: Time, came: &Came<'_>) {
        if let Some(circuit) = self.circuits.get_mut(&came.circuit) {
            circuit.level_mut(came.level).partial.remove(&came.summary.id);
        }
        self.acknowledge(now, came);
    }

    /// It is answered at once, and then once in the time between two forms of an LSP: who says it
    /// without end does not have all that we say made anew each time.
    fn fight_back(&mut self, now: Time, level: Level, id: crate::address::LspId) {
        self.counts.fought_back += 1;
        let own = &mut self.own;
        own.contested.insert((level, id));
        let at = match own.fought {
            Some(planned) if planned > now => planned,
            Some(last) => now.max(last + self.settings.periods.lsp),
            None => now,
        };
        own.fought = Some(at);
        if at == now {
            own.is_stale = true;
        } else {
            own.due = Some(own.due.map_or(at, |due| due.min(at)));
        }
    }

    /// The same number and another checksum: whoever says it says it anew (§7.3.16.2).
    fn take_confused(&mut self, now: Time, came: &Came<'_>) -> Result<(), Discard> {
        let id = came.summary.id;
        if id.node.system == self.settings.system {
            self.fight_back(now, came.level, id);
        } else {
            let sender = self.circuits.get(&came.circuit);
            let sender = sender.and_then(|it| it.up(came.level).next()).map(|it| it.system);
            self.purge(now, came.level, id, sender);
        }
        Err(Discard::Confusion)
    }
}
