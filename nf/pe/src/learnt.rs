//! What OSPF and IS-IS learn, beside the routes of the section.
//!
//! ```text
//!   channel ─→ igp::Router ─ changed prefixes ─→ follow ─ Edit: those alone ─→ stack/dataplane
//!                   └──────── all routes ──────→ compile, whenever everything is said
//! ```
//! Of several routes to a prefix the lowest distance holds: connected subnets, which the plane
//! knows itself, then the section's, then what is learnt, of two protocols by the lower distance,
//! then those of the section that are to wait behind it.

use crate::Settings;
use crate::compile::Compiler;
use crate::config::{ForwarderStart, OnExit, Pe, Via};
use crate::hops::{Editing, Hops, is_up, plain, prefix_of, subnet_of};
use crate::labelled::{LABELS_CHANNEL, Labelled};
use crate::leading::move_guard;
use crate::links::{links_of, mac_of};
use crate::peering::{BGP_CHANNEL, BgpRoute, Peering};
use dataplane::{Dataplane, Edit, Kind, PacketChannel, Rank};
use detection::program::{FEATURE, Name, Notice, Said};
use forwarder::ToPackets;
use igp::config::Source;
use igp::{
    External, LinkState, Prefix, Protocol, Route, Router, Sections, Shown, Start, Surroundings, Way,
};
use ldp_stack::IMPLICIT_NULL;
use machine::{Duration, Time};
use nodes::Program;
use nodes::program::{Item, Removed};
use runtime::{ChannelEvent, Effects, PortId, Seed};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

/// The port of the packet channel.
pub(crate) const IGP_CHANNEL: PortId = PortId(2);
/// The number of the global table.
const GLOBAL: u32 = 0;
/// Hops that single changes may leave behind before everything is said again without them, and the
/// time between two such sayings, in which more may be left.
const HOPS_MAX: usize = 4_096;
const HOPS_TIME: Duration = Duration::from_secs(5);
/// Time between two showings of what is counted.
const SHOWN: Duration = Duration::from_millis(500);

/// The name of a route in what was said.
pub(crate) fn key_of(to: Prefix) -> (u32, IpAddr, u8) {
    (GLOBAL, to.address, to.length)
}

/// Routes of the section that may wait behind learnt ones, with their distances.
pub(crate) fn waiting(pe: &Pe) -> BTreeMap<Prefix, u8> {
    let ospf = pe.ospf.iter().map(|it| it.distance);
    let bgp = pe.bgp.iter().map(|it| it.distance_external.min(it.distance_internal));
    let all = ospf.chain(pe.isis.iter().map(|it| it.distance)).chain(bgp);
    let Some(lowest) = all.min() else {
        return BTreeMap::new();
    };
    let behind = pe.route.iter().filter(|it| it.vrf.is_none() && it.distance > lowest);
    behind.filter_map(|it| Some((prefix_of(&it.prefix)?, it.distance))).collect()
}

/// Which protocols a section speaks, and how.
fn sections(settings: &Settings) -> Sections {
    let ospf = settings.pe.ospf.as_ref();
    let isis = settings.pe.isis.as_ref();
    Sections {
        ospf: ospf.map(|it| (Arc::new(it.clone()), settings.ospf_keys.clone())),
        isis: isis.map(|it| (Arc::new(it.clone()), settings.isis_keys.clone())),
        bfd: settings.bfd_keys.clone(),
    }
}

/// Whether anything is learnt by a section.
pub(crate) fn is_wanted(pe: &Pe) -> bool {
    pe.ospf.is_some() || pe.isis.is_some() || pe.ldp.is_some() || pe.bgp.is_some()
}

/// A learnt route that holds: whose it is, and its ways, behind the labels that are pushed.
pub(crate) struct Held {
    pub(crate) prefix: Prefix,
    pub(crate) origin: &'static str,
    pub(crate) ways: Vec<(Way, Option<u32>)>,
}

/// What of all that was learnt the plane was told.
#[derive(Default)]
pub(crate) struct Programmed {
    routes: BTreeSet<Prefix>,
    labels: BTreeMap<ldp_stack::Prefix, u32>,
    of_vpns: BTreeSet<(u32, Prefix)>,
}

