//! What the section says, and what surrounds the router, made true of the machine: the difference
//! is found, and no adjacency ends that need not.

use crate::config::{Bfd, KeyChains, Network, Ospf, Redistribute, Source};
use crate::router::{Link, Router, Surroundings};
use machine::{Duration, Time};
use ospf::{
    Authentication, In, Instance, InterfaceSettings, Limits, LinkType, Prefix, Redistributed,
    SpfDelays,
};
use runtime::Effects;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The default route.
const DEFAULT: Prefix = Prefix::new(0, 0);

impl Ospf {
    /// What the machine is told of the router.
    pub(crate) fn settings(&self) -> ospf::Settings {
        let ms = |value: u32| Duration::from_millis(value.into());
        let lsas_of_router = usize::try_from(self.lsas_of_router_max).unwrap_or(usize::MAX);
        ospf::Settings {
            delays: SpfDelays {
                initial: ms(self.spf.initial_ms),
                short: ms(self.spf.short_ms),
                long: ms(self.spf.long_ms),
                learn: ms(self.spf.learn_ms),
                holddown: ms(self.spf.holddown_ms),
            },
            limits: Limits { lsas_of_router, ..Limits::default() },
            grace_max: Duration::from_secs(self.helper_s.into()),
            is_stub_router: self.stub_router,
            paths: self.paths.into(),
            ..ospf::Settings::new(self.router_id)
        }
    }

    fn redistributed(&self, from: Source, prefix: Prefix) -> Option<Redistributed> {
        let mut all = self.redistribute.iter().filter(|it| it.from == from);
        all.find(|it| it.takes(prefix)).map(Redistribute::as_announced)
    }
}

impl Redistribute {
    fn as_announced(&self) -> Redistributed {
        Redistributed { metric: self.metric, is_type2: self.metric_type == 2, tag: self.tag }
    }
}

impl Router {
    /// Another section, other keys, other surroundings. What stays goes on.
    pub fn configure(
        &mut self,
        now: Time,
        section: Arc<Ospf>,
        keys: KeyChains,
        around: Surroundings,
        out: &mut Effects,
    ) {
        if section.router_id != self.section.router_id {
            self.begin_anew(now, &section, out);
        }
        self.section = section;
        self.keys = keys;
        self.links = around.links.into_iter().map(|link| (link.index, link)).collect();
        self.externals = around.externals;
        let settings = self.section.settings();
        let mut wanted = Vec::new();
        self.instance.change(now, settings, &mut wanted);
        self.reconcile(now, &mut wanted);
        self.follow(now, wanted, out);
        self.raise(now, out);
        self.rewatch(now, out);
        let (links, instance) = (&self.links, &self.instance);
        let speaks = |id: u32| instance.interface(id).is_some() && links.contains_key(&id);
        self.lost.retain(|id, _| speaks(id.0));
    }

    /// Which links are up is another thing than it was: `is_up` says of each by its name.
    pub fn links(&mut self, now: Time, is_up: impl Fn(&str) -> bool, out: &mut Effects) {
        let mut has_changed = false;
        for link in self.links.values_mut() {
            let up = is_up(&link.name);
            has_changed |= up != link.is_up;
            link.is_up = up;
        }
        if has_changed {
            self.raise(now, out);
        }
    }

    /// Another number: nothing of before holds.
    fn begin_anew(&mut self, now: Time, section: &Ospf, out: &mut Effects) {
        let speaking: Vec<u32> = self.links.keys().copied().collect();
        for index in speaking {
            self.input(now, In::InterfaceDown(index), out);
        }
        self.forget_routes();
        self.instance = Instance::new(section.settings(), now);
        self.told.clear();
        self.lost.clear();
        self.since.clear();
    }

    /// Areas and interfaces as the section says.
    fn reconcile(&mut self, now: Time, wanted: &mut Vec<ospf::Out>) {
        let areas: BTreeMap<u32, ospf::AreaKind> =
            self.section.area.iter().map(|it| (it.number(), it.area_kind())).collect();
        let interfaces = self.interfaces();
        let known: BTreeSet<u32> =
            self.instance.interfaces().filter(|it| !interfaces.contains_key(it)).collect();
        for gone in known {
            self.instance.remove_interface(now, gone, wanted);
        }
        for (id, kind) in &areas {
            self.instance.change_area(now, *id, *kind, wanted);
        }
        for settings in interfaces.into_values() {
            self.instance.change_interface(now, settings, wanted);
        }
        let gone = self.instance.areas().map(|(id, _)| id);
        let gone: Vec<u32> = gone.filter(|id| !areas.contains_key(id)).collect();
        for id in gone {
            self.instance.remove_area(now, id, wanted);
        }
    }

