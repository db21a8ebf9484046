//! What runs out, and when.

use crate::settings::{Connection, PeerId};

/// What runs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// Tc: a peer is connected to.
    Connect(PeerId),
    /// What a state of a peer waits for.
    State(PeerId),
    /// Tw.
    Watchdog(PeerId),
    /// The CER of a connection that was accepted.
    Greeting(Connection),
}

/// Bounded by peers and connections, whose numbers are.
pub(crate) type Timers = machine::Timers<Timer>;
