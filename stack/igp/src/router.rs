//! The router as its function has it: what comes by the door, what time does, what changed.

use crate::config::{KeyChains, Ospf, Source};
use crate::fragments::Fragments;
use crate::ip4::Packet;
use crate::watch::Watch;
use dataplane::{DoorEvent, PacketDoor};
use machine::{Duration, Machine as _, Time};
use ospf::{In, Instance, NeighbourState, Out, Prefix, Redistributed, Route};
use runtime::{ChannelEvent, Effects, PacketRecord, PortId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Runs of SPF that are remembered.
const RUNS_MAX: usize = 64;
/// Neighbours lost that are remembered; the oldest goes.
const LOST_MAX: usize = 1_024;
/// Something that stands in our name counts for so long.
pub(crate) const DUPLICATE: Duration = Duration::from_secs(60);
/// LSAs in our name within that time that are no remains of ours.
pub(crate) const DUPLICATE_LSAS: u64 = 8;

/// An interface of the function's global table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Its number in the plane.
    pub index: u32,
    /// Its first IPv4 address, and the length of that one's prefix.
    pub address: Option<(Ipv4Addr, u8)>,
    /// Octets of the longest packet.
    pub mtu: u16,
    /// Whether packets come and go by it.
    pub is_up: bool,
}

/// A route of the function that others may be told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct External {
    /// Where to.
    pub prefix: Prefix,
    /// Of which kind it is.
    pub from: Source,
    /// It holds while one of these interfaces is up; none: always.
    pub by: Vec<u32>,
}

/// What surrounds the router in its function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// All interfaces of the global table.
    pub links: Vec<Link>,
    /// Routes that others may be told of.
    pub externals: Vec<External>,
}

/// What a router is made with.
pub struct Start {
    /// The time.
    pub now: Time,
    /// Unpredictable octets.
    pub random: [u8; 32],
    /// The function's name.
    pub function: String,
    /// The forwarder went on by what a control before this one said: neighbours are asked for
    /// patience.
    pub is_restart: bool,
}

/// A neighbour that was adjacent.
#[derive(Debug, Clone)]
pub(crate) struct Lost {
    pub(crate) at: Time,
    pub(crate) router: u32,
    pub(crate) why: &'static str,
}

/// A run of SPF.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) at: Time,
    pub(crate) routes_changed: usize,
}

/// What has happened since the router was made.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) received: u64,
    pub(crate) unread: u64,
    pub(crate) sent: u64,
    pub(crate) lost: u64,
}

/// Signs that somebody else has our number: when it was noticed, and how often since it began.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Duplicate {
    pub(crate) heard: Option<Time>,
    pub(crate) fought: Fought,
    seen: (u64, u64),
}

/// LSAs fought back within a window of time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fought {
    pub(crate) since: Time,
    pub(crate) count: u64,
}

/// OSPF of one function.
pub struct Router {
    pub(crate) function: String,
    pub(crate) section: Arc<Ospf>,
    pub(crate) keys: KeyChains,
    pub(crate) instance: Instance,
    pub(crate) links: BTreeMap<u32, Link>,
    pub(crate) externals: Vec<External>,
    pub(crate) told: BTreeMap<Prefix, Redistributed>,
    pub(crate) door: PacketDoor,
    /// The door has been open.
    pub(crate) has_door: bool,
    pub(crate) watch: Watch,
    changed: BTreeSet<Prefix>,
    pub(crate) lost: BTreeMap<(u32, Ipv4Addr), Lost>,
    pub(crate) since: BTreeMap<(u32, Ipv4Addr), (Time, NeighbourState)>,
    pub(crate) runs: VecDeque<Run>,
    pub(crate) tally: Tally,
    pub(crate) duplicate: Duplicate,
    /// Numbers fragments.
    pub(crate) packet: u16,
    fragments: Fragments,
}

impl Router {
    /// A router that speaks by a door from its first [`Router::configure`] on.
    #[must_use]
    pub fn new(start: Start, section: Arc<Ospf>, door: PacketDoor) -> Self {
        let restart = Duration::from_secs(section.restart_s.into());
        let restart = Some(restart).filter(|it| start.is_restart && !it.is_zero());
        let settings = ospf::Settings { restart, ..section.settings() };
        if restart.is_some() {
            let function = &*start.function;
            let seconds = section.restart_s;
            tracing::info!(target: "igp", function, seconds, "neighbours are asked for patience");
        }
        Self {
            function: start.function,
            section,
            keys: KeyChains::new(),
            instance: Instance::new(settings, start.now),
            links: BTreeMap::new(),
            externals: Vec::new(),
            told: BTreeMap::new(),
            door,
            has_door: false,
            watch: Watch::new(start.random),
            changed: BTreeSet::new(),
            lost: BTreeMap::new(),
            since: BTreeMap::new(),
            runs: VecDeque::new(),
            tally: Tally::default(),
            duplicate: Duplicate::default(),
            packet: 0,
            fragments: Fragments::default(),
        }
    }

