//! Rules by what they are about, so that of many rules few are looked at.
//!
//! ```text
//!   calling title ─┐             one visit for each length of beginnings that there is
//!   called title  ─┼→ digits ──→ slots ──→ entries: by operation, by place of the rule
//!   IMSI          ─┘
//!   point code ────→ slots       rules without digits
//!   the others ────→ entries     rules about neither
//! ```
//! A rule stands under one of these: the one with the most digits.

use crate::names::OperationId;
use sccp::codec::Digits;
use std::collections::BTreeMap;

/// Rules that hold for many operations, or for all, stand behind the others.
pub(crate) const ANY: u16 = u16::MAX;
/// Digits that a key has.
pub(crate) const KEY_DIGITS: usize = 15;
/// Entries that are compared one by one, instead of by halves.
const FEW: usize = 8;

/// A list of digits that a rule has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Calling,
    Called,
    Imsi,
}

/// A rule under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// The operation, or [`ANY`].
    pub(crate) operation: u16,
    pub(crate) rule: u32,
    /// Whether something is still to be looked at.
    pub(crate) is_open: bool,
}

/// Digits as a number, the first one highest, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number {
    digits: u64,
    count: usize,
}

impl Number {
    #[inline]
    pub(crate) fn of(digits: &Digits) -> Self {
        let mut number = 0u64;
        let mut shift = 64;
        for octet in digits.octets().iter().take(KEY_DIGITS.div_ceil(2)) {
            shift -= 8;
            number |= u64::from(octet.rotate_left(4)) << shift;
        }
        Self { digits: number, count: digits.len().min(KEY_DIGITS) }
    }
}

#[inline]
const fn key(digits: u64, mask: u64, length: usize) -> u64 {
    (digits & mask & !0x0f) | length as u64
}

/// The mask of so many digits.
#[inline]
const fn beginning(length: usize) -> u64 {
    if length == 0 { 0 } else { u64::MAX << (64 - 4 * length) }
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    key: u64,
    first: u32,
    last: u32,
}

impl Slot {
    /// What is taken has entries.
    const fn is_free(self) -> bool {
        self.last == 0
    }
}

/// A table of keys, each with some entries; a quarter of its slots is free.
#[derive(Debug, Default)]
struct Table(Vec<Slot>);

impl Table {
    fn new(spans: &[Slot]) -> Self {
        let free = Slot { key: 0, first: 0, last: 0 };
        let mut table = Self(vec![free; spans.len() + spans.len() / 3 + 1]);
        for span in spans {
            let at = table.seek(span.key);
            table.0[at] = *span;
        }
        table
    }

    #[inline]
    fn seek(&self, key: u64) -> usize {
        let mixed = (key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = (u128::from(mixed) * self.0.len() as u128) >> 64;
        let mut at = usize::try_from(place).unwrap_or_default();
        while !self.0[at].is_free() && self.0[at].key != key {
            at = if at + 1 == self.0.len() { 0 } else { at + 1 };
        }
        at
    }

    #[inline]
    fn get(&self, key: u64) -> Option<core::ops::Range<usize>> {
        let slot = self.0[self.seek(key)];
        (!slot.is_free()).then_some(slot.first as usize..slot.last as usize)
    }
}

/// Keys of one block of a filter, about; each has two bits, and what it begins with two more: of
/// what is not there one in thirty seems to be.
const BLOCK_KEYS: usize = 24;
/// Of all keys one in so many may be too short for a filter.
const SHORT_SHARE: usize = 16;

/// Which beginnings there may be: all bits that a number asks for stand in one line of the cache,
/// and of most numbers without a rule the first digits say so already, whatever lengths there are.
#[derive(Debug, Default)]
struct Filter {
    /// Bits of the keys that begin with the same digits.
    blocks: Vec<[u64; 8]>,
    /// So many digits choose the block; shorter beginnings are not in it.
    head: usize,
}

impl Filter {
    fn new(spans: &[Slot]) -> Self {
        let mut counts = [0usize; KEY_DIGITS + 1];
        spans.iter().for_each(|it| counts[(it.key & 0x0f) as usize] += 1);
        let mut shorter = 0;
        let head = counts.iter().position(|count| {
            shorter += count;
            shorter * SHORT_SHARE > spans.len()
        });
        let head = head.unwrap_or_default();
        let mut filter = Self { blocks: vec![[0; 8]; spans.len() / BLOCK_KEYS + 1], head };
        for key in spans.iter().map(|it| it.key).filter(|it| (it & 0x0f) as usize >= head) {
            let first = filter.first(key);
            let block = &mut filter.blocks[place(first, spans.len() / BLOCK_KEYS + 1)];
            for bit in bits(first).into_iter().chain(bits(mixed(key))) {
                block[bit / 64] |= 1 << (bit % 64);
            }
        }
        filter
    }

