//! Packets in and out of all sets of a shard.

use crate::metrics::Metric;
use crate::packet::{self, ESP, UDP, UDP_HEADER, ip_header};
use crate::promises::{Promise, Promises};
use crate::set::{Associations, Lane, Path, Set, SetRow};
use crate::spi;
use crate::strangers::Strangers;
use esp::{HEADROOM, Inbound, Notice, Packet, Passed, Report, Spi, TAILROOM, datagram};
use event::{MetricCells, Metrics};
use machine::Time;
use machine::slots::{Key, Slots};
use runtime::{Carrier, Flow, PortId, PortSpec, Transport};
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

/// The number of ESP among the protocols of IP.
pub const PROTOCOL: u8 = ESP;

/// An address of ours that takes ESP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The address; no wildcard: packets are protected for one that peers know.
    pub ip: IpAddr,
    /// The raw port (IP protocol 50).
    pub raw: PortId,
    /// Whether its packets pass by the kernel's IP where they can ([`runtime::Carrier::Raw`]).
    pub bypass: bool,
    /// The port of ESP in UDP (RFC 3948) and its number, if there is one.
    pub in_udp: Option<(PortId, u16)>,
}

/// What an endpoint is made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Its addresses.
    pub addresses: Vec<Address>,
    /// Sets at the same time, [`crate::SETS_MAX`] at most.
    pub sets_max: u32,
}

impl Address {
    /// The ports that the function lists in its [`runtime::ShardSpec`]; `name` is for people.
    #[must_use]
    pub fn ports(&self, name: &str) -> Vec<PortSpec> {
        let port = |id, number, carrier, what: &str| PortSpec {
            id,
            name: format!("{name} {what}"),
            listen: SocketAddr::new(self.ip, number),
            carrier,
            ..PortSpec::default()
        };
        let raw = Carrier::Raw { protocol: PROTOCOL, bypass: self.bypass };
        let udp = Carrier::Udp { whole: false, runs: false };
        let in_udp = self.in_udp.map(|(id, number)| port(id, number, udp, "esp in udp"));
        [port(self.raw, 0, raw, "esp")].into_iter().chain(in_udp).collect()
    }
}

/// What was in a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrived {
    /// The set that it came by.
    pub set: Key,
    /// What the function knows the set by.
    pub owner: u32,
    /// The lane that it came by.
    pub lane: Lane,
    /// [`crate::UDP`] or [`crate::TCP`].
    pub protocol: u8,
    /// Who sent it, inside.
    pub source: SocketAddr,
    /// To whom, inside.
    pub destination: SocketAddr,
    /// The whole packet in [`Endpoint::octets`].
    pub packet: Range<usize>,
    /// What UDP carries, or the segment of TCP, there.
    pub payload: Range<usize>,
    /// Where the peer was before, if a NAT has moved it.
    pub moved_from: Option<SocketAddr>,
}

/// All sets of one shard.
#[derive(Debug)]
pub struct Endpoint {
    settings: Settings,
    shard: u16,
    /// What indices are made of.
    pub(crate) secret: u64,
    pub(crate) sets: Slots<Set>,
    /// What another node has to know first.
    pub(crate) promises: Promises,
    strangers: Strangers,
    /// Sets by which connections went, and that have ended.
    ended: Vec<Key>,
    buffer: Vec<u8>,
    report: Report,
    pub(crate) metrics: Metrics<Metric>,
}

impl Endpoint {
    /// An endpoint without sets; `secret` was drawn at random.
    #[must_use]
    pub fn new(settings: Settings, shard: u16, secret: u64, now: Time) -> Self {
        Self {
            sets: Slots::new(settings.sets_max.min(spi::SETS_MAX), now),
            settings,
            shard,
            secret,
            promises: Promises::default(),
            strangers: Strangers::new(secret.rotate_left(29)),
            ended: Vec::new(),
            buffer: Vec::new(),
            report: Report::default(),
            metrics: Metrics::new(),
        }
    }

    /// Takes other settings; sets stand, but those whose address is gone send nothing any more.
    pub fn configure(&mut self, settings: Settings) {
        self.sets.set_max(settings.sets_max.min(spi::SETS_MAX));
        self.settings = settings;
    }

    /// Whether packets come to that port.
    #[must_use]
    pub fn owns(&self, port: PortId) -> bool {
        self.settings.address(port).is_some()
    }

