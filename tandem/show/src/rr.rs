//! What is said of route reflectors.

mod peer;
mod prefix;

pub use peer::sheet;
pub use prefix::sorted;

use crate::cell::Form;
use crate::{Listing, column, firm, plain, since};
use serde_json::Value;

/// Peers.
pub const SUMMARY: Listing = Listing::new(
    "no peer is configured, and none came by a range",
    &[
        plain("function", "FUNCTION"),
        firm("peer", "PEER"),
        firm("address", "ADDRESS"),
        plain("vrf", "VRF"),
        plain("asn", "AS"),
        plain("kind", "KIND").yields(1),
        column("state", "STATE", Form::State),
        since("since_us", "SINCE"),
        plain("routes_accepted", "IN"),
        plain("routes_out", "OUT"),
        plain("messages_in", "MSGS IN").yields(3),
        plain("messages_out", "MSGS OUT").yields(4),
        column("waiting_octets", "WAITING", Form::Octets).yields(2),
        plain("why", "WHY"),
    ],
);

/// Routes with their best path.
pub const ROUTES: Listing = Listing::new(
    "no route matches",
    &[
        plain("route", "ROUTE"),
        plain("next_hop", "NEXT HOP"),
        plain("local_pref", "PREF"),
        plain("med", "MED"),
        plain("as_path", "AS PATH"),
        plain("origin", "ORIGIN"),
        plain("peer", "PEER"),
        plain("paths", "PATHS"),
    ],
);

/// All paths of a route.
pub const PATHS: Listing = Listing::new(
    "no route covers it",
    &[
        plain("route", "ROUTE"),
        column("best", "BEST", Form::Flag),
        plain("loses_by", "LOSES BY"),
        plain("peer", "PEER"),
        plain("path_id", "PATH"),
        plain("next_hop", "NEXT HOP"),
        plain("local_pref", "PREF"),
        plain("med", "MED"),
        plain("as_path", "AS PATH"),
        plain("origin", "ORIGIN"),
        plain("originator", "ORIGINATOR"),
        plain("clusters", "CLUSTERS"),
        plain("communities", "COMMUNITIES"),
        plain("validation", "VALIDATION"),
    ],
);

/// What a peer announced, before the policy and after it.
pub const RECEIVED: Listing = Listing::new(
    "the peer has announced no route of this family",
    &[
        plain("route", "ROUTE"),
        plain("policy", "POLICY"),
        plain("next_hop_before", "NEXT HOP"),
        plain("next_hop", "→ AFTER"),
        plain("local_pref_before", "PREF"),
        plain("local_pref", "→ AFTER"),
        plain("med_before", "MED"),
        plain("med", "→ AFTER"),
        plain("as_path_before", "AS PATH"),
        plain("as_path", "→ AFTER"),
        plain("communities_before", "COMMUNITIES"),
        plain("communities", "→ AFTER"),
    ],
);

/// Update groups.
pub const GROUPS: Listing = Listing::new(
    "no session stands",
    &[
        plain("function", "FUNCTION"),
        plain("group", "GROUP"),
        plain("family", "FAMILY"),
        plain("audience", "TOLD"),
        plain("kind", "KIND"),
        column("add_path", "ADD-PATH", Form::Flag),
        plain("peers", "PEERS"),
        plain("routes_out", "OUT"),
        plain("behind", "BEHIND"),
        column("walks", "WALKS", Form::Flag),
        column("waiting_octets", "WAITING", Form::Octets),
        plain("members", "MEMBERS"),
    ],
);

/// Families.
pub const FAMILIES: Listing = Listing::new(
    "no route was announced",
    &[
        plain("function", "FUNCTION"),
        plain("family", "FAMILY"),
        plain("routes", "ROUTES"),
        plain("paths", "PATHS"),
    ],
);

/// Next hops of an edge, and how they are reached.
pub const NEXT_HOPS: Listing = Listing::new(
    "no route has a next hop that is reached",
    &[
        plain("function", "FUNCTION"),
        firm("next_hop", "NEXT HOP"),
        plain("metric", "METRIC"),
        plain("via", "VIA"),
        plain("labelled", "LABELLED"),
    ],
);

/// Routes of BGP as the plane of an edge has them.
pub const FIB: Listing = Listing::new(
    "BGP has no route for the plane",
    &[
        plain("function", "FUNCTION"),
        plain("vrf", "VRF"),
        firm("prefix", "PREFIX"),
        plain("next_hops", "NEXT HOPS"),
        plain("label", "LABEL"),
        plain("backup", "BACKUP"),
        plain("distance", "DISTANCE"),
        plain("in_use", "IN USE"),
    ],
);

