//! A Diameter node (RFC 6733): its peers, its routes, the requests under way, one deadline for all.

mod answer;
mod arrived;
mod capabilities;
mod configure;
mod connect;
mod disconnect;
mod duplicates;
mod peer;
mod requests;
mod room;
mod route;
mod watchdog;

pub use configure::NodeStatus;
pub use peer::{PeerCounts, PeerStatus, State};

use crate::codec::{Flags, Message};
use crate::dictionary::Dictionary;
use crate::effects::{In, Indication, Out};
use crate::metrics::Metric;
use crate::rows::base;
use crate::settings::{Connection, PeerId, Settings};
use crate::timers::{Timer, Timers};
use arrived::Arrived;
use bytes::Bytes;
use connect::{End, Standing};
use duplicates::Duplicates;
use event::Metrics;
use machine::{Machine, Time};
use peer::Peers;
use requests::Requests;
use route::Routes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A node. It is infallible: a peer's violation is answered, counted and told.
#[derive(Debug)]
pub struct Node {
    settings: Settings,
    dictionary: Arc<Dictionary>,
    peers: Peers,
    connections: BTreeMap<Connection, Standing>,
    routes: Routes,
    requests: Requests,
    arrived: Arrived,
    duplicates: Duplicates,
    timers: Timers,
    /// The next End-to-End Identifier.
    end_to_end: u32,
    /// The state of the generator of random numbers.
    random: u64,
    is_closing: bool,
    metrics: Metrics<Metric>,
    now: Time,
    out: Vec<Out>,
}

impl Node {
    /// SplitMix64 (Steele, Lea and Flood 2014).
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.random;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// RFC 6733 §3: the low 12 bits of the time of the start in front, then 20 bits that count.
    const fn next_end_to_end(&mut self) -> u32 {
        self.end_to_end = self.end_to_end.wrapping_add(1);
        self.end_to_end
    }

    fn indicate(&mut self, indication: Indication) {
        self.out.push(Out::Indicate(indication));
    }

    fn count(&self, metric: Metric) {
        self.metrics.add(metric, 1);
    }

    fn send(&mut self, way: Connection, peer: Option<PeerId>, octets: Bytes) {
        self.count(Metric::MessagesOut);
        if let Some(peer) = peer.and_then(|id| self.peers.find_mut(id)) {
            peer.counts.messages_out += 1;
        }
        self.out.push(Out::Send(way, octets));
    }

    fn peer_of(&self, way: Connection) -> Option<PeerId> {
        match self.connections.get(&way)?.end {
            End::Own(id) | End::Theirs(id) => Some(id),
            End::Stranger => None,
        }
    }

    /// A whole message came.
    fn message(&mut self, way: Connection, octets: &Bytes) {
        self.count(Metric::MessagesIn);
        let id = match self.connections.get(&way).map(|it| it.end) {
            None => return self.count(Metric::Stray),
            Some(End::Stranger) => return self.stranger(way, octets),
            Some(End::Own(id) | End::Theirs(id)) => id,
        };
        let Some(peer) = self.peers.find_mut(id) else { return };
        peer.counts.messages_in += 1;
        if peer.way != Some(way) {
            // In an election: the CER was heard, nothing else is before its end.
            return self.count(Metric::Stray);
        }
        let header = answer::header(octets);
        let is_of =
            |command: &crate::row::Command| header.is_some_and(|it| it.command == command.code);
        let is_answer = header.is_some_and(|it| !it.flags.has(Flags::REQUEST));
        let is_cea = is_answer && is_of(&base::CAPABILITIES_EXCHANGE);
        let own = [&base::CAPABILITIES_EXCHANGE, &base::DEVICE_WATCHDOG, &base::DISCONNECT_PEER];
        match peer.state {
            State::WaitICea | State::WaitReturns if is_cea => self.neighbour(id, way, octets),
            State::Open | State::Closing if own.into_iter().any(is_of) => {
                self.neighbour(id, way, octets);
            }
            State::Open | State::Closing => self.traffic(id, way, octets),
            // I-Rcv-Non-CEA (RFC 6733 §5.6)
            _ => self.end(id, "it has sent something before its CEA"),
        }
    }

    /// A message between neighbours (RFC 6733 §5.3 to §5.5).
    fn neighbour(&mut self, id: PeerId, way: Connection, octets: &Bytes) {
        let checked = Message::read(octets)
            .and_then(|message| self.dictionary.check(&message).map(|command| (message, command)));
        let (message, command) = match checked {
            Ok(checked) => checked,
            Err(violation) => return self.offended(id, way, octets, violation),
        };
        match (command.code, message.is_request()) {
            (257, true) => self.cer(way, octets, &message),
            (257, false) => self.cea(id, &message),
            (280, true) => {
                self.heard(id);
                self.answer_watchdog(id, &message);
            }
            (280, false) => self.watchdog_answered(id, &message),
            (_, true) => self.dpr(id, &message),
            (_, false) => self.dpa(id),
        }
    }

    /// What offends between neighbours, or an answer that cannot be read.
    fn offended(
        &mut self,
        id: PeerId,
        way: Connection,
        octets: &Bytes,
        violation: crate::codec::Violation,
    ) {
        let header = answer::header(octets);
        if header.is_some_and(|it| it.flags.has(Flags::REQUEST)) {
            return self.refuse(id, way, octets, violation);
        }
        self.count(Metric::Malformed);
        self.indicate(Indication::Complaint(Some(id), violation));
        let waits = self
            .peers
            .find(id)
            .is_some_and(|it| matches!(it.state, State::WaitICea | State::WaitReturns));
        if waits {
            self.end(id, "its CEA is malformed");
        }
    }

    /// A message of an application.
    fn traffic(&mut self, id: PeerId, way: Connection, octets: &Bytes) {
        self.heard(id);
        let is_request = answer::header(octets).is_some_and(|it| it.flags.has(Flags::REQUEST));
        if is_request {
            return self.asked(id, way, octets);
        }
        match Message::read(octets) {
            Ok(message) => self.answered(id, octets, &message),
            Err(violation) => self.offended(id, way, octets, violation),
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Connect(id) => self.connect(id),
            Timer::State(id) => self.state_due(id),
            Timer::Watchdog(id) => self.watchdog_due(id),
            Timer::Greeting(way) => self.drop_connection(way),
        }
    }
}

impl Machine for Node {
    type In = In;
    type Out = Out;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        self.now = self.now.max(now);
        match input {
            In::Request(outgoing) => self.ask(outgoing),
            In::Answer(request, octets) => self.answer(request, octets),
            In::Start(id) => {
                if let Some(peer) = self.peers.find_mut(id) {
                    peer.is_wanted = true;
                }
                self.connect(id);
            }
            In::Stop(id, cause) => self.stop(id, cause),
            transport => self.transport(transport),
        }
        out.append(&mut self.out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        self.now = self.now.max(now);
        while let Some(timer) = self.timers.pop(self.now) {
            self.fire(timer);
        }
        self.requests_due();
        self.arrived_due();
        out.append(&mut self.out);
    }

    fn deadline(&self) -> Option<Time> {
        let timers = self.timers.deadline();
        let tables = [self.requests.deadline(), self.arrived.deadline()];
        tables.into_iter().flatten().chain(timers).min()
    }
}
