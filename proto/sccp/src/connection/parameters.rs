//! Timers and limits of connections.

use machine::Duration;

/// Timers and limits of connections (Q.714 annex C, table C.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionParameters {
    /// T(conn est): a CR is answered, 1 to 2 minutes. A user here has as long for its response.
    pub establishment: Duration,
    /// T(ias): an IT is sent when nothing else was, 5 to 10 minutes.
    pub inactivity_send: Duration,
    /// T(iar): something has to come, 11 to 21 minutes.
    pub inactivity_receive: Duration,
    /// T(rel): a RLSD is confirmed, 10 to 20 s.
    pub release: Duration,
    /// T(repeat rel): it is sent again, 10 to 20 s.
    pub release_repeat: Duration,
    /// T(int): after T(rel), the release is given up, up to 1 minute.
    pub release_most: Duration,
    /// T(guard): there are no connections after the start, 23 to 25 minutes. Zero where
    /// `reference_first` is drawn anew at each start, so that references of before do not come
    /// back.
    pub guard: Duration,
    /// T(reset): a RSR is confirmed, 10 to 20 s. An ED is acknowledged within it as well, or the
    /// connection is reset.
    pub reset: Duration,
    /// How long a local reference is frozen after a connection that both sides have ended; after
    /// one of which the other side may still have its half, T(iar) at least.
    pub freeze: Duration,
    /// The first local reference.
    pub reference_first: u32,
    /// What the order of local references is drawn with, so that one does not lead to the next;
    /// zero: one after the other.
    pub reference_key: u64,
    /// Several nodes have one point code. Local references are given in parts, which their leading
    /// octet names: those of [`crate::Node::begin_connections_in`]. By it a message finds the node
    /// that serves its connection.
    pub is_shared: bool,
    /// Local references in use or frozen, at most. An association has no more than is left for all
    /// others, a node within it no more than is left of that.
    pub references_max: usize,
    /// The window that is proposed and granted in class 3, 1 to 127.
    pub credit_max: u8,
    /// Octets of one N-DATA, at most.
    pub data_octets_max: usize,
    /// Octets that wait in all connections: for credit, for an EA, or for the rest of their N-DATA.
    /// Shared out like references.
    pub waiting_octets_max: usize,
}

impl ConnectionParameters {
    /// The values that Q.714 has in mind.
    #[must_use]
    pub const fn q714() -> Self {
        Self {
            establishment: Duration::from_secs(90),
            inactivity_send: Duration::from_secs(7 * 60),
            inactivity_receive: Duration::from_secs(15 * 60),
            release: Duration::from_secs(15),
            release_repeat: Duration::from_secs(15),
            release_most: Duration::from_secs(60),
            guard: Duration::from_secs(24 * 60),
            reset: Duration::from_secs(15),
            freeze: Duration::from_secs(60),
            reference_first: 1,
            reference_key: 0,
            is_shared: false,
            references_max: 65_536,
            credit_max: 16,
            data_octets_max: 8_192,
            waiting_octets_max: 4 << 20,
        }
    }
}
