//! opencore-amr and vo-amrwbenc: frames in the storage format of RFC 4867 §5.3, an octet with the
//! type and then the speech bits, which lie as they do in RTP.

use super::load::symbols;
use crate::amr::{Band, FRAME_OCTETS_MAX};
use core::ffi::{c_int, c_void};
use core::ptr::NonNull;

/// What the libraries are given to read: they read by the type of a frame, up to 61 octets.
const ROOM: usize = 64;

symbols! {
    pub(crate) struct Narrow(library) {
        library.encoder_init = c"Encoder_Interface_init":
            unsafe extern "C" fn(c_int) -> *mut c_void;
        library.encode = c"Encoder_Interface_Encode":
            unsafe extern "C" fn(*mut c_void, c_int, *const i16, *mut u8, c_int) -> c_int;
        library.encoder_exit = c"Encoder_Interface_exit": unsafe extern "C" fn(*mut c_void);
        library.decoder_init = c"Decoder_Interface_init": unsafe extern "C" fn() -> *mut c_void;
        library.decode = c"Decoder_Interface_Decode":
            unsafe extern "C" fn(*mut c_void, *const u8, *mut i16, c_int);
        library.decoder_exit = c"Decoder_Interface_exit": unsafe extern "C" fn(*mut c_void);
    }
}

symbols! {
    pub(crate) struct Wide(opencore, vo) {
        vo.encoder_init = c"E_IF_init": unsafe extern "C" fn() -> *mut c_void;
        vo.encode = c"E_IF_encode":
            unsafe extern "C" fn(*mut c_void, c_int, *const i16, *mut u8, c_int) -> c_int;
        vo.encoder_exit = c"E_IF_exit": unsafe extern "C" fn(*mut c_void);
        opencore.decoder_init = c"D_IF_init": unsafe extern "C" fn() -> *mut c_void;
        opencore.decode = c"D_IF_decode":
            unsafe extern "C" fn(*mut c_void, *const u8, *mut i16, c_int);
        opencore.decoder_exit = c"D_IF_exit": unsafe extern "C" fn(*mut c_void);
    }
}

/// The library of a band.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Symbols {
    Narrow(Narrow),
    Wide(Wide),
}

impl Symbols {
    const fn band(&self) -> Band {
        match self {
            Self::Narrow(_) => Band::Narrow,
            Self::Wide(_) => Band::Wide,
        }
    }
}

/// An encoder.
#[derive(Debug)]
pub(crate) struct Encoder {
    symbols: Symbols,
    state: NonNull<c_void>,
    has_dtx: bool,
}

// SAFETY: a state has no thread of its own and is not tied to one; the libraries have no variables
// that are shared.
unsafe impl Send for Encoder {}

impl Encoder {
    /// An encoder; `None` if the library has no memory.
    pub(crate) fn new(symbols: Symbols, has_dtx: bool) -> Option<Self> {
        // SAFETY: they take no memory of ours.
        let state = unsafe {
            match symbols {
                Symbols::Narrow(it) => (it.encoder_init)(has_dtx.into()),
                Symbols::Wide(it) => (it.encoder_init)(),
            }
        };
        Some(Self { symbols, state: NonNull::new(state)?, has_dtx })
    }

    /// Codes a frame of 20 ms; the octets of it, the one with the type first. `None` if the samples
    /// are not as many.
    pub(crate) fn encode<'a>(
        &mut self,
        mode: u8,
        samples: &[i16],
        out: &'a mut [u8; FRAME_OCTETS_MAX],
    ) -> Option<&'a [u8]> {
        let band = self.symbols.band();
        let mode = mode.min(band.modes() - 1).into();
        if samples.len() != band.frame_samples() {
            return None;
        }
        let state = self.state.as_ptr();
        // SAFETY: the state lives, the samples are those of a frame; no frame has more octets than
        // there is room for: 32 of AMR, 61 of AMR-WB.
        let octets = unsafe {
            let (from, to) = (samples.as_ptr(), out.as_mut_ptr());
            match self.symbols {
                Symbols::Narrow(it) => (it.encode)(state, mode, from, to, 0),
                Symbols::Wide(it) => (it.encode)(state, mode, from, to, self.has_dtx.into()),
            }
        };
        out.get(..usize::try_from(octets).ok()?)
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: the library made it, and it is used no more.
        unsafe {
            match self.symbols {
                Symbols::Narrow(it) => (it.encoder_exit)(self.state.as_ptr()),
                Symbols::Wide(it) => (it.encoder_exit)(self.state.as_ptr()),
            }
        }
    }
}

/// A decoder.
#[derive(Debug)]
pub(crate) struct Decoder {
    symbols: Symbols,
    state: NonNull<c_void>,
}

// SAFETY: as of the encoder.
unsafe impl Send for Decoder {}

impl Decoder {
    /// A decoder; `None` if the library has no memory.
    pub(crate) fn new(symbols: Symbols) -> Option<Self> {
        // SAFETY: they take no memory of ours.
        let state = unsafe {
            match symbols {
                Symbols::Narrow(it) => (it.decoder_init)(),
                Symbols::Wide(it) => (it.decoder_init)(),
            }
        };
        Some(Self { symbols, state: NonNull::new(state)? })
    }

    /// Appends the 20 ms of a frame: its type, and speech bits as many as that type has; whether it
    /// is one.
    pub(crate) fn decode(
        &mut self,
        kind: u8,
        is_good: bool,
        bits: &[u8],
        out: &mut Vec<i16>,
    ) -> bool {
        let band = self.symbols.band();
        // Only types that exist reach the library.
        if band.frame_octets(kind) != Some(bits.len()) {
            return false;
        }
        let mut frame = [0; ROOM];
        frame[0] = kind << 3 | u8::from(is_good) << 2;
        frame[1..=bits.len()].copy_from_slice(bits);
        let start = out.len();
        out.resize(start + band.frame_samples(), 0);
        let state = self.state.as_ptr();
        // SAFETY: the state lives; the frame is as long as any that is read, whatever its type; a
        // frame's samples are written.
        unsafe {
            let (from, to) = (frame.as_ptr(), out[start..].as_mut_ptr());
            match self.symbols {
                Symbols::Narrow(it) => (it.decode)(state, from, to, (!is_good).into()),
                Symbols::Wide(it) => (it.decode)(state, from, to, (!is_good).into()),
            }
        }
        true
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: the library made it, and it is used no more.
        unsafe {
            match self.symbols {
                Symbols::Narrow(it) => (it.decoder_exit)(self.state.as_ptr()),
                Symbols::Wide(it) => (it.decoder_exit)(self.state.as_ptr()),
            }
        }
    }
}
