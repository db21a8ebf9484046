//! What is said of signalling gateways.

use crate::cell::Form;
use crate::{Listing, Look, Sheet, column, firm, plain, since};
use serde_json::Value;

/// Peers.
pub const ASPS: Listing = Listing::new(
    "no peer is configured",
    &[
        plain("function", "FUNCTION"),
        plain("name", "PEER"),
        plain("role", "ROLE"),
        plain("transport", "OVER"),
        firm("address", "ADDRESS"),
        column("association", "ASSOCIATION", Form::State),
        column("state", "ASP", Form::State),
        plain("active_for", "ACTIVE FOR"),
        since("since_us", "SINCE"),
        plain("why", "WHY"),
    ],
);

/// Application Servers.
pub const SERVERS: Listing = Listing::new(
    "no Application Server is configured or registered",
    &[
        plain("function", "FUNCTION"),
        plain("name", "NAME"),
        plain("routing_context", "CONTEXT"),
        plain("point_codes", "POINT CODES"),
        plain("served_by", "SERVED BY"),
        column("state", "STATE", Form::State),
        plain("mode", "MODE"),
        plain("waiting", "WAITING"),
        plain("asps", "ASPS"),
    ],
);

/// Where traffic goes.
pub const ROUTES: Listing = Listing::new(
    "no route is configured or registered",
    &[
        plain("function", "FUNCTION"),
        plain("point_code", "POINT CODE"),
        plain("network", "NETWORK"),
        plain("service_indicators", "SI"),
        plain("originating", "FROM"),
        plain("to", "TO"),
        column("state", "STATE", Form::State),
    ],
);

/// Registered Routing Keys.
pub const KEYS: Listing = Listing::new(
    "no Routing Key is registered",
    &[
        plain("function", "FUNCTION"),
        plain("peer", "PEER"),
        plain("registered_by", "BY"),
        plain("routing_context", "CONTEXT"),
        plain("network", "NETWORK"),
        plain("point_codes", "POINT CODES"),
        plain("server", "SERVER"),
    ],
);

/// Destinations that are not plainly available.
pub const DESTINATIONS: Listing = Listing::new(
    "no destination is unavailable, restricted or congested",
    &[
        plain("function", "FUNCTION"),
        plain("point_code", "POINT CODE"),
        plain("network", "NETWORK"),
        plain("told_by", "TOLD BY"),
        column("state", "STATE", Form::State),
        plain("congestion", "CONGESTION"),
    ],
);

/// Sets of rules for what peers send.
pub const RULE_SETS: Listing = Listing::new(
    "no rules are configured: [[sgc.screening]]",
    &[
        plain("function", "FUNCTION"),
        plain("name", "SET"),
        plain("rules", "RULES"),
        plain("judged", "JUDGED"),
        plain("hits", "HITS"),
        plain("refused", "REFUSED"),
        plain("unreadable", "UNREADABLE"),
        plain("segments", "SEGMENTS"),
        plain("places", "PLACES"),
        plain("not_kept", "NOT KEPT"),
    ],
);

/// Rules that held.
pub const RULE_HITS: Listing = Listing::new(
    "no rule has held",
    &[
        plain("function", "FUNCTION"),
        plain("set", "SET"),
        plain("rule", "RULE"),
        plain("action", "ACTION"),
        plain("hits", "HITS"),
    ],
);

/// What rules would have refused.
pub const TRIED: Listing = Listing::new(
    "nothing would be refused",
    &[
        column("at_us", "AT", Form::Time),
        plain("peer", "PEER"),
        plain("by", "SET/RULE"),
        plain("action", "ACTION"),
        plain("operation", "OPERATION"),
        plain("calling", "CALLING"),
        plain("called", "CALLED"),
    ],
);

/// Subsystems of a node.
pub const SUBSYSTEMS: Listing = Listing::new(
    "no subsystem is configured",
    &[
        plain("function", "FUNCTION"),
        plain("name", "NAME"),
        plain("number", "SSN"),
        plain("point_codes", "POINT CODES"),
        plain("user", "USER"),
        column("state", "STATE", Form::State),
        plain("why", "WHY"),
    ],
);

/// Nodes and subsystems elsewhere.
pub const REMOTES: Listing = Listing::new(
    "no node or subsystem elsewhere is known to be unavailable",
    &[
        plain("function", "FUNCTION"),
        plain("point_code", "POINT CODE"),
        plain("subsystem", "SSN"),
        column("state", "STATE", Form::State),
        plain("why", "WHY"),
    ],
);

