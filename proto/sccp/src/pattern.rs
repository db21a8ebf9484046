//! What the digits of a title begin with: digits, choices of digits, any digit, or numbers from one
//! to another.
//!
//! ```text
//!   4477        these digits
//!   44?7        any digit in the third place
//!   44[1-35]7   1, 2, 3 or 5 in the third place
//!   4470..4479  the first four digits lie between these numbers
//! ```
//! A pattern becomes entries of tables when rules are made, so that a title is looked up and never
//! compared: places with a choice become an entry for each digit, places with any digit a mask.

use crate::codec::Digits;

/// Places that a pattern with choices may have.
pub(crate) const PLACES_MAX: usize = 15;
/// Entries that one pattern may become.
const ENTRIES_MAX: usize = 1_024;
/// Any digit.
const ANY: u16 = u16::MAX;

/// A pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Digits(Digits),
    Choices(Box<Choices>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Choices {
    /// Sets of digits by place, a bit each; the pattern is any of these rows.
    blocks: Vec<Vec<u16>>,
    rank: u8,
    /// Entries that it becomes.
    count: usize,
}

/// Digits of an entry, the first one highest, and which of them count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) digits: u64,
    pub(crate) shape: Shape,
}

/// What the entries of one table have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    /// Places of the pattern.
    pub(crate) length: u8,
    /// The digits that count, the first one in the highest four bits.
    pub(crate) mask: u64,
}

impl From<Digits> for Pattern {
    fn from(digits: Digits) -> Self {
        Self(Kind::Digits(digits))
    }
}

impl Pattern {
    /// Reads a pattern. `None` for what is none, for one with choices in more than fifteen places,
    /// and for one that would become more than 1,024 entries.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(digits) = Digits::parse(text) {
            return Some(digits.into());
        }
        let (blocks, rank) = match text.split_once("..") {
            Some((first, last)) => between(&places(first)?, &places(last)?)?,
            None => {
                let places = places(text)?;
                let rank = places.iter().map(|it| weight(*it)).sum();
                (vec![places], rank)
            }
        };
        let entries = |block: &Vec<u16>| {
            let counts = block.iter().filter(|it| **it != ANY).map(|it| it.count_ones() as usize);
            counts.fold(1usize, usize::saturating_mul)
        };
        let count = blocks.iter().map(entries).fold(0, usize::saturating_add);
        let choices = Choices { blocks, rank, count };
        (count <= ENTRIES_MAX).then(|| Self(Kind::Choices(Box::new(choices))))
    }

    /// The digits, where there is no choice.
    #[must_use]
    pub fn digits(&self) -> Option<Digits> {
        match &self.0 {
            Kind::Digits(digits) => Some(*digits),
            Kind::Choices(_) => None,
        }
    }

    /// Entries of tables that it becomes.
    #[must_use]
    pub fn size(&self) -> usize {
        match &self.0 {
            Kind::Digits(_) => 1,
            Kind::Choices(it) => it.count,
        }
    }

    /// Places that it has.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::Digits(digits) => digits.len(),
            Kind::Choices(it) => it.blocks.first().map_or(0, Vec::len),
        }
    }

    /// Whether every title begins with it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Of two patterns of as many places the one of the higher rank holds: a digit counts two, a
    /// choice of digits one, any digit nothing.
    #[must_use]
    pub fn rank(&self) -> u8 {
        match &self.0 {
            // 32 digits at most.
            Kind::Digits(digits) => machine::narrow::at_most(digits.len() as u64 * 2, u8::MAX),
            Kind::Choices(it) => it.rank,
        }
    }

    /// Whether a title with these digits begins with it.
    #[must_use]
    pub fn matches(&self, title: &Digits) -> bool {
        match &self.0 {
            Kind::Digits(digits) => {
                title.len() >= digits.len() && title.first(digits.len()) == *digits
            }
            Kind::Choices(it) => it.blocks.iter().any(|block| {
                let mut each = block.iter().zip(title.iter());
                title.len() >= block.len() && each.all(|(set, digit)| set >> digit & 1 == 1)
            }),
        }
    }

    /// The shapes of its entries that are more than a beginning: each costs a look.
    #[must_use]
    pub fn shapes(&self) -> Vec<Shape> {
        let mut shapes: Vec<Shape> = self.entries().into_iter().map(|it| it.shape).collect();
        shapes.retain(|it| !it.is_beginning());
        shapes.sort_unstable();
        shapes.dedup();
        shapes
    }

    /// What it becomes in tables: digits, the first one in the highest four bits, which of them
    /// count, and how many places there are; nothing of more digits than fifteen.
    pub fn keys(&self) -> impl Iterator<Item = (u64, u64, usize)> {
        self.entries().into_iter().map(|it| (it.digits, it.shape.mask, it.shape.length.into()))
    }

    /// What it becomes in tables; nothing of more digits than a key has.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        match &self.0 {
            Kind::Digits(digits) if digits.len() > PLACES_MAX => Vec::new(),
            Kind::Digits(digits) => {
                let places: Vec<u16> = digits.iter().map(|digit| 1 << digit).collect();
                entries(&places)
            }
            Kind::Choices(it) => it.blocks.iter().flat_map(|block| entries(block)).collect(),
        }
    }
}

