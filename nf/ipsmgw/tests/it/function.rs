//! The gateway as its shard runs it: next hops that are not there and come again, who is heard,
//! what is captured.

use crate::shards::Shards;
use ipsmgw::config::{CAPTURE_PORT, Ipsmgw};
use machine::{Duration, Time};
use runtime::{Ask, Effects, Flow, In, Ticket, Transport};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

pub(crate) const CORE: &str = "127.0.0.1:6060";
/// Deep enough for what nests in each other to be found.
const MANY: u32 = 4_000;

pub(crate) struct World {
    pub gateway: Shards,
    config: Arc<Ipsmgw>,
    now: Time,
    out: Effects,
    /// What left, and to where.
    sent: Vec<(Flow, Vec<u8>)>,
    tickets: u64,
}

impl World {
    fn new(more: &str) -> Self {
        let text = format!(
            "name = \"sms1\"\nnumber = \"447700000099\"\ndomain = \"ims.example.org\"\n\
             listen = [\"udp:127.0.0.1:5090\", \"tls:127.0.0.1:5091\"]\n\
             store = {{ journal = false }}\ntls = {{ certificate = \"c\", key = \"k\" }}\n{more}"
        );
        let config: Arc<Ipsmgw> = Arc::new(toml::from_str(&text).unwrap());
        let mut issues = Vec::new();
        config.validate(&mut issues);
        assert!(issues.is_empty(), "{issues:?}");
        let now = Time::from_millis(1_795_737_882_000);
        let gateway = Shards::new(Arc::clone(&config), now);
        let mut world =
            Self { gateway, config, now, out: Effects::default(), sent: Vec::new(), tickets: 0 };
        world.pass(Duration::ZERO);
        world
    }

    /// One whose next hop is that of `CORE`, probed at that interval.
    fn probing(interval_s: u32, more: &str) -> Self {
        Self::new(&format!(
            "{more}[[next_hop]]\nname = \"scscf\"\ntargets = [\"udp:{CORE}\"]\n\
             probe_interval_s = {interval_s}\nprobe_failures = 1\n"
        ))
    }

    /// The same on so many shards.
    pub fn on(shards: u16, interval_s: u32, more: &str) -> Self {
        Self::probing(interval_s, &format!("shards = {shards}\n{more}"))
    }

    /// A shard dies, and its function is made anew.
    pub fn dies(&mut self, shard: u16) {
        self.gateway.anew(self.now, shard, &mut self.out);
        self.leave();
    }

    /// The status of the last answer to the request with this branch.
    pub fn status_of(&self, branch: &str) -> Option<String> {
        let answers = self.sent.iter().rev().map(|it| String::from_utf8_lossy(&it.1));
        let mut its = answers.filter(|it| it.starts_with("SIP/2.0 ") && it.contains(branch));
        its.next()?.split(' ').nth(1).map(ToOwned::to_owned)
    }

    /// How much of what the collector got has both.
    pub fn captured(&self, what: &str, trail: &str) -> usize {
        let captured = self.sent.iter().filter(|it| it.0.port == CAPTURE_PORT);
        let has = |it: &[u8], what: &str| it.windows(what.len()).any(|own| own == what.as_bytes());
        captured.filter(|it| has(&it.1, what) && has(&it.1, trail)).count()
    }

    fn leave(&mut self) {
        self.sent.extend(self.out.sends().map(|(flow, octets)| (flow, octets.to_vec())));
        self.out.clear();
    }

