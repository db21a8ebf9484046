//! Chunks, read and written: one enumeration over the table of [`ChunkType`].

use super::{
    Causes, ChunkType, Data, Gaps, IData, Parameter, Parameters, RawChunk, Skips, Unknown, Words,
    be16, be32, padded,
};
use wire::Malformed;

/// T: the Verification Tag is the sender's own (RFC 9260 §8.5.1).
const REFLECTED: u8 = 1;

/// INIT or INIT ACK (RFC 9260 §3.3.2, §3.3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Init<'a> {
    /// Initiate Tag.
    pub initiate_tag: u32,
    /// Advertised Receiver Window Credit, octets.
    pub a_rwnd: u32,
    /// Number of Outbound Streams.
    pub outbound_streams: u16,
    /// Number of Inbound Streams.
    pub inbound_streams: u16,
    /// Initial TSN.
    pub initial_tsn: u32,
    /// The parameters.
    pub parameters: Parameters<'a>,
}

/// SACK (RFC 9260 §3.3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sack<'a> {
    /// Cumulative TSN Ack.
    pub cumulative_tsn_ack: u32,
    /// Advertised Receiver Window Credit, octets.
    pub a_rwnd: u32,
    /// Gap Ack Blocks.
    pub gaps: Gaps<'a>,
    /// Duplicate TSNs.
    pub duplicates: Words<'a>,
}

/// AUTH (RFC 4895 §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Auth<'a> {
    /// Shared Key Identifier.
    pub key: u16,
    /// HMAC Identifier.
    pub hmac_id: u16,
    /// The HMAC.
    pub hmac: &'a [u8],
}

/// FORWARD-TSN (RFC 3758 §3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForwardTsn<'a> {
    /// New Cumulative TSN.
    pub new_cumulative_tsn: u32,
    /// Stream and Stream Sequence Number of what is skipped.
    pub skips: Gaps<'a>,
}

/// I-FORWARD-TSN (RFC 8260 §2.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IForwardTsn<'a> {
    /// New Cumulative TSN.
    pub new_cumulative_tsn: u32,
    /// What is skipped.
    pub skips: Skips<'a>,
}

