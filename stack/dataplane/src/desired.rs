//! All that the plane shall be told, under the names by which it is taken away again; and the
//! difference between two such states.

use forwarder::ipc::PortSpec;
use nodes::Program;
use nodes::program::{Interface, Mode, NO_PORT, Removed};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Routes in one program.
const ROUTES_MAX: usize = 8_192;

/// What the plane shall be told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Desired {
    /// Ports as they are opened.
    pub ports: BTreeMap<u16, PortSpec>,
    /// Everything but routes, by order of need and name.
    pub things: BTreeMap<(Rank, Removed), Program>,
    /// Routing table, prefix and length → hop.
    pub routes4: BTreeMap<(u32, Ipv4Addr, u8), u32>,
    /// As `routes4`.
    pub routes6: BTreeMap<(u32, Ipv6Addr, u8), u32>,
}

/// What a thing needs comes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Routing tables, bridge domains, policers: they need nothing.
    Table,
    /// Interfaces.
    Interface,
    /// What stands on an interface.
    Address,
    /// Hops to a neighbour.
    Hop,
    /// Hops over those, behind labels.
    Pushed,
    /// Groups of hops.
    Composed,
    /// Hops with a backup.
    Paired,
    /// Flows shared among routes of VPNs.
    Shared,
    /// Routes of VPNs with a backup.
    Standby,
    /// Pseudowires of bridge domains.
    Member,
    /// Filters, labels, queues and the like.
    Tool,
    /// What uses those.
    Use,
}

/// A route's table (0: the global one), and its prefix with the length.
pub type RouteKey = (u32, IpAddr, u8);

impl Desired {
    /// Whether a table has a route of that prefix and length.
    #[must_use]
    pub fn has_route(&self, key: RouteKey) -> bool {
        let (vrf, to, length) = key;
        match to {
            IpAddr::V4(to) => self.routes4.contains_key(&(vrf, to, length)),
            IpAddr::V6(to) => self.routes6.contains_key(&(vrf, to, length)),
        }
    }

    /// Sets a route of a table.
    pub fn route(&mut self, key: RouteKey, hop: u32) {
        let (vrf, to, length) = key;
        match to {
            IpAddr::V4(to) => self.routes4.insert((vrf, to, length), hop),
            IpAddr::V6(to) => self.routes6.insert((vrf, to, length), hop),
        };
    }

    /// Adds a thing under its name.
    pub fn put(&mut self, rank: Rank, name: Removed, program: Program) {
        self.things.insert((rank, name), program);
    }

    /// Everything, in the order in which it can be said.
    pub fn whole(&self) -> Vec<Program> {
        Self::default().changes(self)
    }

    /// What must be said for `next` to hold where this held. What is new is said before what is
    /// gone is taken away, so that packets always have a way; only a name that stands in the way
    /// of another (a VLAN that moves) goes first.
    pub fn changes(&self, next: &Self) -> Vec<Program> {
        // A cross-connected interface is said twice and taken away once.
        let twice = |(rank, name): &(Rank, Removed)| {
            *rank == Rank::Use && matches!(name, Removed::Interface(_))
        };
        let gone = |name: &&(Rank, Removed)| !next.things.contains_key(name) && !twice(name);
        let gone: Vec<&(Rank, Removed)> = self.things.keys().filter(gone).collect();
        let (first, last): (Vec<_>, Vec<_>) =
            gone.into_iter().rev().partition(|name| self.is_in_the_way(name, next));
        let remove = |name: &(Rank, Removed)| Program::Remove(name.1.clone());
        let mut programs: Vec<Program> = first.into_iter().map(remove).collect();
        for (name, program) in &next.things {
            if self.things.get(name) != Some(program) {
                programs.push(program.clone());
            }
        }
        let routes = difference(&self.routes4, &next.routes4);
        programs.extend(bulk(routes, |vrf, routes| Program::Routes4 { vrf, routes }));
        let routes = difference(&self.routes6, &next.routes6);
        programs.extend(bulk(routes, |vrf, routes| Program::Routes6 { vrf, routes }));
        programs.extend(last.into_iter().map(remove));
        programs
    }

    /// Whether something new is to stand in the place of `name`, which goes.
    fn is_in_the_way(&self, name: &(Rank, Removed), next: &Self) -> bool {
        let interfaces = || {
            next.things.range((Rank::Interface, Removed::Interface(0))..).map_while(|(name, it)| {
                match it {
                    Program::Interface(interface) if name.0 == Rank::Interface => Some(interface),
                    _ => None,
                }
            })
        };
        match self.things.get(name) {
            Some(Program::Interface(old)) => interfaces().any(|new| takes_place(new, old)),
            Some(Program::Address(old)) => next
                .things
                .values()
                .any(|new| matches!(new, Program::Address(new) if new.address == old.address)),
            _ => false,
        }
    }
}

/// Whether one interface cannot stand beside another: the same VLAN of a port, or the routed side
/// of the same bridge.
fn takes_place(new: &Interface, old: &Interface) -> bool {
    match (&new.mode, &old.mode) {
        (Mode::BridgeRouted { bridge: new, .. }, Mode::BridgeRouted { bridge: old, .. }) => {
            new == old
        }
        _ if new.port == NO_PORT => false,
        _ => (new.port, new.outer, new.inner) == (old.port, old.outer, old.inner),
    }
}

type Routes<A> = BTreeMap<(u32, A, u8), u32>;

/// Routes to be set, and those to be taken away (hop 0).
fn difference<A: Ord + Copy>(old: &Routes<A>, new: &Routes<A>) -> Vec<((u32, A, u8), u32)> {
    let set = new.iter().filter(|(key, hop)| old.get(key) != Some(hop));
    let gone = old.keys().filter(|key| !new.contains_key(key)).map(|key| (*key, 0));
    set.map(|(key, hop)| (*key, *hop)).chain(gone).collect()
}

/// Programs of many routes.
pub(crate) fn bulk<A: Copy>(
    routes: Vec<((u32, A, u8), u32)>,
    program: impl Fn(u32, Vec<(A, u8, u32)>) -> Program,
) -> Vec<Program> {
    let mut programs = Vec::new();
    for run in routes.chunk_by(|one, other| one.0.0 == other.0.0) {
        for part in run.chunks(ROUTES_MAX) {
            let routes = part.iter().map(|((_, to, length), hop)| (*to, *length, *hop)).collect();
            programs.push(program(part[0].0.0, routes));
        }
    }
    programs
}
