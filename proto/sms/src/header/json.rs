//! Elements of user data headers as JSON: `{"element":NAME, FIELD:VALUE, …}`; one whose fields its
//! row does not know, `{"element":NAME or NUMBER,"octets":HEX}`.

use super::{Element, Field, Header, Width, write};
use crate::address::Address;
use crate::json::{Object, address_from, address_to, number};
use ber::json::Text;
use wire::{Cursor, Malformed};

const SPEC: &str = "TS 23.040 §9.2.3.24";

/// A value of a field.
enum Value<'a> {
    Number(u16),
    Address(Address),
    Octets(&'a [u8]),
}

/// The values of an element by its row; none if they are others.
fn values<'a>(fields: &'static [Field], octets: &'a [u8]) -> Option<Vec<(Field, Value<'a>)>> {
    let (mut cursor, mut bit, mut values) = (Cursor::new(octets, 0, SPEC), 0u32, Vec::new());
    let mut held = 0u32;
    for field in fields {
        let value = match field.width {
            Width::Bits(count) => {
                while bit < u32::from(count) {
                    held = held << 8 | u32::from(cursor.octet("").ok()?);
                    bit += 8;
                }
                bit -= u32::from(count);
                let number = held >> bit;
                held &= (1 << bit) - 1;
                Value::Number(u16::try_from(number).ok()?)
            }
            Width::Address => Value::Address(Address::read(&mut cursor).ok()?),
            Width::Rest => Value::Octets(cursor.take(cursor.rest().len(), "").ok()?),
        };
        values.push((*field, value));
    }
    (cursor.is_empty() && bit == 0).then_some(values)
}

/// Appends the elements of a header.
pub(crate) fn to_json(header: &Header<'_>, out: &mut String) {
    out.push('[');
    for (index, (id, octets)) in header.elements().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let row = Element::of(id);
        let mut object = Object::begin(out);
        match row {
            Some(row) => object.string("element", row.name()),
            None => object.number("element", u64::from(id)),
        }
        match row.and_then(|it| values(it.fields(), octets)) {
            None => object.hex("octets", octets),
            Some(values) => {
                for (field, value) in values {
                    match value {
                        Value::Number(number) => object.number(field.name, u64::from(number)),
                        Value::Address(address) => address_to(&address, object.member(field.name)),
                        Value::Octets(octets) => object.hex(field.name, octets),
                    }
                }
            }
        }
        object.end();
    }
    out.push(']');
}

/// Appends the header that an array of elements is.
pub(crate) fn from_json(text: &mut Text<'_>, out: &mut Vec<u8>) -> Result<(), Malformed> {
    text.peek();
    let before = *text;
    let mut elements: Vec<(u8, Vec<u8>)> = Vec::new();
    text.elements(|text| {
        let (id, octets) = element_from(text)?;
        // What one header cannot hold is not kept on the way.
        if elements.len() >= 127 {
            return Err(text.violation("too many elements"));
        }
        elements.push((id, octets));
        Ok(())
    })?;
    match write(elements.iter().map(|it| (it.0, &it.1[..])), out) {
        true => Ok(()),
        false => Err(before.violation("a header of more than 255 octets")),
    }
}

fn element_from(text: &mut Text<'_>) -> Result<(u8, Vec<u8>), Malformed> {
    text.peek();
    let before = *text;
    let (mut id, mut raw, mut places) = (None, None, Vec::new());
    text.members(|text, name| {
        match name {
            "element" if text.peek() == Some(b'"') => {
                let name = text.string()?;
                let row = Element::ALL.iter().find(|it| it.name() == name);
                id = Some(row.ok_or_else(|| text.violation("no element of that name"))?.number());
            }
            "element" => id = Some(number(text)?),
            "octets" => raw = Some(text.hex()?),
            _ => {
                places.push((name.to_owned(), *text));
                text.skip()?;
            }
        }
        Ok(())
    })?;
    let id = id.ok_or_else(|| before.violation("which element it is lacks"))?;
    if let Some(octets) = raw {
        return match places.is_empty() {
            true => Ok((id, octets)),
            false => Err(before.violation("fields beside octets")),
        };
    }
    let row = Element::of(id).ok_or_else(|| before.violation("octets lack"))?;
    fields_from(row.fields(), &places, &before).map(|it| (id, it))
}

fn fields_from(
    fields: &[Field],
    places: &[(String, Text<'_>)],
    before: &Text<'_>,
) -> Result<Vec<u8>, Malformed> {
    let (mut out, mut held, mut bit) = (Vec::new(), 0u32, 0u32);
    for field in fields {
        let place = places.iter().find(|it| it.0 == field.name);
        let (_, mut text) = place.ok_or_else(|| before.violation("a field lacks"))?.clone();
        match field.width {
            Width::Bits(count) => {
                let value = text.integer()?;
                let fits = u32::try_from(value).ok().filter(|it| it >> count == 0);
                held = held << count | fits.ok_or_else(|| text.violation("more than its bits"))?;
                bit += u32::from(count);
                while bit >= 8 {
                    bit -= 8;
                    out.extend(u8::try_from(held >> bit & 0xff));
                    held &= (1 << bit) - 1;
                }
            }
            Width::Address => address_from(&mut text)?.write(&mut out),
            Width::Rest => out.extend(text.hex()?),
        }
    }
    match places.iter().find(|it| !fields.iter().any(|field| field.name == it.0)) {
        Some((_, text)) => Err(text.violation("no field of the element")),
        None => Ok(out),
    }
}

/// A value of every field of an element, by chance; a length in front of data is theirs.
pub(crate) fn sample(fields: &[Field], next: &mut dyn FnMut() -> u64, out: &mut Vec<u8>) {
    let data = 1 + next() % 11;
    let has_data = fields.last().is_some_and(|it| it.name == "data");
    let (mut held, mut bit) = (0u64, 0u32);
    for field in fields {
        match field.width {
            Width::Bits(count) => {
                let is_length = field.name == "length" && has_data;
                let value = if is_length { data } else { next() };
                held = held << count | value & ((1 << count) - 1);
                bit += u32::from(count);
                while bit >= 8 {
                    bit -= 8;
                    out.push((held >> bit).to_le_bytes()[0]);
                    held &= (1 << bit) - 1;
                }
            }
            Width::Address => crate::sample::address(next).write(out),
            Width::Rest => {
                let count = if field.name == "colour" { next() & 1 } else { data };
                out.extend((0..count).map(|_| next().to_le_bytes()[0]));
            }
        }
    }
}
