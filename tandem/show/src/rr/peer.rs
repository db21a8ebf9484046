//! All there is to say about a peer, as one sheet.

use crate::cell::{Form, octets, raw};
use crate::sheet::{joined, with};
use crate::time::duration;
use crate::{Listing, Look, Sheet, column, plain};
use serde_json::{Value, json};

/// What an OPEN may offer, as the answer and as people name it.
const OFFERS: [(&str, &str); 11] = [
    ("families", "families"),
    ("four_octet_as", "4-octet AS numbers"),
    ("route_refresh", "route refresh"),
    ("enhanced_refresh", "enhanced refresh"),
    ("extended_message", "extended messages"),
    ("extended_next_hop", "extended next hop"),
    ("add_path_send", "ADD-PATH, sends"),
    ("add_path_receive", "ADD-PATH, receives"),
    ("multiple_labels", "multiple labels"),
    ("role", "role"),
    ("hold_time_s", "hold time, s"),
];

const CAPABILITIES: Listing = Listing::new(
    "",
    &[
        plain("what", "CAPABILITY"),
        column("here", "HERE", Form::Flag),
        column("there", "THERE", Form::Flag),
        column("agreed", "AGREED", Form::Flag),
    ],
);

const MESSAGES: Listing = Listing::new(
    "",
    &[
        plain("way", "MESSAGES"),
        plain("open", "OPEN"),
        plain("update", "UPDATE"),
        plain("notification", "NOTIFICATION"),
        plain("keepalive", "KEEPALIVE"),
        plain("route_refresh", "REFRESH"),
    ],
);

const LIMITS: Listing = Listing::new(
    "",
    &[
        plain("family", "LIMIT OF"),
        plain("routes", "ROUTES"),
        plain("warn", "WARNS AT"),
        plain("max", "ENDS AT"),
    ],
);

/// The sheet of a peer, of `bgp/peer`.
#[must_use]
pub fn sheet(look: &Look, row: &Value) -> String {
    let word = |key: &str| raw(&row[key]);
    let title = format!("{}  {}", word("peer"), word("address"));
    let mut sheet = Sheet::new(look, &title, &word("state"));
    if row["state"] == "away" {
        away(look, row, &mut sheet);
        return sheet.end();
    }
    about(look, row, &mut sheet);
    session(look, row, &mut sheet);
    routes(row, &mut sheet);
    sheet.table("Limits", row["limits"].as_array().map_or(&[], Vec::as_slice), &LIMITS);
    sheet.table("Capabilities", &capabilities(row), &CAPABILITIES);
    let way = |key: &str| {
        let mut row = row[key].clone();
        row["way"] = key.into();
        row
    };
    sheet.table("Messages", &[way("received"), way("sent")], &MESSAGES);
    faults(look, row, &mut sheet);
    sheet.end()
}

/// What is remembered of a peer from a range that has gone.
fn away(look: &Look, row: &Value, sheet: &mut Sheet<'_>) {
    let since = row["since_us"].as_u64().map(|us| look.now_us.saturating_sub(us));
    let since = since.map(|us| format!("for {}", duration(us))).unwrap_or_default();
    let lost = format!("{} lost", raw(&row["flaps"]));
    sheet.line("State", &joined(&[since, lost, raw(&row["why"])]));
    let asn = [with("AS", &row["asn"]), raw(&row["kind"]), with("group", &row["group"])];
    sheet.line("Neighbour", &joined(&[&asn[..], &["came by a range".into()]].concat()));
    sheet.line("Identifier", &raw(&row["identifier"]));
    sheet.line("Remembered", "until it is back, or `tandem ctl bgp forget`");
}

fn about(look: &Look, row: &Value, sheet: &mut Sheet<'_>) {
    sheet.line("Description", &raw(&row["description"]));
    let since = row["since_us"].as_u64().map(|us| look.now_us.saturating_sub(us));
    let since = since.map(|us| format!("for {}", duration(us))).unwrap_or_default();
    let up = if row["established"] == 1 { "time" } else { "times" };
    let times = format!("{} {up} up, {} lost", raw(&row["established"]), raw(&row["flaps"]));
    sheet.line("State", &joined(&[since, times, raw(&row["why"])]));
    let dynamic = if row["dynamic"] == true { "came by a range" } else { "" };
    let asn = [with("AS", &row["asn"]), raw(&row["kind"]), with("group", &row["group"])];
    sheet.line("Neighbour", &joined(&[&asn[..], &[dynamic.into()]].concat()));
    sheet.line("Identifier", &raw(&row["identifier"]));
    let import = with("import", &row["import"]);
    sheet.line("Policy", &joined(&[import, with("export", &row["export"])]));
    let password = if row["password"] == true { "TCP password" } else { "" };
    let hops = match row["ttl_security_hops"].as_u64() {
        Some(1) => "TTL security, 1 hop".to_owned(),
        Some(hops) => format!("TTL security, {hops} hops"),
        None => String::new(),
    };
    sheet.line("Guard", &joined(&[password.into(), hops]));
}

