//! What is said of the service assurance server.

use crate::cell::Form;
use crate::{Listing, column, plain, time};
use serde_json::Value;

/// Recorded calls and other trails.
pub const TRAILS: Listing = Listing::new(
    "no trail matches",
    &[
        plain("id", "ID"),
        time("started_at_us", "STARTED"),
        plain("kind", "KIND"),
        plain("from", "FROM"),
        plain("to", "TO"),
        plain("outcome", "OUTCOME"),
        plain("status", "STATUS"),
        column("duration_ms", "LASTED", Form::Milliseconds),
        plain("messages", "MESSAGES"),
    ],
);

/// The calls with the worst media; what is said of their media stands beside what is said of them.
pub const WORST_CALLS: Listing = Listing::new(
    "nothing is known of the media of a call",
    &[
        column("mos_hundredths", "MOS", Form::Hundredths),
        column("mos_min_hundredths", "WORST", Form::Hundredths),
        column("loss_permille", "LOSS", Form::Permille),
        column("jitter_us", "JITTER", Form::Microseconds),
        plain("codecs", "CODEC"),
        plain("trouble", "TROUBLE"),
        time("started_at_us", "STARTED"),
        plain("from", "FROM"),
        plain("to", "TO"),
        column("duration_ms", "LASTED", Form::Milliseconds),
        plain("id", "ID"),
    ],
);

/// A trail with what is said of its media lifted to its side, and trouble in words.
#[must_use]
pub fn worst_call(trail: &Value) -> Value {
    let mut row = trail.clone();
    let Some(fields) = row.as_object_mut() else { return row };
    let Some(Value::Object(media)) = fields.remove("media") else { return row };
    let is = |name: &str| media[name] == true;
    let troubles = [
        (is("one_way"), "one-way"),
        (is("timed_out"), "media-timeout"),
        (media["unprotected"].as_u64().is_some_and(|count| count > 0), "srtp-failure"),
    ];
    let words: Vec<_> = troubles.into_iter().filter(|row| row.0).map(|row| row.1).collect();
    fields.extend(media);
    fields.insert("trouble".to_owned(), words.into());
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Look, table};
    use serde_json::json;

    #[test]
    fn a_bad_call_says_how_bad_and_why() {
        let look = Look { width: None, colour: false, now_us: 0 };
        let row = json!({"id": "00000000000000aa", "started_at_us": 1_795_226_584_567_891u64,
            "from": "alice", "to": "bob", "duration_ms": 61_500,
            "media": {"streams": 2, "codecs": ["PCMA/8000"], "mos_hundredths": 231,
                "mos_min_hundredths": 102, "loss_permille": 83, "jitter_us": 41_250,
                "one_way": true, "timed_out": false, "unprotected": 3}});
        let shown = table(&look, &[worst_call(&row)], &WORST_CALLS);
        let cells =
            ["2.31", "1.02", "8.3%", "41.2ms", "PCMA/8000", "one-way srtp-failure", "1m 1s"];
        assert!(cells.iter().all(|cell| shown.contains(cell)), "{shown}");
        assert_eq!(worst_call(&json!({"id": "a", "media": null})), json!({"id": "a"}));
    }

    #[test]
    fn a_trail_says_when_it_began_and_how_long_it_took() {
        let look = Look { width: Some(100), colour: false, now_us: 0 };
        let row = json!({"id": "00000000000000aa", "started_at_us": 1_795_226_584_567_891u64,
            "kind": "call", "from": "alice", "to": "+4930123456", "outcome": "answered",
            "status": 200, "duration_ms": 61_500, "messages": 14});
        let shown = table(&look, &[row], &TRAILS);
        let cells = ["2026-11-21", "02:03:04.567Z", "call", "alice", "answered", "1m 1s", "14"];
        assert!(cells.iter().all(|cell| shown.contains(cell)), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    }
}
