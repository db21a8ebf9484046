//! The peers: a slab, and how a peer is found by address, by the way to it, by connection.

use crate::config::PeerSettings;
use bgp::codec::{EXTENDED_MESSAGE_BYTES_MAX, MessageType, Messages};
use bgp::family::FamilySet;
use bgp::{ConnectionId, Negotiated, Session, Settings, State};
use core::hash::Hash;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use machine::{Duration, Machine, Time};
use rib::PeerId;
use runtime::{ConnId, Flow, PortId};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Between the moment at which a hold timer is due and that at which it fires, the sockets are
/// read: what the peer sent in time may still wait there, behind many others.
const READ_GRACE: Duration = Duration::from_secs(1);

/// Why a session is not wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// The configuration says so (`enabled = false`).
    Configured,
    /// The operator said so (`tandem ctl bgp shutdown`).
    Operator,
    /// The peer had too many routes; when it may come back.
    Excess(Option<Time>),
}

/// The end of a session, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// When.
    pub at: Time,
    /// Why.
    pub text: String,
    /// What says so.
    pub source: EndingSource,
}

impl Ending {
    /// One that no message of BGP says.
    #[must_use]
    pub const fn new(at: Time, text: String) -> Self {
        Self { at, text, source: EndingSource::Other }
    }
}

/// What says why a session or a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndingSource {
    /// A violation that is not answered yet.
    Offence,
    /// A NOTIFICATION, of either end.
    Notification,
    /// The transport, or somebody here.
    Other,
}

/// A TCP connection of a peer.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Its flow.
    pub flow: Flow,
    /// When something came over it.
    pub heard: Time,
    /// Octets that wait in the runtime, as it told last.
    pub left: u64,
    /// The peer's OPEN, as it came.
    pub open: Box<[u8]>,
}

/// A peer and its session.
#[derive(Debug)]
pub struct Peer {
    /// What its configuration says.
    pub settings: PeerSettings,
    /// Its session.
    pub session: Session,
    /// The connection over which routes are exchanged.
    pub up: Option<ConnectionId>,
    /// Our end of the session, while it stands.
    pub local: Option<IpAddr>,
    /// The flow of `up`, even when the connection is gone already.
    pub(crate) session_flow: Option<Flow>,
    /// What was agreed on, while the session stands.
    pub negotiated: Option<Box<Negotiated>>,
    /// The numbers of its policies while the session stands: import and export.
    pub policies: [u32; 2],
    /// Since when it is in its state.
    pub since: Time,
    /// Why its session is not wanted.
    pub held: Option<Held>,
    /// How its last session or connection ended.
    pub ending: Option<Ending>,
    /// UPDATEs that offended without ending the session.
    pub tolerated: u64,
    /// The last of them.
    pub violation: Option<Ending>,
    /// The families of which it has more routes than its limit warns of.
    pub warned: FamilySet,
    /// The families of which it has told all that it had when its session came to stand.
    pub ended: FamilySet,
    /// How often its session had ended when it came back to its range.
    pub(crate) flaps_before: u64,
    /// Its connections.
    pub connections: BTreeMap<ConnectionId, Connection>,
    /// It came from a range and has said no OPEN yet.
    is_silent: bool,
    /// For when the wheel is armed: an entry that fires before counts no more.
    armed: Option<Time>,
    /// No other peer has it, at whatever time.
    serial: u64,
    /// Its hold timer was due at that time.
    suspected: Option<Time>,
}

impl Peer {
    pub(crate) fn new(now: Time, settings: PeerSettings, session: Settings, seed: u64) -> Self {
        let session = Session::new(session, seed);
        let held = (!settings.enabled).then_some(Held::Configured);
        let is_silent = settings.is_dynamic;
        Self {
            settings,
            session,
            up: None,
            local: None,
            session_flow: None,
            negotiated: None,
            policies: [0; 2],
            since: now,
            held,
            ending: None,
            tolerated: 0,
            violation: None,
            warned: FamilySet::EMPTY,
            ended: FamilySet::EMPTY,
            flaps_before: 0,
            connections: BTreeMap::new(),
            is_silent,
            armed: Some(now),
            serial: 0,
            suspected: None,
        }
    }

    /// Something came over a connection; whether it is the first OPEN of a peer from a range.
    pub(crate) fn heard(&mut self, now: Time, id: ConnectionId, bytes: &[u8]) -> bool {
        self.suspected = None;
        if let Some(it) = self.connections.get_mut(&id) {
            it.heard = now;
            if it.open.is_empty()
                && let Some((MessageType::Open, open)) =
                    Messages::new(bytes, EXTENDED_MESSAGE_BYTES_MAX).next()
            {
                it.open = open.into();
                return self.is_silent;
            }
        }
        false
    }

    /// The flow of the connection over which routes are exchanged.
    #[must_use]
    pub fn flow(&self) -> Option<(ConnectionId, Flow)> {
        let id = self.up?;
        self.connections.get(&id).map(|it| (id, it.flow))
    }

