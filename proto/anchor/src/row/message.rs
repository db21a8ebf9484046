//! Messages: their rows, and how they are read and written.

use crate::port::{BLOCKS_MAX, Block};
use crate::row::StreamId;
use crate::row::event::{
    Event, Load, Statistics, read_event, read_load, read_statistics, write_event, write_load,
    write_statistics,
};
use crate::row::fields::{SPEC, id, put_id, put_side, side, violation};
use crate::row::stream::{read_stream, write_stream};
use crate::side::Side;
use crate::stream::Stream;
use core::net::IpAddr;
use srtp::dtls::Fingerprint;
use wire::field;
use wire::field::value::{each, end, flag, number, put, required};
use wire::{Cursor, Malformed};

/// Octets of a message at most, its length not counted.
pub const MESSAGE_OCTETS_MAX: usize = 65_536;
/// Octets of length, kind and number.
pub const HEAD_OCTETS: usize = 13;
/// Octets of a name at most.
const NAME_OCTETS_MAX: usize = 255;
/// Proofs of a message, and octets of each, at most.
const PROOFS_MAX: usize = 8;
const PROOF_OCTETS_MAX: usize = 64;

wire::rows! {
    /// Kinds of messages.
    pub enum Row: u8 {
        /// Who speaks, and in which version.
        Hello = 1, "Hello", "row";
        /// Blocks of ports are asked for, or given back.
        Lease = 2, "Lease", "row";
        /// Blocks of ports.
        Grant = 3, "Grant", "row";
        /// A stream stands.
        Put = 4, "Put", "row";
        /// A stream is gone.
        Remove = 5, "Remove", "row";
        /// All streams follow.
        Begin = 6, "Begin", "row";
        /// Those were all.
        End = 7, "End", "row";
        /// A digit is to be sent to an end.
        Play = 8, "Play", "row";
        /// A stream's counters are asked for.
        Ask = 9, "Ask", "row";
        /// A stream's counters.
        Report = 10, "Report", "row";
        /// Something happened to a stream.
        Event = 11, "Event", "row";
        /// How the media controller is.
        Load = 12, "Load", "row";
        /// Everything up to a number is done.
        Ack = 13, "Ack", "row";
        /// Who has the key is asked for.
        Challenge = 14, "Challenge", "row";
        /// The writer has the key.
        Prove = 15, "Prove", "row";
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Who speaks, and in which version.
    Hello {
        /// Of the language.
        version: u16,
        /// The writer's name in its site.
        name: Box<str>,
        /// Another one for each start of the writer: what it said before counts no more, and fades
        /// if it is not said again. Both nodes
        /// of a pair say the same one. Of a media controller also whenever it lost how far keys of
        /// SRTP were used: those that stand are not to be put again.
        epoch: u64,
        /// Of the certificate that DTLS shows, from a media controller that has one.
        fingerprint: Option<Box<Fingerprint>>,
    },
    /// So many pairs of ports are wanted in all, of that group of addresses; fewer than before
    /// give blocks back as they become free.
    Lease {
        /// The group of addresses, by its name in the site.
        group: Box<str>,
        /// Pairs.
        pairs: u32,
    },
    /// The blocks of a group that are leased: all of them, so that a lost one ends.
    Grant {
        /// The group.
        group: Box<str>,
        /// Whether its addresses are of IPv6.
        is_v6: bool,
        /// The addresses that blocks of the group may number.
        addresses: Vec<(u16, IpAddr)>,
        /// The blocks.
        blocks: Vec<Block>,
    },
    /// A stream stands.
    Put {
        /// Its name.
        stream: StreamId,
        /// Rises with each change.
        generation: u32,
        /// What it is.
        what: Box<Stream>,
    },
    /// A stream is gone.
    Remove {
        /// Its name.
        stream: StreamId,
        /// Of the last one that is gone.
        generation: u32,
    },
    /// All streams follow.
    Begin,
    /// Those were all: others are gone.
    End,
    /// A digit is to be sent to an end.
    Play {
        /// The stream.
        stream: StreamId,
        /// The end.
        end: Side,
        /// Tells it from the one before: the same one is sent once.
        serial: u32,
        /// The digit (RFC 4733 §3.2).
        digit: u8,
        /// How long it sounds, ms.
        ms: u16,
    },
    /// A stream's counters are asked for.
    Ask {
        /// The stream.
        stream: StreamId,
    },
    /// A stream's counters, of what came from A and from B; `None`: it does not stand.
    Report {
        /// The stream.
        stream: StreamId,
        /// The counters.
        statistics: Option<[Statistics; 2]>,
    },
    /// Something happened to a stream.
    Event {
        /// The stream.
        stream: StreamId,
        /// The end.
        end: Side,
        /// What.
        event: Event,
    },
    /// How the media controller is.
    Load(Load),
    /// Everything up to a number is done.
    Ack {
        /// The number.
        number: u64,
    },
    /// Who has the key is asked for, by a media controller that has one, before all else.
    Challenge {
        /// Drawn at random for this connection.
        nonce: Nonce,
    },
    /// The writer has the key: proofs over both nonces ([`proved`]) by each key that it has, the
    /// newest first. A session controller's answers the challenge and challenges in turn.
    Prove {
        /// The writer's nonce; a media controller's is that of its challenge.
        nonce: Nonce,
        /// The proofs.
        proofs: Vec<Box<[u8]>>,
    },
    /// What only a later version knows: skipped.
    Unknown,
}

/// What is drawn at random for one connection.
pub type Nonce = [u8; 32];

/// The label of a session controller's proof.
pub const SESSION_CONTROLLER: &[u8] = b"media: session controller";
/// The label of a media controller's proof.
pub const MEDIA_CONTROLLER: &[u8] = b"media: media controller";

/// What both prove, each under its label: that they have the key and heard one another.
#[must_use]
pub fn proved(media_controller: &Nonce, session_controller: &Nonce) -> [u8; 64] {
    let mut octets = [0; 64];
    octets[..32].copy_from_slice(media_controller);
    octets[32..].copy_from_slice(session_controller);
    octets
}

/// A message with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Its number on this connection.
    pub number: u64,
    /// The message.
    pub message: Message,
}