/// Caches of validated prefixes.
pub const CACHES: Listing = Listing::new(
    "no cache of validated prefixes is configured",
    &[
        plain("function", "FUNCTION"),
        plain("cache", "CACHE"),
        column("state", "STATE", Form::State),
        plain("source", "SOURCE"),
        plain("version", "VERSION"),
        plain("serial", "SERIAL"),
        plain("ipv4", "IPV4"),
        plain("ipv6", "IPV6"),
        column("expires_s", "EXPIRES IN", Form::Seconds),
        plain("why", "WHY"),
    ],
);

/// Monitoring stations.
pub const STATIONS: Listing = Listing::new(
    "no monitoring station is configured",
    &[
        plain("function", "FUNCTION"),
        plain("station", "STATION"),
        plain("address", "ADDRESS"),
        column("state", "STATE", Form::State),
        plain("tables", "TABLES"),
        column("complete", "COMPLETE", Form::Flag),
        column("waiting_octets", "WAITING", Form::Octets),
        column("sent_octets", "SENT", Form::Octets),
        plain("overflows", "OVERFLOWS"),
        plain("why", "WHY"),
    ],
);

/// Validated prefixes.
pub const ORIGINS: Listing = Listing::new(
    "no validated prefix covers it",
    &[
        plain("prefix", "PREFIX"),
        plain("max_length", "MAX LENGTH"),
        plain("asn", "AS"),
        column("state", "STATE", Form::State),
    ],
);

/// What a list leaves out.
#[must_use]
pub fn more(shown: usize, all: Option<u64>) -> String {
    match all.map(|all| all.saturating_sub(shown as u64)) {
        Some(0) => String::new(),
        Some(more) => format!("… and {more} more (--limit, --skip)\n"),
        None => "… and more (--limit, --skip)\n".into(),
    }
}

