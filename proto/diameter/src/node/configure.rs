//! A node is made, given peers, changed and looked at.

use super::arrived::Arrived;
use super::duplicates::Duplicates;
use super::peer::{Peer, PeerStatus, Peers};
use super::requests::Requests;
use super::route::Routes;
use super::{Node, State};
use crate::dictionary::Dictionary;
use crate::effects::{DisconnectCause, Out};
use crate::metrics::Metric;
use crate::settings::{PEERS_MAX, Parameters, PeerId, PeerSettings, Refused, Settings};
use crate::timers::{Timer, Timers};
use event::Metrics;
use machine::Time;
use machine::narrow::{half, halves};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What stands, as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeStatus {
    /// Requests sent and not answered.
    pub requests: usize,
    /// Octets of these.
    pub requests_octets: usize,
    /// Requests that the application has.
    pub arrived: usize,
    /// Octets of answers that are kept.
    pub duplicates_octets: usize,
    /// Connections, those of strangers included.
    pub connections: usize,
}

/// Whether this is a name of a host or realm.
fn is_name(name: &str) -> bool {
    let is_letter = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'.' | b'_');
    (1..=255).contains(&name.len()) && name.bytes().all(is_letter)
}

impl Node {
    /// A node without peers and routes.
    ///
    /// # Errors
    /// The name of the first setting that is out of its range.
    pub fn new(
        settings: Settings,
        dictionary: Arc<Dictionary>,
        now: Time,
    ) -> Result<Self, &'static str> {
        settings.parameters.validate()?;
        if !is_name(&settings.host) {
            return Err("host");
        }
        if !is_name(&settings.realm) {
            return Err("realm");
        }
        let [secret, random] = halves(settings.seed);
        let parameters = &settings.parameters;
        let seconds = now.as_millis() / 1_000;
        let mut node = Self {
            requests: Requests::new(parameters.requests_max, secret, settings.shard, now),
            arrived: Arrived::new(parameters.arrived_max, now),
            duplicates: Duplicates::new(settings.seed.rotate_left(29)),
            settings,
            dictionary,
            peers: Peers::default(),
            connections: BTreeMap::new(),
            routes: Routes::default(),
            timers: Timers::default(),
            end_to_end: 0,
            random,
            is_closing: false,
            metrics: Metrics::new(),
            now,
            out: Vec::new(),
        };
        let low = half(node.random()) & 0x000f_ffff;
        node.end_to_end = half(seconds & 0xfff) << 20 | low;
        Ok(node)
    }

    /// A peer joins; one that this node connects to is connected to with the next tick.
    ///
    /// # Errors
    /// There are too many, there is one of that host, or the name is none.
    pub fn add_peer(&mut self, now: Time, settings: PeerSettings) -> Result<PeerId, Refused> {
        if self.peers.len() >= PEERS_MAX {
            return Err(Refused::Full);
        }
        if !is_name(&settings.host) || !settings.realm.as_deref().is_none_or(is_name) {
            return Err(Refused::Name);
        }
        if self.peers.of_host(settings.host.as_bytes()).is_some() {
            return Err(Refused::Exists);
        }
        let connects = settings.connects;
        let id = self.peers.insert(Peer::new(settings, now));
        if connects {
            self.timers.arm(Timer::Connect(id), now);
        }
        Ok(id)
    }

    /// A peer goes; it is told so, its connections end, and what it has goes to others.
    pub fn remove_peer(&mut self, now: Time, id: PeerId, out: &mut Vec<Out>) {
        self.now = self.now.max(now);
        // It may be configured anew a moment later: a cause that keeps it away would be wrong.
        self.say_goodbye(id, DisconnectCause::Rebooting);
        self.end(id, "it is configured no more");
        self.timers.cancel(Timer::Connect(id));
        self.peers.remove(id);
        out.append(&mut self.out);
    }

    /// Timers and limits change; what a timer has begun runs on.
    ///
    /// # Errors
    /// The name of the first one out of its range.
    pub fn set_parameters(&mut self, parameters: Parameters) -> Result<(), &'static str> {
        parameters.validate()?;
        self.settings.parameters = parameters;
        self.requests.set_max(parameters.requests_max);
        self.arrived.set_max(parameters.arrived_max);
        Ok(())
    }

    /// Ends every connection in order (DPR); nothing is taken any more.
    pub fn close(&mut self, now: Time, cause: DisconnectCause, out: &mut Vec<Out>) {
        self.now = self.now.max(now);
        self.close_peers(cause);
        out.append(&mut self.out);
    }

    /// Whether no connection with a peer stands any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.peers.iter().all(|(_, peer)| peer.state == State::Closed)
    }

    /// What it is.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What it knows.
    #[must_use]
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// What was counted.
    #[must_use]
    pub const fn metrics(&self) -> &Metrics<Metric> {
        &self.metrics
    }

    /// What stands.
    #[must_use]
    pub fn status(&self) -> NodeStatus {
        NodeStatus {
            requests: self.requests.len(),
            requests_octets: self.requests.octets(),
            arrived: self.arrived.len(),
            duplicates_octets: self.duplicates.octets(),
            connections: self.connections.len(),
        }
    }

    /// A peer as it is now.
    #[must_use]
    pub fn peer(&self, id: PeerId) -> Option<PeerStatus> {
        self.peers.find(id).map(Peer::status)
    }

    /// All peers.
    pub fn peers(&self) -> impl Iterator<Item = (PeerId, PeerStatus)> + '_ {
        self.peers.iter().map(|(id, peer)| (id, peer.status()))
    }
}
