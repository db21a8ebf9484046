//! What is counted and shown of a cluster.

use crate::operations::Tables;
use crate::sccp_node::SccpNode;
use cluster::{ClusterRow, Clustered, LinkRow, PartitionRow};
use event::{Metrics, Table};
use machine::Time;
use question::rows;

event::metrics! {
    /// What is counted of a cluster at each of its nodes.
    pub enum ClusterMetric {
        /// Nodes that are heard, this one too.
        Nodes = Gauge, "sgc_cluster_nodes";
        /// Nodes that are configured.
        NodesConfigured = Gauge, "sgc_cluster_nodes_configured";
        /// Partitions that this node serves.
        Serving = Gauge, "sgc_cluster_partitions_serving";
        /// Partitions of this node that no standby follows that has everything.
        Unfollowed = Gauge, "sgc_cluster_partitions_unfollowed";
        /// Turns whose messages wait until a standby has what they are told after.
        Waiting = Gauge, "sgc_cluster_waiting";
        /// Messages that crossed to the node that serves their dialogue.
        Crossed = Counter, "sgc_cluster_crossed_total";
        /// Messages that crossed to this node.
        Came = Counter, "sgc_cluster_came_total";
        /// Messages for which no node was there, or no way to it.
        Unserved = Counter, "sgc_cluster_unserved_total";
        /// Messages that were on their way to a node that is heard no more.
        Lost = Counter, "sgc_cluster_lost_total";
        /// Changes of dialogues that standbys were told.
        ChangesOut = Counter, "sgc_cluster_changes_out_total";
        /// Changes of dialogues that this node was told.
        ChangesIn = Counter, "sgc_cluster_changes_in_total";
        /// Partitions that began to be served here.
        Taken = Counter, "sgc_cluster_partitions_taken_total";
        /// Those of them of which something may have been missing.
        NotCurrent = Counter, "sgc_cluster_partitions_not_current_total";
        /// Dialogues that another node has served, and that went on here.
        DialoguesTaken = Counter, "sgc_cluster_dialogues_taken_total";
        /// Dialogues that another node has served, and that ended here.
        DialoguesNotTaken = Counter, "sgc_cluster_dialogues_not_taken_total";
        /// Turns that were not said because another node serves their partition now.
        Dropped = Counter, "sgc_cluster_dropped_total";
        /// What other nodes said that was not understood.
        Malformed = Counter, "sgc_cluster_malformed_total";
    }
}

event::metrics! {
    /// What there is of each partition at a node.
    pub enum PartitionMetric {
        /// The number of the node that serves it; 0: none is known.
        Active = Gauge, "sgc_partition_active";
        /// Nodes that follow and have everything, as the one that serves it says; 0 elsewhere.
        Standbys = Gauge, "sgc_partition_standbys";
        /// Changes that wait for its standby, while this node serves it.
        Lag = Gauge, "sgc_partition_lag";
        /// Dialogues of it that stand here.
        Dialogues = Gauge, "sgc_partition_dialogues";
        /// Dialogues of it that are kept here for the node that serves it.
        Kept = Gauge, "sgc_partition_dialogues_kept";
    }
}

/// By function and partition.
pub type PartitionTable = Table<PartitionMetric, 1>;

/// An empty table.
#[must_use]
pub(crate) fn partition_table() -> PartitionTable {
    Table::new(&["partition"])
}

rows! {
    /// This node serves nothing any more, or takes part again.
    pub(crate) struct DrainRow {
        node: u8,
        draining: bool,
        serving: u32,
        /// Applications with instances at this node alone: what begins is refused while it drains.
        alone: Vec<String>,
    }
}

/// Brings up to date what is counted of each message.
fn count(of: &Clustered, metrics: &Metrics<ClusterMetric>) {
    use ClusterMetric as F;
    let ours = &of.counts;
    let rows = [
        (F::Crossed, ours.crossed),
        (F::Came, ours.came),
        (F::Unserved, ours.unserved),
        (F::Lost, ours.lost),
        (F::ChangesOut, ours.told),
        (F::ChangesIn, ours.applied),
        (F::Taken, ours.activated),
        (F::NotCurrent, ours.not_current),
        (F::DialoguesTaken, ours.taken),
        (F::DialoguesNotTaken, ours.not_taken),
        (F::Dropped, ours.dropped),
        (F::Malformed, ours.malformed),
    ];
    rows.into_iter().for_each(|(metric, count)| metrics.set(metric, count));
}

/// Brings the gauges up to date; the link's own, too.
fn measure(of: &Clustered, metrics: &Metrics<ClusterMetric>) {
    use ClusterMetric as F;
    let rows = [
        (F::Nodes, of.others().len() as u64 + 1),
        (F::NodesConfigured, of.configured() as u64),
        (F::Serving, of.open().len().into()),
        (F::Unfollowed, of.unfollowed() as u64),
        (F::Waiting, of.batches.len() as u64),
    ];
    rows.into_iter().for_each(|(metric, count)| metrics.set(metric, count));
    drop(of.link_cells());
}

impl SccpNode {
    pub(crate) fn show_cluster(&self, now: Time) -> Vec<ClusterRow> {
        let dialogues = self.transactions.len();
        self.clustered.as_ref().map(|it| it.nodes(now, dialogues)).unwrap_or_default()
    }

    pub(crate) fn show_partitions(&self) -> Vec<PartitionRow> {
        let dialogues = |partition| self.transactions.len_of(partition);
        self.clustered.as_ref().map(|it| it.partitions(dialogues)).unwrap_or_default()
    }

    pub(crate) fn show_cluster_links(&self) -> Vec<LinkRow> {
        self.clustered.as_ref().map(|it| it.links()).unwrap_or_default()
    }

    /// This node is to serve nothing any more, or to take part again; `served` are applications
    /// and their subsystems.
    pub(crate) fn drain_cluster(
        &mut self,
        draining: bool,
        mut served: Vec<(String, u8)>,
    ) -> Option<Vec<DrainRow>> {
        let of = self.clustered.as_mut()?;
        let ends = &self.services.applications;
        let is_here = |name: &str| {
            let mut instances = ends.iter().filter(|(it, _)| *it == name);
            instances.any(|(_, end)| !end.status().instances.is_empty())
        };
        served.retain(|(name, it)| draining && is_here(name) && !of.is_taken_elsewhere(*it));
        let alone = served.into_iter().map(|(name, _)| name).collect();
        of.leave(draining);
        let (node, serving) = (of.own().0, of.open().len());
        Some(vec![DrainRow { node, draining, serving, alone }])
    }

    /// What has been counted in this step.
    pub(crate) fn count_cluster(&self, tables: &Tables) {
        if let Some(of) = &self.clustered {
            count(of, &tables.cluster);
        }
    }

    /// Brings the metrics of the cluster up to date.
    pub(crate) fn show_cluster_metrics(&self, tables: &Tables) {
        let Some(of) = &self.clustered else { return };
        measure(of, &tables.cluster);
        let rows = self.show_partitions();
        let names: Vec<String> = rows.iter().map(|it| it.partition.to_string()).collect();
        let rows = rows.iter().zip(&names).map(|(row, name)| {
            use PartitionMetric as F;
            let values = [
                (F::Active, row.active.unwrap_or_default().into()),
                (F::Standbys, row.standbys.len() as u64),
                (F::Lag, row.lag),
                (F::Dialogues, row.dialogues as u64),
                (F::Kept, row.kept as u64),
            ];
            ([name.as_str()], values)
        });
        tables.partitions.show(rows);
    }
}
