//! Worlds by seed: two nodes of a pair, the terminals of a core that says each request to both
//! until it is answered, a link that is slow, loses what was told last, or is cut, and deaths at
//! any step: before anything of it has left, after the other node was told, between two messages.
//!
//! What was answered stands at whoever serves next: registrations, messages that were acknowledged,
//! and that one was delivered whose report was answered; of a gateway before a service centre, what
//! that one took. What is used of limits, and what an operator wanted tried, counts on.

use crate::function::CORE;
use crate::network::{CENTRE, GATEWAY, number, rp, submit, text_of};
use crate::service_centre::ServiceCentre;
use crate::world::of_octets;
use ipsmgw::ShortMessageGateway;
use ipsmgw::config::Ipsmgw;
use machine::{Duration, Time};
use runtime::{Ask, ConnId, Effects, Flow, Function as _, In, Mirrored, Seed, Term, Transport};
use sip::{Header, Method};
use sms::Cause;
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

/// What the gateways are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A centre.
    Centre,
    /// A centre of whose subscribers one sends more than he may.
    Limited,
    /// A centre whose subscribers take text, and are absent until an operator has all tried.
    Absent,
    /// Before a service centre.
    Gateway,
}

/// Messages that one may send at once, and one a second, where that is held.
const BURST: u64 = 10;

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
    /// A life of a node connects to the service centre, and octets pass there, and from there.
    Connects(u64, Flow),
    Asks(u64, Flow, Vec<u8>),
    Answers(u64, Flow, Vec<Vec<u8>>),
    /// An operator has all tried; who is not answered asks again.
    Retry,
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
    /// The terminal was told that its sender sent too many.
    is_refused: bool,
    /// When its acknowledgement came, whether the terminal heard it or not.
    acknowledged_at: Option<Time>,
    deliveries: u32,
    /// Its report was answered by the life of the node that had sent it.
    is_reported: bool,
}

