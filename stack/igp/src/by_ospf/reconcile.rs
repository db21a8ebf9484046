//! What the section says, and what surrounds the router, made true of the machine: the difference
//! is found, and no adjacency ends that need not.

use super::doubt::difference;
use super::{Id, OspfRouter};
use crate::around::{External, LinkState, Surroundings};
use crate::config::{Bfd, KeyChains, Network, Ospf, Redistribute, Repair, Source};
use machine::{Duration, Time};
use ospf::{
    Authentication, In, Instance, InterfaceSettings, Limits, LinkType, NeighbourState, Prefix,
    Redistributed,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// The default route.
const DEFAULT: Prefix = Prefix::new(0, 0);

impl Ospf {
    /// What the machine is told of the router.
    pub(crate) fn settings(&self) -> ospf::Settings {
        let lsas_of_router = usize::try_from(self.lsas_of_router_max).unwrap_or(usize::MAX);
        ospf::Settings {
            delays: self.spf.delays(),
            limits: Limits { lsas_of_router, ..Limits::default() },
            grace_max: Duration::from_secs(self.helper_s.into()),
            is_stub_router: self.stub_router,
            paths: self.paths.into(),
            repair: self.repair.and_then(Repair::method),
            ..ospf::Settings::new(self.router_id)
        }
    }

    fn redistributed(&self, from: Source, prefix: Prefix) -> Option<Redistributed> {
        let mut all = self.redistribute.iter().filter(|it| it.from == from);
        all.find(|it| it.takes(wide(prefix))).map(Redistribute::as_announced)
    }
}

impl Redistribute {
    fn as_announced(&self) -> Redistributed {
        Redistributed { metric: self.metric, is_type2: self.metric_type == 2, tag: self.tag }
    }
}

impl OspfRouter {
    /// Another section, other keys, other surroundings. What stays goes on.
    pub(crate) fn configure(
        &mut self,
        now: Time,
        section: Arc<Ospf>,
        keys: KeyChains,
        around: &Surroundings,
    ) {
        if section.router_id != self.section.router_id {
            self.begin_anew(now, &section);
        }
        self.section = section;
        self.keys = keys;
        self.links = around.links.iter().map(|link| (link.index, link.clone())).collect();
        let may_tell = |it: &&External| it.prefix.address.is_ipv4() && self.tells(it.distance);
        self.externals = around.externals.iter().filter(may_tell).cloned().collect();
        let settings = self.section.settings();
        let mut wanted = Vec::new();
        self.instance.change(now, settings, &mut wanted);
        self.doubts.forget();
        self.reconcile(now, &mut wanted);
        self.follow(now, wanted);
        self.doubts.anew.clear();
        self.raise(now);
        self.rewatch();
        let (links, instance) = (&self.links, &self.instance);
        let speaks = |id: u32| instance.interface(id).is_some() && links.contains_key(&id);
        self.history.lost.retain(|id, _| speaks(id.0));
    }

    /// Whether others are told of routes with that distance: they hold against what is learnt.
    fn tells(&self, distance: u8) -> bool {
        distance < self.section.distance
    }

    /// How links stand is another thing than it was.
    pub(crate) fn links(&mut self, now: Time, stands: &impl Fn(&str) -> LinkState) {
        let mut has_changed = false;
        for link in self.links.values_mut() {
            let up = stands(&link.name).is_up;
            has_changed |= up != link.is_up;
            link.is_up = up;
        }
        if has_changed {
            self.raise(now);
        }
    }

    /// Another number: nothing of before holds.
    fn begin_anew(&mut self, now: Time, section: &Ospf) {
        let speaking: Vec<u32> = self.links.keys().copied().collect();
        for index in speaking {
            self.doubts.anew.insert(index, "this router has another number");
            self.input(now, In::InterfaceDown(index));
        }
        self.doubts.anew.clear();
        self.forget_routes();
        self.instance = Instance::new(section.settings(), now);
        self.told.clear();
        self.history.forget();
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
            if self.instance.change_area(now, *id, *kind, wanted) {
                let of_area = interfaces.values().filter(|it| it.area == *id);
                let anew = of_area.map(|it| (it.index, "the kind of its area is another one"));
                self.doubts.anew.extend(anew);
            }
        }
        for settings in interfaces.into_values() {
            let old = self.instance.settings_of(settings.index);
            if let Some(old) = old.filter(|it| !it.outlives(&settings)) {
                self.doubts.anew.insert(settings.index, difference(old, &settings));
            }
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
                Some(chain) => {
                    chain.map_or(Authentication::Cryptographic(Vec::new()), |chain| chain.of_ospf())
                }
            };
            let settings = InterfaceSettings {
                link: match it.network {
                    Network::Broadcast => LinkType::Broadcast,
                    Network::PointToPoint => LinkType::PointToPoint,
                },
                // LSInfinity of a link (RFC 5443 §2).
                cost: if link.is_dear { u16::MAX } else { it.cost },
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
    pub(crate) fn raise(&mut self, now: Time) {
        let speaking: Vec<u32> = self.instance.interfaces().collect();
        for index in speaking {
            let up = self.is_open && self.links.get(&index).is_some_and(|it| it.is_up);
            match (up, self.instance.is_up(index)) {
                (true, false) => self.input(now, In::InterfaceUp(index)),
                (false, true) => {
                    self.input(now, In::InterfaceDown(index));
                    // That its neighbours are gone is the link's alarm.
                    self.history.lost.retain(|(of, _), _| *of != index);
                }
                (true, true) | (false, false) => {}
            }
        }
        self.tell_externals(now);
    }

    /// Tells the machine what differs of what is outside.
    fn tell_externals(&mut self, now: Time) {
        let mut wanted: BTreeMap<Prefix, Redistributed> = BTreeMap::new();
        if let Some(it) = self.section.redistributed(Source::Default, DEFAULT) {
            wanted.insert(DEFAULT, it);
        }
        let is_up = |index: &u32| self.links.get(index).is_some_and(|it| it.is_up);
        let own: BTreeSet<Prefix> = self.spoken().collect();
        for it in &self.externals {
            let holds = it.by.is_empty() || it.by.iter().any(is_up);
            let Some(prefix) = narrow(it.prefix) else { continue };
            let is_said = own.contains(&prefix) || prefix == DEFAULT;
            if let Some(told) = self.section.redistributed(it.from, prefix)
                && holds
                && !is_said
            {
                wanted.entry(prefix).or_insert(told);
            }
        }
        let gone: Vec<Prefix> =
            self.told.keys().filter(|it| !wanted.contains_key(it)).copied().collect();
        for prefix in gone {
            self.told.remove(&prefix);
            self.input(now, In::WithdrawExternal(prefix));
        }
        for (prefix, it) in wanted {
            if self.told.insert(prefix, it) != Some(it) {
                self.input(now, In::Redistribute(prefix, it));
            }
        }
    }

    /// Subnets of interfaces of the section: they are said inside.
    fn spoken(&self) -> impl Iterator<Item = Prefix> {
        let links = self
            .section
            .interfaces()
            .filter_map(|(_, it)| self.links.values().find(|link| link.name == it.name));
        let subnets = links.filter_map(|link| link.address);
        subnets.map(|(address, length)| Prefix::new(address.into(), length))
    }

    /// The times of BFD on an interface.
    pub(crate) fn bfd_of(&self, interface: u32) -> Option<Bfd> {
        let name = &self.links.get(&interface)?.name;
        self.section.interfaces().find(|(_, it)| it.name == *name)?.1.bfd.clone()
    }

    /// Sessions of BFD as the section says.
    fn rewatch(&mut self) {
        let known = self.history.since.iter().map(|(id, (_, state))| (*id, *state));
        let known: Vec<(Id, NeighbourState)> = known.collect();
        known.into_iter().for_each(|(id, state)| self.watch(id, state));
    }

    /// A neighbour that hears us is watched, where the section says so.
    pub(crate) fn watch(&mut self, id: Id, state: NeighbourState) {
        let times = self.bfd_of(id.0).filter(|_| state >= NeighbourState::TwoWay);
        let local = self.links.get(&id.0).and_then(|it| it.address).map(|it| it.0);
        self.wishes.watch(id, local, times);
    }
}

/// A prefix of any family.
pub(crate) fn wide(it: Prefix) -> isis::Prefix {
    isis::Prefix::new(Ipv4Addr::from(it.address).into(), it.length)
}

/// A prefix of IPv4, if it is one.
pub(crate) fn narrow(it: isis::Prefix) -> Option<Prefix> {
    match it.address {
        IpAddr::V4(address) => Some(Prefix::new(address.into(), it.length)),
        IpAddr::V6(_) => None,
    }
}
