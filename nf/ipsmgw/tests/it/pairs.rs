//! Worlds by seed: two nodes of a pair, the terminals of a core that says each request to both
//! until it is answered, a link that is slow, loses what was told last, or is cut, and deaths at
//! any step: before anything of it has left, after the other node was told, between two messages.
//!
//! What was answered stands at whoever serves next: registrations, messages that were acknowledged,
//! and that one was delivered whose report was answered.

use crate::function::CORE;
use crate::network::{GATEWAY, number, rp, submit, text_of};
use crate::world::of_octets;
use ipsmgw::ShortMessageGateway;
use ipsmgw::config::Ipsmgw;
use machine::{Duration, Time};
use runtime::{Effects, Flow, Function as _, In, Mirrored, Seed, Term, Transport};
use sip::{Header, Method};
use sms::rp::{Kind as RpKind, Message};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

const SUBSCRIBERS: u64 = 4;
const TEXTS: u64 = 24;
/// While texts are sent, and after which nobody dies any more.
const SPAN_MS: u64 = 12_000;
/// A request is said again so soon (RFC 3261 T1), and so often.
const AGAIN_MS: u64 = 500;
const TRIES_MAX: u8 = 20;
/// A terminal that hears no report of its message sends it once more (TS 24.011 §6.3.1).
const RESENT_MS: u64 = 5_000;
/// How long a node is away.
const AWAY_MS: u64 = 1_500;
const STEPS_MAX: u32 = 200_000;

/// Numbers from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % most
    }

    fn one_in(&mut self, most: u64) -> bool {
        self.below(most) == 0
    }
}

/// What a request of the core is.
#[derive(Clone, Copy)]
enum What {
    Register(u64),
    Submit,
    /// The report of a message, and the life of the node that had sent that.
    Report(u64, u64),
}

struct Asked {
    what: What,
    octets: Vec<u8>,
    tries: u8,
}

/// What comes to pass.
enum Happening {
    Register(u64),
    /// A text is sent, for the first time or once more.
    Submit(u64, bool),
    /// A request is said, for the first time or again.
    Say(u64),
    /// Octets arrive at a node.
    Arrives(usize, Vec<u8>),
    /// Octets of a life of a node arrive at the core.
    Comes(u64, Vec<u8>),
    /// The standby takes what it was told.
    Link,
    Cut(bool),
    /// A node begins.
    Begins(usize),
}

/// What passes between the nodes.
enum Told {
    Forget,
    Delta(Vec<u8>),
    Mark(u64),
    /// Everything was told, in that epoch.
    Whole(u64),
}

#[derive(Default)]
struct Text {
    is_acknowledged: bool,
    deliveries: u32,
    /// Its report was answered by the life of the node that had sent it.
    is_reported: bool,
}

struct World {
    seed: u64,
    now: Time,
    draw: Draw,
    config: Arc<Ipsmgw>,
    nodes: [Option<Box<ShortMessageGateway>>; 2],
    /// Of each node, the number of its life, and of all.
    lives: [u64; 2],
    last_life: u64,
    active: usize,
    epoch: u64,
    snapshots: u64,
    /// The other node has everything that was told before.
    is_whole: bool,
    is_cut: bool,
    is_linking: bool,
    flying: VecDeque<Told>,
    agenda: BTreeMap<(Time, u64), Happening>,
    count: u64,
    asked: BTreeMap<u64, Asked>,
    /// Call-IDs that came, and what they brought.
    known: BTreeSet<Vec<u8>>,
    registered: BTreeSet<u64>,
    texts: BTreeMap<u64, Text>,
    deaths: u64,
    /// Deaths at most: one at a step that is drawn.
    dies_at: BTreeSet<u64>,
    effects: u64,
}

fn at_core() -> SocketAddr {
    CORE.parse().unwrap()
}

fn digits(subscriber: u64) -> String {
    format!("44770090{subscriber:04}")
}

