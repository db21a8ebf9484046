//! IS-IS of a router: what comes by the packet channel, what time does, what changed.

pub(crate) mod ask;
mod doubt;
mod reconcile;
pub(crate) mod topology;

use crate::around::{External, Link};
use crate::config::{Isis, KeyChains};
use crate::doubts::Doubts;
use crate::frame;
use crate::history::{Change, History, Lost};
use crate::route::{Event, Way};
use crate::watch::Id;
use crate::wishes::Wishes;
use isis::{
    AdjacencyState, Advertised, Discard, EdgeChange, In, Instance, Levels, NodeId, Out, Prefix,
    Route, Settings, Snpa, SystemId,
};
use machine::{Duration, Machine as _, Time};
use runtime::PacketTo;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// A neighbour: its circuit, itself, the levels of the adjacency.
pub(crate) type Who = (u32, SystemId, u8);

/// IS-IS of one function.
pub(crate) struct IsisRouter {
    function: String,
    pub(crate) section: Arc<Isis>,
    keys: KeyChains,
    pub(crate) instance: Instance,
    links: BTreeMap<u32, Link>,
    externals: Vec<External>,
    told: BTreeMap<Prefix, Advertised>,
    /// PDUs come and go.
    is_open: bool,
    changed: BTreeSet<Prefix>,
    pub(crate) history: History<Who, AdjacencyState>,
    /// Neighbours that are watched by BFD, by their addresses.
    watched: BTreeMap<Id, SystemId>,
    /// The neighbour that is being given up since BFD lost it.
    blamed: Option<(u32, SystemId)>,
    doubts: Doubts,
    /// Ways of routes by neighbours that were lost.
    away: BTreeMap<(u32, SystemId), BTreeSet<Way>>,
    pub(crate) wishes: Wishes,
}

/// What a section says but for keys and what interfaces bear.
fn settings_of(section: &Isis, function: &str) -> Settings {
    let (area, system) = section.title().expect("the section was found valid");
    let mut settings = Settings::new(system, area);
    reconcile::apply(section, function, &mut settings);
    settings
}

impl IsisRouter {
    /// It speaks from its first [`IsisRouter::configure`] on.
    pub(crate) fn new(now: Time, function: &str, section: Arc<Isis>, is_restart: bool) -> Self {
        let restart = Duration::from_secs(section.restart_s.into());
        let restart = Some(restart).filter(|it| is_restart && !it.is_zero());
        if restart.is_some() {
            let seconds = section.restart_s;
            tracing::info!(
                target: "igp", function, seconds, "systems are not to notice a restart"
            );
        }
        let settings = Settings { restart, ..settings_of(&section, function) };
        Self {
            function: function.to_owned(),
            section,
            keys: KeyChains::new(),
            instance: Instance::new(settings, now).expect("the section was found valid"),
            links: BTreeMap::new(),
            externals: Vec::new(),
            told: BTreeMap::new(),
            is_open: false,
            changed: BTreeSet::new(),
            history: History::new(),
            watched: BTreeMap::new(),
            blamed: None,
            doubts: Doubts::default(),
            away: BTreeMap::new(),
            wishes: Wishes::default(),
        }
    }

    /// PDUs come and go from now on: what is said before nobody hears.
    pub(crate) fn open(&mut self, now: Time) {
        self.is_open = true;
        self.raise(now);
    }

    /// A PDU came.
    pub(crate) fn arrive(&mut self, now: Time, circuit: u32, source: Snpa, pdu: &[u8]) {
        self.input(now, In::Pdu { circuit, source, octets: pdu.to_vec() });
        self.say_doubt(now, circuit);
    }

