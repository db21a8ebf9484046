//! A speaker of LDP: a machine; datagrams, octets of connections, routes and time go in; datagrams,
//! octets and what shall be forwarded how come out.
//!
//! ```text
//! In::Datagram → discovery.rs     who is there
//! In::Octets   → connections.rs → messages.rs     sessions, and what their messages say
//! In::Route    → bind.rs          labels are given, told, taken back
//! In::Pseudowire → wires.rs       the same of pseudowires
//! ```

mod bind;
mod connections;
mod discovery;
mod messages;
mod wires;

use crate::adjacency::{Adjacencies, Arrival, Place};
use crate::bindings::Bindings;
use crate::codec::{LdpId, Prefix, PseudowireId};
use crate::discard::Discard;
use crate::labels::Labels;
use crate::pseudowire::{Pseudowire, PseudowireSettings, PseudowireState, Said};
use crate::session::{Pending, Session, SessionState};
use crate::settings::{BadSetting, ConnectionId, InterfaceSettings, LabelHop, NextHop, Settings};
use machine::{Machine, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The port of UDP and TCP.
pub const PORT: u16 = 646;
/// Where hellos of IPv4 go.
pub const ALL_ROUTERS_IPV4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 2);
/// Where hellos of IPv6 go.
pub const ALL_ROUTERS_IPV6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum In {
    /// Neighbours are looked for on an interface.
    InterfaceUp(InterfaceSettings),
    /// Not any more.
    InterfaceDown(u32),
    /// Hellos go to a router that may be anywhere, and its own are taken.
    Target(IpAddr),
    /// Not any more.
    TargetGone(IpAddr),
    /// A datagram came to [`PORT`].
    Datagram {
        /// By which interface.
        interface: u32,
        /// From where.
        source: IpAddr,
        /// To a group.
        is_multicast: bool,
        /// Its TTL or hop limit.
        hop_limit: u8,
        /// What it carries.
        octets: Vec<u8>,
    },
    /// A connection that was asked for stands.
    Connected(ConnectionId),
    /// A connection came to [`PORT`], from that address.
    Accepted(ConnectionId, IpAddr),
    /// A connection is no more, or could not be made.
    Closed(ConnectionId),
    /// Octets of a connection.
    Octets(ConnectionId, Vec<u8>),
    /// A prefix is reached that way; without a way it is our own.
    Route(Prefix, Vec<NextHop>),
    /// It is not reached any more.
    NoRoute(Prefix),
    /// Many of both at once: ways out, or none where a prefix is not reached any more.
    Routes(Vec<(Prefix, Option<Vec<NextHop>>)>),
    /// A pseudowire shall be, or be another one.
    Pseudowire(PseudowireSettings),
    /// It shall not any more.
    PseudowireGone(Ipv4Addr, PseudowireId),
    /// The other end shall forget MAC addresses; none: all that it did not learn from elsewhere.
    ForgetMacs(Ipv4Addr, PseudowireId, Vec<[u8; 6]>),
    /// All sessions end.
    Shutdown,
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// A datagram leaves from and to [`PORT`].
    Datagram {
        /// By which interface; none: by its route.
        interface: Option<u32>,
        /// To where.
        destination: IpAddr,
        /// Its TTL or hop limit.
        hop_limit: u8,
        /// What it carries.
        octets: Vec<u8>,
    },
    /// A connection is made.
    Connect {
        /// Its number.
        connection: ConnectionId,
        /// From which address.
        local: IpAddr,
        /// To which address, [`PORT`].
        remote: IpAddr,
        /// Its packets come with a hop limit of 255, or are dropped (RFC 6720).
        has_gtsm: bool,
    },
    /// Octets leave.
    Write(ConnectionId, Vec<u8>),
    /// A connection is closed.
    Close(ConnectionId),
    /// Packets with a label, and those to a prefix, leave that way.
    Forward {
        /// The prefix.
        prefix: Prefix,
        /// Our label of it.
        label: u32,
        /// Ways out.
        hops: Vec<LabelHop>,
    },
    /// A prefix has no label any more.
    Unlabelled(Prefix),
    /// A session stands, or is no more.
    Session(LdpId, bool),
    /// A link's sessions have told what there is, or not any more: its cost is the greatest until
    /// then (RFC 5443).
    Synchronized(u32, bool),
    /// A pseudowire's state is another one.
    Pseudowire(Ipv4Addr, PseudowireId, PseudowireState),
    /// MAC addresses that were learnt from a pseudowire are forgotten; none: all.
    ForgetMacs(Ipv4Addr, PseudowireId, Vec<[u8; 6]>),
}

