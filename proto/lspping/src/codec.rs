//! A message (RFC 8029 §3), and the classes of packets that it asks for.
//!
//! ```text
//!   0          2          4     5     6     7     8        12       16         24         32
//!   | version  | flags    | type| mode| code| sub | handle | number | sent     | received | TLVs
//! ```

use core::net::Ipv4Addr;
use wire::Malformed;

/// The port that requests are sent to.
pub const PORT: u16 = 3_503;
/// Replies come by UDP (§3); none is wanted.
pub const REPLY_BY_UDP: u8 = 2;
/// No reply is wanted.
pub const REPLY_NEVER: u8 = 1;
/// Octets of a message at most.
pub const OCTETS_MAX: usize = 1_500;
const SPEC: &str = "RFC 8029 §3";
const VERSION: u16 = 1;
const HEADER: usize = 32;
const TLV_STACK: u16 = 1;
/// The prefix of LDP, IPv4 (§3.2.1), and its octets.
const FEC_LDP4: u16 = 1;
const LDP4_OCTETS: usize = 5;
/// Whoever does not know a type from here on passes over it (§3).
const OPTIONAL: u16 = 0x8000;
/// TLVs of a message, and FECs of a stack, at most.
const PARTS_MAX: usize = 32;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A request.
    Request,
    /// A reply.
    Reply,
}

wire::rows! {
    /// What a router says of a request (§3.1).
    pub enum Code: u8 {
        /// It says nothing: a request.
        None = 0, "no code", "RFC 8029 §3.1";
        /// The request cannot be read.
        Malformed = 1, "malformed request", "RFC 8029 §3.1";
        /// The request says something that the router does not know.
        NotUnderstood = 2, "not understood", "RFC 8029 §3.1";
        /// The path ends here.
        Egress = 3, "egress", "RFC 8029 §3.1";
        /// The router does not know the class of packets.
        NoMapping = 4, "no mapping for the FEC", "RFC 8029 §3.1";
        /// The label goes on from here.
        Switched = 8, "label switched", "RFC 8029 §3.1";
        /// The class of packets has another label here.
        OtherLabel = 10, "mapping for the FEC is not that label", "RFC 8029 §3.1";
        /// The request came without a label, and does not end here.
        NoLabel = 11, "no label", "RFC 8029 §3.1";
    }
}

/// A class of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fec {
    /// A prefix to which LDP gives labels.
    Ldp4(Ipv4Addr, u8),
    /// One that is not known here.
    Other(u16),
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it is.
    pub kind: Kind,
    /// How a reply comes.
    pub mode: u8,
    /// What is said of the request, as a number, and at which depth of its labels.
    pub code: (u8, u8),
    /// A number of the sender's own, of many requests, and of each.
    pub handle: u32,
    /// The number of the request.
    pub sequence: u32,
    /// When the request left, and came, by the clock of whoever says so (NTP).
    pub times: (u64, u64),
    /// The classes of packets asked for, the outermost label's first.
    pub stack: Vec<Fec>,
    /// It has something without which it cannot be understood, and that is not known here.
    pub is_strange: bool,
}

fn short(at: usize) -> Malformed {
    Malformed::new(at, "the message is cut off", SPEC)
}

fn word(octets: &[u8], at: usize) -> Result<u16, Malformed> {
    let found = octets.get(at..).and_then(<[u8]>::first_chunk);
    found.map(|it| u16::from_be_bytes(*it)).ok_or_else(|| short(at))
}

fn long(octets: &[u8], at: usize) -> Result<u32, Malformed> {
    let found = octets.get(at..).and_then(<[u8]>::first_chunk);
    found.map(|it| u32::from_be_bytes(*it)).ok_or_else(|| short(at))
}

fn time(octets: &[u8], at: usize) -> Result<u64, Malformed> {
    Ok((u64::from(long(octets, at)?) << 32) | u64::from(long(octets, at + 4)?))
}

/// A type, its value, and where that begins.
type Part<'a> = (u16, &'a [u8], usize);

/// The parts of padded octets from an offset on.
fn parts(octets: &[u8], begin: usize) -> Result<Vec<Part<'_>>, Malformed> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < octets.len() {
        if found.len() == PARTS_MAX {
            return Err(Malformed::new(begin + at, "it has too many parts", SPEC));
        }
        let cut = |_| short(begin + at);
        let kind = word(octets, at).map_err(cut)?;
        let length = usize::from(word(octets, at + 2).map_err(cut)?);
        let value = octets.get(at + 4..at + 4 + length).ok_or_else(|| short(begin + at))?;
        found.push((kind, value, begin + at + 4));
        // The last one may lack what fills it up.
        at += 4 + length.next_multiple_of(4);
    }
    Ok(found)
}

