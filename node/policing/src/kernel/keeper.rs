//! What the filter's thread keeps: the XDP program, where it stands and where it was refused.

use super::{FilterSpec, KernelMetric, KernelRow, Wish};
use crate::Change;
use driver::Interface;
use driver::filter::{COUNTS, Count, Filter, Listener, Mode};
use event::{MetricCells, Metrics};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Which metric counts which fate.
const FACTS: [(Count, KernelMetric); COUNTS] = [
    (Count::Passed, KernelMetric::Passed),
    (Count::Known, KernelMetric::Known),
    (Count::Blacklisted, KernelMetric::Blacklisted),
    (Count::Excess, KernelMetric::Excess),
    (Count::Crowded, KernelMetric::Crowded),
    (Count::Syns, KernelMetric::Syns),
    (Count::Echoes, KernelMetric::Echoes),
];

/// An interface that it shall stand before, or does.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    name: String,
    /// How it stands, or why it does not.
    outcome: Result<Mode, String>,
}

pub(super) struct Keeper {
    spec: Option<FilterSpec>,
    filter: Option<Filter>,
    places: BTreeMap<u32, Place>,
    /// Why nothing is loaded.
    why: Option<String>,
    /// Sources that are known until they are forgotten, for a filter that is loaded later.
    named: BTreeSet<IpAddr>,
    metrics: Metrics<KernelMetric>,
    counted: [u64; COUNTS],
    shed: Arc<AtomicU64>,
}

impl Keeper {
    pub(super) fn new(shed: Arc<AtomicU64>) -> Self {
        Self {
            spec: None,
            filter: None,
            places: BTreeMap::new(),
            why: None,
            named: BTreeSet::new(),
            metrics: Metrics::new(),
            counted: [0; COUNTS],
            shed,
        }
    }

    pub(super) fn cells(&self) -> MetricCells {
        self.metrics.cells()
    }

    /// Takes a specification; says, where the filter is required, why it does not stand.
    pub(super) fn configure(&mut self, spec: FilterSpec) -> Result<(), String> {
        let wish = spec.wish;
        if let Some(filter) = &mut self.filter {
            let done =
                filter.set_rates(spec.rates).and_then(|()| filter.set_trusted(&prefixes(&spec)));
            done.map_err(|error| error.to_string())?;
        }
        self.spec = Some(spec);
        // What was refused once is tried again.
        self.places.retain(|_, place| place.outcome.is_ok());
        self.why = None;
        self.look();
        if wish != Wish::Require {
            return Ok(());
        }
        let refused = self.places.values().find_map(|place| {
            let why = place.outcome.as_ref().err()?;
            Some(format!("{}: {why}", place.name))
        });
        self.why.clone().or(refused).map_or(Ok(()), Err)
    }

    /// Looks at interfaces and counters.
    pub(super) fn look(&mut self) {
        self.count();
        let Some(spec) = self.spec.take() else { return };
        let is_new = self.why.is_none();
        match self.stand(&spec) {
            Ok(()) => self.why = None,
            Err(why) => {
                if is_new && spec.wish != Wish::Off {
                    let name = &spec.name;
                    tracing::warn!(function = name, why, "floods are dropped in user space only");
                }
                self.why = Some(why);
            }
        }
        self.spec = Some(spec);
        let standing = self.places.values().filter(|place| place.outcome.is_ok()).count();
        self.metrics.set(KernelMetric::Interfaces, standing as u64);
    }

    /// Stands where it shall; says why it stands nowhere.
    fn stand(&mut self, spec: &FilterSpec) -> Result<(), String> {
        if spec.wish == Wish::Off {
            self.leave();
            return Err("it is switched off".into());
        }
        let interfaces = driver::interfaces().map_err(|error| error.to_string())?;
        let wanted = wanted(spec, &interfaces);
        if wanted.is_empty() {
            self.leave();
            return if spec.interfaces.is_empty() && are_local(spec) && spec.wish == Wish::Auto {
                Ok(()) // nobody else can send there
            } else {
                Err("no interface carries an address at which it listens".into())
            };
        }
        if self.filter.is_none() {
            // What is refused is not tried again before the next configuration.
            if let Some(why) = &self.why {
                return Err(why.clone());
            }
            self.filter = Some(self.load(spec).map_err(|error| error.to_string())?);
        }
        let Some(filter) = &mut self.filter else { return Ok(()) };
        filter.set_listeners(&listeners(spec, &interfaces)).map_err(|error| error.to_string())?;
        let gone: Vec<u32> =
            self.places.keys().filter(|index| !wanted.contains_key(*index)).copied().collect();
        for index in gone {
            filter.detach(index);
            self.places.remove(&index);
        }
        for (index, name) in wanted {
            if self.places.contains_key(&index) {
                continue;
            }
            let outcome = filter.attach(index).map_err(|error| error.to_string());
            tell(&spec.name, &name, &outcome);
            self.places.insert(index, Place { name, outcome });
        }
        Ok(())
    }

