//! What a control and the process that transcodes say to each other.
//!
//! ```text
//!   message = length of what follows, 4 octets · kind, 1 octet · stream, 4 octets · the rest
//!
//!   control                                 transcoder
//!           ←─────────────────────────────── Welcome: the codecs that are there
//!   Begin, Put …, End ─────────────────────→ what is not said between is forgotten
//!   Put, Remove, Packet, Digit, Stop ──────→
//!           ←─────────────────────────────── Packet, Digit, Reached, Refused, Load
//! ```
//! Packets of ends that have a place at a forwarder come from there and go there; only those of
//! others are messages. Every message may be said twice. A kind or a field that is not known is
//! passed over.

mod ends;

use crate::decoder::PAYLOAD_OCTETS_MAX;
use crate::format::Codec;
use crate::stream::{End, Refused, Side};
use wire::{Cursor, Malformed};

/// Octets of the length before a message.
pub const LENGTH_OCTETS: usize = 4;
/// Octets of a message at most, the length not counted.
pub const MESSAGE_OCTETS_MAX: usize = 4_096;
/// Octets of a packet in a message at most.
pub const PACKET_OCTETS_MAX: usize = PAYLOAD_OCTETS_MAX + 100;

const SPEC: &str = "tandem transcoder";

/// Kinds of messages.
mod kind {
    pub const BEGIN: u8 = 1;
    pub const END: u8 = 2;
    pub const PUT: u8 = 3;
    pub const REMOVE: u8 = 4;
    pub const PACKET: u8 = 5;
    pub const DIGIT: u8 = 6;
    pub const WELCOME: u8 = 7;
    pub const REFUSED: u8 = 8;
    pub const LOAD: u8 = 9;
    pub const REACHED: u8 = 10;
    pub const STOP: u8 = 11;
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// Everything is said again from here on.
    Begin,
    /// Everything was said: other streams are forgotten.
    End,
    /// A stream, as [`crate::Transcoder::put`] takes it.
    Put {
        /// Its number.
        stream: u32,
        /// Its ends.
        ends: [End; 2],
    },
    /// A stream is over.
    Remove {
        /// Its number.
        stream: u32,
    },
    /// To the transcoder: a packet came from that end. From it: a packet goes to that end.
    Packet {
        /// The stream.
        stream: u32,
        /// The end.
        end: Side,
        /// The packet of RTP.
        octets: &'a [u8],
    },
    /// To the transcoder: a digit is to be played to that end. From it: that end sent one.
    Digit {
        /// The stream.
        stream: u32,
        /// The end.
        end: Side,
        /// The event (RFC 4733 §3.2).
        code: u8,
        /// How long.
        lasts_ms: u16,
    },
    /// No control comes any more: the process ends.
    Stop,
    /// The transcoder is there.
    Welcome {
        /// A bit for the number of each codec that it has.
        codecs: u32,
        /// Streams that it takes at most.
        streams_max: u32,
    },
    /// A stream is not taken.
    Refused {
        /// Its number.
        stream: u32,
        /// Why.
        why: Refused,
    },
    /// The numbers of the last packet to an end, now and then: another process goes on behind them.
    Reached {
        /// The stream.
        stream: u32,
        /// The end.
        end: Side,
        /// Its sequence number.
        sequence: u16,
        /// The time that follows it.
        timestamp: u32,
    },
    /// How much it has to do, each second.
    Load {
        /// Streams.
        streams: u32,
        /// Thousandths of the time in which it worked.
        permille: u16,
        /// Packets that came, that left, that never came, that the forwarder did not take, since it
        /// began.
        packets: [u64; 4],
        /// Whether a forwarder gives it packets.
        is_fed: bool,
        /// Packets that were dropped before they were decoded, since it began: they hold more sound
        /// than time passed.
        over: u64,
    },
}

/// The octets of the first message, its length included, once it is there whole.
///
/// # Errors
/// It is longer than any may be.
pub fn whole(octets: &[u8]) -> Result<Option<usize>, Malformed> {
    let Some(length) = octets.first_chunk::<LENGTH_OCTETS>() else { return Ok(None) };
    let length = u32::from_be_bytes(*length) as usize;
    if length > MESSAGE_OCTETS_MAX {
        return Err(Malformed::new(0, "a message is too long", SPEC));
    }
    let whole = LENGTH_OCTETS + length;
    Ok((octets.len() >= whole).then_some(whole))
}

