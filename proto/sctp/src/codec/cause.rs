//! Error causes of ERROR and ABORT (RFC 9260 §3.3.10, RFC 5061 §4.3, RFC 4895 §4.2).

use super::tlv::Checked;
use super::{List, Tlv, be16, be32, begin, end};
use wire::Malformed;

const SPEC: &str = "RFC 9260 §3.3.10";

/// One error cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause<'a> {
    /// Invalid Stream Identifier (§3.3.10.1).
    InvalidStream(u16),
    /// Missing Mandatory Parameter: their types (§3.3.10.2).
    MissingParameter(List<'a, u16>),
    /// Stale Cookie: how stale, in microseconds (§3.3.10.3).
    StaleCookie(u32),
    /// Out of Resource (§3.3.10.4).
    OutOfResource,
    /// Unresolvable Address: the parameter (§3.3.10.5).
    UnresolvableAddress(&'a [u8]),
    /// Unrecognized Chunk Type: the chunk (§3.3.10.6).
    UnrecognizedChunk(&'a [u8]),
    /// Invalid Mandatory Parameter (§3.3.10.7).
    InvalidParameter,
    /// Unrecognized Parameters: the parameters (§3.3.10.8).
    UnrecognizedParameters(&'a [u8]),
    /// No User Data: the TSN (§3.3.10.9).
    NoUserData(u32),
    /// Cookie Received While Shutting Down (§3.3.10.10).
    CookieWhileShuttingDown,
    /// Restart of an Association with New Addresses: the parameters (§3.3.10.11).
    RestartWithNewAddresses(&'a [u8]),
    /// User-Initiated Abort: the reason (§3.3.10.12).
    UserAbort(&'a [u8]),
    /// Protocol Violation: more about it (§3.3.10.13).
    ProtocolViolation(&'a [u8]),
    /// Request to Delete Last Remaining IP Address: the parameter (RFC 5061 §4.3.1).
    DeleteLastAddress(&'a [u8]),
    /// Operation Refused Due to Resource Shortage (RFC 5061 §4.3.2).
    ResourceShortage(&'a [u8]),
    /// Request to Delete Source IP Address (RFC 5061 §4.3.3).
    DeleteSourceAddress(&'a [u8]),
    /// Association Aborted due to illegal ASCONF-ACK (RFC 5061 §4.3.4).
    IllegalAsconfAck,
    /// Request refused, no authorization (RFC 5061 §4.3.5).
    NotAuthorized(&'a [u8]),
    /// Unsupported HMAC Identifier (RFC 4895 §4.2).
    UnsupportedHmac(u16),
    /// One that is not in this table: code and information.
    Unknown(u16, &'a [u8]),
}

impl<'a> Cause<'a> {
    /// Reads one.
    ///
    /// # Errors
    /// [`Malformed`] when the information is shorter than the code wants.
    pub fn read(tlv: &Tlv<'a>) -> Result<Self, Malformed> {
        let value = tlv.value();
        let least = match tlv.kind {
            1 | 0x0105 => 2,
            2 | 3 | 9 => 4,
            _ => 0,
        };
        if value.len() < least {
            return Err(Malformed::new(tlv.at, "the error cause is too short", SPEC));
        }
        Ok(match tlv.kind {
            1 => Self::InvalidStream(be16(value, 0)),
            2 => {
                let end = (be32(value, 0) as usize).saturating_mul(2).saturating_add(4);
                let types = value.get(4..end);
                let types = types.ok_or(Malformed::new(tlv.at, "more types than octets", SPEC))?;
                Self::MissingParameter(List::new(types))
            }
            3 => Self::StaleCookie(be32(value, 0)),
            4 => Self::OutOfResource,
            5 => Self::UnresolvableAddress(value),
            6 => Self::UnrecognizedChunk(value),
            7 => Self::InvalidParameter,
            8 => Self::UnrecognizedParameters(value),
            9 => Self::NoUserData(be32(value, 0)),
            10 => Self::CookieWhileShuttingDown,
            11 => Self::RestartWithNewAddresses(value),
            12 => Self::UserAbort(value),
            13 => Self::ProtocolViolation(value),
            0xA0 => Self::DeleteLastAddress(value),
            0xA1 => Self::ResourceShortage(value),
            0xA2 => Self::DeleteSourceAddress(value),
            0xA3 => Self::IllegalAsconfAck,
            0xA4 => Self::NotAuthorized(value),
            0x0105 => Self::UnsupportedHmac(be16(value, 0)),
            code => Self::Unknown(code, value),
        })
    }

    /// Its code.
    #[must_use]
    pub const fn code(&self) -> u16 {
        match self {
            Self::InvalidStream(_) => 1,
            Self::MissingParameter(_) => 2,
            Self::StaleCookie(_) => 3,
            Self::OutOfResource => 4,
            Self::UnresolvableAddress(_) => 5,
            Self::UnrecognizedChunk(_) => 6,
            Self::InvalidParameter => 7,
            Self::UnrecognizedParameters(_) => 8,
            Self::NoUserData(_) => 9,
            Self::CookieWhileShuttingDown => 10,
            Self::RestartWithNewAddresses(_) => 11,
            Self::UserAbort(_) => 12,
            Self::ProtocolViolation(_) => 13,
            Self::DeleteLastAddress(_) => 0xA0,
            Self::ResourceShortage(_) => 0xA1,
            Self::DeleteSourceAddress(_) => 0xA2,
            Self::IllegalAsconfAck => 0xA3,
            Self::NotAuthorized(_) => 0xA4,
            Self::UnsupportedHmac(_) => 0x0105,
            Self::Unknown(code, _) => *code,
        }
    }

    /// Appends the cause with its padding.
    pub fn write(&self, out: &mut Vec<u8>) {
        let at = begin(out, self.code());
        match self {
            Self::InvalidStream(stream) => {
                out.extend_from_slice(&stream.to_be_bytes());
                out.extend_from_slice(&[0, 0]);
            }
            Self::MissingParameter(types) => {
                out.extend_from_slice(
                    &u32::try_from(types.len()).unwrap_or(u32::MAX).to_be_bytes(),
                );
                out.extend_from_slice(types.bytes());
            }
            Self::StaleCookie(word) | Self::NoUserData(word) => {
                out.extend_from_slice(&word.to_be_bytes());
            }
            Self::UnsupportedHmac(id) => {
                out.extend_from_slice(&id.to_be_bytes());
            }
            Self::OutOfResource
            | Self::InvalidParameter
            | Self::CookieWhileShuttingDown
            | Self::IllegalAsconfAck => {}
            Self::UnresolvableAddress(value)
            | Self::UnrecognizedChunk(value)
            | Self::UnrecognizedParameters(value)
            | Self::RestartWithNewAddresses(value)
            | Self::UserAbort(value)
            | Self::ProtocolViolation(value)
            | Self::DeleteLastAddress(value)
            | Self::ResourceShortage(value)
            | Self::DeleteSourceAddress(value)
            | Self::NotAuthorized(value)
            | Self::Unknown(_, value) => out.extend_from_slice(value),
        }
        end(out, at);
    }
}

/// Causes one after the other, whose frames were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Causes<'a>(Checked<'a>);

impl<'a> Causes<'a> {
    /// Those in `bytes`, written by [`Cause::write`].
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(Checked::new(bytes))
    }

    /// Checks the frame of every cause.
    ///
    /// # Errors
    /// [`Malformed`] when a length is impossible.
    pub fn read(at: usize, bytes: &'a [u8]) -> Result<Self, Malformed> {
        Checked::read(at, bytes, SPEC).map(Self)
    }

    /// The octets.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.0.bytes()
    }

    /// Cause after cause.
    pub fn iter(&self) -> impl Iterator<Item = Result<Cause<'a>, Malformed>> + 'a {
        self.0.tlvs(SPEC).map(|tlv| Cause::read(&tlv))
    }
}
