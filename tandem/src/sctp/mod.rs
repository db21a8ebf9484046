//! `tandem sctp`: passes bytes on like ncat, measures like tsctp.

mod bulk;
mod endpoint;
mod host;
mod talk;
mod words;

use crate::cli::{Sctp, SctpMode};
use crate::exit::Exit;

/// Does what was asked.
pub fn sctp(asked: &Sctp) -> Result<(), Exit> {
    match &asked.command {
        SctpMode::Server(server) => talk::serve(server),
        SctpMode::Client(client) => talk::connect(client),
        SctpMode::Throughput(throughput) => bulk::run(throughput),
    }
}
