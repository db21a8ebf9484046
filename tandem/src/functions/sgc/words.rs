//! `tandem ctl m3ua`.

use crate::cli::{Of, OfPeer, Output};
use crate::complete::{functions, functions_and_peers, peers};
use crate::ctl::{Client, Words, asked, query, segment};
use crate::exit::Exit;
use crate::output;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use show::sgc as listings;

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
    /// What would become of an MSU, and why; nothing is sent.
    Trace(M3uaTrace),
    /// Ask an SGP for the status of a destination (DAUD); `destinations` shows what it tells.
    #[command(override_usage = "tandem ctl m3ua audit [OPTIONS] [FUNCTION] <PEER> <POINT_CODE>")]
    Audit {
        /// Name of the function; absent, so that the peer stands here: the only signalling gateway.
        #[arg(add = functions_and_peers())]
        function: String,
        /// Name of the peer.
        #[arg(add = peers())]
        peer: String,
        /// The point code, or `all`.
        point_code: Option<String>,
    },
    /// Lock a peer out: it is down until it is let in again.
    #[command(allow_missing_positional = true)]
    Block(OfPeer),
    /// Let a peer in again.
    #[command(allow_missing_positional = true)]
    Unblock(OfPeer),
    /// Ask a peer for the traffic of an Application Server (ASP Active).
    #[command(override_usage = "tandem ctl m3ua activate [OPTIONS] [FUNCTION] <PEER> <SERVER>")]
    Activate(OfServer),
    /// Give the traffic of an Application Server back (ASP Inactive).
    #[command(override_usage = "tandem ctl m3ua deactivate [OPTIONS] [FUNCTION] <PEER> <SERVER>")]
    Deactivate(OfServer),
}

/// An MSU that is not sent.
#[derive(Debug, Args)]
pub struct M3uaTrace {
    /// Name of the function; absent: the only signalling gateway.
    #[arg(add = functions())]
    pub function: Option<String>,
    /// Its destination, as the function writes point codes.
    #[arg(long)]
    pub dpc: String,
    /// Its origin; absent: any that the peer may have.
    #[arg(long)]
    pub opc: Option<String>,
    /// Service indicator: 3 is SCCP, 5 is ISUP.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..16))]
    pub si: u8,
    /// Signalling link selection.
    #[arg(long, default_value_t = 0)]
    pub sls: u8,
    /// Network indicator.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..4))]
    pub ni: u8,
    /// The peer that it comes from; absent: it is one of this node.
    #[arg(long, add = peers())]
    pub from: Option<String>,
}

/// An Application Server at a peer of a function.
#[derive(Debug, Args)]
pub struct OfServer {
    /// Name of the function; absent, so that the peer stands here: the only signalling gateway.
    #[arg(add = functions_and_peers())]
    pub function: String,
    /// Name of the peer.
    #[arg(add = peers())]
    pub peer: String,
    /// Name of the Application Server.
    pub server: Option<String>,
}

fn m3ua(client: &Client, form: Output, command: M3uaCommand) -> Result<(), Exit> {
    match command {
        M3uaCommand::Asps(of) => asked(client, form, of.function, "m3ua/asps", &listings::ASPS),
        M3uaCommand::Servers(of) => {
            asked(client, form, of.function, "m3ua/servers", &listings::SERVERS)
        }
        M3uaCommand::Routes(of) => {
            asked(client, form, of.function, "m3ua/routes", &listings::ROUTES)
        }
        M3uaCommand::Keys(of) => asked(client, form, of.function, "m3ua/keys", &listings::KEYS),
        M3uaCommand::Destinations(of) => {
            asked(client, form, of.function, "m3ua/destinations", &listings::DESTINATIONS)
        }
        M3uaCommand::Trace(msu) => trace(client, form, &msu),
        M3uaCommand::Audit { function, peer, point_code } => {
            let (peer, point_code) = shifted(function, peer, point_code);
            let what = format!(
                "{} was asked for the status of {point_code}: `m3ua destinations` shows what it \
                 tells",
                peer.peer
            );
            act(client, form, peer, ("audit", &json!({ "point_code": point_code })), &what)
        }
        M3uaCommand::Block(peer) => {
            let what = format!("{} is kept out until `m3ua unblock {}`", peer.peer, peer.peer);
            act(client, form, peer, ("block", &json!({})), &what)
        }
        M3uaCommand::Unblock(peer) => {
            let what = format!("{} is let in again", peer.peer);
            act(client, form, peer, ("unblock", &json!({})), &what)
        }
        M3uaCommand::Activate(OfServer { function, peer, server }) => {
            let (peer, server) = shifted(function, peer, server);
            let what = format!("{} was asked for the traffic of {server}", peer.peer);
            act(client, form, peer, ("activate", &json!({ "server": server })), &what)
        }
        M3uaCommand::Deactivate(OfServer { function, peer, server }) => {
            let (peer, server) = shifted(function, peer, server);
            let what = format!("{} was told to keep the traffic of {server}", peer.peer);
            act(client, form, peer, ("deactivate", &json!({ "server": server })), &what)
        }
    }
}

fn trace(client: &Client, form: Output, msu: &M3uaTrace) -> Result<(), Exit> {
    let query = query(&[
        ("dpc", Some(msu.dpc.clone())),
        ("opc", msu.opc.clone()),
        ("si", Some(msu.si.to_string())),
        ("sls", Some(msu.sls.to_string())),
        ("ni", Some(msu.ni.to_string())),
        ("from", msu.from.clone()),
    ]);
    let function = client.function("sgc", msu.function.clone())?;
    let path = format!("/api/v1/functions/{}/m3ua/trace{query}", segment(&function));
    output::sheet(form, &client.get(&path)?, listings::trace)
}

/// The peer and what follows it: of two words none is the function.
fn shifted(function: String, peer: String, last: Option<String>) -> (OfPeer, String) {
    match last {
        Some(last) => (OfPeer { function: Some(function), peer }, last),
        None => (OfPeer { function: None, peer: function }, peer),
    }
}

/// Tells the function something, and says what that was.
fn act(
    client: &Client,
    form: Output,
    of: OfPeer,
    (action, order): (&str, &Value),
    what: &str,
) -> Result<(), Exit> {
    let function = client.function("sgc", of.function)?;
    let path = format!("/api/v1/functions/{}/m3ua/{action}", segment(&function));
    let mut order = order.clone();
    order["peer"] = Value::from(of.peer);
    output::acted(form, &client.post(&path, &order)?, what)
}
