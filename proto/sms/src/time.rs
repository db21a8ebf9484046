//! Times of TPDUs: time stamps in semi-octets (TS 23.040 §9.2.3.11) and validity periods
//! (§9.2.3.12).

use core::fmt;

/// Octets of a time.
pub const TIME_OCTETS: usize = 7;
/// The bit of the first semi-octet of a time zone that it lies west of Greenwich.
const WEST: u8 = 8;
/// Seconds of a quarter of an hour, in which time zones are counted.
const QUARTER_S: i64 = 15 * 60;
const DAY_S: i64 = 86_400;
/// The last second of 2069.
const LAST_S: i64 = 3_155_759_999;

/// A time stamp: year, month, day, hour, minute, second and time zone, two digits each, the lower
/// digit first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Time(pub [u8; TIME_OCTETS]);

impl Time {
    /// A time of seconds since 1970, in a zone of quarters of an hour east of Greenwich, at most
    /// 79 either way. What lies before 1970 or behind 2069 is the next time that can be written.
    #[must_use]
    pub fn of_unix(seconds: i64, quarters: i8) -> Self {
        let (seconds, quarters) = (seconds.clamp(0, LAST_S), quarters.clamp(-79, 79));
        let local = seconds + i64::from(quarters) * QUARTER_S;
        let (days, second) = (local.div_euclid(DAY_S), local.rem_euclid(DAY_S));
        let (year, month, day) = civil(days);
        let fields = [year, month, day, second / 3600, second / 60 % 60, second % 60];
        let mut octets = [0; TIME_OCTETS];
        for (octet, field) in octets.iter_mut().zip(fields) {
            *octet = semi_octets(field);
        }
        let zone = semi_octets(i64::from(quarters.unsigned_abs()));
        octets[6] = if quarters < 0 { zone | WEST } else { zone };
        Self(octets)
    }

    /// Seconds since 1970, of a year from 1970 to 2069; none if it is no time.
    #[must_use]
    pub fn unix(&self) -> Option<i64> {
        let [year, month, day, hour, minute, second, _] = self.0.map(|it| i64::from(swapped(it)));
        let quarters = i64::from(self.quarters()?);
        let is_time = self.0[..6].iter().all(|it| it & 0xf < 10 && it >> 4 < 10)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        let full = if year < 70 { 2000 + year } else { 1900 + year };
        let seconds = days_of(full, month, day) * DAY_S + hour * 3600 + minute * 60 + second;
        is_time.then_some(seconds - quarters * QUARTER_S)
    }

    /// The time zone, in quarters of an hour east of Greenwich; none if it has no digits.
    #[must_use]
    pub fn quarters(&self) -> Option<i8> {
        let (low, high) = (self.0[6] & 7, self.0[6] >> 4);
        let quarters = i8::try_from(low * 10 + high).ok().filter(|_| high < 10)?;
        Some(if self.0[6] & WEST != 0 { -quarters } else { quarters })
    }

    /// The time as `26-11-27T00:04:42+01:00`; none if it has semi-octets that are no digits.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let is_digits = self.0[..6].iter().all(|it| it & 0xf < 10 && it >> 4 < 10);
        let quarters = self.quarters().filter(|_| is_digits)?.unsigned_abs();
        let [year, month, day, hour, minute, second, zone] = self.0;
        let sign = if zone & WEST == 0 { '+' } else { '-' };
        let it = |octet| Digits(octet);
        let date = format!("{}-{}-{}", it(year), it(month), it(day));
        let clock = format!("{}:{}:{}", it(hour), it(minute), it(second));
        Some(format!("{date}T{clock}{sign}{:02}:{:02}", quarters / 4, quarters % 4 * 15))
    }

    /// The time that such a text is.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        const FORM: &[u8] = b"00-00-00T00:00:00+00:00";
        let octets = text.as_bytes();
        let fits = |(form, octet): (&u8, &u8)| match form {
            b'0' => octet.is_ascii_digit(),
            b'+' => matches!(octet, b'+' | b'-'),
            _ => form == octet,
        };
        if octets.len() != FORM.len() || !FORM.iter().zip(octets).all(fits) {
            return None;
        }
        let two = |at: usize| (octets[at] - b'0', octets[at + 1] - b'0');
        let swap = |at| {
            let (high, low) = two(at);
            low << 4 | high
        };
        let number = |at| {
            let (high, low) = two(at);
            high * 10 + low
        };
        let (hours, minutes) = (number(18), number(21));
        let quarters = hours.checked_mul(4)?.checked_add(minutes / 15)?;
        if quarters > 79 || minutes % 15 != 0 {
            return None;
        }
        let zone = semi_octets(i64::from(quarters)) | if octets[17] == b'-' { WEST } else { 0 };
        Some(Self([swap(0), swap(3), swap(6), swap(9), swap(12), swap(15), zone]))
    }
}