/// Sections of connections.
pub const CONNECTIONS: Listing = Listing::new(
    "no connection stands",
    &[
        plain("function", "FUNCTION"),
        plain("reference", "REFERENCE"),
        plain("point_code", "POINT CODE"),
        plain("other", "THERE"),
        plain("class", "CLASS"),
        column("state", "STATE", Form::State),
        plain("subsystem", "SSN"),
        plain("coupled", "COUPLED WITH"),
        plain("waiting_octets", "WAITING OCTETS"),
        column("silent_us", "SILENT FOR", Form::Microseconds),
    ],
);

/// What a node elsewhere answered.
pub const PINGED: Listing = Listing::new(
    "nobody was asked",
    &[
        plain("point_code", "POINT CODE"),
        plain("subsystem", "SSN"),
        column("state", "STATE", Form::State),
        column("rtt_us", "AFTER", Form::Microseconds),
        plain("why", "WHY"),
    ],
);

/// Rules for global titles.
pub const RULES: Listing = Listing::new(
    "no translation is configured",
    &[
        plain("function", "FUNCTION"),
        plain("name", "RULE"),
        plain("of", "OF"),
        plain("digits", "DIGITS"),
        plain("title", "TITLE"),
        plain("change", "CHANGE"),
        plain("choice", "CHOICE"),
        plain("to", "TO"),
    ],
);

/// Dialogues of TCAP.
pub const DIALOGUES: Listing = Listing::new(
    "no function has TCAP",
    &[
        plain("function", "FUNCTION"),
        plain("dialogues", "DIALOGUES"),
        plain("dialogues_max", "OF"),
        plain("begun_there", "BEGUN THERE"),
        plain("begun_here", "BEGUN HERE"),
        plain("aborts_in", "ABORTS IN"),
        plain("aborts_out", "OUT"),
        plain("rejected", "REJECTED"),
        plain("idle", "IDLE"),
        plain("shed", "SHED"),
    ],
);

/// Applications on TCAP.
pub const APPLICATIONS: Listing = Listing::new(
    "no application is configured",
    &[
        plain("function", "FUNCTION"),
        plain("name", "NAME"),
        plain("subsystem", "SSN"),
        column("state", "STATE", Form::State),
        plain("instances", "INSTANCES"),
        plain("dialogues", "DIALOGUES"),
        plain("begun_there", "BEGUN THERE"),
        plain("begun_here", "BEGUN HERE"),
        plain("resumed", "RESUMED"),
        plain("lost", "LOST"),
        plain("shed", "SHED"),
        plain("malformed", "MALFORMED"),
    ],
);

/// Instances of applications.
pub const INSTANCES: Listing = Listing::new(
    "no instance is connected",
    &[
        plain("function", "FUNCTION"),
        plain("application", "APPLICATION"),
        plain("name", "INSTANCE"),
        plain("group", "GROUP"),
        column("state", "STATE", Form::State),
        plain("dialogues", "DIALOGUES"),
        plain("waiting_octets", "WAITING"),
    ],
);

/// Nodes of a cluster.
pub const CLUSTER: Listing = Listing::new(
    "no signalling gateway here is a node of a cluster",
    &[
        plain("function", "FUNCTION"),
        plain("node", "NODE"),
        firm("address", "ADDRESS"),
        column("state", "STATE", Form::State),
        column("draining", "DRAINS", Form::Flag),
        plain("weight", "WEIGHT"),
        plain("serving", "SERVES"),
        plain("dialogues", "DIALOGUES"),
        column("differs", "DIFFERS", Form::Flag),
        plain("version", "VERSION"),
    ],
);

/// Partitions of a cluster.
pub const PARTITIONS: Listing = Listing::new(
    "no signalling gateway here is a node of a cluster",
    &[
        plain("function", "FUNCTION"),
        plain("partition", "PARTITION"),
        plain("active", "ACTIVE"),
        plain("standbys", "STANDBY"),
        plain("first", "FIRST"),
        plain("epoch", "EPOCH"),
        column("here", "HERE", Form::Flag),
        column("moving", "MOVES", Form::Flag),
        plain("lag", "LAG"),
        plain("dialogues", "DIALOGUES"),
        plain("kept", "KEPT"),
    ],
);

