//! The peers of a function: the machine, and what carries its messages.
//!
//! ```text
//!   Out::Connect ─→ opening ─┬ stands ─→ Connection ─ message → Node → Out::Send ─→ Flow
//!   accepted ────────────────┘                  │ lost, closed
//!                                               └→ Node: Tc, then Out::Connect again
//! ```

use crate::config::{Carriage, Peer, Section};
use crate::metrics::Seen;
use bytes::Bytes;
use diameter::codec::{Flags, Header, Message, ResultCode, Writer};
use diameter::rows::base;
use diameter::{
    Action, Connection, Dictionary, DisconnectCause, Hop, In, Indication, Node, Out, Outgoing,
    PeerId, RequestId, Route, Settings,
};
use hashbrown::HashMap;
use machine::{Machine, Time};
use runtime::{ConnId, Effects, Flow, PortId, Seed};
use sctp_stack::{AssociationId, SctpEndpoint};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// What carries the messages of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Stream(Flow),
    Association(AssociationId),
}

/// A connection.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub way: Way,
    pub remote: Vec<IpAddr>,
    /// The other end opened it, and has not said who it is.
    pub is_stranger: bool,
    /// Whose it is, as soon as that is known.
    pub peer: Option<PeerId>,
    /// What its certificate carries.
    pub names: Option<Vec<String>>,
}

/// What was counted since the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Connections that this node set out to open.
    pub attempts: u64,
    /// Connections that were refused before a word: no peer's address, or too many of one source.
    pub refused: u64,
    /// Connections whose CER claimed a host that is not at that address, or not of that
    /// certificate.
    pub claims_refused: u64,
    /// Messages for a connection that is gone.
    pub unsent: u64,
    /// Messages that found the send buffer of an SCTP association full.
    pub shed: u64,
    /// Requests in an application that their peer is not for.
    pub unspoken: u64,
}

/// Diameter in a function.
///
/// Whoever calls [`Peers::step`], [`Peers::tick`] or another verb then takes everything from
/// [`Peers::next`] and calls [`Peers::flush`].
#[derive(Debug)]
pub struct Peers {
    pub(crate) node: Node,
    pub(crate) rows: BTreeMap<PeerId, Peer>,
    pub(crate) links: BTreeMap<Connection, Link>,
    pub(crate) streams: HashMap<ConnId, Connection>,
    pub(crate) associations: BTreeMap<AssociationId, Connection>,
    /// Connections that are being opened.
    pub(crate) opening: BTreeMap<PeerId, Opening>,
    /// Names of certificates of connections that are about to stand.
    pub(crate) proofs: HashMap<ConnId, Vec<String>>,
    pub(crate) endpoint: Option<SctpEndpoint>,
    told: VecDeque<Indication>,
    /// Connections to end: the machine takes them for lost already.
    pub(crate) doomed: Vec<Connection>,
    pub(crate) seen: Seen,
    pub(crate) strangers_of_source_max: usize,
    pub(crate) proves: bool,
    targets: BTreeMap<PeerId, Flow>,
    next: u64,
    function: String,
    seed: Seed,
    is_real: bool,
    out: Vec<Out>,
}

/// How a connection is being opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    Stream(Flow),
    Association(AssociationId),
}

