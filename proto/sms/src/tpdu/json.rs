//! TPDUs as JSON: an object by the names of the parameters, with `TP-MTI` in front.
//!
//! | value | JSON |
//! |---|---|
//! | a bit | `true`, `false` |
//! | an octet | its name; a number where it has none |
//! | an address | `{"type":"international","plan":"ISDN","digits":"447700900123"}` |
//! | a time | `"26-11-27T00:04:42+01:00"` |
//! | a validity period | `{"relative":167}`, `{"absolute":TIME}`, `{"enhanced":HEX}` |
//! | user data | `{"header":[…],"text":"…"}`, `{"header":[…],"octets":HEX}` |
//!
//! What would be written otherwise than it stands is octets in hexadecimal digits: an address with
//! its `length` and `kind`, a time, user data as `{"length":…,"octets":HEX}` with all before them.

use super::read::NAMED;
use super::{Kind, Parameter, Place, Shape, Tpdu, Value};
use crate::coding::Coding;
use crate::header::{self, Header};
use crate::json::{Object, address_from, address_to, named_from, named_to, number, octets, row};
use crate::names::{Command, FailureCause, Status};
use crate::time::{Time, Validity};
use crate::user_data::{Made, UserData};
use ber::json::{self, Text};
use wire::Malformed;

const TYPE: &str = "TP-MTI";
/// The name under which octets stand that a reserved bit of TP-PI announces.
const REST: &str = "...";

impl Tpdu<'_> {
    /// Appends the TPDU as JSON.
    pub fn to_json(&self, out: &mut String) {
        let mut object = Object::begin(out);
        object.string(TYPE, self.kind.name());
        for field in self.kind.fields() {
            let parameter = field.parameter;
            let Some(value) = self.get(parameter) else { continue };
            match value {
                Value::Flag(flag) => object.boolean(parameter.name(), *flag),
                // What TP-PI announces is there; only what is reserved says more.
                Value::Octets(octets) if parameter == Parameter::Indicator => {
                    let is_empty = octets.first().is_none_or(|it| it & NAMED == 0);
                    let is_alone = field.place == Place::IfMore && is_empty;
                    if octets.len() > 1 || is_alone || self.announces_more() {
                        object.hex(parameter.name(), octets);
                    }
                }
                Value::Octets(octets) => object.hex(parameter.name(), octets),
                Value::Octet(octet) => {
                    let name = name(parameter.shape(), *octet);
                    named_to(name, *octet, object.member(parameter.name()));
                }
                Value::Address(address) => address_to(address, object.member(parameter.name())),
                Value::Time(time) => time_to(time, object.member(parameter.name())),
                Value::Validity(it) => validity_to(it, object.member(parameter.name())),
                Value::UserData(data) => data_to(data, object.member(parameter.name())),
            }
        }
        if !self.rest.is_empty() {
            object.hex(REST, self.rest);
        }
        object.end();
    }
}

fn name(shape: Shape, octet: u8) -> Option<&'static str> {
    match shape {
        Shape::FailureCause => FailureCause::of(octet).map(FailureCause::name),
        Shape::Status => Status::of(octet).map(Status::name),
        Shape::Command => Command::of(octet).map(Command::name),
        _ => None,
    }
}

fn octet_named(shape: Shape, name: &str) -> Option<u8> {
    match shape {
        Shape::FailureCause => {
            row(FailureCause::ALL, FailureCause::name, name).map(FailureCause::number)
        }
        Shape::Status => row(Status::ALL, Status::name, name).map(Status::number),
        Shape::Command => row(Command::ALL, Command::name, name).map(Command::number),
        _ => None,
    }
}

fn time_to(time: &Time, out: &mut String) {
    match time.text().filter(|it| Time::of_text(it).as_ref() == Some(time)) {
        Some(text) => json::string(out, &text),
        None => json::hex(out, time.0.into_iter()),
    }
}

fn time_from(text: &mut Text<'_>) -> Result<Time, Malformed> {
    let before = *text;
    let written = text.string()?;
    if let Some(time) = Time::of_text(&written) {
        return Ok(time);
    }
    *text = before;
    octets(text).map(Time)
}

fn validity_to(validity: &Validity, out: &mut String) {
    let mut object = Object::begin(out);
    match validity {
        Validity::Relative(step) => object.number("relative", u64::from(*step)),
        Validity::Absolute(time) => time_to(time, object.member("absolute")),
        Validity::Enhanced(octets) => object.hex("enhanced", octets),
    }
    object.end();
}

fn validity_from(text: &mut Text<'_>) -> Result<Validity, Malformed> {
    text.peek();
    let (before, mut found) = (*text, None);
    text.members(|text, name| {
        let value = match name {
            "relative" => Validity::Relative(number(text)?),
            "absolute" => Validity::Absolute(time_from(text)?),
            "enhanced" => Validity::Enhanced(octets(text)?),
            _ => return Err(text.violation("no form of a validity period")),
        };
        match found.replace(value) {
            None => Ok(()),
            Some(_) => Err(text.violation("a validity period has one form")),
        }
    })?;
    found.ok_or_else(|| before.violation("a validity period lacks"))
}

/// What user data are made of, where they are written as they stand.
fn parts<'a>(data: &UserData<'a>) -> Option<(Header<'a>, Option<String>, &'a [u8])> {
    let header = data.header().ok()?;
    let (text, body) = (data.text().ok()?, data.body().ok()?);
    let front = &data.octets[..data.octets.len() - body.len()];
    if let Some(text) = text
        && Made::text(data.coding, front, &text)
            .is_some_and(|it| it.as_read(data.coding, data.has_header) == *data)
    {
        return Some((header, Some(text), body));
    }
    let made = Made::octets(front, body)?;
    (made.as_read(data.coding, data.has_header) == *data).then_some((header, None, body))
}

