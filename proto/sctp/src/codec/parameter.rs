//! Parameters of INIT, INIT ACK, ASCONF, ASCONF-ACK and RE-CONFIG (RFC 9260 §3.2.1, §3.3.2.1 and
//! the extensions named at each).

use super::tlv::Checked;
use super::{Causes, List, Tlv, Tlvs, Unknown, be16, be32, begin, end};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::Malformed;

const SPEC: &str = "RFC 9260 §3.2.1";
const SPEC_ASCONF: &str = "RFC 5061 §4.2";
const SPEC_RECONFIG: &str = "RFC 6525 §4";

/// A request to reset streams (RFC 6525 §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset<'a> {
    /// Re-configuration Request Sequence Number.
    pub request: u32,
    /// Re-configuration Response Sequence Number.
    pub response: u32,
    /// Sender's Last Assigned TSN.
    pub last_tsn: u32,
    /// The streams; none means all.
    pub streams: List<'a, u16>,
}

/// The answer to a re-configuration request (RFC 6525 §4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// Re-configuration Response Sequence Number.
    pub response: u32,
    /// Result: 0 nothing to do, 1 performed, 2 denied, 3 wrong SSN, 4 in progress already,
    /// 5 bad sequence number, 6 in progress.
    pub result: u32,
    /// Sender's and Receiver's Next TSN, after a reset of TSNs only.
    pub next_tsns: Option<(u32, u32)>,
}

