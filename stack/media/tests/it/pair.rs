//! The standby of a client knows the calls that were answered, and says them under the same names.

use crate::world::{Call, World, sdp, settings};
use anchor::Side;
use machine::Duration;
use machine::slots::Key;
use media_stack::Notice;
use media_stack::{KINDS, MediaMetric, Part};
use runtime::Effects;

fn follower() -> World {
    let mut world = World::with(0, settings(2), 9);
    world.client.activate(world.now, false, &|_| true, &mut world.out);
    world
}

/// What one told reaches the other.
fn replicate(active: &mut World, standby: &mut World) {
    let mut out = Effects::default();
    active.client.tell(&mut out);
    for delta in out.deltas() {
        assert!(KINDS.contains(&delta[0]));
        standby.client.apply(delta[0], &delta[1..]);
    }
}

fn names(world: &World) -> Vec<(u64, u8)> {
    let all = world.mscs.iter().flat_map(|msc| msc.standing.values());
    let mut names: Vec<_> =
        all.flat_map(|it| it.iter().map(|(id, _, _)| (id.call, id.line))).collect();
    names.sort_unstable();
    names
}

#[test]
fn after_a_takeover_streams_keep_their_names_and_their_ports() {
    let mut active = World::new(2);
    active.client.activate(active.now, true, &|_| true, &mut active.out);
    active.pass(Duration::from_secs(2));
    let mut standby = follower();
    let ips = ["10.1.0.1", "10.2.0.1"];
    let mut calls: Vec<Call> =
        (0..20).map(|n| active.call(n, ips).expect("there is room")).collect();
    let mut early = Call::new(99);
    active.cross(&mut early, Part::Invite, Side::A, &sdp("10.1.0.9", 6_000)).expect("room");
    active.pass(Duration::from_millis(50));
    replicate(&mut active, &mut standby);
    active.end(calls.remove(3));
    active.pass(Duration::from_millis(50));
    replicate(&mut active, &mut standby);
    let before = names(&active);
    assert_eq!((before.len(), standby.client.len()), (19, 19), "early ones are not told");
    // The active node dies; the other one takes its place at the same media controllers.
    (standby.mscs, standby.is_cut) = (std::mem::take(&mut active.mscs), vec![false; 2]);
    let puts: u64 = standby.mscs.iter().map(|msc| msc.puts).sum();
    standby.now = active.now;
    let stands = |owner: Key| owner.index != 7;
    standby.client.activate(standby.now, true, &stands, &mut standby.out);
    standby.pass(Duration::from_secs(2));
    assert_eq!(standby.metric(MediaMetric::ControllersUp), 2);
    let after = names(&standby);
    assert_eq!(after.len(), 18, "one had no call any more");
    assert!(after.iter().all(|name| before.contains(name)));
    let again: u64 = standby.mscs.iter().map(|msc| msc.puts).sum();
    assert_eq!(again - puts, 18, "each is said once");
    assert_eq!(standby.metric(MediaMetric::PairsInUse), 36);
    assert!(standby.notices.is_empty(), "{:?}", standby.notices);
    // Ports that standing calls have are given to nobody else: the simulated ones check that.
    for n in 100..300 {
        calls.push(standby.call(n, ips).expect("there is room"));
        standby.pass(Duration::from_millis(20));
    }
}

#[test]
fn a_snapshot_brings_a_standby_up_that_knew_nothing() {
    let mut active = World::new(2);
    active.client.activate(active.now, true, &|_| true, &mut active.out);
    active.pass(Duration::from_secs(2));
    for n in 0..30 {
        let ips = [["10.1.0.1", "10.2.0.1"], ["2001:db8::1", "2001:db8::2"]];
        active.call(n, ips[n as usize % 2]).expect("there is room");
    }
    let mut out = Effects::default();
    active.client.tell(&mut out);
    let mut standby = follower();
    out.clear();
    active.client.begin_snapshot(&mut out);
    let mut from = Some(0);
    while let Some(at) = from {
        from = active.client.touch(at, 7);
        active.client.tell(&mut out);
    }
    for delta in out.deltas() {
        standby.client.apply(delta[0], &delta[1..]);
    }
    assert_eq!(standby.client.len(), 30);
}

#[test]
fn a_pair_of_media_controllers_is_one_wherever_it_serves_and_calls_move_when_both_are_gone() {
    let mut settings = settings(2);
    settings.media.controller[0].other_address = Some("10.0.1.1:2970".into());
    let mut world = World::with(2, settings, 7);
    let nodes = ["10.0.0.1:2970", "10.0.1.1:2970"].map(|it| it.parse().unwrap());
    world.serves.insert(0, nodes[1]);
    world.pass(Duration::from_secs(2));
    assert_eq!(world.metric(MediaMetric::ControllersUp), 2, "the one that serves is found");
    let mut calls = Vec::new();
    for n in 0..40 {
        calls.push(world.call(n, ["10.1.0.1", "10.2.0.1"]).expect("there is room"));
        world.pass(Duration::from_millis(20));
    }
    let is_there = |world: &World, call: &&Call| {
        world.client.controller_of(call.media.unwrap()) == Some("msc1")
    };
    let of_pair = calls.iter().filter(|call| is_there(&world, call)).count();
    assert!(of_pair > 10, "{of_pair}");
    // The other node takes over, with the same life, leases and streams.
    for node in [0, 1, 0] {
        let puts = world.mscs[0].puts;
        world.serves.insert(0, nodes[node]);
        world.break_connections(0);
        world.pass(Duration::from_secs(2));
        assert_eq!(world.metric(MediaMetric::ControllersUp), 2);
        assert_eq!(world.mscs[0].puts - puts, of_pair as u64, "each is said once");
        assert_eq!(world.notices, vec![], "no call needs a re-INVITE");
    }
    // Both are gone.
    world.is_cut[0] = true;
    world.break_connections(0);
    world.pass(Duration::from_secs(4));
    assert_eq!(world.notices, vec![], "one of them may come back");
    world.pass(Duration::from_secs(2));
    let gone: Vec<Key> = world
        .notices
        .iter()
        .filter_map(|it| if let Notice::Gone { owner } = it { Some(*owner) } else { None })
        .collect();
    let mut wanted = calls.iter().filter(|call| is_there(&world, call));
    assert!(wanted.all(|call| gone.contains(&call.owner)) && gone.len() >= of_pair, "{gone:?}");
}

#[test]
fn a_media_controller_that_is_cut_off_is_missed_within_a_second() {
    let mut world = World::new(2);
    world.pass(Duration::from_secs(2));
    assert_eq!(world.metric(MediaMetric::ControllersUp), 2);
    world.mscs[0].is_cut_off = true;
    world.pass(Duration::from_millis(400));
    assert_eq!(world.metric(MediaMetric::ControllersUp), 2, "it may be late");
    world.pass(Duration::from_millis(700));
    assert_eq!(world.metric(MediaMetric::ControllersUp), 1);
    world.mscs[0].is_cut_off = false;
    world.pass(Duration::from_secs(4));
    assert_eq!(world.metric(MediaMetric::ControllersUp), 2, "and found again");
}
