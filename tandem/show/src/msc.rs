//! What is said of media controllers and their streams.

use crate::cell::Form;
use crate::{Listing, column, plain};

/// How the controllers stand.
pub const MEDIA: Listing = Listing::new(
    "no media controller is configured",
    &[
        plain("function", "FUNCTION"),
        column("forwarder", "FORWARDER", Form::State),
        plain("role", "ROLE"),
        plain("streams", "STREAMS"),
        plain("ng_calls", "NG CALLS"),
        plain("packets_per_s", "PACKETS/S"),
        plain("ports", "PORTS IN USE/LEASED/ALL"),
        plain("session_controllers_told", "SESSION CONTROLLERS"),
        plain("refusals", "REFUSALS"),
    ],
);

/// Streams, with both of their ends.
pub const STREAMS: Listing = Listing::new(
    "no stream stands",
    &[
        plain("function", "FUNCTION"),
        plain("call", "CALL"),
        plain("line", "LINE"),
        plain("kind", "KIND"),
        plain("a_at", "A"),
        plain("a_codec", "CODEC"),
        plain("a_suite", "SUITE"),
        plain("a_packets", "PACKETS"),
        plain("a_lost", "LOST"),
        plain("a_mos", "MOS"),
        column("a_state", "STATE", Form::State),
        plain("b_at", "B"),
        plain("b_codec", "CODEC"),
        plain("b_suite", "SUITE"),
        plain("b_packets", "PACKETS"),
        plain("b_lost", "LOST"),
        plain("b_mos", "MOS"),
        column("b_state", "STATE", Form::State),
    ],
);
