//! The ends of a stream as tagged fields (`wire::field`): what is not said is as [`End::new`] has
//! it, tags that are not known are passed over.

use super::SPEC;
use crate::amr::Packing;
use crate::format::{Codec, Format};
use crate::intake::Playout;
use crate::stream::{Digits, End, Events, Place};
use core::net::IpAddr;
use wire::Malformed;
use wire::field::{self, Fields, nested, number};

const END_A: u8 = 1;
const END_B: u8 = 2;

mod tag {
    pub const CODEC: u8 = 1;
    pub const IS_ALIGNED: u8 = 2;
    pub const MODES: u8 = 3;
    pub const MODE_PERIOD: u8 = 4;
    pub const IS_NEIGHBOUR: u8 = 5;
    pub const BITRATE: u8 = 6;
    pub const COMPLEXITY: u8 = 7;
    pub const HAS_FEC: u8 = 8;
    pub const HAS_DTX: u8 = 9;
    pub const IS_CONSTANT: u8 = 10;
    pub const RECEIVE: u8 = 11;
    pub const SEND: u8 = 12;
    pub const NOISE: u8 = 13;
    pub const EVENT_RECEIVE: u8 = 14;
    pub const EVENT_SEND: u8 = 15;
    pub const EVENT_CLOCK: u8 = 16;
    pub const DIGITS: u8 = 17;
    pub const PACKET_MS: u8 = 18;
    pub const EVEN_MS: u8 = 19;
    pub const SSRC: u8 = 20;
    pub const SEQUENCE: u8 = 21;
    pub const TIMESTAMP: u8 = 22;
    /// The last field: an end without it was cut off.
    pub const IS_WHOLE: u8 = 23;
    pub const VRF: u8 = 24;
    pub const ADDRESS: u8 = 25;
    pub const PORT: u8 = 26;
}

const fn malformed(what: &'static str) -> Malformed {
    Malformed::new(0, what, SPEC)
}

/// Appends both ends.
pub(super) fn write(ends: &[End; 2], out: &mut Vec<u8>) {
    nested(out, END_A, |out| write_end(&ends[0], out));
    nested(out, END_B, |out| write_end(&ends[1], out));
}

fn write_end(end: &End, out: &mut Vec<u8>) {
    let format = &end.format;
    let mut put = |tag, value: u64| number(out, tag, value);
    put(tag::CODEC, format.codec.number().into());
    put(tag::IS_ALIGNED, (format.packing == Packing::OctetAligned).into());
    put(tag::MODES, format.modes.into());
    put(tag::MODE_PERIOD, format.mode_period.into());
    put(tag::IS_NEIGHBOUR, format.is_neighbour.into());
    put(tag::BITRATE, format.bitrate_bps.into());
    put(tag::COMPLEXITY, format.complexity.into());
    put(tag::HAS_FEC, format.has_fec.into());
    put(tag::HAS_DTX, format.has_dtx.into());
    put(tag::IS_CONSTANT, format.is_constant.into());
    put(tag::RECEIVE, end.receive.into());
    put(tag::SEND, end.send.into());
    if let Some(noise) = end.noise {
        put(tag::NOISE, noise.into());
    }
    if let Some(events) = end.events {
        put(tag::EVENT_RECEIVE, events.receive.into());
        put(tag::EVENT_SEND, events.send.into());
        put(tag::EVENT_CLOCK, events.clock_hz.into());
    }
    put(tag::DIGITS, end.digits.number().into());
    put(tag::PACKET_MS, end.packet_ms.into());
    if let Playout::Even { most_ms } = end.playout {
        put(tag::EVEN_MS, most_ms.into());
    }
    put(tag::SSRC, end.ssrc.into());
    put(tag::SEQUENCE, end.sequence.into());
    put(tag::TIMESTAMP, end.timestamp.into());
    if let Some(Place { vrf, address, port }) = end.place {
        put(tag::VRF, vrf.into());
        put(tag::PORT, port.into());
        match address {
            IpAddr::V4(address) => field::bytes(out, tag::ADDRESS, &address.octets()),
            IpAddr::V6(address) => field::bytes(out, tag::ADDRESS, &address.octets()),
        }
    }
    number(out, tag::IS_WHOLE, 1);
}

