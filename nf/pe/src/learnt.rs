//! What OSPF learns, beside the routes of the section.
//!
//! ```text
//!   door ─→ igp::Router ─ changed prefixes ─→ follow ─ Edit: those alone ─→ stack/dataplane
//!                └──────── all routes ──────→ compile, whenever everything is said
//! ```
//! Of several routes to a prefix the lowest distance holds: connected subnets, which the plane
//! knows itself, then the section's, then what is learnt, then those of the section that are to
//! wait behind it.

use crate::Settings;
use crate::compile::{Compiler, subnet_of};
use crate::config::{ForwarderStart, OnExit, Pe, Via, network, prefix};
use dataplane::{Dataplane, Edit, Kind, PacketDoor, Rank};
use forwarder::ToPackets;
use igp::config::{Ospf, Source};
use igp::{External, Link, NextHop, Prefix, Router, Shown, Start, Surroundings};
use machine::{Duration, Time};
use nodes::Program;
use nodes::program::{Hop, Removed};
use runtime::{ChannelEvent, Effects, PortId, Seed};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// The channel of the door.
pub(crate) const DOOR: PortId = PortId(2);
/// The number of the global table.
const GLOBAL: u32 = 0;
/// The note by which the next control knows that the forwarder's routes are those of OSPF.
const NOTE: &str = "ospf";
/// Hops that single changes may leave behind before everything is said again without them.
const HOPS_MAX: usize = 4_096;
/// Time between two showings of what is counted.
const SHOWN: Duration = Duration::from_millis(500);

/// What makes hops: everything at once, or a single change.
pub(crate) trait Hops {
    /// The number of a hop of that name, which is said where it was not.
    fn hop(&mut self, rank: Rank, name: &str, hop: Hop) -> u32;
}

