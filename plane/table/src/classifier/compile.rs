//! From rules to rows: each field alone first, then the small fields joined while that is cheap.
//!
//! ```text
//!   source, destination   nested prefixes → intervals → row of the longest prefix
//!   ports, length         all bounds of all rules → elementary intervals → row
//!   protocol, flags, ToS  each of 256 values → row
//!   joined                class × class × … → cell → row        (while rows stay few)
//! ```

use super::header::{Address, Fragment};
use super::lines::Line;
use super::rows::{Rows, Shape, TooLarge};
use super::rule::{Prefix, Rule};
use machine::narrow::{index, place};
use std::ops::RangeInclusive;

/// Cells of joined fields at most.
const CELLS_MAX: usize = 65_536;
/// Distinct rows of joined fields at most, as lines: they are to stay in the second-level cache.
const JOINED_LINES_MAX: usize = 8_192;

/// An address field: intervals by first address and row, and the rows.
pub(super) struct AddressField {
    pub(super) intervals: Vec<(u128, u32)>,
    pub(super) rows: Rows,
}

/// Which part of a header a table is asked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Protocol,
    TcpFlags,
    /// DSCP, and the fragment in the two bits above.
    Service,
    Length,
    SourcePort,
    DestinationPort,
}

pub(super) struct Table {
    pub(super) part: Part,
    /// What each value counts in the number of a cell.
    pub(super) counts: Vec<u16>,
}

/// Small fields joined: the classes of all together are a cell, which has a row.
pub(super) struct Joined {
    pub(super) tables: Vec<Table>,
    pub(super) cells: Vec<u16>,
    pub(super) rows: Rows,
}

/// A small field alone: its table and the rows of its classes.
struct Small {
    part: Part,
    classes: Vec<u16>,
    rows: Rows,
}

/// Compiles the prefixes of one side.
pub(super) fn addresses<A: Address>(
    prefixes: &[Prefix<A>],
    shape: Shape,
    lines_max: usize,
) -> Result<AddressField, TooLarge> {
    let mut sorted: Vec<(u128, u8, usize)> = prefixes
        .iter()
        .enumerate()
        .map(|(rule, prefix)| (prefix.range().0, prefix.length, rule))
        .collect();
    sorted.sort_unstable();
    let mut rows = Rows::new(shape, lines_max);
    // Open prefixes, the outermost first: last address and row.
    let mut row = shape.zero();
    for (_, _, rule) in sorted.iter().filter(|(_, length, _)| *length == 0) {
        shape.set(&mut row, *rule);
    }
    let root = rows.number(&mut row)?;
    let mut open = vec![(u128::MAX, root)];
    let mut intervals = vec![(0, root)];
    let rest = sorted.partition_point(|(first, length, _)| *first == 0 && *length == 0);
    for same in sorted[rest..].chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (first, length, _) = same[0];
        close(&mut open, &mut intervals, first);
        let mut row = rows.row(open[open.len() - 1].1).to_vec();
        for (_, _, rule) in same {
            shape.set(&mut row, *rule);
        }
        let number = rows.number(&mut row)?;
        let below = u128::MAX.checked_shr(u32::from(length)).unwrap_or(0);
        open.push((first | below, number));
        begin(&mut intervals, first, number);
    }
    close(&mut open, &mut intervals, u128::MAX);
    intervals.dedup_by_key(|(_, row)| *row);
    Ok(AddressField { intervals, rows })
}

/// Ends the open prefixes that end before `first`.
fn close(open: &mut Vec<(u128, u32)>, intervals: &mut Vec<(u128, u32)>, first: u128) {
    while open[open.len() - 1].0 < first {
        let ended = open.pop().expect("the outermost ends nowhere");
        begin(intervals, ended.0 + 1, open[open.len() - 1].1);
    }
}

/// Begins an interval; one that began at the same address was empty.
fn begin(intervals: &mut Vec<(u128, u32)>, first: u128, row: u32) {
    if intervals.last().is_some_and(|last| last.0 == first) {
        intervals.pop();
    }
    intervals.push((first, row));
}

/// Compiles all small fields of the rules, joined where that is cheap. A field that all rules
/// leave open is left out.
pub(super) fn small<A: Address>(
    rules: &[Rule<A>],
    shape: Shape,
    lines_max: usize,
) -> Result<Vec<Joined>, TooLarge> {
    let ranges = |of: fn(&Rule<A>) -> &Vec<RangeInclusive<u16>>| {
        rules.iter().map(of).map(Vec::as_slice).collect::<Vec<_>>()
    };
    let icmp: Vec<_> = rules.iter().map(source_or_icmp).collect();
    let icmp: Vec<_> = icmp.iter().map(Vec::as_slice).collect();
    let fields = [
        octets(rules, Part::Protocol, shape, lines_max, |rule, value| rule.takes_protocol(value))?,
        octets(rules, Part::TcpFlags, shape, lines_max, |rule, value| {
            let set = |flags: &super::Flags| (value ^ flags.value) & flags.mask == 0;
            rule.tcp_flags.is_empty() || rule.tcp_flags.iter().any(set)
        })?,
        octets(rules, Part::Service, shape, lines_max, |rule, value| {
            let fragment = Fragment::ALL.get(usize::from(value >> 6));
            (rule.dscp.is_empty() || rule.dscp.contains(&(value & 63)))
                && fragment.is_some_and(|fragment| rule.takes_fragment(*fragment))
        })?,
        words(&ranges(|rule| &rule.lengths), Part::Length, shape, lines_max)?,
        words(&icmp, Part::SourcePort, shape, lines_max)?,
        words(&ranges(|rule| &rule.destination_ports), Part::DestinationPort, shape, lines_max)?,
    ];
    let mut joined: Vec<Joined> = Vec::new();
    for field in fields.into_iter().filter(|field| field.rows.len() > 1) {
        let next = match joined.last() {
            Some(last) => join(last, &field, lines_max),
            None => None,
        };
        match (next, joined.last_mut()) {
            (Some((cells, rows)), Some(last)) => {
                // Below the number of cells, which has sixteen bits.
                let weight = index(last.cells.len());
                let counts = field.classes.iter().map(|class| class.wrapping_mul(weight));
                last.tables.push(Table { part: field.part, counts: counts.collect() });
                (last.cells, last.rows) = (cells, rows);
            }
            _ => joined.push(alone(field)),
        }
    }
    let lines: usize = joined.iter().map(|joined| joined.rows.lines.len()).sum();
    if lines > lines_max { Err(TooLarge) } else { Ok(joined) }
}

