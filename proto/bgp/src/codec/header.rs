//! The message header, and messages in a stream (RFC 4271 §4.1, RFC 8654).

use super::notification::{HeaderError, Notice, RefreshError};
use super::{Data, HEADER_BYTES, MESSAGE_BYTES_MAX, Violation, be16, word};

wire::rows! {
    /// The message types.
    pub enum MessageType: u8 {
        /// Who speaks and what it can.
        Open = 1, "OPEN", "RFC 4271 §4.2";
        /// Routes.
        Update = 2, "UPDATE", "RFC 4271 §4.3";
        /// An error; the session ends.
        Notification = 3, "NOTIFICATION", "RFC 4271 §4.5";
        /// The peer lives.
        Keepalive = 4, "KEEPALIVE", "RFC 4271 §4.4";
        /// All routes of a family again, please.
        RouteRefresh = 5, "ROUTE-REFRESH", "RFC 2918 §3";
    }
}

impl MessageType {
    /// Octets of the shortest message of this type, header included (RFC 4271 §4).
    const fn bytes_min(self) -> usize {
        match self {
            Self::Open => 29,
            Self::Update | Self::RouteRefresh => 23,
            Self::Notification => 21,
            Self::Keepalive => HEADER_BYTES,
        }
    }

    /// Octets of the longest message of this type, where messages of `message_max` are agreed:
    /// OPEN and KEEPALIVE are never extended (RFC 8654 §4).
    const fn bytes_max(self, message_max: usize) -> usize {
        match self {
            Self::Open => MESSAGE_BYTES_MAX,
            Self::Keepalive => HEADER_BYTES,
            _ => message_max,
        }
    }
}

/// What stands at the start of a stream's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing<'a> {
    /// Not enough to say.
    Partial,
    /// A whole message of that type, header included.
    Message(MessageType, &'a [u8]),
    /// No message begins here: the session cannot go on.
    Broken(Violation),
}

/// Finds the message that `bytes` begin with; `message_max` octets are agreed at most.
#[inline]
#[must_use]
pub fn frame(bytes: &[u8], message_max: usize) -> Framing<'_> {
    let Some((header, _)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return match bytes.iter().take(16).position(|octet| *octet != 0xFF) {
            Some(at) => Framing::Broken(not_synchronized(at)),
            None => Framing::Partial,
        };
    };
    if header[..16] != [0xFF; 16] {
        let at = header.iter().take_while(|octet| **octet == 0xFF).count();
        return Framing::Broken(not_synchronized(at));
    }
    let length = usize::from(be16(header, 16));
    let Some(kind) = MessageType::of(header[18]) else {
        if !(HEADER_BYTES..=message_max).contains(&length) {
            return Framing::Broken(bad_length(length));
        }
        let (what, spec) = ("no message has that type", "RFC 4271 §6.1");
        let violation =
            Violation::reset(Notice::header(HeaderError::BadMessageType), 18, what, spec);
        return Framing::Broken(violation.with(Data::Octet(header[18])));
    };
    if length < kind.bytes_min() || length > kind.bytes_max(message_max) {
        if kind == MessageType::RouteRefresh && (HEADER_BYTES..23).contains(&length) {
            let notice = Notice::refresh(RefreshError::InvalidMessageLength);
            let (what, spec) = ("the ROUTE-REFRESH is cut off", "RFC 7313 §5");
            return match bytes.get(..length) {
                Some(_) => Framing::Broken(
                    Violation::reset(notice, 16, what, spec).with(Data::Message(0, word(length))),
                ),
                None => Framing::Partial,
            };
        }
        return Framing::Broken(bad_length(length));
    }
    match bytes.get(..length) {
        Some(message) => Framing::Message(kind, message),
        None => Framing::Partial,
    }
}

fn not_synchronized(at: usize) -> Violation {
    let notice = Notice::header(HeaderError::ConnectionNotSynchronized);
    Violation::reset(notice, at, "the marker is not all ones", "RFC 4271 §6.1")
}

fn bad_length(length: usize) -> Violation {
    let notice = Notice::header(HeaderError::BadMessageLength);
    let violation = Violation::reset(notice, 16, "no message has that length", "RFC 4271 §6.1");
    violation.with(Data::Word(word(length)))
}

/// The whole messages that `bytes` begin with; ends before one that is cut off or broken.
#[derive(Debug, Clone, Copy)]
pub struct Messages<'a> {
    rest: &'a [u8],
    message_max: usize,
}

impl<'a> Messages<'a> {
    /// The messages of a stream's piece; `message_max` octets are agreed at most.
    #[must_use]
    pub const fn new(bytes: &'a [u8], message_max: usize) -> Self {
        Self { rest: bytes, message_max }
    }

    /// What has not been read.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = (MessageType, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let Framing::Message(kind, message) = frame(self.rest, self.message_max) else {
            return None;
        };
        self.rest = &self.rest[message.len()..];
        Some((kind, message))
    }
}

/// Begins a message: marker, a length to be set by [`end`], type. Gives the offset where it begins.
#[inline]
pub(crate) fn begin(kind: MessageType, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    let mut header = [0xFF; HEADER_BYTES];
    (header[16], header[17], header[18]) = (0, 0, kind.number());
    out.extend_from_slice(&header);
    start
}

/// Sets the length of the message that began at `start` and ends where `out` does.
#[inline]
pub(crate) fn end(start: usize, out: &mut [u8]) {
    let length = word(out.len() - start);
    out[start + 16..start + 18].copy_from_slice(&length.to_be_bytes());
}

/// Appends a KEEPALIVE (RFC 4271 §4.4).
pub fn keepalive(out: &mut Vec<u8>) {
    let start = begin(MessageType::Keepalive, out);
    end(start, out);
}
