//! The words of `tandem ctl bgp`.

use super::{Of, OfPeer};
use clap::{Args, Subcommand};

/// What `tandem ctl bgp` shows and does.
#[derive(Debug, Subcommand)]
pub enum BgpCommand {
    /// Peers: state, routes, messages, the last error.
    Summary(Of),
    /// Everything about a peer: capabilities, timers, counters, connections.
    Peer(OfPeer),
    /// Routes with their best path, page by page.
    Routes(BgpRoutes),
    /// All paths of the route that covers a prefix, and why the best one is it.
    Route {
        /// Name of the function.
        function: String,
        /// A prefix or an address; in other families a text that the route is shown with.
        prefix: String,
        /// The family; absent: ipv4-unicast or ipv6-unicast.
        #[arg(long)]
        family: Option<String>,
    },
    /// Update groups: members, position, what waits.
    Groups(Of),
    /// Families: routes and paths.
    Families(Of),
    /// Caches of validated prefixes (RPKI): state, serial number, records.
    Rpki(Of),
    /// Write the tables to a file (MRT, TABLE_DUMP_V2).
    Dump {
        /// Name of the function.
        function: String,
        /// The file; there must be none.
        file: std::path::PathBuf,
    },
    /// Monitoring stations (BMP): state, what waits.
    Bmp(Of),
    /// Ask the caches of validated prefixes now.
    RpkiRefresh {
        /// Name of the function.
        function: String,
    },
    /// The validated prefixes that cover a prefix.
    Origin {
        /// Name of the function.
        function: String,
        /// A prefix or an address.
        prefix: String,
        /// Whether this AS may announce it.
        #[arg(long)]
        asn: Option<u32>,
    },
    /// Begin the session of a peer anew.
    Clear(BgpClear),
    /// End the session of a peer until it is enabled again.
    Shutdown(BgpPeer),
    /// Let a peer back that was shut down or had too many routes.
    Enable(OfPeer),
}

/// Which routes.
#[derive(Debug, Args)]
pub struct BgpRoutes {
    /// Name of the function.
    pub function: String,
    /// The family.
    #[arg(default_value = "ipv4-unicast")]
    pub family: String,
    /// Only those that this prefix covers.
    #[arg(long)]
    pub within: Option<String>,
    /// Only those that are shown with that in their text.
    #[arg(long)]
    pub text: Option<String>,
    /// Only those that this peer has announced.
    #[arg(long, value_name = "PEER")]
    pub received: Option<String>,
    /// Only those that this peer was told.
    #[arg(long, value_name = "PEER")]
    pub advertised: Option<String>,
    /// Pass over so many.
    #[arg(long, default_value_t = 0)]
    pub skip: u64,
    /// Rows at most.
    #[arg(long, default_value_t = 100)]
    pub limit: u64,
}

/// A peer, and what it is told.
#[derive(Debug, Args)]
pub struct BgpPeer {
    /// Which peer.
    #[command(flatten)]
    pub peer: OfPeer,
    /// What the peer's operator reads (RFC 9003), up to 255 octets.
    #[arg(long)]
    pub text: Option<String>,
}

/// How a session begins anew.
#[derive(Debug, Args)]
pub struct BgpClear {
    /// Which peer, and what it is told.
    #[command(flatten)]
    pub peer: BgpPeer,
    /// The session stays; its routes are exchanged again.
    #[arg(long, conflicts_with = "hard")]
    pub soft: bool,
    /// Nothing outlives it, graceful restart or not (RFC 8538).
    #[arg(long)]
    pub hard: bool,
}
