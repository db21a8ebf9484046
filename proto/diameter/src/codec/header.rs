//! The header of a message (RFC 6733 §3).
//!
//! ```text
//! | version, 1 | length, 3 | R P E T 0 0 0 0 | command, 3 | application, 4
//! | hop-by-hop, 4 | end-to-end, 4 |
//! ```

use super::{
    Avps, HEADER_OCTETS, MESSAGE_OCTETS_MAX, ResultCode, VERSION, Violation, be24, padded,
};

const SPEC: &str = "RFC 6733 §3";

/// The Command Flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// The message is a request.
    pub const REQUEST: u8 = 0x80;
    /// It may be proxied, relayed or redirected.
    pub const PROXIABLE: u8 = 0x40;
    /// An answer that tells of a protocol error.
    pub const ERROR: u8 = 0x20;
    /// A request that may have been answered before: it is sent again after a failover.
    pub const RETRANSMITTED: u8 = 0x10;
    const RESERVED: u8 = 0x0f;

    /// Whether this is set.
    #[must_use]
    pub const fn has(self, flag: u8) -> bool {
        self.0 & flag != 0
    }

    /// The letters of those that are set, `RPET`.
    #[must_use]
    pub fn letters(self) -> String {
        let all = [
            (Self::REQUEST, 'R'),
            (Self::PROXIABLE, 'P'),
            (Self::ERROR, 'E'),
            (Self::RETRANSMITTED, 'T'),
        ];
        all.iter().filter(|it| self.has(it.0)).map(|it| it.1).collect()
    }

    /// The flags of these letters.
    #[must_use]
    pub fn of_letters(letters: &str) -> Option<Self> {
        let flag = |letter| match letter {
            'R' => Some(Self::REQUEST),
            'P' => Some(Self::PROXIABLE),
            'E' => Some(Self::ERROR),
            'T' => Some(Self::RETRANSMITTED),
            _ => None,
        };
        letters.chars().try_fold(0, |all, letter| Some(all | flag(letter)?)).map(Self)
    }
}

/// What the header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// R, P, E, T.
    pub flags: Flags,
    /// The Command Code.
    pub command: u32,
    /// The Application-ID.
    pub application: u32,
    /// Tells the answer to a request on one connection.
    pub hop_by_hop: u32,
    /// Tells a request that comes twice, with its Origin-Host.
    pub end_to_end: u32,
}

/// A message: its header and the octets of its AVPs.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// The header.
    pub header: Header,
    octets: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads the header of `octets`, which are the whole message; the AVPs are read as they are
    /// walked, or all at once by [`crate::Dictionary::check`].
    ///
    /// # Errors
    /// The length is not that of the octets, the version is another one, or bits of the header
    /// contradict each other.
    pub fn read(octets: &'a [u8]) -> Result<Self, Violation> {
        let violation = |code, at, what| Err(Violation::new(code, at, what, SPEC));
        let Some(head) = octets.first_chunk::<HEADER_OCTETS>() else {
            return violation(ResultCode::InvalidMessageLength, 0, "the header is cut off");
        };
        if head[0] != VERSION {
            return violation(ResultCode::UnsupportedVersion, 0, "a version that is not 1");
        }
        let length = be24(head, 1).unwrap_or_default() as usize;
        if length != octets.len() || length > MESSAGE_OCTETS_MAX || length != padded(length) {
            let what = "the length is not that of the message";
            return violation(ResultCode::InvalidMessageLength, 1, what);
        }
        let header = Self::header_of(head);
        if header.flags.has(Flags::RESERVED) {
            return violation(ResultCode::InvalidBitInHeader, 4, "a reserved bit is set");
        }
        if header.flags.has(Flags::REQUEST) && header.flags.has(Flags::ERROR) {
            return violation(ResultCode::InvalidHdrBits, 4, "a request with the E bit");
        }
        if !header.flags.has(Flags::REQUEST) && header.flags.has(Flags::RETRANSMITTED) {
            return violation(ResultCode::InvalidHdrBits, 4, "an answer with the T bit");
        }
        Ok(Self { header, octets })
    }

    /// The header as it stands, whatever is wrong with the message: what an answer is made from.
    pub(crate) fn header_of(head: &[u8; HEADER_OCTETS]) -> Header {
        let word =
            |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        Header {
            flags: Flags(head[4]),
            command: word(4) & 0x00ff_ffff,
            application: word(8),
            hop_by_hop: word(12),
            end_to_end: word(16),
        }
    }

    /// Whether it is a request.
    #[must_use]
    pub const fn is_request(&self) -> bool {
        self.header.flags.has(Flags::REQUEST)
    }

    /// Its AVPs.
    #[must_use]
    pub fn avps(&self) -> Avps<'a> {
        Avps::new(&self.octets[HEADER_OCTETS..], HEADER_OCTETS)
    }

    /// All of it.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }
}
