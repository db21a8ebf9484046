//! The speaker's side of a session with a station (RFC 7854 §3.2, §3.3).
//!
//! ```text
//!          retry                Connected
//!   Idle ─────────→ Connecting ───────────→ Up: Initiation, the peers one after the other, live
//!    ↑                  │                    │
//!    └──────────────────┴────────────────────┘ lost, timeout, stall, overflow
//! ```

use crate::effects::{Counters, In, Out, PEERS_MAX, PeerId, QUEUE_BYTES_MAX, Settings, Token};
use crate::message::TerminationReason;
use crate::write::{write_initiation, write_termination};
use machine::{Duration, Machine, Time};
use std::collections::{BTreeMap, VecDeque};

/// Doublings of the time after a failure at most.
const DOUBLINGS_MAX: u32 = 16;

wire::rows! {
    /// Where a session stands.
    pub enum State {
        /// There is no connection.
        Idle = "idle", "RFC 7854 §3.2";
        /// It is being opened.
        Connecting = "connecting", "RFC 7854 §3.2";
        /// The station is told.
        Up = "up", "RFC 7854 §3.3";
    }
}

/// What the station knows of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DumpState {
    /// Nothing: it waits for its turn.
    Nothing,
    /// Nothing, but the owner was asked.
    Asked,
    /// Its Peer Up and some routes; what happens now comes behind them.
    Partly,
    /// All of it.
    All,
}

/// A session with a station.
#[derive(Debug)]
pub struct Sender {
    settings: Settings,
    state: State,
    is_started: bool,
    peers: BTreeMap<PeerId, DumpState>,
    /// Peers whose turn comes.
    turns: VecDeque<PeerId>,
    /// The question that is open.
    asked: Option<(Token, PeerId)>,
    tokens: u64,
    is_complete: bool,
    is_blocked: bool,
    waiting: VecDeque<Vec<u8>>,
    waiting_bytes: usize,
    failures: u32,
    /// In Idle the next attempt, else when the connection or the station is given up.
    deadline: Option<Time>,
    statistics_at: Option<Time>,
    counters: Counters,
}

