//! Samples of interfaces' packets, and who is told of them.

use crate::collector;
use crate::node::{Sample, Samplings, check};
use graph::Plan;
use machine::narrow::place;
use nodes::Refused;
use nodes::arcs::{NAME_IP4_IN, NAME_IP6_IN, rank};
use nodes::feature::{Change, Feature, Join, Start, Worker};
use nodes::program::{Collector, Interface, Program, Removed, Sampling};
use std::collections::BTreeMap;
use table::epoch::Publisher;

/// The feature.
pub struct Sampler {
    samplings: BTreeMap<u32, Sampling>,
    /// `None`: samples are handed up.
    collector: Option<Collector>,
    out: Publisher<Samplings>,
    changed: bool,
}

impl Sampler {
    fn collector(&mut self, collector: Option<&Collector>) {
        self.collector = collector.cloned();
        self.changed = true;
    }

    fn join(&self, interface: u32, change: &mut Change<'_>) {
        let on = self.samplings.contains_key(&interface);
        change.join(NAME_IP4_IN, interface, "sample", on);
        change.join(NAME_IP6_IN, interface, "sample", on);
    }
}

impl Feature for Sampler {
    fn new(start: &Start<'_>) -> Self {
        let out = Publisher::new(start.domain, Samplings::default());
        Self { samplings: BTreeMap::new(), collector: None, out, changed: false }
    }

    fn name(&self) -> &'static str {
        "sampling"
    }

    fn apply(&mut self, program: &Program, change: &mut Change<'_>) -> Result<bool, Refused> {
        let conflict = |flaw: &str| Refused::Conflict(flaw.to_owned());
        match program {
            Program::Sampling(sampling) => {
                Refused::interface(sampling.interface)?;
                check(sampling).map_err(conflict)?;
                self.samplings.insert(sampling.interface, sampling.clone());
                self.changed = true;
                self.join(sampling.interface, change);
            }
            Program::Collector(collector) => {
                change.vrf(collector.vrf)?;
                collector::check(collector).map_err(conflict)?;
                self.collector(Some(collector));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn remove(&mut self, removed: &Removed, change: &mut Change<'_>) -> Result<bool, Refused> {
        match removed {
            Removed::Sampling(interface) => {
                self.samplings.remove(interface);
                self.changed = true;
                self.join(*interface, change);
            }
            Removed::Collector => self.collector(None),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn said(&self) -> Vec<Removed> {
        let samplings = self.samplings.keys().map(|at| Removed::Sampling(*at));
        samplings.chain(self.collector.iter().map(|_| Removed::Collector)).collect()
    }

    fn interface(
        &mut self,
        before: Option<&Interface>,
        after: Option<&Interface>,
        _: &mut Change<'_>,
    ) -> Result<(), Refused> {
        if let (Some(before), None) = (before, after) {
            self.changed |= self.samplings.remove(&before.index).is_some();
        }
        Ok(())
    }

    fn publish(&mut self, _: &BTreeMap<u32, Interface>) {
        if std::mem::take(&mut self.changed) {
            self.out.publish(Samplings::of(&self.samplings, self.collector.as_ref()));
        }
    }

    fn nodes(&mut self, worker: &Worker<'_>, plan: Plan) -> Plan {
        let seed = worker.shared.seed ^ place(worker.number);
        plan.node(Sample::new(self.out.published(), worker.number, seed))
    }

    fn joins(&self) -> Vec<Join> {
        let on = |arc| Join::On { arc, node: "sample", rank: rank::SAMPLE };
        vec![on(NAME_IP4_IN), on(NAME_IP6_IN)]
    }
}
