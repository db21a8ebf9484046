//! Text with holes that is written by copying: `"Contact: <sip:{user}@{local}>\r\n"`.

use crate::ladder::FlowError;

/// Digits of a subscriber's number: every call's messages have the same length.
pub const NUMBER_DIGITS: usize = 10;
/// Hexadecimal digits of a leg's identity.
pub const ID_DIGITS: usize = 16;

const CALLER_NUMBERS: u64 = 2_000_000_000;
const CALLEE_NUMBERS: u64 = 3_000_000_000;

/// What is filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hole {
    User,
    Callee,
    Id,
    Local,
}

/// What differs between two messages of one template.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// Which subscriber calls, and which is called.
    pub subscriber: u32,
    /// The leg.
    pub id: Id,
    /// Our address as text.
    pub local: &'a [u8],
}

/// A leg's identity as it stands in tags, branches and Call-IDs: slot and generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Id {
    /// Index of the leg.
    pub slot: u32,
    /// How often the slot was used before.
    pub generation: u32,
}

impl Id {
    /// Slot and generation as one number.
    #[must_use]
    pub const fn number(self) -> u64 {
        (self.slot as u64) << 32 | self.generation as u64
    }

    /// That of a number.
    #[must_use]
    pub const fn of(number: u64) -> Self {
        Self { slot: (number >> 32) as u32, generation: number as u32 }
    }

    /// Sixteen hexadecimal digits.
    #[must_use]
    pub fn digits(self) -> [u8; ID_DIGITS] {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let value = self.number();
        core::array::from_fn(|at| HEX[(value >> (60 - 4 * at)) as usize & 15])
    }

    /// Reads what [`Id::digits`] wrote.
    #[must_use]
    pub fn read(digits: &[u8]) -> Option<Self> {
        let mut value = 0u64;
        for digit in digits.get(..ID_DIGITS)? {
            value = value << 4 | u64::from(char::from(*digit).to_digit(16)?);
        }
        Some(Self::of(value))
    }
}

/// Literal text and holes.
#[derive(Debug, Clone, Default)]
pub struct Template {
    text: Vec<u8>,
    /// Literal text up to here, then the hole.
    holes: Vec<(u32, Hole)>,
}

impl Template {
    /// Reads a text with `{user}`, `{callee}`, `{id}` and `{local}` in it.
    ///
    /// # Errors
    /// When a brace holds anything else.
    pub fn new(text: &str) -> Result<Self, FlowError> {
        let mut template = Self::default();
        let mut rest = text;
        while let Some((literal, tail)) = rest.split_once('{') {
            template.text.extend_from_slice(literal.as_bytes());
            let (name, tail) = tail.split_once('}').unwrap_or((tail, ""));
            let hole = match name {
                "user" => Hole::User,
                "callee" => Hole::Callee,
                "id" => Hole::Id,
                "local" => Hole::Local,
                _ => return Err(FlowError::Toml(format!("`{{{name}}}` names nothing"))),
            };
            template.holes.push((template.text.len() as u32, hole));
            rest = tail;
        }
        template.text.extend_from_slice(rest.as_bytes());
        Ok(template)
    }

    /// Appends the text with its holes filled.
    pub fn fill(&self, out: &mut Vec<u8>, names: &Names<'_>) {
        let mut at = 0;
        for &(until, hole) in &self.holes {
            out.extend_from_slice(&self.text[at..until as usize]);
            at = until as usize;
            match hole {
                Hole::User => out.extend_from_slice(&digits(CALLER_NUMBERS, names.subscriber)),
                Hole::Callee => out.extend_from_slice(&digits(CALLEE_NUMBERS, names.subscriber)),
                Hole::Id => out.extend_from_slice(&names.id.digits()),
                Hole::Local => out.extend_from_slice(names.local),
            }
        }
        out.extend_from_slice(&self.text[at..]);
    }
}

/// The number of the subscriber who calls, as `{user}` writes it.
#[must_use]
pub fn caller(subscriber: u32) -> [u8; NUMBER_DIGITS] {
    digits(CALLER_NUMBERS, subscriber)
}

fn digits(base: u64, subscriber: u32) -> [u8; NUMBER_DIGITS] {
    let mut value = base + u64::from(subscriber);
    let mut text = [b'0'; NUMBER_DIGITS];
    for digit in text.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hole_is_filled_with_its_fixed_width() {
        let template = Template::new("a{user}b{callee}{id}-{local}z").unwrap();
        let mut out = Vec::new();
        let id = Id { slot: 0xab, generation: 7 };
        template.fill(&mut out, &Names { subscriber: 42, id, local: b"[::1]:5060" });
        assert_eq!(out, b"a2000000042b3000000042000000ab00000007-[::1]:5060z");
    }

    #[test]
    fn an_unknown_hole_is_refused() {
        assert!(Template::new("{nobody}").is_err() && Template::new("{user").is_ok());
    }

    #[test]
    fn an_identity_is_read_back() {
        let id = Id { slot: 0xdead_beef, generation: 0x0123_4567 };
        assert_eq!(Id::read(&id.digits()), Some(id));
        assert_eq!(Id::read(b"0123"), None);
        assert_eq!(Id::read(b"x123456789abcdef"), None);
    }
}
