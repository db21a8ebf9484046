//! An SCTP endpoint: that of the machine, and the ports that carry its packets.

use crate::config::{Carrier, Config, NO_SCTP, Peer, SCTP_PROTOCOL};
use crate::kernel::Kernel;
use crate::metrics::AssociationMetric as Metric;
use crate::routes::{Lookup, Routes};
use crate::show::{self, SctpAssociationRow, SctpPathRow};
use crate::stack::Stack;
use crate::will::Will;
use bytes::Bytes;
use core::net::{IpAddr, SocketAddr};
use event::{MetricCells, Metrics};
use machine::Time;
use runtime::{Ask, AskError, Effects, Flow, PortId, PortSpec, Seed, Why};
use sctp::{
    AddressRequest, AssociationId, Counts, Endpoint, Icmp, IcmpError, In, Indication, Out, Packet,
    Part, PathState, Refused, Settings, Status, Transmit,
};
use std::collections::{BTreeSet, VecDeque};

/// An SCTP endpoint that a function embeds.
#[derive(Debug)]
pub struct SctpEndpoint {
    stack: Stack,
    config: Config,
    ports: Vec<PortSpec>,
    own: Vec<IpAddr>,
    routes: Routes,
    /// The number by which the kernel's socket is watched, and whether it is.
    watched: PortId,
    is_watched: bool,
    out: Vec<Out>,
    /// Packets for the next flush.
    packets: Vec<Transmit>,
    told: VecDeque<(AssociationId, Indication)>,
    standing: BTreeSet<AssociationId>,
    now: Time,
    /// Secret of this shard, and how many endpoints were made from it.
    seed: ([u8; 32], u64),
    metrics: Metrics<Metric>,
    counted: Counts,
    /// What the guardian of this process knows of the associations.
    will: Option<Will>,
    is_carried_on: bool,
}

impl SctpEndpoint {
    /// An endpoint without associations, on the ports that `config` names from `first` on.
    #[must_use]
    pub fn new(config: &Config, first: PortId, seed: &Seed) -> Self {
        Self::with_routes(config, first, seed, Some(driver::source_for))
    }

    /// The same in a simulated world, where the machine's own routes mean nothing.
    #[must_use]
    pub fn simulated(config: &Config, first: PortId, seed: &Seed) -> Self {
        Self::with_routes(config, first, seed, None)
    }

    fn with_routes(config: &Config, first: PortId, seed: &Seed, lookup: Option<Lookup>) -> Self {
        Self {
            stack: match (config.carrier, seed.shard) {
                (Carrier::Kernel, 1..) => Stack::Failed("the first shard has it".to_owned()),
                _ => stack(config, seed.random),
            },
            watched: first,
            is_watched: false,
            config: config.clone(),
            ports: config.ports(first, ""),
            own: config.addresses.clone(),
            routes: Routes::new(lookup),
            out: Vec::new(),
            packets: Vec::new(),
            told: VecDeque::new(),
            standing: BTreeSet::new(),
            now: seed.now,
            seed: (seed.random, 0),
            metrics: Metrics::new(),
            counted: Counts::default(),
            will: lookup.and_then(|_| Will::new()),
            is_carried_on: false,
        }
    }

    /// Whether another node carries the associations on when this process dies: nobody shall abort
    /// them then.
    pub fn carried_on(&mut self, is_carried_on: bool) {
        self.is_carried_on = is_carried_on;
        // What the guardian does not take back at once is said again: their tags are good.
        if let Some(will) = &mut self.will {
            will.forget();
            self.standing.iter().for_each(|id| will.changed(*id));
        }
    }

    /// Addresses of peers that have a name: they do not share what strangers may be answered.
    pub fn set_known(&mut self, known: Vec<IpAddr>) {
        self.stack.set_answers(self.config.answers(), known);
    }

    /// The addresses that peers are told, those alone that are one.
    #[must_use]
    pub fn addresses(&self) -> Vec<IpAddr> {
        advertised(&self.config)
    }

    /// Whether the flow comes through a port of this endpoint.
    #[must_use]
    pub fn owns(&self, flow: &Flow) -> bool {
        self.ports.iter().any(|port| port.id == flow.port)
    }

    /// All packets belong to the first shard: an endpoint is one table of associations.
    #[must_use]
    pub const fn steer() -> Option<u16> {
        Some(0)
    }

    /// Takes what happened on one of the ports; what is of another port is passed over.
    pub fn step(&mut self, now: Time, input: &runtime::In<'_>) {
        match input {
            runtime::In::Message { flow, bytes } if self.owns(flow) => {
                self.message(now, flow, bytes);
            }
            runtime::In::Returned { flow, why, quoted } if self.owns(flow) => {
                self.returned(now, flow, *why, quoted);
            }
            runtime::In::Ready { .. } => self.ready(now),
            _ => {}
        }
    }

