//! LDP as its function has it: what comes by the packet channel, what time does, which labels
//! prefixes have.

use crate::config::Ldp;
use crate::echo::Echoes;
use dataplane::{PacketChannel, PacketChannelEvent};
use igp::Link;
use igp::ip4::{self, Head, Packet};
use ldp::{
    ConnectionId, In, InterfaceSettings, LabelHop, LdpId, Limits, NextHop, Out, PORT, Prefix,
    Settings, Speaker,
};
use machine::{Machine as _, Time};
use runtime::{ChannelEvent, Effects, PacketRecord, PacketTo, PortId};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use streams::{Arrived, Ends, Event, Streams, Terms, WAITING_ALL_MAX};

/// The global table.
pub(crate) const GLOBAL: u32 = 0;
/// Sessions lost that are remembered; more are counted alone.
const LOST_MAX: usize = 256;
/// Connections at most.
const STREAMS_MAX: usize = 1_024;

/// The classes of the packet channel, with their shares of its rings.
#[must_use]
pub fn classes() -> Vec<(String, u16)> {
    vec![("ldp".to_owned(), 512)]
}

/// What it is made with.
pub struct Start {
    /// The time.
    pub now: Time,
    /// Unpredictable octets.
    pub random: [u8; 32],
    /// The function's name.
    pub function: String,
    /// Labels of the upper half of the range are given, not of the lower one.
    pub is_upper: bool,
}

/// What becomes of packets with a label of ours, and of those to its prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forward {
    /// Our label.
    pub label: u32,
    /// Ways out, with the next routers' labels.
    pub hops: Vec<LabelHop>,
}

/// What has been counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) received: u64,
    pub(crate) unread: u64,
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    /// Events of sessions.
    heard: u64,
}

/// LDP of one function.
pub struct Labels {
    pub(crate) function: String,
    pub(crate) section: Arc<Ldp>,
    is_upper: bool,
    pub(crate) speaker: Speaker,
    pub(crate) links: BTreeMap<u32, Link>,
    /// Interfaces that the speaker was told of.
    spoken: BTreeMap<u32, Vec<IpAddr>>,
    pub(crate) channel: PacketChannel,
    /// The packet channel has been open.
    has_channel: bool,
    /// Ways of prefixes as the speaker was told them; none: they are our own.
    pub(crate) routes: BTreeMap<Prefix, Vec<NextHop>>,
    pub(crate) forwards: BTreeMap<Prefix, Forward>,
    changed: BTreeSet<Prefix>,
    pub(crate) streams: Streams<ConnectionId>,
    /// Numbers connections that come.
    connection: u32,
    /// Since when sessions stand, and since when they do not any more.
    pub(crate) since: BTreeMap<LdpId, Time>,
    pub(crate) lost: BTreeMap<LdpId, Time>,
    /// Interfaces whose sessions have told what there is.
    pub(crate) synchronized: BTreeSet<u32>,
    has_synchronized: bool,
    /// Numbers packets.
    packet: u16,
    pub(crate) echoes: Echoes,
    pub(crate) tally: Tally,
}

/// What the machine is told.
fn settings(section: &Ldp, is_upper: bool) -> Settings {
    let [first, last] = section.labels;
    let middle = first + (last - first) / 2;
    Settings {
        ipv4: Some(section.transport()),
        control: section.control.control(),
        hold_s: section.hold_s,
        targeted_hold_s: section.hold_s,
        keepalive_s: section.keepalive_s,
        labels: if is_upper { (middle + 1, last) } else { (first, middle) },
        has_gtsm: section.gtsm,
        // There are no pseudowires here.
        limits: Limits { early: 0, ..Limits::default() },
        ..Settings::new(section.router_id)
    }
}

