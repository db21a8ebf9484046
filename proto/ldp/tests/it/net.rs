//! Speakers on links of two in virtual time: datagrams may be lost, connections carry octets in
//! order and in pieces of any size.

use ldp::{
    ConnectionId, In, InterfaceSettings, LabelHop, LdpId, NextHop, Out, Prefix, SessionState,
    Settings, Speaker,
};
use machine::{Duration, Machine, Time};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::net::{IpAddr, Ipv4Addr};

pub const SECOND: Duration = Duration::from_secs(1);

/// What flies: for whom, and what happens there.
type Flying = (Time, u64, usize);

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    pub speaker: usize,
    pub id: ConnectionId,
}

pub struct Net {
    pub now: Time,
    pub speakers: Vec<Option<Speaker>>,
    /// Links of two: their ends, and whether they carry anything.
    pub links: Vec<([usize; 2], bool)>,
    /// Datagrams of a thousand that are lost.
    pub loss: u64,
    pub told: Vec<Vec<Out>>,
    pub forward: Vec<BTreeMap<Prefix, (u32, Vec<LabelHop>)>>,
    pub synchronized: BTreeSet<(usize, u32)>,
    /// Octets of connections and datagrams: whether it is TCP, from, to.
    pub sent: Vec<(bool, IpAddr, IpAddr, u16, Vec<u8>)>,
    pub settings: fn(usize) -> Settings,
    other_end: BTreeMap<End, End>,
    flying: BinaryHeap<Reverse<Flying>>,
    inputs: BTreeMap<u64, In>,
    number: u64,
    random: ChaCha8Rng,
    /// Connections arrive in order.
    last: BTreeMap<End, Time>,
}

pub fn settings(speaker: usize) -> Settings {
    Settings { hold_s: 6, keepalive_s: 15, ..Settings::new(Net::router(speaker)) }
}

