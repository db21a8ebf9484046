//! A value of an answer as a cell of a table.

use crate::Look;
use crate::text::escaped;
use crate::time::{clock, duration};
use serde_json::Value;

/// Items of a list that a cell shows; the rest is counted.
const ITEMS_MAX: usize = 6;

/// How a value is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As it is; of a long list the first items.
    Plain,
    /// The same, and never broken: an ID, an address.
    Firm,
    /// Microseconds since the UNIX epoch, as a time.
    Time,
    /// The same of the past, as how long ago it was.
    Since,
    /// The same of the future, as how long it takes.
    Until,
    /// The same of what is due, which may be now.
    Due,
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds, as milliseconds with a decimal.
    Microseconds,
    /// Hundredths, as `4.41`.
    Hundredths,
    /// Thousandths, as `1.2%`.
    Permille,
    /// Octets.
    Octets,
    /// The state of something, in its colour.
    State,
    /// Whether it is so.
    Flag,
    /// Only what is not zero, as in `3 queue-full`.
    Counts,
    /// How many there are.
    Number,
    /// Links: steps of a path, or what changed of them.
    Links,
    /// What stands in for the way of a route.
    Repair,
}

/// A value as it came.
pub(crate) fn raw(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(raw).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// A value for people, harmless to a terminal.
pub(crate) fn shown(look: &Look, value: &Value, form: Form) -> String {
    let number = value.as_u64();
    let text = match (form, number) {
        (Form::Time, Some(us)) => clock(us),
        (Form::Since, Some(us)) => duration(look.now_us.saturating_sub(us)),
        (Form::Until, Some(us)) if us <= look.now_us => "over".into(),
        (Form::Due, Some(us)) if us <= look.now_us => "now".into(),
        (Form::Until | Form::Due, Some(us)) => format!("in {}", duration(us - look.now_us)),
        (Form::Seconds, Some(s)) => duration(s.saturating_mul(1_000_000)),
        (Form::Milliseconds, Some(ms)) => thousandths(ms),
        (Form::Milliseconds, None) if value.is_f64() => fraction(value.as_f64().unwrap_or(0.0)),
        (Form::Microseconds, Some(us)) => format!("{}.{}ms", us / 1_000, us % 1_000 / 100),
        (Form::Hundredths, Some(value)) => format!("{}.{:02}", value / 100, value % 100),
        (Form::Permille, Some(value)) => permille(value),
        (Form::Octets, Some(octets)) => self::octets(octets),
        (Form::Flag, _) => match value {
            Value::Bool(true) => "yes".into(),
            Value::Bool(false) => "no".into(),
            other => raw(other),
        },
        (Form::Counts, _) => counts(value),
        (Form::Number, _) => value.as_array().map_or(0, Vec::len).to_string(),
        (Form::Links, _) => links(value),
        (Form::Repair, _) => repair(value),
        _ => list(value),
    };
    escaped(&text)
}

/// Whether it stands at the right side of its column.
pub(crate) fn is_right(value: &Value, form: Form) -> bool {
    value.is_number() && !matches!(form, Form::Time | Form::Since | Form::Until | Form::Due)
}

/// Thousandths, as `1.2%`.
pub(crate) fn permille(value: u64) -> String {
    format!("{}.{}%", value / 10, value % 10)
}

fn thousandths(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..60_000 => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
        _ => duration(ms.saturating_mul(1_000)),
    }
}

/// Milliseconds that were measured: with one decimal, as seconds from a thousand on.
fn fraction(ms: f64) -> String {
    match ms {
        ..999.95 => format!("{ms:.1}ms"),
        _ => format!("{:.1}s", ms / 1_000.0),
    }
}

/// Octets by the thousand, with one decimal.
pub(crate) fn octets(octets: u64) -> String {
    let mut scaled = (octets, 0);
    for unit in ["", "k", "M", "G", "T", "P"] {
        if scaled.0 < 1_000 || unit == "P" {
            let (whole, tenth) = scaled;
            return match (unit, whole) {
                ("", whole) => whole.to_string(),
                (unit, 0..100) => format!("{whole}.{tenth} {unit}"),
                (unit, whole) => format!("{whole} {unit}"),
            };
        }
        scaled = (scaled.0 / 1_000, scaled.0 % 1_000 / 100);
    }
    octets.to_string()
}

/// The first items of a list, and how many more there are.
fn list(value: &Value) -> String {
    match value {
        Value::Array(items) if items.len() > ITEMS_MAX => {
            let first: Vec<String> = items[..ITEMS_MAX].iter().map(item).collect();
            format!("{} … and {} more", first.join(" "), items.len() - ITEMS_MAX)
        }
        Value::Array(items) => items.iter().map(item).collect::<Vec<_>>().join(" "),
        Value::Object(_) => counts(value),
        other => raw(other),
    }
}

/// An item of a list; of an object the texts that say what it is: `10.0.0.2 at ge0`.
fn item(value: &Value) -> String {
    let Some(fields) = value.as_object() else { return raw(value) };
    let said = fields.values().filter(|value| value.is_string());
    said.map(raw).collect::<Vec<_>>().join(" at ")
}

