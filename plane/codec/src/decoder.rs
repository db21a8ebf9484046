//! Payloads into samples, one channel.

use crate::amr::{self, Band, Frames, Packing};
use crate::conceal::Concealment;
use crate::format::{Codec, Format};
use crate::g711::Law;
use crate::g722;
use crate::library::{self, Library};
use crate::opus;
use crate::resample::Rate;
use wire::Malformed;

/// Octets of a payload at most.
pub const PAYLOAD_OCTETS_MAX: usize = 1_500;
/// Milliseconds of a payload of G.711 and G.722 at most: longer ones nobody sends.
const MS_MAX: usize = 120;

/// What a payload had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded {
    /// How long it is, in ticks of the codec's clock.
    pub ticks: u32,
    /// Whether the sender is silent from here on: what lacks is no loss.
    pub is_silent: bool,
    /// The mode that the sender wants to be sent to it.
    pub request: Option<u8>,
}

/// A decoder.
#[derive(Debug)]
pub struct Decoder {
    coding: Coding,
    rate: Rate,
}

#[derive(Debug)]
enum Coding {
    G711(Law, Concealment),
    G722(Box<g722::Decoder>, Concealment),
    Opus(library::opus::Decoder),
    Amr { decoder: library::amr::Decoder, band: Band, packing: Packing },
}

impl Decoder {
    /// A decoder into samples of that rate, which is the codec's own unless that has any.
    ///
    /// # Errors
    /// The library of the codec is not there, or has no memory.
    pub fn new(format: &Format, rate: Rate, library: &Library) -> Result<Self, Codec> {
        let lacks = format.codec;
        let g711 = |law| Coding::G711(law, Concealment::new(Rate::Narrow));
        let amr = |symbols, band| {
            let decoder = library::amr::Decoder::new(symbols)?;
            Some(Coding::Amr { decoder, band, packing: format.packing })
        };
        let coding = match format.codec {
            Codec::Pcmu => Some(g711(Law::Mu)),
            Codec::Pcma => Some(g711(Law::A)),
            Codec::G722 => Some(Coding::G722(Box::default(), Concealment::new(Rate::Wide))),
            Codec::Opus => library
                .opus
                .and_then(|symbols| library::opus::Decoder::new(symbols, rate))
                .map(Coding::Opus),
            Codec::Amr => {
                library.amr.and_then(|it| amr(library::amr::Symbols::Narrow(it), Band::Narrow))
            }
            Codec::AmrWb => {
                library.amr_wb.and_then(|it| amr(library::amr::Symbols::Wide(it), Band::Wide))
            }
        };
        let rate = format.codec.rate().unwrap_or(rate);
        Ok(Self { coding: coding.ok_or(lacks)?, rate })
    }

    /// The rate of its samples.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// How long a payload says that it is, in ticks of the codec's clock; nothing is decoded.
    ///
    /// # Errors
    /// A payload that is none.
    pub fn ticks(&self, payload: &[u8]) -> Result<u32, Malformed> {
        match &self.coding {
            Coding::G711(..) | Coding::G722(..) => ticks(payload),
            Coding::Opus(_) => opus::ticks(payload),
            Coding::Amr { band, packing, .. } => {
                let frames = Frames::read(*band, *packing, payload)?.frames();
                Ok(u32::try_from(frames * band.frame_samples()).unwrap_or(u32::MAX))
            }
        }
    }

    /// Appends the samples of a payload.
    ///
    /// # Errors
    /// A payload that is none; nothing is appended.
    pub fn decode(&mut self, payload: &[u8], out: &mut Vec<i16>) -> Result<Decoded, Malformed> {
        let start = out.len();
        let mut decoded = Decoded { ticks: 0, is_silent: false, request: None };
        match &mut self.coding {
            Coding::G711(law, concealment) => {
                decoded.ticks = ticks(payload)?;
                law.decode(payload, out);
                concealment.heard(&mut out[start..]);
            }
            Coding::G722(decoder, concealment) => {
                decoded.ticks = ticks(payload)?;
                decoder.decode(payload, out);
                concealment.heard(&mut out[start..]);
            }
            Coding::Opus(decoder) => {
                decoded.ticks = opus::ticks(payload)?;
                decoded.is_silent = payload.len() <= opus::SILENT_OCTETS;
                if !decoder.decode(payload, out) {
                    return Err(Malformed::new(0, "the packet is damaged", "RFC 6716 §3.4"));
                }
            }
            Coding::Amr { decoder, band, packing } => {
                let frames = Frames::read(*band, *packing, payload)?;
                decoded.request = frames.request;
                for frame in frames {
                    decoder.decode(frame.kind, frame.is_good, frame.speech(*band), out);
                    decoded.is_silent = frame.kind >= band.silence();
                }
                decoded.ticks = u32::try_from(out.len() - start).unwrap_or(0);
            }
        }
        Ok(decoded)
    }

    /// Appends samples in place of what is lost: about so many, in whole frames where the codec has
    /// some. `next` is the payload behind it, if that came and may tell of it.
    pub fn conceal(&mut self, samples: usize, next: Option<&[u8]>, out: &mut Vec<i16>) {
        match &mut self.coding {
            Coding::G711(_, concealment) | Coding::G722(_, concealment) => {
                concealment.conceal(samples, out);
            }
            Coding::Opus(decoder) => {
                // In steps of 20 ms, the last one from what the next packet repeats.
                let step = self.rate.samples(20);
                let mut left = samples / self.rate.samples(10) * self.rate.samples(10);
                while left > 0 {
                    let now = left.min(step);
                    left -= now;
                    let next = next.filter(|_| left == 0);
                    if !next.is_some_and(|next| decoder.recover(next, now, out)) {
                        decoder.conceal(now, out);
                    }
                }
            }
            Coding::Amr { decoder, band, .. } => {
                for _ in 0..samples / band.frame_samples() {
                    decoder.decode(amr::NO_DATA, true, &[], out);
                }
            }
        }
    }
}

/// Octets as ticks of 8 kHz.
fn ticks(payload: &[u8]) -> Result<u32, Malformed> {
    const SPEC: &str = "RFC 3551 §4.5";
    match payload.len() {
        0 => Err(Malformed::new(0, "the payload is empty", SPEC)),
        length if length > MS_MAX * 8 => {
            Err(Malformed::new(length, "the payload is too long", SPEC))
        }
        length => Ok(u32::try_from(length).unwrap_or(0)),
    }
}