/// What a rule wants of the place where ports of the source stand, and type and code of ICMP.
fn source_or_icmp<A: Address>(rule: &Rule<A>) -> Vec<RangeInclusive<u16>> {
    let code = |(kind, codes): &(u8, RangeInclusive<u8>)| {
        u16::from_be_bytes([*kind, *codes.start()])..=u16::from_be_bytes([*kind, *codes.end()])
    };
    // A rule that has both contradicts itself, and was refused.
    if rule.icmp.is_empty() {
        rule.source_ports.clone()
    } else {
        rule.icmp.iter().map(code).collect()
    }
}

/// A field of one octet: asks each rule of each value.
fn octets<A: Address>(
    rules: &[Rule<A>],
    part: Part,
    shape: Shape,
    lines_max: usize,
    takes: impl Fn(&Rule<A>, u8) -> bool,
) -> Result<Small, TooLarge> {
    let mut rows = Rows::new(shape, lines_max);
    let mut classes = Vec::with_capacity(256);
    for value in 0..=255 {
        let mut row = shape.zero();
        for (at, _) in rules.iter().enumerate().filter(|(_, rule)| takes(rule, value)) {
            shape.set(&mut row, at);
        }
        classes.push(class(&mut rows, &mut row)?);
    }
    Ok(Small { part, classes, rows })
}

/// A field of two octets: goes along the bounds of all ranges of all rules.
fn words(
    rules: &[&[RangeInclusive<u16>]],
    part: Part,
    shape: Shape,
    lines_max: usize,
) -> Result<Small, TooLarge> {
    let mut row = shape.zero();
    let mut bounds: Vec<(u32, usize)> = Vec::new();
    for (at, ranges) in rules.iter().enumerate() {
        if ranges.is_empty() {
            shape.set(&mut row, at);
        }
        for (first, end) in merged(ranges) {
            bounds.extend([(first, at), (end, at)]);
        }
    }
    bounds.sort_unstable();
    let mut rows = Rows::new(shape, lines_max);
    let mut classes = Vec::with_capacity(65_536);
    let mut at = class(&mut rows, &mut row)?;
    for same in bounds.chunk_by(|a, b| a.0 == b.0) {
        classes.resize(same[0].0 as usize, at);
        same.iter().for_each(|(_, rule)| shape.toggle(&mut row, *rule));
        if same[0].0 < 65_536 {
            at = class(&mut rows, &mut row)?;
        }
    }
    classes.resize(65_536, at);
    Ok(Small { part, classes, rows })
}

/// The number of a row as a class of a small field.
fn class(rows: &mut Rows, row: &mut [Line]) -> Result<u16, TooLarge> {
    u16::try_from(rows.number(row)?).map_err(|_| TooLarge)
}

/// The ranges of one rule, in order and apart: first value, and the value behind the last.
fn merged(ranges: &[RangeInclusive<u16>]) -> Vec<(u32, u32)> {
    let ends =
        |range: &RangeInclusive<u16>| (u32::from(*range.start()), u32::from(*range.end()) + 1);
    let mut sorted: Vec<_> = ranges.iter().map(ends).collect();
    sorted.sort_unstable();
    let mut apart: Vec<(u32, u32)> = Vec::with_capacity(sorted.len());
    for (first, end) in sorted {
        match apart.last_mut() {
            Some(last) if first <= last.1 => last.1 = last.1.max(end),
            _ => apart.push((first, end)),
        }
    }
    apart
}

/// A field that is the first of its join.
fn alone(field: Small) -> Joined {
    let Small { part, classes, rows } = field;
    let cells = (0..rows.len()).map(index).collect();
    Joined { tables: vec![Table { part, counts: classes }], cells, rows }
}

/// Cells and rows of a join with one more field; `None` if there would be too many.
fn join(joined: &Joined, field: &Small, lines_max: usize) -> Option<(Vec<u16>, Rows)> {
    let classes = field.rows.len();
    if joined.cells.len() * classes > CELLS_MAX {
        return None;
    }
    let mut rows = Rows::new(joined.rows.shape, lines_max.min(JOINED_LINES_MAX));
    let mut cells = Vec::with_capacity(joined.cells.len() * classes);
    for other in 0..classes {
        let other = field.rows.row(place(other));
        let mut numbers = Vec::with_capacity(joined.rows.len());
        for number in 0..joined.rows.len() {
            let mut row = joined.rows.row(place(number)).to_vec();
            for (line, other) in row.iter_mut().zip(other) {
                line.0.iter_mut().zip(other.0).for_each(|(word, other)| *word &= other);
            }
            numbers.push(class(&mut rows, &mut row).ok()?);
        }
        cells.extend(joined.cells.iter().map(|number| numbers[usize::from(*number)]));
    }
    Some((cells, rows))
}
