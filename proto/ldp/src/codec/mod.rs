//! PDUs and messages (RFC 5036 §3).
//!
//! ```text
//! PDU     = version, 2 · octets that follow, 2 · LDP identifier, 6 · messages
//! message = U type, 2 · octets that follow, 2 · message ID, 4 · TLVs
//! TLV     = U F type, 2 · octets of the value, 2 · value
//! ```

mod body;
mod fec;
mod status;
mod tlv;

pub use body::{Body, CommonHello, HelloBody, Initialization, LabelBody, Notification};
pub use fec::{Fec, Prefix, PseudowireFec, PseudowireId};
pub use status::StatusCode;
pub use tlv::{FaultTolerance, Tlv, TlvKind, Tlvs};

use std::net::Ipv4Addr;
use wire::{Cursor, Malformed};

/// Octets in front of what a PDU's length counts.
pub const PDU_HEAD_OCTETS: usize = 4;
/// The longest PDU before a session has agreed on another length (RFC 5036 §3.5.3).
pub const PDU_OCTETS_MAX: usize = 4_096;
const VERSION: u16 = 1;
const SPEC: &str = "RFC 5036 §3.1";

/// Who speaks: a router and its label space (RFC 5036 §2.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LdpId {
    /// The router.
    pub router: Ipv4Addr,
    /// 0: labels are the platform's.
    pub space: u16,
}

impl LdpId {
    /// The platform of a router.
    #[must_use]
    pub const fn of(router: Ipv4Addr) -> Self {
        Self { router, space: 0 }
    }

    pub(crate) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let what = "an LDP identifier is cut off";
        Ok(Self { router: cursor.be32(what)?.into(), space: cursor.be16(what)? })
    }

    fn octets(self) -> [u8; 6] {
        let ([a, b, c, d], [e, f]) = (self.router.octets(), self.space.to_be_bytes());
        [a, b, c, d, e, f]
    }
}

wire::rows! {
    /// Types of messages.
    pub enum MessageType: u16 {
        /// Something happened, or is refused.
        Notification = 0x0001, "Notification", "RFC 5036 §3.5.1";
        /// A neighbour is there.
        Hello = 0x0100, "Hello", "RFC 5036 §3.5.2";
        /// What a session shall be.
        Initialization = 0x0200, "Initialization", "RFC 5036 §3.5.3";
        /// The session lives.
        KeepAlive = 0x0201, "KeepAlive", "RFC 5036 §3.5.4";
        /// What can be done has changed.
        Capability = 0x0202, "Capability", "RFC 5561 §5";
        /// Own addresses.
        Address = 0x0300, "Address", "RFC 5036 §3.5.5";
        /// Addresses that are gone, or MAC addresses to forget.
        AddressWithdraw = 0x0301, "Address Withdraw", "RFC 5036 §3.5.6";
        /// A label.
        LabelMapping = 0x0400, "Label Mapping", "RFC 5036 §3.5.7";
        /// A label is asked for.
        LabelRequest = 0x0401, "Label Request", "RFC 5036 §3.5.8";
        /// A label shall not be used any more.
        LabelWithdraw = 0x0402, "Label Withdraw", "RFC 5036 §3.5.10";
        /// A label is not used any more.
        LabelRelease = 0x0403, "Label Release", "RFC 5036 §3.5.11";
        /// A label is asked for no more.
        LabelAbort = 0x0404, "Label Abort Request", "RFC 5036 §3.5.9";
    }
}

/// A message that was read as far as its head.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// Its type as it stands there, without the U bit.
    pub number: u16,
    /// U: who does not know it is silent about that.
    pub is_optional: bool,
    /// Its number.
    pub id: u32,
    /// Where its TLVs begin.
    pub at: usize,
    /// Its TLVs.
    pub tlvs: &'a [u8],
}

impl<'a> Message<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        let what = "a message is cut off";
        let word = cursor.be16(what)?;
        let length = usize::from(cursor.be16(what)?);
        let short = cursor.violation("a message is shorter than its head");
        if length < 4 {
            return Err(short);
        }
        let at = cursor.at() + 4;
        let mut body = Cursor::new(cursor.take(length, what)?, at - 4, SPEC);
        let id = body.be32(what)?;
        let is_optional = word & 0x8000 != 0;
        Ok(Self { number: word & 0x7FFF, is_optional, id, at, tlvs: body.rest() })
    }

    /// Its row, if it has one.
    #[must_use]
    pub const fn kind(&self) -> Option<MessageType> {
        MessageType::of(self.number)
    }
}

/// A PDU.
#[derive(Debug, Clone)]
pub struct Pdu<'a> {
    /// Who sent it.
    pub sender: LdpId,
    /// What it says.
    pub messages: Vec<Message<'a>>,
}

/// Octets of the PDU at the front of a stream; `None` as long as that is not known.
///
/// # Errors
/// When it is of another version, or longer than `most`, or shorter than its head.
pub fn pdu_octets(stream: &[u8], most: usize) -> Result<Option<usize>, Malformed> {
    let Some(head) = stream.get(..PDU_HEAD_OCTETS) else { return Ok(None) };
    let version = u16::from_be_bytes([head[0], head[1]]);
    let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
    if version != VERSION {
        return Err(Malformed::new(0, "another version", SPEC));
    }
    if length < 6 || length > most {
        return Err(Malformed::new(2, "a PDU of a length that none may have", SPEC));
    }
    Ok(Some(PDU_HEAD_OCTETS + length))
}

impl<'a> Pdu<'a> {
    /// Reads a PDU; what its messages say is not looked at.
    ///
    /// # Errors
    /// What is wrong.
    pub fn read(octets: &'a [u8]) -> Result<Self, Malformed> {
        let cut = Malformed::new(2, "a PDU is cut off", SPEC);
        let length = pdu_octets(octets, usize::from(u16::MAX))?.ok_or(cut)?;
        let whole = octets.get(PDU_HEAD_OCTETS..length).ok_or(cut)?;
        let mut cursor = Cursor::new(whole, PDU_HEAD_OCTETS, SPEC);
        let sender = LdpId::read(&mut cursor)?;
        let mut messages = Vec::new();
        while !cursor.is_empty() {
            messages.push(Message::read(&mut cursor)?);
        }
        Ok(Self { sender, messages })
    }
}

/// A message as it leaves.
#[must_use]
pub fn write_message(kind: MessageType, id: u32, tlvs: &[u8]) -> Vec<u8> {
    let mut out = kind.number().to_be_bytes().to_vec();
    let length = machine::narrow::index(tlvs.len() + 4);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&id.to_be_bytes());
    out.extend_from_slice(tlvs);
    out
}

/// PDUs of these messages, each of which stands in one whole; none is longer than `most`.
#[must_use]
pub fn write_pdus(sender: LdpId, messages: &[Vec<u8>], most: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut body: Vec<u8> = sender.octets().to_vec();
    let mut close = |body: &mut Vec<u8>| {
        if body.len() > 6 {
            out.extend_from_slice(&VERSION.to_be_bytes());
            out.extend_from_slice(&machine::narrow::index(body.len()).to_be_bytes());
            out.extend_from_slice(body);
            body.truncate(6);
        }
    };
    for message in messages {
        if body.len() + message.len() > most {
            close(&mut body);
        }
        body.extend_from_slice(message);
    }
    close(&mut body);
    out
}