    /// BFD has lost a neighbour, if it is one of these.
    pub(crate) fn lost(&mut self, now: Time, id: Id) {
        let Some(system) = self.watched.get(&id).copied() else { return };
        self.blamed = Some((id.0, system));
        self.input(now, In::NeighbourDown(id.0, system));
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
        let own = self.section.title().map(|(_, system)| NodeId::of(system));
        let changes = self.instance.take_edge_changes();
        // A link of our own that ends is what repairs are for.
        let is_own = |it: &EdgeChange| Some(it.from) == own || Some(it.to) == own;
        let is_disturbed = changes.iter().any(|(_, it)| it.after.is_some() || !is_own(it));
        self.wishes.events.push(Event::Ran { is_disturbed });
        let said = changes.into_iter().map(|(level, it)| Change {
            area: topology::name_of(level).to_owned(),
            from: topology::id_of(it.from),
            to: topology::id_of(it.to),
            before: it.before,
            after: it.after,
        });
        self.history.changed(now, run, said.collect());
    }

    /// A neighbour is gone: so are the ways of routes by it.
    fn lose_ways(&mut self, circuit: u32, system: SystemId) {
        let is_up = |(who, (_, state)): (&Who, &(Time, AdjacencyState))| {
            (who.0, who.1) == (circuit, system) && *state == AdjacencyState::Up
        };
        if self.history.since.iter().any(is_up) {
            return;
        }
        let hops = self.instance.routes().flat_map(|(_, route)| &route.hops);
        let its = hops.filter(|hop| (hop.circuit, hop.system) == (circuit, system));
        let ways: BTreeSet<Way> =
            its.map(|hop| Way { interface: circuit, gateway: hop.gateway }).collect();
        self.wishes.events.extend(ways.iter().map(|way| Event::Lost(*way)));
        self.away.entry((circuit, system)).or_default().extend(ways);
    }

    /// Gives the machine one input.
    fn input(&mut self, now: Time, input: In) {
        let mut wanted = Vec::new();
        self.instance.step(now, input, &mut wanted);
        self.follow(now, wanted);
    }

    /// Does what the machine wants.
    fn follow(&mut self, now: Time, wanted: Vec<Out>) {
        let mut has_met = false;
        for one in wanted {
            match one {
                Out::Send { circuit, destination, octets } => {
                    self.send(circuit, destination, &octets);
                }
                Out::Route(prefix, _) | Out::Withdraw(prefix) => drop(self.changed.insert(prefix)),
                Out::Adjacency { circuit, system, levels, state } => {
                    self.adjacency(now, (circuit, system), levels, state);
                    has_met = true;
                }
            }
        }
        if has_met {
            self.rewatch(now);
        }
        let near = self.instance.discarded(Discard::OwnSystem);
        self.history.look_for_doubles(now, near, self.instance.counts().fought_back);
    }

    fn send(&mut self, circuit: u32, to: Snpa, pdu: &[u8]) {
        let Some(link) = self.links.get(&circuit) else { return };
        let Some(frame) = frame::write(link, to, pdu) else { return };
        self.history.tally.sent += 1;
        self.wishes.packet(PacketTo::Interface(circuit), frame);
    }

    fn adjacency(
        &mut self,
        now: Time,
        neighbour: (u32, SystemId),
        levels: Levels,
        state: AdjacencyState,
    ) {
        let (circuit, system) = neighbour;
        let who = (circuit, system, levels.bits());
        let before = self.history.note(now, who, state);
        let is_told = state == AdjacencyState::Up || before == Some(AdjacencyState::Up);
        let omitted = if is_told { self.history.has_line(now, circuit) } else { None };
        if state == AdjacencyState::Up {
            self.doubts.adjacent(circuit, &doubt::ODD);
            let (function, interface) = (&*self.function, self.name_of(circuit));
            if let Some(omitted) = omitted {
                tracing::info!(target: "igp", function, interface, %system, omitted, "adjacent");
            }
            let ways = self.away.remove(&neighbour).unwrap_or_default();
            self.wishes.events.extend(ways.into_iter().map(Event::Back));
            self.history.lost.retain(|it, _| (it.0, it.1) != (circuit, system));
        } else if before == Some(AdjacencyState::Up) {
            let why = self.why_lost(now, circuit, system);
            let (function, interface) = (&*self.function, self.name_of(circuit));
            // A name is looked for in all fragments of its system.
            let known = omitted.and_then(|omitted| {
                tracing::warn!(
                    target: "igp", function, interface, %system, why, omitted, "adjacency lost"
                );
                self.instance.hostname(system)
            });
            let known = known.map_or_else(|| system.to_string(), |name| format!("{name} {system}"));
            self.history.lose(who, Lost { at: now, who: known, why });
            self.lose_ways(circuit, system);
        }
        if state == AdjacencyState::Down {
            self.history.since.remove(&who);
        }
    }

