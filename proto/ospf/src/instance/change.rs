//! What an operator changes while an instance runs: its own settings, areas, interfaces. What can
//! change under an adjacency does; what its neighbours were told otherwise ends it.

use super::{DbId, Instance, Out};
use crate::area::Area;
use crate::interface::InterfaceState;
use crate::lsdb::Lsdb;
use crate::settings::{AreaKind, InterfaceSettings, Settings};
use crate::topology::{Edge, EdgeChange, Vertex};
use machine::{Duration, Time};
use spf::{Between, Detour, EdgeId, Method};
use std::net::Ipv4Addr;

/// A neighbour for people to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbouring {
    /// Its address.
    pub address: Ipv4Addr,
    /// Its number.
    pub router: u32,
    /// Its state.
    pub state: crate::NeighbourState,
    /// Its priority as designated router.
    pub priority: u8,
    /// Time until it counts as dead; none while it is borne through its restart.
    pub dead_in: Option<Duration>,
    /// LSAs that it has not acknowledged.
    pub unacknowledged: usize,
    /// LSAs that are asked of it, or still to be.
    pub requested: usize,
    /// It restarts, and is borne for so long (RFC 3623).
    pub grace: Option<Duration>,
}

/// The ways between two vertices of an area, as edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ways {
    /// What the shortest ones cost.
    pub cost: u32,
    /// One of them, in order.
    pub path: Vec<Edge>,
    /// All of them.
    pub all: Vec<Edge>,
    /// Where packets go while the first hop of the only one does not work, if they arrive.
    pub detour: Option<Vec<Edge>>,
    /// The end of the tunnel with which that begins.
    pub tunnel: Option<Vertex>,
}

impl InterfaceSettings {
    /// Whether an adjacency outlives that change: only what neighbours are not told of differs.
    #[must_use]
    pub fn outlives(&self, new: &Self) -> bool {
        let told = |it: &Self| {
            (
                (it.area, it.address, it.length, it.link),
                (it.hello_s, it.dead_s, it.mtu, it.is_passive),
            )
        };
        told(self) == told(new)
    }
}

impl Instance {
    /// Other settings of an instance that runs. Its number stays, and so does a restart.
    pub fn change(&mut self, now: Time, new: Settings, out: &mut Vec<Out>) {
        let (router, restart) = (self.settings.router, self.settings.restart);
        if self.settings == (Settings { router, restart, ..new }) {
            return;
        }
        self.settings = Settings { router, restart, ..new };
        self.backoff.set_delays(new.delays);
        self.backoff.change(now);
        self.own.is_stale = true;
        self.settle(now, out);
    }

    /// Makes an area one of that kind; whether it was another: then its interfaces are down and its
    /// database is empty. The backbone is always normal.
    pub fn change_area(&mut self, now: Time, id: u32, kind: AreaKind, out: &mut Vec<Out>) -> bool {
        let kind = if id == 0 { AreaKind::Normal } else { kind };
        match self.areas.get(&id).map(|it| it.kind) {
            Some(before) if before == kind => return false,
            Some(_) => self.remove_area(now, id, out),
            None => {}
        }
        self.add_area(id, kind);
        true
    }

    /// Takes an area away; its interfaces stay, and are down.
    pub fn remove_area(&mut self, now: Time, id: u32, out: &mut Vec<Out>) {
        let own = self.interfaces.values().filter(|it| it.settings.area == id);
        let own: Vec<u32> = own.map(|it| it.settings.index).collect();
        own.into_iter().for_each(|index| self.interface_down(index, out));
        self.areas.remove(&id);
        self.dying.forget(DbId::Area(id));
        for waiting in self.outgoing.values_mut() {
            waiting.retain(|(db, _)| *db != DbId::Area(id));
        }
        self.backoff.change(now);
        self.settle(now, out);
    }

    /// Gives an interface other settings; whether it is down now: neighbours must meet it anew. One
    /// that is not there is added.
    pub fn change_interface(
        &mut self,
        now: Time,
        new: InterfaceSettings,
        out: &mut Vec<Out>,
    ) -> bool {
        let index = new.index;
        let Some(interface) = self.interfaces.get_mut(&index) else {
            return self.add_interface(new);
        };
        if interface.settings.outlives(&new) {
            interface.is_undecided |=
                interface.is_broadcast() && interface.settings.priority != new.priority;
            interface.settings = new;
            self.own.is_stale = true;
            self.settle(now, out);
            return false;
        }
        self.interface_down(index, out);
        self.add_area(new.area, AreaKind::Normal);
        if let Some(interface) = self.interfaces.get_mut(&index) {
            interface.settings = new;
        }
        self.settle(now, out);
        true
    }

