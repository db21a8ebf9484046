//! A controller and its shard, which takes what came in turn by turn, in virtual time and by seed:
//! more calls than can be served, each with messages of its own; a storm of registrations; and what
//! becomes of calls in progress.

use crate::world::*;
use machine::{Duration, Time};
use runtime::Function;
use sip::overload::{Feedback, VALIDITY_MS, is_offered};
use std::collections::BTreeMap;

/// What it takes to begin a call, to refuse a request, and for any other message.
const BEGUN: Duration = Duration::from_micros(60);
const REFUSED: Duration = Duration::from_micros(10);
const MESSAGE: Duration = Duration::from_micros(20);
/// What it takes to register.
const REGISTERED: Duration = Duration::from_micros(200);
/// Messages of each call in progress, one after the other.
const MESSAGES: u32 = 12;
const APART: Duration = Duration::from_millis(2);
/// What a call takes: that, Bob's answer and its ACK.
const SERVED: Duration = Duration::from_micros(60 + 20 * (MESSAGES as u64 + 2));
/// What a turn takes by itself, and messages that it receives.
const TURN: Duration = Duration::from_micros(20);
const BATCH: usize = 64;
const SEEDS: u64 = 8;
/// How long the machine pauses, and how often.
const PAUSE: Duration = Duration::from_millis(25);
const PAUSE_EVERY: Duration = Duration::from_millis(700);
const SECOND: Duration = Duration::from_secs(1);

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

/// What is on its way to the controller.
enum Coming {
    New(&'static str, String),
    Inside(&'static str, &'static str, String),
}

struct Server {
    world: World,
    coming: BTreeMap<(Time, u64), Coming>,
    number: u64,
    /// An ACK of a call that stands.
    ack: String,
    start: Time,
    /// When the turn before ends.
    free: Time,
    pause_at: Time,
    /// When calls began, and how many requests were refused.
    begun: Vec<Time>,
    refused: u32,
    /// The longest that a message of a call in progress waited.
    inside_max: Duration,
    /// Whether a call was begun or refused, by its Call-ID.
    fates: BTreeMap<String, bool>,
    /// The share of new requests that the neighbour is asked not to send, in hundredths.
    loss: u32,
}

impl Server {
    fn new() -> Self {
        let mut world = World::new(SITE);
        let (alice, _) = world.call("talk");
        let start = world.now;
        Self {
            world,
            coming: BTreeMap::new(),
            number: 0,
            ack: alice.request("ACK", "", ""),
            start,
            free: start,
            pause_at: Time::MAX,
            begun: Vec::new(),
            refused: 0,
            inside_max: Duration::ZERO,
            fates: BTreeMap::new(),
            loss: 0,
        }
    }

    fn come(&mut self, at: Time, what: Coming) {
        self.number += 1;
        self.coming.insert((at, self.number), what);
    }

    /// Turns until `end`.
    fn run(&mut self, end: Time) {
        while self.free < end {
            let first = self.coming.first_key_value().map_or(end, |((at, _), _)| *at);
            let is_due = self.world.controller.deadline().is_some_and(|at| at <= self.free);
            if first > self.free && !is_due {
                self.free = first.min(end);
                continue;
            }
            if self.free >= self.pause_at {
                self.free += PAUSE;
                self.pause_at += PAUSE_EVERY;
            }
            self.turn();
        }
    }

    /// One turn of a shard: a batch of what came, then what is due.
    fn turn(&mut self) {
        self.world.now = self.free;
        self.free += TURN;
        for _ in 0..BATCH {
            let Some(first) = self.coming.first_entry().filter(|e| e.key().0 <= self.world.now)
            else {
                break;
            };
            let ((at, _), what) = first.remove_entry();
            let delay = self.world.now.since(at);
            self.world.controller.waited(self.world.now, delay);
            match what {
                Coming::New(from, text) => self.world.receive(from, ACCESS, &text),
                Coming::Inside(from, listener, text) => {
                    self.inside_max = self.inside_max.max(delay);
                    self.free += MESSAGE;
                    self.world.receive(from, listener, &text);
                }
            }
            self.follow();
        }
        self.world.tick();
        self.follow();
    }

