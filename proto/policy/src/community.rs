//! Communities of four, eight and twelve octets as lines of a list, and as sets (RFC 1997,
//! RFC 4360, RFC 8092).

use super::InvalidText;
use bgp::codec::WellKnownCommunity;
use core::net::Ipv4Addr;

/// Communities of one list.
pub const COMMUNITIES_MAX: usize = 65_536;
/// So few values are compared one after the other.
const LINEAR_MAX: usize = 8;
/// Subtypes of extended communities (RFC 4360 §4, §5).
const ROUTE_TARGET: u32 = 2;
const ROUTE_ORIGIN: u32 = 3;
const MEND: &str = "write 65000:100, no-export, large 65000:1:2, rt 65000:7 or ro 65000:7; a \
                    number may be * or 1-9";

/// The kinds of communities, each an attribute of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Of four octets.
    Standard,
    /// Of eight octets.
    Extended,
    /// Of twelve octets.
    Large,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Standard, Self::Extended, Self::Large];

    /// Octets of one.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Standard => 4,
            Self::Extended => 8,
            Self::Large => 12,
        }
    }
}

/// A community as a number, whatever its kind.
#[inline]
pub fn number(octets: &[u8]) -> u128 {
    match *octets {
        [a, b, c, d] => u32::from_be_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]).into(),
        _ => octets.iter().fold(0, |number, octet| number << 8 | u128::from(*octet)),
    }
}

/// A part of a community, and what it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    /// Bits behind it.
    shift: u8,
    /// Its own bits.
    bits: u8,
    least: u32,
    most: u32,
}

impl Part {
    const fn exactly(shift: u8, bits: u8, number: u32) -> Self {
        Self { shift, bits, least: number, most: number }
    }

    /// A part that is as wide; `None` if it holds none of the numbers.
    fn of(shift: u8, bits: u8, bounds: (u32, u32)) -> Option<Self> {
        let widest = u32::MAX >> (32 - bits);
        let (least, most) = (bounds.0, bounds.1.min(widest));
        (least <= most).then_some(Self { shift, bits, least, most })
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "a part has at most 32 bits")]
    const fn has(&self, number: u128) -> bool {
        let part = (number >> self.shift) as u32 & (u32::MAX >> (32 - self.bits));
        self.least <= part && part <= self.most
    }
}

/// Communities of one layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pattern([Part; 3]);

impl Pattern {
    /// The one community that it means, if it means one.
    fn single(&self) -> Option<u128> {
        let is_single = self.0.iter().all(|part| part.least == part.most);
        let put = |number, part: &Part| number | u128::from(part.least) << part.shift;
        is_single.then(|| self.0.iter().fold(0, put))
    }

    #[inline]
    fn has(&self, number: u128) -> bool {
        self.0.iter().all(|part| part.has(number))
    }
}

/// A line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The kind of those that it means.
    pub kind: Kind,
    /// The layouts in which they may stand.
    patterns: Vec<Pattern>,
    is_single: bool,
}

