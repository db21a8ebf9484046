//! What is said of a site and of any function: functions, alarms, metrics, pool, pair, SCTP.

use crate::cell::{Form, raw};
use crate::text::escaped;
use crate::time::duration;
use crate::{Listing, Look, Sheet, column, firm, plain, since, table};
use serde_json::Value;

/// `tandem ctl pool`.
pub const POOL: Listing = Listing::new(
    "the site has no pool of sessions",
    &[
        plain("function", "FUNCTION"),
        plain("drawer", "DRAWER"),
        plain("keeper", "KEEPER"),
        plain("sessions", "SESSIONS"),
        plain("held", "HELD"),
        plain("live", "LIVE"),
        plain("refused", "REFUSED"),
        column("grace_left_s", "GRACE LEFT", Form::Seconds),
    ],
);

/// `tandem ctl replica`.
pub const REPLICA: Listing = Listing::new(
    "no function is one of a pair",
    &[
        plain("function", "FUNCTION"),
        plain("node", "NODE"),
        column("role", "ROLE", Form::State),
        plain("epoch", "EPOCH"),
        plain("peer", "PEER"),
        column("peer_alive", "ALIVE", Form::Flag),
        column("arbiter_alive", "ARBITER", Form::Flag),
        column("waits_for_vote", "WAITS FOR VOTE", Form::Flag),
        column("synced", "SYNCED", Form::Flag),
        plain("lag", "LAG"),
        plain("version", "VERSION"),
        plain("peer_version", "OF PEER"),
    ],
);

/// `tandem ctl track`.
pub const TRACK: Listing = Listing::new(
    "no function is one of a pair that tracks something",
    &[
        plain("function", "FUNCTION"),
        plain("target", "TARGET"),
        column("good", "GOOD", Form::Flag),
        column("since_s", "FOR", Form::Seconds),
        column("fit", "NODE IS FIT", Form::Flag),
    ],
);

const FUNCTIONS: Listing = Listing::new(
    "the site has no function",
    &[
        plain("name", "NAME"),
        plain("kind", "KIND"),
        column("state", "STATE", Form::State),
        plain("shards", "SHARDS"),
        column("uptime_s", "UP FOR", Form::Seconds),
        plain("addresses", "PORTS"),
    ],
);

/// `tandem ctl counters`.
pub const COUNTERS: Listing = Listing::new(
    "no metric matches that is not zero (--all: those as well)",
    &[
        plain("function", "FUNCTION"),
        plain("shard", "SHARD"),
        plain("name", "NAME"),
        plain("value", "VALUE"),
        plain("help", "MEANING"),
    ],
);

/// `tandem ctl alarms`.
pub const ALARMS: Listing = Listing::new(
    "no alarm stands",
    &[
        plain("id", "ID"),
        column("severity", "SEVERITY", Form::State),
        plain("function", "FUNCTION"),
        plain("name", "NAME"),
        plain("subject", "SUBJECT"),
        since("raised_at_us", "SINCE"),
        since("cleared_at_us", "CLEARED AGO"),
        plain("count", "TIMES"),
        plain("text", "TEXT"),
    ],
);

/// `tandem ctl config history`.
pub const HISTORY: Listing = Listing::new(
    "no revision is kept",
    &[
        plain("revision", "REVISION"),
        since("at_us", "AGO"),
        plain("note", "WHY"),
        plain("by", "AUTHOR"),
        column("state", "STATE", Form::State),
        plain("comment", "COMMENT"),
    ],
);

/// `tandem ctl sctp associations`.
pub const ASSOCIATIONS: Listing = Listing::new(
    "no association stands",
    &[
        plain("function", "FUNCTION"),
        plain("name", "PEER"),
        plain("association", "ID"),
        column("state", "STATE", Form::State),
        plain("peer", "ADDRESS"),
        plain("peer_port", "PORT"),
        plain("paths_active", "ACTIVE"),
        plain("paths", "PATHS"),
        plain("streams_out", "OUT"),
        plain("streams_in", "IN"),
        column("peer_rwnd", "RWND", Form::Octets),
        column("queued_bytes", "QUEUED", Form::Octets),
        column("unacknowledged_bytes", "UNACKED", Form::Octets),
        plain("errors", "ERRORS"),
    ],
);

