//! The half of the plane's writer that knows labels, bridges, filters, policers, marking, queues
//! and samples; [`crate::Plane`] hands it the programs of these.

use machine::Time;
use nodes::Refused;
use nodes::l2::bridge::{self, BRIDGES_MAX, Bridges, PSEUDOWIRE, PSEUDOWIRES_MAX, seconds};
use nodes::mpls::entry::{IPV4_EXPLICIT_NULL, IPV6_EXPLICIT_NULL, LABELS};
use nodes::mpls::table::{self as labels, Action, Labels};
use nodes::qos::filtering::{Compiled, FILTERS_MAX, Filters};
use nodes::qos::marking::{Maps, Markings};
use nodes::qos::policing::{Bank, Coloured, POLICERS_MAX, Policers, Row};
use nodes::sampling::{Samplings, check as check_sampling, check_collector};
use nodes::view::{Shared, Views};
use program::{
    Bridge, BridgeMember, Collector, Direction, Family, Filter, FilterUse, Interface, LabelAction,
    Marking, Policer, PolicerUse, Pseudowire, Removed, Sampling, StaticMac, Tunnel,
};
use scheduler::QueuePrograms;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use table::epoch::{Domain, Publisher};
use table::mac::{BridgeRule, Kind, Learner, MacEvent, MacKey, MacWriter, MoveRule, OnMoves};

/// MAC addresses of all bridge domains at most.
pub const MACS_MAX: usize = 1 << 20;
/// Seconds within which moves of an address are counted (RFC 7432 §15.1).
const MOVES_WINDOW_S: u32 = 180;
/// Seconds after which an address that moved too often is free again.
const MOVES_HOLD_S: u32 = 600;

/// The writer.
pub(crate) struct Services {
    labels: Arc<Labels>,
    bridges: BTreeMap<u32, Bridge>,
    pseudowires: BTreeMap<u32, (Pseudowire, u32)>,
    bridges_out: Publisher<Bridges>,
    pub(crate) macs: MacWriter,
    static_macs: BTreeSet<(u32, [u8; 6])>,
    known_labels: BTreeSet<u32>,
    filters: BTreeMap<u32, Filter>,
    compiled: BTreeMap<u32, Arc<Compiled>>,
    filter_uses: BTreeMap<(u32, Direction, Family), FilterUse>,
    filters_out: Publisher<Filters>,
    policers: BTreeMap<u32, (Policer, Arc<Row>)>,
    policer_uses: BTreeMap<(u32, Direction, Option<u8>), PolicerUse>,
    policers_out: Publisher<Policers>,
    markings: BTreeMap<u32, Maps>,
    markings_out: Publisher<Markings>,
    samplings: BTreeMap<u32, Sampling>,
    collector: Option<Collector>,
    samplings_out: Publisher<Samplings>,
    pub(crate) queues: Arc<QueuePrograms>,
    changed: Changed,
    workers: usize,
    serial: u64,
    now: Time,
}

/// What is to be published.
#[derive(Default)]
struct Changed {
    bridges: bool,
    filters: bool,
    policers: bool,
    markings: bool,
    samplings: bool,
}

impl Services {
    /// Nothing but the labels that are always known.
    pub(crate) fn new(domain: &Arc<Domain>, seed: u64) -> Self {
        let labels = Labels::new();
        for null in [IPV4_EXPLICIT_NULL, IPV6_EXPLICIT_NULL] {
            labels.set(null, labels::Row::new(Action::Pop, 0, 0));
        }
        Self {
            labels,
            bridges: BTreeMap::new(),
            pseudowires: BTreeMap::new(),
            bridges_out: Publisher::new(domain, Bridges::default()),
            macs: MacWriter::new(domain, MACS_MAX, seed),
            static_macs: BTreeSet::new(),
            known_labels: BTreeSet::new(),
            filters: BTreeMap::new(),
            compiled: BTreeMap::new(),
            filter_uses: BTreeMap::new(),
            filters_out: Publisher::new(domain, Filters::default()),
            policers: BTreeMap::new(),
            policer_uses: BTreeMap::new(),
            policers_out: Publisher::new(domain, Policers::default()),
            markings: BTreeMap::new(),
            markings_out: Publisher::new(domain, Markings::default()),
            samplings: BTreeMap::new(),
            collector: None,
            samplings_out: Publisher::new(domain, Samplings::default()),
            queues: Arc::default(),
            changed: Changed::default(),
            workers: 0,
            serial: 0,
            now: Time::ZERO,
        }
    }