/// Whether a whole message is a packet: what may be left out when too much waits.
#[must_use]
pub fn is_packet(message: &[u8]) -> bool {
    message.get(LENGTH_OCTETS) == Some(&kind::PACKET)
}

impl<'a> Message<'a> {
    /// Reads a message, its length included; `None` for one of a kind that is not known.
    ///
    /// # Errors
    /// A part that is cut off or is none.
    pub fn read(message: &'a [u8]) -> Result<Option<Self>, Malformed> {
        let cut = "a message is cut off";
        let mut cursor = Cursor::new(message, 0, SPEC);
        cursor.be32(cut)?;
        let kind = cursor.octet(cut)?;
        let stream = cursor.be32(cut)?;
        Ok(Some(match kind {
            kind::BEGIN => Self::Begin,
            kind::END => Self::End,
            kind::PUT => Self::Put { stream, ends: ends::read(cursor.rest())? },
            kind::REMOVE => Self::Remove { stream },
            kind::PACKET => {
                let end = side(&mut cursor)?;
                match cursor.rest() {
                    octets if octets.len() > PACKET_OCTETS_MAX => {
                        return Err(cursor.violation("a packet is too long"));
                    }
                    octets => Self::Packet { stream, end, octets },
                }
            }
            kind::DIGIT => {
                let (end, code) = (side(&mut cursor)?, cursor.octet(cut)?);
                Self::Digit { stream, end, code, lasts_ms: cursor.be16(cut)? }
            }
            kind::STOP => Self::Stop,
            kind::WELCOME => {
                Self::Welcome { codecs: cursor.be32(cut)?, streams_max: cursor.be32(cut)? }
            }
            kind::REFUSED => {
                let why = match cursor.octet(cut)? {
                    0 => Refused::Full,
                    codec => {
                        let codec = Codec::of(codec);
                        Refused::Lacks(codec.ok_or(cursor.violation("a codec is not known"))?)
                    }
                };
                Self::Refused { stream, why }
            }
            kind::REACHED => {
                let (end, sequence) = (side(&mut cursor)?, cursor.be16(cut)?);
                Self::Reached { stream, end, sequence, timestamp: cursor.be32(cut)? }
            }
            kind::LOAD => {
                let (streams, permille) = (cursor.be32(cut)?, cursor.be16(cut)?);
                let [came, left] = [cursor.be64(cut)?, cursor.be64(cut)?];
                let packets = [came, left, cursor.be64(cut)?, cursor.be64(cut)?];
                let is_fed = cursor.octet(cut)? == 1;
                // One that stands since an earlier version ends here.
                let over = if cursor.rest().is_empty() { 0 } else { cursor.be64(cut)? };
                Self::Load { streams, permille, packets, is_fed, over }
            }
            _ => return Ok(None),
        }))
    }

    /// Appends the message with its length.
    pub fn write(&self, out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(&[0; LENGTH_OCTETS]);
        match self {
            Self::Begin => head(out, kind::BEGIN, 0),
            Self::End => head(out, kind::END, 0),
            Self::Put { stream, ends } => {
                head(out, kind::PUT, *stream);
                ends::write(ends, out);
            }
            Self::Remove { stream } => head(out, kind::REMOVE, *stream),
            Self::Stop => head(out, kind::STOP, 0),
            Self::Packet { stream, end, octets } => {
                head(out, kind::PACKET, *stream);
                out.push(number(*end));
                out.extend_from_slice(&octets[..octets.len().min(PACKET_OCTETS_MAX)]);
            }
            Self::Digit { stream, end, code, lasts_ms } => {
                head(out, kind::DIGIT, *stream);
                out.extend_from_slice(&[number(*end), *code]);
                out.extend_from_slice(&lasts_ms.to_be_bytes());
            }
            Self::Welcome { codecs, streams_max } => {
                head(out, kind::WELCOME, 0);
                out.extend_from_slice(&codecs.to_be_bytes());
                out.extend_from_slice(&streams_max.to_be_bytes());
            }
            Self::Refused { stream, why } => {
                head(out, kind::REFUSED, *stream);
                out.push(match why {
                    Refused::Full => 0,
                    Refused::Lacks(codec) => codec.number(),
                });
            }
            Self::Reached { stream, end, sequence, timestamp } => {
                head(out, kind::REACHED, *stream);
                out.push(number(*end));
                out.extend_from_slice(&sequence.to_be_bytes());
                out.extend_from_slice(&timestamp.to_be_bytes());
            }
            Self::Load { streams, permille, packets, is_fed, over } => {
                head(out, kind::LOAD, 0);
                out.extend_from_slice(&streams.to_be_bytes());
                out.extend_from_slice(&permille.to_be_bytes());
                packets.iter().for_each(|it| out.extend_from_slice(&it.to_be_bytes()));
                out.push((*is_fed).into());
                out.extend_from_slice(&over.to_be_bytes());
            }
        }
        // None is longer than MESSAGE_OCTETS_MAX.
        let length = machine::narrow::place(out.len() - at - LENGTH_OCTETS);
        out[at..at + LENGTH_OCTETS].copy_from_slice(&length.to_be_bytes());
    }
}