/// One chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunk<'a> {
    /// DATA.
    Data(Data<'a>),
    /// INIT.
    Init(Init<'a>),
    /// INIT ACK.
    InitAck(Init<'a>),
    /// SACK.
    Sack(Sack<'a>),
    /// HEARTBEAT: the Heartbeat Info.
    Heartbeat(&'a [u8]),
    /// HEARTBEAT ACK: the same.
    HeartbeatAck(&'a [u8]),
    /// ABORT.
    Abort {
        /// T: the Verification Tag is the sender's own.
        is_reflected: bool,
        /// Why.
        causes: Causes<'a>,
    },
    /// SHUTDOWN.
    Shutdown {
        /// Cumulative TSN Ack.
        cumulative_tsn_ack: u32,
    },
    /// SHUTDOWN ACK.
    ShutdownAck,
    /// ERROR.
    Error(Causes<'a>),
    /// COOKIE ECHO: the State Cookie.
    CookieEcho(&'a [u8]),
    /// COOKIE ACK.
    CookieAck,
    /// ECNE: the lowest TSN.
    Ecne(u32),
    /// CWR: the lowest TSN.
    Cwr(u32),
    /// SHUTDOWN COMPLETE.
    ShutdownComplete {
        /// T: the Verification Tag is the sender's own.
        is_reflected: bool,
    },
    /// AUTH.
    Auth(Auth<'a>),
    /// I-DATA.
    IData(IData<'a>),
    /// ASCONF-ACK: Sequence Number and responses.
    AsconfAck(u32, Parameters<'a>),
    /// RE-CONFIG.
    ReConfig(Parameters<'a>),
    /// PAD: that many octets of value.
    Pad(usize),
    /// FORWARD-TSN.
    ForwardTsn(ForwardTsn<'a>),
    /// ASCONF: Sequence Number, then the sender's address and the requests.
    Asconf(u32, Parameters<'a>),
    /// I-FORWARD-TSN.
    IForwardTsn(IForwardTsn<'a>),
    /// One that is not in the table: type, and the whole of it.
    Unknown(u8, &'a [u8]),
}

impl<'a> Chunk<'a> {
    /// What to do with a chunk of an unknown type.
    #[must_use]
    pub const fn unknown(kind: u8) -> Unknown {
        Unknown::of(kind >> 6)
    }

    /// Reads one.
    ///
    /// # Errors
    /// [`Malformed`] with the offset in the packet when the chunk is shorter than its type wants
    /// or its inner lengths are impossible.
    pub fn read(raw: &RawChunk<'a>) -> Result<Self, Malformed> {
        let (value, at) = (raw.value(), raw.at + 4);
        let Some(kind) = ChunkType::of(raw.kind) else {
            return Ok(Self::Unknown(raw.kind, raw.whole));
        };
        if value.len() < least(kind) {
            return Err(Malformed::new(raw.at, "the chunk is cut off", kind.spec()));
        }
        let is_reflected = raw.flags & REFLECTED != 0;
        Ok(match kind {
            ChunkType::Data => Self::Data(Data::read(raw)?),
            ChunkType::IData => Self::IData(IData::read(raw)?),
            ChunkType::Init => Self::Init(init(at, value)?),
            ChunkType::InitAck => Self::InitAck(init(at, value)?),
            ChunkType::Sack => Self::Sack(sack(raw)?),
            ChunkType::Heartbeat => Self::Heartbeat(heartbeat(raw, kind)?),
            ChunkType::HeartbeatAck => Self::HeartbeatAck(heartbeat(raw, kind)?),
            ChunkType::Abort => Self::Abort { is_reflected, causes: Causes::read(at, value)? },
            ChunkType::Shutdown => Self::Shutdown { cumulative_tsn_ack: be32(value, 0) },
            ChunkType::ShutdownAck => Self::ShutdownAck,
            ChunkType::Error => Self::Error(Causes::read(at, value)?),
            ChunkType::CookieEcho => Self::CookieEcho(value),
            ChunkType::CookieAck => Self::CookieAck,
            ChunkType::Ecne => Self::Ecne(be32(value, 0)),
            ChunkType::Cwr => Self::Cwr(be32(value, 0)),
            ChunkType::ShutdownComplete => Self::ShutdownComplete { is_reflected },
            ChunkType::Auth => {
                Self::Auth(Auth { key: be16(value, 0), hmac_id: be16(value, 2), hmac: &value[4..] })
            }
            ChunkType::AsconfAck => {
                Self::AsconfAck(be32(value, 0), Parameters::read(at + 4, &value[4..])?)
            }
            ChunkType::Asconf => {
                Self::Asconf(be32(value, 0), Parameters::read(at + 4, &value[4..])?)
            }
            ChunkType::ReConfig => Self::ReConfig(Parameters::read(at, value)?),
            ChunkType::Pad => Self::Pad(value.len()),
            ChunkType::ForwardTsn => Self::ForwardTsn(ForwardTsn {
                new_cumulative_tsn: be32(value, 0),
                skips: Gaps::new(whole(raw, &value[4..], 4, kind)?),
            }),
            ChunkType::IForwardTsn => Self::IForwardTsn(IForwardTsn {
                new_cumulative_tsn: be32(value, 0),
                skips: Skips::new(whole(raw, &value[4..], 8, kind)?),
            }),
        })
    }

    /// Its type and flags.
    #[must_use]
    pub const fn kind(&self) -> (u8, u8) {
        let kind = match self {
            Self::Data(data) => return (ChunkType::Data.number(), data.flags.0),
            Self::IData(data) => return (ChunkType::IData.number(), data.flags.0),
            Self::Abort { is_reflected, .. } => {
                return (ChunkType::Abort.number(), *is_reflected as u8);
            }
            Self::ShutdownComplete { is_reflected } => {
                return (ChunkType::ShutdownComplete.number(), *is_reflected as u8);
            }
            Self::Init(_) => ChunkType::Init,
            Self::InitAck(_) => ChunkType::InitAck,
            Self::Sack(_) => ChunkType::Sack,
            Self::Heartbeat(_) => ChunkType::Heartbeat,
            Self::HeartbeatAck(_) => ChunkType::HeartbeatAck,
            Self::Shutdown { .. } => ChunkType::Shutdown,
            Self::ShutdownAck => ChunkType::ShutdownAck,
            Self::Error(_) => ChunkType::Error,
            Self::CookieEcho(_) => ChunkType::CookieEcho,
            Self::CookieAck => ChunkType::CookieAck,
            Self::Ecne(_) => ChunkType::Ecne,
            Self::Cwr(_) => ChunkType::Cwr,
            Self::Auth(_) => ChunkType::Auth,
            Self::AsconfAck(..) => ChunkType::AsconfAck,
            Self::ReConfig(_) => ChunkType::ReConfig,
            Self::Pad(_) => ChunkType::Pad,
            Self::ForwardTsn(_) => ChunkType::ForwardTsn,
            Self::Asconf(..) => ChunkType::Asconf,
            Self::IForwardTsn(_) => ChunkType::IForwardTsn,
            Self::Unknown(kind, _) => return (*kind, 0),
        };
        (kind.number(), 0)
    }

    /// Appends the chunk with its padding.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Data(data) => return data.write(out),
            Self::IData(data) => return data.write(out),
            Self::Unknown(_, whole) => {
                out.extend_from_slice(whole);
                out.resize(out.len() + padded(whole.len()) - whole.len(), 0);
                return;
            }
            _ => {}
        }
        let at = out.len();
        let (kind, flags) = self.kind();
        out.extend_from_slice(&[kind, flags, 0, 0]);
        self.write_value(out);
        super::end(out, at);
    }

    fn write_value(&self, out: &mut Vec<u8>) {
        let word = |out: &mut Vec<u8>, word: u32| out.extend_from_slice(&word.to_be_bytes());
        match self {
            Self::Init(init) | Self::InitAck(init) => write_init(out, init),
            Self::Sack(sack) => write_sack(out, sack),
            Self::Heartbeat(info) | Self::HeartbeatAck(info) => {
                let at = out.len();
                Parameter::HeartbeatInfo(info).write(out);
                out.truncate(at + 4 + info.len());
            }
            Self::Abort { causes, .. } | Self::Error(causes) => {
                out.extend_from_slice(causes.bytes());
            }
            Self::Shutdown { cumulative_tsn_ack: tsn } | Self::Ecne(tsn) | Self::Cwr(tsn) => {
                word(out, *tsn);
            }
            Self::CookieEcho(cookie) => out.extend_from_slice(cookie),
            Self::Auth(auth) => {
                word(out, u32::from(auth.key) << 16 | u32::from(auth.hmac_id));
                out.extend_from_slice(auth.hmac);
            }
            Self::AsconfAck(number, parameters) | Self::Asconf(number, parameters) => {
                word(out, *number);
                out.extend_from_slice(parameters.bytes());
            }
            Self::ReConfig(parameters) => out.extend_from_slice(parameters.bytes()),
            Self::Pad(length) => out.resize(out.len() + length, 0),
            Self::ForwardTsn(forward) => {
                word(out, forward.new_cumulative_tsn);
                out.extend_from_slice(forward.skips.bytes());
            }
            Self::IForwardTsn(forward) => {
                word(out, forward.new_cumulative_tsn);
                out.extend_from_slice(forward.skips.bytes());
            }
            Self::ShutdownAck
            | Self::CookieAck
            | Self::ShutdownComplete { .. }
            | Self::Data(_)
            | Self::IData(_)
            | Self::Unknown(..) => {}
        }
    }
}

/// Octets of value that a chunk of the type has at least.
const fn least(kind: ChunkType) -> usize {
    match kind {
        ChunkType::Init | ChunkType::InitAck => 16,
        ChunkType::Sack => 12,
        ChunkType::Shutdown
        | ChunkType::Ecne
        | ChunkType::Cwr
        | ChunkType::Auth
        | ChunkType::AsconfAck
        | ChunkType::Asconf
        | ChunkType::ForwardTsn
        | ChunkType::IForwardTsn => 4,
        _ => 0,
    }
}

fn init(at: usize, value: &[u8]) -> Result<Init<'_>, Malformed> {
    Ok(Init {
        initiate_tag: be32(value, 0),
        a_rwnd: be32(value, 4),
        outbound_streams: be16(value, 8),
        inbound_streams: be16(value, 10),
        initial_tsn: be32(value, 12),
        parameters: Parameters::read(at + 16, &value[16..])?,
    })
}

fn write_init(out: &mut Vec<u8>, init: &Init<'_>) {
    out.extend_from_slice(&init.initiate_tag.to_be_bytes());
    out.extend_from_slice(&init.a_rwnd.to_be_bytes());
    out.extend_from_slice(&init.outbound_streams.to_be_bytes());
    out.extend_from_slice(&init.inbound_streams.to_be_bytes());
    out.extend_from_slice(&init.initial_tsn.to_be_bytes());
    out.extend_from_slice(init.parameters.bytes());
}

fn sack<'a>(raw: &RawChunk<'a>) -> Result<Sack<'a>, Malformed> {
    let value = raw.value();
    let (gaps, duplicates) = (usize::from(be16(value, 8)), usize::from(be16(value, 10)));
    let middle = 12 + 4 * gaps;
    if value.len() < middle + 4 * duplicates {
        let what = "more blocks than octets";
        return Err(Malformed::new(raw.at + 12, what, ChunkType::Sack.spec()));
    }
    Ok(Sack {
        cumulative_tsn_ack: be32(value, 0),
        a_rwnd: be32(value, 4),
        gaps: Gaps::new(&value[12..middle]),
        duplicates: Words::new(&value[middle..middle + 4 * duplicates]),
    })
}

fn write_sack(out: &mut Vec<u8>, sack: &Sack<'_>) {
    let count = |all: usize| u32::from(u16::try_from(all).unwrap_or(u16::MAX));
    let counts = count(sack.gaps.len()) << 16 | count(sack.duplicates.len());
    for word in [sack.cumulative_tsn_ack, sack.a_rwnd, counts] {
        out.extend_from_slice(&word.to_be_bytes());
    }
    out.extend_from_slice(sack.gaps.bytes());
    out.extend_from_slice(sack.duplicates.bytes());
}

fn heartbeat<'a>(raw: &RawChunk<'a>, kind: ChunkType) -> Result<&'a [u8], Malformed> {
    let parameters = Parameters::read(raw.at + 4, raw.value())?;
    match parameters.iter().next() {
        Some(Ok(Parameter::HeartbeatInfo(info))) => Ok(info),
        _ => Err(Malformed::new(raw.at + 4, "there is no Heartbeat Info", kind.spec())),
    }
}

/// `bytes` when they are a multiple of `item`.
fn whole<'a>(
    raw: &RawChunk<'a>,
    bytes: &'a [u8],
    item: usize,
    kind: ChunkType,
) -> Result<&'a [u8], Malformed> {
    match bytes.len().is_multiple_of(item) {
        true => Ok(bytes),
        false => Err(Malformed::new(raw.at, "the last stream is cut off", kind.spec())),
    }
}