/// Whether an address lies in a subnet of a link; one without any may have whatever neighbours.
fn is_of(link: &Link, it: Ipv4Addr) -> bool {
    let of = |(own, length): &(IpAddr, u8)| match own {
        IpAddr::V4(own) => {
            let shift = 32_u32.saturating_sub((*length).into());
            (*length < 32)
                .then(|| (u32::from(*own) ^ u32::from(it)).checked_shr(shift).unwrap_or(0) == 0)
        }
        IpAddr::V6(_) => None,
    };
    let mut subnets = link.addresses.iter().filter_map(of).peekable();
    subnets.peek().is_none() || subnets.any(|lies| lies)
}

/// What a neighbour must prove (RFC 6720).
const fn terms(has_gtsm: bool) -> Terms {
    Terms { hop_limit: u8::MAX, hop_limit_min: if has_gtsm { u8::MAX } else { 0 }, key: None }
}

fn speaker(section: &Ldp, is_upper: bool) -> Speaker {
    Speaker::new(settings(section, is_upper)).expect("the section was found valid")
}

impl Labels {
    /// It speaks by a packet channel from its first [`Labels::configure`] on.
    #[must_use]
    pub fn new(start: Start, section: Arc<Ldp>, channel: PacketChannel) -> Self {
        let secret = machine::KeyedHash::derive(&start.random, b"streams of ldp");
        Self {
            function: start.function,
            speaker: speaker(&section, start.is_upper),
            section,
            is_upper: start.is_upper,
            links: BTreeMap::new(),
            spoken: BTreeMap::new(),
            channel,
            has_channel: false,
            routes: BTreeMap::new(),
            forwards: BTreeMap::new(),
            changed: BTreeSet::new(),
            streams: Streams::new(&secret, STREAMS_MAX, WAITING_ALL_MAX),
            connection: 0,
            since: BTreeMap::new(),
            lost: BTreeMap::new(),
            synchronized: BTreeSet::new(),
            has_synchronized: false,
            packet: 0,
            echoes: Echoes::new(&start.random),
            tally: Tally::default(),
        }
    }

    /// Another section, other interfaces. What stays goes on.
    pub fn configure(&mut self, now: Time, section: Arc<Ldp>, links: Vec<Link>, out: &mut Effects) {
        if !self.section.is_met_as(&section) {
            self.input(now, In::Shutdown, out);
            self.changed.extend(self.forwards.keys().copied());
            self.forwards.clear();
            // Labels of before may still be on their way.
            self.is_upper = !self.is_upper;
            self.speaker = speaker(&section, self.is_upper);
            self.spoken.clear();
            self.routes.clear();
            (self.since, self.lost) = (BTreeMap::new(), BTreeMap::new());
            self.synchronized.clear();
            self.has_synchronized = section.igp_sync;
        }
        if self.section.interface != section.interface {
            // Who is not spoken to any more is not missed.
            self.lost.clear();
        }
        self.section = section;
        self.links = links.into_iter().map(|link| (link.index, link)).collect();
        self.raise(now, out);
    }

    /// Which links are up is another thing than it was: `is_up` says of each by its name.
    pub fn links(&mut self, now: Time, is_up: impl Fn(&str) -> bool, out: &mut Effects) {
        for link in self.links.values_mut() {
            link.is_up = is_up(&link.name);
        }
        self.raise(now, out);
    }

    /// Tells the speaker of interfaces that speak, and of those that do not any more.
    fn raise(&mut self, now: Time, out: &mut Effects) {
        let up = self.links.values().filter(|it| self.has_channel && it.is_up);
        let up = up.filter(|it| it.address.is_some() && self.section.speaks(&it.name));
        let up: BTreeMap<u32, Vec<IpAddr>> = up
            .map(|it| {
                let own = it.addresses.iter().map(|it| it.0).filter(IpAddr::is_ipv4);
                (it.index, own.collect())
            })
            .collect();
        let known = std::mem::take(&mut self.spoken);
        for index in known.iter().filter(|(it, own)| up.get(it) != Some(own)).map(|it| *it.0) {
            self.input(now, In::InterfaceDown(index), out);
        }
        for (index, addresses) in &up {
            if known.get(index) != Some(addresses) {
                let addresses = addresses.clone();
                let (index, is_ipv4, is_ipv6) = (*index, true, false);
                let settings = InterfaceSettings { index, is_ipv4, is_ipv6, addresses };
                self.input(now, In::InterfaceUp(settings), out);
            }
        }
        self.spoken = up;
    }

