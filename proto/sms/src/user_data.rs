//! TP-UD: user data, their header and their text (TS 23.040 §9.2.3.24).

use crate::alphabet::{Alphabet, Septets, pack, packed_octets};
use crate::coding::{Characters, Coding};
use crate::header::{self, Header};
use core::fmt;
use wire::Malformed;

/// Octets of the user data of a message (TS 23.040 §9.2.3.16).
pub const OCTETS_MAX: usize = 140;

/// User data as they stand in a TPDU: TP-UDL and TP-UD, with what else says how to read them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UserData<'a> {
    /// TP-DCS.
    pub coding: Coding,
    /// TP-UDHI.
    pub has_header: bool,
    /// TP-UDL: septets or octets.
    pub length: u8,
    /// TP-UD.
    pub octets: &'a [u8],
}

impl<'a> UserData<'a> {
    /// The octets that TP-UDL says there are.
    #[must_use]
    pub const fn octets_of(coding: Coding, length: u8) -> usize {
        let length = length as usize;
        if coding.counts_septets() { packed_octets(length, 0) } else { length }
    }

    /// The header; one without elements where TP-UDHI says that there is none.
    ///
    /// # Errors
    /// As [`Header::read`].
    pub fn header(&self) -> Result<Header<'a>, Malformed> {
        if self.has_header { Header::read(self.octets) } else { Ok(Header::default()) }
    }

    /// Octets of the header, and bits behind it up to the next septet.
    fn begin(&self, header: &Header<'_>) -> (usize, usize) {
        let octets = if self.has_header { header.octets() } else { 0 };
        (octets, fill_bits(octets))
    }

    /// What follows the header, in octets; of septets, with the fill bits before them.
    ///
    /// # Errors
    /// As [`Header::read`].
    pub fn body(&self) -> Result<&'a [u8], Malformed> {
        let (octets, _) = self.begin(&self.header()?);
        Ok(self.octets.get(octets..).unwrap_or_default())
    }

    /// The text, if it is one: not in octets that only the receiver understands, nor compressed.
    ///
    /// # Errors
    /// As [`Header::read`].
    pub fn text(&self) -> Result<Option<String>, Malformed> {
        let header = self.header()?;
        let (octets, fill) = self.begin(&header);
        let body = self.octets.get(octets..).unwrap_or_default();
        if self.coding.is_compressed() {
            return Ok(None);
        }
        Ok(match self.coding.characters() {
            Characters::Octets => None,
            Characters::Ucs2 => {
                let units = body.chunks(2).map(|it| match it {
                    &[high, low] => u16::from_be_bytes([high, low]),
                    _ => 0xfffd,
                });
                let letters = char::decode_utf16(units);
                Some(letters.map(|it| it.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
            }
            Characters::Gsm7 => {
                let before = (octets * 8 + fill) / 7;
                let count = usize::from(self.length).saturating_sub(before);
                Some(header.alphabet().decode(Septets::new(body, fill, count)))
            }
        })
    }
}

/// Without the text, as a log may have it.
impl fmt::Debug for UserData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("UserData");
        out.field("coding", &self.coding).field("has_header", &self.has_header);
        out.field("length", &self.length).finish_non_exhaustive()
    }
}

/// Bits behind a header of so many octets, its length among them, up to the next septet
/// (TS 23.040 §9.2.3.24).
const fn fill_bits(octets: usize) -> usize {
    (7 - octets * 8 % 7) % 7
}

/// User data that are made: TP-UDL, and TP-UD.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Made {
    /// TP-UDL.
    pub length: u8,
    /// TP-UD.
    pub octets: Vec<u8>,
}

/// Without the text, as a log may have it.
impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Made").field("length", &self.length).finish_non_exhaustive()
    }
}

impl Made {
    /// User data with a text behind the octets of a header, length and all, which may be none; none
    /// if the alphabet has not all of its characters, or TP-UDL cannot say how many they are.
    #[must_use]
    pub fn text(coding: Coding, header: &[u8], text: &str) -> Option<Self> {
        if coding.is_compressed() {
            return None;
        }
        match coding.characters() {
            Characters::Octets => None,
            Characters::Ucs2 => {
                let body: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
                Self::octets(header, &body)
            }
            Characters::Gsm7 => {
                let alphabet = match header.is_empty() {
                    true => Alphabet::DEFAULT,
                    false => Header::read(header).ok()?.alphabet(),
                };
                Self::septets(header, &alphabet.septets(text)?)
            }
        }
    }

