//! A network of routers in virtual time: links that lose packets, are cut and heal.

use machine::{Duration, Machine, Time};
use ospf::{
    ALL_D_ROUTERS, AreaKind, Authentication, In, Instance, InterfaceSettings, InterfaceState,
    LinkType, NeighbourState, Out, Prefix, Route, Settings,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::Ipv4Addr;

/// An end of a link: its router, and what it costs there.
#[derive(Debug, Clone, Copy)]
pub struct End {
    pub router: usize,
    pub cost: u16,
}

#[derive(Debug, Clone)]
pub struct Link {
    pub ends: Vec<End>,
    pub kind: LinkType,
    pub area: u32,
    pub is_up: bool,
}

/// Arrival, number, link, its end that sent and the one that gets, to whom, octets.
type Flying = (Time, u64, usize, usize, usize, Ipv4Addr, Vec<u8>);

pub struct Net {
    pub now: Time,
    pub routers: Vec<Option<Instance>>,
    pub links: Vec<Link>,
    pub areas: BTreeMap<u32, AreaKind>,
    pub authentication: Authentication,
    pub keeps_numbers: bool,
    /// Packets of a thousand that are lost.
    pub loss: u64,
    /// Every packet that was sent: by which link, from whom, to whom.
    pub sent: Vec<(Ipv4Addr, Ipv4Addr, Vec<u8>)>,
    pub keeps_packets: bool,
    /// Routes as they were told.
    pub told: Vec<BTreeMap<Prefix, Route>>,
    flying: BinaryHeap<Reverse<Flying>>,
    number: u64,
    random: ChaCha8Rng,
}

pub const SECOND: Duration = Duration::from_secs(1);

impl Net {
    pub fn new(seed: u64, routers: usize) -> Self {
        Self {
            now: Time::from_millis(1_000_000),
            routers: (0..routers).map(|_| None).collect(),
            links: Vec::new(),
            areas: BTreeMap::new(),
            authentication: Authentication::Null,
            keeps_numbers: false,
            loss: 0,
            sent: Vec::new(),
            keeps_packets: false,
            told: vec![BTreeMap::new(); routers],
            flying: BinaryHeap::new(),
            number: 0,
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.random.next_u64() % end as u64) as usize }
    }

    pub fn id(router: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 255, 0, router as u8 + 1)
    }

    /// The address of a link's end: 10.LINK.0.END + 1.
    pub fn address(link: usize, end: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, link as u8, 0, end as u8 + 1)
    }

    pub fn prefix(link: usize) -> Prefix {
        Prefix::new(Self::address(link, 0).into(), 24)
    }

    pub fn link(&mut self, kind: LinkType, area: u32, ends: &[(usize, u16)]) -> usize {
        let ends = ends.iter().map(|&(router, cost)| End { router, cost }).collect();
        self.links.push(Link { ends, kind, area, is_up: true });
        self.links.len() - 1
    }

    /// Interfaces have the numbers of their links.
    fn interface(&self, link: usize, end: usize) -> InterfaceSettings {
        let it = &self.links[link];
        let address = Self::address(link, end);
        InterfaceSettings {
            link: it.kind,
            cost: it.ends[end].cost,
            hello_s: 1,
            dead_s: 4,
            retransmit_s: 1,
            authentication: self.authentication.clone(),
            keeps_numbers: self.keeps_numbers,
            ..InterfaceSettings::new(link as u32, it.area, address, 24)
        }
    }

    pub fn settings(router: usize) -> Settings {
        Settings { ls_interval: SECOND, ..Settings::new(Self::id(router)) }
    }

    /// Starts a router, or starts it again with nothing that it knew.
    pub fn start(&mut self, router: usize) {
        self.start_with(router, Self::settings(router));
    }

    pub fn start_with(&mut self, router: usize, settings: Settings) {
        let mut instance = Instance::new(settings, self.now);
        for (&id, &kind) in &self.areas {
            if self
                .links
                .iter()
                .any(|it| it.area == id && it.ends.iter().any(|e| e.router == router))
            {
                instance.add_area(id, kind);
            }
        }
        let mut up = Vec::new();
        for (link, it) in self.links.iter().enumerate() {
            if let Some(end) = it.ends.iter().position(|end| end.router == router) {
                assert!(instance.add_interface(self.interface(link, end)));
                up.push(link);
            }
        }
        self.routers[router] = Some(instance);
        self.told[router].clear();
        for link in up {
            self.step(router, In::InterfaceUp(link as u32));
        }
    }

    pub fn start_all(&mut self) {
        (0..self.routers.len()).for_each(|router| self.start(router));
    }

    pub fn at(&self, router: usize) -> &Instance {
        self.routers[router].as_ref().unwrap()
    }

    pub fn step(&mut self, router: usize, input: In) {
        let mut out = Vec::new();
        if let Some(instance) = &mut self.routers[router] {
            instance.step(self.now, input, &mut out);
        }
        self.take(router, out);
    }

    fn take(&mut self, router: usize, out: Vec<Out>) {
        for out in out {
            match out {
                Out::Send { interface, destination, octets } => {
                    self.send(router, interface as usize, destination, octets);
                }
                Out::Route(prefix, route) => drop(self.told[router].insert(prefix, route)),
                Out::Withdraw(prefix) => assert!(self.told[router].remove(&prefix).is_some()),
                Out::Neighbour { .. } | Out::Interface { .. } => {}
            }
        }
    }

    fn send(&mut self, router: usize, link: usize, destination: Ipv4Addr, octets: Vec<u8>) {
        assert!(octets.len() <= 1_480, "a packet fits into the MTU");
        let it = self.links[link].clone();
        let own = it.ends.iter().position(|end| end.router == router).unwrap();
        if self.keeps_packets {
            self.sent.push((Self::address(link, own), destination, octets.clone()));
        }
        for (end, other) in it.ends.iter().enumerate() {
            let is_meant = destination.is_multicast() || destination == Self::address(link, end);
            let is_lost = (self.random.next_u64() % 1_000) < self.loss;
            if other.router != router && is_meant && it.is_up && !is_lost {
                let jitter = Duration::from_micros(self.random.next_u64() % 3_000);
                let at = self.now + Duration::from_millis(1) + jitter;
                self.number += 1;
                let ends = (link, own, end, destination, octets.clone());
                let (link, own, end, destination, octets) = ends;
                let packet = (at, self.number, link, own, end, destination, octets);
                self.flying.push(Reverse(packet));
            }
        }
    }

    fn next(&self) -> Option<Time> {
        let machines = self.routers.iter().flatten().filter_map(Machine::deadline);
        machines.chain(self.flying.peek().map(|it| it.0.0)).min()
    }

    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(at) = self.next().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            while self.flying.peek().is_some_and(|it| it.0.0 <= self.now) {
                let Some(Reverse(packet)) = self.flying.pop() else { break };
                self.arrive(packet);
            }
            for router in 0..self.routers.len() {
                let mut out = Vec::new();
                let now = self.now;
                let Some(instance) = &mut self.routers[router] else { continue };
                if instance.deadline().is_some_and(|at| at <= now) {
                    instance.tick(now, &mut out);
                    let due = instance.deadline();
                    assert!(due.is_none_or(|at| at > now), "{due:?} at {now:?}");
                }
                self.take(router, out);
            }
        }
        self.now = end;
    }

    fn arrive(&mut self, packet: Flying) {
        let (_, _, link, from, to, destination, octets) = packet;
        let router = self.links[link].ends[to].router;
        let Some(instance) = &self.routers[router] else { return };
        let state = instance.interface(link as u32).unwrap().0;
        if !self.links[link].is_up || destination == ALL_D_ROUTERS && state < InterfaceState::Backup
        {
            return;
        }
        let source = Self::address(link, from);
        let interface = link as u32;
        self.step(router, In::Packet { interface, source, destination, octets });
    }

    /// Adjacencies that are full on every link, both ways.
    pub fn full(&self, link: usize) -> usize {
        let ends = self.links[link].ends.iter();
        let neighbours = ends.filter_map(|end| self.routers[end.router].as_ref());
        let all = neighbours.flat_map(|it| it.neighbours(link as u32));
        all.filter(|it| it.2 == NeighbourState::Full).count()
    }

    /// What the way between any two routers costs, over links that are up.
    fn distances(&self) -> Vec<Vec<u32>> {
        let count = self.routers.len();
        let mut all = vec![vec![u32::MAX; count]; count];
        for (from, row) in all.iter_mut().enumerate() {
            if self.routers[from].is_none() {
                continue;
            }
            row[from] = 0;
            for _ in 0..count {
                for link in self.links.iter().filter(|link| link.is_up) {
                    for one in &link.ends {
                        if row[one.router] == u32::MAX {
                            continue;
                        }
                        for two in &link.ends {
                            let way = row[one.router] + u32::from(one.cost);
                            if two.router != one.router && self.routers[two.router].is_some() {
                                row[two.router] = row[two.router].min(way);
                            }
                        }
                    }
                }
            }
        }
        all
    }

    /// Every router of one area has the same database, and the routes of the slow reference: to
    /// each link by the routers on it, each way out on a shortest path.
    pub fn check(&self, what: &str) {
        let all = self.distances();
        let way = |from: usize, link: usize| {
            let ends = self.links[link].ends.iter();
            let ways = ends.filter(|end| all[from][end.router] != u32::MAX);
            ways.map(|end| all[from][end.router] + u32::from(end.cost)).min()
        };
        for (own, instance) in self.routers.iter().enumerate() {
            let Some(instance) = instance else { continue };
            let routes: BTreeMap<_, _> = instance.routes().map(|(p, r)| (*p, r.clone())).collect();
            assert_eq!(routes, self.told[own], "{what}: what was told is the table");
            for link in 0..self.links.len() {
                let (prefix, wanted) = (Self::prefix(link), way(own, link));
                let route = routes.get(&prefix);
                let cost = route.map(|route| route.cost);
                assert_eq!(cost, wanted, "{what}: router {own} to {prefix}");
                for hop in route.iter().flat_map(|route| &route.hops) {
                    let by = hop.interface as usize;
                    let out = self.links[by].ends.iter().find(|end| end.router == own).unwrap();
                    let Some(gateway) = hop.gateway else {
                        assert_eq!(by, link, "{what}: router {own} to {prefix} directly");
                        continue;
                    };
                    let end = usize::from(gateway.octets()[3]) - 1;
                    let next = self.links[by].ends[end].router;
                    let rest = way(next, link).map(|rest| rest + u32::from(out.cost));
                    assert_eq!(rest, wanted, "{what}: router {own} to {prefix} by {gateway}");
                }
            }
        }
        self.check_databases(&all, what);
    }

    fn check_databases(&self, all: &[Vec<u32>], what: &str) {
        let areas: std::collections::BTreeSet<u32> = self.links.iter().map(|it| it.area).collect();
        for area in areas {
            let on = |router: usize| {
                let mut links = self.links.iter().filter(|it| it.area == area);
                links.any(|it| it.ends.iter().any(|end| end.router == router))
            };
            let headers = |router: usize| {
                let headers = self.at(router).headers(area, self.now).into_iter();
                let live = headers.filter(|it| it.age < ospf::lsa::MAX_AGE);
                live.map(|it| (it.key, it.sequence, it.checksum)).collect::<Vec<_>>()
            };
            let routers =
                || (0..self.routers.len()).filter(|it| self.routers[*it].is_some() && on(*it));
            for one in routers() {
                for two in routers().filter(|two| all[one][*two] != u32::MAX) {
                    // Parts of an area that only another area joins have databases of their own.
                    if self.areas.len() <= 1 {
                        // LSAs of routers that cannot be reached may differ.
                        let near = |it: &(ospf::lsa::Key, i32, u16)| {
                            (0..self.routers.len()).any(|r| {
                                u32::from(Self::id(r)) == it.0.router && all[one][r] != u32::MAX
                            })
                        };
                        let [a, b] = [one, two]
                            .map(|it| headers(it).into_iter().filter(near).collect::<Vec<_>>());
                        assert_eq!(a, b, "{what}: databases of {one} and {two}");
                    }
                }
            }
        }
    }
}
