//! The plane's writer: takes [`Program`]s, keeps every table true, makes the workers' graphs.

mod advertise;
mod hops;
mod links;
mod neighbours;
mod routes;
mod services;
mod sweep;

pub use neighbours::{
    NEIGHBOURS_MAX, REACHABLE, RETRANSMIT, Reason, Resolution, Speech, TRIES_MAX,
};

use crate::addresses::Addresses;
use crate::interfaces::{InterfaceCounters, Interfaces};
use crate::l2::{BridgeInput, CrossConnect, Notices};
use crate::mpls::{MplsExpired, MplsInput};
use crate::program::{Direction, Family, Interface, Mac, MacNotice, Port, Program};
use crate::protection::{Admitted, Protection};
use crate::qos::{Classify, FilterNode, MarkOut, PolicerNode, Stage};
use crate::sampling::Sample;
use crate::services::{Services, Views};
use crate::{
    arcs, arp, bucket, echo, ethernet, glean, inject, ip4, ip6, local, nd, output, reassembly, urpf,
};
use advertise::Advertisements;
use crossbeam_queue::ArrayQueue;
use graph::{ChainsWriter, Flaw, Graph, Plan};
use hops::Numbers;
use machine::Time;
use machine::narrow::place;
use neighbours::Neighbours;
use routes::Own;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use sweep::Sweep;
use table::epoch::{Domain, Published, Publisher};
use table::hop::{HopError, HopLookups, Hops, NO_ROUTE};
use table::mac::Learner;
use table::vrf::{VrfLookups, Vrfs};

/// What a worker may have told the plane and the plane not yet heard, at most.
pub const HEARD_MAX: usize = 1_024;

