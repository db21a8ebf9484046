//! The associations of the peers, over SCTP and over TCP: opened, taken, lost, opened again.
//!
//! ```text
//!           retry, at the start             it stands
//!   Idle ──────────────────────→ Opening ─────────────→ Up
//!    ↑ ↑                            │ refused            │ lost, closed
//!    │ └────────────────────────────┘                    │
//!    └───────────────────────────────────────────────────┘
//! ```
//! What happens becomes an input of the M3UA process; it knows of peers and nothing of addresses.

mod association;
mod challenge;
mod stream;

use crate::config::{Carriage, Peer, Screen, Sgc};
use crate::facts::Fact;
use bytes::Bytes;
use event::Sheet;
use hashbrown::HashMap;
use m3ua::{In, PeerId};
use machine::{Duration, Time};
use runtime::{ConnId, Effects, Flow, PortId, Seed};
use sctp_stack::{AssociationId, Doorway};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Ports of the SCTP doorway are numbered from here on.
pub(crate) const SCTP_PORTS: PortId = PortId(2_048);

/// Where the association of a peer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// There is none.
    Idle,
    /// This node has begun one.
    Opening,
    /// It stands.
    Up,
}

/// What carries the messages of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Stream(Flow),
    Association(AssociationId),
}

/// A peer and its association.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) config: Peer,
    pub(crate) screen: Screen,
    pub(crate) state: State,
    pub(crate) since: Time,
    /// Why it does not stand; empty when nothing has happened yet.
    pub(crate) why: &'static str,
    pub(crate) way: Option<Way>,
    pub(crate) congestion: u8,
    /// How it is reached over TCP, if this node connects.
    target: Option<Flow>,
    retry_at: Option<Time>,
}

/// All of them. Bounded by the peers that are configured.
pub(crate) struct Links {
    rows: BTreeMap<PeerId, Link>,
    streams: HashMap<ConnId, PeerId>,
    associations: BTreeMap<AssociationId, PeerId>,
    retries: BTreeSet<(Time, PeerId)>,
    /// Newcomers that claim a peer whose association stands; one a peer.
    challenges: BTreeMap<PeerId, challenge::Challenge>,
    /// The same over TCP.
    waiting: BTreeMap<PeerId, stream::Waiting>,
    reconnect: Duration,
    pub(crate) doorway: Option<Doorway>,
    seed: Seed,
    is_real: bool,
    is_closing: bool,
}

impl Links {
    /// Without peers. In a simulated world (`is_real` false) the machine's own routes mean nothing.
    pub(crate) fn new(config: &Sgc, seed: Seed, is_real: bool) -> Self {
        let mut it = Self {
            rows: BTreeMap::new(),
            streams: HashMap::new(),
            associations: BTreeMap::new(),
            retries: BTreeSet::new(),
            challenges: BTreeMap::new(),
            waiting: BTreeMap::new(),
            reconnect: reconnect(config),
            doorway: None,
            seed,
            is_real,
            is_closing: false,
        };
        it.doorway = config.sctp.as_ref().map(|sctp| it.endpoint(sctp));
        it
    }

    /// A new SCTP endpoint; no two of them have the same secret.
    fn endpoint(&mut self, sctp: &sctp_stack::Config) -> Doorway {
        let seed = self.seed;
        let used = u64::from_le_bytes(core::array::from_fn(|n| seed.random[n])).wrapping_add(1);
        self.seed.random[..8].copy_from_slice(&used.to_le_bytes());
        match self.is_real {
            true => Doorway::new(sctp, SCTP_PORTS, &seed),
            false => Doorway::simulated(sctp, SCTP_PORTS, &seed),
        }
    }

    /// A peer joins; its association is opened with the next tick where this node connects.
    pub(crate) fn add(
        &mut self,
        now: Time,
        id: PeerId,
        (config, screen): (Peer, Screen),
        target: Option<Flow>,
    ) {
        let link = Link {
            config,
            screen,
            state: State::Idle,
            since: now,
            why: "",
            way: None,
            congestion: 0,
            target,
            retry_at: None,
        };
        self.rows.insert(id, link);
        self.retry(id, now);
    }

    /// A peer goes, and its association with it.
    pub(crate) fn remove(&mut self, now: Time, id: PeerId, out: &mut Effects) {
        self.end_challenge(now, id);
        self.close(now, id, out);
        self.forget_waiting(id, out);
        self.forget_retry(id);
        self.rows.remove(&id);
    }

