//! The nodes of a table as they lie in memory.
//!
//! A table is a tree over chunks of 16 bits of the address. An *entry* is a word: the number of a
//! next hop, or a node that decides. What a chunk decides is a row of *pieces*: addresses from the
//! end of the piece before to its own end, which share an entry.
//!
//! | class | lines | decides | layout |
//! |---|---|---|---|
//! | few | 1 | up to 11 pieces of a chunk | 10 ends of 16 bits, 11 entries: one cache line |
//! | fan | 3 | up to 32 pieces of a chunk | 32 ends, then 32 entries |
//! | split | 17 | the chunk's high octet | 256 entries: few, fan, low of the same chunk, or hops |
//! | low | 17 | the chunk's low octet | 256 entries |
//! | wide | 4097 | a chunk | 65,536 entries |
//! | top | 2²⁰ + 1 | the first 24 bits | 2²⁴ entries: few, fan or low of the second chunk |
//!
//! Beside the entries of a family that has tops stand their *shorts*, in half as much memory: a
//! top is what lookups wait for, and most of its entries are hops with small numbers.
//!
//! Ends never change while a node can be found: another row of pieces is another node. Entries
//! are replaced in place. Beside each entry the writer, and only the writer, keeps its *depth*:
//! the length of the prefix that a hop's number comes from.

use crate::memory::{Full, LINE_WORDS, Lines, Region};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a node decides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    Few = 0,
    Fan,
    Split,
    Low,
    Wide,
    Top,
}

/// Classes that an entry can say.
pub(super) const CLASSES: usize = 8;
/// Lines of the roots of all tables, and one for the root of a table that is being built.
#[allow(clippy::cast_possible_truncation, reason = "2^16 of them")]
const ROOT_LINES: u32 = (super::TABLES_MAX / LINE_WORDS) as u32 + 1;
/// Lines by class; the last is that of the roots.
pub(super) const SIZES: &[u32] = &[1, 3, 17, 17, 4097, (1 << 20) + 1, ROOT_LINES];
/// Which of the sizes the roots have.
const ROOTS: usize = 6;

/// Pieces that a node has at most.
pub(super) const FEW_MAX: usize = 11;
pub(super) const FAN_MAX: usize = 32;

impl Class {
    const ALL: [Self; CLASSES] =
        [Self::Few, Self::Fan, Self::Split, Self::Low, Self::Wide, Self::Top, Self::Top, Self::Top];

    /// Entries of those that have one for each value.
    pub(super) const fn cells(self) -> usize {
        match self {
            Self::Few => FEW_MAX,
            Self::Fan => FAN_MAX,
            Self::Split | Self::Low => 1 << 8,
            Self::Wide => 1 << 16,
            Self::Top => 1 << 24,
        }
    }

    /// The word of the first entry.
    pub(super) const fn first(self) -> usize {
        match self {
            Self::Few => (FEW_MAX - 1) / 2,
            Self::Fan => FAN_MAX / 2,
            _ => 0,
        }
    }

    /// Ends of pieces that are stored; the last piece of a few ends with the chunk.
    pub(super) const fn ends(self) -> usize {
        match self {
            Self::Few => FEW_MAX - 1,
            Self::Fan => FAN_MAX,
            _ => 0,
        }
    }
}

/// A hop's number, or a node.
///
/// ```text
///   31 | 30 … 28 | 27 … 0
///   0  | the number of a hop
///   1  | class   | the node's first line
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Entry(pub(super) u32);

impl Entry {
    pub(super) const NODE: u32 = 1 << 31;
    pub(super) const LINE: u32 = (1 << 28) - 1;

    pub(super) const fn node(class: Class, line: u32) -> Self {
        Self(Self::NODE | (class as u32) << 28 | line & Self::LINE)
    }

    #[inline]
    pub(super) const fn is_node(self) -> bool {
        self.0 & Self::NODE != 0
    }

    #[inline]
    pub(super) const fn class(self) -> Class {
        Class::ALL[(self.0 >> 28) as usize & (CLASSES - 1)]
    }

    #[inline]
    pub(super) const fn line(self) -> u32 {
        self.0 & Self::LINE
    }

    /// The word of the node's first entry.
    pub(super) const fn first(self) -> usize {
        self.line() as usize * LINE_WORDS + self.class().first()
    }
}

/// The short of an entry that is a node, or a hop with a number that is no smaller: the entry
/// itself says what it is.
pub(super) const NO_SHORT: u16 = u16::MAX;

impl Entry {
    const fn short(self) -> u16 {
        if self.0 < NO_SHORT as u32 { (self.0 & 0xFFFF) as u16 } else { NO_SHORT }
    }
}

/// Addresses of a chunk that share an entry: from the end of the piece before to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) end: u16,
    pub(super) entry: Entry,
    pub(super) depth: u8,
}

