//! One message: its parts as its row says (Q.713 §1).

use super::LONG_DATA_BYTES_MAX;
use super::message_type::MessageType;
use super::parameter::{PARAMETERS, Parameter};
use wire::{Cursor, Malformed};

const PARTS: &str = "Q.713 §1.3";
const POINTERS: &str = "Q.713 §2.3";
const LONG_DATA: &str = "Q.713 §4.20";

/// A message whose mandatory parameters are all there; optional ones that its type has not, or that
/// no one knows, are passed over (Q.714 §1.1.4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its type.
    pub kind: MessageType,
    /// The whole message.
    bytes: &'a [u8],
    /// Offset and octets of each parameter's value; the type stands at zero, and no value.
    places: [(u32, u32); PARAMETERS],
}

impl<'a> Message<'a> {
    /// Reads one whole message, without the routing label of MTP3.
    ///
    /// # Errors
    /// The first violation: such a message is discarded (Q.714 §1.1.4.1).
    pub fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        if let Some(message) = Self::read_unitdata(bytes) {
            return Ok(message);
        }
        let mut cursor = Cursor::new(bytes, 0, PARTS);
        let kind = cursor.octet("a message type lacks")?;
        let Some(kind) = MessageType::of(kind) else {
            return Err(Malformed::new(0, "no message type of SCCP", "Q.713 §2.1"));
        };
        let mut message = Self { kind, bytes, places: [(0, 0); PARAMETERS] };
        let parts = kind.parts();
        for parameter in parts.fixed {
            let at = cursor.at();
            let value = cursor.take(parameter.octets(), "the fixed part is cut off")?;
            message.keep(*parameter, at, value);
        }
        for parameter in parts.variable {
            let at = pointer(kind, &mut cursor)?;
            let Some(at) = at else {
                return Err(Malformed::new(cursor.at() - 1, "a pointer is zero", POINTERS));
            };
            let (at, value) = variable(*parameter, bytes, at)?;
            message.keep(*parameter, at, value);
        }
        if !parts.optional.is_empty()
            && let Some(at) = pointer(kind, &mut cursor)?
        {
            message.read_optional(bytes, at)?;
        }
        Ok(message)
    }

    /// The connection at who gets the message, of one that names it.
    #[must_use]
    pub fn destination_reference(&self) -> Option<super::LocalReference> {
        self.reference(Parameter::DestinationReference).map(super::LocalReference::truncated)
    }

    /// A UDT, as nearly all are. `None` is for any other message, and for a violation.
    #[inline]
    fn read_unitdata(bytes: &'a [u8]) -> Option<Self> {
        const KIND: u8 = MessageType::Unitdata.number();
        let [KIND, _, called, calling, data, ..] = *bytes else { return None };
        let mut message = Self { kind: MessageType::Unitdata, bytes, places: [(0, 0); PARAMETERS] };
        message.places[usize::from(Parameter::Class.number())] = (1, 1);
        let pointers = [
            (2, called, Parameter::Called),
            (3, calling, Parameter::Calling),
            (4, data, Parameter::Data),
        ];
        for (at, pointer, parameter) in pointers {
            // It counts from its own octet.
            let length = u32::from(pointer) + at;
            let count = *bytes.get(length as usize).filter(|_| pointer != 0)?;
            bytes.get(length as usize + usize::from(count))?;
            let value = length + 1;
            message.places[usize::from(parameter.number())] = (value, count.into());
        }
        Some(message)
    }

    #[inline]
    fn keep(&mut self, parameter: Parameter, at: usize, value: &[u8]) {
        let place = &mut self.places[usize::from(parameter.number())];
        if place.0 == 0 {
            *place = (machine::narrow::place(at), machine::narrow::place(value.len()));
        }
    }

    fn read_optional(&mut self, bytes: &'a [u8], at: usize) -> Result<(), Malformed> {
        let mut cursor = cursor_at(bytes, at)?;
        loop {
            let at = cursor.at();
            let name = cursor.octet("the end of optional parameters lacks")?;
            if name == Parameter::End.number() {
                return Ok(());
            }
            let length = usize::from(cursor.octet("a length lacks")?);
            let value_at = cursor.at();
            let value = cursor.take(length, "an optional parameter is cut off")?;
            let parameter = Parameter::of(name);
            let Some(parameter) = parameter.filter(|it| self.kind.parts().optional.contains(it))
            else {
                continue;
            };
            if parameter.octets() != 0 && parameter.octets() != length {
                return Err(Malformed::new(at, "a parameter of another length", parameter.spec()));
            }
            self.keep(parameter, value_at, value);
        }
    }

    /// The value of a parameter.
    #[inline]
    #[must_use]
    pub fn value(&self, of: Parameter) -> Option<&'a [u8]> {
        let (at, length) = self.places[usize::from(of.number())];
        let (at, length) = (at as usize, length as usize);
        if at == 0 { None } else { self.bytes.get(at..at + length) }
    }

    /// Offset of a parameter's value in the message.
    #[must_use]
    pub fn at(&self, of: Parameter) -> usize {
        self.places[usize::from(of.number())].0 as usize
    }

    /// The first octet of a parameter.
    #[inline]
    #[must_use]
    pub fn octet(&self, of: Parameter) -> Option<u8> {
        self.value(of)?.first().copied()
    }

    /// A local reference.
    #[must_use]
    pub fn reference(&self, of: Parameter) -> Option<u32> {
        let value = self.value(of)?;
        Some(value.iter().rev().fold(0, |number, octet| number << 8 | u32::from(*octet)))
    }
}

/// Takes a pointer: where it leads to, from the beginning of the message; `None` for zero. It
/// counts from its own octet, from the second one of two.
fn pointer(kind: MessageType, cursor: &mut Cursor<'_>) -> Result<Option<usize>, Malformed> {
    let at = cursor.at();
    let (pointer, from) = if kind.is_long() {
        (usize::from(u16::from_le_bytes(cursor.array("a pointer is cut off")?)), at + 1)
    } else {
        (usize::from(cursor.octet("a pointer lacks")?), at)
    };
    Ok((pointer != 0).then_some(from + pointer))
}

fn cursor_at(bytes: &[u8], at: usize) -> Result<Cursor<'_>, Malformed> {
    match bytes.get(at..) {
        Some(rest) => Ok(Cursor::new(rest, at, PARTS)),
        None => Err(Malformed::new(bytes.len(), "a pointer leads beyond the message", POINTERS)),
    }
}

fn variable(of: Parameter, bytes: &[u8], at: usize) -> Result<(usize, &[u8]), Malformed> {
    let mut cursor = cursor_at(bytes, at)?;
    let length = match of {
        Parameter::LongData => {
            let length = usize::from(u16::from_le_bytes(cursor.array("a length is cut off")?));
            if length > LONG_DATA_BYTES_MAX {
                return Err(Malformed::new(at, "more data than a message may have", LONG_DATA));
            }
            length
        }
        _ => usize::from(cursor.octet("a length lacks")?),
    };
    let at = cursor.at();
    Ok((at, cursor.take(length, "a parameter is cut off")?))
}
