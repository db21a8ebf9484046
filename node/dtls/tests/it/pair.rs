//! Two of our own over a path that loses, doubles and turns around, under a virtual clock.

use crate::{expect, settings};
use dtls::{
    ATTEMPTS_MAX, DATAGRAM_OCTETS_MAX, Failure, HANDSHAKE_MAX, Handshake, In, Keys, LINGER, Out,
    Role, SOURCE_ATTEMPTS_MAX, Settings, UNPROVEN_MAX,
};
use machine::{Duration, Machine, Time};
use std::net::SocketAddr;

const START: Time = Time::from_millis(1_000_000);

struct End {
    handshake: Handshake,
    keys: Option<Keys>,
    failure: Option<Failure>,
    refused: Vec<Failure>,
    closed: bool,
    sent: usize,
}

/// Both ends and what is on its way between them.
struct World {
    now: Time,
    ends: [End; 2],
    path: Vec<(Time, usize, Vec<u8>)>,
    random: u64,
    /// Of a hundred datagrams.
    lost: u64,
}

impl World {
    fn new(settings: [&Settings; 2], seed: u64, lost: u64) -> Self {
        let end = |role, settings: &Settings| End {
            handshake: Handshake::new(settings, role, START),
            keys: None,
            failure: None,
            refused: Vec::new(),
            closed: false,
            sent: 0,
        };
        let ends = [end(Role::Client, settings[0]), end(Role::Server, settings[1])];
        Self { now: START, ends, path: Vec::new(), random: seed, lost }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        (self.random >> 33) % end
    }

    fn step(&mut self, at: usize, input: In) {
        let mut out = Vec::new();
        self.ends[at].handshake.step(self.now, input, &mut out);
        self.take(at, out);
    }

    fn take(&mut self, at: usize, out: Vec<Out>) {
        for effect in out {
            match effect {
                Out::Send(datagram) => {
                    self.ends[at].sent += datagram.len();
                    for _ in 0..1 + u64::from(self.below(10) == 0) {
                        if self.below(100) >= self.lost {
                            let delay = Duration::from_millis(10 + self.below(40));
                            self.path.push((self.now + delay, 1 - at, datagram.clone()));
                        }
                    }
                }
                Out::Keys(keys) => {
                    assert!(self.ends[at].keys.is_none(), "keys come once");
                    self.ends[at].keys = Some(keys);
                }
                Out::Failed(why) => self.ends[at].failure = Some(why),
                Out::Refused(why) => self.ends[at].refused.push(why),
                Out::Closed => self.ends[at].closed = true,
                // Alerts that nothing protects say so as well.
                Out::Unsuited => {}
            }
        }
    }

    /// Lets time pass to the next thing that happens; whether there is one before `end`.
    fn pass(&mut self, end: Time) -> bool {
        let datagram = self.path.iter().map(|(time, ..)| *time).min();
        let deadlines = self.ends.iter().filter_map(|end| end.handshake.deadline());
        let Some(next) = deadlines.chain(datagram).min().filter(|next| *next <= end) else {
            self.now = end;
            return false;
        };
        self.now = self.now.max(next);
        if let Some(at) = self.path.iter().position(|(time, ..)| *time <= self.now) {
            let (_, to, datagram) = self.path.swap_remove(at);
            self.step(to, In::Datagram(datagram));
            return true;
        }
        for at in 0..2 {
            let mut out = Vec::new();
            self.ends[at].handshake.tick(self.now, &mut out);
            let deadline = self.ends[at].handshake.deadline();
            assert!(deadline.is_none_or(|it| it > self.now), "the deadline advances");
            self.take(at, out);
        }
        true
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        for _ in 0..20_000 {
            if !self.pass(end) {
                return;
            }
        }
        panic!("it does not end");
    }

    fn both_expect(&mut self, settings: [&Settings; 2]) {
        for at in 0..2 {
            let certificate = settings[1 - at].certificate().der();
            self.step(at, expect(certificate));
        }
    }

    fn has_keys(&self) -> bool {
        self.ends.iter().all(|end| end.keys.is_some())
    }
}

