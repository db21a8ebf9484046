//! The sessions of one worker. They outlive it: another one in its place goes on with them.

use crate::datagram;
use crate::figures::Figures;
use crate::policing::Place;
use crate::program::{Name, Said};
use bfd::{
    Discard, In, Limits, OCTETS_MAX, Out, Path, SOURCE_PORT_MIN, SessionId, SessionSettings,
    Sessions, State, Timers,
};
use crossbeam_queue::ArrayQueue;
use machine::{Machine as _, Time};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use table::hop::HopLookups;

/// Orders that may wait for a worker; more wait with the writer.
const ORDERS_MAX: usize = 1_024;
/// Workers that a forwarder has at most.
const WORKERS_MAX: u32 = 32;
/// Packets that other workers took, and that may wait; more are dropped.
const ARRIVED_MAX: usize = 4_096;
/// Of these, those of one interface.
pub(crate) const OF_INTERFACE_MAX: usize = ARRIVED_MAX / 4;
/// Sessions whose state is another one that may wait for the writer; past that it looks at all.
const NEWS_MAX: usize = 4_096;
/// Ports that packets come from: as many as there are from the lowest one on.
const SOURCE_PORTS: u16 = 1 << 14;
const _: () = assert!(SOURCE_PORT_MIN as u32 + SOURCE_PORTS as u32 == 1 << 16);

/// What a session is told to be.
#[derive(Clone)]
pub(crate) struct Programmed {
    pub said: Arc<Said>,
    /// The table's number of its hop.
    pub hop: u32,
    pub figures: Arc<Figures>,
}

/// The session of a place is this from now on, or none.
pub(crate) struct Order {
    pub at: u16,
    pub told: Option<Programmed>,
}

/// A packet that another worker took.
pub(crate) struct Arrived {
    pub name: Name,
    pub local: IpAddr,
    pub ttl: u8,
    octets: [u8; OCTETS_MAX],
    length: usize,
    at: Time,
    _place: Place,
}

impl Arrived {
    pub fn new(at: Time, name: Name, came: &datagram::Came<'_>, place: Place) -> Self {
        let mut octets = [0; OCTETS_MAX];
        let length = came.payload.len().min(OCTETS_MAX);
        octets[..length].copy_from_slice(&came.payload[..length]);
        Self { name, local: came.ends[1], ttl: came.ttl, octets, length, at, _place: place }
    }
}

/// Sessions whose state is another one, for the writer.
pub(crate) struct News {
    changed: ArrayQueue<u16>,
    has_more: AtomicBool,
}

impl News {
    pub fn new() -> Self {
        Self { changed: ArrayQueue::new(NEWS_MAX), has_more: AtomicBool::new(false) }
    }

    fn tell(&self, at: u16) {
        if self.changed.push(at).is_err() {
            self.all();
        }
    }

    /// The writer is to look at all.
    pub fn all(&self) {
        self.has_more.store(true, Ordering::Release);
    }

    /// The next one.
    pub fn next(&self) -> Option<u16> {
        self.changed.pop()
    }

    /// Whether there were more than could be told.
    pub fn take_more(&self) -> bool {
        self.has_more.swap(false, Ordering::AcqRel)
    }
}

/// One worker's part.
pub(crate) struct Station {
    pub orders: ArrayQueue<Order>,
    pub arrived: ArrayQueue<Arrived>,
    kept: Mutex<Kept>,
}

impl Station {
    /// That of the worker of a number.
    pub fn new(number: u32, seed: [u8; 32], news: Arc<News>, hops: Arc<HopLookups>) -> Self {
        let limits = Limits { sessions: crate::SESSIONS_MAX, ..Limits::default() };
        let sessions = Sessions::new(limits, seed).among(number, WORKERS_MAX);
        let (rows, outs, has_news) = (Vec::new(), Vec::new(), false);
        let kept = Kept { sessions, rows, outs, news, has_news, hops };
        Self {
            orders: ArrayQueue::new(ORDERS_MAX),
            arrived: ArrayQueue::new(ARRIVED_MAX),
            kept: Mutex::new(kept),
        }
    }

