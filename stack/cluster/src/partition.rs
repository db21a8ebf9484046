//! Partitions: sets of them, the group that each is, and which nodes shall have it.

use replica::cluster::{Placement, preference};
use runtime::{GroupId, NodeId};
use tcap::PARTITIONS;

/// Bits of a local reference behind those of its partition.
const CONNECTION_BITS: u32 = 18;
/// Owners of a partition that do not give the same identifiers.
const OWNERS: u8 = 4;

/// All partitions.
pub(crate) const ALL: core::ops::Range<u8> = 0..PARTITIONS;

/// The group of a partition.
#[must_use]
pub fn group(partition: u8) -> GroupId {
    GroupId(partition.into())
}

/// The partition of a group.
#[must_use]
pub fn partition_of(group: GroupId) -> Option<u8> {
    u8::try_from(group.0).ok().filter(|it| *it < PARTITIONS)
}

/// The partition of a connection of SCCP, which the leading bits of its local reference say.
#[must_use]
pub fn partition_of_reference(reference: u32) -> Option<u8> {
    u8::try_from(reference >> CONNECTION_BITS).ok().filter(|it| *it < PARTITIONS)
}

/// The parts of local references of a partition, one for each owner of it.
#[must_use]
pub const fn parts(partition: u8) -> core::ops::RangeInclusive<u8> {
    let first = partition.wrapping_mul(OWNERS);
    first..=first.wrapping_add(OWNERS - 1)
}

/// Partitions, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartitionSet(u64);

impl PartitionSet {
    /// Whether a partition is one of them.
    #[must_use]
    pub const fn has(self, partition: u8) -> bool {
        partition < PARTITIONS && self.0 & (1 << partition) != 0
    }

    /// A partition is one of them from now on, or is not.
    pub const fn set(&mut self, partition: u8, is: bool) {
        if partition < PARTITIONS {
            let bit = 1 << partition;
            self.0 = if is { self.0 | bit } else { self.0 & !bit };
        }
    }

    /// Those of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those of either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// How many there are.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        ALL.filter(move |it| self.has(*it))
    }
}

/// Who shall serve each partition, the first first; those after it stand by. Each node is first
/// for its share, and one that joins or leaves moves little else.
#[must_use]
pub fn wishes(nodes: &[(NodeId, u8)]) -> Vec<Vec<NodeId>> {
    let weight = |node: NodeId| nodes.iter().find(|it| it.0 == node).map_or(0, |it| it.1);
    let sum: u32 = nodes.iter().map(|it| u32::from(it.1)).sum();
    let most =
        |node: NodeId| (u32::from(PARTITIONS) * u32::from(weight(node))).div_ceil(sum.max(1));
    let mut firsts = vec![0_u32; usize::from(u8::MAX) + 1];
    let mut all = Vec::new();
    for partition in ALL {
        let able = nodes.iter().filter(|it| it.1 > 0).map(|it| it.0);
        let mut order = preference(group(partition), able);
        let has_room = |node: &NodeId| firsts[usize::from(node.0)] < most(*node);
        if let Some(at) = order.iter().position(has_room) {
            order[..=at].rotate_right(1);
        }
        if let Some(first) = order.first() {
            firsts[usize::from(first.0)] += 1;
        }
        all.push(order);
    }
    all
}

/// Which of these nodes, each with its share, shall have the partitions.
#[must_use]
pub fn placements(nodes: &[(NodeId, u8)]) -> Vec<Placement> {
    let placement = |(partition, serve)| Placement {
        group: group(partition),
        serve,
        observe: Vec::new(),
        copies: 1,
    };
    ALL.zip(wishes(nodes)).map(placement).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn firsts(nodes: &[(NodeId, u8)]) -> Vec<usize> {
        let wishes = wishes(nodes);
        let of = |node: NodeId| wishes.iter().filter(|it| it.first() == Some(&node)).count();
        nodes.iter().map(|it| of(it.0)).collect()
    }

    fn alike(count: u8) -> Vec<(NodeId, u8)> {
        (1..=count).map(|it| (NodeId(it), 1)).collect()
    }

    #[test]
    fn each_node_is_first_for_its_share_and_one_of_weight_zero_for_nothing() {
        assert_eq!(firsts(&alike(2)), [24, 24]);
        assert_eq!(firsts(&alike(3)), [16, 16, 16]);
        assert_eq!(firsts(&alike(16)), [3; 16]);
        let shares = firsts(&[(NodeId(1), 2), (NodeId(2), 1), (NodeId(3), 0)]);
        assert_eq!(shares, [32, 16, 0]);
        let all = wishes(&[(NodeId(1), 2), (NodeId(2), 1), (NodeId(3), 0)]);
        assert!(all.iter().flatten().all(|it| *it != NodeId(3)));
        assert!(wishes(&[(NodeId(1), 0)]).iter().all(Vec::is_empty));
    }

    #[test]
    fn a_node_that_joins_moves_little_but_what_becomes_its_own() {
        for count in 2..8 {
            let (before, after) = (wishes(&alike(count)), wishes(&alike(count + 1)));
            let both = before.iter().zip(&after);
            let moved = both.filter(|(a, b)| a[0] != b[0] && b[0] != NodeId(count + 1)).count();
            assert!(moved <= 12, "{count}: {moved}");
        }
    }

    #[test]
    fn a_set_has_what_was_put_in() {
        let mut set = PartitionSet::default();
        set.set(3, true);
        set.set(47, true);
        set.set(48, true);
        assert_eq!(set.iter().collect::<Vec<_>>(), [3, 47]);
        set.set(3, false);
        assert!(!set.has(3) && set.has(47) && set.len() == 1 && !set.is_empty());
        let mut other = PartitionSet::default();
        other.set(47, true);
        assert_eq!((set.and(other), set.or(other)), (other, other));
    }
}
