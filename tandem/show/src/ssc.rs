//! What is said of signalling session controllers.

use crate::cell::Form;
use crate::{Listing, column, firm, plain, since};
use serde_json::Value;

/// Running calls.
pub const CALLS: Listing = Listing::new(
    "no call runs",
    &[
        plain("function", "FUNCTION"),
        firm("id", "ID"),
        firm("trail", "TRAIL"),
        column("state", "STATE", Form::State),
        plain("from", "FROM"),
        plain("to", "TO"),
        plain("realm_in", "IN"),
        plain("realm_out", "OUT"),
        since("started_at_us", "BEGAN AGO"),
        since("answered_at_us", "TALKING FOR"),
    ],
);

/// Registered contacts.
pub const REGISTRATIONS: Listing = Listing::new(
    "no contact is registered",
    &[
        plain("function", "FUNCTION"),
        plain("aor", "ADDRESS OF RECORD"),
        plain("contact", "CONTACT"),
        plain("realm", "REALM"),
        plain("source", "SOURCE"),
        plain("transport", "TRANSPORT"),
        column("agreement", "AGREEMENT", Form::Flag),
        column("expires_at_us", "EXPIRES", Form::Until),
        column("core_expires_at_us", "CORE EXPIRES", Form::Until),
    ],
);

/// Next hops.
pub const NEXT_HOPS: Listing = Listing::new(
    "no next hop is configured",
    &[
        plain("function", "FUNCTION"),
        plain("name", "NAME"),
        plain("realm", "REALM"),
        plain("target", "TARGET"),
        column("state", "STATE", Form::State),
        plain("unwanted_percent", "UNWANTED %"),
    ],
);

/// Realms.
pub const REALMS: Listing = Listing::new(
    "no realm is configured",
    &[
        plain("function", "FUNCTION"),
        plain("name", "NAME"),
        plain("side", "SIDE"),
        plain("listen", "LISTEN"),
        column("trusted", "TRUSTED", Form::Flag),
    ],
);

/// Security agreements with phones of IMS.
pub const IPSEC: Listing = Listing::new(
    "no phone has a security agreement",
    &[
        plain("function", "FUNCTION"),
        plain("impi", "PRIVATE IDENTITY"),
        column("state", "STATE", Form::State),
        plain("ue", "UE"),
        plain("outside", "BEHIND"),
        plain("algorithms", "ALGORITHMS"),
        plain("packets_in", "IN"),
        plain("packets_out", "OUT"),
        plain("replayed", "REPLAYED"),
        plain("forged", "FORGED"),
        column("expires_at_us", "EXPIRES", Form::Until),
    ],
);

/// The same of one private identity.
pub const IPSEC_OF: Listing = Listing {
    empty: "no phone of that private identity has a security agreement: \
            `ipsec` without it has all",
    ..IPSEC
};

/// Why registrations of IMS failed.
pub const EXPLAIN: Listing = Listing::new(
    "no registration of IMS has failed of late",
    &[
        plain("function", "FUNCTION"),
        plain("ago_s", "SECONDS AGO"),
        plain("impi", "PRIVATE IDENTITY"),
        plain("source", "SOURCE"),
        plain("why", "WHY"),
    ],
);

/// The same of one private identity.
pub const EXPLAIN_OF: Listing = Listing {
    empty: "no registration of that private identity has failed of late: \
            `ims explain` without it has all",
    ..EXPLAIN
};

/// Subscriptions of a P-CSCF to what becomes of registrations.
pub const REG_EVENTS: Listing = Listing::new(
    "no registration is watched at the core",
    &[
        plain("function", "FUNCTION"),
        plain("identity", "PUBLIC IDENTITY"),
        plain("realm", "REALM"),
        column("state", "STATE", Form::State),
        plain("core", "CORE"),
        plain("version", "VERSION"),
        plain("refused", "REFUSED"),
        column("expires_at_us", "EXPIRES", Form::Until),
    ],
);

/// The same of one public user identity.
pub const REG_EVENTS_OF: Listing = Listing {
    empty: "no registration of that public user identity is watched at the core: \
            `reg-events` without it has all",
    ..REG_EVENTS
};

/// Limits of calls.
pub const LIMITS: Listing = Listing::new(
    "no limit is configured",
    &[
        plain("function", "FUNCTION"),
        plain("kind", "KIND"),
        plain("name", "NAME"),
        plain("calls", "CALLS"),
        plain("calls_max", "MAX"),
        plain("calls_per_s", "PER S"),
        plain("refused", "REFUSED"),
    ],
);

