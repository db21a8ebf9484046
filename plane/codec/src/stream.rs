//! What is said of a stream that is transcoded, and what comes out of it.

use crate::format::{Codec, Format};
use crate::intake::Playout;
use core::net::IpAddr;

/// The ends of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

impl Side {
    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// 0 or 1.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }
}

wire::rows! {
    /// How an end sends and takes digits.
    pub enum Digits: u8 {
        /// As events if it has some, else as tones.
        Pass = 1, "pass", "RFC 4733 §2";
        /// As RTP events.
        Events = 2, "rtp", "RFC 4733 §2";
        /// By signalling: they are noticed, and not sent.
        Info = 3, "info", "RFC 6086 §5";
        /// As tones.
        Tones = 4, "tones", "Q.23 §6";
    }
}

/// Payload types of an end's RTP events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Events {
    /// It sends them with this.
    pub receive: u8,
    /// It takes them with this.
    pub send: u8,
    /// Their clock, Hz.
    pub clock_hz: u32,
}

/// Where packets of an end come to a forwarder, and leave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// The routing table.
    pub vrf: u32,
    /// The address.
    pub address: IpAddr,
    /// The port of UDP.
    pub port: u16,
}

/// One end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Its codec.
    pub format: Format,
    /// The payload type that it sends.
    pub receive: u8,
    /// The payload type that it takes.
    pub send: u8,
    /// The payload type of comfort noise, if it takes that (RFC 3389).
    pub noise: Option<u8>,
    /// Its events.
    pub events: Option<Events>,
    /// How it sends and takes digits.
    pub digits: Digits,
    /// Milliseconds of a packet to it; 0: 20.
    pub packet_ms: u16,
    /// How packets from it are played.
    pub playout: Playout,
    /// The source of packets to it.
    pub ssrc: u32,
    /// The first sequence number to it.
    pub sequence: u16,
    /// The first timestamp to it.
    pub timestamp: u32,
    /// Its place at a forwarder; `None`: its packets come and go by the control.
    pub place: Option<Place>,
}

impl End {
    /// An end of a codec, with a payload type both ways.
    #[must_use]
    pub const fn new(format: Format, payload_type: u8, ssrc: u32) -> Self {
        Self {
            format,
            receive: payload_type,
            send: payload_type,
            noise: None,
            events: None,
            digits: Digits::Pass,
            packet_ms: 20,
            playout: Playout::Follow,
            ssrc,
            sequence: 0,
            timestamp: 0,
            place: None,
        }
    }

    /// Whether two say the same but for where their packets begin.
    #[must_use]
    pub fn is_as(&self, other: &Self) -> bool {
        Self { sequence: 0, timestamp: 0, ..*self } == Self { sequence: 0, timestamp: 0, ..*other }
    }
}

/// Why a stream is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The library of this codec is not there.
    Lacks(Codec),
    /// There are as many streams as there may be.
    Full,
}

/// What is told of a stream beside its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// An end sent a digit: as an event or as tones, whichever it sends digits by.
    Digit {
        /// The stream.
        stream: u32,
        /// The end.
        from: Side,
        /// The event (RFC 4733 §3.2).
        code: u8,
        /// Milliseconds that it lasted.
        lasted_ms: u16,
    },
}

/// Packets and notices, for the caller to take away.
#[derive(Debug, Default)]
pub struct Output {
    octets: Vec<u8>,
    packets: Vec<(u32, Side, usize)>,
    /// The notices.
    pub notices: Vec<Notice>,
}

impl Output {
    /// Forgets everything, and keeps its room.
    pub fn clear(&mut self) {
        self.octets.clear();
        self.packets.clear();
        self.notices.clear();
    }

    /// The packets in order: stream, the end that each goes to, and its octets.
    pub fn packets(&self) -> impl Iterator<Item = (u32, Side, &[u8])> {
        let mut start = 0;
        self.packets.iter().map(move |&(stream, to, end)| {
            let packet = &self.octets[start..end];
            start = end;
            (stream, to, packet)
        })
    }

    /// A packet that `write` appends, if it does.
    pub(crate) fn push(&mut self, stream: u32, to: Side, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.octets.len();
        write(&mut self.octets);
        if self.octets.len() > start {
            self.packets.push((stream, to, self.octets.len()));
        }
    }
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets that came.
    pub received: u64,
    /// Packets that left.
    pub sent: u64,
    /// Packets that were given up, and whose place was filled.
    pub lost: u64,
    /// Packets that came too late or twice.
    pub late: u64,
    /// Packets whose payload is none.
    pub malformed: u64,
    /// Packets of a payload type that was not said.
    pub foreign: u64,
    /// Packets that were dropped before they were decoded: they hold more sound than time passed.
    pub over: u64,
    /// Packets of streams that are not known.
    pub unknown: u64,
    /// Digits that were noticed.
    pub digits: u64,
}
