//! What the cluster says of its groups, and what a standby is told.

use crate::batch::Batch;
use crate::copies::Change;
use crate::member::Clustered;
use crate::partition::{group, partition_of};
use machine::Time;
use replica::DELTA_BYTES_MAX;
use runtime::{GroupId, Grouped, Pace};

impl Clustered {
    /// Notes what is said; whether something follows from it at once.
    pub fn notices(&mut self, now: Time, input: &Grouped<'_>) -> bool {
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
                self.early.news(now);
                true
            }
            Grouped::Node { node, is_alive } => {
                self.hears(now, node, is_alive);
                true
            }
            _ => true,
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

    /// A partition is served here from now on, by dialogues that begin with that owner.
    pub fn activated(&mut self, partition: u8, owner: Option<(u8, u64)>) {
        self.open.set(partition, true);
        self.early.news(self.timers.now);
        self.counts.activated += 1;
        let has_standby = self.row(partition).is_some_and(|it| !it.standbys.is_empty());
        self.followed.set(partition, has_standby);
        self.behind.set(partition, false);
        if let Some((number, secret)) = owner {
            self.tell(partition, Change::Owner(number, secret));
        }
    }

    /// A partition is served here no more.
    pub const fn ceased(&mut self, partition: u8) {
        self.open.set(partition, false);
    }

    fn row(&self, partition: u8) -> Option<replica::groups::GroupRow> {
        let GroupId(number) = group(partition);
        let rows = self.nodes.as_ref()?.groups();
        rows.into_iter().find(|it| it.group == number)
    }

    /// Whether a partition is given to another node by plan just now.
    #[must_use]
    pub fn is_handed_over(&self, partition: u8) -> bool {
        self.row(partition).is_some_and(|it| it.moving)
    }

    /// Tells the standby of a partition. What is longer than a change may be is not told: a
    /// dialogue has a few hundred octets, and what is held of it is bounded.
    pub fn tell(&mut self, partition: u8, change: Change<'_>) {
        let delta = change.write();
        if delta.len() <= DELTA_BYTES_MAX {
            self.counts.told += 1;
            self.telling.deltas.push((partition, delta));
        }
    }

    /// A piece of what stands was told: its number, and where the next one begins.
    pub fn sliced(&mut self, partition: u8, number: u64, next: Option<u64>) {
        self.telling.slices.push((partition, number, next));
    }

    /// What this node itself keeps of a partition that it served.
    pub fn keep_own(&mut self, partition: u8, change: Change<'_>) {
        self.copies.apply(self.timers.now, partition, &change.write());
    }

    /// What was told in this turn is waited for.
    pub fn mark(&mut self) {
        self.telling.mark += 1;
        let mark = self.telling.mark;
        self.batches.now.mark = mark;
        for partition in self.batches.now.holds.and(self.followed).iter() {
            self.telling.marks.insert(partition, mark);
        }
    }

    /// The next batch that may leave.
    pub fn next_batch(&mut self) -> Option<Batch> {
        let nodes = self.nodes.clone()?;
        self.batches.next(self.followed, |it| nodes.may_speak(group(it)))
    }
}