/// `tandem ctl diameter peers`.
pub const DIAMETER_PEERS: Listing = Listing::new(
    "no function has a Diameter peer",
    &[
        plain("function", "FUNCTION"),
        firm("peer", "PEER"),
        plain("host", "HOST").yields(2),
        column("state", "STATE", Form::State),
        since("since_us", "SINCE"),
        plain("watchdog", "WATCHDOG"),
        plain("applications", "APPLICATIONS").yields(1),
        plain("received", "IN"),
        plain("sent", "OUT"),
        plain("outstanding", "WAITING"),
        plain("losses", "LOST"),
        plain("why", "WHY"),
    ],
);

/// `tandem ctl diameter connections`.
pub const DIAMETER_CONNECTIONS: Listing = Listing::new(
    "no Diameter connection stands",
    &[
        plain("function", "FUNCTION"),
        plain("peer", "PEER"),
        plain("transport", "TRANSPORT"),
        firm("remote", "ADDRESS"),
    ],
);

/// `tandem ctl diameter trace`.
pub const DIAMETER_TRACE: Listing = Listing::new(
    "no Diameter message has passed",
    &[
        plain("function", "FUNCTION"),
        column("at_us", "TIME", Form::Time),
        plain("peer", "PEER"),
        plain("way", "WAY"),
        plain("application", "APPLICATION"),
        plain("command", "COMMAND"),
        plain("flags", "FLAGS"),
        plain("result", "RESULT"),
        plain("octets", "OCTETS").yields(2),
        firm("session", "SESSION").yields(1),
    ],
);

/// `tandem ctl sctp paths`.
pub const PATHS: Listing = Listing::new(
    "no association stands",
    &[
        plain("function", "FUNCTION"),
        plain("name", "PEER"),
        plain("association", "ID"),
        plain("address", "ADDRESS"),
        column("state", "STATE", Form::State),
        column("primary", "PRIMARY", Form::Flag),
        column("srtt_ms", "SRTT", Form::Milliseconds),
        column("rto_ms", "RTO", Form::Milliseconds),
        column("cwnd", "CWND", Form::Octets),
        column("flight", "FLIGHT", Form::Octets),
        plain("errors", "ERRORS"),
        plain("pmtu", "PMTU"),
    ],
);

/// The functions with their ports as one column, for a table or CSV.
#[must_use]
pub fn functions(site: &Value) -> Vec<Value> {
    let mut rows = site["functions"].as_array().cloned().unwrap_or_default();
    for row in &mut rows {
        let port = |port: &Value| {
            let word = |key| port[key].as_str().unwrap_or_default();
            Value::from(format!("{}:{}", word("transport"), word("address")))
        };
        let ports = row["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
        row["addresses"] = ports.iter().map(port).collect();
    }
    rows
}

/// The listing of [`functions`].
#[must_use]
pub const fn listing() -> &'static Listing {
    &FUNCTIONS
}

/// `tandem ctl site`.
#[must_use]
pub fn sheet(look: &Look, site: &Value) -> String {
    let word = |key: &str| site[key].as_str().unwrap_or_default();
    let up = look.now_us.saturating_sub(site["started_at_us"].as_u64().unwrap_or_default());
    let left = match site["calls_left"].as_u64() {
        Some(0) | None => String::new(),
        Some(1) => ", 1 call left".to_owned(),
        Some(left) => format!(", {left} calls left"),
    };
    let drains = if site["draining"] == true { format!(", draining{left}") } else { left };
    let state = format!("tandem {}, up for {}{drains}", word("version"), duration(up));
    let head = Sheet::new(look, word("name"), &state).end();
    format!("{head}{}", table(look, &functions(site), &FUNCTIONS))
}

