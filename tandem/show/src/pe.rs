//! What is said of provider edge routers and their packet plane.

use crate::cell::Form;
use crate::{Listing, column, plain};

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
    ],
);

/// Interfaces.
pub const INTERFACES: Listing = Listing::new(
    "no interface is configured",
    &[
        plain("function", "FUNCTION"),
        plain("interface", "INTERFACE"),
        plain("received", "RECEIVED"),
        column("received_octets", "OCTETS", Form::Octets),
        plain("sent", "SENT"),
        column("sent_octets", "OCTETS", Form::Octets),
    ],
);

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
    "no interface is configured",
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
    "no packet was traced (ctl plane trace FUNCTION begins)",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Look, table};
    use serde_json::json;

    const LOOK: Look = Look { width: Some(100), colour: false, now_us: 0 };

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
}
