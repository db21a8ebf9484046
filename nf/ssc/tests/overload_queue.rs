//! A controller with one queue in front of it, in virtual time and by seed: three times as many
//! calls as it can serve, a storm of registrations, and what becomes of calls in progress.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod world;

use machine::{Duration, Time};
use runtime::Function;
use sip::overload::{Feedback, VALIDITY_MS, is_offered};
use world::*;

/// What it takes to serve a message that begins something, and to refuse one.
const SERVED: Duration = Duration::from_micros(400);
const REFUSED: Duration = Duration::from_micros(20);
const SEEDS: u64 = 8;
/// How long the machine pauses, and how often.
const PAUSE: Duration = Duration::from_millis(25);
const PAUSE_EVERY: Duration = Duration::from_millis(700);

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) ^ self.0 >> 31
    }

    /// Evenly between nothing and twice the mean.
    fn around(&mut self, mean: Duration) -> Duration {
        Duration::from_nanos(self.next() % (2 * mean.as_nanos() as u64))
    }
}

/// The world behind a queue: messages are served one after the other.
struct Queue {
    world: World,
    free: Time,
    delay_max: Duration,
}

impl Queue {
    fn new() -> Self {
        let world = World::new(SITE);
        Self { free: world.now, world, delay_max: Duration::ZERO }
    }

    /// A request comes at `at`; whether it was refused.
    fn receive(&mut self, at: Time, from: &str, text: &str) -> bool {
        let begin = self.free.max(at);
        let delay = begin.since(at);
        self.delay_max = self.delay_max.max(delay);
        let pass = begin.since(self.world.now);
        self.world.pass(pass);
        self.world.sent.clear();
        self.world.controller.waited(self.world.now, delay);
        self.world.receive(from, ACCESS, text);
        let is_refused = self.world.sent.iter().any(|sent| sent.text.starts_with("SIP/2.0 503"));
        self.free = begin + if is_refused { REFUSED } else { SERVED };
        is_refused
    }
}

#[test]
fn at_three_times_the_capacity_the_queue_is_short_and_the_controller_is_never_idle() {
    for seed in 0..SEEDS {
        let (mut queue, mut random) = (Queue::new(), Random(seed));
        let start = queue.world.now;
        let (mut at, mut served, mut calls) = (start, 0u32, 0u32);
        while at.since(start) < Duration::from_secs(2) {
            at += random.around(SERVED / 3);
            let invite = Caller::new(&format!("c{calls}")).request("INVITE", "", SDP);
            served += u32::from(!queue.receive(at, ALICE, &invite));
            calls += 1;
        }
        // Two refusals of 20 us to each call of 400 us: ten in eleven parts are left for calls.
        let most = Duration::from_secs(2).as_micros() / SERVED.as_micros();
        assert!(u128::from(served) > most * 85 / 100, "{served} of {most} served, seed {seed}");
        // Until the overload is seen, 40 ms of it pile up, twice; then the queue is short.
        assert!(queue.delay_max < Duration::from_millis(160), "{:?}, seed {seed}", queue.delay_max);
        assert!(queue.free.since(at) < Duration::from_millis(30), "seed {seed}");
    }
}

/// The share of new requests, in hundredths, that an answer asks its neighbour not to send.
fn asked_not_to_send(answer: &str) -> Option<u32> {
    let via = sip::Via::parse(header(answer, "Via").as_bytes()).unwrap();
    let feedback = Feedback::read(via.params)?;
    assert!(via.branch.is_some() && !is_offered(via.params), "{answer}");
    assert_eq!(feedback.validity_ms, if feedback.loss == 0 { 0 } else { VALIDITY_MS });
    Some(feedback.loss.into())
}

