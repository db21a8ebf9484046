//! What is said of a codec by an offer and an answer.

use crate::amr::{Band, Packing};
use crate::resample::Rate;
use machine::Duration;

wire::rows! {
    /// Codecs that are coded and decoded here, by the name of their media subtype.
    pub enum Codec: u8, pub clock: u32 {
        /// G.711 µ-law.
        Pcmu = 1, "PCMU", 8_000, "RFC 3551 §4.5.14";
        /// G.711 A-law.
        Pcma = 2, "PCMA", 8_000, "RFC 3551 §4.5.14";
        /// G.722: 16 kHz, though its clock is 8,000.
        G722 = 3, "G722", 8_000, "RFC 3551 §4.5.2";
        /// Opus.
        Opus = 4, "opus", 48_000, "RFC 7587 §4.1";
        /// AMR.
        Amr = 5, "AMR", 8_000, "RFC 4867 §4.1";
        /// AMR-WB.
        AmrWb = 6, "AMR-WB", 16_000, "RFC 4867 §4.1";
    }
}

impl Codec {
    /// The row of that name; case does not matter.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|codec| codec.name().eq_ignore_ascii_case(name)).copied()
    }

    /// The rate of its samples; `None`: any.
    #[must_use]
    pub const fn rate(self) -> Option<Rate> {
        match self {
            Self::Pcmu | Self::Pcma | Self::Amr => Some(Rate::Narrow),
            Self::G722 | Self::AmrWb => Some(Rate::Wide),
            Self::Opus => None,
        }
    }

    /// How long so many ticks of its clock last.
    #[must_use]
    pub fn lasts(self, ticks: u32) -> Duration {
        Duration::from_nanos(u64::from(ticks) * 1_000_000 / u64::from(self.clock() / 1_000))
    }

    /// The rate of its samples where the other side has that codec.
    #[must_use]
    pub fn rate_beside(self, other: Self) -> Rate {
        self.rate().or(other.rate()).unwrap_or(Rate::Full)
    }

    /// Which AMR it is.
    #[must_use]
    pub const fn band(self) -> Option<Band> {
        match self {
            Self::Amr => Some(Band::Narrow),
            Self::AmrWb => Some(Band::Wide),
            _ => None,
        }
    }
}

/// A codec with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a parameter of its own")]
pub struct Format {
    /// The codec.
    pub codec: Codec,
    /// How AMR is packed.
    pub packing: Packing,
    /// The modes of AMR that may be sent, a bit each.
    pub modes: u16,
    /// Frames between two changes of the mode.
    pub mode_period: u8,
    /// Whether a change goes to the next mode of the set only.
    pub is_neighbour: bool,
    /// Bits a second of Opus.
    pub bitrate_bps: u32,
    /// Effort of Opus, 0 to 10.
    pub complexity: u8,
    /// Whether Opus repeats what may be lost.
    pub has_fec: bool,
    /// Whether silence is not sent.
    pub has_dtx: bool,
    /// Whether every packet of Opus is as long.
    pub is_constant: bool,
}

/// Bits a second of Opus unless it is said: a wide band of speech (RFC 7587 §3.1.1).
const BITRATE_BPS: u32 = 24_000;
/// What more than that costs is not worth what it gives (docs/media-transcoding.md).
const COMPLEXITY: u8 = 5;
/// Every mode.
const MODES_ALL: u16 = 0x1FF;

impl Format {
    /// A codec without parameters.
    #[must_use]
    pub const fn new(codec: Codec) -> Self {
        Self {
            codec,
            packing: Packing::BandwidthEfficient,
            modes: MODES_ALL,
            mode_period: 1,
            is_neighbour: false,
            bitrate_bps: BITRATE_BPS,
            complexity: COMPLEXITY,
            has_fec: false,
            has_dtx: false,
            is_constant: false,
        }
    }