    fn load(&self, spec: &FilterSpec) -> Result<Filter, driver::filter::FilterError> {
        let mut filter = Filter::load(spec.rates)?;
        filter.set_trusted(&prefixes(spec))?;
        for &address in &self.named {
            filter.know(address, None)?;
        }
        Ok(filter)
    }

    /// Stands nowhere.
    fn leave(&mut self) {
        self.filter = None;
        self.places.clear();
        self.counted = [0; COUNTS];
    }

    pub(super) fn change(&mut self, change: Change) {
        match change {
            Change::Know(address, None) => drop(self.named.insert(address)),
            Change::Forget(address) => drop(self.named.remove(&address)),
            _ => {}
        }
        let Some(filter) = &mut self.filter else { return };
        let done = match change {
            Change::Know(address, time) => filter.know(address, time),
            Change::Block(address, time) => filter.block(address, time),
            Change::Forget(address) => {
                filter.forget(address);
                Ok(())
            }
            Change::Pardon(address) => {
                filter.pardon(address);
                Ok(())
            }
        };
        if done.is_err() {
            self.shed.fetch_add(1, Relaxed);
        }
    }

    /// Reads the kernel's counters.
    fn count(&mut self) {
        self.metrics.set(KernelMetric::Shed, self.shed.load(Relaxed));
        let Some(Ok(counts)) = self.filter.as_ref().map(Filter::counts) else { return };
        for (count, metric) in FACTS {
            let at = count as usize;
            self.metrics.add(metric, counts[at].saturating_sub(self.counted[at]));
        }
        self.counted = counts;
    }

    pub(super) fn row(&mut self) -> KernelRow {
        self.count();
        let place = |place: &Place| match &place.outcome {
            Ok(mode) => format!("{}: {}", place.name, word(*mode)),
            Err(why) => format!("{}: refused: {why}", place.name),
        };
        let read = |metric| self.metrics.read(metric);
        let dropped = FACTS[2..].iter().map(|&(_, metric)| read(metric));
        KernelRow {
            shard: "kernel",
            interfaces: self.places.values().map(place).collect::<Vec<_>>(),
            why: self.why.clone(),
            passed_unknown: read(KernelMetric::Passed),
            passed_known: read(KernelMetric::Known),
            dropped: dropped.sum::<u64>(),
            dropped_blacklisted: read(KernelMetric::Blacklisted),
            dropped_excess: read(KernelMetric::Excess),
            dropped_crowded: read(KernelMetric::Crowded),
            dropped_syns: read(KernelMetric::Syns),
            dropped_echoes: read(KernelMetric::Echoes),
            changes_shed: read(KernelMetric::Shed),
        }
    }
}

const fn word(mode: Mode) -> &'static str {
    match mode {
        Mode::Native => "native",
        Mode::Generic => "generic",
    }
}

fn tell(function: &str, interface: &str, outcome: &Result<Mode, String>) {
    match outcome {
        Ok(mode) => {
            let mode = word(*mode);
            tracing::info!(function, interface, mode, "floods are dropped in the kernel");
        }
        Err(why) => {
            tracing::warn!(function, interface, why, "floods are dropped in user space only");
        }
    }
}

fn prefixes(spec: &FilterSpec) -> Vec<(IpAddr, u8)> {
    spec.trusted.iter().map(crate::Prefix::parts).collect()
}

/// Whether all listeners are on loopback.
fn are_local(spec: &FilterSpec) -> bool {
    spec.listeners.iter().all(|listener| listener.listen.ip().to_canonical().is_loopback())
}

/// Whether an address is one that a listener listens at.
fn is_at(listen: IpAddr, address: IpAddr) -> bool {
    listen == address || (listen.is_unspecified() && listen.is_ipv4() == address.is_ipv4())
}

/// The interfaces that it shall stand before: the named ones, or those that carry an address of
/// a listener or will; never loopback, whose frames come from this machine.
fn wanted(spec: &FilterSpec, interfaces: &[Interface]) -> BTreeMap<u32, String> {
    let carries = |interface: &&Interface| {
        let has = |listen| interface.addresses.iter().any(|&address| is_at(listen, address));
        let is_named = spec.interfaces.contains(&interface.name);
        let is_found = || {
            spec.awaited.contains(&interface.name)
                || spec.listeners.iter().any(|listener| has(listener.listen.ip()))
        };
        !interface.is_loopback && (is_named || (spec.interfaces.is_empty() && is_found()))
    };
    let found = interfaces.iter().filter(carries);
    found.map(|interface| (interface.index, interface.name.clone())).collect()
}

