//! How a call sounds (RFC 3611 §4.7).

use super::frame::{BlockType, RawBlock, begin, end};
use crate::bursts::GMIN;
use crate::reception::Figures;
use machine::{Duration, narrow};
use wire::Malformed;

/// A score or a level that nobody knows: R factors, MOS, and the residual echo return loss.
pub const NO_SCORE: u8 = 127;
/// A signal or noise level that nobody knows (-128 dBm0 is none; 127 says so).
pub const NO_LEVEL: i8 = 127;

wire::rows! {
    /// How a receiver conceals what lacks.
    pub enum Concealment: u8 {
        /// Not known.
        Unspecified = 0, "unspecified", "RFC 3611 §4.7.6";
        /// With silence.
        Disabled = 1, "disabled", "RFC 3611 §4.7.6";
        /// With what was before.
        Enhanced = 2, "enhanced", "RFC 3611 §4.7.6";
        /// As G.711 appendix I does.
        Standard = 3, "standard", "RFC 3611 §4.7.6";
    }
}

/// The jitter buffer of a receiver (RFC 3611 §4.7.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JitterBuffer {
    /// Whether it adapts; `None` if it is not known.
    pub is_adaptive: Option<bool>,
    /// How fast it does, 0 to 15.
    pub rate: u8,
    /// Its nominal delay in milliseconds.
    pub nominal_ms: u16,
    /// The delay of its latest packet in milliseconds.
    pub maximum_ms: u16,
    /// What it can come to in milliseconds.
    pub absolute_maximum_ms: u16,
}

/// How a call sounds to a receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VoipMetrics {
    /// The stream.
    pub ssrc: u32,
    /// The fraction that the network lost, in 256ths.
    pub loss_rate: u8,
    /// The fraction that the jitter buffer discarded, in 256ths.
    pub discard_rate: u8,
    /// The fraction lost or discarded in bursts, in 256ths.
    pub burst_density: u8,
    /// The fraction lost or discarded in gaps, in 256ths.
    pub gap_density: u8,
    /// The mean length of a burst in milliseconds.
    pub burst_ms: u16,
    /// The mean length of a gap in milliseconds.
    pub gap_ms: u16,
    /// The round trip between the interfaces in milliseconds; zero if it is not known.
    pub round_trip_ms: u16,
    /// What the end system adds in milliseconds.
    pub end_system_ms: u16,
    /// The level of speech in dBm0, [`NO_LEVEL`] if it is not known.
    pub signal_level: i8,
    /// The level of noise in dBm0, [`NO_LEVEL`] if it is not known.
    pub noise_level: i8,
    /// Residual echo return loss in dB, [`NO_SCORE`] if it is not known.
    pub echo_return_loss: u8,
    /// Packets in a row that end a burst.
    pub gmin: u8,
    /// The R factor, [`NO_SCORE`] if it is not known.
    pub r_factor: u8,
    /// The R factor of a part behind another network, [`NO_SCORE`] if it is not known.
    pub external_r_factor: u8,
    /// MOS for listening, times ten, [`NO_SCORE`] if it is not known.
    pub mos_lq: u8,
    /// MOS for conversation, times ten, [`NO_SCORE`] if it is not known.
    pub mos_cq: u8,
    /// How lack is concealed.
    pub concealment: Concealment,
    /// The jitter buffer.
    pub jitter_buffer: JitterBuffer,
}

/// A fraction in 256ths, the whole as 255.
#[allow(clippy::cast_possible_truncation, reason = "it saturates")]
fn in_256ths(fraction: f64) -> u8 {
    (fraction * 256.0) as u8
}

#[allow(clippy::cast_possible_truncation, reason = "it saturates")]
fn in_ms(packets: f64, packet: Duration) -> u16 {
    (packets * packet.as_secs_f64() * 1_000.0).round() as u16
}