    /// One more worker: answers its number.
    pub(crate) fn worker(&mut self) -> usize {
        let worker = self.workers;
        self.workers += 1;
        self.queues.serve(self.workers);
        self.prepare();
        worker
    }

    /// The views of a worker, and what its bridge node tells the MAC table with.
    pub(crate) fn views(&mut self, worker: usize, shared: &Shared) -> (Views, Learner) {
        let views = Views {
            interfaces: Arc::clone(&shared.interfaces),
            counters: Arc::clone(&shared.counters),
            addresses: Arc::clone(&shared.addresses),
            protection: Arc::clone(&shared.protection),
            admitted: Arc::clone(&shared.admitted),
            hops: Arc::clone(&shared.hops),
            labels: Arc::clone(&self.labels),
            bridges: self.bridges_out.published(),
            macs: self.macs.macs(),
            filters: self.filters_out.published(),
            policers: self.policers_out.published(),
            markings: self.markings_out.published(),
            samplings: self.samplings_out.published(),
            bank: Arc::new(Mutex::new(Bank::new(worker))),
            worker,
        };
        (views, self.macs.learner())
    }

    /// Filters and policers count by worker: with one more they are made anew.
    fn prepare(&mut self) {
        for filter in self.filters.values() {
            if let Ok(compiled) = Compiled::new(filter, self.workers) {
                self.compiled.insert(filter.filter, Arc::new(compiled));
            }
        }
        for (policer, row) in self.policers.values_mut() {
            self.serial += 1;
            if let Ok(made) = Row::new(policer, self.serial, self.workers, self.now) {
                *row = Arc::new(made);
            }
        }
        (self.changed.filters, self.changed.policers) = (true, true);
    }

    /// What becomes of packets with a label; `None`: it is not known any more (explicit null
    /// always is). `hop` is the hop as the plane numbers it.
    pub(crate) fn label(
        &mut self,
        label: u32,
        action: Option<(&LabelAction, u32)>,
    ) -> Result<(), Refused> {
        number("label", label, LABELS - 1)?;
        let flags = |tunnel: &Tunnel| match tunnel {
            Tunnel::Pipe => 0,
            Tunnel::ShortPipe => labels::SHORT_PIPE,
            Tunnel::Uniform => labels::UNIFORM,
        };
        let frame = |word: bool, flow: bool| {
            let word = if word { labels::CONTROL_WORD } else { 0 };
            word | if flow { labels::FLOW_LABEL } else { 0 }
        };
        let row = match action {
            None if matches!(label, IPV4_EXPLICIT_NULL | IPV6_EXPLICIT_NULL) => {
                labels::Row::new(Action::Pop, 0, 0)
            }
            None => labels::Row::UNKNOWN,
            Some((LabelAction::Forward { tunnel, .. }, hop)) => {
                labels::Row::new(Action::Forward, flags(tunnel), hop)
            }
            Some((LabelAction::PopVrf { vrf, tunnel }, _)) => {
                labels::Row::new(Action::Vrf, flags(tunnel), *vrf)
            }
            Some((LabelAction::PopPseudowire { pseudowire, control_word, flow_label }, _)) => {
                number("pseudowire", *pseudowire, PSEUDOWIRES_MAX - 1)?;
                labels::Row::new(Action::Bridge, frame(*control_word, *flow_label), *pseudowire)
            }
            Some((LabelAction::PopInterface { interface, control_word, flow_label }, _)) => {
                labels::Row::new(Action::Interface, frame(*control_word, *flow_label), *interface)
            }
            Some((LabelAction::Pop { tunnel }, _)) => {
                labels::Row::new(Action::Pop, flags(tunnel), 0)
            }
        };
        match action {
            Some(_) => self.known_labels.insert(label),
            None => self.known_labels.remove(&label),
        };
        self.labels.set(label, row);
        Ok(())
    }

