//! A network of systems in virtual time: links that lose PDUs, are cut and heal.

use isis::{
    ALL_L1_IS, ALL_L2_IS, AdjacencyState, AreaAddress, Authentication, CircuitSettings, In,
    Instance, Level, Levels, LinkType, MetricStyle, Out, Periods, Prefix, Route, Settings, Snpa,
    SystemId,
};
use machine::{Duration, Machine, Time};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An end of a link: its system, and what it costs there.
#[derive(Debug, Clone, Copy)]
pub struct End {
    pub system: usize,
    pub cost: u32,
}

#[derive(Debug, Clone)]
pub struct Link {
    pub ends: Vec<End>,
    pub kind: LinkType,
    pub is_up: bool,
}

/// Arrival, number, link, its end that sent and the one that gets, octets.
type Flying = (Time, u64, usize, usize, usize, Vec<u8>);

pub struct Net {
    pub now: Time,
    pub systems: Vec<Option<Instance>>,
    pub links: Vec<Link>,
    /// The area and the levels of each system.
    pub roles: Vec<(u8, Levels)>,
    pub overloaded: BTreeSet<usize>,
    pub style: MetricStyle,
    pub authentication: Authentication,
    /// PDUs of a thousand that are lost.
    pub loss: u64,
    /// Every PDU that was sent: from whom, to whom.
    pub sent: Vec<(Snpa, Snpa, Vec<u8>)>,
    pub keeps_pdus: bool,
    /// Routes as they were told.
    pub told: Vec<BTreeMap<Prefix, Route>>,
    flying: BinaryHeap<Reverse<Flying>>,
    number: u64,
    random: ChaCha8Rng,
}

pub const SECOND: Duration = Duration::from_secs(1);