fn fec(kind: u16, value: &[u8], at: usize) -> Result<Fec, Malformed> {
    match (kind, value) {
        (FEC_LDP4, [a, b, c, d, length]) if *length <= 32 => {
            Ok(Fec::Ldp4(Ipv4Addr::new(*a, *b, *c, *d), *length))
        }
        (FEC_LDP4, _) => Err(Malformed::new(at, "it is no prefix", "RFC 8029 §3.2.1")),
        _ => Ok(Fec::Other(kind)),
    }
}

impl Message {
    /// A request for a class of packets.
    #[must_use]
    pub fn request(fec: Fec, handle: u32, sequence: u32, sent: u64) -> Self {
        Self {
            kind: Kind::Request,
            mode: REPLY_BY_UDP,
            code: (0, 0),
            handle,
            sequence,
            times: (sent, 0),
            stack: vec![fec],
            is_strange: false,
        }
    }

    /// The reply to it.
    #[must_use]
    pub fn reply(&self, code: Code, depth: u8, received: u64) -> Self {
        Self {
            kind: Kind::Reply,
            mode: self.mode,
            code: (code.number(), depth),
            times: (self.times.0, received),
            stack: Vec::new(),
            is_strange: false,
            ..*self
        }
    }

    /// Reads what a datagram carries.
    ///
    /// # Errors
    /// It is cut off, or says what cannot be.
    pub fn read(octets: &[u8]) -> Result<Self, Malformed> {
        let mut it = Self::head(octets)?;
        for (kind, value, at) in parts(octets.get(HEADER..).unwrap_or_default(), HEADER)? {
            match kind {
                TLV_STACK if it.stack.is_empty() => {
                    let all = parts(value, at)?.into_iter();
                    let all = all.map(|(kind, value, at)| fec(kind, value, at));
                    it.stack = all.collect::<Result<_, _>>()?;
                }
                TLV_STACK => return Err(Malformed::new(at, "it has two stacks", SPEC)),
                kind => it.is_strange |= kind < OPTIONAL,
            }
        }
        Ok(it)
    }

    /// Reads what comes before its parts: as much as a reply needs that says that the rest cannot
    /// be read.
    ///
    /// # Errors
    /// It is cut off, or says what cannot be.
    pub fn head(octets: &[u8]) -> Result<Self, Malformed> {
        if octets.len() > OCTETS_MAX {
            return Err(Malformed::new(OCTETS_MAX, "the message is too long", SPEC));
        }
        let fixed: &[u8; HEADER] = octets.first_chunk().ok_or_else(|| short(octets.len()))?;
        if word(fixed, 0)? != VERSION {
            return Err(Malformed::new(0, "the version is not 1", SPEC));
        }
        let kind = match fixed[4] {
            1 => Kind::Request,
            2 => Kind::Reply,
            _ => return Err(Malformed::new(4, "it is neither request nor reply", SPEC)),
        };
        Ok(Self {
            kind,
            mode: fixed[5],
            code: (fixed[6], fixed[7]),
            handle: long(fixed, 8)?,
            sequence: long(fixed, 12)?,
            times: (time(fixed, 16)?, time(fixed, 24)?),
            stack: Vec::new(),
            is_strange: false,
        })
    }

    /// As it stands in a datagram; classes of packets that are not known here are left out.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut made = Vec::with_capacity(64);
        made.extend(VERSION.to_be_bytes());
        made.extend([0, 0, if self.kind == Kind::Request { 1 } else { 2 }, self.mode]);
        made.extend([self.code.0, self.code.1]);
        made.extend(self.handle.to_be_bytes());
        made.extend(self.sequence.to_be_bytes());
        made.extend(self.times.0.to_be_bytes());
        made.extend(self.times.1.to_be_bytes());
        let mut stack = Vec::new();
        for fec in &self.stack {
            let Fec::Ldp4(address, length) = fec else { continue };
            put(FEC_LDP4, LDP4_OCTETS, &mut stack);
            stack.extend(address.octets());
            stack.push(*length);
            stack.resize(stack.len().next_multiple_of(4), 0);
        }
        if !stack.is_empty() {
            put(TLV_STACK, stack.len(), &mut made);
            made.extend(stack);
        }
        made
    }
}

/// Type and length of a part.
fn put(kind: u16, octets: usize, into: &mut Vec<u8>) {
    into.extend(kind.to_be_bytes());
    into.extend(u16::try_from(octets).unwrap_or(u16::MAX).to_be_bytes());
}
