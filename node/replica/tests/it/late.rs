//! When a standby takes its active peer for dead, and when it waits.

use machine::{Duration, Time};
use replica::{Arbiter, In, Name, Out, PROTOCOL, Pair, Params, Role, Terms};
use std::collections::VecDeque;

const HEARTBEAT: Duration = Duration::from_millis(10);
const DETECT: Duration = Duration::from_millis(50);

fn node(node: Name, now: Time) -> Pair {
    let params = Params {
        pair: 1,
        node,
        priority: u8::from(node == Name::A),
        incarnation: 7 + now.as_millis(),
        heartbeat: HEARTBEAT,
        detect: DETECT,
        lease: DETECT * 4 / 5,
        has_arbiter: false,
        lanes: 1,
        version: PROTOCOL,
    };
    Pair::new(params, now)
}

/// Carries datagrams over and ends the snapshots that are asked for, if `whole`. What the answers
/// are is lost on the way and comes again.
fn carry(now: Time, to: &mut Pair, outs: Vec<Out>, whole: bool) {
    for out in outs {
        let Out::ToPeer(bytes) = out else { continue };
        let mut answers = Vec::new();
        to.step(now, In::Heard(&bytes), &mut answers);
        for answer in answers {
            if let (Out::Snapshot(number), true) = (answer, whole) {
                to.step(now, In::SnapshotEnded(number), &mut Vec::new());
            }
        }
    }
}

/// Lets both live for some milliseconds from `now`; `whole`: snapshots come to their end.
fn live(now: &mut Time, a: &mut Pair, b: &mut Pair, ms: u64, whole: bool) {
    for _ in 0..ms {
        *now += Duration::from_millis(1);
        for turn in 0..2 {
            let (one, other) = if turn == 0 { (&mut *a, &mut *b) } else { (&mut *b, &mut *a) };
            let mut outs = Vec::new();
            one.tick(*now, &mut outs);
            carry(*now, other, outs, whole);
        }
    }
}

/// How long `b` hears nothing until it is active, milliseconds.
fn silence(now: &mut Time, b: &mut Pair) -> u64 {
    for ms in 1..2_000 {
        *now += Duration::from_millis(1);
        b.tick(*now, &mut Vec::new());
        if b.standing(*now).role == Role::Active {
            return ms;
        }
    }
    panic!("it never takes over");
}

#[test]
fn a_standby_that_has_everything_takes_over_after_the_detection_time() {
    let mut now = Time::ZERO;
    let (mut a, mut b) = (node(Name::A, now), node(Name::B, now));
    live(&mut now, &mut a, &mut b, 1_500, true);
    assert_eq!((a.standing(now).role, b.standing(now).is_synced), (Role::Active, true));
    let waited = silence(&mut now, &mut b);
    assert!((40..=60).contains(&waited), "{waited}");
    let standing = b.standing(now);
    assert_eq!((standing.is_peer_alive, standing.was_peer_heard), (false, true));
    let standing = node(Name::A, now).standing(now);
    assert!(!standing.was_peer_heard, "one that begins has heard nobody");
}

#[test]
fn a_standby_that_lacks_something_waits_ten_times_as_long() {
    let mut now = Time::ZERO;
    let (mut a, mut b) = (node(Name::A, now), node(Name::B, now));
    live(&mut now, &mut a, &mut b, 1_500, false);
    assert_eq!((a.standing(now).role, b.standing(now).is_synced), (Role::Active, false));
    let waited = silence(&mut now, &mut b);
    assert!((490..=510).contains(&waited), "{waited}");
}

#[test]
fn deltas_are_a_sign_of_life_when_heartbeats_are_late() {
    let mut now = Time::ZERO;
    let (mut a, mut b) = (node(Name::A, now), node(Name::B, now));
    live(&mut now, &mut a, &mut b, 1_500, true);
    for number in 0..300u32 {
        now += Duration::from_millis(1);
        let (mut outs, delta) = (Vec::new(), number.to_be_bytes());
        a.deltas(now, 0, [&delta[..]].into_iter(), &mut outs);
        carry(now, &mut b, outs, true);
        b.tick(now, &mut Vec::new());
        assert_eq!(b.standing(now).role, Role::Standby, "after {number} ms");
    }
}

/// What a node is told to apply.
fn applied(outs: &[Out]) -> Vec<u8> {
    let deltas = outs.iter().filter_map(|out| match out {
        Out::Apply(_, delta) => Some(delta[0]),
        _ => None,
    });
    deltas.collect()
}