/// The nodes of all tables of a family, as their writer has them.
pub(super) struct Nodes {
    pub(super) lines: Lines,
    /// An octet for each word of the lines.
    depths: Region,
    /// The short of each entry, where the family has tops.
    pub(super) shorts: Option<Arc<Region>>,
    /// The word of the first root.
    pub(super) roots: usize,
    /// Whether no reader can find what is built now.
    pub(super) is_apart: bool,
}

impl Nodes {
    pub(super) fn new(mut lines: Lines, count: usize, has_tops: bool) -> Result<Self, Full> {
        let depths = Region::new(count.div_ceil(4))?;
        let shorts = if has_tops { Some(Arc::new(Region::new(count.div_ceil(2))?)) } else { None };
        let roots = lines.take(ROOTS)? as usize * LINE_WORDS;
        Ok(Self { lines, depths, shorts, roots, is_apart: false })
    }

    /// The entry in a word.
    #[inline]
    pub(super) fn entry(&self, at: usize) -> Entry {
        Entry(self.lines.region().word(at).load(Ordering::Relaxed))
    }

    /// The depth of the entry in a word.
    #[inline]
    pub(super) fn depth(&self, at: usize) -> u8 {
        self.depths.octet(at).load(Ordering::Relaxed)
    }

    /// Readers find this entry from now on.
    #[inline]
    pub(super) fn set(&self, at: usize, entry: Entry, depth: u8) {
        self.depths.octet(at).store(depth, Ordering::Relaxed);
        self.lines.region().word(at).store(entry.0, Ordering::Release);
        // Last: where it says that the entry says more, the entry does.
        if let Some(shorts) = &self.shorts {
            shorts.half(at).store(entry.short(), Ordering::Release);
        }
    }

    /// The node is no longer to be found.
    pub(super) fn drop_node(&mut self, node: Entry) {
        let (line, size) = (node.line(), node.class() as usize);
        if self.is_apart { self.lines.give_back(line, size) } else { self.lines.retire(line, size) }
    }

    /// The node and all below it are no longer to be found.
    pub(super) fn drop_tree(&mut self, entry: Entry) {
        if !entry.is_node() {
            return;
        }
        for cell in 0..self.cells(entry) {
            self.drop_tree(self.entry(entry.first() + cell));
        }
        self.drop_node(entry);
    }

    /// Entries of a node that count.
    pub(super) fn cells(&self, node: Entry) -> usize {
        let class = node.class();
        (0..class.ends())
            .find(|at| self.end(node, *at) == u16::MAX)
            .map_or(class.cells(), |last| last + 1)
    }

    #[inline]
    fn end(&self, node: Entry, at: usize) -> u16 {
        let word = node.line() as usize * LINE_WORDS + at / 2;
        (self.lines.region().word(word).load(Ordering::Relaxed) >> (16 * (at & 1)) & 0xFFFF) as u16
    }

    /// The pieces of a few or a fan, added to `pieces`.
    pub(super) fn pieces(&self, node: Entry, pieces: &mut Vec<Piece>) {
        let (first, ends) = (node.first(), node.class().ends());
        for at in 0..node.class().cells() {
            let end = if at < ends { self.end(node, at) } else { u16::MAX };
            let (entry, depth) = (self.entry(first + at), self.depth(first + at));
            pieces.push(Piece { end, entry, depth });
            if end == u16::MAX {
                return;
            }
        }
    }

    /// A new few or fan of as many pieces as it has room for.
    pub(super) fn row(&mut self, pieces: &[Piece]) -> Result<Entry, Full> {
        let class = if pieces.len() <= FEW_MAX { Class::Few } else { Class::Fan };
        let node = Entry::node(class, self.lines.take(class as usize)?);
        let end = |at: usize| u32::from(pieces.get(at).map_or(u16::MAX, |piece| piece.end));
        for pair in 0..class.ends() / 2 {
            let word = node.line() as usize * LINE_WORDS + pair;
            let ends = end(2 * pair) | end(2 * pair + 1) << 16;
            self.lines.region().word(word).store(ends, Ordering::Relaxed);
        }
        for at in 0..class.cells() {
            let (entry, depth) =
                pieces.get(at).map_or((Entry(0), 0), |piece| (piece.entry, piece.depth));
            self.set(node.first() + at, entry, depth);
        }
        Ok(node)
    }

    /// A new node with an entry for each value, all the same, and what the writer counts 0.
    pub(super) fn array(&mut self, class: Class, entry: Entry, depth: u8) -> Result<Entry, Full> {
        let node = Entry::node(class, self.lines.take(class as usize)?);
        for at in 0..class.cells() {
            self.set(node.first() + at, entry, depth);
        }
        self.lines.region().word(node.first() + class.cells()).store(0, Ordering::Relaxed);
        Ok(node)
    }

    /// Counts one more change of a node that has an entry for each value.
    pub(super) fn counted(&self, node: Entry) -> u32 {
        let word = self.lines.region().word(node.first() + node.class().cells());
        let count = word.load(Ordering::Relaxed).wrapping_add(1);
        word.store(count, Ordering::Relaxed);
        count
    }
}