    /// A packet came through one of the ports.
    pub fn message(&mut self, now: Time, flow: &Flow, bytes: &[u8]) {
        self.metrics.add(Metric::PacketIn, 1);
        let packet = Packet {
            source: flow.remote,
            destination: flow.local.ip(),
            bytes: Bytes::copy_from_slice(bytes),
        };
        self.wish(now, In::Packet(packet));
    }

    /// The kernel's socket has something ([`runtime::In::Ready`]).
    pub fn ready(&mut self, now: Time) {
        self.now = now;
        if let Stack::Kernel(kernel) = &mut self.stack {
            kernel.receive(&mut self.out); // what is left is told again
        }
        self.take();
    }

    /// A packet came back ([`runtime::In::Returned`]).
    pub fn returned(&mut self, now: Time, flow: &Flow, why: Why, quoted: &[u8]) {
        let error = match why {
            Why::TooBig(octets) => IcmpError::PacketTooBig(octets),
            // Behind a UDP port that is closed there is no SCTP either (RFC 6951 §5.5).
            Why::Nobody => IcmpError::ProtocolUnreachable,
            Why::Unreachable => return, // ignored (RFC 9260 Appendix C)
        };
        let quoted = Bytes::copy_from_slice(quoted);
        self.wish(now, In::Icmp(Icmp { destination: flow.remote.ip(), error, quoted }));
    }

    /// Begins an association.
    ///
    /// # Errors
    /// [`Refused`]: there is one with that peer, or no room.
    pub fn associate(&mut self, now: Time, peer: &Peer) -> Result<AssociationId, Refused> {
        self.now = now;
        let paths = peer.paths(self.config.carrier);
        let begun = self.stack.associate(now, &paths, peer.port, &mut self.out);
        if begun.is_err() {
            self.metrics.add(Metric::Refused, 1);
        }
        self.take();
        begun
    }

    /// What the function wants: `Send`, `Shutdown`, `Abort`, `SetParameters` and the like. A
    /// message leaves at the next tick, for which [`SctpEndpoint::deadline`] asks at once.
    pub fn wish(&mut self, now: Time, wish: In) {
        self.now = now;
        if matches!(wish, In::Send(..)) {
            self.metrics.add(Metric::MessageOut, 1);
        }
        self.stack.step(now, wish, &mut self.out);
        self.take();
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time) {
        self.now = now;
        self.stack.tick(now, &mut self.out);
        self.take();
    }

