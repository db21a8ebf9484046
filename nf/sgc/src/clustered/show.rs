//! What is shown of the cluster: nodes, partitions, links, what is counted, alarms.

use super::Clustered;
use crate::Gateway;
use cluster::{NodeId, Partition};
use event::Table;
use machine::Time;
use machine::narrow::micros;
use question::{Condition, rows};
use std::collections::BTreeMap;

/// What was told last.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Which subsystems are in service.
    pub(crate) states: BTreeMap<u8, bool>,
    /// Another node has said where it has a way to.
    pub(crate) has_other_ways: bool,
    /// The nodes that were heard, and their lives.
    pub(crate) lives: Vec<(NodeId, u64)>,
}

event::facts! {
    /// What is counted of a cluster at each of its nodes.
    pub enum ClusterFact {
        /// Nodes that are heard, this one too.
        Nodes = Gauge, "sgc_cluster_nodes";
        /// Nodes that are configured.
        NodesConfigured = Gauge, "sgc_cluster_nodes_configured";
        /// Partitions that this node serves.
        Serving = Gauge, "sgc_cluster_partitions_serving";
        /// Partitions that this node stands by for.
        StandingBy = Gauge, "sgc_cluster_partitions_standing_by";
        /// Whether this node is the coordinator.
        Coordinates = Gauge, "sgc_cluster_coordinates";
        /// Turns whose messages wait until a standby has what they are told after.
        Waiting = Gauge, "sgc_cluster_waiting";
        /// Messages that crossed to the node that serves their dialogue.
        Crossed = Counter, "sgc_cluster_crossed_total";
        /// Messages that crossed to this node.
        Came = Counter, "sgc_cluster_came_total";
        /// Messages for which no node was there, or no way to it.
        Unserved = Counter, "sgc_cluster_unserved_total";
        /// Messages that were on their way to a node that died.
        Lost = Counter, "sgc_cluster_lost_total";
        /// Records of dialogues that standbys were told.
        RecordsOut = Counter, "sgc_cluster_records_out_total";
        /// Records of dialogues that this node was told.
        RecordsIn = Counter, "sgc_cluster_records_in_total";
        /// Partitions that began to be served here.
        Taken = Counter, "sgc_cluster_partitions_taken_total";
        /// Those of them of which not all records were here.
        TakenWithHoles = Counter, "sgc_cluster_partitions_taken_with_holes_total";
        /// Dialogues that another node has served, and that went on here.
        DialoguesTaken = Counter, "sgc_cluster_dialogues_taken_total";
        /// Dialogues that another node has served, and that ended here.
        DialoguesNotTaken = Counter, "sgc_cluster_dialogues_not_taken_total";
        /// Turns that were not said because another node serves their partition now.
        Dropped = Counter, "sgc_cluster_dropped_total";
        /// Datagrams of strangers, and those that no key of the cluster has sealed.
        Refused = Counter, "sgc_cluster_refused_total";
        /// Datagrams that were not understood.
        Malformed = Counter, "sgc_cluster_malformed_total";
    }
}

event::facts! {
    /// What there is of each partition at a node.
    pub enum PartitionFact {
        /// The number of the node that serves it; 0: none does.
        Active = Gauge, "sgc_partition_active";
        /// The number of the node that stands by; 0: none does.
        Standby = Gauge, "sgc_partition_standby";
        /// Counts the nodes that served it one after the other.
        Epoch = Gauge, "sgc_partition_epoch";
        /// Dialogues that are kept here as its standby.
        Kept = Gauge, "sgc_partition_dialogues_kept";
    }
}

/// By function and partition.
pub type PartitionTable = Table<PartitionFact, 1>;

/// An empty table.
#[must_use]
pub(crate) fn partition_table() -> PartitionTable {
    Table::new(&["partition"])
}

