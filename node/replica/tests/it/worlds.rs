//! Pairs in virtual time, by seed: crashes, partitions, slow and lossy links, restarts.

use machine::{Duration, Time};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use replica::guard::{End, Seal, Verifier, guard};
use replica::{Arbiter, In, Keys, Name, Out, Pace, Pair, Params, Role, Terms, envelope};
use std::collections::{BTreeMap, VecDeque};

const DETECT: Duration = Duration::from_millis(50);
const LANES: u16 = 2;
const ARBITER: usize = 2;
const PAIR: u64 = 7;
/// Where the table has the number of the last change.
const SERIAL: (u16, u64) = (0, 1_000);
/// The key of the pair, in worlds that have one.
const KEY: &str = "the key of the pair";
/// How often a node makes itself known to the arbiter.
const MADE_KNOWN: Duration = Duration::from_secs(1);

/// One node: the pair's machine and the function's state, which is a table.
struct Home {
    pair: Pair,
    table: BTreeMap<(u16, u64), u64>,
    is_speaking: bool,
    /// Entries that it told and the peer acknowledged, when it was last active.
    told: BTreeMap<(u16, u64), u64>,
    snapshot: Option<u64>,
    quiet: u16,
    link: (Seal, Verifier),
    votes: (Seal, Verifier),
    known_at: Time,
    /// The change up to which it knows the state; `None`: it knows nothing of it.
    serial: Option<u64>,
    /// Whether the other node told it.
    is_told: bool,
    /// What it was told of that when it began to serve.
    is_current: Option<bool>,
}

/// Datagrams that are on their way at once.
const FLYING_MAX: usize = 50_000;

struct World {
    now: Time,
    random: ChaCha8Rng,
    homes: [Option<Home>; 2],
    arbiter: Option<Arbiter>,
    flying: VecDeque<(Time, usize, usize, Vec<u8>)>,
    delay: Duration,
    loss_percent: u64,
    /// Cut ways, by their two ends.
    cut: [[bool; 3]; 3],
    lives: u64,
    has_arbiter: bool,
    next_change: Time,
    both_spoke: u64,
    /// Versions of the two nodes.
    versions: [u32; 2],
    keys: Option<Keys>,
    /// When each change was made, and by whom.
    changes: Vec<(Time, usize)>,
    /// The last change that a node made, as what outlives it remembers.
    memory: [Option<u64>; 2],
    /// Whether a node heard that another one follows it, and up to which change that has applied
    /// all; as it was when the node ended.
    followed: [Option<u64>; 2],
    /// Who listens to everything, if somebody does: from, to, what.
    recorded: Option<Vec<(usize, usize, Vec<u8>)>>,
    /// Until when a node does nothing; what comes to it waits.
    paused: [Time; 2],
}

fn name(at: usize) -> Name {
    if at == 0 { Name::A } else { Name::B }
}

fn delta(key: u64, value: u64) -> Vec<u8> {
    [key.to_be_bytes(), value.to_be_bytes()].concat()
}

impl World {
    /// A world whose pair has a key.
    fn new(seed: u64, has_arbiter: bool) -> Self {
        Self::with(seed, has_arbiter, Keys::parse(KEY).ok())
    }

    fn with(seed: u64, has_arbiter: bool, keys: Option<Keys>) -> Self {
        let now = Time::from_millis(1_000_000);
        let mut world = Self {
            now,
            random: ChaCha8Rng::seed_from_u64(seed),
            homes: [None, None],
            arbiter: None,
            flying: VecDeque::new(),
            delay: Duration::from_micros(300),
            loss_percent: 0,
            cut: [[false; 3]; 3],
            lives: 0,
            has_arbiter,
            next_change: now,
            both_spoke: 0,
            versions: [1, 1],
            keys,
            changes: Vec::new(),
            memory: [None; 2],
            followed: [None; 2],
            recorded: None,
            paused: [Time::ZERO; 2],
        };
        if has_arbiter {
            world.start_arbiter();
        }
        world.start(0);
        world.start(1);
        world
    }

    fn chance(&mut self, below: u64) -> u64 {
        self.random.next_u64() % below.max(1)
    }

    fn start_arbiter(&mut self) {
        let pairs = self.keys.iter().map(|keys| (PAIR, keys.clone())).collect();
        let terms = Terms { promise_max: Duration::from_secs(1), pairs };
        let random = &mut self.random;
        self.arbiter = Some(Arbiter::new(self.now, &terms, || random.next_u64()));
    }

    fn start(&mut self, at: usize) {
        self.lives += 1;
        let lives = [self.random.next_u64(), self.random.next_u64()];
        let ends =
            |theirs, life| guard(self.keys.as_ref(), PAIR, End::Node(name(at)), theirs, life);
        let params = Params {
            pair: PAIR,
            node: name(at),
            priority: u8::from(at == 0),
            incarnation: self.lives,
            heartbeat: Duration::from_millis(10),
            detect: DETECT,
            lease: Duration::from_millis(40),
            has_arbiter: self.has_arbiter,
            lanes: LANES,
            version: self.versions[at],
        };
        self.homes[at] = Some(Home {
            pair: Pair::new(params, self.now),
            table: BTreeMap::new(),
            is_speaking: false,
            told: BTreeMap::new(),
            snapshot: None,
            quiet: 0,
            link: ends(End::Node(name(1 - at)), lives[0]),
            votes: ends(End::Arbiter, lives[1]),
            known_at: Time::ZERO,
            serial: self.memory[at],
            is_told: false,
            is_current: None,
        });
    }

    fn crash(&mut self, at: usize) {
        self.homes[at] = None;
    }

    fn cut_peers(&mut self, is_cut: bool) {
        self.cut[0][1] = is_cut;
        self.cut[1][0] = is_cut;
    }

