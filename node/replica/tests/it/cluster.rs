//! Clusters in virtual time, by seed: nodes that die and come back at every step, cut and slow
//! links, a second death after the refill, nodes that join and leave, groups that are moved.

use machine::{Duration, Time};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use replica::cluster::{Cluster, In, Out, Params, Placement, Roster, preference};
use replica::{Arbiter, Terms};
use runtime::{GroupId, GroupOrder, NodeId, Pace};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const HEARTBEAT: Duration = Duration::from_millis(10);
const DETECT: Duration = Duration::from_millis(50);
const CLUSTER: u64 = 7;
/// The arbiter, as an end of ways.
const ARBITER: u8 = 99;
/// Records of a slice.
const SLICE: usize = 7;
/// Datagrams that are on their way at once: nodes that answered each other's answers would have
/// ever more, and the test take all memory.
const FLYING_MAX: usize = 20_000;

type Table = BTreeMap<u64, u64>;

/// One node: the machine, and the function's state.
struct Home {
    cluster: Cluster,
    tables: BTreeMap<GroupId, Table>,
    active: BTreeSet<GroupId>,
    /// Whether a standby follows each of its groups.
    followed: BTreeSet<GroupId>,
    /// What waits for each mark: group, key, value.
    marked: BTreeMap<u64, (GroupId, u64, u64)>,
    slices: Vec<(GroupId, u64, u64)>,
    quiet: Vec<GroupId>,
    serves: BTreeMap<GroupId, Option<NodeId>>,
    heard: BTreeSet<NodeId>,
    pace: BTreeMap<GroupId, Pace>,
    /// Whether its function answers what it is asked.
    is_slow: bool,
    /// What was posted to it, and what it posted and got back.
    posts: Vec<u64>,
    returned: Vec<u64>,
}

struct World {
    seed: u64,
    now: Time,
    random: ChaCha8Rng,
    homes: BTreeMap<u8, Home>,
    arbiter: Option<Arbiter>,
    flying: VecDeque<(Time, u8, u8, Vec<u8>)>,
    delay: BTreeMap<(u8, u8), Duration>,
    cut: BTreeSet<(u8, u8)>,
    loss_percent: u64,
    lives: u64,
    roster: Roster,
    groups: u16,
    observers: Vec<NodeId>,
    log_bytes_max: usize,
    /// What a standby has acknowledged: it must not be lost.
    safe: BTreeMap<(GroupId, u64), u64>,
    value: u64,
    marks: u64,
    is_changing: bool,
    /// Each time that a node began to serve: when, which, what, whether its copy was current.
    begun: Vec<(Time, u8, GroupId, bool)>,
    forgets: usize,
    asked: usize,
    octets: usize,
}

impl World {
    fn new(seed: u64, nodes: u8, groups: u16) -> Self {
        let voters = (1..=nodes).map(NodeId).collect();
        Self::with(seed, Roster { voters, ..Roster::default() }, groups)
    }

    fn with(seed: u64, roster: Roster, groups: u16) -> Self {
        Self::of(seed, roster, groups, 1 << 20)
    }

    fn of(seed: u64, roster: Roster, groups: u16, log_bytes_max: usize) -> Self {
        let mut world = Self {
            seed,
            now: Time::from_millis(1_000_000),
            random: ChaCha8Rng::seed_from_u64(seed),
            homes: BTreeMap::new(),
            arbiter: None,
            flying: VecDeque::new(),
            delay: BTreeMap::new(),
            cut: BTreeSet::new(),
            loss_percent: 0,
            lives: 0,
            observers: roster.observers.iter().copied().collect(),
            groups,
            log_bytes_max,
            safe: BTreeMap::new(),
            value: 0,
            marks: 0,
            is_changing: true,
            begun: Vec::new(),
            forgets: 0,
            asked: 0,
            octets: 0,
            roster,
        };
        if world.roster.has_arbiter {
            let terms = Terms { promise_max: Duration::from_secs(1), pairs: Vec::new() };
            world.arbiter = Some(Arbiter::new(world.now, &terms, || 1));
        }
        let nodes: Vec<NodeId> = world.roster.nodes().collect();
        nodes.into_iter().for_each(|node| world.start(node.0));
        world
    }

    fn chance(&mut self, below: u64) -> u64 {
        self.random.next_u64() % below.max(1)
    }

    fn placements(&self) -> Vec<Placement> {
        let of = |group| Placement {
            group,
            serve: preference(group, self.roster.voters.iter().copied()),
            observe: self.observers.clone(),
            copies: 1,
        };
        (0..self.groups).map(GroupId).map(of).collect()
    }

