//! From what a network does and a codec to R and MOS (G.107 §7.1, annex B; G.107.1 annex A).

use super::codec::{Band, Basis, Codec};
use super::model;
use crate::clock::ClockRate;
use crate::reception::Figures;
use core::time::Duration;

/// The longest delay that the E-model knows.
const DELAY_MAX: Duration = Duration::from_millis(3_000);
/// R of wideband over R of narrowband.
const WIDE_SCALE: f64 = 1.29;
/// The advantage of being reachable anywhere at most (G.107 Table 1).
const ADVANTAGE_MAX: f64 = 20.0;

/// What a network does to speech.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    /// From the mouth to the ear, one way: network, packets and jitter buffers. Half of a round
    /// trip is what is known of it as a rule.
    pub delay: Duration,
    /// The fraction of packets that is lost or comes too late, 0 to 1.
    pub loss: f64,
    /// How much longer runs of losses are than independent ones (G.107 §7.5); 1 if they are.
    pub burst_ratio: f64,
    /// What people bear for being reachable, 0 to 20 (G.107 Table 1): 5 in buildings, 10 in cars.
    pub advantage: f64,
}

impl Default for Path {
    /// A wire.
    fn default() -> Self {
        Self { delay: Duration::ZERO, loss: 0.0, burst_ratio: 1.0, advantage: 0.0 }
    }
}

impl Path {
    /// What was counted of a stream of packets of that length says: half of the round trip, a
    /// packet, and a jitter buffer of twice the jitter.
    #[must_use]
    pub fn of(figures: &Figures, clock: ClockRate, packet: Duration) -> Self {
        let way = figures.round_trip.unwrap_or_default() / 2;
        let buffer = clock.duration(figures.jitter.saturating_mul(2));
        Self {
            delay: way.saturating_add(packet).saturating_add(buffer),
            loss: figures.loss(),
            burst_ratio: figures.bursts.burst_ratio(),
            advantage: 0.0,
        }
    }
}

/// How a call sounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rating {
    r: f64,
    band: Band,
    basis: Basis,
}

impl Rating {
    /// The R factor on the scale of its band: at most 93.2 without an advantage of narrowband, 129
    /// of wideband. At least 0.
    #[must_use]
    pub const fn r(&self) -> f64 {
        self.r
    }

    /// The R factor on the scale of narrowband, 0 to 100.
    #[must_use]
    pub fn r_of_100(&self) -> f64 {
        let scale = if self.band == Band::Wide { WIDE_SCALE } else { 1.0 };
        (self.r / scale).min(100.0)
    }

    /// The scale.
    #[must_use]
    pub const fn band(&self) -> Band {
        self.band
    }

    /// Where the codec's figures come from.
    #[must_use]
    pub const fn basis(&self) -> Basis {
        self.basis
    }

    /// The mean opinion score, 1 to 4.5: for conversation, as the E-model estimates it. Those of
    /// narrowband and of wideband do not compare.
    #[must_use]
    pub fn mos(&self) -> f64 {
        let r = self.r_of_100();
        // Below R = 6.5 the polynomial goes under the least that there is.
        (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).clamp(1.0, 4.5)
    }

    /// R and MOS as extended reports write them: R of 100, ten times MOS (RFC 3611 §4.7.5).
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "both are at most 100")]
    pub fn octets(&self) -> (u8, u8) {
        (self.r_of_100().round() as u8, (self.mos() * 10.0).round() as u8)
    }
}

