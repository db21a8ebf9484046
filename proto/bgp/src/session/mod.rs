//! The session with one peer (RFC 4271 §8): up to three connections at a time, of which one is
//! left, and what remains of the last one.
//!
//! ```text
//!   Idle ─Start→ Connect ─Connected→ OpenSent ─OPEN→ OpenConfirm ─KEEPALIVE→ Established
//!    ↑ ↖ passive → Active ─Accepted──↗                                        │
//!    └─────── IdleHoldTime, doubled with each failure ←─ violation, timer, loss ─┘
//! ```
//! A connection that cannot be had is no failure of the peer's: the next attempt waits for
//! ConnectRetryTime in Active, and the peer may connect meanwhile.

mod collision;
mod connection;
mod effects;
mod end;
mod negotiate;
mod random;
mod receive;
mod restart;
mod settings;

pub use collision::COLLISION_WINDOW;
pub use effects::{Cause, ConnectionId, Counters, In, Indication, Out, State};
pub use negotiate::Negotiated;
pub use settings::{PeerAs, Settings};

use crate::codec::{
    EXTENDED_MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX, MessageType, RefreshKind, keepalive, write_open,
    write_refresh,
};
use crate::family::Family;
use connection::{Connection, Due, Phase, Way};
use machine::{Duration, Machine, Time};
use random::Random;
use restart::Retained;

/// Connections of one session at most: one of each way, and an established one.
pub const CONNECTIONS_MAX: usize = 3;
/// The hold time until the peer's OPEN is there (RFC 4271 §8.2.2).
pub const OPEN_HOLD_TIME: Duration = Duration::from_secs(240);
/// The shortest time between attempts, and in Idle: a session does not spin, whatever is
/// configured.
const TIME_MIN: Duration = Duration::from_millis(100);
/// Doublings of the time in Idle that are counted at most.
const FAILURES_MAX: u32 = 16;

/// A session with one peer. Received octets are given to [`Session::receive`], all else to
/// [`Machine::step`].
///
/// Give it what waits in the sockets before [`Machine::tick`]: a hold timer shall not expire
/// while the KEEPALIVE is there already.
#[derive(Debug)]
pub struct Session {
    settings: Settings,
    random: Random,
    is_wanted: bool,
    /// A connection is being opened.
    is_connecting: bool,
    connect_retry: Option<Time>,
    idle_hold: Option<Time>,
    /// How often in a row the session failed.
    failures: u32,
    connections: Vec<Connection>,
    retained: Retained,
    /// What was told last.
    state: State,
    counters: Counters,
}

impl Session {
    /// A session that is not wanted yet. Sessions of one process shall have different seeds.
    #[must_use]
    pub fn new(settings: Settings, seed: u64) -> Self {
        Self {
            settings,
            random: Random::new(seed),
            is_wanted: false,
            is_connecting: false,
            connect_retry: None,
            idle_hold: None,
            failures: 0,
            connections: Vec::new(),
            retained: Retained::default(),
            state: State::Idle,
            counters: Counters::default(),
        }
    }

    /// The state of the connection that is furthest.
    #[must_use]
    pub fn state(&self) -> State {
        match self.connections.iter().map(|it| it.phase).max() {
            Some(Phase::Established) => State::Established,
            Some(Phase::OpenConfirm) => State::OpenConfirm,
            Some(Phase::OpenSent) => State::OpenSent,
            _ if self.is_connecting => State::Connect,
            Some(Phase::DelayOpen) => State::Active,
            None if self.is_wanted && self.idle_hold.is_none() => State::Active,
            None => State::Idle,
        }
    }

    /// What was agreed on with the peer, while the session is established.
    #[must_use]
    pub fn negotiated(&self) -> Option<&Negotiated> {
        let connection = self.connections.iter().find(|it| it.phase == Phase::Established)?;
        connection.negotiated.as_deref()
    }

