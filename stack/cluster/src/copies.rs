//! What a standby keeps: the last word on each record of a partition, as octets.

use crate::node::{NodeId, Partition};
use bytes::Bytes;
use std::collections::BTreeMap;

/// A partition's records.
#[derive(Debug, Default)]
pub(crate) struct Copy {
    pub(crate) epoch: u32,
    /// The number of the filling that began it.
    fill: u32,
    /// Who tells it; none: this node, which served the partition before.
    from: Option<NodeId>,
    /// Whether everything was told.
    pub(crate) is_whole: bool,
    records: BTreeMap<u32, Bytes>,
    octets: usize,
}

/// The copies of a node.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    all: BTreeMap<Partition, Copy>,
}

impl Copies {
    /// That partition's copy; another one than that node tells now is void.
    fn of(&mut self, from: NodeId, partition: Partition, epoch: u32) -> Option<&mut Copy> {
        let copy = self.all.get_mut(&partition)?;
        (copy.epoch == epoch && copy.from.is_none_or(|it| it == from)).then_some(copy)
    }

    pub(crate) fn begin(&mut self, from: NodeId, (partition, epoch): (Partition, u32), fill: u32) {
        let is_old = self.all.get(&partition).is_some_and(|it| it.epoch > epoch);
        if !is_old {
            let copy = Copy { epoch, fill, from: Some(from), ..Copy::default() };
            self.all.insert(partition, copy);
        }
    }

    /// This node has served the partition until now: what it keeps of it is whole.
    pub(crate) fn keep(&mut self, partition: Partition, epoch: u32, fill: u32) {
        let copy = Copy { epoch, fill, is_whole: true, ..Copy::default() };
        self.all.insert(partition, copy);
    }

    pub(crate) fn kept(&mut self, partition: Partition, slot: u32, octets: &[u8]) {
        if let Some(copy) = self.all.get_mut(&partition) {
            copy.insert(slot, octets);
        }
    }

    pub(crate) fn record(
        &mut self,
        from: NodeId,
        (partition, epoch): (Partition, u32),
        slot: u32,
        octets: &[u8],
    ) {
        if let Some(copy) = self.of(from, partition, epoch) {
            copy.insert(slot, octets);
        }
    }

    pub(crate) fn gone(&mut self, from: NodeId, (partition, epoch): (Partition, u32), slot: u32) {
        if let Some(copy) = self.of(from, partition, epoch)
            && let Some(octets) = copy.records.remove(&slot)
        {
            copy.octets -= octets.len();
        }
    }

    pub(crate) fn end(&mut self, from: NodeId, partition: Partition, epoch: u32) {
        if let Some(copy) = self.of(from, partition, epoch) {
            copy.is_whole = true;
        }
    }

    /// That node's stream has begun anew: what it told may have holes.
    pub(crate) fn torn(&mut self, from: NodeId) {
        let told = self.all.values_mut().filter(|it| it.from == Some(from));
        told.for_each(|it| it.is_whole = false);
    }

    pub(crate) fn take(&mut self, partition: Partition) -> Option<Copy> {
        self.all.remove(&partition)
    }

    /// Copies that nobody wants here any more go.
    pub(crate) fn retain(&mut self, wanted: impl Fn(Partition, u32) -> bool) {
        self.all.retain(|partition, copy| wanted(*partition, copy.fill));
    }

    /// Records and octets of a partition's copy.
    pub(crate) fn size(&self, partition: Partition) -> (usize, usize) {
        self.all.get(&partition).map_or((0, 0), |it| (it.records.len(), it.octets))
    }
}

impl Copy {
    fn insert(&mut self, slot: u32, octets: &[u8]) {
        self.octets += octets.len();
        if let Some(before) = self.records.insert(slot, Bytes::copy_from_slice(octets)) {
            self.octets -= before.len();
        }
    }

    pub(crate) fn into_records(self) -> Vec<(u32, Bytes)> {
        self.records.into_iter().collect()
    }
}