    fn start(&mut self, node: u8) {
        self.lives += 1;
        let params = Params {
            cluster: CLUSTER,
            node: NodeId(node),
            life: self.lives,
            heartbeat: HEARTBEAT,
            detect: DETECT,
            lease: DETECT * 4 / 5,
            version: replica::cluster::PROTOCOL,
            log_bytes_max: self.log_bytes_max,
        };
        let home = Home {
            cluster: Cluster::new(params, self.roster.clone(), self.now),
            tables: BTreeMap::new(),
            active: BTreeSet::new(),
            followed: BTreeSet::new(),
            marked: BTreeMap::new(),
            slices: Vec::new(),
            quiet: Vec::new(),
            serves: BTreeMap::new(),
            heard: BTreeSet::new(),
            pace: BTreeMap::new(),
            is_slow: false,
            posts: Vec::new(),
            returned: Vec::new(),
        };
        self.homes.insert(node, home);
        for placement in self.placements() {
            self.input(node, In::Place(placement));
        }
    }

    fn crash(&mut self, node: u8) {
        self.homes.remove(&node);
    }

    /// Nodes join or leave: all are told, one after the other.
    fn enroll(&mut self, voters: &[u8]) {
        self.roster.voters = voters.iter().map(|node| NodeId(*node)).collect();
        for node in self.nodes() {
            let roster = self.roster.clone();
            self.input(node, In::Roster(roster));
            for placement in self.placements() {
                self.input(node, In::Place(placement));
            }
            self.run(20);
        }
    }

    fn nodes(&self) -> Vec<u8> {
        self.homes.keys().copied().collect()
    }

    fn cut(&mut self, one: u8, other: u8, is_cut: bool) {
        for way in [(one, other), (other, one)] {
            if is_cut {
                self.cut.insert(way);
            } else {
                self.cut.remove(&way);
            }
        }
    }

    fn isolate(&mut self, node: u8, is_cut: bool) {
        for other in self.nodes().into_iter().chain([ARBITER]) {
            if other != node {
                self.cut(node, other, is_cut);
            }
        }
    }

    fn send(&mut self, from: u8, to: u8, bytes: Vec<u8>) {
        self.octets += bytes.len();
        if self.cut.contains(&(from, to)) || self.chance(100) < self.loss_percent {
            return;
        }
        let delay = self.delay.get(&(from, to)).copied().unwrap_or(Duration::from_micros(200));
        let jitter = Duration::from_micros(self.chance(300));
        self.flying.push_back((self.now + delay + jitter, from, to, bytes));
        assert!(self.flying.len() <= FLYING_MAX, "datagrams lead to datagrams");
    }

    fn act(&mut self, node: u8, outs: Vec<Out>) {
        for out in outs {
            let Some(home) = self.homes.get_mut(&node) else { return };
            match out {
                Out::Send(to, bytes) => self.send(node, to.0, bytes),
                Out::ToArbiter(bytes) => self.send(node, ARBITER, bytes),
                Out::Order(GroupOrder::Activate { group, is_current, .. }) => {
                    home.active.insert(group);
                    home.followed.remove(&group);
                    self.begun.push((self.now, node, group, is_current));
                    self.judge(node, group, is_current);
                }
                Out::Order(GroupOrder::Deactivate { group }) => {
                    home.active.remove(&group);
                    home.followed.remove(&group);
                    home.marked.retain(|_, (of, ..)| *of != group);
                    home.quiet.push(group);
                }
                Out::Order(GroupOrder::Forget { group }) => {
                    self.forgets += 1;
                    home.tables.remove(&group);
                }
                Out::Order(GroupOrder::Delta { group, delta }) => {
                    let key = u64::from_be_bytes(delta[..8].try_into().unwrap());
                    let value = u64::from_be_bytes(delta[8..16].try_into().unwrap());
                    let table = home.tables.entry(group).or_default();
                    let before = table.insert(key, value).unwrap_or(0);
                    assert!(before <= value, "{group} {key} goes back from {before} to {value}");
                }
                Out::Order(GroupOrder::Slice { group, number, cursor, room }) => {
                    assert!(room > 0);
                    self.asked += 1;
                    home.slices.push((group, number, cursor));
                }
                Out::Order(GroupOrder::Followed { group, mark: Some(0) }) => {
                    home.followed.insert(group);
                }
                Out::Order(GroupOrder::Followed { group, mark: Some(mark) }) => {
                    // Marks of other groups wait for other standbys.
                    let done = home.marked.extract_if(..=mark, |_, (of, ..)| *of == group);
                    for (_, (group, key, value)) in done {
                        let safe = self.safe.entry((group, key)).or_default();
                        *safe = (*safe).max(value);
                    }
                }
                Out::Order(GroupOrder::Followed { group, mark: None }) => {
                    home.followed.remove(&group);
                    home.marked.retain(|_, (of, ..)| *of != group);
                }
                Out::Order(GroupOrder::Paced { group, pace }) => {
                    home.pace.insert(group, pace);
                }
                Out::Order(GroupOrder::Serves { group, node: serves, .. }) => {
                    home.serves.insert(group, serves);
                }
                Out::Order(GroupOrder::Node { node, is_alive: true }) => {
                    home.heard.insert(node);
                }
                Out::Order(GroupOrder::Node { node, is_alive: false }) => {
                    home.heard.remove(&node);
                }
                Out::ToShard(_, GroupOrder::Post { bytes, .. }) => {
                    home.posts.push(u64::from_be_bytes(bytes[..8].try_into().unwrap()));
                }
                Out::ToShard(_, GroupOrder::Returned { bytes, .. }) => {
                    home.returned.push(u64::from_be_bytes(bytes[..8].try_into().unwrap()));
                }
                Out::Order(order) | Out::ToShard(_, order) => panic!("{order:?}"),
            }
        }
    }

