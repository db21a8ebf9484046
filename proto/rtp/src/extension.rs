//! The header extension (RFC 3550 §5.3.1) and the elements that share it (RFC 8285).

use wire::{Cursor, Malformed};

/// The profile of elements with a header of one octet (RFC 8285 §4.2).
pub const ONE_BYTE: u16 = 0xBEDE;
/// The profile of elements with a header of two octets; the lower four bits are the application's
/// (RFC 8285 §4.3).
pub const TWO_BYTE: u16 = 0x1000;

const APPLICATION_BITS: u16 = 0x000F;
const ONE_BYTE_SPEC: &str = "RFC 8285 §4.2";
const TWO_BYTE_SPEC: &str = "RFC 8285 §4.3";
/// Octets of an element with a header of one octet at most.
const ONE_BYTE_DATA_MAX: usize = 16;
/// The largest identifier with a header of one octet; 15 ends the elements.
const ONE_BYTE_ID_MAX: u8 = 14;

/// A header extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension<'a> {
    /// What the profile defines: of RFC 8285 [`ONE_BYTE`] or [`TWO_BYTE`].
    pub profile: u16,
    /// Its octets, a multiple of four.
    pub data: &'a [u8],
    /// Where they begin in the packet.
    at: usize,
}

impl<'a> Extension<'a> {
    /// An extension of that profile; `data` is written with zeros up to a multiple of four.
    #[must_use]
    pub const fn new(profile: u16, data: &'a [u8]) -> Self {
        Self { profile, data, at: 0 }
    }

    pub(crate) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let cut = "the header extension is cut off";
        let profile = cursor.be16(cut)?;
        let length = usize::from(cursor.be16(cut)?) * 4;
        let at = cursor.at();
        Ok(Self { profile, data: cursor.take(length, cut)?, at })
    }

    /// Appends it; one of more than 65,535 words is left empty.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let (words, data) = match u16::try_from(self.data.len().div_ceil(4)) {
            Ok(words) => (words, self.data),
            Err(_) => (0, &[][..]),
        };
        out.extend_from_slice(&self.profile.to_be_bytes());
        out.extend_from_slice(&words.to_be_bytes());
        out.extend_from_slice(data);
        out.resize(out.len() + data.len().next_multiple_of(4) - data.len(), 0);
    }

    /// The elements of RFC 8285; none where the profile is another.
    #[must_use]
    pub fn elements(&self) -> Elements<'a> {
        let (form, data) = match self.profile {
            ONE_BYTE => (Form::OneByte, self.data),
            it if it & !APPLICATION_BITS == TWO_BYTE => (Form::TwoByte, self.data),
            _ => (Form::OneByte, &[][..]),
        };
        Elements { form, rest: Cursor::new(data, self.at, form.spec()) }
    }
}

/// How the header of an element is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Identifiers 1 to 14, 1 to 16 octets of data.
    OneByte,
    /// Identifiers 1 to 255, 0 to 255 octets of data.
    TwoByte,
}

impl Form {
    const fn spec(self) -> &'static str {
        match self {
            Self::OneByte => ONE_BYTE_SPEC,
            Self::TwoByte => TWO_BYTE_SPEC,
        }
    }
}

/// An element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// The identifier that `a=extmap` gave it (RFC 8285 §5).
    pub id: u8,
    /// Its data.
    pub data: &'a [u8],
}

impl Element<'_> {
    /// Appends it; whether the form can say it.
    pub fn write(&self, form: Form, out: &mut Vec<u8>) -> bool {
        match (form, u8::try_from(self.data.len())) {
            (Form::OneByte, Ok(length @ 1..))
                if usize::from(length) <= ONE_BYTE_DATA_MAX
                    && (1..=ONE_BYTE_ID_MAX).contains(&self.id) =>
            {
                out.push(self.id << 4 | (length - 1));
            }
            (Form::TwoByte, Ok(length)) if self.id > 0 => out.extend_from_slice(&[self.id, length]),
            _ => return false,
        }
        out.extend_from_slice(self.data);
        true
    }
}

/// The elements of an extension, one after the other; what is malformed is the last item.
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    form: Form,
    rest: Cursor<'a>,
}

impl<'a> Elements<'a> {
    fn read(&mut self) -> Result<Option<Element<'a>>, Malformed> {
        let cut = "an element is cut off";
        while let Some(&first) = self.rest.rest().first() {
            self.rest.octet(cut)?;
            // A zero pads.
            if first == 0 {
                continue;
            }
            let (id, length) = match self.form {
                // Identifier 15 ends them, and its length is not looked at.
                Form::OneByte if first >> 4 > ONE_BYTE_ID_MAX => return Ok(None),
                Form::OneByte => (first >> 4, usize::from(first & 0x0F) + 1),
                Form::TwoByte => (first, usize::from(self.rest.octet(cut)?)),
            };
            if id == 0 {
                return Err(self.rest.violation("an element has the identifier of padding"));
            }
            return self.rest.take(length, cut).map(|data| Some(Element { id, data }));
        }
        Ok(None)
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.read();
        if !matches!(found, Ok(Some(_))) {
            self.rest = Cursor::new(&[], self.rest.at(), self.form.spec());
        }
        found.transpose()
    }
}
