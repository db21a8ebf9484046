//! What a speaker is, that was made for the streams of the runtime, where its connections are
//! carried here: what it wants of them by its `Effects`, and what it hears of them. Each routing
//! table has a speaker of its own.
//!
//! ```text
//!   speaker ─ Effects: opens, sends, closes ─→ carry ─→ Streams ─→ packets ─→ channel
//!   speaker ←──────────── Carried ←─ hear ←─── settle ←─┘  ↑ packets
//! ```

use crate::packet::{Arrived, Ends, write};
use crate::stream::{Refused, Terms, Unmet};
use crate::streams::{Event, Streams, WAITING_ALL_MAX};
use dataplane::{PacketChannel, PacketChannelEvent, PacketChannelTally};
use machine::Time;
use runtime::{
    ChannelEvent, ConnId, Effects, Flow, Frame, Guard, PacketTo, PortId, Transport, guard_for,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use tcp::Why;

/// Hops that segments go, where nobody says otherwise.
const HOP_LIMIT: u8 = 64;
/// Octets that a message may have whose end has not come.
const PARTIAL_MAX: usize = 1 << 17;
/// Octets that such messages of all far ends may have.
const PARTIAL_ALL_MAX: usize = 64 << 20;

/// What happened to a connection, as a speaker hears it from the runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    /// It stands, opened here or accepted.
    Up(Flow),
    /// It ended, or never stood, and why.
    Down(Flow, &'static str),
    /// Whole messages came.
    Octets(Flow, Vec<u8>),
    /// The far end was sent octets; those of the second number wait.
    Written(Flow, u64, u64),
}

/// Who may connect, and how.
#[derive(Debug, Clone)]
pub struct ListenTerms {
    /// The port that far ends connect to.
    pub port: u16,
    /// The number that flows of far ends have who connected.
    pub number: PortId,
    /// Addresses that they may connect to, by their tables.
    pub own: BTreeSet<(u32, IpAddr)>,
    /// What they must prove, by the same.
    pub guards: BTreeMap<u32, Vec<Guard>>,
}

#[derive(Debug)]
struct Carrying {
    table: u32,
    flow: Flow,
    /// What was asked for here, until it stands.
    begins: bool,
    partial: Vec<u8>,
}

/// The connections of a speaker, through a packet channel of its own.
#[derive(Debug)]
pub struct Carrier {
    channel: PacketChannel,
    listen: ListenTerms,
    frame: fn(&[u8]) -> Frame,
    streams: Streams<ConnId>,
    carried: BTreeMap<ConnId, Carrying>,
    /// Octets of messages whose end has not come.
    partial: usize,
    next: u32,
    heard: VecDeque<(u32, Carried)>,
    received: u64,
    unread: u64,
    sent: u64,
}

/// What has passed, and what was no segment for a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CarrierTally {
    /// Packets that came.
    pub received: u64,
    /// Those of them that nothing came of.
    pub unread: u64,
    /// Packets that were sent.
    pub sent: u64,
}

impl ListenTerms {
    /// Nobody may.
    const SHUT: Self =
        Self { port: 0, number: PortId(u16::MAX), own: BTreeSet::new(), guards: BTreeMap::new() };

    /// What a far end must prove.
    fn terms(&self, table: u32, far: IpAddr) -> Terms {
        let guards = self.guards.get(&table).map_or(&[][..], Vec::as_slice);
        let guard = guard_for(guards, far.to_canonical());
        Terms {
            hop_limit: guard.and_then(|it| it.ttl).unwrap_or(HOP_LIMIT),
            hop_limit_min: guard.and_then(|it| it.ttl_min).unwrap_or(0),
            key: guard.and_then(|it| it.md5.clone()),
        }
    }
}

impl Carrying {
    /// Whether it is what was asked for towards that end, and does not stand yet.
    fn is_to(&self, table: u32, flow: &Flow) -> bool {
        self.begins && self.table == table && to(&self.flow) == to(flow)
    }
}

impl Carrier {
    /// One whose messages `frame` cuts; `secret` is known to nobody else.
    #[must_use]
    pub fn new(
        channel: PacketChannel,
        frame: fn(&[u8]) -> Frame,
        secret: &[u8; 16],
        most: usize,
    ) -> Self {
        Self {
            channel,
            listen: ListenTerms::SHUT,
            frame,
            streams: Streams::new(secret, most, WAITING_ALL_MAX),
            carried: BTreeMap::new(),
            partial: 0,
            next: 0,
            heard: VecDeque::new(),
            received: 0,
            unread: 0,
            sent: 0,
        }
    }

    /// Who may connect from now on. Connections whose address is gone are over.
    pub fn configure(&mut self, now: Time, listen: ListenTerms) {
        self.listen = listen;
        let gone: Vec<ConnId> = self.carried.keys().copied().collect();
        for id in gone {
            let own = self.streams.ends(id).map(|it| (it.table, it.own.ip()));
            if own.is_some_and(|it| !self.listen.own.contains(&it)) {
                self.streams.close(now, id);
                self.ended(id, "its address is none of this router any more");
            }
        }
    }