fn data_to(data: &UserData<'_>, out: &mut String) {
    let mut object = Object::begin(out);
    match parts(data) {
        Some((header, text, body)) => {
            if data.has_header {
                header::to_json(&header, object.member("header"));
            }
            match text {
                Some(text) => object.string("text", &text),
                None => object.hex("octets", body),
            }
        }
        None => {
            object.number("length", u64::from(data.length));
            object.hex("octets", data.octets);
        }
    }
    object.end();
}

/// Reads user data, whose coding is known.
fn data_from(text: &mut Text<'_>, coding: Coding) -> Result<Made, Malformed> {
    text.peek();
    let before = *text;
    let (mut header, mut length, mut written, mut octets) = (Vec::new(), None, None, None);
    text.members(|text, name| {
        match name {
            "header" if header.is_empty() => header::from_json(text, &mut header)?,
            "length" => length = Some(number(text)?),
            "text" => written = Some(text.string()?.into_owned()),
            "octets" => octets = Some(text.hex()?),
            _ => return Err(text.violation("no member of user data")),
        }
        Ok(())
    })?;
    let made = match (written, octets, length) {
        (Some(text), None, None) => Made::text(coding, &header, &text),
        (None, Some(body), None) => Made::octets(&header, &body),
        (None, Some(octets), Some(length)) if header.is_empty() => Some(Made { length, octets }),
        _ => None,
    };
    made.ok_or_else(|| before.violation("no user data, or a text that the alphabet has not"))
}

/// A value that was read, with octets of its own.
enum Owned {
    Value(Value<'static>),
    Octets(Vec<u8>),
    Data(Made),
}

impl Kind {
    /// Appends the TPDU that a text is: of the kind that its `TP-MTI` names.
    ///
    /// # Errors
    /// The first violation, with its place in the text; what was appended until then is no TPDU.
    pub fn from_json(text: &str, out: &mut Vec<u8>) -> Result<Self, Malformed> {
        let mut text = Text::new(text);
        let kind = Self::object_from(&mut text, out)?;
        text.end().map(|()| kind)
    }

    pub(crate) fn object_from(text: &mut Text<'_>, out: &mut Vec<u8>) -> Result<Self, Malformed> {
        text.peek();
        let before = *text;
        let (mut kind, mut rest) = (None, Vec::new());
        let mut places: Vec<Option<Text<'_>>> = vec![None; Parameter::ALL.len()];
        text.members(|text, name| {
            let at = *text;
            if name == TYPE {
                let of = text.string()?;
                kind = row(Self::ALL, Self::name, &of);
                return kind.map(|_| ()).ok_or_else(|| at.violation("no TPDU of that name"));
            }
            if name == REST {
                rest = text.hex()?;
                return Ok(());
            }
            let parameter = row(Parameter::ALL, Parameter::name, name);
            let parameter = parameter.ok_or_else(|| at.violation("no parameter of that name"))?;
            if places[usize::from(parameter.number())].replace(at).is_some() {
                return Err(at.violation("a parameter twice"));
            }
            text.skip()
        })?;
        let kind = kind.ok_or_else(|| before.violation("TP-MTI lacks"))?;
        kind.of_places(&places, &rest, &before, out).map(|()| kind)
    }

    fn of_places(
        self,
        places: &[Option<Text<'_>>],
        rest: &[u8],
        before: &Text<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        let is_own = |it: &&Parameter| self.fields().iter().any(|field| field.parameter == **it);
        let foreign = Parameter::ALL.iter().filter(|it| !is_own(it));
        if let Some(place) = foreign.filter_map(|it| places[usize::from(it.number())]).next() {
            return Err(place.violation("a parameter that the TPDU has not"));
        }
        let (mut coding, mut values) = (Coding::GSM7, Vec::new());
        for field in self.fields() {
            let parameter = field.parameter;
            let Some(mut place) = places[usize::from(parameter.number())] else { continue };
            let value = value_from(parameter.shape(), coding, &mut place)?;
            if let (Parameter::DataCodingScheme, Owned::Value(Value::Octet(octet))) =
                (parameter, &value)
            {
                coding = Coding(*octet);
            }
            values.push((parameter, value));
        }
        let mut tpdu = Tpdu { rest, ..Tpdu::new(self) };
        for (parameter, value) in &values {
            let value = match value {
                Owned::Value(value) => *value,
                Owned::Octets(octets) => Value::Octets(octets),
                Owned::Data(made) => {
                    let has_header = tpdu.flag(Parameter::HeaderIndicator);
                    Value::UserData(made.as_read(coding, has_header))
                }
            };
            tpdu.put(*parameter, value);
        }
        let from = out.len();
        let written = tpdu.write(out).and_then(|()| self.read(&out[from..]).map(|_| ()));
        written.map_err(|it| Malformed { at: before.at(), ..it })
    }
}

fn value_from(shape: Shape, coding: Coding, text: &mut Text<'_>) -> Result<Owned, Malformed> {
    Ok(Owned::Value(match shape {
        Shape::Flag => Value::Flag(text.boolean()?),
        Shape::Octet | Shape::FailureCause | Shape::Status | Shape::Command => {
            Value::Octet(named_from(text, |name| octet_named(shape, name))?)
        }
        Shape::Address => Value::Address(address_from(text)?),
        Shape::Time => Value::Time(time_from(text)?),
        Shape::Validity => Value::Validity(validity_from(text)?),
        Shape::Indicator | Shape::CommandData => return text.hex().map(Owned::Octets),
        Shape::UserData => return data_from(text, coding).map(Owned::Data),
    }))
}