    /// Who begins to serve with a current copy lacks nothing that a standby has acknowledged.
    fn judge(&self, node: u8, group: GroupId, is_current: bool) {
        if !is_current {
            return;
        }
        let table = self.homes[&node].tables.get(&group);
        for ((_, key), value) in self.safe.iter().filter(|((of, _), _)| *of == group) {
            let has = table.and_then(|table| table.get(key)).copied().unwrap_or(0);
            assert!(has >= *value, "node {node}, group {group}: {key} is {has}, not {value}");
        }
    }

    fn input(&mut self, node: u8, input: In<'_>) {
        let (mut outs, now) = (Vec::new(), self.now);
        if let Some(home) = self.homes.get_mut(&node) {
            home.cluster.step(now, input, &mut outs);
        }
        self.act(node, outs);
    }

    fn tell(&mut self, node: u8, group: GroupId, rows: &[(u64, u64)]) {
        let (mut outs, now) = (Vec::new(), self.now);
        if let Some(home) = self.homes.get_mut(&node) {
            for (key, value) in rows {
                let delta = [key.to_be_bytes(), value.to_be_bytes()].concat();
                home.cluster.delta(group, &delta);
            }
            home.cluster.flush(now, &mut outs);
        }
        self.act(node, outs);
    }

    /// Rows of a thousand octets, told at once.
    fn tell_wide(&mut self, node: u8, group: GroupId, rows: std::ops::Range<u64>, value: u64) {
        let (mut outs, now) = (Vec::new(), self.now);
        if let Some(home) = self.homes.get_mut(&node) {
            for key in rows {
                home.tables.entry(group).or_default().insert(key, value);
                let row = [&key.to_be_bytes()[..], &value.to_be_bytes(), &[0; 1_000]].concat();
                home.cluster.delta(group, &row);
            }
            home.cluster.flush(now, &mut outs);
        }
        self.act(node, outs);
    }

    /// Posts numbers from one node to another.
    fn post(&mut self, from: u8, to: u8, numbers: std::ops::Range<u64>) {
        let (mut outs, now) = (Vec::new(), self.now);
        let cluster = &mut self.homes.get_mut(&from).unwrap().cluster;
        for number in numbers {
            let text = [&number.to_be_bytes()[..], &[7; 100]].concat();
            cluster.post(now, NodeId(to), (0, 3), &text, &mut outs);
        }
        cluster.flush(now, &mut outs);
        self.act(from, outs);
    }

    /// What the function does: a slice that was asked for, the news that it is quiet.
    fn function(&mut self, node: u8) {
        let Some(home) = self.homes.get_mut(&node).filter(|home| !home.is_slow) else { return };
        let (slices, quiet) = (std::mem::take(&mut home.slices), std::mem::take(&mut home.quiet));
        for (group, number, cursor) in slices {
            let table = self.homes[&node].tables.get(&group).cloned().unwrap_or_default();
            let rows: Vec<_> = table.range(cursor..).take(SLICE).map(|(k, v)| (*k, *v)).collect();
            let next = rows.last().filter(|_| rows.len() == SLICE).map(|(key, _)| key + 1);
            self.tell(node, group, &rows);
            self.input(node, In::Sliced { group, number, next });
        }
        quiet.into_iter().for_each(|group| self.input(node, In::Quiet(group)));
    }

    fn speaks(&self, node: u8, group: GroupId) -> bool {
        let home = self.homes.get(&node);
        home.is_some_and(|it| it.active.contains(&group) && self.now < it.cluster.lease(group))
    }

    fn speakers(&self, group: GroupId) -> Vec<u8> {
        self.nodes().into_iter().filter(|node| self.speaks(*node, group)).collect()
    }

    /// Somebody's wish: whoever speaks for the group changes its state.
    fn change(&mut self) {
        let group = GroupId(self.chance(self.groups.into()) as u16);
        let key = self.chance(30);
        for node in self.speakers(group) {
            self.value += 1;
            let value = self.value;
            let home = self.homes.get_mut(&node).unwrap();
            home.tables.entry(group).or_default().insert(key, value);
            self.tell(node, group, &[(key, value)]);
            if self.homes[&node].followed.contains(&group) {
                self.marks += 1;
                let mark = self.marks;
                self.homes.get_mut(&node).unwrap().marked.insert(mark, (group, key, value));
                self.input(node, In::Marked(group, mark));
            }
        }
    }