    /// The address with that IP address.
    #[must_use]
    pub fn address(&self, ip: IpAddr) -> Option<&Address> {
        self.settings.addresses.iter().find(|it| it.ip == ip)
    }

    /// A slot for a set, and the indices by which packets shall come to its lanes; `None`: there
    /// are as many sets as there may be.
    pub fn reserve(&mut self) -> Option<(Key, [Spi; 2])> {
        let taken = self.sets.take().map(|(key, _)| key);
        let indices = taken.and_then(|key| {
            let spi = |lane| spi::write(self.secret, self.shard, key, lane);
            Some((key, [spi(Lane::First)?, spi(Lane::Second)?]))
        });
        if indices.is_none() {
            self.metrics.add(Metric::SetsRefused, 1);
            if let Some(key) = taken {
                self.sets.give_back(key);
            }
        }
        indices
    }

    /// Puts associations into a slot that was reserved; `false`: it is reserved no more, or an
    /// inbound one has another index than was given out. Their first block is granted: another
    /// node that knows their keys knows it, too.
    pub fn install(&mut self, set: Key, mut associations: Associations) -> bool {
        let (secret, lanes) = (self.secret, [Lane::First, Lane::Second]);
        let fits = |(lane, it): (Lane, &Option<Inbound>)| {
            it.as_ref().is_none_or(|it| spi::is_of(secret, it.spi(), set, lane))
        };
        if !lanes.into_iter().zip(&associations.inbound).all(fits) {
            return false;
        }
        let Some(slot) = self.sets.at_mut(set) else { return false };
        for it in associations.outbound.iter_mut().flatten() {
            it.grant(it.wanted());
        }
        slot.associations = Some(Box::new(associations));
        self.metrics.add(Metric::SetsInstalled, 1);
        self.gauge();
        true
    }

    /// Ends a set; its keys are wiped.
    pub fn remove(&mut self, set: Key) {
        if self.sets.at(set).is_some_and(|slot| slot.has_streams) {
            self.ended.push(set);
        }
        self.sets.give_back(set);
        self.gauge();
    }

    /// A connection of TCP begins by a set: when that ends the connection is no more.
    pub(crate) fn begin_stream(&mut self, set: Key) {
        if let Some(slot) = self.sets.at_mut(set) {
            slot.has_streams = true;
        }
    }

    /// Sets by which connections went that have ended since this was asked last.
    pub(crate) fn take_ended(&mut self) -> Vec<Key> {
        core::mem::take(&mut self.ended)
    }

    /// What can be told of a set.
    #[must_use]
    pub fn show(&self, set: Key) -> Option<SetRow> {
        self.sets.at(set)?.associations.as_deref().map(SetRow::of)
    }

    /// Where packets of a set go now.
    #[must_use]
    pub fn path(&self, set: Key) -> Option<Path> {
        Some(self.sets.at(set)?.associations.as_ref()?.path)
    }