#[test]
fn both_ends_have_the_same_keys_over_any_path() {
    let (one, other) = (settings(), settings());
    for seed in 0..40 {
        let lost = [0, 5, 15, 25][seed as usize % 4];
        let mut world = World::new([&one, &other], seed, lost);
        world.both_expect([&one, &other]);
        world.step(0, In::Started);
        world.run(Duration::from_secs(29));
        assert!(world.has_keys(), "seed {seed}: {lost} of 100 lost");
        let [client, server] = world.ends.map(|end| end.keys.unwrap());
        assert!(client.material == server.material && client.profile == server.profile);
        assert_eq!((client.role, server.role), (Role::Client, Role::Server));
        assert!(client.material.iter().any(|octet| *octet != 0));
    }
}

#[test]
fn keys_wait_for_trust_and_never_come_of_a_stranger() {
    let (one, other, stranger) = (settings(), settings(), settings());
    for at in 0..2 {
        let mut world = World::new([&one, &other], at as u64, 0);
        world.step(1 - at, expect([&one, &other][at].certificate().der()));
        world.step(0, In::Started);
        // A call rings for minutes: the handshake waits for the answer.
        world.run(Duration::from_secs(300));
        assert!(world.ends[at].keys.is_none() && world.ends[at].failure.is_none());
        assert!(world.ends[1 - at].keys.is_some());
        world.step(at, expect([&other, &one][at].certificate().der()));
        assert!(world.has_keys());

        let mut world = World::new([&one, &other], at as u64, 0);
        world.both_expect([&one, &other]);
        world.step(at, expect(stranger.certificate().der()));
        world.step(0, In::Started);
        world.run(Duration::from_secs(20));
        assert!(world.ends[at].keys.is_none());
        if at == 0 {
            assert_eq!(world.ends[0].failure, Some(Failure::Stranger));
            assert!(world.ends[0].handshake.is_over());
            continue;
        }
        // A server goes on waiting for whom it expects.
        assert_eq!(world.ends[1].refused, [Failure::Stranger]);
        world.ends[0].handshake = Handshake::new(&stranger, Role::Client, world.now);
        world.ends[0].keys = None;
        world.step(0, expect(other.certificate().der()));
        world.step(0, In::Started);
        world.run(Duration::from_secs(5));
        assert!(world.has_keys());
    }
}

#[test]
fn a_client_that_hears_nothing_gives_up_and_a_server_waits() {
    let (one, other) = (settings(), settings());
    let mut world = World::new([&one, &other], 1, 100);
    world.both_expect([&one, &other]);
    world.step(0, In::Started);
    world.run(HANDSHAKE_MAX + Duration::from_secs(1));
    assert_eq!(world.ends[0].failure, Some(Failure::Late));
    assert!(world.ends[0].handshake.is_over() && world.ends[0].sent < 64 * 1_200);
    assert_eq!(world.ends[1].handshake.deadline(), None, "nothing has come");
    // Another client of the same call is heard.
    world.lost = 0;
    world.ends[0].handshake = Handshake::new(&one, Role::Client, world.now);
    world.step(0, expect(other.certificate().der()));
    world.step(0, In::Started);
    world.run(Duration::from_secs(5));
    assert!(world.has_keys());
}

#[test]
fn a_server_sends_no_more_than_it_heard_before_a_cookie_came_back() {
    let (one, other) = (settings(), settings());
    let mut world = World::new([&one, &other], 3, 0);
    world.step(0, In::Started);
    let hello: Vec<Vec<u8>> = world.path.drain(..).map(|(.., datagram)| datagram).collect();
    let mut heard = 0;
    for _ in 0..20 {
        for datagram in &hello {
            heard += datagram.len();
            world.step(1, In::Datagram(datagram.clone()));
            assert!(world.ends[1].sent <= heard, "it answers with more than it was asked");
        }
        // Nobody answers the cookie.
        world.path.clear();
        for _ in 0..40 {
            world.now += Duration::from_secs(1);
            let mut out = Vec::new();
            world.ends[1].handshake.tick(world.now, &mut out);
            world.take(1, out);
            assert!(world.ends[1].sent <= heard, "nor repeats itself beyond that");
        }
    }
    assert!(world.ends[1].sent > 0);
}

