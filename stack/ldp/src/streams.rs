//! Connections of TCP, segment by segment (RFC 9293): those that the speaker asks for, and those
//! that come from neighbours that it hears.
//!
//! ```text
//! Packet ─→ arrived ─→ tcp::Connection ─→ take ─→ Event: stands, octets, is no more
//! write, close ─→ waiting ─→ tcp::Connection ─→ take ─→ packets
//! ```

use igp::ip4::Packet;
use ldp::{ConnectionId, PORT};
use machine::identity::mix;
use machine::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use tcp::{Connection, QUEUE_MAX, Segment, State};

/// What one segment carries: with its headers it fits 1,500 octets, and tunnels around them.
const MSS: u16 = 1_400;
/// Connections at most, and of one neighbour.
const STREAMS_MAX: usize = 1_024;
const OF_ONE_MAX: usize = 4;
/// Octets that wait for a neighbour that takes none.
const WAITING_MAX: usize = 16 << 20;
/// One that was closed passes what was on its way for so long.
const CLOSING: Duration = Duration::from_secs(30);
/// The first numbers of a connection follow a clock of 4 µs (RFC 9293 §3.4.1).
const TICK_NS: u64 = 4_000;
/// Ports of connections that begin here: as many as there are from the first one on.
const PORT_MIN: u16 = 49_152;
const PORTS: u32 = 16_384;

/// Our end and the neighbour's: address and port.
type Ends = [(Ipv4Addr, u16); 2];

/// What happened to a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// One that was asked for stands.
    Connected(ConnectionId),
    /// One came, from that address.
    Accepted(ConnectionId, Ipv4Addr),
    /// It has brought octets.
    Octets(ConnectionId, Vec<u8>),
    /// It is no more.
    Closed(ConnectionId),
}

#[derive(Debug)]
struct Stream {
    ends: Ends,
    connection: Connection,
    has_gtsm: bool,
    /// It has been told to stand.
    stands: bool,
    waiting: VecDeque<u8>,
    /// Nobody is told of it any more; it is given up then.
    gone: Option<Time>,
}

/// The connections.
#[derive(Debug)]
pub(crate) struct Streams {
    all: BTreeMap<ConnectionId, Stream>,
    next: u32,
    secret: u64,
    /// Answers to segments of no connection.
    strays: Vec<([Ipv4Addr; 2], Vec<u8>)>,
}

impl Streams {
    pub(crate) const fn new(secret: u64) -> Self {
        Self { all: BTreeMap::new(), next: 0, secret, strays: Vec::new() }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// A first number, beyond those of all connections before between the same ends.
    fn first(&self, now: Time, ends: Ends) -> u32 {
        let [(own, port), (other, far)] = ends;
        let addresses = u64::from(u32::from(own)) << 32 | u64::from(u32::from(other));
        let keyed = mix(self.secret ^ mix(addresses ^ u64::from(port) << 16 ^ u64::from(far)));
        let number = keyed.wrapping_add(now.as_nanos() / TICK_NS);
        u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0)
    }

    /// Makes a connection; whoever has no room for it is told that it is no more.
    pub(crate) fn open(
        &mut self,
        now: Time,
        id: ConnectionId,
        addresses: (Ipv4Addr, Ipv4Addr),
        has_gtsm: bool,
    ) {
        let (own, other) = addresses;
        let turn = id.number % PORTS;
        let port = PORT_MIN + machine::narrow::at_most::<u16>(turn.into(), 0);
        let ends = [(own, port), (other, PORT)];
        let connection = Connection::open(now, (port, PORT), self.first(now, ends), MSS);
        self.begin(id, ends, connection, has_gtsm);
    }

    fn begin(&mut self, id: ConnectionId, ends: Ends, connection: Connection, has_gtsm: bool) {
        let (stands, waiting, gone) = (false, VecDeque::new(), None);
        self.all.insert(id, Stream { ends, connection, has_gtsm, stands, waiting, gone });
    }