    fn cut_arbiter(&mut self, at: usize, is_cut: bool) {
        self.cut[at][ARBITER] = is_cut;
        self.cut[ARBITER][at] = is_cut;
    }

    /// Seals as a node does, and sends.
    fn send_sealed(&mut self, at: usize, to: usize, message: &[u8]) {
        let Some(home) = &self.homes[at] else { return };
        let seal = if to == ARBITER { &home.votes.0 } else { &home.link.0 };
        let sealed = seal.seal(message).into_owned();
        self.send_as_is(at, to, sealed);
    }

    fn send_as_is(&mut self, at: usize, to: usize, sealed: Vec<u8>) {
        let is_enveloped = to == ARBITER && self.keys.is_some();
        let bytes = if is_enveloped { envelope(PAIR, name(at), &sealed) } else { sealed };
        self.send(at, to, bytes);
    }

    fn send(&mut self, from: usize, to: usize, bytes: Vec<u8>) {
        if let Some(recorded) = &mut self.recorded {
            recorded.push((from, to, bytes.clone()));
        }
        if self.cut[from][to] || self.chance(100) < self.loss_percent {
            return;
        }
        let jitter = Duration::from_micros(self.chance(400));
        self.flying.push_back((self.now + self.delay + jitter, from, to, bytes));
        assert!(self.flying.len() <= FLYING_MAX, "datagrams lead to datagrams");
    }

    fn act(&mut self, at: usize, outs: Vec<Out>) {
        for out in outs {
            let Some(home) = &mut self.homes[at] else { return };
            match out {
                Out::Outdated => home.is_current = Some(false),
                Out::ToPeer(bytes) => self.send_sealed(at, 1 - at, &bytes),
                Out::ToArbiter(bytes) => self.send_sealed(at, ARBITER, &bytes),
                Out::Activate { is_current, .. } => {
                    home.is_speaking = true;
                    self.followed[at] = Some(0);
                    home.is_current = Some(is_current);
                    self.judge(at);
                }
                Out::ActivateLane(_) => assert!(home.is_speaking, "the others serve on"),
                Out::Deactivate => {
                    home.is_speaking = false;
                    home.quiet = LANES;
                    // A standby leaves nothing to go on with.
                    self.memory[at] = None;
                }
                Out::Forget => {
                    home.table.clear();
                    (home.serial, home.is_told) = (None, true);
                    self.memory[at] = None;
                }
                Out::Apply(lane, bytes) => {
                    let key = u64::from_be_bytes(bytes[..8].try_into().unwrap());
                    let value = u64::from_be_bytes(bytes[8..].try_into().unwrap());
                    home.table.insert((lane, key), value);
                    if (lane, key) == SERIAL {
                        home.serial = Some(value);
                    }
                }
                Out::Snapshot(number) => {
                    home.snapshot = Some(number);
                    self.followed[at] = self.followed[at].or(Some(0));
                }
                Out::Followed(_, change) => {
                    self.followed[at] = self.followed[at].max(Some(change));
                }
                Out::Unfollowed => self.followed[at] = None,
                Out::Paced(_) | Out::Whole(_) => {}
            }
        }
    }

    fn input(&mut self, at: usize, input: In<'_>) {
        let mut outs = Vec::new();
        let now = self.now;
        if let Some(home) = &mut self.homes[at] {
            home.pair.step(now, input, &mut outs);
        }
        self.act(at, outs);
    }

    /// What the function does: a snapshot that was asked for, the news that it is quiet.
    fn function(&mut self, at: usize) {
        let Some(home) = &mut self.homes[at] else { return };
        if let Some(number) = home.snapshot.take() {
            let rows: Vec<_> = home.table.iter().map(|(&(l, k), &v)| (l, delta(k, v))).collect();
            for (lane, row) in rows {
                self.tell(at, lane, &row);
            }
            for _ in 0..LANES {
                self.input(at, In::SnapshotEnded(number));
            }
        }
        let quiet = self.homes[at].as_mut().map_or(0, |home| std::mem::take(&mut home.quiet));
        for _ in 0..quiet {
            self.input(at, In::Quiet);
        }
    }

    fn tell(&mut self, at: usize, lane: u16, row: &[u8]) {
        self.tell_marked(at, lane, None, row);
    }

    fn tell_marked(&mut self, at: usize, lane: u16, mark: Option<u64>, row: &[u8]) {
        let mut outs = Vec::new();
        let now = self.now;
        if let Some(home) = &mut self.homes[at] {
            home.pair.publish(now, lane, mark, std::iter::once(row), &mut outs);
        }
        self.act(at, outs);
    }

    fn speaks(&self, at: usize) -> bool {
        let home = self.homes[at].as_ref();
        let runs = self.now >= self.paused[at];
        home.is_some_and(|home| runs && home.is_speaking && self.now < home.pair.lease())
    }

    fn role(&self, at: usize) -> Option<Role> {
        Some(self.homes[at].as_ref()?.pair.standing(self.now).role)
    }

    /// A change has its number, which is part of the state.
    fn count(&mut self, at: usize) {
        let serial = self.changes.len() as u64;
        self.changes.push((self.now, at));
        self.memory[at] = Some(serial);
        if let Some(home) = &mut self.homes[at] {
            (home.serial, home.is_told) = (Some(serial), false);
            home.table.insert(SERIAL, serial);
        }
        self.tell_marked(at, SERIAL.0, Some(serial), &delta(SERIAL.1, serial));
    }

