//! The plane's writer: takes [`Program`]s, keeps every table true, makes the workers' graphs.

mod advertise;
mod hops;
mod links;
mod neighbours;
mod routes;
mod services;
mod sweep;

pub use neighbours::{NEIGHBOURS_MAX, REACHABLE, RETRANSMIT, Reason, Resolution, TRIES_MAX};

use crate::notices::Notices;
use crate::services::Services;
use advertise::Advertisements;
use crossbeam_queue::ArrayQueue;
use graph::{ChainsWriter, Graph};
use hops::Numbers;
use machine::Time;
use neighbours::Neighbours;
use nodes::addresses::Addresses;
use nodes::interfaces::{InterfaceCounters, Interfaces};
use nodes::plan::plan;
use nodes::protection::{Admitted, Protection};
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
    /// Features by arc and interface: bit 0 the control process wants it, bit 1 the plane.
    features: BTreeMap<(String, u32), BTreeMap<String, u8>>,
    ports: BTreeMap<u16, Port>,
    links: BTreeMap<u32, Interface>,
    /// Addresses by interface, in the order in which they were said, with prefix lengths.
    addresses: BTreeMap<u32, Vec<(IpAddr, u8)>>,
    interfaces: Publisher<Interfaces>,
    own_addresses: Publisher<Addresses>,
    protection: Publisher<Protection>,
    protection_rows: Vec<program::ProtectionRow>,
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