/// The two digits of an octet.
struct Digits(u8);

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0 & 0xf, self.0 >> 4)
    }
}

const fn swapped(octet: u8) -> u8 {
    (octet & 0xf) * 10 + (octet >> 4)
}

/// The octet of a number below 100.
fn semi_octets(number: i64) -> u8 {
    let number = u8::try_from(number.rem_euclid(100)).unwrap_or_default();
    let (tens, units) = (number / 10, number % 10);
    units << 4 | tens
}

/// Days since 1970 of a date of the Gregorian calendar.
const fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let shifted = if month > 2 { year } else { year - 1 };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of days since 1970.
const fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let number = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + if number <= 2 { 1 } else { 0 }, number, day)
}

/// A validity period (TS 23.040 §9.2.3.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    /// Steps from five minutes up to 63 weeks.
    Relative(u8),
    /// Until then.
    Absolute(Time),
    /// Functionality indicator, and what it says follows.
    Enhanced([u8; TIME_OCTETS]),
}

impl Validity {
    /// How long from the time that the message was received; none if it says nothing of that.
    #[must_use]
    pub fn seconds(&self, received_unix: i64) -> Option<i64> {
        match self {
            Self::Relative(step) => Some(relative(*step)),
            Self::Absolute(time) => Some((time.unix()? - received_unix).max(0)),
            Self::Enhanced([indicator, rest @ ..]) if indicator & 0x80 == 0 => {
                match indicator & 7 {
                    1 => Some(relative(rest[0])),
                    2 => Some(i64::from(rest[0])),
                    3 => {
                        let [hours, minutes, seconds, ..] = rest.map(|it| i64::from(swapped(it)));
                        Some(hours * 3600 + minutes * 60 + seconds)
                    }
                    _ => None,
                }
            }
            Self::Enhanced(_) => None,
        }
    }
}

/// Seconds of a relative validity period (§9.2.3.12.1).
const fn relative(step: u8) -> i64 {
    let step = step as i64;
    match step {
        0..=143 => (step + 1) * 300,
        144..=167 => 12 * 3600 + (step - 143) * 1800,
        168..=196 => (step - 166) * DAY_S,
        _ => (step - 192) * 7 * DAY_S,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_in_any_zone() {
        for seconds in [86_400, 951_782_399, 1_795_737_882, 3_155_673_599, 1_709_164_800] {
            for quarters in [-79, -13, 0, 4, 23, 79] {
                let time = Time::of_unix(seconds, quarters);
                assert_eq!((time.unix(), time.quarters()), (Some(seconds), Some(quarters)));
                assert_eq!(Time::of_text(&time.text().unwrap()), Some(time));
            }
        }
        let time = Time::of_unix(1_795_737_882, 4);
        assert_eq!(time.text().unwrap(), "26-11-27T01:04:42+01:00");
        assert_eq!(time.0, [0x62, 0x11, 0x72, 0x10, 0x40, 0x24, 0x40]);
        assert_eq!(Time([0x62, 0x1f, 0, 0, 0, 0, 0]).text(), None);
        let edges = [i64::MIN, i64::MAX].map(|it| Time::of_unix(it, 0).text().unwrap());
        assert_eq!(edges, ["70-01-01T00:00:00+00:00", "69-12-31T23:59:59+00:00"]);
        assert_eq!(Time::of_text("26-11-27T00:04:42+20:00"), None);
    }

    #[test]
    fn validity_periods_are_those_of_the_table() {
        for (step, seconds) in [
            (0, 300),
            (143, 43_200),
            (144, 45_000),
            (167, 86_400),
            (168, 172_800),
            (196, 2_592_000),
            (197, 3_024_000),
            (255, 38_102_400),
        ] {
            assert_eq!(Validity::Relative(step).seconds(0), Some(seconds), "{step}");
        }
        assert_eq!(Validity::Enhanced([3, 0x10, 0x20, 0x30, 0, 0, 0]).seconds(0), Some(3723));
        assert_eq!(Validity::Enhanced([2, 7, 0, 0, 0, 0, 0]).seconds(0), Some(7));
        assert_eq!(Validity::Enhanced([0; 7]).seconds(0), None);
        let until = Time::of_unix(1_795_737_882, 4);
        assert_eq!(Validity::Absolute(until).seconds(1_795_737_880), Some(2));
    }
}
