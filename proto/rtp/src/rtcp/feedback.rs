//! Feedback (RFC 4585 §6.1, RFC 5104): what lacks and what is wanted. A format that is not known
//! passes as octets.

use super::frame::{PacketType, Raw, begin, end};
use crate::words::Words;
use wire::{Cursor, Malformed};

wire::rows! {
    /// The formats of feedback about packets.
    pub enum TransportFormat: u8 {
        /// Packets that lack.
        Nack = 1, "Generic NACK", "RFC 4585 §6.2.1";
        /// The most that may be sent.
        Tmmbr = 3, "TMMBR", "RFC 5104 §4.2.1";
        /// What bounds what is sent.
        Tmmbn = 4, "TMMBN", "RFC 5104 §4.2.2";
        /// A sender report is wanted at once.
        Srreq = 5, "RTCP-SR-REQ", "RFC 6051 §3.1";
        /// When each packet came, for congestion control.
        TransportWide = 15, "Transport-wide congestion control",
            "draft-holmer-rmcat-transport-wide-cc-extensions-01 §3.1";
    }
}

wire::rows! {
    /// The formats of feedback about the payload.
    pub enum PayloadFormat: u8 {
        /// A picture was lost.
        Pli = 1, "PLI", "RFC 4585 §6.3.1";
        /// Macroblocks were lost.
        Sli = 2, "SLI", "RFC 4585 §6.3.2";
        /// Which reference picture to use.
        Rpsi = 3, "RPSI", "RFC 4585 §6.3.3";
        /// A whole picture is wanted.
        Fir = 4, "FIR", "RFC 5104 §4.3.1";
        /// What an application defines: REMB among others.
        ApplicationLayer = 15, "AFB", "RFC 4585 §6.4";
    }
}

const SPEC: &str = "RFC 4585 §6.1";
const REMB_SPEC: &str = "draft-alvestrand-rmcat-remb-03 §2.2";
const REMB: [u8; 4] = *b"REMB";
/// What the mantissa of a REMB holds: 18 bits.
const MANTISSA_MAX: u64 = (1 << 18) - 1;

/// Feedback about packets or about the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback<'a> {
    /// The format: [`TransportFormat`] or [`PayloadFormat`] have those that are known.
    pub format: u8,
    /// Who gives it.
    pub sender: u32,
    /// The stream that it is about; zero where the information names them.
    pub media: u32,
    /// The feedback control information.
    pub information: &'a [u8],
}

impl<'a> Feedback<'a> {
    pub(super) fn read(raw: &Raw<'a>) -> Result<Self, Malformed> {
        let mut cursor = raw.cursor(SPEC);
        let sender = cursor.be32("the sender is cut off")?;
        let media = cursor.be32("the stream is cut off")?;
        Ok(Self { format: raw.count, sender, media, information: cursor.rest() })
    }

    /// Appends it, as feedback about packets or about the payload.
    pub fn write(&self, kind: PacketType, out: &mut Vec<u8>) {
        let start = begin(kind, usize::from(self.format), out);
        out.extend_from_slice(&self.sender.to_be_bytes());
        out.extend_from_slice(&self.media.to_be_bytes());
        out.extend_from_slice(self.information);
        end(start, out);
    }

    /// The packets that lack, of a Generic NACK ([`TransportFormat::Nack`]).
    pub fn missing(&self) -> impl Iterator<Item = u16> + use<'a> {
        Words::of(self.information).flat_map(|word| {
            let [p0, p1, b0, b1] = word.to_be_bytes();
            let (first, bits) = (u16::from_be_bytes([p0, p1]), u16::from_be_bytes([b0, b1]));
            let more = (0..16).filter(move |bit| bits & 1 << bit != 0);
            core::iter::once(first).chain(more.map(move |bit| first.wrapping_add(bit + 1)))
        })
    }

    /// The requests for a whole picture, of a FIR ([`PayloadFormat::Fir`]): the stream, and the
    /// number of the request.
    pub fn picture_requests(&self) -> impl Iterator<Item = (u32, u8)> + use<'a> {
        let (entries, _) = self.information.as_chunks::<8>();
        entries
            .iter()
            .map(|&[s0, s1, s2, s3, number, ..]| (u32::from_be_bytes([s0, s1, s2, s3]), number))
    }

    /// The estimate of what a receiver can take; `None` if it is none.
    ///
    /// # Errors
    /// One that is cut off.
    pub fn bitrate(&self) -> Result<Option<Remb<'a>>, Malformed> {
        if self.format != PayloadFormat::ApplicationLayer.number() {
            return Ok(None);
        }
        // Behind the header, the sender and the stream.
        let mut cursor = Cursor::new(self.information, 12, REMB_SPEC);
        if self.information.first_chunk() != Some(&REMB) {
            return Ok(None);
        }
        let cut = "a REMB is cut off";
        cursor.be32(cut)?;
        let [count, rate @ ..] = cursor.array::<4>(cut)?;
        let [r0, r1, r2] = rate;
        let mantissa = u64::from(r0 & 3) << 16 | u64::from(u16::from_be_bytes([r1, r2]));
        let streams = Words::of(cursor.take(usize::from(count) * 4, cut)?);
        // 18 bits are shifted by 63 at most: what does not fit is more than anyone has.
        let bits = u128::from(mantissa) << (r0 >> 2);
        Ok(Some(Remb { bits_per_s: u64::try_from(bits).unwrap_or(u64::MAX), streams }))
    }
}

/// An estimate of what a receiver can take (REMB).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remb<'a> {
    /// Bits a second of all streams together. Written with 18 significant bits, rounded down.
    pub bits_per_s: u64,
    /// The streams.
    pub streams: Words<'a>,
}

impl Remb<'_> {
    /// Appends the information of feedback that says it. Of more than 255 streams the first are
    /// written.
    pub fn write_information(&self, out: &mut Vec<u8>) {
        let streams = self.streams.first(usize::from(u8::MAX));
        let exponent = (u64::BITS - self.bits_per_s.leading_zeros()).saturating_sub(18);
        let mantissa = (self.bits_per_s >> exponent).min(MANTISSA_MAX);
        let [.., m0, m1, m2] = mantissa.to_be_bytes();
        let exponent = u8::try_from(exponent).unwrap_or(63);
        out.extend_from_slice(&REMB);
        out.push(u8::try_from(streams.len() / 4).unwrap_or(u8::MAX));
        out.extend_from_slice(&[exponent << 2 | m0, m1, m2]);
        out.extend_from_slice(streams);
    }
}

/// Appends the information of a Generic NACK: packets that lack, in ascending order modulo 2^16.
pub fn write_missing(missing: impl IntoIterator<Item = u16>, out: &mut Vec<u8>) {
    let mut open: Option<(u16, u16)> = None;
    let mut put = |(first, bits): (u16, u16)| {
        out.extend_from_slice(&first.to_be_bytes());
        out.extend_from_slice(&bits.to_be_bytes());
    };
    for number in missing {
        match &mut open {
            Some((first, bits)) if (1..=16).contains(&number.wrapping_sub(*first)) => {
                *bits |= 1 << (number.wrapping_sub(*first) - 1);
            }
            _ => {
                open.replace((number, 0)).into_iter().for_each(&mut put);
            }
        }
    }
    open.into_iter().for_each(put);
}

/// Appends the entry of a FIR: the stream, and the number of the request, which changes with each
/// new one.
pub fn write_picture_request(ssrc: u32, number: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&ssrc.to_be_bytes());
    out.extend_from_slice(&[number, 0, 0, 0]);
}