/// A histogram in words: its values, their mean, and what 99 of 100 stay below; `None` of another
/// metric, and of one without values. Bucket `i` holds values up to `2^i`, the last one all above.
#[must_use]
pub fn histogram(row: &Value) -> Option<String> {
    let (count, sum) = (row["value"].as_u64()?, row["sum"].as_u64()?);
    let buckets: Vec<u64> = row["buckets"].as_array()?.iter().filter_map(Value::as_u64).collect();
    let mean = sum.checked_div(count)?;
    let wanted = count - count / 100;
    let mut so_far = 0;
    let at = buckets.iter().position(|held| {
        so_far += held;
        so_far >= wanted
    })?;
    let p99 = match at + 1 == buckets.len() {
        true => format!("> {}", 1u64.checked_shl(at.saturating_sub(1).try_into().ok()?)?),
        false => format!("≤ {}", 1u64.checked_shl(at.try_into().ok()?)?),
    };
    Some(format!("{count} values, mean {mean}, p99 {p99}"))
}

/// What reading keys, passwords and certificates again has done, of `certificates/reload`.
#[must_use]
pub fn reloaded(answer: &Value) -> String {
    let line = |row: &Value| {
        let keys = match row["other_keys"] == true {
            true => "other keys or passwords were read, and hold from now on",
            false => "its keys and passwords are those that it had",
        };
        let ports = match row["ports"].as_u64() {
            Some(0) | None => "it has no TLS port".to_owned(),
            Some(1) => "its TLS port takes the certificate as it is now".to_owned(),
            Some(count) => format!("its {count} TLS ports take the certificates as they are now"),
        };
        format!("{}: {keys}; {ports}\n", escaped(&raw(&row["function"])))
    };
    answer.as_array().into_iter().flatten().map(line).collect()
}