impl Sender {
    /// A sender that was not started yet and knows of no peers.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self {
            settings,
            state: State::Idle,
            is_started: false,
            peers: BTreeMap::new(),
            turns: VecDeque::new(),
            asked: None,
            tokens: 0,
            is_complete: false,
            is_blocked: false,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            failures: 0,
            deadline: None,
            statistics_at: None,
            counters: Counters {
                connects: 0,
                established: 0,
                sent_bytes: 0,
                overflows: 0,
                refused_peers: 0,
            },
        }
    }

    /// Where the session stands.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Whether every table was told since the connection is there.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Octets that wait here.
    #[must_use]
    pub const fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// What was counted.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    fn connect(&mut self, now: Time, out: &mut Vec<Out>) {
        self.state = State::Connecting;
        self.deadline = Some(now + self.settings.connect_timeout);
        self.counters.connects += 1;
        out.push(Out::Connect);
    }

    fn connected(&mut self, now: Time, out: &mut Vec<Out>) {
        self.state = State::Up;
        self.deadline = None;
        self.counters.established += 1;
        self.statistics_at = self.settings.statistics.map(|it| now + it);
        self.turns.clear();
        for (peer, told) in &mut self.peers {
            *told = DumpState::Nothing;
            self.turns.push_back(*peer);
        }
        let mut octets = Vec::new();
        write_initiation(&self.settings.description, &self.settings.name, "", &mut octets);
        self.send(now, octets, out);
        self.ask(out);
    }

    /// Gives the connection up, with the next attempt to come.
    fn fail(&mut self, now: Time, out: &mut Vec<Out>, must_close: bool) {
        if must_close {
            out.push(Out::Close);
        }
        let doubled = self.settings.retry.saturating_mul(1 << self.failures.min(DOUBLINGS_MAX));
        self.failures = self.failures.saturating_add(1);
        self.rest();
        self.deadline = Some(now + doubled.min(self.settings.retry_max));
    }

    /// Back to Idle, without anything that belonged to the connection.
    fn rest(&mut self) {
        self.state = State::Idle;
        self.turns.clear();
        self.waiting.clear();
        (self.asked, self.deadline, self.statistics_at) = (None, None, None);
        (self.is_complete, self.is_blocked, self.waiting_bytes) = (false, false, 0);
    }

    fn stop(&mut self, text: &str, out: &mut Vec<Out>) {
        self.is_started = false;
        if self.state == State::Up && !self.is_blocked {
            let mut octets = Vec::new();
            let reason = TerminationReason::AdministrativelyClosed;
            write_termination(reason, text, &mut octets);
            self.counters.sent_bytes += octets.len() as u64;
            out.push(Out::Send(octets));
        }
        if self.state != State::Idle {
            out.push(Out::Close);
        }
        self.rest();
        self.failures = 0;
    }

    /// Hands octets to the transport, or keeps them while that takes none.
    fn send(&mut self, now: Time, octets: Vec<u8>, out: &mut Vec<Out>) {
        if octets.is_empty() {
            return;
        }
        if !self.is_blocked {
            self.counters.sent_bytes += octets.len() as u64;
            return out.push(Out::Send(octets));
        }
        self.waiting_bytes += octets.len();
        self.waiting.push_back(octets);
        if self.waiting_bytes > QUEUE_BYTES_MAX {
            self.counters.overflows += 1;
            out.push(Out::Overflowed);
            self.fail(now, out, true);
        }
    }

    /// Asks for the next piece, if the transport takes it and nothing else is asked.
    fn ask(&mut self, out: &mut Vec<Out>) {
        if self.state != State::Up || self.is_blocked || self.asked.is_some() {
            return;
        }
        if let Some(peer) = self.turns.pop_front() {
            self.peers.insert(peer, DumpState::Asked);
            self.question(peer, true, out);
        } else if !self.is_complete {
            self.is_complete = true;
            // A station that was told everything is one that works.
            self.failures = 0;
            out.push(Out::Complete);
        }
    }

    fn question(&mut self, peer: PeerId, is_first: bool, out: &mut Vec<Out>) {
        self.tokens += 1;
        self.asked = Some((Token(self.tokens), peer));
        out.push(Out::Ask(Token(self.tokens), peer, is_first));
    }

    fn piece(&mut self, now: Time, token: Token, octets: Vec<u8>, more: bool, out: &mut Vec<Out>) {
        let Some((_, peer)) = self.asked.filter(|it| it.0 == token) else { return };
        self.send(now, octets, out);
        if self.state != State::Up {
            return;
        }
        self.asked = None;
        self.peers.insert(peer, if more { DumpState::Partly } else { DumpState::All });
        match (more, self.is_blocked) {
            (true, false) => self.question(peer, false, out),
            // Its turn goes on when the transport takes more.
            (true, true) => self.asked = Some((Token(0), peer)),
            (false, _) => self.ask(out),
        }
    }

    fn written(&mut self, now: Time, more: bool, out: &mut Vec<Out>) {
        if self.state != State::Up || !self.is_blocked {
            return;
        }
        self.deadline = Some(now + self.settings.stall);
        if more {
            return;
        }
        (self.is_blocked, self.deadline) = (false, None);
        self.waiting_bytes = 0;
        for octets in core::mem::take(&mut self.waiting) {
            self.send(now, octets, out);
        }
        match self.asked {
            Some((Token(0), peer)) => self.question(peer, false, out),
            _ => self.ask(out),
        }
    }

    fn peer_up(&mut self, peer: PeerId, out: &mut Vec<Out>) {
        if self.peers.len() >= PEERS_MAX && !self.peers.contains_key(&peer) {
            self.counters.refused_peers += 1;
            return;
        }
        let is_new = self.peers.insert(peer, DumpState::Nothing) != Some(DumpState::Nothing);
        if self.asked.is_some_and(|(_, asked)| asked == peer) {
            self.asked = None;
        }
        if is_new && self.state == State::Up {
            self.turns.push_back(peer);
            self.ask(out);
        }
    }

    fn peer_down(&mut self, now: Time, peer: PeerId, octets: Vec<u8>, out: &mut Vec<Out>) {
        let Some(told) = self.peers.remove(&peer) else { return };
        if self.state != State::Up {
            return;
        }
        if self.asked.is_some_and(|(_, asked)| asked == peer) {
            self.asked = None;
        }
        match told {
            DumpState::Nothing => self.turns.retain(|it| *it != peer),
            DumpState::Asked => {}
            DumpState::Partly | DumpState::All => self.send(now, octets, out),
        }
        self.ask(out);
    }

    fn live(&mut self, now: Time, peer: PeerId, octets: Vec<u8>, out: &mut Vec<Out>) {
        let told = self.peers.get(&peer);
        let is_known = matches!(told, Some(DumpState::Partly | DumpState::All));
        if self.state == State::Up && is_known {
            self.send(now, octets, out);
        }
    }
}

impl Machine for Sender {
    type In = In;
    type Out = Out;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        match input {
            In::Start if !self.is_started => {
                self.is_started = true;
                self.connect(now, out);
            }
            In::Stop(text) => self.stop(&text, out),
            In::Connected if self.state == State::Connecting => self.connected(now, out),
            In::ConnectFailed if self.state == State::Connecting => self.fail(now, out, false),
            In::Closed if self.state != State::Idle => self.fail(now, out, false),
            In::Blocked if self.state == State::Up && !self.is_blocked => {
                self.is_blocked = true;
                self.deadline = Some(now + self.settings.stall);
            }
            In::Written(more) => self.written(now, more, out),
            In::PeerUp(peer) => self.peer_up(peer, out),
            In::PeerDown(peer, octets) => self.peer_down(now, peer, octets, out),
            In::Live(peer, octets) => self.live(now, peer, octets, out),
            In::Piece(token, octets, more) => self.piece(now, token, octets, more, out),
            In::Start | In::Connected | In::ConnectFailed | In::Closed | In::Blocked => {}
        }
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        if self.deadline.is_some_and(|at| at <= now) {
            match self.state {
                State::Idle => self.connect(now, out),
                State::Connecting => self.fail(now, out, true),
                State::Up => {
                    self.counters.overflows += 1;
                    out.push(Out::Overflowed);
                    self.fail(now, out, true);
                }
            }
        }
        if self.statistics_at.is_some_and(|at| at <= now) {
            // A station that is slow already is not told more.
            if !self.is_blocked {
                out.push(Out::Statistics);
            }
            let every = self.settings.statistics.unwrap_or(Duration::MAX);
            self.statistics_at = Some(now + every.max(Duration::from_secs(1)));
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.deadline.into_iter().chain(self.statistics_at).min()
    }
}