    /// A codec with the parameters of an `fmtp`, as they stand behind the payload type; what is not
    /// known is passed over.
    ///
    /// # Errors
    /// A parameter that changes payloads into what is not built: interleaving, checksums, robust
    /// sorting (RFC 4867 §8).
    pub fn with_parameters(codec: Codec, parameters: &str) -> Result<Self, &'static str> {
        let mut format = Self::new(codec);
        for parameter in parameters.split(';') {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let (name, value) = (name.trim(), value.trim());
            match codec {
                Codec::Amr | Codec::AmrWb => format.amr(name, value)?,
                Codec::Opus => format.opus(name, value),
                Codec::Pcmu | Codec::Pcma | Codec::G722 => {}
            }
        }
        let every = (1 << codec.band().map_or(0, Band::modes)) - 1;
        format.modes &= every;
        if format.modes == 0 {
            // A set of modes that do not exist says nothing.
            format.modes = every;
        }
        Ok(format)
    }

    fn amr(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        let is_on = value == "1";
        match name.to_ascii_lowercase().as_str() {
            "octet-align" if is_on => self.packing = Packing::OctetAligned,
            "mode-set" => {
                let modes = value.split(',').filter_map(|it| it.trim().parse::<u32>().ok());
                self.modes = modes.filter(|it| *it < 9).fold(0, |set, mode| set | 1 << mode);
            }
            "mode-change-period" if value == "2" => self.mode_period = 2,
            "mode-change-neighbor" => self.is_neighbour = is_on,
            "interleaving" => return Err("interleaving is not built"),
            "crc" if is_on => return Err("checksums of frames are not built"),
            "robust-sorting" if is_on => return Err("robust sorting is not built"),
            _ => {}
        }
        Ok(())
    }

    fn opus(&mut self, name: &str, value: &str) {
        let is_on = value == "1";
        match name.to_ascii_lowercase().as_str() {
            "maxaveragebitrate" => {
                let most: u32 = value.parse().unwrap_or(BITRATE_BPS);
                self.bitrate_bps = most.clamp(6_000, BITRATE_BPS);
            }
            "useinbandfec" => self.has_fec = is_on,
            "usedtx" => self.has_dtx = is_on,
            "cbr" => self.is_constant = is_on,
            _ => {}
        }
    }

    /// The highest mode of the set that is not above `most`; the lowest of the set if all are.
    #[must_use]
    pub fn mode_up_to(&self, most: u8) -> u8 {
        let is_in = |mode: &u8| self.modes >> mode & 1 == 1;
        let lowest = || (0..9).find(is_in).unwrap_or(0);
        (0..=most.min(8)).rev().find(is_in).unwrap_or_else(lowest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_an_answer_writes_them() {
        let text = "octet-align=1; mode-set=0,2,4,7;mode-change-period=2;mode-change-neighbor=1";
        let amr = Format::with_parameters(Codec::Amr, text).unwrap();
        assert_eq!((amr.packing, amr.modes, amr.mode_period), (Packing::OctetAligned, 0x95, 2));
        assert!(amr.is_neighbour);
        assert_eq!([9, 6, 4, 1, 0].map(|most| amr.mode_up_to(most)), [7, 4, 4, 0, 0]);
        let wide = Format::with_parameters(Codec::AmrWb, "").unwrap();
        assert_eq!((wide.packing, wide.mode_up_to(15)), (Packing::BandwidthEfficient, 8));
        assert_eq!(Format::with_parameters(Codec::Amr, "mode-set=8").unwrap().modes, 0xFF);
        let opus = "useinbandfec=1;maxaveragebitrate=16000;usedtx=1; cbr=0;stereo=1";
        let opus = Format::with_parameters(Codec::Opus, opus).unwrap();
        assert!(opus.has_fec && opus.has_dtx && !opus.is_constant && opus.bitrate_bps == 16_000);
    }

    #[test]
    fn payloads_that_are_not_built_are_refused() {
        for text in ["octet-align=1;interleaving=30", "crc=1", "octet-align=1; robust-sorting=1"] {
            assert!(Format::with_parameters(Codec::Amr, text).is_err(), "{text}");
        }
        assert!(Format::with_parameters(Codec::AmrWb, "crc=0;robust-sorting=0").is_ok());
    }
}
