//! `tandem ctl sctp` and `tandem ctl m3ua`.

use super::client::{Client, segment};
use super::show::asked;
use crate::cli::{M3uaCommand, Of, OfPeer, OfServer, Output, SctpCommand};
use crate::exit::Exit;
use crate::output::{self, Column, plain, time};
use serde_json::{Value, json};

const ASSOCIATIONS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("name", "PEER"),
    plain("association", "ID"),
    plain("state", "STATE"),
    plain("peer", "ADDRESS"),
    plain("peer_port", "PORT"),
    plain("paths_active", "ACTIVE"),
    plain("paths", "PATHS"),
    plain("streams_out", "OUT"),
    plain("streams_in", "IN"),
    plain("peer_rwnd", "RWND"),
    plain("queued_bytes", "QUEUED"),
    plain("unacknowledged_bytes", "UNACKED"),
    plain("errors", "ERRORS"),
];

const PATHS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("name", "PEER"),
    plain("association", "ID"),
    plain("address", "ADDRESS"),
    plain("state", "STATE"),
    plain("primary", "PRIMARY"),
    plain("srtt_ms", "SRTT MS"),
    plain("rto_ms", "RTO MS"),
    plain("cwnd", "CWND"),
    plain("flight", "FLIGHT"),
    plain("errors", "ERRORS"),
    plain("pmtu", "PMTU"),
];

const ASPS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("name", "PEER"),
    plain("role", "ROLE"),
    plain("transport", "OVER"),
    plain("address", "ADDRESS"),
    plain("association", "ASSOCIATION"),
    plain("state", "ASP"),
    plain("active_for", "ACTIVE FOR"),
    time("since_us", "SINCE"),
    plain("why", "WHY"),
];

const SERVERS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("name", "NAME"),
    plain("routing_context", "CONTEXT"),
    plain("point_codes", "POINT CODES"),
    plain("served_by", "SERVED BY"),
    plain("state", "STATE"),
    plain("mode", "MODE"),
    plain("waiting", "WAITING"),
    plain("asps", "ASPS"),
];

const ROUTES: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("point_code", "POINT CODE"),
    plain("network", "NETWORK"),
    plain("service_indicators", "SI"),
    plain("originating", "FROM"),
    plain("to", "TO"),
    plain("state", "STATE"),
];

const KEYS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("peer", "PEER"),
    plain("registered_by", "BY"),
    plain("routing_context", "CONTEXT"),
    plain("network", "NETWORK"),
    plain("point_codes", "POINT CODES"),
    plain("server", "SERVER"),
];

const DESTINATIONS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("point_code", "POINT CODE"),
    plain("network", "NETWORK"),
    plain("told_by", "TOLD BY"),
    plain("state", "STATE"),
    plain("congestion", "CONGESTION"),
];

/// SCTP.
pub fn sctp(client: &Client, form: Output, command: Option<SctpCommand>) -> Result<(), Exit> {
    match command.unwrap_or(SctpCommand::Associations(Of { function: None })) {
        SctpCommand::Associations(of) => {
            asked(client, form, of.function, "sctp/associations", ASSOCIATIONS)
        }
        SctpCommand::Paths(of) => asked(client, form, of.function, "sctp/paths", PATHS),
    }
}

/// M3UA.
pub fn m3ua(client: &Client, form: Output, command: Option<M3uaCommand>) -> Result<(), Exit> {
    match command.unwrap_or(M3uaCommand::Asps(Of { function: None })) {
        M3uaCommand::Asps(of) => asked(client, form, of.function, "m3ua/asps", ASPS),
        M3uaCommand::Servers(of) => asked(client, form, of.function, "m3ua/servers", SERVERS),
        M3uaCommand::Routes(of) => asked(client, form, of.function, "m3ua/routes", ROUTES),
        M3uaCommand::Keys(of) => asked(client, form, of.function, "m3ua/keys", KEYS),
        M3uaCommand::Destinations(of) => {
            asked(client, form, of.function, "m3ua/destinations", DESTINATIONS)
        }
        M3uaCommand::Audit { peer, point_code } => {
            act(client, &peer, "audit", &json!({ "point_code": point_code }))
        }
        M3uaCommand::Block(peer) => act(client, &peer, "block", &json!({})),
        M3uaCommand::Unblock(peer) => act(client, &peer, "unblock", &json!({})),
        M3uaCommand::Activate(OfServer { peer, server }) => {
            act(client, &peer, "activate", &json!({ "server": server }))
        }
        M3uaCommand::Deactivate(OfServer { peer, server }) => {
            act(client, &peer, "deactivate", &json!({ "server": server }))
        }
    }
}

fn act(client: &Client, of: &OfPeer, action: &str, order: &Value) -> Result<(), Exit> {
    let path = format!("/api/v1/functions/{}/m3ua/{action}", segment(&of.function));
    let mut order = order.clone();
    order["peer"] = Value::from(of.peer.clone());
    output::text(&output::json(&client.post(&path, &order)?))
}