    /// Prefixes are reached by these ways, by none (they are our own), or not at all. All at once:
    /// each input looks at all sessions.
    pub fn routes(
        &mut self,
        now: Time,
        all: impl IntoIterator<Item = (Prefix, Option<Vec<NextHop>>)>,
        out: &mut Effects,
    ) {
        let mut changed = Vec::new();
        for (prefix, ways) in all {
            let ways = ways.filter(|_| self.section.takes(prefix));
            let before = match &ways {
                Some(ways) => self.routes.insert(prefix, ways.clone()),
                None => self.routes.remove(&prefix),
            };
            if before != ways {
                changed.push((prefix, ways));
            }
        }
        if !changed.is_empty() {
            self.input(now, In::Routes(changed), out);
        }
    }

    /// Prefixes that are reached, as the speaker was told.
    pub fn routed(&self) -> impl Iterator<Item = Prefix> {
        self.routes.keys().copied()
    }

    /// Takes what happened on a channel; that of another number is passed over.
    pub fn step(&mut self, now: Time, port: PortId, event: ChannelEvent<'_>, out: &mut Effects) {
        match self.channel.step(now, port, event) {
            Some(PacketChannelEvent::Packet(record, packet)) => {
                self.arrive(now, record, packet, out)
            }
            Some(PacketChannelEvent::Closed(why)) => {
                let function = &*self.function;
                tracing::debug!(target: "ldp", function, why, "the packet channel is closed");
            }
            Some(PacketChannelEvent::Opened) => {
                self.has_channel = true;
                self.raise(now, out);
            }
            None => {}
        }
    }

    /// A packet came up.
    fn arrive(&mut self, now: Time, record: PacketRecord, octets: &[u8], out: &mut Effects) {
        self.tally.received += 1;
        let packet = Packet::read(octets);
        let is_echo = self.echo(now, record, octets, out).is_some();
        let is_read = is_echo
            || packet.is_some_and(|it| match it.protocol {
                ip4::UDP => self.datagram(now, record.interface, &it, out).is_some(),
                ip4::TCP => self.is_meant(record, &it) && self.segment(now, octets).is_some(),
                _ => false,
            });
        self.tally.unread += u64::from(!is_read);
        self.settle(now, out);
    }

    /// Whether a segment came where connections are: in the global table, to the address at which
    /// sessions end, and by a link with LDP where its sender's packets come over no other router.
    fn is_meant(&self, record: PacketRecord, packet: &Packet<'_>) -> bool {
        let is_here = record.vrf == GLOBAL && packet.destination == self.section.transport();
        let is_near = || self.spoken.contains_key(&record.interface);
        is_here && (!self.speaker.has_gtsm(packet.source.into()) || is_near())
    }

    fn segment(&mut self, now: Time, octets: &[u8]) -> Option<()> {
        let (speaker, connection) = (&self.speaker, &mut self.connection);
        let may = |ends: &Ends| {
            let far = ends.far.ip();
            let is_heard = ends.own.port() == PORT && speaker.hears(far);
            is_heard.then(|| {
                *connection = connection.wrapping_add(1);
                let id = ConnectionId { number: *connection, is_own: false };
                (id, terms(speaker.has_gtsm(far)))
            })
        };
        self.streams.arrived(now, &Arrived::read(GLOBAL, octets)?, may).ok()
    }

