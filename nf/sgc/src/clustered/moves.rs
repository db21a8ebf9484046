//! Partitions come and go: dialogues with them.

use crate::sccp_node::SccpNode;
use cluster::{Change, partition_of};
use m3ua::Transfer;
use machine::Time;
use runtime::Grouped;
use sccp::In;
use std::collections::BTreeMap;
use tcap::{Report, Transactions};
use tcu::{Side, application_of};

/// Where the connections of a partition begin, behind its dialogues, when it is told in pieces.
const CONNECTIONS: u64 = 1 << 32;

impl SccpNode {
    /// The cluster wants something; an MSU that is to leave here is given back.
    pub(super) fn of_group(&mut self, now: Time, input: Grouped<'_>) -> Option<Transfer> {
        match input {
            Grouped::Activate { group, epoch, is_current } => {
                let partition = partition_of(group)?;
                self.activate(now, partition, epoch, is_current);
            }
            Grouped::Deactivate { group } => self.deactivate(now, partition_of(group)?),
            Grouped::Slice { group, number, cursor, room } => {
                let partition = partition_of(group)?;
                let next = self.slice(now, partition, cursor, room);
                self.clustered.as_mut()?.sliced(partition, number, next);
            }
            Grouped::Post { from, bytes } => return self.abroad(now, from, bytes),
            Grouped::Returned { to, bytes, has_left } => self.returned_post(to, bytes, has_left),
            _ => {}
        }
        None
    }

    /// Tells the standbys what changed.
    pub(crate) fn tell_changes(&mut self, now: Time) {
        let Some(of) = &mut self.clustered else { return };
        let applications = &self.services.applications;
        let all = of.tells_all();
        of.batches.now.by = of.batches.now.by.or(self.by);
        let mut has_told = false;
        self.transactions.changes(now, all, &mut |partition, told| match told {
            Report::Gone(slot) => {
                of.batches.now.partitions.set(partition, true);
                of.batches.now.gone.push((partition, slot));
            }
            Report::Stands(id, slot, octets) => {
                let mut record = octets.to_vec();
                applications.write_record(id.number(), &mut record);
                of.batches.stands(partition, slot);
                of.tell(partition, Change::Stands(slot, &record));
                of.batches.now.partitions.set(partition, true);
                of.batches.now.holds.set(partition, true);
                has_told = true;
            }
        });
        if has_told {
            of.mark();
        }
    }

    /// A partition is served here from now on, with what stands in it.
    fn activate(&mut self, now: Time, partition: u8, epoch: u64, is_current: bool) {
        let Some(of) = &mut self.clustered else { return };
        let copy = of.copies.take(partition);
        let [.., last] = epoch.to_be_bytes();
        let before = copy.owners().last().map(|it| it.0);
        let owner = before.map_or(last, |it| it.wrapping_add(1));
        for (owner, secret) in copy.owners() {
            self.transactions.own(partition, *owner, *secret);
        }
        let (mut taken, mut not_taken) = (0, 0);
        for (slot, at, octets) in copy.records() {
            match self.restore(at, partition, slot, octets) {
                true => taken += 1,
                false => not_taken += 1,
            }
        }
        // Another one each time that a partition is served, which nobody else can know.
        let drawn = [&epoch.to_be_bytes()[..], &[partition]].concat();
        let secret = machine::identity::hash_combine(self.secret, &drawn);
        self.transactions.serve(partition, owner.into(), secret);
        if let Some(of) = &mut self.clustered {
            of.activated(partition, self.transactions.owners(partition).pop());
            of.counts.not_current += u64::from(!is_current);
        }
        self.connections_begin();
        for (reference, it) in copy.connections() {
            match self.restore_connection(now, reference, it) {
                true => taken += 1,
                false => not_taken += 1,
            }
        }
        if let Some(of) = &mut self.clustered {
            of.counts.taken += taken;
            of.counts.not_taken += not_taken;
        }
        self.adopt_connections(now);
        let mut side = Side { transactions: &mut self.transactions, outs: &mut self.tcap_outs };
        self.services.applications.adopt(now, &mut side);
    }

