//! Connections, segment by segment: those that the function asks for, and those that come from far
//! ends that it lets begin.

use crate::numbers::{MSS, Numbers};
use crate::packet::{Arrived, Ends, Leaving};
use crate::shares::{Far, OF_ONE_MAX, Shares};
use crate::stream::{CLOSING, Refused, Stream, Terms};
use bytes::Bytes;
use machine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use tcp::{Connection, Segment, State, Why, sign};

/// Octets that wait for a far end that takes none.
const WAITING_MAX: usize = 64 << 20;
/// Octets that wait for all far ends, those left out that several have in common: whoever has them
/// bounds them.
pub const WAITING_ALL_MAX: usize = 256 << 20;
/// For so long after the last answer to a SYN that nobody remembers one may come back.
const ANSWERED: Duration = Duration::from_secs(128);
/// Ports of connections that begin here: as many as there are from the first one on.
const PORT_MIN: u16 = 49_152;
const PORTS: u64 = 16_384;

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

/// What has been counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// SYNs that were answered and not remembered, since too many were.
    pub answered: u64,
    /// Connections that came of these.
    pub proven: u64,
    /// Connections that were given up since too much waited for all together.
    pub relieved: u64,
    /// Connections that were looked at, for whatever came or was to be done.
    pub looks: u64,
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
    /// Those that nobody is told of any more, in the order of their end.
    closing: BTreeSet<(Time, K)>,
    shares: Shares,
    most: usize,
    numbers: Numbers,
    turn: u64,
    packet: u16,
    /// When a SYN was last answered and not remembered.
    answered: Option<Time>,
    /// Octets that wait, but for those that several far ends have in common.
    waiting: usize,
    waiting_max: usize,
    /// What leaves of no connection.
    strays: Vec<(Ends, Terms, Vec<u8>)>,
    /// Those that there was no room for.
    refused: Vec<K>,
    tally: Tally,
}

fn far(ends: &Ends) -> Far {
    (ends.table, ends.far.ip())
}

