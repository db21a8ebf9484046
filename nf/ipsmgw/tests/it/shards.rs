//! A gateway on one shard or several: what they hand to each other arrives at once and in order, or
//! comes back.

use crate::function::{CORE, World};
use ipsmgw::ShortMessageGateway;
use ipsmgw::config::Ipsmgw;
use machine::{Duration, Time};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use runtime::{Answered, Ask, AskError, Effects, Function as _, In, Seed, Ticket, Transport};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Pieces of work that one event may lead to, at most.
const WORKS_MAX: usize = 1_000_000;

/// As many shards as the section says.
pub(crate) struct Shards {
    all: Vec<ShortMessageGateway>,
    config: Arc<Ipsmgw>,
    /// Those that take no work.
    pub full: BTreeSet<u16>,
    /// From, to, whether it came back, and what.
    works: VecDeque<(u16, u16, bool, Vec<u8>)>,
    lives: u8,
}

impl Shards {
    pub fn new(config: Arc<Ipsmgw>, now: Time) -> Self {
        let (full, works) = (BTreeSet::new(), VecDeque::new());
        let mut it = Self { all: Vec::new(), config, full, works, lives: 7 };
        it.all = (0..it.config.shards).map(|shard| it.born(now, shard)).collect();
        it
    }

    fn born(&self, now: Time, shard: u16) -> ShortMessageGateway {
        let random = [self.lives.wrapping_add(31_u8.wrapping_mul(shard as u8)); 32];
        let seed = Seed { shard, shards: self.config.shards, random, now };
        ShortMessageGateway::new(seed, Arc::clone(&self.config))
    }

    /// A shard dies, and its function is made anew.
    pub fn anew(&mut self, now: Time, shard: u16, out: &mut Effects) {
        self.lives += 1;
        self.all[usize::from(shard)] = self.born(now, shard);
        self.all[usize::from(shard)].tick(now, out);
        self.work(now, shard, out);
    }

    pub fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        let shard = match &input {
            In::Message { flow, bytes } => {
                ShortMessageGateway::steer(&self.config, flow, bytes, self.config.shards)
            }
            _ => None,
        };
        let shard = shard.unwrap_or_default();
        self.all[usize::from(shard)].step(now, input, out);
        self.work(now, shard, out);
    }

    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        for shard in 0..self.config.shards {
            let it = &mut self.all[usize::from(shard)];
            if it.deadline().is_some_and(|at| at <= now) {
                it.tick(now, out);
                self.work(now, shard, out);
            }
        }
    }

    pub fn deadline(&self) -> Option<Time> {
        self.all.iter().filter_map(ShortMessageGateway::deadline).min()
    }

    pub fn is_idle(&self) -> bool {
        self.all.iter().all(ShortMessageGateway::is_idle)
    }

    /// Asks all of them, as the runtime does: rows are joined.
    pub fn question(
        &mut self,
        now: Time,
        ask: &Ask,
        ticket: Ticket,
        out: &mut Effects,
    ) -> Option<Answered> {
        let (mut joined, mut is_later) = (None, false);
        for shard in 0..self.config.shards {
            let answer = self.all[usize::from(shard)].question(now, ask, ticket, out);
            self.work(now, shard, out);
            match (answer, &mut joined) {
                (None, _) => is_later = true,
                (Some(Err(AskError::NotFound(_))), _) => {}
                (Some(Ok(Value::Array(more))), Some(Ok(Value::Array(all)))) => all.extend(more),
                (Some(answer), joined) => *joined = Some(answer),
            }
        }
        assert!(joined.is_some() != is_later, "one of them answers, now or later");
        joined
    }

    /// What that shard has handed over, and what follows.
    fn work(&mut self, now: Time, shard: u16, out: &mut Effects) {
        self.take_hands(shard, out);
        for _ in 0..WORKS_MAX {
            let Some((from, to, came_back, work)) = self.works.pop_front() else { return };
            let (at, input) = match came_back {
                true => (from, In::HandedBack { to, work: &work }),
                false => (to, In::Work { from, work: &work }),
            };
            self.all[usize::from(at)].step(now, input, out);
            self.take_hands(at, out);
        }
        panic!("shards keep each other busy");
    }

    fn take_hands(&mut self, from: u16, out: &mut Effects) {
        for (to, work) in out.handed_work() {
            self.works.push_back((from, to, self.full.contains(&to), work.to_vec()));
        }
        out.clear_handed_work();
    }
}

/// What the next hop does with messages.
#[derive(Clone, Copy, PartialEq)]
enum Hop {
    Takes,
    Refuses,
    Silent,
}

const SUBSCRIBERS: u32 = 8;

