//! `tandem ctl plane`.

use crate::cli::{Of, Output};
use crate::ctl::{Client, Words, asked, query, segment};
use crate::exit::Exit;
use crate::output::{self, Column, plain};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

/// The words of provider edge routers.
#[derive(Debug, Subcommand)]
pub enum PeWords {
    /// The packet plane of routers: graph, ports, traces; without more, a summary.
    Plane {
        /// What of it.
        #[command(subcommand)]
        command: Option<PlaneCommand>,
    },
}

impl Words for PeWords {
    fn run(self, client: &Client, form: Output) -> Result<(), Exit> {
        let Self::Plane { command } = self;
        plane(client, form, command.unwrap_or(PlaneCommand::Summary(Of { function: None })))
    }
}

/// What `tandem ctl plane` shows and does.
#[derive(Debug, Subcommand)]
pub enum PlaneCommand {
    /// How the router stands.
    Summary(Of),
    /// Nodes of the graph: packets, clocks a packet, every drop with its reason.
    Graph(Of),
    /// Ports: driver, link, packets and drops.
    Ports(Of),
    /// Interfaces: packets and octets.
    Interfaces(Of),
    /// Neighbours: ARP and ND.
    Neighbours(Of),
    /// Neighbours by interface: how many, and why others are not there.
    Resolution(Of),
    /// Workers: how they stand, panics, cells of packets.
    Workers(Of),
    /// What the forwarder refused.
    Refusals(Of),
    /// What happened to MAC addresses of bridge domains: moves, freezes, limits.
    Events(Of),
    /// Trace packets from now on.
    Trace(PlaneTrace),
    /// The traced packets, node by node.
    Traced(Of),
    /// Another question to the forwarder; parameters are written `name=value`.
    Ask {
        /// Name of the function.
        function: String,
        /// What is asked.
        path: String,
        /// How.
        params: Vec<String>,
    },
}

/// Which packets to trace.
#[derive(Debug, Args)]
pub struct PlaneTrace {
    /// Name of the function.
    pub function: String,
    /// So many at each worker, at most 256.
    #[arg(long, default_value_t = 10)]
    pub packets: u32,
    /// Only from this port.
    #[arg(long)]
    pub port: Option<String>,
    /// Only those with these octets in their first 128: `0a000001`.
    #[arg(long)]
    pub containing: Option<String>,
}

const SUMMARY: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("forwarder", "FORWARDER"),
    plain("ports", "PORTS"),
    plain("ports_up", "UP"),
    plain("interfaces", "INTERFACES"),
    plain("vrfs", "VRFS"),
    plain("cross_connects", "CROSS-CONNECTS"),
    plain("bridges", "BRIDGES"),
    plain("routes", "ROUTES"),
    plain("refusals", "REFUSALS"),
];

const GRAPH: &[Column] = &[
    plain("node", "NODE"),
    plain("packets", "PACKETS"),
    plain("packets_a_vector", "A VECTOR"),
    plain("clocks_a_packet", "CLOCKS"),
    plain("dropped", "DROPPED"),
    plain("next", "NEXT"),
];

const PORTS: &[Column] = &[
    plain("port", "PORT"),
    plain("up", "UP"),
    plain("mac", "MAC"),
    plain("mtu", "MTU"),
    plain("received", "RECEIVED"),
    plain("sent", "SENT"),
    plain("not_received_queue-full", "MISSED"),
    plain("not_sent_queue-full", "NOT SENT"),
];

const INTERFACES: &[Column] = &[
    plain("interface", "INTERFACE"),
    plain("received", "RECEIVED"),
    plain("received_octets", "OCTETS"),
    plain("sent", "SENT"),
    plain("sent_octets", "OCTETS"),
];

const NEIGHBOURS: &[Column] = &[
    plain("interface", "INTERFACE"),
    plain("address", "ADDRESS"),
    plain("mac", "MAC"),
    plain("state", "STATE"),
];

const RESOLUTION: &[Column] = &[
    plain("interface", "INTERFACE"),
    plain("neighbours", "NEIGHBOURS"),
    plain("asked", "ASKED"),
    plain("heard", "HEARD"),
    plain("not_done", "NOT DONE"),
];

const WORKERS: &[Column] = &[
    plain("worker", "WORKER"),
    plain("state", "STATE"),
    plain("panics", "PANICS"),
    plain("cells", "CELLS"),
    plain("free_cells", "FREE"),
    plain("unwanted_punts", "UNWANTED"),
];

const REFUSALS: &[Column] =
    &[plain("function", "FUNCTION"), plain("what", "WHAT"), plain("why", "WHY")];

const EVENTS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("seconds_ago", "SECONDS AGO"),
    plain("bridge", "BRIDGE"),
    plain("mac", "MAC"),
    plain("event", "EVENT"),
    plain("from", "FROM"),
    plain("at", "AT"),
];

const TRACED: &[Column] =
    &[plain("packet", "PACKET"), plain("node", "NODE"), plain("note", "NOTE")];

fn plane(client: &Client, form: Output, command: PlaneCommand) -> Result<(), Exit> {
    let (of, about, columns) = match command {
        PlaneCommand::Summary(of) => (of, "pe/summary", SUMMARY),
        PlaneCommand::Graph(of) => (of, "plane/graph", GRAPH),
        PlaneCommand::Ports(of) => (of, "plane/ports", PORTS),
        PlaneCommand::Interfaces(of) => (of, "plane/interfaces", INTERFACES),
        PlaneCommand::Neighbours(of) => (of, "plane/neighbours", NEIGHBOURS),
        PlaneCommand::Resolution(of) => (of, "plane/resolution", RESOLUTION),
        PlaneCommand::Workers(of) => (of, "plane/workers", WORKERS),
        PlaneCommand::Refusals(of) => (of, "pe/refusals", REFUSALS),
        PlaneCommand::Events(of) => (of, "pe/events", EVENTS),
        PlaneCommand::Traced(of) => (of, "plane/traced", TRACED),
        PlaneCommand::Trace(wanted) => return trace(client, &wanted),
        PlaneCommand::Ask { function, path, params } => {
            let params: Vec<(&str, Option<String>)> = params
                .iter()
                .filter_map(|text| text.split_once('='))
                .map(|(name, value)| (name, Some(value.to_owned())))
                .collect();
            let name = segment(&function);
            let path = format!("/api/v1/functions/{name}/plane/{path}{}", query(&params));
            return output::text(&output::json(&client.get(&path)?));
        }
    };
    asked(client, form, of.function, about, columns)
}

fn trace(client: &Client, wanted: &PlaneTrace) -> Result<(), Exit> {
    let path = format!("/api/v1/functions/{}/plane/trace", segment(&wanted.function));
    let mut how = json!({ "packets": wanted.packets.to_string() });
    for (name, value) in [("port", &wanted.port), ("containing", &wanted.containing)] {
        if let Some(value) = value {
            how[name] = Value::from(value.clone());
        }
    }
    output::text(&output::json(&client.post(&path, &how)?))
}
