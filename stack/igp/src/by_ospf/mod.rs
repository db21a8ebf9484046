//! OSPF of a router: what comes by the packet channel, what time does, what changed.

pub(crate) mod ask;
mod doubt;
mod reconcile;
pub(crate) use reconcile::{narrow, wide};
mod sending;
pub(crate) mod topology;

use crate::around::{External, Link};
use crate::config::{KeyChains, Ospf};
use crate::doubts::Doubts;
use crate::history::{Change, History, Lost};
use crate::ip4::Packet;
use crate::route::{Event, Way};
use crate::wishes::Wishes;
use machine::{Duration, Machine as _, Time};
use ospf::{EdgeChange, In, Instance, NeighbourState, Out, Prefix, Redistributed, Route, Vertex};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// A neighbour: its interface and its address.
pub(crate) type Id = (u32, Ipv4Addr);

/// OSPF of one function.
pub(crate) struct OspfRouter {
    function: String,
    pub(crate) section: Arc<Ospf>,
    keys: KeyChains,
    pub(crate) instance: Instance,
    pub(crate) links: BTreeMap<u32, Link>,
    externals: Vec<External>,
    told: BTreeMap<Prefix, Redistributed>,
    /// Packets come and go.
    is_open: bool,
    changed: BTreeSet<Prefix>,
    pub(crate) history: History<Id, NeighbourState>,
    /// The neighbour that is being given up since BFD lost it.
    blamed: Option<Id>,
    doubts: Doubts,
    /// Numbers fragments.
    packet: u16,
    pub(crate) wishes: Wishes,
}

impl OspfRouter {
    /// It speaks from its first [`OspfRouter::configure`] on.
    pub(crate) fn new(now: Time, function: &str, section: Arc<Ospf>, is_restart: bool) -> Self {
        let restart = Duration::from_secs(section.restart_s.into());
        let restart = Some(restart).filter(|it| is_restart && !it.is_zero());
        let settings = ospf::Settings { restart, ..section.settings() };
        if restart.is_some() {
            let seconds = section.restart_s;
            tracing::info!(target: "igp", function, seconds, "neighbours are asked for patience");
        }
        Self {
            function: function.to_owned(),
            section,
            keys: KeyChains::new(),
            instance: Instance::new(settings, now),
            links: BTreeMap::new(),
            externals: Vec::new(),
            told: BTreeMap::new(),
            is_open: false,
            changed: BTreeSet::new(),
            history: History::new(),
            blamed: None,
            doubts: Doubts::default(),
            packet: 0,
            wishes: Wishes::default(),
        }
    }

    /// Packets come and go from now on: what is said before nobody hears, and of a restart, that
    /// would end adjacencies.
    pub(crate) fn open(&mut self, now: Time) {
        self.is_open = true;
        self.raise(now);
    }

    /// A packet came.
    pub(crate) fn arrive(&mut self, now: Time, interface: u32, packet: &Packet<'_>) {
        let Packet { source, destination, .. } = *packet;
        let octets = packet.payload.to_vec();
        self.input(now, In::Packet { interface, source, destination, octets });
        self.say_doubt(now, interface);
    }

    /// BFD has lost a neighbour, if it is one of these.
    pub(crate) fn lost(&mut self, now: Time, id: Id) {
        self.blamed = Some(id);
        self.input(now, In::NeighbourDown(id.0, id.1));
        self.blamed = None;
    }

    /// Lets time pass.
    pub(crate) fn tick(&mut self, now: Time) {
        let (runs, changed) = (self.instance.counts().runs, self.changed.len());
        let mut wanted = Vec::new();
        self.instance.tick(now, &mut wanted);
        self.follow(now, wanted);
        let run = self.instance.counts().runs;
        if run != runs {
            self.history.ran(now, self.changed.len() - changed);
            self.note_changes(now, run);
        }
    }

    /// What a run of SPF saw change of the links.
    fn note_changes(&mut self, now: Time, run: u64) {
        let own = Vertex::Router(self.section.router_id.into());
        let changes = self.instance.take_edge_changes();
        // A link of our own that ends is what repairs are for.
        let is_own_end = |it: &EdgeChange| it.after.is_none() && (it.from == own || it.to == own);
        let is_disturbed = changes.iter().any(|(_, it)| !is_own_end(it));
        self.wishes.events.push(Event::Ran { is_disturbed });
        let said = changes.into_iter().map(|(area, it)| Change {
            area: Ipv4Addr::from(area).to_string(),
            from: topology::id_of(it.from),
            to: topology::id_of(it.to),
            before: it.before,
            after: it.after,
        });
        self.history.changed(now, run, said.collect());
    }

