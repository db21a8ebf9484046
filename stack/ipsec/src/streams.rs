//! TCP inside of ESP: the connections of all sets of an endpoint.
//!
//! ```text
//! unprotect → Arrived, TCP ──→ arrived ──→ octets ─→ messages
//!                                 │
//! protect_packet ←── leave ←── connections, by set and lane ←── send ←── messages
//! ```
//! Each end of a lane has one port (TS 33.203 §7.1): a set has at most one connection in each lane,
//! which ends with it. What connections hold is bounded by source and in all (`shares`). The
//! machine is [`tcp::Connection`].

use crate::endpoint::{Arrived, Endpoint};
use crate::metrics::Metric;
use crate::packet::{TCP, write_ip};
use crate::set::Lane;
use crate::shares::{Share, Shares, pages};
use crate::strangers::number as number_of;
use machine::identity::mix;
use machine::slots::Key;
use machine::{Duration, Time};
use runtime::Flow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use tcp::{Connection, Segment, Why};

/// What one segment carries: with the headers of ESP, of its tunnel and of UDP it fits 1,500
/// octets.
const MSS: u16 = 1_300;
/// The first numbers of a connection follow a clock of 4 µs (RFC 9293 §3.4.1).
const TICK_NS: u64 = 4_000;
/// One that was closed because it passed nothing may pass what was on its way for so long.
const CLOSING: Duration = Duration::from_secs(64);

/// A connection of a set.
#[derive(Debug)]
struct Stream {
    set: Key,
    /// Our end and the other's, inside.
    ends: (SocketAddr, SocketAddr),
    connection: Connection,
    progress: Progress,
    /// What it has of the room.
    share: Share,
    /// When it was closed because it passed nothing.
    closed: Option<Time>,
    /// When it is looked at, as it stands in [`Streams::agenda`].
    due: Option<Time>,
}

/// How far whoever takes what has come has looked at it. Zero again when something was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Octets in which nothing ends.
    pub seen: usize,
    /// Octets without which nothing is whole.
    pub wanted: usize,
}

/// What has come by a connection.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// In order; whoever takes octets takes them out.
    pub octets: &'a mut Vec<u8>,
    /// How far they were looked at.
    pub progress: &'a mut Progress,
}

impl Stream {
    fn new(set: Key, ends: (SocketAddr, SocketAddr), connection: Connection) -> Self {
        let (progress, share) = (Progress::default(), Share::default());
        Self { set, ends, connection, progress, share, closed: None, due: None }
    }

    /// When it has passed nothing for too long, or was closed for that and is not over.
    fn patience(&self, idle: Duration) -> Time {
        self.closed.map_or(self.connection.passed() + idle, |at| at + CLOSING)
    }
}

/// A lane of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// The set.
    pub set: Key,
    /// The lane.
    pub lane: Lane,
}

/// Where a connection is: the slot of its set, and its lane.
type Place = (u32, Lane);

impl Way {
    const fn place(self) -> Place {
        (self.set.index, self.lane)
    }
}

/// The connections.
#[derive(Debug)]
pub struct Streams {
    table: BTreeMap<Place, Stream>,
    agenda: BTreeSet<(Time, Place)>,
    /// Those that may have something to say.
    ready: BTreeSet<Place>,
    shares: Shares<Place>,
    /// Packets without their header that answer what belongs to no connection.
    strays: Vec<(Key, Lane, Vec<u8>)>,
    secret: u64,
    idle: Duration,
}

impl Streams {
    /// None yet; `secret` was drawn at random. One by which no octets have passed for so long is
    /// closed.
    #[must_use]
    pub const fn new(secret: u64, idle: Duration) -> Self {
        Self {
            table: BTreeMap::new(),
            agenda: BTreeSet::new(),
            ready: BTreeSet::new(),
            shares: Shares::new(),
            strays: Vec::new(),
            secret,
            idle,
        }
    }

    /// Connections that pass nothing are closed after another time.
    pub const fn set_idle(&mut self, idle: Duration) {
        self.idle = idle;
    }

    /// Takes the segment of TCP in a packet that was just opened; `may_begin`: a connection may
    /// begin there. What it brings stands in [`Streams::incoming`].
    pub fn arrived(&mut self, now: Time, esp: &mut Endpoint, arrived: &Arrived, may_begin: bool) {
        let segment = Segment::read(&esp.octets()[arrived.payload.clone()]);
        let Ok(segment) = segment else { return esp.metrics.add(Metric::Malformed, 1) };
        let place = (arrived.set.index, arrived.lane);
        let ends = (arrived.destination, arrived.source);
        let known = self.table.get_mut(&place);
        let known = known.filter(|it| it.set == arrived.set && it.ends == ends);
        if let Some(known) = known
            && !known.connection.makes_way_for(&segment)
        {
            known.connection.receive(now, &segment);
            return self.touch(place);
        }
        let iss = self.iss(now, place);
        let begun = may_begin.then(|| Connection::accept(now, &segment, iss, MSS)).flatten();
        match begun {
            Some(connection) => {
                self.begin(esp, place, Stream::new(arrived.set, ends, connection));
            }
            None => self.refuse(arrived, &segment),
        }
    }

