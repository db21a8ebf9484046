//! Entries without paths: each stays until every cohort was told that it is gone. Who stalls while
//! others announce and withdraw keys that nobody has seen would let them grow without end.

use crate::cohort::Cohort;
use crate::key::{Key, Parts};
use crate::output::{Output, Sending, messages};
use crate::peers::Peers;
use crate::table::{LONG_ENTRY, Table};
use crate::{NONE, Terms};
use bgp::family::Family;
use bgp::pack::{Limits, Withdrawal};

/// Entries whose withdrawals are encoded at once.
const AT_ONCE: usize = 4_096;

impl<K: Key> Table<K> {
    /// Beyond so many entries without paths, every cohort is told of those that it knows, however
    /// much waits for it, and all are freed: of what a cohort was never told it need not be told
    /// that it is gone. Readers that are behind are told everything anew. That reads the whole log,
    /// once for as many withdrawals as are allowed.
    pub(crate) fn relieve(&mut self, most: usize, peers: &mut Peers, output: &mut Output) {
        let most = if K::IS_LONG { most as u64 * LONG_ENTRY } else { most as u64 };
        if self.gone <= most {
            return;
        }
        let positions = self.changes.base()..self.changes.end();
        let last = positions.filter_map(|at| {
            let entry = self.changes.at(at);
            let is_gone = self.is_last(entry, at) && self.entries[entry as usize].paths == NONE;
            is_gone.then_some(entry)
        });
        let gone: Vec<u32> = last.collect();
        let mut groups = std::mem::take(&mut self.groups);
        for group in &mut groups {
            for cohort in &mut group.cohorts {
                for some in gone.chunks(AT_ONCE) {
                    self.take_back(some, &group.terms, cohort, peers, output);
                }
            }
        }
        self.groups = groups;
        let end = self.changes.end();
        let behind = self.readers.iter_mut().filter(|reader| reader.position < end);
        behind.for_each(|reader| reader.restart(end));
        gone.into_iter().for_each(|entry| self.free_entry(entry));
    }

    /// Withdraws what a cohort was told of entries that are gone.
    fn take_back(
        &self,
        gone: &[u32],
        terms: &Terms,
        cohort: &mut Cohort,
        peers: &mut Peers,
        output: &mut Output,
    ) {
        let limits = Limits { message_max: terms.message_max, add_path: terms.add_path };
        let (mut buffer, mut route, mut told) = (Vec::new(), Vec::new(), Vec::new());
        let mut packing = match self.family {
            Family::Ipv4Unicast => Withdrawal::plain(limits, &mut buffer),
            family => Withdrawal::multiprotocol(limits, family, &mut buffer),
        };
        for &entry in gone {
            told.clear();
            cohort.announced.of(entry, &mut told);
            for (path_id, _) in &told {
                cohort.announced.put(entry, *path_id, 0);
                let parts = Parts { family: self.family, path_id: *path_id, payload: &[] };
                self.entries[entry as usize].key.withdraw(parts, &mut packing, &mut route);
            }
        }
        packing.finish();
        if buffer.is_empty() {
            return;
        }
        let (bytes, updates) = (output.share(&buffer), messages(&buffer));
        for &peer in &cohort.members {
            output.push(peers, Sending { peer, bytes: bytes.clone(), updates });
        }
    }
}