/// How many peers that were away are forgotten, of `bgp/forget`.
#[must_use]
pub fn forgotten(answer: &Value) -> String {
    match answer[0]["forgotten"].as_u64() {
        Some(0) | None => "no peer is away: there is nothing to forget\n".into(),
        Some(1) => "1 peer is forgotten, with its alarm\n".into(),
        Some(count) => format!("{count} peers are forgotten, with their alarms\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Look, table};
    use serde_json::json;

    const LOOK: Look = Look { width: Some(100), colour: false, now_us: 1_000_000_000 };

    #[test]
    fn peers_say_how_long_their_sessions_stand_and_fit_a_terminal() {
        let rows = [
            json!({"function": "rr1", "peer": "pe1", "address": "192.0.2.1", "asn": 65_000,
                "kind": "client", "state": "Established", "since_us": 100_000_000,
                "routes_accepted": 1_000_000, "routes_out": 950_000, "messages_in": 120_000,
                "messages_out": 9, "waiting_octets": 0, "why": null}),
            json!({"function": "rr1", "peer": "pe2", "address": "2001:db8::2", "asn": 65_000,
                "kind": "client", "state": "Active", "since_us": 999_000_000,
                "routes_accepted": 0, "routes_out": 0, "messages_in": 0, "messages_out": 0,
                "waiting_octets": 0, "why": "nobody answers there"}),
        ];
        let shown = table(&LOOK, &rows, &SUMMARY);
        assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
        assert!(shown.contains("15m") && shown.contains("1s"), "{shown}");
        let shown = table(&Look { width: Some(80), ..LOOK }, &rows, &SUMMARY);
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        let whole = ["192.0.2.1 ", "2001:db8::2 ", "Established ", "client"];
        assert!(whole.iter().all(|word| shown.contains(word)), "{shown}");
    }

    #[test]
    fn routes_are_rows_and_say_what_is_left_out() {
        let row = json!({"route": "10.0.0.0/8", "next_hop": "192.0.2.1", "local_pref": 100,
            "med": null, "as_path": "65001 65002", "origin": "igp", "peer": "pe1", "paths": 2});
        let wanted = "ROUTE       NEXT HOP   PREF  AS PATH      ORIGIN  PEER  PATHS\n\
                      10.0.0.0/8  192.0.2.1   100  65001 65002  igp     pe1       2\n";
        assert_eq!(table(&LOOK, &[row], &ROUTES), wanted);
        assert_eq!(more(3, Some(100)), "… and 97 more (--limit, --skip)\n");
        assert_eq!(more(3, Some(3)), "");
        assert_eq!(more(3, None), "… and more (--limit, --skip)\n");
    }

    #[test]
    fn what_came_stands_before_what_the_policy_made_of_it() {
        let rows = [
            json!({"route": "10.0.0.0/8", "policy": "changed", "local_pref_before": null,
                "local_pref": 200, "next_hop_before": "192.0.2.1", "next_hop": "192.0.2.1"}),
            json!({"route": "10.1.0.0/16", "policy": "refused", "next_hop_before": "192.0.2.1"}),
        ];
        let wanted = "ROUTE        POLICY   NEXT HOP   → AFTER    → AFTER\n\
                      10.0.0.0/8   changed  192.0.2.1  192.0.2.1      200\n\
                      10.1.0.0/16  refused  192.0.2.1\n";
        assert_eq!(table(&LOOK, &rows, &RECEIVED), wanted);
    }

    #[test]
    fn paths_groups_families_and_feeds_are_rows() {
        let row = json!({"route": "10.0.0.0/8", "best": false, "loses_by": "local preference",
            "peer": "pe1", "path_id": 0, "next_hop": "192.0.2.1", "local_pref": 90,
            "as_path": "65001", "origin": "igp", "validation": "valid"});
        let wanted = "\
            ROUTE       BEST  LOSES BY          PEER  PATH  NEXT HOP   PREF  AS PATH  ORIGIN  \
            VALIDATION\n\
            10.0.0.0/8  no    local preference  pe1      0  192.0.2.1    90  65001    igp     \
            valid\n";
        assert_eq!(table(&LOOK, &[row], &PATHS), wanted);
        let row = json!({"group": 0, "family": "ipv4-unicast", "audience": "peers",
            "kind": "client", "add_path": false, "peers": 2, "routes_out": 7, "behind": 0,
            "walks": false, "waiting_octets": 0, "members": ["pe1", "pe2"]});
        let wanted = "\
            GROUP  FAMILY        TOLD   KIND    ADD-PATH  PEERS  OUT  BEHIND  WALKS  WAITING  \
            MEMBERS\n\
            \x20   0  ipv4-unicast  peers  client  no            2    7       0  no           0  \
            pe1 pe2\n";
        assert_eq!(table(&LOOK, &[row], &GROUPS), wanted);
        let row = json!({"family": "ipv4-unicast", "routes": 7, "paths": 9});
        let wanted = "\
            FAMILY        ROUTES  PATHS\n\
            ipv4-unicast       7      9\n";
        assert_eq!(table(&LOOK, &[row], &FAMILIES), wanted);
        let row = json!({"cache": "10.0.0.7:323", "state": "synchronised", "source": true,
            "version": 1, "serial": 4, "ipv4": 7, "ipv6": 2, "expires_s": 3_600, "why": null});
        let wanted = "\
            CACHE         STATE         SOURCE  VERSION  SERIAL  IPV4  IPV6  EXPIRES IN\n\
            10.0.0.7:323  synchronised  true          1       4     7     2          1h\n";
        assert_eq!(table(&LOOK, &[row], &CACHES), wanted);
        let row = json!({"station": "noc", "address": "10.0.0.8:1790", "state": "up",
            "tables": ["loc-rib"], "complete": true, "waiting_octets": 0, "sent_octets": 4_096,
            "overflows": 0, "why": null});
        let wanted = "\
            STATION  ADDRESS        STATE  TABLES   COMPLETE  WAITING   SENT  OVERFLOWS\n\
            noc      10.0.0.8:1790  up     loc-rib  yes             0  4.0 k          0\n";
        assert_eq!(table(&LOOK, &[row], &STATIONS), wanted);
        let row = json!({"prefix": "10.0.0.0/8", "max_length": 16, "asn": 65_001,
            "state": "valid"});
        let wanted = "\
            PREFIX      MAX LENGTH     AS  STATE\n\
            10.0.0.0/8          16  65001  valid\n";
        assert_eq!(table(&LOOK, &[row], &ORIGINS), wanted);
    }

    #[test]
    fn next_hops_of_an_edge_and_what_its_plane_has_are_rows() {
        let row = json!({"function": "pe1", "next_hop": "192.0.2.9", "metric": 20,
            "via": ["192.0.2.2"], "labelled": true});
        let shown = table(&LOOK, &[row], &NEXT_HOPS);
        assert!(["NEXT HOP", "192.0.2.9", "20"].iter().all(|it| shown.contains(it)), "{shown}");
        let row = json!({"function": "pe1", "vrf": "red", "prefix": "10.1.0.0/16",
            "next_hops": ["192.0.2.9"], "label": 200_001, "distance": 200, "in_use": true});
        let shown = table(&LOOK, &[row], &FIB);
        assert!(["10.1.0.0/16", "200001", "red"].iter().all(|it| shown.contains(it)), "{shown}");
    }
}
