//! Fragments age, are said again, and die (ISO 10589 §7.3.16.3, §7.3.16.4).

use super::Instance;
use crate::address::{FragmentId, Level, LspId, SystemId};
use crate::lsp;
use crate::pdu::{Summary, write_lsp};
use machine::{Duration, Time};

impl Instance {
    /// Sees to it that a fragment is looked at when it is old.
    pub(super) fn arm(&mut self, now: Time, level: Level, id: LspId) {
        let is_own = id.node.system == self.settings.system;
        let refresh = Duration::from_secs(self.settings.periods.refresh_s.into());
        let Some(entry) = self.data_mut(level).lsdb.of_mut(id) else { return };
        let refreshes = is_own && !entry.is_purge();
        let at = if refreshes { entry.ends.min(now + refresh) } else { entry.ends };
        entry.armed = at;
        self.wheel.arm(at, (level, id));
    }

    /// What has become old.
    pub(super) fn age(&mut self, now: Time) {
        let mut due: Vec<FragmentId> = Vec::new();
        self.wheel.expire(now, &mut due);
        for (level, id) in due {
            let is_own = id.node.system == self.settings.system;
            let Some(entry) = self.data(level).lsdb.of(id) else { continue };
            if entry.armed > now {
                continue;
            }
            let (is_purge, is_over) = (entry.is_purge(), entry.ends <= now);
            if is_purge && is_over {
                self.data_mut(level).lsdb.remove(id);
                // Where we still want to say it, it begins anew.
                self.own.is_stale |= is_own;
            } else if is_over {
                self.purge(now, level, id, None);
            } else if is_own && self.restarting.is_none() {
                self.own.contested.insert((level, id));
                self.own.is_stale = true;
            }
            if is_own && !is_over {
                self.watch(level, id);
            }
        }
    }

    /// An own fragment that is said again soon dies if it is not.
    fn watch(&mut self, level: Level, id: LspId) {
        let Some(entry) = self.data_mut(level).lsdb.of_mut(id) else { return };
        entry.armed = entry.ends;
        let at = entry.ends;
        self.wheel.arm(at, (level, id));
    }

    /// A fragment is said to be gone, with who says so (RFC 6232).
    pub(super) fn purge(&mut self, now: Time, level: Level, id: LspId, from: Option<SystemId>) {
        let Some(entry) = self.data(level).lsdb.of(id).filter(|it| !it.is_purge()) else { return };
        let (flags, sequence) = (entry.flags, entry.summary.sequence);
        let authentication = &self.settings.authentication[level.at()];
        let tlvs = lsp::purge(self.settings.system, from, &self.settings.hostname);
        let summary = Summary { lifetime_s: 0, id, sequence, checksum: 0 };
        let octets = write_lsp(level, &summary, flags, &tlvs, authentication);
        let checksum = u16::from_be_bytes([octets[24], octets[25]]);
        self.counts.purged += 1;
        self.install(now, level, Summary { checksum, ..summary }, flags, &octets);
        self.flood(level, id, None);
    }
}
