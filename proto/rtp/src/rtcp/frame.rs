//! The header of an RTCP packet, and packets that travel together (RFC 3550 §6.1, RFC 5506).

use crate::packet::VERSION;
use wire::{Cursor, Malformed};

/// Octets of the header that all packets have.
pub const HEADER_BYTES: usize = 4;
/// What the count of a header holds at most.
const COUNT_MAX: usize = 31;

const SPEC: &str = "RFC 3550 §6.1";
const PADDING: u8 = 0x20;
const COUNT: u8 = 0x1F;

wire::rows! {
    /// The packet types.
    pub enum PacketType: u8 {
        /// What a sender says.
        SenderReport = 200, "SR", "RFC 3550 §6.4.1";
        /// What a receiver says.
        ReceiverReport = 201, "RR", "RFC 3550 §6.4.2";
        /// Who is behind a source.
        SourceDescription = 202, "SDES", "RFC 3550 §6.5";
        /// Sources leave.
        Goodbye = 203, "BYE", "RFC 3550 §6.6";
        /// What an application defines.
        Application = 204, "APP", "RFC 3550 §6.7";
        /// Feedback about packets.
        TransportFeedback = 205, "RTPFB", "RFC 4585 §6.2";
        /// Feedback about the payload.
        PayloadFeedback = 206, "PSFB", "RFC 4585 §6.3";
        /// Extended reports.
        ExtendedReport = 207, "XR", "RFC 3611 §2";
    }
}

/// Which packets may travel together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A report comes first (RFC 3550 §6.1).
    Compound,
    /// Anything may come first, as `a=rtcp-rsize` allows (RFC 5506 §3).
    ReducedSize,
}

/// A packet whose length is checked and whose inside is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw<'a> {
    /// The packet type, of which [`PacketType`] has those that are known.
    pub number: u8,
    /// The five bits that count reports, sources, or say the format.
    pub count: u8,
    /// What follows the header, without padding.
    pub body: &'a [u8],
    /// Where the packet begins in the datagram.
    pub at: usize,
}

impl<'a> Raw<'a> {
    pub(crate) const fn cursor(&self, spec: &'static str) -> Cursor<'a> {
        Cursor::new(self.body, self.at + HEADER_BYTES, spec)
    }

    /// Takes the packet that begins there, and says whether it is padded.
    fn take(cursor: &mut Cursor<'a>) -> Result<(Self, bool), Malformed> {
        let at = cursor.at();
        let [first, number, l0, l1] = cursor.array("the header of a packet is cut off")?;
        if first >> 6 != VERSION {
            return Err(Malformed::new(at, "the version is not 2", SPEC));
        }
        let length = usize::from(u16::from_be_bytes([l0, l1])) * 4;
        let mut body = cursor.take(length, "a packet is cut off")?;
        let is_padded = first & PADDING != 0;
        if is_padded {
            let padding = usize::from(body.last().copied().unwrap_or(0));
            if padding == 0 || !padding.is_multiple_of(4) || padding > body.len() {
                return Err(Malformed::new(at, "the padding has no such length", SPEC));
            }
            body = &body[..body.len() - padding];
        }
        Ok((Self { number, count: first & COUNT, body, at }, is_padded))
    }
}

/// The packets of a datagram: version, lengths, padding and the first of them are checked
/// (RFC 3550 A.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compound<'a> {
    datagram: &'a [u8],
    at: usize,
}

impl<'a> Compound<'a> {
    /// The packets of a datagram.
    ///
    /// # Errors
    /// Another version, a packet that is cut off, padding of another than the last one, and of
    /// [`Form::Compound`] one that does not begin with a report.
    pub fn read(datagram: &'a [u8], form: Form) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(datagram, 0, SPEC);
        let mut is_padded = false;
        loop {
            let at = cursor.at();
            if is_padded {
                return Err(Malformed::new(at, "a packet follows one with padding", SPEC));
            }
            let raw;
            (raw, is_padded) = Raw::take(&mut cursor)?;
            let is_report = matches!(
                PacketType::of(raw.number),
                Some(PacketType::SenderReport | PacketType::ReceiverReport)
            );
            if at == 0 && form == Form::Compound && !is_report {
                return Err(Malformed::new(1, "the first packet is no report", SPEC));
            }
            if cursor.is_empty() {
                return Ok(Self { datagram, at: 0 });
            }
        }
    }
}

impl<'a> Iterator for Compound<'a> {
    type Item = Raw<'a>;

    fn next(&mut self) -> Option<Raw<'a>> {
        let mut cursor = Cursor::new(self.datagram.get(self.at..)?, self.at, SPEC);
        let (raw, _) = Raw::take(&mut cursor).ok()?;
        self.at = cursor.at();
        Some(raw)
    }
}

/// Begins a packet whose length [`end`] sets; gives the offset where it begins. A count of more
/// than 31 is written as 31: who writes holds to it.
pub(crate) fn begin(kind: PacketType, count: usize, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    let count = u8::try_from(count.min(COUNT_MAX)).unwrap_or(COUNT);
    out.extend_from_slice(&[VERSION << 6 | count, kind.number(), 0, 0]);
    start
}

/// Ends the packet that began at `start`: with zeros up to a multiple of four octets.
pub(crate) fn end(start: usize, out: &mut Vec<u8>) {
    let length = out.len() - start;
    out.resize(start + length.next_multiple_of(4), 0);
    let words = u16::try_from(length.div_ceil(4) - 1).unwrap_or(u16::MAX);
    out[start + 2..start + 4].copy_from_slice(&words.to_be_bytes());
}