    /// Who begins to serve and was told that what it knows is of the last term lacks nothing but
    /// what the other node made of late.
    fn judge(&self, at: usize) {
        let Some(home) = &self.homes[at] else { return };
        let (Some(true), Some(serial)) = (home.is_current, home.serial) else { return };
        if home.is_told && self.changes.last().is_some_and(|(_, by)| *by != at) {
            // Who served before knows that this one could take over, and what it has at least.
            let followed = self.followed[1 - at].expect("it follows");
            assert!(serial >= followed, "{at}: {serial} of {followed}");
        }
        let Some((made, by)) = self.changes.get(serial as usize + 1) else { return };
        assert!(home.is_told && *by != at, "{at}: somebody served since");
        let lacks = self.now.since(*made);
        assert!(lacks < Duration::from_millis(2_100), "{at}: what it was told is old: {lacks:?}");
    }

    /// A subscriber's wish: whoever speaks changes its state.
    fn change(&mut self) {
        for at in 0..2 {
            if self.speaks(at) {
                let (lane, key) = (self.chance(2) as u16, self.chance(50));
                let value = self.random.next_u64();
                self.homes[at].as_mut().unwrap().table.insert((lane, key), value);
                self.tell(at, lane, &delta(key, value));
                self.count(at);
            }
        }
        for at in 0..2 {
            let now = self.now;
            let Some(home) = &mut self.homes[at] else { continue };
            let standing = home.pair.standing(now);
            if standing.role == Role::Active && standing.is_synced && standing.lag == 0 {
                home.told = home.table.clone();
            }
        }
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let mut at = self.next_change;
            let comes = |flight: &(Time, usize, usize, Vec<u8>)| {
                flight.0.max(self.paused.get(flight.2).copied().unwrap_or(Time::ZERO))
            };
            at = self.flying.iter().map(comes).fold(at, Time::min);
            for (home, paused) in self.homes.iter().zip(self.paused) {
                let Some(home) = home else { continue };
                at = at.min(home.pair.deadline(self.now).max(self.now).max(paused));
            }
            if at > end {
                break;
            }
            self.now = self.now.max(at);
            self.step();
            if self.speaks(0) && self.speaks(1) {
                self.both_spoke += 1;
            }
        }
        self.now = end;
    }

    /// A datagram comes to somebody, who opens it as a node or an arbiter does.
    fn arrive(&mut self, from: usize, to: usize, bytes: &[u8]) {
        let mut answer = Vec::new();
        if to == ARBITER {
            if let Some(arbiter) = &mut self.arbiter {
                let _ = arbiter.step(self.now, bytes, &mut answer);
            }
            if !answer.is_empty() {
                self.send(ARBITER, from, answer);
            }
            return;
        }
        let Some(home) = &mut self.homes[to] else { return };
        let verifier = if from == ARBITER { &mut home.votes.1 } else { &mut home.link.1 };
        let opened = verifier.open(self.now, bytes, &mut answer).map(<[u8]>::to_vec);
        if !answer.is_empty() {
            self.send_as_is(to, from, answer);
        }
        match opened {
            Ok(message) if from == ARBITER => self.input(to, In::Answered(&message)),
            Ok(message) => self.input(to, In::Heard(&message)),
            Err(_) => {}
        }
        self.function(to);
    }

    fn step(&mut self) {
        let runs = [0, 1].map(|at| self.now >= self.paused[at]);
        let has_come = |(at, _, to, _): &(Time, usize, usize, Vec<u8>), now: Time| {
            *at <= now && runs.get(*to).is_none_or(|runs| *runs)
        };
        while let Some(place) = self.flying.iter().position(|it| has_come(it, self.now)) {
            let (_, from, to, bytes) = self.flying.remove(place).unwrap();
            self.arrive(from, to, &bytes);
        }
        for at in (0..2).filter(|at| runs[*at]) {
            let now = self.now;
            let mut outs = Vec::new();
            if let Some(home) = &mut self.homes[at]
                && home.pair.deadline(now) <= now
            {
                home.pair.tick(now, &mut outs);
                assert!(home.pair.deadline(now) > now, "the deadline advances");
            }
            self.act(at, outs);
            self.function(at);
            if let Some(home) = &mut self.homes[at]
                && self.has_arbiter
                && now >= home.known_at + MADE_KNOWN
            {
                home.known_at = now;
                self.send_sealed(at, ARBITER, &[]);
            }
        }
        if self.now >= self.next_change {
            self.change();
            self.next_change = self.now + Duration::from_millis(1);
        }
    }

    /// The one that is active; panics unless exactly one is, and the other follows it.
    #[track_caller]
    fn settled(&self) -> usize {
        let roles = [self.role(0), self.role(1)];
        let active = roles.iter().position(|role| *role == Some(Role::Active)).expect("one serves");
        assert_ne!(roles[1 - active], Some(Role::Active), "two are active");
        assert!(self.speaks(active), "the active one speaks");
        if let (Some(one), Some(two)) = (&self.homes[0], &self.homes[1]) {
            let standing = self.homes[active].as_ref().unwrap().pair.standing(self.now);
            assert!(standing.is_synced, "{standing:?}");
            assert!(standing.lag < 20, "{standing:?}");
            let differ = one.table.iter().filter(|(key, v)| two.table.get(key) != Some(v)).count();
            assert!(differ <= 20, "{differ} rows differ beyond what is under way");
        }
        active
    }

    fn rest(&mut self) -> usize {
        self.run(Duration::from_secs(3));
        self.settled()
    }

    /// Stops the changes, lets the stream drain and compares.
    #[track_caller]
    fn compare(&mut self) {
        self.next_change = Time::MAX;
        self.run(Duration::from_millis(200));
        let [Some(one), Some(two)] = &self.homes else { panic!("both live") };
        assert_eq!(one.table, two.table, "the standby holds what the active holds");
        self.next_change = self.now;
    }
}

/// Milliseconds from now until `at` speaks.
fn until_speaks(world: &mut World, at: usize) -> u64 {
    let began = world.now;
    for _ in 0..2_000 {
        if world.speaks(at) {
            break;
        }
        world.run(Duration::from_millis(1));
    }
    world.now.since(began).as_millis() as u64
}

