//! Connections, segment by segment: those that the function asks for, and those that come from far
//! ends that it lets begin.

use crate::packet::{Arrived, Ends, Leaving};
use machine::identity::mix;
use machine::{Duration, Time};
use runtime::Secret;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use tcp::{Connection, QUEUE_MAX, Segment, State, Why, is_signed, sign};

/// What one segment carries: with its headers and its signature it fits 1,500 octets, and tunnels
/// around them.
const MSS: u16 = 1_380;
/// Connections of one far end at most.
const OF_ONE_MAX: usize = 4;
/// Octets that wait for a far end that takes none.
const WAITING_MAX: usize = 64 << 20;
/// One that was closed passes what was on its way for so long.
const CLOSING: Duration = Duration::from_secs(30);
/// The first numbers of a connection follow a clock of 4 µs (RFC 9293 §3.4.1).
const TICK_NS: u64 = 4_000;
/// Ports of connections that begin here: as many as there are from the first one on.
const PORT_MIN: u16 = 49_152;
const PORTS: u64 = 16_384;

/// What the far end of a connection must prove, and how far our segments go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// The hop limit of what leaves.
    pub hop_limit: u8,
    /// The least one that is taken (RFC 5082).
    pub hop_limit_min: u8,
    /// The key of all segments (RFC 2385).
    pub key: Option<Secret>,
}

/// What happened to a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<K> {
    /// One that was asked for stands.
    Connected(K),
    /// One came, and stands.
    Accepted(K),
    /// It has brought octets.
    Octets(K, Vec<u8>),
    /// It has taken octets, the first number; those of the second still wait.
    Written(K, usize, usize),
    /// It is no more, and why; `None`: there was no room for it.
    Closed(K, Option<Why>),
}

#[derive(Debug)]
struct Stream {
    ends: Ends,
    connection: Connection,
    terms: Terms,
    /// It was asked for here.
    is_own: bool,
    /// It has been told to stand.
    stands: bool,
    waiting: VecDeque<u8>,
    /// Nobody is told of it any more; it is given up then.
    gone: Option<Time>,
    /// When it is looked at.
    armed: Option<Time>,
}

/// The connections, by numbers that the function gives.
#[derive(Debug)]
pub struct Streams<K> {
    all: BTreeMap<K, Stream>,
    by_ends: BTreeMap<Ends, K>,
    /// Those that something has happened to.
    touched: BTreeSet<K>,
    /// When which is looked at.
    times: BTreeSet<(Time, K)>,
    most: usize,
    secret: u64,
    turn: u64,
    packet: u16,
    /// Answers to segments of no connection.
    strays: Vec<(Ends, Terms, Vec<u8>)>,
    /// Those that there was no room for.
    refused: Vec<K>,
}

