//! What a packet feature is: state that programs change, nodes that read it, and the places where
//! these join the path. A feature is a type and one row in the list of the plane's writer
//! (`plane/control`), which knows nothing else of it.
//!
//! ```text
//!   Program ─→ Plane ─ apply, remove ─→ Feature ─ publish ─→ tables of its own
//!                ↑                         │ └──── nodes ──→ workers' graphs, which read them
//!                └── Change: joins, names ─┘
//!   the function ←─ Item, by Out ── tick ─┘        nodes ─ hand_up ─→ packet channel ─→ it
//! ```
//! All of it is the writer's half: no packet meets a [`Feature`]. Packets meet the nodes that it
//! makes, which are called once a vector as all others are.

use crate::program::{Interface, PacketClass, Program, Removed};
use crate::refused::Refused;
use crate::view::{Out, Shared, Token};
use graph::Plan;
use machine::Time;
use std::any::Any;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use table::epoch::Domain;

/// How a feature is made: its row in the list of features.
pub type Row = fn(&Start<'_>) -> Box<dyn Feature>;

/// The row of a feature.
#[must_use]
pub fn row<F: Feature>(start: &Start<'_>) -> Box<dyn Feature> {
    Box::new(F::new(start))
}

/// What a feature is made with.
pub struct Start<'a> {
    /// The epochs of the plane's tables: what a feature publishes belongs to them.
    pub domain: &'a Arc<Domain>,
    /// The plane's seed.
    pub seed: u32,
}

/// One worker, whose nodes are made.
pub struct Worker<'a> {
    /// What all features share, as this worker has it.
    pub shared: &'a Shared,
    /// The worker's number, from 0.
    pub number: usize,
    /// The number of the feature's first class ([`Feature::classes`]); the others follow.
    pub first_class: u32,
}

/// Where a node of a feature meets an arc ([`crate::arcs`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// It may stand on the arc: for interfaces for which [`Change::join`] or `Program::Features`
    /// says so.
    On {
        /// The arc's name.
        arc: &'static str,
        /// The node.
        node: &'static str,
        /// Lower ones come first ([`crate::arcs::rank`]).
        rank: u8,
    },
    /// It sends packets along the arc.
    From {
        /// The arc's name.
        arc: &'static str,
        /// The node.
        node: &'static str,
    },
}

impl Join {
    /// Rank and node, if it may stand on this arc.
    pub(crate) fn on(&self, name: &str) -> Option<(u8, &'static str)> {
        match *self {
            Self::On { arc, node, rank } => (arc == name).then_some((rank, node)),
            Self::From { .. } => None,
        }
    }

    /// The node, if it sends packets along this arc.
    pub(crate) fn from(&self, name: &str) -> Option<&'static str> {
        match *self {
            Self::From { arc, node } => (arc == name).then_some(node),
            Self::On { .. } => None,
        }
    }
}

/// A node that an interface's packets pass, or pass no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The arc's name.
    pub arc: &'static str,
    /// The interface.
    pub interface: u32,
    /// The node.
    pub node: &'static str,
    /// Whether its packets pass it.
    pub on: bool,
}

/// A neighbour that a feature watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Where it is.
    pub interface: u32,
    /// Its address.
    pub address: IpAddr,
    /// The guard of hops to it ([`table::hop::HopLookups::set_lost`]); 0: it is watched no more.
    pub guard: u16,
    /// Whether it is lost: hops to it are down, whatever is known of its MAC address.
    pub is_lost: bool,
}

/// What a feature may ask of the plane's own tables.
pub trait Known {
    /// The number in the table of a hop of the control process.
    ///
    /// # Errors
    /// When there is no such hop.
    fn hop(&self, id: u32) -> Result<u32, Refused>;

    /// Whether there is such a routing table.
    fn has_vrf(&self, vrf: u32) -> bool;
}

/// One change of a feature: what it may ask, and what it wants done.
pub struct Change<'a> {
    known: &'a dyn Known,
    now: Time,
    wanted: Wanted,
}

/// What a feature wants done.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Nodes that interfaces' packets pass from the next publishing on.
    pub joins: Vec<Joined>,
    /// Names of what was said where the program alone does not tell it.
    pub names: Vec<Removed>,
}

