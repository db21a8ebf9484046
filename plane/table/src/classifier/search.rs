//! Finds the interval an address lies in: a static tree whose nodes are one cache line of bounds,
//! compared at once (16 of IPv4, 8 of the high half of IPv6, then the low half where rules ask).
//!
//! A bound is kept as the last key *before* an interval: `x > bound` counts it, and the highest
//! key, which fills unused places, is never counted.

use super::lines::{Line, Unit};
use machine::narrow::{half, halves, place};

/// Headers that go through each step together.
pub(super) const BATCH: usize = 64;
/// Levels of a tree at most: 9^8 intervals.
const LEVELS_MAX: usize = 8;
/// In a class: the number of the tree that the low half of the address is looked up in.
const DEEPER: u32 = 1 << 31;

/// One tree among the nodes and classes of a field.
#[derive(Clone, Copy, Default)]
struct Tree {
    /// Where each level begins, the root's first, in nodes.
    levels: [u32; LEVELS_MAX],
    depth: usize,
    /// Where its classes begin.
    classes: u32,
}

/// The trees of one address field.
pub(super) struct Search {
    short: bool,
    root: Tree,
    /// For high halves that rules look behind.
    deeper: Vec<Tree>,
    nodes: Vec<Line>,
    /// The class of each interval, filled up to whole leaves.
    classes: Vec<u32>,
}

impl Search {
    /// Trees over intervals by their first address (in the high bits; the first is 0) and class.
    pub(super) fn new(bits: u8, intervals: &[(u128, u32)]) -> Self {
        let (nodes, classes, deeper) = (Vec::new(), Vec::new(), Vec::new());
        let short = bits == 32;
        let mut search = Self { short, root: Tree::default(), deeper, nodes, classes };
        if short {
            let keys: Vec<_> = intervals.iter().map(|(at, c)| ((at >> 96) as u64, *c)).collect();
            search.root = search.tree(16, &keys);
            return search;
        }
        let mut high: Vec<(u64, u32)> = Vec::new();
        let mut before = intervals[0].1;
        for same in intervals.chunk_by(|a, b| a.0 >> 64 == b.0 >> 64) {
            let half = (same[0].0 >> 64) as u64;
            if let [(first, class)] = same
                && halves(*first)[0] == 0
            {
                high.push((half, *class));
            } else {
                high.push((half, DEEPER | place(search.deeper.len())));
                let mut low: Vec<_> = same.iter().map(|(at, c)| (halves(*at)[0], *c)).collect();
                if low[0].0 != 0 {
                    low.insert(0, (0, before));
                }
                let tree = search.tree(8, &low);
                search.deeper.push(tree);
                high.extend(half.checked_add(1).map(|next| (next, same[same.len() - 1].1)));
            }
            before = same[same.len() - 1].1;
        }
        // Where the next high half has bounds of its own, those count.
        let mut apart: Vec<(u64, u32)> = Vec::with_capacity(high.len());
        for (half, class) in high {
            if apart.last().is_some_and(|last| last.0 == half) {
                apart.pop();
            }
            apart.push((half, class));
        }
        search.root = search.tree(8, &apart);
        search
    }

    /// Appends a tree over intervals by first key and class, of so many bounds in a node.
    fn tree(&mut self, keys: usize, intervals: &[(u64, u32)]) -> Tree {
        let bounds: Vec<u64> = intervals[1..].iter().map(|(first, _)| first - 1).collect();
        let mut counts = vec![bounds.len().div_ceil(keys).max(1)];
        while counts[0] > 1 {
            counts.insert(0, counts[0].div_ceil(keys + 1));
        }
        assert!(counts.len() <= LEVELS_MAX, "a tree of all rules has fewer levels");
        let mut tree = Tree { depth: counts.len(), ..Tree::default() };
        for (level, count) in counts.iter().enumerate() {
            tree.levels[level] = place(self.nodes.len());
            // Leaves below one node of this level; a bound is the first of what its child leads to.
            let leaves = (keys + 1).pow(place(counts.len() - 1 - level));
            for node in 0..*count {
                let at = |key: usize| match leaves {
                    1 => node * keys + key,
                    _ => (node * leaves + (key + 1) * (leaves / (keys + 1))) * keys,
                };
                self.nodes.push(line(keys, |key| bounds.get(at(key)).copied()));
            }
        }
        tree.classes = place(self.classes.len());
        self.classes.extend(intervals.iter().map(|(_, class)| *class));
        let whole = tree.classes as usize + counts[counts.len() - 1] * keys + 1;
        self.classes.resize(whole, intervals[intervals.len() - 1].1);
        tree
    }

