//! Filters and policers, which are one feature because rules name policers and share their
//! buckets.

use graph::Plan;
use machine::Time;
use nodes::Refused;
use nodes::arcs::{
    NAME_BRIDGE_IN, NAME_CONNECT_IN, NAME_IP4_IN, NAME_IP6_IN, NAME_OUT, RECEIVED, rank,
};
use nodes::feature::{Change, Feature, Join, Start, Worker};
use nodes::qos::filtering::{Compiled, FILTERS_MAX, Filters};
use nodes::qos::policing::{Bank, Coloured, POLICERS_MAX, Policers, Row};
use nodes::qos::{FilterNode, PolicerNode, Stage, TrafficViews};
use program::{
    Direction, Family, Filter, FilterUse, Interface, Policer, PolicerUse, Program, Removed, Verdict,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use table::epoch::Publisher;

/// Interface, direction, family: who passes a filter.
type FilterKey = (u32, Direction, Family);
/// Interface, direction, one class or all: who passes a policer.
type PolicerKey = (u32, Direction, Option<u8>);

/// The feature.
pub(crate) struct Traffic {
    /// Hops in verdicts are those of the table.
    filters: BTreeMap<u32, Filter>,
    compiled: BTreeMap<u32, Arc<Compiled>>,
    filter_uses: BTreeMap<FilterKey, FilterUse>,
    filters_out: Publisher<Filters>,
    policers: BTreeMap<u32, (Policer, Arc<Row>)>,
    policer_uses: BTreeMap<PolicerKey, PolicerUse>,
    policers_out: Publisher<Policers>,
    workers: usize,
    /// Counts rows and publishings of policers: workers see by it what is new.
    serial: u64,
    filters_changed: bool,
    policers_changed: bool,
}

impl Traffic {
    fn filter(&mut self, filter: &Filter, change: &Change<'_>) -> Result<(), Refused> {
        let mut filter = filter.clone();
        for rule in &mut filter.rules {
            if let Verdict::Redirect(hop) = &mut rule.verdict {
                *hop = change.hop(*hop)?;
            }
        }
        Refused::above("filter", filter.filter, FILTERS_MAX - 1)?;
        let compiled = Compiled::new(&filter, self.workers);
        let compiled = compiled.map_err(|flaw| Refused::Conflict(flaw.to_string()))?;
        self.compiled.insert(filter.filter, Arc::new(compiled));
        self.filters.insert(filter.filter, filter);
        self.filters_changed = true;
        Ok(())
    }

    /// A filter is gone: its users pass no filter.
    fn remove_filter(&mut self, filter: u32) {
        self.filters.remove(&filter);
        self.compiled.remove(&filter);
        self.filters_changed = true;
    }

    fn filter_use(&mut self, used: &FilterUse, change: &mut Change<'_>) -> Result<(), Refused> {
        Refused::interface(used.interface)?;
        let missing = Refused::Missing { what: "filter", number: u64::from(used.filter) };
        let family = self.filters.get(&used.filter).ok_or(missing)?.family;
        let key = (used.interface, used.direction, family);
        self.filter_uses.insert(key, used.clone());
        self.filters_changed = true;
        change.named(Removed::FilterUse(used.interface, used.direction, family));
        self.join_filter(key, change);
        Ok(())
    }

    /// The nodes of filters of a direction and family.
    fn join_filter(&self, at_filter: FilterKey, change: &mut Change<'_>) {
        let (at, direction, family) = at_filter;
        let mut keys = self.filter_uses.keys();
        if direction == Direction::Out {
            let on = keys.any(|key| key.0 == at && key.1 == direction);
            return change.join(NAME_OUT, at, "filter-out", on);
        }
        let on = keys.any(|key| *key == (at, direction, family));
        match family {
            Family::Ip4 => change.join(NAME_IP4_IN, at, "ip4-filter", on),
            Family::Ip6 => change.join(NAME_IP6_IN, at, "ip6-filter", on),
            Family::Ethernet => {
                change.join(NAME_CONNECT_IN, at, "l2-filter", on);
                change.join(NAME_BRIDGE_IN, at, "l2-filter", on);
            }
        }
    }

    fn policer(&mut self, policer: &Policer, now: Time) -> Result<(), Refused> {
        Refused::above("policer", policer.policer, POLICERS_MAX - 1)?;
        let known = self.policers.get(&policer.policer);
        if known.is_some_and(|(before, _)| before == policer) {
            return Ok(());
        }
        self.serial += 1;
        let row = Row::new(policer, self.serial, self.workers, now);
        let row = row.map_err(|flaw| Refused::Conflict(format!("policer: {flaw:?}")))?;
        self.policers.insert(policer.policer, (policer.clone(), Arc::new(row)));
        self.policers_changed = true;
        Ok(())
    }

    fn policer_use(&mut self, used: &PolicerUse, change: &mut Change<'_>) -> Result<(), Refused> {
        Refused::interface(used.interface)?;
        if !self.policers.contains_key(&used.policer) {
            return Err(Refused::Missing { what: "policer", number: u64::from(used.policer) });
        }
        self.policer_uses.insert((used.interface, used.direction, used.class), used.clone());
        self.policers_changed = true;
        self.join_policer(used.interface, used.direction, change);
        Ok(())
    }

    /// The nodes of policers of a direction.
    fn join_policer(&self, at: u32, direction: Direction, change: &mut Change<'_>) {
        let (from, to) = ((at, direction, None), (at, direction, Some(u8::MAX)));
        let on = self.policer_uses.range(from..=to).next().is_some();
        match direction {
            Direction::In => {
                RECEIVED.into_iter().for_each(|arc| change.join(arc, at, "policer-in", on));
            }
            Direction::Out => change.join(NAME_OUT, at, "policer-out", on),
        }
    }

    /// Numbers of all filters.
    pub(crate) fn filters(&self) -> impl Iterator<Item = u32> {
        self.filters.keys().copied()
    }

    /// What the rules of a filter have counted: packets and octets of each, and last of what no
    /// rule matched.
    pub(crate) fn filter_counters(&self, filter: u32) -> Option<Vec<(u64, u64)>> {
        self.compiled.get(&filter).map(|compiled| compiled.counted())
    }

    /// What a policer has counted: packets and octets, green, yellow, red.
    pub(crate) fn policer_counters(&self, policer: u32) -> Option<Coloured> {
        self.policers.get(&policer).map(|(_, row)| row.counted())
    }
}

impl Feature for Traffic {
    fn new(start: &Start<'_>) -> Self {
        Self {
            filters: BTreeMap::new(),
            compiled: BTreeMap::new(),
            filter_uses: BTreeMap::new(),
            filters_out: Publisher::new(start.domain, Filters::default()),
            policers: BTreeMap::new(),
            policer_uses: BTreeMap::new(),
            policers_out: Publisher::new(start.domain, Policers::default()),
            workers: 0,
            serial: 0,
            filters_changed: false,
            policers_changed: false,
        }
    }

    fn name(&self) -> &'static str {
        "traffic"
    }

    fn apply(&mut self, program: &Program, change: &mut Change<'_>) -> Result<bool, Refused> {
        match program {
            Program::Filter(filter) => self.filter(filter, change)?,
            Program::FilterUse(used) => self.filter_use(used, change)?,
            Program::Policer(policer) => self.policer(policer, change.now())?,
            Program::PolicerUse(used) => self.policer_use(used, change)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn remove(&mut self, removed: &Removed, change: &mut Change<'_>) -> Result<bool, Refused> {
        match removed {
            Removed::Filter(filter) => self.remove_filter(*filter),
            Removed::FilterUse(interface, direction, family) => {
                let key = (*interface, *direction, *family);
                self.filter_uses.remove(&key);
                self.filters_changed = true;
                self.join_filter(key, change);
            }
            Removed::Policer(policer) => {
                self.policers.remove(policer);
                self.policers_changed = true;
            }
            Removed::PolicerUse(interface, direction, class) => {
                self.policer_uses.remove(&(*interface, *direction, *class));
                self.policers_changed = true;
                self.join_policer(*interface, *direction, change);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn said(&self) -> Vec<Removed> {
        let filter_uses = self.filter_uses.keys();
        let filter_uses =
            filter_uses.map(|(at, way, family)| Removed::FilterUse(*at, *way, *family));
        let policer_uses = self.policer_uses.keys();
        let policer_uses =
            policer_uses.map(|(at, way, class)| Removed::PolicerUse(*at, *way, *class));
        let filters = self.filters.keys().map(|filter| Removed::Filter(*filter));
        let policers = self.policers.keys().map(|policer| Removed::Policer(*policer));
        filter_uses.chain(policer_uses).chain(filters).chain(policers).collect()
    }

    fn interface(
        &mut self,
        before: Option<&Interface>,
        after: Option<&Interface>,
        _: &mut Change<'_>,
    ) -> Result<(), Refused> {
        if let (Some(before), None) = (before, after) {
            self.filter_uses.retain(|key, _| key.0 != before.index);
            self.policer_uses.retain(|key, _| key.0 != before.index);
            (self.filters_changed, self.policers_changed) = (true, true);
        }
        Ok(())
    }

    /// Filters and policers count by worker: with one more they are made anew.
    fn workers(&mut self, workers: usize, now: Time) {
        self.workers = workers;
        for filter in self.filters.values() {
            if let Ok(compiled) = Compiled::new(filter, workers) {
                self.compiled.insert(filter.filter, Arc::new(compiled));
            }
        }
        for (policer, row) in self.policers.values_mut() {
            self.serial += 1;
            if let Ok(made) = Row::new(policer, self.serial, workers, now) {
                *row = Arc::new(made);
            }
        }
        (self.filters_changed, self.policers_changed) = (true, true);
    }

    fn publish(&mut self, _: &BTreeMap<u32, Interface>) {
        if std::mem::take(&mut self.filters_changed) {
            self.filters_out.publish(Filters::of(&self.compiled, &self.filter_uses));
        }
        if std::mem::take(&mut self.policers_changed) {
            self.serial += 1;
            let rows = self.policers.iter().map(|(number, (_, row))| (*number, Arc::clone(row)));
            let policers = Policers::of(self.serial, &rows.collect(), &self.policer_uses);
            self.policers_out.publish(policers);
        }
    }

    fn nodes(&mut self, worker: &Worker<'_>, plan: Plan) -> Plan {
        let views = TrafficViews {
            filters: self.filters_out.published(),
            policers: self.policers_out.published(),
            bank: Arc::new(Mutex::new(Bank::new(worker.number))),
            worker: worker.number,
        };
        let filter = |stage| FilterNode::new(views.clone(), stage);
        plan.node(filter(Stage::In(Family::Ip4)))
            .node(filter(Stage::In(Family::Ip6)))
            .node(filter(Stage::In(Family::Ethernet)))
            .node(filter(Stage::Out))
            .node(PolicerNode::new(views.clone(), Direction::In))
            .node(PolicerNode::new(views.clone(), Direction::Out))
    }

    fn joins(&self) -> Vec<Join> {
        let filters = [
            (NAME_IP4_IN, "ip4-filter"),
            (NAME_IP6_IN, "ip6-filter"),
            (NAME_CONNECT_IN, "l2-filter"),
            (NAME_BRIDGE_IN, "l2-filter"),
            (NAME_OUT, "filter-out"),
        ];
        let filters = filters.map(|(arc, node)| Join::On { arc, node, rank: rank::FILTER });
        let police = |arc, node| Join::On { arc, node, rank: rank::POLICE };
        let received = RECEIVED.map(|arc| police(arc, "policer-in"));
        filters.into_iter().chain(received).chain([police(NAME_OUT, "policer-out")]).collect()
    }
}
