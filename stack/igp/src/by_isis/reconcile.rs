//! What the section says, and what surrounds the router, made true of the machine: the difference
//! is found, and no adjacency ends that need not.

use super::doubt::difference;
use super::{IsisRouter, settings_of};
use crate::around::{Link, LinkState, Surroundings};
use crate::config::{Advertise, Isis, IsisInterface, KeyChains, Network, Repair, Source};
use crate::frame::PDU_OCTETS_MAX;
use isis::{
    Advertised, Authentication, CircuitSettings, In, Instance, Leaking, Levels, Limits, LinkType,
    Prefix, Settings, Snpa,
};
use machine::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// Octets in front of a PDU in its frame.
const LLC_OCTETS: u16 = 3;
/// The greatest cost of a link that still leads on (RFC 5443 §2, RFC 5305 §3).
const METRIC_MAX: u32 = 0x00FF_FFFE;
/// Octets of the longest LSP that is said (originatingL1LSPBufferSize).
const LSP_OCTETS: u16 = 1_492;

/// Settings as a section has them, but for keys and what interfaces bear.
pub(super) fn apply(section: &Isis, function: &str, settings: &mut Settings) {
    let most = usize::try_from(section.lsps_of_system_max).unwrap_or(usize::MAX);
    settings.levels = section.level.levels();
    settings.hostname = section.hostname.clone().unwrap_or_else(|| function.to_owned());
    settings.hostname.truncate(settings.hostname.floor_char_boundary(255));
    settings.leaking = if section.leak { Leaking::All } else { Leaking::None };
    settings.is_overloaded = section.overload;
    settings.delays = section.spf.delays();
    settings.limits = Limits { lsps_of_system: most, ..Limits::default() };
    settings.paths = section.paths.into();
    settings.repair = section.repair.and_then(Repair::method);
    settings.helps_restart = section.helper;
}

impl Isis {
    fn advertised(&self, from: Source, prefix: Prefix) -> Option<Advertised> {
        let mut all = self.redistribute.iter().filter(|it| it.from == from);
        let found = all.find(|it| it.takes(prefix))?;
        Some(found.as_advertised(self.level.levels()))
    }
}

impl Advertise {
    fn as_advertised(&self, levels: Levels) -> Advertised {
        let tag = Some(self.tag).filter(|it| *it != 0);
        Advertised { metric: self.metric, is_external: true, tag, sid: None, levels }
    }
}

impl IsisRouter {
    /// Another section, other keys, other surroundings. What stays goes on.
    pub(crate) fn configure(
        &mut self,
        now: Time,
        section: Arc<Isis>,
        keys: KeyChains,
        around: &Surroundings,
    ) {
        if section.title() != self.section.title() || section.level != self.section.level {
            self.begin_anew(now, &section);
        }
        self.section = section;
        self.keys = keys;
        self.links = around.links.iter().map(|link| (link.index, link.clone())).collect();
        let own = self.section.distance;
        let all = around.externals.iter().filter(|it| it.distance < own);
        self.externals = all.cloned().collect();
        let mut wanted = Vec::new();
        self.doubts.forget();
        self.reconcile(now, &mut wanted);
        self.follow(now, wanted);
        self.doubts.anew.clear();
        self.raise(now);
        self.rewatch(now);
        let (links, instance) = (&self.links, &self.instance);
        let speaks = |id: u32| instance.settings_of(id).is_some() && links.contains_key(&id);
        self.history.lost.retain(|id, _| speaks(id.0));
    }

    /// How links stand is another thing than it was.
    pub(crate) fn links(&mut self, now: Time, stands: &impl Fn(&str) -> LinkState) {
        let (mut has_changed, mut is_elsewhere) = (false, false);
        for link in self.links.values_mut() {
            let LinkState { is_up, mac } = stands(&link.name);
            has_changed |= is_up != link.is_up;
            is_elsewhere |= mac != link.mac;
            (link.is_up, link.mac) = (is_up, mac);
        }
        if is_elsewhere {
            let mut wanted = Vec::new();
            self.reconcile(now, &mut wanted);
            self.follow(now, wanted);
            self.doubts.anew.clear();
        }
        if has_changed || is_elsewhere {
            self.raise(now);
        }
    }

    /// Another title: nothing of before holds.
    fn begin_anew(&mut self, now: Time, section: &Isis) {
        let speaking: Vec<u32> = self.instance.circuits().collect();
        for index in speaking {
            self.doubts.anew.insert(index, "this router has another title or level");
            self.input(now, In::CircuitDown(index));
        }
        self.doubts.anew.clear();
        self.forget_routes();
        let settings = settings_of(section, &self.function);
        self.instance = Instance::new(settings, now).expect("the section was found valid");
        self.told.clear();
        self.history.forget();
    }

    /// Settings and circuits as the section says.
    fn reconcile(&mut self, now: Time, wanted: &mut Vec<isis::Out>) {
        let circuits = self.circuits();
        let known: BTreeSet<u32> =
            self.instance.circuits().filter(|it| !circuits.contains_key(it)).collect();
        known.into_iter().for_each(|gone| self.instance.remove_circuit(now, gone, wanted));
        let speaking = circuits.values().filter(|it| !it.is_passive);
        let narrowest = speaking.map(|it| it.mtu).min().unwrap_or(LSP_OCTETS);
        let authentication = self.keys_of(self.section.key_file.as_ref());
        let settings = Settings {
            lsp_octets: narrowest.min(LSP_OCTETS),
            authentication: [authentication.clone(), authentication],
            ..settings_of(&self.section, &self.function)
        };
        let refused = self.instance.change(now, settings, wanted).err();
        let refused = refused.map(|why| (String::new(), why));
        for circuit in circuits.values() {
            let old = self.instance.settings_of(circuit.index);
            if let Some(old) = old.filter(|it| !it.outlives(circuit)) {
                self.doubts.anew.insert(circuit.index, difference(old, circuit));
            }
        }
        let all = circuits.into_values().filter_map(|circuit| {
            let name = self.name_of(circuit.index).to_owned();
            Some((name, self.instance.change_circuit(now, circuit, wanted).err()?))
        });
        let refused: Vec<_> = all.chain(refused).collect();
        for (interface, why) in refused {
            let (function, why) = (&*self.function, why.name());
            tracing::error!(target: "igp", function, interface, why, "IS-IS does not take that");
        }
    }

