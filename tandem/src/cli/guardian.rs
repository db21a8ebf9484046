//! The words of `tandem guardian`.

use clap::Args;

/// How a guardian runs. `tandem run` starts it: its standard input is a socket of that process, its
/// standard output the pidfd of it.
#[derive(Debug, Args)]
pub struct Guardian {
    /// SCTP goes over IP: it opens sockets for that, before it gives up its rights.
    #[arg(long)]
    pub ip: bool,
    /// The user that it becomes.
    #[arg(long)]
    pub uid: Option<u32>,
}
