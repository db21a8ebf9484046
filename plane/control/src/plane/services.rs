//! Programs of labels, bridges, filters, policers, marking, queues and samples: the numbers of
//! hops are found, and interfaces get the features that they need.

use super::Plane;
use graph::{INTERFACES_MAX, PORTS_MAX};
use nodes::Refused;
use nodes::arcs::{NAME_BRIDGE_IN, NAME_CONNECT_IN, NAME_IP4_IN, NAME_IP6_IN, NAME_OUT};
use nodes::l2::bridge;
use nodes::qos::policing::Coloured;
use program::{
    BridgeMember, Direction, Family, Filter, FilterUse, LabelAction, Program, Removed, StaticMac,
    Verdict,
};
use scheduler::QueuePrograms;
use std::sync::Arc;
use table::mac::{Entry, MacKey};

/// The arcs of packets that come in.
const IN: [&str; 4] = [NAME_IP4_IN, NAME_IP6_IN, NAME_CONNECT_IN, NAME_BRIDGE_IN];

/// The interface or port of a program is one that can be: what workers read is indexed by it.
fn in_range(program: &Program) -> Result<(), Refused> {
    let (what, at, end) = match program {
        Program::FilterUse(used) => ("interface", used.interface, INTERFACES_MAX),
        Program::PolicerUse(used) => ("interface", used.interface, INTERFACES_MAX),
        Program::Marking(marking) => ("interface", marking.interface, INTERFACES_MAX),
        Program::Sampling(sampling) => ("interface", sampling.interface, INTERFACES_MAX),
        Program::StaticMac(StaticMac { member: BridgeMember::Interface(interface), .. }) => {
            ("interface", *interface, INTERFACES_MAX)
        }
        Program::Scheduler(scheduler) => ("port", scheduler.port.into(), PORTS_MAX),
        _ => return Ok(()),
    };
    let (number, limit) = (u64::from(at), end as u64 - 1);
    if number <= limit { Ok(()) } else { Err(Refused::Number { what, number, limit }) }
}

impl Plane {
    pub(super) fn service(&mut self, program: &Program) -> Result<(), Refused> {
        in_range(program)?;
        match program {
            Program::Label { label, action } => self.label(*label, action),
            Program::Bridge(bridge) => self.services.bridge(bridge),
            Program::Pseudowire(wire) => {
                let hop = self.numbers.of(wire.hop)?;
                self.services.pseudowire(wire, hop)
            }
            Program::StaticMac(mac) => self.services.static_mac(mac),
            Program::Filter(filter) => self.filter(filter),
            Program::FilterUse(used) => self.filter_use(used),
            Program::Policer(policer) => self.services.policer(policer),
            Program::PolicerUse(used) => {
                self.services.policer_use(used)?;
                self.policing(used.interface, used.direction)
            }
            Program::Marking(marking) => {
                self.services.marking(marking)?;
                self.marking(marking.interface)
            }
            Program::Scheduler(scheduler) => {
                let queues = scheduler::Config::of(scheduler);
                let queues = queues.map_err(|why| Refused::Conflict(why.to_string()))?;
                let set = self.services.queues.set(scheduler.port, Some(&queues));
                set.map_err(|why| Refused::Conflict(why.to_string()))
            }
            Program::Sampling(sampling) => {
                self.services.sampling(sampling)?;
                self.sampling(sampling.interface)
            }
            Program::Collector(collector) => {
                if !self.vrfs.has(collector.vrf) {
                    return Err(Refused::Missing { what: "vrf", number: collector.vrf.into() });
                }
                self.services.collector(Some(collector))
            }
            _ => Err(Refused::Conflict("no program of services".to_owned())),
        }
    }

    pub(super) fn remove_service(&mut self, removed: &Removed) -> Result<(), Refused> {
        match removed {
            Removed::Label(label) => return self.services.label(*label, None),
            Removed::Bridge(bridge) => self.services.remove_bridge(*bridge),
            Removed::Pseudowire(wire) => self.services.remove_pseudowire(*wire),
            Removed::StaticMac(bridge, mac) => self.services.remove_static_mac(*bridge, *mac),
            Removed::Filter(filter) => self.services.remove_filter(*filter),
            Removed::FilterUse(interface, direction, family) => {
                self.services.remove_filter_use((*interface, *direction, *family));
                return self.filtering(*interface, *direction, *family);
            }
            Removed::Policer(policer) => self.services.remove_policer(*policer),
            Removed::PolicerUse(interface, direction, class) => {
                self.services.remove_policer_use((*interface, *direction, *class));
                return self.policing(*interface, *direction);
            }
            Removed::Marking(interface) => {
                self.services.remove_marking(*interface);
                return self.marking(*interface);
            }
            Removed::Scheduler(port) => {
                let set = self.services.queues.set(*port, None);
                return set.map_err(|why| Refused::Conflict(why.to_string()));
            }
            Removed::Collector => return self.services.collector(None),
            Removed::Sampling(interface) => {
                self.services.remove_sampling(*interface);
                return self.sampling(*interface);
            }
            _ => return Err(Refused::Conflict("no program of services".to_owned())),
        }
        Ok(())
    }