fn config(seed: u64) -> Arc<Ipsmgw> {
    let text = format!(
        "name = \"sms\"\nnumber = \"{GATEWAY}\"\ndomain = \"ims.example.org\"\n\
         listen = [\"udp:127.0.0.1:5090\"]\nstore = {{ journal = false }}\n\
         limits = {{ sender_per_s = 1000 }}\nshards = 1\n\
         centre = {{ retries_s = [2] }}\n\
         replica = {{ node = \"a\", listen = \"127.0.0.1:5999\", peer = \"127.0.0.1:5998\" }}\n\
         [[next_hop]]\nname = \"scscf\"\ntargets = [\"udp:{CORE}\"]\nprobe_interval_s = 0\n\
         [timers]\nreport_s = {}\n",
        if seed.is_multiple_of(5) { 3 } else { 40 }
    );
    Arc::new(toml::from_str(&text).unwrap())
}

impl World {
    fn new(seed: u64) -> Self {
        let mut world = Self {
            seed,
            now: Time::from_millis(1_795_737_882_000),
            draw: Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            config: config(seed),
            nodes: [None, None],
            lives: [0, 0],
            last_life: 0,
            active: 0,
            epoch: 0,
            snapshots: 0,
            is_whole: false,
            is_cut: false,
            is_linking: false,
            flying: VecDeque::new(),
            agenda: BTreeMap::new(),
            count: 0,
            asked: BTreeMap::new(),
            known: BTreeSet::new(),
            registered: BTreeSet::new(),
            texts: BTreeMap::new(),
            deaths: 0,
            dies_at: BTreeSet::new(),
            effects: 0,
        };
        [0, 1].into_iter().for_each(|it| world.begins(it));
        world.serves(0);
        world.follows();
        for subscriber in 0..SUBSCRIBERS {
            world.at(subscriber, Happening::Register(subscriber));
        }
        for text in 1..=TEXTS {
            let after = 100 + world.draw.below(SPAN_MS - 2_000);
            world.at(after, Happening::Submit(text, false));
        }
        for _ in 0..3 {
            let step = 30 + world.draw.below(500);
            world.dies_at.insert(step);
        }
        if world.draw.one_in(3) {
            let after = world.draw.below(SPAN_MS);
            world.at(after, Happening::Cut(true));
            let later = after + 50 + world.draw.below(2_000);
            world.at(later, Happening::Cut(false));
        }
        world
    }

    fn at(&mut self, after_ms: u64, what: Happening) {
        self.count += 1;
        let at = self.now + Duration::from_millis(after_ms);
        self.agenda.insert((at, self.count), what);
    }

    fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn begins(&mut self, node: usize) {
        self.last_life += 1;
        self.lives[node] = self.last_life;
        let random = [self.last_life as u8; 32];
        let seed = Seed { shard: 0, shards: 1, random, now: self.now };
        let made = ShortMessageGateway::new(seed, Arc::clone(&self.config));
        self.nodes[node] = Some(Box::new(made));
        self.mirrored(node, Mirrored::Deactivate);
    }

    fn mirrored(&mut self, node: usize, input: Mirrored<'_>) {
        let (now, mut out) = (self.now, Effects::default());
        let Some(function) = &mut self.nodes[node] else { return };
        function.replicate(now, input, &mut out);
        self.leaves(node, &mut out);
    }

    fn serves(&mut self, node: usize) {
        (self.active, self.is_whole) = (node, false);
        self.flying.clear();
        self.epoch += 1;
        self.mirrored(node, Mirrored::Activate { is_current: true });
        self.mirrored(node, Mirrored::Term(Term { epoch: self.epoch, served: true }));
        self.mirrored(node, Mirrored::Followed(None));
    }

    /// The other node is told everything anew.
    fn follows(&mut self) {
        self.flying.clear();
        self.flying.push_back(Told::Forget);
        self.snapshots += 1;
        self.is_whole = false;
        self.mirrored(self.active, Mirrored::Snapshot(self.snapshots));
        self.link();
    }

    fn link(&mut self) {
        if !self.is_linking && !self.is_cut && !self.flying.is_empty() {
            self.is_linking = true;
            let slow = if self.draw.one_in(10) { 100 } else { 4 };
            let after = self.draw.below(slow);
            self.at(after, Happening::Link);
        }
    }