#[test]
fn a_neighbour_that_takes_feedback_is_served_as_much_as_without_overload() {
    for seed in 0..SEEDS {
        let (mut queue, mut random) = (Queue::new(), Random(seed));
        let start = queue.world.now;
        let (mut at, mut loss, mut saved, mut pause_at) = (start, 0, 0, start);
        let (mut served, mut refused) = (0u32, 0u32);
        for n in 0.. {
            at += random.around(SERVED / 3);
            if at.since(start) > Duration::from_secs(4) {
                break;
            }
            if at >= pause_at {
                // The machine pauses now and then.
                queue.free = queue.free.max(at) + PAUSE;
                pause_at = at + PAUSE_EVERY;
            }
            saved += loss;
            if saved >= 100 {
                saved -= 100;
                continue;
            }
            let invite = Caller::new(&format!("n{n}")).request("INVITE", "", SDP);
            let invite = invite.replacen(";rport", ";oc;rport;oc-algo=\"loss\"", 1);
            let is_refused = queue.receive(at, ALICE, &invite);
            if at.since(start) > Duration::from_secs(1) {
                *(if is_refused { &mut refused } else { &mut served }) += 1;
            }
            let mut answers = queue.world.sent.iter().filter(|sent| sent.text.starts_with("SIP"));
            loss = answers.next().and_then(|sent| asked_not_to_send(&sent.text)).unwrap_or(loss);
        }
        let pauses = PAUSE.as_micros() * 3_000 / PAUSE_EVERY.as_millis();
        let most = (Duration::from_secs(3).as_micros() - pauses) / SERVED.as_micros();
        assert!(u128::from(served) >= most * 98 / 100, "{served} of {most} served, seed {seed}");
        assert!(refused * 10 < served, "{refused} refused, seed {seed}");
        assert!(queue.free.since(at) < Duration::from_millis(30), "seed {seed}");
    }
}

#[test]
fn retransmissions_get_what_their_first_one_got() {
    for seed in 0..SEEDS {
        let (mut queue, mut random) = (Queue::new(), Random(seed));
        let (mut at, mut refused) = (queue.world.now, Vec::new());
        for n in 0..1_500 {
            at += random.around(SERVED / 3);
            let invite = Caller::new(&format!("r{n}")).request("INVITE", "", SDP);
            refused.push((queue.receive(at, ALICE, &invite), invite));
        }
        assert!(refused.iter().any(|(is, _)| *is) && refused.iter().any(|(is, _)| !is));
        for _ in 0..300 {
            at += random.around(SERVED / 3);
            let (was, invite) = &refused[random.next() as usize % refused.len()];
            assert_eq!(queue.receive(at, ALICE, invite), *was, "seed {seed}");
        }
    }
}

#[test]
fn a_restart_storm_leaves_room_for_calls_and_never_touches_those_in_progress() {
    for seed in 0..SEEDS {
        let (mut queue, mut random) = (Queue::new(), Random(seed));
        let (mut alice, _) = queue.world.call("talk");
        let (mut at, mut calls, mut inside) = (queue.world.now, [0u32; 2], 0u32);
        for n in 0..6_000u32 {
            at += random.around(SERVED / 4);
            match random.next() % 10 {
                0 => {
                    let invite = Caller::new(&format!("s{n}")).request("INVITE", "", SDP);
                    calls[usize::from(queue.receive(at, ALICE, &invite))] += 1;
                }
                1 => {
                    alice.cseq += 1;
                    let info = alice.request("INFO", "", "");
                    assert!(!queue.receive(at, ALICE, &info), "seed {seed}");
                    inside += 1;
                }
                _ => {
                    let mut phone = Caller::new(&format!("p{n}"));
                    phone.target = "sip:example.org".into();
                    queue.receive(at, "10.0.0.9:5062", &phone.request("REGISTER", "", ""));
                }
            }
        }
        assert!(inside > 300, "{inside} requests inside the call");
        assert!(calls[0] * 5 > calls[1], "{calls:?} calls let in and refused, seed {seed}");
        assert!(queue.delay_max < Duration::from_millis(200), "{:?}", queue.delay_max);
    }
}