/// An interface, and when its hellos leave.
#[derive(Debug)]
struct Interface {
    settings: InterfaceSettings,
    hello_at: Time,
    is_synchronized: bool,
}

/// The speaker.
#[derive(Debug)]
pub struct Speaker {
    settings: Settings,
    interfaces: BTreeMap<u32, Interface>,
    /// Targets, and when their hellos leave.
    targets: BTreeMap<IpAddr, Time>,
    adjacencies: Adjacencies,
    sessions: BTreeMap<LdpId, Session>,
    /// Connections that belong to a session.
    owners: BTreeMap<ConnectionId, LdpId>,
    /// Those that came, and do not yet.
    pending: BTreeMap<ConnectionId, Pending>,
    bindings: Bindings,
    labels: Labels,
    /// Own labels that something is bound to.
    bound: BTreeSet<u32>,
    wires: BTreeMap<(Ipv4Addr, PseudowireId), Pseudowire>,
    /// What peers said of pseudowires that are not there yet.
    early: BTreeMap<Ipv4Addr, BTreeMap<PseudowireId, Said>>,
    next_connection: u32,
    next_hello: u32,
    discards: [u64; Discard::ALL.len()],
}

impl Speaker {
    /// A speaker that knows nobody.
    ///
    /// # Errors
    /// What is wrong with the settings.
    pub fn new(settings: Settings) -> Result<Self, BadSetting> {
        settings.check()?;
        Ok(Self {
            labels: Labels::new(settings.labels),
            settings,
            interfaces: BTreeMap::new(),
            targets: BTreeMap::new(),
            adjacencies: Adjacencies::default(),
            sessions: BTreeMap::new(),
            owners: BTreeMap::new(),
            pending: BTreeMap::new(),
            bindings: Bindings::default(),
            bound: BTreeSet::new(),
            wires: BTreeMap::new(),
            early: BTreeMap::new(),
            next_connection: 0,
            next_hello: 0,
            discards: [0; Discard::ALL.len()],
        })
    }

    /// How often something was discarded for a reason.
    #[must_use]
    pub const fn discarded(&self, why: Discard) -> u64 {
        self.discards[why as usize]
    }

    /// Peers and the states of their sessions.
    pub fn sessions(&self) -> impl Iterator<Item = (LdpId, SessionState)> {
        self.sessions.values().map(|it| (it.peer, it.state))
    }

    /// Labels that a peer has told.
    #[must_use]
    pub fn remote(&self, peer: LdpId) -> Vec<(Prefix, u32)> {
        let session = self.sessions.get(&peer);
        session.map_or_else(Vec::new, |it| it.remote.iter().collect())
    }

    /// Our label of a prefix.
    #[must_use]
    pub fn label(&self, prefix: Prefix) -> Option<u32> {
        self.bindings.prefixes.get(&prefix)?.label
    }

    /// Whether connections with an address come with a hop limit of 255, or are dropped.
    #[must_use]
    pub fn has_gtsm(&self, remote: IpAddr) -> bool {
        // What the first one said counts: hellos from elsewhere, with the bit or without it, change
        // nothing that was agreed on.
        self.adjacencies.first_at(remote).is_some_and(|it| it.has_gtsm)
    }

    /// Whether somebody whose sessions end at an address is heard.
    #[must_use]
    pub fn hears(&self, remote: IpAddr) -> bool {
        self.adjacencies.at(remote).next().is_some()
    }

    /// Prefixes that have no label, since all were given.
    #[must_use]
    pub fn lacking(&self) -> usize {
        self.bindings.lacking.len()
    }

    /// The connection of a peer's session.
    #[must_use]
    pub fn connection(&self, peer: LdpId) -> Option<ConnectionId> {
        self.sessions.get(&peer)?.connection
    }

    /// Neighbours that are heard: by which interface (none: a target), the peer, where its sessions
    /// end.
    pub fn adjacencies(&self) -> impl Iterator<Item = (Option<u32>, LdpId, IpAddr)> {
        self.adjacencies.iter().map(|(place, it)| {
            let interface = match place {
                Place::Link(interface, _) => Some(*interface),
                Place::Targeted(_) => None,
            };
            (interface, it.peer, it.transport)
        })
    }