    /// Takes what happened on a channel; that of another number is passed over.
    pub fn step(&mut self, now: Time, port: PortId, event: ChannelEvent<'_>, out: &mut Effects) {
        match self.door.step(now, port, event) {
            Some(DoorEvent::Packet(record, packet)) => self.arrive(now, record, packet, out),
            Some(DoorEvent::Closed(why)) => {
                let function = &*self.function;
                tracing::debug!(target: "igp", function, why, "the door of packets is closed");
            }
            // What is said before nobody hears: of a restart, that would end adjacencies.
            Some(DoorEvent::Opened) => {
                self.has_door = true;
                self.raise(now, out);
            }
            None => {}
        }
    }

    /// A packet came up.
    fn arrive(&mut self, now: Time, record: PacketRecord, octets: &[u8], out: &mut Effects) {
        let joined = match Fragments::is_one(octets) {
            true => match self.fragments.take(record.interface, octets) {
                Some(joined) => Some(joined),
                None => return,
            },
            false => None,
        };
        let octets = joined.as_deref().unwrap_or(octets);
        self.tally.received += 1;
        let Some(packet) = Packet::read(octets) else {
            self.tally.unread += 1;
            return;
        };
        let interface = record.interface;
        if packet.protocol == ospf::PROTOCOL {
            let Packet { source, destination, .. } = packet;
            let octets = packet.payload.to_vec();
            self.input(now, In::Packet { interface, source, destination, octets }, out);
        } else {
            let lost = self.watch.receive(now, interface, &packet);
            self.watched(now, lost, out);
        }
    }

