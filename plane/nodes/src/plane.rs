//! The plane's writer: takes [`Program`]s, keeps every table true, makes the workers' graphs.

use crate::interfaces::{InterfaceCounters, Interfaces};
use crate::program::{Interface, Mac, Port, Program};
use crossbeam_queue::ArrayQueue;
use graph::{Flaw, Graph, Plan};
use machine::Time;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use table::epoch::{Domain, Published, Publisher};

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
        /// Whether it answered us (else it asked, and only what is known is refreshed).
        answered: bool,
    },
    /// A packet for a neighbour whose MAC address is not known.
    Unresolved {
        /// Where the neighbour is.
        interface: u32,
        /// Its address.
        address: IpAddr,
        /// The packet, from its IP header (or its labels).
        packet: Box<[u8]>,
        /// Its EtherType.
        ethertype: u16,
    },
    /// A MAC address in a bridge domain.
    Mac {
        /// The domain.
        bridge: u32,
        /// The address.
        mac: Mac,
        /// The member that it was heard from (as the bridge's nodes number members).
        member: u32,
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
    /// The worker's own counters of interfaces.
    pub counters: Arc<InterfaceCounters>,
    /// Where the worker tells the plane what it noticed.
    pub heard: Arc<ArrayQueue<Heard>>,
}

/// The writer of all tables.
pub struct Plane {
    domain: Arc<Domain>,
    ports: BTreeMap<u16, Port>,
    links: BTreeMap<u32, Interface>,
    interfaces: Publisher<Interfaces>,
    changed: bool,
    workers: Vec<Shared>,
}

impl Plane {
    /// A plane without ports.
    #[must_use]
    pub fn new() -> Self {
        let domain = Domain::new();
        let interfaces = Publisher::new(&domain, Interfaces::default());
        let (ports, links) = (BTreeMap::new(), BTreeMap::new());
        Self { domain, ports, links, interfaces, changed: false, workers: Vec::new() }
    }

    /// Does as the program says; workers see it after [`Plane::publish`] at the latest.
    ///
    /// # Errors
    /// Why not; then nothing was changed.
    pub fn apply(&mut self, program: &Program) -> Result<(), Refused> {
        match program {
            Program::Port(port) => {
                self.ports.insert(port.port, port.clone());
                self.changed = true;
            }
            Program::Interface(interface) => {
                self.links.insert(interface.index, interface.clone());
                self.changed = true;
            }
            _ => return Err(Refused::Conflict("not yet".to_owned())),
        }
        Ok(())
    }

    /// Makes what was applied true for the packets from now on.
    pub fn publish(&mut self) {
        if std::mem::take(&mut self.changed) {
            self.interfaces.publish(Interfaces::of(&self.ports, &self.links));
        }
    }

    /// The graph of one more worker.
    ///
    /// # Errors
    /// When the nodes do not fit together, or there are too many workers.
    pub fn graph(&mut self) -> Result<Graph, Refused> {
        let reader = self.domain.reader().ok_or(Refused::Full("workers"))?;
        let shared = Shared {
            interfaces: self.interfaces.published(),
            counters: Arc::default(),
            heard: Arc::new(ArrayQueue::new(HEARD_MAX)),
        };
        let plan = Plan::new();
        let chains = plan.chains(&self.domain)?;
        self.workers.push(shared);
        Ok(plan.build(&chains, reader)?)
    }

    /// Counters of interfaces, of each worker.
    pub fn counters(&self) -> impl Iterator<Item = &InterfaceCounters> {
        self.workers.iter().map(|worker| &*worker.counters)
    }

    /// Hears what workers noticed and does what is due; call it every few milliseconds.
    pub fn tick(&mut self, _now: Time, _out: &mut Vec<Out>) {
        for worker in &self.workers {
            while worker.heard.pop().is_some() {}
        }
    }
}

impl Default for Plane {
    fn default() -> Self {
        Self::new()
    }
}
