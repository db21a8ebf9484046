//! Finds the interval an address lies in: a static tree whose nodes are one cache line of bounds,
//! compared at once (16 of IPv4, 8 of IPv6).
//!
//! A bound is kept as the last address *before* an interval: `x > bound` counts it, and the
//! highest address, which fills unused places, is never counted.

use super::lines::{Line, Unit};

/// Levels of a tree at most: 9^8 intervals of IPv6.
const LEVELS_MAX: usize = 10;

/// What a tree compares with, in the order of `u32`, `u64` or `u128`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Width {
    /// The high 32 bits say everything.
    Bits32,
    /// The high 64 bits say everything.
    Bits64,
    /// All 128 bits, in two lines of 64 each.
    Bits128,
}

/// The tree of one address field.
pub(super) struct Search {
    width: Width,
    /// All nodes, the root's level first.
    nodes: Vec<Line>,
    /// Where each level begins, in nodes.
    levels: Vec<u32>,
    /// The class of each interval, filled up to whole leaves.
    classes: Vec<u32>,
}

impl Search {
    /// A tree over intervals by their first address (in the high bits; the first is 0) and class.
    pub(super) fn new(bits: u8, intervals: &[(u128, u32)]) -> Self {
        let narrow =
            |bits: u32| intervals.iter().all(|(first, _)| first.trailing_zeros() >= 128 - bits);
        let width = match () {
            () if bits == 32 => Width::Bits32,
            () if narrow(64) => Width::Bits64,
            () => Width::Bits128,
        };
        let bounds: Vec<u128> =
            intervals[1..].iter().map(|(first, _)| before(*first, width)).collect();
        let fan = width.keys() + 1;
        let mut counts = vec![bounds.len().div_ceil(width.keys()).max(1)];
        while counts[0] > 1 {
            counts.insert(0, counts[0].div_ceil(fan));
        }
        assert!(counts.len() <= LEVELS_MAX, "a tree of all rules has fewer levels");
        let (mut nodes, mut levels) = (Vec::new(), Vec::new());
        for (level, count) in counts.iter().enumerate() {
            levels.push(nodes.len() as u32);
            // Leaves below one node of this level; a bound is the first of what its child leads to.
            let leaves = fan.pow((counts.len() - 1 - level) as u32);
            for node in 0..*count {
                let at = |key: usize| match leaves {
                    1 => node * width.keys() + key,
                    _ => (node * leaves + (key + 1) * (leaves / fan)) * width.keys(),
                };
                let keys = (0..width.keys()).map(|key| bounds.get(at(key)).copied());
                let keys: Vec<_> = keys.collect();
                width.push(&mut nodes, &keys);
            }
        }
        let mut classes: Vec<u32> = intervals.iter().map(|(_, class)| *class).collect();
        let last = classes[classes.len() - 1];
        classes.resize(counts[counts.len() - 1] * width.keys() + 1, last);
        Self { width, nodes, levels, classes }
    }

    /// Bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.nodes[..]) + size_of_val(&self.classes[..])
    }

    /// The class of each address.
    #[inline(always)]
    pub(super) fn classes<U: Unit>(
        &self,
        unit: U,
        addresses: impl Iterator<Item = u128>,
        classes: &mut [u32],
    ) {
        let pairs = addresses.zip(classes);
        match self.width {
            Width::Bits32 => pairs.for_each(|(address, class)| {
                let wanted = (address >> 96) as u32;
                *class = self.class(1, 16, |node| unit.above32(&node[0], wanted));
            }),
            Width::Bits64 => pairs.for_each(|(address, class)| {
                let wanted = (address >> 64) as u64;
                *class = self.class(1, 8, |node| unit.above64(&node[0], wanted));
            }),
            Width::Bits128 => pairs.for_each(|(address, class)| {
                *class = self.class(2, 8, |node| unit.above128(&node[0], &node[1], address));
            }),
        }
    }

    /// Walks down; `above` counts the bounds of a node that lie below the address.
    #[inline(always)]
    fn class(&self, lines: usize, keys: usize, above: impl Fn(&[Line]) -> usize) -> u32 {
        let mut child = 0;
        let (last, inner) = self.levels.split_last().expect("a tree has a level");
        for level in inner {
            let at = *level as usize + child * lines;
            child = child * (keys + 1) + above(&self.nodes[at..at + lines]);
        }
        let at = *last as usize + child * lines;
        self.classes[child * keys + above(&self.nodes[at..at + lines])]
    }
}

impl Width {
    /// Bounds of a node.
    fn keys(self) -> usize {
        if self == Self::Bits32 { 16 } else { 8 }
    }

    /// Appends a node; a bound that is missing is the highest.
    fn push(self, nodes: &mut Vec<Line>, keys: &[Option<u128>]) {
        let mut line = Line([u64::MAX; 8]);
        let mut low = Line([u64::MAX; 8]);
        for (at, key) in keys.iter().enumerate() {
            let key = key.unwrap_or(u128::MAX);
            if self == Self::Bits32 {
                let (word, shift) = (at / 2, at % 2 * 32);
                let others = line.0[word] & !(0xFFFF_FFFF << shift);
                line.0[word] = others | ((key >> 96) as u64) << shift;
            } else {
                line.0[at] = (key >> 64) as u64;
                low.0[at] = key as u64;
            }
        }
        nodes.push(line);
        if self == Self::Bits128 {
            nodes.push(low);
        }
    }
}

/// The last address before an interval that begins at `first`, in the bits that count.
fn before(first: u128, width: Width) -> u128 {
    match width {
        Width::Bits32 => ((first >> 96) - 1) << 96,
        Width::Bits64 => ((first >> 64) - 1) << 64,
        Width::Bits128 => first - 1,
    }
}
