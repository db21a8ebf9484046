//! What OSPF and IS-IS learn, beside the routes of the section.
//!
//! ```text
//!   door ─→ igp::Router ─ changed prefixes ─→ follow ─ Edit: those alone ─→ stack/dataplane
//!                └──────── all routes ──────→ compile, whenever everything is said
//! ```
//! Of several routes to a prefix the lowest distance holds: connected subnets, which the plane
//! knows itself, then the section's, then what is learnt, of two protocols by the lower distance,
//! then those of the section that are to wait behind it.

use crate::Settings;
use crate::compile::{Compiler, subnet_of};
use crate::config::{ForwarderStart, Interface, OnExit, Pe, Via, mac, network, prefix};
use dataplane::{Dataplane, Edit, Kind, PacketDoor, Rank};
use forwarder::ToPackets;
use igp::config::Source;
use igp::{
    External, Link, LinkState, Prefix, Protocol, Route, Router, Sections, Shown, Start,
    Surroundings, Way,
};
use machine::{Duration, Time};
use nodes::Program;
use nodes::program::{Hop, Removed};
use runtime::{ChannelEvent, Effects, PortId, Seed};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

/// The channel of the door.
pub(crate) const DOOR: PortId = PortId(2);
/// The number of the global table.
const GLOBAL: u32 = 0;
/// The tags of frames of one VLAN, and of two.
const TAG: [u8; 2] = [0x81, 0];
const SERVICE_TAG: [u8; 2] = [0x88, 0xa8];
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
pub(crate) fn hop_of(ways: &[Way], hops: &mut impl Hops) -> u32 {
    let mut each = ways.iter().map(|way| {
        let (interface, labels) = (way.interface, Vec::<u32>::new());
        let gateway = Some(way.gateway);
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
pub(crate) fn key_of(to: Prefix) -> (u32, IpAddr, u8) {
    (GLOBAL, to.address, to.length)
}

/// Routes of the section that may wait behind learnt ones, with their distances.
pub(crate) fn waiting(pe: &Pe) -> BTreeMap<Prefix, u8> {
    let ospf = pe.ospf.iter().map(|it| it.distance);
    let Some(lowest) = ospf.chain(pe.isis.iter().map(|it| it.distance)).min() else {
        return BTreeMap::new();
    };
    let behind = pe.route.iter().filter(|it| it.vrf.is_none() && it.distance > lowest);
    behind.filter_map(|it| Some((prefix_of(&it.prefix)?, it.distance))).collect()
}

fn prefix_of(text: &str) -> Option<Prefix> {
    let (address, length) = prefix(text).map(network)?;
    Some(Prefix::new(address, length))
}

/// Which protocols a section speaks, and how.
fn sections(settings: &Settings) -> Sections {
    let ospf = settings.pe.ospf.as_ref();
    let isis = settings.pe.isis.as_ref();
    Sections {
        ospf: ospf.map(|it| (Arc::new(it.clone()), settings.ospf_keys.clone())),
        isis: isis.map(|it| (Arc::new(it.clone()), settings.isis_keys.clone())),
    }
}

/// What an edge learns.
pub(crate) struct Learnt {
    pub(crate) router: Option<Router>,
    /// Prefixes whose route in the plane is the learnt one.
    told: BTreeSet<Prefix>,
    waiting: BTreeMap<Prefix, u8>,
    /// Hops that single changes have made.
    hops: usize,
    /// Whether routes of a control before this one stand until all is learnt again.
    holds: bool,
    /// Protocols whose routes those are.
    restarts: Vec<Protocol>,
    random: [u8; 32],
    shown: Shown,
    shown_at: Time,
}

impl Learnt {
    pub(crate) fn new(seed: &Seed) -> Self {
        Self {
            router: None,
            told: BTreeSet::new(),
            waiting: BTreeMap::new(),
            hops: 0,
            holds: false,
            restarts: Vec::new(),
            random: seed.random,
            shown: Shown::default(),
            shown_at: seed.now,
        }
    }

    /// A forwarder takes this control: before it is told anything, whether what stands there is
    /// to stay until all is learnt again.
    pub(crate) fn welcomed(&mut self, settings: &Settings, dataplane: &mut Dataplane) {
        if self.router.is_some() {
            return;
        }
        let sections = sections(settings);
        let is_ours = |it: &Protocol| {
            let own = sections.note(*it);
            own.is_some() && dataplane.numbers().note(it.name()) == own.as_deref()
        };
        self.restarts = Protocol::ALL.into_iter().filter(is_ours).collect();
        if !self.restarts.is_empty() {
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
        let sections = sections(settings);
        if !Protocol::ALL.iter().any(|it| sections.has(*it)) {
            return self.end(now, dataplane, out);
        }
        if !dataplane.is_controlled() {
            return;
        }
        self.meet(now, settings, &sections, out);
        let around = surroundings(settings, dataplane);
        if let Some(router) = &mut self.router {
            router.configure(now, &sections, &around, out);
        }
        note(&sections, dataplane, out);
    }

    /// Sees to it that there is a router, whose door is that of the protocols which it speaks.
    fn meet(&mut self, now: Time, settings: &Settings, sections: &Sections, out: &mut Effects) {
        let classes = sections.classes();
        if self.router.as_ref().is_some_and(|it| it.classes() == classes) {
            return;
        }
        let (socket, keys) = (settings.launch.socket.clone(), settings.launch.keys.clone());
        let to = ToPackets { socket, keys, classes: classes.clone() };
        let door = PacketDoor::new(now, DOOR, to);
        match &mut self.router {
            Some(router) => router.reopen(classes, door, out),
            None => {
                let start = Start {
                    now,
                    random: self.random,
                    function: settings.pe.name.clone(),
                    restarts: std::mem::take(&mut self.restarts),
                };
                self.router = Some(Router::new(start, classes, door));
            }
        }
    }

    /// Nothing is learnt any more.
    fn end(&mut self, now: Time, dataplane: &mut Dataplane, out: &mut Effects) {
        if let Some(router) = self.router.take() {
            router.end(out);
        }
        self.told.clear();
        if std::mem::take(&mut self.holds) {
            dataplane.release(now, out);
        }
        note(&Sections::default(), dataplane, out);
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
        let stands = |name: &str| {
            let found = pe.interface.iter().find(|it| it.name == name);
            found.map_or_else(LinkState::default, |it| LinkState {
                is_up: is_up(pe, it, dataplane),
                mac: mac_of(pe, it, dataplane),
            })
        };
        router.links(now, stands, out);
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
                    let behind = waiting.get(&prefix).copied();
                    let route = router.route(prefix).filter(|it| {
                        let is_said = edit.said().has_route(key) && !told.contains(&prefix);
                        holds(it, behind, is_said)
                    });
                    if let Some(route) = route {
                        let hop = hop_of(&route.ways, &mut Editing(edit, hops));
                        edit.route(key, Some(hop));
                        told.insert(prefix);
                    } else if told.remove(&prefix) {
                        // What waited behind it has a hop that only the section tells.
                        says_all |= behind.is_some();
                        edit.route(key, None);
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

/// Whether a learnt route holds where the section has one `behind` it, or is one that was said.
fn holds(route: &Route, behind: Option<u8>, is_said: bool) -> bool {
    behind.map_or(!is_said, |distance| distance > route.distance)
}

/// Notes for the next control whose routes the forwarder has.
fn note(sections: &Sections, dataplane: &mut Dataplane, out: &mut Effects) {
    let numbers = dataplane.numbers_mut();
    let noted = Protocol::ALL.map(|it| numbers.set_note(it.name(), sections.note(it)));
    if noted.contains(&true) {
        dataplane.keep(out);
    }
}

/// Whether packets come and go by an interface.
fn is_up(pe: &Pe, it: &Interface, dataplane: &Dataplane) -> bool {
    dataplane.is_controlled() && pe.port_of(it).is_none_or(|port| dataplane.is_up(port))
}

/// The MAC address of an interface: its own, or its port's once that is open.
fn mac_of(pe: &Pe, it: &Interface, dataplane: &Dataplane) -> Option<[u8; 6]> {
    let own = it.mac.as_deref().and_then(mac);
    own.or_else(|| dataplane.mac(pe.port_of(it)?))
}

/// The VLAN tags of an interface's frames.
fn tags_of(it: &Interface) -> Vec<u8> {
    let inner = it.inner_vlan.map(|vlan| (TAG, vlan));
    let outer = it.vlan.map(|vlan| (if inner.is_some() { SERVICE_TAG } else { TAG }, vlan));
    let all = outer.into_iter().chain(inner);
    all.flat_map(|(tag, vlan)| [tag, vlan.to_be_bytes()]).flatten().collect()
}

/// What the protocols are told of the router around them.
fn surroundings(settings: &Settings, dataplane: &Dataplane) -> Surroundings {
    let pe = &settings.pe;
    let number = |name: &str| dataplane.numbers().known(Kind::Interface, name);
    let routed = pe.interface.iter();
    let routed = routed.filter(|it| it.vrf.is_none() && !pe.carries_frames(&it.name));
    let links = routed.clone().filter_map(|it| {
        Some(Link {
            name: it.name.clone(),
            index: number(&it.name)?,
            address: pe.address4(it),
            addresses: it.addresses.iter().filter_map(|text| prefix(text)).collect(),
            mac: mac_of(pe, it, dataplane),
            tags: tags_of(it),
            mtu: pe.mtu_of(it),
            is_up: is_up(pe, it, dataplane),
        })
    });
    let links = links.collect();
    let ospf = pe.ospf.iter().flat_map(|it| it.redistribute.iter().map(|it| it.from));
    let isis = pe.isis.iter().flat_map(|it| it.redistribute.iter().map(|it| it.from));
    let wanted: BTreeSet<Source> = ospf.chain(isis).collect();
    let mut externals = Vec::new();
    if wanted.contains(&Source::Connected) {
        for it in routed {
            let Some(index) = number(&it.name) else { continue };
            let subnets = it.addresses.iter().filter_map(|text| prefix_of(text));
            externals.extend(subnets.map(|prefix| External {
                prefix,
                from: Source::Connected,
                distance: 0,
                by: vec![index],
            }));
        }
    }
    if wanted.contains(&Source::Static) {
        statics(settings, number, &mut externals);
    }
    Surroundings { links, externals }
}

/// The static routes of the global table.
fn statics(
    settings: &Settings,
    number: impl Fn(&str) -> Option<u32>,
    externals: &mut Vec<External>,
) {
    let pe = &settings.pe;
    let by = |via: &Via| match (&via.interface, via.gateway) {
        (Some(name), _) => number(name),
        (None, Some(gateway)) => number(&subnet_of(pe, None, gateway)?.name),
        (None, None) => None,
    };
    for route in pe.route.iter().filter(|it| it.vrf.is_none()) {
        let Some(prefix) = prefix_of(&route.prefix) else { continue };
        let by = route.via.iter().chain(&route.backup).filter_map(by).collect();
        let (from, distance) = (Source::Static, route.distance);
        externals.push(External { prefix, from, distance, by });
    }
    let mut known: BTreeMap<IpAddr, Vec<u32>> = BTreeMap::new();
    for route in settings.routes.iter().filter(|it| it.vrf.is_empty()) {
        let by = known.entry(route.gateway).or_insert_with(|| {
            let subnet = subnet_of(pe, None, route.gateway);
            subnet.and_then(|it| number(&it.name)).into_iter().collect()
        });
        let prefix = Prefix::new(route.prefix.0, route.prefix.1);
        let from = Source::Static;
        externals.push(External { prefix, from, distance: 1, by: by.clone() });
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
        let key = key_of(prefix);
        if holds(&route, waiting.get(&prefix).copied(), compiled.has(key)) {
            let hop = hop_of(&route.ways, compiled);
            compiled.set(key, hop);
            told.insert(prefix);
        }
    }
    told
}
