//! What values have in common in JSON.

use crate::address::{Address, NumberingPlan, RpAddress, TypeOfNumber};
use ber::json::{self, Text};
use core::fmt::Write as _;
use wire::Malformed;

/// An object that is written.
pub(crate) struct Object<'a> {
    out: &'a mut String,
    is_first: bool,
}

impl<'a> Object<'a> {
    pub(crate) fn begin(out: &'a mut String) -> Self {
        out.push('{');
        Self { out, is_first: true }
    }

    /// Appends the name of a member; its value is to follow.
    pub(crate) fn member(&mut self, name: &str) -> &mut String {
        if !core::mem::take(&mut self.is_first) {
            self.out.push(',');
        }
        json::string(self.out, name);
        self.out.push(':');
        self.out
    }

    pub(crate) fn string(&mut self, name: &str, value: &str) {
        json::string(self.member(name), value);
    }

    pub(crate) fn number(&mut self, name: &str, value: u64) {
        let _ = write!(self.member(name), "{value}");
    }

    pub(crate) fn boolean(&mut self, name: &str, value: bool) {
        self.member(name).push_str(if value { "true" } else { "false" });
    }

    pub(crate) fn hex(&mut self, name: &str, octets: &[u8]) {
        json::hex(self.member(name), octets.iter().copied());
    }

    pub(crate) fn end(self) {
        self.out.push('}');
    }
}

/// An octet as a number.
pub(crate) fn number(text: &mut Text<'_>) -> Result<u8, Malformed> {
    text.peek();
    let before = *text;
    u8::try_from(text.integer()?).map_err(|_| before.violation("more than an octet"))
}

/// Appends an octet by its name, or as a number.
pub(crate) fn named_to(name: Option<&'static str>, octet: u8, out: &mut String) {
    match name {
        Some(name) => json::string(out, name),
        None => {
            let _ = write!(out, "{octet}");
        }
    }
}

/// An octet by its name, which `of` knows, or as a number.
pub(crate) fn named_from(
    text: &mut Text<'_>,
    of: impl Fn(&str) -> Option<u8>,
) -> Result<u8, Malformed> {
    if text.peek() != Some(b'"') {
        return number(text);
    }
    let before = *text;
    of(&text.string()?).ok_or_else(|| before.violation("no value of that name"))
}

/// Octets of a length that is told.
pub(crate) fn octets<const N: usize>(text: &mut Text<'_>) -> Result<[u8; N], Malformed> {
    text.peek();
    let before = *text;
    text.hex()?.try_into().map_err(|_| before.violation("not as many octets as the value has"))
}

/// The name of a row among all.
pub(crate) fn row<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str, of: &str) -> Option<T> {
    all.iter().copied().find(|it| name(*it) == of)
}

/// The two fields of an address that say what it is.
struct Kind(TypeOfNumber, NumberingPlan);

fn kind_from(number: Option<&str>, plan: Option<&str>) -> Option<Kind> {
    let number = row(TypeOfNumber::ALL, TypeOfNumber::name, number?)?;
    Some(Kind(number, row(NumberingPlan::ALL, NumberingPlan::name, plan?)?))
}

/// Appends an address: `{"type":…,"plan":…,"digits":…}`, with `"text"` for letters; one that is
/// otherwise than it would be written here, with its `length`, `kind` and `octets`.
pub(crate) fn address_to(address: &Address, out: &mut String) {
    let text = address.text();
    let plan = address.plan();
    let is_letters = address.number() == TypeOfNumber::Alphanumeric;
    let again = match plan {
        Some(NumberingPlan::Unknown) if is_letters => Address::letters(&text),
        Some(plan) if !is_letters => Address::digits(address.number(), plan, &text),
        _ => None,
    };
    let mut object = Object::begin(out);
    match plan.filter(|_| again.as_ref() == Some(address)) {
        Some(plan) => {
            object.string("type", address.number().name());
            object.string("plan", plan.name());
            object.string(if is_letters { "text" } else { "digits" }, &text);
        }
        None => {
            object.number("length", u64::from(address.semi_octets()));
            object.number("kind", u64::from(address.kind()));
            object.hex("octets", address.octets());
        }
    }
    object.end();
}

/// The members of an address.
#[derive(Default)]
struct Members {
    number: Option<String>,
    plan: Option<String>,
    digits: Option<String>,
    letters: Option<String>,
    length: Option<u8>,
    kind: Option<u8>,
    octets: Option<Vec<u8>>,
}

fn members(text: &mut Text<'_>) -> Result<Members, Malformed> {
    let mut it = Members::default();
    text.members(|text, name| {
        match name {
            "type" => it.number = Some(text.string()?.into_owned()),
            "plan" => it.plan = Some(text.string()?.into_owned()),
            "digits" => it.digits = Some(text.string()?.into_owned()),
            "text" => it.letters = Some(text.string()?.into_owned()),
            "length" => it.length = Some(number(text)?),
            "kind" => it.kind = Some(number(text)?),
            "octets" => it.octets = Some(text.hex()?),
            _ => return Err(text.violation("no member of an address")),
        }
        Ok(())
    })?;
    Ok(it)
}

/// The address that an object is.
pub(crate) fn address_from(text: &mut Text<'_>) -> Result<Address, Malformed> {
    text.peek();
    let before = *text;
    let it = members(text)?;
    let found = match (&it.digits, &it.letters, &it.octets) {
        (Some(digits), None, None) => kind_from(it.number.as_deref(), it.plan.as_deref())
            .and_then(|kind| Address::digits(kind.0, kind.1, digits)),
        (None, Some(letters), None) => Address::letters(letters),
        (None, None, Some(octets)) => it
            .length
            .zip(it.kind)
            .and_then(|(length, kind)| Address::of_parts(length, kind, octets)),
        _ => None,
    };
    found.ok_or_else(|| before.violation("no address"))
}

/// Appends an address of an RP message: likewise, its other form `{"octets":…}`, and `null` where
/// there is none.
pub(crate) fn rp_address_to(address: &RpAddress, out: &mut String) {
    if address.is_none() {
        return out.push_str("null");
    }
    let text = address.text();
    let again = address.plan().and_then(|plan| RpAddress::digits(address.number(), plan, &text));
    let mut object = Object::begin(out);
    match address.plan().filter(|_| again.as_ref() == Some(address)) {
        Some(plan) => {
            object.string("type", address.number().name());
            object.string("plan", plan.name());
            object.string("digits", &text);
        }
        None => object.hex("octets", address.octets()),
    }
    object.end();
}

/// The address of an RP message that an object is.
pub(crate) fn rp_address_from(text: &mut Text<'_>) -> Result<RpAddress, Malformed> {
    if text.has("null") {
        return Ok(RpAddress::NONE);
    }
    let before = *text;
    let it = members(text)?;
    let found = match (&it.digits, &it.octets) {
        (Some(digits), None) => kind_from(it.number.as_deref(), it.plan.as_deref())
            .and_then(|kind| RpAddress::digits(kind.0, kind.1, digits)),
        (None, Some(octets)) => RpAddress::of(octets).ok(),
        _ => None,
    };
    found.ok_or_else(|| before.violation("no address"))
}
