//! The words of `tandem ctl plane` and `tandem forwarder`.

use super::Of;
use clap::{Args, Subcommand};
use std::path::PathBuf;

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

/// How a forwarder runs. `tandem run` starts it for each router.
#[derive(Debug, Args)]
pub struct Forwarder {
    /// The socket where its control finds it.
    #[arg(long)]
    pub socket: PathBuf,
    /// Threads that forward.
    #[arg(long, default_value_t = 1)]
    pub workers: u16,
    /// A core for them; give several for several threads.
    #[arg(long)]
    pub core: Vec<usize>,
    /// Packets that each of them holds.
    #[arg(long, default_value_t = 16_384)]
    pub packets: usize,
    /// Octets of the longest frame.
    #[arg(long, default_value_t = 1_850)]
    pub frame_octets: u16,
    /// The TUN device for the router's own addresses.
    #[arg(long)]
    pub host: Option<String>,
    /// A file of keys: only who has one of them controls it.
    #[arg(long)]
    pub key_file: Option<String>,
    /// The number of another user, beside its own and root, who may open the socket; give several
    /// for several.
    #[arg(long)]
    pub allow_user: Vec<u32>,
}