fn session(look: &Look, row: &Value, sheet: &mut Sheet<'_>) {
    for it in row["connections"].as_array().into_iter().flatten() {
        let heard = it["heard_us"].as_u64().map(|us| look.now_us.saturating_sub(us));
        let heard = heard.map(|us| format!("heard {} ago", duration(us))).unwrap_or_default();
        let waiting = it["waiting_octets"].as_u64().filter(|it| *it > 0);
        let waiting = waiting.map(|it| format!("{} octets wait", octets(it))).unwrap_or_default();
        let way = format!("{} – {}", raw(&it["local"]), raw(&it["remote"]));
        let opening = if it["established"] == true { "" } else { "opening" };
        sheet.line("Connection", &joined(&[way, opening.into(), heard, waiting]));
    }
    let agreed = &row["agreed"];
    let seconds = |name: &str, value: &Value| {
        let us = value.as_u64().map(|s| s.saturating_mul(1_000_000));
        us.map(|us| format!("{name} {}", duration(us))).unwrap_or_default()
    };
    let hold = [
        seconds("hold", &agreed["hold_time_s"]),
        seconds("keepalive", &agreed["keepalive_s"]),
        seconds("send hold", &agreed["send_hold_s"]),
        seconds("connect retry", &row["timers"]["connect_retry_s"]),
        seconds("stale", &row["timers"]["stale_s"]),
    ];
    sheet.line("Timers", &joined(&hold));
    let restart = &row["offered_there"]["graceful_restart"];
    let restart = [
        seconds("restarts within", &restart["time_s"]),
        with("of", &agreed["graceful_restart"]),
        with("forwarding kept for", &restart["forwarding"]),
        with("long-lived", &agreed["long_lived"]),
    ];
    sheet.line("Restart", &joined(&restart));
}

fn routes(row: &Value, sheet: &mut Sheet<'_>) {
    let count = |key: &str, name: &str| match row[key].as_u64() {
        Some(0) | None => String::new(),
        Some(count) => format!("{count} {name}"),
    };
    let came = [
        format!("{} accepted", raw(&row["routes_accepted"])),
        count("routes_in", "announced"),
        count("routes_withdrawn", "withdrawn"),
        count("routes_refused", "refused by the policy"),
        count("next_hops_foreign", "over next hops that it may not name"),
        count("next_hops_excess", "beyond its next hops"),
        count("routes_looped", "looped"),
        count("routes_treated_as_withdrawn", "treated as withdrawn"),
    ];
    sheet.line("Routes in", &joined(&came));
    let waiting = row["waiting_octets"].as_u64().filter(|it| *it > 0);
    let waiting = waiting.map(|it| format!("{} octets wait", octets(it))).unwrap_or_default();
    sheet.line("Routes out", &joined(&[raw(&row["routes_out"]), waiting]));
}

/// What each side offers and what both agree on; what neither has is left out.
fn capabilities(row: &Value) -> Vec<Value> {
    let here = &row["offered_here"];
    let (there, agreed) = (&row["offered_there"], &row["agreed"]);
    let has = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        _ => true,
    };
    let offers = OFFERS.iter().filter(|(key, _)| has(&here[*key]) || has(&there[*key]));
    let rows = offers.map(|(key, what)| {
        json!({ "what": what, "here": here[*key], "there": there[*key], "agreed": agreed[*key] })
    });
    rows.collect()
}