    /// The standby takes what it was told, and says so.
    fn linked(&mut self) {
        let standby = 1 - self.active;
        if self.is_cut || self.nodes[standby].is_none() {
            return;
        }
        // Whoever dies meanwhile has told the rest.
        while let Some(told) = self.flying.pop_front() {
            if standby == self.active {
                return;
            }
            match told {
                Told::Forget => self.mirrored(standby, Mirrored::Forget),
                Told::Delta(delta) => self.mirrored(standby, Mirrored::Delta(&delta)),
                Told::Whole(epoch) => {
                    self.is_whole |= epoch == self.epoch;
                    self.mirrored(standby, Mirrored::Term(Term { epoch, served: false }));
                }
                Told::Mark(mark) => self.mirrored(self.active, Mirrored::Followed(Some(mark))),
            }
        }
    }

    /// A node dies at a step: how many of its messages have left, and whether the other one is told
    /// of it; none: it lives.
    fn dies(&mut self, node: usize, messages: usize) -> Option<(usize, bool)> {
        self.effects += 1;
        let is_it = node == self.active && self.is_whole && !self.is_cut;
        let other = self.nodes[1 - node].is_some();
        if !is_it || !other || self.dies_at.first().is_none_or(|it| *it > self.effects) {
            return None;
        }
        self.dies_at.pop_first();
        let left = self.draw.below(messages as u64 + 2);
        Some(match left.checked_sub(1) {
            None => (0, false),
            Some(left) => (usize::try_from(left).unwrap(), true),
        })
    }

    /// What every step of a node ends with: changes leave before messages.
    fn leaves(&mut self, node: usize, out: &mut Effects) {
        let messages: Vec<Vec<u8>> = out.sends().map(|it| it.1.to_vec()).collect();
        let death = self.dies(node, messages.len());
        if node == self.active && death.is_none_or(|it| it.1) {
            self.flying.extend(out.deltas().map(|it| Told::Delta(it.to_vec())));
            self.flying.extend(out.marked().map(Told::Mark));
            let is_whole = out.snapshot_ended == Some(self.snapshots);
            self.flying.extend(is_whole.then_some(Told::Whole(self.epoch)));
            self.link();
        }
        let most = death.map_or(usize::MAX, |it| it.0);
        let life = self.lives[node];
        for octets in messages.into_iter().take(most) {
            let after = 1 + self.draw.below(20);
            self.at(after, Happening::Comes(life, octets));
        }
        if death.is_some() {
            self.takes_over(node);
        }
    }

    fn takes_over(&mut self, dead: usize) {
        self.deaths += 1;
        self.nodes[dead] = None;
        // Datagrams that found no room: nobody says them again.
        if self.draw.one_in(2) {
            let kept = self.draw.below(self.flying.len() as u64 + 1);
            self.flying.truncate(usize::try_from(kept).unwrap());
        }
        self.linked();
        let after = self.draw.below(150);
        self.now += Duration::from_millis(after);
        self.serves(1 - dead);
        self.at(AWAY_MS, Happening::Begins(dead));
    }

    fn happens(&mut self, what: Happening) {
        match what {
            Happening::Register(subscriber) => {
                let number = self.number();
                let octets = register(number, &digits(subscriber));
                self.asks(number, What::Register(subscriber), octets);
            }
            Happening::Submit(text, is_again) => self.submits(text, is_again),
            Happening::Say(number) => self.says(number),
            Happening::Arrives(node, octets) => {
                let (now, mut out) = (self.now, Effects::default());
                let port = self.config.ports()[0].id;
                let local = ([127, 0, 0, 1], 5_090).into();
                let flow = Flow::to(port, Transport::Udp, local, at_core());
                let Some(function) = &mut self.nodes[node] else { return };
                function.step(now, In::Message { flow, bytes: &octets }, &mut out);
                self.leaves(node, &mut out);
            }
            Happening::Comes(life, octets) => self.comes(life, &octets),
            Happening::Link => {
                self.is_linking = false;
                self.linked();
            }
            Happening::Cut(is_cut) => {
                self.is_cut = is_cut;
                if is_cut {
                    self.is_whole = false;
                } else {
                    self.mirrored(self.active, Mirrored::Followed(None));
                    self.follows();
                }
            }
            Happening::Begins(node) => {
                self.begins(node);
                self.follows();
            }
        }
    }

    fn asks(&mut self, number: u64, what: What, octets: Vec<u8>) {
        self.asked.insert(number, Asked { what, octets, tries: 0 });
        self.says(number);
    }

