//! `tandem sctp`: passes bytes on like ncat, measures like tsctp.
#![forbid(unsafe_code)]

mod bulk;
pub mod command;
mod endpoint;
mod talk;
mod words;

use client::Exit;
use command::{Sctp, SctpMode};

/// Does what was asked.
///
/// # Errors
/// Why it ended before it was done.
pub fn run(asked: &Sctp) -> Result<(), Exit> {
    match &asked.command {
        SctpMode::Server(server) => talk::serve(server),
        SctpMode::Client(client) => talk::connect(client),
        SctpMode::Throughput(throughput) => bulk::run(throughput),
    }
}
