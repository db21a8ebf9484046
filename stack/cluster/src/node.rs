//! Nodes, partitions, and sets of partitions.

use core::fmt;

/// Nodes of one cluster.
pub const NODES_MAX: u8 = 16;
/// Partitions: a number that 2, 3, 4, 6, 8, 12 and 16 nodes share evenly.
pub const PARTITIONS: u8 = 48;

/// A node, 1 to 16.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u8);

impl NodeId {
    /// That number, if it is one.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number == 0 || number > NODES_MAX { None } else { Some(Self(number)) }
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

/// A partition, 0 to 47.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(u8);

impl Partition {
    /// That number, if it is one.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number < PARTITIONS { Some(Self(number)) } else { None }
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Its place in a table of all.
    #[must_use]
    pub const fn place(self) -> usize {
        self.0 as usize
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..PARTITIONS).map(Self)
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "partition {}", self.0)
    }
}

/// Some of the partitions.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct PartitionSet(pub(crate) u64);

impl PartitionSet {
    /// Whether one is among them.
    #[must_use]
    pub const fn has(self, partition: Partition) -> bool {
        self.0 & 1 << partition.0 != 0
    }

    /// Adds one, or takes it out.
    pub const fn set(&mut self, partition: Partition, is_in: bool) {
        let bit = 1 << partition.0;
        self.0 = if is_in { self.0 | bit } else { self.0 & !bit };
    }

    /// Those that are in it.
    pub fn iter(self) -> impl Iterator<Item = Partition> {
        Partition::all().filter(move |it| self.has(*it))
    }

    /// How many they are.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Partition> for PartitionSet {
    fn from_iter<I: IntoIterator<Item = Partition>>(all: I) -> Self {
        let mut set = Self::default();
        all.into_iter().for_each(|it| set.set(it, true));
        set
    }
}

impl fmt::Debug for PartitionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Partition::number)).finish()
    }
}

/// Some of the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeSet(pub(crate) u32);

impl NodeSet {
    /// Whether one is among them.
    #[must_use]
    pub const fn has(self, node: NodeId) -> bool {
        self.0 & 1 << node.0 != 0
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(all: I) -> Self {
        Self(all.into_iter().fold(0, |set, node| set | 1 << node.0))
    }
}