    /// Our labels of prefixes.
    pub fn bindings(&self) -> impl Iterator<Item = (Prefix, u32)> {
        self.bindings.prefixes.iter().filter_map(|(prefix, it)| Some((*prefix, it.label?)))
    }

    const fn own(&self) -> LdpId {
        LdpId::of(self.settings.router)
    }

    fn discard(&mut self, why: Discard) {
        self.discards[why as usize] += 1;
    }

    /// What every step ends with: octets leave, links are synchronized or not.
    fn settle(&mut self, now: Time, out: &mut Vec<Out>) {
        self.end_debtors(now, out);
        self.refresh_gateways(out);
        self.refresh_lacking(out);
        self.connect_all(now, out);
        let own = self.own();
        for session in self.sessions.values_mut().filter(|it| !it.output.is_empty()) {
            let messages = core::mem::take(&mut session.output);
            let Some(connection) = session.connection else { continue };
            session.timers.keepalive_at = now + session.keepalive / 3;
            let octets = crate::codec::write_pdus(own, &messages, session.pdu_octets);
            out.push(Out::Write(connection, octets));
        }
        self.synchronize(now, out);
    }

    fn synchronize(&mut self, now: Time, out: &mut Vec<Out>) {
        for (&index, interface) in &mut self.interfaces {
            // A neighbour without a session, which anybody can be by a hello, takes no link away
            // from those that have one.
            let is_synchronized = self.adjacencies.on(index).any(|(_, it)| {
                self.sessions.get(&it.peer).is_some_and(|session| session.is_settled(now))
            });
            if interface.is_synchronized != is_synchronized {
                interface.is_synchronized = is_synchronized;
                out.push(Out::Synchronized(index, is_synchronized));
            }
        }
        for session in self.sessions.values_mut().filter(|it| it.timers.settles_at <= now) {
            // That it is settled stays true: nothing is due any more.
            if session.is_operational() && session.timers.settles_at != Time::ZERO {
                session.timers.settles_at = Time::ZERO;
            }
        }
    }
}

impl Machine for Speaker {
    type In = In;
    type Out = Out;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        match input {
            In::InterfaceUp(settings) => self.interface_up(now, settings),
            In::InterfaceDown(index) => self.interface_down(now, index, out),
            In::Target(target) => drop(self.targets.entry(target).or_insert(now)),
            In::TargetGone(target) => self.target_gone(now, target, out),
            In::Datagram { interface, source, is_multicast, hop_limit, octets } => {
                let from = Arrival { interface, source, is_multicast, hop_limit };
                if let Err(why) = self.datagram(now, &from, &octets) {
                    self.discard(why);
                }
            }
            In::Connected(connection) => self.connected(now, connection),
            In::Accepted(connection, remote) => self.accepted(now, connection, remote, out),
            In::Closed(connection) => self.closed(now, connection, out),
            In::Octets(connection, octets) => self.octets(now, connection, &octets, out),
            In::Route(prefix, hops) => self.route(prefix, Some(hops), out),
            In::NoRoute(prefix) => self.route(prefix, None, out),
            In::Routes(all) => {
                all.into_iter().for_each(|(prefix, hops)| self.route(prefix, hops, out));
            }
            In::Pseudowire(settings) => self.wire(settings, out),
            In::PseudowireGone(peer, id) => self.wire_gone(peer, id, out),
            In::ForgetMacs(peer, id, macs) => self.forget_macs(peer, id, macs),
            In::Shutdown => self.shutdown(now, out),
        }
        self.send_hellos(now, out);
        self.settle(now, out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        self.end_adjacencies(now, out);
        self.tick_connections(now, out);
        self.send_hellos(now, out);
        self.settle(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        let hellos = self.interfaces.values().map(|it| it.hello_at);
        let targets = self.targets.values().copied();
        let adjacencies = self.adjacencies.iter().map(|it| it.1.ends);
        let sessions = self.sessions.values().map(|it| self.session_due(it));
        let pending = self.pending.values().map(|it| it.until);
        let all = hellos.chain(targets).chain(adjacencies).chain(sessions).chain(pending);
        all.min().filter(|at| *at != Time::MAX)
    }
}
