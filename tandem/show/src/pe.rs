//! What is said of provider edge routers and their packet plane.

use crate::cell::Form;
use crate::{Listing, column, firm, plain};
use serde_json::{Value, json};

/// How the routers stand.
pub const SUMMARY: Listing = Listing::new(
    "no router is configured",
    &[
        plain("function", "FUNCTION"),
        column("forwarder", "FORWARDER", Form::State),
        plain("ports", "PORTS"),
        plain("ports_up", "UP"),
        plain("interfaces", "INTERFACES"),
        plain("vrfs", "VRFS"),
        plain("cross_connects", "CROSS-CONNECTS"),
        plain("bridges", "BRIDGES"),
        plain("routes", "ROUTES"),
        plain("refusals", "REFUSALS"),
    ],
);

/// Nodes of the graph.
pub const GRAPH: Listing = Listing::new(
    "the forwarder has no worker",
    &[
        plain("function", "FUNCTION"),
        plain("node", "NODE"),
        plain("packets", "PACKETS"),
        plain("packets_a_vector", "A VECTOR"),
        plain("clocks_a_packet", "CLOCKS"),
        column("dropped", "DROPPED", Form::Counts),
        plain("next", "NEXT"),
    ],
);

/// What is lost.
pub const DROPS: Listing = Listing::new(
    "nothing was lost",
    &[
        plain("function", "FUNCTION"),
        plain("node", "NODE"),
        plain("port", "PORT"),
        plain("interface", "INTERFACE"),
        plain("reason", "REASON"),
        plain("packets", "PACKETS"),
    ],
);

/// Ports.
pub const PORTS: Listing = Listing::new(
    "no port is configured",
    &[
        plain("function", "FUNCTION"),
        plain("port", "PORT"),
        column("up", "UP", Form::Flag),
        plain("mac", "MAC"),
        plain("mtu", "MTU"),
        plain("received", "RECEIVED"),
        plain("sent", "SENT"),
        plain("not_received_queue-full", "MISSED"),
        plain("not_sent_queue-full", "NOT SENT"),
        plain("not_received_joined", "JOINED"),
        plain("note", "NOTE"),
    ],
);

/// Says of ports that do not stand why the forwarder refused them, as its refusals `port NAME`
/// tell; those that it has no row of are rows of their own.
pub fn with_refused(rows: &mut Vec<Value>, refusals: &[Value]) {
    for refusal in refusals {
        let name = refusal["what"].as_str().and_then(|what| what.strip_prefix("port "));
        let (Some(name), Some(why)) = (name, refusal["why"].as_str()) else { continue };
        let note = format!("refused: {why}");
        match rows.iter_mut().find(|row| row["port"] == name) {
            // What was refused once may stand by now.
            Some(row) if row["up"] == true => {}
            Some(row) => row["note"] = note.into(),
            None => rows.push(json!({ "port": name, "up": false, "note": note })),
        }
    }
}

/// Interfaces.
pub const INTERFACES: Listing = Listing::new(
    "no interface is configured",
    &[
        plain("function", "FUNCTION"),
        plain("interface", "INTERFACE"),
        column("state", "STATE", Form::State),
        plain("vrf", "VRF"),
        firm("addresses", "ADDRESSES"),
        plain("received", "RECEIVED"),
        column("received_octets", "OCTETS IN", Form::Octets).yields(2),
        plain("sent", "SENT"),
        column("sent_octets", "OCTETS OUT", Form::Octets).yields(1),
    ],
);

/// Puts to interfaces of the configuration what the forwarder counts of them, and the state of
/// their ports: `up`, `down`, nothing where it is not known.
pub fn with_counts(rows: &mut [Value], counts: &[Value], ports: &[Value]) {
    for row in rows {
        let Some(name) = row.get("interface").or(row.get("name")).cloned() else { continue };
        // An interface without a port of its own is that of the port of its name.
        let port = row["port"].as_str().map_or_else(|| name.clone(), Value::from);
        if let Some(port) = ports.iter().find(|it| it["port"] == port) {
            row["state"] = if port["up"] == true { "up" } else { "down" }.into();
        }
        let counted = counts.iter().find(|it| it["interface"] == name);
        for (key, value) in counted.and_then(Value::as_object).into_iter().flatten() {
            row[key] = value.clone();
        }
        row["interface"] = name;
    }
}

/// ARP and ND.
pub const NEIGHBOURS: Listing = Listing::new(
    "no neighbour is known",
    &[
        plain("function", "FUNCTION"),
        plain("interface", "INTERFACE"),
        plain("address", "ADDRESS"),
        plain("mac", "MAC"),
        column("state", "STATE", Form::State),
    ],
);