    /// Slots in use.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.sets.len()
    }

    /// Whether there is no set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// A packet came in the clear to a port that takes protected ones alone.
    pub fn refuse_clear(&self) {
        self.metrics.add(Metric::Clear, 1);
    }

    /// Opens a packet that came to one of the ports; `None`: it was dropped, or there is nothing in
    /// it. What was in it stands in [`Endpoint::octets`] until the next one.
    pub fn unprotect(&mut self, now: Time, flow: &Flow, bytes: &[u8]) -> Option<Arrived> {
        match self.open(now, flow, bytes) {
            Ok(arrived) => {
                self.metrics.add(Metric::PacketsIn, 1);
                Some(arrived)
            }
            Err(metric) => {
                self.metrics.add(metric, 1);
                None
            }
        }
    }

    /// The octets of the last packet that was opened.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.buffer
    }

    fn open(&mut self, now: Time, flow: &Flow, bytes: &[u8]) -> Result<Arrived, Metric> {
        let address = *self.settings.address(flow.port).ok_or(Metric::Malformed)?;
        let in_udp = address.raw != flow.port;
        if in_udp && matches!(datagram(bytes), esp::Datagram::Keepalive) {
            return Err(Metric::Keepalives);
        }
        let index = spi::spi_of(bytes).ok_or(Metric::Malformed)?;
        let (set, lane) = self.find(index).ok_or(Metric::UnknownSpi)?;
        let is_stranger = {
            let path = &self.associations(set).ok_or(Metric::UnknownSpi)?.path;
            if path.in_udp != in_udp || (!in_udp && path.remote.ip() != flow.remote.ip()) {
                return Err(Metric::Elsewhere);
            }
            path.remote != flow.remote && in_udp
        };
        if is_stranger && !self.strangers.admit(now, flow.remote.ip()) {
            return Err(Metric::Limited);
        }
        let mut buffer = core::mem::take(&mut self.buffer);
        let opened = self.opened(set, lane, (flow, &address, bytes, in_udp), &mut buffer);
        self.buffer = buffer;
        opened
    }

    fn opened(
        &mut self,
        set: Key,
        lane: Lane,
        came: (&Flow, &Address, &[u8], bool),
        buffer: &mut Vec<u8>,
    ) -> Result<Arrived, Metric> {
        let (flow, address, bytes, in_udp) = came;
        rebuild(buffer, flow, address, bytes, in_udp).ok_or(Metric::Malformed)?;
        let whole = 0..buffer.len();
        let mut packets = [Packet::new(0, whole.clone(), 0, whole.end)];
        self.report.notices.clear();
        let slot = self.sets.at_mut(set).and_then(|slot| slot.associations.as_mut());
        let associations = slot.ok_or(Metric::UnknownSpi)?;
        let inbound = associations.inbound[lane.place()].as_mut().ok_or(Metric::UnknownSpi)?;
        esp::unprotect(&mut One(inbound), buffer, &mut packets, &mut self.report);
        let [packet] = packets;
        let moved_from = moved(associations, &self.report.notices);
        if moved_from.is_some() {
            self.metrics.add(Metric::Moved, 1);
        }
        match packet.verdict {
            Ok(Passed::Data) => {}
            Ok(Passed::Dummy) => return Err(Metric::Keepalives),
            Err(why) => return Err(Metric::of(why)),
        }
        let range = packet.at..packet.at + packet.length;
        let inner = packet::read(&buffer[range.clone()]).ok_or(Metric::Malformed)?;
        let payload = range.start + inner.payload.start..range.start + inner.payload.end;
        Ok(Arrived {
            set,
            owner: associations.owner,
            lane,
            protocol: inner.protocol,
            source: inner.source,
            destination: inner.destination,
            packet: range,
            payload,
            moved_from,
        })
    }

    /// Protects a datagram between two ends, inside, and appends what leaves by the flow that is
    /// returned; `None`: it cannot be sent.
    pub fn protect(
        &mut self,
        set: Key,
        lane: Lane,
        ends: (SocketAddr, SocketAddr),
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<Flow> {
        let mut buffer = core::mem::take(&mut self.buffer);
        buffer.clear();
        buffer.resize(HEADROOM, 0);
        let octets = UDP_HEADER + payload.len();
        let is_whole = packet::write_ip(&mut buffer, (ends.0.ip(), ends.1.ip()), UDP, octets)
            && packet::write_udp(&mut buffer, ends, payload);
        let flow = if is_whole { self.leave(set, lane, &mut buffer, out) } else { None };
        self.buffer = buffer;
        self.metrics.add(if flow.is_some() { Metric::PacketsOut } else { Metric::Unsent }, 1);
        flow
    }

    /// The same with a whole packet of IP.
    pub fn protect_packet(
        &mut self,
        set: Key,
        lane: Lane,
        packet: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<Flow> {
        let mut buffer = core::mem::take(&mut self.buffer);
        buffer.clear();
        buffer.resize(HEADROOM, 0);
        buffer.extend_from_slice(packet);
        let flow = self.leave(set, lane, &mut buffer, out);
        self.buffer = buffer;
        self.metrics.add(if flow.is_some() { Metric::PacketsOut } else { Metric::Unsent }, 1);
        flow
    }

    /// Protects the packet that stands behind the headroom.
    fn leave(
        &mut self,
        set: Key,
        lane: Lane,
        buffer: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Option<Flow> {
        let length = buffer.len() - HEADROOM;
        buffer.resize(buffer.len() + TAILROOM, 0);
        let associations = self.sets.at_mut(set)?.associations.as_mut()?;
        let path = associations.path;
        let is_there = self.settings.addresses.iter().any(|it| it.ip == path.local.ip());
        let outbound = associations.outbound[lane.place()].as_mut().filter(|_| is_there)?;
        let mut packets = [Packet::new(0, 0..buffer.len(), HEADROOM, length)];
        self.report.notices.clear();
        esp::protect(&mut One(outbound), buffer, &mut packets, &mut self.report);
        let [packet] = packets;
        let is_unpromised = packet.verdict == Err(esp::Dropped::NotGranted);
        self.metrics.add(Metric::Unpromised, u64::from(is_unpromised));
        self.wanted(set, lane);
        packet.verdict.ok()?;
        let header = ip_header(path.local.ip()) + if path.in_udp { UDP_HEADER } else { 0 };
        out.extend_from_slice(buffer.get(packet.at + header..packet.at + packet.length)?);
        Some(Flow::to(path.port, Transport::Udp, path.local, path.remote))
    }

    /// What the last packet that left leads to: its association wants its next numbers.
    fn wanted(&mut self, set: Key, lane: Lane) {
        let wants = self.report.notices.iter().find_map(|notice| match notice {
            Notice::Wanted { up_to, .. } => Some(*up_to),
            _ => None,
        });
        if let Some(up_to) = wants {
            self.promises.ask(Promise { set, lane, up_to });
        }
    }

    /// The metrics ([`Metric`]).
    #[must_use]
    pub fn cells(&self) -> MetricCells {
        self.metrics.cells()
    }

    /// The count of one metric.
    #[must_use]
    pub fn count(&self, metric: Metric) -> u64 {
        self.metrics.read(metric)
    }

    fn find(&self, index: Spi) -> Option<(Key, Lane)> {
        let (slot, lane) = spi::read(self.secret, self.shard, index)?;
        let set = self.sets.user_of(slot)?;
        spi::is_of(self.secret, index, set, lane).then_some((set, lane))
    }

    fn associations(&self, set: Key) -> Option<&Associations> {
        self.sets.at(set)?.associations.as_deref()
    }

    pub(crate) fn gauge(&self) {
        self.metrics.set(Metric::SetsLive, self.sets.len() as u64);
    }
}

impl Settings {
    fn address(&self, port: PortId) -> Option<&Address> {
        let has =
            |it: &&Address| it.raw == port || it.in_udp.is_some_and(|(in_udp, _)| in_udp == port);
        self.addresses.iter().find(has)
    }
}

/// One association, as ESP asks for it.
struct One<'a, T>(&'a mut T);

impl<T> esp::Associations<T> for One<'_, T> {
    fn association(&self, _number: usize) -> Option<&T> {
        Some(self.0)
    }

    fn association_mut(&mut self, _number: usize) -> Option<&mut T> {
        Some(self.0)
    }
}

