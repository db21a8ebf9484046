//! LeaseServer and drawers by seed: messages lost, doubled, reordered; the keeper killed; drawers
//! killed, cut off and taken over.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use machine::{Duration, Time};
use pool::{Grant, LEASE, LeaseClient, LeaseServer, Level, QUIET, Report, Share, Standing, Terms};

const SESSIONS: u32 = 1_000;
const DRAWERS: usize = 4;
const STEP: Duration = Duration::from_millis(50);
/// Longest way of a message.
const WAY_MAX_MS: u64 = 200;
/// A report, its answer, and the returns of others that it takes: two rounds of each.
const DRAW: Duration = Duration::from_millis(4 * (WAY_MAX_MS + 50));
const GRACE: Duration = Duration::from_secs(60);
const TERMS: Terms = Terms { grace: GRACE, overdraft: 5_000 };

/// A small generator of numbers (xorshift), so that a seed is a world.
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

enum Message {
    Up(usize, Report),
    Down(usize, Grant),
}

/// A drawer, the sessions that run there, and since when it refuses though there is room.
struct Place {
    drawer: LeaseClient,
    live: u32,
    is_cut: bool,
    short_since: Option<Time>,
}

struct World {
    chance: Rng,
    now: Time,
    keeper: Option<LeaseServer>,
    places: Vec<Place>,
    flying: Vec<(Time, Message)>,
    lost_percent: u64,
    refused: u64,
    /// Longest time that a drawer refused while sessions were free.
    short_max: Duration,
}

impl World {
    fn new(seed: u64, lost_percent: u64) -> Self {
        let now = Time::from_millis(1_000_000);
        let place = |_| {
            let mut drawer = LeaseClient::new(now);
            drawer.join(now, Some(TERMS));
            Place { drawer, live: 0, is_cut: false, short_since: None }
        };
        let places = (0..DRAWERS).map(place).collect();
        let keeper = Some(LeaseServer::new(now, SESSIONS, true));
        let chance = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (flying, short_max) = (Vec::new(), Duration::ZERO);
        Self { chance, now, keeper, places, flying, lost_percent, refused: 0, short_max }
    }

    fn send(&mut self, n: usize, make: impl Fn() -> Message) {
        for _ in 0..1 + u64::from(self.chance.below(10) == 0) {
            if !self.places[n].is_cut && self.chance.below(100) >= self.lost_percent {
                let delay = Duration::from_millis(self.chance.below(WAY_MAX_MS));
                self.flying.push((self.now + delay, make()));
            }
        }
    }

    fn deliver(&mut self) {
        let now = self.now;
        let due: Vec<_> = self.flying.extract_if(.., |(at, _)| *at <= now).collect();
        for (_, message) in due {
            match message {
                Message::Up(n, report) => {
                    let keeper = self.keeper.as_mut();
                    let name = format!("ssc{n}");
                    let grant = keeper.and_then(|keeper| keeper.take(now, &name, 0, report));
                    if let Some(grant) = grant {
                        self.send(n, || Message::Down(n, grant));
                    }
                }
                Message::Down(n, grant) => self.places[n].drawer.take(now, grant),
            }
        }
    }

    /// One step: sessions begin and end by chance, `wanted` in each place; reports leave.
    fn step(&mut self, wanted: [u32; DRAWERS]) {
        self.now += STEP;
        self.deliver();
        for (n, wanted) in wanted.into_iter().enumerate() {
            let live = self.places[n].live;
            let part = if live > wanted { 8 } else { 80 };
            let ends = self.chance.below(u64::from(live / part) + 1) as u32;
            let now = self.now;
            let has_room = |k: &LeaseServer| k.free("") > 0 && !k.is_learning(now);
            let is_free = self.keeper.as_ref().is_some_and(has_room);
            let place = &mut self.places[n];
            place.live -= ends;
            let mut is_short = false;
            for _ in 0..wanted.saturating_sub(place.live).min(40) {
                if place.drawer.admits(now, place.live) {
                    place.live += 1;
                } else {
                    self.refused += 1;
                    is_short = true;
                }
            }
            place.short_since = match place.short_since {
                since @ Some(_) if is_short && is_free => since,
                None if is_short && is_free => Some(now),
                _ => None,
            };
            let short = place.short_since.map_or(Duration::ZERO, |since| now.since(since));
            self.short_max = self.short_max.max(short);
            if let Some(report) = place.drawer.report(now, place.live) {
                self.send(n, || Message::Up(n, report));
            }
        }
    }

