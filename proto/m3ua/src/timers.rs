//! What runs out, and when.

use crate::id::{PeerId, ServerId};

/// What runs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// T(ack) of an ASP Up or ASP Down.
    Ack(PeerId),
    /// T(ack) of what was asked for one Application Server.
    MemberAck(ServerId, PeerId),
    /// T(r).
    Recovery(ServerId),
    /// T(beat).
    Beat(PeerId),
    /// Gateways are asked for what is not available there.
    Audit,
}

/// Bounded by peers and members of Application Servers, whose numbers are bounded.
pub(crate) type Timers = machine::Timers<Timer>;