mod tag {
    pub const VERSION: u8 = 1;
    pub const NAME: u8 = 2;
    pub const EPOCH: u8 = 3;
    pub const PAIRS: u8 = 4;
    pub const IS_V6: u8 = 5;
    pub const BLOCK: u8 = 6;
    pub const ID: u8 = 7;
    pub const GENERATION: u8 = 8;
    pub const STREAM: u8 = 9;
    pub const SIDE: u8 = 10;
    pub const SERIAL: u8 = 11;
    pub const DIGIT: u8 = 12;
    pub const MS: u8 = 13;
    pub const FROM_A: u8 = 14;
    pub const FROM_B: u8 = 15;
    pub const NUMBER: u8 = 16;
    pub const ADDRESS: u8 = 17;
    pub const FINGERPRINT: u8 = 18;
    pub const NONCE: u8 = 19;
    pub const PROOF: u8 = 20;
}

/// Appends a message.
///
/// # Errors
/// When it is longer than [`MESSAGE_OCTETS_MAX`]: nothing was appended.
pub fn write(envelope: &Envelope, out: &mut Vec<u8>) -> Result<(), Malformed> {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    let Some(row) = envelope.message.row() else {
        out.truncate(at);
        return Err(violation("an unknown message is written"));
    };
    out.push(row.number());
    out.extend_from_slice(&envelope.number.to_be_bytes());
    envelope.message.write_fields(out);
    let length = out.len() - at - 4;
    let told = u32::try_from(length).ok().filter(|_| length <= MESSAGE_OCTETS_MAX);
    let Some(told) = told else {
        out.truncate(at);
        return Err(violation("a message is too long"));
    };
    out[at..at + 4].copy_from_slice(&told.to_be_bytes());
    Ok(())
}