/// A single change, and how many hops it has made.
struct Editing<'a, 'b>(&'a mut Edit<'b>, &'a mut usize);

impl Hops for Editing<'_, '_> {
    fn hop(&mut self, rank: Rank, name: &str, hop: Hop) -> u32 {
        let id = self.0.number(Kind::Hop, name);
        if !self.0.said().things.contains_key(&(rank, Removed::Hop(id))) {
            *self.1 += 1;
        }
        self.0.put(rank, Removed::Hop(id), Program::Hop { id, hop });
        id
    }
}

/// The hop of a learnt route: one way, or flows shared among equal ones.
pub(crate) fn hop_of(ways: &[NextHop], hops: &mut impl Hops) -> u32 {
    let mut each = ways.iter().map(|way| {
        let (interface, labels) = (way.interface, Vec::<u32>::new());
        let gateway = way.gateway.map(IpAddr::V4);
        let name = format!("via {interface} {gateway:?} {labels:?}");
        hops.hop(Rank::Hop, &name, Hop::Via { interface, gateway, labels })
    });
    let members: Vec<(u32, u32)> = each.by_ref().map(|hop| (hop, 1)).collect();
    match &members[..] {
        [(only, _)] => *only,
        _ => {
            let name = format!("group false {members:?}");
            hops.hop(Rank::Composed, &name, Hop::Group { members, resilient: false })
        }
    }
}

/// The name of a route in what was said.
pub(crate) fn key_of(to: Prefix) -> (u32, Ipv4Addr, u8) {
    (GLOBAL, to.address.into(), to.length)
}

/// Routes of the section that wait behind learnt ones.
pub(crate) fn waiting(pe: &Pe) -> BTreeSet<Prefix> {
    let Some(ospf) = &pe.ospf else { return BTreeSet::new() };
    let behind = pe.route.iter().filter(|it| it.vrf.is_none() && it.distance > ospf.distance);
    behind.filter_map(|it| prefix4(&it.prefix)).collect()
}

fn prefix4(text: &str) -> Option<Prefix> {
    let (IpAddr::V4(address), length) = prefix(text).map(network)? else { return None };
    Some(Prefix::new(address.into(), length))
}

/// OSPF of an edge.
pub(crate) struct Learnt {
    pub(crate) router: Option<Router>,
    /// Prefixes whose route in the plane is the learnt one.
    told: BTreeSet<Prefix>,
    waiting: BTreeSet<Prefix>,
    /// Hops that single changes have made.
    hops: usize,
    /// Whether routes of a control before this one stand until all is learnt again.
    holds: bool,
    random: [u8; 32],
    shown: Shown,
    shown_at: Time,
}

impl Learnt {
    pub(crate) fn new(seed: &Seed) -> Self {
        Self {
            router: None,
            told: BTreeSet::new(),
            waiting: BTreeSet::new(),
            hops: 0,
            holds: false,
            random: seed.random,
            shown: Shown::default(),
            shown_at: seed.now,
        }
    }

    /// A forwarder takes this control: before it is told anything, whether what stands there is
    /// to stay until all is learnt again.
    pub(crate) fn welcomed(&mut self, pe: &Pe, dataplane: &mut Dataplane) {
        let Some(ospf) = &pe.ospf else { return };
        let own = ospf.router_id.to_string();
        let is_ours = dataplane.numbers().note(NOTE) == Some(&*own);
        if self.router.is_none() && is_ours && ospf.restart_s > 0 {
            self.holds = true;
            dataplane.hold();
        }
    }

    /// Whether numbers of what a control before this one said must not be given to others.
    pub(crate) const fn holds(&self) -> bool {
        self.holds
    }

    /// Everything was said.
    pub(crate) fn said(&mut self, told: BTreeSet<Prefix>) {
        (self.told, self.hops) = (told, 0);
        if let Some(router) = &mut self.router {
            router.take_changed();
        }
    }

    /// The section as it is from now on, of a forwarder that was told everything.
    pub(crate) fn configure(
        &mut self,
        now: Time,
        settings: &Settings,
        dataplane: &mut Dataplane,
        out: &mut Effects,
    ) {
        self.waiting = waiting(&settings.pe);
        let Some(ospf) = &settings.pe.ospf else { return self.end(now, dataplane, out) };
        if !dataplane.is_controlled() {
            return;
        }
        let section = Arc::new(ospf.clone());
        if self.router.is_none() {
            let launch = &settings.launch;
            let (socket, keys) = (launch.socket.clone(), launch.keys.clone());
            let to = ToPackets { socket, keys, classes: igp::classes() };
            let start = Start {
                now,
                random: self.random,
                function: settings.pe.name.clone(),
                is_restart: self.holds,
            };
            let door = PacketDoor::new(now, DOOR, to);
            self.router = Some(Router::new(start, section.clone(), door));
        }
        let around = surroundings(settings, ospf, dataplane);
        if let Some(router) = &mut self.router {
            router.configure(now, section, settings.ospf_keys.clone(), around, out);
        }
        let note = Some(ospf.router_id.to_string()).filter(|_| ospf.restart_s > 0);
        if dataplane.numbers_mut().set_note(NOTE, note) {
            dataplane.keep(out);
        }
    }

    /// There is no OSPF any more.
    fn end(&mut self, now: Time, dataplane: &mut Dataplane, out: &mut Effects) {
        if let Some(router) = self.router.take() {
            router.end(out);
        }
        self.told.clear();
        if std::mem::take(&mut self.holds) {
            dataplane.release(now, out);
        }
        if dataplane.numbers_mut().set_note(NOTE, None) {
            dataplane.keep(out);
        }
    }

    /// Something happened on a channel.
    pub(crate) fn step(
        &mut self,
        now: Time,
        port: PortId,
        event: ChannelEvent<'_>,
        out: &mut Effects,
    ) {
        if let Some(router) = &mut self.router {
            router.step(now, port, event, out);
        }
    }

    /// Links may be others than they were.
    pub(crate) fn links(&mut self, now: Time, pe: &Pe, dataplane: &Dataplane, out: &mut Effects) {
        let Some(router) = &mut self.router else { return };
        let is_up = |name: &str| {
            let found = pe.interface.iter().find(|it| it.name == name);
            found.is_some_and(|it| is_up(pe, it, dataplane))
        };
        router.links(now, is_up, out);
    }

    pub(crate) fn tick(&mut self, now: Time, out: &mut Effects) {
        if let Some(router) = &mut self.router {
            router.tick(now, out);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.router.as_ref()?.deadline()
    }

    pub(crate) fn drain(&mut self, now: Time, pe: &Pe, out: &mut Effects) {
        let keeps = pe.on_exit == OnExit::Keep || pe.forwarder == ForwarderStart::External;
        if let Some(router) = &mut self.router {
            router.drain(now, keeps, out);
        }
    }

    /// Tells the plane what was learnt; whether everything must be said again instead.
    pub(crate) fn follow(
        &mut self,
        now: Time,
        dataplane: &mut Dataplane,
        out: &mut Effects,
    ) -> bool {
        let Some(router) = &mut self.router else { return false };
        let mut says_all = false;
        if router.has_changed() && dataplane.is_controlled() {
            let changed = router.take_changed();
            let (told, waiting, hops) = (&mut self.told, &self.waiting, &mut self.hops);
            dataplane.edit(now, out, |edit| {
                for prefix in changed {
                    let key = key_of(prefix);
                    let Some(route) = router.route(prefix) else {
                        if told.remove(&prefix) {
                            // What waited behind it has a hop that only the section tells.
                            says_all |= waiting.contains(&prefix);
                            edit.route4(key, None);
                        }
                        continue;
                    };
                    let is_free = told.contains(&prefix)
                        || waiting.contains(&prefix)
                        || !edit.said().routes4.contains_key(&key);
                    if is_free {
                        let hop = hop_of(&route.hops, &mut Editing(edit, hops));
                        edit.route4(key, Some(hop));
                        told.insert(prefix);
                    }
                }
            });
        }
        if self.holds && router.is_settled() && dataplane.is_controlled() {
            self.holds = false;
            dataplane.release(now, out);
        }
        says_all || self.hops > HOPS_MAX
    }

    /// Shows what is counted, now and then.
    pub(crate) fn show(&mut self, now: Time) {
        if now.since(self.shown_at) >= SHOWN {
            self.shown_at = now;
            self.shown.show(self.router.as_ref(), now);
        }
    }

    pub(crate) fn cells(&self) -> Vec<event::MetricCells> {
        self.shown.cells()
    }
}

/// Whether packets come and go by an interface.
fn is_up(pe: &Pe, it: &crate::config::Interface, dataplane: &Dataplane) -> bool {
    dataplane.is_controlled() && pe.port_of(it).is_none_or(|port| dataplane.is_up(port))
}

/// What OSPF is told of the router around it.
fn surroundings(settings: &Settings, ospf: &Ospf, dataplane: &Dataplane) -> Surroundings {
    let pe = &settings.pe;
    let number = |name: &str| dataplane.numbers().known(Kind::Interface, name);
    let routed = pe.interface.iter();
    let routed = routed.filter(|it| it.vrf.is_none() && !pe.carries_frames(&it.name));
    let links = routed.clone().filter_map(|it| {
        Some(Link {
            name: it.name.clone(),
            index: number(&it.name)?,
            address: pe.address4(it),
            mtu: pe.mtu_of(it),
            is_up: is_up(pe, it, dataplane),
        })
    });
    let links = links.collect();
    let wants = |from: Source| ospf.redistribute.iter().any(|it| it.from == from);
    let mut externals = Vec::new();
    if wants(Source::Connected) {
        for it in routed {
            let Some(index) = number(&it.name) else { continue };
            let subnets = it.addresses.iter().filter_map(|text| prefix4(text));
            externals.extend(subnets.map(|prefix| External {
                prefix,
                from: Source::Connected,
                by: vec![index],
            }));
        }
    }
    if wants(Source::Static) {
        statics(settings, ospf, number, &mut externals);
    }
    Surroundings { links, externals }
}

/// The static routes of the global table, but those that wait behind learnt ones.
fn statics(
    settings: &Settings,
    ospf: &Ospf,
    number: impl Fn(&str) -> Option<u32>,
    externals: &mut Vec<External>,
) {
    let pe = &settings.pe;
    let by = |via: &Via| match (&via.interface, via.gateway) {
        (Some(name), _) => number(name),
        (None, Some(gateway)) => number(&subnet_of(pe, None, gateway)?.name),
        (None, None) => None,
    };
    let own = pe.route.iter().filter(|it| it.vrf.is_none() && it.distance < ospf.distance);
    for route in own {
        let Some(prefix) = prefix4(&route.prefix) else { continue };
        let by = route.via.iter().chain(&route.backup).filter_map(by).collect();
        externals.push(External { prefix, from: Source::Static, by });
    }
    let mut known: BTreeMap<IpAddr, Vec<u32>> = BTreeMap::new();
    for route in settings.routes.iter().filter(|it| it.vrf.is_empty()) {
        let (IpAddr::V4(address), length) = route.prefix else { continue };
        let by = known.entry(route.gateway).or_insert_with(|| {
            let subnet = subnet_of(pe, None, route.gateway);
            subnet.and_then(|it| number(&it.name)).into_iter().collect()
        });
        let prefix = Prefix::new(address.into(), length);
        externals.push(External { prefix, from: Source::Static, by: by.clone() });
    }
}

/// Puts learnt routes beside those of the section; which of them hold.
pub(crate) fn merge(
    router: Option<&Router>,
    pe: &Pe,
    compiled: &mut Compiler<'_>,
) -> BTreeSet<Prefix> {
    let mut told = BTreeSet::new();
    let Some(router) = router else { return told };
    let waiting = waiting(pe);
    for (prefix, route) in router.routes() {
        let is_free = waiting.contains(&prefix) || !compiled.has(key_of(prefix));
        if is_free {
            let hop = hop_of(&route.hops, compiled);
            compiled.set(key_of(prefix), hop);
            told.insert(prefix);
        }
    }
    told
}
