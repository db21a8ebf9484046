//! What is shown of a cluster: nodes, partitions, links.

use crate::member::{Clustered, bit};
use crate::partition::{ALL, group, wishes};
use machine::Time;
use machine::narrow::micros;
use question::rows;
use runtime::NodeId;

rows! {
    /// A node of the cluster.
    pub struct ClusterRow {
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
    pub struct PartitionRow {
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
    pub struct LinkRow {
        from: u8,
        to: u8,
        /// Whether the one hears the other.
        up: bool,
        /// Whether this node can know that.
        known: bool,
    }
}

impl Clustered {
    /// The nodes; this one serves so many dialogues.
    #[must_use]
    pub fn nodes(&self, now: Time, dialogues: usize) -> Vec<ClusterRow> {
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

    /// The partitions; so many dialogues of each stand here.
    #[must_use]
    pub fn partitions(&self, dialogues: impl Fn(u8) -> usize) -> Vec<PartitionRow> {
        let groups = self.nodes.as_ref().map(|it| it.groups()).unwrap_or_default();
        let wishes = wishes(&self.settings.shares());
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

    /// The links between all nodes.
    #[must_use]
    pub fn links(&self) -> Vec<LinkRow> {
        let all = || self.settings.nodes.iter().map(|it| it.0);
        let hears = |from: NodeId, to: NodeId| match from == self.own {
            true => Some(self.heard.contains_key(&to)),
            false => {
                let known = self.peers.standing(from).filter(|_| self.heard.contains_key(&from));
                known.map(|it| it.hears & bit(to) != 0)
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
}