    /// Takes an interface away.
    pub fn remove_interface(&mut self, now: Time, index: u32, out: &mut Vec<Out>) {
        self.interface_down(index, out);
        self.interfaces.remove(&index);
        self.links.remove(&index);
        self.outgoing.remove(&index);
        self.dying.forget(DbId::Link(index));
        self.backoff.change(now);
        self.settle(now, out);
    }

    /// The vertices of an area, as SPF last saw them.
    pub fn vertices(&self, area: u32) -> impl Iterator<Item = Vertex> + '_ {
        self.areas.get(&area).into_iter().flat_map(|it| it.topology.vertices())
    }

    /// What the way to a vertex costs, if there is one.
    #[must_use]
    pub fn cost(&self, area: u32, vertex: Vertex) -> Option<u32> {
        self.areas.get(&area)?.topology.distance(vertex)
    }

    /// Its links, each direction by itself: those that both ends describe.
    pub fn edges(&self, area: u32) -> impl Iterator<Item = Edge> + '_ {
        self.areas.get(&area).into_iter().flat_map(|it| it.topology.edges())
    }

    /// What of the links SPF saw change since this was called last, by area.
    pub fn take_edge_changes(&mut self) -> Vec<(u32, EdgeChange)> {
        let of = |(id, area): (&u32, &mut Area)| {
            let id = *id;
            area.topology.take_changes().into_iter().map(move |it| (id, it))
        };
        self.areas.iter_mut().flat_map(of).collect()
    }

    /// The shortest paths between two vertices of an area, and the detour that a method finds.
    #[must_use]
    pub fn between(&self, area: u32, ends: [Vertex; 2], method: Method) -> Option<Ways> {
        let topology = &self.areas.get(&area)?.topology;
        let [from, to] = [topology.node_of(ends[0])?, topology.node_of(ends[1])?];
        let graph = topology.paths().0;
        let edge = |id: &EdgeId| {
            let [from, to] = graph.ends(*id)?;
            let (from, to) = (topology.vertex_of(from)?, topology.vertex_of(to)?);
            Some(Edge { from, to, cost: graph.cost(*id)?, data: topology.data_of(*id) })
        };
        let found = Between::new(graph, from, to)?;
        let detour = Detour::new(graph, from, to, method);
        let tunnel = detour.as_ref().and_then(|it| topology.vertex_of(it.tunnel?));
        Some(Ways {
            cost: found.cost,
            path: found.path.iter().filter_map(edge).collect(),
            all: found.all.iter().filter_map(edge).collect(),
            detour: detour.map(|it| it.path.iter().filter_map(edge).collect()),
            tunnel,
        })
    }

    /// LSAs of all databases.
    #[must_use]
    pub fn lsas(&self) -> usize {
        let areas = self.areas.values().map(|it| it.lsdb.len());
        areas.chain(self.links.values().map(Lsdb::len)).sum::<usize>() + self.domain.len()
    }

    /// The numbers of the interfaces.
    pub fn interfaces(&self) -> impl Iterator<Item = u32> {
        self.interfaces.keys().copied()
    }

    /// What an interface was told.
    #[must_use]
    pub fn settings_of(&self, index: u32) -> Option<&InterfaceSettings> {
        self.interfaces.get(&index).map(|it| &it.settings)
    }

    /// The areas and their kinds.
    pub fn areas(&self) -> impl Iterator<Item = (u32, AreaKind)> {
        self.areas.iter().map(|(id, area)| (*id, area.kind))
    }

    /// The route to a prefix.
    #[must_use]
    pub fn route(&self, prefix: crate::Prefix) -> Option<&crate::Route> {
        self.routes.get(&prefix)
    }

    /// Whether we came back from a restart, and wait for those who bear it (RFC 3623 §2).
    #[must_use]
    pub const fn is_restarting(&self) -> bool {
        self.own.restarting.is_some()
    }

    /// When the next run of SPF is due, while one waits.
    #[must_use]
    pub const fn spf_due(&self) -> Option<Time> {
        self.backoff.due()
    }

    /// Whether an interface carries packets, as far as we were told.
    #[must_use]
    pub fn is_up(&self, index: u32) -> bool {
        self.interfaces.get(&index).is_some_and(|it| it.state != InterfaceState::Down)
    }

    /// An interface's neighbours, by their addresses.
    pub fn neighbourhood(
        &self,
        interface: u32,
        now: Time,
    ) -> impl Iterator<Item = Neighbouring> + use<'_> {
        let found = self.interfaces.get(&interface).map(|it| it.neighbours.values());
        found.into_iter().flatten().map(move |it| Neighbouring {
            address: it.address,
            router: it.router,
            state: it.state,
            priority: it.priority,
            dead_in: (it.dead_at != Time::MAX).then(|| it.dead_at.since(now)),
            unacknowledged: it.unacknowledged.len(),
            requested: it.exchange.request.len(),
            grace: it.grace.map(|until| until.since(now)),
        })
    }
}