    /// When it must be looked at.
    fn deadline(&self) -> Option<Time> {
        let restart = match self.held {
            Some(Held::Excess(at)) => at,
            _ => None,
        };
        let session = self.session.deadline();
        // While the sockets are read, nothing else is waited for.
        let session = match self.suspected {
            Some(since) => session.map(|at| at.max(since + READ_GRACE)),
            None => session,
        };
        session.into_iter().chain(restart).min()
    }

    /// Whether the session's time has come. Its hold timer waits until the sockets were read.
    pub(crate) fn is_due(&mut self, now: Time) -> bool {
        if self.session.deadline().is_none_or(|at| at > now) {
            return false;
        }
        let hold_time = self.negotiated.as_ref().map_or(Duration::ZERO, |it| it.hold_time);
        let heard = self.up.and_then(|id| self.connections.get(&id)).map(|it| it.heard);
        let is_silent = heard.is_some_and(|at| !hold_time.is_zero() && at + hold_time <= now);
        match self.suspected {
            _ if !is_silent => true,
            None => {
                self.suspected = Some(now);
                false
            }
            Some(since) => since + READ_GRACE <= now,
        }
    }

    /// The time for which the wheel is to be armed, if it is not armed early enough, and for whom.
    pub(crate) fn arm(&mut self) -> Option<(Time, u64)> {
        let at = self.deadline()?;
        if self.armed.is_some_and(|armed| armed <= at) {
            return None;
        }
        self.armed = Some(at);
        Some((at, self.serial))
    }

    /// The wheel has fired for who had that serial number; whether that counts.
    pub(crate) fn fires(&mut self, now: Time, serial: u64) -> bool {
        self.serial == serial && self.armed.take_if(|at| *at <= now).is_some()
    }

    /// Whether its session stands.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.session.state() == State::Established
    }

    /// Whether neither a session nor an attempt has ended yet.
    #[must_use]
    pub fn is_starting(&self) -> bool {
        !self.is_up() && self.ending.is_none()
    }

    /// Whether its session should stand and does not. One from a range may go as it came.
    #[must_use]
    pub fn is_missed(&self) -> bool {
        self.held.is_none() && !self.settings.is_dynamic && !self.is_up()
    }

    /// How often its session has ended.
    #[must_use]
    pub fn flaps(&self) -> u64 {
        self.flaps_before + self.session.counters().dropped
    }

    /// A peer from a range with nothing left to remember.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.settings.is_dynamic
            && self.connections.is_empty()
            && self.held.is_none()
            && self.session.deadline().is_none()
    }
}

/// All of them, bounded by `PEERS_MAX`.
#[derive(Debug, Default)]
pub struct Peers {
    slots: Vec<Option<Box<Peer>>>,
    free: Vec<u32>,
    /// The serial number of the last one.
    serial: u64,
    addresses: HashMap<IpAddr, PeerId>,
    targets: HashMap<(PortId, SocketAddr), PeerId>,
    connections: HashMap<ConnId, PeerId>,
    dynamic: usize,
    /// How many came from the ranges of each group.
    groups: HashMap<String, usize>,
    /// How many came from a range and have said no OPEN yet, by what their addresses share.
    silent: HashMap<IpAddr, usize>,
}

/// What the addresses of one source share: IPv4 whole, the first 64 bits of IPv6.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

/// One more of a kind, or one less.
fn count<K: Hash + Eq>(counts: &mut HashMap<K, usize>, key: K, is_more: bool) {
    match counts.entry(key) {
        Entry::Occupied(entry) if !is_more && *entry.get() <= 1 => {
            entry.remove();
        }
        entry if is_more => *entry.or_insert(0) += 1,
        entry => {
            entry.and_modify(|count| *count -= 1);
        }
    }
}

impl Peers {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many came from ranges.
    #[must_use]
    pub const fn dynamic(&self) -> usize {
        self.dynamic
    }

    /// The peer of that number.
    #[must_use]
    pub fn get(&self, id: PeerId) -> Option<&Peer> {
        self.slots.get(id.0 as usize)?.as_deref()
    }

    pub(crate) fn get_mut(&mut self, id: PeerId) -> Option<&mut Peer> {
        self.slots.get_mut(id.0 as usize)?.as_deref_mut()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (PeerId, &Peer)> {
        let numbered = (0..).zip(&self.slots);
        numbered.filter_map(|(n, slot)| Some((PeerId(n), slot.as_deref()?)))
    }

    pub(crate) fn ids(&self) -> Vec<PeerId> {
        self.iter().map(|(id, _)| id).collect()
    }

    /// The peer of that name, or with that address.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<PeerId> {
        let of_range = || self.iter().find(|(_, peer)| peer.settings.name == name);
        let known = self.named(name).or_else(|| self.of_address(name.parse().ok()?));
        known.or_else(|| of_range().map(|(id, _)| id))
    }