/// The mistakes of a candidate; its text stands in the site, not here.
#[must_use]
pub fn mistakes(details: &Value, message: &str) -> String {
    let mut out = String::new();
    for found in details.as_array().map(Vec::as_slice).unwrap_or_default() {
        let word = |key: &str| escaped(&raw(&found[key]));
        out += &format!("error: {}\n", word("what"));
        out += &format!("  --> candidate:{}:{}\n", word("line"), word("column"));
        for (name, key) in [("at", "path"), ("hint", "hint")] {
            if !word(key).is_empty() {
                out += &format!("   = {name}: {}\n", word(key));
            }
        }
    }
    out + &format!("tandem: {message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const LOOK: Look = Look { width: Some(100), colour: false, now_us: 200_000_000_000 };

    #[test]
    fn a_histogram_says_how_many_values_it_has_and_how_great_they_are() {
        let row = json!({"value": 200, "sum": 1_000, "buckets": [0, 0, 100, 97, 3, 0]});
        assert_eq!(histogram(&row).unwrap(), "200 values, mean 5, p99 ≤ 16");
        let row = json!({"value": 2, "sum": 80, "buckets": [0, 0, 0, 0, 0, 2]});
        assert_eq!(histogram(&row).unwrap(), "2 values, mean 40, p99 > 16");
        let none = json!({"value": 0, "sum": 0, "buckets": [0]});
        assert_eq!((histogram(&none), histogram(&json!({"value": 7}))), (None, None));
    }

    #[test]
    fn files_that_were_read_again_are_told_in_a_sentence() {
        let row = |ports: u64, is_new: bool| {
            let row = json!({ "function": "f", "ports": ports, "other_keys": is_new });
            json!([row])
        };
        let none = "f: its keys and passwords are those that it had; it has no TLS port\n";
        assert_eq!(reloaded(&row(0, false)), none);
        let some = "f: other keys or passwords were read, and hold from now on; its 2 TLS ports \
                    take the certificates as they are now\n";
        assert_eq!(reloaded(&row(2, true)), some);
        assert!(
            reloaded(&row(1, false)).ends_with("its TLS port takes the certificate as it is now\n")
        );
    }

    #[test]
    fn a_site_says_how_long_it_is_up_and_what_runs() {
        let site = json!({"name": "edge", "version": "0.1.0", "started_at_us": 100_000_000_000u64,
            "functions": [{"name": "ssc1", "kind": "ssc", "state": "running", "shards": 2,
                "uptime_s": 99_999, "ports": [
                    {"name": "access", "transport": "udp", "address": "192.0.2.1:5060"},
                    {"name": "core", "transport": "tcp", "address": "10.0.0.1:5060"}]},
                {"name": "rr1", "kind": "rr", "state": "failed", "shards": 1, "uptime_s": 7,
                "ports": []}]});
        let wanted = "edge  tandem 0.1.0, up for 1d 3h\n\
            NAME  KIND  STATE    SHARDS  UP FOR   PORTS\n\
            ssc1  ssc   running       2  1d 3h    udp:192.0.2.1:5060 tcp:10.0.0.1:5060\n\
            rr1   rr    failed        1       7s\n";
        let shown = sheet(&LOOK, &site);
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed(&shown), squeezed(wanted));
        assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    }

    #[test]
    fn a_site_that_drains_says_what_is_left() {
        let mut site = json!({"name": "edge", "version": "0.1.0",
            "started_at_us": 100_000_000_000u64, "functions": [], "draining": true});
        assert!(sheet(&LOOK, &site).contains("up for 1d 3h, draining\n"));
        site["calls_left"] = 2.into();
        assert!(sheet(&LOOK, &site).contains(", draining, 2 calls left\n"));
    }

    #[test]
    fn alarms_pool_pair_and_associations_fit_a_terminal() {
        let alarm = json!({"id": 3, "severity": "major", "function": "rr1", "name": "peer-down",
            "subject": "pe1", "text": "the session with pe1 is down since it was reset: look at \
            the peer, or `tandem ctl bgp peer rr1 pe1`", "raised_at_us": 199_940_000_000u64,
            "cleared_at_us": null, "count": 2});
        let shown = table(&LOOK, &[alarm], &ALARMS);
        assert!(shown.starts_with("ID  SEVERITY  NAME"), "{shown}");
        assert!(shown.contains("1m") && shown.lines().all(|it| it.chars().count() <= 100));
        let node = json!({"function": "ssc1", "node": "a", "role": "active", "epoch": 3,
            "peer": "10.0.0.2:7000", "peer_alive": true, "arbiter_alive": null,
            "waits_for_vote": false, "synced": true, "lag": 0, "version": 4, "peer_version": 4});
        let wanted = "NODE  ROLE    EPOCH  PEER           ALIVE  WAITS FOR VOTE  SYNCED  LAG  \
            VERSION  OF PEER\na     active      3  10.0.0.2:7000  yes    no              yes       \
            0        4        4\n";
        assert_eq!(table(&LOOK, &[node], &REPLICA), wanted);
        let rows = [("eth0", false), ("192.0.2.1", true)].map(|(target, good)| {
            json!({"function": "ssc1", "target": target, "good": good, "since_s": 3, "fit": false})
        });
        let wanted = "\
            TARGET     GOOD  FOR  NODE IS FIT\n\
            eth0       no     3s  no\n\
            192.0.2.1  yes    3s  no\n";
        assert_eq!(table(&LOOK, &rows, &TRACK), wanted);
        let path = json!({"name": "stp", "association": "7", "address": "10.0.0.9",
            "state": "active", "primary": true, "srtt_ms": 12, "rto_ms": 1_000, "cwnd": 4_380,
            "flight": 0, "errors": 0, "pmtu": 1_500});
        let shown = table(&LOOK, &[path], &PATHS);
        assert!(shown.contains("12ms  1.0s  4.3 k"), "{shown}");
        assert_eq!(table(&LOOK, &[], &POOL), "the site has no pool of sessions\n");
        let empty =
            [&POOL, &REPLICA, &TRACK, &FUNCTIONS, &COUNTERS, &ALARMS, &HISTORY, &ASSOCIATIONS];
        assert!(empty.iter().all(|it| it.empty.starts_with("no ") || it.empty.contains("has no")));
    }

    #[test]
    fn diameter_peers_connections_and_messages_are_rows() {
        let row = json!({"function": "sms1", "peer": "hss1", "host": "hss1.example",
            "transport": "tcp", "state": "closed", "since_us": 0, "watchdog": "DOWN",
            "applications": ["Sh"], "received": 3, "sent": 4, "outstanding": 0, "losses": 1,
            "why": "it was closed"});
        let shown = table(&LOOK, &[row], &DIAMETER_PEERS);
        let cells = ["hss1.example", "closed", "DOWN", "Sh", "it was"];
        assert!(cells.iter().all(|cell| shown.contains(cell)), "{shown}");
        let row = json!({"function": "sms1", "peer": null, "transport": "tcp",
            "remote": "192.0.2.9:40000"});
        assert!(table(&LOOK, &[row], &DIAMETER_CONNECTIONS).contains("192.0.2.9:40000"));
        let row = json!({"function": "sms1", "at_us": 0, "peer": "hss1", "way": "out",
            "application": "Sh", "command": "UDR", "flags": "RP", "result": null, "octets": 200,
            "session": "sms1.example;1;0"});
        let shown = table(&LOOK, &[row], &DIAMETER_TRACE);
        assert!(["UDR", "out", "sms1.example;1;0"].iter().all(|it| shown.contains(it)), "{shown}");
    }

    #[test]
    fn metrics_revisions_associations_and_what_is_drawn_are_rows() {
        let row = json!({"function": "ssc1", "shard": 0, "name": "ssc_calls_live", "value": 3,
            "help": "Calls that run."});
        let wanted = "\
            SHARD  NAME            VALUE  MEANING\n\
            \x20   0  ssc_calls_live      3  Calls that run.\n";
        assert_eq!(table(&LOOK, &[row], &COUNTERS), wanted);
        let row = json!({"revision": 7, "at_us": 199_000_000_000u64, "note": "commit",
            "by": "anna", "state": "confirmed", "comment": "a second hop"});
        let wanted = "\
            REVISION  AGO      WHY     AUTHOR  STATE      COMMENT\n\
            \x20      7  16m 40s  commit  anna    confirmed  a second hop\n";
        assert_eq!(table(&LOOK, &[row], &HISTORY), wanted);
        let row = json!({"name": "stp", "association": "7", "state": "established",
            "port": 2_905, "peer": "10.0.0.9", "peer_port": 2_905, "paths": 2, "paths_active": 1,
            "streams_out": 17, "streams_in": 17, "peer_rwnd": 65_536, "queued_bytes": 0,
            "unacknowledged_bytes": 120, "errors": 1});
        let wanted = "\
            PEER  ID  STATE        ADDRESS   PORT  ACTIVE  PATHS  OUT  IN    RWND  QUEUED  \
            UNACKED  ERRORS\n\
            stp   7   established  10.0.0.9  2905       1      2   17  17  65.5 k       0      \
            120       1\n";
        assert_eq!(table(&LOOK, &[row], &ASSOCIATIONS), wanted);
        let row = json!({"drawer": "0", "keeper": "present", "held": 40, "live": 12,
            "refused": 0, "grace_left_s": null});
        let wanted = "\
            DRAWER  KEEPER   HELD  LIVE  REFUSED\n\
            0       present    40    12        0\n";
        assert_eq!(table(&LOOK, &[row], &POOL), wanted);
    }
}
