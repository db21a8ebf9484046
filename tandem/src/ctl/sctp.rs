//! `tandem ctl sctp`: of every function that speaks it.

use super::client::Client;
use super::show::asked;
use crate::cli::{Of, Output};
use crate::exit::Exit;
use crate::output::{Column, plain};
use clap::Subcommand;

/// What `tandem ctl sctp` shows.
#[derive(Debug, Subcommand)]
pub enum SctpCommand {
    /// Associations: state, streams, windows.
    Associations(Of),
    /// Paths: state, RTO, congestion window, errors.
    Paths(Of),
}

const ASSOCIATIONS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("name", "PEER"),
    plain("association", "ID"),
    plain("state", "STATE"),
    plain("peer", "ADDRESS"),
    plain("peer_port", "PORT"),
    plain("paths_active", "ACTIVE"),
    plain("paths", "PATHS"),
    plain("streams_out", "OUT"),
    plain("streams_in", "IN"),
    plain("peer_rwnd", "RWND"),
    plain("queued_bytes", "QUEUED"),
    plain("unacknowledged_bytes", "UNACKED"),
    plain("errors", "ERRORS"),
];

const PATHS: &[Column] = &[
    plain("function", "FUNCTION"),
    plain("name", "PEER"),
    plain("association", "ID"),
    plain("address", "ADDRESS"),
    plain("state", "STATE"),
    plain("primary", "PRIMARY"),
    plain("srtt_ms", "SRTT MS"),
    plain("rto_ms", "RTO MS"),
    plain("cwnd", "CWND"),
    plain("flight", "FLIGHT"),
    plain("errors", "ERRORS"),
    plain("pmtu", "PMTU"),
];

/// SCTP.
pub fn sctp(client: &Client, form: Output, command: Option<SctpCommand>) -> Result<(), Exit> {
    match command.unwrap_or(SctpCommand::Associations(Of { function: None })) {
        SctpCommand::Associations(of) => {
            asked(client, form, of.function, "sctp/associations", ASSOCIATIONS)
        }
        SctpCommand::Paths(of) => asked(client, form, of.function, "sctp/paths", PATHS),
    }
}
