//! The records of one kind of address, in a row: sorted, each knowing the next one that may cover
//! the same route (RFC 6811 §2).
//!
//! ```text
//!   index of the first bits ──→ binary search among the few of the same first bits
//!                               └─→ the last record at or before the route ──up──→ … ──up──→ none
//! ```
//! Every record that covers a route stands on that chain. A change merges the sorted changes into
//! a new row: milliseconds for half a million records, some times an hour.

use bgp::codec::Asn;
use core::cmp::Ordering;

/// Where a chain ends.
const NONE: u32 = u32::MAX;
/// Bits that the index looks at.
const INDEX_BITS: u32 = 16;
const INDEX_LEN: usize = 1 << INDEX_BITS;

/// An address as a number.
pub(crate) trait Address: Copy + Ord + Default {
    /// The number of its bits.
    const BITS: u8;
    /// What lies behind the first `bits` bits cleared.
    fn masked(self, bits: u8) -> Self;
    /// Its place in an index of [`INDEX_BITS`] bits; a greater address has no lower place.
    fn place(self) -> usize;
}

impl Address for u32 {
    const BITS: u8 = 32;

    #[inline]
    fn masked(self, bits: u8) -> Self {
        self.checked_shr(32 - u32::from(bits)).map_or(0, |it| it << (32 - u32::from(bits)))
    }

    #[inline]
    fn place(self) -> usize {
        (self >> 16) as usize
    }
}

impl Address for u128 {
    const BITS: u8 = 128;

    #[inline]
    fn masked(self, bits: u8) -> Self {
        self.checked_shr(128 - u32::from(bits)).map_or(0, |it| it << (128 - u32::from(bits)))
    }

    /// The 16 bits behind 001: all that is assigned lies in 2000::/3 (RFC 4291 §2.4).
    #[inline]
    fn place(self) -> usize {
        match (self >> 125).cmp(&1) {
            Ordering::Less => 0,
            Ordering::Equal => (self >> 109) as usize & (INDEX_LEN - 1),
            Ordering::Greater => INDEX_LEN - 1,
        }
    }
}

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
    /// For each place, how many records lie before it; empty where there are no records.
    index: Vec<u32>,
}

impl<A: Address> Tree<A> {
    pub(crate) const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Octets of memory.
    pub(crate) const fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node<A>>() + self.index.capacity() * 4
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
        let place = address.place();
        let (Some(&from), Some(&to)) = (self.index.get(place), self.index.get(place + 1)) else {
            return 0;
        };
        let is_before = |node: &Node<A>| (node.address, node.bits) <= (address, bits);
        let among = &self.nodes[from as usize..to as usize];
        from as usize + among.partition_point(is_before)
    }

    /// The records that cover a route, the longest first.
    #[inline]
    pub(crate) fn covering(&self, address: A, bits: u8) -> impl Iterator<Item = Record<A>> + '_ {
        let mut next = (self.rank(address, bits) as u32).checked_sub(1).unwrap_or(NONE);
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
            above.push(nodes.len() as u32);
            nodes.push(Node { address, asn, up, bits, max });
        }
        self.index.clear();
        if !nodes.is_empty() {
            self.index.resize(INDEX_LEN + 1, 0);
            nodes.iter().for_each(|node| self.index[node.address.place() + 1] += 1);
            for place in 0..INDEX_LEN {
                self.index[place + 1] += self.index[place];
            }
        }
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
