//! Phones, a pair of session controllers and two pairs of media controllers with a forwarder each,
//! in virtual time and by seed: links lose, and at some step of every run a node, a control or a
//! forwarder dies, or is cut off.
//!
//! ```text
//!   Alice's host ── SIP, lost now and then ──→ session controllers ←── SIP ── Bob's host
//!        │                                        │ rows, by TCP                    │
//!        │                            media controllers ── channel ─ forwarders     │
//!        └── SRTP, lost now and then ─────────────────────────────────┴── RTP ──────┘
//! ```
//! While it runs: no index comes twice under one key, no stream's order is broken, no sound of
//! another call is heard, at no port there are two streams. At rest: every call has ended by BYE or
//! never stood, and nothing is leaked.

mod forwarder;
mod node;
mod phones;
mod sections;
mod world;

use machine::{Duration, Time};
use media::program::Duty;
use phones::{Host, Stage};
use sections::PAIRS;
use world::World;

/// Half of them begin before each of the things that happen.
const CALLS: u32 = 8;

/// What a run came to.
#[derive(Debug, Default)]
struct Course {
    stood: usize,
    heard: u64,
}

fn play(seed: u64) -> Course {
    let mut world = World::new(seed);
    world.pass(Duration::from_secs(4));
    for pair in 0..PAIRS {
        assert!(world.active(pair).is_some(), "seed {seed}: pair {pair} serves");
    }
    world.loss_percent = seed % 4 * 2;
    let mut struck = Vec::new();
    let mut begun = 0;
    for _ in 0..3 {
        for _ in 0..CALLS / 2 {
            begun += 1;
            let now = world.now;
            world.hosts[0].calls(now, begun);
            world.say(0);
            let ms = world.below(300);
            world.pass(Duration::from_millis(ms));
        }
        // Any step may be the last one before it.
        let steps = world.below(4_000);
        world.run(world.now + Duration::from_secs(3), steps);
        struck.push(world.strike());
        world.pass(Duration::from_secs(4));
        world.streams();
        let over = world.below(begun.into()) as u32 + 1;
        let now = world.now;
        world.hosts[0].hang_up(now, &format!("call{over}@here"));
        world.say(0);
        world.pass(Duration::from_secs(6));
    }
    let mut course = Course { stood: world.hosts[0].standing(), ..Course::default() };
    // All is whole again: whoever stands is heard.
    world.loss_percent = 0;
    world.pass(Duration::from_secs(45));
    let what = format!("seed {seed}, {struck:?}");
    world.streams();
    let before = world.now;
    world.pass(Duration::from_secs(2));
    for side in 0..2 {
        let host = &world.hosts[side];
        course.heard += host.heard;
        for end in host.ends.values().filter(|it| it.stage == Stage::Stands) {
            let last = host.last_heard.get(&end.number()).copied().unwrap_or(Time::ZERO);
            assert!(last > before, "{what}: {} hears nothing at side {side}", end.number());
        }
    }
    assert_eq!(world.hosts[0].standing(), world.hosts[1].standing(), "{what}: half a call");
    // All hang up.
    for number in 1..=begun {
        let now = world.now;
        world.hosts[0].hang_up(now, &format!("call{number}@here"));
        world.say(0);
    }
    world.pass(Duration::from_secs(90));
    assert!(world.hosts.iter().all(Host::is_at_rest), "{what}: a call did not end");
    assert_eq!(world.streams(), 0, "{what}: streams are left");
    let active = world.active(0).unwrap();
    for name in ["media_port_pairs_in_use", "media_calls_live", "ssc_calls_live"] {
        assert_eq!(world.metric(0, active, name), 0, "{what}: {name}");
    }
    for pair in 1..PAIRS {
        for node in 0..2 {
            let flows = world.forwarders[pair][node].as_ref().map_or(0, |it| it.flows.len());
            assert_eq!(flows, 0, "{what}: flows of node {node} of msc{pair}");
        }
        let serves = (0..2).filter(|node| {
            let it = world.forwarders[pair][*node].as_ref();
            it.is_some_and(|it| matches!(it.duty, Some(Duty::Serves(_))))
        });
        let duties = [0, 1].map(|node| world.forwarders[pair][node].as_ref().map(|it| it.duty));
        let active = world.active(pair);
        assert_eq!(serves.count(), 1, "{what}: msc{pair}, {active:?}: {duties:?}");
    }
    course
}

/// Worlds, unless `TANDEM_WORLDS` says how many and, behind a comma, how many are passed over.
const WORLDS: u64 = 4;

#[test]
fn calls_through_pairs_keep_every_law_whatever_dies_and_when() {
    let wanted = std::env::var("TANDEM_WORLDS").unwrap_or_default();
    let mut wanted = wanted.split(',').map(|it| it.parse().ok());
    let count = wanted.next().flatten().unwrap_or(WORLDS);
    let over: u64 = wanted.next().flatten().unwrap_or(0);
    let mut all = Course::default();
    for seed in over + 1..=over + count {
        let course = play(seed);
        all.stood += course.stood;
        all.heard += course.heard;
    }
    let count = usize::try_from(count).unwrap();
    assert!(all.stood > 5 * count && all.heard > 1_000 * count as u64, "{all:?}");
}