/// Operators send texts to terminals behind a next hop.
struct Play {
    world: World,
    random: ChaCha8Rng,
    shards: u16,
    hop: Hop,
    /// Messages that the next hop has looked at.
    seen: BTreeSet<Vec<u8>>,
    /// Texts for each subscriber, and those that reached it.
    texts: BTreeMap<u32, usize>,
    reached: BTreeMap<u32, usize>,
    requests: u32,
    /// A shard died, or had no time: what was delivered may be delivered once more.
    is_disturbed: bool,
}

fn line<'a>(message: &'a str, name: &str) -> &'a str {
    message.split("\r\n").find_map(|it| it.strip_prefix(name)).unwrap_or_default()
}

impl Play {
    fn new(shards: u16, seed: u64) -> Self {
        let mut it = Self {
            world: World::on(shards, 3_600, ""),
            random: ChaCha8Rng::seed_from_u64(seed),
            shards,
            hop: Hop::Takes,
            seen: BTreeSet::new(),
            texts: BTreeMap::new(),
            reached: BTreeMap::new(),
            requests: 0,
            is_disturbed: false,
        };
        // The next hop answers its probes, of each shard one.
        it.runs();
        for n in 0..SUBSCRIBERS {
            assert_eq!(it.world.registers(Transport::Udp, n), "200");
        }
        it.runs();
        it
    }

    fn below(&mut self, end: u32) -> u32 {
        self.random.next_u32() % end
    }

    /// The next hop does with what came what it does.
    fn runs(&mut self) {
        for _ in 0..200 {
            let all = ["OPTIONS", "MESSAGE"].map(|it| self.world.left(it));
            let all = all.into_iter().flatten();
            let new: Vec<Vec<u8>> = all.filter(|it| !self.seen.contains(it)).collect();
            if new.is_empty() {
                return;
            }
            for message in new {
                self.seen.insert(message.clone());
                self.arrives(&String::from_utf8_lossy(&message), &message);
            }
        }
        panic!("it is delivered again and again");
    }

    fn arrives(&mut self, text: &str, octets: &[u8]) {
        let is_probe = text.starts_with("OPTIONS");
        let status = match self.hop {
            _ if is_probe => "200 OK",
            Hop::Takes => "200 OK",
            Hop::Refuses => "503 Service Unavailable",
            Hop::Silent => return,
        };
        let names = ["Via:", "From:", "To:", "Call-ID:", "CSeq:"];
        let head = text.split("\r\n").filter(|it| names.iter().any(|name| it.starts_with(name)));
        let head = head.collect::<Vec<_>>().join("\r\n");
        let answer = format!("SIP/2.0 {status}\r\n{head}\r\nContent-Length: 0\r\n\r\n");
        self.world.hears(Transport::Udp, answer.as_bytes());
        if self.hop != Hop::Takes || is_probe {
            return;
        }
        let uri = text.split(' ').nth(1).unwrap_or_default();
        let number = uri.trim_start_matches("sip:+4477009").split('@').next();
        let number: u32 = number.and_then(|it| it.parse().ok()).expect("a subscriber");
        if line(text, "Content-Type: ").starts_with("text/plain") {
            *self.reached.entry(number).or_default() += 1;
            return;
        }
        let body = octets.windows(4).position(|it| it == b"\r\n\r\n").expect("a body") + 4;
        let report = [2, octets[body + 1]];
        let call_id = line(text, "Call-ID: ");
        if self.reports(number, call_id, &report).as_deref() == Some("202") {
            *self.reached.entry(number).or_default() += 1;
        }
    }

