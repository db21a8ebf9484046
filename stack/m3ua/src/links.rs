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

use crate::challenge::Challenge;
use crate::config::{Carriage, Peer, Section};
use crate::stream::Waiting;
use bytes::Bytes;
use hashbrown::HashMap;
use m3ua::codec::MessageClass;
use m3ua::{In, PeerId};
use machine::{Duration, Time};
use runtime::{ConnId, Effects, Flow, PortId, Seed, Transport};
use sctp_stack::{AssociationId, SctpEndpoint};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

/// Where the association of a peer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// There is none.
    Idle,
    /// This node has begun one.
    Opening,
    /// It stands.
    Up,
}

/// What carries the messages of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A TCP connection.
    Stream(Flow),
    /// An SCTP association.
    Association(AssociationId),
}

/// A peer and its association.
#[derive(Debug)]
pub struct Link {
    /// What its configuration says.
    pub config: Peer,
    /// Where its association stands.
    pub state: State,
    /// Since when.
    pub since: Time,
    /// Why it does not stand; empty when nothing has happened yet.
    pub why: &'static str,
    /// What carries its messages.
    pub way: Option<Way>,
    /// How congested it is, 0 to 3.
    pub congestion: u8,
    /// MSUs that came from it.
    pub msus_in: u64,
    /// MSUs that it was sent.
    pub msus_out: u64,
    /// Associations with it that ended.
    pub losses: u64,
    /// How it is reached over TCP, if this node connects.
    pub(crate) target: Option<Flow>,
    retry_at: Option<Time>,
}

impl Link {
    fn log_end(&self, function: &str, reason: &str) {
        let peer = &*self.config.name;
        tracing::warn!(target: "m3ua", function, peer, reason, "the association ended");
    }
}

/// What the links have counted since they began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Associations that this node set out to open.
    pub attempts: u64,
    /// Associations from an address of no peer that waits for one.
    pub refused: u64,
    /// Associations that claimed a peer whose own stands and answers.
    pub claims_refused: u64,
    /// Messages for a peer without an association.
    pub unsent: u64,
    /// MSUs that found the send buffer of their association full.
    pub shed: u64,
    /// Messages that an association was lost with, or that were given up on the way.
    pub lost: u64,
}

/// The links of a function. Bounded by the peers that are configured.
///
/// Whoever calls [`Links::step`], [`Links::tick`] or another verb then takes everything from
/// [`Links::next`] and calls [`Links::flush`].
#[derive(Debug)]
pub struct Links {
    pub(crate) rows: BTreeMap<PeerId, Link>,
    pub(crate) streams: HashMap<ConnId, PeerId>,
    pub(crate) associations: BTreeMap<AssociationId, PeerId>,
    retries: BTreeSet<(Time, PeerId)>,
    /// Newcomers that claim a peer whose association stands; one a peer.
    pub(crate) challenges: BTreeMap<PeerId, Challenge>,
    /// The same over TCP.
    pub(crate) waiting: BTreeMap<PeerId, Waiting>,
    reconnect: Duration,
    /// The name of the function, for the log.
    function: String,
    pub(crate) endpoint: Option<SctpEndpoint>,
    /// What the M3UA process is to be told.
    pub(crate) told: VecDeque<In>,
    pub(crate) counts: Counts,
    seed: Seed,
    is_real: bool,
    pub(crate) is_closing: bool,
}

impl Links {
    /// Links without peers.
    #[must_use]
    pub fn new(section: &Section<'_>, seed: Seed) -> Self {
        Self::made(section, seed, true)
    }

    /// The same in a simulated world, where the machine's own routes mean nothing.
    #[must_use]
    pub fn simulated(section: &Section<'_>, seed: Seed) -> Self {
        Self::made(section, seed, false)
    }

    fn made(section: &Section<'_>, seed: Seed, is_real: bool) -> Self {
        let mut it = Self {
            rows: BTreeMap::new(),
            streams: HashMap::new(),
            associations: BTreeMap::new(),
            retries: BTreeSet::new(),
            challenges: BTreeMap::new(),
            waiting: BTreeMap::new(),
            reconnect: section.reconnect,
            function: section.name.to_owned(),
            endpoint: None,
            told: VecDeque::new(),
            counts: Counts::default(),
            seed,
            is_real,
            is_closing: false,
        };
        it.endpoint = section.sctp.map(|sctp| it.endpoint(sctp, section.sctp_ports()));
        it
    }