impl<K: Ord + Copy> Streams<K> {
    /// So many connections at most, beside those that have not got beyond their SYN, and so many
    /// octets that wait for all; `secret` is drawn at random, and known to nobody else.
    #[must_use]
    pub fn new(secret: &[u8; 16], most: usize, waiting_max: usize) -> Self {
        Self {
            all: BTreeMap::new(),
            by_ends: BTreeMap::new(),
            touched: BTreeSet::new(),
            times: BTreeSet::new(),
            closing: BTreeSet::new(),
            shares: Shares::new(),
            most,
            numbers: Numbers::new(secret),
            turn: 0,
            packet: 0,
            answered: None,
            waiting: 0,
            waiting_max,
            strays: Vec::new(),
            refused: Vec::new(),
            tally: Tally::default(),
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

    /// Those of them that have not got beyond the SYN of a far end.
    #[must_use]
    pub const fn beginning(&self) -> usize {
        self.shares.begins()
    }

    /// Octets that wait for all, but for those that several far ends have in common.
    #[must_use]
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// What was counted.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// Makes a connection from an address of a table; what there is no room for is told to be no
    /// more.
    pub fn open(&mut self, now: Time, id: K, from: (u32, IpAddr), to: SocketAddr, with: Terms) {
        let (table, from) = from;
        let ends = Ends { table, own: SocketAddr::new(from, 0), far: to };
        let begin = self.numbers.port(&ends).wrapping_add(self.turn);
        let free = (0..=u64::from(OF_ONE_MAX)).find_map(|more| {
            let turn = begin.wrapping_add(more) % PORTS;
            let port = PORT_MIN + machine::narrow::at_most::<u16>(turn, 0);
            let ends = Ends { own: SocketAddr::new(from, port), ..ends };
            (!self.by_ends.contains_key(&ends)).then_some((ends, port))
        });
        let Some((ends, port)) = free.filter(|_| self.has_room()) else {
            return self.refused.push(id);
        };
        self.turn = self.turn.wrapping_add(1);
        let iss = self.numbers.first(now, &ends);
        let connection = Connection::open(now, (port, to.port()), iss, MSS);
        self.begin(id, Stream::new(ends, connection, with, true));
    }

    fn begin(&mut self, id: K, it: Stream) {
        self.by_ends.insert(it.ends, id);
        self.shares.add(far(&it.ends), it.begins);
        self.all.insert(id, it);
        self.touched.insert(id);
    }

    fn remove(&mut self, id: K) -> Option<Stream> {
        let it = self.all.remove(&id)?;
        if self.by_ends.get(&it.ends) == Some(&id) {
            self.by_ends.remove(&it.ends);
        }
        it.armed.map(|at| self.times.remove(&(at, id)));
        match it.gone.is_some_and(|at| self.closing.remove(&(at, id))) {
            true => self.shares.remove_closing(far(&it.ends), it.begins),
            false => self.shares.remove(far(&it.ends), it.begins),
        }
        self.waiting -= it.waiting.own();
        self.touched.remove(&id);
        Some(it)
    }

    /// Whether one more of a far end may stand, as far as that one goes: of its own that nobody is
    /// told of any more the first one to end makes way.
    fn may_stand(&mut self, of: Far) -> bool {
        if !self.shares.may_stand(of)
            && self.shares.has_closing(of)
            && let Some(&(_, id)) = self.closing.iter().find(|(_, id)| {
                self.all.get(id).is_some_and(|it| far(&it.ends) == of && !it.begins)
            })
        {
            self.remove(id);
        }
        self.shares.may_stand(of)
    }

    /// Whether one more may stand: of those that nobody is told of any more the first one to end
    /// makes way.
    fn has_room(&mut self) -> bool {
        if self.shares.stands() >= self.most
            && let Some((_, id)) = self.closing.first().copied()
        {
            self.remove(id);
        }
        self.shares.stands() < self.most
    }

    /// A segment came; `may` says of ends that have no connection whether one may begin, under
    /// which number, and what the far end must prove.
    ///
    /// # Errors
    /// Nothing came of it, and why.
    pub fn arrived(
        &mut self,
        now: Time,
        it: &Arrived<'_>,
        may: impl FnOnce(&Ends) -> Option<(K, Terms)>,
    ) -> Result<(), Refused> {
        let segment = Segment::read(it.octets).map_err(|_| Refused::Unwanted)?;
        let known = self.by_ends.get(&it.ends).copied();
        if let Some((id, stream)) = known.and_then(|id| Some((id, self.all.get_mut(&id)?)))
            && !stream.connection.makes_way_for(&segment)
        {
            self.tally.looks += 1;
            stream.terms.look_at(it)?;
            stream.connection.receive(now, &segment);
            self.touched.insert(id);
            self.stands(id);
            return Ok(());
        }
        let may = may(&it.ends).filter(|(id, _)| !self.all.contains_key(id));
        let (id, terms) = may.ok_or(Refused::Unwanted)?;
        terms.look_at(it)?;
        match segment.is_first() {
            true => self.asked(now, it.ends, &segment, id, terms),
            false => self.proves(now, it.ends, &segment, id, terms),
        }
        Ok(())
    }

    /// One that a far end has begun may have got beyond its SYN.
    fn stands(&mut self, id: K) {
        let Some(it) = self.all.get(&id).filter(|it| it.begins) else { return };
        if it.connection.state() == State::SynReceived {
            return;
        }
        let far = far(&it.ends);
        let may = self.may_stand(far) && self.has_room();
        let Some(it) = self.all.get_mut(&id) else { return };
        it.begins = false;
        self.shares.remove(far, true);
        self.shares.add(far, false);
        if !may {
            it.connection.abort();
        }
    }

    /// A far end asks for a connection: it is remembered where that takes no more than its share,
    /// else answered alone.
    fn asked(&mut self, now: Time, ends: Ends, syn: &Segment<'_>, id: K, terms: Terms) {
        if let Some(before) = self.by_ends.remove(&ends) {
            // Whoever has it is told when it takes the next turn.
            self.touched.insert(before);
        }
        let may_have_room = self.shares.stands() < self.most || !self.closing.is_empty();
        let of = far(&ends);
        let may_stand = self.shares.may_stand(of) || self.shares.has_closing(of);
        if !(may_stand && may_have_room) {
            return self.stray(ends, terms, syn.reset());
        }
        if !self.shares.may_begin(far(&ends)) {
            self.answered = Some(now);
            self.tally.answered += 1;
            let iss = self.numbers.cookie(now, &ends, syn);
            return self.stray(ends, terms, Some(syn.answer(iss, MSS)));
        }
        let iss = self.numbers.first(now, &ends);
        if let Some(connection) = Connection::accept(now, syn, iss, MSS) {
            self.begin(id, Stream::new(ends, connection, terms, false));
        }
    }

    /// A segment of no connection, which may prove that its SYN was answered.
    fn proves(&mut self, now: Time, ends: Ends, it: &Segment<'_>, id: K, terms: Terms) {
        let answered = self.answered.is_some_and(|at| now.since(at) < ANSWERED);
        let size = answered.then(|| self.numbers.proven(now, &ends, it)).flatten();
        let connection = size.and_then(|size| Connection::proven(now, it, (MSS, size)));
        match connection.filter(|_| self.may_stand(far(&ends)) && self.has_room()) {
            Some(connection) => {
                self.tally.proven += 1;
                self.begin(id, Stream::new(ends, connection, terms, false));
            }
            None => self.stray(ends, terms, it.reset()),
        }
    }

    /// Something leaves of no connection.
    fn stray(&mut self, ends: Ends, terms: Terms, segment: Option<Segment<'_>>) {
        let mut octets = Vec::new();
        if segment.is_some_and(|it| it.write((ends.own.ip(), ends.far.ip()), &mut octets)) {
            self.strays.push((ends, terms, octets));
        }
    }

    /// Octets leave by a connection.
    pub fn write(&mut self, id: K, octets: &[u8]) {
        self.append(id, octets.len(), |it| it.waiting.copy(octets));
        if self.waiting > self.waiting_max {
            self.relieve();
        }
    }

    /// Octets leave by a connection that others have in common with it.
    pub fn write_shared(&mut self, id: K, octets: Bytes) {
        self.append(id, octets.len(), |it| it.waiting.share(octets));
    }

    fn append(&mut self, id: K, octets: usize, with: impl FnOnce(&mut Stream)) {
        let Some(stream) = self.all.get_mut(&id).filter(|it| it.gone.is_none()) else { return };
        if stream.waiting.len() + octets > WAITING_MAX {
            stream.connection.abort();
        } else {
            let before = stream.waiting.own();
            with(stream);
            self.waiting += stream.waiting.own() - before;
        }
        self.touched.insert(id);
    }

    /// Too much waits for all together: whoever has the most of it is given up.
    fn relieve(&mut self) {
        self.tally.looks += self.all.len() as u64;
        let most = self.all.iter_mut().max_by_key(|(_, it)| it.waiting.own());
        let Some((id, it)) = most else { return };
        self.waiting -= std::mem::take(&mut it.waiting).own();
        it.connection.abort();
        self.tally.relieved += 1;
        self.touched.insert(*id);
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
            self.tally.looks += 1;
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
            self.tally.looks += 1;
            let before = stream.waiting.own();
            stream.take(id, &mut events);
            self.waiting -= before - stream.waiting.own();
            if stream.gone.is_some_and(|at| self.closing.insert((at, id))) {
                self.shares.close(far(&stream.ends));
            }
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
