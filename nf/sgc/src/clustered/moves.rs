//! Partitions come and go: dialogues with them. And what crosses from other nodes.

use crate::Gateway;
use crate::facts::Fact;
use crate::sccp_node::SccpNode;
use crate::shards::{Transit, Work};
use bytes::Bytes;
use cluster::{NodeId, Out, Partition};
use m3ua::Transfer;
use m3ua::codec::{Affected, PointCode};
use machine::Time;
use runtime::Effects;
use sccp::In;
use std::collections::{BTreeMap, BTreeSet};
use tcap::{Told, Transactions};
use tcu::{Side, Wanted, application_of};

/// Dialogues that a node which is filled is told in one go.
const FILLED_AT_ONCE: usize = 128;

impl SccpNode {
    /// Tells the standbys what changed.
    pub(crate) fn tell_changes(&mut self, now: Time) {
        let Some(of) = &mut self.clustered else { return };
        let applications = &self.services.applications;
        let all = of.tells_all();
        let (cluster, batches) = (&mut of.cluster, &mut of.batches);
        batches.now.by = batches.now.by.or(self.by);
        let mut record = Vec::new();
        self.transactions.changes(now, all, &mut |number, told| {
            let Some(partition) = Partition::new(number) else { return };
            batches.now.partitions.push(partition);
            match told {
                Told::Gone(slot) => batches.now.gone.push((partition, slot)),
                Told::Stands(id, slot, octets) => {
                    record.clear();
                    record.extend_from_slice(octets);
                    applications.write_record(id.number(), &mut record);
                    batches.stands(partition, slot);
                    let holds = &mut batches.now.holds;
                    cluster.record(now, partition, slot, Some(&record), holds);
                }
            }
        });
    }

    /// Does what the cluster wants; what is to be sent on behalf of other nodes is added to `msus`.
    fn carry_out_cluster(&mut self, now: Time, msus: &mut Vec<Transfer>) -> bool {
        let mut has_done = false;
        while let Some(out) = self.clustered.as_mut().and_then(|it| it.next_out()) {
            has_done = true;
            match out {
                Out::Datagram(..) => {}
                Out::Work(from, octets) => self.abroad(now, from, &octets, msus),
                Out::Returned(_, octets) => self.returned_work(now, &octets),
                Out::Activate { partition, epoch, records, .. } => {
                    self.activate(now, partition, epoch, &records);
                }
                Out::Deactivate { partition, keeps } => self.deactivate(now, partition, keeps),
            }
        }
        self.fill(now);
        has_done
    }

    /// A partition is served here from now on, with what stands in it.
    fn activate(
        &mut self,
        now: Time,
        partition: Partition,
        epoch: u32,
        records: &[(u32, Bytes)],
    ) {
        let (mut taken, mut not_taken) = (0, 0);
        for (slot, octets) in records {
            let restored = self.transactions.restore(now, partition.number(), *slot, octets);
            let Ok(id) = restored else {
                not_taken += 1;
                continue;
            };
            let name = application_of(octets);
            let end = name.and_then(|it| self.services.applications.of(it));
            match end.map(|it| it.restore(id.number(), octets)) {
                Some(Ok(())) => taken += 1,
                // Nobody here goes on with it: its peer is told.
                Some(Err(_)) | None => {
                    not_taken += 1;
                    let close = tcap::Close::User(&[]);
                    let _ = self.transactions.abort(id, close, &mut self.tcap_outs);
                }
            }
        }
        self.transactions.serve(partition.number(), epoch);
        if let Some(of) = &mut self.clustered {
            of.open.set(partition, true);
            of.counts.taken += taken;
            of.counts.not_taken += not_taken;
        }
        let mut side = Side { transactions: &mut self.transactions, outs: &mut self.tcap_outs };
        self.services.applications.adopt(now, &mut side);
    }

    /// It is served here no more.
    fn deactivate(&mut self, now: Time, partition: Partition, keeps: bool) {
        let Some(of) = &mut self.clustered else { return };
        of.open.set(partition, false);
        let number = partition.number();
        if keeps {
            let waiting = of.batches.take_of(partition);
            for (of_it, slot) in waiting.iter().flat_map(|it| &it.gone) {
                of.cluster.record(now, *of_it, *slot, None, &mut Vec::new());
            }
            of.leaving.extend(waiting);
            let applications = &self.services.applications;
            let mut record = Vec::new();
            self.transactions.standing(now, (number, 0), of.tells_all(), &mut |told| {
                if let Told::Stands(id, slot, octets) = told {
                    record.clear();
                    record.extend_from_slice(octets);
                    applications.write_record(id.number(), &mut record);
                    of.cluster.keep(partition, slot, &record);
                }
                true
            });
        } else {
            of.counts.dropped += of.batches.drop_of(partition);
        }
        self.transactions.leave(number);
        let is_of = |it: u64| Transactions::partition_of_number(it) == number;
        self.services.applications.leave(is_of);
        of.cluster.left(now, partition);
    }

