//! The E-model's formulas (G.107 (06/2015) §7, G.107.1 (06/2019) §7) at the default values of their
//! tables: what a network does not measure is as in a quiet room with a good handset.

/// The default values (G.107 Table 2): what is not 0 or 1 there.
mod default {
    pub(super) const SEND_LOUDNESS: f64 = 8.0;
    pub(super) const RECEIVE_LOUDNESS: f64 = 2.0;
    pub(super) const SIDETONE_MASKING: f64 = 15.0;
    pub(super) const D_SEND: f64 = 3.0;
    pub(super) const LISTENER_SIDETONE: f64 = 18.0;
    pub(super) const TALKER_ECHO_LOUDNESS: f64 = 65.0;
    pub(super) const WEIGHTED_ECHO_PATH_LOSS: f64 = 110.0;
    pub(super) const CIRCUIT_NOISE: f64 = -70.0;
    pub(super) const FLOOR_NOISE: f64 = -64.0;
    pub(super) const ROOM_NOISE: f64 = 35.0;
    pub(super) const QUANTISING_UNITS: f64 = 1.0;
}

/// The overall loudness rating.
const LOUDNESS: f64 = default::SEND_LOUDNESS + default::RECEIVE_LOUDNESS;
/// The basic signal-to-noise ratio of wideband (G.107.1 §7.2).
pub(super) const WIDE_RO: f64 = 129.0;

fn decibel(power: f64) -> f64 {
    10.0 * power.log10()
}

fn power(decibel: f64) -> f64 {
    10f64.powf(decibel / 10.0)
}

/// The sum of all noises in dBm0p (G.107 §7.2, eq. 7-3 to 7-7).
pub(super) fn noise() -> f64 {
    use default::{
        CIRCUIT_NOISE, D_SEND, FLOOR_NOISE, RECEIVE_LOUDNESS, ROOM_NOISE, SEND_LOUDNESS,
    };
    let sending = ROOM_NOISE - SEND_LOUDNESS - D_SEND - 100.0
        + 0.004 * (ROOM_NOISE - LOUDNESS - D_SEND - 14.0).powi(2);
    let effective = ROOM_NOISE + decibel(1.0 + power(10.0 - default::LISTENER_SIDETONE));
    let receiving = RECEIVE_LOUDNESS - 121.0 + effective + 0.008 * (effective - 35.0).powi(2);
    let floor = FLOOR_NOISE + RECEIVE_LOUDNESS;
    decibel(power(CIRCUIT_NOISE) + power(sending) + power(receiving) + power(floor))
}

/// The basic signal-to-noise ratio (eq. 7-2).
pub(super) fn ro() -> f64 {
    15.0 - 1.5 * (default::SEND_LOUDNESS + noise())
}