#[test]
fn the_preferred_node_becomes_active_and_the_other_follows_it() {
    let worlds = [false, true].into_iter().flat_map(|arbiter| [(arbiter, false), (arbiter, true)]);
    for (has_arbiter, has_key) in worlds {
        let mut world = World::with(1, has_arbiter, Keys::parse(KEY).ok().filter(|_| has_key));
        assert_eq!(world.rest(), 0);
        world.compare();
        assert_eq!(world.both_spoke, 0);
    }
}

#[test]
fn a_crash_at_any_time_is_detected_in_time_and_nothing_acknowledged_is_lost() {
    for seed in 0..60 {
        let mut world = World::new(seed, seed % 2 == 0);
        let active = world.rest();
        let more = world.chance(40_000);
        world.run(Duration::from_micros(more));
        let told = world.homes[active].as_ref().unwrap().told.clone();
        world.crash(active);
        let ms = until_speaks(&mut world, 1 - active);
        assert!(ms <= 65, "seed {seed}: {ms} ms");
        let table = &world.homes[1 - active].as_ref().unwrap().table;
        let missing = told.keys().filter(|key| !table.contains_key(key)).count();
        assert_eq!(missing, 0, "seed {seed}");
        world.run(Duration::from_millis(200));
        world.start(active);
        assert_eq!(world.rest(), 1 - active, "who came back follows");
        world.compare();
        assert_eq!(world.both_spoke, 0, "seed {seed}");
    }
}

#[test]
fn with_an_arbiter_two_never_speak_whatever_is_cut() {
    for seed in 0..40 {
        let mut world = World::new(seed, true);
        world.rest();
        for _ in 0..12 {
            let dice = world.chance(7);
            let at = world.chance(2) as usize;
            match dice {
                0 => world.cut_peers(true),
                1 => world.cut_arbiter(at, true),
                2 => world.loss_percent = world.chance(60),
                3 => world.delay = Duration::from_millis(world.chance(60)),
                4 => world.crash(at),
                5 if world.homes[at].is_none() => world.start(at),
                _ => world.start_arbiter(),
            }
            let time = world.chance(300);
            world.run(Duration::from_millis(time));
            if dice.is_multiple_of(2) {
                world.cut_peers(false);
                world.loss_percent = 0;
            }
        }
        assert_eq!(world.both_spoke, 0, "seed {seed}");
        world.delay = Duration::from_micros(300);
        world.loss_percent = 0;
        world.cut = [[false; 3]; 3];
        for at in 0..2 {
            if world.homes[at].is_none() {
                world.start(at);
            }
        }
        world.rest();
        world.compare();
        assert_eq!(world.both_spoke, 0, "seed {seed}");
    }
}

#[test]
fn whoever_begins_to_serve_knows_whether_what_it_has_is_of_the_last_term() {
    let current = |world: &World, at: usize| {
        let home = world.homes[at].as_ref().expect("it lives");
        (home.pair.standing(world.now).role, home.is_current)
    };
    for has_arbiter in [false, true] {
        // A crash, and a planned switchover.
        let mut world = World::new(1, has_arbiter);
        let active = world.rest();
        world.crash(active);
        world.run(Duration::from_secs(1));
        assert_eq!(current(&world, 1 - active), (Role::Active, Some(true)));
        world.start(active);
        assert_eq!(world.rest(), 1 - active);
        world.input(1 - active, In::Switchover);
        world.function(1 - active);
        assert_eq!(world.rest(), active);
        assert_eq!(current(&world, active), (Role::Active, Some(true)));
        // What outlives a node that is alone is of the last term when that begins anew.
        world.crash(1 - active);
        world.run(Duration::from_secs(5));
        world.crash(active);
        world.run(Duration::from_millis(500));
        world.start(active);
        world.run(Duration::from_secs(1));
        assert_eq!(current(&world, active), (Role::Active, Some(true)));
    }
    // The link was cut for so long that what the standby knows is old.
    let mut world = World::new(2, true);
    let active = world.rest();
    world.cut_peers(true);
    world.run(Duration::from_secs(3));
    world.crash(active);
    world.run(Duration::from_secs(1));
    assert_eq!(current(&world, 1 - active), (Role::Active, Some(false)));
    // The other one had a term, and is gone when this one comes back.
    let mut world = World::new(3, true);
    let active = world.rest();
    world.crash(active);
    world.run(Duration::from_secs(1));
    world.crash(1 - active);
    world.start(active);
    world.run(Duration::from_secs(1));
    assert_eq!(current(&world, active), (Role::Active, Some(false)));
}

#[test]
fn who_serves_hears_how_far_the_other_one_has_followed_and_that_none_does() {
    let mut world = World::new(5, true);
    let active = world.rest();
    let made = |world: &World| world.changes.len() as u64 - 1;
    let followed = world.followed[active].expect("the other one follows");
    assert!(made(&world) - followed < 40, "{followed} of {}", made(&world));
    world.cut_peers(true);
    world.run(Duration::from_millis(1_900));
    let cut = world.followed[active].expect("it could still take over");
    assert!(made(&world) - cut > 1_000, "it has not applied what it was not told");
    world.run(Duration::from_millis(200));
    assert_eq!(world.followed[active], None, "what it knows is old");
    world.cut_peers(false);
    world.run(Duration::from_millis(500));
    let followed = world.followed[active].expect("it follows again");
    assert!(made(&world) - followed < 40, "{followed} of {}", made(&world));
    // One that is alone is followed by nobody.
    world.crash(1 - active);
    world.run(Duration::from_secs(3));
    assert_eq!(world.followed[active], None);
}

