//! Lives of a pair: killed, started again, caught up under load, switched over as planned.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod world;

use machine::Duration;
use runtime::{ConnId, Effects, Flow, Function, Mirrored, Transport};
use world::*;

/// Calls at once that the access realm may have: hardly more than a run needs.
const CALLS_MAX: usize = 40;

fn site() -> String {
    let limit = format!("name = \"access\"\nlimit = {{ calls_max = {CALLS_MAX} }}");
    SITE.replacen("name = \"access\"", &limit, 1)
}

fn mirror(world: &mut World, input: Mirrored<'_>) -> Effects {
    let mut out = Effects::default();
    let now = world.now;
    world.controller.mirror(now, input, &mut out);
    assert_eq!(out.len(), 0, "nothing is said");
    out
}

/// The active controller, its standby, and a call's ends by its number.
struct Pair {
    active: World,
    standby: World,
    calls: Vec<(Caller, String)>,
    made: u64,
    dice: u64,
}

impl Pair {
    fn new(site: &str, seed: u64) -> Self {
        let (mut active, mut standby) = (World::new(site), World::new(site));
        mirror(&mut active, Mirrored::Deactivate);
        mirror(&mut active, Mirrored::Activate);
        mirror(&mut standby, Mirrored::Deactivate);
        let mut pair = Self { active, standby, calls: Vec::new(), made: 0, dice: seed };
        pair.catch_up(0);
        pair
    }

    fn roll(&mut self, below: u64) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.dice >> 33) % below
    }

    /// A snapshot while calls go on; `steps` of them happen before its first piece.
    fn catch_up(&mut self, steps: u64) {
        mirror(&mut self.standby, Mirrored::Forget);
        self.active.deltas.clear();
        let secret = mirror(&mut self.active, Mirrored::Snapshot(1));
        self.active.deltas.extend(secret.deltas().map(<[u8]>::to_vec));
        self.load(steps);
        self.active.pass(Duration::from_millis(1));
        self.load(steps);
        self.replicate();
    }

    fn replicate(&mut self) {
        self.standby.now = self.active.now;
        for delta in std::mem::take(&mut self.active.deltas) {
            mirror(&mut self.standby, Mirrored::Delta(&delta));
        }
        self.standby.expect_nothing();
    }

    /// The standby serves; the other one is the standby from now on, without anything.
    fn change_places(&mut self) {
        self.replicate();
        mirror(&mut self.standby, Mirrored::Activate);
        std::mem::swap(&mut self.active, &mut self.standby);
    }

    fn kill(&mut self, site: &str) {
        self.change_places();
        self.standby = World::new(site);
        mirror(&mut self.standby, Mirrored::Deactivate);
    }

    /// As planned: what comes while the nodes change places is answered by the other one.
    fn switch_over(&mut self) {
        self.active.pass(Duration::from_millis(600)); // ACKs of their own are through
        let rows = self.active.ask("hand-over", &[("left", "requests")]);
        assert_eq!(rows[0]["requests"], 0);
        let late = Caller::new(&format!("late-{}", self.made)).request("INVITE", "", SDP);
        let bye = self.calls.first_mut().map(|(alice, _)| {
            alice.cseq += 1;
            alice.request("BYE", "", "")
        });
        for request in bye.iter().chain([&late]) {
            self.active.receive(ALICE, ACCESS, request);
        }
        self.active.expect_nothing();
        let told = mirror(&mut self.active, Mirrored::Deactivate);
        self.active.deltas.extend(told.deltas().map(<[u8]>::to_vec));
        self.change_places();
        if let Some(bye) = bye {
            self.calls.remove(0);
            self.say_goodbye(&bye);
        }
    }

    fn load(&mut self, steps: u64) {
        for _ in 0..steps {
            let at = self.roll(self.calls.len().max(1) as u64) as usize;
            match self.roll(8) {
                _ if self.calls.len() < 10 => self.begin(),
                0..=2 if self.calls.len() < CALLS_MAX - 2 => self.begin(),
                3..=5 => self.end(at),
                _ => self.change(at),
            }
        }
    }

    fn begin(&mut self) {
        self.made += 1;
        let mut alice = Caller::new(&format!("call-{}", self.made));
        let world = &mut self.active;
        world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
        world.expect(ALICE, "SIP/2.0 100");
        let invite = world.expect(BOB, "INVITE");
        world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
        alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
        world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
        world.expect(BOB, "ACK");
        self.calls.push((alice, invite));
    }

    fn change(&mut self, at: usize) {
        let (world, alice) = (&mut self.active, &mut self.calls[at].0);
        alice.cseq += 1;
        world.receive(ALICE, ACCESS, &alice.request("INVITE", "", SDP));
        world.expect(ALICE, "SIP/2.0 100");
        let invite = world.expect(BOB, "INVITE");
        world.receive(BOB, CORE, &respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP));
        world.expect(ALICE, "SIP/2.0 200");
        world.receive(ALICE, ACCESS, &alice.request("ACK", "", ""));
        world.expect(BOB, "ACK");
    }

    fn end(&mut self, at: usize) {
        let (mut alice, _) = self.calls.swap_remove(at);
        alice.cseq += 1;
        self.say_goodbye(&alice.request("BYE", "", ""));
    }

    fn say_goodbye(&mut self, bye: &str) {
        let world = &mut self.active;
        world.receive(ALICE, ACCESS, bye);
        // After a takeover the ACK goes first: whether it had come before is not kept.
        if world.sent.front().is_some_and(|sent| sent.text.starts_with("ACK")) {
            world.sent.pop_front();
        }
        let bye = world.expect(BOB, "BYE");
        world.receive(BOB, CORE, &respond(&bye, "200 OK", "", "", ""));
        world.expect(ALICE, "SIP/2.0 200");
    }

    /// What stands is what the limits count.
    #[track_caller]
    fn check(&mut self, seed: u64) {
        let standing = self.active.ask("calls", &[]).as_array().unwrap().len();
        assert_eq!(standing, self.calls.len(), "seed {seed}");
        for row in self.active.ask("limits", &[]).as_array().unwrap() {
            let counted = row.get("calls").map_or(row["units"].clone(), |calls| {
                serde_json::json!(calls.as_u64().unwrap() * 10)
            });
            assert_eq!(counted, serde_json::json!(standing * 10), "seed {seed}: {row}");
        }
    }
}

