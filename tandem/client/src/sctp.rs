//! `tandem ctl sctp`: of every function that speaks it.

use crate::api::Client;
use crate::asked::{Of, asked};
use crate::exit::Exit;
use crate::output::Output;
use clap::Subcommand;
use show::site::{ASSOCIATIONS, PATHS};

/// What `tandem ctl sctp` shows.
#[derive(Debug, Subcommand)]
pub enum SctpCommand {
    /// Associations: state, streams, windows.
    Associations(Of),
    /// Paths: state, RTO, congestion window, errors.
    Paths(Of),
}

/// SCTP.
pub fn sctp(client: &Client, form: Output, command: Option<SctpCommand>) -> Result<(), Exit> {
    match command.unwrap_or(SctpCommand::Associations(Of { function: None })) {
        SctpCommand::Associations(of) => {
            asked(client, form, of.function, "sctp/associations", &ASSOCIATIONS)
        }
        SctpCommand::Paths(of) => asked(client, form, of.function, "sctp/paths", &PATHS),
    }
}
