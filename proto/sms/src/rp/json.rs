//! RP messages as JSON: an object by the names of the elements, with `RP-MTI` in front. User data
//! that are a TPDU stand as one; others, and what would be written otherwise than it stands, as
//! octets in hexadecimal digits.

use super::{Element, Failure, Kind, Message};
use crate::address::RpAddress;
use crate::json::{Object, named_from, named_to, number, row, rp_address_from, rp_address_to};
use crate::names::Cause;
use crate::tpdu;
use ber::json::Text;
use wire::Malformed;

const TYPE: &str = "RP-MTI";
const REST: &str = "...";

impl Message<'_> {
    /// Appends the message as JSON.
    pub fn to_json(&self, out: &mut String) {
        let mut object = Object::begin(out);
        object.string(TYPE, self.kind.name());
        object.number(Element::Reference.name(), u64::from(self.reference));
        for (element, _) in self.kind.elements() {
            match element {
                Element::Reference => {}
                Element::Originator => {
                    rp_address_to(&self.originator, object.member(element.name()));
                }
                Element::Destination => {
                    rp_address_to(&self.destination, object.member(element.name()));
                }
                Element::Cause => {
                    let Some(failure) = self.failure else { continue };
                    failure_to(&failure, object.member(element.name()));
                }
                Element::UserData => {
                    let Some(octets) = self.user_data else { continue };
                    match self.written_tpdu() {
                        Some(text) => object.member(element.name()).push_str(&text),
                        None => object.hex(element.name(), octets),
                    }
                }
            }
        }
        if !self.rest.is_empty() {
            object.hex(REST, self.rest);
        }
        object.end();
    }

    /// The user data as a TPDU that is written as it stands.
    fn written_tpdu(&self) -> Option<String> {
        let octets = self.user_data?;
        let tpdu = self.tpdu_kind()?.read(octets).ok()?;
        let (mut text, mut again) = (String::new(), Vec::new());
        tpdu.to_json(&mut text);
        tpdu::Kind::from_json(&text, &mut again).ok()?;
        (again == octets).then_some(text)
    }
}

fn failure_to(failure: &Failure<'_>, out: &mut String) {
    let cause = Cause::of(failure.octet);
    if failure.diagnostic.is_empty() {
        return named_to(cause.map(Cause::name), failure.octet, out);
    }
    let mut object = Object::begin(out);
    named_to(cause.map(Cause::name), failure.octet, object.member("cause"));
    object.hex("diagnostic", failure.diagnostic);
    object.end();
}

fn cause_from(text: &mut Text<'_>) -> Result<u8, Malformed> {
    named_from(text, |name| row(Cause::ALL, Cause::name, name).map(Cause::number))
}

fn failure_from(text: &mut Text<'_>) -> Result<(u8, Vec<u8>), Malformed> {
    if text.peek() != Some(b'{') {
        return Ok((cause_from(text)?, Vec::new()));
    }
    let (before, mut cause, mut diagnostic) = (*text, None, Vec::new());
    text.members(|text, name| {
        match name {
            "cause" => cause = Some(cause_from(text)?),
            "diagnostic" => diagnostic = text.hex()?,
            _ => return Err(text.violation("no member of a cause")),
        }
        Ok(())
    })?;
    let cause = cause.ok_or_else(|| before.violation("a cause lacks"))?;
    Ok((cause, diagnostic))
}

/// What a text says, before it is a message.
#[derive(Default)]
struct Read {
    kind: Option<Kind>,
    reference: Option<u8>,
    originator: RpAddress,
    destination: RpAddress,
    failure: Option<(u8, Vec<u8>)>,
    user_data: Option<Vec<u8>>,
    rest: Vec<u8>,
}

impl Read {
    fn member(&mut self, text: &mut Text<'_>, name: &str) -> Result<(), Malformed> {
        let before = *text;
        match name {
            TYPE => {
                let of = text.string()?;
                self.kind = row(Kind::ALL, Kind::name, &of);
                return self.kind.map(|_| ()).ok_or_else(|| before.violation("no RP message"));
            }
            REST => self.rest = text.hex()?,
            _ => match row(Element::ALL, Element::name, name) {
                Some(Element::Reference) => self.reference = Some(number(text)?),
                Some(Element::Originator) => self.originator = rp_address_from(text)?,
                Some(Element::Destination) => self.destination = rp_address_from(text)?,
                Some(Element::Cause) => self.failure = Some(failure_from(text)?),
                Some(Element::UserData) if text.peek() == Some(b'{') => {
                    let mut octets = Vec::new();
                    tpdu::Kind::object_from(text, &mut octets)?;
                    self.user_data = Some(octets);
                }
                Some(Element::UserData) => self.user_data = Some(text.hex()?),
                None => return Err(before.violation("no element of that name")),
            },
        }
        Ok(())
    }
}

/// Appends the RP message that a text is.
///
/// # Errors
/// The first violation, with its place in the text; what was appended until then is no message.
pub fn from_json(text: &str, out: &mut Vec<u8>) -> Result<Kind, Malformed> {
    let (mut text, mut read) = (Text::new(text), Read::default());
    text.members(|text, name| read.member(text, name))?;
    text.end()?;
    let kind = read.kind.ok_or_else(|| text.violation("RP-MTI lacks"))?;
    let reference = read.reference.ok_or_else(|| text.violation("the message reference lacks"))?;
    let failure = read.failure.as_ref();
    let message = Message {
        originator: read.originator,
        destination: read.destination,
        failure: failure.map(|it| Failure { octet: it.0, diagnostic: &it.1 }),
        user_data: read.user_data.as_deref(),
        rest: &read.rest,
        ..Message::new(kind, reference)
    };
    let from = out.len();
    let written = message.write(out);
    let is_same = written.is_ok() && Message::read(&out[from..]).is_ok_and(|it| it == message);
    match (written, is_same) {
        (Err(violation), _) => Err(Malformed { at: text.at(), ..violation }),
        (Ok(()), false) => Err(text.violation("an element that the message has not")),
        (Ok(()), true) => Ok(kind),
    }
}