    /// A new SCTP endpoint; no two of them have the same secret.
    fn endpoint(&mut self, sctp: &sctp_stack::Config, first: PortId) -> SctpEndpoint {
        let seed = self.seed;
        let used = u64::from_le_bytes(core::array::from_fn(|n| seed.random[n])).wrapping_add(1);
        self.seed.random[..8].copy_from_slice(&used.to_le_bytes());
        match self.is_real {
            true => SctpEndpoint::new(sctp, first, &seed),
            false => SctpEndpoint::simulated(sctp, first, &seed),
        }
    }

    /// A peer joins, by the number that the M3UA process gave it; its association is opened with
    /// the next tick where this node connects.
    pub fn add(&mut self, now: Time, id: PeerId, peer: &Peer, section: &Section<'_>) {
        let link = Link {
            config: peer.clone(),
            state: State::Idle,
            since: now,
            why: "",
            way: None,
            congestion: 0,
            msus_in: 0,
            msus_out: 0,
            losses: 0,
            target: section.stream_to(peer),
            retry_at: None,
        };
        self.rows.insert(id, link);
        self.retry(id, now);
    }

    /// A peer goes, and its association with it.
    pub fn remove(&mut self, now: Time, id: PeerId, out: &mut Effects) {
        self.end_challenge(now, id);
        if let Some(link) = self.rows.get(&id).filter(|link| link.state == State::Up) {
            link.log_end(&self.function, "the peer is configured no more");
        }
        self.close(now, id, out);
        self.forget_waiting(id, out);
        self.forget_retry(id);
        self.rows.remove(&id);
    }

    /// Timers and ports change; what stands stays where the endpoint lets it.
    pub fn configure(&mut self, now: Time, section: &Section<'_>) {
        self.reconnect = section.reconnect;
        let first = section.sctp_ports();
        match (&mut self.endpoint, section.sctp) {
            (Some(endpoint), Some(sctp)) => endpoint.configure(now, sctp, first),
            (None, Some(sctp)) => self.endpoint = Some(self.endpoint(sctp, first)),
            // Its peers have gone before.
            (_, None) => self.endpoint = None,
        }
    }

