//! What a session is configured with.

use super::OPEN_HOLD_TIME;
use crate::codec::{Asn, Offer};
use crate::family::FamilySet;
use machine::Duration;

/// Which AS the peer may be of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerAs {
    /// Ours.
    Internal,
    /// That one; ours makes it internal.
    Is(Asn),
    /// Any but ours.
    External,
    /// Any.
    Any,
}

impl PeerAs {
    /// Whether it may be `asn`, where ours is `own`.
    #[must_use]
    pub const fn admits(self, asn: Asn, own: Asn) -> bool {
        match self {
            Self::Internal => asn == own,
            Self::Is(expected) => asn == expected,
            Self::External => asn != own,
            Self::Any => true,
        }
    }
}

/// The settings of a session (RFC 4271 §8.1.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What our OPEN says.
    pub offer: Offer,
    /// Which AS the peer may be of.
    pub peer_as: PeerAs,
    /// A peer of another AS stands in the same confederation (RFC 5065).
    pub confederation: bool,
    /// Only the peer opens connections.
    pub passive: bool,
    /// Time between attempts to connect: ConnectRetryTime.
    pub connect_retry: Duration,
    /// Time to wait for the peer's OPEN before ours is sent: DelayOpenTime; zero for none.
    pub delay_open: Duration,
    /// Time for which the peer's OPEN is waited for.
    pub open_hold: Duration,
    /// Time in Idle after the first failure: IdleHoldTime. It doubles with each.
    pub idle_hold: Duration,
    /// Time in Idle at most.
    pub idle_hold_max: Duration,
    /// The shortest hold time that is taken from the peer, in seconds; zero is taken always.
    pub hold_time_min_s: u16,
    /// Time for which the peer may take nothing: SendHoldTime; `None` for eight minutes or twice
    /// the hold time, whatever is longer (RFC 9687 §3.1).
    pub send_hold: Option<Duration>,
    /// Time until the End-of-RIB of a peer that came back, after which what is stale goes
    /// (RFC 4724 §4.2).
    pub stale: Duration,
    /// Families without which there is no session.
    pub required: FamilySet,
    /// The peer must tell its role as well (RFC 9234 §4.2).
    pub role_strict: bool,
    /// The path of an external peer must begin with its AS.
    pub first_as: bool,
    /// AIGP is taken.
    pub aigp: bool,
}

impl Settings {
    /// The times that RFC 4271 §10 and others suggest; IdleHoldTime from 1 s to 120 s.
    #[must_use]
    pub const fn new(offer: Offer, peer_as: PeerAs) -> Self {
        Self {
            offer,
            peer_as,
            confederation: false,
            passive: false,
            connect_retry: Duration::from_secs(120),
            delay_open: Duration::ZERO,
            open_hold: OPEN_HOLD_TIME,
            idle_hold: Duration::from_secs(1),
            idle_hold_max: Duration::from_secs(120),
            hold_time_min_s: 3,
            send_hold: None,
            stale: Duration::from_secs(360),
            required: FamilySet::EMPTY,
            role_strict: false,
            first_as: true,
            aigp: false,
        }
    }
}
