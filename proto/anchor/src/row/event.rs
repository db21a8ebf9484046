//! What a media controller reports.

use crate::row::StreamId;
use crate::row::fields::{id, put_id, put_side, side, violation};
use crate::side::Side;
use core::net::SocketAddr;
use wire::Malformed;
use wire::field::value::{each, number, put, put_socket, required, socket};

/// How the media controller is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Streams that stand.
    pub streams: u32,
    /// Packets a second.
    pub packets_per_s: u64,
    /// Thousandths of what its forwarder can do.
    pub forwarder_permille: u16,
    /// Thousandths of what its transcoder can do.
    pub transcoder_permille: u16,
    /// What it codes anew: a bit for the number of each codec ([`crate::Codec`]).
    pub codecs: u32,
    /// Calls are to go elsewhere: it is about to be stopped.
    pub is_draining: bool,
    /// It writes events of streams with a [`crate::Trace`] to the service assurance itself: nobody
    /// else has to.
    pub traces: bool,
}

/// Counts of what came from one end of a stream, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Packets.
    pub packets: u64,
    /// Octets of their payloads.
    pub octets: u64,
    /// Packets that never came.
    pub lost: u64,
    /// Packets that came and were dropped.
    pub dropped: u64,
    /// Jitter, µs (RFC 3550 §6.4.1).
    pub jitter_us: u32,
}

/// The quality of what came from one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quality {
    /// What was counted.
    pub statistics: Statistics,
    /// Round trip to the end, µs; 0: not known.
    pub round_trip_us: u32,
    /// Tenths of the rating factor R (G.107).
    pub r_tenths: u16,
    /// Hundredths of the mean opinion score.
    pub mos_hundredths: u16,
}

/// Something that happened to a stream, at one of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The end turned out to be elsewhere than it said.
    Latched(SocketAddr),
    /// Packets come from the other end only.
    OneWay,
    /// No packet came for as long as the stream says.
    TimedOut,
    /// A digit (RFC 4733 §3.2), and how long it was held, ms.
    Digit(u8, u16),
    /// A summary.
    Quality(Quality),
    /// So many packets did not hold what protects them.
    Unprotected(u32),
}

mod kind {
    pub const LATCHED: u8 = 1;
    pub const ONE_WAY: u8 = 2;
    pub const TIMED_OUT: u8 = 3;
    pub const DIGIT: u8 = 4;
    pub const QUALITY: u8 = 5;
    pub const UNPROTECTED: u8 = 6;
}

mod tag {
    pub const ID: u8 = 1;
    pub const SIDE: u8 = 2;
    pub const KIND: u8 = 3;
    pub const PLACE: u8 = 4;
    pub const DIGIT: u8 = 5;
    pub const DURATION: u8 = 6;
    pub const COUNT: u8 = 7;
    pub const PACKETS: u8 = 8;
    pub const OCTETS: u8 = 9;
    pub const LOST: u8 = 10;
    pub const DROPPED: u8 = 11;
    pub const JITTER: u8 = 12;
    pub const ROUND_TRIP: u8 = 13;
    pub const R: u8 = 14;
    pub const MOS: u8 = 15;
    pub const STREAMS: u8 = 16;
    pub const RATE: u8 = 17;
    pub const FORWARDER: u8 = 18;
    pub const TRANSCODER: u8 = 19;
    pub const DRAINING: u8 = 20;
    pub const TRACES: u8 = 21;
    pub const CODECS: u8 = 22;
}

pub(super) fn write_load(load: &Load, out: &mut Vec<u8>) {
    put(out, tag::STREAMS, load.streams.into());
    put(out, tag::RATE, load.packets_per_s);
    put(out, tag::FORWARDER, load.forwarder_permille.into());
    put(out, tag::TRANSCODER, load.transcoder_permille.into());
    put(out, tag::DRAINING, load.is_draining.into());
    if load.traces {
        put(out, tag::TRACES, 1);
    }
    put(out, tag::CODECS, load.codecs.into());
}

