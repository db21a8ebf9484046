//! What happens to associations, in words for people and as JSON.

use sctp::{Indication, Lost, PathState};
use sctp_stack::AssociationId;
use serde_json::{Value, json};

/// Something to tell, as a sentence and as an object; messages are not told.
pub fn of(id: AssociationId, what: &Indication) -> Option<(String, Value)> {
    let (words, mut object) = match what {
        Indication::CommunicationUp(out, inbound) => (
            format!("the association stands, {out} streams out, {inbound} in"),
            json!({ "event": "up", "streams_out": out, "streams_in": inbound }),
        ),
        Indication::NetworkStatusChange(address, state) => {
            let state = path_state(*state);
            let object = json!({ "event": "path", "address": address, "state": state });
            (format!("the path to {address} is {state}"), object)
        }
        Indication::CommunicationError(cause) => (
            format!("the peer reports an error, cause {cause} (RFC 9260 §3.3.10)"),
            json!({ "event": "error", "cause": cause }),
        ),
        Indication::Restart => ("the peer has restarted".into(), json!({ "event": "restart" })),
        Indication::ShutdownComplete => {
            ("the association has ended".into(), json!({ "event": "shutdown" }))
        }
        Indication::CommunicationLost(lost) => {
            let why = why(*lost);
            let object = json!({ "event": "lost", "why": why });
            (format!("the association is lost: {why}"), object)
        }
        _ => return None,
    };
    object["association"] = json!(id.to_string());
    Some((words, object))
}

const fn path_state(state: PathState) -> &'static str {
    match state {
        PathState::Active => "active",
        PathState::PotentiallyFailed => "potentially failed",
        PathState::Inactive => "inactive",
        PathState::Unconfirmed => "unconfirmed",
    }
}

/// Why an association was lost.
pub fn why(lost: Lost) -> String {
    match lost {
        Lost::Unreachable => "nobody answers".into(),
        Lost::PeerAborted(0) => "the peer aborted it".into(),
        Lost::PeerAborted(cause) => {
            format!("the peer aborted it, cause {cause} (RFC 9260 §3.3.10)")
        }
        Lost::ProtocolViolation(what) => format!("the peer broke the rules: {what}"),
        Lost::UserAborted => "it was aborted here".into(),
        Lost::StaleCookie => "the peer's cookies are too old when they come back".into(),
    }
}