#[test]
fn what_overtakes_on_the_link_waits_for_its_turn_and_counts_when_the_active_node_dies() {
    let mut now = Time::ZERO;
    let (mut a, mut b) = (node(Name::A, now), node(Name::B, now));
    live(&mut now, &mut a, &mut b, 1_500, true);
    let mut datagrams: Vec<Out> = Vec::new();
    for number in 0..6u8 {
        a.deltas(now, 0, [&[number][..]].into_iter(), &mut datagrams);
    }
    let mut hear = |at: usize| {
        let Out::ToPeer(bytes) = &datagrams[at] else { panic!("{:?}", datagrams[at]) };
        let mut outs = Vec::new();
        b.step(now, In::Heard(bytes), &mut outs);
        applied(&outs)
    };
    assert_eq!(hear(1), [0u8; 0]);
    assert_eq!(hear(1), [0u8; 0], "it comes twice");
    assert_eq!(hear(0), [0, 1]);
    assert_eq!(hear(1), [0u8; 0]);
    assert_eq!((hear(5), hear(3)), (Vec::new(), Vec::new()), "2 and 4 never left");
    let mut outs = Vec::new();
    while b.standing(now).role == Role::Standby {
        now += Duration::from_millis(1);
        b.tick(now, &mut outs);
    }
    assert_eq!(applied(&outs), [3, 5]);
    let is_last = matches!(&outs[..], [.., Out::Activate { .. }, Out::Unfollowed, Out::ToPeer(_)]);
    assert!(is_last, "they come first: {outs:?}");
}

#[test]
fn a_snapshot_with_a_hole_is_not_taken_for_the_whole_though_its_end_came() {
    for is_lost in [false, true] {
        let mut now = Time::ZERO;
        let (mut a, mut b) = (node(Name::A, now), node(Name::B, now));
        live(&mut now, &mut a, &mut b, 1_500, false);
        let mut datagrams: Vec<Out> = Vec::new();
        for number in 0..6u8 {
            a.deltas(now, 0, [&[number][..]].into_iter(), &mut datagrams);
        }
        a.step(now, In::SnapshotEnded(1), &mut datagrams);
        a.deltas(now, 0, [&[9][..]].into_iter(), &mut datagrams);
        for (at, out) in datagrams.into_iter().enumerate() {
            let Out::ToPeer(bytes) = out else { continue };
            if at != 3 || !is_lost {
                b.step(now, In::Heard(&bytes), &mut Vec::new());
            }
        }
        let mut outs = Vec::new();
        while b.standing(now).role == Role::Standby {
            now += Duration::from_millis(1);
            b.tick(now, &mut outs);
        }
        let current = outs.iter().find_map(|out| match out {
            Out::Activate { is_current, .. } => Some(*is_current),
            _ => None,
        });
        assert_eq!(current, Some(!is_lost));
    }
}

/// What the next number of a seeded sequence is.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 20
}

#[test]
fn whatever_a_peer_says_no_node_and_no_arbiter_panics_and_time_goes_on() {
    let mut state = 7u64;
    let extremes = [0, 1, 7, 1 << 31, 1 << 62, (1 << 62) + 1, u64::MAX - 1, u64::MAX];
    let terms = Terms { promise_max: Duration::from_secs(1), pairs: Vec::new() };
    for round in 0..40 {
        let mut now = Time::from_millis(1_000_000);
        let (mut a, mut b) = (node(Name::A, now), node(Name::B, now));
        let mut arbiter = Arbiter::new(Time::ZERO, &terms, || 1);
        live(&mut now, &mut a, &mut b, 1_200, round % 2 == 0);
        let mut known: Vec<Vec<u8>> = Vec::new();
        for n in 0..2_000u32 {
            now += Duration::from_micros(next(&mut state) % 3_000);
            let mut outs = Vec::new();
            a.tick(now, &mut outs);
            a.deltas(now, 0, [&n.to_be_bytes()[..]].into_iter(), &mut outs);
            b.tick(now, &mut outs);
            known.extend(outs.into_iter().filter_map(|out| match out {
                Out::ToPeer(bytes) | Out::ToArbiter(bytes) => Some(bytes),
                _ => None,
            }));
            let mut bytes = known[next(&mut state) as usize % known.len()].clone();
            for _ in 0..1 + next(&mut state) % 3 {
                let at = next(&mut state) as usize % bytes.len();
                match next(&mut state) % 4 {
                    // A number of eight octets stands behind a tag and its length.
                    0 | 1 => {
                        let fields = (bytes.len() - 5) / 13;
                        let place = 5 + (next(&mut state) as usize % fields.max(1)) * 13 + 5;
                        if let Some(number) = bytes.get_mut(place..place + 8) {
                            let extreme = extremes[next(&mut state) as usize % extremes.len()];
                            number.copy_from_slice(&extreme.to_be_bytes());
                        }
                    }
                    2 => bytes[at] = next(&mut state) as u8,
                    _ => bytes.truncate(at.max(6)),
                }
            }
            let mut outs = Vec::new();
            b.step(now, In::Heard(&bytes), &mut outs);
            a.step(now, In::Heard(&bytes), &mut outs);
            a.step(now, In::Answered(&bytes), &mut outs);
            let _ = arbiter.step(now, &bytes, &mut Vec::new());
            for one in [&mut a, &mut b] {
                one.tick(now, &mut outs);
                assert!(one.deadline(now) > now, "round {round}, {n}");
            }
            known.truncate(500);
        }
    }
}

