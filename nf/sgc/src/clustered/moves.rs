//! Partitions come and go: dialogues with them. And what crosses from other nodes.

use super::copies::Change;
use crate::Gateway;
use crate::facts::Fact;
use crate::sccp_node::SccpNode;
use crate::shards::Work;
use m3ua::Transfer;
use m3ua::codec::{Affected, PointCode};
use machine::Time;
use runtime::{Effects, NodeId};
use sccp::In;
use std::collections::{BTreeMap, BTreeSet};
use tcap::{Report, Transactions};
use tcu::{Side, Wanted, application_of};

impl SccpNode {
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
    pub(super) fn activate(&mut self, now: Time, partition: u8, epoch: u64, is_current: bool) {
        let Some(of) = &mut self.clustered else { return };
        let copy = of.copies.take(partition);
        let [.., last] = epoch.to_be_bytes();
        let owner = copy.owner().map_or(last, |it| it.wrapping_add(1));
        let (mut taken, mut not_taken) = (0, 0);
        for (slot, at, octets) in copy.records() {
            match self.restore(at, partition, slot, octets) {
                true => taken += 1,
                false => not_taken += 1,
            }
        }
        self.transactions.serve(partition, owner.into());
        if let Some(of) = &mut self.clustered {
            of.activated(partition, owner);
            of.counts.not_current += u64::from(!is_current);
            of.counts.taken += taken;
            of.counts.not_taken += not_taken;
        }
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
    pub(super) fn deactivate(&mut self, now: Time, partition: u8) {
        let Some(of) = &mut self.clustered else { return };
        let is_handed = of.is_handed_over(partition);
        of.open.set(partition, false);
        if is_handed {
            let waiting = of.batches.take_of(partition);
            for (number, slot) in waiting.iter().flat_map(|it| &it.gone).copied() {
                of.tell(number, Change::Gone(slot));
            }
            of.leaving.extend(waiting);
        } else {
            of.counts.dropped += of.batches.drop_of(partition);
        }
        let applications = &self.services.applications;
        let owner = self.transactions.owner(partition);
        let _ = of.copies.take(partition);
        owner.into_iter().for_each(|it| of.keep(partition, Change::Owner(it)));
        let mut all = Vec::new();
        self.transactions.standing(now, partition, 0, true, &mut |told| {
            if let Report::Stands(id, slot, octets) = told {
                let mut record = octets.to_vec();
                applications.write_record(id.number(), &mut record);
                all.push((slot, record));
            }
            true
        });
        for (slot, record) in all {
            if is_handed {
                of.tell(partition, Change::Stands(slot, &record));
            }
            of.keep(partition, Change::Stands(slot, &record));
        }
        self.transactions.leave(partition);
        let is_of = |it: u64| Transactions::partition_of_number(it) == partition;
        self.services.applications.leave(is_of);
    }

    /// Tells a piece of what stands in a partition: about so many octets, and where it goes on.
    pub(super) fn slice(
        &mut self,
        now: Time,
        partition: u8,
        from: u64,
        room: usize,
    ) -> Option<u64> {
        let of = self.clustered.as_mut()?;
        let applications = &self.services.applications;
        if from == 0 {
            let owner = self.transactions.owner(partition);
            owner.into_iter().for_each(|it| of.tell(partition, Change::Owner(it)));
        }
        let from = machine::narrow::told(from, u32::MAX);
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
        next.map(u64::from)
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
    /// Lets leave what may, and tells the other nodes what this step has led to.
    pub(crate) fn settle_cluster(&mut self, now: Time, out: &mut Effects) {
        if self.sccp.clustered.is_none() {
            return;
        }
        self.tell_others(now);
        for _ in 0..64 {
            self.let_leave(now, out);
            self.work_early();
            self.run_sccp(now, None);
            self.end_turn(now, out);
            if !self.sccp.clustered.as_ref().is_some_and(|it| it.batches.has_more()) {
                break;
            }
        }
        self.carry_out(now, out);
        let dialogues = self.sccp.transactions.len();
        if let Some(of) = &mut self.sccp.clustered {
            of.look(now, dialogues);
            of.flush(out);
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
    fn work_early(&mut self) {
        let early = self.sccp.clustered.as_mut().map(|it| it.take_early());
        for work in early.into_iter().flatten() {
            match work {
                Work::Unitdata(it) => self.sccp.unitdata_of(it.from, it.unitdata, 0),
                Work::Notice(cause, data) => self.sccp.notice_of(cause, data, 0),
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
        while let Some(batch) = self.sccp.clustered.as_mut().and_then(|it| it.next_batch()) {
            self.leave_batch(now, batch, out);
        }
    }

    fn leave_batch(&mut self, now: Time, batch: super::batch::Batch, out: &mut Effects) {
        let (by, wanted): (_, Vec<Wanted>) = (batch.by, batch.wanted);
        if let Some(of) = &mut self.sccp.clustered {
            for (partition, slot) in batch.gone {
                of.tell(partition, Change::Gone(slot));
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
        of.ways(&ways);
        of.ranks(&ranks);
        let others = of.others();
        let is_news = others != of.told.others;
        of.told.others = others;
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
    pub(crate) fn crosses(&mut self, transfer: &Transfer) -> bool {
        let Some(of) = &mut self.sccp.clustered else { return false };
        if transfer.network != self.config.network() {
            return false;
        }
        let node = of.way(transfer.dpc);
        node.is_some_and(|node| of.cross(node, 0, &Work::Msu(transfer.clone())))
    }

    /// A message of a connection goes to the node that gave its local reference; whether that is
    /// another one that is there.
    pub(crate) fn crosses_to_connection(&mut self, transfer: &Transfer) -> bool {
        let Some(of) = &mut self.sccp.clustered else { return false };
        if transfer.si != sccp::codec::SERVICE_INDICATOR {
            return false;
        }
        let read = sccp::codec::Message::read(&transfer.payload);
        let reference = read.ok().and_then(|it| it.destination_reference());
        let node = reference.and_then(|it| node_of(it.number()));
        let other = node.filter(|it| *it != of.own());
        other.is_some_and(|node| of.cross(node, 0, &Work::Connected(transfer.clone())))
    }

    /// SCCP management of another network node, for all nodes.
    pub(crate) fn tell_management(&mut self, transfer: &Transfer) {
        let Some(of) = &mut self.sccp.clustered else { return };
        if transfer.si == sccp::codec::SERVICE_INDICATOR && is_status(&transfer.payload) {
            of.tell_all(&Work::Management(transfer.clone()));
        }
    }
}

/// The node that gave a local reference: its four leading bits say so.
fn node_of(reference: u32) -> Option<NodeId> {
    u8::try_from(reference >> 20 & 0x0f).ok().map(|it| NodeId(it + 1))
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
