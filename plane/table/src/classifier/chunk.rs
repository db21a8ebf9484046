//! A run of rules that are looked at together.

use super::NO_RULE;
use super::compile::{AddressField, Joined, Part, addresses, small};
use super::header::{Address, Header};
use super::lines::{Line, Unit};
use super::rows::{Shape, TooLarge};
use super::rule::Rule;
use crate::lanes::prefetch;

/// Headers that go through each step together.
pub(super) const BATCH: usize = 64;
/// Fields whose rows are and-ed: two of addresses, and all small ones if none could be joined.
const FIELDS_MAX: usize = 8;
/// Candidates of a summary that are looked at one by one; more, and the row is looked at whole.
const CANDIDATES_MAX: u32 = 12;

/// The numbers of the rows of a batch, field by field.
type Numbers = [[u32; BATCH]; FIELDS_MAX];

pub(super) struct Chunk {
    /// The place of its first rule among all.
    pub(super) first: u32,
    shape: Shape,
    source: AddressField,
    destination: AddressField,
    joined: Vec<Joined>,
}

impl Chunk {
    /// Compiles rules whose first is the `first` of all, into at most `bytes_max`.
    pub(super) fn new<A: Address>(
        rules: &[Rule<A>],
        first: u32,
        bytes_max: usize,
    ) -> Result<Self, TooLarge> {
        let shape = Shape::new(rules.len());
        let lines_max = bytes_max / size_of::<Line>();
        let prefixes: Vec<_> = rules.iter().map(|rule| rule.source).collect();
        let source = addresses(&prefixes, shape, lines_max)?;
        let prefixes: Vec<_> = rules.iter().map(|rule| rule.destination).collect();
        let left = lines_max - source.rows.lines.len();
        let destination = addresses(&prefixes, shape, left)?;
        let left = left - destination.rows.lines.len();
        let joined = small(rules, shape, left)?;
        let chunk = Self { first, shape, source, destination, joined };
        if chunk.bytes() > bytes_max { Err(TooLarge) } else { Ok(chunk) }
    }

