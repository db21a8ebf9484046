//! Sources that leave (RFC 3550 §6.6), and packets that an application defines (§6.7).

use super::frame::{PacketType, Raw, begin, end};
use crate::words::Words;
use wire::Malformed;

/// Sources of a packet at most: the count has five bits.
pub const SOURCES_MAX: usize = 31;
/// Octets of a reason at most.
const REASON_BYTES_MAX: usize = 255;

/// Sources leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goodbye<'a> {
    /// Those that leave.
    pub sources: Words<'a>,
    /// Why, if it is said.
    pub reason: Option<&'a [u8]>,
}

impl<'a> Goodbye<'a> {
    pub(super) fn read(raw: &Raw<'a>) -> Result<Self, Malformed> {
        let mut cursor = raw.cursor(PacketType::Goodbye.spec());
        let sources = usize::from(raw.count) * 4;
        let sources = Words::of(cursor.take(sources, "the sources are cut off")?);
        let reason = match cursor.is_empty() {
            true => None,
            false => {
                let length = cursor.octet("the reason is cut off")?;
                Some(cursor.take(usize::from(length), "the reason is cut off")?)
            }
        };
        Ok(Self { sources, reason })
    }

    /// Appends it: of more than [`SOURCES_MAX`] sources the first, of a reason of more than 255
    /// octets the beginning.
    pub fn write(&self, out: &mut Vec<u8>) {
        let sources = self.sources.first(SOURCES_MAX);
        let start = begin(PacketType::Goodbye, sources.len() / 4, out);
        out.extend_from_slice(sources);
        if let Some(reason) = self.reason {
            let reason = &reason[..reason.len().min(REASON_BYTES_MAX)];
            out.push(u8::try_from(reason.len()).unwrap_or(u8::MAX));
            out.extend_from_slice(reason);
        }
        end(start, out);
    }
}

/// What an application defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Application<'a> {
    /// What it parts its packets by, 0 to 31.
    pub subtype: u8,
    /// Who sends it.
    pub ssrc: u32,
    /// The application's name, of ASCII.
    pub name: [u8; 4],
    /// What only it understands; written with zeros up to a multiple of four octets.
    pub data: &'a [u8],
}

impl<'a> Application<'a> {
    pub(super) fn read(raw: &Raw<'a>) -> Result<Self, Malformed> {
        let mut cursor = raw.cursor(PacketType::Application.spec());
        let ssrc = cursor.be32("the source is cut off")?;
        let name = cursor.array("the name is cut off")?;
        Ok(Self { subtype: raw.count, ssrc, name, data: cursor.rest() })
    }

    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = begin(PacketType::Application, usize::from(self.subtype), out);
        out.extend_from_slice(&self.ssrc.to_be_bytes());
        out.extend_from_slice(&self.name);
        out.extend_from_slice(self.data);
        end(start, out);
    }
}
