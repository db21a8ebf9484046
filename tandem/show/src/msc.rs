//! What is said of media controllers and their streams.

use crate::cell::{Form, permille};
use crate::{Listing, column, plain};
use serde_json::{Value, json};

/// How the controllers stand.
pub const MEDIA: Listing = Listing::new(
    "no media controller is configured",
    &[
        plain("function", "FUNCTION"),
        column("forwarder", "FORWARDER", Form::State),
        column("role", "ROLE", Form::State),
        column("forwarder_permille", "LOAD", Form::Permille),
        plain("streams", "STREAMS"),
        plain("ng_calls", "NG CALLS"),
        plain("packets_per_s", "PACKETS/S"),
        plain("ports", "PORTS IN USE/LEASED/ALL"),
        plain("session_controllers_told", "SESSION CONTROLLERS"),
        plain("transcoder_told", "TRANSCODER"),
        plain("refusals", "REFUSALS"),
    ],
);

/// What their forwarders refused.
pub const REFUSALS: Listing = Listing::new(
    "nothing was refused",
    &[plain("function", "FUNCTION"), plain("what", "WHAT"), plain("why", "WHY")],
);

/// Checks and handshakes, shard by shard.
pub const HANDSHAKES: Listing = Listing::new(
    "no shard answers",
    &[
        plain("function", "FUNCTION"),
        plain("shard", "SHARD"),
        plain("checks", "CHECKS"),
        plain("handshakes", "HANDSHAKES"),
    ],
);

/// Streams, with both of their ends.
pub const STREAMS: Listing = Listing::new(
    "no stream stands",
    &[
        plain("function", "FUNCTION"),
        plain("call", "CALL"),
        plain("line", "LINE"),
        plain("kind", "KIND"),
        plain("a_at", "A"),
        plain("a_codec", "CODEC"),
        plain("a_suite", "SUITE"),
        plain("a_packets", "PACKETS"),
        plain("a_lost", "LOST"),
        plain("a_mos", "MOS"),
        column("a_state", "STATE", Form::State),
        plain("b_at", "B"),
        plain("b_codec", "CODEC"),
        plain("b_suite", "SUITE"),
        plain("b_packets", "PACKETS"),
        plain("b_lost", "LOST"),
        plain("b_mos", "MOS"),
        column("b_state", "STATE", Form::State),
    ],
);

/// Says in words what a controller has in lists: leases, session controllers, its transcoder.
pub fn say_media(row: &mut Value) {
    let text = |it: &Value, key: &str| it[key].as_str().unwrap_or_default().to_owned();
    let ports = listed(&row["leases"], |it| {
        let (group, family) = (text(it, "group"), text(it, "family"));
        format!("{group} {family} {}/{}/{}", it["in_use"], it["leased"], it["pairs"])
    });
    let controllers = listed(&row["session_controllers"], |it| {
        format!("{} {}", text(it, "session_controller"), text(it, "state"))
    });
    let state = text(row, "transcoder");
    let load = permille(row["transcoder_permille"].as_u64().unwrap_or_default());
    let transcoder = match &*state {
        "connected" => format!("{state}, {} streams, {load}", row["transcoded"]),
        _ => state,
    };
    row["ports"] = json!(ports);
    row["session_controllers_told"] = json!(controllers);
    row["transcoder_told"] = json!(transcoder);
}

fn listed(rows: &Value, told: impl Fn(&Value) -> String) -> String {
    let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
    rows.iter().map(told).collect::<Vec<_>>().join(", ")
}

/// Lifts what is said of both ends of a stream to its side.
pub fn say_ends(row: &mut Value) {
    for end in row["ends"].as_array().cloned().unwrap_or_default() {
        let leg = end["leg"].as_str().unwrap_or("a").to_owned();
        for key in ["codec", "suite", "packets", "lost", "mos", "state"] {
            row[format!("{leg}_{key}")] = end[key].clone();
        }
        let there = [&end["latched"], &end["remote"]].into_iter().find(|it| !it.is_null());
        row[format!("{leg}_at")] = there.cloned().unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Look, table};

    const LOOK: Look = Look { width: None, colour: false, now_us: 0 };

    #[test]
    fn a_controller_says_its_ports_who_leases_them_and_what_is_transcoded() {
        let mut row = json!({"function": "msc1", "forwarder": "controlled", "role": "active",
            "streams": 3, "ng_calls": 0, "packets_per_s": 150, "forwarder_permille": 12,
            "transcoder": "connected", "transcoder_permille": 34, "transcoded": 2,
            "leases": [{"group": "access", "family": "IPv4", "pairs": 5_000, "leased": 512,
                "in_use": 3}],
            "session_controllers": [{"session_controller": "ssc1", "state": "connected"},
                {"session_controller": "ssc2", "state": "away"}], "refusals": 1});
        say_media(&mut row);
        let shown = table(&LOOK, &[row.clone()], &MEDIA);
        for cell in [
            "active",
            "150",
            "1.2%",
            "access IPv4 3/512/5000",
            "ssc1 connected, ssc2 away",
            "connected, 2 streams, 3.4%",
        ] {
            assert!(shown.contains(cell), "{cell}: {shown}");
        }
        row["transcoder"] = json!("none");
        say_media(&mut row);
        assert_eq!(row["transcoder_told"], "none");
    }

    #[test]
    fn a_stream_is_one_line_and_a_refusal_says_why() {
        let end = |leg: &str, at: &str| {
            json!({"leg": leg, "remote": at, "latched": null, "codec": "PCMA/8000",
                "suite": "RTP", "packets": 250, "lost": 0, "mos": 4.41, "state": "speaks"})
        };
        let mut row = json!({"function": "msc1", "call": "aa", "line": 0, "kind": "audio",
            "ends": [end("a", "192.0.2.2:4000"), end("b", "198.51.100.2:5000")]});
        row["ends"][1]["latched"] = json!("198.51.100.9:5000");
        say_ends(&mut row);
        let shown = table(&LOOK, &[row], &STREAMS);
        let cells = ["192.0.2.2:4000", "198.51.100.9:5000", "4.41", "speaks"];
        assert!(cells.iter().all(|cell| shown.contains(cell)), "{shown}");
        let row = json!({"function": "msc1", "what": "a flow", "why": "no range has its port"});
        assert!(table(&LOOK, &[row], &REFUSALS).contains("no range has its port"));
        let row = json!({"function": "msc1", "shard": 3, "checks": 12, "handshakes": 7});
        let shown = table(&LOOK, &[row], &HANDSHAKES);
        assert!(["3", "12", "7"].iter().all(|cell| shown.contains(cell)), "{shown}");
    }
}