    /// When [`SctpEndpoint::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        if !self.is_watched && matches!(self.stack, Stack::Kernel(_)) {
            return Some(Time::ZERO); // the flush after the tick sees to it
        }
        self.stack.deadline()
    }

    /// What happened, in order. Take everything after each call.
    #[allow(clippy::should_implement_trait, reason = "more comes after the last one")]
    pub fn next(&mut self) -> Option<(AssociationId, Indication)> {
        self.told.pop_front()
    }

    /// STATUS of an association; `None` when it is over.
    #[must_use]
    pub fn status(&self, id: AssociationId) -> Option<Status> {
        self.stack.status(id)
    }

    /// The associations there are, those being set up included.
    pub fn associations(&self) -> impl Iterator<Item = AssociationId> + '_ {
        self.stack.associations().into_iter()
    }

    /// Keys of the endpoint pair for associations to come, and the one that AUTH chunks name
    /// (RFC 4895 §6.1).
    pub fn set_shared_keys(&mut self, keys: Vec<(u16, Bytes)>, active: u16) {
        self.stack.set_shared_keys(keys, active);
    }

    /// Packets out.
    pub fn flush(&mut self, out: &mut Effects) {
        if let (Stack::Kernel(kernel), false) = (&self.stack, self.is_watched) {
            out.watch(self.watched, kernel.descriptor());
            self.is_watched = true;
        }
        let mut packets = core::mem::take(&mut self.packets);
        for packet in packets.drain(..) {
            match self.flow(&packet) {
                Some(flow) => {
                    self.metrics.add(Metric::PacketOut, 1);
                    let write = |bytes: &mut Vec<u8>| bytes.extend_from_slice(&packet.bytes);
                    match packet.may_fragment {
                        false => out.send(flow, write),
                        true => out.send_in_parts(flow, write),
                    }
                }
                None => self.metrics.add(Metric::Unsent, 1),
            }
            self.stack.recycle(packet.bytes);
        }
        self.packets = packets;
        self.leave_words();
        self.count();
    }

    /// Tells the guardian what has changed since it was told last.
    fn leave_words(&mut self) {
        let Some(mut will) = self.will.take_if(|will| will.owes()) else { return };
        let carrier = match self.config.carrier {
            Carrier::Udp => guardian::Carrier::Udp,
            _ => guardian::Carrier::Ip(SCTP_PROTOCOL),
        };
        will.say(carrier, |id| {
            let is_left = !self.is_carried_on && self.standing.contains(&id);
            let packets = if is_left { self.stack.abort_packets(id) } else { Vec::new() };
            let flows = packets.iter().filter_map(|packet| self.flow(packet)).collect();
            (packets.into_iter().next().map(|it| it.bytes).unwrap_or_default(), flows)
        });
        self.will = Some(will);
    }

    /// Takes a new configuration. Changed parameters reach the associations that stand, changed
    /// addresses too where the peer takes them (RFC 5061). With another port or carrier what
    /// stands is aborted. `first` is the number of the first port, as in [`SctpEndpoint::new`].
    pub fn configure(&mut self, now: Time, config: &Config, first: PortId) {
        let next = settings(config);
        if self.config.continues(config) {
            let (parameters, most) = (next.parameters, next.associations_max);
            self.stack.set_limits(parameters, next.listens, most);
            if parameters != self.config.parameters() {
                let ids = self.stack.associations();
                ids.into_iter().for_each(|id| self.wish(now, In::SetParameters(id, parameters)));
            }
            self.change_addresses(now, &next.addresses);
        } else {
            self.abort_all(now);
            self.stack = stack(config, self.next_seed());
            self.is_watched = false;
            self.counted = Counts::default();
            self.will.iter_mut().for_each(Will::forget);
        }
        self.ports = config.ports(first, "");
        self.own.clone_from(&config.addresses);
        self.config = config.clone();
        self.routes.forget();
    }

    /// Tells the peers that stand which addresses came and which went.
    fn change_addresses(&mut self, now: Time, next: &[IpAddr]) {
        let before = advertised(&self.config);
        let gone: Vec<IpAddr> = before.iter().filter(|it| !next.contains(it)).copied().collect();
        let new: Vec<IpAddr> = next.iter().filter(|it| !before.contains(it)).copied().collect();
        if gone.is_empty() && new.is_empty() {
            return;
        }
        self.stack.set_addresses(next);
        let requests = new.into_iter().map(AddressRequest::Add);
        let requests: Vec<_> =
            requests.chain(gone.into_iter().map(AddressRequest::Delete)).collect();
        let ids = self.stack.associations();
        for (id, request) in ids.iter().flat_map(|id| requests.iter().map(move |it| (*id, *it))) {
            self.wish(now, In::ChangeAddress(id, request));
        }
    }

    fn abort_all(&mut self, now: Time) {
        let ids = self.stack.associations();
        for id in ids {
            self.wish(now, In::Abort(id, Bytes::from_static(b"reconfigured")));
        }
        self.ready(now); // the kernel's last words
    }

    /// Another seed for each endpoint that is made.
    fn next_seed(&mut self) -> [u8; 32] {
        self.seed.1 += 1;
        let mut seed = self.seed.0;
        seed.iter_mut().zip(self.seed.1.to_le_bytes()).for_each(|(octet, count)| *octet ^= count);
        seed
    }

    /// Why the kernel's SCTP could not be had, if so.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        match &self.stack {
            Stack::Failed(why) => Some(why),
            _ => None,
        }
    }

    /// A row for each association; the parameter `association` leaves one.
    ///
    /// # Errors
    /// [`AskError::NotFound`] where there is none; what [`SctpEndpoint::failure`] says.
    pub fn show_associations(&self, ask: &Ask) -> Result<Vec<SctpAssociationRow>, AskError> {
        self.usable()?;
        show::associations(&self.stack, self.config.port, ask)
    }

    /// A row for each path of each association; the parameter `association` leaves one.
    ///
    /// # Errors
    /// As [`SctpEndpoint::show_associations`].
    pub fn show_paths(&self, ask: &Ask) -> Result<Vec<SctpPathRow>, AskError> {
        self.usable()?;
        show::paths(&self.stack, ask)
    }

    /// Answers `sctp/associations` and `sctp/paths`.
    ///
    /// # Errors
    /// [`AskError::NotFound`] for anything else; as [`SctpEndpoint::show_associations`].
    pub fn ask(&self, ask: &Ask) -> Result<serde_json::Value, AskError> {
        match ask.path.as_str() {
            "sctp/associations" => self.show_associations(ask).map(question::value),
            "sctp/paths" => self.show_paths(ask).map(question::value),
            other => Err(AskError::NotFound(other.to_owned())),
        }
    }

    fn usable(&self) -> Result<(), AskError> {
        self.failure().map_or(Ok(()), |why| Err(AskError::BadParameter(why.to_owned())))
    }

    /// The metrics ([`Metric`]).
    #[must_use]
    pub fn cells(&self) -> MetricCells {
        self.metrics.cells()
    }

    /// Sorts what the machine wants: packets here, indications there.
    fn take(&mut self) {
        for out in self.out.drain(..) {
            match out {
                Out::Transmit(packet) => self.packets.push(packet),
                Out::Indicate(id, what) => {
                    note(&self.metrics, &mut self.standing, id, &what);
                    if changes_words(&what) {
                        self.will.iter_mut().for_each(|it| it.changed(id));
                    }
                    self.told.push_back((id, what));
                }
            }
        }
    }

    /// Takes over what the endpoint has counted.
    fn count(&mut self) {
        let (now, then) = (self.stack.counts(), self.counted);
        if now == then {
            return;
        }
        let counts = [
            (Metric::Checksum, now.checksum - then.checksum),
            (Metric::Malformed, now.malformed - then.malformed),
            (Metric::Tag, now.tag - then.tag),
            (Metric::OutOfTheBlue, now.out_of_the_blue - then.out_of_the_blue),
            (Metric::Cookie, now.cookie - then.cookie),
            (Metric::Stale, now.stale - then.stale),
            (Metric::Full, now.full - then.full),
            (Metric::Unanswered, now.unanswered - then.unanswered),
        ];
        counts.into_iter().for_each(|(metric, count)| self.metrics.add(metric, count));
        self.counted = now;
    }

    /// The way of a packet out.
    fn flow(&mut self, packet: &Transmit) -> Option<Flow> {
        let to = packet.destination;
        let source = match packet.source {
            Some(source) => source,
            None => self.routes.source(self.now, &self.own, to.ip())?,
        };
        let serves = |port: &&PortSpec| {
            let ip = port.listen.ip();
            ip == source || (ip.is_unspecified() && ip.is_ipv4() == to.is_ipv4())
        };
        let port = self.ports.iter().find(serves)?;
        let local = SocketAddr::new(source, port.listen.port());
        Some(Flow::to(port.id, port.transport(), local, to))
    }
}