    /// The keys of a file; none is named: no proof. A file that could not be read lets nobody in.
    fn keys_of(&self, file: Option<&String>) -> Authentication {
        let Some(file) = file else { return Authentication::Null };
        let chain = self.keys.get(file);
        chain.map_or_else(|| Authentication::Cryptographic(Vec::new()), |it| it.of_isis())
    }

    /// The circuits that the machine shall have.
    fn circuits(&self) -> BTreeMap<u32, CircuitSettings> {
        let made = self.section.interface.iter().filter_map(|it| {
            let link = self.links.values().find(|link| link.name == it.name)?;
            Some((link.index, self.circuit(it, link)?))
        });
        made.collect()
    }

    /// The circuit of an interface, once its MAC address is known: it is its address there.
    fn circuit(&self, it: &IsisInterface, link: &Link) -> Option<CircuitSettings> {
        let snpa = match link.mac {
            Some(mac) => Snpa(mac),
            None if it.passive => Snpa::default(),
            None => return None,
        };
        let is_near = |address: &IpAddr| match address {
            IpAddr::V6(it) => it.is_unicast_link_local(),
            IpAddr::V4(_) => false,
        };
        let addresses = link.addresses.iter().filter(|it| !is_near(&it.0)).take(32);
        Some(CircuitSettings {
            link: match it.network {
                Network::Broadcast => LinkType::Broadcast,
                Network::PointToPoint => LinkType::PointToPoint,
            },
            levels: self.section.levels_of(it),
            metric: if link.is_dear { METRIC_MAX } else { it.metric },
            priority: it.priority,
            hello_s: it.hello_s,
            multiplier: it.multiplier,
            mtu: link.mtu.saturating_sub(LLC_OCTETS).min(PDU_OCTETS_MAX),
            addresses: addresses.copied().collect(),
            link_local: link_local(link),
            is_passive: it.passive,
            pads_hellos: it.pad_hellos,
            authentication: self.keys_of(it.key_file.as_ref()),
            ..CircuitSettings::new(link.index, snpa)
        })
    }

    /// Tells the machine which circuits are up, and what is outside.
    pub(super) fn raise(&mut self, now: Time) {
        let speaking: Vec<u32> = self.instance.circuits().collect();
        for index in speaking {
            let up = self.is_open && self.links.get(&index).is_some_and(|it| it.is_up);
            match (up, self.instance.is_up(index)) {
                (true, false) => self.input(now, In::CircuitUp(index)),
                (false, true) => {
                    self.input(now, In::CircuitDown(index));
                    // That its neighbours are gone is the link's alarm.
                    self.history.lost.retain(|of, _| of.0 != index);
                }
                (true, true) | (false, false) => {}
            }
        }
        self.tell_externals(now);
    }

    /// Tells the machine what differs of what is outside.
    fn tell_externals(&mut self, now: Time) {
        let mut wanted: BTreeMap<Prefix, Advertised> = BTreeMap::new();
        let spoken: BTreeSet<Prefix> = self
            .instance
            .circuits()
            .filter_map(|it| self.instance.settings_of(it))
            .flat_map(CircuitSettings::prefixes)
            .collect();
        let has_ipv6 = spoken.iter().any(Prefix::is_ipv6);
        let v4 = Prefix::new(Ipv4Addr::UNSPECIFIED.into(), 0);
        let v6 = Prefix::new(Ipv6Addr::UNSPECIFIED.into(), 0);
        for default in [Some(v4), Some(v6).filter(|_| has_ipv6)].into_iter().flatten() {
            if let Some(it) = self.section.advertised(Source::Default, default) {
                wanted.insert(default, it);
            }
        }
        let is_up = |index: &u32| self.links.get(index).is_some_and(|it| it.is_up);
        for it in &self.externals {
            let holds = it.by.is_empty() || it.by.iter().any(is_up);
            let is_said = spoken.contains(&it.prefix) || it.prefix.length == 0;
            if let Some(told) = self.section.advertised(it.from, it.prefix)
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
            self.input(now, In::WithdrawAdvertised(prefix));
        }
        for (prefix, it) in wanted {
            if self.told.insert(prefix, it) != Some(it) {
                self.input(now, In::Advertise(prefix, it));
            }
        }
    }
}

/// The link-local address of a link that has IPv6: its own, or what the plane makes of its MAC.
fn link_local(link: &Link) -> Option<Ipv6Addr> {
    let ipv6 = || {
        link.addresses.iter().filter_map(|(address, _)| match address {
            IpAddr::V6(it) => Some(*it),
            IpAddr::V4(_) => None,
        })
    };
    let own = ipv6().find(Ipv6Addr::is_unicast_link_local);
    let made = link.mac.filter(|_| ipv6().next().is_some()).map(nodes::addresses::link_local);
    own.or(made)
}
