//! A scheduler as it is configured, and its successor when that changes: packets that wait stay.

use crate::leaf::{Leaf, LeafCounters, NONE};
use crate::service::Place;
use crate::shaper::{Moment, RATE_MAX, Shaper};
use crate::wheel::Wheel;
use crate::{CLASSES_MAX, Scheduler, Wred};
use graph::{INTERFACES_MAX, Pool, Slot};
use machine::Time;
use machine::narrow::{at_most, index, place};
use serde::{Deserialize, Serialize};

/// Leaves of one scheduler at most.
pub const LEAVES_MAX: usize = 1 << 17;
/// The weight of a service or class at most.
pub const WEIGHT_MAX: u16 = 1_024;
/// Octets of a turn for each unit of weight.
const QUANTUM: u32 = 1_536;
/// Octets at once when nothing else is said: a millisecond of the rate, and this at least.
const BURST_MIN: u32 = 16_384;
/// Packets of different WRED profiles at most.
const PROFILES_MAX: usize = 4_096;

/// How a class gets its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Discipline {
    /// Before all that come after it in the list, and before all weighted classes.
    Strict,
    /// Deficit round robin by weight, 1 to 1,024.
    Weight(u16),
}

/// A class of a service: a leaf.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// The forwarding classes (`Meta::class`, 0 to 7) whose packets it takes.
    pub classes: Vec<u8>,
    /// Its turn.
    pub discipline: Discipline,
    /// Its rate, bit/s; 0: not shaped.
    #[serde(default)]
    pub rate: u64,
    /// Packets that wait at most.
    pub packets_max: u32,
    /// Early drops by colour.
    #[serde(default)]
    pub wred: Option<Wred>,
}

/// The queues of one interface, or of all that have none of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Service {
    /// Its interfaces.
    pub interfaces: Vec<u32>,
    /// Its rate, bit/s; 0: not shaped.
    #[serde(default)]
    pub rate: u64,
    /// Octets at once; 0: a millisecond's.
    #[serde(default)]
    pub burst: u32,
    /// Its share of the port, 1 to 1,024.
    pub weight: u16,
    /// Its classes, 1 to 8. A forwarding class that none takes goes to the last.
    pub classes: Vec<Class>,
}

/// The queues of a port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The port's rate, bit/s; 0: as fast as the port takes packets.
    #[serde(default)]
    pub rate: u64,
    /// Octets at once; 0: a millisecond's.
    #[serde(default)]
    pub burst: u32,
    /// Octets that the line adds to each packet (Ethernet: 24), counted by all rates.
    #[serde(default)]
    pub overhead: u16,
    /// Packets that wait at most, in all queues.
    pub packets_max: u32,
    /// Services with interfaces of their own.
    pub services: Vec<Service>,
    /// The service of all other interfaces.
    pub other: Service,
}

/// Why queues cannot be as configured.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Refused {
    /// Too many leaves.
    #[error("a port has {LEAVES_MAX} queues at most")]
    Leaves,
    /// A service without classes, or with too many.
    #[error("a service has 1 to {CLASSES_MAX} classes, not {0}")]
    Classes(usize),
    /// A weight of 0 or too much.
    #[error("weight {0}: 1 to {WEIGHT_MAX}")]
    Weight(u16),
    /// A rate beyond what shapers hold.
    #[error("rate {0} bit/s: {RATE_MAX} at most")]
    Rate(u64),
    /// Two services for an interface, or no such interface.
    #[error("interface {0} has a service already, or its number is too high")]
    Interface(u32),
    /// A node of the tree is not where it can be.
    #[error("queue {0}: {1}")]
    Tree(u32, &'static str),
    /// Too many WRED profiles.
    #[error("a port has {PROFILES_MAX} different WRED profiles at most")]
    Profiles,
}

impl Config {
    /// Whether it can be.
    ///
    /// # Errors
    /// The first thing that cannot.
    pub fn check(&self) -> Result<(), Refused> {
        let services = || self.services.iter().chain([&self.other]);
        if services().map(|service| service.classes.len()).sum::<usize>() > LEAVES_MAX {
            return Err(Refused::Leaves);
        }
        let mut seen = std::collections::BTreeSet::new();
        for service in services() {
            if !(1..=CLASSES_MAX).contains(&service.classes.len()) {
                return Err(Refused::Classes(service.classes.len()));
            }
            weight(service.weight)?;
            rate(service.rate)?;
            for class in &service.classes {
                if let Discipline::Weight(value) = class.discipline {
                    weight(value)?;
                }
                rate(class.rate)?;
            }
            for interface in &service.interfaces {
                if *interface as usize >= INTERFACES_MAX || !seen.insert(*interface) {
                    return Err(Refused::Interface(*interface));
                }
            }
        }
        rate(self.rate)?;
        profiles(self).map(drop)
    }
}

fn weight(value: u16) -> Result<(), Refused> {
    if (1..=WEIGHT_MAX).contains(&value) { Ok(()) } else { Err(Refused::Weight(value)) }
}

fn rate(value: u64) -> Result<(), Refused> {
    if value <= RATE_MAX { Ok(()) } else { Err(Refused::Rate(value)) }
}