    /// Bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let joined = self.joined.iter().map(|joined| {
            let tables = joined.tables.iter().map(|table| size_of_val(&table.classes[..]));
            size_of_val(&joined.rows.lines[..])
                + size_of_val(&joined.cells[..])
                + tables.sum::<usize>()
        });
        let sides = [&self.source, &self.destination].into_iter();
        let sides = sides.map(|side| side.search.bytes() + size_of_val(&side.rows.lines[..]));
        sides.sum::<usize>() + joined.sum::<usize>()
    }

    /// The first rule of this chunk for each of at most [`BATCH`] headers, [`NO_RULE`] if none.
    #[inline(always)]
    pub(super) fn lookup<A: Address, U: Unit>(
        &self,
        unit: U,
        headers: &[Header<A>],
        rules: &mut [u32],
    ) {
        let mut numbers = [[0; BATCH]; FIELDS_MAX];
        let sources = headers.iter().map(|header| header.source.high());
        self.source.search.classes(unit, sources, &mut numbers[0]);
        let destinations = headers.iter().map(|header| header.destination.high());
        self.destination.search.classes(unit, destinations, &mut numbers[1]);
        for (joined, numbers) in self.joined.iter().zip(&mut numbers[2..]) {
            cells(joined, headers, numbers);
        }
        if self.shape.summary == 0 {
            self.whole(unit, &numbers, rules);
        } else {
            self.summarised(unit, &numbers, rules);
        }
    }

    /// The rows of one header.
    #[inline(always)]
    fn rows(&self, numbers: &Numbers, at: usize) -> ([*const Line; FIELDS_MAX], usize) {
        let mut rows = [std::ptr::null(); FIELDS_MAX];
        let row = |lines: &[Line], field: usize| {
            let line = numbers[field][at] as usize * self.shape.stride;
            debug_assert!(line + self.shape.stride <= lines.len(), "a row is whole");
            lines.as_ptr().wrapping_add(line)
        };
        rows[0] = row(&self.source.rows.lines, 0);
        rows[1] = row(&self.destination.rows.lines, 1);
        for (field, joined) in self.joined.iter().enumerate() {
            rows[field + 2] = row(&joined.rows.lines, field + 2);
        }
        (rows, self.joined.len() + 2)
    }

    #[inline(always)]
    fn whole<U: Unit>(&self, unit: U, numbers: &Numbers, rules: &mut [u32]) {
        for (at, rule) in rules.iter_mut().enumerate() {
            let (rows, fields) = self.rows(numbers, at);
            *rule = unit.first(&rows[..fields], self.shape.stride);
        }
    }

    #[inline(always)]
    fn summarised<U: Unit>(&self, unit: U, numbers: &Numbers, rules: &mut [u32]) {
        let mut summaries = [Line::ZERO; BATCH];
        for at in 0..rules.len() {
            let (rows, fields) = self.rows(numbers, at);
            summaries[at] = unit.and(&rows[..fields], 0);
            let words = &summaries[at].0;
            if let Some(word) = words.iter().position(|word| *word != 0) {
                let bit = word * 64 + words[word].trailing_zeros() as usize;
                rows[..fields].iter().for_each(|row| prefetch(row.wrapping_add(1 + bit / 8)));
            }
        }
        for (at, rule) in rules.iter_mut().enumerate() {
            let (rows, fields) = self.rows(numbers, at);
            *rule = self.candidates(unit, &summaries[at], &rows[..fields]);
        }
    }

    #[inline(always)]
    fn candidates<U: Unit>(&self, unit: U, summary: &Line, rows: &[*const Line]) -> u32 {
        if summary.0.iter().map(|word| word.count_ones()).sum::<u32>() > CANDIDATES_MAX {
            let bits = rows.iter().map(|row| row.wrapping_add(1));
            let mut behind = [std::ptr::null(); FIELDS_MAX];
            behind.iter_mut().zip(bits).for_each(|(place, row)| *place = row);
            return unit.first(&behind[..rows.len()], self.shape.stride - 1);
        }
        for (at, mut bits) in summary.0.into_iter().enumerate() {
            while bits != 0 {
                let word = at * 64 + bits.trailing_zeros() as usize;
                let word_of = |row: &*const Line| {
                    // SAFETY: the row has a line of bits for each eight bits of the summary.
                    unsafe { &*row.add(1 + word / 8) }.0[word % 8]
                };
                let left = rows.iter().map(word_of).fold(u64::MAX, |all, word| all & word);
                if left != 0 {
                    return word as u32 * 64 + left.trailing_zeros();
                }
                bits &= bits - 1;
            }
        }
        NO_RULE
    }
}

/// The numbers of the rows of joined fields.
#[inline(always)]
fn cells<A: Address>(joined: &Joined, headers: &[Header<A>], numbers: &mut [u32; BATCH]) {
    for table in &joined.tables {
        let classes = &table.classes[..];
        let mut add = |value: fn(&Header<A>) -> u16| {
            for (number, header) in numbers.iter_mut().zip(headers) {
                *number += u32::from(classes[usize::from(value(header))]) * table.weight;
            }
        };
        match table.part {
            Part::Protocol => add(|header| u16::from(header.protocol)),
            Part::TcpFlags => add(|header| u16::from(header.tcp_flags)),
            Part::Service => {
                add(|header| u16::from(header.dscp & 63) | (header.fragment as u16) << 6);
            }
            Part::Length => add(|header| header.length),
            Part::SourcePort => add(|header| header.source_port),
            Part::DestinationPort => add(|header| header.destination_port),
        }
    }
    for number in &mut numbers[..headers.len()] {
        *number = u32::from(joined.cells[*number as usize]);
    }
}