/// What impairs speech while it is spoken: loudness, sidetone and quantisation (eq. 7-8 to 7-17).
/// `echo_ms` is the one-way delay of the talker's echo.
pub(super) fn simultaneous(echo_ms: f64) -> f64 {
    let root = |base: f64, exponent: f64| base.powf(1.0 / exponent);
    let loud = LOUDNESS + 0.2 * (64.0 + noise() - default::RECEIVE_LOUDNESS);
    let too_loud = 20.0 * (root(1.0 + (loud / 8.0).powi(8), 8.0) - loud / 8.0);
    let masking = -decibel(
        power(-default::SIDETONE_MASKING)
            + (-echo_ms / 4.0).exp() * power(-default::TALKER_ECHO_LOUDNESS),
    );
    let sidetone = 12.0 * root(1.0 + ((masking - 13.0) / 6.0).powi(8), 8.0)
        - 28.0 * root(1.0 + ((masking + 1.0) / 19.4).powi(35), 35.0)
        - 13.0 * root(1.0 + ((masking - 3.0) / 33.0).powi(13), 13.0)
        + 29.0;
    let q = 37.0 - 15.0 * default::QUANTISING_UNITS.log10();
    let g = 1.07 + 0.258 * q + 0.0602 * q * q;
    let (y, z) = ((ro() - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0, 46.0 / 30.0 - g / 40.0);
    let quantised = 15.0 * (1.0 + 10f64.powf(y) + 10f64.powf(z)).log10();
    too_loud + sidetone + quantised
}

/// What the talker's own echo impairs (eq. 7-19 to 7-22); `ms` is its delay one way.
fn talker_echo(ms: f64) -> f64 {
    let masked = default::TALKER_ECHO_LOUDNESS
        - 40.0 * ((1.0 + ms / 10.0) / (1.0 + ms / 150.0)).log10()
        + 6.0 * (-0.3 * ms * ms).exp();
    let re = 80.0 + 2.5 * (masked - 14.0);
    let roe = -1.5 * (noise() - default::RECEIVE_LOUDNESS);
    let half = (roe - re) / 2.0;
    // An echo that nobody hears comes out as a tenth below nothing.
    ((half + (half * half + 100.0).sqrt() - 1.0) * (1.0 - (-ms).exp())).max(0.0)
}

/// What the listener's echo impairs (eq. 7-25, 7-26); `ms` is the round trip.
fn listener_echo(ms: f64, ro: f64) -> f64 {
    let rle = 10.5 * (default::WEIGHTED_ECHO_PATH_LOSS + 7.0) * (ms + 1.0).powf(-0.25);
    let half = (ro - rle) / 2.0;
    half + (half * half + 169.0).sqrt()
}

/// What delay impairs even without an echo (eq. 7-27, 7-28); `ms` is the delay one way. The
/// sensitivity is that of most (sT = 1, mT = 100 ms).
pub(super) fn absolute_delay(ms: f64) -> f64 {
    if ms <= 100.0 {
        return 0.0;
    }
    let x = (ms / 100.0).log2();
    let term = |x: f64| (1.0 + x.powi(6)).powf(1.0 / 6.0);
    25.0 * (term(x) - 3.0 * term(x / 3.0) + 2.0)
}

/// The delay impairment of narrowband (eq. 7-18): the echoes have the delay of speech.
pub(super) fn delay(ms: f64) -> f64 {
    talker_echo(ms) + listener_echo(2.0 * ms, ro()) + absolute_delay(ms)
}

/// The equipment impairment with losses (eq. 7-29, G.107.1 eq. 7-15): `loss` is a fraction.
pub(super) fn effective(ie: f64, bpl: f64, loss: f64, burst_ratio: f64) -> f64 {
    let percent = loss * 100.0;
    ie + (95.0 - ie) * percent / (percent / burst_ratio + bpl)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64, by: f64) {
        assert!((left - right).abs() < by, "{left} is not {right}");
    }

    #[test]
    fn all_default_values_give_an_r_of_93_2() {
        near(noise(), -61.18, 0.01);
        near(ro(), 94.77, 0.01);
        near(simultaneous(0.0), 1.41, 0.01);
        near(ro() - simultaneous(0.0) - delay(0.0), 93.2, 0.01);
    }

    #[test]
    fn delay_begins_to_matter_at_100_ms_and_follows_the_formula() {
        near(absolute_delay(100.0), 0.0, 1e-9);
        near(absolute_delay(200.0), 3.02, 0.05);
        near(absolute_delay(400.0), 24.0, 1.0);
        for ms in 0..2_000 {
            let (one, next) = (delay(f64::from(ms)), delay(f64::from(ms + 1)));
            assert!(next >= one, "{ms} ms: {one}, then {next}");
        }
    }

    #[test]
    fn delay_impairs_as_others_have_fitted_it() {
        // Cole and Rosenbluth, "Voice over IP performance monitoring", ACM SIGCOMM Computer
        // Communication Review 31 (2), 2001, §3.1: two lines through the whole model up to 300 ms.
        for ms in (20..=300).step_by(10).map(f64::from) {
            let lines = 0.024 * ms + 0.11 * (ms - 177.3).max(0.0);
            near(delay(ms), lines, 1.1);
        }
    }

    #[test]
    fn losses_impair_by_their_robustness() {
        near(effective(0.0, 4.3, 0.0, 1.0), 0.0, 1e-9);
        near(effective(11.0, 19.0, 0.19, 1.0), 53.0, 1e-9);
        near(effective(20.0, 4.3, 0.02, 1.0), 43.8095, 1e-4);
    }
}
