//! Addresses (Q.713 §3.4, §3.5).
//!
//! ```text
//! indicator: RI, GTI, SSN?, PC? · point code, 2 octets, low one first · SSN · global title
//! ```

use super::digits::Digits;
use m3ua::codec::PointCode;
use wire::{Cursor, Malformed};

const SPEC: &str = "Q.713 §3.4";
const HAS_POINT_CODE: u8 = 0x01;
const HAS_SUBSYSTEM: u8 = 0x02;
const ON_SUBSYSTEM: u8 = 0x40;
/// A title of the fourth format and a subsystem, no point code; and the bits that say so.
const USUAL: u8 = 4 << 2 | HAS_SUBSYSTEM;
const USUAL_MASK: u8 = 0x3f;
/// Octets of such an address before its digits.
const USUAL_OCTETS: usize = 5;

/// What a message is routed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Routing {
    /// The global title: it is translated.
    Title,
    /// Point code, or where the message is, and subsystem.
    Subsystem,
}

/// Which fields a global title has (Q.713 §3.4.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Indicator {
    /// 1: nature of address.
    Nature,
    /// 2: translation type.
    Type,
    /// 3: translation type, numbering plan, encoding.
    TypePlan,
    /// 4: translation type, numbering plan, encoding, nature of address.
    TypePlanNature,
}

impl Indicator {
    /// The number in the address indicator.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Nature => 1,
            Self::Type => 2,
            Self::TypePlan => 3,
            Self::TypePlanNature => 4,
        }
    }
}

/// A global title. Fields that its indicator does not have are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Title {
    /// Which fields it has.
    pub indicator: Indicator,
    /// Translation type.
    pub translation_type: u8,
    /// Numbering plan: 1 is E.164, 6 is E.212, 7 is E.214.
    pub plan: u8,
    /// Nature of address: 3 is national, 4 is international.
    pub nature: u8,
    /// Encoding scheme: 1 and 2 are digits, an odd and an even number of them; what others have is
    /// kept in halves of octets.
    pub encoding: u8,
    /// The address information.
    pub digits: Digits,
}

impl Title {
    /// Digits of an international E.164 number, indicator 4, translation type 0.
    #[must_use]
    pub const fn e164(digits: Digits) -> Self {
        let encoding = if digits.is_odd() { 1 } else { 2 };
        let indicator = Indicator::TypePlanNature;
        Self { indicator, translation_type: 0, plan: 1, nature: 4, encoding, digits }
    }

    /// The same title with other digits; their encoding follows where it is digits.
    #[must_use]
    pub const fn with_digits(self, digits: Digits) -> Self {
        let encoding = match self.encoding {
            1 | 2 if digits.is_odd() => 1,
            1 | 2 => 2,
            other => other,
        };
        Self { digits, encoding, ..self }
    }

    fn read(number: u8, cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        const CUT: &str = "a global title is cut off";
        let indicator = match number {
            1 => Indicator::Nature,
            2 => Indicator::Type,
            3 => Indicator::TypePlan,
            _ => Indicator::TypePlanNature,
        };
        let mut title = Self {
            indicator,
            translation_type: 0,
            plan: 0,
            nature: 0,
            encoding: 0,
            digits: Digits::NONE,
        };
        let mut is_odd = false;
        if indicator == Indicator::Nature {
            let octet = cursor.octet(CUT)?;
            (is_odd, title.nature) = (octet & 0x80 != 0, octet & 0x7f);
        } else {
            title.translation_type = cursor.octet(CUT)?;
        }
        if matches!(indicator, Indicator::TypePlan | Indicator::TypePlanNature) {
            let octet = cursor.octet(CUT)?;
            (title.plan, title.encoding) = (octet >> 4, octet & 0x0f);
            is_odd = title.encoding == 1;
        }
        if indicator == Indicator::TypePlanNature {
            title.nature = cursor.octet(CUT)? & 0x7f;
        }
        let at = cursor.at();
        let rest = cursor.take(cursor.rest().len(), CUT)?;
        title.digits = Digits::read(rest, is_odd).ok_or(Malformed::new(
            at,
            "no digits, or more than 32",
            "Q.713 §3.4.2.3",
        ))?;
        Ok(title)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let plan = self.plan << 4 | self.encoding & 0x0f;
        let nature = self.nature & 0x7f;
        match self.indicator {
            Indicator::Nature => out.push(nature | if self.digits.is_odd() { 0x80 } else { 0 }),
            Indicator::Type => out.push(self.translation_type),
            Indicator::TypePlan => out.extend_from_slice(&[self.translation_type, plan]),
            Indicator::TypePlanNature => {
                out.extend_from_slice(&[self.translation_type, plan, nature]);
            }
        }
        out.extend_from_slice(self.digits.octets());
    }
}

