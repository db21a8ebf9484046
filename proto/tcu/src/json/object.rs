//! An object that is read by the names of its members, and one that is written.

use super::SPEC;
use ber::json::{Text, hex, string};
use bytes::Bytes;
use core::fmt::Write as _;
use m3ua::codec::PointCode;
use wire::Malformed;

/// Members of one object, at most: more than any has.
const MEMBERS_MAX: usize = 32;

/// The members of an object, each with its place.
pub(super) struct Object<'a> {
    pub(super) at: usize,
    members: Vec<(String, Text<'a>)>,
    used: u32,
}

impl<'a> Object<'a> {
    /// Reads names and places; `text` goes on behind the object.
    pub(super) fn read(text: &mut Text<'a>) -> Result<Self, Malformed> {
        text.peek();
        let mut members: Vec<(String, Text<'a>)> = Vec::new();
        let at = text.at();
        text.members(|text, name| {
            if members.len() == MEMBERS_MAX {
                return Err(Malformed::new(text.at(), "too many members", SPEC));
            }
            if members.iter().any(|it| it.0 == name) {
                return Err(Malformed::new(text.at(), "a member stands here twice", SPEC));
            }
            text.peek();
            members.push((name.to_owned(), *text));
            text.skip()
        })?;
        Ok(Self { at, members, used: 0 })
    }

    pub(super) const fn violation(&self, what: &'static str) -> Malformed {
        Malformed::new(self.at, what, SPEC)
    }

    /// The place of a member; it counts as read.
    pub(super) fn find(&mut self, name: &str) -> Option<Text<'a>> {
        let index = self.members.iter().position(|it| it.0 == name)?;
        self.used |= 1 << index;
        Some(self.members[index].1)
    }

    pub(super) fn need(&mut self, name: &str, what: &'static str) -> Result<Text<'a>, Malformed> {
        self.find(name).ok_or_else(|| self.violation(what))
    }

    pub(super) fn string(&mut self, name: &str) -> Result<Option<String>, Malformed> {
        let Some(mut text) = self.find(name) else { return Ok(None) };
        text.string().map(|it| Some(it.into_owned()))
    }

    pub(super) fn boolean(&mut self, name: &str) -> Result<Option<bool>, Malformed> {
        let Some(mut text) = self.find(name) else { return Ok(None) };
        text.boolean().map(Some)
    }

    /// An integer that has room in its type.
    pub(super) fn number<T: TryFrom<i64>>(&mut self, name: &str) -> Result<Option<T>, Malformed> {
        let Some(mut text) = self.find(name) else { return Ok(None) };
        let at = text.at();
        let number = text.integer()?;
        let number = T::try_from(number).map_err(|_| Malformed::new(at, "out of range", SPEC))?;
        Ok(Some(number))
    }

    pub(super) fn need_number<T: TryFrom<i64>>(
        &mut self,
        name: &str,
        what: &'static str,
    ) -> Result<T, Malformed> {
        self.number(name)?.ok_or_else(|| self.violation(what))
    }

    /// A point code of up to that many bits, in either way.
    pub(super) fn point_code(
        &mut self,
        name: &str,
        bits: u32,
    ) -> Result<Option<PointCode>, Malformed> {
        let Some(mut text) = self.find(name) else { return Ok(None) };
        let wrong = Malformed::new(text.at(), "no point code: write 4899 or \"2-100-3\"", SPEC);
        let found = match text.peek() {
            Some(b'"') => point_code_of(&text.string()?),
            _ => {
                let number = u32::try_from(text.integer()?).ok().filter(|it| *it < 1 << bits);
                number.and_then(PointCode::new)
            }
        };
        found.map(Some).ok_or(wrong)
    }

    pub(super) fn octets(&mut self, name: &str) -> Result<Option<Bytes>, Malformed> {
        let Some(mut text) = self.find(name) else { return Ok(None) };
        text.hex().map(|it| Some(it.into()))
    }

    /// Nothing is there that was not read.
    pub(super) fn end(&self) -> Result<(), Malformed> {
        let unknown = self.members.iter().enumerate().find(|(n, _)| self.used & 1 << n == 0);
        match unknown {
            None => Ok(()),
            Some((_, (_, place))) => Err(Malformed::new(place.at(), "no such member here", SPEC)),
        }
    }
}

/// Bits of a point code of ITU-T, which addresses of SCCP have (Q.713 §3.4.2.1).
pub(super) const ITU_BITS: u32 = 14;

/// How point codes are written in lines of JSON; both are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PointCodes {
    /// `4899`.
    #[default]
    Numbers,
    /// `"2-100-3"`: fields of 3, 8 and 3 bits (ITU-T Q.708).
    Fields,
}

/// A point code of 14 bits, by its number or by its fields.
fn point_code_of(text: &str) -> Option<PointCode> {
    let fields: Option<Vec<u32>> = text.split(['-', '.']).map(|it| it.parse().ok()).collect();
    match fields?[..] {
        [number @ ..=0x3fff] => PointCode::new(number),
        [zone @ ..=7, area @ ..=255, point @ ..=7] => {
            PointCode::new(zone << 11 | area << 3 | point)
        }
        _ => None,
    }
}

/// Writes an object, member by member.
pub(super) struct Members<'a> {
    pub(super) out: &'a mut String,
    is_first: bool,
    pub(super) point_codes: PointCodes,
}

impl<'a> Members<'a> {
    pub(super) fn begin(out: &'a mut String, point_codes: PointCodes) -> Self {
        out.push('{');
        Self { out, is_first: true, point_codes }
    }

    pub(super) fn end(self) {
        self.out.push('}');
    }

    /// A name; the value is written behind it.
    pub(super) fn name(&mut self, name: &str) -> &mut String {
        if !core::mem::take(&mut self.is_first) {
            self.out.push(',');
        }
        string(self.out, name);
        self.out.push(':');
        self.out
    }

    pub(super) fn string(&mut self, name: &str, value: &str) {
        string(self.name(name), value);
    }

    pub(super) fn number(&mut self, name: &str, value: impl core::fmt::Display) {
        let out = self.name(name);
        write!(out, "{value}").expect("a string takes whatever is written");
    }

    pub(super) fn point_code(&mut self, name: &str, it: PointCode) {
        let number = it.number();
        match self.point_codes {
            PointCodes::Fields if number < 1 << ITU_BITS => {
                let fields = (number >> 11, number >> 3 & 0xff, number & 7);
                self.string(name, &format!("{}-{}-{}", fields.0, fields.1, fields.2));
            }
            // What has more bits has no such fields.
            PointCodes::Numbers | PointCodes::Fields => self.number(name, number),
        }
    }

    pub(super) fn boolean(&mut self, name: &str, value: bool) {
        self.name(name).push_str(if value { "true" } else { "false" });
    }

    pub(super) fn octets(&mut self, name: &str, value: &[u8]) {
        hex(self.name(name), value.iter().copied());
    }

    /// Elements in brackets.
    pub(super) fn list<T>(
        &mut self,
        name: &str,
        all: impl Iterator<Item = T>,
        mut write: impl FnMut(T, &mut String),
    ) {
        let out = self.name(name);
        out.push('[');
        for (n, it) in all.enumerate() {
            if n > 0 {
                out.push(',');
            }
            write(it, out);
        }
        out.push(']');
    }
}