impl VoipMetrics {
    /// What was counted of a stream of packets of that length; scores, levels and the jitter buffer
    /// are not known.
    #[must_use]
    pub fn of(ssrc: u32, figures: &Figures, packet: Duration) -> Self {
        let bursts = &figures.bursts;
        Self {
            ssrc,
            loss_rate: in_256ths(figures.loss()),
            discard_rate: 0,
            burst_density: in_256ths(bursts.burst_density()),
            gap_density: in_256ths(bursts.gap_density()),
            burst_ms: in_ms(bursts.burst_length(), packet),
            gap_ms: in_ms(bursts.gap_length(), packet),
            round_trip_ms: narrow::at_most(
                narrow::millis(figures.round_trip.unwrap_or_default()),
                u16::MAX,
            ),
            end_system_ms: 0,
            signal_level: NO_LEVEL,
            noise_level: NO_LEVEL,
            echo_return_loss: NO_SCORE,
            gmin: GMIN,
            r_factor: NO_SCORE,
            external_r_factor: NO_SCORE,
            mos_lq: NO_SCORE,
            mos_cq: NO_SCORE,
            concealment: Concealment::Unspecified,
            jitter_buffer: JitterBuffer::default(),
        }
    }

    pub(super) fn read(raw: &RawBlock<'_>) -> Result<Self, Malformed> {
        let cut = "the metrics are cut off";
        let mut cursor = raw.cursor(BlockType::VoipMetrics.spec());
        let ssrc = cursor.be32(cut)?;
        let [loss_rate, discard_rate, burst_density, gap_density] = cursor.array(cut)?;
        let (burst_ms, gap_ms) = (cursor.be16(cut)?, cursor.be16(cut)?);
        let (round_trip_ms, end_system_ms) = (cursor.be16(cut)?, cursor.be16(cut)?);
        let [signal, noise, echo_return_loss, gmin] = cursor.array(cut)?;
        let [r_factor, external_r_factor, mos_lq, mos_cq] = cursor.array(cut)?;
        let [configuration, _] = cursor.array(cut)?;
        let jitter_buffer = JitterBuffer {
            is_adaptive: match configuration >> 4 & 3 {
                2 => Some(false),
                3 => Some(true),
                _ => None,
            },
            rate: configuration & 0x0F,
            nominal_ms: cursor.be16(cut)?,
            maximum_ms: cursor.be16(cut)?,
            absolute_maximum_ms: cursor.be16(cut)?,
        };
        if !cursor.is_empty() {
            return Err(cursor.violation("octets follow the metrics"));
        }
        Ok(Self {
            ssrc,
            loss_rate,
            discard_rate,
            burst_density,
            gap_density,
            burst_ms,
            gap_ms,
            round_trip_ms,
            end_system_ms,
            signal_level: signal.cast_signed(),
            noise_level: noise.cast_signed(),
            echo_return_loss,
            gmin,
            r_factor,
            external_r_factor,
            mos_lq,
            mos_cq,
            // Two bits, and each has its row.
            concealment: Concealment::of(configuration >> 6).unwrap_or(Concealment::Unspecified),
            jitter_buffer,
        })
    }

    /// Appends the block.
    pub fn write(&self, out: &mut Vec<u8>) {
        let buffer = &self.jitter_buffer;
        let adaptive = match buffer.is_adaptive {
            None => 0,
            Some(false) => 2,
            Some(true) => 3,
        };
        let configuration = self.concealment.number() << 6 | adaptive << 4 | buffer.rate & 0x0F;
        let start = begin(BlockType::VoipMetrics, 0, out);
        out.extend_from_slice(&self.ssrc.to_be_bytes());
        let densities = [self.loss_rate, self.discard_rate, self.burst_density, self.gap_density];
        out.extend_from_slice(&densities);
        for time in [self.burst_ms, self.gap_ms, self.round_trip_ms, self.end_system_ms] {
            out.extend_from_slice(&time.to_be_bytes());
        }
        let levels = [self.signal_level.cast_unsigned(), self.noise_level.cast_unsigned()];
        out.extend_from_slice(&levels);
        out.extend_from_slice(&[self.echo_return_loss, self.gmin]);
        let scores = [self.r_factor, self.external_r_factor, self.mos_lq, self.mos_cq];
        out.extend_from_slice(&scores);
        out.extend_from_slice(&[configuration, 0]);
        let delays = [buffer.nominal_ms, buffer.maximum_ms, buffer.absolute_maximum_ms];
        for time in delays {
            out.extend_from_slice(&time.to_be_bytes());
        }
        end(start, out);
    }
}
