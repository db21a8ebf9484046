//! `tandem ctl m3ua`.

use crate::cli::{Of, OfPeer, Output};
use crate::ctl::{Client, Words, asked, segment};
use crate::exit::Exit;
use crate::output::{self, Column, plain, time};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

/// The words of signalling gateways.
#[derive(Debug, Subcommand)]
pub enum SgcWords {
    /// M3UA: ASPs, Application Servers, routes; without more, the ASPs.
    M3ua {
        /// What of it.
        #[command(subcommand)]
        command: Option<M3uaCommand>,
    },
}

impl Words for SgcWords {
    fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
        let Self::M3ua { command } = self;
        m3ua(client, form, command.unwrap_or(M3uaCommand::Asps(Of { function: None })))
    }
}

/// What `tandem ctl m3ua` shows and does.
#[derive(Debug, Subcommand)]
pub enum M3uaCommand {
    /// Peers: association, state, what they are active for.
    Asps(Of),
    /// Application Servers: state, traffic mode, ASPs.
    Servers(Of),
    /// Where traffic goes.
    Routes(Of),
    /// Registered Routing Keys.
    Keys(Of),
    /// Destinations that are unavailable, restricted or congested.
    Destinations(Of),
    /// Ask an SGP for the status of a destination (DAUD); `destinations` shows what it tells.
    Audit {
        /// Which peer.
        #[command(flatten)]
        peer: OfPeer,
        /// The point code, or `all`.
        point_code: String,
    },
    /// Lock a peer out: it is down until it is let in again.
    Block(OfPeer),
    /// Let a peer in again.
    Unblock(OfPeer),
    /// Ask a peer for the traffic of an Application Server (ASP Active).
    Activate(OfServer),
    /// Give the traffic of an Application Server back (ASP Inactive).
    Deactivate(OfServer),
}

/// An Application Server at a peer of a function.
#[derive(Debug, Args)]
pub struct OfServer {
    /// Which peer.
    #[command(flatten)]
    pub peer: OfPeer,
    /// Name of the Application Server.
    pub server: String,
}

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

fn m3ua(client: &Client, form: Output, command: M3uaCommand) -> Result<(), Exit> {
    match command {
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