/// The first words of a client, the only ones that can be said without hearing the server.
fn hello(settings: &Settings) -> Vec<u8> {
    let mut out = Vec::new();
    Handshake::new(settings, Role::Client, START).step(START, In::Started, &mut out);
    let [Out::Send(datagram), ..] = &out[..] else { panic!("it speaks") };
    datagram.clone()
}

#[test]
fn forged_datagrams_do_not_keep_a_good_client_out() {
    let (one, other) = (settings(), settings());
    for seed in 0..20 {
        let mut world = World::new([&one, &other], seed, 0);
        world.both_expect([&one, &other]);
        world.step(0, In::Started);
        let other_hello = hello(&one);
        let end = world.now + Duration::from_secs(25);
        while world.now < end && !world.has_keys() {
            if world.below(2) == 0 && world.now < START + Duration::from_secs(3) {
                // Of who does not hear the server: a client's first words, with octets changed.
                let mut forged = other_hello.clone();
                for _ in 0..world.below(4) {
                    let at = world.below(forged.len() as u64) as usize;
                    forged[at] = world.below(256) as u8;
                }
                world.step(1, In::Datagram(forged));
            }
            world.pass(end);
        }
        assert!(world.has_keys(), "seed {seed}: {} mistakes", world.ends[1].handshake.mistakes());
    }
}

#[test]
fn what_is_not_dtls_or_too_long_is_passed_over() {
    let (one, other) = (settings(), settings());
    let mut world = World::new([&one, &other], 4, 0);
    for first in (0..20).chain(64..=255) {
        world.step(1, In::Datagram(vec![first; 40]));
    }
    world.step(1, In::Datagram(Vec::new()));
    world.step(1, In::Datagram(vec![22; DATAGRAM_OCTETS_MAX + 1]));
    assert_eq!((world.ends[1].sent, world.ends[1].handshake.deadline()), (0, None));
}

#[test]
fn a_finished_handshake_answers_for_a_while_and_goes() {
    let (one, other) = (settings(), settings());
    let mut world = World::new([&one, &other], 5, 0);
    world.both_expect([&one, &other]);
    world.step(0, In::Started);
    world.run(Duration::from_secs(5));
    assert!(world.has_keys() && !world.ends[1].handshake.is_over());
    world.run(LINGER);
    assert!(world.ends.iter().all(|end| end.handshake.is_over() && end.failure.is_none()));
}

#[test]
fn an_end_is_told_to_the_other_side() {
    let (one, other) = (settings(), settings());
    let mut world = World::new([&one, &other], 6, 0);
    world.both_expect([&one, &other]);
    world.step(0, In::Started);
    world.run(Duration::from_secs(5));
    world.step(0, In::Ended);
    world.run(Duration::from_secs(1));
    assert!(world.ends[0].handshake.is_over() && world.ends[1].closed);
}

#[test]
fn a_profile_that_the_site_does_not_take_gives_no_keys() {
    let (one, other) = (settings(), settings());
    let picky = Settings::new(other.certificate().clone(), &[0x0002]);
    let mut world = World::new([&one, &picky], 7, 0);
    world.both_expect([&one, &picky]);
    world.step(0, In::Started);
    world.run(Duration::from_secs(5));
    assert_eq!(world.ends[1].refused, [Failure::Profile]);
    assert!(world.ends[1].keys.is_none());
}

#[test]
fn nothing_of_a_key_is_shown() {
    let settings = settings();
    let shown = format!("{settings:?}{:?}", Handshake::new(&settings, Role::Server, START));
    let key = settings.certificate().expose_key();
    let digits = format!("{:?}", &key[key.len() - 8..]);
    assert!(!shown.contains(digits.trim_matches(['[', ']'])), "{shown}");
}

/// How many attempts a server makes.
fn attempts(handshake: &Handshake) -> usize {
    let shown = format!("{handshake:?}");
    let at = shown.find("attempts: ").expect("it is shown") + 10;
    shown[at..].split(',').next().unwrap().parse().unwrap()
}

