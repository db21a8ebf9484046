//! Octets to values.

use super::{Field, Kind, Parameter, Place, Shape, Tpdu, Value};
use crate::address::Address;
use crate::time::{Time, Validity};
use crate::user_data::UserData;
use wire::{Cursor, Malformed};

/// The bits of TP-PI that name a parameter, and the one that another octet follows.
pub(super) const NAMED: u8 = 0b0000_0111;
pub(super) const MORE: u8 = 0b1000_0000;

impl Kind {
    /// Reads a TPDU of this kind. Bits that the sections do not use are passed over.
    ///
    /// # Errors
    /// The first violation, with its place.
    pub fn read(self, octets: &[u8]) -> Result<Tpdu<'_>, Malformed> {
        let mut cursor = Cursor::new(octets, 0, self.spec());
        let first = cursor.octet("a TPDU without octets")?;
        if first & 3 != self.message_type() {
            return Err(Malformed::new(0, "another message type", self.spec()));
        }
        let mut tpdu = Tpdu::new(self);
        for field in self.fields() {
            cursor = Cursor::new(cursor.rest(), cursor.at(), field.parameter.spec());
            if let Some(value) = tpdu.value(*field, first, &mut cursor)? {
                tpdu.put(field.parameter, value);
            }
        }
        if tpdu.announces_more() {
            tpdu.rest = cursor.take(cursor.rest().len(), "")?;
        }
        match cursor.is_empty() {
            true => Ok(tpdu),
            false => Err(Malformed::new(cursor.at(), "octets behind a TPDU", self.spec())),
        }
    }
}

impl<'a> Tpdu<'a> {
    fn indicator(&self) -> &'a [u8] {
        match self.get(Parameter::Indicator) {
            Some(Value::Octets(octets)) => octets,
            _ => &[],
        }
    }

    /// Whether TP-PI has bits that are reserved, so that what they name follows all else.
    pub(super) fn announces_more(&self) -> bool {
        self.indicator().iter().enumerate().any(|(index, octet)| {
            let known = if index == 0 { NAMED | MORE } else { MORE };
            octet & !known != 0
        })
    }

    fn value(
        &self,
        field: Field,
        first: u8,
        cursor: &mut Cursor<'a>,
    ) -> Result<Option<Value<'a>>, Malformed> {
        let indicated = self.indicator().first().copied().unwrap_or_default();
        match field.place {
            Place::Bit(bit) => return Ok(Some(Value::Flag(first >> bit & 1 != 0))),
            Place::IfMore if cursor.is_empty() => return Ok(None),
            Place::Indicated(bit) if indicated >> bit & 1 == 0 => return Ok(None),
            _ => {}
        }
        let value = match field.parameter.shape() {
            Shape::Flag => return Ok(None),
            Shape::Octet | Shape::FailureCause | Shape::Status | Shape::Command => {
                Value::Octet(cursor.octet("an octet lacks")?)
            }
            Shape::Address => Value::Address(Address::read(cursor)?),
            Shape::Time => Value::Time(Time(cursor.array("a time is cut off")?)),
            Shape::Validity => return validity(first, cursor).map(|it| it.map(Value::Validity)),
            Shape::Indicator => Value::Octets(indicator(cursor)?),
            Shape::CommandData => {
                let length = usize::from(cursor.octet("a length lacks")?);
                Value::Octets(self.limited(cursor, length)?)
            }
            Shape::UserData => {
                let length = cursor.octet("a length lacks")?;
                let (coding, has_header) = (self.coding(), self.flag(Parameter::HeaderIndicator));
                let octets = self.limited(cursor, UserData::octets_of(coding, length))?;
                Value::UserData(UserData { coding, has_header, length, octets })
            }
        };
        Ok(Some(value))
    }

    fn limited(&self, cursor: &mut Cursor<'a>, count: usize) -> Result<&'a [u8], Malformed> {
        match count <= self.kind.data_octets_max() {
            true => cursor.take(count, "data are cut off"),
            false => Err(cursor.violation("more data than the TPDU may have")),
        }
    }
}

/// TP-PI with the octets that follow it.
fn indicator<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], Malformed> {
    let more = cursor.rest().iter().take_while(|it| **it & MORE != 0).count();
    cursor.take(more + 1, "a parameter indicator is cut off")
}

fn validity(first: u8, cursor: &mut Cursor<'_>) -> Result<Option<Validity>, Malformed> {
    const CUT_OFF: &str = "a validity period is cut off";
    Ok(match first >> 3 & 3 {
        0 => None,
        1 => Some(Validity::Enhanced(cursor.array(CUT_OFF)?)),
        2 => Some(Validity::Relative(cursor.octet(CUT_OFF)?)),
        _ => Some(Validity::Absolute(Time(cursor.array(CUT_OFF)?))),
    })
}
