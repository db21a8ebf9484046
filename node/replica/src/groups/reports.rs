//! How a node of a cluster stands: rows, alarms and figures for people and programs.

use super::{ClusterMetric, Groups};
use crate::cluster::{GroupStanding, NodeStanding, PROTOCOL};
use crate::locking::lock;
use crate::reports::stuck_text;
use question::Condition;
use runtime::{NodeId, Pace};
use schemars::JsonSchema;
use serde::Serialize;

/// A group, as a node of its cluster sees it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GroupRow {
    /// Its number.
    pub group: u16,
    /// The node that serves it, if one is known.
    pub serves: Option<u8>,
    /// `active`, `candidate`, `standby` or `none`.
    pub role: &'static str,
    /// How often the node that serves changed, about.
    pub epoch: u64,
    /// The nodes that can take it over and lack nothing, told by the one that serves.
    pub standbys: Vec<u8>,
    /// Changes that wait for the slowest follower.
    pub lag: u64,
    /// Octets of them.
    pub lag_bytes: usize,
    /// Whether it is given to another node just now.
    pub moving: bool,
    /// Whether nobody has served it yet, or nobody was a standby yet.
    #[serde(skip)]
    pub is_starting: bool,
}

impl From<GroupStanding> for GroupRow {
    fn from(it: GroupStanding) -> Self {
        Self {
            is_starting: it.is_starting(),
            group: it.group.0,
            serves: it.serves.map(|node| node.0),
            role: match (it.is_active, it.is_candidate, it.is_whole) {
                (true, ..) => "active",
                (_, true, _) => "candidate",
                (.., true) => "standby",
                _ => "none",
            },
            epoch: it.epoch,
            standbys: it.standbys.iter().map(|node| node.0).collect(),
            lag: it.lag.0,
            lag_bytes: it.lag.1,
            moving: it.is_handing_over,
        }
    }
}

/// Another node of the cluster.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemberRow {
    /// Its number.
    pub node: u8,
    /// Whether it is heard.
    pub alive: bool,
    /// Whether it knows the same nodes.
    pub agrees: bool,
    /// Version of what it says.
    pub version: u32,
    /// Whether it gives its groups away.
    pub leaving: bool,
    /// Groups that it serves.
    pub groups: usize,
}

impl Groups {
    /// The groups.
    #[must_use]
    pub fn rows(&self) -> Vec<GroupRow> {
        lock(&self.shared.inner).cluster.groups().map(GroupRow::from).collect()
    }

    /// The other nodes.
    #[must_use]
    pub fn nodes(&self) -> Vec<MemberRow> {
        let row = |it: NodeStanding| MemberRow {
            node: it.node.0,
            alive: it.is_alive,
            agrees: it.agrees,
            version: it.version,
            leaving: it.is_leaving,
            groups: it.groups,
        };
        lock(&self.shared.inner).cluster.nodes(self.shared.now()).map(row).collect()
    }

    /// The alarms that stand.
    #[must_use]
    pub fn alarms(&self) -> Vec<Condition> {
        let now = self.shared.now();
        let (groups, nodes, arbiter, stuck) = {
            let inner = lock(&self.shared.inner);
            let groups: Vec<_> = inner.cluster.groups().collect();
            let nodes: Vec<_> = inner.cluster.nodes(now).collect();
            let stuck: Vec<_> = inner.backlog.stuck(now).collect();
            (groups, nodes, inner.cluster.is_arbiter_alive(now), stuck)
        };
        let mut rows = Vec::new();
        for it in stuck {
            let about = format!("shard {}", it.shard);
            rows.push(alarm("cluster-shard-stuck", &about, "critical", &stuck_text(now, it)));
        }
        rows.extend(nodes.iter().filter_map(of_node));
        rows.extend(groups.iter().filter_map(of_group));
        let own = format!("node {}", NodeId(self.shared.config.node));
        if arbiter == Some(false) {
            let text = "the arbiter does not answer: without its vote no node serves alone";
            rows.push(alarm("arbiter-lost", &own, "major", text));
        }
        if let Some(count) = lock(&self.shared.refusals).last(now) {
            let text =
                format!("{count} datagrams of late were not sealed by a node of the cluster");
            rows.push(alarm("cluster-refuses", &own, "major", &text));
        }
        let track = lock(&self.shared.track);
        if !track.is_fit() {
            let text = format!("what is tracked fails ({}): groups go elsewhere", track.failed());
            rows.push(alarm("cluster-unfit", &own, "critical", &text));
        }
        rows
    }

    /// What it counts.
    #[must_use]
    pub fn cells(&self) -> event::MetricCells {
        let now = self.shared.now();
        let inner = lock(&self.shared.inner);
        let served: Vec<_> = inner.cluster.groups().filter(|it| it.is_active).collect();
        let alive = inner.cluster.nodes(now).filter(|it| it.is_alive).count();
        let overflows: u64 = inner.cluster.groups().map(|it| it.overflows).sum();
        let too_long: u64 = inner.cluster.groups().map(|it| it.too_long).sum();
        drop(inner);
        let unfollowed = served.iter().filter(|it| it.standbys.is_empty()).count();
        let (lag, octets) = served.iter().map(|it| it.lag).max().unwrap_or_default();
        let fit = lock(&self.shared.track).is_fit();
        let metrics = lock(&self.shared.metrics);
        metrics.set(ClusterMetric::Serves, served.len() as u64);
        metrics.set(ClusterMetric::Unfollowed, unfollowed as u64);
        metrics.set(ClusterMetric::Nodes, alive as u64);
        metrics.set(ClusterMetric::Lag, lag);
        metrics.set(ClusterMetric::LagBytes, octets as u64);
        metrics.set(ClusterMetric::Fit, fit.into());
        metrics.set(ClusterMetric::Overflows, overflows);
        metrics.set(ClusterMetric::TooLong, too_long);
        metrics.cells()
    }
}

fn alarm(name: &str, about: &str, severity: &str, text: &str) -> Condition {
    let row = Condition::new(name, about, severity, text.to_owned());
    row.caused_by("communications-subsystem-failure")
}

fn of_node(it: &NodeStanding) -> Option<Condition> {
    let about = format!("node {}", it.node);
    if !it.is_alive {
        let text = format!("{about} of the cluster is not heard");
        return Some(alarm("cluster-node-lost", &about, "major", &text).starting(!it.was_heard));
    }
    if it.version.abs_diff(PROTOCOL) > 1 {
        let text = "its version and that of this node are further apart than one";
        return Some(alarm("cluster-version", &about, "critical", text));
    }
    let text = format!("{about} knows other nodes of the cluster than this one");
    (!it.agrees).then(|| alarm("cluster-configured-differently", &about, "major", &text))
}

fn of_group(it: &GroupStanding) -> Option<Condition> {
    let about = format!("group {}", it.group);
    let row = if it.is_active && it.standbys.is_empty() && it.copies > 0 {
        let text = "no node follows that has everything: a failure now would lose it";
        alarm("cluster-no-standby", &about, "major", text)
    } else if it.pace == Pace::Behind {
        let text = format!("its standby is too far behind: {} changes wait", it.lag.0);
        return Some(alarm("cluster-behind", &about, "major", &text));
    } else if it.serves.is_none() {
        let text = "no node serves it: there is no majority, or no copy";
        alarm("cluster-group-unserved", &about, "critical", text)
    } else {
        return None;
    };
    Some(row.starting(it.is_starting()))
}