    /// Its sessions, which its worker alone holds: nobody is waited for.
    pub fn hold(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something waits for the worker.
    pub fn has_work(&self) -> bool {
        !self.orders.is_empty() || !self.arrived.is_empty()
    }
}

#[derive(Clone)]
struct Row {
    id: SessionId,
    told: Programmed,
}

/// A packet that leaves.
pub(crate) struct Leaving<'a> {
    pub hop: u32,
    pub packet: &'a [u8],
}

/// The sessions.
pub(crate) struct Kept {
    sessions: Sessions,
    rows: Vec<Option<Row>>,
    outs: Vec<Out>,
    news: Arc<News>,
    has_news: bool,
    hops: Arc<HopLookups>,
}

/// The path of a neighbour.
const fn path(name: &Name) -> Path {
    Path::SingleHop { interface: name.interface, remote: name.address }
}

/// The guard of the hops of a place.
pub(crate) const fn guard(at: u16) -> u16 {
    at + 1
}

fn timers(said: &Said) -> Timers {
    Timers::every(said.interval, said.multiplier)
}

impl Kept {
    fn row(&self, at: u16) -> Option<&Row> {
        self.rows.get(usize::from(at))?.as_ref()
    }

    /// Whether the writer was told something since this was asked last.
    pub const fn take_news(&mut self) -> bool {
        std::mem::replace(&mut self.has_news, false)
    }

    pub fn deadline(&self) -> Option<Time> {
        self.sessions.deadline()
    }

