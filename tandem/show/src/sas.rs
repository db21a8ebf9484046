//! What is said of the service assurance server.

use crate::cell::{Form, raw};
use crate::{Listing, column, firm, plain, time};
use serde_json::{Value, json};

/// Recorded calls and other trails.
pub const TRAILS: Listing = Listing::new(
    "no trail matches",
    &[
        firm("id", "ID"),
        time("started_at_us", "STARTED"),
        plain("kind", "KIND").yields(3),
        plain("from", "FROM").yields(2),
        plain("to", "TO"),
        firm("outcome", "OUTCOME"),
        plain("status", "STATUS").yields(1),
        column("duration_ms", "LASTED", Form::Milliseconds),
        plain("messages", "MESSAGES").yields(4),
    ],
);

/// Trails that are dialogues of TCAP, all of them.
pub const DIALOGUES: Listing = Listing::new(
    "no dialogue matches",
    &[
        firm("id", "ID"),
        time("started_at_us", "STARTED"),
        plain("method", "OPERATION"),
        plain("subscriber", "SUBSCRIBER").yields(1),
        plain("from", "FROM").yields(3),
        plain("to", "TO").yields(2),
        firm("outcome", "OUTCOME"),
        plain("cause", "CAUSE"),
        column("duration_ms", "LASTED", Form::Milliseconds),
        plain("messages", "MESSAGES").yields(4),
    ],
);

/// How these trails are shown: dialogues, where all of them are.
#[must_use]
pub fn listing(trails: &[Value]) -> &'static Listing {
    match trails.iter().all(|row| row["kind"] == "dialogue") && !trails.is_empty() {
        true => &DIALOGUES,
        false => &TRAILS,
    }
}

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
        firm("id", "ID"),
    ],
);

/// The messages and events of a trail, as [`steps`] makes rows of them.
pub const STEPS: Listing = Listing::new(
    "nothing is known of it",
    &[
        time("at_us", "AT"),
        firm("from", "FROM"),
        firm("to", "TO"),
        plain("what", "WHAT"),
        plain("text", "TEXT"),
    ],
);

/// The messages of a trail and what functions said of it, in the order of time.
#[must_use]
pub fn steps(trail: &Value) -> Vec<Value> {
    let list = |key: &str| trail[key].as_array().cloned().unwrap_or_default();
    let hosts = list("hosts");
    let host = |at: &Value| {
        let at = at.as_u64().and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| hosts.get(at)).map_or(Value::Null, |host| host["address"].clone())
    };
    let message = |it: &Value| {
        let what = match it["method"].as_str() {
            Some(method) => method.to_owned(),
            None => format!("{} {}", raw(&it["status"]), raw(&it["reason"])),
        };
        json!({ "at_us": it["at_us"], "from": host(&it["from"]), "to": host(&it["to"]),
            "what": what.trim() })
    };
    let event =
        |it: &Value| json!({ "at_us": it["at_us"], "what": it["name"], "text": it["text"] });
    let mut rows: Vec<Value> = list("messages").iter().map(message).collect();
    rows.extend(list("events").iter().map(event));
    rows.sort_by_key(|row| row["at_us"].as_u64());
    rows
}

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
    fn dialogues_are_shown_by_their_operation_and_why_they_failed() {
        let look = Look { width: None, colour: false, now_us: 0 };
        let row = json!({"id": "00000000000000aa", "started_at_us": 1, "kind": "dialogue",
            "method": "sendRoutingInfoForSM", "subscriber": "447700900123", "from": "4478",
            "to": "4477", "outcome": "failed", "cause": "unknownSubscriber", "duration_ms": 4,
            "messages": 2});
        let shown = table(&look, &[row], &DIALOGUES);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[0].contains("OPERATION") && lines[0].contains("CAUSE"), "{shown}");
        for text in ["sendRoutingInfoForSM", "447700900123", "unknownSubscriber", "4ms"] {
            assert!(lines[1].contains(text), "{shown}");
        }
    }

    #[test]
    fn a_trail_is_rows_of_messages_and_events_in_their_order() {
        let look = Look { width: None, colour: false, now_us: 0 };
        let trail = json!({"hosts": [{"address": "a:1"}, {"address": "b:2"}],
            "events": [{"at_us": 2, "name": "CallAnswered", "text": "leg b"}],
            "messages": [{"at_us": 1, "from": 0, "to": 1, "method": "INVITE"},
                {"at_us": 3, "from": 1, "to": 0, "method": null, "status": 200, "reason": "OK"}]});
        let wanted = "AT                        FROM  TO   WHAT          TEXT\n\
            1970-01-01 00:00:00.000Z  a:1   b:2  INVITE\n\
            1970-01-01 00:00:00.000Z             CallAnswered  leg b\n\
            1970-01-01 00:00:00.000Z  b:2   a:1  200 OK\n";
        let rows = steps(&trail);
        assert_eq!(
            table(&look, &[rows[0].clone(), rows[1].clone(), rows[2].clone()], &STEPS),
            wanted
        );
    }

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
        let shown = table(&Look { width: None, ..look }, std::slice::from_ref(&row), &TRAILS);
        assert!(shown.contains("2026-11-21 02:03:04.567Z"), "{shown}");
        let look = Look { now_us: 1_795_226_600_000_000, ..look };
        let shown = table(&Look { width: Some(80), ..look }, std::slice::from_ref(&row), &TRAILS);
        assert!(shown.contains("00000000000000aa  02:03:04.567Z "), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        let shown = table(&look, &[row], &TRAILS);
        let cells = ["02:03:04.567Z", "call", "alice", "answered", "1m 1s", "14"];
        assert!(cells.iter().all(|cell| shown.contains(cell)), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    }
}
