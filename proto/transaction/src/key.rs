//! What makes two requests the same server transaction (RFC 3261 §17.2.3).
//!
//! With the magic cookie: branch, sent-by and method, an ACK counting as the INVITE it ends.
//! Without it (RFC 2543): Request-URI, To tag, From tag, Call-ID, CSeq and the whole top Via; the
//! To tag of an ACK is that of the response, so it stands last and outside the hash.

use super::branch::has_cookie;
use machine::KeyedHash;
use machine::narrow::half;
use sip::{Header, Message, Method, Via};

/// Marks the keys of RFC 2543, so that they never equal one of RFC 3261.
const LEGACY: u8 = 0x80;

/// A stored key: what is compared is hashes under secrets of this table, 64 bits beside the 32
/// that name the bucket, so that nobody can make two requests alike and a key takes 16 octets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Key {
    request: u64,
    /// Names the bucket.
    pub(super) hash: u32,
    /// Of the To tag (RFC 2543), else zero.
    to_tag: u32,
}

/// A key being looked for; the buffer is used again and again.
#[derive(Debug, Default)]
pub(super) struct Probe {
    bytes: Vec<u8>,
    hashed: usize,
    pub(super) key: Key,
    /// Whether the To tag is left out of the comparison (an ACK of RFC 2543).
    pub(super) any_to_tag: bool,
}

impl Probe {
    /// Makes the key of `request` as if its method were `method`, with these two secrets.
    pub(super) fn fill(&mut self, request: &Message<'_>, method: Method, secrets: [&KeyedHash; 2]) {
        self.write(request, method);
        self.hash(secrets);
    }

    /// Makes the whole key of what was written.
    pub(super) fn hash(&mut self, secrets: [&KeyedHash; 2]) {
        let (hashed, to_tag) = self.bytes.split_at(self.hashed);
        let to_tag = if to_tag.is_empty() { 0 } else { half(secrets[1].hash(to_tag)) };
        let request = secrets[1].hash(hashed);
        self.key = Key { request, hash: self.bucket(secrets), to_tag };
    }

    /// The part of the key that tells where to look.
    pub(super) fn bucket(&self, [bucket, _]: [&KeyedHash; 2]) -> u32 {
        half(bucket.hash(&self.bytes[..self.hashed]))
    }

    fn write(&mut self, request: &Message<'_>, method: Method) {
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

    /// Writes down what the key of a request of a known method with this top Via is made from;
    /// says whether that is enough of it.
    pub(super) fn write_via(&mut self, via: &Via<'_>, method: Method) -> bool {
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

    /// Whether `key` is the one looked for.
    pub(super) fn matches(&self, key: &Key) -> bool {
        let same_tag = self.any_to_tag || key.to_tag == self.key.to_tag;
        same_tag && key.request == self.key.request && key.hash == self.key.hash
    }
}
