//! Subscribers in virtual time before an element that refuses, loses and accepts.

use machine::{Duration, Time};
use runtime::{Effects, Flow, Function, In, PortId, Seed, Transport};
use sip::{Header, Message};
use sip_load::{Cause, Endpoint, Registrants, RegistrantsConfig, Report, Trial};
use std::collections::BTreeMap;
use std::sync::Arc;

const SUBSCRIBERS: u32 = 50;
const LINK: Duration = Duration::from_millis(1);

/// What the element makes of the nth REGISTER.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Accept,
    Refuse(u32),
    Lose,
}

struct World {
    registrants: Registrants,
    now: Time,
    flying: BTreeMap<(Time, usize), (Flow, Vec<u8>)>,
    /// When each Call-ID sent a new CSeq, and that number.
    attempts: BTreeMap<Vec<u8>, Vec<(Time, u32)>>,
    seen: usize,
}

impl World {
    fn new() -> Self {
        let client = Endpoint {
            port: PortId(1),
            transport: Transport::Udp,
            local: "192.0.2.1:5060".parse().unwrap(),
            remote: "192.0.2.2:5060".parse().unwrap(),
        };
        let config = RegistrantsConfig { clients: vec![client], core: None, expires_s: 3_000 };
        let now = Time::from_millis(1_000);
        let seed = Seed { shard: 0, shards: 1, random: [7; 32], now };
        let registrants = Registrants::new(seed, Arc::new(config)).unwrap();
        let (flying, attempts) = (BTreeMap::new(), BTreeMap::new());
        Self { registrants, now, flying, attempts, seen: 0 }
    }

    fn take(&mut self, flow: Flow, bytes: &[u8], fate: Fate) {
        let message = Message::parse(bytes).unwrap();
        let number = message.cseq().number;
        let attempts = self.attempts.entry(message.call_id().to_vec()).or_default();
        if attempts.last().is_none_or(|(_, last)| *last != number) {
            attempts.push((self.now, number));
        }
        let (line, more) = match fate {
            Fate::Lose => return,
            Fate::Accept => {
                let contact = String::from_utf8_lossy(message.header(Header::Contact).unwrap());
                ("SIP/2.0 200 OK\r\n".to_owned(), format!("Contact: {contact};expires=3000\r\n"))
            }
            Fate::Refuse(after_s) => {
                ("SIP/2.0 503 No\r\n".to_owned(), format!("Retry-After: {after_s}\r\n"))
            }
        };
        let mut answer = line.into_bytes();
        let kept = [Header::Via, Header::From, Header::To, Header::CallId, Header::CSeq];
        for line in message.lines().filter(|line| kept.contains(&line.header)) {
            answer.extend_from_slice(line.name);
            answer.extend_from_slice(b": ");
            answer.extend_from_slice(line.value);
            answer.extend_from_slice(b"\r\n");
        }
        answer.extend_from_slice(more.as_bytes());
        answer.extend_from_slice(b"Content-Length: 0\r\n\r\n");
        self.flying.insert((self.now + LINK, self.seen), (flow, answer));
    }

    fn run(&mut self, again: bool, limit_s: u64, fate: impl Fn(usize) -> Fate) -> Report {
        let length = Duration::from_millis(u64::from(SUBSCRIBERS) * 10 - 5);
        let trial =
            Trial { rate: 100.0, length, subscribers: SUBSCRIBERS, again, ..Trial::default() };
        self.registrants.start(self.now, trial);
        let end = self.now + Duration::from_secs(limit_s);
        let mut out = Effects::default();
        while self.registrants.report().running {
            let arrival = self.flying.keys().next().map(|(at, _)| *at);
            let next = [arrival, self.registrants.deadline()].into_iter().flatten().min();
            let Some(next) = next.filter(|at| *at <= end) else { break };
            self.now = self.now.max(next);
            out.clear();
            if arrival.is_some_and(|at| at <= self.now) {
                let (_, (flow, bytes)) = self.flying.pop_first().unwrap();
                self.registrants.step(self.now, In::Message { flow, bytes: &bytes }, &mut out);
            } else {
                self.registrants.tick(self.now, &mut out);
            }
            let sends: Vec<_> = out.sends().map(|(flow, bytes)| (flow, bytes.to_vec())).collect();
            for (flow, bytes) in sends {
                self.seen += 1;
                self.take(flow, &bytes, fate(self.seen));
            }
        }
        self.registrants.report()
    }
}

#[test]
fn who_is_refused_comes_again_after_the_time_that_he_was_told_with_the_next_number() {
    let mut world = World::new();
    let fate = |seen| if seen <= 30 { Fate::Refuse(3) } else { Fate::Accept };
    let report = world.run(true, 60, fate);
    assert_eq!((report.failed(), report.completed, report.again), (0, SUBSCRIBERS.into(), 30));
    assert_eq!(report.rejected[&503], 30);
    assert!(report.last_us > 3_000_000 && report.last_us < 4_000_000, "{}", report.last_us);
    let twice: Vec<_> = world.attempts.values().filter(|attempts| attempts.len() == 2).collect();
    assert_eq!(twice.len(), 30);
    for attempts in twice {
        let [(first, one), (second, two)] = attempts[..] else { unreachable!() };
        assert_eq!(two, one + 1);
        let rest = second.since(first);
        assert!(rest >= Duration::from_secs(3) && rest < Duration::from_millis(3_100), "{rest:?}");
    }
}

#[test]
fn who_hears_nothing_comes_again_and_the_next_trial_counts_on() {
    let mut world = World::new();
    // The first subscriber's transaction has eleven copies within 64 x T1.
    let report = world.run(true, 300, |seen| if seen == 1 { Fate::Accept } else { Fate::Lose });
    assert_eq!((report.completed, report.live), (1, u64::from(SUBSCRIBERS) - 1));
    assert!(report.unanswered >= 49 && report.failed() == 0, "{report:?}");
    let highest = world.attempts.values().flatten().map(|(_, number)| *number).max().unwrap();
    world.run(false, 60, |_| Fate::Accept);
    for attempts in world.attempts.values() {
        assert!(attempts.last().unwrap().1 > highest);
        assert!(attempts.is_sorted_by_key(|(_, number)| *number));
    }
}

#[test]
fn a_refusal_is_a_failure_where_nobody_comes_again() {
    let report = World::new().run(false, 60, |_| Fate::Refuse(1));
    assert_eq!(report.failures[&Cause::Shed], u64::from(SUBSCRIBERS));
    assert_eq!((report.again, report.completed), (0, 0));
}