    /// What the first digits of a number are to the filter.
    #[inline]
    const fn first(&self, digits: u64) -> u64 {
        mixed(digits & beginning(self.head))
    }

    /// The block of a number, if a key may begin as it does.
    #[inline]
    fn block(&self, digits: u64) -> Option<&[u64; 8]> {
        let first = self.first(digits);
        let block = self.blocks.get(place(first, self.blocks.len()))?;
        has(block, first).then_some(block)
    }
}

/// The bits of what is mixed in its block.
#[inline]
const fn bits(mixed: u64) -> [usize; 2] {
    [(mixed & 511) as usize, (mixed >> 9 & 511) as usize]
}

#[inline]
fn has(block: &[u64; 8], mixed: u64) -> bool {
    let [one, other] = bits(mixed).map(|bit| block[bit / 64] >> (bit % 64));
    one & other & 1 == 1
}

#[inline]
const fn mixed(key: u64) -> u64 {
    let mixed = (key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

/// One of so many places.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "it is less than the number of places")]
const fn place(mixed: u64, places: usize) -> usize {
    ((mixed as u128 * places as u128) >> 64) as usize
}

/// A number, and the block of a filter in which its beginnings may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Near<'a> {
    number: Number,
    block: Option<&'a [u64; 8]>,
}

/// A mask and a length that patterns with any digit in some place have.
type Shape = (u64, usize);

/// Rules by the beginning of a number.
#[derive(Debug, Default)]
pub(crate) struct Prefixes {
    table: Table,
    filter: Filter,
    /// Bit n: there are beginnings of n digits.
    lengths: u16,
    shapes: Vec<(Shape, Table)>,
    entries: Vec<Entry>,
    /// A bit for each operation that is in it, and the last for [`ANY`].
    operations: Operations,
}

/// What becomes of an index while it is filled.
#[derive(Debug, Default)]
pub(crate) struct Filling(BTreeMap<(Option<Shape>, u64), Vec<Entry>>);

impl Filling {
    /// A rule under a pattern: its digits, which of them count, and how many there are.
    pub(crate) fn put(&mut self, pattern: (u64, u64, usize), entry: Entry) {
        let (digits, mask, length) = pattern;
        let shape = (mask != beginning(length)).then_some((mask, length));
        self.0.entry((shape, key(digits, mask, length))).or_default().push(entry);
    }

    /// Shapes beside beginnings.
    pub(crate) fn shapes(&self) -> usize {
        let mut shapes: Vec<Shape> = self.0.keys().filter_map(|it| it.0).collect();
        shapes.dedup();
        shapes.len()
    }

    pub(crate) fn done(self) -> Prefixes {
        let mut done = Prefixes::default();
        let mut spans: BTreeMap<Option<Shape>, Vec<Slot>> = BTreeMap::new();
        for ((shape, key), mut entries) in self.0 {
            entries.sort_unstable();
            entries.dedup();
            entries.iter().for_each(|it| done.operations.put(it.operation));
            let first = machine::narrow::place(done.entries.len());
            done.entries.extend(entries);
            let last = machine::narrow::place(done.entries.len());
            if shape.is_none() {
                done.lengths |= 1 << (key & 0x0f);
            }
            spans.entry(shape).or_default().push(Slot { key, first, last });
        }
        for (shape, spans) in spans {
            match shape {
                None => {
                    done.filter = Filter::new(&spans);
                    done.table = Table::new(&spans);
                }
                Some(shape) => done.shapes.push((shape, Table::new(&spans))),
            }
        }
        done
    }
}

impl Prefixes {
    /// Whether a rule about that operation is in it.
    #[inline]
    pub(crate) fn concerns(&self, operation: OperationId) -> bool {
        self.operations.has(operation.0)
    }

    /// What [`Prefixes::each`] asks of the filter. It is asked for before it is needed: a number
    /// whose line is not in the cache waits beside the others of its message, not behind them.
    #[inline]
    pub(crate) fn near(&self, number: Number) -> Near<'_> {
        Near { number, block: self.filter.block(number.digits) }
    }

    /// Gives `look` the entries of an operation under each beginning of a number.
    #[inline]
    pub(crate) fn each(
        &self,
        near: Near<'_>,
        operation: OperationId,
        look: &mut impl FnMut(&[Entry]),
    ) {
        self.spans(near, |_, span| of_operation(&self.entries[span], operation, look));
    }

    /// The first rule under the longest beginning of a number; digits count more than a form.
    pub(crate) fn longest(&self, digits: &Digits) -> Option<u32> {
        let mut found: Option<(usize, usize)> = None;
        self.spans(self.near(Number::of(digits)), |length, span| {
            if found.is_none_or(|it| it.0 < length) {
                found = Some((length, span.start));
            }
        });
        found.and_then(|it| self.entries.get(it.1)).map(|it| it.rule)
    }

    /// Whether a number begins with any.
    pub(crate) fn has(&self, digits: &Digits) -> bool {
        let mut has = false;
        self.spans(self.near(Number::of(digits)), |_, _| has = true);
        has
    }

    /// Gives `look` each beginning of a number that there is: how long it is, and its entries.
    #[inline]
    fn spans(&self, near: Near<'_>, mut look: impl FnMut(usize, core::ops::Range<usize>)) {
        let Near { number, block } = near;
        let mut lengths = self.lengths & (u16::MAX >> (KEY_DIGITS - number.count));
        if block.is_none() {
            lengths &= (1 << self.filter.head) - 1;
        }
        while lengths != 0 {
            let length = lengths.trailing_zeros() as usize;
            lengths &= lengths - 1;
            let key = key(number.digits, beginning(length), length);
            if length >= self.filter.head && !block.is_some_and(|it| has(it, mixed(key))) {
                continue;
            }
            if let Some(span) = self.table.get(key) {
                look(length, span);
            }
        }
        for ((mask, length), table) in &self.shapes {
            if *length > number.count {
                continue;
            }
            if let Some(span) = table.get(key(number.digits, *mask, *length)) {
                look(*length, span);
            }
        }
    }
}

/// Of entries in order those of an operation, and those of any.
#[inline]
fn of_operation(entries: &[Entry], operation: OperationId, look: &mut impl FnMut(&[Entry])) {
    if entries.len() <= FEW {
        for entry in entries {
            if entry.operation == operation.0 || entry.operation == ANY {
                look(core::slice::from_ref(entry));
            }
        }
        return;
    }
    let first = entries.partition_point(|it| it.operation < operation.0);
    let last = first + entries[first..].partition_point(|it| it.operation == operation.0);
    let any = last + entries[last..].partition_point(|it| it.operation != ANY);
    for span in [&entries[first..last], &entries[any..]] {
        if !span.is_empty() {
            look(span);
        }
    }
}

/// Rules by a point code, and those by nothing.
#[derive(Debug, Default)]
pub(crate) struct Others {
    codes: BTreeMap<u32, Vec<Entry>>,
    rest: Vec<Entry>,
    operations: Operations,
}

impl Others {
    pub(crate) fn put(&mut self, code: Option<u32>, entry: Entry) {
        self.operations.put(entry.operation);
        match code {
            Some(code) => self.codes.entry(code).or_default().push(entry),
            None => self.rest.push(entry),
        }
    }