    /// A dialogue that another node has served, as it was told at that time; whether somebody goes
    /// on with it. Else its peer is told.
    fn restore(&mut self, at: Time, partition: u8, slot: u32, octets: &[u8]) -> bool {
        let Ok(id) = self.transactions.restore(at, partition, slot, octets) else { return false };
        let name = application_of(octets);
        let end = name.and_then(|it| self.services.applications.of(it));
        if end.is_some_and(|it| it.restore(id.number(), octets).is_ok()) {
            return true;
        }
        // It stands, or has just been ended by nobody else.
        let _ = self.transactions.abort(id, tcap::Close::User(&[]), &mut self.tcap_outs);
        false
    }

    /// A partition is served here no more. Where it is handed over, what has just begun goes with
    /// it, and what waits for the standby leaves: that has it when it serves.
    fn deactivate(&mut self, now: Time, partition: u8) {
        let Some(of) = &mut self.clustered else { return };
        let is_handed = of.is_handed_over(partition);
        of.ceased(partition);
        if is_handed {
            let waiting = of.batches.take_of(partition);
            for (number, slot) in waiting.iter().flat_map(|it| &it.gone).copied() {
                of.tell(number, Change::Gone(slot));
            }
            for (number, reference) in waiting.iter().flat_map(|it| &it.disconnected).copied() {
                of.tell(number, Change::Disconnected(reference));
            }
            of.leaving.extend(waiting);
        } else {
            of.counts.dropped += of.batches.drop_of(partition);
        }
        let (applications, transactions) = (&self.services.applications, &self.transactions);
        drop(of.copies.take(partition));
        for (owner, secret) in transactions.owners(partition) {
            of.keep_own(partition, Change::Owner(owner, secret));
        }
        let mut all = Vec::new();
        transactions.standing(now, partition, 0, true, &mut |told| {
            if let Report::Stands(id, slot, octets) = told {
                let mut record = octets.to_vec();
                applications.write_record(id.number(), &mut record);
                all.push((slot, transactions.stands(id), record));
            }
            true
        });
        for (slot, stands, record) in all {
            // Of what stands the standby has heard.
            if is_handed && !stands && !of.tells_all() {
                of.tell(partition, Change::Stands(slot, &record));
            }
            of.keep_own(partition, Change::Stands(slot, &record));
        }
        self.transactions.leave(partition);
        let is_of = |it: u64| Transactions::partition_of_number(it) == partition;
        self.services.applications.leave(is_of);
        self.leave_connections(now, partition, is_handed);
    }

    /// Tells a piece of what stands in a partition: about so many octets, and where it goes on.
    fn slice(&mut self, now: Time, partition: u8, from: u64, room: usize) -> Option<u64> {
        if let Some(from) = from.checked_sub(CONNECTIONS) {
            let from = machine::narrow::at_most(from, u32::MAX);
            let next = self.slice_of_connections(now, partition, from, room);
            return next.map(|it| CONNECTIONS + u64::from(it));
        }
        let of = self.clustered.as_mut()?;
        let applications = &self.services.applications;
        if from == 0 {
            for (owner, secret) in self.transactions.owners(partition) {
                of.tell(partition, Change::Owner(owner, secret));
            }
        }
        let from = machine::narrow::at_most(from, u32::MAX);
        let (all, mut octets_told) = (of.tells_all(), 0);
        let next = self.transactions.standing(now, partition, from, all, &mut |told| {
            let Report::Stands(id, slot, octets) = told else { return true };
            if octets_told >= room {
                return false;
            }
            let mut record = octets.to_vec();
            applications.write_record(id.number(), &mut record);
            octets_told += record.len();
            of.tell(partition, Change::Stands(slot, &record));
            true
        });
        Some(next.map_or(CONNECTIONS, u64::from))
    }

    /// Which subsystems are in service: those of which a node has an instance.
    pub(crate) fn cluster_states(&mut self) {
        let Some(of) = &mut self.clustered else { return };
        let elsewhere = of.peers.served(&of.others());
        let rows: BTreeMap<u8, bool> = self
            .services
            .applications
            .availability()
            .map(|(number, is, is_blocked)| {
                (number, !is_blocked && (is || elsewhere.contains(&number)))
            })
            .collect();
        let before = core::mem::replace(&mut of.told.states, rows);
        let news = of.told.states.iter().filter(|(it, is)| before.get(*it) != Some(*is));
        let news: Vec<In> = news.map(|(it, is)| In::State(*it, *is)).collect();
        self.extend_queue(news);
    }
}
