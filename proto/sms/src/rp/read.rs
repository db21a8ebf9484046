//! RP messages from octets and to octets (TS 24.011 §8.2).

use super::{Element, Failure, Form, Kind, Message, USER_DATA_MAX};
use crate::address::RpAddress;
use crate::names::Cause;
use crate::tpdu::Direction;
use wire::{Cursor, Malformed};

const SPEC: &str = "TS 24.011 §8.2";
const TYPE_SPEC: &str = "TS 24.011 §8.2.2";

impl<'a> Message<'a> {
    /// Reads a message. Elements that are not known are kept apart.
    ///
    /// # Errors
    /// The first violation, with its place.
    pub fn read(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(octets, 0, SPEC);
        let first = cursor.octet("an RP message without octets")?;
        let Some(kind) = Kind::of(first & 7) else {
            return Err(Malformed::new(0, "a reserved message type", TYPE_SPEC));
        };
        let mut message = Self::new(kind, cursor.octet("the message reference lacks")?);
        for (element, form) in kind.elements() {
            cursor = Cursor::new(cursor.rest(), cursor.at(), element.spec());
            if let Form::Optional(identifier) = form {
                if cursor.rest().first() != Some(identifier) {
                    continue;
                }
                cursor.octet("")?;
            }
            let at = cursor.at() + 1;
            let length = usize::from(cursor.octet("an element lacks")?);
            let value = cursor.take(length, "an element is cut off")?;
            message.set(*element, value).map_err(|it| Malformed { at, ..it })?;
        }
        message.rest = cursor.take(cursor.rest().len(), "")?;
        Ok(message)
    }

    fn set(&mut self, element: Element, value: &'a [u8]) -> Result<(), Malformed> {
        match element {
            Element::Reference => {}
            Element::Originator => self.originator = RpAddress::of(value)?,
            Element::Destination => self.destination = RpAddress::of(value)?,
            Element::Cause => match value {
                [octet, diagnostic @ ..] => {
                    self.failure = Some(Failure { octet: *octet, diagnostic });
                }
                [] => return Err(Malformed::new(0, "a cause without octets", element.spec())),
            },
            Element::UserData if value.len() > USER_DATA_MAX => {
                return Err(Malformed::new(0, "user data beyond 233 octets", element.spec()));
            }
            Element::UserData => self.user_data = Some(value),
        }
        Ok(())
    }

    /// Appends the message.
    ///
    /// # Errors
    /// A mandatory element lacks, or one is too long; what was appended until then is no message.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let from = out.len();
        out.extend_from_slice(&[self.kind.number(), self.reference]);
        for (element, form) in self.kind.elements() {
            let violation = |what| Malformed::new(out.len() - from, what, element.spec());
            let cause;
            let value = match element {
                Element::Reference => continue,
                Element::Originator => Some(self.originator.octets()),
                Element::Destination => Some(self.destination.octets()),
                Element::Cause => {
                    let failure = self.failure.ok_or_else(|| violation("a cause lacks"))?;
                    cause = [&[failure.octet], failure.diagnostic].concat();
                    Some(&cause[..])
                }
                Element::UserData => self.user_data,
            };
            let (value, identifier) = match (value, form) {
                (None, Form::Optional(_)) => continue,
                (None, Form::Length) => return Err(violation("user data lack")),
                (Some(value), Form::Optional(identifier)) => (value, Some(*identifier)),
                (Some(value), Form::Length) => (value, None),
            };
            let max = if *element == Element::UserData { USER_DATA_MAX } else { 255 };
            let length = u8::try_from(value.len()).ok().filter(|_| value.len() <= max);
            let length = length.ok_or_else(|| violation("an element is too long"))?;
            out.extend(identifier);
            out.push(length);
            out.extend_from_slice(value);
        }
        out.extend_from_slice(self.rest);
        Ok(())
    }
}

impl Cause {
    /// The cause with which a message that came from a terminal is refused because it could not be
    /// read (TS 24.011 §9.3): 97 for a type that there is not, 96 for anything else.
    #[must_use]
    pub fn of_violation(violation: &Malformed) -> Self {
        match violation.spec {
            TYPE_SPEC => Self::TypeNonExistent,
            _ => Self::InvalidMandatory,
        }
    }
}

/// The reference of a message that could not be read, if it has one; what came from a terminal
/// alone is answered.
#[must_use]
pub fn reference_of(octets: &[u8]) -> Option<u8> {
    let &[first, reference, ..] = octets else { return None };
    let is_from_terminal =
        Kind::of(first & 7).is_none_or(|it| matches!(it.direction(), Direction::FromTerminal));
    is_from_terminal.then_some(reference)
}