/// Why a program is refused. Nothing was changed then.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Refused {
    /// A number is out of its range.
    #[error("{what} {number}: numbers go to {limit}")]
    Number {
        /// Of what.
        what: &'static str,
        /// The number.
        number: u64,
        /// The highest.
        limit: u64,
    },
    /// It names something that is not there.
    #[error("{what} {number} is not there")]
    Missing {
        /// What.
        what: &'static str,
        /// Its number.
        number: u64,
    },
    /// Two things cannot be at once.
    #[error("{0}")]
    Conflict(String),
    /// A table is full.
    #[error("{0}: no room")]
    Full(&'static str),
    /// A chain of features cannot be.
    #[error(transparent)]
    Chain(#[from] graph::Refused),
    /// The graph's nodes do not fit together.
    #[error(transparent)]
    Graph(#[from] Flaw),
    /// A hop cannot be.
    #[error(transparent)]
    Hop(#[from] HopError),
}

/// What a worker noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A neighbour said where it is.
    Neighbour {
        /// Where it was heard.
        interface: u32,
        /// Its address.
        address: IpAddr,
        /// Its MAC address.
        mac: Mac,
        /// How it came to speak.
        speech: Speech,
    },
    /// A host asked for routers.
    RouterSolicited {
        /// Where.
        interface: u32,
        /// Its address and MAC address, if it said both.
        source: Option<(IpAddr, Mac)>,
    },
    /// A packet for a neighbour whose MAC address is not known.
    Unresolved {
        /// Where the neighbour is.
        interface: u32,
        /// The neighbour as the hop's line names it; 0: the packet's destination.
        neighbour: u32,
        /// The packet's destination.
        address: IpAddr,
        /// The routing table that led it there.
        vrf: u32,
        /// The packet, from its IP header.
        packet: Box<[u8]>,
    },
}

/// What the plane wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out {
    /// A frame leaves by an interface: push it to node `inject` with `Meta::transmit` set.
    Send {
        /// The interface.
        interface: u32,
        /// The whole frame, with its tags.
        frame: Vec<u8>,
    },
    /// A packet that was held is routed: push it to node `inject` with `Meta::vrf` set.
    Route {
        /// The routing table.
        vrf: u32,
        /// The packet, from its IP header.
        packet: Box<[u8]>,
    },
    /// A packet that was held for a neighbour who does not answer: push it to
    /// [`crate::error_entry`] with what [`crate::unreachable`] notes.
    Unreachable {
        /// Where the neighbour is not.
        interface: u32,
        /// The routing table.
        vrf: u32,
        /// The packet, from its IP header.
        packet: Box<[u8]>,
    },
    /// A MAC address of a bridge domain moved, froze, or was refused: the control process is told.
    Mac(MacNotice),
    /// A neighbour was found, changed or lost (`mac: None`): the control process is told.
    Neighbour {
        /// Where.
        interface: u32,
        /// Its address.
        address: IpAddr,
        /// Its MAC address.
        mac: Option<Mac>,
    },
}

/// What all workers of a plane share; every node that needs some of it has a clone.
#[derive(Clone)]
pub struct Shared {
    /// Ports and interfaces.
    pub interfaces: Arc<Published<Interfaces>>,
    /// Own addresses.
    pub addresses: Arc<Published<Addresses>>,
    /// What the control plane accepts.
    pub protection: Arc<Published<Protection>>,
    /// What all workers have let through of that.
    pub admitted: Arc<Admitted>,
    /// Routes of all tables.
    pub routes: VrfLookups,
    /// Hops.
    pub hops: Arc<HopLookups>,
    /// Seed of flow hashes.
    pub seed: u32,
    /// Key of the hashes by which sources share buckets.
    pub key: u64,
    /// The worker's own counters of interfaces.
    pub counters: Arc<InterfaceCounters>,
    /// Where the worker tells the plane what it noticed.
    pub heard: Arc<ArrayQueue<Heard>>,
}

impl Shared {
    /// Tells the plane what was noticed; false if its ring has no room, and it is lost. Packets
    /// that ask for neighbours leave room for what neighbours say, and what they say of themselves
    /// for answers.
    pub(crate) fn tell(&self, heard: Heard) -> bool {
        let most = match &heard {
            Heard::Unresolved { .. } => HEARD_MAX / 2,
            Heard::Neighbour { speech: Speech::Answer { .. }, .. } => HEARD_MAX,
            Heard::Neighbour { .. } | Heard::RouterSolicited { .. } => HEARD_MAX / 4 * 3,
        };
        self.heard.len() < most && self.heard.push(heard).is_ok()
    }
}

/// The writer of all tables.
pub struct Plane {
    domain: Arc<Domain>,
    /// Of no worker: what a new worker's is made of.
    shared: Shared,
    workers: Vec<Shared>,
    chains: ChainsWriter,
    /// Features by arc and interface: bit 0 the control process wants it, bit 1 the plane.
    features: BTreeMap<(String, u32), BTreeMap<String, u8>>,
    ports: BTreeMap<u16, Port>,
    links: BTreeMap<u32, Interface>,
    /// Addresses by interface, in the order in which they were said, with prefix lengths.
    addresses: BTreeMap<u32, Vec<(IpAddr, u8)>>,
    interfaces: Publisher<Interfaces>,
    own_addresses: Publisher<Addresses>,
    protection: Publisher<Protection>,
    protection_rows: Vec<crate::program::ProtectionRow>,
    vrfs: Vrfs,
    hops: Hops,
    numbers: Numbers,
    services: Services,
    own: Own,
    neighbours: Neighbours,
    advertisements: Advertisements,
    notices: Notices,
    changed: Changed,
    sweep: Option<Sweep>,
    now: Time,
}

/// What the next publishing publishes.
#[derive(Default)]
struct Changed {
    links: bool,
    addresses: bool,
    chains: bool,
}

impl Plane {
    /// A plane without ports; `seed` is that of flow hashes.
    ///
    /// # Errors
    /// When the kernel gives no memory.
    pub fn new(seed: u32) -> Result<Self, Refused> {
        let domain = Domain::new();
        let vrfs = Vrfs::new(&domain).map_err(|_| Refused::Full("routes"))?;
        let mut hops = Hops::new(&domain).map_err(|_| Refused::Full("hops"))?;
        let interfaces = Publisher::new(&domain, Interfaces::default());
        let own_addresses = Publisher::new(&domain, Addresses::default());
        let protection = Publisher::new(&domain, Protection::default());
        let shared = Shared {
            interfaces: interfaces.published(),
            addresses: own_addresses.published(),
            protection: protection.published(),
            admitted: Arc::new(Admitted::new(seed.into())),
            routes: vrfs.lookups(),
            hops: hops.lookups(),
            seed,
            key: bucket::mixed(seed.into(), 0),
            counters: Arc::default(),
            heard: Arc::new(ArrayQueue::new(1)),
        };
        let mut services = Services::new(&domain, u64::from(seed));
        let views = services.views(0, &shared);
        let chains = plan(&shared, views).chains(&domain)?;
        let numbers = Numbers::new(&mut hops)?;
        Ok(Self {
            domain,
            shared,
            workers: Vec::new(),
            chains,
            features: BTreeMap::new(),
            ports: BTreeMap::new(),
            links: BTreeMap::new(),
            addresses: BTreeMap::new(),
            interfaces,
            own_addresses,
            protection,
            protection_rows: Vec::new(),
            vrfs,
            hops,
            numbers,
            services,
            own: Own::default(),
            neighbours: Neighbours::default(),
            advertisements: Advertisements::new(seed),
            notices: Notices::default(),
            changed: Changed::default(),
            sweep: None,
            now: Time::ZERO,
        })
    }

    /// The same with a key of its own for the hashes by which sources share what is policed: who
    /// knows it chooses whom he takes it from. Before the first [`Plane::graph`].
    #[must_use]
    pub fn with_key(mut self, key: u64) -> Self {
        self.shared.key = key;
        self.shared.admitted = Arc::new(Admitted::new(key));
        self
    }

    /// Does as the program says; workers see it after [`Plane::publish`] at the latest.
    ///
    /// # Errors
    /// Why not; then nothing was changed.
    pub fn apply(&mut self, program: &Program) -> Result<(), Refused> {
        match program {
            Program::Begin { generation } => {
                self.sweep = Some(Sweep::new(*generation));
                return Ok(());
            }
            Program::End { generation } => return self.end_sweep(*generation),
            Program::Port(port) => self.port(port)?,
            Program::Interface(interface) => self.interface(interface)?,
            Program::Address(address) => self.address(address)?,
            Program::Neighbour(neighbour) => self.neighbour(neighbour)?,
            Program::Advertisement(said) => self.advertisement(said)?,
            Program::Vrf { vrf } => self.vrf(*vrf)?,
            Program::Hop { id, hop } => self.hop(*id, hop)?,
            Program::Routes4 { vrf, routes } => self.routes4(*vrf, routes)?,
            Program::Routes6 { vrf, routes } => self.routes6(*vrf, routes)?,
            Program::Features { arc, interface, features } => {
                self.said_features(arc, *interface, features)?;
            }
            Program::Protection { rows } => {
                self.protection_rows.clone_from(rows);
                self.protection.publish(Protection::of(rows));
            }
            Program::Remove(removed) => self.remove(removed)?,
            other => self.service(other)?,
        }
        if let Some(sweep) = &mut self.sweep {
            sweep.said(program);
        }
        Ok(())
    }

    /// Makes what was applied true for the packets from now on.
    pub fn publish(&mut self) {
        let changed = std::mem::take(&mut self.changed);
        if changed.links {
            let hop = |id| self.numbers.of(id).map_or((NO_ROUTE, 0), |hop| (hop, self.peer(hop)));
            self.interfaces.publish(Interfaces::of(&self.ports, &self.links, hop));
        }
        if changed.links || changed.addresses {
            self.own_addresses.publish(self.own_addresses());
        }
        self.services.publish(&self.links);
        if changed.chains {
            self.chains.publish();
        }
        self.hops.recycle();
    }

    /// The graph of one more worker.
    ///
    /// # Errors
    /// When the nodes do not fit together, or there are too many workers.
    pub fn graph(&mut self) -> Result<Graph, Refused> {
        let reader = self.domain.reader().ok_or(Refused::Full("workers"))?;
        let shared = Shared {
            counters: Arc::default(),
            heard: Arc::new(ArrayQueue::new(HEARD_MAX)),
            ..self.shared.clone()
        };
        let worker = self.services.worker();
        self.services.publish(&self.links);
        let plan = plan(&shared, self.services.views(worker, &shared));
        self.workers.push(shared);
        Ok(plan.build(&self.chains, reader)?)
    }

    /// The graph of a worker (0: the first that was asked for) whose own was dropped. Counters of
    /// interfaces go on.
    ///
    /// # Errors
    /// When there is no such worker, or its old graph is still there and all places are taken.
    pub fn graph_anew(&mut self, worker: usize) -> Result<Graph, Refused> {
        let number = worker as u64;
        let shared = self.workers.get(worker).ok_or(Refused::Missing { what: "worker", number })?;
        let reader = self.domain.reader().ok_or(Refused::Full("workers"))?;
        let plan = plan(shared, self.services.views(worker, shared));
        Ok(plan.build(&self.chains, reader)?)
    }

    /// Every neighbour: interface, address, MAC address if known, its state in a word (RFC 4861
    /// §7.3.2).
    pub fn neighbours(&self) -> impl Iterator<Item = (u32, IpAddr, Option<Mac>, String)> {
        self.neighbours.list().map(|((interface, address), mac, state)| {
            (interface, address, mac, state.to_lowercase())
        })
    }

    /// How many neighbours each interface has, and why others are not there.
    #[must_use]
    pub fn resolution(&self) -> BTreeMap<u32, Resolution> {
        self.neighbours.resolution()
    }

    /// Numbers of all interfaces.
    pub fn interfaces(&self) -> impl Iterator<Item = u32> {
        self.links.keys().copied()
    }

    /// Counters of interfaces, of each worker.
    pub fn counters(&self) -> impl Iterator<Item = &InterfaceCounters> {
        self.workers.iter().map(|worker| &*worker.counters)
    }

    /// Hears what workers noticed and does what is due; call it every few milliseconds. What is
    /// wanted goes to `out`.
    pub fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        self.now = now;
        let rings: Vec<_> = self.workers.iter().map(|worker| Arc::clone(&worker.heard)).collect();
        for ring in rings {
            // No more than fits at once: what comes while we look is for the next time.
            for _ in 0..HEARD_MAX {
                match ring.pop() {
                    Some(heard) => self.hear(heard, out),
                    None => break,
                }
            }
        }
        self.neighbours_due(out);
        self.advertisements_due(out);
        let notices = &mut self.notices;
        let told = |event| out.extend(notices.of(event, now).map(Out::Mac));
        self.services.tick(now, told);
        self.vrfs.ipv4.recycle();
        self.vrfs.ipv6.recycle();
        self.hops.recycle();
    }

    fn hear(&mut self, heard: Heard, out: &mut Vec<Out>) {
        match heard {
            Heard::Neighbour { interface, address, mac, speech } => {
                self.neighbour_heard((interface, address), mac, speech, out);
            }
            Heard::RouterSolicited { interface, source } => {
                if let Some((address, mac)) = source {
                    self.neighbour_heard((interface, address), mac, Speech::Question, out);
                }
                self.routers_solicited(interface);
            }
            Heard::Unresolved { interface, neighbour, address, vrf, packet } => {
                self.neighbour_wanted((interface, neighbour), address, (vrf, packet), out);
            }
        }
    }

    fn said_features(
        &mut self,
        arc: &str,
        interface: u32,
        features: &[String],
    ) -> Result<(), Refused> {
        let known = self.features.get(&(arc.to_owned(), interface)).cloned().unwrap_or_default();
        let mut wanted: BTreeMap<String, u8> =
            known.into_iter().filter(|(_, why)| why & 2 != 0).map(|(name, _)| (name, 2)).collect();
        for feature in features {
            *wanted.entry(feature.clone()).or_default() |= 1;
        }
        self.set_features(arc, interface, wanted)
    }

    /// Gives an interface a feature because of what it is used for, or takes it away; one that
    /// the control process wants stays.
    pub(crate) fn feature(
        &mut self,
        arc: &str,
        interface: u32,
        (feature, on): (&str, bool),
    ) -> Result<(), Refused> {
        let known = self.features.get(&(arc.to_owned(), interface));
        let mut wanted = known.cloned().unwrap_or_default();
        let why = wanted.entry(feature.to_owned()).or_default();
        *why = if on { *why | 2 } else { *why & 1 };
        wanted.retain(|_, why| *why != 0);
        self.set_features(arc, interface, wanted)
    }

    fn set_features(
        &mut self,
        arc: &str,
        interface: u32,
        wanted: BTreeMap<String, u8>,
    ) -> Result<(), Refused> {
        let names: Vec<&str> = wanted.keys().map(String::as_str).collect();
        self.chains.set(arc, interface, &names)?;
        self.changed.chains = true;
        match wanted.is_empty() {
            true => self.features.remove(&(arc.to_owned(), interface)),
            false => self.features.insert((arc.to_owned(), interface), wanted),
        };
        Ok(())
    }
}

