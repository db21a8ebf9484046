//! The records of one kind of address, in a row: sorted, each knowing the next one that may cover
//! the same route (RFC 6811 §2).
//!
//! ```text
//!   index ──→ binary search among the few of the same place
//!             └─→ the last record at or before the route ──up──→ … ──up──→ none
//! ```
//! Every record that covers a route stands on that chain. A change merges the sorted changes into
//! a new row: milliseconds for half a million records, some times an hour.

use crate::index::{Address, Index, number};
use bgp::codec::Asn;

/// Where a chain ends.
const NONE: u32 = u32::MAX;

/// A record as it is handed in and out, in the order of the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Record<A> {
    pub address: A,
    pub bits: u8,
    pub max: u8,
    pub asn: Asn,
}

#[derive(Debug, Clone, Copy)]
struct Node<A> {
    address: A,
    asn: Asn,
    up: u32,
    bits: u8,
    max: u8,
}

impl<A: Address> Node<A> {
    const fn record(&self) -> Record<A> {
        Record { address: self.address, bits: self.bits, max: self.max, asn: self.asn }
    }

    #[inline]
    fn covers(&self, address: A, bits: u8) -> bool {
        self.bits <= bits && address.masked(self.bits) == self.address
    }
}

/// The row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree<A> {
    nodes: Vec<Node<A>>,
    index: Index<A>,
}

impl<A: Address> Tree<A> {
    pub(crate) const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Octets of memory.
    pub(crate) const fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node<A>>() + self.index.bytes()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Record<A>> + '_ {
        self.nodes.iter().map(Node::record)
    }

    pub(crate) fn contains(&self, record: &Record<A>) -> bool {
        self.nodes.binary_search_by(|node| node.record().cmp(record)).is_ok()
    }

    /// How many records are at or before the route.
    #[inline]
    fn rank(&self, address: A, bits: u8) -> usize {
        let (from, to) = self.index.range(address);
        let is_before = |node: &Node<A>| (node.address, node.bits) <= (address, bits);
        from + self.nodes[from..to].partition_point(is_before)
    }

    /// The records that cover a route, the longest first.
    #[inline]
    pub(crate) fn covering(&self, address: A, bits: u8) -> impl Iterator<Item = Record<A>> + '_ {
        let mut next = number(self.rank(address, bits)).checked_sub(1).unwrap_or(NONE);
        core::iter::from_fn(move || {
            while let Some(node) = self.nodes.get(next as usize) {
                next = node.up;
                if node.covers(address, bits) {
                    return Some(node.record());
                }
            }
            None
        })
    }

    /// Takes up the changes: sorted, each record once, and whether it comes or goes. Those that
    /// change nothing are passed over. The prefixes whose records changed, without those that lie
    /// in another of them.
    pub(crate) fn merge(&mut self, changes: &[(Record<A>, bool)]) -> Vec<(A, u8)> {
        let mut touched: Vec<(A, u8)> = Vec::new();
        let mut merged = Vec::with_capacity(self.nodes.len() + changes.len());
        let mut old = self.nodes.iter().map(Node::record).peekable();
        for (record, comes) in changes {
            while let Some(kept) = old.next_if(|it| it < record) {
                merged.push(kept);
            }
            let was_there = old.next_if_eq(record).is_some();
            if *comes {
                merged.push(*record);
            }
            if was_there != *comes {
                touch(&mut touched, record);
            }
        }
        if touched.is_empty() {
            return touched;
        }
        merged.extend(old);
        self.fill(&merged);
        touched
    }

    /// Takes up `records`, sorted and each once, instead of those that are there; tells what
    /// [`Tree::merge`] tells.
    pub(crate) fn replace(&mut self, records: &[Record<A>]) -> Vec<(A, u8)> {
        let mut touched: Vec<(A, u8)> = Vec::new();
        let mut old = self.nodes.iter().map(Node::record).peekable();
        for record in records {
            while let Some(gone) = old.next_if(|it| it < record) {
                touch(&mut touched, &gone);
            }
            if old.next_if_eq(record).is_none() {
                touch(&mut touched, record);
            }
        }
        old.for_each(|gone| touch(&mut touched, &gone));
        if !touched.is_empty() {
            self.fill(records);
        }
        touched
    }

    fn fill(&mut self, records: &[Record<A>]) {
        let mut nodes: Vec<Node<A>> = Vec::with_capacity(records.len());
        let mut above: Vec<u32> = Vec::with_capacity(usize::from(A::BITS) + 1);
        for record in records {
            let Record { address, bits, max, asn } = *record;
            while above.last().is_some_and(|it| !nodes[*it as usize].covers(address, bits)) {
                above.pop();
            }
            let up = above.last().copied().unwrap_or(NONE);
            // Records of one prefix are chained; the last of them stands for all.
            if up != NONE && nodes[up as usize].bits == bits {
                above.pop();
            }
            above.push(number(nodes.len()));
            nodes.push(Node { address, asn, up, bits, max });
        }
        self.index = Index::new(nodes.len(), |at| nodes[at].address);
        self.nodes = nodes;
    }
}

/// Adds the prefix of a record, in order, unless it lies in one that is there.
fn touch<A: Address>(touched: &mut Vec<(A, u8)>, record: &Record<A>) {
    let is_in = |(address, bits): &(A, u8)| {
        *bits <= record.bits && record.address.masked(*bits) == *address
    };
    if !touched.last().is_some_and(is_in) {
        touched.push((record.address, record.bits));
    }
}
