//! A date for people, from UNIX seconds.

const DAY_S: u64 = 86_400;

/// `2026-11-21 06:10 UTC`.
pub(super) fn utc(unix_s: u64) -> String {
    let (year, month, day) = civil(unix_s / DAY_S);
    let (hour, minute) = (unix_s % DAY_S / 3_600, unix_s % 3_600 / 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Year, month and day of a number of days since 1970, in the Gregorian calendar: years begin in
/// March, so that the leap day is the last one; 400 of them have 146 097 days.
const fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + (month <= 2) as u64;
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days_are_named() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(utc(1_795_241_400), "2026-11-21 06:10 UTC");
    }
}