/// All nodes of a worker.
fn plan(shared: &Shared, (views, learner): (Views, Learner)) -> Plan {
    let (routes, hops) = (&shared.routes, &shared.hops);
    let plan = Plan::new()
        .node(ethernet::EthernetInput::new(shared.clone()))
        .node(arp::ArpInput::new(shared.clone(), Arc::clone(&routes.ipv4), Arc::clone(hops)))
        .node(ip4::Ip4Input)
        .node(ip4::Ip4Options)
        .node(ip4::Ip4Lookup::new(Arc::clone(&routes.ipv4), Arc::clone(hops), shared.seed))
        .node(ip4::Ip4Fragment::new(Arc::clone(hops)))
        .node(ip4::Ip4Error::new(shared.clone()))
        .node(ip6::Ip6Input::new(shared.clone()))
        .node(ip6::Ip6Options)
        .node(ip6::Ip6Lookup::new(Arc::clone(&routes.ipv6), Arc::clone(hops), shared.seed))
        .node(ip6::Ip6Error::new(shared.clone()))
        .node(nd::NdInput::new(shared.clone()))
        .node(local::Local::new(shared.clone(), false))
        .node(local::Local::new(shared.clone(), true))
        .node(echo::Echo::new(shared.clone()))
        .node(reassembly::Reassembly::new(shared.clone()))
        .node(glean::Glean::new(shared.clone(), Arc::clone(hops)))
        .node(inject::Inject::new(shared.clone()))
        .node(output::InterfaceOutput::new(shared.clone()));
    let check = |six| urpf::SourceCheck::new(shared.clone(), routes.clone(), Arc::clone(hops), six);
    let plan = plan.node(check(false)).node(check(true));
    let plan = plan
        .node(ip4::Ip4Redirect::new(Arc::clone(hops), shared.seed))
        .node(ip6::Ip6Redirect::new(Arc::clone(hops), shared.seed));
    let plan = services_plan(plan, &views, learner, shared.seed);
    arcs::arcs().into_iter().fold(plan, Plan::arc)
}

/// The nodes of labels, frames and traffic classes.
fn services_plan(plan: Plan, views: &Views, learner: Learner, seed: u32) -> Plan {
    let filter = |stage| FilterNode::new(views.clone(), stage);
    plan.node(MplsInput::new(views.clone()))
        .node(MplsExpired::new(views.clone()))
        .node(CrossConnect::new(views.clone()))
        .node(BridgeInput::new(views.clone(), learner))
        .node(Sample::new(views.clone(), seed ^ place(views.worker)))
        .node(Classify(views.clone()))
        .node(MarkOut(views.clone()))
        .node(filter(Stage::In(Family::Ip4)))
        .node(filter(Stage::In(Family::Ip6)))
        .node(filter(Stage::In(Family::Ethernet)))
        .node(filter(Stage::Out))
        .node(PolicerNode::new(views.clone(), Direction::In))
        .node(PolicerNode::new(views.clone(), Direction::Out))
}