    /// Whether packets come and go.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.channel.is_open()
    }

    /// What went through the packet channel.
    #[must_use]
    pub fn channel(&self) -> PacketChannelTally {
        self.channel.tally()
    }

    /// What was counted.
    #[must_use]
    pub fn tally(&self) -> CarrierTally {
        let Self { received, unread, sent, .. } = *self;
        CarrierTally { received, unread, sent }
    }

    /// How many connections there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Takes what happened on a channel; that of another number is passed over. `welcomes` says who
    /// may connect to an address of a table. Whose attempt to connect was refused there, and why:
    /// `None` where nobody is welcome from there.
    pub fn step(
        &mut self,
        now: Time,
        port: PortId,
        event: ChannelEvent<'_>,
        welcomes: impl FnOnce(u32, IpAddr) -> bool,
    ) -> Option<(u32, IpAddr, Option<Unmet>)> {
        let Some(PacketChannelEvent::Packet(record, packet)) = self.channel.step(now, port, event)
        else {
            return None;
        };
        self.received += 1;
        let mut is_stranger = false;
        let Self { listen, next, .. } = self;
        let may = |ends: &Ends| {
            let is_ours = listen.own.contains(&(ends.table, ends.own.ip()));
            let is_meant = ends.own.port() == listen.port && is_ours;
            let is_let_in = is_meant && welcomes(ends.table, ends.far.ip());
            is_stranger = is_meant && !is_let_in;
            is_let_in.then(|| {
                *next = next.wrapping_add(1).max(1);
                (ConnId(*next), listen.terms(ends.table, ends.far.ip()))
            })
        };
        let arrived = Arrived::read(record.vrf, packet);
        let came = arrived.map(|it| self.streams.arrived(now, &it, may));
        self.unread += u64::from(came != Some(Ok(())));
        let (it, refused) = arrived.zip(came?.err())?;
        let from = (it.ends.table, it.ends.far.ip());
        match refused {
            Refused::Unmet(unmet) => Some((from.0, from.1, Some(unmet))),
            Refused::Unwanted => is_stranger.then_some((from.0, from.1, None)),
        }
    }

    /// Does what the speaker of a table wants; `from` says of the far end of a flow from which
    /// address it is reached.
    pub fn carry(
        &mut self,
        now: Time,
        table: u32,
        wanted: &mut Effects,
        from: impl Fn(&Flow) -> Option<IpAddr>,
    ) {
        let closes = std::mem::take(&mut wanted.closes);
        // Who connects again, in one turn, gives up first what has not come to stand.
        for flow in &closes {
            let is_it = |it: &Carrying| it.is_to(table, flow);
            let begun = self.carried.iter().find(|(_, it)| is_it(it)).map(|(id, _)| *id);
            if let Some(id) = begun.filter(|_| !self.carried.contains_key(&flow.conn)) {
                self.close(now, id);
            }
        }
        for flow in std::mem::take(&mut wanted.opens) {
            self.open(now, table, flow, &from);
        }
        for (at, (flow, octets)) in wanted.sends().enumerate() {
            match wanted.shared(at) {
                Some(octets) => self.streams.write_shared(flow.conn, octets.clone()),
                None => self.streams.write(flow.conn, octets),
            }
        }
        for flow in closes {
            if self.carried.contains_key(&flow.conn) {
                self.close(now, flow.conn);
            }
        }
        wanted.clear();
    }

    /// Closes what the speaker wants to hear nothing of any more.
    fn close(&mut self, now: Time, id: ConnId) {
        self.forget(id);
        self.streams.close(now, id);
    }

    fn open(&mut self, now: Time, table: u32, flow: Flow, from: impl Fn(&Flow) -> Option<IpAddr>) {
        if self.carried.values().any(|it| it.is_to(table, &flow)) {
            return;
        }
        let Some(own) = from(&flow) else {
            let why = "no address of this router leads to it";
            return self.heard.push_back((table, Carried::Down(flow, why)));
        };
        let Some(id) = self.number() else {
            return self.heard.push_back((table, Carried::Down(flow, text(None))));
        };
        let terms = self.listen.terms(table, flow.remote.ip());
        let local = SocketAddr::new(own, 0);
        let flow = Flow { conn: id, local, ..flow };
        self.carried.insert(id, Carrying { table, flow, begins: true, partial: Vec::new() });
        self.streams.open(now, id, (table, own), flow.remote, terms);
    }

    /// A number that no connection has.
    fn number(&mut self) -> Option<ConnId> {
        (0..=self.streams.len()).find_map(|_| {
            self.next = self.next.wrapping_add(1).max(1);
            let id = ConnId(self.next);
            self.streams.ends(id).is_none().then_some(id)
        })
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        self.channel.tick(now, out);
        self.streams.tick(now);
    }

    /// When [`Carrier::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let all = [self.channel.deadline(), self.streams.deadline()];
        all.into_iter().flatten().min()
    }

    /// Sends what is to leave, and finds out what the speaker hears: [`Carrier::hear`] says it.
    pub fn settle(&mut self, now: Time, out: &mut Effects) {
        let (channel, sent) = (&mut self.channel, &mut self.sent);
        let events = self.streams.take(now, |to, segment| {
            *sent += 1;
            write(to, segment, |header, part| {
                channel.send(out, PacketTo::Vrf(to.ends.table), |into| {
                    into.extend_from_slice(header);
                    into.extend_from_slice(part);
                });
            });
        });
        for event in events {
            self.happened(now, event);
        }
    }

    /// What the speaker of a table hears next.
    pub fn hear(&mut self) -> Option<(u32, Carried)> {
        self.heard.pop_front()
    }

    fn happened(&mut self, now: Time, event: Event<ConnId>) {
        match event {
            Event::Connected(id) => {
                let ends = self.streams.ends(id);
                let Some(it) = self.carried.get_mut(&id) else { return };
                it.begins = false;
                it.flow.local = ends.map_or(it.flow.local, |it| it.own);
                self.heard.push_back((it.table, Carried::Up(it.flow)));
            }
            Event::Accepted(id) => {
                let Some(ends) = self.streams.ends(id) else { return };
                let number = self.listen.number;
                let flow = Flow::to(number, Transport::Tcp, ends.own, ends.far);
                let flow = Flow { conn: id, ..flow };
                let (table, partial) = (ends.table, Vec::new());
                self.carried.insert(id, Carrying { table, flow, begins: false, partial });
                self.heard.push_back((table, Carried::Up(flow)));
            }
            Event::Octets(id, octets) => self.octets(now, id, octets),
            Event::Written(id, octets, left) => {
                if let Some(it) = self.carried.get(&id) {
                    let written = Carried::Written(it.flow, octets as u64, left as u64);
                    self.heard.push_back((it.table, written));
                }
            }
            Event::Closed(id, why) => self.ended(id, text(why)),
        }
    }

    fn ended(&mut self, id: ConnId, why: &'static str) {
        if let Some(it) = self.forget(id) {
            self.heard.push_back((it.table, Carried::Down(it.flow, why)));
        }
    }

    fn forget(&mut self, id: ConnId) -> Option<Carrying> {
        let it = self.carried.remove(&id)?;
        self.partial -= it.partial.len();
        Some(it)
    }

    /// Cuts a stream as the runtime does.
    fn octets(&mut self, now: Time, id: ConnId, octets: Vec<u8>) {
        let Some(it) = self.carried.get_mut(&id) else { return };
        let mut buffer = std::mem::take(&mut it.partial);
        self.partial -= buffer.len();
        buffer.extend(octets);
        let mut from = 0;
        let broken = loop {
            let rest = &buffer[from..];
            match (self.frame)(rest) {
                _ if rest.is_empty() => break None,
                Frame::Message(count) if count > 0 && count <= rest.len() => {
                    let octets = Carried::Octets(it.flow, rest[..count].to_vec());
                    self.heard.push_back((it.table, octets));
                    from += count;
                }
                Frame::Message(_) | Frame::Partial => break None,
                Frame::Broken(why) => break Some(why),
                Frame::Skip(_) | Frame::Answer(..) => break Some("it is no message"),
            }
        };
        buffer.drain(..from);
        let broken = broken.or_else(|| (buffer.len() > PARTIAL_MAX).then_some("it has no end"));
        if let Some(why) = broken {
            self.streams.close(now, id);
            return self.ended(id, why);
        }
        self.partial += buffer.len();
        it.partial = buffer;
        if self.partial > PARTIAL_ALL_MAX {
            // Whoever has the longest of them is given up.
            let longest = self.carried.iter().max_by_key(|(_, it)| it.partial.len());
            if let Some(id) = longest.map(|(id, _)| *id) {
                self.streams.close(now, id);
                self.ended(id, "too many messages have no end");
            }
        }
    }

    /// Closes the packet channel: who made it forgets it.
    pub fn end(&self, out: &mut Effects) {
        self.channel.close(out);
    }
}

/// The way of a flow, whoever's number it has.
const fn to(flow: &Flow) -> (PortId, SocketAddr) {
    (flow.port, flow.remote)
}

const fn text(why: Option<Why>) -> &'static str {
    match why {
        Some(Why::Ended) => "the far end closed the connection",
        Some(Why::Reset) => "the far end reset the connection",
        Some(Why::Silence) => "nobody answers",
        Some(Why::Aborted) => "the connection was given up",
        None => "there are too many connections",
    }
}
