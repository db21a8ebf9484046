//! Point codes as people write them.

use m3ua::codec::{Affected, NetworkAppearance, PointCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bits of a point code that is only a number.
const DECIMAL: [u32; 3] = [0, 0, 24];

/// How point codes are written and shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PointCodeFormat {
    /// 14 bits, 3-8-3: `2-100-3` (ITU-T Q.708).
    #[default]
    Itu,
    /// 24 bits, 8-8-8: `12-34-56` (ANSI T1.111, China).
    Ansi,
    /// 16 bits, 7-4-5: `100-10-20` (Japan).
    Japan,
    /// A number of up to 24 bits.
    Decimal,
}

impl PointCodeFormat {
    const fn fields(self) -> [u32; 3] {
        match self {
            Self::Itu => [3, 8, 3],
            Self::Ansi => [8, 8, 8],
            Self::Japan => [7, 4, 5],
            Self::Decimal => DECIMAL,
        }
    }

    /// Bits of a point code.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::Itu => 14,
            Self::Japan => 16,
            Self::Ansi | Self::Decimal => 24,
        }
    }

    /// What one looks like, for the hint of a mistake.
    #[must_use]
    pub const fn example(self) -> &'static str {
        match self {
            Self::Itu => "write it as 2-100-3 (3-8-3 bits) or as one number up to 16383",
            Self::Ansi => "write it as 12-34-56 (8-8-8 bits) or as one number up to 16777215",
            Self::Japan => "write it as 100-10-20 (7-4-5 bits) or as one number up to 65535",
            Self::Decimal => "write it as one number up to 16777215",
        }
    }

    /// Reads a point code: three fields between hyphens or full stops, or one number.
    #[must_use]
    pub fn read(self, text: &str) -> Option<PointCode> {
        let widths = self.fields();
        let numbers = text.split(['-', '.']).map(|field| field.parse::<u32>().ok());
        let numbers: Vec<u32> = numbers.collect::<Option<_>>()?;
        let fits = |number: u32, bits: u32| number < 1 << bits;
        match numbers[..] {
            [number] if fits(number, widths.iter().sum()) => PointCode::new(number),
            [a, b, c] if self != Self::Decimal => {
                let all = [(a, widths[0]), (b, widths[1]), (c, widths[2])];
                let fits = all.iter().all(|(number, bits)| fits(*number, *bits));
                fits.then(|| a << (widths[1] + widths[2]) | b << widths[2] | c)
                    .and_then(PointCode::new)
            }
            _ => None,
        }
    }

    /// Reads a point code or a range of them, first and last.
    #[must_use]
    pub fn read_range(self, text: &str) -> Option<(u32, u32)> {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let (first, last) = (self.read(first)?.number(), self.read(last)?.number());
        (first <= last).then_some((first, last))
    }

    /// Writes a point code.
    #[must_use]
    pub fn show(self, point_code: PointCode) -> String {
        let number = point_code.number();
        let [a, b, c] = self.fields();
        if self == Self::Decimal || number >> (a + b + c) != 0 {
            return number.to_string();
        }
        let field = |shift: u32, bits: u32| (number >> shift) & ((1 << bits) - 1);
        format!("{}-{}-{}", field(b + c, a), field(c, b), field(0, c))
    }

    /// Writes a range: a point code, the first and the last one, or that it is all that a network
    /// of this format has.
    #[must_use]
    pub fn show_range(self, range: Affected) -> String {
        if range.mask == 0 {
            return self.show(range.point_code);
        }
        let (first, last) = range.bounds();
        // What lies beyond the bits of the format is nobody's.
        let last_there = PointCode::truncated((1 << self.bits()) - 1);
        match (first, last.min(last_there)) {
            (first, last) if first == PointCode::default() && last == last_there => "all".into(),
            (first, last) if first <= last => {
                format!("{} to {}", self.show(first), self.show(last))
            }
            (first, _) => {
                format!("{} to {}, which are none", first.number(), range.bounds().1.number())
            }
        }
    }
}

/// A network as it is shown.
#[must_use]
pub fn show_network(network: Option<NetworkAppearance>) -> Option<u32> {
    network.map(|network| network.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_code_is_read_in_its_format_and_shown_as_it_was_written() {
        let cases = [
            (PointCodeFormat::Itu, "2-100-3", Some(2 << 11 | 100 << 3 | 3)),
            (PointCodeFormat::Itu, "8-0-0", None),
            (PointCodeFormat::Itu, "16384", None),
            (PointCodeFormat::Ansi, "255-1-2", Some(255 << 16 | 1 << 8 | 2)),
            (PointCodeFormat::Japan, "100-10-20", Some(100 << 9 | 10 << 5 | 20)),
            (PointCodeFormat::Decimal, "16777215", Some(16_777_215)),
            (PointCodeFormat::Decimal, "1-2-3", None),
            (PointCodeFormat::Itu, "1-2", None),
            (PointCodeFormat::Itu, "a", None),
        ];
        for (format, text, number) in cases {
            let read = format.read(text);
            assert_eq!(read.map(PointCode::number), number, "{format:?} {text}");
            assert!(read.is_none_or(|read| format.show(read) == text), "{format:?} {text}");
        }
        assert_eq!(PointCodeFormat::Itu.read("0.1.2"), PointCodeFormat::Itu.read("10"));
    }

    #[test]
    fn a_range_is_written_by_its_ends_as_far_as_the_network_goes() {
        let range = |number, mask| Affected { point_code: PointCode::truncated(number), mask };
        for (of, wanted) in [
            (range(2 << 11 | 100 << 3, 0), "2-100-0"),
            (range(2 << 11 | 100 << 3, 3), "2-100-0 to 2-100-7"),
            (range(0, 14), "all"),
            (range(0, 20), "all"),
            (Affected::ALL, "all"),
            (range(1 << 13, 13), "4-0-0 to 7-255-7"),
            (range(1 << 14, 14), "16384 to 32767, which are none"),
        ] {
            assert_eq!(PointCodeFormat::Itu.show_range(of), wanted);
        }
        assert_eq!(PointCodeFormat::Decimal.show_range(Affected::ALL), "all");
    }
}