    /// Tells nodes that join what stands, as much as their streams take now.
    fn fill(&mut self, now: Time) {
        let Some(of) = &mut self.clustered else { return };
        let applications = &self.services.applications;
        let all = of.tells_all();
        let mut record = Vec::new();
        while let Some((partition, from)) = of.cluster.wants_fill() {
            let mut left = FILLED_AT_ONCE;
            let place = (partition.number(), from);
            let next = self.transactions.standing(now, place, all, &mut |told| {
                let Told::Stands(id, slot, octets) = told else { return true };
                if left == 0 {
                    return false;
                }
                left -= 1;
                record.clear();
                record.extend_from_slice(octets);
                applications.write_record(id.number(), &mut record);
                of.cluster.fill(now, partition, slot, &record);
                true
            });
            of.cluster.filled_to(now, partition, next);
        }
    }

    /// Another node has sent this on.
    fn abroad(&mut self, now: Time, from: NodeId, octets: &[u8], msus: &mut Vec<Transfer>) {
        let Some((hops, work)) = octets.split_first() else { return };
        let Ok(work) = Work::read(work) else { return };
        match work {
            Work::Unitdata(it) => self.unitdata_of(now, it.from, it.unitdata, *hops),
            Work::Notice(cause, data) => self.notice_of(now, cause, data, *hops),
            Work::Rank(subsystem, rank) => {
                if let Some(of) = &mut self.clustered {
                    of.peers.ranked(from, subsystem, rank);
                }
            }
            Work::Ways(ways) => {
                if let Some(of) = &mut self.clustered {
                    of.peers.leads(from, &ways);
                    of.told.has_other_ways = true;
                }
            }
            Work::Msu(transfer) => msus.push(transfer),
            Work::Management(transfer) => self.extend_queue(vec![In::Transfer(transfer)]),
            // Nothing else crosses.
            _ => {}
        }
    }

