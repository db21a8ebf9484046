//! The table: which node serves which partition, and who stands by. One node of the cluster, the
//! coordinator, writes it; it holds once a majority has it.

use crate::node::{NodeId, PARTITIONS, Partition};
use wire::{Cursor, Malformed};

const SPEC: &str = "stack/cluster, table";
const CUT: &str = "a table is cut off";

/// The number of a table: the term of the coordinator that wrote it, and which of its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Version {
    /// The term.
    pub term: u64,
    /// Counts the tables of the term.
    pub number: u64,
}

/// Who has a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Row {
    /// Who serves it.
    pub active: Option<NodeId>,
    /// Who has everything that stands, and serves when that node dies.
    pub standby: Option<NodeId>,
    /// Who is being filled, to be the standby then.
    pub joining: Option<NodeId>,
    /// Who has served it and hands it over: until it has, or is dead, the active one waits.
    pub from: Option<NodeId>,
    /// Counts those who serve it one after the other.
    pub epoch: u32,
    /// Which filling has made the standby one, and which makes the joining one; each has another
    /// number, so that nobody takes what an earlier one has left for whole.
    pub standby_fill: u32,
    /// See `standby_fill`.
    pub joining_fill: u32,
}

impl Row {
    /// The number of the next filling.
    pub(crate) fn next_fill(&self) -> u32 {
        self.standby_fill.max(self.joining_fill).wrapping_add(1)
    }

    /// A node joins, to be the standby when it is filled.
    pub(crate) fn join(&mut self, node: NodeId) {
        (self.joining, self.joining_fill) = (Some(node), self.next_fill());
    }
}

/// All rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its number.
    pub version: Version,
    rows: [Row; PARTITIONS as usize],
}

impl Default for Table {
    fn default() -> Self {
        Self { version: Version::default(), rows: [Row::default(); PARTITIONS as usize] }
    }
}

impl Table {
    /// The row of a partition.
    #[must_use]
    pub const fn row(&self, partition: Partition) -> &Row {
        &self.rows[partition.place()]
    }

    /// The same, to be changed.
    pub const fn row_mut(&mut self, partition: Partition) -> &mut Row {
        &mut self.rows[partition.place()]
    }

    /// All rows with their partitions.
    pub fn rows(&self) -> impl Iterator<Item = (Partition, &Row)> {
        Partition::all().zip(&self.rows)
    }

    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.version.term.to_be_bytes());
        out.extend(self.version.number.to_be_bytes());
        let number = |it: Option<NodeId>| it.map_or(0, NodeId::number);
        for row in &self.rows {
            out.extend([row.active, row.standby, row.joining, row.from].map(number));
            for number in [row.epoch, row.standby_fill, row.joining_fill] {
                out.extend(number.to_be_bytes());
            }
        }
    }

    /// Reads one.
    ///
    /// # Errors
    /// It is cut off, or names a node that there cannot be.
    pub fn read(octets: &[u8]) -> Result<Self, Malformed> {
        let cursor = &mut Cursor::new(octets, 0, SPEC);
        let mut table = Self {
            version: Version { term: cursor.be64(CUT)?, number: cursor.be64(CUT)? },
            ..Self::default()
        };
        for row in &mut table.rows {
            let mut node = || match cursor.octet(CUT)? {
                0 => Ok(None),
                number => {
                    let it = NodeId::new(number);
                    it.map(Some).ok_or_else(|| cursor.offence("no node has that number"))
                }
            };
            let (active, standby, joining, from) = (node()?, node()?, node()?, node()?);
            let mut number = || cursor.be32(CUT);
            let (epoch, standby_fill, joining_fill) = (number()?, number()?, number()?);
            *row = Row { active, standby, joining, from, epoch, standby_fill, joining_fill };
        }
        Ok(table)
    }
}