    fn arrive(&mut self) {
        let now = self.now;
        let (due, later): (VecDeque<_>, VecDeque<_>) =
            self.flying.drain(..).partition(|(at, ..)| *at <= now);
        self.flying = later;
        let mut due = Vec::from(due);
        due.sort_by_key(|(at, ..)| *at);
        for (_, from, to, bytes) in due {
            if to == ARBITER {
                let mut answer = Vec::new();
                let arbiter = self.arbiter.as_mut().expect("there is one");
                if arbiter.step(now, &bytes, &mut answer).is_ok() {
                    self.send(ARBITER, from, answer);
                }
            } else if from == ARBITER {
                self.input(to, In::Answered(&bytes));
            } else {
                self.input(to, In::Heard(NodeId(from), &bytes));
            }
        }
    }

    fn step(&mut self) {
        let pause = 500 + self.chance(1_000);
        self.now += Duration::from_micros(pause);
        self.arrive();
        for node in self.nodes() {
            self.function(node);
            let (mut outs, now) = (Vec::new(), self.now);
            if let Some(home) = self.homes.get_mut(&node) {
                home.cluster.tick(now, &mut outs);
                assert!(home.cluster.deadline() > now);
            }
            self.act(node, outs);
        }
        if !self.roster.presumes() {
            for group in (0..self.groups).map(GroupId) {
                let speakers = self.speakers(group);
                assert!(speakers.len() <= 1, "{speakers:?} speak for {group}");
            }
        }
        if self.is_changing {
            self.change();
        }
    }

    fn run(&mut self, ms: u64) {
        let until = self.now + Duration::from_millis(ms);
        while self.now < until {
            self.step();
        }
    }

    /// Whether each group is served, with a standby that has everything.
    fn is_settled(&self) -> bool {
        let is_good = |group: GroupId| {
            let speakers = self.speakers(group);
            let Some(node) = speakers.first() else { return false };
            let needs =
                self.roster.voters.iter().filter(|it| self.homes.contains_key(&it.0)).count();
            let home = &self.homes[node];
            needs < 2 || home.followed.contains(&group)
        };
        (0..self.groups).map(GroupId).all(is_good)
    }

    /// Runs until that is so; how long it took.
    fn settle(&mut self, most_ms: u64) -> u64 {
        let begun = self.now;
        while !self.is_settled() {
            let waited = self.now.since(begun).as_millis() as u64;
            if waited >= most_ms {
                panic!("seed {}: not within {most_ms} ms, at {:?}", self.seed, self.now);
            }
            self.step();
        }
        self.now.since(begun).as_millis() as u64
    }

    /// All copies that should be whole are what their active node has.
    fn compare(&mut self) {
        self.is_changing = false;
        self.settle(3_000);
        self.run(200);
        for group in (0..self.groups).map(GroupId) {
            let node = self.speakers(group)[0];
            let standing = self.homes[&node].cluster.group(group).unwrap();
            let table = self.homes[&node].tables.get(&group).cloned().unwrap_or_default();
            for standby in &standing.standbys {
                let other = self.homes[&standby.0].tables.get(&group).cloned().unwrap_or_default();
                assert_eq!(table, other, "group {group} at {node} and {standby}");
            }
            for ((_, key), value) in self.safe.iter().filter(|((of, _), _)| *of == group) {
                assert!(table.get(key).is_some_and(|has| has >= value), "{group}: {key} is lost");
            }
        }
        self.is_changing = true;
    }

    /// Whether what was acknowledged may be lost from now on: copies died faster than others could
    /// be filled.
    fn forgive(&mut self) {
        self.safe.clear();
    }
}

#[test]
fn three_nodes_share_the_groups_and_each_has_a_standby() {
    let mut world = World::new(1, 3, 12);
    let took = world.settle(2_000);
    assert!(took < 1_000, "{took}");
    world.run(500);
    world.compare();
    let served: BTreeSet<u8> = (0..12).flat_map(|group| world.speakers(GroupId(group))).collect();
    assert_eq!(served.len(), 3, "each serves some");
    for home in world.homes.values() {
        assert_eq!(home.serves.len(), 12);
        assert!(home.serves.values().all(Option::is_some));
    }
}

#[test]
fn groups_of_a_node_that_died_are_served_by_their_standbys_within_three_times_the_silence() {
    let mut world = World::new(2, 3, 12);
    world.settle(2_000);
    world.run(500);
    world.crash(2);
    let died = world.now;
    while (0..12).any(|group| world.speakers(GroupId(group)).is_empty()) {
        world.step();
    }
    let took = world.now.since(died);
    assert!(took < DETECT * 3, "{took:?}");
    assert!(world.begun.iter().filter(|(at, ..)| *at > died).all(|(.., is_current)| *is_current));
    world.settle(2_000);
    world.compare();
    world.start(2);
    world.run(2_000);
    world.compare();
}

