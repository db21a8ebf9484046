//! From JSON to octets.

use super::{FLAGS, OCTETS, UNKNOWN};
use crate::codec::{AvpFlags, AvpWriter, DEPTH_MAX, Flags, Header, Writer};
use crate::dictionary::Dictionary;
use crate::row::{Kind, Row};
use ber::json::Text;
use std::net::IpAddr;
use wire::Malformed;

const UNKNOWN_NAME: &str = "no AVP of that name";

/// A number of 32 bits.
fn number(text: &mut Text<'_>) -> Result<u32, Malformed> {
    let before = *text;
    u32::try_from(text.integer()?).map_err(|_| before.violation("a number beyond 32 bits"))
}

impl Dictionary {
    /// The octets of a message that is written as JSON.
    ///
    /// # Errors
    /// Something is not as [`Dictionary::to_json`] writes it.
    pub fn from_json(&self, json: &str) -> Result<Vec<u8>, Malformed> {
        let mut text = Text::new(json);
        let flags = Flags::default();
        let mut header = Header { flags, command: 0, application: 0, hop_by_hop: 0, end_to_end: 0 };
        let (mut named, mut avps) = (None, Vec::new());
        text.members(|text, key| {
            match key {
                "command" if text.peek() == Some(b'"') => {
                    named = Some((*text, text.string()?.into_owned()));
                }
                "command" => header.command = number(text)?,
                "application" => header.application = self.application_in(text)?,
                FLAGS => {
                    let before = *text;
                    let read = Flags::of_letters(&text.string()?);
                    header.flags = read.ok_or_else(|| before.violation("no flags of a message"))?;
                }
                "hop-by-hop" => header.hop_by_hop = number(text)?,
                "end-to-end" => header.end_to_end = number(text)?,
                "avps" => self.read_list(text, 0, &mut avps)?,
                _ => return Err(text.violation("no part of a message")),
            }
            Ok(())
        })?;
        text.end()?;
        if let Some((place, name)) = named {
            let found = self.command_named(header.application, &name);
            header.command = found.ok_or_else(|| place.violation("no command of that name"))?;
        }
        let mut octets = Vec::new();
        let mut writer = Writer::begin(&mut octets, &header);
        writer.avps().copy(&avps);
        writer.end().map_err(|_| text.violation("a message that is too long"))?;
        Ok(octets)
    }

    fn application_in(&self, text: &mut Text<'_>) -> Result<u32, Malformed> {
        if text.peek() != Some(b'"') {
            return number(text);
        }
        let before = *text;
        let found = self.application_named(&text.string()?);
        found.map(|it| it.id).ok_or_else(|| before.violation("no application of that name"))
    }

    /// The code of a command by what its request or answer is called for short.
    fn command_named(&self, application: u32, name: &str) -> Option<u32> {
        let own = self.application(application);
        let all = own.into_iter().chain(self.applications().iter().copied());
        let mut commands = all.flat_map(|it| it.commands);
        commands.find(|it| it.request == name || it.answer == name).map(|it| it.code)
    }

    fn read_list(
        &self,
        text: &mut Text<'_>,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        text.elements(|text| self.read_avp(text, depth, out))
    }