    /// Lets time pass: timers of the door, of BFD and of OSPF.
    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        self.door.tick(now, out);
        let lost = self.watch.tick(now);
        self.watched(now, lost, out);
        let (runs, changed) = (self.instance.counts().runs, self.changed.len());
        let mut wanted = Vec::new();
        self.instance.tick(now, &mut wanted);
        self.follow(now, wanted, out);
        if self.instance.counts().runs != runs {
            if self.runs.len() == RUNS_MAX {
                self.runs.pop_front();
            }
            let routes_changed = self.changed.len() - changed;
            self.runs.push_back(Run { at: now, routes_changed });
        }
    }

    /// When [`Router::tick`] wants to be called next.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let all = [self.door.deadline(), self.instance.deadline(), self.watch.deadline()];
        all.into_iter().flatten().min()
    }

    /// Gives the machine one input.
    pub(crate) fn input(&mut self, now: Time, input: In, out: &mut Effects) {
        let mut wanted = Vec::new();
        self.instance.step(now, input, &mut wanted);
        self.follow(now, wanted, out);
    }

    /// Does what the machine wants.
    pub(crate) fn follow(&mut self, now: Time, wanted: Vec<Out>, out: &mut Effects) {
        for one in wanted {
            match one {
                Out::Send { interface, destination, octets } => {
                    self.send(interface, destination, &octets, out);
                }
                Out::Route(prefix, _) | Out::Withdraw(prefix) => drop(self.changed.insert(prefix)),
                Out::Neighbour { interface, address, router, state } => {
                    self.neighbour(now, (interface, address), router, state, out);
                }
                Out::Interface { interface, state } => {
                    let (function, interface) = (&*self.function, self.name_of(interface));
                    let state = state.name();
                    tracing::info!(target: "igp", function, interface, state, "interface");
                }
            }
        }
        self.look_for_duplicates(now);
    }

    fn neighbour(
        &mut self,
        now: Time,
        id: (u32, Ipv4Addr),
        router: u32,
        state: NeighbourState,
        out: &mut Effects,
    ) {
        let before = self.since.insert(id, (now, state)).map(|(_, state)| state);
        let was_adjacent = before == Some(NeighbourState::Full);
        if state == NeighbourState::Full {
            self.lost.remove(&id);
            let (function, interface) = (&*self.function, self.name_of(id.0));
            let (address, router_id) = (id.1, Ipv4Addr::from(router));
            tracing::info!(target: "igp", function, interface, %address, %router_id, "adjacent");
        } else if was_adjacent {
            self.adjacency_lost(now, id, router);
        }
        if state == NeighbourState::Down {
            self.since.remove(&id);
        }
        let wanted = self.bfd_of(id.0).filter(|_| state >= NeighbourState::TwoWay);
        let local = self.links.get(&id.0).and_then(|it| it.address);
        self.watch.want(now, id, local.map(|it| it.0), wanted);
        self.send_bfd(out);
    }

    fn adjacency_lost(&mut self, now: Time, id: (u32, Ipv4Addr), router: u32) {
        let why = match self.watch.why(id) {
            Some(why) => why,
            None if !self.instance.is_up(id.0) => "its interface is down",
            None => "it is not heard, or hears us no more",
        };
        let (function, interface) = (&*self.function, self.name_of(id.0));
        let (address, router_id) = (id.1, Ipv4Addr::from(router));
        tracing::warn!(
            target: "igp", function, interface, %address, %router_id, why, "adjacency lost"
        );
        self.tally.lost += 1;
        self.remember_lost(id, Lost { at: now, router, why });
    }

    fn remember_lost(&mut self, id: (u32, Ipv4Addr), lost: Lost) {
        if self.lost.len() >= LOST_MAX && !self.lost.contains_key(&id) {
            let oldest = self.lost.iter().min_by_key(|(_, it)| it.at).map(|(id, _)| *id);
            oldest.and_then(|id| self.lost.remove(&id));
        }
        self.lost.insert(id, lost);
    }

    /// Sends what BFD says, and ends the adjacencies of those that it lost.
    pub(crate) fn watched(&mut self, now: Time, lost: Vec<(u32, Ipv4Addr)>, out: &mut Effects) {
        self.send_bfd(out);
        for (interface, address) in lost {
            self.input(now, In::NeighbourDown(interface, address), out);
        }
        self.watch.done();
    }

    fn look_for_duplicates(&mut self, now: Time) {
        let own = self.instance.discarded(ospf::Discard::OwnRouterId);
        let fought = self.instance.counts().fought_back;
        let it = &mut self.duplicate;
        if own > it.seen.0 {
            it.heard = Some(now);
        }
        if fought > it.seen.1 {
            if now.since(it.fought.since) >= DUPLICATE {
                it.fought = Fought { since: now, count: 0 };
            }
            it.fought.count += fought - it.seen.1;
        }
        it.seen = (own, fought);
    }

    /// The site ends in order: neighbours are asked to bear a control that comes back beside a
    /// forwarder that goes on (`keeps`).
    pub fn drain(&mut self, now: Time, keeps: bool, out: &mut Effects) {
        let period = Duration::from_secs(self.section.restart_s.into());
        if keeps && !period.is_zero() {
            self.input(now, In::RestartAhead(period), out);
        }
    }

    /// Prefixes whose route is another one, or gone, since this was called last.
    pub fn take_changed(&mut self) -> BTreeSet<Prefix> {
        std::mem::take(&mut self.changed)
    }

    /// Whether there is something for [`Router::take_changed`].
    #[must_use]
    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// The route to a prefix, where it leads to other routers.
    #[must_use]
    pub fn route(&self, prefix: Prefix) -> Option<&Route> {
        self.instance.route(prefix).filter(|it| leads_on(it))
    }

    /// All routes that lead to other routers.
    pub fn routes(&self) -> impl Iterator<Item = (Prefix, &Route)> {
        self.instance.routes().filter(|(_, it)| leads_on(it)).map(|(prefix, it)| (*prefix, it))
    }

    /// Whether routes of a control before this one are still to stand.
    #[must_use]
    pub const fn is_restarting(&self) -> bool {
        self.instance.is_restarting()
    }

    /// Whether nothing is to be waited for: no restart, and no run of SPF.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        !self.instance.is_restarting() && self.instance.spf_due().is_none()
    }

    /// The section.
    #[must_use]
    pub fn section(&self) -> &Ospf {
        &self.section
    }

    /// Ends it: the door is closed.
    pub fn end(&self, out: &mut Effects) {
        self.door.close(out);
    }

    /// The name of an interface.
    pub(crate) fn name_of(&self, interface: u32) -> &str {
        self.links.get(&interface).map_or("an interface that is gone", |it| &it.name)
    }

    /// Everything is withdrawn: what the function had of it is looked at anew.
    pub(crate) fn forget_routes(&mut self) {
        let all: Vec<Prefix> = self.instance.routes().map(|(prefix, _)| *prefix).collect();
        self.changed.extend(all);
    }
}

/// Whether a route leads to other routers: what is on a link, the plane knows itself.
fn leads_on(route: &Route) -> bool {
    !route.hops.is_empty() && route.hops.iter().all(|hop| hop.gateway.is_some())
}
