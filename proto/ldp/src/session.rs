//! A session with a peer: its connection, its state, what it has agreed on.

use crate::codec::{LdpId, PDU_OCTETS_MAX, Prefix};
use crate::prefix_labels::PrefixLabels;
use crate::settings::ConnectionId;
use machine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// States of a session (RFC 5036 §2.5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionState {
    /// There is no connection.
    NonExistent,
    /// There is one.
    Initialized,
    /// What the session shall be was said.
    OpenSent,
    /// The peer's word was taken.
    OpenReceived,
    /// Labels are told.
    Operational,
}

/// When something of a session is due.
#[derive(Debug)]
pub(crate) struct Timers {
    /// A connection is tried.
    pub(crate) retry_at: Time,
    /// The peer was silent for too long.
    pub(crate) silent_at: Time,
    /// We were.
    pub(crate) keepalive_at: Time,
    /// It began to stand.
    pub(crate) stood_at: Time,
    /// The peer's connections are refused, since its sessions come and go.
    pub(crate) refuses_until: Time,
    /// The peer has owed labels for too long.
    pub(crate) owes_at: Time,
    /// It has told what there is; zero once that is over.
    pub(crate) settles_at: Time,
    /// What it told before is forgotten.
    pub(crate) stale_until: Time,
}

impl Timers {
    const fn new() -> Self {
        Self {
            retry_at: Time::ZERO,
            silent_at: Time::MAX,
            keepalive_at: Time::MAX,
            stood_at: Time::ZERO,
            refuses_until: Time::ZERO,
            owes_at: Time::MAX,
            settles_at: Time::MAX,
            stale_until: Time::MAX,
        }
    }
}

/// A peer: it is known as long as it is heard, or its bindings are kept.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) peer: LdpId,
    pub(crate) state: SessionState,
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) transport: IpAddr,
    pub(crate) timers: Timers,
    /// How often a connection failed.
    pub(crate) failures: u32,
    /// The connection was made by us.
    pub(crate) is_active: bool,
    /// What the session has agreed on.
    pub(crate) keepalive: Duration,
    pub(crate) pdu_octets: usize,
    pub(crate) addresses: BTreeSet<IpAddr>,
    /// Labels that the peer has for prefixes.
    pub(crate) remote: PrefixLabels,
    /// Labels that the peer was told.
    pub(crate) told: PrefixLabels,
    /// Labels that it shall give back.
    pub(crate) releasing: BTreeSet<u32>,
    /// It stood before, and what it told is kept.
    pub(crate) had_before: bool,
    /// Requests that wait for a label of ours: the message's number.
    pub(crate) waiting: BTreeMap<Prefix, u32>,
    /// Bindings that stood before, and were not said again yet; they go then (RFC 3478 §3.3).
    pub(crate) stale: BTreeSet<Prefix>,
    /// How long its bindings are kept when it goes.
    pub(crate) reconnect: Option<Duration>,
    pub(crate) next_message: u32,
    pub(crate) input: Vec<u8>,
    pub(crate) output: Vec<Vec<u8>>,
}

impl Session {
    pub(crate) fn new(peer: LdpId, transport: IpAddr) -> Self {
        Self {
            peer,
            state: SessionState::NonExistent,
            connection: None,
            transport,
            timers: Timers::new(),
            failures: 0,
            is_active: false,
            keepalive: Duration::from_secs(180),
            pdu_octets: PDU_OCTETS_MAX,
            addresses: BTreeSet::new(),
            remote: PrefixLabels::default(),
            told: PrefixLabels::default(),
            releasing: BTreeSet::new(),
            had_before: false,
            waiting: BTreeMap::new(),
            stale: BTreeSet::new(),
            reconnect: None,
            next_message: 1,
            input: Vec::new(),
            output: Vec::new(),
        }
    }

    /// Whether it told what there is.
    pub(crate) fn is_settled(&self, now: Time) -> bool {
        self.is_operational() && self.timers.settles_at <= now
    }

    pub(crate) fn say(&mut self, body: &crate::codec::Body) {
        let id = self.message_id();
        self.output.push(body.write(id));
    }

    pub(crate) fn is_operational(&self) -> bool {
        self.state == SessionState::Operational
    }

    pub(crate) fn message_id(&mut self) -> u32 {
        self.next_message = self.next_message.wrapping_add(1).max(1);
        self.next_message
    }

    pub(crate) fn due(&self) -> Time {
        let retry = if self.connection.is_none() { self.timers.retry_at } else { Time::MAX };
        let settles =
            if self.timers.settles_at == Time::ZERO { Time::MAX } else { self.timers.settles_at };
        let it = &self.timers;
        let own = [it.silent_at, it.keepalive_at, it.stale_until, it.owes_at, settles];
        own.into_iter().fold(retry, Time::min)
    }
}

/// A connection that came: who it is of is not known yet.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) remote: IpAddr,
    pub(crate) input: Vec<u8>,
    pub(crate) until: Time,
}