#[test]
fn who_takes_over_is_followed_by_nobody_before_the_other_one_has_heard_of_it() {
    let mut world = World::new(6, true);
    let active = world.rest();
    // Cut off from all, it knows nothing of what the other one does from now on.
    world.cut_peers(true);
    world.cut_arbiter(active, true);
    world.run(Duration::from_millis(300));
    assert!(world.speaks(1 - active));
    assert_eq!(world.followed[1 - active], None, "what it was told before it served is old");
    world.cut_peers(false);
    world.cut_arbiter(active, false);
    assert_eq!(world.rest(), 1 - active);
    assert!(world.followed[1 - active].is_some(), "it follows by what it is told");
    // Who serves again, and nobody else did, is followed by whoever did before.
    world.cut_arbiter(0, true);
    world.cut_arbiter(1, true);
    world.cut_peers(true);
    world.run(Duration::from_millis(200));
    assert!(!world.speaks(0) && !world.speaks(1));
    world.cut_arbiter(1 - active, false);
    world.run(Duration::from_millis(200));
    assert!(world.speaks(1 - active) && world.followed[1 - active].is_some());
}

#[test]
fn a_mere_pause_of_either_node_loses_nothing_and_makes_nobody_serve_beside_the_other() {
    for seed in 0..60 {
        let has_arbiter = seed % 2 == 0;
        let mut world = World::new(seed, has_arbiter);
        let active = world.rest();
        let more = world.chance(40_000);
        world.run(Duration::from_micros(more));
        let paused = if world.chance(2) == 0 { active } else { 1 - active };
        let home = world.homes[active].as_ref().unwrap();
        let (told, before) = (home.told.clone(), home.is_current);
        world.paused[paused] = world.now + Duration::from_millis(600);
        world.run(Duration::from_millis(590));
        let what = format!("seed {seed}, arbiter {has_arbiter}, node {paused} of active {active}");
        assert!(world.speaks(1 - paused), "{what}");
        world.run(Duration::from_millis(20));
        assert_eq!(world.both_spoke, 0, "{what}");
        let serves = world.rest();
        assert_eq!(serves, 1 - paused, "{what}");
        let home = world.homes[serves].as_ref().unwrap();
        let wanted = if serves == active { before } else { Some(true) };
        assert_eq!(home.is_current, wanted, "{what}: nothing of before is out of date");
        let missing = told.keys().filter(|key| !home.table.contains_key(key)).count();
        assert_eq!(missing, 0, "{what}");
        world.compare();
        assert_eq!(world.both_spoke, 0, "{what}");
    }
}

/// The one that served votes for the other, of which nothing arrives any more: that may have
/// served by it.
#[test]
fn who_gave_its_vote_away_does_not_take_its_own_term_for_the_last() {
    for seed in 0..8 {
        let mut world = World::new(seed, true);
        world.crash(0);
        world.rest();
        world.start(0);
        assert_eq!(world.rest(), 1);
        world.cut = [[true; 3]; 3];
        world.run(Duration::from_millis(60));
        assert_eq!((world.role(0), world.role(1)), (Some(Role::Standby), Some(Role::Standby)));
        world.cut_peers(false);
        for _ in 0..2_000 {
            if world.role(0) == Some(Role::Active) {
                break;
            }
            world.run(Duration::from_micros(100));
        }
        assert!(world.speaks(0), "it has the preference, and the vote");
        world.cut[0] = [true; 3];
        world.flying.retain(|(_, from, ..)| *from != 0);
        let before = world.changes.len();
        world.run(Duration::from_millis(30));
        assert!(world.changes.len() > before, "it has served");
        world.cut_arbiter(1, false);
        world.run(Duration::from_secs(1));
        assert_eq!(world.role(1), Some(Role::Active));
        let is_current = world.homes[1].as_ref().and_then(|home| home.is_current);
        assert_eq!(is_current, Some(false), "seed {seed}");
    }
}

#[test]
fn nobody_takes_for_the_last_what_is_not_whatever_is_cut_and_crashes() {
    for seed in 0..16 {
        let mut world = World::with(seed, true, None);
        world.rest();
        for _ in 0..16 {
            let at = world.chance(2) as usize;
            match world.chance(8) {
                0 | 1 => world.cut_peers(true),
                2 => world.cut_arbiter(at, true),
                3 => world.loss_percent = world.chance(60),
                4 => world.crash(at),
                5 => {
                    world.crash(at);
                    let while_away = world.chance(200);
                    world.run(Duration::from_millis(while_away));
                    world.start(at);
                }
                6 => world.start_arbiter(),
                _ => {
                    world.cut = [[false; 3]; 3];
                    world.loss_percent = 0;
                }
            }
            let time = world.chance(3_000);
            world.run(Duration::from_millis(time));
            for at in 0..2 {
                if world.homes[at].is_none() && world.chance(2) == 0 {
                    world.start(at);
                }
            }
        }
        assert_eq!(world.both_spoke, 0, "seed {seed}");
    }
}

#[test]
fn the_active_one_falls_silent_when_it_reaches_neither_peer_nor_arbiter() {
    let mut world = World::new(3, true);
    let active = world.rest();
    world.cut_peers(true);
    world.cut_arbiter(active, true);
    world.run(Duration::from_millis(45));
    assert!(!world.speaks(active));
    let ms = until_speaks(&mut world, 1 - active);
    assert!(ms <= 50, "{ms}");
    world.cut = [[false; 3]; 3];
    assert_eq!(world.rest(), 1 - active);
    world.compare();
    assert_eq!(world.both_spoke, 0);
}

#[test]
fn without_an_arbiter_the_lower_epoch_steps_down_as_soon_as_a_cut_link_heals() {
    let mut world = World::new(4, false);
    let active = world.rest();
    world.cut_peers(true);
    world.run(Duration::from_millis(300));
    assert!(world.speaks(0) && world.speaks(1), "nobody can tell a cut from a crash");
    world.cut_peers(false);
    world.run(Duration::from_millis(15));
    assert!(!world.speaks(active) && world.speaks(1 - active));
    assert_eq!(world.rest(), 1 - active);
    world.compare();
}