/// The packet as it was on its way, of what the socket gave.
fn rebuild(
    buffer: &mut Vec<u8>,
    flow: &Flow,
    address: &Address,
    bytes: &[u8],
    in_udp: bool,
) -> Option<()> {
    buffer.clear();
    let addresses = (flow.remote.ip().to_canonical(), address.ip);
    if !in_udp {
        packet::write_ip(buffer, addresses, ESP, bytes.len()).then_some(())?;
        buffer.extend_from_slice(bytes);
        return Some(());
    }
    let length = UDP_HEADER + bytes.len();
    packet::write_ip(buffer, addresses, UDP, length).then_some(())?;
    let (_, number) = address.in_udp?;
    buffer.extend_from_slice(&flow.remote.port().to_be_bytes());
    buffer.extend_from_slice(&number.to_be_bytes());
    buffer.extend_from_slice(&u16::try_from(length).ok()?.to_be_bytes());
    buffer.extend_from_slice(&[0; 2]);
    buffer.extend_from_slice(bytes);
    Some(())
}

/// Follows a peer whose packet was proven to come from elsewhere, with all associations of the set:
/// one that stayed behind would not see that the peer has come back. Where it was before.
fn moved(associations: &mut Associations, notices: &[Notice]) -> Option<SocketAddr> {
    let moves = notices.iter().find_map(|notice| match notice {
        Notice::Moved { address, port, .. } => Some((*address, *port)),
        _ => None,
    });
    let (address, port) = moves?;
    let before = associations.path.remote;
    associations.set_remote(SocketAddr::new(address, port));
    (before != associations.path.remote).then_some(before)
}