/// The first message in `octets` and how many of them it took; `None` if it is not whole yet.
///
/// # Errors
/// What stands there is no message: the connection is of no use any more.
pub fn read(octets: &[u8]) -> Result<Option<(Envelope, usize)>, Malformed> {
    let Some((length, rest)) = octets.split_first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_be_bytes(*length) as usize;
    if !(HEAD_OCTETS - 4..=MESSAGE_OCTETS_MAX).contains(&length) {
        return Err(violation("a message has a length that none has"));
    }
    let Some(octets) = rest.get(..length) else { return Ok(None) };
    let mut cursor = Cursor::new(octets, 4, SPEC);
    let kind = cursor.octet("a message has no kind")?;
    let number = cursor.be64("a message has no number")?;
    let message = match Row::of(kind) {
        Some(row) => Message::read(row, cursor.rest())?,
        None => Message::Unknown,
    };
    Ok(Some((Envelope { number, message }, length + 4)))
}

impl Message {
    /// Its row; `None` for what is not known.
    #[must_use]
    pub const fn row(&self) -> Option<Row> {
        Some(match self {
            Self::Hello { .. } => Row::Hello,
            Self::Lease { .. } => Row::Lease,
            Self::Grant { .. } => Row::Grant,
            Self::Put { .. } => Row::Put,
            Self::Remove { .. } => Row::Remove,
            Self::Begin => Row::Begin,
            Self::End => Row::End,
            Self::Play { .. } => Row::Play,
            Self::Ask { .. } => Row::Ask,
            Self::Report { .. } => Row::Report,
            Self::Event { .. } => Row::Event,
            Self::Load(_) => Row::Load,
            Self::Ack { .. } => Row::Ack,
            Self::Challenge { .. } => Row::Challenge,
            Self::Prove { .. } => Row::Prove,
            Self::Unknown => return None,
        })
    }

    fn write_fields(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello { version, name, epoch, fingerprint } => {
                put(out, tag::VERSION, (*version).into());
                field::bytes(out, tag::NAME, name.as_bytes());
                put(out, tag::EPOCH, *epoch);
                if let Some(fingerprint) = fingerprint {
                    field::bytes(out, tag::FINGERPRINT, fingerprint.to_string().as_bytes());
                }
            }
            Self::Lease { group, pairs } => {
                field::bytes(out, tag::NAME, group.as_bytes());
                put(out, tag::PAIRS, (*pairs).into());
            }
            Self::Grant { group, is_v6, addresses, blocks } => {
                field::bytes(out, tag::NAME, group.as_bytes());
                put(out, tag::IS_V6, (*is_v6).into());
                addresses.iter().for_each(|(number, ip)| write_address(*number, *ip, out));
                blocks.iter().for_each(|block| write_block(*block, out));
            }
            Self::Put { stream, generation, what } => {
                put_id(out, tag::ID, *stream);
                put(out, tag::GENERATION, (*generation).into());
                field::nested(out, tag::STREAM, |out| write_stream(what, out));
            }
            Self::Remove { stream, generation } => {
                put_id(out, tag::ID, *stream);
                put(out, tag::GENERATION, (*generation).into());
            }
            Self::Begin | Self::End | Self::Unknown => {}
            Self::Play { stream, end, serial, digit, ms } => {
                put_id(out, tag::ID, *stream);
                put_side(out, tag::SIDE, *end);
                put(out, tag::SERIAL, (*serial).into());
                put(out, tag::DIGIT, (*digit).into());
                put(out, tag::MS, (*ms).into());
            }
            Self::Ask { stream } => put_id(out, tag::ID, *stream),
            Self::Report { stream, statistics } => {
                put_id(out, tag::ID, *stream);
                for (tag, one) in
                    [tag::FROM_A, tag::FROM_B].into_iter().zip(statistics.iter().flatten())
                {
                    field::nested(out, tag, |out| write_statistics(one, out));
                }
            }
            Self::Event { stream, end, event } => write_event(*stream, *end, event, out),
            Self::Load(load) => write_load(load, out),
            Self::Ack { number } => put(out, tag::NUMBER, *number),
            Self::Challenge { nonce } => field::bytes(out, tag::NONCE, nonce),
            Self::Prove { nonce, proofs } => {
                field::bytes(out, tag::NONCE, nonce);
                proofs.iter().for_each(|proof| field::bytes(out, tag::PROOF, proof));
            }
        }
    }

    fn read(row: Row, octets: &[u8]) -> Result<Self, Malformed> {
        let fields = match row {
            Row::Begin => return Ok(Self::Begin),
            Row::End => return Ok(Self::End),
            Row::Load => return read_load(octets).map(Self::Load),
            Row::Event => {
                let known = |(stream, end, event)| Self::Event { stream, end, event };
                return Ok(read_event(octets)?.map_or(Self::Unknown, known));
            }
            _ => MessageFields::read(octets)?,
        };
        fields.message(row)
    }
}