rows! {
    /// A node of the cluster.
    pub(crate) struct ClusterRow {
        node: u8,
        address: String,
        /// `this node`, `heard`, `silent` or `foreign`.
        state: &'static str,
        coordinator: bool,
        draining: bool,
        weight: u8,
        serving: u32,
        standing_by: u32,
        dialogues: u64,
        /// Of its link: there and back; 0 of this node.
        round_us: u64,
        /// Octets for it that are not acknowledged.
        waiting_octets: usize,
        silent_us: Option<u64>,
        /// It is configured otherwise in what has to be alike.
        differs: bool,
        version: u32,
    }

    /// A partition.
    pub(crate) struct PartitionRow {
        partition: u8,
        active: Option<u8>,
        standby: Option<u8>,
        /// Who is being filled, to stand by.
        joining: Option<u8>,
        /// Who hands it over.
        from: Option<u8>,
        epoch: u32,
        /// Whether this node serves it.
        here: bool,
        /// Dialogues that are kept here as its standby.
        kept: usize,
        kept_octets: usize,
    }

    /// A link between two nodes, as one of them says it.
    pub(crate) struct LinkRow {
        from: u8,
        to: u8,
        /// Whether the one hears the other.
        up: bool,
        /// Whether this node can know that.
        known: bool,
    }

    /// This node serves nothing any more, or takes part again.
    pub(crate) struct DrainRow {
        node: u8,
        draining: bool,
        serving: u32,
    }
}

fn number(it: Option<NodeId>) -> Option<u8> {
    it.map(NodeId::number)
}

impl Clustered {
    fn nodes(&self, now: Time) -> Vec<ClusterRow> {
        let table = self.cluster.table();
        let stands = |node: NodeId| {
            let rows = table.rows().filter(|(_, row)| row.standby == Some(node)).count();
            u32::try_from(rows).unwrap_or(u32::MAX)
        };
        let rows = self.cluster.nodes(now).into_iter().map(|it| ClusterRow {
            node: it.node.number(),
            address: self.addresses.get(&it.node).map(ToString::to_string).unwrap_or_default(),
            state: match () {
                () if it.is_own => "this node",
                () if it.is_foreign => "foreign",
                () if it.is_heard => "heard",
                () => "silent",
            },
            coordinator: it.leads,
            draining: it.drains,
            weight: it.weight,
            serving: if it.is_heard { it.serving } else { 0 },
            standing_by: stands(it.node),
            dialogues: if it.is_heard { it.load } else { 0 },
            round_us: micros(it.round),
            waiting_octets: it.waiting.1,
            silent_us: it.silent.map(micros),
            differs: it.differs,
            version: it.version,
        });
        rows.collect()
    }

    fn partitions(&self) -> Vec<PartitionRow> {
        let serving = self.cluster.serving();
        let rows = self.cluster.table().rows().map(|(partition, row)| {
            let (kept, kept_octets) = self.cluster.kept(partition);
            PartitionRow {
                partition: partition.number(),
                active: number(row.active),
                standby: number(row.standby),
                joining: number(row.joining),
                from: number(row.from),
                epoch: row.epoch,
                here: serving.has(partition),
                kept,
                kept_octets,
            }
        });
        rows.collect()
    }

    fn links(&self, now: Time) -> Vec<LinkRow> {
        let nodes = self.cluster.nodes(now);
        let all: Vec<NodeId> = nodes.iter().map(|it| it.node).collect();
        let of = nodes.iter().flat_map(|it| {
            let others = all.iter().filter(|other| **other != it.node);
            others.map(|other| LinkRow {
                from: it.node.number(),
                to: other.number(),
                up: it.is_heard && it.hears.contains(other),
                known: it.is_heard,
            })
        });
        of.collect()
    }

    /// What somebody should look at.
    pub(crate) fn alarms(&self, now: Time, rows: &mut Vec<Condition>) {
        for it in self.cluster.nodes(now) {
            let name = format!("node {}", it.node.number());
            if !it.is_heard {
                let text = match it.silent {
                    Some(_) => format!("{name} of the cluster is not heard any more"),
                    None => format!("{name} of the cluster has not come yet"),
                };
                let is_new = it.silent.is_none();
                rows.push(alarm("cluster-node-lost", &name, "critical", text).starting(is_new));
            }
            if it.is_foreign {
                let text = format!("{name} speaks version {}, which is not understood", it.version);
                rows.push(alarm("cluster-node-foreign", &name, "critical", text));
            }
            if it.differs {
                let text = format!("{name} is configured otherwise in what has to be alike");
                rows.push(alarm("cluster-nodes-differ", &name, "major", text));
            }
        }
        let table = self.cluster.table();
        let lacks = table.rows().filter(|(_, row)| row.active.is_some() && row.standby.is_none());
        let lacks = lacks.count();
        if lacks > 0 && self.cluster.settings().nodes.len() > 1 {
            let text = format!("{lacks} partitions have no standby: a death loses their dialogues");
            rows.push(alarm("cluster-no-standby", "partitions", "major", text));
        }
        let moving = table.rows().filter(|(_, row)| row.from.is_some()).count();
        if moving > 0 {
            let text = format!("{moving} partitions are being handed over");
            rows.push(alarm("cluster-partition-moved", "partitions", "warning", text));
        }
        if !self.cluster.may_serve(now) {
            let text = "this node hears no coordinator: it serves nothing".to_owned();
            rows.push(alarm("cluster-no-coordinator", "this node", "critical", text));
        }
    }

