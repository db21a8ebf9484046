//! Two transaction users over a lossy link, by seed: whatever the network does, every call ends
//! in exactly one outcome on each side, the two agree, and nothing is left behind.

use crate::endpoints::{Callee, Caller, Kind, Outcome};
use machine::{Duration, Time};
use sim::{LinkSpec, NodeId, World};
use std::net::SocketAddr;

const CALLS: usize = 24;
const PACE: Duration = Duration::from_millis(20);
const START: Time = Time::from_millis(1_000_000);
/// Placing, ringing, hanging up and the longest memory of a transaction after each other.
const ALL_OVER: Duration = Duration::from_secs(150);

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 5060))
}

fn world(seed: u64, spec: LinkSpec) -> (World, NodeId, NodeId) {
    let mut world = World::new(seed, spec, START);
    let ends = [address(1), address(2)];
    let caller = world.add(Caller::new(seed, ends, CALLS, PACE, START), &ends[..1]);
    let callee = world.add(Callee::new(!seed, ends[1], CALLS, START), &ends[1..]);
    (world, caller, callee)
}

fn rough(loss: f64) -> LinkSpec {
    LinkSpec { loss, duplicate: 0.05, reorder: 0.1, ..LinkSpec::default() }
}

/// Runs one world to its end and checks what must hold in every one.
fn check(seed: u64, loss: f64) -> (u64, Vec<Outcome>) {
    let (mut world, caller, callee) = world(seed, rough(loss));
    world.run_until(START + ALL_OVER);
    let digest = world.digest();
    let caller = world.node::<Caller>(caller).expect("a caller was put there");
    let callee = world.node::<Callee>(callee).expect("a callee was put there");
    assert!(caller.table.is_empty(), "seed {seed}: {} left at the caller", caller.table.len());
    assert!(callee.table.is_empty(), "seed {seed}: {} left at the callee", callee.table.len());
    let mut outcomes = Vec::new();
    for call in 0..CALLS {
        let [ours] = caller.outcomes[call][..] else {
            panic!("seed {seed}, call {call}: {:?}", caller.outcomes[call])
        };
        let theirs = &callee.outcomes[call];
        assert!(theirs.len() <= 1, "seed {seed}, call {call}: callee {theirs:?}");
        if ours != Outcome::Lost {
            assert_eq!(theirs[..], [ours], "seed {seed}, call {call}");
        }
        outcomes.push(ours);
    }
    let answered = outcomes.iter().filter(|&&outcome| outcome == Outcome::Answered).count();
    assert_eq!(caller.byes_done, answered, "seed {seed}: each answered call hangs up once");
    (digest, outcomes)
}

#[test]
fn over_hundreds_of_bad_networks_each_call_has_one_outcome_and_nothing_is_left() {
    for seed in 0..300 {
        check(seed, (seed % 6) as f64 * 0.06);
    }
}

#[test]
fn without_faults_every_call_goes_as_it_is_meant_to() {
    let (mut world, caller, _) = world(1, LinkSpec::perfect(Duration::from_millis(10)));
    world.run_until(START + ALL_OVER);
    let caller = world.node::<Caller>(caller).expect("a caller was put there");
    for (call, outcome) in caller.outcomes.iter().enumerate() {
        let expected = match Kind::of(call) {
            Kind::Answer => Outcome::Answered,
            Kind::Refuse => Outcome::Refused,
            Kind::Cancel => Outcome::Cancelled,
        };
        assert_eq!(outcome[..], [expected], "call {call}");
    }
    assert_eq!(world.counts().lost, 0);
}

#[test]
fn a_dead_link_leaves_every_call_lost_and_nothing_behind() {
    let (_, outcomes) = check(3, 1.0);
    assert_eq!(outcomes, vec![Outcome::Lost; CALLS]);
}

#[test]
fn the_same_seed_gives_the_same_run_byte_for_byte() {
    let run = |seed| {
        let (mut world, ..) = world(seed, rough(0.2));
        world.keep_trace();
        world.run_until(START + ALL_OVER);
        (world.digest(), world.trace().to_vec())
    };
    let (digest, trace) = run(11);
    assert_eq!(run(11), (digest, trace.clone()));
    assert!(trace.len() > CALLS * 3 && trace[0].contains("INVITE sip:answer-0@"));
    assert_ne!(run(12).0, digest);
}