    /// The connections that are known.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> {
        self.connections.iter().map(|connection| connection.id)
    }

    /// What was counted.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The settings.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// That many UPDATEs, or a message of its own where there are none, were handed to the
    /// transport, which has yet to take them: [`In::Sent`] and [`In::Blocked`] in one.
    pub fn handed_over(&mut self, now: Time, id: ConnectionId, updates: u64) {
        if updates > 0 {
            self.sent(now, id, updates);
        }
        self.established(id).into_iter().for_each(|it| it.waits(now, false));
    }

    fn index(&self, id: ConnectionId) -> Option<usize> {
        self.connections.iter().position(|connection| connection.id == id)
    }

    fn established(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        let is_it = |it: &&mut Connection| it.id == id && it.phase == Phase::Established;
        self.connections.iter_mut().find(is_it)
    }

    fn count_sent(&mut self, kind: MessageType) {
        self.counters.sent[kind as usize] += 1;
    }

    fn start(&mut self, now: Time, out: &mut Vec<Out>) {
        if !self.is_wanted {
            self.is_wanted = true;
            self.begin(now, out);
        }
    }

    /// Out of Idle.
    fn begin(&mut self, now: Time, out: &mut Vec<Out>) {
        self.idle_hold = None;
        if !self.settings.passive {
            self.connect(now, out);
        }
    }

    fn connect(&mut self, now: Time, out: &mut Vec<Out>) {
        if self.is_connecting {
            out.push(Out::Abandon);
        }
        self.is_connecting = true;
        self.counters.connects += 1;
        self.arm_connect_retry(now);
        out.push(Out::Connect);
    }

    fn arm_connect_retry(&mut self, now: Time) {
        let time = self.settings.connect_retry.max(TIME_MIN);
        self.connect_retry = Some(now + self.random.jitter(time));
    }

    fn abandon(&mut self, out: &mut Vec<Out>) {
        if self.is_connecting {
            self.is_connecting = false;
            out.push(Out::Abandon);
        }
        self.connect_retry = None;
    }

    fn connected(&mut self, now: Time, id: ConnectionId, out: &mut Vec<Out>) {
        if self.index(id).is_some() {
            return;
        }
        if !self.is_connecting {
            return out.push(Out::Close(id));
        }
        self.is_connecting = false;
        self.connect_retry = None;
        self.add(now, Connection::new(id, Way::Outgoing), out);
    }

    fn connect_failed(&mut self, now: Time) {
        if self.is_connecting {
            self.is_connecting = false;
            self.arm_connect_retry(now);
        }
    }

    fn accepted(&mut self, now: Time, id: ConnectionId, out: &mut Vec<Out>) {
        if self.index(id).is_some() {
            return;
        }
        let is_idle = !self.is_wanted || self.idle_hold.is_some();
        // Who opens another connection has lost the one before.
        let is_old = |it: &&Connection| it.way == Way::Incoming && it.phase != Phase::Established;
        if let Some(old) = self.connections.iter().find(is_old).map(|it| it.id) {
            self.end(now, old, Cause::Replaced, out);
        }
        if is_idle || self.connections.len() >= CONNECTIONS_MAX {
            self.counters.refused += 1;
            return out.push(Out::Close(id));
        }
        self.add(now, Connection::new(id, Way::Incoming), out);
    }

    fn add(&mut self, now: Time, mut connection: Connection, out: &mut Vec<Out>) {
        let id = connection.id;
        let delay = self.settings.delay_open;
        if !delay.is_zero() {
            connection.delay_open = Some(now + delay);
        }
        self.idle_hold = None;
        self.connections.push(connection);
        if delay.is_zero() {
            self.send_open(now, id, out);
        }
    }

    fn send_open(&mut self, now: Time, id: ConnectionId, out: &mut Vec<Out>) {
        let Some(index) = self.index(id) else { return };
        let mut message = Vec::with_capacity(128);
        write_open(&self.settings.offer, &mut message);
        out.push(Out::Send(id, message));
        self.count_sent(MessageType::Open);
        let connection = &mut self.connections[index];
        (connection.phase, connection.delay_open) = (Phase::OpenSent, None);
        connection.hold = Some(now + self.settings.open_hold);
        connection.message_max = match self.settings.offer.extended_message {
            true => EXTENDED_MESSAGE_BYTES_MAX,
            false => MESSAGE_BYTES_MAX,
        };
    }

    fn send_keepalive(&mut self, now: Time, id: ConnectionId, out: &mut Vec<Out>) {
        let Some(index) = self.index(id) else { return };
        let mut message = Vec::with_capacity(32);
        keepalive(&mut message);
        out.push(Out::Send(id, message));
        self.count_sent(MessageType::Keepalive);
        self.arm_keepalive(now, index);
    }

    fn arm_keepalive(&mut self, now: Time, index: usize) {
        let connection = &mut self.connections[index];
        let time = connection.negotiated.as_ref().map_or(Duration::ZERO, |it| it.keepalive_time);
        let jittered = self.random.jitter(time);
        connection.keepalive = (!time.is_zero()).then(|| now + jittered);
    }

    fn sent(&mut self, now: Time, id: ConnectionId, updates: u64) {
        if self.established(id).is_some() {
            self.counters.sent[MessageType::Update as usize] += updates;
            let index = self.index(id).expect("it was found");
            self.arm_keepalive(now, index);
        }
    }

    fn refresh(&mut self, family: Family, kind: RefreshKind, out: &mut Vec<Out>) {
        let is_established = |it: &&Connection| it.phase == Phase::Established;
        let Some(connection) = self.connections.iter().find(is_established) else { return };
        let Some(negotiated) = &connection.negotiated else { return };
        let is_understood = match kind {
            RefreshKind::Request => negotiated.route_refresh,
            RefreshKind::Begin | RefreshKind::End => negotiated.enhanced_refresh,
        };
        if is_understood && negotiated.context.families.has(family) {
            let mut message = Vec::with_capacity(32);
            write_refresh(family, kind, &mut message);
            out.push(Out::Send(connection.id, message));
            self.count_sent(MessageType::RouteRefresh);
        }
    }

    /// Tells the state if it is another one.
    fn tell_state(&mut self, out: &mut Vec<Out>) {
        let state = self.state();
        if state != self.state {
            self.state = state;
            out.push(Out::Indicate(Indication::State(state)));
        }
    }

    fn fire(&mut self, now: Time, id: ConnectionId, due: Due, out: &mut Vec<Out>) {
        match due {
            Due::Hold => self.hold_expired(now, id, out),
            Due::SendHold => self.send_hold_expired(now, id, out),
            Due::DelayOpen => self.send_open(now, id, out),
            Due::Keepalive => self.send_keepalive(now, id, out),
        }
    }
}

