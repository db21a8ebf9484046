//! Features: programs go to the one whose they are, what it wants done is done, and its nodes go
//! into the workers' graphs.

use super::Plane;
use super::hops::Numbers;
use crate::features::{Bridging, KnownMac, PortQueues, Traffic};
use graph::Plan;
use machine::narrow::place;
use nodes::Refused;
use nodes::arcs::arcs;
use nodes::feature::{Change, Feature, Join, Joined, Known, Wanted, Worker};
use nodes::plan::trunk;
use nodes::qos::policing::Coloured;
use nodes::view::Shared;
use program::{CLASSES_FROM, Class, Interface, Program, Removed};
use scheduler::QueuePrograms;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use table::mac::Entry;
use table::vrf::Vrfs;

/// A class of packets that leave the graph upward, as whoever wants them names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handed {
    /// `bgp`, of the control plane's protection; `feature/name`, of a feature.
    pub name: String,
    /// What stands in `Meta::words[0]`.
    pub number: u32,
    /// The node that takes packets of the class down.
    pub down: Option<&'static str>,
}

/// Said of a node on an arc: the control process wants it there.
const SAID: u8 = 1;
/// Its feature does.
const JOINED: u8 = 2;

/// What features may ask of the plane's own tables.
struct Tables<'a> {
    numbers: &'a Numbers,
    vrfs: &'a Vrfs,
}

impl Known for Tables<'_> {
    fn hop(&self, id: u32) -> Result<u32, Refused> {
        self.numbers.of(id)
    }

    fn has_vrf(&self, vrf: u32) -> bool {
        self.vrfs.has(vrf)
    }
}

/// All nodes of a worker, and the arcs between them.
pub(super) fn plan(features: &mut [Box<dyn Feature>], shared: &Shared, number: usize) -> Plan {
    let mut first_class = CLASSES_FROM;
    let plan = features.iter_mut().fold(trunk(shared), |plan, feature| {
        let worker = Worker { shared, number, first_class };
        first_class = first_class.saturating_add(place(feature.classes().len()));
        feature.nodes(&worker, plan)
    });
    let joins: Vec<Join> = features.iter().flat_map(|feature| feature.joins()).collect();
    arcs(&joins).into_iter().fold(plan, Plan::arc)
}

impl Plane {
    /// Hands a program to the feature whose it is.
    pub(super) fn tell_feature(&mut self, program: &Program) -> Result<(), Refused> {
        let name = match program {
            Program::Item(item) => Some(item.feature.as_str()),
            _ => None,
        };
        self.first(name, |feature, change| feature.apply(program, change))
    }

    /// Has the feature whose it is take something away.
    pub(super) fn remove_from_feature(&mut self, removed: &Removed) -> Result<(), Refused> {
        let name = match removed {
            Removed::Item(feature, _) => Some(feature.as_str()),
            _ => None,
        };
        self.first(name, |feature, change| feature.remove(removed, change))
    }