struct World {
    seed: u64,
    kind: Kind,
    centre: ServiceCentre,
    /// Terminals answer.
    are_present: bool,
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
    connections: u32,
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

fn config(seed: u64, kind: Kind) -> Arc<Ipsmgw> {
    let (mode, retry_s) = match kind {
        Kind::Gateway => (
            "mode = \"gateway\"\nsignalling = { correlation_prefix = \"23415\" }\n\
             link = [{ name = \"stp\", address = \"tcp:127.0.0.1:7700\", application = \"sms\" }]\n\
             network = [{ name = \"own\", numbers = [\"4477\"], centres = [\"4478\"], \
             ask_hlr = false }]\n",
            2,
        ),
        Kind::Absent => ("sms_by_default = false\n", 3_600),
        Kind::Centre | Kind::Limited => ("", 2),
    };
    let (rate, burst) = if kind == Kind::Limited { (1, BURST) } else { (1_000, 1_000) };
    let text = format!(
        "name = \"sms\"\nnumber = \"{GATEWAY}\"\ndomain = \"ims.example.org\"\n\
         listen = [\"udp:127.0.0.1:5090\"]\nstore = {{ journal = false }}\n\
         limits = {{ sender_per_s = {rate}, sender_burst = {burst} }}\nshards = 1\n\
         centre = {{ retries_s = [{retry_s}] }}\n{mode}\
         replica = {{ node = \"a\", listen = \"127.0.0.1:5999\", peer = \"127.0.0.1:5998\" }}\n\
         [[next_hop]]\nname = \"scscf\"\ntargets = [\"udp:{CORE}\"]\nprobe_interval_s = 0\n\
         [timers]\nreport_s = {}\n",
        if seed.is_multiple_of(5) { 3 } else { 40 }
    );
    Arc::new(toml::from_str(&text).unwrap())
}

impl World {
    fn new(seed: u64, kind: Kind) -> Self {
        let mut world = Self {
            seed,
            kind,
            centre: ServiceCentre::default(),
            are_present: kind != Kind::Absent,
            now: Time::from_millis(1_795_737_882_000),
            draw: Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            config: config(seed, kind),
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
            connections: 0,
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
        let (texts, span_ms) = match kind {
            Kind::Limited => (3 * TEXTS, 3_000),
            _ => (TEXTS, SPAN_MS - 2_000),
        };
        for text in 1..=texts {
            let after = 100 + world.draw.below(span_ms);
            world.at(after, Happening::Submit(text, false));
        }
        if kind == Kind::Absent {
            world.at(SPAN_MS, Happening::Retry);
            return world;
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
        let messages: Vec<_> = out.sends().map(|it| (it.0, it.1.to_vec())).collect();
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
        for (flow, octets) in messages.into_iter().take(most) {
            if flow.remote != at_core() {
                // A stream keeps the order.
                self.at(3, Happening::Asks(life, flow, octets));
                continue;
            }
            let after = 1 + self.draw.below(20);
            self.at(after, Happening::Comes(life, octets));
        }
        for flow in out.opens.drain(..).filter(|_| death.is_none()) {
            self.connections += 1;
            let flow = Flow { conn: ConnId(self.connections), ..flow };
            self.at(5, Happening::Connects(life, flow));
        }
        if death.is_some() {
            self.takes_over(node);
        }
    }

    fn takes_over(&mut self, dead: usize) {
        self.deaths += 1;
        self.nodes[dead] = None;
        // Datagrams that found no room: nobody says them again.
        let is_lossy = matches!(self.kind, Kind::Centre | Kind::Limited);
        if is_lossy && self.draw.one_in(2) {
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
            Happening::Connects(life, flow) => self.is_told(life, In::Up { flow }),
            Happening::Asks(life, flow, octets) => {
                let (after, answers) = (1 + self.draw.below(200), self.centre.hears(&octets));
                self.at(after, Happening::Answers(life, flow, answers));
            }
            Happening::Answers(life, flow, all) => {
                for octets in all {
                    self.is_told(life, In::Message { flow, bytes: &octets });
                }
            }
            Happening::Retry => self.retries(),
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

    /// A node of that life, if it is there.
    fn is_told(&mut self, life: u64, input: In<'_>) {
        let (now, mut out) = (self.now, Effects::default());
        let Some(node) = [0, 1].into_iter().find(|it| self.lives[*it] == life) else { return };
        let Some(function) = &mut self.nodes[node] else { return };
        function.step(now, input, &mut out);
        self.leaves(node, &mut out);
    }

    /// An operator has all tried, at the node that serves, which may die as it does that.
    fn retries(&mut self) {
        self.are_present = true;
        if self.dies_at.is_empty() && self.deaths == 0 {
            let step = self.effects + 1 + self.draw.below(12);
            self.dies_at.insert(step);
        }
        let (now, node, mut out) = (self.now, self.active, Effects::default());
        let ask = Ask { path: "sms/retry".into(), params: BTreeMap::new() };
        let Some(function) = &mut self.nodes[node] else { return };
        function.ask(now, &ask, &mut out).unwrap();
        self.leaves(node, &mut out);
        if self.active != node {
            self.at(10, Happening::Retry);
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
        let is_known = |it: &Text| it.is_acknowledged || it.is_refused;
        if is_again && self.texts.get(&text).is_some_and(is_known) {
            return;
        }
        let sender = if self.kind == Kind::Limited { 0 } else { text % SUBSCRIBERS };
        let (from, to) = (digits(sender), digits((text + 1) % SUBSCRIBERS));
        let reference = u8::try_from(text).unwrap();
        let tpdu = submit(reference, &to, &format!("m{text}"));
        let centre = if self.kind == Kind::Gateway { CENTRE } else { GATEWAY };
        let body = rp(&Message::from_terminal(reference, number(centre), &tpdu));
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
        let answer =
            if self.are_present || !is_of_text(octets) { ok(&read) } else { absent(&read) };
        let nodes = [0, 1].into_iter().find(|it| self.lives[*it] == life);
        if let Some(node) = nodes.filter(|_| !self.draw.one_in(20)) {
            self.at(3, Happening::Arrives(node, answer));
        }
        if read.method() == Method::Message && self.known.insert(call_id.to_vec()) {
            if is_of_text(octets) {
                let text = str::from_utf8(of_octets(octets)).unwrap();
                let it = self.texts.entry(text[1..].parse().unwrap()).or_default();
                it.deliveries += u32::from(self.are_present);
                return;
            }
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
            return self.hears(text, &read);
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

    /// A terminal hears what became of its message, or does not.
    fn hears(&mut self, text: u64, report: &Message<'_>) {
        let (now, is_unheard) = (self.now, self.kind == Kind::Gateway && self.draw.one_in(3));
        let it = self.texts.entry(text).or_default();
        let is_taken = report.kind == RpKind::AckToTerminal;
        if is_taken {
            it.acknowledged_at.get_or_insert(now);
        } else if self.kind == Kind::Limited {
            let cause = report.failure.and_then(|it| it.cause());
            it.is_refused |= cause == Some(Cause::Congestion);
        }
        it.is_acknowledged |= is_taken && !is_unheard;
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

    /// No more was taken of the one sender than he may send, but for the one of each takeover that
    /// is told to nobody.
    fn is_within_limits(&self) {
        let mut times: Vec<Time> =
            self.texts.values().filter_map(|it| it.acknowledged_at).collect();
        times.sort_unstable();
        let [first, .., last] = &times[..] else { panic!("{}: some are taken", self.seed) };
        // What it took to acknowledge the last one was time as well.
        let most = BURST + last.since(*first).as_secs() + 2 + self.deaths;
        assert!(times.len() as u64 <= most, "{}: {} of {most}", self.seed, times.len());
        assert!(times.len() as u64 >= BURST, "{}: the first ones are taken", self.seed);
    }

    fn at_the_end(&mut self) {
        let seed = self.seed;
        assert!(self.asked.is_empty(), "{seed}: each request is answered");
        assert_eq!(self.registered.len() as u64, SUBSCRIBERS);
        for (text, it) in self.texts.iter().filter(|it| !it.1.is_refused) {
            assert!(it.is_acknowledged, "{seed}: {text} is taken at last");
            match self.kind {
                Kind::Gateway => {
                    let times = self.centre.taken.get(&format!("m{text}"));
                    assert_eq!(times, Some(&1), "{seed}: {text} at the service centre");
                }
                _ => assert!(it.deliveries > 0, "{seed}: {text} was acknowledged, and is lost"),
            }
        }
        if self.kind == Kind::Limited {
            self.is_within_limits();
        }
        let active = self.nodes[self.active].as_mut().unwrap();
        assert!(active.is_idle(), "{seed}");
        if self.kind == Kind::Gateway {
            return;
        }
        // Whoever is registered is so here: a text to each comes.
        let last = *self.texts.keys().last().unwrap() + 1;
        for subscriber in 0..SUBSCRIBERS {
            self.submits(last + subscriber, false);
        }
        self.dies_at.clear();
        self.run();
        let last = self.texts.range(last..);
        assert!(last.clone().all(|it| it.1.deliveries == 1), "{seed}: nobody died");
    }
}

/// Whether a MESSAGE brings text to a terminal.
fn is_of_text(octets: &[u8]) -> bool {
    octets.windows(10).any(|it| it == b"text/plain")
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
    answer(request, "200 OK")
}

fn absent(request: &sip::Message<'_>) -> Vec<u8> {
    answer(request, "480 Temporarily Unavailable")
}

fn answer(request: &sip::Message<'_>, status: &str) -> Vec<u8> {
    let mut out = format!("SIP/2.0 {status}\r\n").into_bytes();
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

/// As many worlds as are asked for.
fn worlds(kind: Kind) {
    let seeds = std::env::var("SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(200);
    let mut deaths = 0;
    for seed in 1..=seeds {
        let mut world = World::new(seed, kind);
        world.run();
        world.at_the_end();
        deaths += world.deaths;
    }
    assert!(deaths > seeds / 2, "{deaths} deaths");
}

#[test]
fn what_was_answered_stands_at_whoever_serves_next_and_nothing_reported_is_delivered_again() {
    worlds(Kind::Centre);
}

#[test]
fn a_service_centre_has_what_terminals_say_again_once_whichever_node_dies() {
    worlds(Kind::Gateway);
}

#[test]
fn a_sender_has_one_limit_however_many_nodes_die() {
    worlds(Kind::Limited);
}

#[test]
fn whom_an_operator_has_tried_is_tried_by_whoever_serves_next() {
    worlds(Kind::Absent);
}
