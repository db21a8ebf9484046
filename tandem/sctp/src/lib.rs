//! `tandem sctp`: passes bytes on like ncat, measures like tsctp.

mod bulk;
pub mod command;
mod ended;
mod endpoint;
mod talk;
mod words;

pub use ended::Ended;

use command::{Sctp, SctpMode};
use show::harmless_lines;
use std::io::Write as _;

/// Does what was asked.
///
/// # Errors
/// Why it ended before it was done.
pub fn run(asked: &Sctp) -> Result<(), Ended> {
    match &asked.command {
        SctpMode::Server(server) => talk::serve(server),
        SctpMode::Client(client) => talk::connect(client),
        SctpMode::Throughput(throughput) => bulk::run(throughput),
    }
}

/// Prints a text with nothing in it that would steer a terminal.
fn text(text: &str) -> Result<(), Ended> {
    std::io::stdout().write_all(harmless_lines(text).as_bytes())?;
    Ok(())
}