    /// A segment came; `is_heard` says of a neighbour whether it may connect, and with which hop
    /// limit it must.
    pub(crate) fn arrived(
        &mut self,
        now: Time,
        packet: &Packet<'_>,
        is_heard: impl FnOnce(Ipv4Addr) -> Option<bool>,
    ) -> Option<()> {
        let segment = Segment::read(packet.segment()?).ok()?;
        let own = (packet.destination, segment.destination);
        let ends = [own, (packet.source, segment.source)];
        let known = self.all.iter_mut().find(|(_, it)| it.ends == ends);
        if let Some((_, stream)) = known
            && !stream.connection.makes_way_for(&segment)
        {
            if !stream.has_gtsm || packet.ttl == u8::MAX {
                stream.connection.receive(now, &segment);
            }
            return Some(());
        }
        let may_begin = is_heard(packet.source).filter(|_| segment.destination == PORT);
        let has_gtsm = may_begin?;
        if has_gtsm && packet.ttl != u8::MAX {
            return None;
        }
        let of_one = self.all.values().filter(|it| it.ends[1].0 == packet.source).count();
        let has_room = self.all.len() < STREAMS_MAX && of_one < OF_ONE_MAX;
        let begun = Connection::accept(now, &segment, self.first(now, ends), MSS);
        match begun.filter(|_| has_room) {
            Some(connection) => {
                self.next = self.next.wrapping_add(1);
                let id = ConnectionId { number: self.next, is_own: false };
                self.begin(id, ends, connection, has_gtsm);
            }
            None => {
                let (from, to) = (packet.destination, packet.source);
                let mut octets = Vec::new();
                let reset = segment.reset()?;
                if reset.write((from.into(), to.into()), &mut octets) {
                    self.strays.push(([from, to], octets));
                }
            }
        }
        Some(())
    }

    /// Octets leave by a connection.
    pub(crate) fn write(&mut self, id: ConnectionId, octets: &[u8]) {
        let Some(stream) = self.all.get_mut(&id).filter(|it| it.gone.is_none()) else { return };
        if stream.waiting.len() + octets.len() > WAITING_MAX {
            stream.connection.abort();
        } else {
            stream.waiting.extend(octets);
        }
    }

    /// A connection is closed: what waits leaves first.
    pub(crate) fn close(&mut self, now: Time, id: ConnectionId) {
        if let Some(stream) = self.all.get_mut(&id) {
            stream.gone.get_or_insert(now + CLOSING);
            stream.feed();
            stream.connection.close();
        }
    }

    /// Lets time pass.
    pub(crate) fn tick(&mut self, now: Time) {
        for stream in self.all.values_mut() {
            stream.connection.tick(now);
            if stream.gone.is_some_and(|at| at <= now) {
                stream.connection.abort();
            }
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        let each = self.all.values().flat_map(|it| [it.connection.deadline(), it.gone]);
        each.flatten().min()
    }

    /// What has happened since; `leaves` gets each segment with its ends.
    pub(crate) fn take(
        &mut self,
        now: Time,
        mut leaves: impl FnMut([Ipv4Addr; 2], &[u8]),
    ) -> Vec<Event> {
        for (ends, octets) in self.strays.drain(..) {
            leaves(ends, &octets);
        }
        let mut events = Vec::new();
        let mut over = Vec::new();
        for (id, stream) in &mut self.all {
            stream.take(*id, &mut events);
            stream.feed();
            let ends = stream.ends.map(|it| it.0);
            let mut segment = Vec::new();
            while stream.connection.next(now, (ends[0].into(), ends[1].into()), &mut segment) {
                leaves(ends, &segment);
                segment.clear();
            }
            if stream.connection.why().is_some() {
                over.push(*id);
            }
        }
        for id in over {
            if self.all.remove(&id).is_some_and(|it| it.gone.is_none()) {
                events.push(Event::Closed(id));
            }
        }
        events
    }

    /// Each: its ends, its state, octets that wait.
    pub(crate) fn shown(&self, id: ConnectionId) -> Option<(State, usize)> {
        let it = self.all.get(&id)?;
        Some((it.connection.state(), it.waiting.len() + it.connection.waiting()))
    }
}

impl Stream {
    /// Gives the connection what waits, as far as it has room.
    fn feed(&mut self) {
        let room = QUEUE_MAX.saturating_sub(self.connection.waiting()).min(self.waiting.len());
        if room > 0 && self.stands {
            let some: Vec<u8> = self.waiting.drain(..room).collect();
            self.connection.send(&some);
        }
    }

    fn take(&mut self, id: ConnectionId, events: &mut Vec<Event>) {
        let begins = matches!(self.connection.state(), State::SynSent | State::SynReceived);
        let is_new = !self.stands && !begins && self.connection.why().is_none();
        if is_new && self.gone.is_none() {
            self.stands = true;
            events.push(match id.is_own {
                true => Event::Connected(id),
                false => Event::Accepted(id, self.ends[1].0),
            });
        }
        let octets = std::mem::take(self.connection.incoming());
        if !octets.is_empty() && self.gone.is_none() {
            events.push(Event::Octets(id, octets));
        }
        if self.connection.is_half_closed() && self.gone.is_none() {
            events.push(Event::Closed(id));
            self.gone = Some(self.connection.passed() + CLOSING);
            self.connection.close();
        }
    }
}