pub(super) fn read_load(octets: &[u8]) -> Result<Load, Malformed> {
    let mut load = Load::default();
    each(octets, |tag, value| {
        match tag {
            tag::STREAMS => load.streams = number(value)?,
            tag::RATE => load.packets_per_s = number(value)?,
            tag::FORWARDER => load.forwarder_permille = number(value)?,
            tag::TRANSCODER => load.transcoder_permille = number(value)?,
            tag::CODECS => load.codecs = number(value)?,
            tag::DRAINING => load.is_draining = number::<u8>(value)? == 1,
            tag::TRACES => load.traces = number::<u8>(value)? == 1,
            _ => {}
        }
        Ok(())
    })?;
    Ok(load)
}

pub(super) fn write_statistics(statistics: &Statistics, out: &mut Vec<u8>) {
    put(out, tag::PACKETS, statistics.packets);
    put(out, tag::OCTETS, statistics.octets);
    put(out, tag::LOST, statistics.lost);
    put(out, tag::DROPPED, statistics.dropped);
    put(out, tag::JITTER, statistics.jitter_us.into());
}

fn take_statistics(into: &mut Statistics, tag: u8, value: &[u8]) -> Result<(), Malformed> {
    match tag {
        tag::PACKETS => into.packets = number(value)?,
        tag::OCTETS => into.octets = number(value)?,
        tag::LOST => into.lost = number(value)?,
        tag::DROPPED => into.dropped = number(value)?,
        tag::JITTER => into.jitter_us = number(value)?,
        _ => {}
    }
    Ok(())
}

pub(super) fn read_statistics(octets: &[u8]) -> Result<Statistics, Malformed> {
    let mut statistics = Statistics::default();
    each(octets, |tag, value| take_statistics(&mut statistics, tag, value))?;
    Ok(statistics)
}

pub(super) fn write_event(stream: StreamId, end: Side, event: &Event, out: &mut Vec<u8>) {
    put_id(out, tag::ID, stream);
    put_side(out, tag::SIDE, end);
    let kind = match event {
        Event::Latched(place) => {
            put_socket(out, tag::PLACE, *place);
            kind::LATCHED
        }
        Event::OneWay => kind::ONE_WAY,
        Event::TimedOut => kind::TIMED_OUT,
        Event::Digit(digit, ms) => {
            put(out, tag::DIGIT, (*digit).into());
            put(out, tag::DURATION, (*ms).into());
            kind::DIGIT
        }
        Event::Quality(quality) => {
            write_statistics(&quality.statistics, out);
            put(out, tag::ROUND_TRIP, quality.round_trip_us.into());
            put(out, tag::R, quality.r_tenths.into());
            put(out, tag::MOS, quality.mos_hundredths.into());
            kind::QUALITY
        }
        Event::Unprotected(count) => {
            put(out, tag::COUNT, (*count).into());
            kind::UNPROTECTED
        }
    };
    put(out, tag::KIND, kind.into());
}

/// The stream, its end, and what happened; `None`: something that only a later version knows.
pub(super) fn read_event(octets: &[u8]) -> Result<Option<(StreamId, Side, Event)>, Malformed> {
    let (mut stream, mut end, mut kind) = (None, None, None);
    let (mut latched, mut digit, mut ms, mut count) = (None, None, 0, 0);
    let mut quality = Quality::default();
    each(octets, |tag, value| {
        match tag {
            tag::ID => stream = Some(id(value)?),
            tag::SIDE => end = Some(side(value)?),
            tag::KIND => kind = Some(number::<u8>(value)?),
            tag::PLACE => latched = Some(socket(value)?),
            tag::DIGIT => digit = Some(number(value)?),
            tag::DURATION => ms = number(value)?,
            tag::COUNT => count = number(value)?,
            tag::ROUND_TRIP => quality.round_trip_us = number(value)?,
            tag::R => quality.r_tenths = number(value)?,
            tag::MOS => quality.mos_hundredths = number(value)?,
            _ => take_statistics(&mut quality.statistics, tag, value)?,
        }
        Ok(())
    })?;
    let event = match required(kind)? {
        kind::LATCHED => Event::Latched(required(latched)?),
        kind::ONE_WAY => Event::OneWay,
        kind::TIMED_OUT => Event::TimedOut,
        kind::DIGIT => {
            let digit = required(digit)?;
            if digit > 16 {
                return Err(violation("a digit is none"));
            }
            Event::Digit(digit, ms)
        }
        kind::QUALITY => Event::Quality(quality),
        kind::UNPROTECTED => Event::Unprotected(count),
        _ => return Ok(None),
    };
    Ok(Some((required(stream)?, required(end)?, event)))
}