    /// Bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.nodes[..])
            + size_of_val(&self.classes[..])
            + size_of_val(&self.deeper[..])
    }

    /// The class of each of at most [`BATCH`] addresses.
    #[inline(always)]
    pub(super) fn classes<U: Unit>(
        &self,
        unit: U,
        addresses: impl Iterator<Item = u128> + Clone,
        classes: &mut [u32; BATCH],
    ) {
        if self.short {
            let keys = addresses.map(|address| (address >> 96) as u64);
            self.walk_root(keys, classes, 16, |node, key| unit.above32(node, half(key)));
            return;
        }
        let keys = addresses.clone().map(|address| (address >> 64) as u64);
        self.walk_root(keys, classes, 8, |node, key| unit.above64(node, key));
        if self.deeper.is_empty() {
            return;
        }
        // Without a branch: which address goes deeper is anybody's guess.
        let (mut places, mut count) = ([(0, 0); BATCH], 0);
        for (at, address) in addresses.enumerate() {
            places[count] = (at, halves(address)[0]);
            count += usize::from(classes[at] & DEEPER != 0);
        }
        for (at, low) in &places[..count] {
            let tree = &self.deeper[(classes[*at] & !DEEPER) as usize];
            classes[*at] = self.walk::<0>(tree, *low, 8, |node, key| unit.above64(node, key));
        }
    }

    #[inline(always)]
    fn walk_root(
        &self,
        keys: impl Iterator<Item = u64>,
        classes: &mut [u32; BATCH],
        fan: usize,
        above: impl Fn(&Line, u64) -> usize,
    ) {
        match self.root.depth {
            1 => self.walk_all::<1>(keys, classes, fan, above),
            2 => self.walk_all::<2>(keys, classes, fan, above),
            3 => self.walk_all::<3>(keys, classes, fan, above),
            4 => self.walk_all::<4>(keys, classes, fan, above),
            _ => self.walk_all::<0>(keys, classes, fan, above),
        }
    }

    /// A loop, not `for_each`: what a closure calls would be compiled for any processor.
    #[inline(always)]
    fn walk_all<const DEPTH: usize>(
        &self,
        keys: impl Iterator<Item = u64>,
        classes: &mut [u32; BATCH],
        fan: usize,
        above: impl Fn(&Line, u64) -> usize,
    ) {
        let root = self.root;
        for (key, class) in keys.zip(classes) {
            *class = self.walk::<DEPTH>(&root, key, fan, &above);
        }
    }

    /// Walks down a tree of `DEPTH` levels (0: as many as it says); `above` counts the bounds of
    /// a node that lie below the key.
    ///
    /// Without checks, which cost a packet a clock: a place of a node without a bound is never
    /// counted, and where [`Search::tree`] wrote a bound there is a child behind it, in the leaves
    /// a class.
    #[inline(always)]
    fn walk<const DEPTH: usize>(
        &self,
        tree: &Tree,
        key: u64,
        keys: usize,
        above: impl Fn(&Line, u64) -> usize,
    ) -> u32 {
        let depth = if DEPTH == 0 { tree.depth } else { DEPTH };
        let mut child = 0;
        for level in &tree.levels[..depth - 1] {
            // SAFETY: as said above, a child that was counted is there.
            let node = unsafe { self.nodes.get_unchecked(*level as usize + child) };
            child = child * (keys + 1) + above(node, key);
        }
        // SAFETY: as said above, so are a leaf and its class.
        unsafe {
            let leaf = self.nodes.get_unchecked(tree.levels[depth - 1] as usize + child);
            *self.classes.get_unchecked(tree.classes as usize + child * keys + above(leaf, key))
        }
    }
}

/// A node of 16 bounds of 32 bits or 8 of 64; a bound that is missing is the highest.
fn line(keys: usize, bound: impl Fn(usize) -> Option<u64>) -> Line {
    let mut line = Line([u64::MAX; 8]);
    for (at, bound) in (0..keys).filter_map(|at| Some((at, bound(at)?))) {
        if keys == 8 {
            line.0[at] = bound;
        } else {
            let (word, shift) = (at / 2, at % 2 * 32);
            line.0[word] = line.0[word] & !(0xFFFF_FFFF << shift) | bound << shift;
        }
    }
    line
}