    fn run(&mut self, steps: u32, each: u32) {
        for _ in 0..steps {
            self.step([each; DRAWERS]);
        }
    }

    /// The leases that drawers believe in, and those that the keeper knows, are within the pool.
    #[track_caller]
    fn check(&self, seed: u64) {
        let leased: u32 = self.places.iter().map(|place| place.drawer.leased(self.now)).sum();
        assert!(leased <= SESSIONS, "seed {seed}: {leased} leased");
        if let Some(keeper) = &self.keeper {
            let (held, _) = keeper.held();
            assert!(held <= SESSIONS.into(), "seed {seed}: the keeper leased {held}");
        }
    }

    fn live(&self) -> u32 {
        self.places.iter().map(|place| place.live).sum()
    }
}

fn steps(time: Duration) -> u32 {
    (time.as_millis() / STEP.as_millis()) as u32
}

#[test]
fn the_leases_are_never_more_than_the_pool_whatever_is_lost_doubled_or_late() {
    for seed in 1..=200 {
        let mut world = World::new(seed, seed % 40);
        for step in 0..600 {
            world.step([if step % 200 < 100 { 750 } else { 25 }; DRAWERS]);
            world.check(seed);
        }
        assert!(world.refused > 0, "seed {seed}: three times the pool was wanted");
    }
}

#[test]
fn nor_when_keeper_and_drawers_die_are_cut_off_and_come_back() {
    for seed in 1..=200 {
        let mut world = World::new(seed, seed % 20);
        for _ in 0..3_000 {
            let n = world.chance.below(DRAWERS as u64) as usize;
            let now = world.now;
            match world.chance.below(400) {
                0 => world.keeper = None,
                1..=3 if world.keeper.is_none() => {
                    world.keeper = Some(LeaseServer::new(now, SESSIONS, false));
                }
                4 => {
                    // Killed; the next life begins at once, or is a standby with its sessions.
                    world.places[n].drawer.take_over(now);
                    world.places[n].live *= world.chance.below(2) as u32;
                }
                5 | 6 => world.places[n].is_cut ^= true,
                _ => {}
            }
            let each = [900, 50, 300, 10][(now.as_millis() / 7_000 % 4) as usize];
            world.step([each, 10, each, 50]);
            world.check(seed);
        }
    }
}

#[test]
fn while_sessions_are_free_nobody_is_refused_longer_than_one_draw_takes() {
    for seed in 1..=100 {
        let mut world = World::new(seed, 0);
        world.run(100, 100);
        world.short_max = Duration::ZERO;
        for round in 0..600 {
            let mut wanted = [30; DRAWERS];
            wanted[round / 100 % DRAWERS] = 850;
            world.step(wanted);
        }
        assert!(world.short_max <= DRAW, "seed {seed}: {:?}", world.short_max);
        assert!(world.live() > 800, "seed {seed}: {} run", world.live());
    }
}

#[test]
fn what_idles_elsewhere_comes_to_where_it_is_wanted() {
    for seed in 1..=100 {
        let mut world = World::new(seed, 10);
        world.run(100, 200);
        for _ in 0..400 {
            world.step([0, 0, 2_000, 0]);
        }
        assert!(world.places[2].live > 800, "seed {seed}: {}", world.places[2].live);
    }
}

#[test]
fn no_session_is_refused_while_the_keeper_is_away_within_the_grace_time() {
    for seed in 1..=100 {
        let mut world = World::new(seed, 0);
        world.run(100, 150);
        world.keeper = None;
        world.run(steps(QUIET) + 8, 150); // within the blocks until its silence is noticed
        world.refused = 0;
        world.run(steps(GRACE) - 16, 500);
        assert_eq!(world.refused, 0, "seed {seed}");
        world.run(100, 500);
        assert!(world.refused > 0, "seed {seed}: after the grace time the blocks hold");
        assert!(world.places.iter().all(|place| place.drawer.is_away(world.now)));
    }
}

