//! Associations and paths as the management side sees them (RFC 9260 §11.1.8, §11.1.10).

use crate::stack::Stack;
use machine::Duration;
use runtime::{Ask, AskError};
use sctp::{AssociationId, PathState, PathStatus, State, Status};
use serde_json::{Value, json};

/// Rows of one answer.
const ROWS_MAX: usize = 20_000;

/// Answers `sctp/associations` and `sctp/paths`; the parameter `association` leaves one.
pub(crate) fn ask(stack: &Stack, port: u16, ask: &Ask) -> Result<Value, AskError> {
    let wanted = ask.params.get("association");
    let ids = stack.associations().into_iter();
    let rows = ids.filter(|id| wanted.is_none_or(|it| *it == id.to_string()));
    let statuses = rows.filter_map(|id| Some((id, stack.status(id)?)));
    let rows: Vec<Value> = match ask.path.as_str() {
        "sctp/associations" => {
            statuses.map(|(id, it)| association(id, port, &it)).take(ROWS_MAX).collect()
        }
        "sctp/paths" => {
            let paths = statuses
                .flat_map(|(id, it)| it.paths.into_iter().map(move |path_of| path(id, &path_of)));
            paths.take(ROWS_MAX).collect()
        }
        other => return Err(AskError::NotFound(other.to_owned())),
    };
    if let (Some(wanted), true) = (wanted, rows.is_empty()) {
        return Err(AskError::NotFound(format!("association {wanted}")));
    }
    Ok(Value::Array(rows))
}

fn association(id: AssociationId, port: u16, status: &Status) -> Value {
    let primary = status.paths.iter().find(|path| path.is_primary);
    json!({
        "association": id.to_string(),
        "state": state(status.state),
        "port": port,
        "peer": primary.map(|path| path.address.to_string()),
        "peer_port": status.peer_port,
        "paths": status.paths.len(),
        "paths_active": status.paths.iter().filter(|it| it.state == PathState::Active).count(),
        "streams_out": status.streams.0,
        "streams_in": status.streams.1,
        "peer_rwnd": status.peer_rwnd,
        "queued_bytes": status.queued,
        "unacknowledged_bytes": status.unacknowledged,
        "held_bytes": status.held,
        "errors": status.errors,
        "retransmitted": status.retransmitted,
        "interleaving": status.is_interleaved,
        "partial_reliability": status.has_partial_reliability,
    })
}

fn path(id: AssociationId, status: &PathStatus) -> Value {
    json!({
        "association": id.to_string(),
        "address": status.address.to_string(),
        "state": path_state(status.state),
        "primary": status.is_primary,
        "srtt_ms": status.srtt.map(milliseconds),
        "rto_ms": milliseconds(status.rto),
        "cwnd": status.cwnd,
        "ssthresh": (status.ssthresh != usize::MAX).then_some(status.ssthresh),
        "flight": status.flight,
        "errors": status.errors,
        "pmtu": status.pmtu,
    })
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