/// Header manipulation rules, as [`rules`] makes rows of them.
pub const RULES: Listing = Listing::new(
    "no rule is configured",
    &[
        plain("function", "FUNCTION"),
        plain("number", "RULE"),
        plain("name", "NAME"),
        plain("realm", "REALM"),
        plain("direction", "DIRECTION"),
        plain("message", "MESSAGE"),
        plain("method", "METHOD"),
        plain("status", "STATUS"),
        plain("conditions", "CONDITIONS"),
        plain("actions", "ACTIONS"),
    ],
);

/// Makes a row of a rule as it is configured: its parts are counted.
pub fn rules(rows: &mut [Value]) {
    for row in rows {
        let mut rule = row["rule"].take();
        let count = |key: &str| rule[key].as_array().map_or(0, Vec::len);
        let (conditions, actions) = (count("when"), count("do"));
        for key in ["name", "realm", "direction", "message", "method", "status"] {
            row[key] = rule[key].take();
        }
        row["conditions"] = conditions.into();
        row["actions"] = actions.into();
    }
}

/// Sources that are not read.
pub const BLACKLIST: Listing = Listing::new(
    "no source is on the blacklist",
    &[
        plain("function", "FUNCTION"),
        plain("address", "ADDRESS"),
        plain("reason", "REASON"),
        plain("count", "COUNT"),
        plain("refused", "REFUSED"),
        since("since_us", "SINCE"),
        since("last_us", "LAST AGO"),
        column("until_us", "ENDS", Form::Until),
    ],
);