impl Machine for Session {
    type In = In;
    type Out = Out;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        match input {
            In::Start => self.start(now, out),
            In::Stop(cease, text) => self.stop(now, cease, text.as_deref(), out),
            In::Reset(cease, text) => {
                if self.is_wanted {
                    self.stop(now, cease, text.as_deref(), out);
                    self.start(now, out);
                }
            }
            In::Connected(id) => self.connected(now, id, out),
            In::ConnectFailed => self.connect_failed(now),
            In::Accepted(id) => self.accepted(now, id, out),
            In::Closed(id) => self.closed(now, id, out),
            In::Refuse(id, notice, data) => {
                if self.established(id).is_some() {
                    self.refuse(now, id, notice, &data, out);
                }
            }
            In::Sent(id, updates) => self.sent(now, id, updates),
            In::Blocked(id) => {
                self.established(id).into_iter().for_each(|it| it.waits(now, false));
            }
            In::Written(id, true) => {
                self.established(id).into_iter().for_each(|it| it.waits(now, true));
            }
            In::Written(id, false) => {
                self.established(id).into_iter().for_each(|it| it.send_hold = None);
            }
            In::EndOfRib(family) => self.retained.end_of_rib(family, out),
            In::Refresh(family, kind) => self.refresh(family, kind, out),
            In::SetSettings(settings) => self.settings = *settings,
        }
        self.tell_state(out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        let due = |session: &Self| {
            session.connections.iter().find_map(|it| it.due(now).map(|due| (it.id, due)))
        };
        while let Some((id, timer)) = due(self) {
            self.fire(now, id, timer, out);
        }
        if self.idle_hold.is_some_and(|at| at <= now) {
            self.begin(now, out);
        }
        if self.connect_retry.is_some_and(|at| at <= now) {
            self.connect(now, out);
        }
        self.retained.tick(now, out);
        self.tell_state(out);
    }

    fn deadline(&self) -> Option<Time> {
        let connections = self.connections.iter().filter_map(Connection::deadline);
        let own = [self.connect_retry, self.idle_hold, self.retained.deadline()];
        connections.chain(own.into_iter().flatten()).min()
    }
}