/// What may happen to a world. Copies are lost only where that is said.
fn fate(world: &mut World, kind: u64) {
    let nodes = world.nodes();
    let one = nodes[world.chance(nodes.len() as u64) as usize];
    let other = nodes[world.chance(nodes.len() as u64) as usize];
    let pause = 1 + world.chance(400);
    match kind {
        // A node dies at any step, and comes back after any time.
        0 | 1 => {
            world.crash(one);
            world.run(pause);
            world.start(one);
        }
        2 => {
            world.cut(one, other, true);
            world.run(pause);
            world.cut(one, other, false);
        }
        3 => {
            world.isolate(one, true);
            world.run(pause);
            world.isolate(one, false);
        }
        4 => {
            let slow = Duration::from_micros(world.chance(8_000));
            world.delay.insert((one, other), slow);
            world.delay.insert((other, one), slow);
            world.run(pause);
            world.delay.clear();
        }
        5 => {
            world.loss_percent = world.chance(20);
            world.run(pause);
            world.loss_percent = 0;
        }
        6 => {
            for group in 0..world.groups {
                world.input(one, In::Move(GroupId(group), NodeId(other)));
            }
            world.run(pause);
        }
        7 => {
            world.input(one, In::Leave(true));
            world.run(pause);
            world.input(one, In::Leave(false));
        }
        8 => {
            let group = GroupId(world.chance(world.groups.into()) as u16);
            if let Some(home) = world.homes.get_mut(&one) {
                home.tables.remove(&group);
                home.marked.retain(|_, (of, ..)| *of != group);
            }
            world.input(one, In::Lost(group));
            world.run(100 + pause);
        }
        _ => {
            // The second death follows the refill.
            world.crash(one);
            world.run(100);
            world.settle(4_000);
            let rest = world.nodes();
            if rest.len() > world.roster.majority() {
                let second = rest[world.chance(rest.len() as u64) as usize];
                world.crash(second);
                world.run(100);
                world.settle(4_000);
                world.start(second);
            }
            world.start(one);
        }
    }
}

fn play(seed: u64, nodes: u8, fates: u64) {
    let mut world = World::new(seed, nodes, 3);
    world.settle(3_000);
    for _ in 0..fates {
        let begun = world.begun.len();
        let kind = world.chance(10);
        fate(&mut world, kind);
        world.run(100); // until all have heard of it
        world.settle(6_000);
        // One death, one cut, one loss at a time: no copy that was current is ever passed over.
        for (_, node, group, is_current) in &world.begun[begun..] {
            assert!(is_current, "seed {seed}, fate {kind}: {group} at {node} is not current");
        }
    }
    world.compare();
}

/// A thousand of them, each with a seed of its own.
fn worlds(thousand: u64) {
    let first = thousand * 1_000;
    (first..first + 600).for_each(|seed| play(seed, 3, 2));
    (first + 600..first + 800).for_each(|seed| play(seed, 4, 2));
    (first + 800..first + 1_000).for_each(|seed| play(seed, 5, 3));
}

#[test]
fn a_thousand_worlds_lose_nothing_that_was_acknowledged_and_settle() {
    worlds(std::env::var("THOUSAND").map_or(0, |it| it.parse().unwrap()));
}

#[test]
fn with_an_arbiter_two_nodes_never_speak_at_once_and_one_goes_on() {
    for seed in 0..100 {
        let voters = [NodeId(1), NodeId(2)].into();
        let roster = Roster { voters, has_arbiter: true, ..Roster::default() };
        let mut world = World::with(seed, roster, 2);
        world.settle(3_000);
        let pause = world.chance(400);
        match seed % 4 {
            0 => world.cut(1, 2, true),
            1 => world.isolate(1, true),
            2 => world.crash(1),
            _ => world.cut(1, ARBITER, true),
        }
        world.run(100 + pause);
        if seed % 4 != 3 {
            world.run(200);
            assert!((0..2).all(|group| world.speakers(GroupId(group)).len() == 1), "{seed}");
        }
        world.cut.clear();
        if seed % 4 == 2 {
            world.start(1);
        }
        world.settle(4_000);
        world.compare();
    }
}

#[test]
fn two_nodes_alone_both_serve_while_their_link_is_cut_and_one_ceases_when_it_heals() {
    let mut world = World::new(3, 2, 2);
    world.settle(3_000);
    world.cut(1, 2, true);
    world.run(300);
    assert_eq!(world.speakers(GroupId(0)), [1, 2]);
    world.forgive();
    world.cut(1, 2, false);
    world.run(100);
    assert_eq!(world.speakers(GroupId(0)).len(), 1);
    world.settle(4_000);
    world.forgive();
    world.compare();
}