/// Of two nodes whose datagrams take 100 us: how long each of so many flushes, which come in pairs,
/// waits for its mark, and how many heartbeats the standby says meanwhile.
fn waited(flushes: u64) -> (Vec<Duration>, usize) {
    let mut now = Time::ZERO;
    let (mut a, mut b) = (node(Name::A, now), node(Name::B, now));
    live(&mut now, &mut a, &mut b, 1_500, true);
    let flight = Duration::from_micros(100);
    let mut flying: VecDeque<(Time, bool, Vec<u8>)> = VecDeque::new();
    let (mut asked, mut waited, mut said) = (VecDeque::new(), Vec::new(), 0);
    for step in 0..flushes * 40 {
        now += Duration::from_micros(50);
        let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
        if step % 80 == 0 {
            for mark in [step + 1, step + 2] {
                asked.push_back((mark, now));
                let deltas = [&b"one"[..], b"another"];
                a.publish(now, 0, Some(mark), deltas.into_iter(), &mut of_a);
            }
        }
        while flying.front().is_some_and(|it| it.0 <= now) {
            let Some((_, is_for_a, bytes)) = flying.pop_front() else { break };
            let (it, outs) = if is_for_a { (&mut a, &mut of_a) } else { (&mut b, &mut of_b) };
            it.step(now, In::Heard(&bytes), outs);
        }
        for (it, outs) in [(&mut a, &mut of_a), (&mut b, &mut of_b)] {
            if it.deadline(now) <= now {
                it.tick(now, outs);
            }
        }
        for (outs, is_for_a) in [(of_a, false), (of_b, true)] {
            for out in outs {
                match out {
                    Out::ToPeer(bytes) => {
                        said += usize::from(is_for_a);
                        flying.push_back((now + flight, is_for_a, bytes));
                    }
                    Out::Followed(_, mark) => {
                        while let Some((_, at)) = asked.pop_front_if(|it| it.0 <= mark) {
                            waited.push(now.since(at));
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    (waited, said)
}

#[test]
fn whoever_waits_for_the_standby_hears_it_at_once_and_by_one_datagram_for_what_came_together() {
    let (waited, said) = waited(200);
    assert_eq!(waited.len(), 200);
    let longest = waited.iter().max().expect("there are some");
    assert!(*longest <= Duration::from_micros(300), "not at the next heartbeat: {longest:?}");
    // A hundred times two flushes in 400 ms, beside heartbeats.
    let heartbeats = 400 / usize::try_from(HEARTBEAT.as_millis()).expect("it is small");
    assert!(said <= 100 + heartbeats + 2, "{said}");
}

#[test]
fn a_standby_that_cannot_read_what_it_is_told_is_waited_for_no_more_and_told_again_later() {
    let mut now = Time::ZERO;
    let (mut a, mut b) = (node(Name::A, now), node(Name::B, now));
    live(&mut now, &mut a, &mut b, 1_500, true);
    b.step(now, In::StateLost, &mut Vec::new());
    let mut count = |a: &mut Pair, b: &mut Pair, ms: u64| {
        let (mut snapshots, mut unfollowed) = (0, 0);
        for _ in 0..ms {
            now += Duration::from_millis(1);
            let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
            a.tick(now, &mut of_a);
            b.tick(now, &mut of_b);
            for _ in 0..4 {
                let (mut next_a, mut next_b) = (Vec::new(), Vec::new());
                for out in of_a.drain(..) {
                    match out {
                        Out::ToPeer(bytes) => b.step(now, In::Heard(&bytes), &mut next_b),
                        Out::Snapshot(number) => {
                            snapshots += 1;
                            a.deltas(now, 0, [&b"v9"[..]].into_iter(), &mut next_a);
                            a.step(now, In::SnapshotEnded(number), &mut next_a);
                        }
                        Out::Unfollowed => unfollowed += 1,
                        _ => {}
                    }
                }
                for out in of_b.drain(..) {
                    match out {
                        Out::ToPeer(bytes) => a.step(now, In::Heard(&bytes), &mut next_a),
                        Out::Apply(_, delta) if delta == b"v9" => {
                            b.step(now, In::Unreadable, &mut next_b);
                        }
                        _ => {}
                    }
                }
                (of_a, of_b) = (next_a, next_b);
            }
        }
        (snapshots, unfollowed)
    };
    assert_eq!(count(&mut a, &mut b, 30_000), (1, 1), "it is told once, and followed no more");
    assert_eq!(count(&mut a, &mut b, 60_000), (1, 1), "and looks again after a minute");
}
