//! libopus (RFC 6716), one channel.

use super::load::symbols;
use crate::resample::Rate;
use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};

/// A packet is at most so long (RFC 6716 §3.2.5).
const PACKET_MS_MAX: u16 = 120;
/// Octets of a packet of one frame at most, with room to spare.
pub(crate) const OCTETS_MAX: usize = 1_500;

const APPLICATION_VOIP: c_int = 2_048;
const SET_BITRATE: c_int = 4_002;
const SET_COMPLEXITY: c_int = 4_010;
const SET_INBAND_FEC: c_int = 4_012;
const SET_PACKET_LOSS_PERC: c_int = 4_014;
const SET_DTX: c_int = 4_016;
const SET_VBR: c_int = 4_006;

symbols! {
    pub(crate) struct Symbols(library) {
        library.encoder_create = c"opus_encoder_create":
            unsafe extern "C" fn(i32, c_int, c_int, *mut c_int) -> *mut c_void;
        library.encoder_ctl = c"opus_encoder_ctl":
            unsafe extern "C" fn(*mut c_void, c_int, ...) -> c_int;
        library.encode = c"opus_encode":
            unsafe extern "C" fn(*mut c_void, *const i16, c_int, *mut u8, i32) -> i32;
        library.encoder_destroy = c"opus_encoder_destroy": unsafe extern "C" fn(*mut c_void);
        library.decoder_create = c"opus_decoder_create":
            unsafe extern "C" fn(i32, c_int, *mut c_int) -> *mut c_void;
        library.decode = c"opus_decode":
            unsafe extern "C" fn(*mut c_void, *const u8, i32, *mut i16, c_int, c_int) -> c_int;
        library.decoder_destroy = c"opus_decoder_destroy": unsafe extern "C" fn(*mut c_void);
    }
}

/// What an encoder is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) bitrate_bps: u32,
    /// 0 to 10.
    pub(crate) complexity: u8,
    pub(crate) has_fec: bool,
    pub(crate) loss_percent: u8,
    pub(crate) has_dtx: bool,
    pub(crate) is_constant: bool,
}

/// An encoder.
#[derive(Debug)]
pub(crate) struct Encoder {
    symbols: Symbols,
    state: NonNull<c_void>,
}

// SAFETY: a state has no thread of its own and is not tied to one (opus.h: separate states may be
// used by separate threads).
unsafe impl Send for Encoder {}

impl Encoder {
    /// An encoder of samples of that rate; `None` if the library has no memory.
    pub(crate) fn new(symbols: Symbols, rate: Rate, settings: Settings) -> Option<Self> {
        let mut error = 0;
        let hertz = rate.hertz().cast_signed();
        // SAFETY: the error is written to a variable that lives; the rest are numbers.
        let state = unsafe { (symbols.encoder_create)(hertz, 1, APPLICATION_VOIP, &raw mut error) };
        let mut it = Self { symbols, state: NonNull::new(state)? };
        it.set(settings);
        Some(it)
    }

    /// Changes what it is set to.
    pub(crate) fn set(&mut self, settings: Settings) {
        let bitrate = settings.bitrate_bps.clamp(6_000, 510_000).cast_signed();
        for (request, value) in [
            (SET_BITRATE, bitrate),
            (SET_COMPLEXITY, settings.complexity.min(10).into()),
            (SET_INBAND_FEC, settings.has_fec.into()),
            (SET_PACKET_LOSS_PERC, settings.loss_percent.min(100).into()),
            (SET_DTX, settings.has_dtx.into()),
            (SET_VBR, (!settings.is_constant).into()),
        ] {
            // SAFETY: each of these requests takes one number of 32 bits.
            unsafe { (self.symbols.encoder_ctl)(self.state.as_ptr(), request, value) };
        }
    }

    /// Appends the packet of a frame of 10, 20, 40 or 60 ms; whether there is one.
    pub(crate) fn encode(&mut self, samples: &[i16], out: &mut Vec<u8>) -> bool {
        let (Ok(count), Ok(room)) = (c_int::try_from(samples.len()), i32::try_from(OCTETS_MAX))
        else {
            return false;
        };
        let start = out.len();
        out.resize(start + OCTETS_MAX, 0);
        // SAFETY: the state lives; the samples are as many as is said, the library writes at most
        // as many octets as is said.
        let octets = unsafe {
            let out = out[start..].as_mut_ptr();
            (self.symbols.encode)(self.state.as_ptr(), samples.as_ptr(), count, out, room)
        };
        let octets = usize::try_from(octets).unwrap_or(0).min(OCTETS_MAX);
        out.truncate(start + octets);
        octets > 0
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: the library made it, and it is used no more.
        unsafe { (self.symbols.encoder_destroy)(self.state.as_ptr()) };
    }
}

/// A decoder.
#[derive(Debug)]
pub(crate) struct Decoder {
    symbols: Symbols,
    state: NonNull<c_void>,
    rate: Rate,
}

// SAFETY: as of the encoder.
unsafe impl Send for Decoder {}

impl Decoder {
    /// A decoder to samples of that rate; `None` if the library has no memory.
    pub(crate) fn new(symbols: Symbols, rate: Rate) -> Option<Self> {
        let mut error = 0;
        // SAFETY: the error is written to a variable that lives; the rest are numbers.
        let state =
            unsafe { (symbols.decoder_create)(rate.hertz().cast_signed(), 1, &raw mut error) };
        Some(Self { symbols, state: NonNull::new(state)?, rate })
    }

    /// Appends the samples of a packet; whether it could be decoded.
    pub(crate) fn decode(&mut self, packet: &[u8], out: &mut Vec<i16>) -> bool {
        !packet.is_empty() && self.call(packet, self.rate.samples(PACKET_MS_MAX), false, out)
    }

    /// Appends so many samples in place of a packet that is lost, out of what the packet behind it
    /// says of it.
    pub(crate) fn recover(&mut self, next: &[u8], samples: usize, out: &mut Vec<i16>) -> bool {
        !next.is_empty() && self.call(next, samples, true, out)
    }

    /// Appends so many samples in place of a packet that is lost: a multiple of 2.5 ms.
    pub(crate) fn conceal(&mut self, samples: usize, out: &mut Vec<i16>) -> bool {
        self.call(&[], samples, false, out)
    }

    fn call(&mut self, packet: &[u8], room: usize, is_before: bool, out: &mut Vec<i16>) -> bool {
        let most = self.rate.samples(PACKET_MS_MAX);
        let room = room.min(most);
        let (Ok(octets), Ok(count)) = (i32::try_from(packet.len()), c_int::try_from(room)) else {
            return false;
        };
        let start = out.len();
        out.resize(start + room, 0);
        let data = if packet.is_empty() { ptr::null() } else { packet.as_ptr() };
        // SAFETY: the state lives; the packet is as long as is said, or null, which stands for one
        // that is lost; the library writes at most as many samples as is said, of one channel.
        let samples = unsafe {
            let out = out[start..].as_mut_ptr();
            (self.symbols.decode)(self.state.as_ptr(), data, octets, out, count, is_before.into())
        };
        let samples = usize::try_from(samples).unwrap_or(0).min(room);
        out.truncate(start + samples);
        samples > 0
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: the library made it, and it is used no more.
        unsafe { (self.symbols.decoder_destroy)(self.state.as_ptr()) };
    }
}
