//! What makes two requests the same server transaction (RFC 3261 §17.2.3).
//!
//! With the magic cookie: branch, sent-by and method, an ACK counting as the INVITE it ends.
//! Without it (RFC 2543): Request-URI, To tag, From tag, Call-ID, CSeq and the whole top Via; the
//! To tag of an ACK is that of the response, so it stands last and outside the hash.

use super::branch::has_cookie;
use crate::{Header, Message, Method, Via};

/// Longest key kept without an allocation of its own.
const INLINE_BYTES: usize = 62;
/// Marks the keys of RFC 2543, so that they never equal one of RFC 3261.
const LEGACY: u8 = 0x80;

/// A stored key.
#[derive(Debug)]
pub(super) enum Key {
    Inline(u8, [u8; INLINE_BYTES]),
    Heap(Box<[u8]>),
}

impl Key {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut inline = [0; INLINE_BYTES];
        match inline.get_mut(..bytes.len()) {
            Some(room) => {
                room.copy_from_slice(bytes);
                Self::Inline(bytes.len() as u8, inline)
            }
            None => Self::Heap(bytes.into()),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Inline(length, bytes) => &bytes[..usize::from(*length)],
            Self::Heap(bytes) => bytes,
        }
    }
}

/// A key being looked for; the buffer is used again and again.
#[derive(Debug, Default)]
pub(super) struct Probe {
    bytes: Vec<u8>,
    hashed: usize,
    /// Whether the To tag is left out of the comparison (an ACK of RFC 2543).
    pub(super) any_to_tag: bool,
}

impl Probe {
    /// Makes the key of `request` as if its method were `method`.
    pub(super) fn fill(&mut self, request: &Message<'_>, method: Method) {
        self.bytes.clear();
        self.any_to_tag = false;
        let via = request.via();
        match via.branch {
            Some(branch) if has_cookie(branch) => {
                self.method(request, method, 0);
                self.sent_by(&via, branch);
            }
            _ => self.fill_legacy(request, method),
        }
    }

    /// Makes the key of a request of a known method with this top Via; says whether that is
    /// enough of it.
    pub(super) fn fill_via(&mut self, via: &Via<'_>, method: Method) -> bool {
        let branch = via.branch.filter(|branch| has_cookie(branch));
        let Some(branch) = branch.filter(|_| method != Method::Other) else { return false };
        self.bytes.clear();
        self.any_to_tag = false;
        self.bytes.push(method as u8);
        self.sent_by(via, branch);
        true
    }

    fn sent_by(&mut self, via: &Via<'_>, branch: &[u8]) {
        let port = via.port.unwrap_or(0);
        self.bytes.extend_from_slice(&port.to_be_bytes());
        self.bytes.extend(via.host.iter().map(u8::to_ascii_lowercase));
        self.bytes.push(0);
        self.bytes.extend_from_slice(branch);
        self.hashed = self.bytes.len();
    }

    fn method(&mut self, request: &Message<'_>, method: Method, mark: u8) {
        self.bytes.push(method as u8 | mark);
        if method == Method::Other {
            self.bytes.extend_from_slice(request.cseq().name);
            self.bytes.push(0);
        }
    }

    fn fill_legacy(&mut self, request: &Message<'_>, method: Method) {
        self.method(request, method, LEGACY);
        self.bytes.extend_from_slice(&request.cseq().number.to_be_bytes());
        let parts = [
            request.request_uri().unwrap_or_default(),
            request.from_tag().unwrap_or_default(),
            request.call_id(),
            request.values(Header::Via).next().unwrap_or_default(),
        ];
        for part in parts {
            self.bytes.extend_from_slice(part);
            self.bytes.push(0);
        }
        self.hashed = self.bytes.len();
        self.any_to_tag = request.method() == Method::Ack;
        if !self.any_to_tag {
            self.bytes.extend_from_slice(request.to_tag().unwrap_or_default());
        }
    }

    /// The part that is hashed.
    pub(super) fn hashed(&self) -> &[u8] {
        &self.bytes[..self.hashed]
    }

    pub(super) fn key(&self) -> Key {
        Key::new(&self.bytes)
    }

    /// Whether `key` is the one looked for.
    pub(super) fn matches(&self, key: &Key) -> bool {
        if self.any_to_tag {
            key.bytes().starts_with(&self.bytes)
        } else {
            key.bytes() == self.bytes
        }
    }
}