    /// A bridge domain.
    pub(crate) fn bridge(&mut self, bridge: &Bridge) -> Result<(), Refused> {
        bridge_number(bridge.bridge)?;
        if bridge.bridge == 0 {
            return Err(Refused::Conflict("bridges are numbered from 1".to_owned()));
        }
        let moves = MoveRule {
            moves: bridge.moves_max,
            window_s: MOVES_WINDOW_S,
            hold_s: MOVES_HOLD_S,
            then: OnMoves::Freeze,
        };
        let rule = BridgeRule {
            learn: bridge.learn,
            ageing_s: bridge.ageing_s,
            macs_max: bridge.macs_max,
            moves: (bridge.moves_max > 0).then_some(moves),
        };
        self.macs.rule_bridge(bridge::number(bridge.bridge), rule);
        self.bridges.insert(bridge.bridge, bridge.clone());
        self.changed.bridges = true;
        Ok(())
    }

    /// A bridge domain is gone, with what it has learnt.
    pub(crate) fn remove_bridge(&mut self, bridge: u32) {
        if self.bridges.remove(&bridge).is_some() {
            self.macs.flush_bridge(bridge::number(bridge));
            self.changed.bridges = true;
        }
    }

    /// A pseudowire of a bridge domain; `hop` is its hop as the plane numbers it.
    pub(crate) fn pseudowire(&mut self, wire: &Pseudowire, hop: u32) -> Result<(), Refused> {
        number("pseudowire", wire.pseudowire, PSEUDOWIRES_MAX - 1)?;
        bridge_number(wire.bridge)?;
        self.limit(PSEUDOWIRE + wire.pseudowire, wire.macs_max);
        self.pseudowires.insert(wire.pseudowire, (wire.clone(), hop));
        self.changed.bridges = true;
        Ok(())
    }

    /// A pseudowire is gone, and what was learnt from it.
    pub(crate) fn remove_pseudowire(&mut self, wire: u32) {
        if self.pseudowires.remove(&wire).is_some() {
            self.macs.flush_port(PSEUDOWIRE + wire);
            self.changed.bridges = true;
        }
    }

    /// An interface is another one from now on, or gone: what was learnt there is forgotten if it
    /// is no member of that bridge any more.
    pub(crate) fn interface(&mut self, interface: u32, stays: bool) {
        if !stays {
            self.macs.flush_port(interface);
        }
        self.changed.bridges = true;
    }

    /// Limits the addresses behind a member of a bridge; 0: no limit.
    pub(crate) fn limit(&mut self, port: u32, macs_max: u32) {
        self.macs.limit_port(port, if macs_max == 0 { u32::MAX } else { macs_max });
    }

    /// All that is known of an interface's packets is forgotten: it is gone.
    pub(crate) fn forget(&mut self, interface: u32) {
        self.interface(interface, false);
        self.filter_uses.retain(|key, _| key.0 != interface);
        self.policer_uses.retain(|key, _| key.0 != interface);
        self.markings.remove(&interface);
        self.samplings.remove(&interface);
        self.changed = Changed {
            bridges: true,
            filters: true,
            policers: true,
            markings: true,
            samplings: true,
        };
    }

    /// A configured MAC address.
    pub(crate) fn static_mac(&mut self, mac: &StaticMac) -> Result<(), Refused> {
        bridge_number(mac.bridge)?;
        let port = match mac.member {
            BridgeMember::Interface(interface) => interface,
            BridgeMember::Pseudowire(wire) => {
                number("pseudowire", wire, PSEUDOWIRES_MAX - 1)?;
                PSEUDOWIRE + wire
            }
        };
        let key = MacKey::new(bridge::number(mac.bridge), mac.mac);
        let now_s = seconds(self.now);
        let set = self.macs.set(key, port, Kind::Static, now_s);
        set.map_err(|_| Refused::Full("MAC addresses"))?;
        self.static_macs.insert((mac.bridge, mac.mac));
        Ok(())
    }

    /// The MAC address of a bridge's routed side, before and from now on.
    pub(crate) fn routed_side(
        &mut self,
        interface: u32,
        before: Option<(u32, [u8; 6])>,
        now: Option<(u32, [u8; 6])>,
    ) -> Result<(), Refused> {
        if let Some((bridge, mac)) = before.filter(|_| before != now) {
            self.macs.remove(MacKey::new(bridge::number(bridge), mac));
        }
        let Some((bridge, mac)) = now else { return Ok(()) };
        bridge_number(bridge)?;
        let key = MacKey::new(bridge::number(bridge), mac);
        let now_s = seconds(self.now);
        let set = self.macs.set(key, interface, Kind::Static, now_s);
        set.map_err(|_| Refused::Full("MAC addresses"))
    }

