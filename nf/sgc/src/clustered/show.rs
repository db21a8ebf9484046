//! What is shown of the cluster: nodes, partitions, links, what is counted, alarms.

use super::Clustered;
use super::partition::{ALL, group, wishes};
use crate::Gateway;
use event::Table;
use machine::Time;
use machine::narrow::micros;
use question::{Condition, rows};
use replica::groups::GroupRow;
use runtime::NodeId;
use std::collections::BTreeMap;

/// What was said last.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    /// Which subsystems are in service.
    pub(crate) states: BTreeMap<u8, bool>,
    /// Another node has said where it has a way to.
    pub(crate) has_other_ways: bool,
    /// The nodes that were heard.
    pub(crate) others: Vec<NodeId>,
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

event::facts! {
    /// What there is of each partition at a node.
    pub enum PartitionFact {
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
        /// `this node`, `heard` or `silent`.
        state: &'static str,
        /// It gives its partitions away.
        draining: bool,
        /// Its share of the partitions.
        weight: u8,
        /// Partitions that it serves.
        serving: usize,
        /// Dialogues that it serves, as it said of late.
        dialogues: u64,
        /// Since when it is heard.
        heard_us: Option<u64>,
        /// It is configured otherwise in what has to be alike.
        differs: bool,
        version: u32,
    }

    /// A partition.
    pub(crate) struct PartitionRow {
        partition: u8,
        /// The node that serves it.
        active: Option<u8>,
        /// The nodes that have everything of it; known where it is served.
        standbys: Vec<u8>,
        /// The node that it would be served by if all were heard.
        first: Option<u8>,
        /// Grows with each change of the node that serves.
        epoch: u64,
        /// Whether this node serves it.
        here: bool,
        /// Whether it is given to another node just now.
        moving: bool,
        /// Changes that wait for its standby, and their octets.
        lag: u64,
        lag_octets: usize,
        /// Dialogues that stand here.
        dialogues: usize,
        /// Dialogues that are kept here for the node that serves, and their octets.
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

impl Clustered {
    fn weights(&self) -> Vec<(NodeId, u8)> {
        self.settings.nodes.iter().map(|(node, _, weight)| (*node, *weight)).collect()
    }

    fn nodes(&self, now: Time, dialogues: usize) -> Vec<ClusterRow> {
        let members = self.nodes.as_ref().map(|it| it.members()).unwrap_or_default();
        let serving = |node| self.serving.iter().filter(|it| it.0 == Some(node)).count();
        let rows = self.settings.nodes.iter().map(|(node, address, weight)| {
            let is_own = *node == self.own;
            let member = members.iter().find(|it| it.node == node.0);
            let stands = self.peers.standing(*node);
            let differs = stands.is_some_and(|it| it.digest != self.settings.digest);
            ClusterRow {
                node: node.0,
                address: address.clone(),
                state: match (is_own, self.heard.contains_key(node)) {
                    (true, _) => "this node",
                    (_, true) => "heard",
                    _ => "silent",
                },
                draining: if is_own {
                    self.is_leaving
                } else {
                    member.is_some_and(|it| it.leaving)
                },
                weight: *weight,
                serving: serving(*node),
                dialogues: match is_own {
                    true => dialogues as u64,
                    false => stands.map_or(0, |it| it.dialogues.into()),
                },
                heard_us: self.heard.get(node).map(|it| micros(now.since(*it))),
                differs: differs || member.is_some_and(|it| it.alive && !it.agrees),
                version: member.map_or(replica::cluster::PROTOCOL, |it| it.version),
            }
        });
        rows.collect()
    }

    fn partitions(&self, dialogues: impl Fn(u8) -> usize) -> Vec<PartitionRow> {
        let groups = self.nodes.as_ref().map(|it| it.groups()).unwrap_or_default();
        let wishes = wishes(&self.weights());
        let rows = ALL.zip(wishes).map(|(partition, wish)| {
            let row = groups.iter().find(|it| it.group == group(partition).0);
            let (kept, kept_octets) = self.copies.size(partition);
            let place = self.serving.get(usize::from(partition)).copied();
            let (active, epoch) = place.unwrap_or_default();
            PartitionRow {
                partition,
                active: active.map(|it| it.0),
                standbys: row.map(|it| it.standbys.clone()).unwrap_or_default(),
                first: wish.first().map(|it| it.0),
                epoch,
                here: self.open.has(partition),
                moving: row.is_some_and(|it| it.moving),
                lag: row.map_or(0, |it| it.lag),
                lag_octets: row.map_or(0, |it| it.lag_bytes),
                dialogues: dialogues(partition),
                kept,
                kept_octets,
            }
        });
        rows.collect()
    }

    fn links(&self) -> Vec<LinkRow> {
        let all = || self.settings.nodes.iter().map(|it| it.0);
        let hears = |from: NodeId, to: NodeId| match from == self.own {
            true => Some(self.heard.contains_key(&to)),
            false => {
                let known = self.peers.standing(from).filter(|_| self.heard.contains_key(&from));
                known.map(|it| it.hears & super::bit(to) != 0)
            }
        };
        let pairs =
            all().flat_map(|from| all().filter(move |to| *to != from).map(move |to| (from, to)));
        let row = |(from, to): (NodeId, NodeId)| {
            let up = hears(from, to);
            LinkRow { from: from.0, to: to.0, up: up == Some(true), known: up.is_some() }
        };
        pairs.map(row).collect()
    }

    /// What somebody should look at.
    pub(crate) fn alarms(&self, rows: &mut Vec<Condition>) {
        let Some(nodes) = &self.nodes else { return };
        // What is true of many partitions is one alarm.
        let of_groups = |it: &Condition| it.subject.starts_with("group ");
        rows.extend(nodes.alarms().into_iter().filter(|it| !of_groups(it)));
        for node in self.heard.keys() {
            let stands = self.peers.standing(*node);
            if stands.is_some_and(|it| it.digest != self.settings.digest) {
                let subject = format!("node {node}");
                let text = format!("{subject} is configured otherwise in what has to be alike");
                rows.push(alarm("cluster-nodes-differ", &subject, "major", text));
            }
        }
        self.partition_alarms(&nodes.groups(), rows);
    }

    fn partition_alarms(&self, groups: &[GroupRow], rows: &mut Vec<Condition>) {
        let mut of = |name: &str, severity: &str, count: usize, text: &str| {
            if count > 0 {
                rows.push(alarm(name, "partitions", severity, format!("{count} {text}")));
            }
        };
        let count = |is: &dyn Fn(&GroupRow) -> bool| groups.iter().filter(|it| is(it)).count();
        let lacks = count(&|it| it.role == "active" && it.standbys.is_empty());
        let text = "partitions of this node have no standby: its death now loses their dialogues";
        of("cluster-no-standby", "major", lacks, text);
        let text = "partitions are served by no node: there is no majority, or no copy";
        of("cluster-partition-unserved", "critical", count(&|it| it.serves.is_none()), text);
        let behind = self.behind.and(self.open).len() as usize;
        let text = "partitions have a standby that is too far behind";
        of("cluster-behind", "major", behind, text);
        let wishes = wishes(&self.weights());
        let is_elsewhere = |it: &GroupRow| {
            let first = wishes.get(usize::from(it.group)).and_then(|it| it.first());
            it.serves.is_some() && it.serves != first.map(|it| it.0)
        };
        let text = "partitions have moved: another node serves them than the one that shall";
        of("cluster-partition-moved", "warning", count(&is_elsewhere), text);
    }

    fn facts(&self) -> [(ClusterFact, u64); 16] {
        use ClusterFact as F;
        let ours = &self.counts;
        let unfollowed = self.open.iter().filter(|it| !self.followed.has(*it)).count();
        [
            (F::Nodes, self.heard.len() as u64 + 1),
            (F::NodesConfigured, self.settings.nodes.len() as u64),
            (F::Serving, self.open.len().into()),
            (F::Unfollowed, unfollowed as u64),
            (F::Waiting, self.batches.len() as u64),
            (F::Crossed, ours.crossed),
            (F::Came, ours.came),
            (F::Unserved, ours.unserved),
            (F::ChangesOut, ours.told),
            (F::ChangesIn, ours.applied),
            (F::Taken, ours.activated),
            (F::NotCurrent, ours.not_current),
            (F::DialoguesTaken, ours.taken),
            (F::DialoguesNotTaken, ours.not_taken),
            (F::Dropped, ours.dropped),
            (F::Malformed, ours.malformed),
        ]
    }
}

impl Gateway {
    pub(crate) fn show_cluster(&self, now: Time) -> Vec<ClusterRow> {
        let dialogues = self.sccp.transactions.len();
        self.sccp.clustered.as_ref().map(|it| it.nodes(now, dialogues)).unwrap_or_default()
    }

    pub(crate) fn show_partitions(&self) -> Vec<PartitionRow> {
        let dialogues = |partition| self.sccp.transactions.len_of(partition);
        self.sccp.clustered.as_ref().map(|it| it.partitions(dialogues)).unwrap_or_default()
    }

    pub(crate) fn show_cluster_links(&self) -> Vec<LinkRow> {
        self.sccp.clustered.as_ref().map(|it| it.links()).unwrap_or_default()
    }

    /// This node is to serve nothing any more, or to take part again.
    pub(crate) fn drain_cluster(&mut self, drains: bool) -> Option<Vec<DrainRow>> {
        let of = self.sccp.clustered.as_mut()?;
        of.leave(drains);
        Some(vec![DrainRow { node: of.own().0, draining: drains, serving: of.open.len() }])
    }

    /// Brings the facts of the cluster up to date.
    pub(crate) fn show_cluster_facts(&self) {
        let Some(of) = &self.sccp.clustered else { return };
        for (fact, value) in of.facts() {
            self.cluster_facts.set(fact, value);
        }
        let rows = self.show_partitions();
        let names: Vec<String> = rows.iter().map(|it| it.partition.to_string()).collect();
        let rows = rows.iter().zip(&names).map(|(row, name)| {
            use PartitionFact as F;
            let values = [
                (F::Active, row.active.unwrap_or_default().into()),
                (F::Standbys, row.standbys.len() as u64),
                (F::Lag, row.lag),
                (F::Dialogues, row.dialogues as u64),
                (F::Kept, row.kept as u64),
            ];
            ([name.as_str()], values)
        });
        self.tables.partitions.show(rows);
    }
}

fn alarm(name: &str, subject: &str, severity: &str, text: String) -> Condition {
    Condition::new(name, subject, severity, text).caused_by("communications-subsystem-failure")
}