    /// To both: the one that stands by takes nothing.
    fn says(&mut self, number: u64) {
        let Some(asked) = self.asked.get_mut(&number) else { return };
        asked.tries += 1;
        assert!(asked.tries < TRIES_MAX, "{}: nobody answers", self.seed);
        let octets = asked.octets.clone();
        let after = self.draw.below(10);
        for node in [0, 1] {
            if !self.draw.one_in(40) {
                self.at(after, Happening::Arrives(node, octets.clone()));
            }
        }
        self.at(AGAIN_MS, Happening::Say(number));
    }

    fn submits(&mut self, text: u64, is_again: bool) {
        if is_again && self.texts.get(&text).is_some_and(|it| it.is_acknowledged) {
            return;
        }
        let (from, to) = (digits(text % SUBSCRIBERS), digits((text + 1) % SUBSCRIBERS));
        let reference = u8::try_from(text).unwrap();
        let tpdu = submit(reference, &to, &format!("m{text}"));
        let body = rp(&Message::from_terminal(reference, number(GATEWAY), &tpdu));
        let number = self.number();
        // What the report names.
        let call_id = format!("{number}.{text}");
        let octets = message(&call_id, &from, None, &body);
        self.asks(number, What::Submit, octets);
        self.at(RESENT_MS, Happening::Submit(text, true));
    }

    fn comes(&mut self, life: u64, octets: &[u8]) {
        let read = sip::Message::parse(octets).unwrap();
        let call_id = read.header(Header::CallId).unwrap();
        if let Some(status) = read.status() {
            let number = str::from_utf8(call_id).unwrap().split(['.', '@']).next().unwrap();
            let number = number.parse().unwrap();
            assert!(status < 500 || status == 503, "{status}");
            let Some(asked) = self.asked.remove(&number) else { return };
            match asked.what {
                What::Register(subscriber) => {
                    assert_eq!(status, 200);
                    self.registered.insert(subscriber);
                }
                What::Report(text, from) if from == life => {
                    self.texts.entry(text).or_default().is_reported = true;
                }
                What::Submit | What::Report(..) => {}
            }
            return;
        }
        let answer = ok(&read);
        let nodes = [0, 1].into_iter().find(|it| self.lives[*it] == life);
        if let Some(node) = nodes.filter(|_| !self.draw.one_in(20)) {
            self.at(3, Happening::Arrives(node, answer));
        }
        if read.method() == Method::Message && self.known.insert(call_id.to_vec()) {
            let answers = read.first(Header::InReplyTo).map(|it| String::from_utf8_lossy(it));
            let answers = answers.map(std::borrow::Cow::into_owned);
            let call_id = String::from_utf8_lossy(call_id).into_owned();
            let whom = String::from_utf8_lossy(read.start_line()).into_owned();
            self.brought(life, &whom, &call_id, answers, of_octets(octets));
        }
    }

    /// A terminal has a message of the gateway.
    fn brought(
        &mut self,
        life: u64,
        start: &str,
        call_id: &str,
        answers: Option<String>,
        body: &[u8],
    ) {
        let read = Message::read(body).unwrap();
        if let Some(answers) = answers {
            let text = answers.split(['.', '@']).nth(1).unwrap().parse().unwrap();
            self.texts.entry(text).or_default().is_acknowledged |=
                read.kind == RpKind::AckToTerminal;
            return;
        }
        let text = text_of(sms::Kind::Deliver, read.user_data.unwrap());
        let text = text[1..].parse().unwrap();
        let it = self.texts.entry(text).or_default();
        it.deliveries += 1;
        assert!(!it.is_reported, "{}: text {text} comes again", self.seed);
        let report = rp(&read.answer(None, None));
        let digits = start.split_once("sip:+").unwrap().1.split_once('@').unwrap().0;
        let number = self.number();
        let octets = message(&number.to_string(), digits, Some(call_id), &report);
        self.asks(number, What::Report(text, life), octets);
    }