    /// A terminal reports; the status of the answer, once there is one.
    fn reports(&mut self, number: u32, answers: &str, body: &[u8]) -> Option<String> {
        self.requests += 1;
        let n = self.requests;
        let head = format!(
            "MESSAGE sip:+447700000099@ims.example.org SIP/2.0\r\n\
             Via: SIP/2.0/UDP {CORE};branch=z9hG4bKreport{n}\r\n\
             From: <sip:+4477009{number:05}@ims.example.org>;tag={n}\r\n\
             To: <sip:+447700000099@ims.example.org>\r\nCall-ID: report-{n}\r\n\
             CSeq: 1 MESSAGE\r\nMax-Forwards: 70\r\nIn-Reply-To: {answers}\r\n\
             P-Asserted-Identity: <sip:+4477009{number:05}@ims.example.org>\r\n\
             Content-Type: application/vnd.3gpp.sms\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let request = [head.as_bytes(), body].concat();
        let branch = format!("branch=z9hG4bKreport{n}");
        // It is said again until it is answered.
        for tried in 0..8 {
            self.world.hears(Transport::Udp, &request);
            if let Some(status) = self.world.status_of(&branch) {
                return Some(status);
            }
            if tried > 3 {
                self.world.gateway.full.clear();
            }
            self.world.pass(Duration::from_millis(500));
        }
        None
    }

    fn round(&mut self) {
        let shard = self.below(self.shards.into()) as u16;
        match self.below(10) {
            0 => self.hop = Hop::Refuses,
            1 => self.hop = Hop::Silent,
            2 | 3 => self.hop = Hop::Takes,
            4 if shard > 0 => {
                self.is_disturbed = true;
                self.world.dies(shard);
            }
            5 if self.shards > 1 => {
                self.is_disturbed = true;
                self.world.gateway.full.insert(shard);
            }
            6 => self.world.gateway.full.clear(),
            _ => {
                let number = self.below(SUBSCRIBERS);
                *self.texts.entry(number).or_default() += 1;
                self.world.sends(number);
            }
        }
        self.runs();
        let ms = self.below(3_000).into();
        self.world.pass(Duration::from_millis(ms));
        self.runs();
    }

    /// Everybody has time, and the next hop takes everything.
    fn ends(&mut self, seed: u64) {
        let case = format!("seed {seed}, {} shards", self.shards);
        self.world.gateway.full.clear();
        self.hop = Hop::Takes;
        for _ in 0..120 {
            self.world.asks("sms/retry", &[]);
            self.runs();
            self.world.pass(Duration::from_secs(1));
            self.runs();
        }
        let pending = self.world.asks("sms/pending", &[]).unwrap();
        assert_eq!(pending.as_array().map(Vec::len), Some(0), "{case}: {pending}");
        for (number, texts) in &self.texts {
            let reached = self.reached.get(number).copied().unwrap_or_default();
            let is_once = self.is_disturbed || reached == *texts;
            assert!(
                is_once && reached >= *texts,
                "{texts} texts for {number}, {reached} reached it: {case}"
            );
        }
        assert!(self.world.gateway.is_idle(), "{case}");
    }
}

#[test]
fn texts_reach_their_subscribers_whatever_becomes_of_shards_and_the_next_hop() {
    for (shards, seed) in [1, 2, 4].into_iter().flat_map(|it| (0..6).map(move |n| (it, n))) {
        let mut play = Play::new(shards, seed);
        for _ in 0..60 {
            play.round();
        }
        play.ends(seed);
    }
}

#[test]
fn a_request_for_which_the_first_shard_has_no_room_is_answered_503_and_no_state_is_left() {
    let mut world = World::on(3, 3_600, "");
    world.gateway.full.insert(0);
    for n in 0..20 {
        assert_eq!(world.registers(Transport::Udp, n), "503");
    }
    world.gateway.full.clear();
    for n in 20..40 {
        assert_eq!(world.registers(Transport::Udp, n), "200");
    }
    assert_eq!(world.asks("sms/registrations", &[]).unwrap().as_array().map(Vec::len), Some(20));
}

#[test]
fn when_the_first_shard_dies_whoever_waits_is_answered_and_others_are_served() {
    let mut world = World::on(3, 3_600, "");
    assert_eq!(world.registers(Transport::Udp, 1), "200");
    world.dies(0);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.registers(Transport::Udp, 2), "200");
    let rows = world.asks("next-hops", &[]).unwrap();
    assert_eq!(rows.as_array().map(Vec::len), Some(2), "a row of each shard with SIP");
}

#[test]
fn the_trail_of_a_report_is_that_of_what_it_answers() {
    for shards in [1, 3] {
        let mut play = Play::new(shards, 1);
        play.world = World::on(shards, 3_600, "capture = \"udp:127.0.0.1:9060\"\n");
        assert_eq!(play.world.registers(Transport::Udp, 3), "200");
        play.world.sends(3);
        let pending = play.world.asks("sms/pending", &[]).unwrap();
        let trail = pending[0]["trail"].as_str().unwrap().to_owned();
        play.runs();
        play.world.pass(Duration::from_secs(1));
        assert_eq!(play.reached.get(&3), Some(&1), "{shards} shards");
        let of = |what: &str| play.world.captured(what, &trail);
        assert!(of("MESSAGE sip:+447700900003") > 0, "{shards} shards");
        assert!(of("branch=z9hG4bKreport") > 0, "{shards} shards");
    }
}

#[test]
fn more_cores_than_shards_and_too_many_shards_are_refused() {
    let issues = |more: &str| {
        let config: Ipsmgw = toml::from_str(&format!(
            "name = \"sms1\"\nnumber = \"447700000099\"\ndomain = \"ims.example.org\"\n\
             listen = [\"udp:127.0.0.1:5090\"]\nstore = {{ journal = false }}\n{more}\n\
             [[next_hop]]\nname = \"scscf\"\ntargets = [\"udp:{CORE}\"]\n"
        ))
        .unwrap();
        let mut issues = Vec::new();
        config.validate(&mut issues);
        issues.into_iter().map(|it| it.path).collect::<Vec<_>>()
    };
    assert_eq!(issues("shards = 0"), ["shards"]);
    assert_eq!(issues("shards = 17"), ["shards"]);
    assert_eq!(issues("shards = 2\ncores = [0, 1, 2]"), ["cores"]);
    assert_eq!(issues("shards = 2\ncores = [0, 1]"), Vec::<String>::new());
}