impl Net {
    pub fn new(seed: u64, systems: usize) -> Self {
        Self {
            now: Time::from_millis(1_000_000),
            systems: (0..systems).map(|_| None).collect(),
            links: Vec::new(),
            roles: vec![(1, Levels::TWO); systems],
            overloaded: BTreeSet::new(),
            style: MetricStyle::Wide,
            authentication: Authentication::Null,
            loss: 0,
            sent: Vec::new(),
            keeps_pdus: false,
            told: vec![BTreeMap::new(); systems],
            flying: BinaryHeap::new(),
            number: 0,
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.random.next_u64() % end as u64) as usize }
    }

    pub fn id(system: usize) -> SystemId {
        SystemId([0, 0, 0, 0, 1, system as u8 + 1])
    }

    pub fn snpa(link: usize, end: usize) -> Snpa {
        Snpa([2, 0, 0, 0, link as u8, end as u8 + 1])
    }

    /// The address of a link's end: 10.LINK.0.END + 1.
    pub fn address(link: usize, end: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, link as u8, 0, end as u8 + 1)
    }

    pub fn ipv6(link: usize, end: usize) -> Ipv6Addr {
        Ipv6Addr::new(0x2001, 0xdb8, link as u16, 0, 0, 0, 0, end as u16 + 1)
    }

    pub fn link_local(link: usize, end: usize) -> Ipv6Addr {
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, link as u16 + 1, end as u16 + 1)
    }

    pub fn prefix(link: usize) -> Prefix {
        Prefix::new(Self::address(link, 0).into(), 24)
    }

    pub fn prefix_ipv6(link: usize) -> Prefix {
        Prefix::new(Self::ipv6(link, 0).into(), 64)
    }

    pub fn link(&mut self, kind: LinkType, ends: &[(usize, u32)]) -> usize {
        let ends = ends.iter().map(|&(system, cost)| End { system, cost }).collect();
        self.links.push(Link { ends, kind, is_up: true });
        self.links.len() - 1
    }

    /// Circuits have the numbers of their links, and one more.
    fn circuit(&self, link: usize, end: usize) -> CircuitSettings {
        let it = &self.links[link];
        let v4 = IpAddr::V4(Self::address(link, end));
        let v6 = IpAddr::V6(Self::ipv6(link, end));
        CircuitSettings {
            link: it.kind,
            metric: it.ends[end].cost,
            hello_s: 1,
            multiplier: 4,
            pads_hellos: self.keeps_pdus,
            addresses: vec![(v4, 24), (v6, 64)],
            link_local: Some(Self::link_local(link, end)),
            authentication: self.authentication.clone(),
            ..CircuitSettings::new(link as u32 + 1, Self::snpa(link, end))
        }
    }

    pub fn settings(&self, system: usize) -> Settings {
        let (area, levels) = self.roles[system];
        let area = AreaAddress::new(&[0x49, 0, area]).unwrap();
        let periods = Periods {
            csnp: SECOND * 3,
            psnp: Duration::from_millis(200),
            retransmit: SECOND,
            ..Periods::default()
        };
        Settings {
            levels,
            hostname: format!("system-{system}"),
            style: self.style,
            is_overloaded: self.overloaded.contains(&system),
            authentication: [self.authentication.clone(), self.authentication.clone()],
            periods,
            ..Settings::new(Self::id(system), area)
        }
    }

    /// Starts a system, or starts it again with nothing that it knew.
    pub fn start(&mut self, system: usize) {
        self.start_with(system, self.settings(system));
    }

    pub fn start_with(&mut self, system: usize, settings: Settings) {
        let mut instance = Instance::new(settings, self.now).unwrap();
        let mut up = Vec::new();
        for (link, it) in self.links.iter().enumerate() {
            if let Some(end) = it.ends.iter().position(|end| end.system == system) {
                instance.add_circuit(self.circuit(link, end)).unwrap();
                up.push(link);
            }
        }
        if !instance.is_restarting() {
            self.told[system].clear();
        }
        self.systems[system] = Some(instance);
        for link in up {
            self.step(system, In::CircuitUp(link as u32 + 1));
        }
    }

    pub fn start_all(&mut self) {
        (0..self.systems.len()).for_each(|system| self.start(system));
    }

    pub fn at(&self, system: usize) -> &Instance {
        self.systems[system].as_ref().unwrap()
    }

    pub fn step(&mut self, system: usize, input: In) {
        let mut out = Vec::new();
        if let Some(instance) = &mut self.systems[system] {
            instance.step(self.now, input, &mut out);
        }
        self.take(system, out);
    }

    fn take(&mut self, system: usize, out: Vec<Out>) {
        for out in out {
            match out {
                Out::Send { circuit, destination, octets } => {
                    self.send(system, circuit as usize - 1, destination, octets);
                }
                Out::Route(prefix, route) => drop(self.told[system].insert(prefix, route)),
                Out::Withdraw(prefix) => assert!(self.told[system].remove(&prefix).is_some()),
                Out::Adjacency { .. } => {}
            }
        }
    }

    fn send(&mut self, system: usize, link: usize, destination: Snpa, octets: Vec<u8>) {
        assert!(octets.len() <= 1_497, "a PDU fits into the MTU");
        let it = self.links[link].clone();
        let own = it.ends.iter().position(|end| end.system == system).unwrap();
        if self.keeps_pdus {
            self.sent.push((Self::snpa(link, own), destination, octets.clone()));
        }
        for (end, other) in it.ends.iter().enumerate() {
            let levels = self.roles[other.system].1;
            let hears = match destination {
                ALL_L1_IS => levels.has(Level::One),
                ALL_L2_IS => levels.has(Level::Two),
                _ => true,
            };
            let is_lost = (self.random.next_u64() % 1_000) < self.loss;
            if other.system != system && hears && it.is_up && !is_lost {
                let jitter = Duration::from_micros(self.random.next_u64() % 3_000);
                let at = self.now + Duration::from_millis(1) + jitter;
                self.number += 1;
                self.flying.push(Reverse((at, self.number, link, own, end, octets.clone())));
            }
        }
    }

    fn next(&self) -> Option<Time> {
        let machines = self.systems.iter().flatten().filter_map(Machine::deadline);
        machines.chain(self.flying.peek().map(|it| it.0.0)).min()
    }

    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(at) = self.next().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            while self.flying.peek().is_some_and(|it| it.0.0 <= self.now) {
                let Some(Reverse(pdu)) = self.flying.pop() else { break };
                self.arrive(pdu);
            }
            for system in 0..self.systems.len() {
                let mut out = Vec::new();
                let now = self.now;
                let Some(instance) = &mut self.systems[system] else { continue };
                if instance.deadline().is_some_and(|at| at <= now) {
                    instance.tick(now, &mut out);
                    let due = instance.deadline();
                    assert!(due.is_none_or(|at| at > now), "{due:?} at {now:?}");
                }
                self.take(system, out);
            }
        }
        self.now = end;
    }

    fn arrive(&mut self, pdu: Flying) {
        let (_, _, link, from, to, octets) = pdu;
        if self.links[link].is_up {
            let source = Self::snpa(link, from);
            let system = self.links[link].ends[to].system;
            self.step(system, In::Pdu { circuit: link as u32 + 1, source, octets });
        }
    }

    /// Adjacencies that are up on a link, both ways.
    pub fn up(&self, link: usize) -> usize {
        let ends = self.links[link].ends.iter();
        let instances = ends.filter_map(|end| self.systems[end.system].as_ref());
        let all = instances.flat_map(|it| it.adjacencies(link as u32 + 1));
        all.filter(|it| it.2 == AdjacencyState::Up).count()
    }

    /// What the way between any two systems costs, over links that are up and not through those
    /// that are overloaded.
    fn distances(&self) -> Vec<Vec<u32>> {
        let count = self.systems.len();
        let mut all = vec![vec![u32::MAX; count]; count];
        for (from, row) in all.iter_mut().enumerate().filter(|it| self.systems[it.0].is_some()) {
            row[from] = 0;
            for _ in 0..count {
                for link in self.links.iter().filter(|link| link.is_up) {
                    self.pass(from, link, row);
                }
            }
        }
        all
    }

    fn pass(&self, from: usize, link: &Link, row: &mut [u32]) {
        for one in &link.ends {
            let passes = one.system == from || !self.overloaded.contains(&one.system);
            if row[one.system] == u32::MAX || !passes {
                continue;
            }
            for two in &link.ends {
                let way = row[one.system] + one.cost;
                if two.system != one.system && self.systems[two.system].is_some() {
                    row[two.system] = row[two.system].min(way);
                }
            }
        }
    }

    /// Every system has the same database, and the routes of the slow reference: to each link by
    /// the systems on it, each way out on a shortest path.
    pub fn check(&self, what: &str) {
        let all = self.distances();
        for (own, instance) in self.systems.iter().enumerate() {
            let Some(instance) = instance else { continue };
            let routes: BTreeMap<_, _> = instance.routes().map(|(p, r)| (*p, r.clone())).collect();
            assert_eq!(routes, self.told[own], "{what}: what was told is the table");
            for link in 0..self.links.len() {
                let ends = &self.links[link].ends;
                let ways = ends.iter().filter(|end| all[own][end.system] != u32::MAX);
                let way = ways.map(|end| all[own][end.system] + end.cost).min();
                let wanted = way.filter(|_| ends.iter().all(|end| end.system != own));
                for prefix in [Self::prefix(link), Self::prefix_ipv6(link)] {
                    let route = routes.get(&prefix);
                    let cost = route.map(|route| route.cost);
                    assert_eq!(cost, wanted, "{what}: system {own} to {prefix}");
                    for hop in route.iter().flat_map(|route| &route.hops) {
                        let rest = self.onward(&all, (own, link), hop);
                        assert_eq!(rest, wanted, "{what}: {own} to {prefix} by {hop:?}");
                    }
                }
            }
        }
        self.check_databases(what);
    }

    /// What the way to a link costs that begins with a hop.
    fn onward(
        &self,
        all: &[Vec<u32>],
        (own, link): (usize, usize),
        hop: &isis::NextHop,
    ) -> Option<u32> {
        let by = hop.circuit as usize - 1;
        let ends = &self.links[by].ends;
        let out = ends.iter().find(|end| end.system == own).unwrap();
        let end = ends.iter().position(|end| Self::id(end.system) == hop.system).unwrap();
        let own_addresses: [IpAddr; 2] =
            [Self::address(by, end).into(), Self::link_local(by, end).into()];
        assert!(own_addresses.contains(&hop.gateway), "{hop:?}");
        let next = ends[end].system;
        let passes = !self.overloaded.contains(&next);
        let on = self.links[link]
            .ends
            .iter()
            .filter(|end| all[next][end.system] != u32::MAX && (passes || end.system == next));
        on.map(|end| all[next][end.system] + end.cost + out.cost).min()
    }

    fn check_databases(&self, what: &str) {
        let systems = || (0..self.systems.len()).filter(|it| self.systems[*it].is_some());
        for level in Level::ALL {
            for one in systems() {
                let near = self.joined(one);
                let live = |system: usize| {
                    let all = self.at(system).database(level, self.now).into_iter();
                    // Fragments of systems that cannot be reached may differ.
                    let is_near = |id: SystemId| near.iter().any(|it| Self::id(*it) == id);
                    let live = all.filter(|it| it.lifetime_s > 0 && is_near(it.id.node.system));
                    live.map(|it| (it.id, it.sequence, it.checksum)).collect::<Vec<_>>()
                };
                for &two in &near {
                    assert_eq!(live(one), live(two), "{what}: databases of {one} and {two}");
                }
            }
        }
    }

    /// Where fragments of a system come: overloaded ones flood as all do.
    fn joined(&self, one: usize) -> BTreeSet<usize> {
        let mut seen = BTreeSet::from([one]);
        let mut queue = vec![one];
        while let Some(at) = queue.pop() {
            let links = self.links.iter().filter(|link| link.is_up);
            for link in links.filter(|link| link.ends.iter().any(|end| end.system == at)) {
                for end in &link.ends {
                    if self.systems[end.system].is_some() && seen.insert(end.system) {
                        queue.push(end.system);
                    }
                }
            }
        }
        seen
    }
}
