//! Messages in a stream, as over TCP: the common header tells the length (RFC 4666 §3.1.4).

use super::{ErrorCode, HEADER_BYTES, MESSAGE_BYTES_MAX, VERSION, Violation, be32};

/// Padding that a sender may have left out of the length it told.
const PADDING_MAX: usize = 3;

/// What stands at the start of a stream's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Not enough to say.
    Partial,
    /// A message of that many octets.
    Message(usize),
    /// That many octets of padding, to be passed over: a length need not count the padding of
    /// the last parameter (RFC 4666 §3.1.4).
    Padding(usize),
    /// No message begins here: the connection cannot go on.
    Broken(Violation),
}

/// Finds the end of the message that `bytes` begin with. One of another version has its length in
/// the same place, so that it can be answered (RFC 4666 §3.8.1: Invalid Version).
#[must_use]
pub fn frame(bytes: &[u8]) -> Framing {
    let Some(&first) = bytes.first() else { return Framing::Partial };
    if first == 0 {
        let zeros = bytes.iter().take(PADDING_MAX + 1).take_while(|octet| **octet == 0).count();
        if zeros <= PADDING_MAX {
            return Framing::Padding(zeros);
        }
    }
    let broken = |code, at, what, spec| Framing::Broken(Violation::new(code, at, what, spec));
    if bytes.len() < HEADER_BYTES {
        return Framing::Partial;
    }
    let length = be32(bytes, 4) as usize;
    if !(HEADER_BYTES..=MESSAGE_BYTES_MAX).contains(&length) {
        if first != VERSION {
            let spec = "RFC 4666 §3.1.1";
            return broken(ErrorCode::InvalidVersion, 0, "the version is not 1", spec);
        }
        let spec = "RFC 4666 §3.1.4";
        return broken(ErrorCode::ProtocolError, 4, "no message has that length", spec);
    }
    if length > bytes.len() { Framing::Partial } else { Framing::Message(length) }
}
