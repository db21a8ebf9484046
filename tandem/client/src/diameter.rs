//! `tandem ctl diameter`: of every function that speaks it.

use crate::api::{Client, only};
use crate::asked::{Of, asked};
use crate::complete::{functions, peers};
use crate::exit::Exit;
use crate::output::{self, Output};
use clap::{Args, Subcommand};
use local::{query, segment};
use serde_json::json;
use show::site::{DIAMETER_CONNECTIONS, DIAMETER_PEERS, DIAMETER_TRACE};

/// What `tandem ctl diameter` shows and does.
#[derive(Debug, Subcommand)]
pub enum DiameterCommand {
    /// Peers: state, since when, watchdog, and why one is not open.
    Peers(Of),
    /// Connections, also those that have not said who they are.
    Connections(Of),
    /// The last messages by their headers, the newest last.
    Trace {
        /// Which of the functions.
        #[command(flatten)]
        of: Of,
        /// Only those of this peer.
        #[arg(long, add = peers())]
        peer: Option<String>,
        /// The last so many.
        #[arg(long)]
        limit: Option<u32>,
    },
    /// Connect to a peer now.
    Connect(ToPeer),
    /// Disconnect a peer, until it is connected to again.
    Disconnect(ToPeer),
}

/// A peer of Diameter.
#[derive(Debug, Args)]
pub struct ToPeer {
    /// Name of the function; absent: the only one that speaks Diameter.
    #[arg(long, add = functions())]
    pub function: Option<String>,
    /// Name of the peer.
    #[arg(add = peers())]
    pub peer: String,
}

/// Diameter.
pub fn diameter(
    client: &Client,
    form: Output,
    command: Option<DiameterCommand>,
) -> Result<(), Exit> {
    match command.unwrap_or(DiameterCommand::Peers(Of { function: None })) {
        DiameterCommand::Peers(of) => {
            asked(client, form, of.function, "diameter/peers", &DIAMETER_PEERS)
        }
        DiameterCommand::Connections(of) => {
            asked(client, form, of.function, "diameter/connections", &DIAMETER_CONNECTIONS)
        }
        DiameterCommand::Trace { of, peer, limit } => {
            let limit = limit.map(|it| it.to_string());
            let about = format!("diameter/trace{}", query(&[("peer", peer), ("limit", limit)]));
            asked(client, form, of.function, &about, &DIAMETER_TRACE)
        }
        DiameterCommand::Connect(to) => act(client, form, to, "connect"),
        DiameterCommand::Disconnect(to) => act(client, form, to, "disconnect"),
    }
}

fn act(client: &Client, form: Output, to: ToPeer, action: &str) -> Result<(), Exit> {
    let about = format!("diameter/{action}");
    let function = only(&client.able(&about, to.function)?)?;
    let path = format!("/api/v1/functions/{}/{about}", segment(&function));
    let answer = client.post(&path, &json!({ "peer": to.peer }))?;
    let what = match action {
        "connect" => format!("{} is connected to", to.peer),
        _ => format!("{} is disconnected", to.peer),
    };
    output::acted(form, &answer, &what)
}