/// A called or calling party address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// What a message to it is routed by.
    pub routing: Routing,
    /// The point code, of 14 bits.
    pub point_code: Option<PointCode>,
    /// The subsystem number; zero is unknown.
    pub subsystem: Option<u8>,
    /// The global title.
    pub title: Option<Title>,
}

impl Address {
    /// A subsystem, at a point code or where the message is.
    #[must_use]
    pub const fn subsystem(point_code: Option<PointCode>, subsystem: u8) -> Self {
        let routing = Routing::Subsystem;
        Self { routing, point_code, subsystem: Some(subsystem), title: None }
    }

    /// A global title that is translated, and the subsystem that is meant.
    #[must_use]
    pub const fn title(title: Title, subsystem: u8) -> Self {
        let routing = Routing::Title;
        Self { routing, point_code: None, subsystem: Some(subsystem), title: Some(title) }
    }

    /// Reads an address whose octets begin `at` octets into the message.
    ///
    /// # Errors
    /// What is cut off; digits beyond [`super::DIGITS_MAX`]; a title indicator that is not
    /// international (Q.713 §3.4.1).
    pub fn read(bytes: &[u8], at: usize) -> Result<Self, Malformed> {
        if let Some(address) = Self::read_usual(bytes) {
            return Ok(address);
        }
        let mut cursor = Cursor::new(bytes, at, SPEC);
        let indicator = cursor.octet("an address indicator lacks")?;
        let mut address = Self {
            routing: if indicator & ON_SUBSYSTEM == 0 {
                Routing::Title
            } else {
                Routing::Subsystem
            },
            point_code: None,
            subsystem: None,
            title: None,
        };
        if indicator & HAS_POINT_CODE != 0 {
            let number = u16::from_le_bytes(cursor.array("a point code is cut off")?);
            address.point_code = PointCode::new(u32::from(number & 0x3fff));
        }
        if indicator & HAS_SUBSYSTEM != 0 {
            address.subsystem = Some(cursor.octet("a subsystem number lacks")?);
        }
        address.title = match indicator >> 2 & 0x0f {
            0 => None,
            number @ 1..=4 => Some(Title::read(number, &mut cursor)?),
            _ => return Err(Malformed::new(at, "a title indicator of no format", "Q.713 §3.4.1")),
        };
        Ok(address)
    }

    /// A subsystem and a title of the fourth format, as nearly all have between networks. `None` is
    /// for any other address, and for a violation.
    #[inline]
    fn read_usual(bytes: &[u8]) -> Option<Self> {
        let [first, subsystem, translation_type, plan, nature, ref digits @ ..] = *bytes else {
            return None;
        };
        if first & USUAL_MASK != USUAL {
            return None;
        }
        let encoding = plan & 0x0f;
        let title = Title {
            indicator: Indicator::TypePlanNature,
            translation_type,
            plan: plan >> 4,
            nature: nature & 0x7f,
            encoding,
            digits: Digits::read(digits, encoding == 1)?,
        };
        let routing = if first & ON_SUBSYSTEM == 0 { Routing::Title } else { Routing::Subsystem };
        Some(Self { routing, point_code: None, subsystem: Some(subsystem), title: Some(title) })
    }

    /// The same of what is written: `false` is for any other address, and nothing was written.
    #[inline]
    fn write_usual(&self, out: &mut Vec<u8>) -> bool {
        let (None, Some(subsystem), Some(title)) = (self.point_code, self.subsystem, &self.title)
        else {
            return false;
        };
        if title.indicator != Indicator::TypePlanNature {
            return false;
        }
        let routing = if self.routing == Routing::Subsystem { ON_SUBSYSTEM } else { 0 };
        let plan = title.plan << 4 | title.encoding & 0x0f;
        let nature = title.nature & 0x7f;
        let digits = title.digits.octets();
        out.reserve(USUAL_OCTETS + digits.len());
        let head = [USUAL | routing, subsystem, title.translation_type, plan, nature];
        out.extend_from_slice(&head);
        out.extend_from_slice(digits);
        true
    }

    /// Appends the address.
    pub fn write(&self, out: &mut Vec<u8>) {
        if self.write_usual(out) {
            return;
        }
        let mut indicator = self.title.map_or(0, |title| title.indicator.number() << 2);
        indicator |= if self.routing == Routing::Subsystem { ON_SUBSYSTEM } else { 0 };
        indicator |= if self.subsystem.is_some() { HAS_SUBSYSTEM } else { 0 };
        indicator |= if self.point_code.is_some() { HAS_POINT_CODE } else { 0 };
        out.push(indicator);
        if let Some(point_code) = self.point_code {
            let number = point_code.number() & 0x3fff;
            out.extend_from_slice(&number.to_le_bytes()[..2]);
        }
        out.extend(self.subsystem);
        if let Some(title) = &self.title {
            title.write(out);
        }
    }
}
