//! Dates as packages write them, of seconds since 1970, in UTC.

const DAY_S: u64 = 86_400;
const DAYS_OF_WEEK: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Year, month from 0, and day of the month from 1 of a day since 1970 (Gregorian calendar).
fn civil(mut day: u64) -> (u64, usize, u64) {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= months[month] {
        day -= months[month];
        month += 1;
    }
    (year, month, day + 1)
}

fn time(epoch: u64) -> String {
    let second = epoch % DAY_S;
    format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

/// As the changelog of a Debian package has it (RFC 5322 §3.3).
pub fn of_changelog(epoch: u64) -> String {
    let (year, month, day) = civil(epoch / DAY_S);
    let name = usize::try_from(epoch / DAY_S % 7).map_or("", |at| DAYS_OF_WEEK[at]);
    format!("{name}, {day:02} {} {year} {} +0000", MONTHS[month], time(epoch))
}

/// As an image has it (RFC 3339 §5.6).
pub fn of_image(epoch: u64) -> String {
    let (year, month, day) = civil(epoch / DAY_S);
    format!("{year}-{:02}-{day:02}T{}Z", month + 1, time(epoch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_date_1() {
        for (epoch, changelog, image) in [
            (0, "Thu, 01 Jan 1970 00:00:00 +0000", "1970-01-01T00:00:00Z"),
            (951_827_696, "Tue, 29 Feb 2000 12:34:56 +0000", "2000-02-29T12:34:56Z"),
            (1_795_554_896, "Tue, 24 Nov 2026 21:14:56 +0000", "2026-11-24T21:14:56Z"),
        ] {
            assert_eq!(of_changelog(epoch), changelog);
            assert_eq!(of_image(epoch), image);
        }
    }
}
