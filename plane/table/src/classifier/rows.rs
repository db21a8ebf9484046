//! Rows of bits, one bit a rule: bit `i` says that rule `i` may still match. Equal rows are kept
//! once.

use super::lines::Line;
use machine::narrow::{halves, place};
use std::collections::BTreeMap;

/// How a row is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Lines of a row.
    pub(super) stride: usize,
    /// Lines before the bits: 1 if the first line summarises each word of 64 rules in a bit.
    pub(super) summary: usize,
}

/// Rules up to which a row is looked at whole.
pub(super) const WHOLE_MAX: usize = 1_024;
/// Rules of a row at most: a bit of the summary for each 64.
pub(super) const SUMMARISED_MAX: usize = 512 * 64;

impl Shape {
    pub(super) fn new(rules: usize) -> Self {
        let summary = usize::from(rules > WHOLE_MAX);
        Self { stride: summary + rules.div_ceil(512).max(1), summary }
    }

    /// A row without bits.
    pub(super) fn zero(self) -> Vec<Line> {
        vec![Line::ZERO; self.stride]
    }

    pub(super) fn toggle(self, row: &mut [Line], rule: usize) {
        row[self.summary + rule / 512].0[rule / 64 % 8] ^= 1 << (rule % 64);
    }

    pub(super) fn set(self, row: &mut [Line], rule: usize) {
        row[self.summary + rule / 512].0[rule / 64 % 8] |= 1 << (rule % 64);
    }

    /// Writes the summary of a row that has one.
    fn summarise(self, row: &mut [Line]) {
        let Some((summary, bits)) = row.split_first_mut().filter(|_| self.summary == 1) else {
            return;
        };
        *summary = Line::ZERO;
        for (at, _) in bits.iter().flat_map(|line| line.0).enumerate().filter(|(_, w)| *w != 0) {
            summary.0[at / 64] |= 1 << (at % 64);
        }
    }
}

/// Memory for rows is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// Distinct rows of one field, numbered.
pub(super) struct Rows {
    pub(super) shape: Shape,
    pub(super) lines: Vec<Line>,
    /// Rows by a hash of their content.
    known: BTreeMap<u64, Vec<u32>>,
    lines_max: usize,
}

impl Rows {
    /// None yet, and no more than `lines_max` lines ever.
    pub(super) fn new(shape: Shape, lines_max: usize) -> Self {
        Self { shape, lines: Vec::new(), known: BTreeMap::new(), lines_max }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len() / self.shape.stride
    }

    pub(super) fn row(&self, number: u32) -> &[Line] {
        &self.lines[number as usize * self.shape.stride..][..self.shape.stride]
    }

    /// The number of the row with this content, new if there is none.
    pub(super) fn number(&mut self, row: &mut [Line]) -> Result<u32, TooLarge> {
        self.shape.summarise(row);
        let hash = row.iter().flat_map(|line| line.0).fold(0x243F_6A88_85A3_08D3, |hash, word| {
            let [low, high] = halves(u128::from(hash ^ word) * 0x9FB2_1C65_1E98_DF25_u128);
            low ^ high ^ u64::rotate_left(hash, 23)
        });
        let number = place(self.len());
        let same = self.known.entry(hash).or_default();
        let (lines, stride) = (&self.lines, self.shape.stride);
        let equal = |at: &&u32| lines[**at as usize * stride..][..stride] == *row;
        if let Some(number) = same.iter().find(equal) {
            return Ok(*number);
        }
        if self.lines.len() + stride > self.lines_max {
            return Err(TooLarge);
        }
        same.push(number);
        self.lines.extend_from_slice(row);
        Ok(number)
    }
}