/// What the shields refuse.
pub const SHIELD: Listing = Listing::new(
    "no shield is configured",
    &[
        plain("function", "FUNCTION"),
        plain("shard", "SHARD"),
        plain("floods", "FLOODS"),
        plain("sources", "SOURCES"),
        plain("blacklisted", "BLACKLISTED"),
        plain("interfaces", "INTERFACES"),
        plain("passed_known", "KNOWN"),
        plain("passed_unknown", "UNKNOWN"),
        column("dropped", "DROPPED", Form::Counts),
        plain("why", "WHY NOT"),
    ],
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Look, table};
    use serde_json::json;

    const LOOK: Look = Look { width: Some(100), colour: false, now_us: 1_000_000_000 };

    #[test]
    fn calls_say_how_long_they_last_and_fit_a_terminal() {
        let row = json!({"function": "ssc1", "id": "0-0-0",
            "trail": "a81e09c14c7a52f1", "state": "established",
            "from": "sip:alice@access.example.net", "to": "sip:+4930123456@core.example.net",
            "realm_in": "access", "realm_out": "core", "started_at_us": 930_000_000,
            "answered_at_us": 939_000_000});
        // Titles of two words take two lines where room is wanted.
        let wanted = "ID TRAIL STATE FROM TO IN OUT BEGAN TALKING";
        let shown = table(&LOOK, &[row], &CALLS);
        assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let head = words(shown.lines().next().unwrap_or_default());
        assert_eq!(head[..9], words(wanted)[..]);
        assert!(shown.contains("1m 10s") && shown.contains("1m 1s"), "{shown}");
    }

    #[test]
    fn security_agreements_and_failed_registrations_are_rows() {
        let row = json!({"impi": "alice@ims.example", "realm": "access", "state": "current",
            "ue": "10.0.0.7:5063", "outside": null, "algorithms": "null/aes-gcm",
            "packets_in": 7, "packets_out": 8, "replayed": 0, "forged": 0,
            "expires_at_us": 1_060_000_000});
        let wanted = "\
            PRIVATE IDENTITY   STATE    UE             ALGORITHMS    IN  OUT  REPLAYED  FORGED  \
            EXPIRES\n\
            alice@ims.example  current  10.0.0.7:5063  null/aes-gcm   7    8         0       0  \
            in 1m\n";
        assert_eq!(table(&LOOK, &[row], &IPSEC), wanted);
        let row = json!({"ago_s": 5, "impi": "alice@ims.example", "source": "10.0.0.7:5060",
            "why": "no security agreement"});
        let wanted = "\
            SECONDS AGO  PRIVATE IDENTITY   SOURCE         WHY\n\
            \x20         5  alice@ims.example  10.0.0.7:5060  no security agreement\n";
        assert_eq!(table(&LOOK, &[row], &EXPLAIN), wanted);
        let row = json!({"identity": "sip:alice@ims.example", "realm": "access",
            "state": "standing", "core": "10.1.0.2:5060", "version": 2, "refused": null,
            "failures": 0, "expires_at_us": 1_060_000_000, "due_at_us": 1_000_000_000});
        let wanted = "\
            PUBLIC IDENTITY        REALM   STATE     CORE           VERSION  EXPIRES\n\
            sip:alice@ims.example  access  standing  10.1.0.2:5060        2  in 1m\n";
        assert_eq!(table(&LOOK, &[row], &REG_EVENTS), wanted);
    }

    #[test]
    fn of_one_private_identity_an_empty_answer_says_that_others_may_be_there() {
        assert!(table(&LOOK, &[], &REG_EVENTS_OF).contains("of that public user identity"));
        let empty = [table(&LOOK, &[], &IPSEC_OF), table(&LOOK, &[], &EXPLAIN_OF)];
        assert!(empty.iter().all(|it| it.contains("of that private identity")), "{empty:?}");
        let row = json!({"impi": "a@x", "state": "current"});
        assert!(table(&LOOK, &[row], &IPSEC_OF).contains("a@x"));
    }

    #[test]
    fn hops_limits_and_the_blacklist_are_rows() {
        let hop = json!({"function": "ssc1", "name": "far", "realm": "core",
            "target": "udp:10.0.0.9:5060", "state": "out-of-service", "unwanted_percent": 0});
        let wanted = "NAME  REALM  TARGET             STATE           UNWANTED %\n\
                      far   core   udp:10.0.0.9:5060  out-of-service           0\n";
        assert_eq!(table(&LOOK, &[hop], &NEXT_HOPS), wanted);
        let row = json!({"function": "ssc1", "address": "192.0.2.66", "reason": "flood",
            "count": 7, "refused": 900, "since_us": 940_000_000, "last_us": 999_000_000,
            "until_us": 1_540_000_000});
        let wanted = "ADDRESS     REASON  COUNT  REFUSED  SINCE  LAST AGO  ENDS\n\
                      192.0.2.66  flood       7      900  1m     1s        in 9m\n";
        assert_eq!(table(&LOOK, &[row], &BLACKLIST), wanted);
        let row = json!({"function": "ssc1", "kind": "realm", "name": "access", "calls": 4,
            "calls_max": 100, "calls_per_s": null, "refused": 0});
        let wanted = "KIND   NAME    CALLS  MAX  REFUSED\nrealm  access      4  100        0\n";
        assert_eq!(table(&LOOK, &[row], &LIMITS), wanted);
        let row = json!({"aor": "sip:bob@example.net", "contact": "sip:bob@192.0.2.7:5070",
            "realm": "access", "source": "192.0.2.7:5070", "transport": "udp",
            "expires_at_us": 1_060_000_000, "core_expires_at_us": null});
        assert!(table(&LOOK, &[row], &REGISTRATIONS).contains("udp        in 1m"));
    }

    #[test]
    fn an_empty_answer_says_whether_nothing_is_there_or_nothing_is_configured() {
        for listing in [&CALLS, &REGISTRATIONS, &BLACKLIST] {
            assert!(!listing.empty.contains("configured"), "{}", listing.empty);
        }
        for listing in [&NEXT_HOPS, &REALMS, &LIMITS, &RULES, &SHIELD] {
            assert!(listing.empty.ends_with("is configured"), "{}", listing.empty);
        }
    }

    #[test]
    fn realms_shields_and_rules_are_rows() {
        let row = json!({"name": "access", "side": "access", "trusted": false,
            "register_required": true, "listen": ["udp:192.0.2.1:5060", "tcp:192.0.2.1:5060"]});
        let wanted = "\
            NAME    SIDE    LISTEN                                 TRUSTED\n\
            access  access  udp:192.0.2.1:5060 tcp:192.0.2.1:5060  no\n";
        assert_eq!(table(&LOOK, &[row], &REALMS), wanted);
        let row = json!({"shard": 0, "flood": null, "floods": 1, "sources": 12,
            "table_bytes": 4_096, "blacklisted": 2});
        let wanted = "\
            SHARD  FLOODS  SOURCES  BLACKLISTED\n\
            \x20   0       1       12            2\n";
        assert_eq!(table(&LOOK, &[row], &SHIELD), wanted);
        let mut rules = [json!({"number": 0, "rule": {"name": "mark", "realm": "core",
            "direction": "out", "message": "request", "method": ["INVITE"], "status": null,
            "when": [{"uri": "x"}], "do": [{"add": "X-A", "value": "y"}]}})];
        super::rules(&mut rules);
        let wanted = "\
            RULE  NAME  REALM  DIRECTION  MESSAGE  METHOD  CONDITIONS  ACTIONS\n\
            \x20  0  mark  core   out        request  INVITE           1        1\n";
        assert_eq!(table(&LOOK, &rules, &RULES), wanted);
    }
}