    /// User data of octets behind a header; none if TP-UDL cannot say how many they are.
    #[must_use]
    pub fn octets(header: &[u8], body: &[u8]) -> Option<Self> {
        let length = u8::try_from(header.len() + body.len()).ok()?;
        Some(Self { length, octets: [header, body].concat() })
    }

    /// User data of septets behind a header, likewise.
    #[must_use]
    pub fn septets(header: &[u8], septets: &[u8]) -> Option<Self> {
        let fill = fill_bits(header.len());
        let before = (header.len() * 8 + fill) / 7;
        let length = u8::try_from(before + septets.len()).ok()?;
        let mut octets = header.to_vec();
        // A header alone has no fill bits that TP-UDL would not count.
        pack(septets, if septets.is_empty() { 0 } else { fill }, &mut octets);
        octets.resize(packed_octets(usize::from(length), 0), 0);
        Some(Self { length, octets })
    }

    /// As it is read.
    #[must_use]
    pub fn as_read(&self, coding: Coding, has_header: bool) -> UserData<'_> {
        UserData { coding, has_header, length: self.length, octets: &self.octets }
    }
}

/// Appends the octets of a header with these elements; see [`header::write`].
#[must_use]
pub fn header_of<'a>(elements: impl IntoIterator<Item = (u8, &'a [u8])>) -> Option<Vec<u8>> {
    let mut octets = Vec::new();
    header::write(elements, &mut octets).then_some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alphabet::Language;

    #[test]
    fn a_text_comes_back_behind_any_header_and_in_any_alphabet() {
        for pad in 0..8 {
            let language = [Language::Turkish.number()];
            let padding = vec![1u8; pad];
            let header =
                header_of([(0x70, &padding[..]), (0x24, &language[..]), (0x25, &language[..])]);
            let header = header.unwrap();
            for text in ["", "a", "İyi günler ışığı", "{€}", "12345678"] {
                let made = Made::text(Coding::GSM7, &header, text).unwrap();
                let read = made.as_read(Coding::GSM7, true);
                assert_eq!(UserData::octets_of(Coding::GSM7, made.length), made.octets.len());
                assert_eq!(read.text().unwrap().as_deref(), Some(text));
                let made = Made::text(Coding::UCS2, &header, text).unwrap();
                assert_eq!(made.as_read(Coding::UCS2, true).text().unwrap().as_deref(), Some(text));
            }
        }
        let made = Made::text(Coding::UCS2, &[], "a😀").unwrap();
        assert_eq!(made.octets, [0, 0x61, 0xd8, 0x3d, 0xde, 0x00]);
        assert_eq!(Made::text(Coding::GSM7, &[], "я"), None);
        let halves = UserData { octets: &[0xd8, 0x3d, 0], ..made.as_read(Coding::UCS2, false) };
        assert_eq!(halves.text().unwrap().as_deref(), Some("\u{fffd}\u{fffd}"));
    }

    #[test]
    fn a_log_has_lengths_and_no_text() {
        use crate::rp;
        use crate::{Address, Kind, Parameter, RpAddress, Time, Tpdu, Value};
        let made = Made::octets(&[], &[201, 202, 203]).unwrap();
        let data = made.as_read(Coding::OCTETS, false);
        let number = Address::international("447700900123").unwrap();
        let tpdu = Tpdu::new(Kind::Deliver)
            .with(Parameter::OriginatingAddress, Value::Address(number))
            .with(Parameter::ServiceCentreTime, Value::Time(Time::of_unix(0, 0)))
            .with(Parameter::UserData, Value::UserData(data))
            .with(Parameter::CommandData, Value::Octets(&[201, 202]));
        let mut octets = Vec::new();
        tpdu.write(&mut octets).unwrap();
        let message =
            rp::Message::to_terminal(7, RpAddress::international("4477").unwrap(), &octets);
        let text = format!("{made:?} {tpdu:?} {message:?}");
        assert!(!text.contains("20") && !text.contains("4477"), "{text}");
        assert!(text.contains("length: 3") && text.contains("reference: 7"), "{text}");
    }
}