    /// A segment of no connection.
    fn refuse(&mut self, arrived: &Arrived, segment: &Segment<'_>) {
        let Some(reset) = segment.reset() else { return };
        let mut octets = Vec::new();
        let ends = (arrived.destination.ip(), arrived.source.ip());
        if write_stray(&reset, ends, &mut octets) {
            self.strays.push((arrived.set, arrived.lane, octets));
        }
    }

    /// A first number, beyond those of all connections before at the same place.
    fn iss(&self, now: Time, place: Place) -> u32 {
        let (index, lane) = place;
        let of_place = mix(self.secret ^ (u64::from(index) << 1 | lane as u64));
        let number = of_place.wrapping_add(now.as_nanos() / TICK_NS);
        u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0)
    }

    fn begin(&mut self, esp: &mut Endpoint, place: Place, stream: Stream) {
        esp.metrics.add(Metric::StreamsOpened, 1);
        esp.begin_stream(stream.set);
        self.forget(place);
        self.table.insert(place, stream);
        self.touch(place);
        self.gauge(esp);
    }

    fn forget(&mut self, place: Place) {
        self.ready.remove(&place);
        let Some(gone) = self.table.remove(&place) else { return };
        self.shares.change(place, gone.share, Share::default());
        if let Some(due) = gone.due {
            self.agenda.remove(&(due, place));
        }
    }

    /// Gives up a connection, with all that it holds.
    fn give_up(&mut self, place: Place) {
        if let Some(stream) = self.table.get_mut(&place) {
            stream.connection.abort();
            let share = core::mem::take(&mut stream.share);
            self.shares.change(place, share, Share::default());
            self.touch(place);
        }
    }

    fn touch(&mut self, place: Place) {
        self.ready.insert(place);
    }

    /// What has come by the connection of that lane.
    pub fn incoming(&mut self, way: Way) -> Option<Incoming<'_>> {
        let stream = self.table.get_mut(&way.place()).filter(|it| it.set == way.set)?;
        self.ready.insert(way.place()); // there is more room than before
        let (octets, progress) = (stream.connection.incoming(), &mut stream.progress);
        Some(Incoming { octets, progress })
    }

    /// Octets of memory that the connection of that lane takes.
    #[must_use]
    pub fn size(&self, way: Way) -> usize {
        let stream = self.table.get(&way.place()).filter(|it| it.set == way.set);
        stream.map_or(0, |it| size_of::<Stream>() - size_of::<Connection>() + it.connection.size())
    }

    /// Whether octets may be sent by the connection of that lane.
    #[must_use]
    pub fn is_open(&self, way: Way) -> bool {
        let stream = self.table.get(&way.place()).filter(|it| it.set == way.set);
        stream.is_some_and(|it| it.connection.is_open() && !it.connection.is_half_closed())
    }

    /// Sends by the connection of that lane; where there is none it is opened, between these ends.
    /// `false`: there is no room.
    pub fn send(
        &mut self,
        now: Time,
        esp: &mut Endpoint,
        way: Way,
        ends: (SocketAddr, SocketAddr),
        octets: &[u8],
    ) -> bool {
        let (set, place) = (way.set, way.place());
        if !self.is_open(way) {
            let ports = (ends.0.port(), ends.1.port());
            let connection = Connection::open(now, ports, self.iss(now, place), MSS);
            self.begin(esp, place, Stream::new(set, ends, connection));
        }
        let stream = self.table.get_mut(&place);
        let is_taken = stream.is_some_and(|it| it.connection.send(octets));
        esp.metrics.add(Metric::Unsent, u64::from(!is_taken));
        self.touch(place);
        is_taken
    }

    /// Closes the connection of that lane: what waits is sent first.
    pub fn close(&mut self, way: Way) {
        if let Some(it) = self.table.get_mut(&way.place()).filter(|it| it.set == way.set) {
            it.connection.close();
            self.touch(way.place());
        }
    }

    /// Gives up the connection of that lane.
    pub fn abort(&mut self, way: Way) {
        if self.table.get(&way.place()).is_some_and(|it| it.set == way.set) {
            self.give_up(way.place());
        }
    }

    /// The connections of sets that have ended are no more: what they hold is given back.
    fn end_with_sets(&mut self, esp: &mut Endpoint) {
        for set in esp.take_ended() {
            for place in [Lane::First, Lane::Second].map(|lane| Way { set, lane }.place()) {
                if self.table.get(&place).is_some_and(|it| it.set == set) {
                    self.forget(place);
                }
            }
            self.gauge(esp);
        }
    }

    /// Protects all segments that leave now; `leaves` gets each with its flow. To be called at the
    /// end of each step.
    pub fn leave(&mut self, now: Time, esp: &mut Endpoint, mut leaves: impl FnMut(Flow, &[u8])) {
        self.end_with_sets(esp);
        let mut packet = Vec::new();
        for (set, lane, inner) in core::mem::take(&mut self.strays) {
            packet.clear();
            if let Some(flow) = esp.protect_packet(set, lane, &inner, &mut packet) {
                leaves(flow, &packet);
            }
        }
        let mut segment = Vec::new();
        let mut inner = Vec::new();
        while let Some(place) = self.ready.pop_first() {
            let Some(stream) = self.table.get_mut(&place) else { continue };
            let addresses = (stream.ends.0.ip(), stream.ends.1.ip());
            if stream.connection.state() == tcp::State::CloseWait {
                stream.connection.close(); // what waits is sent first
            }
            loop {
                segment.clear();
                if !stream.connection.next(now, addresses, &mut segment) {
                    break;
                }
                inner.clear();
                packet.clear();
                if !write_ip(&mut inner, addresses, TCP, segment.len()) {
                    break;
                }
                inner.extend_from_slice(&segment);
                let flow = esp.protect_packet(stream.set, place.1, &inner, &mut packet);
                if let Some(flow) = flow {
                    leaves(flow, &packet);
                } else if esp.show(stream.set).is_none() {
                    stream.connection.abort(); // its associations are no more
                }
            }
            self.settle(esp, place);
        }
    }

    /// A connection has had its say: it is over, or has another time.
    fn settle(&mut self, esp: &Endpoint, place: Place) {
        let Some(stream) = self.table.get_mut(&place) else { return };
        if let Some(why) = stream.connection.why() {
            let has_failed = matches!(why, Why::Reset | Why::Silence);
            esp.metrics.add(Metric::StreamsFailed, u64::from(has_failed));
            self.forget(place);
            return self.gauge(esp);
        }
        let patience = stream.patience(self.idle);
        let due = stream.connection.deadline().map_or(patience, |at| at.min(patience));
        if stream.due != Some(due) {
            if let Some(before) = stream.due.replace(due) {
                self.agenda.remove(&(before, place));
            }
            self.agenda.insert((due, place));
        }
        self.weigh(esp, place);
    }

    /// Notes what a connection holds. Where those of its source, or all, hold too much the largest
    /// makes way.
    fn weigh(&mut self, esp: &Endpoint, place: Place) {
        let Some(stream) = self.table.get_mut(&place) else { return };
        let pages = pages(stream.connection.held());
        if pages == stream.share.pages {
            return;
        }
        let source = esp.path(stream.set).map_or(0, |path| number_of(path.remote.ip()));
        let before = core::mem::replace(&mut stream.share, Share { source, pages });
        self.shares.change(place, before, Share { source, pages });
        while let Some(largest) = self.shares.makes_way(source) {
            esp.metrics.add(Metric::StreamsMadeWay, 1);
            self.give_up(largest);
        }
    }

    /// Lets time pass; [`Streams::leave`] then.
    pub fn tick(&mut self, now: Time) {
        while let Some((due, place)) = self.agenda.first().copied() {
            if due > now {
                return;
            }
            self.agenda.pop_first();
            let Some(stream) = self.table.get_mut(&place) else { continue };
            stream.due = None;
            stream.connection.tick(now);
            if now >= stream.patience(self.idle) {
                let connection = &mut stream.connection;
                // What was closed already, or still waits, has waited long enough.
                if connection.is_open() && connection.waiting() == 0 {
                    connection.close();
                    stream.closed = Some(now);
                } else {
                    connection.abort();
                }
            }
            self.touch(place);
        }
    }

    /// When [`Streams::tick`] wants to be called.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        if !self.ready.is_empty() {
            return Some(Time::ZERO); // given up between two steps
        }
        self.agenda.first().map(|(due, _)| *due)
    }

    /// How many connections there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Forgets all: their other ends are told when they send.
    pub fn clear(&mut self) {
        *self = Self::new(self.secret, self.idle);
    }

    fn gauge(&self, esp: &Endpoint) {
        esp.metrics.set(Metric::StreamsLive, self.table.len() as u64);
    }
}

fn write_stray(
    segment: &Segment<'_>,
    ends: (std::net::IpAddr, std::net::IpAddr),
    out: &mut Vec<u8>,
) -> bool {
    write_ip(out, ends, TCP, tcp::HEADER) && segment.write(ends, out)
}