/// The fields of a message as they come.
#[derive(Default)]
struct MessageFields {
    version: Option<u16>,
    name: Option<Box<str>>,
    epoch: u64,
    pairs: Option<u32>,
    is_v6: bool,
    blocks: Vec<Block>,
    stream: Option<StreamId>,
    generation: Option<u32>,
    what: Option<Box<Stream>>,
    end: Option<Side>,
    serial: Option<u32>,
    digit: Option<u8>,
    ms: u16,
    statistics: [Option<Statistics>; 2],
    number: Option<u64>,
    addresses: Vec<(u16, IpAddr)>,
    fingerprint: Option<Box<Fingerprint>>,
    nonce: Option<Nonce>,
    proofs: Vec<Box<[u8]>>,
}

impl MessageFields {
    fn read(octets: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Self::default();
        each(octets, |tag, value| fields.take(tag, value))?;
        Ok(fields)
    }

    fn take(&mut self, tag: u8, value: &[u8]) -> Result<(), Malformed> {
        match tag {
            tag::VERSION => self.version = Some(number(value)?),
            tag::NAME => self.name = Some(name(value)?),
            tag::EPOCH => self.epoch = number(value)?,
            tag::PAIRS => self.pairs = Some(number(value)?),
            tag::IS_V6 => self.is_v6 = flag(value)?,
            tag::BLOCK if self.blocks.len() < BLOCKS_MAX => self.blocks.push(block(value)?),
            tag::BLOCK => return Err(violation("there are too many blocks")),
            tag::ID => self.stream = Some(id(value)?),
            tag::GENERATION => self.generation = Some(number(value)?),
            tag::STREAM => self.what = Some(Box::new(read_stream(value)?)),
            tag::SIDE => self.end = Some(side(value)?),
            tag::SERIAL => self.serial = Some(number(value)?),
            tag::DIGIT => self.digit = Some(number(value)?),
            tag::MS => self.ms = number(value)?,
            tag::FROM_A => self.statistics[0] = Some(read_statistics(value)?),
            tag::FROM_B => self.statistics[1] = Some(read_statistics(value)?),
            tag::NUMBER => self.number = Some(number(value)?),
            _ => return self.take_rest(tag, value),
        }
        Ok(())
    }

    fn take_rest(&mut self, tag: u8, value: &[u8]) -> Result<(), Malformed> {
        match tag {
            tag::ADDRESS if self.addresses.len() < BLOCKS_MAX => {
                self.addresses.push(address(value)?);
            }
            tag::ADDRESS => return Err(violation("there are too many addresses")),
            // One of a hash that is not known is none.
            tag::FINGERPRINT => self.fingerprint = Fingerprint::parse(value)?.map(Box::new),
            tag::NONCE => {
                let nonce = value.try_into().map_err(|_| violation("a nonce is not 32 octets"))?;
                self.nonce = Some(nonce);
            }
            tag::PROOF if self.proofs.len() < PROOFS_MAX && value.len() <= PROOF_OCTETS_MAX => {
                self.proofs.push(value.into());
            }
            tag::PROOF => return Err(violation("proofs are too many or too long")),
            _ => {}
        }
        Ok(())
    }