#[test]
fn what_whoever_serves_on_after_a_cut_holds_is_outdated_where_the_other_has_served_too() {
    // With an arbiter a cut changes nothing.
    for (has_arbiter, cut_ms, is_outdated) in
        [(false, 300, false), (false, 3_000, true), (true, 300, false), (true, 3_000, false)]
    {
        let mut world = World::new(4, has_arbiter);
        let first = world.rest();
        let before = world.homes[first].as_ref().unwrap().is_current;
        world.cut_peers(true);
        world.run(Duration::from_millis(cut_ms));
        world.cut_peers(false);
        let active = world.rest();
        let known = world.homes[active].as_ref().unwrap().is_current;
        let wanted = match (has_arbiter, is_outdated) {
            (true, _) => before,
            (false, is_outdated) => Some(!is_outdated),
        };
        assert_eq!(known, wanted, "{has_arbiter} {cut_ms}");
        world.compare();
    }
    // One that has died serves no more: who took over goes on with what it has.
    let mut world = World::new(5, false);
    let active = world.rest();
    world.crash(active);
    world.run(Duration::from_secs(3));
    world.start(active);
    assert_eq!(world.rest(), 1 - active);
    assert_eq!(world.homes[1 - active].as_ref().unwrap().is_current, Some(true));
}

#[test]
fn a_planned_switchover_hands_everything_over_within_milliseconds() {
    for seed in 0..30 {
        let mut world = World::new(seed, seed % 2 == 0);
        let active = world.rest();
        let before = world.homes[active].as_ref().unwrap().table.clone();
        world.input(active, In::Switchover);
        world.function(active);
        let ms = until_speaks(&mut world, 1 - active);
        assert!(ms <= 15, "seed {seed}: {ms} ms");
        let table = &world.homes[1 - active].as_ref().unwrap().table;
        let missing = before.keys().filter(|key| !table.contains_key(key)).count();
        assert_eq!(missing, 0);
        assert_eq!(world.rest(), 1 - active);
        world.compare();
        assert_eq!(world.both_spoke, 0, "seed {seed}");
    }
}

#[test]
fn a_node_that_lacks_what_it_tracks_hands_over_to_one_that_does_not_and_loses_nothing() {
    for seed in 0..60 {
        let mut world = World::new(seed, seed % 2 == 0);
        let active = world.rest();
        let more = world.chance(20_000);
        world.run(Duration::from_micros(more));
        let before = world.homes[active].as_ref().unwrap().table.clone();
        world.input(active, In::Fit(false));
        world.function(active);
        let ms = until_speaks(&mut world, 1 - active);
        assert!(ms <= 15, "seed {seed}: {ms} ms");
        let table = &world.homes[1 - active].as_ref().unwrap().table;
        assert!(before.keys().all(|key| table.contains_key(key)), "seed {seed}");
        // It is good again, and the other one serves on.
        assert_eq!(world.rest(), 1 - active);
        world.input(active, In::Fit(true));
        assert_eq!(world.rest(), 1 - active, "nobody takes back what is served well");
        // Both lack something: who serves goes on.
        world.input(active, In::Fit(false));
        world.run(Duration::from_millis(100));
        world.input(1 - active, In::Fit(false));
        assert_eq!(world.rest(), 1 - active);
        let standing = world.homes[1 - active].as_ref().unwrap().pair.standing(world.now);
        assert!(!standing.is_fit && !standing.is_peer_fit);
        // One that lacks something serves when the other one dies.
        world.compare();
        world.crash(1 - active);
        assert!(until_speaks(&mut world, active) <= 65, "seed {seed}");
        world.start(1 - active);
        // The one that came back is fit: it is given all as soon as it has everything.
        assert_eq!(world.rest(), 1 - active, "seed {seed}");
        world.compare();
        assert_eq!(world.both_spoke, 0, "seed {seed}");
    }
}

#[test]
fn who_lacks_something_hands_over_only_to_a_node_that_has_everything() {
    let mut world = World::new(9, false);
    let active = world.rest();
    world.crash(1 - active);
    world.run(Duration::from_millis(200));
    world.input(active, In::Fit(false));
    world.run(Duration::from_millis(200));
    assert!(world.speaks(active), "there is nobody else");
    world.start(1 - active);
    let ms = until_speaks(&mut world, 1 - active);
    assert!(ms < 3_000, "{ms}");
    world.compare();
    // Of two that begin, the one that is fit serves, whatever the operator prefers.
    let mut world = World::new(10, false);
    world.input(0, In::Fit(false));
    assert_eq!(world.rest(), 1);
}

#[test]
fn a_lossy_link_delays_the_stream_and_changes_nothing_else() {
    let mut world = World::new(5, true);
    world.rest();
    world.loss_percent = 10;
    world.run(Duration::from_secs(20));
    world.loss_percent = 0;
    world.rest();
    world.compare();
    assert_eq!(world.both_spoke, 0);
}

#[test]
fn both_start_again_and_one_serves() {
    for has_arbiter in [false, true] {
        let mut world = World::new(6, has_arbiter);
        world.rest();
        world.crash(0);
        world.crash(1);
        world.run(Duration::from_millis(20));
        world.start(1);
        world.start(0);
        world.rest();
        world.compare();
        assert_eq!(world.both_spoke, 0);
    }
}

#[test]
fn a_function_that_lost_its_state_leaves_the_activity_to_the_standby() {
    let mut world = World::new(8, true);
    let active = world.rest();
    world.homes[active].as_mut().unwrap().table.clear();
    world.input(active, In::StateLost);
    let ms = until_speaks(&mut world, 1 - active);
    assert!(ms <= 60, "{ms}");
    assert_eq!(world.rest(), 1 - active);
    world.compare();
}