/// Whatever the configuration wants to speak SCTP.
fn stack(config: &Config, seed: [u8; 32]) -> Stack {
    if config.carrier != Carrier::Kernel {
        let mut endpoint = Endpoint::new(settings(config), seed);
        endpoint.set_answers(config.answers(), []);
        return Stack::Own(Box::new(endpoint));
    }
    match Kernel::open(config, config.parameters()) {
        Ok(kernel) => Stack::Kernel(Box::new(kernel)),
        Err(_) if !driver::sctp::is_there() => Stack::Failed(NO_SCTP.to_owned()),
        Err(error) => Stack::Failed(format!("the kernel's SCTP cannot be had: {error}")),
    }
}

fn settings(config: &Config) -> Settings {
    Settings {
        port: config.port,
        addresses: advertised(config),
        listens: config.listens,
        associations_max: config.associations_max as usize,
        parameters: config.parameters(),
    }
}

/// The addresses that peers are told: no wildcard, for they see where packets come from.
fn advertised(config: &Config) -> Vec<IpAddr> {
    config.addresses.iter().filter(|it| !it.is_unspecified()).copied().collect()
}

/// Whether the packet that would abort an association, or its ways, may be others now.
const fn changes_words(what: &Indication) -> bool {
    matches!(
        what,
        Indication::CommunicationUp(..)
            | Indication::Restart
            | Indication::ShutdownComplete
            | Indication::CommunicationLost(_)
            | Indication::NetworkStatusChange(..)
    )
}

/// Counts an indication.
fn note(
    metrics: &Metrics<Metric>,
    standing: &mut BTreeSet<AssociationId>,
    id: AssociationId,
    what: &Indication,
) {
    let metric = match what {
        Indication::Data(_) | Indication::DataPart(_, Part::Last) => Metric::MessageIn,
        Indication::SendFailure(..) => Metric::SendFailed,
        Indication::CommunicationUp(..) => {
            standing.insert(id);
            Metric::Up
        }
        Indication::Restart => Metric::Restarted,
        Indication::ShutdownComplete => {
            standing.remove(&id);
            Metric::Ended
        }
        Indication::CommunicationLost(_) => {
            standing.remove(&id);
            Metric::Lost
        }
        Indication::NetworkStatusChange(_, PathState::Active) => Metric::PathWorks,
        Indication::NetworkStatusChange(_, PathState::PotentiallyFailed | PathState::Inactive) => {
            Metric::PathFailed
        }
        Indication::CommunicationError(_) => Metric::PeerError,
        _ => return,
    };
    metrics.add(metric, 1);
    if matches!(metric, Metric::Up | Metric::Ended | Metric::Lost) {
        metrics.set(Metric::Standing, standing.len() as u64);
    }
}