#[test]
fn the_overdraft_bounds_what_starts_beyond_the_block() {
    let now = Time::from_millis(5_000);
    let mut drawer = LeaseClient::new(now);
    drawer.join(now, Some(Terms { grace: GRACE, overdraft: 3 }));
    assert!(drawer.admits(now, 2) && !drawer.admits(now, 3), "until the first grant");
    assert!(!drawer.is_away(now) && drawer.is_away(now + QUIET));
    let end = now + QUIET + GRACE;
    assert_eq!(drawer.standing(now), Standing::Grace(end));
    assert!(!drawer.admits(end, 0), "it holds nothing, and the grace time is over");
    drawer.join(end, None);
    assert!(drawer.admits(end, u32::MAX - 1) && drawer.report(end, 1).is_none(), "no pool");
}

#[test]
fn a_keeper_that_starts_again_learns_the_blocks_and_never_leases_a_session_twice() {
    for seed in 1..=100 {
        let mut world = World::new(seed, 20);
        world.run(200, 750);
        world.keeper = None;
        // Long enough for all leases to run out, or for none.
        world.run(if seed % 2 == 0 { 30 } else { 300 }, 200);
        world.keeper = Some(LeaseServer::new(world.now, SESSIONS, false));
        for _ in 0..600 {
            world.step([750; DRAWERS]);
            world.check(seed);
        }
        let (held, _) = world.keeper.as_ref().unwrap().held();
        assert!(held > 900, "seed {seed}: it grants again: {held}");
        let within = |place: &Place| place.drawer.standing(world.now) == Standing::Within;
        assert!(world.places.iter().all(within), "seed {seed}");
    }
}

/// What a drawer and a keeper say to each other at once, `rounds` times.
fn talk(
    keeper: &mut LeaseServer,
    now: Time,
    name: &str,
    drawer: &mut LeaseClient,
    live: u32,
    rounds: u64,
) {
    for round in 0..rounds {
        let now = now + Duration::from_millis(round);
        let report = drawer.report(now, live).unwrap();
        if let Some(grant) = keeper.take(now, name, 0, report) {
            drawer.take(now, grant);
        }
    }
}

fn drawer(now: Time) -> LeaseClient {
    let mut drawer = LeaseClient::new(now);
    drawer.join(now, Some(TERMS));
    drawer
}