/// One parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter<'a> {
    /// Heartbeat Info (RFC 9260 §3.3.5).
    HeartbeatInfo(&'a [u8]),
    /// IPv4 or IPv6 Address (RFC 9260 §3.3.2.1.1, §3.3.2.1.2).
    Address(IpAddr),
    /// State Cookie (RFC 9260 §3.3.3.1.1).
    StateCookie(&'a [u8]),
    /// Unrecognized Parameter: the whole of it (RFC 9260 §3.3.3.1.2).
    UnrecognizedParameter(&'a [u8]),
    /// Cookie Preservative: the increment in milliseconds (RFC 9260 §3.3.2.1.3).
    CookiePreservative(u32),
    /// Host Name Address, deprecated: an association is not set up by it (RFC 9260 §3.3.2.1.4).
    HostNameAddress(&'a [u8]),
    /// Supported Address Types (RFC 9260 §3.3.2.1.5).
    SupportedAddressTypes(List<'a, u16>),
    /// Outgoing SSN Reset Request (RFC 6525 §4.1).
    OutgoingSsnReset(Reset<'a>),
    /// Incoming SSN Reset Request: number and streams (RFC 6525 §4.2).
    IncomingSsnReset(u32, List<'a, u16>),
    /// SSN/TSN Reset Request (RFC 6525 §4.3).
    SsnTsnReset(u32),
    /// Re-configuration Response (RFC 6525 §4.4).
    Response(Response),
    /// Add Outgoing Streams Request: number and how many (RFC 6525 §4.5).
    AddOutgoingStreams(u32, u16),
    /// Add Incoming Streams Request: number and how many (RFC 6525 §4.6).
    AddIncomingStreams(u32, u16),
    /// Reserved for ECN Capable (RFC 9260 §3.3.2).
    EcnCapable,
    /// Zero Checksum Acceptable: the alternate error detection method (RFC 9653 §4).
    ZeroChecksumAcceptable(u32),
    /// Random Number (RFC 4895 §3.1).
    Random(&'a [u8]),
    /// Chunks that must be authenticated (RFC 4895 §3.2).
    ChunkList(&'a [u8]),
    /// Requested HMAC Algorithms (RFC 4895 §3.3).
    HmacAlgorithms(List<'a, u16>),
    /// Padding (RFC 4820 §4).
    Padding(&'a [u8]),
    /// Supported Extensions: chunk types (RFC 5061 §4.2.7).
    SupportedExtensions(&'a [u8]),
    /// Forward-TSN-Supported (RFC 3758 §3.1).
    ForwardTsnSupported,
    /// Add IP Address: correlation and address (RFC 5061 §4.2.1).
    AddIp(u32, IpAddr),
    /// Delete IP Address (RFC 5061 §4.2.2).
    DeleteIp(u32, IpAddr),
    /// Error Cause Indication (RFC 5061 §4.2.3).
    ErrorCauses(u32, Causes<'a>),
    /// Set Primary IP Address (RFC 5061 §4.2.4).
    SetPrimary(u32, IpAddr),
    /// Success Indication (RFC 5061 §4.2.5).
    Success(u32),
    /// Adaptation Layer Indication (RFC 5061 §4.2.6).
    AdaptationLayer(u32),
    /// One that is not in this table, with the whole of it.
    Unknown(u16, &'a [u8]),
}

impl<'a> Parameter<'a> {
    /// What to do with a parameter of an unknown type.
    #[must_use]
    pub const fn unknown(kind: u16) -> Unknown {
        Unknown::of((kind >> 14) as u8)
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`Malformed`] when the value is shorter than the type wants or an address has no length of
    /// an address.
    pub fn read(tlv: &Tlv<'a>) -> Result<Self, Malformed> {
        let value = tlv.value();
        let word = || match value.len() {
            0..4 => Err(Malformed::new(tlv.at, "the parameter is too short", SPEC)),
            _ => Ok(be32(value, 0)),
        };
        Ok(match tlv.kind {
            1 => Self::HeartbeatInfo(value),
            5 | 6 => Self::Address(address(tlv)?),
            7 => Self::StateCookie(value),
            8 => Self::UnrecognizedParameter(value),
            9 => Self::CookiePreservative(word()?),
            11 => Self::HostNameAddress(value),
            12 => Self::SupportedAddressTypes(List::new(value)),
            13..=18 => reconfig(tlv)?,
            0x8000 => Self::EcnCapable,
            0x8001 => Self::ZeroChecksumAcceptable(word()?),
            0x8002 => Self::Random(value),
            0x8003 => Self::ChunkList(value),
            0x8004 => Self::HmacAlgorithms(List::new(value)),
            0x8005 => Self::Padding(value),
            0x8008 => Self::SupportedExtensions(value),
            0xC000 => Self::ForwardTsnSupported,
            0xC001..=0xC006 => asconf(tlv)?,
            kind => Self::Unknown(kind, tlv.whole),
        })
    }

    /// Appends the parameter with its padding.
    pub fn write(&self, out: &mut Vec<u8>) {
        if let Self::Unknown(_, whole) = self {
            out.extend_from_slice(whole);
            out.resize(out.len() + super::padded(whole.len()) - whole.len(), 0);
            return;
        }
        let at = begin(out, self.kind());
        self.write_value(out);
        end(out, at);
    }

    /// The number of its type.
    #[must_use]
    pub const fn kind(&self) -> u16 {
        match self {
            Self::HeartbeatInfo(_) => 1,
            Self::Address(IpAddr::V4(_)) => 5,
            Self::Address(IpAddr::V6(_)) => 6,
            Self::StateCookie(_) => 7,
            Self::UnrecognizedParameter(_) => 8,
            Self::CookiePreservative(_) => 9,
            Self::HostNameAddress(_) => 11,
            Self::SupportedAddressTypes(_) => 12,
            Self::OutgoingSsnReset(_) => 13,
            Self::IncomingSsnReset(..) => 14,
            Self::SsnTsnReset(_) => 15,
            Self::Response(_) => 16,
            Self::AddOutgoingStreams(..) => 17,
            Self::AddIncomingStreams(..) => 18,
            Self::EcnCapable => 0x8000,
            Self::ZeroChecksumAcceptable(_) => 0x8001,
            Self::Random(_) => 0x8002,
            Self::ChunkList(_) => 0x8003,
            Self::HmacAlgorithms(_) => 0x8004,
            Self::Padding(_) => 0x8005,
            Self::SupportedExtensions(_) => 0x8008,
            Self::ForwardTsnSupported => 0xC000,
            Self::AddIp(..) => 0xC001,
            Self::DeleteIp(..) => 0xC002,
            Self::ErrorCauses(..) => 0xC003,
            Self::SetPrimary(..) => 0xC004,
            Self::Success(_) => 0xC005,
            Self::AdaptationLayer(_) => 0xC006,
            Self::Unknown(kind, _) => *kind,
        }
    }

    fn write_value(&self, out: &mut Vec<u8>) {
        match self {
            Self::HeartbeatInfo(value)
            | Self::StateCookie(value)
            | Self::UnrecognizedParameter(value)
            | Self::HostNameAddress(value)
            | Self::Random(value)
            | Self::ChunkList(value)
            | Self::Padding(value)
            | Self::SupportedExtensions(value)
            | Self::Unknown(_, value) => out.extend_from_slice(value),
            Self::Address(IpAddr::V4(address)) => out.extend_from_slice(&address.octets()),
            Self::Address(IpAddr::V6(address)) => out.extend_from_slice(&address.octets()),
            Self::CookiePreservative(number)
            | Self::SsnTsnReset(number)
            | Self::ZeroChecksumAcceptable(number)
            | Self::Success(number)
            | Self::AdaptationLayer(number) => words(out, &[*number]),
            Self::SupportedAddressTypes(list) | Self::HmacAlgorithms(list) => {
                out.extend_from_slice(list.bytes());
            }
            Self::OutgoingSsnReset(reset) => {
                words(out, &[reset.request, reset.response, reset.last_tsn]);
                out.extend_from_slice(reset.streams.bytes());
            }
            Self::IncomingSsnReset(request, streams) => {
                words(out, &[*request]);
                out.extend_from_slice(streams.bytes());
            }
            Self::Response(response) => {
                words(out, &[response.response, response.result]);
                response.next_tsns.iter().for_each(|(ours, theirs)| words(out, &[*ours, *theirs]));
            }
            Self::AddOutgoingStreams(request, count) | Self::AddIncomingStreams(request, count) => {
                words(out, &[*request, u32::from(*count) << 16]);
            }
            Self::EcnCapable | Self::ForwardTsnSupported => {}
            Self::AddIp(number, address)
            | Self::DeleteIp(number, address)
            | Self::SetPrimary(number, address) => {
                words(out, &[*number]);
                Self::Address(*address).write(out);
            }
            Self::ErrorCauses(number, causes) => {
                words(out, &[*number]);
                out.extend_from_slice(causes.bytes());
            }
        }
    }
}

fn words(out: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
}

fn address(tlv: &Tlv<'_>) -> Result<IpAddr, Malformed> {
    let value = tlv.value();
    if let (5, Ok(octets)) = (tlv.kind, <[u8; 4]>::try_from(value)) {
        return Ok(Ipv4Addr::from(octets).into());
    }
    if let (6, Ok(octets)) = (tlv.kind, <[u8; 16]>::try_from(value)) {
        return Ok(Ipv6Addr::from(octets).into());
    }
    Err(Malformed::new(tlv.at, "not the length of an address", "RFC 9260 §3.3.2.1"))
}

fn reconfig<'a>(tlv: &Tlv<'a>) -> Result<Parameter<'a>, Malformed> {
    let value = tlv.value();
    let least = [12, 4, 4, 8, 8, 8][usize::from(tlv.kind - 13)];
    if value.len() < least {
        return Err(Malformed::new(tlv.at, "the parameter is too short", SPEC_RECONFIG));
    }
    let first = be32(value, 0);
    Ok(match tlv.kind {
        13 => Parameter::OutgoingSsnReset(Reset {
            request: first,
            response: be32(value, 4),
            last_tsn: be32(value, 8),
            streams: List::new(&value[12..]),
        }),
        14 => Parameter::IncomingSsnReset(first, List::new(&value[4..])),
        15 => Parameter::SsnTsnReset(first),
        16 => Parameter::Response(Response {
            response: first,
            result: be32(value, 4),
            next_tsns: (value.len() >= 16).then(|| (be32(value, 8), be32(value, 12))),
        }),
        17 => Parameter::AddOutgoingStreams(first, be16(value, 4)),
        _ => Parameter::AddIncomingStreams(first, be16(value, 4)),
    })
}

fn asconf<'a>(tlv: &Tlv<'a>) -> Result<Parameter<'a>, Malformed> {
    let value = tlv.value();
    if value.len() < 4 {
        return Err(Malformed::new(tlv.at, "the parameter is too short", SPEC_ASCONF));
    }
    let (number, rest) = (be32(value, 0), &value[4..]);
    let inner = || match Tlvs::new(tlv.at + 8, rest, SPEC_ASCONF).next() {
        Some(Ok(inner)) => address(&inner),
        Some(Err(malformed)) => Err(malformed),
        None => Err(Malformed::new(tlv.at, "there is no address", SPEC_ASCONF)),
    };
    Ok(match tlv.kind {
        0xC001 => Parameter::AddIp(number, inner()?),
        0xC002 => Parameter::DeleteIp(number, inner()?),
        0xC003 => Parameter::ErrorCauses(number, Causes::read(tlv.at + 8, rest)?),
        0xC004 => Parameter::SetPrimary(number, inner()?),
        0xC005 => Parameter::Success(number),
        _ => Parameter::AdaptationLayer(number),
    })
}

/// Parameters one after the other, whose frames were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters<'a>(Checked<'a>);

impl<'a> Parameters<'a> {
    /// Those in `bytes`, written by [`Parameter::write`].
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(Checked::new(bytes))
    }

    /// Checks the frame of every parameter; the values are read by [`Parameters::iter`].
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

    /// Frame after frame.
    pub fn tlvs(&self) -> impl Iterator<Item = Tlv<'a>> + 'a {
        self.0.tlvs(SPEC)
    }

    /// Parameter after parameter.
    pub fn iter(&self) -> impl Iterator<Item = Result<Parameter<'a>, Malformed>> + 'a {
        self.tlvs().map(|tlv| Parameter::read(&tlv))
    }
}
