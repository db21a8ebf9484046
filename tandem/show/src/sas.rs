//! What is said of the service assurance server.

use crate::cell::Form;
use crate::{Listing, column, plain, time};

/// Recorded calls and other trails.
pub const TRAILS: Listing = Listing::new(
    "no trail matches",
    &[
        plain("id", "ID"),
        time("started_at_us", "STARTED"),
        plain("kind", "KIND"),
        plain("from", "FROM"),
        plain("to", "TO"),
        plain("outcome", "OUTCOME"),
        plain("status", "STATUS"),
        column("duration_ms", "LASTED", Form::Milliseconds),
        plain("messages", "MESSAGES"),
    ],
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Look, table};
    use serde_json::json;

    #[test]
    fn a_trail_says_when_it_began_and_how_long_it_took() {
        let look = Look { width: Some(100), colour: false, now_us: 0 };
        let row = json!({"id": "00000000000000aa", "started_at_us": 1_795_226_584_567_891u64,
            "kind": "call", "from": "alice", "to": "+4930123456", "outcome": "answered",
            "status": 200, "duration_ms": 61_500, "messages": 14});
        let shown = table(&look, &[row], &TRAILS);
        let cells = ["2026-11-21", "02:03:04.567Z", "call", "alice", "answered", "1m 1s", "14"];
        assert!(cells.iter().all(|cell| shown.contains(cell)), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    }
}
