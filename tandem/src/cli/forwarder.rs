//! The words of `tandem forwarder`.

use clap::Args;
use std::path::PathBuf;

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