/// Links between the nodes of a cluster.
pub const CLUSTER_LINKS: Listing = Listing::new(
    "no signalling gateway here is a node of a cluster",
    &[
        plain("function", "FUNCTION"),
        plain("from", "NODE"),
        plain("to", "HEARS"),
        column("up", "UP", Form::Flag),
    ],
);

/// Of a node that is not heard it is not known whom it hears.
pub fn blank_unknown(rows: &mut [Value]) {
    for row in rows.iter_mut().filter(|row| row["known"] == false) {
        row["up"] = Value::from("unknown");
    }
}

/// `tandem ctl cluster drain` and `undrain`: what was done.
#[must_use]
pub fn drained(answer: &Value) -> String {
    let row = answer.get(0).unwrap_or(answer);
    let (node, serving) = (&row["node"], &row["serving"]);
    if row["draining"] != true {
        return format!("node {node} takes part again");
    }
    let mut said = format!("node {node} gives its {serving} partitions to the others");
    for name in row["alone"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        said += &format!("\n{name} has no instance at another node: what begins is refused");
    }
    said
}

const TARGETS: Listing = Listing::new(
    "",
    &[
        plain("point_code", "POINT CODE"),
        plain("subsystem", "SSN"),
        plain("routing", "ROUTING"),
        plain("weight", "WEIGHT"),
        column("state", "STATE", Form::State),
        column("chosen", "CHOSEN", Form::Flag),
    ],
);

const HITS: Listing = Listing::new(
    "",
    &[
        plain("name", "RULE"),
        plain("digits", "DIGITS"),
        column("holds", "HOLDS", Form::Flag),
        plain("why", "WHY"),
    ],
);

/// `tandem ctl gtt translate`: where a title goes, and by which rules.
#[must_use]
pub fn translated(look: &Look, answer: &Value) -> String {
    let word = |key: &str| crate::cell::raw(&answer[key]);
    let mut sheet = Sheet::new(look, &word("title"), &word("verdict"));
    sheet.line("Why", &word("cause"));
    sheet.line("Hint", &word("hint"));
    sheet.line("Rule", &word("rule"));
    sheet.line("Goes to", &word("to"));
    sheet.line("Subsystem", &word("subsystem"));
    sheet.line("Routed by", &word("routing"));
    sheet.line("Becomes", &word("becomes"));
    let rows = |key: &str| answer[key].as_array().cloned().unwrap_or_default();
    sheet.table("Targets", &rows("targets"), &TARGETS);
    sheet.table("Rules", &rows("rules"), &HITS);
    sheet.end()
}

/// `tandem ctl sccp block` and `unblock`: what a subsystem is now, and who was told.
#[must_use]
pub fn subsystem_set(answer: &Value) -> String {
    let row = &answer[0];
    let name = crate::cell::raw(&row["subsystem"]);
    let is_allowed = row["state"] == "allowed";
    let state = match (is_allowed, row["changed"] == true) {
        (true, true) => format!("{name} is in service"),
        (true, false) => format!("{name} is in service already"),
        (false, false) => format!("{name} is out of service already"),
        (false, true) => format!(
            "{name} is out of service until `sccp unblock` or a restart of the site \
             (`enabled = false` in the site file lasts)"
        ),
    };
    let list = |key: &str| {
        let all = row[key].as_array().map(Vec::as_slice).unwrap_or_default();
        all.iter().map(crate::cell::raw).collect::<Vec<_>>().join(", ")
    };
    let (told, not_told) = (list("told"), list("not_told"));
    let kind = if is_allowed { "SSA" } else { "SSP" };
    let whom = match (told.is_empty(), not_told.is_empty()) {
        _ if row["changed"] != true => String::new(),
        (true, true) => "; nobody is told: `sccp.concerned` is empty".to_owned(),
        (false, true) => format!("; {kind} went to {told}"),
        (true, false) => format!("; there is no way to {not_told}: it is told when there is one"),
        (false, false) => format!(
            "; {kind} went to {told}; there is no way to {not_told}: it is told when there is one"
        ),
    };
    format!("{state}{whom}")
}

const CANDIDATES: Listing = Listing::new(
    "",
    &[
        plain("peer", "ASP"),
        column("state", "STATE", Form::State),
        column("chosen", "CHOSEN", Form::Flag),
        plain("why", "WHY"),
    ],
);

