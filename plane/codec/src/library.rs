//! Codecs that are libraries of the system: loaded when they are there, so that a build needs none
//! of them, and a machine that lacks one says so.
//!
//! | codec | library | Debian package |
//! |---|---|---|
//! | Opus | `libopus.so.0` | `libopus0` |
//! | AMR | `libopencore-amrnb.so.0` | `libopencore-amrnb0` |
//! | AMR-WB, read | `libopencore-amrwb.so.0` | `libopencore-amrwb0` |
//! | AMR-WB, written | `libvo-amrwbenc.so.0` | `libvo-amrwbenc0` |
//!
//! What these libraries do with octets of a peer is not proven here: whoever runs them for others
//! runs them in a process of its own.
//!
//! But for registers (`g722/lanes.rs`) the only `unsafe` of the crate is here and below. It relies
//! on this: the symbols of a library
//! have the types of its header, which have not changed within the major version in its name; a
//! state is used by one thread at a time, for which `&mut` sees; a slice is as long as the library
//! reads or writes, which is checked before each call.
#![allow(unsafe_code, reason = "C libraries: see above")]

pub(crate) mod amr;
mod load;
pub(crate) mod opus;

use crate::format::Codec;
use load::Loaded;

/// What was found of the libraries. Cheap to copy: they stay loaded to the end of the process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Library {
    pub(crate) opus: Option<opus::Symbols>,
    pub(crate) amr: Option<amr::Narrow>,
    pub(crate) amr_wb: Option<amr::Wide>,
}

/// Why a library is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    /// Its file.
    pub file: &'static str,
    /// The Debian package that has it.
    pub package: &'static str,
    /// What the loader says.
    pub why: String,
}

impl Library {
    /// A bit for the number of each codec that can be coded and decoded.
    #[must_use]
    pub fn codecs(&self) -> u32 {
        let is_there = |codec: &Codec| match codec {
            Codec::Pcmu | Codec::Pcma | Codec::G722 => true,
            Codec::Opus => self.opus.is_some(),
            Codec::Amr => self.amr.is_some(),
            Codec::AmrWb => self.amr_wb.is_some(),
        };
        let there = Codec::ALL.iter().filter(|codec| is_there(codec));
        there.fold(0, |set, codec| set | 1 << codec.number())
    }

    /// Loads what there is, and says what there is not.
    #[must_use]
    pub fn load() -> (Self, Vec<Absent>) {
        let mut absent = Vec::new();
        let mut open = |file, package| match Loaded::open(file) {
            Ok(loaded) => Some(loaded),
            Err(why) => {
                absent.push(Absent { file, package, why });
                None
            }
        };
        let opus = open("libopus.so.0", "libopus0").and_then(|it| opus::Symbols::of(&it));
        let amr = open("libopencore-amrnb.so.0", "libopencore-amrnb0");
        let amr = amr.and_then(|it| amr::Narrow::of(&it));
        let decoder = open("libopencore-amrwb.so.0", "libopencore-amrwb0");
        let encoder = open("libvo-amrwbenc.so.0", "libvo-amrwbenc0");
        let amr_wb = decoder.zip(encoder).and_then(|(d, e)| amr::Wide::of(&d, &e));
        (Self { opus, amr, amr_wb }, absent)
    }
}