impl Peers {
    /// A node with the peers and routes of its section, which were validated.
    ///
    /// # Errors
    /// The name of the setting that is out of its range.
    pub fn new(
        section: &Section<'_>,
        dictionary: Arc<Dictionary>,
        seed: Seed,
    ) -> Result<Self, &'static str> {
        Self::made(section, dictionary, seed, true)
    }

    /// The same in a simulated world, where the machine's own routes mean nothing.
    ///
    /// # Errors
    /// As [`Peers::new`].
    pub fn simulated(
        section: &Section<'_>,
        dictionary: Arc<Dictionary>,
        seed: Seed,
    ) -> Result<Self, &'static str> {
        Self::made(section, dictionary, seed, false)
    }

    fn made(
        section: &Section<'_>,
        dictionary: Arc<Dictionary>,
        seed: Seed,
        is_real: bool,
    ) -> Result<Self, &'static str> {
        let now = seed.now;
        let node = Node::new(settings(section, &seed), dictionary, now)?;
        let mut it = Self {
            node,
            rows: BTreeMap::new(),
            links: BTreeMap::new(),
            streams: HashMap::new(),
            associations: BTreeMap::new(),
            opening: BTreeMap::new(),
            proofs: HashMap::new(),
            endpoint: None,
            told: VecDeque::new(),
            doomed: Vec::new(),
            seen: Seen::default(),
            strangers_of_source_max: 0,
            proves: false,
            targets: BTreeMap::new(),
            next: 0,
            function: section.name.to_owned(),
            seed,
            is_real,
            out: Vec::new(),
        };
        it.endpoint =
            section.node.sctp.as_ref().map(|sctp| it.new_endpoint(sctp, section.sctp_ports()));
        it.take_section(now, section);
        Ok(it)
    }

    /// A new SCTP endpoint; no two of them have the same secret.
    fn new_endpoint(&mut self, sctp: &sctp_stack::Config, first: PortId) -> SctpEndpoint {
        let used =
            u64::from_le_bytes(core::array::from_fn(|n| self.seed.random[n])).wrapping_add(1);
        self.seed.random[..8].copy_from_slice(&used.to_le_bytes());
        match self.is_real {
            true => SctpEndpoint::new(sctp, first, &self.seed),
            false => SctpEndpoint::simulated(sctp, first, &self.seed),
        }
    }

    /// Peers and routes of a section, over those that stand.
    fn take_section(&mut self, now: Time, section: &Section<'_>) {
        self.strangers_of_source_max = section.node.limits.strangers_of_source_max as usize;
        self.proves = section.node.tls.as_ref().is_some_and(|tls| tls.verify_clients);
        for peer in section.peer {
            if !self.rows.values().any(|row| row == peer)
                && let Ok(id) = self.node.add_peer(now, peer.settings())
            {
                self.rows.insert(id, peer.clone());
            }
        }
        self.targets.clear();
        for (id, peer) in &self.rows {
            self.targets.extend(section.stream_to(peer).map(|flow| (*id, flow)));
        }
        self.node.clear_routes();
        for route in &section.routes() {
            let action = match route.redirect.is_empty() {
                true => Action::Relay(self.hops(route)),
                false => Action::Redirect(route.redirect.clone(), route.redirect_cache_s),
            };
            let (realm, application) = (route.realm.clone(), route.application);
            if self.node.add_route(Route { realm, application, action }).is_err() {
                let function = &*self.function;
                tracing::warn!(target: "diameter", function, "a route is left out");
            }
        }
        let addresses = section.peer.iter().flat_map(|peer| peer.addresses.iter().copied());
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.set_known(addresses.collect());
        }
    }

    fn hops(&self, route: &crate::config::Route) -> Vec<Hop> {
        let hop = |to: &crate::config::To| {
            let peer = self.find(&to.peer)?;
            Some(Hop { peer, priority: to.priority, weight: to.weight })
        };
        route.to.iter().filter_map(hop).collect()
    }

    /// Another configuration, whose host, realm and applications are the same: peers that are
    /// written as before keep their connections.
    pub fn configure(&mut self, now: Time, section: &Section<'_>, out: &mut Effects) {
        let gone = self.rows.iter().filter(|(_, row)| !section.peer.contains(row));
        self.remove(now, gone.map(|(id, _)| *id).collect());
        // What those are told leaves while their connections and the endpoint stand.
        self.follow(now, out);
        self.rows.retain(|_, row| section.peer.contains(row));
        // What was checked before fits.
        let fits = self.node.set_parameters(section.node.parameters());
        debug_assert!(fits.is_ok());
        let first = section.sctp_ports();
        match (&mut self.endpoint, &section.node.sctp) {
            (Some(endpoint), Some(sctp)) => endpoint.configure(now, sctp, first),
            (None, Some(sctp)) => self.endpoint = Some(self.new_endpoint(sctp, first)),
            (_, None) => self.close_endpoint(now, out),
        }
        self.take_section(now, section);
        self.follow(now, out);
    }

    /// Takes peers out, which are told so.
    fn remove(&mut self, now: Time, gone: Vec<PeerId>) {
        for id in gone {
            if let Some(Opening::Association(association)) = self.opening.remove(&id) {
                self.abort(now, association);
            }
            let mut effects = core::mem::take(&mut self.out);
            self.node.remove_peer(now, id, &mut effects);
            self.out = effects;
        }
    }

    /// Ends every connection at once: another node takes the place of this one. Peers are told.
    pub fn abandon(&mut self, now: Time, out: &mut Effects) {
        self.remove(now, self.rows.keys().copied().collect());
        self.follow(now, out);
        let left: Vec<Connection> = self.links.keys().copied().collect();
        left.into_iter().for_each(|name| self.hang_up(now, name, out));
        self.close_endpoint(now, out);
    }

    /// Whether a section can be taken by [`Peers::configure`]; else a new node is made.
    #[must_use]
    pub fn continues(&self, section: &Section<'_>) -> bool {
        let own = self.node.settings();
        (&own.host, &own.realm, &own.product)
            == (&section.node.host, &section.node.realm, &section.node.product)
            && own.relays == section.node.relays
            && own.applications == section.applications
    }

    /// Takes what happened on one of the ports; a message of a stream whole, as [`crate::frame`]
    /// cut it.
    pub fn step(&mut self, now: Time, input: &runtime::In<'_>, out: &mut Effects) {
        use runtime::In;
        match input {
            In::Message { flow, bytes } if flow.transport.is_stream() => {
                self.stream_message(now, flow, bytes);
            }
            In::Message { .. } | In::Ready { .. } | In::Returned { .. } => {
                self.endpoint.iter_mut().for_each(|it| it.step(now, input));
            }
            In::Up { flow } => self.stream_up(now, *flow, out),
            In::Proved { flow, names } => {
                self.proofs.insert(flow.conn, names.to_vec());
            }
            In::Down { flow, why } if flow.transport.is_stream() => {
                self.stream_down(now, flow, why);
            }
            In::Drain => self.close(now, DisconnectCause::Rebooting, out),
            In::Down { .. }
            | In::Written { .. }
            | In::Channel { .. }
            | In::Resolved { .. }
            | In::Work { .. }
            | In::HandedBack { .. } => {}
        }
        self.take_associations(now);
        self.follow(now, out);
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.tick(now);
        }
        self.take_associations(now);
        let mut effects = core::mem::take(&mut self.out);
        self.node.tick(now, &mut effects);
        self.out = effects;
        self.follow(now, out);
    }

    /// When [`Peers::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let endpoint = self.endpoint.as_ref().and_then(SctpEndpoint::deadline);
        self.node.deadline().into_iter().chain(endpoint).min()
    }

    /// What the function is to be told next.
    pub fn indication(&mut self) -> Option<Indication> {
        self.told.pop_front()
    }

    /// Packets out.
    pub fn flush(&mut self, out: &mut Effects) {
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.flush(out);
        }
    }

    /// Asks a peer; the answer comes as [`Indication::Answer`] with the token.
    pub fn request(&mut self, now: Time, outgoing: Outgoing, out: &mut Effects) {
        self.wish(now, In::Request(outgoing), out);
    }

    /// Answers a request of a peer.
    pub fn answer(&mut self, now: Time, request: RequestId, octets: Vec<u8>, out: &mut Effects) {
        self.wish(now, In::Answer(request, octets), out);
    }

    /// Connects to a peer now.
    pub fn start(&mut self, now: Time, id: PeerId, out: &mut Effects) {
        self.wish(now, In::Start(id), out);
    }

    /// Disconnects a peer, until [`Peers::start`].
    pub fn stop(&mut self, now: Time, id: PeerId, cause: DisconnectCause, out: &mut Effects) {
        self.wish(now, In::Stop(id, cause), out);
    }

    /// Ends every connection in order; nothing is taken any more.
    pub fn close(&mut self, now: Time, cause: DisconnectCause, out: &mut Effects) {
        let mut effects = core::mem::take(&mut self.out);
        self.node.close(now, cause, &mut effects);
        self.out = effects;
        self.follow(now, out);
    }

    /// Whether no connection with a peer stands any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.node.is_closed()
    }

    /// The machine.
    #[must_use]
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// The SCTP endpoint, if there is one.
    #[must_use]
    pub const fn sctp(&self) -> Option<&SctpEndpoint> {
        self.endpoint.as_ref()
    }

    /// What was counted.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.seen.counts
    }

    /// The peer of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<PeerId> {
        self.rows.iter().find(|(_, row)| row.name == name).map(|(id, _)| *id)
    }

    fn wish(&mut self, now: Time, input: In, out: &mut Effects) {
        self.tell(now, input);
        self.follow(now, out);
    }

    /// Gives the machine an input.
    pub(crate) fn tell(&mut self, now: Time, input: In) {
        let mut effects = core::mem::take(&mut self.out);
        self.node.step(now, input, &mut effects);
        self.out = effects;
    }

    /// A name for a connection.
    pub(crate) fn link(&mut self, link: Link) -> Connection {
        self.next += 1;
        let name = Connection(self.next);
        match link.way {
            Way::Stream(flow) => drop(self.streams.insert(flow.conn, name)),
            Way::Association(id) => drop(self.associations.insert(id, name)),
        }
        self.links.insert(name, link);
        name
    }

    pub(crate) fn unlink(&mut self, name: Connection) -> Option<Link> {
        let link = self.links.remove(&name)?;
        match link.way {
            Way::Stream(flow) => drop(self.streams.remove(&flow.conn)),
            Way::Association(id) => drop(self.associations.remove(&id)),
        }
        Some(link)
    }

    /// Does what the machine wants.
    pub(crate) fn follow(&mut self, now: Time, out: &mut Effects) {
        for name in core::mem::take(&mut self.doomed) {
            self.hang_up(now, name, out);
        }
        // What is done may make the machine want more.
        while !self.out.is_empty() {
            for effect in core::mem::take(&mut self.out) {
                match effect {
                    Out::Connect(id) => self.open(now, id, out),
                    Out::Send(name, octets) => self.send(now, name, octets, out),
                    Out::Close(name) => self.hang_up(now, name, out),
                    Out::Indicate(indication) => self.indicate(now, indication),
                }
            }
        }
    }

    fn indicate(&mut self, now: Time, indication: Indication) {
        if let Indication::Request(request, id, octets) = &indication
            && let Some(answer) = self.unspoken(*id, octets)
        {
            self.seen.counts.unspoken += 1;
            return self.tell(now, In::Answer(*request, answer));
        }
        let name = |id: &PeerId| self.rows.get(id).map(|row| row.name.clone()).unwrap_or_default();
        let function = &*self.function;
        match &indication {
            Indication::PeerUp(id) => {
                let peer = &*name(id);
                tracing::info!(target: "diameter", function, peer, "the peer is open");
            }
            Indication::PeerDown(id, reason) => {
                let peer = &*name(id);
                tracing::warn!(target: "diameter", function, peer, reason, "the peer is lost");
            }
            _ => {}
        }
        self.told.push_back(indication);
    }

    /// The answer to a request in an application that its peer is not for.
    fn unspoken(&self, id: PeerId, octets: &[u8]) -> Option<Vec<u8>> {
        let request = Message::read(octets).ok()?;
        let row = self.rows.get(&id)?;
        if row.is_for(request.header.application) {
            return None;
        }
        let mut answer = Vec::new();
        let code = ResultCode::ApplicationUnsupported;
        self.answer_to(&request, &mut answer, code.is_protocol_error()).result(code).end().ok()?;
        Some(answer)
    }

    /// Begins the answer to a request: what every answer has of the request, and who gives it.
    pub fn answer_to<'a>(
        &self,
        request: &Message<'_>,
        octets: &'a mut Vec<u8>,
        is_protocol_error: bool,
    ) -> Writer<'a> {
        let error = if is_protocol_error { Flags::ERROR } else { 0 };
        let flags = Flags(request.header.flags.0 & Flags::PROXIABLE | error);
        let mut writer = Writer::begin(octets, &Header { flags, ..request.header });
        let own = self.node.settings();
        let kept: &[_] = match is_protocol_error {
            true => &[&base::SESSION_ID],
            false => &[
                &base::SESSION_ID,
                &base::VENDOR_SPECIFIC_APPLICATION_ID,
                &base::AUTH_SESSION_STATE,
            ],
        };
        let found = kept.iter().filter_map(|row| request.avps().find(row));
        found.for_each(|avp| writer.avps().copy(avp.whole));
        let mut writer =
            writer.put(&base::ORIGIN_HOST, &own.host).put(&base::ORIGIN_REALM, &own.realm);
        for proxy in request.avps().all(&base::PROXY_INFO) {
            writer.avps().copy(proxy.whole);
        }
        writer
    }

    fn open(&mut self, now: Time, id: PeerId, out: &mut Effects) {
        self.seen.counts.attempts += 1;
        let Some(row) = self.rows.get(&id) else { return };
        match (row.transport, self.targets.get(&id).copied()) {
            (Carriage::Sctp, _) => self.associate(now, id),
            (_, Some(flow)) => {
                out.name(flow.remote, &row.host);
                self.opening.insert(id, Opening::Stream(flow));
                out.open(flow);
            }
            (_, None) => self.tell(now, In::NotConnected(id, "it has no address")),
        }
    }

    fn send(&mut self, now: Time, name: Connection, octets: Bytes, out: &mut Effects) {
        self.trace(now, name, &octets, true);
        self.pass(name, &octets, true);
        match self.links.get(&name).map(|link| link.way) {
            Some(Way::Stream(flow)) => out.send(flow, |buffer| buffer.extend_from_slice(&octets)),
            Some(Way::Association(id)) => self.send_on(now, id, octets),
            None => self.seen.counts.unsent += 1,
        }
    }

    fn hang_up(&mut self, now: Time, name: Connection, out: &mut Effects) {
        match self.unlink(name).map(|link| link.way) {
            Some(Way::Stream(flow)) => out.close(flow),
            Some(Way::Association(id)) => self.shut_down(now, id),
            None => {}
        }
    }

    /// Whether somebody with these addresses may be a peer over that transport, and has not opened
    /// more connections without a word than a source may.
    pub(crate) fn may_come(&self, carriage: Carriage, from: &[IpAddr]) -> bool {
        let fits =
            |row: &Peer| row.transport == carriage && from.iter().any(|address| row.has(*address));
        let sources: Vec<IpAddr> = from.iter().copied().map(source).collect();
        let is_here = |link: &&Link| {
            link.is_stranger && link.remote.iter().any(|it| sources.contains(&source(*it)))
        };
        let strangers = self.links.values().filter(is_here).count();
        self.rows.values().any(fits) && strangers < self.strangers_of_source_max
    }
}

/// Where connections come from, as far as they count together: an IPv4 address, or an IPv6 /56 (a
/// site is given one or a /48, RFC 6177 §2).
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(it) => Ipv6Addr::from_bits(it.to_bits() >> 72 << 72).into(),
        ipv4 => ipv4,
    }
}

/// What the machine is told of this node.
fn settings(section: &Section<'_>, seed: &Seed) -> Settings {
    let node = section.node;
    let seconds = seed.now.as_millis() / 1_000;
    Settings {
        host: node.host.clone(),
        realm: node.realm.clone(),
        product: node.product.clone(),
        vendor: 0,
        addresses: Vec::new(),
        origin_state: u32::try_from(seconds).unwrap_or(u32::MAX),
        applications: section.applications.to_vec(),
        relays: node.relays,
        shard: seed.shard,
        seed: u128::from_le_bytes(core::array::from_fn(|n| seed.random[n + 16])),
        parameters: node.parameters(),
    }
}