impl Shape {
    /// Whether every digit of it counts.
    pub(crate) const fn is_beginning(self) -> bool {
        self.mask == beginning(self.length)
    }
}

/// The mask of so many digits.
const fn beginning(length: u8) -> u64 {
    if length == 0 { 0 } else { u64::MAX << (64 - 4 * length as u32) }
}

const fn weight(set: u16) -> u8 {
    match set.count_ones() {
        1 => 2,
        16 => 0,
        _ => 1,
    }
}

/// One entry for each way to choose.
fn entries(places: &[u16]) -> Vec<Entry> {
    let length = machine::narrow::at_most(places.len() as u64, u8::MAX);
    let mut all = vec![Entry { digits: 0, shape: Shape { length, mask: 0 } }];
    for (at, set) in places.iter().enumerate() {
        let shift = 60 - 4 * at;
        if *set == ANY {
            continue;
        }
        let digits = || (0..16u64).filter(|digit| set >> digit & 1 == 1);
        let with = |entry: Entry| {
            digits().map(move |digit| Entry {
                digits: entry.digits | digit << shift,
                shape: Shape { mask: entry.shape.mask | 0xf << shift, ..entry.shape },
            })
        };
        all = all.into_iter().flat_map(with).collect();
    }
    all
}

/// The sets of digits of a text. `None` beyond [`PLACES_MAX`], before anything is made of them.
fn places(text: &str) -> Option<Vec<u16>> {
    let mut places = Vec::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if places.len() == PLACES_MAX {
            return None;
        }
        places.push(match letter {
            '?' => ANY,
            '[' => {
                let (inner, rest) = letters.as_str().split_once(']')?;
                letters = rest.chars();
                choice(inner)?
            }
            digit => 1 << digit.to_digit(16)?,
        });
    }
    (!places.is_empty()).then_some(places)
}

/// What stands in brackets: digits, and first and last ones with a hyphen between.
fn choice(text: &str) -> Option<u16> {
    let mut set = 0u16;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let first = letter.to_digit(16)?;
        let last = match letters.next_if_eq(&'-') {
            Some(_) => letters.next()?.to_digit(16)?,
            None => first,
        };
        if first > last {
            return None;
        }
        set |= (first..=last).fold(0, |set, digit| set | 1 << digit);
    }
    (set != 0).then_some(set)
}

/// The numbers from one to another of as many decimal digits: what both begin with, then rows that
/// together are all between.
fn between(first: &[u16], last: &[u16]) -> Option<(Vec<Vec<u16>>, u8)> {
    let number = |places: &[u16]| -> Option<Vec<u32>> {
        let digit = |set: &u16| (set.count_ones() == 1).then(|| set.trailing_zeros());
        places.iter().map(digit).collect::<Option<Vec<u32>>>()
    };
    let (first, last) = (number(first)?, number(last)?);
    let is_decimal = first.iter().chain(&last).all(|digit| *digit < 10);
    if first.len() != last.len() || first > last || !is_decimal {
        return None;
    }
    let same = first.iter().zip(&last).take_while(|(a, b)| a == b).count();
    let mut blocks = Vec::new();
    rows(&first, &last, same, &mut blocks);
    let rank = 2 * same + (first.len() - same);
    Some((blocks, u8::try_from(rank).ok()?))
}

/// Digits from one to another as a set; all ten of them are any digit.
fn set(first: u32, last: u32) -> u16 {
    match (first, last) {
        (0, 9) => ANY,
        _ => (first..=last).fold(0, |set, digit| set | 1 << digit),
    }
}