/// Steps that follow each other as one way, `a → b → c`; links that changed as `a – b 10 → 20`.
fn links(value: &Value) -> String {
    let mut text = String::new();
    let mut at = String::new();
    for link in value.as_array().into_iter().flatten() {
        let [from, to] = ["from", "to"].map(|key| raw(&link[key]));
        match (link.get("before"), link.get("after")) {
            (Some(before), Some(after)) => {
                let became = match (before.is_null(), after.is_null()) {
                    (true, _) => "came".to_owned(),
                    (_, true) => "went".to_owned(),
                    _ => format!("{} → {}", raw(before), raw(after)),
                };
                let comma = if text.is_empty() { "" } else { ", " };
                text += &format!("{comma}{from} → {to} {became}");
            }
            _ if at == from => text += &format!(" → {to}"),
            _ => text += &format!("{from} → {to}"),
        }
        at = to;
    }
    text
}

/// `10.0.0.2 at core1, tunnel to 192.0.2.9, in use`.
fn repair(value: &Value) -> String {
    if value.is_null() {
        return String::new();
    }
    let way = format!("{} at {}", raw(&value["gateway"]), raw(&value["interface"]));
    let tunnel = value["tunnel"].as_str().map(|end| format!("tunnel to {end}"));
    let state = value["state"].as_str().filter(|it| *it != "ready").map(str::to_owned);
    let parts = [Some(way), tunnel, state];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn counts(value: &Value) -> String {
    let Some(map) = value.as_object() else { return raw(value) };
    let rows = map.iter().filter(|(_, count)| **count != 0);
    rows.map(|(name, count)| format!("{} {name}", raw(count))).collect::<Vec<_>>().join(", ")
}

/// The colour of a state (ECMA-48 SGR), if it has one.
pub(crate) fn colour(state: &str) -> Option<&'static str> {
    const GOOD: [&str; 17] = [
        "established",
        "active",
        "up",
        "running",
        "in-service",
        "available",
        "open",
        "yes",
        "controlled",
        "reachable",
        "known",
        "ok",
        "true",
        "standing",
        "standby",
        "connected",
        "speaks",
    ];
    const POOR: [&str; 12] = [
        "connect",
        "opensent",
        "openconfirm",
        "inactive",
        "pending",
        "restricted",
        "starting",
        "draining",
        "asked",
        "probed",
        "minor",
        "warning",
    ];
    const BAD: [&str; 18] = [
        "idle",
        "down",
        "failed",
        "unavailable",
        "out-of-service",
        "shut down",
        "too many routes",
        "away",
        "critical",
        "major",
        "closed",
        "lost",
        "no",
        "false",
        "dead",
        "silent",
        "timed-out",
        "refused",
    ];
    // A session of BGP that is Active tries to connect (RFC 4271 §8.2.2); an ASP or a node that is
    // active serves.
    if state == "Active" {
        return Some("33");
    }
    let state = state.to_lowercase();
    let is = |words: &[&str]| words.contains(&&*state);
    match () {
        () if is(&GOOD) => Some("32"),
        () if is(&POOR) => Some("33"),
        () if is(&BAD) => Some("31"),
        () => None,
    }
}

/// A text in a colour, where the look has colours.
pub(crate) fn painted(look: &Look, text: &str, code: Option<&str>) -> String {
    match code.filter(|_| look.colour) {
        Some(code) => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_session_that_stands_is_green() {
        assert_eq!((colour("Established"), colour("Active")), (Some("32"), Some("33")));
        assert_eq!((colour("Idle"), colour("active")), (Some("31"), Some("32")));
    }

    #[test]
    fn values_are_shown_by_their_form() {
        let look = Look { width: None, colour: false, now_us: 100_000_000 };
        for (value, form, wanted) in [
            (json!(40_000_000), Form::Since, "1m"),
            (json!(160_000_000), Form::Until, "in 1m"),
            (json!(90_000_000), Form::Until, "over"),
            (json!(90), Form::Seconds, "1m 30s"),
            (json!(1_234), Form::Milliseconds, "1.2s"),
            (json!(0.123_456), Form::Milliseconds, "0.1ms"),
            (json!(12.0), Form::Milliseconds, "12.0ms"),
            (json!(1_000.0), Form::Milliseconds, "1.0s"),
            (json!(999), Form::Octets, "999"),
            (json!(1_234), Form::Octets, "1.2 k"),
            (json!(123_456_789), Form::Octets, "123 M"),
            (json!(false), Form::Flag, "no"),
            (json!({"a": 0, "b": 3}), Form::Counts, "3 b"),
            (json!(null), Form::Since, ""),
            (json!([1, 2, 3, 4, 5, 6, 7, 8]), Form::Plain, "1 2 3 4 5 6 … and 2 more"),
        ] {
            assert_eq!(shown(&look, &value, form), wanted);
        }
    }
}