/// Lane 0 of a node forgets everything.
fn lose_lane(world: &mut World, at: usize) {
    world.homes[at].as_mut().unwrap().table.retain(|(lane, _), _| *lane != 0);
    world.input(at, In::LaneLost(0));
}

#[test]
fn what_a_lane_of_the_active_node_lost_is_served_by_the_standby_and_the_others_lose_nothing() {
    for seed in 0..30 {
        let mut world = World::new(seed, seed % 2 == 0);
        let active = world.rest();
        let before = world.homes[active].as_ref().unwrap().table.clone();
        assert!(before.keys().any(|(lane, _)| *lane == 0) && !before.is_empty());
        lose_lane(&mut world, active);
        world.function(active);
        let ms = until_speaks(&mut world, 1 - active);
        assert!(ms <= 60, "seed {seed}: {ms}");
        let heir = &world.homes[1 - active].as_ref().unwrap().table;
        assert!(before.keys().all(|key| heir.contains_key(key)), "seed {seed}");
        // The first node is told everything anew, and may take over again.
        assert_eq!(world.rest(), 1 - active);
        world.crash(1 - active);
        let known = world.homes[active].as_ref().unwrap().table.clone();
        assert!(known.keys().any(|(lane, _)| *lane == 0), "seed {seed}");
        until_speaks(&mut world, active);
        assert_eq!(world.both_spoke, 0);
    }
}

#[test]
fn a_lane_that_was_lost_where_nobody_follows_serves_on_with_nothing() {
    let mut world = World::new(3, true);
    let active = world.rest();
    world.crash(1 - active);
    world.run(Duration::from_millis(500));
    lose_lane(&mut world, active);
    assert!(world.speaks(active));
    world.start(1 - active);
    assert_eq!(world.rest(), active, "and a standby is told everything");
}

#[test]
fn a_standby_that_lost_a_lane_is_told_everything_anew() {
    let mut world = World::new(4, false);
    let active = world.rest();
    lose_lane(&mut world, 1 - active);
    assert_eq!(world.rest(), active);
    let tables = [0, 1].map(|at| world.homes[at].as_ref().unwrap().table.clone());
    assert_eq!(tables[0].len(), tables[1].len());
}

#[test]
fn a_pair_of_two_versions_is_upgraded_node_by_node_without_loss() {
    for seed in 0..6 {
        let mut world = World::new(seed, seed % 2 == 0);
        let active = world.rest();
        for at in [1 - active, active] {
            world.crash(at); // it is the standby by now
            world.versions[at] = 2;
            world.run(Duration::from_millis(100));
            world.start(at);
            assert_eq!(world.rest(), 1 - at, "seed {seed}");
            world.compare();
            let before = world.homes[1 - at].as_ref().unwrap().table.clone();
            world.input(1 - at, In::Switchover);
            world.function(1 - at);
            assert!(until_speaks(&mut world, at) <= 25, "seed {seed}");
            let table = &world.homes[at].as_ref().unwrap().table;
            assert!(before.keys().all(|key| table.contains_key(key)), "seed {seed}");
            world.rest();
        }
        assert_eq!(world.both_spoke, 0, "seed {seed}");
    }
}

#[test]
fn nodes_that_are_two_versions_apart_neither_follow_each_other_nor_change_places() {
    let mut world = World::new(1, false);
    let active = world.rest();
    world.crash(1 - active);
    world.versions[1 - active] = 3;
    world.start(1 - active);
    world.run(Duration::from_secs(3));
    let standing = world.homes[active].as_ref().unwrap().pair.standing(world.now);
    assert_eq!((standing.role, standing.peer_version), (Role::Active, Some(3)));
    assert!(!standing.is_synced && standing.is_peer_alive);
    world.input(active, In::Switchover);
    world.function(active);
    world.run(Duration::from_millis(100));
    assert!(world.speaks(active) && !world.speaks(1 - active));
    assert!(world.homes[1 - active].as_ref().unwrap().table.is_empty());
}

#[test]
fn no_planned_change_leads_to_a_node_of_which_a_shard_is_stuck() {
    let mut world = World::new(2, false);
    let active = world.rest();
    world.homes[1 - active].as_mut().unwrap().pair.hold(Pace::Stuck);
    world.run(Duration::from_secs(1));
    let standing = |world: &World| world.homes[active].as_ref().unwrap().pair.standing(world.now);
    assert!(!standing(&world).is_synced && standing(&world).is_peer_alive);
    world.input(active, In::Switchover);
    world.function(active);
    world.run(Duration::from_millis(100));
    assert!(world.speaks(active) && !world.speaks(1 - active));
    world.homes[1 - active].as_mut().unwrap().pair.hold(Pace::Current);
    world.run(Duration::from_secs(1));
    assert!(standing(&world).is_synced, "the stream went on meanwhile");
    world.input(active, In::Switchover);
    world.function(active);
    world.run(Duration::from_millis(100));
    assert!(world.speaks(1 - active));
}

/// Datagrams in clear as whoever can send from the right address makes them.
mod forged {
    use super::{Name, PAIR};
    use replica::field;

    fn datagram(kind: u8, numbers: &[(u8, u64)]) -> Vec<u8> {
        let mut out = [&b"TDR1"[..], &[kind]].concat();
        field::number(&mut out, 1, PAIR);
        numbers.iter().for_each(|&(tag, value)| field::number(&mut out, tag, value));
        out
    }

    fn number(name: Name) -> u64 {
        if name == Name::A { 1 } else { 2 }
    }

