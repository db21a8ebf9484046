//! What a node knows of a peer.

use super::watchdog::Watchdog;
use crate::rows::base::RELAY;
use crate::settings::{Connection, PeerId, PeerSettings};
use bytes::Bytes;
use machine::{Duration, Time};
use std::collections::BTreeMap;

/// Where a peer stands (RFC 6733 §5.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// There is no connection.
    #[default]
    Closed,
    /// A connection is being opened.
    WaitConnAck,
    /// A CER was sent.
    WaitICea,
    /// A connection is being opened, and the peer has opened one itself.
    WaitConnAckElect,
    /// Both stand, and the peer's CEA says which one stays.
    WaitReturns,
    /// Messages pass.
    Open,
    /// A DPR was sent or answered.
    Closing,
}

/// A peer.
#[derive(Debug)]
pub(crate) struct Peer {
    pub settings: PeerSettings,
    pub state: State,
    /// The connection that this node opened, or the one that is open.
    pub way: Option<Connection>,
    /// The peer's own connection in an election, with its CER.
    pub responder: Option<(Connection, Bytes)>,
    pub watchdog: Watchdog,
    /// Applications that it has told.
    pub applications: Vec<u32>,
    pub origin_state: Option<u32>,
    pub product: String,
    /// The pause before the next attempt.
    pub pause: Duration,
    /// It is connected to when its time comes.
    pub is_wanted: bool,
    pub since: Time,
    pub why: &'static str,
    pub counts: PeerCounts,
}

/// What was counted of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PeerCounts {
    /// Messages that came from it.
    pub messages_in: u64,
    /// Messages that it was sent.
    pub messages_out: u64,
    /// Requests that it was sent and has not answered.
    pub outstanding: u64,
    /// Requests that failed over from it to another one.
    pub failed_over: u64,
    /// Connections with it that ended.
    pub losses: u64,
}

/// A peer as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerStatus {
    /// Its Origin-Host.
    pub host: String,
    /// Where it stands.
    pub state: State,
    /// The word of RFC 3539 for how it answers.
    pub watchdog: &'static str,
    /// Since when.
    pub since: Time,
    /// Why it does not stand; empty: nothing has happened yet.
    pub why: &'static str,
    /// Its Product-Name.
    pub product: String,
    /// Its Origin-State-Id: a higher one says that it has lost its sessions (RFC 6733 §8.16).
    pub origin_state: Option<u32>,
    /// The applications that it has told.
    pub applications: Vec<u32>,
    /// The connection that carries its messages.
    pub connection: Option<Connection>,
    /// What was counted.
    pub counts: PeerCounts,
}

impl Peer {
    pub(crate) fn new(settings: PeerSettings, now: Time) -> Self {
        Self {
            is_wanted: settings.connects,
            settings,
            state: State::Closed,
            way: None,
            responder: None,
            watchdog: Watchdog::default(),
            applications: Vec::new(),
            origin_state: None,
            product: String::new(),
            pause: Duration::ZERO,
            since: now,
            why: "",
            counts: PeerCounts::default(),
        }
    }

    pub(crate) fn is(&self, host: &[u8]) -> bool {
        self.settings.host.as_bytes().eq_ignore_ascii_case(host)
    }

    /// Whether it takes requests of an application.
    pub(crate) fn takes(&self, application: u32) -> bool {
        self.applications.iter().any(|it| *it == application || *it == RELAY)
    }

    /// How gladly it is sent a new request, the lower the better; `None`: not at all.
    pub(crate) fn readiness(&self) -> Option<u8> {
        if self.state == State::Open { self.watchdog.readiness() } else { None }
    }

    pub(crate) fn status(&self) -> PeerStatus {
        PeerStatus {
            host: self.settings.host.clone(),
            state: self.state,
            watchdog: self.watchdog.word(),
            since: self.since,
            why: self.why,
            product: self.product.clone(),
            origin_state: self.origin_state,
            applications: self.applications.clone(),
            connection: self.way,
            counts: self.counts,
        }
    }
}

/// The peers, by name. How many there may be is the node's limit.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    slots: Vec<(u32, Option<Peer>)>,
    /// By host in lower case.
    hosts: BTreeMap<Vec<u8>, PeerId>,
}

impl Peers {
    pub(crate) fn len(&self) -> usize {
        self.hosts.len()
    }

    pub(crate) fn insert(&mut self, peer: Peer) -> PeerId {
        let host = peer.settings.host.to_ascii_lowercase().into_bytes();
        let free = self.slots.iter().position(|(_, peer)| peer.is_none());
        let at = free.unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() - 1
        });
        self.slots[at].1 = Some(peer);
        let id = PeerId { index: machine::narrow::place(at), generation: self.slots[at].0 };
        self.hosts.insert(host, id);
        id
    }

    pub(crate) fn remove(&mut self, id: PeerId) -> Option<Peer> {
        let slot = self.slots.get_mut(id.index as usize).filter(|it| it.0 == id.generation)?;
        let peer = slot.1.take()?;
        slot.0 = slot.0.wrapping_add(1);
        self.hosts.remove(peer.settings.host.to_ascii_lowercase().as_bytes());
        Some(peer)
    }

    pub(crate) fn find(&self, id: PeerId) -> Option<&Peer> {
        self.slots.get(id.index as usize).filter(|it| it.0 == id.generation)?.1.as_ref()
    }

    pub(crate) fn find_mut(&mut self, id: PeerId) -> Option<&mut Peer> {
        self.slots.get_mut(id.index as usize).filter(|it| it.0 == id.generation)?.1.as_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (PeerId, &Peer)> {
        self.slots.iter().enumerate().filter_map(|(at, (generation, peer))| {
            let id = PeerId { index: machine::narrow::place(at), generation: *generation };
            Some((id, peer.as_ref()?))
        })
    }

    /// The peer of a host.
    pub(crate) fn of_host(&self, host: &[u8]) -> Option<PeerId> {
        self.hosts.get(&host.to_ascii_lowercase()).copied()
    }
}
