//! Partitions whose joining node is told everything, a little at a time.

use crate::node::{NodeId, Partition};
use std::collections::BTreeMap;

/// Octets that wait in a stream, at most, when more of a partition is told.
const BACKLOG_OCTETS: usize = 256 << 10;

/// One that is being filled.
#[derive(Debug)]
struct Fill {
    to: NodeId,
    session: u64,
    epoch: u32,
    fill: u32,
    /// Where the next records stand.
    cursor: u32,
    /// The number of the entry that says that these were all.
    end: Option<u64>,
    /// An entry did not find its way.
    is_torn: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Fills {
    all: BTreeMap<Partition, Fill>,
}

impl Fills {
    pub(crate) fn begin(
        &mut self,
        partition: Partition,
        (to, session): (NodeId, u64),
        (epoch, fill): (u32, u32),
    ) {
        let fill = Fill { to, session, epoch, fill, cursor: 0, end: None, is_torn: false };
        self.all.insert(partition, fill);
    }

    pub(crate) fn is_of(
        &self,
        partition: Partition,
        (to, session): (NodeId, u64),
        (epoch, number): (u32, u32),
    ) -> bool {
        let fill = self.all.get(&partition);
        let is_same = |it: &Fill| {
            (it.to, it.session) == (to, session) && (it.epoch, it.fill) == (epoch, number)
        };
        fill.is_some_and(is_same)
    }

    pub(crate) fn has_begun(&self, partition: Partition, to: NodeId) -> bool {
        self.all.get(&partition).is_some_and(|it| it.to == to)
    }

    /// Who is filled, in which epoch.
    pub(crate) fn to(&self, partition: Partition) -> Option<(NodeId, u32)> {
        self.all.get(&partition).map(|it| (it.to, it.epoch))
    }

    /// The first that has more to tell, to who takes it.
    pub(crate) fn next(
        &self,
        backlog: impl Fn(NodeId) -> Option<usize>,
    ) -> Option<(Partition, u32)> {
        let takes = |it: &Fill| backlog(it.to).is_some_and(|octets| octets < BACKLOG_OCTETS);
        let mut open = self.all.iter().filter(|(_, it)| it.end.is_none() && !it.is_torn);
        open.find(|(_, it)| takes(it)).map(|(partition, it)| (*partition, it.cursor))
    }

    pub(crate) fn moved(&mut self, partition: Partition, cursor: u32, end: Option<u64>) {
        if let Some(fill) = self.all.get_mut(&partition) {
            (fill.cursor, fill.end) = (cursor, end);
        }
    }

    pub(crate) fn torn(&mut self, partition: Partition) {
        if let Some(fill) = self.all.get_mut(&partition) {
            fill.is_torn = true;
        }
    }

    pub(crate) fn is_torn(&self, partition: Partition) -> bool {
        self.all.get(&partition).is_some_and(|it| it.is_torn)
    }

    /// Whether its end was acknowledged, in the session that it was told in.
    pub(crate) fn is_done(
        &self,
        partition: Partition,
        acknowledged: impl Fn(NodeId, u64) -> Option<u64>,
    ) -> bool {
        let Some(fill) = self.all.get(&partition).filter(|it| !it.is_torn) else { return false };
        let end = fill.end.zip(acknowledged(fill.to, fill.session));
        end.is_some_and(|(end, until)| until >= end)
    }

    /// That node's stream has begun anew.
    pub(crate) fn lost(&mut self, node: NodeId) {
        self.all.retain(|_, it| it.to != node);
    }

    pub(crate) fn forget(&mut self, partition: Partition) {
        self.all.remove(&partition);
    }
}
