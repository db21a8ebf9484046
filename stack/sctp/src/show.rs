//! Associations and paths as the management side sees them (RFC 9260 §11.1.8, §11.1.10).

use crate::stack::Stack;
use machine::Duration;
use question::rows;
use runtime::{Ask, AskError};
use sctp::{AssociationId, PathState, PathStatus, State, Status};

/// Rows of one answer.
const ROWS_MAX: usize = 20_000;

rows! {
    /// An association (RFC 9260 §11.1.8).
    pub struct SctpAssociationRow {
        association: String,
        state: &'static str,
        port: u16,
        /// Its primary address.
        peer: Option<String>,
        peer_port: u16,
        paths: usize,
        paths_active: usize,
        streams_out: u16,
        streams_in: u16,
        peer_rwnd: usize,
        queued_bytes: usize,
        unacknowledged_bytes: usize,
        held_bytes: usize,
        errors: u16,
        retransmitted: u64,
        interleaving: bool,
        partial_reliability: bool,
    }

    /// A path of an association.
    pub struct SctpPathRow {
        association: String,
        address: String,
        state: &'static str,
        primary: bool,
        srtt_ms: Option<f64>,
        rto_ms: f64,
        cwnd: usize,
        /// Null: not known yet.
        ssthresh: Option<usize>,
        flight: usize,
        errors: u16,
        pmtu: usize,
    }
}

/// The associations that are asked for: the parameter `association` leaves one.
fn wanted(stack: &Stack, ask: &Ask) -> Result<Vec<(AssociationId, Status)>, AskError> {
    let wanted = ask.params.get("association");
    let ids = stack.associations().into_iter();
    let ids = ids.filter(|id| wanted.is_none_or(|it| *it == id.to_string()));
    let found: Vec<_> = ids.filter_map(|id| Some((id, stack.status(id)?))).collect();
    match wanted {
        Some(wanted) if found.is_empty() => {
            Err(AskError::NotFound(format!("association {wanted}")))
        }
        _ => Ok(found),
    }
}

/// A row for each association.
pub(crate) fn associations(
    stack: &Stack,
    port: u16,
    ask: &Ask,
) -> Result<Vec<SctpAssociationRow>, AskError> {
    let all = wanted(stack, ask)?;
    Ok(all.iter().map(|(id, it)| association(*id, port, it)).take(ROWS_MAX).collect())
}

/// A row for each path of each association.
pub(crate) fn paths(stack: &Stack, ask: &Ask) -> Result<Vec<SctpPathRow>, AskError> {
    let all = wanted(stack, ask)?;
    let paths = all.iter().flat_map(|(id, it)| it.paths.iter().map(move |of| path(*id, of)));
    Ok(paths.take(ROWS_MAX).collect())
}

fn association(id: AssociationId, port: u16, status: &Status) -> SctpAssociationRow {
    let primary = status.paths.iter().find(|path| path.is_primary);
    SctpAssociationRow {
        association: id.to_string(),
        state: state(status.state),
        port,
        peer: primary.map(|path| path.address.to_string()),
        peer_port: status.peer_port,
        paths: status.paths.len(),
        paths_active: status.paths.iter().filter(|it| it.state == PathState::Active).count(),
        streams_out: status.streams.0,
        streams_in: status.streams.1,
        peer_rwnd: status.peer_rwnd,
        queued_bytes: status.queued,
        unacknowledged_bytes: status.unacknowledged,
        held_bytes: status.held,
        errors: status.errors,
        retransmitted: status.retransmitted,
        interleaving: status.is_interleaved,
        partial_reliability: status.has_partial_reliability,
    }
}

fn path(id: AssociationId, status: &PathStatus) -> SctpPathRow {
    SctpPathRow {
        association: id.to_string(),
        address: status.address.to_string(),
        state: path_state(status.state),
        primary: status.is_primary,
        srtt_ms: status.srtt.map(milliseconds),
        rto_ms: milliseconds(status.rto),
        cwnd: status.cwnd,
        ssthresh: (status.ssthresh != usize::MAX).then_some(status.ssthresh),
        flight: status.flight,
        errors: status.errors,
        pmtu: status.pmtu,
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

const fn state(state: State) -> &'static str {
    match state {
        State::CookieWait => "cookie-wait",
        State::CookieEchoed => "cookie-echoed",
        State::Established => "established",
        State::ShutdownPending => "shutdown-pending",
        State::ShutdownSent => "shutdown-sent",
        State::ShutdownReceived => "shutdown-received",
        State::ShutdownAckSent => "shutdown-ack-sent",
        State::Closed => "closed",
    }
}

const fn path_state(state: PathState) -> &'static str {
    match state {
        PathState::Active => "active",
        PathState::PotentiallyFailed => "potentially-failed",
        PathState::Inactive => "inactive",
        PathState::Unconfirmed => "unconfirmed",
    }
}