#[test]
fn nodes_join_and_leave_while_groups_are_served() {
    for seed in 0..40 {
        let mut world = World::new(seed, 3, 6);
        world.settle(3_000);
        world.roster.voters = (1..=4).map(NodeId).collect();
        world.start(4);
        world.enroll(&[1, 2, 3, 4]);
        world.settle(4_000);
        world.run(1_500);
        for group in 0..6 {
            for node in world.nodes() {
                world.input(node, In::Move(GroupId(group), NodeId(4)));
            }
        }
        world.run(1_500);
        assert_eq!(world.homes[&4].active.len(), 6, "seed {seed}: it took all");
        world.input(4, In::Leave(true));
        world.run(1_500);
        assert!(world.homes[&4].cluster.is_idle(), "seed {seed}: it gave all away");
        world.enroll(&[1, 2, 3]);
        world.crash(4);
        world.settle(4_000);
        world.compare();
        assert!(world.begun.iter().all(|(.., is_current)| *is_current), "{:?}", world.begun);
    }
}

#[test]
fn an_observer_has_everything_and_never_serves() {
    let voters = [NodeId(1), NodeId(2), NodeId(3)].into();
    let roster = Roster { voters, observers: [NodeId(9)].into(), has_arbiter: false };
    let mut world = World::with(5, roster, 4);
    world.settle(3_000);
    world.run(1_000);
    world.crash(1);
    world.settle(3_000);
    world.run(1_000);
    world.is_changing = false;
    world.run(100);
    for group in (0..4).map(GroupId) {
        let node = world.speakers(group)[0];
        assert_ne!(node, 9);
        assert_eq!(world.homes[&node].tables.get(&group), world.homes[&9].tables.get(&group));
    }
    assert!(world.begun.iter().all(|(_, node, ..)| *node != 9));
}

#[test]
fn a_snapshot_of_any_length_needs_no_more_room_than_a_few_slices_and_goes_on_after_a_cut() {
    // With one of five dead and one cut off, the rest is a majority: the lease goes on.
    let voters: BTreeSet<NodeId> = (1..=5).map(NodeId).collect();
    let order = preference(GroupId(0), voters.iter().copied());
    let mut world = World::of(6, Roster { voters, ..Roster::default() }, 1, 40_000);
    world.settle(3_000);
    let group = GroupId(0);
    let node = world.speakers(group)[0];
    world.is_changing = false;
    world.run(100);
    let rows: Vec<(u64, u64)> = (100..20_000).map(|key| (key, 1)).collect();
    // Told little by little: each standby keeps up.
    for some in rows.chunks(200) {
        let table = world.homes.get_mut(&node).unwrap().tables.entry(group).or_default();
        table.extend(some.iter().copied());
        world.tell(node, group, some);
        world.run(30);
    }
    let standby = world.homes[&node].cluster.group(group).unwrap().standbys[0];
    world.crash(standby.0);
    world.run(100);
    let third = order.into_iter().find(|it| it.0 != node && *it != standby).unwrap().0;
    let mut most = 0;
    while world.homes[&third].tables.get(&group).is_none_or(|table| table.len() < 6_000) {
        world.step();
        most = most.max(world.homes[&node].cluster.group(group).unwrap().lag.1);
    }
    assert!(most < 40_000, "{most} octets waited");
    // The link is cut for a moment: the snapshot goes on where it was.
    let (asked, forgets) = (world.asked, world.forgets);
    world.cut(node, third, true);
    world.run(30);
    world.cut(node, third, false);
    world.settle(60_000);
    assert_eq!(world.forgets, forgets, "it was not begun anew");
    assert!(world.asked > asked);
    world.compare();
}

#[test]
fn a_function_hears_that_its_standby_is_behind_before_that_one_is_given_up() {
    let mut world = World::new(7, 3, 1);
    world.settle(3_000);
    let group = GroupId(0);
    let node = world.speakers(group)[0];
    let standby = world.homes[&node].cluster.group(group).unwrap().standbys[0].0;
    world.is_changing = false;
    // It is heard, and its shards take nothing.
    world.input(standby, In::Hold(true));
    let mut heard = Vec::new();
    let mut key = 1_000;
    while heard.last() != Some(&Pace::Lost) {
        let rows: Vec<(u64, u64)> = (key..key + 500).map(|key| (key, 1)).collect();
        key += 500;
        assert!(key < 1_000_000, "{heard:?}");
        let table = world.homes.get_mut(&node).unwrap().tables.entry(group).or_default();
        table.extend(rows.iter().copied());
        world.tell(node, group, &rows);
        world.run(20);
        let pace = world.homes[&node].pace.get(&group).copied().unwrap_or_default();
        if heard.last() != Some(&pace) {
            heard.push(pace);
        }
    }
    assert_eq!(heard, [Pace::Current, Pace::Behind, Pace::Lost]);
    assert!(!world.homes[&node].followed.contains(&group), "nobody follows");
    world.input(standby, In::Hold(false));
    world.settle(20_000);
    world.compare();
}