    /// Work for a node that died, which it never saw: it goes to who serves now.
    fn returned_work(&mut self, now: Time, octets: &[u8]) {
        let Some((_, work)) = octets.split_first() else { return };
        match Work::read(work) {
            Ok(Work::Unitdata(Transit { from, unitdata, .. })) => {
                self.unitdata_of(now, from, unitdata, 0);
            }
            Ok(Work::Notice(cause, data)) => self.notice_of(now, cause, data, 0),
            // The others are told again.
            _ => {}
        }
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

impl Gateway {
    /// Does what the cluster wants, lets leave what may, and sends what the links have.
    pub(crate) fn settle_cluster(&mut self, now: Time, out: &mut Effects) {
        if self.sccp.clustered.is_none() {
            return;
        }
        self.tell_others(now);
        for _ in 0..64 {
            let mut msus = Vec::new();
            self.let_leave(now, out);
            let has_done = self.sccp.carry_out_cluster(now, &mut msus);
            for transfer in msus {
                self.facts.add(Fact::Sent, 1);
                self.dispatch(now, transfer);
            }
            self.work_early(now);
            self.run_sccp(now, None);
            self.end_turn(now, out);
            let has_more = self.sccp.clustered.as_ref().is_some_and(|it| it.batches.has_more());
            if !has_done && !has_more {
                break;
            }
        }
        self.carry_out(now, out);
        let load = self.sccp.transactions.len() as u64;
        if let Some(of) = &mut self.sccp.clustered {
            of.cluster.set_load(load);
            of.flush(now, out);
        }
    }

    fn run_sccp(&mut self, now: Time, by: Option<m3ua::PeerId>) {
        let mut wants = Vec::new();
        if !self.sccp.run(now, &mut wants) {
            self.facts.add(Fact::Circular, 1);
        }
        self.undelivered(now, by);
        self.send(now, by, wants);
    }

    /// What came for partitions before they were served here.
    fn work_early(&mut self, now: Time) {
        let early = self.sccp.clustered.as_mut().map(|it| it.take_early(now));
        for work in early.into_iter().flatten() {
            match work {
                Work::Unitdata(it) => self.sccp.unitdata_of(now, it.from, it.unitdata, 0),
                Work::Notice(cause, data) => self.sccp.notice_of(now, cause, data, 0),
                _ => {}
            }
        }
    }

    /// The turn is over: what it led to leaves, or waits.
    fn end_turn(&mut self, now: Time, out: &mut Effects) {
        let wanted = self.sccp.take_application_wants();
        let batch = self.sccp.clustered.as_mut().and_then(|it| it.batches.end(wanted));
        if let Some(batch) = batch {
            self.leave_batch(now, batch, out);
        }
        self.let_leave(now, out);
    }

    fn let_leave(&mut self, now: Time, out: &mut Effects) {
        let handed = self.sccp.clustered.as_mut().map(|it| core::mem::take(&mut it.leaving));
        for batch in handed.into_iter().flatten() {
            self.leave_batch(now, batch, out);
        }
        while let Some(of) = &mut self.sccp.clustered
            && let Some(batch) = of.batches.next(now, &of.cluster)
        {
            self.leave_batch(now, batch, out);
        }
    }

    fn leave_batch(&mut self, now: Time, batch: super::batch::Batch, out: &mut Effects) {
        let (by, wanted): (_, Vec<Wanted>) = (batch.by, batch.wanted);
        if let Some(of) = &mut self.sccp.clustered {
            for (partition, slot) in batch.gone {
                of.cluster.record(now, partition, slot, None, &mut Vec::new());
            }
        }
        let unitdata = batch.unitdata.into_iter().map(In::Unitdata).collect();
        self.sccp.extend_queue(unitdata);
        self.run_sccp(now, by);
        self.doors.carry_out(wanted, out);
    }

    /// What the other nodes are to know of this one.
    fn tell_others(&mut self, now: Time) {
        let is_due = self.sccp.clustered.as_mut().is_some_and(|it| it.is_time_to_tell(now));
        if !is_due {
            return;
        }
        let ways = self.own_ways();
        let ranks = self.sccp.applications().all_ranks();
        let Some(of) = &mut self.sccp.clustered else { return };
        of.ways(now, ways);
        of.ranks(now, &ranks);
        let lives = of.lives();
        let is_news = lives != of.told.lives;
        of.told.lives = lives;
        if core::mem::take(&mut of.told.has_other_ways) || is_news {
            let network = self.config.network();
            self.sccp_follows(now, network, Affected::ALL);
        }
        self.sccp.cluster_states();
        self.run_sccp(now, None);
    }

    /// Point codes that this node itself has a way to.
    fn own_ways(&self) -> BTreeSet<PointCode> {
        let cared = self.sccp.node.cared_for(Affected::ALL).into_iter();
        let format = self.config.point_code_format;
        let keys = self.config.application_server.iter().flat_map(|it| &it.destination);
        let keyed = keys.filter_map(|it| format.read(&it.point_code));
        cared.chain(keyed).filter(|it| self.no_way_here(*it).is_none()).collect()
    }

    /// Another node sends what this one has no way for; whether there is one.
    pub(crate) fn crosses(&mut self, now: Time, transfer: &Transfer) -> bool {
        let Some(of) = &mut self.sccp.clustered else { return false };
        if transfer.network != self.config.network() {
            return false;
        }
        let node = of.way(transfer.dpc);
        node.is_some_and(|node| of.cross(now, node, 0, &Work::Msu(transfer.clone())))
    }

    /// SCCP management of another network node, for all nodes.
    pub(crate) fn tell_management(&mut self, now: Time, transfer: &Transfer) {
        let Some(of) = &mut self.sccp.clustered else { return };
        if transfer.si == sccp::codec::SERVICE_INDICATOR && is_status(&transfer.payload) {
            of.tell_all(now, &Work::Management(transfer.clone()));
        }
    }
}

/// Whether a message of SCCP is of management: what it says of subsystems holds for all nodes.
fn is_status(message: &[u8]) -> bool {
    use sccp::codec::{Management, ManagementType, Unit};
    let read = sccp::codec::Message::read(message);
    let Some(it) = read.ok().and_then(|it| Unit::of(&it).ok().flatten()) else { return false };
    let told = [ManagementType::Allowed, ManagementType::Prohibited, ManagementType::Congested];
    it.called.subsystem == Some(1)
        && Management::read(it.data).is_ok_and(|it| told.contains(&it.kind))
}