    fn message(self, row: Row) -> Result<Message, Malformed> {
        Ok(match row {
            Row::Hello => Message::Hello {
                version: required(self.version)?,
                name: required(self.name)?,
                epoch: self.epoch,
                fingerprint: self.fingerprint,
            },
            Row::Lease => {
                Message::Lease { group: required(self.name)?, pairs: required(self.pairs)? }
            }
            Row::Grant => Message::Grant {
                group: required(self.name)?,
                is_v6: self.is_v6,
                addresses: self.addresses,
                blocks: self.blocks,
            },
            Row::Put => Message::Put {
                stream: required(self.stream)?,
                generation: required(self.generation)?,
                what: required(self.what)?,
            },
            Row::Remove => Message::Remove {
                stream: required(self.stream)?,
                generation: required(self.generation)?,
            },
            Row::Play => Message::Play {
                stream: required(self.stream)?,
                end: required(self.end)?,
                serial: required(self.serial)?,
                digit: required(self.digit.filter(|digit| *digit <= 16))?,
                ms: self.ms,
            },
            Row::Ask => Message::Ask { stream: required(self.stream)? },
            Row::Report => Message::Report {
                stream: required(self.stream)?,
                statistics: match self.statistics {
                    [Some(a), Some(b)] => Some([a, b]),
                    _ => None,
                },
            },
            Row::Ack => Message::Ack { number: required(self.number)? },
            Row::Challenge => Message::Challenge { nonce: required(self.nonce)? },
            Row::Prove => Message::Prove { nonce: required(self.nonce)?, proofs: self.proofs },
            Row::Begin | Row::End | Row::Event | Row::Load => Message::Unknown,
        })
    }
}

fn name(value: &[u8]) -> Result<Box<str>, Malformed> {
    let text = core::str::from_utf8(value).ok().filter(|text| text.len() <= NAME_OCTETS_MAX);
    text.map(Into::into).ok_or(violation("a name is not short text"))
}

fn write_address(number: u16, address: IpAddr, out: &mut Vec<u8>) {
    field::nested(out, tag::ADDRESS, |out| {
        out.extend_from_slice(&number.to_be_bytes());
        match address {
            IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
            IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
        }
    });
}

fn address(value: &[u8]) -> Result<(u16, IpAddr), Malformed> {
    let what = "an address is not a number and 4 or 16 octets";
    let (number, ip) = value.split_first_chunk::<2>().ok_or(violation(what))?;
    let ip = match (<[u8; 4]>::try_from(ip), <[u8; 16]>::try_from(ip)) {
        (Ok(octets), _) => IpAddr::from(octets),
        (_, Ok(octets)) => IpAddr::from(octets),
        _ => return Err(violation(what)),
    };
    Ok((u16::from_be_bytes(*number), ip))
}

fn write_block(block: Block, out: &mut Vec<u8>) {
    field::nested(out, tag::BLOCK, |out| {
        for number in [block.address, block.first, block.pairs] {
            out.extend_from_slice(&number.to_be_bytes());
        }
    });
}

fn block(value: &[u8]) -> Result<Block, Malformed> {
    let what = "a block is not 6 octets";
    let mut cursor = Cursor::new(value, 0, SPEC);
    let block =
        Block { address: cursor.be16(what)?, first: cursor.be16(what)?, pairs: cursor.be16(what)? };
    end(&cursor)?;
    if block.is_sound() { Ok(block) } else { Err(violation("a block is none")) }
}
