//! This node as one of a cluster: what its messages and dialogues have to do with
//! [`cluster::Clustered`].
//!
//! ```text
//!   relay, SCCP ─→ arrivals: here, or across ─→ services ─→ moves: what the standby is told
//!        ↑                                                     │
//!        └── settle_cluster: what may leave ←── a batch ───────┘
//! ```

mod arrivals;
mod connections;
mod moves;
mod show;

pub use show::{ClusterMetric, PartitionMetric, PartitionTable};
pub(crate) use show::{DrainRow, partition_table};

use crate::Gateway;
use crate::config::Sgc;
use crate::metrics::Metric;
use cluster::{Batch, Change, Clustered, Post, Settings, Ways};
use m3ua::codec::{Affected, PointCode};
use m3ua::{Course, Transfer};
use machine::Time;
use runtime::{Effects, Grouped, NodeId};
use sccp::In;
use std::collections::BTreeSet;
use tcu::Wanted;

/// The node that the configuration says; none: it is alone.
pub(crate) fn clustered(now: Time, config: &Sgc) -> Option<Box<Clustered>> {
    let own = NodeId(config.cluster.as_ref()?.node);
    Some(Box::new(Clustered::new(now, own, settings(config)?)))
}

/// What the section says.
pub(crate) fn settings(config: &Sgc) -> Option<Settings> {
    config.cluster.as_ref().map(|it| Settings::of(it, config.cluster_digest()))
}

impl Gateway {
    /// The cluster wants something.
    pub(crate) fn of_group(&mut self, now: Time, input: Grouped<'_>, out: &mut Effects) {
        let Some(of) = &mut self.sccp.clustered else { return };
        if !of.notices(now, &input) {
            return;
        }
        if let Some(transfer) = self.sccp.of_group(now, input) {
            self.metrics.add(Metric::Sent, 1);
            self.dispatch(now, transfer);
        }
        self.run(now, out);
    }

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
            self.metrics.add(Metric::Circular, 1);
        }
        self.undelivered(now, by);
        self.send(now, by, wants);
    }

    /// What came for partitions before they were served here.
    fn work_early(&mut self) {
        let early = self.sccp.clustered.as_mut().map(|it| it.take_early());
        for (hops, post) in early.into_iter().flatten() {
            self.sccp.goes_on(hops, post);
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

    fn leave_batch(&mut self, now: Time, batch: Batch, out: &mut Effects) {
        let (by, wanted): (_, Vec<Wanted>) = (batch.by, batch.wanted);
        if let Some(of) = &mut self.sccp.clustered {
            for (partition, slot) in batch.gone {
                of.tell(partition, Change::Gone(slot));
            }
            for (partition, reference) in batch.disconnected {
                of.tell(partition, Change::Disconnected(reference));
            }
        }
        self.sccp.extend_queue(batch.unitdata.into_iter().map(In::Unitdata));
        let transfers = batch.transfers.into_iter().map(|it| it.1).collect();
        let transfers = self.sccp.take_own(transfers);
        self.send(now, by, transfers);
        self.run_sccp(now, by);
        self.listeners.carry_out(wanted, out);
    }

    /// What the other nodes are to know of this one.
    fn tell_others(&mut self, now: Time) {
        let heard = self.sccp.clustered.as_mut();
        if heard.is_some_and(|it| core::mem::take(&mut it.told.has_other_ways)) {
            // At once: what comes by that way is about to be answered.
            self.sccp_follows(now, self.config.network(), Affected::ALL);
            self.run_sccp(now, None);
        }
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
        if is_news {
            let network = self.config.network();
            self.sccp_follows(now, network, Affected::ALL);
        }
        self.sccp.cluster_states();
        self.run_sccp(now, None);
    }

    /// Point codes that this node itself has a way to.
    fn own_ways(&self) -> Ways {
        let cared = self.sccp.node.cared_for(Affected::ALL).into_iter();
        let format = self.config.point_code_format;
        let keys = self.config.application_server.iter().flat_map(|it| &it.destination);
        let keyed = keys.filter_map(|it| format.read(&it.point_code));
        let all = cared.chain(keyed).filter(|it| self.no_way_here(*it).is_none());
        let all: BTreeSet<PointCode> = all.collect();
        let waiting = all.iter().copied().filter(|it| self.waits_here(*it)).collect();
        Ways { all, waiting }
    }

    /// Another node sends what this one has no way for, or what would wait here while it does not
    /// there; whether it does.
    pub(crate) fn crosses(&mut self, transfer: &Transfer) -> bool {
        let Some(of) = &mut self.sccp.clustered else { return false };
        if transfer.network != self.config.network() {
            return false;
        }
        let Some(way) = of.way(transfer.dpc) else { return false };
        let is_better = match self.process.course(transfer) {
            Course::Asps(..) | Course::Gateway(_) => false,
            Course::Waits(_) => !way.waits,
            Course::NoAsp(_) | Course::NoGateway => true,
        };
        is_better && of.cross(way.node, 0, &Post::Msu(transfer.clone()))
    }

    /// SCCP management of another network node, for all nodes.
    pub(crate) fn tell_management(&mut self, transfer: &Transfer) {
        let Some(of) = &mut self.sccp.clustered else { return };
        if transfer.si == sccp::codec::SERVICE_INDICATOR && cluster::is_status(&transfer.payload) {
            of.tell_all(&Post::Management(transfer.clone()));
        }
    }
}