    /// A session is to be another one.
    pub fn obey(&mut self, now: Time, order: Order, send: &mut impl FnMut(Leaving<'_>)) {
        let place = usize::from(order.at);
        let known = self.row(order.at).cloned();
        let is_same = |told: &Programmed, known: &Row| {
            let (new, old) = (&told.said, &known.told.said);
            new.name == old.name && new.turn == old.turn
        };
        match (known, order.told) {
            (Some(known), Some(told)) if is_same(&told, &known) => {
                self.change(now, order.at, known, told);
                self.settle(now, send);
            }
            (known, told) => {
                if let Some(known) = known {
                    self.sessions.remove(known.id, &mut self.outs);
                    self.settle(now, send);
                    self.rows[place] = None;
                    self.sessions.keys.set(order.at, None);
                }
                self.hops.set_lost(guard(order.at), false);
                if let Some(told) = told {
                    self.begin(now, order.at, told);
                    self.settle(now, send);
                }
            }
        }
    }

    fn begin(&mut self, now: Time, at: u16, told: Programmed) {
        let said = &told.said;
        let has_keys = said.authentication.is_some();
        self.sessions.keys.set(at, said.authentication.clone());
        let settings = SessionSettings {
            authentication: has_keys.then_some(at),
            ..SessionSettings::new(path(&said.name), timers(said))
        };
        let Some(id) = self.sessions.add_at(now, at, settings) else { return };
        if said.is_shut {
            self.sessions.step(now, In::Disabled(id), &mut self.outs);
        }
        let place = usize::from(at);
        self.rows.resize(self.rows.len().max(place + 1), None);
        self.rows[place] = Some(Row { id, told });
        self.show(at);
    }

    /// The same session with other times, other keys, or by another hop.
    fn change(&mut self, now: Time, at: u16, known: Row, told: Programmed) {
        let (new, old, id) = (&told.said, &known.told.said, known.id);
        if new.authentication.is_some() != old.authentication.is_some() {
            // Whether there is a key at all is settled where a session begins.
            self.sessions.remove(id, &mut Vec::new());
            self.rows[usize::from(at)] = None;
            self.hops.set_lost(guard(at), false);
            return self.begin(now, at, told);
        }
        if new.authentication != old.authentication {
            self.sessions.keys.set(at, new.authentication.clone());
        }
        if timers(new) != timers(old) {
            self.sessions.step(now, In::TimersChanged(id, timers(new)), &mut self.outs);
        }
        if new.is_shut != old.is_shut {
            let input = if new.is_shut { In::Disabled(id) } else { In::Enabled(id) };
            self.sessions.step(now, input, &mut self.outs);
        }
        self.rows[usize::from(at)] = Some(Row { id, told });
    }

    /// A packet came.
    ///
    /// # Errors
    /// Why it is not believed.
    pub fn receive(
        &mut self,
        now: Time,
        name: &Name,
        came: &datagram::Came<'_>,
        send: &mut impl FnMut(Leaving<'_>),
    ) -> Result<(), Discard> {
        let (path, ttl) = (path(name), came.ttl);
        let taken = self.sessions.receive(now, path, ttl, came.payload, &mut self.outs);
        let id = taken.inspect_err(|_| {
            if let Some(id) = self.sessions.on(&path) {
                self.show(id.place());
            }
        })?;
        let at = id.place();
        if let Some(row) = self.row(at) {
            row.told.figures.received();
        }
        self.settle(now, send);
        self.show(at);
        Ok(())
    }

    /// A packet that another worker took.
    ///
    /// # Errors
    /// As of [`Kept::receive`].
    pub fn take(
        &mut self,
        arrived: &Arrived,
        send: &mut impl FnMut(Leaving<'_>),
    ) -> Result<(), Discard> {
        let Arrived { name, local, ttl, octets, length, at, .. } = arrived;
        let payload = &octets[..*length];
        let came = datagram::Came { ends: [name.address, *local], ttl: *ttl, payload };
        self.receive(*at, name, &came, send)
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time, send: &mut impl FnMut(Leaving<'_>)) {
        self.sessions.tick(now, &mut self.outs);
        self.settle(now, send);
    }

    /// Does what the sessions want: states first, then the packets that tell of them.
    fn settle(&mut self, now: Time, send: &mut impl FnMut(Leaving<'_>)) {
        let mut outs = std::mem::take(&mut self.outs);
        for out in outs.drain(..) {
            match out {
                Out::State { session, from, to, .. } => self.turned(now, session.place(), from, to),
                Out::Send { session, datagram, .. } => {
                    self.leave(session, datagram.octets(), send);
                }
                // None are asked for.
                Out::SendEcho { .. } => {}
            }
        }
        self.outs = outs;
    }

    fn leave(&mut self, session: SessionId, payload: &[u8], send: &mut impl FnMut(Leaving<'_>)) {
        let at = session.place();
        let Some(row) = self.row(at).filter(|it| it.id == session) else { return };
        let said = &row.told.said;
        // Places are those of all workers: no two sessions have one port.
        let port = SOURCE_PORT_MIN + at % SOURCE_PORTS;
        let made = datagram::write([said.local, said.name.address], port, payload);
        if let Some(made) = made {
            row.told.figures.sent();
            send(Leaving { hop: row.told.hop, packet: made.octets() });
            self.show(at);
        }
    }

    /// A session's state is another one. Whoever was there and is not, is lost from this moment on;
    /// one whose operator put the session down says nothing of the path (RFC 5882 §3.2).
    fn turned(&mut self, now: Time, at: u16, from: State, to: State) {
        let Some(row) = self.row(at) else { return };
        let is_closed = self.sessions.summary(row.id);
        let is_closed = is_closed.is_none_or(|it| it.remote_state == State::AdminDown);
        match (from, to) {
            (State::Up, State::Down) => self.hops.set_lost(guard(at), !is_closed),
            (_, State::Up | State::AdminDown) => self.hops.set_lost(guard(at), false),
            _ => {}
        }
        if from == State::Up {
            row.told.figures.went_down(now);
        }
        self.show(at);
    }

    /// Shows how a session stands, and tells the writer where that is another state.
    fn show(&mut self, at: u16) {
        let Some(row) = self.row(at) else { return };
        let Some(summary) = self.sessions.summary(row.id) else { return };
        let is_lost = self.hops.is_lost(guard(at));
        if row.told.figures.show(&summary, is_lost) {
            self.news.tell(at);
            self.has_news = true;
        }
    }
}
