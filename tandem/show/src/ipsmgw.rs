//! What is said of IP short message gateways.

use crate::cell::Form;
use crate::{Listing, column, firm, plain, since};
use serde_json::Value;

/// Subscribers whose terminals take messages.
pub const REGISTRATIONS: Listing = Listing::new(
    "no subscriber is registered for short messages",
    &[
        plain("function", "FUNCTION"),
        firm("number", "NUMBER"),
        plain("identity", "IDENTITY"),
        plain("s_cscf", "S-CSCF").yields(1),
        plain("takes", "TAKES"),
        column("expires_at_us", "EXPIRES", Form::Until),
    ],
);

/// Messages that wait.
pub const PENDING: Listing = Listing::new(
    "no message waits",
    &[
        plain("function", "FUNCTION"),
        firm("id", "ID").yields(4),
        firm("to", "TO"),
        plain("from", "FROM"),
        plain("kind", "KIND").yields(2),
        since("received_at_us", "CAME AGO"),
        column("due_at_us", "NEXT TRY", Form::Due),
        plain("failures", "FAILURES"),
        plain("why", "WHY"),
        column("expires_at_us", "EXPIRES", Form::Until).yields(1),
    ],
);

/// What is kept over a restart.
pub const STORE: Listing = Listing::new(
    "no function has a store",
    &[
        plain("function", "FUNCTION"),
        column("state", "STATE", Form::State),
        plain("role", "ROLE"),
        plain("standby", "STANDBY"),
        plain("rows", "ROWS"),
        plain("octets", "OCTETS"),
        plain("unsynced_octets", "NOT WRITTEN"),
        plain("held", "HELD").yields(2),
        plain("unread_octets", "NOT READ").yields(1),
        plain("under_way", "ASKED").yields(2),
        plain("late", "LATE"),
        plain("journal", "JOURNAL"),
        plain("ring", "RING"),
        plain("trouble", "TROUBLE"),
    ],
);

/// Ways into the SS7 network.
pub const LINKS: Listing = Listing::new(
    "no gateway has a link to a signalling gateway",
    &[
        plain("function", "FUNCTION"),
        firm("link", "LINK"),
        column("state", "STATE", Form::State),
        plain("address", "ADDRESS"),
        plain("application", "APPLICATION").yields(1),
        plain("gateway", "GATEWAY"),
        plain("subsystem", "SSN"),
        plain("dialogues", "DIALOGUES"),
        plain("losses", "LOST").yields(2),
        plain("why", "WHY"),
    ],
);

/// `tandem ctl sms send`: what was stored.
#[must_use]
pub fn sent(to: &str, answer: &Value) -> String {
    match messages(answer) {
        0 | 1 => format!("the text for {to} is stored"),
        parts => format!("the text for {to} is stored as {parts} messages"),
    }
}

/// `tandem ctl sms retry`: what is tried.
#[must_use]
pub fn retried(number: Option<&str>, answer: &Value) -> String {
    let whom = number.map_or_else(String::new, |it| format!(" for {it}"));
    match messages(answer) {
        0 => format!("no message{whom} waits"),
        1 => format!("1 message{whom} is tried now"),
        count => format!("{count} messages{whom} are tried now"),
    }
}

fn messages(answer: &Value) -> u64 {
    answer.get(0).unwrap_or(answer)["messages"].as_u64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Look, table};
    use serde_json::json;

    const LOOK: Look = Look { width: None, colour: false, now_us: 0 };

    fn shows(listing: &Listing, row: serde_json::Value, cells: &[&str]) {
        let shown = table(&LOOK, &[row], listing);
        assert!(cells.iter().all(|cell| shown.contains(cell)), "{shown}");
    }

    #[test]
    fn subscribers_messages_that_wait_the_store_and_links_are_a_line_each() {
        let row = json!({"function": "sms1", "number": "447700900123", "takes": "sms",
            "identity": "sip:+447700900123@ims.example.org", "s_cscf": "sip:scscf:6060",
            "contacts": [], "expires_at_us": 60_000_000});
        shows(&REGISTRATIONS, row, &["447700900123", "sip:scscf:6060", "sms"]);
        let row = json!({"function": "sms1", "id": 7, "to": "447700900123", "from": "Tandem",
            "kind": "message", "octets": 30, "received_at_us": 0, "expires_at_us": 60_000_000,
            "failures": 2, "due_at_us": 30_000_000, "why": "the receiver is absent",
            "trail": "0a"});
        let cells = ["447700900123", "Tandem", "the receiver is absent", "NEXT TRY", "in 30s"];
        shows(&PENDING, row, &cells);
        let row = json!({"function": "sms1", "journal": "/var/lib/tandem/sms1.store",
            "state": "open", "role": "active", "standby": "follows", "held": 0, "rows": 3,
            "octets": 700, "unsynced_octets": 0, "unread_octets": 0, "trouble": null});
        let cells = ["open", "active", "follows", "700", "/var/lib/tandem/sms1.store"];
        shows(&STORE, row, &cells);
        let row = json!({"function": "sms1", "link": "stp1", "address": "tcp:127.0.0.1:7700",
            "application": "ipsmgw", "state": "standing", "for_ms": 7, "why": "", "gateway": "stp",
            "subsystem": 8, "dialogues": 3, "received": 9, "sent": 9, "losses": 1});
        shows(&LINKS, row, &["stp1", "standing", "tcp:127.0.0.1:7700"]);
    }

    #[test]
    fn what_was_sent_and_what_is_tried_again_is_counted() {
        let answer = |count: u64| json!([{ "messages": count }]);
        assert_eq!(sent("447", &answer(1)), "the text for 447 is stored");
        assert_eq!(sent("447", &answer(4)), "the text for 447 is stored as 4 messages");
        assert_eq!(retried(None, &answer(0)), "no message waits");
        assert_eq!(retried(Some("447"), &answer(0)), "no message for 447 waits");
        assert_eq!(retried(Some("447"), &answer(1)), "1 message for 447 is tried now");
        assert_eq!(retried(None, &answer(7)), "7 messages are tried now");
    }
}