    pub fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        for _ in 0..100_000 {
            let Some(at) = self.gateway.deadline().filter(|it| *it <= until) else {
                self.now = until;
                return;
            };
            self.now = at.max(self.now);
            self.gateway.tick(self.now, &mut self.out);
            self.leave();
        }
        panic!("the deadline does not advance");
    }

    pub fn hears(&mut self, transport: Transport, octets: &[u8]) {
        let at = if transport == Transport::Tls { 5_091 } else { 5_090 };
        let local: SocketAddr = ([127, 0, 0, 1], at).into();
        let port = self.config.ports().into_iter().find(|it| it.listen == local).unwrap().id;
        let flow = Flow::to(port, transport, local, CORE.parse().unwrap());
        self.gateway.step(self.now, In::Message { flow, bytes: octets }, &mut self.out);
        self.leave();
    }

    /// A subscriber registers; the status of the answer.
    pub fn registers(&mut self, transport: Transport, n: u32) -> String {
        let word = if transport == Transport::Tls { "TLS" } else { "UDP" };
        let octets = format!(
            "REGISTER sip:gw.ims.example.org SIP/2.0\r\n\
             Via: SIP/2.0/{word} {CORE};branch=z9hG4bK{word}{n}\r\n\
             From: <sip:scscf.ims.example.org>;tag={n}\r\n\
             To: <sip:+4477009{n:05}@ims.example.org>\r\nCall-ID: register-{n}\r\n\
             CSeq: 1 REGISTER\r\nMax-Forwards: 70\r\nContact: <sip:{CORE}>\r\nExpires: 3600\r\n\
             Content-Length: 0\r\n\r\n"
        );
        self.sent.clear();
        self.hears(transport, octets.as_bytes());
        let answer = self.sent.iter().map(|it| String::from_utf8_lossy(&it.1).into_owned());
        answer.filter_map(|it| it.split(' ').nth(1).map(ToOwned::to_owned)).next().unwrap()
    }

    pub fn asks(&mut self, path: &str, params: &[(&str, &str)]) -> Option<Value> {
        let params = params.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let ask = Ask { path: path.into(), params: params.collect::<BTreeMap<_, _>>() };
        self.tickets += 1;
        let (ticket, out) = (Ticket(self.tickets), &mut self.out);
        let answer = self.gateway.question(self.now, &ask, ticket, out);
        self.leave();
        answer.map(Result::unwrap)
    }

    pub fn sends(&mut self, n: u32) {
        let to = format!("4477009{n:05}");
        assert_eq!(self.asks("sms/send", &[("to", &to), ("text", "Hi")]), None);
    }

    /// The requests of that method that left to the next hop, each once.
    pub fn left(&self, method: &str) -> BTreeSet<Vec<u8>> {
        let core: SocketAddr = CORE.parse().unwrap();
        let is_it =
            |it: &&(Flow, Vec<u8>)| it.0.remote == core && it.1.starts_with(method.as_bytes());
        self.sent.iter().filter(is_it).map(|it| it.1.clone()).collect()
    }

    /// The next hop answers the last probe.
    fn answers_probe(&mut self) -> String {
        let probe = self.sent.iter().rev().find(|it| it.1.starts_with(b"OPTIONS")).unwrap();
        let probe = String::from_utf8(probe.1.clone()).unwrap();
        let is_kept = |it: &&str| {
            ["Via:", "From:", "To:", "Call-ID:", "CSeq:"].iter().any(|name| it.starts_with(name))
        };
        let head: Vec<&str> = probe.split("\r\n").filter(is_kept).collect();
        let answer =
            format!("SIP/2.0 200 OK\r\n{}\r\nContent-Length: 0\r\n\r\n", head.join("\r\n"));
        self.hears(Transport::Udp, answer.as_bytes());
        let call = head.iter().find_map(|it| it.strip_prefix("Call-ID: ")).unwrap();
        call.to_owned()
    }
}