    fn facts(&self, now: Time) -> [(ClusterFact, u64); 19] {
        use ClusterFact as F;
        let (own, counts, ours) = (self.own(), self.cluster.counts(), &self.counts);
        let nodes = self.cluster.nodes(now);
        let heard = nodes.iter().filter(|it| it.is_heard).count() as u64;
        let leads = nodes.iter().any(|it| it.is_own && it.leads);
        let table = self.cluster.table();
        let stands = table.rows().filter(|it| it.1.standby == Some(own)).count() as u64;
        [
            (F::Nodes, heard),
            (F::NodesConfigured, nodes.len() as u64),
            (F::Serving, self.cluster.serving().len().into()),
            (F::StandingBy, stands),
            (F::Coordinates, leads.into()),
            (F::Waiting, self.batches.len() as u64),
            (F::Crossed, ours.crossed),
            (F::Came, counts.work_in),
            (F::Unserved, ours.unserved),
            (F::Lost, counts.work_lost),
            (F::RecordsOut, counts.records_out),
            (F::RecordsIn, counts.records_in),
            (F::Taken, counts.taken),
            (F::TakenWithHoles, counts.taken_with_holes),
            (F::DialoguesTaken, ours.taken),
            (F::DialoguesNotTaken, ours.not_taken),
            (F::Dropped, ours.dropped),
            (F::Refused, self.refused()),
            (F::Malformed, counts.malformed),
        ]
    }

    fn show_partitions(&self, table: &PartitionTable) {
        use PartitionFact as F;
        let names: Vec<String> =
            Partition::all().map(|it| it.number().to_string()).collect();
        let rows = self.cluster.table().rows().zip(&names).map(|((partition, row), name)| {
            let of = |it: Option<NodeId>| u64::from(number(it).unwrap_or_default());
            let values = [
                (F::Active, of(row.active)),
                (F::Standby, of(row.standby)),
                (F::Epoch, row.epoch.into()),
                (F::Kept, self.cluster.kept(partition).0 as u64),
            ];
            ([name.as_str()], values)
        });
        table.show(rows);
    }
}

impl Gateway {
    pub(crate) fn show_cluster(&self, now: Time) -> Vec<ClusterRow> {
        self.sccp.clustered.as_ref().map(|it| it.nodes(now)).unwrap_or_default()
    }

    pub(crate) fn show_partitions(&self) -> Vec<PartitionRow> {
        self.sccp.clustered.as_ref().map(|it| it.partitions()).unwrap_or_default()
    }

    pub(crate) fn show_cluster_links(&self, now: Time) -> Vec<LinkRow> {
        self.sccp.clustered.as_ref().map(|it| it.links(now)).unwrap_or_default()
    }

    /// This node is to serve nothing any more, or to take part again.
    pub(crate) fn drain_cluster(&mut self, drains: bool) -> Option<DrainRow> {
        let of = self.sccp.clustered.as_mut()?;
        of.cluster.drain(drains);
        let (node, serving) = (of.own().number(), of.cluster.serving().len());
        Some(DrainRow { node, draining: drains, serving })
    }

    /// Brings the facts of the cluster up to date.
    pub(crate) fn show_cluster_facts(&self, now: Time) {
        let Some(of) = &self.sccp.clustered else { return };
        for (fact, value) in of.facts(now) {
            self.cluster_facts.set(fact, value);
        }
        of.show_partitions(&self.tables.partitions);
    }
}

fn alarm(name: &str, subject: &str, severity: &str, text: String) -> Condition {
    Condition::new(name, subject, severity, text).caused_by("communications-subsystem-failure")
}