impl Line {
    /// Reads one, as in a site file or as people are shown it.
    pub fn parse(text: &str) -> Result<Self, InvalidText> {
        let wrong = || InvalidText::new(format!("`{text}` is no community"), MEND);
        let known = WellKnownCommunity::ALL.iter().find(|known| known.name() == text);
        if let Some(known) = known {
            return Ok(Self::exactly(Kind::Standard, known.number().into()));
        }
        if let Some(digits) = text.strip_prefix("0x") {
            let number = u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 16);
            return Ok(Self::exactly(Kind::Extended, number.ok_or_else(wrong)?));
        }
        for (word, subtype) in [("rt", ROUTE_TARGET), ("ro", ROUTE_ORIGIN)] {
            let rest = text.strip_prefix(word).and_then(|rest| rest.strip_prefix([' ', ':']));
            if let Some(rest) = rest {
                return Self::extended(rest.trim_start(), subtype).ok_or_else(wrong);
            }
        }
        let numbers = text.strip_prefix("large ").map_or(text, str::trim_start);
        let parts: Option<Vec<_>> = numbers.split(':').map(bounds).collect();
        let line = match (parts.as_deref(), numbers.len() == text.len()) {
            (Some([high, low]), true) => Self::standard(*high, *low),
            (Some([administrator, first, second]), _) => {
                Self::large([*administrator, *first, *second])
            }
            _ => None,
        };
        line.ok_or_else(wrong)
    }

    /// One community, of at most eight octets.
    #[allow(clippy::cast_possible_truncation, reason = "both halves are taken")]
    fn exactly(kind: Kind, number: u64) -> Self {
        let (high, low) = ((number >> 32) as u32, number as u32);
        let parts = [Part::exactly(32, 32, high), Part::exactly(0, 32, low)];
        let pattern = Pattern([parts[0], parts[1], Part::exactly(64, 32, 0)]);
        Self { kind, patterns: vec![pattern], is_single: true }
    }

    fn standard(high: (u32, u32), low: (u32, u32)) -> Option<Self> {
        let is_narrow = is_within(high, 16) && is_within(low, 16);
        let parts = [Part::of(16, 16, high)?, Part::of(0, 16, low)?, Part::exactly(32, 32, 0)];
        let is_single = is_single(high) && is_single(low);
        let patterns = vec![Pattern(parts)];
        is_narrow.then_some(Self { kind: Kind::Standard, patterns, is_single })
    }

    fn large(numbers: [(u32, u32); 3]) -> Option<Self> {
        let [a, b, c] = numbers;
        let parts = [Part::of(64, 32, a)?, Part::of(32, 32, b)?, Part::of(0, 32, c)?];
        let is_single = numbers.into_iter().all(is_single);
        Some(Self { kind: Kind::Large, patterns: vec![Pattern(parts)], is_single })
    }

    /// Route targets and origins: of an AS of two octets, an address, an AS of four octets. An AS
    /// that fits into two octets is looked for in both layouts, and written in the first.
    fn extended(text: &str, subtype: u32) -> Option<Self> {
        let (administrator, second) = text.split_once(':')?;
        let second = bounds(second)?;
        let address = administrator.parse::<Ipv4Addr>().ok().map(Ipv4Addr::to_bits);
        let first = match address {
            Some(address) => (address, address),
            None => bounds(administrator)?,
        };
        let layouts = [(0, 16, 32), (1, 32, 16), (2, 32, 16)].into_iter();
        let layouts = layouts.filter(|(kind, ..)| match kind {
            1 => address.is_some() || administrator == "*",
            _ => address.is_none(),
        });
        let pattern = |(kind, first_bits, second_bits): (u32, u8, u8)| {
            let head = Part::exactly(48, 16, kind << 8 | subtype);
            let first = Part::of(second_bits, first_bits, first)?;
            Some(Pattern([head, first, Part::of(0, second_bits, second)?]))
        };
        let patterns: Vec<Pattern> = layouts.filter_map(pattern).collect();
        let is_single = is_single(first) && is_single(second);
        (!patterns.is_empty()).then_some(Self { kind: Kind::Extended, patterns, is_single })
    }

    /// The one community that it means; `None` with `*` and ranges.
    pub fn single(&self) -> Option<u128> {
        self.patterns.first().filter(|_| self.is_single)?.single()
    }
}

/// `100`, `100-199` or `*`.
fn bounds(text: &str) -> Option<(u32, u32)> {
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
        is_number.then(|| text.parse::<u32>().ok())?
    };
    let bounds = match text.split_once('-') {
        _ if text == "*" => (0, u32::MAX),
        Some((least, most)) => (number(least)?, number(most)?),
        None => (number(text)?, number(text)?),
    };
    (bounds.0 <= bounds.1).then_some(bounds)
}

const fn is_single(bounds: (u32, u32)) -> bool {
    bounds.0 == bounds.1
}

/// Whether the numbers have so many bits; `*` has as many as there are.
const fn is_within(bounds: (u32, u32), bits: u8) -> bool {
    bounds.1 == u32::MAX && bounds.0 == 0 || bounds.1 <= u32::MAX >> (32 - bits)
}

/// Communities of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values {
    /// Single ones, in order.
    exact: Vec<u128>,
    patterns: Vec<Pattern>,
}

impl Values {
    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.patterns.is_empty()
    }

    /// Whether that one is in it.
    #[inline]
    pub fn has(&self, number: u128) -> bool {
        let is_exact = if self.exact.len() <= LINEAR_MAX {
            self.exact.contains(&number)
        } else {
            self.exact.binary_search(&number).is_ok()
        };
        is_exact || self.patterns.iter().any(|pattern| pattern.has(number))
    }
}

/// Communities of every kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommunitySet([Values; 3]);

impl CommunitySet {
    /// Those of the lines.
    pub fn new<'l>(lines: impl IntoIterator<Item = &'l Line>) -> Self {
        let mut set = Self::default();
        for line in lines {
            let values = &mut set.0[line.kind as usize];
            for pattern in &line.patterns {
                match pattern.single() {
                    Some(number) => values.exact.push(number),
                    None => values.patterns.push(*pattern),
                }
            }
        }
        for values in &mut set.0 {
            values.exact.sort_unstable();
            values.exact.dedup();
        }
        set
    }

    /// Those of one kind.
    pub const fn of(&self, kind: Kind) -> &Values {
        &self.0[kind as usize]
    }

    /// Takes those of one kind out.
    pub fn take(&mut self, kind: Kind) -> Values {
        core::mem::take(&mut self.0[kind as usize])
    }

    /// Whether one of the communities is in it; `octets` gives the attribute of a kind.
    #[inline]
    pub fn has_any<'v>(&self, octets: impl Fn(Kind) -> Option<&'v [u8]>) -> bool {
        Kind::ALL.into_iter().any(|kind| {
            let values = self.of(kind);
            let of_kind = octets(kind).filter(|_| !values.is_empty()).unwrap_or_default();
            of_kind.chunks_exact(kind.bytes()).any(|octets| values.has(number(octets)))
        })
    }
}