#[test]
fn posts_arrive_once_and_in_order_or_come_back() {
    for seed in 0..30 {
        let mut world = World::new(seed, 3, 1);
        world.settle(3_000);
        world.loss_percent = world.chance(15);
        let (mut taken, mut sent) = (Vec::new(), 0u64);
        for round in 0..300 {
            for _ in 0..world.chance(20) {
                sent += 1;
                world.post(1, 2, sent..sent + 1);
            }
            world.step();
            match round {
                100 => world.cut(1, 2, true),
                130 => world.cut(1, 2, false),
                200 => {
                    taken = std::mem::take(&mut world.homes.get_mut(&2).unwrap().posts);
                    world.crash(2);
                }
                230 => world.start(2),
                _ => {}
            }
        }
        world.loss_percent = 0;
        world.run(500);
        let before = taken.len();
        taken.extend(&world.homes[&2].posts);
        assert!(taken.windows(2).all(|pair| pair[0] < pair[1]), "seed {seed}");
        let mut all: Vec<u64> = taken.iter().chain(&world.homes[&1].returned).copied().collect();
        all.sort_unstable();
        // What the node that died had taken and not acknowledged comes back, too.
        let twice = all.windows(2).filter(|pair| pair[0] == pair[1]).count();
        all.dedup();
        assert_eq!(all, (1..=sent).collect::<Vec<_>>(), "seed {seed}: none is lost");
        assert!(twice <= before && before > 0 && taken.len() > before, "seed {seed}");
    }
}

#[test]
fn what_was_on_its_way_to_a_node_that_fell_silent_comes_neither_later_nor_twice() {
    for is_dead in [false, true] {
        let mut world = World::new(3, 3, 1);
        world.settle(3_000);
        let taken = |world: &mut World| std::mem::take(&mut world.homes.get_mut(&2).unwrap().posts);
        world.post(1, 2, 1..2);
        world.run(20);
        assert_eq!(taken(&mut world), [1]);
        // It does not know yet that nobody hears it.
        world.isolate(2, true);
        world.post(1, 2, 2..3);
        assert!(world.homes[&1].returned.is_empty());
        if is_dead {
            world.crash(2);
        }
        world.run(200);
        world.post(1, 2, 3..4);
        assert_eq!(world.homes[&1].returned, [2, 3]);
        if is_dead {
            world.start(2);
        }
        world.isolate(2, false);
        world.run(300);
        world.post(1, 2, 4..5);
        world.run(100);
        assert_eq!(taken(&mut world), [4], "dead: {is_dead}");
    }
}

#[test]
fn a_standby_that_does_not_take_a_group_is_not_given_it_again_at_once() {
    let mut world = World::new(5, 2, 1);
    world.settle(3_000);
    let group = GroupId(0);
    let node = world.speakers(group)[0];
    world.is_changing = false;
    world.run(100);
    // It is heard, and its shards take nothing.
    world.input(3 - node, In::Hold(true));
    world.value += 1;
    let value = world.value;
    world.tell(node, group, &[(1, value)]);
    world.input(node, In::Leave(true));
    let mut unserved = 0;
    for _ in 0..200 {
        if world.speaks(node, group) {
            world.value += 1;
            let value = world.value;
            world.tell(node, group, &[(1, value)]);
        } else {
            unserved += 1;
        }
        world.run(100);
    }
    assert!(unserved < 40, "of 20 s it is not served for {} s", unserved / 10);
    // One that takes it has it in the end.
    world.input(3 - node, In::Hold(false));
    world.run(40_000);
    assert_eq!(world.speakers(group), [3 - node]);
}

#[test]
fn a_standby_that_was_given_up_is_filled_again_however_often_that_happens() {
    let mut world = World::new(8, 3, 2);
    world.settle(3_000);
    world.is_changing = false;
    let group = GroupId(0);
    for round in 1..=4 {
        let node = world.speakers(group)[0];
        // Two thirds of it are on their way when the log is full.
        (0..3).for_each(|_| world.tell_wide(node, group, 1_000..1_400, round));
        world.run(50);
        assert!(!world.homes[&node].followed.contains(&group), "it was given up");
        world.settle(10_000);
    }
    world.compare();
}

#[test]
fn what_one_group_has_to_tell_does_not_keep_the_others_waiting() {
    let voters = [NodeId(1), NodeId(2)].into();
    let mut world = World::of(9, Roster { voters, ..Roster::default() }, 2, 16 << 20);
    world.settle(3_000);
    world.is_changing = false;
    (0..2).for_each(|group| {
        for node in [1, 2] {
            world.input(node, In::Move(GroupId(group), NodeId(1)));
        }
    });
    world.run(200);
    world.settle(3_000);
    assert_eq!(world.homes[&1].active.len(), 2);
    // The way is full with what the first one tells, and as much again waits seven times.
    world.tell_wide(1, GroupId(0), 100..8_100, 1);
    world.tell_wide(1, GroupId(1), 100..101, 2);
    world.homes.get_mut(&1).unwrap().marked.insert(1, (GroupId(1), 100, 2));
    world.input(1, In::Marked(GroupId(1), 1));
    let mut steps = 0;
    while !world.homes[&1].marked.is_empty() {
        world.step();
        steps += 1;
        assert!(steps < 5_000, "it is never acknowledged");
    }
    let (_, waiting) = world.homes[&1].cluster.group(GroupId(0)).unwrap().lag;
    assert!(waiting > 2 << 20, "{waiting} octets of the other one wait");
    world.compare();
}