/// Neighbours by interface.
pub const RESOLUTION: Listing = Listing::new(
    "no neighbour was asked for, and none was heard",
    &[
        plain("function", "FUNCTION"),
        plain("interface", "INTERFACE"),
        plain("neighbours", "NEIGHBOURS"),
        plain("asked", "ASKED"),
        plain("heard", "HEARD"),
        column("not_done", "NOT DONE", Form::Counts),
    ],
);

/// Workers.
pub const WORKERS: Listing = Listing::new(
    "the forwarder has no worker",
    &[
        plain("function", "FUNCTION"),
        plain("worker", "WORKER"),
        column("state", "STATE", Form::State),
        plain("panics", "PANICS"),
        plain("cells", "CELLS"),
        plain("free_cells", "FREE"),
        plain("unwanted_punts", "UNWANTED"),
        plain("last_panic", "LAST PANIC"),
    ],
);

/// What the forwarder refused.
pub const REFUSALS: Listing = Listing::new(
    "the forwarder refuses nothing",
    &[plain("function", "FUNCTION"), plain("what", "WHAT"), plain("why", "WHY")],
);

/// What happened to MAC addresses.
pub const EVENTS: Listing = Listing::new(
    "no MAC address has moved, frozen or met a limit",
    &[
        plain("function", "FUNCTION"),
        column("seconds_ago", "AGO", Form::Seconds),
        plain("bridge", "BRIDGE"),
        plain("mac", "MAC"),
        plain("event", "EVENT"),
        plain("from", "FROM"),
        plain("at", "AT"),
    ],
);

/// Traced packets.
pub const TRACED: Listing = Listing::new(
    "no packet is traced: `plane trace` chooses the next ones (all, of a --port, --containing \
     octets), and here is their way as soon as they have come; `plane ports` counts what comes",
    &[
        plain("function", "FUNCTION"),
        plain("packet", "PACKET"),
        plain("node", "NODE"),
        plain("note", "NOTE"),
    ],
);

/// Routes.
pub const ROUTES: Listing = Listing::new(
    "no route is configured",
    &[
        plain("function", "FUNCTION"),
        plain("vrf", "VRF"),
        plain("prefix", "PREFIX"),
        plain("origin", "ORIGIN"),
        column("holds", "HOLDS", Form::Flag),
        plain("via", "VIA"),
        plain("discard", "DISCARD"),
    ],
);

/// Routing tables.
pub const VRFS: Listing = Listing::new(
    "no routing table is configured",
    &[
        plain("function", "FUNCTION"),
        plain("vrf", "VRF"),
        plain("label", "LABEL"),
        plain("routes", "ROUTES"),
        plain("interfaces", "INTERFACES"),
    ],
);

/// Cross-connects.
pub const CROSS_CONNECTS: Listing = Listing::new(
    "no cross-connect is configured",
    &[
        plain("function", "FUNCTION"),
        plain("name", "NAME"),
        plain("interface", "INTERFACE"),
        plain("to", "TO"),
        plain("received", "RECEIVED"),
        plain("sent", "SENT"),
    ],
);

/// MAC addresses of bridge domains.
pub const MACS: Listing = Listing::new(
    "no MAC address is known",
    &[
        plain("function", "FUNCTION"),
        plain("bridge", "BRIDGE"),
        plain("mac", "MAC"),
        plain("interface", "INTERFACE"),
        plain("pseudowire", "PSEUDOWIRE"),
        column("state", "STATE", Form::State),
        column("idle_s", "IDLE", Form::Seconds),
    ],
);

/// Filters.
pub const FILTERS: Listing = Listing::new(
    "no filter is configured",
    &[
        plain("function", "FUNCTION"),
        plain("filter", "FILTER"),
        plain("rule", "RULE"),
        plain("packets", "HITS"),
        column("octets", "OCTETS", Form::Octets),
    ],
);

/// Packet channels by which packets go up to functions, and why others were closed.
pub const PACKET_CHANNELS: Listing = Listing::new(
    "no function takes packets",
    &[
        plain("function", "FUNCTION"),
        plain("door", "DOOR"),
        plain("up", "UP"),
        plain("down", "DOWN"),
        column("down_lost", "LOST", Form::Counts),
        plain("classes", "CLASSES"),
        plain("closed", "CLOSED SINCE"),
        plain("times", "TIMES"),
    ],
);