/// A route that was learnt.
enum Candidate<'a> {
    OfIgp(Route),
    OfBgp(&'a BgpRoute),
}

/// Of a prefix's routes that were learnt the one of the lowest distance.
fn candidate<'a>(
    prefix: Prefix,
    router: Option<&Router>,
    peering: &'a Peering,
) -> Option<(u8, Candidate<'a>)> {
    let igp = router.and_then(|it| it.route(prefix));
    let igp = igp.map(|it| (it.distance, Candidate::OfIgp(it)));
    let bgp = peering.route(prefix).map(|(distance, it)| (distance, Candidate::OfBgp(it)));
    igp.into_iter().chain(bgp).min_by_key(|it| it.0)
}

/// What an edge learns.
pub(crate) struct Learnt {
    pub(crate) router: Option<Router>,
    pub(crate) labelled: Labelled,
    pub(crate) peering: Peering,
    /// Prefixes whose route in the plane is the learnt one.
    told: BTreeSet<Prefix>,
    waiting: BTreeMap<Prefix, u8>,
    /// Hops that single changes have made, and when they may have everything said again.
    hops: usize,
    says_all_at: Time,
    /// Whether routes of a control before this one stand until all is learnt again.
    holds: bool,
    /// Protocols whose routes those are.
    restarts: Vec<Protocol>,
    /// No routes are learnt any more, and the plane was not told yet.
    has_ended: bool,
    random: [u8; 32],
    shown: Shown,
    shown_at: Time,
}

impl Learnt {
    pub(crate) fn new(seed: &Seed) -> Self {
        Self {
            router: None,
            labelled: Labelled::new(seed.random),
            peering: Peering::new(seed),
            told: BTreeSet::new(),
            waiting: BTreeMap::new(),
            hops: 0,
            says_all_at: seed.now,
            holds: false,
            restarts: Vec::new(),
            has_ended: false,
            random: seed.random,
            shown: Shown::default(),
            shown_at: seed.now,
        }
    }

    /// A forwarder takes this control: before it is told anything, whether what stands there is
    /// to stay until all is learnt again.
    pub(crate) fn welcomed(&mut self, settings: &Settings, dataplane: &mut Dataplane) {
        self.peering.welcomed(settings, dataplane);
        if self.router.is_some() {
            return;
        }
        let sections = sections(settings);
        let is_ours = |it: &Protocol| {
            let own = sections.note(*it);
            own.is_some() && dataplane.numbers().note(it.name()) == own.as_deref()
        };
        self.restarts = Protocol::ALL.into_iter().filter(is_ours).collect();
        if !self.restarts.is_empty() || !self.peering.is_settled() {
            self.holds = true;
            dataplane.hold();
        }
    }

    /// Whether numbers of what a control before this one said must not be given to others.
    pub(crate) const fn holds(&self) -> bool {
        self.holds
    }

    /// Whether the route in the plane is the learnt one.
    pub(crate) fn holds_for(&self, prefix: Prefix) -> bool {
        self.told.contains(&prefix)
    }

    /// How many routes in the plane are learnt ones.
    pub(crate) fn held_count(&self) -> usize {
        self.told.len()
    }

    /// Them, from that place on; none where one is about to go.
    pub(crate) fn held(&self, from: usize) -> impl Iterator<Item = Option<Held>> {
        self.told.iter().skip(from).map(|prefix| {
            let (origin, ways) = match candidate(*prefix, self.router.as_ref(), &self.peering)?.1 {
                Candidate::OfIgp(route) => {
                    (route.protocol.name(), self.labelled.ways(*prefix, &route.ways))
                }
                Candidate::OfBgp(route) => ("bgp", self.peering.ways(route)),
            };
            let said = |label: &u32| *label != IMPLICIT_NULL;
            let ways = ways.into_iter().map(|(way, label)| (way, label.filter(said))).collect();
            Some(Held { prefix: *prefix, origin, ways })
        })
    }

    /// Whether the route in the plane is that of BGP.
    pub(crate) fn holds_of_bgp(&self, prefix: Prefix) -> bool {
        let found = candidate(prefix, self.router.as_ref(), &self.peering);
        self.holds_for(prefix) && matches!(found, Some((_, Candidate::OfBgp(_))))
    }