/// The listeners, wildcards spread over the addresses of this machine.
fn listeners(spec: &FilterSpec, interfaces: &[Interface]) -> Vec<Listener> {
    let own = || interfaces.iter().filter(|one| !one.is_loopback).flat_map(|one| &one.addresses);
    let mut listeners = Vec::new();
    for listener in &spec.listeners {
        let listen = listener.listen.ip();
        let (port, protocol, trusts) = (listener.listen.port(), listener.protocol, listener.trusts);
        let made = |address| Listener { address, port, protocol, trusts };
        if listen.is_unspecified() {
            listeners.extend(own().filter(|&&address| is_at(listen, address)).copied().map(made));
        } else {
            listeners.push(made(listen));
        }
    }
    listeners
}

#[cfg(test)]
mod tests {
    use super::*;
    use driver::filter::{Protocol, Rate, Rates};

    fn interface(index: u32, name: &str, addresses: &[&str]) -> Interface {
        let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
        Interface { index, name: name.into(), is_loopback: name == "lo", addresses }
    }

    fn spec(listen: &[&str], interfaces: &[&str]) -> FilterSpec {
        let rate = Rate { per_s: 1, burst: 1 };
        let listener = |text: &&str| super::super::FilterListener {
            listen: text.parse().unwrap(),
            protocol: Protocol::Udp,
            trusts: false,
        };
        FilterSpec {
            name: "ssc".into(),
            wish: Wish::Auto,
            interfaces: interfaces.iter().map(|&name| name.to_owned()).collect(),
            awaited: Vec::new(),
            listeners: listen.iter().map(listener).collect(),
            trusted: Vec::new(),
            rates: Rates { source: rate, datagrams: rate, syns: rate, echoes: rate },
        }
    }

    fn machine() -> Vec<Interface> {
        vec![
            interface(1, "lo", &["127.0.0.1", "::1"]),
            interface(2, "eth0", &["192.0.2.1", "2001:db8::1"]),
            interface(3, "eth1", &["198.51.100.1"]),
        ]
    }

    fn numbers(spec: &FilterSpec) -> Vec<u32> {
        wanted(spec, &machine()).into_keys().collect()
    }

    #[test]
    fn interfaces_are_found_by_the_addresses_of_the_listeners_and_never_loopback() {
        assert_eq!(numbers(&spec(&["192.0.2.1:5060"], &[])), [2]);
        assert_eq!(numbers(&spec(&["0.0.0.0:5060"], &[])), [2, 3]);
        assert_eq!(numbers(&spec(&["[::]:5060"], &[])), [2]);
        assert!(numbers(&spec(&["127.0.0.1:5060"], &["lo"])).is_empty());
        assert_eq!(numbers(&spec(&["192.0.2.1:5060"], &["eth1", "eth9"])), [3]);
        let awaited = vec!["eth1".to_owned(), "lo".to_owned()];
        let waits = FilterSpec { awaited, ..spec(&["203.0.113.9:5060", "192.0.2.1:5060"], &[]) };
        assert_eq!(numbers(&waits), [2, 3], "where an address of a pair will be");
    }

    #[test]
    fn a_wildcard_is_a_listener_at_every_address() {
        let found = listeners(&spec(&["0.0.0.0:5060", "192.0.2.9:5070"], &[]), &machine());
        let found: Vec<_> =
            found.iter().map(|listener| (listener.address, listener.port)).collect();
        let at = |text: &str, port| (text.parse::<IpAddr>().unwrap(), port);
        assert_eq!(
            found,
            [at("192.0.2.1", 5060), at("198.51.100.1", 5060), at("192.0.2.9", 5070),]
        );
    }

    #[test]
    fn listeners_on_loopback_need_no_kernel_unless_it_is_required() {
        let mut keeper = Keeper::new(Arc::default());
        keeper.configure(spec(&["127.0.0.1:5060"], &[])).unwrap();
        assert_eq!((keeper.row().why, keeper.filter.is_none()), (None, true));
        let required = FilterSpec { wish: Wish::Require, ..spec(&["127.0.0.1:5060"], &[]) };
        assert!(keeper.configure(required).unwrap_err().contains("no interface"));
        let off = FilterSpec { wish: Wish::Off, ..spec(&["0.0.0.0:5060"], &[]) };
        keeper.configure(off).unwrap();
        assert!(keeper.row().why.is_some() && keeper.places.is_empty());
    }
}