impl Net {
    pub fn new(seed: u64, speakers: usize) -> Self {
        Self {
            now: Time::from_millis(1_000_000),
            speakers: (0..speakers).map(|_| None).collect(),
            links: Vec::new(),
            loss: 0,
            told: vec![Vec::new(); speakers],
            forward: vec![BTreeMap::new(); speakers],
            synchronized: BTreeSet::new(),
            sent: Vec::new(),
            settings,
            other_end: BTreeMap::new(),
            flying: BinaryHeap::new(),
            inputs: BTreeMap::new(),
            number: 0,
            random: ChaCha8Rng::seed_from_u64(seed),
            last: BTreeMap::new(),
        }
    }

    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.random.next_u64() % end as u64) as usize }
    }

    pub fn router(speaker: usize) -> Ipv4Addr {
        Ipv4Addr::new(10, 255, 0, speaker as u8 + 1)
    }

    pub fn id(speaker: usize) -> LdpId {
        LdpId::of(Self::router(speaker))
    }

    /// 10.LINK.0.END + 1.
    pub fn address(link: usize, end: usize) -> IpAddr {
        Ipv4Addr::new(10, link as u8, 0, end as u8 + 1).into()
    }

    /// The prefix of a speaker itself.
    pub fn prefix(speaker: usize) -> Prefix {
        Prefix::new(Self::router(speaker).into(), 32)
    }

    pub fn link(&mut self, one: usize, two: usize) {
        self.links.push(([one, two], true));
    }

    pub fn at(&self, speaker: usize) -> &Speaker {
        self.speakers[speaker].as_ref().unwrap()
    }

    pub fn start(&mut self, speaker: usize) {
        self.stop(speaker);
        self.speakers[speaker] = Some(Speaker::new((self.settings)(speaker)).unwrap());
        self.forward[speaker].clear();
        for link in 0..self.links.len() {
            if let Some(end) = self.links[link].0.iter().position(|it| *it == speaker) {
                let addresses = vec![Self::address(link, end)];
                let (index, is_ipv4, is_ipv6) = (link as u32, true, false);
                let settings = InterfaceSettings { index, is_ipv4, is_ipv6, addresses };
                self.step(speaker, In::InterfaceUp(settings));
            }
        }
        self.step(speaker, In::Route(Self::prefix(speaker), Vec::new()));
    }

    /// A speaker is gone: its connections are closed by its kernel.
    pub fn stop(&mut self, speaker: usize) {
        self.speakers[speaker] = None;
        self.synchronized.retain(|it| it.0 != speaker);
        let ends: Vec<End> =
            self.other_end.keys().filter(|it| it.speaker == speaker).copied().collect();
        ends.into_iter().for_each(|end| self.close(end));
    }

    pub fn step(&mut self, speaker: usize, input: In) {
        let mut out = Vec::new();
        if let Some(it) = &mut self.speakers[speaker] {
            it.step(self.now, input, &mut out);
        }
        self.take(speaker, out);
    }

    /// Tells a speaker the routes by the fewest links to all others.
    pub fn route(&mut self, speaker: usize) {
        let far = self.distances();
        for to in (0..self.speakers.len()).filter(|to| *to != speaker) {
            let mut hops = Vec::new();
            for (link, (ends, is_up)) in self.links.iter().enumerate() {
                let Some(own) = ends.iter().position(|it| *it == speaker) else { continue };
                let next = ends[1 - own];
                let is_nearer = far[next][to] < far[speaker][to];
                if *is_up && self.speakers[next].is_some() && is_nearer {
                    let gateway = Self::address(link, 1 - own);
                    hops.push(NextHop { interface: link as u32, gateway });
                }
            }
            let prefix = Self::prefix(to);
            let input = if hops.is_empty() { In::NoRoute(prefix) } else { In::Route(prefix, hops) };
            self.step(speaker, input);
        }
    }

    pub fn route_all(&mut self) {
        (0..self.speakers.len()).for_each(|it| self.route(it));
    }

    pub fn distances(&self) -> Vec<Vec<usize>> {
        let count = self.speakers.len();
        let mut far = vec![vec![usize::MAX / 2; count]; count];
        for (own, row) in far.iter_mut().enumerate().filter(|it| self.speakers[it.0].is_some()) {
            row[own] = 0;
        }
        for _ in 0..count {
            for (ends, _) in self.links.iter().filter(|it| it.1) {
                if ends.iter().any(|it| self.speakers[*it].is_none()) {
                    continue;
                }
                for row in &mut far {
                    row[ends[0]] = row[ends[0]].min(row[ends[1]] + 1);
                    row[ends[1]] = row[ends[1]].min(row[ends[0]] + 1);
                }
            }
        }
        far
    }

    fn fly(&mut self, speaker: usize, input: In, not_before: Time) -> Time {
        let wait = Duration::from_micros(500 + self.random.next_u64() % 2_000);
        let at = (self.now + wait).max(not_before);
        self.number += 1;
        self.inputs.insert(self.number, input);
        self.flying.push(Reverse((at, self.number, speaker)));
        at
    }

    fn take(&mut self, speaker: usize, out: Vec<Out>) {
        for out in out {
            match &out {
                Out::Datagram { interface, destination, hop_limit, octets } => {
                    self.datagram(speaker, *interface, *destination, *hop_limit, octets);
                }
                Out::Connect { connection, remote, .. } => {
                    let end = End { speaker, id: *connection };
                    self.connect(end, *remote);
                }
                Out::Write(id, octets) => self.write(End { speaker, id: *id }, octets),
                Out::Close(id) => self.close(End { speaker, id: *id }),
                Out::Forward { prefix, label, hops } => {
                    self.forward[speaker].insert(*prefix, (*label, hops.clone()));
                }
                Out::Unlabelled(prefix) => {
                    assert!(self.forward[speaker].remove(prefix).is_some());
                }
                Out::Synchronized(link, true) => drop(self.synchronized.insert((speaker, *link))),
                Out::Synchronized(link, false) => drop(self.synchronized.remove(&(speaker, *link))),
                _ => {}
            }
            self.told[speaker].push(out);
        }
    }

    fn datagram(
        &mut self,
        speaker: usize,
        interface: Option<u32>,
        destination: IpAddr,
        hop_limit: u8,
        octets: &[u8],
    ) {
        if (self.random.next_u64() % 1_000) < self.loss {
            return;
        }
        let (source, other, link) = match interface {
            Some(link) => {
                let (ends, is_up) = self.links[link as usize];
                if !is_up {
                    return;
                }
                let own = ends.iter().position(|it| *it == speaker).unwrap();
                (Self::address(link as usize, own), ends[1 - own], link)
            }
            None => {
                let other = (0..self.speakers.len())
                    .find(|it| IpAddr::V4(Self::router(*it)) == destination)
                    .unwrap();
                (Self::router(speaker).into(), other, 99)
            }
        };
        let octets = octets.to_vec();
        self.sent.push((false, source, destination, 0, octets.clone()));
        let is_multicast = interface.is_some();
        let input = In::Datagram { interface: link, source, is_multicast, hop_limit, octets };
        self.fly(other, input, Time::ZERO);
    }

    fn connect(&mut self, end: End, remote: IpAddr) {
        let found = (0..self.speakers.len()).find(|it| IpAddr::V4(Self::router(*it)) == remote);
        let other =
            found.filter(|it| self.speakers[*it].is_some() && self.reaches(end.speaker, *it));
        let Some(other) = other else {
            self.fly(end.speaker, In::Closed(end.id), Time::ZERO);
            return;
        };
        let id = ConnectionId { number: self.number as u32, is_own: false };
        let far = End { speaker: other, id };
        self.other_end.insert(end, far);
        self.other_end.insert(far, end);
        let own: IpAddr = Self::router(end.speaker).into();
        let at = self.fly(other, In::Accepted(id, own), Time::ZERO);
        self.last.insert(far, at);
        let at = self.fly(end.speaker, In::Connected(end.id), Time::ZERO);
        self.last.insert(end, at);
    }

    fn reaches(&self, one: usize, two: usize) -> bool {
        self.distances()[one][two] < usize::MAX / 2
    }

    fn write(&mut self, end: End, octets: &[u8]) {
        let Some(&far) = self.other_end.get(&end) else { return };
        let ends = [end, far].map(|it| IpAddr::V4(Self::router(it.speaker)));
        let port = if end.id.is_own { 0 } else { 1 };
        self.sent.push((true, ends[0], ends[1], port, octets.to_vec()));
        if !self.reaches(end.speaker, far.speaker) {
            return;
        }
        let mut rest = octets;
        while !rest.is_empty() {
            let length = 1 + self.below(rest.len());
            let (piece, more) = rest.split_at(length);
            rest = more;
            let last = self.last.get(&far).copied().unwrap_or(Time::ZERO);
            let at = self.fly(far.speaker, In::Octets(far.id, piece.to_vec()), last);
            self.last.insert(far, at);
        }
    }

    fn close(&mut self, end: End) {
        if let Some(far) = self.other_end.remove(&end) {
            self.other_end.remove(&far);
            let last = self.last.get(&far).copied().unwrap_or(Time::ZERO);
            self.fly(far.speaker, In::Closed(far.id), last);
        }
    }

    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let machines = self.speakers.iter().flatten().filter_map(Machine::deadline);
            let next = machines.chain(self.flying.peek().map(|it| it.0.0)).min();
            let Some(at) = next.filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            while self.flying.peek().is_some_and(|it| it.0.0 <= self.now) {
                let Some(Reverse((_, number, speaker))) = self.flying.pop() else { break };
                let input = self.inputs.remove(&number).unwrap();
                self.step(speaker, input);
            }
            for speaker in 0..self.speakers.len() {
                let (mut out, now) = (Vec::new(), self.now);
                let Some(it) = &mut self.speakers[speaker] else { continue };
                if it.deadline().is_some_and(|at| at <= now) {
                    it.tick(now, &mut out);
                    let due = it.deadline();
                    assert!(due.is_none_or(|at| at > now), "{due:?} at {now:?}");
                }
                self.take(speaker, out);
            }
        }
        self.now = end;
    }

    /// Connections of a speaker break; both kernels tell.
    pub fn break_connections(&mut self, speaker: usize) {
        let of = self.other_end.iter().filter(|it| it.0.speaker == speaker);
        let ends: Vec<[End; 2]> = of.map(|(one, two)| [*one, *two]).collect();
        for [own, far] in ends {
            self.other_end.remove(&own);
            self.other_end.remove(&far);
            self.step(own.speaker, In::Closed(own.id));
            self.step(far.speaker, In::Closed(far.id));
        }
    }

    pub fn state(&self, one: usize, two: usize) -> Option<SessionState> {
        self.at(one).sessions().find(|it| it.0 == Self::id(two)).map(|it| it.1)
    }

    /// Sessions stand on every link, and each way out of a prefix has the label of its next hop.
    pub fn check(&self, what: &str) {
        let far = self.distances();
        for (own, _) in self.speakers.iter().enumerate().filter(|it| it.1.is_some()) {
            for (to, distance) in far[own].iter().enumerate() {
                let is_far = *distance >= usize::MAX / 2;
                let found = self.forward[own].get(&Self::prefix(to));
                let wanted = to != own && !is_far;
                assert_eq!(found.is_some(), wanted, "{what}: {own} to {to}");
                let Some((label, hops)) = found else { continue };
                assert_eq!(self.at(own).label(Self::prefix(to)), Some(*label), "{what}");
                for hop in hops {
                    let (ends, _) = self.links[hop.interface as usize];
                    let next = ends[usize::from(ends[0] == own)];
                    let theirs = self.at(next).label(Self::prefix(to));
                    assert_eq!(hop.label, theirs, "{what}: {own} to {to} by {next}");
                    assert!(theirs.is_some() && far[next][to] + 1 == *distance, "{what}");
                }
            }
        }
        for (link, (ends, is_up)) in self.links.iter().enumerate() {
            let is_live = *is_up && ends.iter().all(|it| self.speakers[*it].is_some());
            for &end in ends.iter().filter(|_| is_live) {
                assert!(self.synchronized.contains(&(end, link as u32)), "{what}: {end} on {link}");
            }
        }
    }
}
