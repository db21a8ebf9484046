//! Lives of a pair: killed, started again, caught up under load, switched over as planned.

use crate::world::pair::{Pair, follower, mirror};
use crate::world::*;
use machine::Duration;
use runtime::{ConnId, Flow, Mirrored, Transport};

/// Calls at once that the access realm may have: hardly more than a run needs.
const CALLS_MAX: usize = 40;

fn site() -> String {
    let limit = format!("name = \"access\"\nlimit = {{ calls_max = {CALLS_MAX} }}");
    SITE.replacen("name = \"access\"", &limit, 1)
}

/// A pair, and a call's ends by its number.
struct Life {
    pair: Pair,
    calls: Vec<Caller>,
    made: u64,
    dice: u64,
}

impl Life {
    fn new(site: &str, dice: u64) -> Self {
        Self { pair: Pair::new(site), calls: Vec::new(), made: 0, dice }
    }

    fn roll(&mut self, below: u64) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.dice >> 33) % below
    }

    /// A snapshot while calls go on; `steps` of them happen before its first piece.
    fn catch_up(&mut self, steps: u64) {
        self.pair.begin_snapshot();
        self.load(steps);
        self.pair.active.pass(Duration::from_millis(1));
        self.load(steps);
        self.pair.replicate();
    }

    /// The standby serves; another one follows, without anything.
    fn kill(&mut self, site: &str) {
        self.pair.fail_over();
        self.pair.restart_standby(site);
    }

    /// As planned: what comes while the nodes change places is answered by the other one.
    fn switch_over(&mut self) {
        self.pair.active.pass(Duration::from_millis(600)); // ACKs of their own are through
        let rows = self.pair.active.ask("hand-over", &[("left", "requests")]);
        assert_eq!(rows[0]["requests"], 0);
        let late = Caller::new(&format!("late-{}", self.made)).request("INVITE", "", SDP);
        let bye = self
            .calls
            .first()
            .map(|alice| Caller { cseq: alice.cseq + 1, ..alice.clone() }.request("BYE", "", ""));
        let active = &mut self.pair.active;
        for request in bye.iter().chain([&late]) {
            active.receive(ALICE, ACCESS, request);
        }
        active.expect_nothing();
        let told = mirror(active, Mirrored::Deactivate);
        active.deltas.extend(told.deltas().map(<[u8]>::to_vec));
        self.pair.fail_over();
        if bye.is_some() {
            let mut alice = self.calls.remove(0);
            self.pair.active.end(&mut alice);
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
        let (alice, _) = self.pair.active.call(&format!("call-{}", self.made));
        self.calls.push(alice);
    }

    fn change(&mut self, at: usize) {
        self.pair.active.change(&mut self.calls[at]);
    }

    fn end(&mut self, at: usize) {
        let mut alice = self.calls.swap_remove(at);
        self.pair.active.end(&mut alice);
    }

    /// What stands is what the limits count.
    #[track_caller]
    fn check(&mut self, seed: u64) {
        let standing = self.pair.active.ask("calls", &[]).as_array().unwrap().len();
        assert_eq!(standing, self.calls.len(), "seed {seed}");
        for row in self.pair.active.ask("limits", &[]).as_array().unwrap() {
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
        let mut life = Life::new(&site, seed);
        for _ in 0..3 {
            life.load(40);
            life.kill(&site);
            life.load(20);
            life.catch_up(15);
            life.load(20);
            life.check(seed);
            life.switch_over();
            life.check(seed);
            life.catch_up(15); // the one that was active before forgets, and follows
            life.check(seed);
        }
        while !life.calls.is_empty() {
            life.end(0);
        }
        life.check(seed);
        life.pair.active.expect_idle();
        assert_eq!(life.pair.standby.metric("ssc_transactions_live"), 0, "seed {seed}");
    }
}

#[test]
fn beginnings_are_left_first_and_then_requests_inside_calls_while_answers_and_acks_pass() {
    let mut pair = Pair::new(SITE);
    let world = &mut pair.active;
    let (mut alice, _) = world.call("standing");
    let early = Caller::new("early");
    world.receive(ALICE, ACCESS, &early.request("INVITE", "", SDP));
    world.expect(ALICE, "SIP/2.0 100");
    let invite = world.expect(BOB, "INVITE");
    assert_eq!(world.ask("hand-over", &[("left", "beginnings")])[0]["requests"], 1);
    world.receive(ALICE, ACCESS, &Caller::new("late").request("INVITE", "", SDP));
    world.expect_nothing();
    world.change(&mut alice);
    world.receive(BOB, CORE, &respond(&invite, "200 OK", "b2", BOB_CONTACT, SDP));
    let mut early = early;
    early.learn(&world.expect(ALICE, "SIP/2.0 200"));
    assert_eq!(world.ask("hand-over", &[("left", "requests")])[0]["requests"], 1);
    world.receive(ALICE, ACCESS, &alice.request("BYE", "", ""));
    world.expect_nothing();
    world.receive(ALICE, ACCESS, &early.request("ACK", "", ""));
    world.expect(BOB, "ACK");
    assert_eq!(world.ask("hand-over", &[("left", "requests")])[0]["requests"], 0);
    world.ask("hand-over", &[("left", "nothing")]);
    world.end(&mut alice);
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
    let mut pair = Pair::new(&site);
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
    let world = pair.fail_over();
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
    let mut life = Life::new(SITE, 3);
    life.load(60);
    let active = &mut life.pair.active;
    let rows = active.ask("calls", &[]);
    active.deltas.clear();
    mirror(active, Mirrored::Snapshot(2));
    active.pass(Duration::from_millis(1));
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
        let mut other = follower(SITE, 2);
        mirror(&mut other, Mirrored::Forget);
        mirror(&mut other, Mirrored::Delta(&[9, 250, 0, 0, 0, 1, 7])); // of a kind not known here
        for delta in &active.deltas {
            mirror(&mut other, Mirrored::Delta(&change(delta)));
        }
        other.now = active.now;
        mirror(&mut other, Mirrored::Activate { is_current: true });
        assert_eq!(other.ask("calls", &[]), rows);
        assert!(!life.calls.is_empty());
    }
}