impl<K: Ord + Copy> Streams<K> {
    /// So many connections at most.
    #[must_use]
    pub const fn new(secret: u64, most: usize) -> Self {
        Self {
            all: BTreeMap::new(),
            by_ends: BTreeMap::new(),
            touched: BTreeSet::new(),
            times: BTreeSet::new(),
            most,
            secret,
            turn: 0,
            packet: 0,
            strays: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A number of these ends that nobody guesses.
    fn keyed(&self, ends: &Ends) -> u64 {
        let address = |ip: IpAddr| match ip {
            IpAddr::V4(ip) => u64::from(u32::from(ip)),
            IpAddr::V6(ip) => {
                let [high, low] = machine::narrow::halves(u128::from(ip));
                mix(high ^ mix(low))
            }
        };
        let ports = u64::from(ends.own.port()) << 16 | u64::from(ends.far.port());
        let words = [ends.table.into(), address(ends.own.ip()), address(ends.far.ip()), ports];
        words.into_iter().fold(mix(self.secret), |sum, word| mix(sum ^ word))
    }

    /// A first number, beyond those of all connections before between the same ends.
    fn first(&self, now: Time, ends: &Ends) -> u32 {
        let number = self.keyed(ends).wrapping_add(now.as_nanos() / TICK_NS);
        u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0)
    }

    /// Makes a connection from an address of a table; what there is no room for is told to be no
    /// more.
    pub fn open(&mut self, now: Time, id: K, from: (u32, IpAddr), to: SocketAddr, with: Terms) {
        let (table, from) = from;
        let ends = Ends { table, own: SocketAddr::new(from, 0), far: to };
        let begin = self.keyed(&ends).wrapping_add(self.turn);
        let free = (0..=OF_ONE_MAX as u64).find_map(|more| {
            let turn = begin.wrapping_add(more) % PORTS;
            let port = PORT_MIN + machine::narrow::at_most::<u16>(turn, 0);
            let ends = Ends { own: SocketAddr::new(from, port), ..ends };
            (!self.by_ends.contains_key(&ends)).then_some((ends, port))
        });
        let Some((ends, port)) = free.filter(|_| self.all.len() < self.most) else {
            return self.refused.push(id);
        };
        self.turn = self.turn.wrapping_add(1);
        let connection = Connection::open(now, (port, to.port()), self.first(now, &ends), MSS);
        self.begin(id, ends, connection, with, true);
    }

    fn begin(&mut self, id: K, ends: Ends, connection: Connection, terms: Terms, is_own: bool) {
        let (stands, waiting, gone, armed) = (false, VecDeque::new(), None, None);
        let it = Stream { ends, connection, terms, is_own, stands, waiting, gone, armed };
        self.all.insert(id, it);
        self.by_ends.insert(ends, id);
        self.touched.insert(id);
    }

    fn remove(&mut self, id: K) -> Option<Stream> {
        let it = self.all.remove(&id)?;
        if self.by_ends.get(&it.ends) == Some(&id) {
            self.by_ends.remove(&it.ends);
        }
        it.armed.map(|at| self.times.remove(&(at, id)));
        self.touched.remove(&id);
        Some(it)
    }

    /// A segment came; `may` says of ends that have no connection whether one may begin, under
    /// which number, and what the far end must prove. `None`: nothing came of it.
    pub fn arrived(
        &mut self,
        now: Time,
        it: &Arrived<'_>,
        may: impl FnOnce(&Ends) -> Option<(K, Terms)>,
    ) -> Option<()> {
        let segment = Segment::read(it.octets).ok()?;
        let known = self.by_ends.get(&it.ends).copied();
        if let Some((id, stream)) = known.and_then(|id| Some((id, self.all.get_mut(&id)?)))
            && !stream.connection.makes_way_for(&segment)
        {
            if !stream.terms.are_met(it) {
                return None;
            }
            stream.connection.receive(now, &segment);
            self.touched.insert(id);
            return Some(());
        }
        let (id, terms) = may(&it.ends).filter(|(_, terms)| terms.are_met(it))?;
        match Connection::accept(now, &segment, self.first(now, &it.ends), MSS) {
            Some(connection) if self.makes_room(it.ends.far.ip()) => {
                if let Some(before) = known.filter(|before| *before != id) {
                    // Whoever has it is told when it takes the next turn.
                    self.by_ends.remove(&it.ends);
                    self.touched.insert(before);
                }
                self.begin(id, it.ends, connection, terms, false);
            }
            _ => {
                let mut octets = Vec::new();
                let reset = segment.reset()?;
                let ends = (it.ends.own.ip(), it.ends.far.ip());
                if reset.write(ends, &mut octets) {
                    self.strays.push((it.ends, terms, octets));
                }
            }
        }
        Some(())
    }

    /// Whether one more of a far end has room; one that has not got beyond its SYN makes way.
    fn makes_room(&mut self, far: IpAddr) -> bool {
        let of_one = || self.all.iter().filter(|(_, it)| it.ends.far.ip() == far);
        let begins = |it: &Stream| it.connection.state() == State::SynReceived;
        let oldest =
            of_one().filter(|(_, it)| begins(it)).min_by_key(|(_, it)| it.connection.passed());
        let oldest = oldest.map(|(id, _)| *id);
        if of_one().count() < OF_ONE_MAX && self.all.len() < self.most {
            return true;
        }
        oldest.is_some_and(|id| self.remove(id).is_some())
    }

    /// Octets leave by a connection.
    pub fn write(&mut self, id: K, octets: &[u8]) {
        let Some(stream) = self.all.get_mut(&id).filter(|it| it.gone.is_none()) else { return };
        if stream.waiting.len() + octets.len() > WAITING_MAX {
            stream.connection.abort();
        } else {
            stream.waiting.extend(octets);
        }
        self.touched.insert(id);
    }

    /// A connection is closed: what waits leaves first. Nothing is told of it any more.
    pub fn close(&mut self, now: Time, id: K) {
        if let Some(stream) = self.all.get_mut(&id) {
            stream.gone.get_or_insert(now + CLOSING);
            if !stream.stands {
                stream.connection.abort();
            }
            self.touched.insert(id);
        }
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time) {
        while let Some((_, id)) = self.times.first().copied().filter(|it| it.0 <= now) {
            self.times.pop_first();
            let Some(stream) = self.all.get_mut(&id) else { continue };
            stream.armed = None;
            stream.connection.tick(now);
            if stream.gone.is_some_and(|at| at <= now) {
                stream.connection.abort();
            }
            self.touched.insert(id);
        }
    }

    /// When [`Streams::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.times.first().map(|it| it.0)
    }