#[test]
fn an_alert_that_nothing_protects_ends_nothing() {
    let (one, other) = (settings(), settings());
    for seed in 0..20 {
        let mut world = World::new([&one, &other], seed, 0);
        world.both_expect([&one, &other]);
        world.step(0, In::Started);
        let end = world.now + Duration::from_secs(5);
        let mut number = 0;
        while !world.has_keys() && world.now < end {
            for at in 0..2 {
                // Fatal, or that it is over: alone, and before a record that says nothing.
                number += 1;
                let kind = [[2, 40], [1, 0], [2, 0]][number % 3];
                let mut alert = vec![21, 254, 253, 0, 0, 0, 0, 0, 0, 1, number as u8, 0, 2];
                alert.extend(kind);
                if number % 2 == 0 {
                    alert.extend([20, 254, 253, 0, 0, 0, 0, 0, 0, 2, number as u8, 0, 1, 9]);
                }
                world.step(at, In::Datagram(alert));
            }
            world.pass(end);
        }
        assert!(world.has_keys(), "seed {seed}");
        assert_eq!(world.ends[0].handshake.mistakes() + world.ends[1].handshake.mistakes(), 0);
    }
}

/// A client's first words with another random number.
fn forged(hello: &[u8], number: u32) -> Vec<u8> {
    let mut forged = hello.to_vec();
    forged[27..31].copy_from_slice(&number.to_be_bytes());
    forged
}

#[test]
fn forged_hellos_hold_no_place_and_keep_nobody_out() {
    let (one, other) = (settings(), settings());
    let words = hello(&one);
    for seed in 0..8 {
        let mut world = World::new([&one, &other], seed, 0);
        world.both_expect([&one, &other]);
        let mut number = 0;
        for at in 0..6_000 {
            // A hundred a second, each of somebody else.
            if at % 10 == 0 {
                number += 1;
                let source = SocketAddr::from(([10, 0, 0, 0], 9));
                let ip = u32::from_be_bytes([10, 0, 0, 0]) + number;
                let source = SocketAddr::new(ip.to_be_bytes().into(), source.port());
                let mut out = Vec::new();
                let came = In::From(source, forged(&words, number));
                world.ends[1].handshake.step(world.now, came, &mut out);
                let sent: usize = out
                    .iter()
                    .map(|it| match it {
                        Out::Send(octets) => octets.len(),
                        _ => panic!("{it:?}"),
                    })
                    .sum();
                assert!(sent <= words.len());
            }
            assert!(attempts(&world.ends[1].handshake) <= UNPROVEN_MAX + 2);
            if at == 1_000 {
                world.step(0, In::Started);
            }
            let end = world.now + Duration::from_millis(1);
            while world.pass(end) {}
        }
        assert!(world.has_keys(), "seed {seed}: {} mistakes", world.ends[1].handshake.mistakes());
    }
}

#[test]
fn one_source_has_few_attempts_and_goes_on_with_those_of_no_other() {
    let (one, other) = (settings(), settings());
    let words = hello(&one);
    let mut server = Handshake::new(&other, Role::Server, START);
    let source = |host: u8| SocketAddr::from(([10, 0, 0, host], 9));
    for number in 0..UNPROVEN_MAX as u32 {
        server.step(START, In::From(source(200), forged(&words, number)), &mut Vec::new());
    }
    // Clients that hear what they are asked and go no further.
    let knock = |server: &mut Handshake, host: u8| {
        let mut client = Handshake::new(&one, Role::Client, START);
        let mut said = Vec::new();
        client.step(START, In::Started, &mut said);
        for _ in 0..2 {
            let mut asked = Vec::new();
            for out in said.drain(..) {
                let Out::Send(octets) = out else { panic!("{out:?}") };
                server.step(START, In::From(source(host), octets), &mut asked);
            }
            for out in asked {
                let Out::Send(octets) = out else { panic!("{out:?}") };
                client.step(START, In::Datagram(octets), &mut said);
            }
        }
    };
    for _ in 0..5 {
        knock(&mut server, 1);
    }
    assert_eq!(attempts(&server), UNPROVEN_MAX + SOURCE_ATTEMPTS_MAX);
    for host in 2..10 {
        knock(&mut server, host);
    }
    assert_eq!(attempts(&server), ATTEMPTS_MAX);
}