    fn datagram(
        &mut self,
        now: Time,
        interface: u32,
        packet: &Packet<'_>,
        out: &mut Effects,
    ) -> Option<()> {
        let (_, payload) = packet.datagram().filter(|(port, _)| *port == PORT)?;
        self.links.get(&interface).filter(|link| is_of(link, packet.source))?;
        let (source, hop_limit) = (packet.source.into(), packet.ttl);
        let is_multicast = packet.destination.is_multicast();
        let octets = payload.to_vec();
        self.input(now, In::Datagram { interface, source, is_multicast, hop_limit, octets }, out);
        Some(())
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        self.channel.tick(now, out);
        self.streams.tick(now);
        let mut wanted = Vec::new();
        self.speaker.tick(now, &mut wanted);
        self.follow(now, wanted, out);
        self.settle(now, out);
        self.probes(now, out);
    }

    /// When [`Labels::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let own = self.speaker.deadline().into_iter().chain(self.echoes.deadline());
        let all = own.chain(self.channel.deadline()).chain(self.streams.deadline());
        all.min()
    }

    /// Gives the machine one input.
    fn input(&mut self, now: Time, input: In, out: &mut Effects) {
        let mut wanted = Vec::new();
        self.speaker.step(now, input, &mut wanted);
        self.follow(now, wanted, out);
        self.settle(now, out);
    }

    /// Sends what connections want sent, and tells the machine what came of them.
    fn settle(&mut self, now: Time, out: &mut Effects) {
        loop {
            let (channel, sent) = (&mut self.channel, &mut self.tally.sent);
            let events = self.streams.take(now, |to, segment| {
                *sent += 1;
                streams::write(to, segment, |header, part| {
                    channel.send(out, PacketTo::Vrf(GLOBAL), |into| {
                        into.extend_from_slice(header);
                        into.extend_from_slice(part);
                    });
                });
            });
            if events.is_empty() {
                return;
            }
            self.tally.heard += 1;
            for event in events {
                let far = |id| self.streams.ends(id).map(|it| it.far.ip());
                let input = match event {
                    Event::Connected(id) => In::Connected(id),
                    Event::Accepted(id) => match far(id) {
                        Some(from) => In::Accepted(id, from),
                        None => continue,
                    },
                    Event::Octets(id, octets) => In::Octets(id, octets),
                    Event::Closed(id, _) => In::Closed(id),
                    Event::Written(..) => continue,
                };
                let mut wanted = Vec::new();
                self.speaker.step(now, input, &mut wanted);
                self.follow(now, wanted, out);
            }
        }
    }

    /// Does what the machine wants.
    fn follow(&mut self, now: Time, wanted: Vec<Out>, out: &mut Effects) {
        for one in wanted {
            match one {
                Out::Datagram { interface, destination: IpAddr::V4(to), hop_limit, octets } => {
                    self.send(interface, to, hop_limit, &octets, out);
                }
                Out::Connect { connection, local, remote, has_gtsm } => {
                    self.connect(now, connection, (local, remote), has_gtsm);
                }
                Out::Write(connection, octets) => self.streams.write(connection, &octets),
                Out::Close(connection) => self.streams.close(now, connection),
                Out::Forward { prefix, label, hops } => {
                    self.forwards.insert(prefix, Forward { label, hops });
                    self.changed.insert(prefix);
                }
                Out::Unlabelled(prefix) => {
                    self.forwards.remove(&prefix);
                    self.changed.insert(prefix);
                }
                Out::Session(peer, is_up) => self.session(now, peer, is_up),
                Out::Synchronized(interface, is) => {
                    self.has_synchronized |= self.section.igp_sync;
                    if is {
                        self.synchronized.insert(interface);
                    } else {
                        self.synchronized.remove(&interface);
                    }
                }
                Out::Datagram { .. } | Out::Pseudowire(..) | Out::ForgetMacs(..) => {}
            }
        }
    }

    fn connect(
        &mut self,
        now: Time,
        connection: ConnectionId,
        ends: (IpAddr, IpAddr),
        has_gtsm: bool,
    ) {
        let (local, remote) = ends;
        let to = SocketAddr::new(remote, PORT);
        self.streams.open(now, connection, (GLOBAL, local), to, terms(has_gtsm));
    }

    fn send(
        &mut self,
        interface: Option<u32>,
        destination: Ipv4Addr,
        ttl: u8,
        payload: &[u8],
        out: &mut Effects,
    ) {
        let link = interface.and_then(|it| self.links.get(&it));
        let own = link.map_or(Some(self.section.transport()), |it| it.address.map(|it| it.0));
        let Some(source) = own else { return };
        let to = match interface {
            Some(index) if destination.is_multicast() => PacketTo::Link(index),
            _ => PacketTo::Vrf(GLOBAL),
        };
        let datagram = ip4::udp([source, destination], [PORT, PORT], payload);
        let id = self.next_packet();
        let head = Head { source, destination, ttl, protocol: ip4::UDP, id };
        let channel = &mut self.channel;
        ip4::write(&head, &datagram, u16::MAX, |header, part| {
            channel.send(out, to, |into| {
                into.extend_from_slice(header);
                into.extend_from_slice(part);
            });
        });
    }

    /// The number of the next packet, which is counted.
    pub(crate) const fn next_packet(&mut self) -> u16 {
        self.packet = self.packet.wrapping_add(1);
        self.tally.sent += 1;
        self.packet
    }

    fn session(&mut self, now: Time, peer: LdpId, is_up: bool) {
        let (function, router_id) = (&*self.function, peer.router);
        if is_up {
            tracing::info!(target: "ldp", function, %router_id, "session");
            self.lost.remove(&peer);
            self.since.insert(peer, now);
        } else if self.since.remove(&peer).is_some() {
            tracing::warn!(target: "ldp", function, %router_id, "session lost");
            self.tally.lost += 1;
            if self.lost.len() < LOST_MAX {
                self.lost.insert(peer, now);
            }
        }
    }

    /// Prefixes whose labels are others, or gone, since this was called last.
    pub fn take_changed(&mut self) -> BTreeSet<Prefix> {
        std::mem::take(&mut self.changed)
    }

    /// Whether there is something for [`Labels::take_changed`].
    #[must_use]
    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Whether links are synchronized that were not, or not any more, since this was called last.
    pub fn take_synchronized(&mut self) -> bool {
        std::mem::take(&mut self.has_synchronized)
    }

    /// Whether an interface costs the most, since no session on it has told its labels.
    #[must_use]
    pub fn is_dear(&self, interface: u32) -> bool {
        let speaks = self.links.get(&interface).is_some_and(|it| self.section.speaks(&it.name));
        self.section.igp_sync && speaks && !self.synchronized.contains(&interface)
    }

    /// What becomes of packets to a prefix and with its label.
    #[must_use]
    pub fn forward(&self, prefix: Prefix) -> Option<&Forward> {
        self.forwards.get(&prefix)
    }

    /// The label that a next hop has told for a prefix, in use or not.
    #[must_use]
    pub fn advertised(&self, prefix: Prefix, hop: &NextHop) -> Option<u32> {
        self.speaker.advertised(prefix, hop)
    }

    /// How often sessions have said something: what they told may be another thing since then.
    #[must_use]
    pub const fn heard(&self) -> u64 {
        self.tally.heard
    }

    /// Prefixes and the labels that they have here.
    pub fn bindings(&self) -> impl Iterator<Item = (Prefix, u32)> {
        self.speaker.bindings()
    }

    /// All of these.
    pub fn forwards(&self) -> impl Iterator<Item = (Prefix, &Forward)> {
        self.forwards.iter().map(|(prefix, it)| (*prefix, it))
    }

    /// The half of the range that labels are of: the next one takes the other.
    #[must_use]
    pub const fn is_upper(&self) -> bool {
        self.is_upper
    }

    /// The site ends in order: peers hear it.
    pub fn drain(&mut self, now: Time, out: &mut Effects) {
        self.input(now, In::Shutdown, out);
    }

    /// Ends it: peers hear it, and the packet channel is closed.
    pub fn end(&mut self, now: Time, out: &mut Effects) {
        self.input(now, In::Shutdown, out);
        self.channel.close(out);
    }
}