    /// What has happened since; `leaves` gets each segment, and where it goes.
    pub fn take(&mut self, now: Time, mut leaves: impl FnMut(&Leaving, &[u8])) -> Vec<Event<K>> {
        let packet = &mut self.packet;
        let mut leave = |ends: Ends, terms: &Terms, octets: &mut Vec<u8>| {
            *packet = packet.wrapping_add(1);
            let between = (ends.own.ip(), ends.far.ip());
            if terms.key.as_ref().is_none_or(|key| sign(between, key.reveal(), octets)) {
                leaves(&Leaving { ends, hop_limit: terms.hop_limit, id: *packet }, octets);
            }
        };
        for (ends, terms, mut octets) in self.strays.drain(..) {
            leave(ends, &terms, &mut octets);
        }
        let refused = self.refused.drain(..);
        let mut events: Vec<Event<K>> = refused.map(|id| Event::Closed(id, None)).collect();
        let mut over = Vec::new();
        for id in std::mem::take(&mut self.touched) {
            let Some(stream) = self.all.get_mut(&id) else { continue };
            stream.take(id, &mut events);
            let mut segment = Vec::new();
            let between = (stream.ends.own.ip(), stream.ends.far.ip());
            while stream.connection.next(now, between, &mut segment) {
                leave(stream.ends, &stream.terms, &mut segment);
                segment.clear();
            }
            let deadline = [stream.connection.deadline(), stream.gone].into_iter().flatten().min();
            if stream.armed != deadline {
                stream.armed.map(|at| self.times.remove(&(at, id)));
                deadline.map(|at| self.times.insert((at, id)));
                stream.armed = deadline;
            }
            let is_replaced = self.by_ends.get(&stream.ends) != Some(&id);
            if stream.connection.why().is_some() || is_replaced {
                over.push(id);
            }
        }
        for id in over {
            if let Some(it) = self.remove(id).filter(|it| it.gone.is_none()) {
                events.push(Event::Closed(id, it.connection.why()));
            }
        }
        events
    }

    /// The ends of one.
    #[must_use]
    pub fn ends(&self, id: K) -> Option<Ends> {
        self.all.get(&id).map(|it| it.ends)
    }

    /// The state of one, and octets that wait.
    #[must_use]
    pub fn shown(&self, id: K) -> Option<(State, usize)> {
        let it = self.all.get(&id)?;
        Some((it.connection.state(), it.waiting.len() + it.connection.waiting()))
    }
}

impl Terms {
    /// Whether a segment proves what it must.
    fn are_met(&self, it: &Arrived<'_>) -> bool {
        let between = (it.ends.far.ip(), it.ends.own.ip());
        let is_near = it.hop_limit >= self.hop_limit_min;
        is_near && self.key.as_ref().is_none_or(|key| is_signed(between, key.reveal(), it.octets))
    }
}

impl Stream {
    /// Gives the connection what waits, as far as it has room, and closes it behind that; how many
    /// octets it took.
    fn feed(&mut self) -> usize {
        let room = QUEUE_MAX.saturating_sub(self.connection.waiting()).min(self.waiting.len());
        if room > 0 && self.stands {
            let some: Vec<u8> = self.waiting.drain(..room).collect();
            self.connection.send(&some);
        }
        if self.gone.is_some() && self.waiting.is_empty() {
            self.connection.close();
        }
        if self.stands { room } else { 0 }
    }

    fn take<K: Copy>(&mut self, id: K, events: &mut Vec<Event<K>>) {
        let begins = matches!(self.connection.state(), State::SynSent | State::SynReceived);
        let is_new = !self.stands && !begins && self.connection.why().is_none();
        if is_new && self.gone.is_none() {
            self.stands = true;
            events.push(if self.is_own { Event::Connected(id) } else { Event::Accepted(id) });
        }
        let octets = std::mem::take(self.connection.incoming());
        if !octets.is_empty() && self.gone.is_none() {
            events.push(Event::Octets(id, octets));
        }
        if self.connection.is_half_closed() && self.gone.is_none() {
            events.push(Event::Closed(id, Some(Why::Ended)));
            self.gone = Some(self.connection.passed() + CLOSING);
        }
        let written = self.feed();
        if written > 0 && self.gone.is_none() {
            events.push(Event::Written(id, written, self.waiting.len()));
        }
    }
}