    /// The interfaces that the machine shall have.
    fn interfaces(&self) -> BTreeMap<u32, InterfaceSettings> {
        let made = self.section.interfaces().filter_map(|(area, it)| {
            let link = self.links.values().find(|link| link.name == it.name)?;
            let (address, length) = link.address?;
            let keys = it.key_file.as_ref().map(|file| self.keys.get(file));
            let authentication = match keys {
                None => Authentication::Null,
                // A file that could not be read lets nobody in.
                Some(chain) => chain.map_or(Authentication::Cryptographic(Vec::new()), |chain| {
                    chain.authentication()
                }),
            };
            let settings = InterfaceSettings {
                link: match it.network {
                    Network::Broadcast => LinkType::Broadcast,
                    Network::PointToPoint => LinkType::PointToPoint,
                },
                cost: it.cost,
                priority: it.priority,
                hello_s: it.hello_s,
                dead_s: it.dead_s,
                retransmit_s: it.retransmit_s,
                delay_s: it.transmit_delay_s,
                mtu: link.mtu,
                ignores_mtu: it.ignore_mtu,
                keeps_numbers: it.keep_numbers,
                is_passive: it.passive,
                authentication,
                ..InterfaceSettings::new(link.index, area.number(), address, length)
            };
            Some((link.index, settings))
        });
        made.collect()
    }

    /// Tells the machine which interfaces are up, and what is outside.
    pub(crate) fn raise(&mut self, now: Time, out: &mut Effects) {
        let speaking: Vec<u32> = self.instance.interfaces().collect();
        for index in speaking {
            let up = self.has_door && self.links.get(&index).is_some_and(|it| it.is_up);
            match (up, self.instance.is_up(index)) {
                (true, false) => self.input(now, In::InterfaceUp(index), out),
                (false, true) => {
                    self.input(now, In::InterfaceDown(index), out);
                    // That its neighbours are gone is the link's alarm.
                    self.lost.retain(|(of, _), _| *of != index);
                }
                (true, true) | (false, false) => {}
            }
        }
        self.tell_externals(now, out);
    }

    /// Tells the machine what differs of what is outside.
    fn tell_externals(&mut self, now: Time, out: &mut Effects) {
        let mut wanted: BTreeMap<Prefix, Redistributed> = BTreeMap::new();
        if let Some(it) = self.section.redistributed(Source::Default, DEFAULT) {
            wanted.insert(DEFAULT, it);
        }
        let is_up = |index: &u32| self.links.get(index).is_some_and(|it| it.is_up);
        let own: BTreeSet<Prefix> = self.spoken().collect();
        for it in &self.externals {
            let holds = it.by.is_empty() || it.by.iter().any(is_up);
            let is_said = own.contains(&it.prefix) || it.prefix == DEFAULT;
            if let Some(told) = self.section.redistributed(it.from, it.prefix)
                && holds
                && !is_said
            {
                wanted.entry(it.prefix).or_insert(told);
            }
        }
        let gone: Vec<Prefix> =
            self.told.keys().filter(|it| !wanted.contains_key(it)).copied().collect();
        for prefix in gone {
            self.told.remove(&prefix);
            self.input(now, In::WithdrawExternal(prefix), out);
        }
        for (prefix, it) in wanted {
            if self.told.insert(prefix, it) != Some(it) {
                self.input(now, In::Redistribute(prefix, it), out);
            }
        }
    }

    /// Subnets of interfaces of the section: they are said inside.
    fn spoken(&self) -> impl Iterator<Item = Prefix> {
        let links = self
            .section
            .interfaces()
            .filter_map(|(_, it)| self.links.values().find(|link| link.name == it.name));
        links.filter_map(Link::subnet)
    }

    /// The times of BFD on an interface.
    pub(crate) fn bfd_of(&self, interface: u32) -> Option<Bfd> {
        let name = &self.links.get(&interface)?.name;
        self.section.interfaces().find(|(_, it)| it.name == *name)?.1.bfd
    }

    /// Sessions of BFD as the section says.
    fn rewatch(&mut self, now: Time, out: &mut Effects) {
        let known: Vec<_> = self.since.iter().map(|(id, (_, state))| (*id, *state)).collect();
        for (id, state) in known {
            let times = self.bfd_of(id.0).filter(|_| state >= ospf::NeighbourState::TwoWay);
            let local = self.links.get(&id.0).and_then(|it| it.address).map(|it| it.0);
            self.watch.want(now, id, local, times);
        }
        self.send_bfd(out);
    }
}

impl Link {
    /// The subnet of its address.
    #[must_use]
    pub fn subnet(&self) -> Option<Prefix> {
        self.address.map(|(address, length)| Prefix::new(address.into(), length))
    }
}
