//! Sessions of workers: up, down, changed, adopted.

use super::world::{World, end_of, item, ms, name, session};
use bfd::{AuthType, Authentication, Diagnostic, Key};

#[test]
fn neighbours_at_ten_milliseconds_are_up_and_one_that_falls_silent_is_lost_in_thirty() {
    for workers in [1, 3] {
        let mut world = World::new(1, workers);
        world.watch(1, ms(10));
        world.run(ms(5_000));
        assert_eq!(world.states(1), ["Up", "Up"], "{workers} workers");
        let notice = world.notice(0);
        assert_eq!((notice.interval_us, notice.detection_us), (10_000, 30_000));
        assert!(notice.received > 200 && notice.sent > 200, "{notice:?}");
        world.passes[0] = false;
        let cut = world.now;
        world.run(ms(200));
        let notice = world.notice(0);
        assert_eq!(notice.diagnostic, Some(Diagnostic::DetectionTimeExpired));
        assert!(notice.is_lost && notice.downs == 1);
        let told = world.routers[0].notices.iter().find(|it| it.1.is_lost).unwrap().0;
        assert!(told.since(cut) <= ms(36), "{:?}", told.since(cut));
        world.passes[0] = true;
        world.run(ms(5_000));
        assert_eq!(world.states(1), ["Up", "Up"]);
        assert!(!world.notice(0).is_lost && world.routers[0].punted == 0);
    }
}

#[test]
fn discriminators_of_one_worker_say_nothing_of_those_of_another() {
    let mut world = World::new(1, 2);
    world.watch(1, ms(10));
    world.watch(2, ms(10));
    world.run(ms(4_000));
    let of = |side: usize, interface| {
        world.routers[side].heard[&name(side, interface)].discriminators[0]
    };
    for side in 0..2 {
        // The first session of each of the two; what differs for certain is in the last five bits.
        let [one, other] = [of(side, 1), of(side, 2)];
        assert!(one >> 5 != other >> 5, "{one:#x} {other:#x}");
    }
}

#[test]
fn a_third_of_all_packets_lost_flaps_no_session_of_ten_intervals() {
    let mut world = World::new(2, 2);
    for side in 0..2 {
        let said = session(side, 1, ms(10));
        world.routers[side].say(&item(&detection::program::Said { multiplier: 20, ..said }));
    }
    world.run(ms(4_000));
    world.loss = 33;
    world.run(ms(60_000));
    assert_eq!((world.states(1), world.notice(0).downs), (["Up", "Up"], 0));
}

#[test]
fn a_control_that_begins_anew_finds_its_sessions_as_they_were() {
    let mut world = World::new(3, 2);
    world.watch(1, ms(10));
    world.run(ms(4_000));
    let before = world.notice(0);
    // For ten seconds nobody controls; then everything is said again.
    world.run(ms(10_000));
    world.routers[0].heard.clear();
    let said = item(&session(0, 1, ms(10)));
    world.routers[0].say_all(0, 2, &[said]);
    world.run(ms(1_000));
    let after = world.notice(0);
    assert_eq!(after.discriminators, before.discriminators);
    assert_eq!((after.state, after.downs), (before.state, 0));
    // One that is not said again ends, and the peer hears that this was meant.
    world.routers[0].say_all(0, 3, &[]);
    world.run(ms(1_000));
    let peer = world.notice(1);
    assert_eq!((world.states(1)[1], peer.is_lost), ("Down", false));
    assert_eq!(peer.diagnostic, Some(Diagnostic::NeighborDown));
}

#[test]
fn times_change_by_a_poll_while_the_session_stays_up() {
    let mut world = World::new(4, 1);
    world.watch(1, ms(10));
    world.run(ms(4_000));
    world.routers[0].say(&item(&session(0, 1, ms(100))));
    world.run(ms(2_000));
    assert_eq!((world.states(1), world.notice(0).downs), (["Up", "Up"], 0));
    assert_eq!(world.notice(0).interval_us, 100_000);
    assert_eq!(world.notice(1).detection_us, 300_000);
    world.routers[0].say(&item(&session(0, 1, ms(5))));
    world.run(ms(2_000));
    assert_eq!((world.states(1), world.notice(0).downs), (["Up", "Up"], 0));
    assert_eq!(world.notice(1).detection_us, 30_000, "ours every 5 ms, theirs at 10");
}

#[test]
fn an_operator_puts_a_session_down_and_nobody_is_lost_by_that() {
    let mut world = World::new(5, 2);
    world.watch(1, ms(10));
    world.run(ms(4_000));
    let shut = detection::program::Said { is_shut: true, ..session(0, 1, ms(10)) };
    world.routers[0].say(&item(&shut));
    world.run(ms(1_000));
    assert_eq!(world.states(1), ["AdminDown", "Down"]);
    assert!(!world.notice(0).is_lost && !world.notice(1).is_lost);
    world.routers[0].say(&item(&session(0, 1, ms(10))));
    world.run(ms(4_000));
    assert_eq!(world.states(1), ["Up", "Up"]);
}

#[test]
fn a_session_of_another_turn_begins_anew_and_nobody_is_lost_in_it() {
    let mut world = World::new(6, 1);
    world.watch(1, ms(10));
    world.run(ms(4_000));
    world.passes[0] = false;
    world.run(ms(200));
    assert!(world.notice(0).is_lost);
    let anew = detection::program::Said { turn: 1, ..session(0, 1, ms(10)) };
    world.routers[0].say(&item(&anew));
    world.run(ms(200));
    let notice = world.notice(0);
    assert_eq!((notice.turn, notice.is_lost, notice.downs), (1, false, 0));
    world.routers[0].say(&end_of(&name(0, 1)));
    world.passes[0] = true;
    world.run(ms(3_000));
    assert_eq!(world.states(1)[1], "Down");
}

#[test]
fn keys_prove_who_speaks_and_change_without_a_gap() {
    let keys = |secrets: &[(u8, &str)]| {
        let kind = AuthType::MeticulousKeyedSha1;
        let keys = secrets.iter().map(|(id, it)| Key::new(kind, *id, it.as_bytes()).unwrap());
        Authentication::new(kind, keys.collect())
    };
    let mut world = World::new(7, 2);
    let say = |world: &mut World, side: usize, secrets: &[(u8, &str)]| {
        let authentication = keys(secrets);
        let said = session(side, 1, ms(10));
        let said = detection::program::Said { authentication, ..said };
        world.routers[side].say(&item(&said));
    };
    say(&mut world, 0, &[(1, "old")]);
    say(&mut world, 1, &[(1, "other")]);
    world.run(ms(4_000));
    assert_eq!(world.states(1), ["Down", "Down"]);
    assert!(world.routers[0].dropped()["bfd: auth-digest"] > 0);
    say(&mut world, 1, &[(1, "old")]);
    world.run(ms(4_000));
    assert_eq!(world.states(1), ["Up", "Up"]);
    for (side, secrets) in [
        (0, &[(1, "old"), (2, "new")][..]),
        (1, &[(2, "new"), (1, "old")]),
        (0, &[(2, "new"), (1, "old")]),
        (1, &[(2, "new")]),
        (0, &[(2, "new")]),
    ] {
        say(&mut world, side, secrets);
        world.run(ms(1_000));
        assert_eq!((world.states(1), world.notice(side).downs), (["Up", "Up"], 0));
    }
}