    /// The peers' addresses are no strangers to the SCTP endpoint.
    pub fn know(&mut self, section: &Section<'_>) {
        let addresses = section.peer.iter().flat_map(|peer| peer.addresses.iter().copied());
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.set_known(addresses.collect());
        }
    }

    /// Takes what happened on one of the ports; a TCP message whole, as [`crate::frame`] cut it.
    pub fn step(&mut self, now: Time, input: &runtime::In<'_>, out: &mut Effects) {
        use runtime::In;
        match input {
            In::Message { flow, bytes } if flow.transport == Transport::Tcp => {
                self.stream_message(flow, bytes, out);
            }
            In::Message { .. } | In::Ready { .. } | In::Returned { .. } => {
                self.endpoint.iter_mut().for_each(|it| it.step(now, input));
            }
            In::Up { flow } => self.stream_up(now, *flow, out),
            In::Down { flow, why } if flow.transport == Transport::Tcp => {
                self.stream_down(now, flow, why);
            }
            In::Down { .. }
            | In::Proved { .. }
            | In::Written { .. }
            | In::Channel { .. }
            | In::Resolved { .. }
            | In::Work { .. }
            | In::HandedBack { .. }
            | In::Drain => {}
        }
    }

    /// What the M3UA process is to be told next.
    pub fn next(&mut self, now: Time) -> Option<In> {
        loop {
            if let Some(input) = self.told.pop_front() {
                self.count_in(&input);
                return Some(input);
            }
            if !self.take(now) {
                return None;
            }
        }
    }

    fn count_in(&mut self, input: &In) {
        if let In::Message(id, _, bytes) = input
            && is_msu(bytes)
            && let Some(link) = self.rows.get_mut(id)
        {
            link.msus_in += 1;
        }
    }

    /// Another configuration of a peer whose association goes on.
    pub fn update_peer(&mut self, id: PeerId, peer: &Peer) {
        if let Some(link) = self.rows.get_mut(&id) {
            link.config = peer.clone();
        }
    }

    /// The SCTP endpoint, if there is one.
    #[must_use]
    pub const fn sctp(&self) -> Option<&SctpEndpoint> {
        self.endpoint.as_ref()
    }

    /// What was counted.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The link of a peer.
    #[must_use]
    pub fn link(&self, id: PeerId) -> Option<&Link> {
        self.rows.get(&id)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (PeerId, &Link)> {
        self.rows.iter().map(|(id, link)| (*id, link))
    }

    /// The peer of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<PeerId> {
        self.iter().find(|(_, link)| link.config.name == name).map(|(id, _)| id)
    }

    /// Sends a message of the M3UA process.
    pub fn send(&mut self, now: Time, to: PeerId, stream: u16, bytes: Bytes, out: &mut Effects) {
        let Some(link) = self.rows.get_mut(&to) else { return self.counts.unsent += 1 };
        link.msus_out += u64::from(link.way.is_some() && is_msu(&bytes));
        match link.way {
            Some(Way::Stream(flow)) => out.send(flow, |buffer| buffer.extend_from_slice(&bytes)),
            Some(Way::Association(id)) => self.send_on(now, id, stream, bytes),
            None => self.counts.unsent += 1,
        }
    }

    /// The M3UA process has given an association up: it takes it for lost already.
    pub fn abort(&mut self, now: Time, id: PeerId, out: &mut Effects) {
        self.close(now, id, out);
        self.forget_waiting(id, out);
        self.rest(now, id, "its heartbeat stopped");
    }

    /// Ends the association of a peer; nobody is told.
    pub(crate) fn close(&mut self, now: Time, id: PeerId, out: &mut Effects) {
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
    pub fn close_all(&mut self, now: Time, out: &mut Effects) {
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
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.rows.values().all(|link| link.way.is_none())
    }

    /// An association stands.
    pub(crate) fn stands(&mut self, now: Time, id: PeerId, way: Way, streams: Option<u16>) {
        self.forget_retry(id);
        let Some(link) = self.rows.get_mut(&id) else { return };
        link.way = Some(way);
        if link.state != State::Up {
            let (function, peer) = (&*self.function, &*link.config.name);
            tracing::info!(target: "m3ua", function, peer, "the association stands");
        }
        link.state = State::Up;
        link.since = now;
        link.why = "";
        link.congestion = 0;
        match way {
            Way::Stream(flow) => drop(self.streams.insert(flow.conn, id)),
            Way::Association(association) => drop(self.associations.insert(association, id)),
        }
        self.told.push_back(In::CommunicationUp(id, streams));
    }

    /// An association is no more, or did not come to stand.
    pub(crate) fn lost(&mut self, now: Time, id: PeerId, why: &'static str) {
        let Some(link) = self.rows.get_mut(&id) else { return };
        match link.way.take() {
            Some(Way::Stream(flow)) => drop(self.streams.remove(&flow.conn)),
            Some(Way::Association(association)) => drop(self.associations.remove(&association)),
            None => {}
        }
        if link.state == State::Up {
            self.told.push_back(In::CommunicationLost(id));
        }
        self.rest(now, id, why);
    }

    /// Nothing stands; the next attempt waits for its time.
    pub(crate) fn rest(&mut self, now: Time, id: PeerId, why: &'static str) {
        let Some(link) = self.rows.get_mut(&id) else { return };
        if link.state == State::Up {
            link.since = now;
            link.losses += 1;
            link.log_end(&self.function, why);
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
    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        self.challenges_due(now);
        self.waiting_due(now, out);
        while let Some((at, id)) = self.retries.first().copied().filter(|(at, _)| *at <= now) {
            self.retries.remove(&(at, id));
            let Some(link) = self.rows.get_mut(&id) else { continue };
            link.retry_at = None;
            link.state = State::Opening;
            self.counts.attempts += 1;
            match link.config.transport {
                Carriage::Tcp => {
                    if let Some(target) = link.target {
                        out.open(target);
                    }
                }
                Carriage::Sctp => self.associate(now, id),
            }
        }
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.tick(now);
        }
    }

    /// When [`Links::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let retry = self.retries.first().map(|(at, _)| *at);
        let endpoint = self.endpoint.as_ref().and_then(SctpEndpoint::deadline);
        retry
            .into_iter()
            .chain(endpoint)
            .chain(self.challenge_deadline())
            .chain(self.waiting_deadline())
            .min()
    }

    /// Packets out.
    pub fn flush(&mut self, out: &mut Effects) {
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.flush(out);
        }
    }

    /// The peer that an association from these addresses, which the far end has shown to be its
    /// own, belongs to: one without an association first. One that has an association already is
    /// meant if no other peer could be: the old one may be dead without this node having noticed.
    pub(crate) fn claimant(
        &self,
        carriage: Carriage,
        from: &[IpAddr],
        port: u16,
    ) -> Option<PeerId> {
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

/// Whether a message is a DATA.
pub(crate) fn is_msu(message: &[u8]) -> bool {
    message.get(2).copied().and_then(MessageClass::of) == Some(MessageClass::Transfer)
}
