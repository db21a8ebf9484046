//! The cluster of a gateway in virtual time: the machine of `node/replica` where its edge would be.

use machine::{Duration, Time};
use question::Condition;
use replica::cluster::{Cluster, In, Out, PROTOCOL, Params, Placement};
use replica::groups::{GroupRow, MemberRow, Members};
use runtime::{Authority, Effects, GroupId, GroupOrder, NodeId};
use sgc::Nodes;
use sgc::config::Sgc;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

struct Inner {
    now: Time,
    cluster: Cluster,
    outs: VecDeque<Out>,
}

/// A node's place in its cluster.
#[derive(Clone)]
pub struct Home(Arc<Mutex<Inner>>);

impl Home {
    /// A life of a node; lives have different numbers.
    pub fn new(now: Time, config: &Sgc, life: u64) -> Option<Self> {
        let members = config.cluster.as_ref()?.members();
        let params = Params {
            cluster: members.cluster.into(),
            node: NodeId(members.node),
            life,
            heartbeat: members.heartbeat(),
            detect: members.detect(),
            lease: members.detect() * 4 / 5,
            version: PROTOCOL,
            log_bytes_max: 1 << 20,
        };
        let cluster = Cluster::new(params, members.roster(), now);
        Some(Self(Arc::new(Mutex::new(Inner { now, cluster, outs: VecDeque::new() }))))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    fn with(&self, act: impl FnOnce(Time, &mut Cluster, &mut Vec<Out>)) {
        let Inner { now, cluster, outs } = &mut *self.inner();
        let mut all = Vec::new();
        act(*now, cluster, &mut all);
        outs.extend(all);
    }

    /// It is that late now.
    pub fn at(&self, now: Time) {
        self.inner().now = now;
    }

    /// What the function told in a step.
    pub fn publish(&self, effects: &mut Effects) {
        self.with(|now, cluster, outs| {
            for (group, delta) in effects.group_deltas() {
                cluster.delta(group, delta);
            }
            for (group, mark) in effects.group_marks() {
                cluster.step(now, In::Marked(group, mark), outs);
            }
            for it in effects.slices() {
                let (group, number, next) = (it.group, it.number, it.next);
                cluster.step(now, In::Sliced { group, number, next }, outs);
            }
            for it in effects.posts() {
                cluster.post(now, it.to, (0, it.shard), it.bytes, outs);
            }
            cluster.flush(now, outs);
        });
        effects.clear_deltas();
    }

    pub fn heard(&self, from: NodeId, bytes: &[u8]) {
        self.with(|now, cluster, outs| cluster.step(now, In::Heard(from, bytes), outs));
    }

    pub fn quiet(&self, group: GroupId) {
        self.with(|now, cluster, outs| cluster.step(now, In::Quiet(group), outs));
    }

    pub fn tick(&self) {
        self.with(|now, cluster, outs| {
            if cluster.deadline() <= now {
                cluster.tick(now, outs);
            }
        });
    }

    pub fn deadline(&self) -> Time {
        self.inner().cluster.deadline()
    }

    /// The next thing that it wants.
    pub fn next_out(&self) -> Option<Out> {
        self.inner().outs.pop_front()
    }

    /// Groups that it may speak for.
    pub fn speaks(&self) -> Vec<GroupId> {
        let inner = self.inner();
        inner.cluster.leases().filter(|it| it.1 > inner.now).map(|it| it.0).collect()
    }
}

/// What the function of a shard is told by an order.
pub fn order_of(out: Out) -> Option<GroupOrder> {
    out.order().map(|it| it.1)
}

impl Authority for Home {
    fn may_speak(&self, group: GroupId) -> bool {
        let inner = self.inner();
        inner.now < inner.cluster.lease(group)
    }
}

impl Nodes for Home {
    fn place(&self, placements: Vec<Placement>) {
        self.with(|now, cluster, outs| {
            placements.into_iter().for_each(|it| cluster.step(now, In::Place(it), outs));
        });
    }

    fn configure(&self, members: &Members) {
        let roster = members.roster();
        self.with(|now, cluster, outs| cluster.step(now, In::Roster(roster), outs));
    }

    fn move_to(&self, group: GroupId, node: NodeId) {
        self.with(|now, cluster, outs| cluster.step(now, In::Move(group, node), outs));
    }

    fn leave(&self, is_leaving: bool) {
        self.with(|now, cluster, outs| cluster.step(now, In::Leave(is_leaving), outs));
    }

    fn groups(&self) -> Vec<GroupRow> {
        let inner = self.inner();
        inner.cluster.groups().map(GroupRow::from).collect()
    }

    fn members(&self) -> Vec<MemberRow> {
        let inner = self.inner();
        let row = |it: replica::cluster::NodeStanding| MemberRow {
            node: it.node.0,
            alive: it.is_alive,
            agrees: it.agrees,
            version: it.version,
            leaving: it.is_leaving,
            groups: it.groups,
        };
        inner.cluster.nodes(inner.now).map(row).collect()
    }

    fn alarms(&self) -> Vec<Condition> {
        let inner = self.inner();
        let lost = inner.cluster.nodes(inner.now).filter(|it| !it.is_alive);
        let alarm = |it: replica::cluster::NodeStanding| {
            let about = format!("node {}", it.node);
            let row = Condition::new("cluster-node-lost", about.as_str(), "major", String::new());
            row.starting(!it.was_heard)
        };
        lost.map(alarm).collect()
    }

    fn cells(&self) -> Option<event::MetricCells> {
        None
    }
}

/// One way between nodes.
pub const WAY: Duration = Duration::from_millis(1);
