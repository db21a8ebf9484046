//! Samples into payloads, one channel.

use crate::amr::{self, Band, FRAME_OCTETS_MAX, FRAMES_MAX, Frame};
use crate::format::{Codec, Format};
use crate::g711::Law;
use crate::g722;
use crate::library::{self, Library};
use crate::opus::SILENT_OCTETS;
use crate::resample::Rate;

/// The share of packets that an encoder of Opus with redundancy reckons to be lost.
const LOSS_PERCENT: u8 = 10;

/// What came of a packet's samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coded {
    /// A payload with sound.
    Sound,
    /// A payload that describes silence.
    Silence,
    /// Nothing is to be sent.
    Nothing,
}

/// An encoder.
#[derive(Debug)]
pub struct Encoder {
    coding: Coding,
    rate: Rate,
}

#[derive(Debug)]
enum Coding {
    G711(Law),
    G722(Box<g722::Encoder>),
    Opus(library::opus::Encoder),
    Amr(Amr),
}

impl Encoder {
    /// An encoder of samples of that rate, which is the codec's own unless that has any.
    ///
    /// # Errors
    /// The library of the codec is not there, or has no memory.
    pub fn new(format: &Format, rate: Rate, library: &Library) -> Result<Self, Codec> {
        let rate = format.codec.rate().unwrap_or(rate);
        let coding = match format.codec {
            Codec::Pcmu => Some(Coding::G711(Law::Mu)),
            Codec::Pcma => Some(Coding::G711(Law::A)),
            Codec::G722 => Some(Coding::G722(Box::default())),
            Codec::Opus => {
                let settings = settings(format);
                let make = |symbols| library::opus::Encoder::new(symbols, rate, settings);
                library.opus.and_then(make).map(Coding::Opus)
            }
            Codec::Amr => {
                let symbols = library.amr.map(library::amr::Symbols::Narrow);
                symbols.and_then(|it| Amr::new(it, Band::Narrow, format)).map(Coding::Amr)
            }
            Codec::AmrWb => {
                let symbols = library.amr_wb.map(library::amr::Symbols::Wide);
                symbols.and_then(|it| Amr::new(it, Band::Wide, format)).map(Coding::Amr)
            }
        };
        Ok(Self { coding: coding.ok_or(format.codec)?, rate })
    }

    /// The rate of its samples.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// The packet time that is nearest to what is asked for and can be: 10, 20, 30, 40 or 60 ms,
    /// whole frames of 20 ms of AMR; no 30 of Opus, which has no such frame. Nothing asked: 20.
    #[must_use]
    pub fn packet_ms(&self, asked: u16) -> u16 {
        let possible: &[u16] = match self.coding {
            Coding::G711(_) | Coding::G722(_) => &[10, 20, 30, 40, 60],
            Coding::Opus(_) => &[10, 20, 40, 60],
            Coding::Amr(_) => &[20, 40, 60],
        };
        let asked = if asked == 0 { 20 } else { asked };
        possible.iter().copied().min_by_key(|it| it.abs_diff(asked)).unwrap_or(20)
    }

    /// The other side asks for this mode.
    pub fn request(&mut self, mode: u8) {
        if let Coding::Amr(amr) = &mut self.coding {
            amr.wanted = amr.format.mode_up_to(mode);
        }
    }

    /// Appends the payload of a packet's samples.
    pub fn encode(&mut self, samples: &[i16], out: &mut Vec<u8>) -> Coded {
        let start = out.len();
        match &mut self.coding {
            Coding::G711(law) => law.encode(samples, out),
            Coding::G722(encoder) => encoder.encode(samples, out),
            Coding::Opus(encoder) => {
                if !encoder.encode(samples, out) || out.len() - start <= SILENT_OCTETS {
                    out.truncate(start);
                    return Coded::Nothing;
                }
            }
            Coding::Amr(amr) => return amr.encode(samples, out),
        }
        Coded::Sound
    }
}

fn settings(format: &Format) -> library::opus::Settings {
    library::opus::Settings {
        bitrate_bps: format.bitrate_bps,
        complexity: format.complexity,
        has_fec: format.has_fec,
        loss_percent: if format.has_fec { LOSS_PERCENT } else { 0 },
        has_dtx: format.has_dtx,
        is_constant: format.is_constant,
    }
}

/// Frames of AMR, and the mode that they have.
#[derive(Debug)]
struct Amr {
    encoder: library::amr::Encoder,
    band: Band,
    format: Format,
    mode: u8,
    wanted: u8,
    /// Frames since the mode was changed.
    since: u8,
}

impl Amr {
    fn new(symbols: library::amr::Symbols, band: Band, format: &Format) -> Option<Self> {
        let encoder = library::amr::Encoder::new(symbols, format.has_dtx)?;
        let mode = format.mode_up_to(band.modes() - 1);
        Some(Self { encoder, band, format: *format, mode, wanted: mode, since: 0 })
    }

    fn encode(&mut self, samples: &[i16], out: &mut Vec<u8>) -> Coded {
        let empty = Frame { kind: amr::NO_DATA, is_good: true, bits: [0; 60] };
        let (mut frames, mut count) = ([empty; FRAMES_MAX], 0);
        for (samples, frame) in samples.chunks_exact(self.band.frame_samples()).zip(&mut frames) {
            *frame = self.frame(samples).unwrap_or(empty);
            count += 1;
        }
        let frames = &frames[..count];
        if frames.iter().all(|frame| frame.kind == amr::NO_DATA) {
            return Coded::Nothing;
        }
        amr::write(self.band, self.format.packing, None, frames, out);
        let has_sound = frames.iter().any(|frame| frame.kind < self.band.silence());
        if has_sound { Coded::Sound } else { Coded::Silence }
    }

    fn frame(&mut self, samples: &[i16]) -> Option<Frame> {
        self.change();
        let mut octets = [0; FRAME_OCTETS_MAX];
        let coded = self.encoder.encode(self.mode, samples, &mut octets)?;
        let (&head, speech) = coded.split_first()?;
        let kind = head >> 3 & 15;
        let length = self.band.frame_octets(kind).filter(|&it| it <= speech.len())?;
        let mut frame = Frame { kind, is_good: true, bits: [0; 60] };
        frame.bits[..length].copy_from_slice(&speech[..length]);
        Some(frame)
    }

    /// Changes the mode as far as the other side lets it.
    fn change(&mut self) {
        self.since = self.since.saturating_add(1);
        if self.mode == self.wanted || self.since < self.format.mode_period {
            return;
        }
        let next = match (self.format.is_neighbour, self.mode < self.wanted) {
            (false, _) => self.wanted,
            (true, true) => {
                let above = (self.mode + 1..=self.wanted).find(|it| self.is_in(*it));
                above.unwrap_or(self.wanted)
            }
            (true, false) => self.format.mode_up_to(self.mode.saturating_sub(1)),
        };
        (self.mode, self.since) = (next, 0);
    }

    const fn is_in(&self, mode: u8) -> bool {
        self.format.modes >> mode & 1 == 1
    }
}