/// What a forwarder may be asked, and the table of the answer.
pub const ASKED: [(&str, &Listing); 11] = [
    ("graph", &GRAPH),
    ("drops", &DROPS),
    ("ports", &PORTS),
    ("interfaces", &INTERFACES),
    ("neighbours", &NEIGHBOURS),
    ("resolution", &RESOLUTION),
    ("macs", &MACS),
    ("filters", &FILTERS),
    ("workers", &WORKERS),
    ("doors", &PACKET_CHANNELS),
    ("traced", &TRACED),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Look, table};

    const LOOK: Look = Look { width: Some(100), colour: false, now_us: 0 };

    #[test]
    fn a_port_that_the_forwarder_refused_says_why() {
        let mut rows = vec![
            json!({"port": "left", "up": false, "note": null}),
            json!({"port": "up", "up": true, "note": null}),
        ];
        let why = "eth99: No such device (os error 19)";
        let refused = |what: &str| json!({"what": what, "why": why});
        let all = ["port left", "port up", "port gone", "Interface 3"].map(refused);
        with_refused(&mut rows, &all);
        let wanted = "\
            PORT  UP   NOTE\n\
            left  no   refused: eth99: No such device (os error 19)\n\
            up    yes\n\
            gone  no   refused: eth99: No such device (os error 19)\n";
        assert_eq!(table(&LOOK, &rows, &PORTS), wanted);
    }

    #[test]
    fn a_node_says_what_it_dropped_and_why() {
        let row = json!({"node": "ip4-lookup", "packets": 1_000, "packets_a_vector": 40,
            "clocks_a_packet": 31, "dropped": {"no-route": 3, "ttl": 0},
            "next": ["ip4-rewrite", "error-drop"]});
        let wanted = "NODE        PACKETS  A VECTOR  CLOCKS  DROPPED     NEXT\n\
                      ip4-lookup     1000        40      31  3 no-route  ip4-rewrite error-drop\n";
        assert_eq!(table(&LOOK, &[row], &GRAPH), wanted);
    }

    #[test]
    fn what_is_lost_has_its_place_and_its_reason() {
        let rows = [
            json!({"node": "ip4-lookup", "port": null, "reason": "no route", "packets": 3}),
            json!({"node": null, "port": "ge0", "reason": "queue full", "packets": 12}),
        ];
        let shown = table(&LOOK, &rows, &DROPS);
        let words = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let wanted = [
            vec!["NODE", "PORT", "REASON", "PACKETS"],
            vec!["ip4-lookup", "no", "route", "3"],
            vec!["ge0", "queue", "full", "12"],
        ];
        assert_eq!(words.collect::<Vec<_>>(), wanted, "{shown}");
    }

    #[test]
    fn ports_neighbours_and_summaries_are_rows() {
        let row = json!({"function": "pe1", "forwarder": "controlled", "ports": 2, "ports_up": 2,
            "interfaces": 3, "vrfs": 1, "cross_connects": 0, "bridges": 0, "routes": 4,
            "refusals": 0});
        let shown = table(&LOOK, &[row], &SUMMARY);
        assert!(shown.contains("controlled      2   2"), "{shown}");
        let row = json!({"interface": "ge0", "address": "10.0.0.2", "mac": "02:00:00:00:00:02",
            "state": "known"});
        let wanted = "INTERFACE  ADDRESS   MAC                STATE\n\
                      ge0        10.0.0.2  02:00:00:00:00:02  known\n";
        assert_eq!(table(&LOOK, &[row], &NEIGHBOURS), wanted);
        let row = json!({"filter": "edge", "rule": 1, "packets": 12, "octets": 1_200});
        let wanted = "FILTER  RULE  HITS  OCTETS\nedge       1    12   1.2 k\n";
        assert_eq!(table(&LOOK, &[row], &FILTERS), wanted);
    }

    #[test]
    fn what_a_router_knows_is_rows() {
        let row = json!({"port": "ge0", "number": 1,
            "driver": {"af_packet": {"device": "veth0"}}, "workers": 1, "up": true,
            "mac": "02:00:00:00:00:01", "mtu": 1_500, "received": 12, "sent": 9,
            "not_received_queue-full": 2, "not_sent_queue-full": 0, "not_received_joined": 3,
            "note": "3 joined"});
        let wanted = "\
            PORT  UP   MAC                 MTU  RECEIVED  SENT  MISSED  NOT SENT  JOINED  NOTE\n\
            ge0   yes  02:00:00:00:00:01  1500        12     9       2         0       3  \
            3 joined\n";
        assert_eq!(table(&LOOK, &[row], &PORTS), wanted);
        let row = json!({"interface": "ge0", "received": 12, "received_octets": 18_000,
            "sent": 9, "sent_octets": 900});
        let wanted = "\
            INTERFACE  STATE  VRF  ADDRESSES    RECEIVED  OCTETS IN  SENT  OCTETS OUT\n\
            ge0        up     red  10.0.0.1/24        12     18.0 k     9         900\n";
        let mut rows = [json!({"name": "ge0", "vrf": "red", "addresses": ["10.0.0.1/24"]})];
        with_counts(&mut rows, &[row], &[json!({"port": "ge0", "up": true})]);
        assert_eq!(table(&LOOK, &[rows[0].clone()], &INTERFACES), wanted);
        let row = json!({"interface": "ge0", "neighbours": 3, "asked": 1, "heard": 4,
            "not_done": {"no-address": 2, "too-many": 0}});
        let wanted = "\
            INTERFACE  NEIGHBOURS  ASKED  HEARD  NOT DONE\n\
            ge0                 3      1      4  2 no-address\n";
        assert_eq!(table(&LOOK, &[row], &RESOLUTION), wanted);
        let row = json!({"worker": 0, "state": "forwards", "panics": 1,
            "last_panic": "a slot is used twice", "cells": 8_192, "free_cells": 8_000,
            "unwanted_punts": 0});
        let wanted = "\
            WORKER  STATE     PANICS  CELLS  FREE  UNWANTED  LAST PANIC\n\
            \x20    0  forwards       1   8192  8000         0  a slot is used twice\n";
        assert_eq!(table(&LOOK, &[row], &WORKERS), wanted);
        let row = json!({"what": "Interface 3", "why": "there is no such port"});
        let wanted = "\
            WHAT         WHY\n\
            Interface 3  there is no such port\n";
        assert_eq!(table(&LOOK, &[row], &REFUSALS), wanted);
        let row = json!({"seconds_ago": 61, "bridge": "lan", "mac": "02:00:00:00:00:09",
            "event": "moved", "from": "ge0", "at": "ge1"});
        let wanted = "\
            \x20 AGO  BRIDGE  MAC                EVENT  FROM  AT\n\
            1m 1s  lan     02:00:00:00:00:09  moved  ge0   ge1\n";
        assert_eq!(table(&LOOK, &[row], &EVENTS), wanted);
        let row = json!({"packet": 1, "node": "ip4-lookup", "note": "vrf red hop 10.0.0.2"});
        let wanted = "\
            PACKET  NODE        NOTE\n\
            \x20    1  ip4-lookup  vrf red hop 10.0.0.2\n";
        assert_eq!(table(&LOOK, &[row], &TRACED), wanted);
        let row = json!({"vrf": "red", "prefix": "10.1.0.0/16", "origin": "static",
            "holds": true,
            "via": [{"gateway": "10.0.0.2", "interface": "ge0", "labels": [16], "weight": 1}]});
        let wanted = "\
            VRF  PREFIX       ORIGIN  HOLDS  VIA\n\
            red  10.1.0.0/16  static  yes    10.0.0.2 at ge0\n";
        assert_eq!(table(&LOOK, &[row], &ROUTES), wanted);
        let row = json!({"vrf": "red", "label": 100, "interfaces": ["ge0", "ge1"], "routes": 4});
        let wanted = "\
            VRF  LABEL  ROUTES  INTERFACES\n\
            red    100       4  ge0 ge1\n";
        assert_eq!(table(&LOOK, &[row], &VRFS), wanted);
        let row = json!({"name": "wire", "interface": "ge0", "to": "ge1", "pseudowire": null,
            "received": 5, "sent": 6});
        let wanted = "\
            NAME  INTERFACE  TO   RECEIVED  SENT\n\
            wire  ge0        ge1         5     6\n";
        assert_eq!(table(&LOOK, &[row], &CROSS_CONNECTS), wanted);
        let row = json!({"bridge": "lan", "mac": "02:00:00:00:00:09", "state": "learnt",
            "interface": "ge0", "idle_s": 61});
        let wanted = "\
            BRIDGE  MAC                INTERFACE  STATE    IDLE\n\
            lan     02:00:00:00:00:09  ge0        learnt  1m 1s\n";
        assert_eq!(table(&LOOK, &[row], &MACS), wanted);
        let row = json!({"door": 1, "classes": [{"class": "arp", "share": 10, "shed": {}},
            {"class": "icmp", "share": 20, "shed": {"full": 2}}], "up": 7, "down": 6,
            "down_lost": {"full": 1}});
        let wanted = "\
            DOOR  UP  DOWN  LOST    CLASSES\n\
            \x20  1   7     6  1 full  arp icmp\n";
        assert_eq!(table(&LOOK, &[row], &PACKET_CHANNELS), wanted);
    }
}
