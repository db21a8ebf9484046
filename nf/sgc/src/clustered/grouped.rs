//! What the cluster wants of this node ([`Grouped`]), and what it is told: the seam to
//! [`replica::Groups`].

use super::Clustered;
use super::batch::Batch;
use super::copies::Change;
use super::partition::{group, partition_of};
use crate::Gateway;
use crate::facts::Fact;
use crate::shards::Work;
use machine::Time;
use replica::DELTA_BYTES_MAX;
use runtime::{Effects, GroupId, Grouped, NodeId, Pace};

impl Gateway {
    /// The cluster wants something.
    pub(crate) fn of_group(&mut self, now: Time, input: Grouped<'_>, out: &mut Effects) {
        let Some(of) = &mut self.sccp.clustered else { return };
        if !of.notices(now, &input) {
            return;
        }
        match input {
            Grouped::Activate { group, epoch, is_current } => {
                if let Some(partition) = partition_of(group) {
                    self.sccp.activate(now, partition, epoch, is_current);
                }
            }
            Grouped::Deactivate { group } => {
                if let Some(partition) = partition_of(group) {
                    self.sccp.deactivate(now, partition);
                }
            }
            Grouped::Slice { group, number, cursor, room } => {
                let Some(partition) = partition_of(group) else { return };
                let next = self.sccp.slice(now, partition, cursor, room);
                if let Some(of) = &mut self.sccp.clustered {
                    of.telling.slices.push((partition, number, next));
                }
            }
            Grouped::Post { from, bytes } => {
                if let Some(transfer) = self.sccp.abroad(from, bytes) {
                    self.facts.add(Fact::Sent, 1);
                    self.dispatch(now, transfer);
                }
            }
            Grouped::Returned { to, bytes } => self.sccp.returned_work(to, bytes),
            _ => {}
        }
        self.run(now, out);
    }
}

impl Clustered {
    /// Notes what is said; whether something follows from it at once.
    fn notices(&mut self, now: Time, input: &Grouped<'_>) -> bool {
        self.timers.now = now;
        match *input {
            Grouped::Delta { group, delta } => {
                self.counts.applied += 1;
                let is_read =
                    partition_of(group).is_some_and(|it| self.copies.apply(now, it, delta));
                self.counts.malformed += u64::from(!is_read);
                false
            }
            Grouped::Forget { group } => {
                partition_of(group).into_iter().for_each(|it| drop(self.copies.take(it)));
                false
            }
            Grouped::Paced { group, pace } => {
                let is_behind = pace == Pace::Behind;
                partition_of(group).into_iter().for_each(|it| self.behind.set(it, is_behind));
                false
            }
            Grouped::Followed { group, mark } => {
                partition_of(group).into_iter().for_each(|it| self.follows(it, mark));
                true
            }
            Grouped::Serves { group, node, epoch } => {
                let row = partition_of(group).and_then(|it| self.serving.get_mut(usize::from(it)));
                row.into_iter().for_each(|row| *row = (node, epoch));
                true
            }
            Grouped::Node { node, is_alive } => {
                self.hears(now, node, is_alive);
                true
            }
            _ => true,
        }
    }

    /// Another node is heard, or is not any more.
    fn hears(&mut self, now: Time, node: NodeId, is_alive: bool) {
        self.peers.forget(node);
        if is_alive && self.heard.insert(node, now).is_none() {
            // It tells everything then, whatever it has told an earlier life of this node.
            self.post(node, 0, &Work::Born);
        } else if !is_alive {
            self.heard.remove(&node);
        }
    }

    /// A standby of a partition has everything up to that mark; zero: from now on one follows;
    /// none: none does any more.
    fn follows(&mut self, partition: u8, mark: Option<u64>) {
        let is_new = mark == Some(0);
        self.followed.set(partition, mark.is_some());
        let reached = if is_new { self.telling.mark } else { mark.unwrap_or_default() };
        self.batches.reached(partition, reached);
    }

    /// A partition is served here from now on.
    pub(super) fn activated(&mut self, partition: u8, owner: u8) {
        self.open.set(partition, true);
        self.counts.activated += 1;
        let has_standby = self.row(partition).is_some_and(|it| !it.standbys.is_empty());
        self.followed.set(partition, has_standby);
        self.behind.set(partition, false);
        self.tell(partition, Change::Owner(owner));
    }

    fn row(&self, partition: u8) -> Option<replica::groups::GroupRow> {
        let GroupId(number) = group(partition);
        let rows = self.nodes.as_ref()?.groups();
        rows.into_iter().find(|it| it.group == number)
    }

    /// Whether a partition is given to another node by plan just now.
    pub(super) fn is_handed_over(&self, partition: u8) -> bool {
        self.row(partition).is_some_and(|it| it.moving)
    }

    /// Tells the standby of a partition. What is longer than a change may be is not told: a
    /// dialogue has a few hundred octets, and what is held of it is bounded.
    pub(super) fn tell(&mut self, partition: u8, change: Change<'_>) {
        let delta = change.write();
        if delta.len() <= DELTA_BYTES_MAX {
            self.counts.told += 1;
            self.telling.deltas.push((partition, delta));
        }
    }

    /// What this node itself keeps of a partition that it served.
    pub(super) fn keep(&mut self, partition: u8, change: Change<'_>) {
        self.copies.apply(self.timers.now, partition, &change.write());
    }

    /// What was told in this turn is waited for.
    pub(super) fn mark(&mut self) {
        self.telling.mark += 1;
        let mark = self.telling.mark;
        self.batches.now.mark = mark;
        for partition in self.batches.now.holds.and(self.followed).iter() {
            self.telling.marks.insert(partition, mark);
        }
    }

    /// The next batch that may leave.
    pub(super) fn next_batch(&mut self) -> Option<Batch> {
        let nodes = self.nodes.clone()?;
        self.batches.next(self.followed, |it| nodes.may_speak(group(it)))
    }
}