/// Rates a call of that codec over that path. What is no number counts as the worst.
#[must_use]
pub fn rate(codec: Codec, path: &Path) -> Rating {
    let impairment = codec.impairment();
    let ms = path.delay.min(DELAY_MAX).as_secs_f64() * 1_000.0;
    let loss = if path.loss.is_nan() { 1.0 } else { path.loss.clamp(0.0, 1.0) };
    let burst_ratio = if path.burst_ratio >= 1.0 { path.burst_ratio } else { 1.0 };
    let equipment = model::effective(impairment.ie, impairment.bpl, loss, burst_ratio);
    let before = match impairment.band {
        Band::Narrow => model::ro() - model::simultaneous(ms) - model::delay(ms),
        // The echoes of wideband are left out: terminals of it have none (G.107.1 §7.4).
        Band::Wide => model::WIDE_RO - model::absolute_delay(ms),
    };
    let advantage = path.advantage.clamp(0.0, ADVANTAGE_MAX);
    let advantage = if advantage.is_nan() { 0.0 } else { advantage };
    let r = (before - equipment + advantage).clamp(0.0, WIDE_SCALE * 100.0);
    let most = if impairment.band == Band::Wide { WIDE_SCALE * 100.0 } else { 100.0 };
    Rating { r: r.min(most), band: impairment.band, basis: impairment.basis }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(ms: u64, loss: f64) -> Path {
        Path { delay: Duration::from_millis(ms), loss, ..Path::default() }
    }

    fn near(left: f64, right: f64, by: f64) {
        assert!((left - right).abs() < by, "{left} is not {right}");
    }

    #[test]
    fn a_wire_has_an_r_of_93_2_and_a_mos_of_4_41() {
        let rating = rate(Codec::G711, &Path::default());
        near(rating.r(), 93.2, 0.01);
        near(rating.mos(), 4.41, 0.005);
        assert_eq!(rating.octets(), (93, 44));
        near(rate(Codec::G729Ab, &Path::default()).r(), 82.2, 0.01);
    }

    #[test]
    fn wideband_has_a_scale_of_its_own() {
        // G.107.1 annex A with Ie,WB of Table IV.1.
        for (codec, r, mos) in [
            (Codec::AmrWb2305, 128.0, 4.4940),
            (Codec::AmrWb1265, 116.0, 4.3371),
            (Codec::AmrWb660, 88.0, 3.5123),
        ] {
            let rating = rate(codec, &Path::default());
            assert_eq!(rating.band(), Band::Wide);
            near(rating.r(), r, 1e-9);
            near(rating.mos(), mos, 5e-4);
        }
        near(rate(Codec::AmrWb1265, &Path::default()).r_of_100(), 89.92, 0.01);
    }

    #[test]
    fn nothing_gets_better_by_loss_bursts_or_delay() {
        for codec in Codec::ALL {
            let mut before = f64::MAX;
            for loss in 0..=1_000 {
                let mos = rate(*codec, &path(50, f64::from(loss) / 1_000.0)).mos();
                assert!(mos <= before && (1.0..=4.5).contains(&mos), "{codec:?}, loss {loss}");
                before = mos;
            }
            let mut before = f64::MAX;
            for ms in 0..1_000 {
                let r = rate(*codec, &path(ms, 0.01)).r();
                assert!(r <= before, "{codec:?}, {ms} ms: {r} after {before}");
                before = r;
            }
            let mut before = f64::MAX;
            for tenths in 10..80 {
                let burst_ratio = f64::from(tenths) / 10.0;
                let r = rate(*codec, &Path { burst_ratio, ..path(50, 0.03) }).r();
                assert!(r <= before, "{codec:?}, {burst_ratio}");
                before = r;
            }
        }
    }

    #[test]
    fn what_was_counted_is_a_path() {
        let mut it = crate::Reception::new(1, 0, 0, 0);
        (1..1_000u16).filter(|n| n % 50 != 0).for_each(|n| _ = it.sequence(n));
        let figures =
            Figures { round_trip: Some(Duration::from_millis(100)), jitter: 80, ..it.figures() };
        let path = Path::of(&figures, ClockRate::TELEPHONY, Duration::from_millis(20));
        assert_eq!(path.delay, Duration::from_millis(50 + 20 + 20));
        near(path.loss, 0.019, 1e-9);
        near(path.burst_ratio, 0.981, 1e-9);
        assert!(rate(Codec::G729Ab, &path).mos() < rate(Codec::G711, &path).mos());
    }

    #[test]
    fn what_is_no_number_is_the_worst() {
        let rating = rate(Codec::G711, &path(0, f64::NAN));
        assert!(rating.mos() < 2.0);
        let path = Path { burst_ratio: f64::NAN, advantage: f64::NAN, ..path(20_000, 0.5) };
        assert_eq!((rate(Codec::G729, &path).mos(), rate(Codec::G729, &path).r()), (1.0, 0.0));
    }

    #[test]
    fn codecs_are_found_by_the_names_of_sdp_and_the_modes_of_amr() {
        assert_eq!(Codec::named(b"pcma"), Some(Codec::G711));
        assert_eq!(Codec::named(b"OPUS"), Some(Codec::Opus));
        assert_eq!(Codec::named(b"telephone-event"), None);
        assert_eq!((Codec::amr(7), Codec::amr(8)), (Some(Codec::Amr1220), None));
        assert_eq!((Codec::amr_wb(2), Codec::amr_wb(9)), (Some(Codec::AmrWb1265), None));
        let rates: Vec<f64> =
            (0..8).map(|mode| Codec::amr(mode).unwrap().impairment().ie).collect();
        assert!(rates.is_sorted_by(|slow, fast| slow >= fast), "{rates:?}");
    }
}