/// Reads both ends.
///
/// # Errors
/// One lacks, or has what is none.
pub(super) fn read(octets: &[u8]) -> Result<[End; 2], Malformed> {
    let (mut a, mut b) = (None, None);
    for (tag, value) in Fields::new(octets) {
        match tag {
            END_A => a = Some(read_end(value)?),
            END_B => b = Some(read_end(value)?),
            _ => {}
        }
    }
    a.zip(b).map(|(a, b)| [a, b]).ok_or(malformed("an end lacks"))
}

fn narrow<T: TryFrom<u64>>(value: &[u8]) -> Result<T, Malformed> {
    T::try_from(field::read(value)).map_err(|_| malformed("a number is too large"))
}

fn payload_type(value: &[u8]) -> Result<u8, Malformed> {
    narrow(value).and_then(|it: u8| match it {
        ..128 => Ok(it),
        _ => Err(malformed("a payload type is none")),
    })
}

fn ip(value: &[u8]) -> Result<IpAddr, Malformed> {
    let four = <[u8; 4]>::try_from(value).map(IpAddr::from);
    let six = || <[u8; 16]>::try_from(value).map(IpAddr::from);
    four.or_else(|_| six()).map_err(|_| malformed("an address is neither 4 nor 16 octets"))
}

fn read_end(octets: &[u8]) -> Result<End, Malformed> {
    let codec = Fields::new(octets).find(|(tag, _)| *tag == tag::CODEC);
    let codec = codec.map(|(_, value)| narrow(value)).transpose()?.and_then(Codec::of);
    let codec = codec.ok_or(malformed("a codec is not known"))?;
    let mut end = End::new(Format::new(codec), 0, 0);
    let mut events = Events { receive: 0, send: 0, clock_hz: 0 };
    let (mut is_whole, mut vrf, mut port) = (false, 0, 0);
    let mut address = None;
    for (tag, value) in Fields::new(octets) {
        match tag {
            tag::RECEIVE => end.receive = payload_type(value)?,
            tag::SEND => end.send = payload_type(value)?,
            tag::NOISE => end.noise = Some(payload_type(value)?),
            tag::EVENT_RECEIVE => events.receive = payload_type(value)?,
            tag::EVENT_SEND => events.send = payload_type(value)?,
            tag::EVENT_CLOCK => events.clock_hz = narrow(value)?,
            tag::DIGITS => {
                let digits = Digits::of(narrow(value)?);
                end.digits = digits.ok_or(malformed("a way of digits is not known"))?;
            }
            tag::PACKET_MS => end.packet_ms = narrow(value)?,
            tag::EVEN_MS => end.playout = Playout::Even { most_ms: narrow(value)? },
            tag::SSRC => end.ssrc = narrow(value)?,
            tag::SEQUENCE => end.sequence = narrow(value)?,
            tag::TIMESTAMP => end.timestamp = narrow(value)?,
            tag::VRF => vrf = narrow(value)?,
            tag::PORT => port = narrow(value)?,
            tag::ADDRESS => address = Some(ip(value)?),
            tag::IS_WHOLE => is_whole = true,
            _ => format(&mut end.format, tag, value)?,
        }
    }
    end.events = match events.clock_hz {
        0 => None,
        8_000..=48_000 => Some(events),
        _ => return Err(malformed("events have no such clock")),
    };
    end.place = address.map(|address| Place { vrf, address, port });
    if is_whole { Ok(end) } else { Err(malformed("an end is cut off")) }
}

fn format(format: &mut Format, tag: u8, value: &[u8]) -> Result<(), Malformed> {
    let is_on = field::read(value) != 0;
    match tag {
        tag::IS_ALIGNED if is_on => format.packing = Packing::OctetAligned,
        tag::MODES => format.modes = narrow(value)?,
        tag::MODE_PERIOD => format.mode_period = narrow(value)?,
        tag::IS_NEIGHBOUR => format.is_neighbour = is_on,
        tag::BITRATE => format.bitrate_bps = narrow(value)?,
        tag::COMPLEXITY => format.complexity = narrow(value)?,
        tag::HAS_FEC => format.has_fec = is_on,
        tag::HAS_DTX => format.has_dtx = is_on,
        tag::IS_CONSTANT => format.is_constant = is_on,
        _ => {}
    }
    Ok(())
}