    /// A configured MAC address is gone.
    pub(crate) fn remove_static_mac(&mut self, bridge: u32, mac: [u8; 6]) {
        let key = MacKey::new(bridge::number(bridge), mac);
        if self.static_macs.remove(&(bridge, mac)) {
            self.macs.remove(key);
        }
    }

    /// A filter.
    pub(crate) fn filter(&mut self, filter: &Filter) -> Result<(), Refused> {
        number("filter", filter.filter, FILTERS_MAX - 1)?;
        let compiled = Compiled::new(filter, self.workers);
        let compiled = compiled.map_err(|flaw| Refused::Conflict(flaw.to_string()))?;
        self.compiled.insert(filter.filter, Arc::new(compiled));
        self.filters.insert(filter.filter, filter.clone());
        self.changed.filters = true;
        Ok(())
    }

    /// A filter is gone: its users pass no filter.
    pub(crate) fn remove_filter(&mut self, filter: u32) {
        self.filters.remove(&filter);
        self.compiled.remove(&filter);
        self.changed.filters = true;
    }

    /// Packets of an interface pass a filter; answers the arc that they are on.
    pub(crate) fn filter_use(&mut self, used: &FilterUse) -> Result<Family, Refused> {
        let missing = Refused::Missing { what: "filter", number: u64::from(used.filter) };
        let family = self.filters.get(&used.filter).ok_or(missing)?.family;
        self.filter_uses.insert((used.interface, used.direction, family), used.clone());
        self.changed.filters = true;
        Ok(family)
    }

    /// They pass it no more.
    pub(crate) fn remove_filter_use(&mut self, key: (u32, Direction, Family)) {
        self.filter_uses.remove(&key);
        self.changed.filters = true;
    }

    /// Whether packets of an interface pass a filter of a direction (and family).
    pub(crate) fn filters(&self, at: u32, direction: Direction, family: Option<Family>) -> bool {
        let mut keys = self.filter_uses.keys();
        keys.any(|key| key.0 == at && key.1 == direction && family.is_none_or(|one| one == key.2))
    }

    /// A policer.
    pub(crate) fn policer(&mut self, policer: &Policer) -> Result<(), Refused> {
        number("policer", policer.policer, POLICERS_MAX - 1)?;
        if let Some((before, _)) = self.policers.get(&policer.policer)
            && before == policer
        {
            return Ok(());
        }
        self.serial += 1;
        let row = Row::new(policer, self.serial, self.workers, self.now);
        let row = row.map_err(|flaw| Refused::Conflict(format!("policer: {flaw:?}")))?;
        self.policers.insert(policer.policer, (policer.clone(), Arc::new(row)));
        self.changed.policers = true;
        Ok(())
    }

    /// A policer is gone: its users pass none.
    pub(crate) fn remove_policer(&mut self, policer: u32) {
        self.policers.remove(&policer);
        self.changed.policers = true;
    }

    /// Packets of an interface pass a policer.
    pub(crate) fn policer_use(&mut self, used: &PolicerUse) -> Result<(), Refused> {
        if !self.policers.contains_key(&used.policer) {
            return Err(Refused::Missing { what: "policer", number: u64::from(used.policer) });
        }
        self.policer_uses.insert((used.interface, used.direction, used.class), used.clone());
        self.changed.policers = true;
        Ok(())
    }

    /// They pass it no more.
    pub(crate) fn remove_policer_use(&mut self, key: (u32, Direction, Option<u8>)) {
        self.policer_uses.remove(&key);
        self.changed.policers = true;
    }

    /// Whether packets of an interface pass a policer.
    pub(crate) fn polices(&self, interface: u32, direction: Direction) -> bool {
        let from = (interface, direction, None);
        let to = (interface, direction, Some(u8::MAX));
        self.policer_uses.range(from..=to).next().is_some()
    }

    /// The maps of an interface.
    pub(crate) fn marking(&mut self, marking: &Marking) -> Result<(), Refused> {
        let maps = Maps::of(marking);
        let whole = || Refused::Conflict("a map has all its rows, in their ranges".to_owned());
        self.markings.insert(marking.interface, maps.ok_or_else(whole)?);
        self.changed.markings = true;
        Ok(())
    }

    /// It has none any more.
    pub(crate) fn remove_marking(&mut self, interface: u32) {
        self.markings.remove(&interface);
        self.changed.markings = true;
    }

