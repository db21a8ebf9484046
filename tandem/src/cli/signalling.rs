//! The words of `tandem ctl sctp` and `tandem ctl m3ua`.

use super::Of;
use clap::{Args, Subcommand};

/// What `tandem ctl sctp` shows.
#[derive(Debug, Subcommand)]
pub enum SctpCommand {
    /// Associations: state, streams, windows.
    Associations(Of),
    /// Paths: state, RTO, congestion window, errors.
    Paths(Of),
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

/// A peer of a function.
#[derive(Debug, Args)]
pub struct OfPeer {
    /// Name of the function.
    pub function: String,
    /// Name of the peer.
    pub peer: String,
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
