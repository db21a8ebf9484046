//! A run of rules that are looked at together.

use super::NO_RULE;
use super::compile::{Part, Table, addresses, small};
use super::header::{Address, Header};
use super::lines::{FIELDS_MAX, Line, Unit};
use super::rows::{Rows, Shape, TooLarge};
use super::rule::Rule;
use super::search::{BATCH, Search};
use crate::lanes::prefetch;
use crate::pages::Pages;
use machine::narrow;

/// The first line of the row of each header, field by field.
type Places = [[u32; BATCH]; FIELDS_MAX];

/// Small fields joined: their classes make a cell, the cell has a row.
struct Cells {
    tables: Vec<Table>,
    rows: Vec<u16>,
    /// The line of row 0.
    base: u32,
}

pub(super) struct Chunk {
    /// The place of its first rule among all.
    pub(super) first: u32,
    shape: Shape,
    source: Search,
    destination: Search,
    cells: Vec<Cells>,
    /// The rows of all fields.
    lines: Pages<Line>,
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

        let mut all: Vec<Line> = Vec::new();
        let mut place = |rows: &Rows| {
            let base = narrow::place(all.len());
            all.extend_from_slice(&rows.lines);
            base
        };
        let mut search = |rows: &Rows, intervals: &[(u128, u32)]| {
            let base = place(rows);
            let line = |row: &u32| base + row * narrow::place(shape.stride);
            let intervals: Vec<_> = intervals.iter().map(|(at, row)| (*at, line(row))).collect();
            Search::new(A::BITS, &intervals)
        };
        let source = search(&source.rows, &source.intervals);
        let destination = search(&destination.rows, &destination.intervals);
        let cells = joined.into_iter().map(|joined| Cells {
            base: place(&joined.rows),
            tables: joined.tables,
            rows: joined.cells,
        });
        let cells = cells.collect();
        let mut lines = Pages::new(all.len()).map_err(|_| TooLarge)?;
        lines.as_mut().copy_from_slice(&all);
        let chunk = Self { first, shape, source, destination, cells, lines };
        if chunk.bytes() > bytes_max { Err(TooLarge) } else { Ok(chunk) }
    }

    /// Bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let cells = self.cells.iter().map(|cells| {
            let tables = cells.tables.iter().map(|table| size_of_val(&table.counts[..]));
            size_of_val(&cells.rows[..]) + tables.sum::<usize>()
        });
        let trees = self.source.bytes() + self.destination.bytes();
        size_of_val(&self.lines[..]) + trees + cells.sum::<usize>()
    }

    /// The first rule of this chunk for each of at most [`BATCH`] headers, [`NO_RULE`] if none.
    #[inline(always)]
    pub(super) fn lookup<A: Address, U: Unit>(
        &self,
        unit: U,
        headers: &[Header<A>],
        rules: &mut [u32],
    ) {
        let mut places = [[0; BATCH]; FIELDS_MAX];
        let sources = headers.iter().map(|header| header.source.high());
        self.source.classes(unit, sources, &mut places[0]);
        let destinations = headers.iter().map(|header| header.destination.high());
        self.destination.classes(unit, destinations, &mut places[1]);
        for (cells, places) in self.cells.iter().zip(&mut places[2..]) {
            cells.places(headers, self.shape.stride, places);
        }
        match self.cells.len() {
            0 => self.decide::<U, 2>(unit, &places, rules),
            1 => self.decide::<U, 3>(unit, &places, rules),
            2 => self.decide::<U, 4>(unit, &places, rules),
            3 => self.decide::<U, 5>(unit, &places, rules),
            4 => self.decide::<U, 6>(unit, &places, rules),
            5 => self.decide::<U, 7>(unit, &places, rules),
            _ => self.decide::<U, 8>(unit, &places, rules),
        }
    }

    /// Ands the rows of each header, of `F` fields.
    #[inline(always)]
    fn decide<U: Unit, const F: usize>(&self, unit: U, places: &Places, rules: &mut [u32]) {
        let lines = self.lines.as_ptr();
        let rows = |at: usize| -> [*const Line; F] {
            std::array::from_fn(|field| lines.wrapping_add(places[field][at] as usize))
        };
        // Loops, not `for_each`: what a closure calls would be compiled for any processor.
        if self.shape.summary == 1 {
            self.summarised(unit, rules, rows);
        } else if self.shape.stride == 1 {
            for (at, rule) in rules.iter_mut().enumerate().take(BATCH) {
                *rule = unit.first1(&rows(at));
            }
        } else {
            for (at, rule) in rules.iter_mut().enumerate().take(BATCH) {
                *rule = unit.first2(&rows(at));
            }
        }
    }

    /// Ands summaries first, and asks for the first line that may have a rule; then looks at those
    /// lines only that may.
    #[inline(always)]
    fn summarised<U: Unit, const F: usize>(
        &self,
        unit: U,
        rules: &mut [u32],
        rows: impl Fn(usize) -> [*const Line; F],
    ) {
        let mut candidates = [0_u64; BATCH];
        for (at, candidates) in candidates.iter_mut().enumerate().take(rules.len()) {
            let rows = rows(at);
            // A byte of the summary stands for eight words: a line.
            *candidates = unit.bytes(&unit.and(&rows).1);
            let line = 1 + candidates.trailing_zeros() as usize % 64;
            for row in rows {
                prefetch(row.wrapping_add(line));
            }
        }
        for ((at, rule), mut candidates) in rules.iter_mut().enumerate().zip(candidates) {
            let rows = rows(at);
            *rule = NO_RULE;
            while candidates != 0 && *rule == NO_RULE {
                let line = candidates.trailing_zeros();
                let found = unit.first1(&rows.map(|row| row.wrapping_add(1 + line as usize)));
                *rule = if found == NO_RULE { found } else { found + line * 512 };
                candidates &= candidates - 1;
            }
        }
    }
}

impl Cells {
    /// The places of the rows of at most [`BATCH`] headers.
    #[inline(always)]
    fn places<A: Address>(&self, headers: &[Header<A>], stride: usize, places: &mut [u32; BATCH]) {
        for table in &self.tables {
            let counts = &table.counts[..];
            let mut add = |value: fn(&Header<A>) -> u16| {
                for (place, header) in places.iter_mut().zip(headers) {
                    *place += u32::from(counts[usize::from(value(header))]);
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
        let stride = narrow::place(stride);
        for place in places.iter_mut().take(headers.len()) {
            *place = self.base + u32::from(self.rows[*place as usize]) * stride;
        }
    }
}