    fn label(&mut self, label: u32, action: &LabelAction) -> Result<(), Refused> {
        let hop = match action {
            LabelAction::Forward { hop, .. } => self.numbers.of(*hop)?,
            LabelAction::PopVrf { vrf, .. } if !self.vrfs.has(*vrf) => {
                return Err(Refused::Missing { what: "vrf", number: (*vrf).into() });
            }
            _ => 0,
        };
        self.services.label(label, Some((action, hop)))
    }

    /// Hops in verdicts are those of the table from here on.
    fn filter(&mut self, filter: &Filter) -> Result<(), Refused> {
        let mut filter = filter.clone();
        for rule in &mut filter.rules {
            if let Verdict::Redirect(hop) = &mut rule.verdict {
                *hop = self.numbers.of(*hop)?;
            }
        }
        self.services.filter(&filter)
    }

    fn filter_use(&mut self, used: &FilterUse) -> Result<(), Refused> {
        let family = self.services.filter_use(used)?;
        if let Some(sweep) = &mut self.sweep {
            sweep.named(Removed::FilterUse(used.interface, used.direction, family));
        }
        self.filtering(used.interface, used.direction, family)
    }

    fn filtering(&mut self, at: u32, direction: Direction, family: Family) -> Result<(), Refused> {
        if direction == Direction::Out {
            let on = self.services.filters(at, direction, None);
            return self.feature(NAME_OUT, at, ("filter-out", on));
        }
        let on = self.services.filters(at, direction, Some(family));
        match family {
            Family::Ip4 => self.feature(NAME_IP4_IN, at, ("ip4-filter", on)),
            Family::Ip6 => self.feature(NAME_IP6_IN, at, ("ip6-filter", on)),
            Family::Ethernet => {
                self.feature(NAME_CONNECT_IN, at, ("l2-filter", on))?;
                self.feature(NAME_BRIDGE_IN, at, ("l2-filter", on))
            }
        }
    }

    fn policing(&mut self, at: u32, direction: Direction) -> Result<(), Refused> {
        let on = self.services.polices(at, direction);
        match direction {
            Direction::In => {
                IN.iter().try_for_each(|arc| self.feature(arc, at, ("policer-in", on)))
            }
            Direction::Out => self.feature(NAME_OUT, at, ("policer-out", on)),
        }
    }

    fn marking(&mut self, at: u32) -> Result<(), Refused> {
        let on = self.services.marks(at);
        IN.iter().try_for_each(|arc| self.feature(arc, at, ("classify", on)))?;
        self.feature(NAME_OUT, at, ("mark-out", on))
    }

    fn sampling(&mut self, at: u32) -> Result<(), Refused> {
        let on = self.services.samples(at);
        self.feature(NAME_IP4_IN, at, ("sample", on))?;
        self.feature(NAME_IP6_IN, at, ("sample", on))
    }

    /// What the rules of a filter have counted, of all workers: packets and octets of each rule,
    /// and last of what no rule matched. `None`: there is no such filter.
    #[must_use]
    pub fn filter_counters(&self, filter: u32) -> Option<Vec<(u64, u64)>> {
        self.services.filter_counters(filter)
    }

    /// What a policer has counted: packets and octets, green, yellow and red.
    #[must_use]
    pub fn policer_counters(&self, policer: u32) -> Option<Coloured> {
        self.services.policer_counters(policer)
    }

    /// MAC addresses that a bridge domain has learnt or was told.
    #[must_use]
    pub fn macs(&self, bridge: u32) -> u32 {
        self.services.macs.bridge_len(bridge::number(bridge))
    }

    /// Where a MAC address of a bridge domain is.
    #[must_use]
    pub fn mac(&self, bridge: u32, mac: [u8; 6]) -> Entry {
        self.services.macs.entry(MacKey::new(bridge::number(bridge), mac))
    }

    /// The queues of all ports: each worker's loop has a `Schedulers` of them.
    #[must_use]
    pub fn queues(&self) -> Arc<QueuePrograms> {
        Arc::clone(&self.services.queues)
    }
}
