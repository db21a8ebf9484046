//! The user data header: information elements in front of user data (TS 23.040 §9.2.3.24).

mod element;
mod json;

pub use element::{Element, Field, Width, range};
pub(crate) use json::{from_json, sample, to_json};

use crate::alphabet::{Alphabet, Language};
use wire::Malformed;

const SPEC: &str = "TS 23.040 §9.2.3.24";

/// The parts of a concatenated message (TS 23.040 §9.2.3.24.1, §9.2.3.24.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Concatenation {
    /// The same in every part.
    pub reference: u16,
    /// Whether the reference has 16 bits.
    pub is_wide: bool,
    /// How many parts there are.
    pub maximum: u8,
    /// Which part this is, from 1.
    pub sequence: u8,
}

/// Application ports (TS 23.040 §9.2.3.24.3, §9.2.3.24.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// Of the receiver.
    pub destination: u16,
    /// Of the sender.
    pub originator: u16,
}

/// A user data header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header<'a> {
    elements: &'a [u8],
}

impl<'a> Header<'a> {
    /// Reads the header at the front of user data.
    ///
    /// # Errors
    /// It, or an element in it, is longer than what it stands in.
    pub fn read(user_data: &'a [u8]) -> Result<Self, Malformed> {
        let length = user_data.first().copied().map(usize::from);
        let elements = length.and_then(|it| user_data.get(1..=it));
        let Some(elements) = elements else {
            return Err(Malformed::new(0, "a user data header is longer than user data", SPEC));
        };
        let mut rest = elements;
        while let Some((_, after)) = split(rest) {
            rest = after;
        }
        let at = 1 + elements.len() - rest.len();
        match rest.is_empty() {
            true => Ok(Self { elements }),
            false => Err(Malformed::new(at, "an element is longer than its header", SPEC)),
        }
    }

    /// The octets that it has in user data, its length among them.
    #[must_use]
    pub const fn octets(&self) -> usize {
        1 + self.elements.len()
    }

    /// The elements: identifier and value, in their order.
    pub fn elements(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        let mut rest = self.elements;
        core::iter::from_fn(move || {
            let (found, after) = split(rest)?;
            rest = after;
            Some(found)
        })
    }

    /// The value of an element: of the last one, where it may stand once alone and does not
    /// (TS 23.040 §9.2.3.24).
    #[must_use]
    pub fn find(&self, element: Element) -> Option<&'a [u8]> {
        self.elements().filter(|it| it.0 == element.number()).last().map(|it| it.1)
    }

    /// Which part of a concatenated message this is. A part that is none of them (number zero, or
    /// beyond their count) is passed over, as the section says.
    #[must_use]
    pub fn concatenation(&self) -> Option<Concatenation> {
        let found = self.elements().filter_map(|(number, value)| {
            let (reference, is_wide, maximum, sequence) = match (Element::of(number)?, value) {
                (Element::Concatenated8, &[low, maximum, sequence]) => {
                    (u16::from(low), false, maximum, sequence)
                }
                (Element::Concatenated16, &[high, low, maximum, sequence]) => {
                    (u16::from_be_bytes([high, low]), true, maximum, sequence)
                }
                _ => return None,
            };
            let is_part = sequence != 0 && sequence <= maximum;
            is_part.then_some(Concatenation { reference, is_wide, maximum, sequence })
        });
        found.last()
    }

    /// The application ports.
    #[must_use]
    pub fn ports(&self) -> Option<Ports> {
        let found =
            self.elements().filter_map(|(number, value)| match (Element::of(number)?, value) {
                (Element::Ports8, &[destination, originator]) => Some(Ports {
                    destination: u16::from(destination),
                    originator: u16::from(originator),
                }),
                (Element::Ports16, &[a, b, c, d]) => Some(Ports {
                    destination: u16::from_be_bytes([a, b]),
                    originator: u16::from_be_bytes([c, d]),
                }),
                _ => None,
            });
        found.last()
    }

    /// The alphabet that the septets behind it are of. A language that is not known is as none.
    #[must_use]
    pub fn alphabet(&self) -> Alphabet {
        let language = |element| match self.find(element)? {
            &[number] => Language::of(number),
            _ => None,
        };
        Alphabet {
            locking: language(Element::LockingShift),
            single_shift: language(Element::SingleShift),
        }
    }
}

/// An element: identifier and value.
type Found<'a> = (u8, &'a [u8]);

/// The first element, and what follows it.
fn split(octets: &[u8]) -> Option<(Found<'_>, &[u8])> {
    let (&[number, length], rest) = octets.split_first_chunk::<2>()?;
    let (value, rest) = rest.split_at_checked(usize::from(length))?;
    Some(((number, value), rest))
}

/// Appends elements with the length of them all; false, and nothing written, if they do not fit.
#[must_use]
pub fn write<'a>(elements: impl IntoIterator<Item = (u8, &'a [u8])>, out: &mut Vec<u8>) -> bool {
    let from = out.len();
    out.push(0);
    let fits = elements.into_iter().all(|(number, value)| {
        let Ok(length) = u8::try_from(value.len()) else { return false };
        out.extend_from_slice(&[number, length]);
        out.extend_from_slice(value);
        true
    });
    let length = u8::try_from(out.len() - from - 1).ok().filter(|_| fits);
    match length {
        Some(length) => out[from] = length,
        None => out.truncate(from),
    }
    length.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_elements_counts_and_a_part_beyond_all_is_none() {
        let octets = [0x0d, 0, 3, 7, 2, 3, 8, 4, 1, 2, 3, 3, 0x24, 1, 1, 0xff];
        assert!(Header::read(&octets).is_err(), "an element is cut off");
        let mut octets = Vec::new();
        let elements: [(u8, &[u8]); 4] =
            [(0, &[7, 2, 3]), (8, &[1, 2, 3, 3]), (0x24, &[1]), (0x25, &[99])];
        assert!(write(elements, &mut octets));
        let header = Header::read(&octets).unwrap();
        let part = header.concatenation().unwrap();
        assert_eq!((part.reference, part.maximum, part.sequence, part.is_wide), (258, 3, 3, true));
        let alphabet = Alphabet { locking: None, single_shift: Some(Language::Turkish) };
        assert_eq!((header.alphabet(), header.ports()), (alphabet, None));
        assert_eq!(header.elements().collect::<Vec<_>>(), elements);
        let violation = Header::read(&[4, 0, 3, 1]).unwrap_err();
        assert_eq!(violation.what, "a user data header is longer than user data");
        let violation = Header::read(&[3, 0, 3, 1]).unwrap_err();
        assert_eq!((violation.at, violation.what), (1, "an element is longer than its header"));
        let long = [0u8; 200];
        assert!(!write([(0x70, &long[..]), (0x71, &long[..])], &mut octets));
    }
}