#[test]
fn many_that_find_no_next_hop_at_once_wait_and_leave_when_there_is_one() {
    let mut world = World::probing(1, "");
    for n in 0..MANY {
        assert_eq!(world.registers(Transport::Udp, n), "200");
    }
    world.pass(Duration::from_secs(3));
    for n in 0..MANY {
        world.sends(n);
    }
    assert!(world.left("MESSAGE").is_empty(), "the next hop does not answer its probes");
    world.asks("sms/retry", &[]);
    let waiting = world.asks("sms/pending", &[("limit", "3")]).unwrap();
    let why = waiting.as_array().unwrap().iter().map(|it| it["why"].clone());
    assert_eq!(why.collect::<Vec<_>>(), ["no next hop takes it"; 3]);
    world.sent.clear();
    world.pass(Duration::from_secs(1));
    world.answers_probe();
    world.pass(Duration::from_millis(50));
    let first = world.left("MESSAGE").len();
    assert!((1..=20).contains(&first), "they do not leave at once: {first}");
    world.pass(Duration::from_secs(2));
    assert!(world.left("MESSAGE").len() > 300, "nor wait for the plan");
}

#[test]
fn a_next_hop_that_is_down_is_probed_when_it_is_heard() {
    let mut world = World::probing(60, "");
    world.pass(Duration::from_secs(70));
    assert_eq!(world.asks("next-hops", &[]).unwrap()[0]["state"], "down");
    world.sent.clear();
    world.pass(Duration::from_millis(10));
    assert!(world.left("OPTIONS").is_empty());
    world.registers(Transport::Udp, 1);
    world.pass(Duration::ZERO);
    assert_eq!(world.left("OPTIONS").len(), 1);
    world.answers_probe();
    assert_eq!(world.asks("next-hops", &[]).unwrap()[0]["state"], "up");
}

#[test]
fn a_probe_for_which_there_is_no_room_here_says_nothing_of_its_target() {
    let mut world = World::probing(1, "limits = { transactions_max = 16 }\n");
    world.answers_probe();
    (0..7).for_each(|n| assert_eq!(world.registers(Transport::Udp, n), "200"));
    (0..7).for_each(|n| world.sends(n));
    assert_eq!(world.left("MESSAGE").len(), 7);
    world.sent.clear();
    world.pass(Duration::from_secs(3));
    assert!(world.left("OPTIONS").is_empty(), "all eight are in use");
    assert_eq!(world.asks("next-hops", &[]).unwrap()[0]["state"], "up");
}

#[test]
fn who_is_reached_by_tls_alone_is_not_heard_without() {
    let hop = format!("[[next_hop]]\nname = \"scscf\"\ntargets = [\"tls:{CORE}\"]\n");
    let mut world = World::new(&hop);
    assert_eq!(world.registers(Transport::Udp, 1), "403");
    assert_eq!(world.registers(Transport::Tls, 2), "200");
}

#[test]
fn probes_and_their_answers_and_texts_of_operators_are_captured_on_their_trails() {
    let mut world = World::probing(60, "capture = \"udp:127.0.0.1:9060\"\n");
    let count = |world: &World, what: &[u8], trail: &str| {
        let captured = world.sent.iter().filter(|it| it.0.port == CAPTURE_PORT);
        let has = |it: &[u8], what: &[u8]| it.windows(what.len()).any(|own| own == what);
        let both = captured.filter(|it| has(&it.1, what) && has(&it.1, trail.as_bytes()));
        both.count()
    };
    let trail = world.answers_probe();
    world.pass(Duration::from_secs(1));
    assert_eq!(count(&world, b"OPTIONS sip:127", &trail), 1);
    let answer = world.sent.iter().find(|it| {
        it.0.port == CAPTURE_PORT && it.1.windows(14).any(|own| own == b"SIP/2.0 200 OK")
    });
    let text = String::from_utf8_lossy(&answer.expect("it is captured").1).into_owned();
    assert_eq!(text.matches(&trail).count(), 2, "its Call-ID, and the trail");
    world.sent.clear();
    world.sends(1);
    world.pass(Duration::from_secs(1));
    let pending = world.asks("sms/pending", &[]).unwrap();
    let trail = pending[0]["trail"].as_str().unwrap().to_owned();
    assert_eq!(count(&world, b"TextStored", &trail), 1);
    assert!(!world.sent.iter().any(|it| it.1.windows(2).any(|own| own == b"Hi")), "not the text");
}