    /// What the controller sent takes time, and others answer it.
    fn follow(&mut self) {
        while let Some(sent) = self.world.sent.pop_front() {
            let text = sent.text;
            if sent.to == BOB.parse().unwrap() && text.starts_with("INVITE") {
                self.free += BEGUN;
                self.begun.push(self.world.now);
                let busy = respond(&text, "486 Busy Here", "b", "", "");
                self.come(self.free + APART, Coming::Inside(BOB, CORE, busy));
                for n in 1..=MESSAGES {
                    let ack = Coming::Inside(ALICE, ACCESS, self.ack.clone());
                    self.come(self.free + APART * n, ack);
                }
                continue;
            }
            if text.starts_with("REGISTER") {
                self.free += REGISTERED;
                let answer = respond(&text, "200 OK", "b", "", "");
                self.come(self.free + APART, Coming::Inside(BOB, CORE, answer));
            }
            let Some((status, _)) = text.strip_prefix("SIP/2.0 ").and_then(|t| t.split_once(' '))
            else {
                continue;
            };
            self.loss = asked_not_to_send(&text).unwrap_or(self.loss);
            if ["100", "503"].contains(&status) && header(&text, "CSeq").ends_with("INVITE") {
                let name = header(&text, "Call-ID").to_owned();
                let is_begun = status == "100";
                let fate = *self.fates.entry(name).or_insert(is_begun);
                assert_eq!(fate, is_begun, "both begun and refused:\n{text}");
            }
            if status == "503" {
                self.free += REFUSED;
                self.refused += 1;
            } else if status == "486" {
                let mut caller = Caller::new(header(&text, "Call-ID"));
                caller.to_tag = tag(&text, "To").to_owned();
                let ack = caller.request("ACK", "", "").replace("z9hG4bKACK", "z9hG4bKINVITE");
                self.come(self.free + APART, Coming::Inside(ALICE, ACCESS, ack));
            }
        }
    }