#[test]
fn a_drawer_that_is_gone_gives_its_block_back_after_the_lease() {
    let now = Time::from_millis(5_000);
    let mut keeper = LeaseServer::new(now, 10, true);
    let mut first = drawer(now);
    talk(&mut keeper, now, "a", &mut first, 7, 3);
    assert_eq!(keeper.held(), (9, 7), "what runs, and half of what nobody uses");
    let later = now + LEASE + Duration::from_millis(2);
    assert_eq!(first.leased(later), 0, "the drawer's lease ended first");
    let mut second = drawer(later);
    talk(&mut keeper, later, "b", &mut second, 0, 3);
    assert_eq!(keeper.held(), (5, 0), "only the second one's");
    assert_eq!(keeper.rows().map(|row| row.function).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn a_standby_takes_over_the_lease_of_its_active_and_not_a_second_one() {
    let now = Time::from_millis(5_000);
    let mut keeper = LeaseServer::new(now, 10, true);
    let (mut active, mut standby) = (drawer(now), drawer(now));
    talk(&mut keeper, now, "pair-1", &mut active, 8, 3);
    assert_eq!(keeper.held(), (9, 8));
    let later = now + Duration::from_secs(1);
    standby.take_over(later);
    assert!(standby.admits(later, 8), "no call is lost before its first grant");
    talk(&mut keeper, later, "pair-1", &mut standby, 8, 3);
    assert_eq!((keeper.held(), standby.held()), ((9, 8), 9));
    let report = active.report(later, 8).unwrap();
    assert!(keeper.take(later, "pair-1", 0, report).is_none(), "the old life is over");
    // The active node was cut off with more than its copy knows: all it had is free again.
    assert_eq!(keeper.free("other"), 1);
}

#[test]
fn what_runs_at_a_standby_that_takes_over_stays_its_own_though_others_are_short() {
    let now = Time::from_millis(5_000);
    let mut keeper = LeaseServer::new(now, 20, true);
    let (mut active, mut standby, mut other) = (drawer(now), drawer(now), drawer(now));
    talk(&mut keeper, now, "pair-1", &mut active, 12, 3);
    for round in 0..9 {
        let now = now + Duration::from_millis(10 * round);
        other.admits(now, other.held());
        let live = other.held().min(8);
        talk(&mut keeper, now, "other", &mut other, live, 1);
        talk(&mut keeper, now, "pair-1", &mut active, 12, 1);
    }
    assert_eq!((active.held(), other.held()), (12, 8), "all of it runs");
    let later = now + Duration::from_secs(1);
    standby.take_over(later);
    for round in 0..9 {
        let now = later + Duration::from_millis(10 * round);
        assert!(!other.admits(now, 8));
        talk(&mut keeper, now, "other", &mut other, 8, 1);
        talk(&mut keeper, now, "pair-1", &mut standby, 12, 1);
    }
    assert_eq!((standby.held(), other.held()), (12, 8));
}

#[test]
fn a_function_gets_its_minimum_and_not_more_than_its_maximum() {
    let now = Time::from_millis(5_000);
    let mut keeper = LeaseServer::new(now, 100, true);
    let share = |function: &str, min, max| Share { function: function.into(), min, max };
    keeper.configure(100, vec![share("gold", 40, 100), share("bronze", 0, 20)]);
    let (mut gold, mut bronze, mut other) = (drawer(now), drawer(now), drawer(now));
    talk(&mut keeper, now, "bronze", &mut bronze, 20, 3);
    assert_eq!(bronze.held(), 20);
    talk(&mut keeper, now, "other", &mut other, 30, 3);
    let later = now + Duration::from_millis(100);
    assert!(!bronze.admits(later, 20), "its maximum");
    other.admits(later, other.held());
    talk(&mut keeper, later, "other", &mut other, 40, 9);
    assert_eq!(other.held(), 40, "60 and 40: the rest waits for gold");
    talk(&mut keeper, later, "gold", &mut gold, 0, 3);
    assert_eq!((gold.held(), keeper.held().0), (40, 100));
}

#[test]
fn what_was_recorded_and_is_sent_again_changes_nothing() {
    let now = Time::from_millis(5_000);
    let mut keeper = LeaseServer::new(now, 10, true);
    let mut one = drawer(now);
    talk(&mut keeper, now, "a", &mut one, 2, 2);
    let at = now + Duration::from_millis(10);
    let report = one.report(at, 2).unwrap();
    let grant = keeper.take(at, "a", 0, report).unwrap();
    one.take(at, grant);
    assert!(keeper.take(at, "a", 0, report).is_none(), "the report is old");
    let later = at + LEASE;
    let mut next = LeaseServer::new(later, 10, true);
    assert_eq!(next.take(later, "a", 0, report).unwrap().serial, 0, "of another keeper's life");
    assert_eq!(next.held(), (0, 0));
    let before = one.clone();
    one.take(later, grant);
    assert_eq!((one.standing(later), one.leased(later)), (before.standing(later), 0));
}

#[test]
fn the_level_of_use_rises_at_80_and_95_percent_and_falls_a_little_lower() {
    let mut now = Time::from_millis(5_000);
    let mut keeper = LeaseServer::new(now, 100, true);
    let mut one = drawer(now);
    let rows = [
        (79, Level::Calm),
        (80, Level::High),
        (76, Level::High),
        (95, Level::Full),
        (91, Level::Full),
        (89, Level::High),
        (74, Level::Calm),
    ];
    for (live, level) in rows {
        now += Duration::from_millis(100);
        talk(&mut keeper, now, "a", &mut one, live, 2);
        keeper.tick(now);
        assert_eq!(keeper.level(), level, "{live}");
    }
}