    /// Why a neighbour is adjacent no more.
    fn why_lost(&self, now: Time, circuit: u32, system: SystemId) -> String {
        let is_blamed = self.blamed == Some((circuit, system));
        let blamed = is_blamed.then_some("its BFD session went down");
        match blamed.or_else(|| self.doubts.anew.get(&circuit).copied()) {
            Some(why) => why.to_owned(),
            None if !self.instance.is_up(circuit) => "its interface is down".to_owned(),
            None => self
                .against_lost(now, circuit, system)
                .unwrap_or_else(|| "it is not heard, or hears us no more".to_owned()),
        }
    }

    /// Those who are adjacent are watched, where the section says so.
    fn rewatch(&mut self, now: Time) {
        let mut wanted = BTreeMap::new();
        for circuit in self.instance.circuits() {
            let Some(link) = self.links.get(&circuit) else { continue };
            let bfd = self.section.interface.iter().find(|it| it.name == link.name);
            let Some(times) = bfd.and_then(|it| it.bfd.as_ref()) else { continue };
            let up = self.instance.neighbourhood(circuit, now);
            let up = up.filter(|it| it.state == AdjacencyState::Up);
            for it in up {
                if let Some(address) = near(link, &it.addresses) {
                    wanted.insert((circuit, address), (it.system, times.clone()));
                }
            }
        }
        for id in self.watched.keys().filter(|id| !wanted.contains_key(id)) {
            self.wishes.watch(*id, None, None);
        }
        for (id, (_, times)) in &wanted {
            let local = self.links.get(&id.0).and_then(|it| it.address).map(|it| it.0);
            self.wishes.watch(*id, local, Some(times.clone()));
        }
        self.watched = wanted.into_iter().map(|(id, (system, _))| (id, system)).collect();
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

    /// The route to a prefix.
    pub(crate) fn route(&self, prefix: Prefix) -> Option<&Route> {
        self.instance.route(prefix)
    }

    /// All routes.
    pub(crate) fn routes(&self) -> impl Iterator<Item = (Prefix, &Route)> {
        self.instance.routes().map(|(prefix, it)| (*prefix, it))
    }

    /// Whether nothing is to be waited for: no restart, and no run of SPF.
    pub(crate) const fn is_settled(&self) -> bool {
        !self.instance.is_restarting() && self.instance.spf_due().is_none()
    }

    /// Whether a prefix is the subnet of an interface that is up.
    pub(crate) fn is_connected(&self, prefix: Prefix) -> bool {
        self.links.values().any(|it| it.connects(prefix))
    }

    /// The name of an interface.
    pub(crate) fn name_of(&self, circuit: u32) -> &str {
        self.links.get(&circuit).map_or("an interface that is gone", |it| &it.name)
    }

    /// A system by its name, where it says one.
    pub(crate) fn called(&self, system: SystemId) -> String {
        self.instance.hostname(system).unwrap_or_else(|| system.to_string())
    }

    /// Everything is withdrawn: what the function had of it is looked at anew.
    fn forget_routes(&mut self) {
        let all: Vec<Prefix> = self.instance.routes().map(|(prefix, _)| *prefix).collect();
        self.changed.extend(all);
    }
}

/// The address of a neighbour in the subnet of a link, else its first one.
fn near(link: &Link, addresses: &[Ipv4Addr]) -> Option<Ipv4Addr> {
    let subnet = link.address.map(|(own, length)| Prefix::new(own.into(), length));
    let is_near =
        |it: &&Ipv4Addr| subnet.is_some_and(|of| Prefix::new((**it).into(), of.length) == of);
    addresses.iter().find(is_near).or_else(|| addresses.first()).copied()
}