    /// Gives the machine one input.
    fn input(&mut self, now: Time, input: In) {
        let mut wanted = Vec::new();
        self.instance.step(now, input, &mut wanted);
        self.follow(now, wanted);
    }

    /// Does what the machine wants.
    fn follow(&mut self, now: Time, wanted: Vec<Out>) {
        for one in wanted {
            match one {
                Out::Send { interface, destination, octets } => {
                    self.send(interface, destination, &octets);
                }
                Out::Route(prefix, _) | Out::Withdraw(prefix) => drop(self.changed.insert(prefix)),
                Out::Neighbour { interface, address, router, state } => {
                    self.neighbour(now, (interface, address), router, state);
                }
                Out::Interface { interface, state } => {
                    let (function, interface) = (&*self.function, self.name_of(interface));
                    let state = state.name();
                    tracing::info!(target: "igp", function, interface, state, "interface");
                }
            }
        }
        let near = self.instance.discarded(ospf::Discard::OwnRouterId);
        self.history.look_for_doubles(now, near, self.instance.counts().fought_back);
    }

    fn neighbour(&mut self, now: Time, id: Id, router: u32, state: NeighbourState) {
        let before = self.history.note(now, id, state);
        let was_adjacent = before == Some(NeighbourState::Full);
        let way = Way { interface: id.0, gateway: id.1.into() };
        let was_there = before.is_some_and(|it| it >= NeighbourState::TwoWay);
        match (was_there, state >= NeighbourState::TwoWay) {
            (true, false) => self.wishes.events.push(Event::Lost(way)),
            (false, true) => self.wishes.events.push(Event::Back(way)),
            (true, true) | (false, false) => {}
        }
        if state == NeighbourState::Full {
            self.history.lost.remove(&id);
            self.doubts.adjacent(id.0, &doubt::ODD);
            if let Some(omitted) = self.history.has_line(now, id.0) {
                let (function, interface) = (&*self.function, self.name_of(id.0));
                let (address, router_id) = (id.1, Ipv4Addr::from(router));
                tracing::info!(
                    target: "igp", function, interface, %address, %router_id, omitted, "adjacent"
                );
            }
        } else if was_adjacent {
            self.adjacency_lost(now, id, router);
        }
        if state == NeighbourState::Down {
            self.history.since.remove(&id);
        }
        self.watch(id, state);
    }

    fn adjacency_lost(&mut self, now: Time, id: Id, router: u32) {
        let blamed = (self.blamed == Some(id)).then_some("its BFD session went down");
        let why = match blamed.or_else(|| self.doubts.anew.get(&id.0).copied()) {
            Some(why) => why.to_owned(),
            None if !self.instance.is_up(id.0) => "its interface is down".to_owned(),
            None => self.doubted_of(now, id).map_or_else(
                || "it is not heard, or hears us no more".to_owned(),
                |why| why.to_string(),
            ),
        };
        let (address, router_id) = (id.1, Ipv4Addr::from(router));
        if let Some(omitted) = self.history.has_line(now, id.0) {
            let (function, interface) = (&*self.function, self.name_of(id.0));
            tracing::warn!(
                target: "igp", function, interface, %address, %router_id, why, omitted,
                "adjacency lost"
            );
        }
        self.history.lose(id, Lost { at: now, who: router_id.to_string(), why });
    }

    /// The site ends in order: neighbours are asked to bear a control that comes back.
    pub(crate) fn drain(&mut self, now: Time) {
        let period = Duration::from_secs(self.section.restart_s.into());
        if !period.is_zero() {
            self.input(now, In::RestartAhead(period));
        }
    }

    /// Prefixes whose route is another one, or gone, since this was called last.
    pub(crate) fn take_changed(&mut self) -> BTreeSet<Prefix> {
        std::mem::take(&mut self.changed)
    }

    pub(crate) fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// The route to a prefix, where it leads to other routers.
    pub(crate) fn route(&self, prefix: Prefix) -> Option<&Route> {
        self.instance.route(prefix).filter(|it| leads_on(it))
    }

    /// All routes that lead to other routers.
    pub(crate) fn routes(&self) -> impl Iterator<Item = (Prefix, &Route)> {
        self.instance.routes().filter(|(_, it)| leads_on(it)).map(|(prefix, it)| (*prefix, it))
    }

    /// Whether nothing is to be waited for: no restart, and no run of SPF.
    pub(crate) const fn is_settled(&self) -> bool {
        !self.instance.is_restarting() && self.instance.spf_due().is_none()
    }

    /// Whether a prefix is the subnet of an interface that is up.
    pub(crate) fn is_connected(&self, prefix: isis::Prefix) -> bool {
        self.links.values().any(|it| it.connects(prefix))
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