    /// Calls that began after that.
    fn begun_after(&self, at: Time) -> u128 {
        self.begun.iter().filter(|&&begun| begun > at).count() as u128
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

fn invite(name: &str) -> String {
    Caller::new(name).request("INVITE", "", SDP)
}

#[test]
fn at_three_times_the_capacity_calls_in_progress_hardly_wait_and_the_controller_is_never_idle() {
    for seed in 0..SEEDS {
        let (mut server, mut random) = (Server::new(), Random(seed));
        let (start, mut at) = (server.start, server.start);
        while at.since(start) < 2 * SECOND {
            at += random.around(SERVED / 3);
            server.come(at, Coming::New(ALICE, invite(&format!("c{}", server.number))));
        }
        server.run(start + 2 * SECOND);
        // Two refusals for each call.
        let most = (2 * SECOND).as_micros() / (SERVED + 2 * REFUSED).as_micros();
        let begun = server.begun_after(start);
        assert!(begun > most * 95 / 100, "{begun} of {most} served, seed {seed}");
        assert!(server.refused > 1_000, "{} refused, seed {seed}", server.refused);
        // A turn begins 32 calls.
        let inside = server.inside_max;
        assert!(inside < Duration::from_millis(8), "{inside:?} inside a call, seed {seed}");
        let waits = server.world.metric("ssc_calls_waiting");
        assert!(waits < 200, "{waits} wait, seed {seed}");
        server.run(start + 3 * SECOND);
        assert_eq!(server.world.metric("ssc_calls_waiting"), 0, "seed {seed}");
    }
}

#[test]
fn a_neighbour_that_takes_feedback_is_served_as_much_as_without_overload() {
    for seed in 0..SEEDS {
        let (mut server, mut random) = (Server::new(), Random(seed));
        let (start, mut at, mut saved) = (server.start, server.start, 0);
        server.pause_at = start;
        let mut refused = 0;
        while at.since(start) < 4 * SECOND {
            at += random.around(SERVED / 3);
            server.run(at);
            if at.since(start) < SECOND {
                refused = server.refused;
            }
            saved += server.loss;
            if saved >= 100 {
                saved -= 100;
                continue;
            }
            let invite = invite(&format!("n{}", server.number));
            let invite = invite.replacen(";rport", ";oc;rport;oc-algo=\"loss\"", 1);
            server.come(at, Coming::New(ALICE, invite));
        }
        let pauses = PAUSE.as_micros() * 3_000 / PAUSE_EVERY.as_millis();
        let most = ((3 * SECOND).as_micros() - pauses) / SERVED.as_micros();
        let begun = server.begun_after(start + SECOND);
        assert!(begun >= most * 97 / 100, "{begun} of {most} served, seed {seed}");
        let refused = server.refused - refused;
        assert!(u128::from(refused) * 7 < begun, "{refused} refused, seed {seed}");
        let inside = server.inside_max - PAUSE;
        assert!(inside < Duration::from_millis(8), "{inside:?} inside a call, seed {seed}");
    }
}

#[test]
fn retransmissions_get_what_their_first_one_got() {
    for seed in 0..SEEDS {
        let (mut server, mut random) = (Server::new(), Random(seed));
        let (start, mut at) = (server.start, server.start);
        for n in 0..6_000 {
            at += random.around(SERVED / 3);
            // Late ones find that there is time again.
            let name = if n % 4 == 3 { random.next() % n } else { n };
            server.come(at, Coming::New(ALICE, invite(&format!("r{name}"))));
        }
        for _ in 0..600 {
            at += random.around(SERVED);
            let name = random.next() % 6_000;
            server.come(at, Coming::New(ALICE, invite(&format!("r{name}"))));
        }
        server.run(start + 2 * SECOND);
        assert!(server.refused > 2_000 && server.begun_after(start) > 1_000, "seed {seed}");
    }
}

#[test]
fn a_call_whose_client_was_refused_while_it_waited_never_begins_and_cancel_does_not_pass_invite() {
    let mut world = World::new(SITE);
    world.controller.waited(world.now, Duration::from_millis(2));
    for name in ["first", "again", "given-up"] {
        world.receive(ALICE, ACCESS, &invite(name));
    }
    let cancel = Caller::new("given-up").request("CANCEL", "", "");
    world.receive(ALICE, ACCESS, &cancel.replace("z9hG4bKCANCEL", "z9hG4bKINVITE"));
    world.expect_nothing();
    assert_eq!(world.metric("ssc_calls_waiting"), 4);
    world.now += Duration::from_millis(500);
    for n in 0..6 {
        world.receive(ALICE, ACCESS, &Caller::new(&format!("{n}")).request("OPTIONS", "", ""));
        world.now += Duration::from_millis(21);
    }
    world.sent.clear();
    world.receive(ALICE, ACCESS, &invite("again"));
    world.expect(ALICE, "SIP/2.0 503");
    world.tick();
    let first = world.expect(ALICE, "SIP/2.0 100");
    assert_eq!(header(&first, "Call-ID"), "first");
    world.expect(BOB, "INVITE");
    world.expect_nothing();
    assert_eq!(world.metric("ssc_calls_waiting"), 3, "one in a turn while messages wait");
    world.tick();
    assert_eq!(world.metric("ssc_calls_waiting"), 0);
    let begun = world.expect(ALICE, "SIP/2.0 100");
    assert_eq!(header(&begun, "Call-ID"), "given-up");
    let invite = world.expect(BOB, "INVITE");
    world.expect(ALICE, "SIP/2.0 200");
    world.receive(BOB, CORE, &respond(&invite, "180 Ringing", "b", "", ""));
    assert!(world.sent.iter().any(|sent| sent.text.starts_with("CANCEL")), "{:?}", world.sent);
}

#[test]
fn a_restart_storm_leaves_room_for_calls_and_never_touches_those_in_progress() {
    for seed in 0..SEEDS {
        let (mut server, mut random) = (Server::new(), Random(seed));
        let (start, mut at, mut calls) = (server.start, server.start, 0u32);
        // Twice what can be registered, and some calls among them.
        while at.since(start) < SECOND {
            at += random.around(REGISTERED / 2);
            let name = format!("p{}", server.number);
            if random.next() % 32 == 0 {
                server.come(at, Coming::New(ALICE, invite(&name)));
                calls += 1;
            } else {
                let mut phone = Caller::new(&name);
                phone.target = "sip:example.org".into();
                let register = phone.request("REGISTER", "", "");
                server.come(at, Coming::New("10.0.0.9:5062", register));
            }
        }
        server.run(start + SECOND / 4);
        // Until the overload is seen a queue piles up; then it is as long as registrations wait.
        let first = std::mem::take(&mut server.inside_max);
        assert!(first < Duration::from_millis(100), "{first:?} inside a call, seed {seed}");
        server.run(start + SECOND);
        let (begun, refused) = (server.begun_after(start), server.refused);
        assert!(begun * 2 > u128::from(calls), "{begun} of {calls} calls, seed {seed}");
        assert!(refused > 1_500, "{refused} refused, seed {seed}");
        let inside = server.inside_max;
        assert!(inside < Duration::from_millis(40), "{inside:?} inside a call, seed {seed}");
    }
}