fn rows(first: &[u32], last: &[u32], same: usize, out: &mut Vec<Vec<u16>>) {
    let length = first.len();
    let row = |number: &[u32], at: usize, (from, to): (u32, u32)| {
        let fixed = number[..at].iter().map(|digit| 1 << digit);
        let rest = core::iter::repeat_n(ANY, length - at - 1);
        fixed.chain([set(from, to)]).chain(rest).collect::<Vec<u16>>()
    };
    if same == length {
        return out.push(first.iter().map(|digit| 1 << digit).collect());
    }
    // From the end of the lower number up, then all between, then down to the higher one.
    for at in (same + 1..length).rev() {
        let is_end = at + 1 == length;
        let from = if is_end { first[at] } else { first[at] + 1 };
        if from <= 9 {
            out.push(row(first, at, (from, 9)));
        }
        let to = if is_end { Some(last[at]) } else { last[at].checked_sub(1) };
        if let Some(to) = to {
            out.push(row(last, at, (0, to)));
        }
    }
    let is_end = same + 1 == length;
    let (from, to) = (first[same] + u32::from(!is_end), last[same].checked_sub(u32::from(!is_end)));
    if let Some(to) = to.filter(|to| from <= *to) {
        out.push(row(first, same, (from, to)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(pattern: &str, digits: &str) -> bool {
        let pattern = Pattern::parse(pattern).expect(pattern);
        pattern.matches(&Digits::parse(digits).expect(digits))
    }

    #[test]
    fn a_pattern_is_read_as_it_is_written() {
        let cases = [
            ("4477", "447790", true),
            ("4477", "447", false),
            ("44?7", "4497", true),
            ("44?7", "44a70", true),
            ("44?7", "4498", false),
            ("44[1-35]7", "4437", true),
            ("44[1-35]7", "4457", true),
            ("44[1-35]7", "4447", false),
            ("?", "", false),
            ("", "", true),
        ];
        for (pattern, digits, wanted) in cases {
            assert_eq!(has(pattern, digits), wanted, "{pattern} {digits}");
        }
        for wrong in [
            "44*",
            "[",
            "[]",
            "[3-1]",
            "1..",
            "12..1",
            "20..10",
            "1?..19",
            "a..f",
            "?234567890123456",
            "[0-9][0-9][0-9][0-9]",
        ] {
            assert_eq!(Pattern::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_long_pattern_is_refused_before_anything_is_made_of_it() {
        let digits = |digit: &str, count| digit.repeat(count);
        assert_eq!(Pattern::parse(&format!("[12]{}", digits("1", 128))), None);
        assert_eq!(Pattern::parse(&digits("0", 128)), None);
        let (first, last) = (digits("1", 100_000), digits("2", 100_000));
        assert_eq!(Pattern::parse(&format!("{first}..{last}")), None);
        let (first, last) = (digits("1", PLACES_MAX), digits("2", PLACES_MAX));
        assert!(Pattern::parse(&format!("{first}..{last}")).is_some());
    }

    #[test]
    fn numbers_between_two_are_all_of_those_and_no_other() {
        for (first, last) in [(0, 999), (123, 123), (120, 457), (99, 100), (899, 900), (7, 8)] {
            let pattern = Pattern::parse(&format!("44{first:03}..44{last:03}")).unwrap();
            for number in 0..1_000 {
                let digits = Digits::parse(&format!("44{number:03}9")).unwrap();
                let is_between = (first..=last).contains(&number);
                assert_eq!(pattern.matches(&digits), is_between, "{number} {first}..{last}");
            }
            assert!(!pattern.matches(&Digits::parse("4412").unwrap()), "too short");
        }
    }

    #[test]
    fn the_ranks_are_those_of_the_places() {
        let rank = |text: &str| Pattern::parse(text).unwrap().rank();
        assert_eq!([rank("447"), rank("44[12]"), rank("44?")], [6, 5, 4]);
        assert_eq!((rank("4400..4499"), rank("44??")), (6, 4));
        assert_eq!(Pattern::parse("4?[12]7").unwrap().shapes().len(), 1);
        assert!(Pattern::parse("44[12]").unwrap().shapes().is_empty());
        for text in ["447", "44[12]?[3-5]", "44?", "120..457"] {
            let pattern = Pattern::parse(text).unwrap();
            assert_eq!(pattern.size(), pattern.entries().len(), "{text}");
        }
    }
}