fn faults(look: &Look, row: &Value, sheet: &mut Sheet<'_>) {
    let count = |key: &str, one: &str, many: &str| match row[key].as_u64() {
        Some(0) | None => String::new(),
        Some(1) => format!("1 {one}"),
        Some(count) => format!("{count} {many}"),
    };
    let counted = [
        count("connects", "attempt", "attempts"),
        count("collisions", "collision", "collisions"),
        count("refused", "refused", "refused"),
        count("hold_expired", "hold timer expired", "hold timers expired"),
        count("send_hold_expired", "send hold timer expired", "send hold timers expired"),
        count("offences_tolerated", "offence tolerated", "offences tolerated"),
    ];
    sheet.line("Connections", &joined(&counted));
    for (key, name) in [("last_error", "Last error"), ("last_offence", "Last offence")] {
        let Some(at) = row[key]["at_us"].as_u64() else { continue };
        let ago = duration(look.now_us.saturating_sub(at));
        sheet.line(name, &format!("{ago} ago: {}", raw(&row[key]["text"])));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { width: Some(100), colour: false, now_us: 300_000_000_000 };

    fn peer() -> Value {
        let offer = |hold: u64| {
            json!({"asn": 65_000, "identifier": "192.0.2.1", "hold_time_s": hold,
                "families": ["ipv4-unicast", "evpn"], "four_octet_as": true,
                "route_refresh": true, "enhanced_refresh": false, "extended_message": false,
                "extended_next_hop": [], "add_path_send": [], "add_path_receive": [],
                "multiple_labels": [], "role": null, "graceful_restart": {"time_s": 120,
                "forwarding": ["ipv4-unicast"]}, "long_lived": null})
        };
        json!({"peer": "pe1", "address": "192.0.2.1", "asn": 65_000, "identifier": "192.0.2.1",
            "kind": "client", "group": "edge", "dynamic": false, "description": "Berlin",
            "state": "Established", "since_us": 26_400_000_000u64, "established": 2, "flaps": 1,
            "why": null, "routes_in": 130, "routes_accepted": 118, "routes_out": 5_000,
            "routes_withdrawn": 10, "routes_refused": 2, "routes_looped": 0,
            "routes_treated_as_withdrawn": 0, "waiting_octets": 0,
            "offered_here": offer(90), "offered_there": offer(180),
            "agreed": {"families": ["ipv4-unicast"], "hold_time_s": 90, "keepalive_s": 30,
                "send_hold_s": 480, "four_octet_as": true, "route_refresh": true,
                "graceful_restart": ["ipv4-unicast"], "long_lived": []},
            "connections": [{"local": "192.0.2.9:179", "remote": "192.0.2.1:41000",
                "established": true, "heard_us": 299_990_000_000u64, "waiting_octets": 0}],
            "timers": {"connect_retry_s": 120, "stale_s": 360},
            "import": ["from-edge"], "export": [], "password": true, "ttl_security_hops": 1,
            "limits": [{"family": "ipv4-unicast", "routes": 118, "warn": 800, "max": 1_000}],
            "received": {"open": 2, "update": 131, "notification": 1, "keepalive": 900,
                "route_refresh": 0},
            "sent": {"open": 2, "update": 60, "notification": 0, "keepalive": 901,
                "route_refresh": 1},
            "connects": 3, "collisions": 0, "hold_expired": 1,
            "last_error": {"at_us": 26_300_000_000u64, "text": "the hold timer expired"},
            "last_offence": null})
    }

    #[test]
    fn a_peer_is_a_sheet() {
        let wanted = "\
pe1  192.0.2.1  Established
  Description     Berlin
  State           for 3d 4h, 2 times up, 1 lost
  Neighbour       AS 65000, client, group edge
  Identifier      192.0.2.1
  Policy          import from-edge
  Guard           TCP password, TTL security, 1 hop
  Connection      192.0.2.9:179 – 192.0.2.1:41000, heard 10s ago
  Timers          hold 1m 30s, keepalive 30s, send hold 8m, connect retry 2m, stale 6m
  Restart         restarts within 2m, of ipv4-unicast, forwarding kept for ipv4-unicast
  Routes in       118 accepted, 130 announced, 10 withdrawn, 2 refused by the policy
  Routes out      5000
  Limits
    LIMIT OF      ROUTES  WARNS AT  ENDS AT
    ipv4-unicast     118       800     1000
  Capabilities
    CAPABILITY          HERE               THERE              AGREED
    families            ipv4-unicast evpn  ipv4-unicast evpn  ipv4-unicast
    4-octet AS numbers  yes                yes                yes
    route refresh       yes                yes                yes
    hold time, s                       90                180            90
  Messages
    MESSAGES  OPEN  UPDATE  NOTIFICATION  KEEPALIVE  REFRESH
    received     2     131             1        900        0
    sent         2      60             0        901        1
  Connections     3 attempts, 1 hold timer expired
  Last error      3d 4h ago: the hold timer expired
";
        assert_eq!(sheet(&LOOK, &peer()), wanted);
    }

    #[test]
    fn a_peer_that_is_away_has_what_is_remembered() {
        let row = json!({"peer": "10.1.0.1", "address": "10.1.0.1", "state": "away",
            "asn": 65_000, "identifier": "10.1.0.1", "kind": "client", "group": "lab",
            "since_us": 299_000_000_000u64, "flaps": 2, "why": "the hold timer expired"});
        let wanted = "\
10.1.0.1  10.1.0.1  away
  State           for 16m 40s, 2 lost, the hold timer expired
  Neighbour       AS 65000, client, group lab, came by a range
  Identifier      10.1.0.1
  Remembered      until it is back, or `tandem ctl bgp forget`
";
        assert_eq!(sheet(&LOOK, &row), wanted);
    }

    #[test]
    fn a_peer_that_never_answered_is_a_short_sheet() {
        let row = json!({"peer": "pe2", "address": "192.0.2.2", "state": "Active",
            "since_us": 299_000_000_000u64, "established": 0, "flaps": 0, "routes_accepted": 0,
            "routes_out": 0, "why": "nobody answers there", "received": {}, "sent": {},
            "connects": 9, "timers": {}, "last_error": null, "last_offence": null});
        let wanted = "\
pe2  192.0.2.2  Active
  State           for 16m 40s, 0 times up, 0 lost, nobody answers there
  Routes in       0 accepted
  Routes out      0
  Messages
    MESSAGES
    received
    sent
  Connections     9 attempts
";
        assert_eq!(sheet(&LOOK, &row), wanted);
    }
}