#[test]
fn killed_started_again_caught_up_and_switched_over_a_pair_loses_no_call_and_counts_them_right() {
    for seed in 0..6 {
        let site = site();
        let mut pair = Pair::new(&site, seed);
        for _ in 0..3 {
            pair.load(40);
            pair.kill(&site);
            pair.load(20);
            pair.catch_up(15);
            pair.load(20);
            pair.check(seed);
            pair.switch_over();
            pair.check(seed);
            pair.catch_up(15); // the one that was active before forgets, and follows
            pair.check(seed);
        }
        while !pair.calls.is_empty() {
            pair.end(0);
        }
        pair.check(seed);
        pair.active.expect_idle();
        assert_eq!(pair.standby.fact("ssc_transactions_live"), 0, "seed {seed}");
    }
}

#[test]
fn beginnings_are_left_first_and_then_requests_inside_calls_while_answers_and_acks_pass() {
    let mut pair = Pair::new(SITE, 1);
    pair.begin();
    let early = Caller::new("early");
    let world = &mut pair.active;
    world.receive(ALICE, ACCESS, &early.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    assert_eq!(world.ask("hand-over", &[("left", "beginnings")])[0]["requests"], 1);
    world.receive(ALICE, ACCESS, &Caller::new("late").request("INVITE", "", SDP));
    world.expect_nothing();
    pair.change(0);
    let world = &mut pair.active;
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b2", BOB_CONTACT, SDP));
    let mut early = early;
    early.learn(&world.expect(ALICE, "SIP/2.0 200"));
    assert_eq!(world.ask("hand-over", &[("left", "requests")])[0]["requests"], 1);
    world.receive(ALICE, ACCESS, &pair.calls[0].0.request("BYE", "", ""));
    world.expect_nothing();
    world.receive(ALICE, ACCESS, &early.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    assert_eq!(world.ask("hand-over", &[("left", "requests")])[0]["requests"], 0);
    world.ask("hand-over", &[("left", "nothing")]);
    pair.end(0);
}

/// The flow of a caller's connection.
fn connection(world: &World, number: u32, from: &str) -> Flow {
    let (local, remote) = (ACCESS.parse().unwrap(), from.parse().unwrap());
    let flow = Flow::to(world.port(ACCESS, Transport::Tcp), Transport::Tcp, local, remote);
    Flow { conn: ConnId(number), ..flow }
}

#[test]
fn a_bye_over_a_new_connection_finds_its_dialog_after_a_takeover_and_opens_one_to_the_core() {
    let site = SITE.replace("udp:10.0.1.1:5080", "tcp:10.0.1.1:5080");
    let mut pair = Pair::new(&site, 1);
    let world = &mut pair.active;
    let mut alice = Caller::new("stream");
    let request = |alice: &Caller, method: &str, body: &str| {
        alice.request(method, "", body).replace("SIP/2.0/UDP", "SIP/2.0/TCP")
    };
    world.receive_on(connection(world, 7, ALICE), &request(&alice, "INVITE", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    let core = |world: &World, number| {
        let (local, remote) = (CORE.parse().unwrap(), BOB.parse().unwrap());
        let flow = Flow::to(world.port(CORE, Transport::Tcp), Transport::Tcp, local, remote);
        Flow { conn: ConnId(number), ..flow }
    };
    let answer = respond(&invite, "200 OK", "b1", BOB_CONTACT, SDP);
    world.receive_on(core(world, 8), &answer);
    alice.learn(&world.expect(ALICE, "SIP/2.0 200"));
    world.receive_on(connection(world, 7, ALICE), &request(&alice, "ACK", ""));
    world.expect(BOB, "ACK");
    pair.kill(&site);
    let world = &mut pair.active;
    alice.cseq += 1;
    let elsewhere = "10.0.0.1:40001"; // the new connection has another port
    world.receive_on(connection(world, 1, elsewhere), &request(&alice, "BYE", ""));
    world.expect(BOB, "ACK");
    let bye = world.expect(BOB, "BYE");
    assert!(header(&bye, "Via").contains("SIP/2.0/TCP"), "{bye}");
    world.receive_on(core(world, 2), &respond(&bye, "200 OK", "", "", ""));
    world.expect(elsewhere, "SIP/2.0 200");
    world.expect_idle();
}

#[test]
fn deltas_of_the_version_before_and_of_the_next_one_make_the_same_calls() {
    let mut pair = Pair::new(SITE, 3);
    pair.load(60);
    let rows = pair.active.ask("calls", &[]);
    pair.active.deltas.clear();
    mirror(&mut pair.active, Mirrored::Snapshot(2));
    pair.active.pass(Duration::from_millis(1));
    let deltas = pair.active.deltas.clone();
    let next = |delta: &Vec<u8>| {
        let mut delta = delta.clone();
        replica::field::bytes(&mut delta, 250, b"what a later version says");
        delta
    };
    let before = |delta: &Vec<u8>| {
        let mut old = vec![delta[0]];
        let fields = replica::field::Fields::new(&delta[1..]);
        // Next hop and units are said since version 1.
        for (tag, value) in fields.filter(|(tag, _)| !matches!(tag, 14 | 15)) {
            replica::field::bytes(&mut old, tag, value);
        }
        old
    };
    for change in [&next as &dyn Fn(&Vec<u8>) -> Vec<u8>, &before] {
        let mut other = World::new(SITE);
        mirror(&mut other, Mirrored::Deactivate);
        mirror(&mut other, Mirrored::Forget);
        mirror(&mut other, Mirrored::Delta(&[9, 250, 0, 0, 0, 1, 7])); // of a kind not known here
        for delta in &deltas {
            mirror(&mut other, Mirrored::Delta(&change(delta)));
        }
        other.now = pair.active.now;
        mirror(&mut other, Mirrored::Activate);
        assert_eq!(other.ask("calls", &[]), rows);
        assert!(!pair.calls.is_empty());
    }
}
