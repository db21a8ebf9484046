//! Times and durations for people.

/// Microseconds since the UNIX epoch as `2026-11-21 02:03:04.567Z`.
#[must_use]
pub fn clock(us: u64) -> String {
    let (days, rest_us) = (us / 86_400_000_000, us % 86_400_000_000);
    let (year, month, day) = civil(days);
    let ms = rest_us / 1_000;
    let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
    let (second, ms) = (ms / 1_000 % 60, ms % 1_000);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// The same in one word: the time of what is less than a day from `now_us`, the date of the rest.
#[must_use]
pub fn short(us: u64, now_us: u64) -> String {
    let whole = clock(us);
    let (date, time) = whole.split_once(' ').unwrap_or((&whole, ""));
    if us.abs_diff(now_us) < 86_400_000_000 { time.to_owned() } else { date.to_owned() }
}

/// Days since 1970-01-01 as a date of the Gregorian calendar (Howard Hinnant, `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

/// Microseconds as their two largest units: `3d 4h`, `5m 2s`, `340ms`.
#[must_use]
pub fn duration(us: u64) -> String {
    let (ms, s) = (us / 1_000, us / 1_000_000);
    let two = |large: u64, unit: &str, small: u64, of: &str| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit} {small}{of}"),
    };
    match s {
        0 if ms == 0 && us > 0 => format!("{us}us"),
        0 => format!("{ms}ms"),
        1..60 => format!("{s}s"),
        60..3_600 => two(s / 60, "m", s % 60, "s"),
        3_600..86_400 => two(s / 3_600, "h", s / 60 % 60, "m"),
        _ => two(s / 86_400, "d", s / 3_600 % 24, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_printed_as_a_date_in_utc() {
        assert_eq!(clock(0), "1970-01-01 00:00:00.000Z");
        assert_eq!(clock(951_782_400_000_000), "2000-02-29 00:00:00.000Z");
        assert_eq!(clock(1_795_226_584_567_891), "2026-11-21 02:03:04.567Z");
    }

    #[test]
    fn a_duration_has_its_two_largest_units() {
        let said = [0, 7, 340_000, 12_900_000, 60_000_000, 302_000_000, 11_520_000_000];
        let wanted = ["0ms", "7us", "340ms", "12s", "1m", "5m 2s", "3h 12m"];
        assert_eq!(said.map(duration), wanted);
        assert_eq!(duration(273_600_000_000), "3d 4h");
    }
}