    /// Timers and doorways change; what stands stays where the doorway lets it.
    pub(crate) fn configure(&mut self, now: Time, config: &Sgc) {
        self.reconnect = reconnect(config);
        match (&mut self.doorway, &config.sctp) {
            (Some(doorway), Some(sctp)) => doorway.configure(now, sctp, SCTP_PORTS),
            (None, Some(sctp)) => self.doorway = Some(self.endpoint(sctp)),
            // Its peers have gone before.
            (_, None) => self.doorway = None,
        }
    }

    /// The peers' addresses are no strangers to the SCTP endpoint.
    pub(crate) fn know(&mut self, config: &Sgc) {
        let addresses = config.peer.iter().flat_map(|peer| peer.addresses.iter().copied());
        if let Some(doorway) = &mut self.doorway {
            doorway.set_known(addresses.collect());
        }
    }

    pub(crate) fn link(&self, id: PeerId) -> Option<&Link> {
        self.rows.get(&id)
    }

    pub(crate) fn link_mut(&mut self, id: PeerId) -> Option<&mut Link> {
        self.rows.get_mut(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (PeerId, &Link)> {
        self.rows.iter().map(|(id, link)| (*id, link))
    }

    pub(crate) fn find(&self, name: &str) -> Option<PeerId> {
        self.iter().find(|(_, link)| link.config.name == name).map(|(id, _)| id)
    }

    /// Sends a message of the M3UA process.
    pub(crate) fn send(
        &mut self,
        now: Time,
        (to, stream, bytes): (PeerId, u16, Bytes),
        facts: &Sheet<Fact>,
        out: &mut Effects,
    ) {
        match self.rows.get(&to).and_then(|link| link.way) {
            Some(Way::Stream(flow)) => out.send(flow, |buffer| buffer.extend_from_slice(&bytes)),
            Some(Way::Association(id)) => self.send_on(now, id, stream, bytes),
            None => facts.add(Fact::Unsent, 1),
        }
    }

    /// The M3UA process has given an association up: it takes it for lost already.
    pub(crate) fn abort(&mut self, now: Time, id: PeerId, out: &mut Effects) {
        self.close(now, id, out);
        self.forget_waiting(id, out);
        self.rest(now, id, "its heartbeat stopped");
    }

    /// Ends the association of a peer; nobody is told.
    fn close(&mut self, now: Time, id: PeerId, out: &mut Effects) {
        let way = self.rows.get_mut(&id).and_then(|link| link.way.take());
        match way {
            Some(Way::Stream(flow)) => {
                self.streams.remove(&flow.conn);
                out.close(flow);
            }
            Some(Way::Association(association)) => {
                self.associations.remove(&association);
                self.abort_association(now, association);
            }
            None => {}
        }
    }

    /// Ends every association in order: what was given to them is sent before.
    pub(crate) fn close_all(&mut self, now: Time, out: &mut Effects) {
        if core::mem::replace(&mut self.is_closing, true) {
            return;
        }
        self.retries.clear();
        for id in self.waiting.keys().copied().collect::<Vec<_>>() {
            self.forget_waiting(id, out);
        }
        for id in self.rows.keys().copied().collect::<Vec<_>>() {
            match self.rows.get(&id).and_then(|link| link.way) {
                Some(Way::Association(association)) => self.shut_down(now, association),
                _ => self.close(now, id, out),
            }
        }
    }

    /// Whether no association stands any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.rows.values().all(|link| link.way.is_none())
    }

    /// An association stands.
    fn stands(&mut self, now: Time, id: PeerId, way: Way, told: (Option<u16>, &mut Vec<In>)) {
        self.forget_retry(id);
        let Some(link) = self.rows.get_mut(&id) else { return };
        link.way = Some(way);
        link.state = State::Up;
        link.since = now;
        link.why = "";
        link.congestion = 0;
        match way {
            Way::Stream(flow) => drop(self.streams.insert(flow.conn, id)),
            Way::Association(association) => drop(self.associations.insert(association, id)),
        }
        let (streams, inputs) = told;
        inputs.push(In::CommunicationUp(id, streams));
    }

    /// An association is no more, or did not come to stand.
    fn lost(&mut self, now: Time, id: PeerId, why: &'static str, told: &mut Vec<In>) {
        let Some(link) = self.rows.get_mut(&id) else { return };
        match link.way.take() {
            Some(Way::Stream(flow)) => drop(self.streams.remove(&flow.conn)),
            Some(Way::Association(association)) => drop(self.associations.remove(&association)),
            None => {}
        }
        if link.state == State::Up {
            told.push(In::CommunicationLost(id));
        }
        self.rest(now, id, why);
    }

    /// Nothing stands; the next attempt waits for its time.
    fn rest(&mut self, now: Time, id: PeerId, why: &'static str) {
        let Some(link) = self.rows.get_mut(&id) else { return };
        if link.state == State::Up {
            link.since = now;
        }
        link.state = State::Idle;
        link.congestion = 0;
        link.why = why;
        self.retry(id, now + self.reconnect);
    }

    fn retry(&mut self, id: PeerId, at: Time) {
        self.forget_retry(id);
        let Some(link) = self.rows.get_mut(&id) else { return };
        if link.config.connect && !self.is_closing {
            link.retry_at = Some(at);
            self.retries.insert((at, id));
        }
    }

    fn forget_retry(&mut self, id: PeerId) {
        let at = self.rows.get_mut(&id).and_then(|link| link.retry_at.take());
        if let Some(at) = at {
            self.retries.remove(&(at, id));
        }
    }

    /// Lets time pass: associations are opened whose time has come.
    pub(crate) fn tick(
        &mut self,
        now: Time,
        facts: &Sheet<Fact>,
        told: &mut Vec<In>,
        out: &mut Effects,
    ) {
        self.challenges_due(now, facts, told);
        self.waiting_due(now, told, out);
        while let Some((at, id)) = self.retries.first().copied().filter(|(at, _)| *at <= now) {
            self.retries.remove(&(at, id));
            let Some(link) = self.rows.get_mut(&id) else { continue };
            link.retry_at = None;
            link.state = State::Opening;
            facts.add(Fact::Attempts, 1);
            match link.config.transport {
                Carriage::Tcp => {
                    if let Some(target) = link.target {
                        out.open(target);
                    }
                }
                Carriage::Sctp => self.associate(now, id),
            }
        }
        if let Some(doorway) = &mut self.doorway {
            doorway.tick(now);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        let retry = self.retries.first().map(|(at, _)| *at);
        let doorway = self.doorway.as_ref().and_then(Doorway::deadline);
        retry
            .into_iter()
            .chain(doorway)
            .chain(self.challenge_deadline())
            .chain(self.waiting_deadline())
            .min()
    }

    /// Packets out.
    pub(crate) fn flush(&mut self, out: &mut Effects) {
        if let Some(doorway) = &mut self.doorway {
            doorway.flush(out);
        }
    }

    /// The peer that an association from these addresses, which the far end has shown to be its
    /// own, belongs to: one without an association first. One that has an association already is
    /// meant if no other peer could be: the old one may be dead without this node having noticed.
    fn claimant(&self, carriage: Carriage, from: &[IpAddr], port: u16) -> Option<PeerId> {
        let of_port = |link: &Link| link.config.port.is_none_or(|own| own == port);
        let fits = |link: &&(PeerId, &Link)| {
            let is_carried = link.1.config.transport == carriage;
            // Over TCP the port of a peer that this node connects to is where it listens.
            let may = carriage == Carriage::Sctp || !link.1.config.connect;
            is_carried && may && of_port(link.1)
        };
        let candidates: Vec<(PeerId, &Link)> = self.iter().filter(|it| fits(&it)).collect();
        let has =
            |it: &&(PeerId, &Link)| it.1.config.addresses.iter().any(|own| from.contains(own));
        let mut matching: Vec<&(PeerId, &Link)> = candidates.iter().filter(has).collect();
        if matching.is_empty() {
            let is_any = |it: &&(PeerId, &Link)| it.1.config.addresses.is_empty();
            matching = candidates.iter().filter(is_any).collect();
        }
        // A peer whose port is known is meant before one that may have any.
        matching.sort_by_key(|it| it.1.config.port.is_none());
        let free = matching.iter().find(|it| it.1.way.is_none() || it.1.state != State::Up);
        match (free, &matching[..]) {
            (Some(free), _) => Some(free.0),
            (None, [only]) => Some(only.0),
            _ => None,
        }
    }
}

fn reconnect(config: &Sgc) -> Duration {
    Duration::from_millis(config.timers.reconnect_ms.into())
}