impl<'a> Change<'a> {
    /// A change at this time.
    #[must_use]
    pub fn new(known: &'a dyn Known, now: Time) -> Self {
        Self { known, now, wanted: Wanted::default() }
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// The number in the table of a hop of the control process.
    ///
    /// # Errors
    /// When there is no such hop.
    pub fn hop(&self, id: u32) -> Result<u32, Refused> {
        self.known.hop(id)
    }

    /// Refuses a routing table that is not there.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn vrf(&self, vrf: u32) -> Result<(), Refused> {
        match self.known.has_vrf(vrf) {
            true => Ok(()),
            false => Err(Refused::Missing { what: "vrf", number: vrf.into() }),
        }
    }

    /// Packets of an interface pass a node of the feature on an arc, or pass it no more. What the
    /// control process says by `Program::Features` stays.
    pub fn join(&mut self, arc: &'static str, interface: u32, node: &'static str, on: bool) {
        self.wanted.joins.push(Joined { arc, interface, node, on });
    }

    /// The name of what was said, where [`Program::name`] does not know it.
    pub fn named(&mut self, name: Removed) {
        self.wanted.names.push(name);
    }

    /// What is to be done.
    #[must_use]
    pub fn wanted(self) -> Wanted {
        self.wanted
    }
}

/// A packet feature: a part of the plane with programs, tables and nodes of its own.
pub trait Feature: Any + Send {
    /// With nothing said.
    fn new(start: &Start<'_>) -> Self
    where
        Self: Sized;

    /// Its name, under which [`Program::Item`] reaches it.
    fn name(&self) -> &'static str;

    /// Does as a program says, if it is one of the feature's own; whether it was.
    ///
    /// # Errors
    /// Why not; then nothing was changed, but that a thing of that name may be gone.
    fn apply(&mut self, program: &Program, change: &mut Change<'_>) -> Result<bool, Refused>;

    /// Takes away what was said under this name, if it is one of the feature's own; whether it
    /// was.
    ///
    /// # Errors
    /// Why not; then nothing was changed.
    fn remove(&mut self, removed: &Removed, change: &mut Change<'_>) -> Result<bool, Refused>;

    /// The names of everything that was said, in an order in which it can be removed.
    fn said(&self) -> Vec<Removed>;

    /// A control begins to say everything again ([`Program::Begin`]): it may be another one, which
    /// was told nothing.
    fn begun(&mut self) {}

    /// An interface is there, is another one, or is gone (`after: None`): what was said of it is
    /// forgotten then. A number out of range does not come here.
    ///
    /// # Errors
    /// Why that cannot be.
    fn interface(
        &mut self,
        before: Option<&Interface>,
        after: Option<&Interface>,
        change: &mut Change<'_>,
    ) -> Result<(), Refused> {
        let _ = (before, after, change);
        Ok(())
    }

    /// So many workers there will be: what is counted by worker gets room.
    fn workers(&mut self, workers: usize, now: Time) {
        let _ = (workers, now);
    }

    /// Makes what was said true for the packets from now on.
    fn publish(&mut self, interfaces: &BTreeMap<u32, Interface>) {
        let _ = interfaces;
    }

    /// Hears what its nodes noticed and does what is due, every few milliseconds.
    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        let _ = (now, out);
    }

    /// Neighbours that are watched, with the guards of hops to them, or are watched no more (guard
    /// 0), and whether they are lost; since it was asked last.
    fn watched(&mut self) -> Vec<Watched> {
        Vec::new()
    }

    /// Whether an own address is one that goes to another system of the network, which stands for
    /// this one: it is announced repeatedly, and given up when another one announces it while
    /// nobody controls this one.
    fn gives_way(&self, vrf: u32, address: IpAddr) -> bool {
        let _ = (vrf, address);
        false
    }

    /// What is shown with announcements of such addresses.
    fn token(&self) -> Option<Token> {
        None
    }

    /// What the system shows that takes this one's place.
    fn heir(&self) -> Option<Token> {
        None
    }

    /// Another system has taken such an address.
    fn gave_way(&mut self, now: Time) {
        let _ = now;
    }

    /// Gives the nodes of all features a table of its own, in place of an empty one.
    fn share(&self, shared: &mut Shared) {
        let _ = shared;
    }

    /// Adds its nodes of one worker. All workers have the same nodes in the same order.
    fn nodes(&mut self, worker: &Worker<'_>, plan: Plan) -> Plan {
        let _ = worker;
        plan
    }

    /// Classes of packets that its nodes hand up ([`crate::program::hand_up`]) and take down.
    fn classes(&self) -> Vec<PacketClass> {
        Vec::new()
    }

    /// Where its nodes meet the arcs.
    fn joins(&self) -> Vec<Join> {
        Vec::new()
    }
}
