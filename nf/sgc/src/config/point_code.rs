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

    /// Writes a range: a point code, and the low bits that do not matter behind a slash.
    #[must_use]
    pub fn show_range(self, range: Affected) -> String {
        match range.mask {
            0 => self.show(range.point_code),
            mask if mask >= Affected::ALL.mask => "all".to_owned(),
            mask => format!("{}/{mask}", self.show(range.point_code)),
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
}
