//! BER to JSON.

use super::UNKNOWN;
use crate::element::Element;
use crate::string::Bits;
use crate::types::{Field, Shape, Size, Type};
use core::fmt::Write as _;
use wire::Malformed;

impl Type {
    /// Appends the value of this type that `element`, whatever its tag, holds.
    ///
    /// # Errors
    /// As [`Type::check`]; what was appended until then is no JSON.
    pub fn to_json(&self, element: &Element<'_>, out: &mut String) -> Result<(), Malformed> {
        match self.shape {
            Shape::Null => {
                element.null()?;
                out.push_str("null");
            }
            Shape::Boolean => out.push_str(if element.boolean()? { "true" } else { "false" }),
            Shape::Integer(..) => push(out, format_args!("{}", element.integer()?)),
            Shape::Enumerated { names, .. } => {
                let number = element.integer()?;
                match names.iter().find(|it| it.0 == number) {
                    Some((_, name)) => string(out, name),
                    None => push(out, format_args!("{number}")),
                }
            }
            Shape::Octets(_) => hex(out, element.octets()?.iter()),
            Shape::Text(..) => {
                self.check(element)?;
                let octets: Vec<u8> = element.octets()?.iter().collect();
                string(out, &String::from_utf8_lossy(&octets));
            }
            Shape::Bits(size) => bits(out, &element.bits()?, size),
            Shape::Oid => push(out, format_args!("\"{}\"", element.oid()?)),
            Shape::List(_, of, _) => list(of, element, out)?,
            Shape::Sequence { fields, .. } | Shape::Set { fields, .. } => {
                self.components(fields, element, out)?;
            }
            Shape::Choice { fields, .. } => self.alternative_to_json(fields, element, out)?,
            Shape::Any => hex(out, element.whole().iter().copied()),
        }
        Ok(())
    }

    fn components(
        &self,
        fields: &[Field],
        element: &Element<'_>,
        out: &mut String,
    ) -> Result<(), Malformed> {
        let mut written = Ok(());
        let mut comma = Comma::begin(out, '{');
        let mut each = |index: usize, value: Element<'_>| {
            if written.is_ok() {
                let out = comma.next();
                name(out, fields[index].name);
                written = fields[index].kind.to_json(&value, out);
            }
        };
        match self.shape {
            Shape::Set { is_extensible, .. } => {
                self.set(fields, is_extensible, element, &mut each)?;
            }
            _ => {
                let is_extensible =
                    matches!(self.shape, Shape::Sequence { is_extensible: true, .. });
                self.sequence(fields, is_extensible, element, &mut each)?;
            }
        }
        written?;
        let is_unknown = |it: &Element<'_>| !fields.iter().any(|field| field.begins_with(it.tag()));
        let mut unknown = element.children()?.flatten().filter(is_unknown).peekable();
        if unknown.peek().is_some() {
            let out = comma.next();
            name(out, UNKNOWN);
            let mut comma = Comma::begin(out, '[');
            for element in unknown {
                hex(comma.next(), element.whole().iter().copied());
            }
            comma.end(']');
        }
        comma.end('}');
        Ok(())
    }

    fn alternative_to_json(
        &self,
        fields: &[Field],
        element: &Element<'_>,
        out: &mut String,
    ) -> Result<(), Malformed> {
        let found = self.alternative(element)?;
        out.push('{');
        match found {
            Some((index, value)) => {
                name(out, fields[index].name);
                fields[index].kind.to_json(&value, out)?;
            }
            None => {
                name(out, UNKNOWN);
                hex(out, element.whole().iter().copied());
            }
        }
        out.push('}');
        Ok(())
    }
}

fn list(of: &Type, element: &Element<'_>, out: &mut String) -> Result<(), Malformed> {
    let mut comma = Comma::begin(out, '[');
    for child in element.children()? {
        let child = child?;
        of.check_tagged(&child)?;
        of.to_json(&child, comma.next())?;
    }
    comma.end(']');
    Ok(())
}

fn bits(out: &mut String, bits: &Bits<'_>, size: Size) {
    if size.min == size.max {
        return hex(out, bits.octets());
    }
    out.push_str("{\"value\":");
    hex(out, bits.octets());
    push(out, format_args!(",\"length\":{}}}", bits.len()));
}

/// Puts a comma in front of all but the first.
struct Comma<'a> {
    out: &'a mut String,
    is_first: bool,
}

impl<'a> Comma<'a> {
    fn begin(out: &'a mut String, bracket: char) -> Self {
        out.push(bracket);
        Self { out, is_first: true }
    }

    fn next(&mut self) -> &mut String {
        if !core::mem::take(&mut self.is_first) {
            self.out.push(',');
        }
        self.out
    }

    fn end(self, bracket: char) {
        self.out.push(bracket);
    }
}

fn push(out: &mut String, text: core::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes whatever is written");
}

fn name(out: &mut String, name: &str) {
    string(out, name);
    out.push(':');
}

/// Appends octets as a string of hexadecimal digits.
pub fn hex(out: &mut String, octets: impl Iterator<Item = u8>) {
    let digit = |number: u8| char::from(b"0123456789abcdef"[usize::from(number & 0xf)]);
    out.push('"');
    for octet in octets {
        out.push(digit(octet >> 4));
        out.push(digit(octet));
    }
    out.push('"');
}

/// Appends a string with what has to be escaped (RFC 8259 §7).
pub fn string(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\u{0}'..'\u{20}' => push(out, format_args!("\\u{:04x}", u32::from(letter))),
            _ => out.push(letter),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_string_must_not_hold_is_escaped() {
        let mut out = String::new();
        string(&mut out, "a\"\\\n\u{1f}é");
        assert_eq!(out, r#""a\"\\\u000a\u001fé""#);
    }
}