    /// Whether an interface has maps.
    pub(crate) fn marks(&self, interface: u32) -> bool {
        self.markings.contains_key(&interface)
    }

    /// Samples of an interface's packets.
    pub(crate) fn sampling(&mut self, sampling: &Sampling) -> Result<(), Refused> {
        check_sampling(sampling).map_err(|flaw| Refused::Conflict(flaw.to_owned()))?;
        self.samplings.insert(sampling.interface, sampling.clone());
        self.changed.samplings = true;
        Ok(())
    }

    /// None any more.
    pub(crate) fn remove_sampling(&mut self, interface: u32) {
        self.samplings.remove(&interface);
        self.changed.samplings = true;
    }

    /// Who is told of samples; `None`: they are handed up.
    pub(crate) fn collector(&mut self, collector: Option<&Collector>) -> Result<(), Refused> {
        if let Some(collector) = collector {
            check_collector(collector).map_err(|flaw| Refused::Conflict(flaw.to_owned()))?;
        }
        self.collector = collector.cloned();
        self.changed.samplings = true;
        Ok(())
    }

    /// Whether an interface's packets are sampled.
    pub(crate) fn samples(&self, interface: u32) -> bool {
        self.samplings.contains_key(&interface)
    }

    /// The names of everything that was said, in an order in which it can be removed.
    pub(crate) fn said(&self) -> Vec<Removed> {
        let mut all: Vec<Removed> = Vec::new();
        let keys = self.filter_uses.keys();
        all.extend(keys.map(|(at, way, family)| Removed::FilterUse(*at, *way, *family)));
        let keys = self.policer_uses.keys();
        all.extend(keys.map(|(at, way, class)| Removed::PolicerUse(*at, *way, *class)));
        all.extend(self.markings.keys().map(|at| Removed::Marking(*at)));
        all.extend(self.samplings.keys().map(|at| Removed::Sampling(*at)));
        all.extend(self.collector.iter().map(|_| Removed::Collector));
        all.extend(self.filters.keys().map(|filter| Removed::Filter(*filter)));
        all.extend(self.policers.keys().map(|policer| Removed::Policer(*policer)));
        all.extend(self.known_labels.iter().map(|label| Removed::Label(*label)));
        all.extend(self.static_macs.iter().map(|(at, mac)| Removed::StaticMac(*at, *mac)));
        all.extend(self.pseudowires.keys().map(|wire| Removed::Pseudowire(*wire)));
        all.extend(self.bridges.keys().map(|bridge| Removed::Bridge(*bridge)));
        all.extend(self.queues.ports().into_iter().map(Removed::Scheduler));
        all
    }

    /// Makes what was said true for the packets from now on.
    pub(crate) fn publish(&mut self, interfaces: &BTreeMap<u32, Interface>) {
        let changed = std::mem::take(&mut self.changed);
        if changed.bridges {
            let wires = &self.pseudowires;
            let bridges = Bridges::of(&self.bridges, wires, interfaces);
            self.bridges_out.publish(bridges);
        }
        if changed.filters {
            self.filters_out.publish(Filters::of(&self.compiled, &self.filter_uses));
        }
        if changed.policers {
            self.serial += 1;
            let rows = self.policers.iter().map(|(number, (_, row))| (*number, Arc::clone(row)));
            let policers = Policers::of(self.serial, &rows.collect(), &self.policer_uses);
            self.policers_out.publish(policers);
        }
        if changed.markings {
            self.markings_out.publish(Markings::of(&self.markings));
        }
        if changed.samplings {
            self.samplings_out.publish(Samplings::of(&self.samplings, self.collector.as_ref()));
        }
    }

    /// Learns what workers saw, and lets addresses age.
    pub(crate) fn tick(&mut self, now: Time, event: impl FnMut(MacEvent)) {
        self.now = now;
        self.macs.poll(seconds(now), event);
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

/// Refuses a bridge domain that cannot be.
pub(crate) fn bridge_number(bridge: u32) -> Result<(), Refused> {
    number("bridge", bridge, BRIDGES_MAX - 2)
}

fn number(what: &'static str, number: u32, limit: u32) -> Result<(), Refused> {
    if number <= limit {
        return Ok(());
    }
    Err(Refused::Number { what, number: u64::from(number), limit: u64::from(limit) })
}