    pub(crate) fn done(&mut self) {
        self.codes.values_mut().chain([&mut self.rest]).for_each(|entries| {
            entries.sort_unstable();
            entries.dedup();
        });
    }

    #[inline]
    pub(crate) fn each(&self, code: u32, operation: OperationId, look: &mut impl FnMut(&[Entry])) {
        if !self.operations.has(operation.0) {
            return;
        }
        if let Some(entries) = self.codes.get(&code) {
            of_operation(entries, operation, look);
        }
        of_operation(&self.rest, operation, look);
    }

    /// The most rules about one operation that are looked at one by one.
    pub(crate) fn longest(&self) -> usize {
        let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
        self.rest.iter().for_each(|it| *counts.entry(it.operation).or_default() += 1);
        counts.into_values().max().unwrap_or_default()
    }
}

/// A set of operations.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Operations([u64; WORDS]);

const WORDS: usize = OperationId::COUNT / 64 + 1;

impl Operations {
    pub(crate) fn put(&mut self, operation: u16) {
        if operation == ANY {
            self.0 = [u64::MAX; WORDS];
        } else if let Some(word) = self.0.get_mut(usize::from(operation / 64)) {
            *word |= 1 << (operation % 64);
        }
    }

    #[inline]
    pub(crate) fn has(&self, operation: u16) -> bool {
        let word = self.0.get(usize::from(operation / 64));
        word.is_some_and(|word| word >> (operation % 64) & 1 == 1)
    }

    /// Whether it has all of another one.
    pub(crate) fn has_all(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| own & other == *other)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        (0..machine::narrow::index(OperationId::COUNT)).filter(|it| self.has(*it))
    }
}