    /// Everything was said.
    pub(crate) fn said(&mut self, now: Time, told: Programmed) {
        (self.told, self.hops) = (told.routes, 0);
        self.says_all_at = now + HOPS_TIME;
        self.labelled.said(told.labels);
        self.peering.said(told.of_vpns);
        if let Some(router) = &mut self.router {
            router.said();
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
        let speaks = Protocol::ALL.iter().any(|it| sections.has(*it));
        if !speaks {
            self.end(dataplane, out);
        }
        if !dataplane.is_controlled() && is_wanted(&settings.pe) {
            return;
        }
        let mut around = surroundings(settings, dataplane);
        self.labelled.configure(now, settings, around.links.clone(), dataplane, out);
        around.links.iter_mut().for_each(|it| it.is_dear = self.labelled.is_dear(it.index));
        if speaks {
            self.meet(now, settings, &sections, out);
            note(&sections, dataplane, out);
        }
        if let Some(router) = &mut self.router {
            router.configure(now, &sections, &around, out);
        }
        self.labelled.learn_all(now, self.router.as_ref(), out);
        self.peering.configure(now, settings, around.links, dataplane, out);
    }

    /// Sees to it that there is a router, whose packet channel is that of the protocols which it
    /// speaks.
    fn meet(&mut self, now: Time, settings: &Settings, sections: &Sections, out: &mut Effects) {
        let classes = sections.classes();
        if self.router.as_ref().is_some_and(|it| it.classes() == classes) {
            return;
        }
        let to = ToPackets::of(&settings.launch, classes.clone());
        let channel = PacketChannel::new(now, IGP_CHANNEL, to);
        match &mut self.router {
            Some(router) => router.reopen(classes, channel, out),
            None => {
                let start = Start {
                    now,
                    random: self.random,
                    function: settings.pe.name.clone(),
                    restarts: std::mem::take(&mut self.restarts),
                };
                self.router = Some(Router::new(start, classes, channel));
            }
        }
    }

    /// Neither OSPF nor IS-IS is spoken any more. What stands of a control before is given up with
    /// all else that is not said, unless BGP still waits for its part of it.
    fn end(&mut self, dataplane: &mut Dataplane, out: &mut Effects) {
        if let Some(router) = self.router.take() {
            router.end(out);
            self.has_ended = true;
        }
        self.restarts.clear();
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
        match port {
            LABELS_CHANNEL => self.labelled.step(now, port, event, out),
            BGP_CHANNEL => self.peering.step(now, port, event, out),
            _ => {
                if let Some(router) = &mut self.router {
                    router.step(now, port, event, out);
                }
            }
        }
    }

    /// Links may be others than they were.
    pub(crate) fn links(
        &mut self,
        now: Time,
        settings: &Settings,
        dataplane: &Dataplane,
        out: &mut Effects,
    ) {
        let pe = &settings.pe;
        let stands = |name: &str| {
            let found = pe.interface.iter().find(|it| it.name == name);
            found.map_or_else(LinkState::default, |it| LinkState {
                is_up: is_up(pe, it, dataplane),
                mac: mac_of(pe, it, dataplane),
            })
        };
        if let Some(router) = &mut self.router {
            router.links(now, stands, out);
        }
        self.labelled.links(now, |name| stands(name).is_up, out);
        self.peering.links(settings, dataplane, |name| stands(name).is_up);
    }

    /// A feature of the plane says something: how a session of BFD stands.
    pub(crate) fn hear(&mut self, now: Time, item: &Item, out: &mut Effects) {
        let said = Name::read(&item.key).and_then(|name| Ok((name, Notice::read(&item.value)?)));
        // Forwarder and control are of one version, or one of them knows less: that is passed over.
        if item.feature == FEATURE
            && let Ok((name, notice)) = said
            && let Some(router) = &mut self.router
        {
            router.hear(now, &name, notice, out);
        }
    }

    pub(crate) fn tick(&mut self, now: Time, out: &mut Effects) {
        if let Some(router) = &mut self.router {
            router.tick(now, out);
        }
        self.labelled.tick(now, out);
        self.peering.tick(now, out);
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        let router = self.router.as_ref().and_then(Router::deadline);
        let others = [self.labelled.deadline(), self.peering.deadline()];
        router.into_iter().chain(others.into_iter().flatten()).min()
    }

    pub(crate) fn drain(&mut self, now: Time, pe: &Pe, out: &mut Effects) {
        let keeps = pe.on_exit == OnExit::Keep || pe.forwarder == ForwarderStart::External;
        if let Some(router) = &mut self.router {
            router.drain(now, keeps, out);
        }
        self.labelled.drain(now, out);
        self.peering.drain(now, keeps, out);
    }

    /// Tells the plane what was learnt; whether everything must be said again instead.
    pub(crate) fn follow(
        &mut self,
        now: Time,
        dataplane: &mut Dataplane,
        out: &mut Effects,
    ) -> bool {
        let has_ended = std::mem::take(&mut self.has_ended);
        let mut says_all = std::mem::take(&mut self.labelled.has_ended) || has_ended;
        says_all |= self.peering.take_ended();
        let has_routes = self.router.as_ref().is_some_and(Router::has_changed);
        if !dataplane.is_controlled() {
            self.labelled.forget_changed();
        } else if has_routes || self.labelled.is_due(now) || self.peering.has_news() {
            says_all |= self.tell(now, dataplane, out);
        }
        if self.holds && self.is_settled() && dataplane.is_controlled() {
            self.holds = false;
            dataplane.release(now, out);
        }
        let has_too_many = self.hops > HOPS_MAX && now >= self.says_all_at;
        says_all || has_too_many
    }

    /// Whether nothing is waited for that a control before this one had learnt.
    fn is_settled(&self) -> bool {
        self.router.as_ref().is_none_or(Router::is_settled) && self.peering.is_settled()
    }

    /// Tells the plane what is another thing than it was; whether everything must be said again.
    fn tell(&mut self, now: Time, dataplane: &mut Dataplane, out: &mut Effects) -> bool {
        let mut says_all = false;
        let moved = self.router.as_mut().map(Router::take_moved).unwrap_or_default();
        let watched = self.router.as_mut().map(Router::take_watched).unwrap_or_default();
        let mut changed = self.router.as_mut().map(Router::take_changed).unwrap_or_default();
        let router = self.router.as_ref();
        let heard = self.labelled.take_heard(now, router);
        let labels = self.labelled.learn(now, router, &changed, out);
        changed.extend(labels.into_iter().chain(heard));
        let (by_bgp, of_vpns) = self.peering.learn(router, &self.labelled, &changed);
        changed.extend(by_bgp);
        let (told, waiting, hops) = (&mut self.told, &self.waiting, &mut self.hops);
        let (labelled, peering) = (&mut self.labelled, &mut self.peering);
        dataplane.edit(now, out, |edit| {
            moved.iter().for_each(|(guard, is_back)| move_guard(guard, *is_back, edit));
            peering.say_moved(&mut Editing(edit, hops));
            watched.into_iter().for_each(|(name, said)| say_watched(&name, said, edit, hops));
            for prefix in changed {
                let key = key_of(prefix);
                let behind = waiting.get(&prefix).copied();
                let is_said = edit.said().has_route(key) && !told.contains(&prefix);
                let found = candidate(prefix, router, peering);
                if let Some((_, it)) = found.filter(|it| holds(it.0, behind, is_said)) {
                    let mut editing = Editing(edit, hops);
                    let hop = match it {
                        Candidate::OfIgp(it) => {
                            labelled.lead(prefix, &it).hop(router, &mut editing)
                        }
                        Candidate::OfBgp(it) => peering.hop(it, &mut editing),
                    };
                    edit.route(key, Some(hop));
                    told.insert(prefix);
                } else if told.remove(&prefix) {
                    // What waited behind it has a hop that only the section tells.
                    says_all |= behind.is_some();
                    edit.route(key, None);
                }
                labelled.say(prefix, router, edit, hops);
            }
            for at in of_vpns {
                peering.say_vpn(at, edit, hops);
            }
        });
        says_all
    }

    /// Shows what is counted, now and then.
    pub(crate) fn show(&mut self, now: Time) {
        if now.since(self.shown_at) >= SHOWN {
            self.shown_at = now;
            self.shown.show(self.router.as_ref(), now);
            self.labelled.show();
            self.peering.show();
        }
    }

    pub(crate) fn cells(&self) -> Vec<event::MetricCells> {
        let own = self.shown.cells().into_iter().chain(self.labelled.cells());
        own.chain(self.peering.cells()).collect()
    }

    /// Puts what was learnt beside what the section says; what of it holds.
    pub(crate) fn merge(&self, pe: &Pe, compiled: &mut Compiler<'_>) -> Programmed {
        let mut told = Programmed::default();
        let waiting = waiting(pe);
        let learnt = self.router.iter().flat_map(Router::routes).map(|it| it.0);
        let all: BTreeSet<Prefix> = learnt.chain(self.peering.prefixes()).collect();
        for prefix in all {
            let key = key_of(prefix);
            let behind = waiting.get(&prefix).copied();
            let found = candidate(prefix, self.router.as_ref(), &self.peering);
            let Some((_, it)) = found.filter(|it| holds(it.0, behind, compiled.has_route(key)))
            else {
                continue;
            };
            let hop = match it {
                Candidate::OfIgp(it) => {
                    self.labelled.lead(prefix, &it).hop(self.router.as_ref(), compiled)
                }
                Candidate::OfBgp(it) => self.peering.hop(it, compiled),
            };
            compiled.set(key, hop);
            told.routes.insert(prefix);
        }
        for said in self.router.iter().flat_map(Router::watched) {
            let (name, program) = session(said, compiled);
            compiled.put(Rank::Use, name, program);
        }
        for at in self.peering.places() {
            let key = (at.0, at.1.address, at.1.length);
            let hop = match compiled.has_route(key) {
                true => None,
                false => self.peering.vpn_hop(at, compiled),
            };
            if let Some(hop) = hop {
                compiled.set(key, hop);
                told.of_vpns.insert(at);
            }
        }
        for (prefix, label, action) in self.labelled.actions(self.router.as_ref(), compiled) {
            compiled.label(label, action);
            told.labels.insert(prefix, label);
        }
        told
    }
}

/// A session of BFD as the plane is told it: its packets leave by the hop of the neighbour.
fn session(said: Said, hops: &mut impl Hops) -> (Removed, Program) {
    let Name { interface, address: gateway } = said.name;
    let said = Said { hop: plain(&Way { interface, gateway }, hops), ..said };
    let (feature, key, value) = (FEATURE.to_owned(), said.name.key(), said.value());
    let name = Removed::Item(feature.clone(), key.clone());
    (name, Program::Item(Item { feature, key, value }))
}

/// Tells of a session of BFD that is another one, or is no more.
fn say_watched(name: &Name, said: Option<Said>, edit: &mut Edit<'_>, hops: &mut usize) {
    match said {
        Some(said) => {
            let (name, program) = session(said, &mut Editing(edit, hops));
            edit.put(Rank::Use, name, program);
        }
        None => edit.remove(Rank::Use, Removed::Item(FEATURE.to_owned(), name.key())),
    }
}

/// Whether a learnt route holds where the section has one `behind` it, or is one that was said.
fn holds(distance: u8, behind: Option<u8>, is_said: bool) -> bool {
    behind.map_or(!is_said, |waiting| waiting > distance)
}

/// Notes for the next control whose routes the forwarder has.
fn note(sections: &Sections, dataplane: &mut Dataplane, out: &mut Effects) {
    let numbers = dataplane.numbers_mut();
    let noted = Protocol::ALL.map(|it| numbers.set_note(it.name(), sections.note(it)));
    if noted.contains(&true) {
        dataplane.keep(out);
    }
}

/// What the protocols are told of the router around them.
fn surroundings(settings: &Settings, dataplane: &Dataplane) -> Surroundings {
    let pe = &settings.pe;
    let number = |name: &str| dataplane.numbers().known(Kind::Interface, name);
    let routed = pe.interface.iter();
    let routed = routed.filter(|it| it.vrf.is_none() && !pe.carries_frames(&it.name));
    let links = links_of(pe, dataplane, None);
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
