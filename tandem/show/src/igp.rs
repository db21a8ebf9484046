//! What is said of routing within a domain.

use crate::cell::Form;
use crate::{Listing, column, firm, plain};

/// How OSPF and IS-IS stand.
pub const SUMMARY: Listing = Listing::new(
    "no router speaks OSPF or IS-IS",
    &[
        plain("function", "FUNCTION"),
        plain("protocol", "PROTOCOL"),
        column("state", "STATE", Form::State),
        firm("router_id", "ROUTER ID"),
        plain("areas", "AREAS"),
        plain("interfaces", "INTERFACES"),
        plain("neighbours", "NEIGHBOURS"),
        plain("adjacencies", "ADJACENT"),
        plain("lsas", "LSAS"),
        plain("routes", "ROUTES"),
        plain("bfd_sessions", "BFD"),
        plain("bfd_up", "BFD UP"),
    ],
);

/// Neighbours.
pub const NEIGHBOURS: Listing = Listing::new(
    "no router is heard",
    &[
        plain("function", "FUNCTION"),
        plain("protocol", "PROTOCOL"),
        plain("interface", "INTERFACE"),
        firm("address", "ADDRESS"),
        firm("router_id", "ROUTER ID"),
        plain("name", "NAME").yields(2),
        column("state", "STATE", Form::State),
        plain("role", "ROLE"),
        firm("area", "AREA").yields(1),
        column("state_s", "SINCE", Form::Seconds),
        column("dead_s", "DEAD IN", Form::Seconds),
        plain("bfd", "BFD").yields(2),
        plain("why", "WHY"),
    ],
);

/// Interfaces.
pub const INTERFACES: Listing = Listing::new(
    "neither OSPF nor IS-IS has an interface",
    &[
        plain("function", "FUNCTION"),
        plain("protocol", "PROTOCOL"),
        plain("interface", "INTERFACE"),
        firm("area", "AREA"),
        firm("address", "ADDRESS"),
        column("state", "STATE", Form::State),
        plain("cost", "COST"),
        firm("designated", "DR").yields(1),
        firm("backup", "BACKUP").yields(2),
        plain("neighbours", "NEIGHBOURS"),
        plain("adjacencies", "ADJACENT"),
    ],
);

/// The database.
pub const DATABASE: Listing = Listing::new(
    "there is no such LSA or LSP",
    &[
        plain("function", "FUNCTION"),
        plain("protocol", "PROTOCOL"),
        firm("area", "AREA"),
        plain("kind", "KIND"),
        firm("id", "ID"),
        firm("router_id", "ROUTER ID"),
        column("age_s", "AGE", Form::Seconds),
        column("lives_s", "LIVES", Form::Seconds),
        plain("sequence", "SEQUENCE").yields(1),
        plain("says", "SAYS"),
    ],
);

/// Routes.
pub const ROUTES: Listing = Listing::new(
    "neither OSPF nor IS-IS has a route",
    &[
        plain("function", "FUNCTION"),
        plain("protocol", "PROTOCOL"),
        firm("prefix", "PREFIX"),
        plain("kind", "KIND"),
        firm("area", "AREA"),
        plain("distance", "DISTANCE").yields(1),
        plain("cost", "COST"),
        plain("metric", "METRIC"),
        plain("held_by", "HELD BY"),
        plain("via", "VIA"),
        column("repair", "REPAIR", Form::Repair).yields(2),
    ],
);

/// Topologies.
pub const TOPOLOGY: Listing = Listing::new(
    "there is neither an area nor a level",
    &[
        plain("function", "FUNCTION"),
        plain("protocol", "PROTOCOL"),
        firm("area", "AREA"),
        plain("repair", "REPAIR"),
        column("nodes", "NODES", Form::Number),
        plain("more", "NOT SHOWN"),
        column("links", "LINKS", Form::Number),
    ],
);

/// What changed of them.
pub const CHANGES: Listing = Listing::new(
    "no run of SPF saw a link change",
    &[
        plain("function", "FUNCTION"),
        plain("protocol", "PROTOCOL"),
        firm("area", "AREA"),
        plain("run", "RUN"),
        column("ago_ms", "AGO", Form::Milliseconds),
        column("links", "LINKS", Form::Links),
    ],
);