/// `tandem ctl m3ua trace`: what becomes of an MSU, step by step.
#[must_use]
pub fn trace(look: &Look, answer: &Value) -> String {
    let word = |key: &str| crate::cell::raw(&answer[key]);
    let title =
        format!("{} → {}  SI {}  SLS {}", word("opc"), word("dpc"), word("si"), word("sls"));
    let mut sheet = Sheet::new(look, &title, &word("verdict"));
    sheet.line("From", &word("from"));
    sheet.line("Screening", &word("screening"));
    sheet.line("Route", &word("route"));
    sheet.line("Server", &word("server"));
    sheet.line("Mode", &word("mode"));
    sheet.line("Goes to", &word("to"));
    sheet.line("Why", &word("why"));
    sheet.line("Sender hears", &word("told"));
    let candidates = answer["asps"].as_array().map(Vec::as_slice).unwrap_or_default();
    sheet.table("ASPs", candidates, &CANDIDATES);
    sheet.end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;
    use serde_json::json;

    const LOOK: Look = Look { width: Some(100), colour: false, now_us: 1_000_000_000 };

    #[test]
    fn rules_their_hits_and_what_they_would_refuse_are_rows() {
        let row = json!({"name": "abroad", "rules": 24, "judged": 900, "hits": 7, "refused": 5,
            "unreadable": 1, "segments": 0, "places": 12, "not_kept": 0});
        let shown = table(&LOOK, &[row], &RULE_SETS);
        assert!(shown.contains("abroad") && shown.contains("900"), "{shown}");
        let row = json!({"set": "abroad", "rule": "cat1-imsi", "action": "discard", "hits": 5});
        let shown = table(&LOOK, &[row], &RULE_HITS);
        assert!(shown.contains("abroad") && shown.contains("cat1-imsi"), "{shown}");
        let row = json!({"at_us": 900_000_000, "peer": "stp", "by": "abroad/cat1-imsi",
            "action": "discard", "operation": "sendIMSI", "calling": "33609", "called": "49171"});
        let shown = table(&LOOK, &[row], &TRIED);
        assert!(shown.contains("abroad/cat1-imsi") && shown.contains("sendIMSI"), "{shown}");
    }

    #[test]
    fn peers_servers_and_routes_are_rows_that_fit() {
        let row = json!({"function": "sgc1", "name": "hlr-a", "role": "asp", "transport": "sctp",
            "address": "10.0.0.2 10.1.0.2", "association": "up", "since_us": 100_000_000,
            "why": null, "state": "active", "active_for": ["hlr"]});
        let wanted = "\
PEER   ROLE  OVER  ADDRESS            ASSOCIATION  ASP     ACTIVE FOR  SINCE\n\
                      hlr-a  asp   sctp  10.0.0.2 10.1.0.2  up           active  hlr         15m\n";
        assert_eq!(table(&LOOK, &[row], &ASPS), wanted);
        let row = json!({"name": "hlr", "routing_context": 7, "network": null,
            "point_codes": ["2-3-4"], "served_by": "peers", "state": "AS-ACTIVE",
            "mode": "loadshare", "waiting": 0, "asps": ["hlr-a active", "hlr-b down"]});
        let shown = table(&LOOK, &[row], &SERVERS);
        assert!(shown.contains("loadshare        0  hlr-a active hlr-b down"), "{shown}");
        let row = json!({"point_code": "all others", "network": null, "service_indicators": [],
            "originating": [], "to": "gateway 1 (stp)", "state": "available"});
        let wanted = "POINT CODE  TO               STATE\nall others  gateway 1 (stp)  available\n";
        assert_eq!(table(&LOOK, &[row], &ROUTES), wanted);
        assert_eq!(table(&LOOK, &[], &DESTINATIONS), format!("{}\n", DESTINATIONS.empty));
    }

    #[test]
    fn a_trace_says_where_an_msu_goes_and_why() {
        let answer = json!({"from": "stp", "opc": "1-1-1", "dpc": "2-3-4", "si": 3, "sls": 5,
            "verdict": "relayed", "screening": "passes", "route": "key of hlr", "server": "hlr",
            "mode": "loadshare", "to": "hlr-a", "why": "SLS 5 falls to the first of two",
            "told": null, "asps": [
                {"peer": "hlr-a", "state": "active", "chosen": true, "why": null},
                {"peer": "hlr-b", "state": "active", "chosen": false, "why": "another SLS"}]});
        let wanted = "1-1-1 → 2-3-4  SI 3  SLS 5  relayed\n  From            stp\n  \
            Screening       passes\n  Route           key of hlr\n  Server          hlr\n  \
            Mode            loadshare\n  Goes to         hlr-a\n  \
            Why             SLS 5 falls to the first of two\n  ASPs\n    \
            ASP    STATE   CHOSEN  WHY\n    hlr-a  active  yes\n    \
            hlr-b  active  no      another SLS\n";
        assert_eq!(trace(&LOOK, &answer), wanted);
    }

    #[test]
    fn applications_and_their_instances_are_rows() {
        let row = json!({"name": "hlr", "subsystem": 6, "state": "available",
            "instances": ["one", "two"], "dialogues": 2, "begun_there": 7, "begun_here": 1,
            "resumed": 1, "lost": 0, "shed": 0, "malformed": 0, "listens": ["unix:hlr.sock"]});
        let shown = table(&LOOK, &[row], &APPLICATIONS);
        assert!(shown.starts_with("NAME  SSN  STATE      INSTANCES  DIALOGUES"), "{shown}");
        assert!(shown.contains("hlr     6  available  one two"), "{shown}");
        let row = json!({"application": "hlr", "name": "one", "group": "blue", "state": "slow",
            "dialogues": 2, "waiting_octets": 70_000});
        let shown = table(&LOOK, &[row], &INSTANCES);
        assert!(shown.starts_with("APPLICATION  INSTANCE  GROUP  STATE"), "{shown}");
    }

    #[test]
    fn nodes_partitions_and_links_of_a_cluster_are_rows() {
        let row = json!({"node": 2, "address": "127.0.0.2:5990", "state": "silent",
            "draining": false, "weight": 1, "serving": 0, "dialogues": 0, "heard_us": null,
            "differs": false, "version": 1});
        let shown = table(&LOOK, &[row], &CLUSTER);
        assert!(shown.starts_with("NODE  ADDRESS         STATE   DRAINS  WEIGHT"), "{shown}");
        let row = json!({"partition": 7, "active": 1, "standbys": [2], "first": 2, "epoch": 3,
            "here": true, "moving": false, "lag": 0, "lag_octets": 0, "dialogues": 12, "kept": 0,
            "kept_octets": 0});
        let shown = table(&LOOK, &[row], &PARTITIONS);
        assert!(shown.starts_with("PARTITION  ACTIVE  STANDBY  FIRST  EPOCH"), "{shown}");
        let row = json!({"from": 1, "to": 2, "up": true, "known": true});
        let deaf = json!({"from": 2, "to": 1, "up": false, "known": false});
        let mut rows = [row, deaf];
        blank_unknown(&mut rows);
        let wanted = "NODE  HEARS  UP\n   1      2  yes\n   2      1  unknown\n";
        assert_eq!(table(&LOOK, &rows, &CLUSTER_LINKS), wanted);
        let said = |draining: bool, alone: &[&str]| {
            drained(&json!([{"node": 1, "draining": draining, "serving": 24, "alone": alone}]))
        };
        let gives = "node 1 gives its 24 partitions to the others";
        let refused = "hlr has no instance at another node: what begins is refused";
        assert_eq!(said(true, &[]), gives);
        assert_eq!(said(true, &["hlr"]), format!("{gives}\n{refused}"));
        assert_eq!(said(false, &[]), "node 1 takes part again");
    }

    #[test]
    fn subsystems_rules_and_dialogues_are_rows() {
        let row = json!({"name": "hlr", "number": 6, "point_codes": ["2-1-1", "2-1-2"],
            "user": "tcap", "state": "allowed"});
        let wanted = "\
            NAME  SSN  POINT CODES  USER  STATE\n\
            hlr     6  2-1-1 2-1-2  tcap  allowed\n";
        assert_eq!(table(&LOOK, &[row], &SUBSYSTEMS), wanted);
        let row = json!({"point_code": "2-1-3", "subsystem": 6, "state": "prohibited"});
        let wanted = "POINT CODE  SSN  STATE\n2-1-3         6  prohibited\n";
        assert_eq!(table(&LOOK, &[row], &REMOTES), wanted);
        let row = json!({"reference": 77, "point_code": "2-1-3", "other": 5, "class": 2,
            "state": "active", "subsystem": 254, "waiting_octets": 0, "silent_us": 1_234});
        let shown = table(&LOOK, &[row], &CONNECTIONS);
        assert!(shown.starts_with("REFERENCE  POINT CODE  THERE  CLASS  STATE   SSN"), "{shown}");
        let row = json!({"point_code": "2-1-3", "subsystem": 6, "state": "answers",
            "rtt_us": 1_234, "why": "SSA"});
        let wanted = "\
            POINT CODE  SSN  STATE    AFTER  WHY\n2-1-3         6  answers  1.2ms  SSA\n";
        assert_eq!(table(&LOOK, &[row], &PINGED), wanted);
        let row = json!({"name": "uk", "of": "called", "digits": "44", "title": "NP 1",
            "change": "", "choice": "backup", "to": ["2-1-3/6", "2-1-4/6"]});
        let wanted = "\
            RULE  OF      DIGITS  TITLE  CHOICE  TO\n\
            uk    called  44      NP 1   backup  2-1-3/6 2-1-4/6\n";
        assert_eq!(table(&LOOK, &[row], &RULES), wanted);
        let row = json!({"dialogues": 3, "dialogues_max": 100, "begun_there": 7, "begun_here": 0,
            "aborts_in": 0, "aborts_out": 1, "rejected": 0, "idle": 0, "shed": 0});
        let shown = table(&LOOK, &[row], &DIALOGUES);
        assert!(shown.starts_with("DIALOGUES   OF  BEGUN THERE"), "{shown}");
    }

    #[test]
    fn a_translation_says_where_a_title_goes_and_by_which_rules() {
        let answer = json!({"title": "447700 TT 0 NP 1 NAI 4", "verdict": "translated",
            "cause": null, "rule": "uk", "to": "2-1-3", "subsystem": 6, "routing": "subsystem",
            "becomes": "447700 TT 0 NP 1 NAI 4", "targets": [
                {"point_code": "2-1-3", "subsystem": 6, "routing": "subsystem", "weight": 1,
                    "state": "available", "chosen": true}],
            "rules": [{"name": "uk", "digits": "44", "holds": true,
                "why": "its digits are the longest"}]});
        let wanted = "447700 TT 0 NP 1 NAI 4  translated\n  Rule            uk\n  \
            Goes to         2-1-3\n  Subsystem       6\n  Routed by       subsystem\n  \
            Becomes         447700 TT 0 NP 1 NAI 4\n  Targets\n    \
            POINT CODE  SSN  ROUTING    WEIGHT  STATE      CHOSEN\n    \
            2-1-3         6  subsystem       1  available  yes\n  Rules\n    \
            RULE  DIGITS  HOLDS  WHY\n    uk    44      yes    its digits are the longest\n";
        assert_eq!(translated(&LOOK, &answer), wanted);
    }

    #[test]
    fn whoever_blocks_a_subsystem_reads_who_was_told() {
        let said = |state: &str, changed: bool, told: &[&str], not_told: &[&str]| {
            subsystem_set(&json!([{"subsystem": "hlr", "state": state, "changed": changed,
                "told": told, "not_told": not_told}]))
        };
        let lasts = "until `sccp unblock` or a restart of the site (`enabled = false` in the site \
                     file lasts)";
        let wanted = format!("hlr is out of service {lasts}; SSP went to 2-1-1, 2-1-2");
        assert_eq!(said("prohibited", true, &["2-1-1", "2-1-2"], &[]), wanted);
        let wanted = "hlr is in service; nobody is told: `sccp.concerned` is empty";
        assert_eq!(said("allowed", true, &[], &[]), wanted);
        let wanted = "hlr is in service; SSA went to 2-1-1; there is no way to 2-1-2: it is told \
                      when there is one";
        assert_eq!(said("allowed", true, &["2-1-1"], &["2-1-2"]), wanted);
        assert_eq!(said("allowed", false, &[], &[]), "hlr is in service already");
        assert_eq!(said("prohibited", false, &[], &[]), "hlr is out of service already");
    }

    #[test]
    fn keys_and_destinations_are_rows() {
        let row = json!({"peer": "hlr-a", "registered_by": "peers", "routing_context": 7,
            "network": null, "point_codes": ["2-3-4"], "server": "hlr"});
        let wanted = "\
            PEER   BY     CONTEXT  POINT CODES  SERVER\n\
            hlr-a  peers        7  2-3-4        hlr\n";
        assert_eq!(table(&LOOK, &[row], &KEYS), wanted);
        let row = json!({"point_code": "2-3-4", "network": null, "told_by": "gateway 1",
            "state": "restricted", "congestion": 1});
        let wanted = "\
            POINT CODE  TOLD BY    STATE       CONGESTION\n\
            2-3-4       gateway 1  restricted           1\n";
        assert_eq!(table(&LOOK, &[row], &DESTINATIONS), wanted);
    }
}