    /// The first feature that says that it was meant, of those of this name if there is one.
    fn first(
        &mut self,
        name: Option<&str>,
        mut told: impl FnMut(&mut dyn Feature, &mut Change<'_>) -> Result<bool, Refused>,
    ) -> Result<(), Refused> {
        let tables = Tables { numbers: &self.numbers, vrfs: &self.vrfs };
        let mut change = Change::new(&tables, self.now);
        let mut meant = false;
        for feature in &mut self.features {
            if name.is_none_or(|name| name == feature.name()) {
                meant = told(&mut **feature, &mut change)?;
            }
            if meant {
                break;
            }
        }
        let wanted = change.wanted();
        if !meant {
            let name = name.unwrap_or("that takes this");
            return Err(Refused::Conflict(format!("there is no feature {name}")));
        }
        self.fulfil(wanted)
    }

    /// All features hear of an interface that is there, is another one, or is gone. If one refuses,
    /// those before it hear that all is as it was.
    pub(super) fn tell_interface(
        &mut self,
        before: Option<&Interface>,
        after: Option<&Interface>,
    ) -> Result<(), Refused> {
        let tables = Tables { numbers: &self.numbers, vrfs: &self.vrfs };
        let mut change = Change::new(&tables, self.now);
        for at in 0..self.features.len() {
            if let Err(why) = self.features[at].interface(before, after, &mut change) {
                for told in &mut self.features[..at] {
                    // What stood before stood already.
                    let _ = told.interface(after, before, &mut change);
                }
                return Err(why);
            }
        }
        let wanted = change.wanted();
        self.fulfil(wanted)
    }

    fn fulfil(&mut self, wanted: Wanted) -> Result<(), Refused> {
        if let Some(sweep) = &mut self.sweep {
            wanted.names.into_iter().for_each(|name| sweep.named(name));
        }
        wanted.joins.iter().try_for_each(|joined| self.join(joined))
    }

    pub(super) fn publish_features(&mut self) {
        self.features.iter_mut().for_each(|feature| feature.publish(&self.links));
    }

    /// The nodes that the control process wants an interface's packets to pass on an arc, beside
    /// those that features want there.
    pub(super) fn said_features(
        &mut self,
        arc: &str,
        interface: u32,
        features: &[String],
    ) -> Result<(), Refused> {
        let known = self.joined.get(&(arc.to_owned(), interface)).cloned().unwrap_or_default();
        let known = known.into_iter().filter(|(_, why)| why & JOINED != 0);
        let mut wanted: BTreeMap<String, u8> = known.map(|(name, _)| (name, JOINED)).collect();
        for feature in features {
            *wanted.entry(feature.clone()).or_default() |= SAID;
        }
        self.set_joined(arc, interface, wanted)
    }

    /// The arcs on which the control process wants nodes, by interface.
    pub(super) fn arcs_said(&self) -> impl Iterator<Item = Removed> {
        let said = self.joined.iter().filter(|(_, all)| all.values().any(|why| why & SAID != 0));
        said.map(|((arc, link), _)| Removed::Features(arc.clone(), *link))
    }

    /// A node that the control process wants stays.
    fn join(&mut self, joined: &Joined) -> Result<(), Refused> {
        let known = self.joined.get(&(joined.arc.to_owned(), joined.interface));
        let mut wanted = known.cloned().unwrap_or_default();
        let why = wanted.entry(joined.node.to_owned()).or_default();
        *why = if joined.on { *why | JOINED } else { *why & SAID };
        wanted.retain(|_, why| *why != 0);
        self.set_joined(joined.arc, joined.interface, wanted)
    }

    pub(super) fn set_joined(
        &mut self,
        arc: &str,
        interface: u32,
        wanted: BTreeMap<String, u8>,
    ) -> Result<(), Refused> {
        let names: Vec<&str> = wanted.keys().map(String::as_str).collect();
        self.chains.set(arc, interface, &names)?;
        self.changed.chains = true;
        match wanted.is_empty() {
            true => self.joined.remove(&(arc.to_owned(), interface)),
            false => self.joined.insert((arc.to_owned(), interface), wanted),
        };
        Ok(())
    }

    /// All classes of packets that leave the graph upward.
    pub fn handed(&self) -> impl Iterator<Item = Handed> {
        let own = Class::ALL.into_iter().map(|(name, class)| Handed {
            name: name.to_owned(),
            number: class as u32,
            down: None,
        });
        let of_features = self.features.iter().flat_map(|feature| {
            let name = feature.name();
            feature.classes().into_iter().map(move |class| (name, class))
        });
        let of_features = (CLASSES_FROM..).zip(of_features).map(|(number, (feature, class))| {
            Handed { name: format!("{feature}/{}", class.name), number, down: class.down }
        });
        own.chain(of_features)
    }

    /// A feature by its type, for whoever asks what it has counted.
    #[must_use]
    pub fn feature<F: Feature>(&self) -> Option<&F> {
        self.features.iter().find_map(|feature| {
            let any: &dyn Any = &**feature;
            any.downcast_ref()
        })
    }

    /// Numbers of all filters.
    pub fn filters(&self) -> impl Iterator<Item = u32> {
        self.feature::<Traffic>().into_iter().flat_map(Traffic::filters)
    }

    /// What the rules of a filter have counted, of all workers: packets and octets of each rule,
    /// and last of what no rule matched. `None`: there is no such filter.
    #[must_use]
    pub fn filter_counters(&self, filter: u32) -> Option<Vec<(u64, u64)>> {
        self.feature::<Traffic>()?.filter_counters(filter)
    }

    /// What a policer has counted: packets and octets, green, yellow and red.
    #[must_use]
    pub fn policer_counters(&self, policer: u32) -> Option<Coloured> {
        self.feature::<Traffic>()?.policer_counters(policer)
    }

    /// MAC addresses that a bridge domain has learnt or was told.
    #[must_use]
    pub fn macs(&self, bridge: u32) -> u32 {
        self.feature::<Bridging>().map_or(0, |bridging| bridging.macs(bridge))
    }

    /// Calls `each` with MAC addresses of all bridge domains, in no order, from a place of their
    /// table on, and looks at `places` at most. `each` says whether it took the address; if not,
    /// that is where to go on. The place where the next call goes on; `None`: that was all.
    pub fn walk_macs(
        &self,
        from: usize,
        places: usize,
        each: impl FnMut(KnownMac) -> bool,
    ) -> Option<usize> {
        self.feature::<Bridging>()?.walk_macs(self.now, from, places, each)
    }

    /// Where a MAC address of a bridge domain is.
    #[must_use]
    pub fn mac(&self, bridge: u32, mac: [u8; 6]) -> Entry {
        self.feature::<Bridging>().map_or(Entry::UNKNOWN, |bridging| bridging.mac(bridge, mac))
    }

    /// The queues of all ports: each worker's loop has a `Schedulers` of them.
    #[must_use]
    pub fn queues(&self) -> Arc<QueuePrograms> {
        self.feature::<PortQueues>().map(PortQueues::programs).unwrap_or_default()
    }
}