fn head(out: &mut Vec<u8>, kind: u8, stream: u32) {
    out.push(kind);
    out.extend_from_slice(&stream.to_be_bytes());
}

fn side(cursor: &mut Cursor<'_>) -> Result<Side, Malformed> {
    match cursor.octet("a message is cut off")? {
        0 => Ok(Side::A),
        1 => Ok(Side::B),
        _ => Err(cursor.violation("an end is none")),
    }
}

const fn number(side: Side) -> u8 {
    match side {
        Side::A => 0,
        Side::B => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::intake::Playout;
    use crate::stream::{Digits, Events, Place};

    fn messages() -> Vec<Message<'static>> {
        let amr = "octet-align=1;mode-set=0,7;mode-change-period=2;mode-change-neighbor=1";
        let mut a = End::new(Format::with_parameters(Codec::Amr, amr).unwrap(), 97, 0xAABB_CCDD);
        a.noise = Some(13);
        a.events = Some(Events { receive: 101, send: 102, clock_hz: 16_000 });
        (a.digits, a.packet_ms, a.playout) = (Digits::Info, 40, Playout::Even { most_ms: 80 });
        (a.sequence, a.timestamp, a.send) = (65_535, u32::MAX, 98);
        a.place = Some(Place { vrf: 7, address: [192, 0, 2, 1].into(), port: 20_000 });
        let opus = "useinbandfec=1;usedtx=1;cbr=1;maxaveragebitrate=12000";
        let mut b = End::new(Format::with_parameters(Codec::Opus, opus).unwrap(), 111, 1);
        b.format.complexity = 9;
        let address = core::net::Ipv6Addr::LOCALHOST.into();
        b.place = Some(Place { vrf: 0, address, port: 1 });
        vec![
            Message::Begin,
            Message::Put { stream: 7, ends: [a, b] },
            Message::End,
            Message::Remove { stream: u32::MAX },
            Message::Packet { stream: 9, end: Side::B, octets: b"octets" },
            Message::Digit { stream: 9, end: Side::A, code: 11, lasts_ms: 250 },
            Message::Welcome { codecs: 0x7E, streams_max: 2_000 },
            Message::Refused { stream: 3, why: Refused::Full },
            Message::Refused { stream: 3, why: Refused::Lacks(Codec::AmrWb) },
            Message::Reached { stream: 4, end: Side::B, sequence: 65_535, timestamp: 9 },
            Message::Stop,
            Message::Load {
                streams: 4,
                permille: 999,
                packets: [1, 2, 3, u64::MAX],
                is_fed: true,
                over: 5,
            },
        ]
    }

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let mut out = Vec::new();
        messages().iter().for_each(|it| it.write(&mut out));
        let mut rest = &out[..];
        for wanted in messages() {
            let octets = whole(rest).unwrap().expect("it is whole");
            assert_eq!(Message::read(&rest[..octets]), Ok(Some(wanted)));
            assert_eq!(is_packet(rest), matches!(wanted, Message::Packet { .. }));
            assert_eq!(whole(&rest[..octets - 1]), Ok(None));
            rest = &rest[octets..];
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn what_is_cut_off_too_long_or_unknown_is_told_apart() {
        for message in messages() {
            let mut out = Vec::new();
            message.write(&mut out);
            for cut in 0..out.len() {
                // What is cut off is none, or, of a packet, a shorter one, or one of before.
                let read = Message::read(&out[..cut]);
                let is_other = matches!(
                    read,
                    Ok(Some(Message::Packet { .. } | Message::Load { over: 0, .. }))
                );
                assert!(read.is_err() || is_other, "{message:?} {cut} {read:?}");
            }
        }
        assert!(whole(&[0, 0, 0x10, 1]).is_err() && whole(&[0, 0, 1]) == Ok(None));
        assert_eq!(Message::read(&[0, 0, 0, 5, 200, 0, 0, 0, 0]), Ok(None), "a kind of later");
    }
}