    /// The configured peer of that name.
    pub(crate) fn named(&self, name: &str) -> Option<PeerId> {
        let is_it = |peer: &Peer| !peer.settings.is_dynamic && peer.settings.name == name;
        self.iter().find(|(_, peer)| is_it(peer)).map(|(id, _)| id)
    }

    /// The peer with that address.
    #[must_use]
    pub fn of_address(&self, address: IpAddr) -> Option<PeerId> {
        self.addresses.get(&address.to_canonical()).copied()
    }

    /// The peer that this node reaches by that way.
    pub(crate) fn of_target(&self, flow: &Flow) -> Option<PeerId> {
        self.targets.get(&(flow.port, flow.remote)).copied()
    }

    /// The peer of a connection.
    #[must_use]
    pub fn of_connection(&self, conn: ConnId) -> Option<PeerId> {
        self.connections.get(&conn).copied()
    }

    /// How many peers came from ranges of that group.
    pub(crate) fn of_group(&self, group: &str) -> usize {
        self.groups.get(group).copied().unwrap_or(0)
    }

    /// How many from ranges have said no OPEN yet and share the /64 of an address.
    pub(crate) fn silent_beside(&self, address: IpAddr) -> usize {
        self.silent.get(&source(address)).copied().unwrap_or(0)
    }

    /// A peer from a range has said its OPEN.
    pub(crate) fn spoke(&mut self, id: PeerId) {
        let Some(peer) = self.get_mut(id).filter(|peer| peer.is_silent) else { return };
        peer.is_silent = false;
        let address = peer.settings.address;
        count(&mut self.silent, source(address), false);
    }

    /// A peer from a range comes or goes.
    fn count_dynamic(&mut self, settings: &PeerSettings, is_more: bool) {
        if settings.is_dynamic {
            self.dynamic = if is_more { self.dynamic + 1 } else { self.dynamic - 1 };
            count(&mut self.groups, settings.group.clone().unwrap_or_default(), is_more);
        }
    }

    /// A peer joins, for which the wheel is to be armed.
    pub(crate) fn insert(&mut self, mut peer: Peer) -> (PeerId, u64) {
        self.serial += 1;
        peer.serial = self.serial;
        let address = peer.settings.address.to_canonical();
        let target = peer.settings.target;
        self.count_dynamic(&peer.settings, true);
        if peer.is_silent {
            count(&mut self.silent, source(address), true);
        }
        let id = match self.free.pop() {
            Some(place) => PeerId(place),
            None => {
                let place = u32::try_from(self.slots.len()).expect("at most PEERS_MAX");
                self.slots.push(None);
                PeerId(place)
            }
        };
        self.slots[id.0 as usize] = Some(Box::new(peer));
        self.addresses.insert(address, id);
        if let Some(target) = target {
            self.targets.insert((target.port, target.remote), id);
        }
        (id, self.serial)
    }

    pub(crate) fn remove(&mut self, id: PeerId) -> Option<Box<Peer>> {
        let peer = self.slots.get_mut(id.0 as usize)?.take()?;
        self.free.push(id.0);
        self.count_dynamic(&peer.settings, false);
        if peer.is_silent {
            count(&mut self.silent, source(peer.settings.address), false);
        }
        self.forget_ways(id, &peer.settings);
        for it in peer.connections.values() {
            self.connections.remove(&it.flow.conn);
        }
        Some(peer)
    }

    /// Another address or another way to a peer; from a range it comes as before.
    pub(crate) fn readdress(&mut self, id: PeerId, next: PeerSettings) {
        let (address, target) = (next.address, next.target);
        let Some(peer) = self.get_mut(id) else { return };
        let old = core::mem::replace(&mut peer.settings, next);
        self.forget_ways(id, &old);
        self.addresses.insert(address.to_canonical(), id);
        if let Some(target) = target {
            self.targets.insert((target.port, target.remote), id);
        }
    }

    /// The ways to a peer lead nowhere, unless another peer has taken them meanwhile.
    fn forget_ways(&mut self, id: PeerId, settings: &PeerSettings) {
        let address = settings.address.to_canonical();
        if self.addresses.get(&address) == Some(&id) {
            self.addresses.remove(&address);
        }
        if let Some(target) = settings.target.map(|flow| (flow.port, flow.remote))
            && self.targets.get(&target) == Some(&id)
        {
            self.targets.remove(&target);
        }
    }

    /// A connection of a peer stands.
    pub(crate) fn connect(&mut self, now: Time, id: PeerId, flow: Flow) -> ConnectionId {
        let connection = ConnectionId(flow.conn.0);
        if let Some(peer) = self.get_mut(id) {
            peer.connections
                .insert(connection, Connection { flow, heard: now, left: 0, open: Box::default() });
            self.connections.insert(flow.conn, id);
        }
        connection
    }

    /// A connection of a peer is no more; its flow, if it was known.
    pub(crate) fn disconnect(&mut self, id: PeerId, connection: ConnectionId) -> Option<Flow> {
        let it = self.get_mut(id)?.connections.remove(&connection)?;
        self.connections.remove(&it.flow.conn);
        Some(it.flow)
    }
}