    /// The node is active in a far epoch.
    pub fn beat(name: Name, epoch: u64, stamp: u64) -> Vec<u8> {
        let role = (6, 1);
        datagram(1, &[(2, number(name)), (3, 99), (4, stamp), role, (7, epoch), (20, 1)])
    }

    /// A stream of one delta.
    pub fn delta(epoch: u64) -> Vec<u8> {
        let mut out = datagram(2, &[(19, epoch), (14, 99), (15, 1)]);
        field::nested(&mut out, 16, |out| {
            out.extend_from_slice(&[0, 0]);
            out.extend_from_slice(&super::delta(4_711, 4_711));
        });
        out
    }

    /// The arbiter shall vote for nobody else for a minute.
    pub fn request(name: Name, stamp: u64) -> Vec<u8> {
        datagram(3, &[(2, number(name)), (4, stamp), (18, 60_000_000_000)])
    }
}

impl World {
    /// Everything that somebody can send who has listened since the start and has no key: from,
    /// to, what; plain and sealed by a key of his own.
    fn attack(&mut self, to: usize) -> (usize, Vec<u8>) {
        let (from, stamp) = (1 - to.min(1), self.now.as_nanos() + 1_000_000_000);
        let epoch = 1_000 + self.chance(1_000);
        let plain = match (to, self.chance(2)) {
            (ARBITER, _) => forged::request(name(from), stamp),
            (_, 0) => forged::beat(name(from), epoch, stamp),
            _ => forged::delta(
                self.homes
                    .iter()
                    .flatten()
                    .fold(0, |most, home| most.max(home.pair.standing(self.now).epoch)),
            ),
        };
        let theirs = if to == ARBITER { End::Arbiter } else { End::Node(name(to)) };
        let other = Keys::parse("a key of somebody else").ok();
        let life = self.random.next_u64();
        let (seal, _) = guard(other.as_ref(), PAIR, End::Node(name(from)), theirs, life);
        let bytes = match self.chance(3) {
            0 => plain,
            1 => seal.seal(&plain).into_owned(),
            _ => {
                let recorded = self.recorded.take().unwrap_or_default();
                let meant: Vec<_> = recorded.iter().filter(|(_, at, _)| *at == to).collect();
                let chosen = self.random.next_u64() as usize % meant.len().max(1);
                let replayed = meant.get(chosen).map(|(from, _, bytes)| (*from, bytes.clone()));
                self.recorded = Some(recorded);
                return replayed.unwrap_or((from, plain));
            }
        };
        let is_enveloped = to == ARBITER && self.chance(2) == 0;
        (from, if is_enveloped { envelope(PAIR, name(from), &bytes) } else { bytes })
    }

    /// Lets the time pass under such datagrams, one every 100 us.
    fn run_attacked(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.run(Duration::from_micros(100));
            let to = self.chance(if self.has_arbiter { 3 } else { 2 }) as usize;
            let (from, bytes) = self.attack(to);
            // What he makes himself he need not record.
            let recorded = self.recorded.take();
            self.arrive(from, to, &bytes);
            self.recorded = recorded;
        }
    }
}

#[test]
fn without_a_key_one_forged_datagram_takes_the_activity_and_the_state() {
    let mut world = World::with(1, false, None);
    let active = world.rest();
    let stamp = world.now.as_nanos() + 1_000_000_000;
    world.arrive(1 - active, active, &forged::beat(name(1 - active), 1_000, stamp));
    assert!(!world.speaks(active), "it stepped down: this is what keys are for");
    let epoch = world.homes[active].as_ref().unwrap().pair.standing(world.now).epoch;
    world.arrive(1 - active, active, &forged::delta(epoch));
    let table = &world.homes[active].as_ref().unwrap().table;
    assert_eq!(table.get(&(0, 4_711)), Some(&4_711));
}

#[test]
fn with_a_key_nothing_that_is_forged_or_played_again_moves_anything() {
    for seed in 0..12 {
        let mut world = World::new(seed, seed % 2 == 0);
        world.recorded = Some(Vec::new());
        let active = world.rest();
        let epoch = |world: &World, at: usize| {
            world.homes[at].as_ref().unwrap().pair.standing(world.now).epoch
        };
        let before = epoch(&world, active);
        world.run_attacked(Duration::from_secs(2));
        assert_eq!((world.settled(), epoch(&world, active)), (active, before), "seed {seed}");
        world.compare();
        // The active one dies, and what it once said is played again to everybody.
        let told = world.homes[active].as_ref().unwrap().told.clone();
        world.crash(active);
        let began = world.now;
        while !world.speaks(1 - active) {
            world.run_attacked(Duration::from_millis(1));
            assert!(world.now < began + Duration::from_millis(66), "seed {seed}");
        }
        assert_eq!(epoch(&world, 1 - active), before + 1, "seed {seed}");
        let table = &world.homes[1 - active].as_ref().unwrap().table;
        assert!(told.keys().all(|key| table.contains_key(key)), "seed {seed}");
        assert!(!table.contains_key(&(0, 4_711)));
        // It comes back, with another life, under the same datagrams.
        world.start(active);
        world.run_attacked(Duration::from_secs(3));
        assert_eq!(world.settled(), 1 - active, "seed {seed}");
        world.compare();
        assert_eq!(world.both_spoke, 0, "seed {seed}");
    }
}

#[test]
fn a_node_with_another_key_is_no_peer() {
    let mut world = World::new(2, false);
    let active = world.rest();
    world.crash(1 - active);
    let keys = std::mem::replace(&mut world.keys, Keys::parse("a key of somebody else").ok());
    world.start(1 - active);
    world.keys = keys;
    world.run(Duration::from_secs(1));
    let standing = world.homes[active].as_ref().unwrap().pair.standing(world.now);
    assert_eq!((standing.role, standing.is_peer_alive), (Role::Active, false));
}
