//! Worlds by seed: both ends connect at once, octets come in pieces, connections fail and are cut,
//! one end restarts. In the end both agree on one connection, and every session carried its
//! UPDATEs whole and in order. `TANDEM_SEEDS` sets how many worlds (default 300).

use crate::world::{Observed, World};
use bgp::codec::{Cease, GracefulRestart, Notice, Offer};
use bgp::family::{Family, FamilySet};
use bgp::{Cause, ConnectionId, In, Indication, PeerAs, Session, Settings, State};
use machine::Duration;
use std::collections::BTreeMap;

fn seeds() -> u64 {
    std::env::var("TANDEM_SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(300)
}

fn settings(identifier: u32) -> Settings {
    let families = FamilySet::only(Family::Ipv4Unicast);
    let offer = Offer::modern(65_000, identifier, 9, families);
    let mut settings = Settings::new(offer, PeerAs::Internal);
    settings.connect_retry = Duration::from_secs(5);
    settings.idle_hold_max = Duration::from_secs(8);
    settings
}

fn pair() -> [Settings; 2] {
    [settings(0x0A00_0001), settings(0x0A00_0002)]
}

/// Numbers of one connection come in order, without gaps, from the first on; Up and Down alternate.
fn check(world: &World, seed: u64) {
    let mut next: BTreeMap<(usize, ConnectionId), u32> = BTreeMap::new();
    for (end, id, number) in &world.came {
        let expected = next.entry((*end, *id)).or_default();
        assert_eq!(number, expected, "seed {seed}: end {end}");
        *expected += 1;
    }
    for end in 0..2 {
        let ups: Vec<bool> = world
            .told
            .iter()
            .filter(|(_, of, _)| *of == end)
            .filter_map(|(_, _, told)| match told {
                Observed::Up(_) => Some(true),
                Observed::Down(_) => Some(false),
                _ => None,
            })
            .collect();
        assert!(ups.first().is_none_or(|up| *up), "seed {seed}");
        assert!(ups.windows(2).all(|two| two[0] != two[1]), "seed {seed}: {ups:?}");
    }
}

/// What each end sent over the connection that is left has come whole.
fn check_last(world: &World, seed: u64) {
    let id = world.connections()[0];
    for end in 0..2 {
        let sent = world.sent[&(end, id)];
        let came = world.came.iter().filter(|it| (it.0, it.1) == (1 - end, id)).count();
        assert_eq!(came as u32, sent, "seed {seed}: from end {end}");
    }
}

#[test]
fn connections_that_cross_end_in_one() {
    let mut collisions = 0;
    for seed in 0..seeds() {
        let mut world = World::new(seed, pair());
        world.delay_ms_max = 1 + seed % 200;
        world.start();
        world.run_s(30);
        assert!(world.agree(), "seed {seed}: {:?}", world.states());
        check(&world, seed);
        check_last(&world, seed);
        let counted: u64 = world.sessions.iter().map(|it| it.counters().collisions).sum();
        collisions += counted;
        // The one with the higher identifier opened what is left, if both were there.
        let ups = world.told.iter().filter(|(_, _, told)| matches!(told, Observed::Up(_))).count();
        assert!(ups <= 4, "seed {seed}: {ups} sessions for one");
    }
    assert!(collisions > seeds() / 2, "{collisions} collisions only");
}

#[test]
fn what_is_disturbed_comes_back() {
    let (mut cuts, mut restarts) = (0, 0);
    for seed in 0..seeds() {
        let mut world = World::new(seed, pair());
        world.fails_one_in = 4;
        world.start();
        for _ in 0..20 {
            world.run(Duration::from_millis(2_000));
            match world.chance.below(8) {
                0 | 1 => {
                    if let Some(id) = world.connections().first().copied() {
                        world.cut(id);
                        cuts += 1;
                    }
                }
                2 => {
                    let end = world.chance.below(2) as usize;
                    let text = Some("another version".to_owned());
                    world.step(end, In::Reset(Cease::AdministrativeReset, text));
                    restarts += 1;
                }
                3 => {
                    world.is_silent = true;
                    let seconds = world.chance_below(15);
                    world.run_s(seconds);
                    world.is_silent = false;
                }
                _ => {}
            }
        }
        world.fails_one_in = 0;
        world.run_s(60);
        assert!(world.agree(), "seed {seed}: {:?} {:?}", world.states(), world.connections());
        check(&world, seed);
        check_last(&world, seed);
    }
    assert!(cuts > seeds() && restarts > seeds() / 2, "{cuts} cuts, {restarts} restarts");
}

#[test]
fn a_peer_that_falls_silent_is_found_by_the_hold_timer_and_not_before() {
    for seed in 0..seeds() / 4 {
        let mut world = World::new(seed, pair());
        world.start();
        world.run_s(60);
        assert!(world.agree());
        let idle = world.told.len();
        world.run_s(600);
        assert_eq!(world.told.len(), idle, "KEEPALIVEs are enough");
        world.is_silent = true;
        let begin = world.now;
        world.run_s(10);
        assert_eq!(world.downs(Notice::HOLD_TIMER_EXPIRED), 2, "seed {seed}");
        let first = world.told[idle].0.since(begin);
        assert!(first >= Duration::from_secs(5), "{first:?}");
        world.is_silent = false;
        world.run_s(60);
        assert!(world.agree(), "seed {seed}");
        check(&world, seed);
    }
}

#[test]
fn a_peer_that_restarts_replaces_its_old_connection_where_that_was_agreed() {
    for seed in 0..seeds() / 4 {
        let mut pair = pair();
        for settings in &mut pair {
            let families = FamilySet::only(Family::Ipv4Unicast);
            settings.offer.graceful_restart = Some(GracefulRestart {
                time_s: 60,
                families,
                forwarding: families,
                ..GracefulRestart::default()
            });
            settings.offer.hold_time_s = 90;
        }
        let restarted = pair[0].clone();
        let mut world = World::new(seed, pair);
        world.start();
        world.run_s(60);
        assert!(world.agree());
        let before = world.told.len();
        // End 0 is another process now: end 1 knows nothing of it.
        world.sessions[0] = Session::new(restarted, seed + 1_000);
        world.forget(0);
        world.step(0, In::Start);
        world.run_s(30);
        assert!(world.agree(), "seed {seed}: {:?}", world.states());
        let replaced = Observed::Down(Cause::Replaced);
        assert!(world.told[before..].iter().any(|(_, end, told)| (*end, told) == (1, &replaced)));
        let families = FamilySet::only(Family::Ipv4Unicast);
        let kept = Indication::Down(Cause::Replaced, families);
        assert!(world.indications.contains(&(1, kept)), "its routes are stale, not gone");
        let purged = Indication::Purge(families);
        assert!(world.indications.contains(&(1, purged)), "until its End-of-RIB");
    }
}

#[test]
fn the_same_seed_gives_the_same_world() {
    let run = |seed| {
        let mut world = World::new(seed, pair());
        world.fails_one_in = 3;
        world.start();
        world.run_s(40);
        (world.told, world.came)
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn a_session_that_is_stopped_stays_so_at_both_ends() {
    let mut world = World::new(1, pair());
    world.start();
    world.run_s(30);
    let text = Some("maintenance".to_owned());
    world.step(0, In::Stop(Cease::AdministrativeShutdown, text.clone()));
    world.run_s(1);
    let received = Cause::Received(Notice::cease(Cease::AdministrativeShutdown), text);
    assert!(
        world
            .told
            .iter()
            .any(|(_, end, told)| (*end, told) == (1, &Observed::Down(received.clone())))
    );
    world.run_s(100);
    assert_eq!(world.sessions[0].state(), State::Idle);
    assert_ne!(world.sessions[1].state(), State::Established);
    world.step(0, In::Start);
    world.run_s(100);
    assert!(world.agree());
}