/// The different profiles: queues that are alike share one.
fn profiles(config: &Config) -> Result<Vec<Wred>, Refused> {
    let mut profiles: Vec<Wred> = Vec::new();
    let classes =
        config.services.iter().chain([&config.other]).flat_map(|service| &service.classes);
    for wred in classes.filter_map(|class| class.wred) {
        if !profiles.contains(&wred) {
            profiles.push(wred);
        }
        if profiles.len() > PROFILES_MAX {
            return Err(Refused::Profiles);
        }
    }
    Ok(profiles)
}

fn burst(octets: u32, rate: u64) -> u32 {
    match octets {
        0 => u32::try_from(rate / 8_000).unwrap_or(u32::MAX).max(BURST_MIN),
        octets => octets,
    }
}

impl Scheduler {
    /// Empty queues. `share` is the number of workers that send by the port: each has a scheduler
    /// of its own with an equal part of every rate. `seed` is WRED's.
    ///
    /// # Errors
    /// What cannot be.
    pub fn new(config: &Config, share: u16, seed: u32, now: Time) -> Result<Self, Refused> {
        config.check()?;
        let share = share.max(1);
        let part = u64::from(share);
        let mut scheduler = Self {
            origin: now,
            share,
            shaper: Shaper::new(config.rate / part, burst(config.burst, config.rate / part)),
            overhead: u32::from(config.overhead),
            leaves: Vec::new(),
            counters: Vec::new(),
            services: Vec::new(),
            by_interface: Vec::new(),
            profiles: profiles(config)?,
            first: NONE,
            last: NONE,
            wheel: Wheel::new(0, Moment::default()),
            held: 0,
            held_max: config.packets_max as usize,
            dice: seed | 1,
        };
        for service in config.services.iter().chain([&config.other]) {
            scheduler.add(service, part);
        }
        let entries = scheduler.services.len() + scheduler.leaves.len();
        scheduler.wheel = Wheel::new(entries, Moment::default());
        let other = place(scheduler.services.len() - 1);
        for (at, service) in config.services.iter().enumerate() {
            for interface in &service.interfaces {
                let needed = *interface as usize + 1;
                if scheduler.by_interface.len() < needed {
                    scheduler.by_interface.resize(needed, other);
                }
                scheduler.by_interface[*interface as usize] = place(at);
            }
        }
        Ok(scheduler)
    }

    fn add(&mut self, service: &Service, share: u64) {
        let (base, number) = (place(self.leaves.len()), place(self.services.len()));
        // 1 to CLASSES_MAX, which was checked.
        let mut map = [at_most(service.classes.len() as u64 - 1, 0); CLASSES_MAX];
        let mut strict = 0;
        for (at, class) in (0u8..).zip(&service.classes) {
            for forwarding in &class.classes {
                map[usize::from(*forwarding) % CLASSES_MAX] = at;
            }
            let mut leaf = Leaf::new(number, at, class.packets_max);
            leaf.shaper = Shaper::new(class.rate / share, burst(0, class.rate / share));
            match class.discipline {
                Discipline::Strict => strict |= 1 << at,
                Discipline::Weight(weight) => leaf.quantum = u32::from(weight) * QUANTUM,
            }
            let known = class.wred.and_then(|wred| self.profiles.iter().position(|p| *p == wred));
            self.leaves.push(known.map_or(leaf.clone(), |at| leaf.with_wred(index(at))));
            self.counters.push(LeafCounters::default());
        }
        let mut place = Place::new(base, strict, map);
        place.quantum = u32::from(service.weight) * QUANTUM;
        let rate = service.rate / share;
        place.shaper = Shaper::new(rate, burst(service.burst, rate));
        self.services.push(place);
    }

    /// Takes over what waits in the scheduler that this one replaces, and its counters where an
    /// interface keeps its classes. Packets that find no room any more are put into `dropped`.
    pub fn follow(
        &mut self,
        now: Time,
        mut before: Self,
        packets: &mut Pool,
        dropped: &mut Vec<Slot>,
    ) {
        self.shaper.follow(&before.shaper);
        for interface in 0..self.by_interface.len().min(before.by_interface.len()) {
            let (new, old) = (self.by_interface[interface], before.by_interface[interface]);
            self.inherit(new as usize, &before, old as usize);
        }
        self.inherit(self.services.len() - 1, &before, before.services.len() - 1);
        for leaf in &mut before.leaves {
            while !leaf.is_empty() {
                let octets = u32::from(packets.meta(Slot(leaf.head)).length) + before.overhead;
                let slot = leaf.pop(octets, packets);
                self.enqueue(now, &[slot], packets, dropped);
            }
        }
    }

    fn inherit(&mut self, new: usize, before: &Self, old: usize) {
        let last = (self.services.len() - 1, before.services.len() - 1);
        if (new == last.0) != (old == last.1) {
            return;
        }
        self.services[new].shaper.follow(&before.services[old].shaper);
        if self.services[new].classes() != before.services[old].classes() {
            return;
        }
        for class in (0u8..).take(CLASSES_MAX) {
            let (to, from) = (self.services[new].leaf(class), before.services[old].leaf(class));
            self.counters[to as usize] = before.counters[from as usize];
        }
    }

    /// Takes out everything that waits, for whoever frees it.
    pub fn empty(&mut self, packets: &Pool, out: &mut Vec<Slot>) {
        for leaf in &mut self.leaves {
            while !leaf.is_empty() {
                let octets = u32::from(packets.meta(Slot(leaf.head)).length) + self.overhead;
                out.push(leaf.pop(octets, packets));
            }
        }
        self.held = 0;
    }
}
