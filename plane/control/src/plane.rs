//! The plane's writer: takes [`Program`]s, keeps every table true, makes the workers' graphs.

mod advertise;
mod features;
mod hops;
mod links;
mod neighbours;
mod routes;
mod sweep;

pub use features::Handed;
pub use neighbours::{
    GATEWAYS_OF_INTERFACE_MAX, NEIGHBOURS_MAX, REACHABLE, RETRANSMIT, Reason, Resolution, TRIES_MAX,
};

use crate::features::FEATURES;
use advertise::Advertisements;
use crossbeam_queue::ArrayQueue;
use graph::{ChainsWriter, Graph};
use hops::Numbers;
use machine::Time;
use neighbours::Neighbours;
use nodes::addresses::Addresses;
use nodes::feature::{Feature, Row, Start};
use nodes::interfaces::{InterfaceCounters, Interfaces};
use nodes::protection::{Admitted, Protection};
use nodes::qos::marking::Markings;
use nodes::view::{HEARD_MAX, Shared};
use nodes::{Heard, Out, Refused, Speech, bucket};
use program::{Interface, Mac, Port, Program};
use routes::Own;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use sweep::Sweep;
use table::epoch::{Domain, Publisher};
use table::hop::{Hops, NO_ROUTE};
use table::vrf::Vrfs;

/// The writer of all tables.
pub struct Plane {
    domain: Arc<Domain>,
    /// Of no worker: what a new worker's is made of.
    shared: Shared,
    workers: Vec<Shared>,
    chains: ChainsWriter,
    features: Vec<Box<dyn Feature>>,
    /// Nodes of features by arc and interface: bit 0 the control process wants it, bit 1 the
    /// feature.
    joined: BTreeMap<(String, u32), BTreeMap<String, u8>>,
    ports: BTreeMap<u16, Port>,
    links: BTreeMap<u32, Interface>,
    /// Addresses by interface, in the order in which they were said, with prefix lengths.
    addresses: BTreeMap<u32, Vec<(IpAddr, u8)>>,
    interfaces: Publisher<Interfaces>,
    own_addresses: Publisher<Addresses>,
    vrfs: Vrfs,
    hops: Hops,
    numbers: Numbers,
    own: Own,
    neighbours: Neighbours,
    advertisements: Advertisements,
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
    /// A plane without ports, with all features; `seed` is that of flow hashes.
    ///
    /// # Errors
    /// When the kernel gives no memory.
    pub fn new(seed: u32) -> Result<Self, Refused> {
        Self::with_features(seed, FEATURES)
    }

    /// A plane with these features.
    ///
    /// # Errors
    /// When the kernel gives no memory, or the features' nodes do not fit together.
    pub fn with_features(seed: u32, rows: &[Row]) -> Result<Self, Refused> {
        let domain = Domain::new();
        let vrfs = Vrfs::new(&domain).map_err(|_| Refused::Full("routes"))?;
        let mut hops = Hops::new(&domain).map_err(|_| Refused::Full("hops"))?;
        let interfaces = Publisher::new(&domain, Interfaces::default());
        let own_addresses = Publisher::new(&domain, Addresses::default());
        let mut shared = Shared {
            interfaces: interfaces.published(),
            addresses: own_addresses.published(),
            protection: Publisher::new(&domain, Protection::default()).published(),
            admitted: Arc::new(Admitted::new(seed.into())),
            markings: Publisher::new(&domain, Markings::default()).published(),
            routes: vrfs.lookups(),
            hops: hops.lookups(),
            bfd: None,
            seed,
            key: bucket::mixed(seed.into(), 0),
            counters: Arc::default(),
            heard: Arc::new(ArrayQueue::new(1)),
        };
        let start = Start { domain: &domain, seed };
        let mut features: Vec<_> = rows.iter().map(|row| row(&start)).collect();
        features.iter().for_each(|feature| feature.share(&mut shared));
        let chains = features::plan(&mut features, &shared, 0).chains(&domain)?;
        let numbers = Numbers::new(&mut hops)?;
        Ok(Self {
            domain,
            shared,
            workers: Vec::new(),
            chains,
            features,
            joined: BTreeMap::new(),
            ports: BTreeMap::new(),
            links: BTreeMap::new(),
            addresses: BTreeMap::new(),
            interfaces,
            own_addresses,
            vrfs,
            hops,
            numbers,
            own: Own::default(),
            neighbours: Neighbours::default(),
            advertisements: Advertisements::new(seed),
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
    /// Why not; then nothing was changed, but that a feature's thing of that name may be gone: it
    /// says so, where what was said before must not count any more.
    pub fn apply(&mut self, program: &Program) -> Result<(), Refused> {
        match program {
            Program::Begin { generation } => {
                self.sweep = Some(Sweep::new(*generation));
                self.features.iter_mut().for_each(|feature| feature.begun());
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
            Program::Remove(removed) => self.remove(removed)?,
            of_a_feature => self.tell_feature(of_a_feature)?,
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
        self.publish_features();
        self.follow_watched();
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
        let worker = self.workers.len();
        self.features.iter_mut().for_each(|feature| feature.workers(worker + 1, self.now));
        self.publish_features();
        let plan = features::plan(&mut self.features, &shared, worker);
        let graph = plan.build(&self.chains, reader)?;
        for class in self.handed() {
            if class.down.is_some_and(|node| graph.entry(node).is_none()) {
                return Err(Refused::Conflict(format!("{}: there is no such node", class.name)));
            }
        }
        self.workers.push(shared);
        Ok(graph)
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
        let plan = features::plan(&mut self.features, shared, worker);
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
        self.features.iter_mut().for_each(|feature| feature.tick(now, out));
        self.follow_watched();
        self.vrfs.ipv4.recycle();
        self.vrfs.ipv6.recycle();
        self.hops.recycle();
    }

    fn hear(&mut self, heard: Heard, out: &mut Vec<Out>) {
        match heard {
            Heard::Neighbour { interface, address, mac, token, .. }
                if self.is_claimed(interface, address, mac) =>
            {
                let is_proved = self.is_heir(token);
                out.push(Out::Claimed { interface, address, mac, is_proved });
            }
            Heard::Neighbour { interface, address, mac, speech, .. } => {
                self.neighbour_heard((interface, address), mac, speech, out);
            }
            Heard::RouterSolicited { interface, source } => {
                if let Some((address, mac)) = source {
                    self.neighbour_heard((interface, address), mac, Speech::Question, out);
                }
                self.routers_solicited(interface);
            }
            Heard::Unresolved { interface, neighbour, address, vrf, packet } => {
                self.neighbour_wanted(interface, neighbour, address, (vrf, packet), out);
            }
        }
    }
}