    /// Runs until nothing happens any more.
    fn run(&mut self) {
        let end = self.now + Duration::from_millis(SPAN_MS * 6);
        for _ in 0..STEPS_MAX {
            let next = self.agenda.keys().next().map(|it| it.0);
            let due = [0, 1].into_iter().filter_map(|it| {
                let at = self.nodes[it].as_ref()?.deadline()?;
                Some((at, it))
            });
            let due = due.min();
            let Some(at) = next.into_iter().chain(due.map(|it| it.0)).min() else { return };
            if at > end {
                return;
            }
            self.now = self.now.max(at);
            match due.filter(|it| it.0 <= self.now) {
                Some((_, node)) => {
                    let (now, mut out) = (self.now, Effects::default());
                    let Some(function) = &mut self.nodes[node] else { continue };
                    function.tick(now, &mut out);
                    self.leaves(node, &mut out);
                }
                None => {
                    let (_, what) = self.agenda.pop_first().unwrap();
                    self.happens(what);
                }
            }
        }
        panic!("{}: it does not end", self.seed);
    }

    fn at_the_end(&mut self) {
        let seed = self.seed;
        assert!(self.asked.is_empty(), "{seed}: each request is answered");
        assert_eq!(self.registered.len() as u64, SUBSCRIBERS);
        for (text, it) in &self.texts {
            assert!(it.is_acknowledged, "{seed}: {text} is taken at last");
            assert!(it.deliveries > 0, "{seed}: {text} was acknowledged, and is lost");
        }
        let active = self.nodes[self.active].as_mut().unwrap();
        assert!(active.is_idle(), "{seed}");
        // Whoever is registered is so here: a text to each comes.
        for subscriber in 0..SUBSCRIBERS {
            self.submits(TEXTS + 1 + subscriber, false);
        }
        self.dies_at.clear();
        self.run();
        let last = self.texts.range(TEXTS + 1..);
        assert!(last.clone().all(|it| it.1.deliveries == 1), "{seed}: nobody died");
    }
}

fn register(number: u64, digits: &str) -> Vec<u8> {
    format!(
        "REGISTER sip:gw.ims.example.org SIP/2.0\r\n\
         Via: SIP/2.0/UDP {CORE};branch=z9hG4bK{number}\r\n\
         From: <sip:scscf.ims.example.org>;tag={number}\r\n\
         To: <sip:+{digits}@ims.example.org>\r\nCall-ID: {number}@core\r\n\
         CSeq: 1 REGISTER\r\nMax-Forwards: 70\r\nContact: <sip:{CORE}>\r\nExpires: 36000\r\n\
         Content-Length: 0\r\n\r\n"
    )
    .into_bytes()
}

fn message(call: &str, digits: &str, answers: Option<&str>, body: &[u8]) -> Vec<u8> {
    let answers = answers.map(|it| format!("In-Reply-To: {it}\r\n")).unwrap_or_default();
    let head = format!(
        "MESSAGE sip:+{GATEWAY}@ims.example.org SIP/2.0\r\n\
         Via: SIP/2.0/UDP {CORE};branch=z9hG4bK{call}\r\nMax-Forwards: 70\r\n\
         From: <sip:+{digits}@ims.example.org>;tag={call}\r\n\
         To: <sip:+{GATEWAY}@ims.example.org>\r\nCall-ID: {call}@core\r\nCSeq: 1 MESSAGE\r\n\
         P-Asserted-Identity: <sip:+{digits}@ims.example.org>\r\n{answers}\
         Content-Type: application/vnd.3gpp.sms\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn ok(request: &sip::Message<'_>) -> Vec<u8> {
    let mut out = b"SIP/2.0 200 OK\r\n".to_vec();
    for (header, line) in request.rows() {
        match header {
            Header::Via | Header::From | Header::CallId | Header::CSeq => {
                out.extend_from_slice(line);
            }
            Header::To => {
                out.extend_from_slice(line.trim_ascii_end());
                out.extend_from_slice(b";tag=core\r\n");
            }
            _ => {}
        }
    }
    out.extend_from_slice(b"Content-Length: 0\r\n\r\n");
    out
}

#[test]
fn what_was_answered_stands_at_whoever_serves_next_and_nothing_reported_is_delivered_again() {
    let seeds = std::env::var("SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(200);
    let mut deaths = 0;
    for seed in 1..=seeds {
        let mut world = World::new(seed);
        world.run();
        world.at_the_end();
        deaths += world.deaths;
    }
    assert!(deaths > seeds, "{deaths} deaths");
}