    /// `{"Name":value}` with or without flags.
    fn read_avp(
        &self,
        text: &mut Text<'_>,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        let (mut what, mut flags, mut data) = (None, None, Vec::new());
        text.members(|text, key| {
            if key == FLAGS {
                let before = *text;
                let read = flags_of(&text.string()?);
                flags = Some(read.ok_or_else(|| before.violation("no flags of an AVP"))?);
                return Ok(());
            }
            if what.is_some() {
                return Err(text.violation("a second AVP in one object"));
            }
            what = Some(match key.strip_prefix(UNKNOWN) {
                Some(numbers) => {
                    let read = numbers_of(numbers).ok_or_else(|| text.violation(UNKNOWN_NAME))?;
                    data = text.hex()?;
                    (read.0, read.1, 0)
                }
                None => {
                    let row = self.row_named(key).ok_or_else(|| text.violation(UNKNOWN_NAME))?;
                    self.read_data(text, row, depth, &mut data)?;
                    (row.vendor, row.code, row.flags())
                }
            });
            Ok(())
        })?;
        let (vendor, code, own) = what.ok_or_else(|| text.violation("an AVP lacks"))?;
        let flags = flags.unwrap_or(AvpFlags(own));
        // A Vendor-Id of zero is one of the IETF, as none is (RFC 6733 §4.1).
        if vendor != 0 && !flags.has(AvpFlags::VENDOR) {
            return Err(text.violation("V and the vendor do not go together"));
        }
        AvpWriter::new(out).raw(code, vendor, flags, &data);
        Ok(())
    }

    fn read_data(
        &self,
        text: &mut Text<'_>,
        row: &Row,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        if text.peek() == Some(b'{') {
            return text.members(|text, key| match key {
                OCTETS => text.hex().map(|octets| *out = octets),
                _ => Err(text.violation("neither a value nor its octets")),
            });
        }
        let before = *text;
        match &row.kind {
            Kind::OctetString | Kind::Float32 | Kind::Float64 => *out = text.hex()?,
            Kind::Unsigned32 => out.extend(number(text)?.to_be_bytes()),
            Kind::Integer32 => out.extend(signed(text)?.to_be_bytes()),
            Kind::Integer64 => out.extend(text.integer()?.to_be_bytes()),
            Kind::Unsigned64 => {
                let number = u64::try_from(text.integer()?);
                let number = number.map_err(|_| before.violation("a number below zero"))?;
                out.extend(number.to_be_bytes());
            }
            Kind::Time => {
                let octets = crate::codec::time_octets(text.integer()?);
                let octets = octets.ok_or_else(|| before.violation("a time before 1968"))?;
                out.extend(octets);
            }
            Kind::Address => {
                let address: Result<IpAddr, _> = text.string()?.parse();
                let address = address.map_err(|_| before.violation("no IP address"))?;
                let (octets, length) = crate::codec::address_octets(address);
                out.extend_from_slice(&octets[..length]);
            }
            Kind::Utf8String | Kind::DiameterIdentity | Kind::DiameterUri | Kind::IpFilterRule => {
                out.extend_from_slice(text.string()?.as_bytes())
            }
            Kind::Enumerated(names) if text.peek() == Some(b'"') => {
                let name = text.string()?;
                let found = names.iter().find(|it| it.1 == name);
                let found = found.ok_or_else(|| before.violation("no value of that name"))?;
                out.extend(found.0.to_be_bytes());
            }
            Kind::Enumerated(_) => out.extend(signed(text)?.to_be_bytes()),
            Kind::Grouped(_) if depth >= DEPTH_MAX => return Err(text.violation("too deep")),
            Kind::Grouped(_) => self.read_list(text, depth + 1, out)?,
        }
        Ok(())
    }
}

fn signed(text: &mut Text<'_>) -> Result<i32, Malformed> {
    let before = *text;
    i32::try_from(text.integer()?).map_err(|_| before.violation("a number beyond 32 bits"))
}

/// `10415:9999` or `9999`.
fn numbers_of(text: &str) -> Option<(u32, u32)> {
    match text.split_once(':') {
        Some((vendor, code)) => Some((vendor.parse().ok()?, code.parse().ok()?)),
        None => Some((0, text.parse().ok()?)),
    }
}

fn flags_of(letters: &str) -> Option<AvpFlags> {
    let flag = |letter| match letter {
        'V' => Some(AvpFlags::VENDOR),
        'M' => Some(AvpFlags::MANDATORY),
        'P' => Some(AvpFlags::PROTECTED),
        _ => None,
    };
    letters.chars().try_fold(0, |all, letter| Some(all | flag(letter)?)).map(AvpFlags)
}