/// Paths between two routers.
pub const PATHS: Listing = Listing::new(
    "there is no such path",
    &[
        plain("function", "FUNCTION"),
        plain("protocol", "PROTOCOL"),
        firm("area", "AREA"),
        plain("cost", "COST"),
        column("path", "PATH", Form::Links),
        plain("repaired_by", "REPAIRED BY"),
        plain("tunnel", "TUNNEL TO"),
        column("repair", "REPAIR", Form::Links),
    ],
);

/// Runs of SPF.
pub const SPF: Listing = Listing::new(
    "there is neither an area nor a level",
    &[
        plain("function", "FUNCTION"),
        plain("protocol", "PROTOCOL"),
        firm("area", "AREA"),
        plain("kind", "KIND"),
        plain("lsas", "LSAS"),
        plain("full_runs", "FULL"),
        plain("updates", "UPDATES"),
        column("last_run_s", "LAST", Form::Seconds),
        plain("last_routes_changed", "CHANGED"),
        column("next_run_ms", "NEXT IN", Form::Milliseconds),
    ],
);

/// Sessions of BFD.
pub const BFD: Listing = Listing::new(
    "no neighbour is watched by BFD",
    &[
        plain("function", "FUNCTION"),
        plain("interface", "INTERFACE"),
        firm("address", "ADDRESS"),
        column("state", "STATE", Form::State),
        plain("remote_state", "THERE"),
        column("interval_us", "INTERVAL", Form::Microseconds),
        column("detection_us", "DETECTION", Form::Microseconds),
        plain("downs", "DOWNS"),
        column("down_s", "LAST", Form::Seconds),
        plain("diagnostic", "WHY"),
        plain("received", "RECEIVED").yields(1),
        plain("sent", "SENT").yields(1),
        plain("authentication", "KEYS").yields(2),
        plain("by", "BY").yields(2),
    ],
);

/// How LDP stands.
pub const LDP: Listing = Listing::new(
    "no router speaks LDP",
    &[
        plain("function", "FUNCTION"),
        firm("router_id", "ROUTER ID"),
        firm("transport", "TRANSPORT"),
        plain("interfaces", "INTERFACES"),
        plain("neighbours", "NEIGHBOURS"),
        plain("sessions", "SESSIONS"),
        plain("bindings", "BINDINGS"),
        plain("labelled", "LABELLED"),
    ],
);

/// Neighbours of LDP.
pub const LDP_NEIGHBOURS: Listing = Listing::new(
    "no router is heard by LDP",
    &[
        plain("function", "FUNCTION"),
        firm("peer", "PEER"),
        firm("transport", "TRANSPORT"),
        plain("interfaces", "INTERFACES"),
        column("state", "STATE", Form::State),
        column("state_s", "SINCE", Form::Seconds),
        plain("bindings", "BINDINGS"),
        plain("waiting", "WAITING").yields(1),
    ],
);

/// Prefixes and their labels.
pub const LDP_BINDINGS: Listing = Listing::new(
    "no prefix has a label",
    &[
        plain("function", "FUNCTION"),
        firm("prefix", "PREFIX"),
        plain("local", "LOCAL"),
        plain("remote", "REMOTE"),
    ],
);

/// Who gives labels.
pub const LABEL_SPACE: Listing = Listing::new(
    "nobody gives labels",
    &[
        plain("function", "FUNCTION"),
        plain("giver", "GIVER"),
        firm("first", "FIRST"),
        firm("last", "LAST"),
        plain("given", "GIVEN"),
        plain("key", "KEY").yields(1),
    ],
);

/// Labels that were given.
pub const LABELS: Listing = Listing::new(
    "no label was given",
    &[
        plain("function", "FUNCTION"),
        firm("label", "LABEL"),
        plain("giver", "GIVER"),
        plain("of", "OF"),
    ],
);

/// Requests along a path of labels.
pub const LSP: Listing = Listing::new(
    "nothing was sent",
    &[
        plain("function", "FUNCTION"),
        plain("number", "NUMBER"),
        plain("hops", "HOPS"),
        firm("from", "FROM"),
        plain("said", "SAID"),
        plain("micros", "MICROSECONDS"),
    ],
);
