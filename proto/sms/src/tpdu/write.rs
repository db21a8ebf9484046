//! Values to octets.

use super::read::{MORE, NAMED};
use super::{Parameter, Place, Shape, Tpdu, Value};
use crate::time::Validity;
use crate::user_data::UserData;
use wire::Malformed;

impl Tpdu<'_> {
    /// Appends the TPDU.
    ///
    /// # Errors
    /// A parameter lacks, has a value of another shape or one that does not fit, or user data are
    /// otherwise than TP-DCS and TP-UDHI say; what was appended until then is no TPDU.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        let from = out.len();
        out.push(self.first());
        let indicator = self.indicated();
        for field in self.kind.fields() {
            let parameter = field.parameter;
            let violation = |what| Malformed::new(out.len() - from, what, parameter.spec());
            let is_due = match field.place {
                Place::Bit(_) => false,
                Place::Indicated(bit) => indicator.first().is_some_and(|it| it >> bit & 1 != 0),
                Place::IfMore => !indicator.is_empty(),
                Place::Always => parameter != Parameter::ValidityPeriod || self.has(parameter),
            };
            if !is_due {
                continue;
            }
            if parameter.shape() == Shape::Indicator {
                out.extend_from_slice(&indicator);
                continue;
            }
            let value = match (self.get(parameter), parameter) {
                (Some(value), _) => *value,
                // What says nothing else is the default alphabet and a short message.
                (None, Parameter::DataCodingScheme | Parameter::ProtocolIdentifier) => {
                    Value::Octet(0)
                }
                (None, _) => return Err(violation("a parameter lacks")),
            };
            match self.violation(parameter, &value) {
                Some(what) => return Err(violation(what)),
                None => append(&value, out),
            }
        }
        match self.rest.is_empty() || self.announces_more() {
            true => out.extend_from_slice(self.rest),
            false => {
                let at = out.len() - from;
                return Err(Malformed::new(
                    at,
                    "octets that TP-PI does not announce",
                    self.kind.spec(),
                ));
            }
        }
        Ok(())
    }

    fn has(&self, parameter: Parameter) -> bool {
        self.get(parameter).is_some()
    }

    /// The first octet: TP-MTI, TP-VPF and the flags.
    fn first(&self) -> u8 {
        let format = match self.validity().filter(|_| self.kind == super::Kind::Submit) {
            None => 0,
            Some(Validity::Enhanced(_)) => 1,
            Some(Validity::Relative(_)) => 2,
            Some(Validity::Absolute(_)) => 3,
        };
        let flags = self.kind.fields().iter().filter_map(|it| match it.place {
            Place::Bit(bit) if self.flag(it.parameter) => Some(1 << bit),
            _ => None,
        });
        flags.fold(self.kind.message_type() | format << 3, |first, bit: u8| first | bit)
    }

    /// TP-PI: what follows, and the bits of other octets as they were given; none where the TPDU
    /// may do without and nothing follows.
    fn indicated(&self) -> Vec<u8> {
        let Some(place) = self.kind.fields().iter().find(|it| it.parameter == Parameter::Indicator)
        else {
            return Vec::new();
        };
        let mut indicator = match self.get(Parameter::Indicator) {
            Some(Value::Octets(octets)) => octets.to_vec(),
            _ => Vec::new(),
        };
        let bits = self.kind.fields().iter().filter_map(|it| match it.place {
            Place::Indicated(bit) if self.has(it.parameter) => Some(1 << bit),
            _ => None,
        });
        let bits = bits.fold(0u8, |all, bit| all | bit);
        if indicator.is_empty() && (bits != 0 || place.place == Place::Always) {
            indicator.push(0);
        }
        if let Some(first) = indicator.first_mut() {
            *first = *first & !NAMED | bits;
        }
        let last = indicator.len().saturating_sub(1);
        for (index, octet) in indicator.iter_mut().enumerate() {
            *octet = if index < last { *octet | MORE } else { *octet & !MORE };
        }
        indicator
    }

    /// What is wrong with a value of a parameter.
    fn violation(&self, parameter: Parameter, value: &Value<'_>) -> Option<&'static str> {
        let limit = self.kind.data_octets_max();
        match (parameter.shape(), value) {
            (
                Shape::Octet | Shape::FailureCause | Shape::Status | Shape::Command,
                Value::Octet(_),
            )
            | (Shape::Address, Value::Address(_))
            | (Shape::Time, Value::Time(_))
            | (Shape::Validity, Value::Validity(_)) => None,
            (Shape::CommandData, Value::Octets(octets)) => {
                (octets.len() > limit).then_some("more data than the TPDU may have")
            }
            (Shape::UserData, Value::UserData(data)) => self.data_violation(data, limit),
            _ => Some("a value of another shape"),
        }
    }

    fn data_violation(&self, data: &UserData<'_>, limit: usize) -> Option<&'static str> {
        let is_said = data.coding == self.coding()
            && data.has_header == self.flag(Parameter::HeaderIndicator);
        match () {
            () if !is_said => Some("TP-DCS and TP-UDHI say otherwise"),
            () if data.octets.len() > limit => Some("more data than the TPDU may have"),
            () if UserData::octets_of(data.coding, data.length) != data.octets.len() => {
                Some("TP-UDL says otherwise")
            }
            () => None,
        }
    }
}

fn append(value: &Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Flag(_) => {}
        Value::Octet(octet) => out.push(*octet),
        Value::Address(address) => address.write(out),
        Value::Time(time) => out.extend_from_slice(&time.0),
        Value::Validity(Validity::Relative(step)) => out.push(*step),
        Value::Validity(Validity::Absolute(time)) => out.extend_from_slice(&time.0),
        Value::Validity(Validity::Enhanced(octets)) => out.extend_from_slice(octets),
        Value::UserData(data) => {
            out.push(data.length);
            out.extend_from_slice(data.octets);
        }
        Value::Octets(octets) => {
            // The limit of command data is below 256.
            out.extend(u8::try_from(octets.len()));
            out.extend_from_slice(octets);
        }
    }
}