#[test]
fn posts_go_both_ways_again_once_a_node_was_left_out_and_taken_in_again() {
    let mut world = World::new(10, 3, 1);
    world.settle(3_000);
    let sorted = |posts: &[u64]| posts.windows(2).all(|pair| pair[0] < pair[1]);
    for (round, pause) in [(0, 100), (1, 15), (2, 0)] {
        let first = round * 100;
        world.post(1, 2, first..first + 50);
        world.post(2, 1, first..first + 50);
        world.run(100);
        let three = world.roster.clone();
        let voters = [NodeId(1), NodeId(3)].into();
        world.input(1, In::Roster(Roster { voters, ..Roster::default() }));
        assert!(!world.homes[&1].heard.contains(&NodeId(2)), "nobody hears of it");
        world.run(pause);
        world.input(1, In::Roster(three));
        world.run(200);
        assert!(world.homes[&1].heard.contains(&NodeId(2)));
        world.post(1, 2, first + 50..first + 100);
        world.post(2, 1, first + 50..first + 100);
        world.run(100);
        for (node, other) in [(1, 2), (2, 1)] {
            let posts = &world.homes[&node].posts;
            assert!(sorted(posts), "{round}: {posts:?}");
            let all: BTreeSet<u64> = posts.iter().copied().collect();
            assert!((0..first + 100).all(|it| all.contains(&it)), "{round}: {posts:?}");
            assert_eq!(world.homes[&other].returned, [0u64; 0]);
        }
    }
    world.settle(3_000);
    world.compare();
}

#[test]
fn a_roster_that_others_may_have_counts_until_they_have_the_next_one() {
    let roster = |nodes: &[u8]| Roster {
        voters: nodes.iter().map(|node| NodeId(*node)).collect(),
        ..Roster::default()
    };
    // Told twice of the same; told of one more meanwhile.
    for told in [[&[1][..], &[1]], [&[1, 2], &[1]]] {
        let mut world = World::new(11, 3, 3);
        world.settle(3_000);
        world.isolate(1, true);
        told.iter().for_each(|nodes| world.input(1, In::Roster(roster(nodes))));
        // In each step it is looked at that nobody else serves what the other two do.
        world.run(500);
        assert!((0..3).all(|group| world.speakers(GroupId(group)).iter().all(|it| *it != 1)));
        assert!((0..3).all(|group| world.speakers(GroupId(group)).len() == 1));
    }
}

#[test]
fn no_group_is_given_to_a_node_that_cannot_serve_it() {
    let voters = [NodeId(1), NodeId(2), NodeId(3)].into();
    let roster = Roster { voters, observers: [NodeId(9)].into(), has_arbiter: false };
    let mut world = World::with(12, roster, 2);
    world.settle(3_000);
    world.run(500);
    for node in [1, 2, 3] {
        (0..2).for_each(|group| world.input(node, In::Move(GroupId(group), NodeId(9))));
    }
    for _ in 0..500 {
        world.step();
        assert!((0..2).all(|group| world.speakers(GroupId(group)).len() == 1));
    }
}

#[test]
fn whatever_a_node_says_no_node_panics_and_time_goes_on() {
    for seed in 0..20 {
        let mut world = World::new(seed, 3, 3);
        world.settle(3_000);
        let mut known: Vec<(u8, u8, Vec<u8>)> = Vec::new();
        for _ in 0..600 {
            world.now += Duration::from_millis(1);
            world.arrive();
            known.extend(
                world.flying.iter().map(|(_, from, to, bytes)| (*from, *to, bytes.clone())),
            );
            let at = world.chance(known.len() as u64) as usize;
            let Some((from, to, mut bytes)) = known.get(at).cloned() else { continue };
            for _ in 0..1 + world.chance(3) {
                let at = world.chance(bytes.len() as u64) as usize;
                match world.chance(3) {
                    0 => bytes[at] = world.random.next_u64() as u8,
                    1 => bytes.truncate(at.max(1)),
                    _ => {
                        if let Some(number) = bytes.get_mut(at..at + 8) {
                            number.copy_from_slice(&u64::MAX.to_be_bytes());
                        }
                    }
                }
            }
            let mut outs = Vec::new();
            let now = world.now;
            if let Some(home) = world.homes.get_mut(&to) {
                home.cluster.step(now, In::Heard(NodeId(from), &bytes), &mut outs);
                home.cluster.tick(now, &mut outs);
                assert!(home.cluster.deadline() > now);
            }
            for out in outs {
                if let Out::Send(node, bytes) = out {
                    world.send(to, node.0, bytes);
                }
            }
            known.truncate(300);
        }
    }
}
