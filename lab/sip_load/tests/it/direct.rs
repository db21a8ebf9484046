//! Both ends against each other in virtual time, over a link that may lose, double and reorder.

use machine::{Duration, Time};
use runtime::{Effects, Flow, Function, In, PortId, Seed, Transport};
use sip::{Header, Message, Method, Writer};
use sip_load::{
    Cause, Descriptions, Endpoint, Generator, InDialog, Ladder, LoadConfig, Report, Side, Trial,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

const CALLER: &str = "192.0.2.1:5060";
const ANSWERER: &str = "192.0.2.2:5060";
const DELAY: Duration = Duration::from_millis(1);

/// What the link does to the nth message; delay in milliseconds for each copy that arrives.
type Fate = Box<dyn FnMut(usize, &Message<'_>) -> Vec<u64>>;

struct World {
    generator: Generator,
    now: Time,
    flying: BTreeMap<(Time, usize), (Flow, Vec<u8>)>,
    count: usize,
    fate: Fate,
    hundreds: bool,
    /// How long a message has waited in its socket when it is read.
    waits: Duration,
}

fn endpoint(port: u16, local: &str, remote: &str) -> Endpoint {
    let address = |text: &str| text.parse::<SocketAddr>().unwrap();
    Endpoint {
        port: PortId(port),
        transport: Transport::Udp,
        local: address(local),
        remote: address(remote),
    }
}

impl World {
    fn new(flow: &str, fate: Fate) -> Self {
        Self::describing(flow, fate, None)
    }

    fn describing(flow: &str, fate: Fate, descriptions: Option<Arc<dyn Descriptions>>) -> Self {
        let ladder = Ladder::built_in(flow).or_else(|_| Ladder::parse(flow)).unwrap();
        let config = LoadConfig {
            ladder: Arc::new(ladder),
            callers: vec![endpoint(0, CALLER, ANSWERER)],
            answerers: vec![endpoint(1, ANSWERER, ANSWERER)],
            capture: None,
            descriptions,
        };
        let now = Time::from_millis(1_000);
        let seed = Seed { shard: 0, shards: 1, random: [7; 32], now };
        let generator = Generator::new(seed, Arc::new(config)).unwrap();
        let (flying, waits) = (BTreeMap::new(), Duration::ZERO);
        Self { generator, now, flying, count: 0, fate, hundreds: true, waits }
    }

    fn send(&mut self, out: &Effects) {
        for (flow, bytes) in out.sends() {
            let message = Message::parse(bytes).expect("what the generator sends is SIP");
            let delays = (self.fate)(self.count, &message);
            self.count += 1;
            let other =
                if flow.port == PortId(0) { (1, ANSWERER, CALLER) } else { (0, CALLER, ANSWERER) };
            let back = Flow {
                port: PortId(other.0),
                local: other.1.parse().unwrap(),
                remote: other.2.parse().unwrap(),
                ..flow
            };
            let invite = message.method() == Method::Invite && message.is_request();
            if invite && self.hundreds && !delays.is_empty() {
                self.count += 1;
                let at = self.now + Duration::from_micros(100);
                self.flying.insert((at, self.count), (flow, trying(&message)));
            }
            for delay in delays {
                self.count += 1;
                let at = self.now + DELAY + Duration::from_millis(delay);
                self.flying.insert((at, self.count), (back, bytes.to_vec()));
            }
        }
    }

    /// Runs a trial until nothing moves or `limit` has passed.
    fn run(&mut self, trial: Trial, limit: Duration) -> Report {
        self.generator.start(self.now, trial);
        self.go_on(limit)
    }

    /// Goes on until nothing moves or `limit` has passed.
    fn go_on(&mut self, limit: Duration) -> Report {
        let end = self.now + limit;
        let mut out = Effects::default();
        for _ in 0..10_000_000 {
            let arrival = self.flying.keys().next().map(|(at, _)| *at);
            let next = [arrival, self.generator.deadline()].into_iter().flatten().min();
            let Some(next) = next.filter(|at| *at <= end) else { break };
            self.now = self.now.max(next);
            out.clear();
            if arrival.is_some_and(|at| at <= self.now) {
                let (_, (flow, bytes)) = self.flying.pop_first().unwrap();
                let input = In::Message { flow, bytes: &bytes };
                self.generator.waited(self.now, self.waits);
                self.generator.step(self.now, input, &mut out);
            } else {
                self.generator.tick(self.now, &mut out);
            }
            self.send(&out);
            if !self.generator.report().running && self.flying.is_empty() {
                break;
            }
        }
        self.generator.report()
    }
}

fn trying(invite: &Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut answer = Writer::response(&mut bytes, 100, b"Trying");
    let kept = [Header::Via, Header::From, Header::To, Header::CallId, Header::CSeq];
    invite.lines().filter(|line| kept.contains(&line.header)).for_each(|line| answer.copy(&line));
    answer.end();
    bytes
}

fn clean() -> Fate {
    Box::new(|_, _| vec![0])
}

fn trial(calls: u32) -> Trial {
    Trial {
        rate: f64::from(calls),
        subscribers: 100,
        hold: Duration::from_millis(300),
        ..Trial::default()
    }
}

#[test]
fn every_built_in_flow_succeeds_between_the_two_ends() {
    for flow in ["SIP", "VoLTE", "callee-ends", "busy", "register", "options"] {
        let mut world = World::new(flow, clean());
        let report = world.run(trial(200), Duration::from_secs(60));
        assert_eq!((report.started, report.completed), (200, 200), "{flow}: {report:?}");
        assert_eq!(report.answered, 200, "{flow}: {report:?}");
        assert_eq!(report.failed(), 0, "{flow}: {report:?}");
        assert_eq!((report.retransmissions, report.missing), (0, 0), "{flow}: {report:?}");
        assert_eq!((report.late, report.duplicates), (0, 0), "{flow}: {report:?}");
    }
}

#[test]
fn a_run_of_one_kind_of_message_has_one_length() {
    let lengths: Arc<std::sync::Mutex<BTreeMap<String, Vec<usize>>>> = Arc::default();
    let seen = Arc::clone(&lengths);
    let fate: Fate = Box::new(move |_, message| {
        let kind = format!("{:?} {:?}", message.status(), message.cseq().method);
        let mut seen = seen.lock().unwrap();
        let known = seen.entry(kind).or_default();
        if !known.contains(&message.raw().len()) {
            known.push(message.raw().len());
        }
        vec![0]
    });
    World::new("SIP", fate).run(trial(300), Duration::from_secs(60));
    let lengths = lengths.lock().unwrap();
    assert_eq!(lengths.len(), 6, "{lengths:?}");
    assert!(lengths.values().all(|known| known.len() == 1), "{lengths:?}");
}

#[test]
fn a_lost_message_fails_no_call_and_its_repetition_is_counted() {
    for flow in ["SIP", "VoLTE", "callee-ends", "register"] {
        let fate: Fate = Box::new(|n, _| if n % 23 == 7 { vec![] } else { vec![0] });
        let mut world = World::new(flow, fate);
        let report = world.run(trial(200), Duration::from_secs(120));
        // A REGISTER that comes again after its 200 was lost is a new one to the answerer.
        assert_eq!(report.completed, 200, "{flow}: {report:?}");
        assert!(report.answered == 200 || flow == "register", "{flow}: {report:?}");
        assert_eq!(report.failed(), 0, "{flow}: {report:?}");
        assert!(report.retransmissions > 0, "{flow}: {report:?}");
    }
}

#[test]
fn a_doubled_message_is_no_violation() {
    for flow in ["SIP", "VoLTE", "callee-ends", "busy"] {
        let fate: Fate = Box::new(|n, _| if n % 5 == 1 { vec![0, 1] } else { vec![0] });
        let report = World::new(flow, fate).run(trial(100), Duration::from_secs(120));
        assert_eq!((report.completed, report.failed()), (100, 0), "{flow}: {report:?}");
        assert!(report.duplicates + report.late > 0, "{flow}: {report:?}");
    }
}

#[test]
fn a_ringing_that_overtakes_nothing_but_comes_after_the_answer_breaks_the_order() {
    let fate: Fate = Box::new(|_, m| if m.status() == Some(180) { vec![50] } else { vec![0] });
    let report = World::new("SIP", fate).run(trial(10), Duration::from_secs(60));
    assert_eq!(report.failures.get(&Cause::Order), Some(&10), "{report:?}");
}

#[test]
fn a_bye_before_its_ack_breaks_the_order() {
    let late_ack: Fate =
        Box::new(
            |_, m| if m.is_request() && m.method() == Method::Ack { vec![90] } else { vec![0] },
        );
    let flow = "name='x'\nsteps=[{caller='INVITE'},{answerer='200 INVITE'},{caller='ACK'},\
        {caller='INFO'},{answerer='200 INFO'},{hold=true},{caller='BYE'},{answerer='200 BYE'}]";
    let report = World::new(flow, late_ack).run(trial(10), Duration::from_secs(60));
    assert_eq!(report.failures.get(&Cause::Order), Some(&10), "{report:?}");
}

#[test]
fn silence_is_a_timeout_after_64_t1_and_seven_invites() {
    let fate: Fate = Box::new(|_, _| vec![]);
    let mut world = World::new("SIP", fate);
    world.hundreds = false;
    let report = world.run(trial(10), Duration::from_secs(60));
    assert_eq!(report.failures.get(&Cause::Timeout), Some(&10), "{report:?}");
    assert_eq!(report.retransmissions, 60, "{report:?}");
}

#[test]
fn set_up_time_counts_from_the_schedule() {
    let mut world = World::new("SIP", clean());
    let report = world.run(Trial { grain: Duration::ZERO, ..trial(100) }, Duration::from_secs(60));
    assert_eq!(report.setup.count, 100);
    assert!((2_000..2_100).contains(&report.setup.p50_us), "{report:?}");
    assert_eq!(report.responses["BYE"].count, 100);
}

#[test]
fn the_time_of_requests_within_dialogs_is_told_apart_from_what_the_generator_adds() {
    let mut world = World::new("SIP", clean());
    world.waits = Duration::from_micros(400);
    let report = world.run(Trial { grain: Duration::ZERO, ..trial(100) }, Duration::from_secs(60));
    let InDialog { whole, elsewhere, own, answering } = report.in_dialog;
    assert_eq!([whole, elsewhere, own, answering].map(|it| it.count), [100; 4]);
    assert!((2_000..2_100).contains(&whole.p50_us), "{report:?}");
    assert!((1_600..1_700).contains(&elsewhere.p50_us), "{report:?}");
    assert!((400..500).contains(&own.p50_us), "{report:?}");
    assert!((400..500).contains(&answering.p50_us), "{report:?}");
}

#[test]
fn a_generator_that_is_late_is_late_itself() {
    let mut world = World::new("SIP", clean());
    let hold = Duration::from_secs(1_000);
    world.run(Trial { hold, grain: Duration::ZERO, ..trial(100) }, Duration::from_secs(5));
    world.generator.release(world.now, 1_000.0);
    world.now += Duration::from_millis(90);
    let InDialog { whole, elsewhere, own, .. } = world.go_on(Duration::from_secs(5)).in_dialog;
    assert_eq!(whole.count, 100);
    assert!(own.max_us > 80_000 && whole.max_us > 80_000, "{own:?}");
    assert!((2_000..2_100).contains(&elsewhere.max_us), "{elsewhere:?}");
}

#[test]
fn every_call_that_was_placed_is_named_by_its_call_id_once() {
    let seen: Arc<std::sync::Mutex<std::collections::BTreeSet<String>>> = Arc::default();
    let wire = Arc::clone(&seen);
    let fate: Fate = Box::new(move |_, message| {
        let id = String::from_utf8_lossy(message.call_id()).into_owned();
        wire.lock().unwrap().insert(id);
        vec![0]
    });
    let mut world = World::new("SIP", fate);
    for _ in 0..2 {
        world.run(trial(150), Duration::from_secs(60));
    }
    let ask = runtime::Ask { path: "call-ids".into(), ..runtime::Ask::default() };
    let ids = world.generator.ask(world.now, &ask, &mut Effects::default()).unwrap();
    let mut ids: Vec<String> = serde_json::from_value(ids).unwrap();
    ids.sort();
    assert_eq!(ids.len(), 300);
    assert!(ids.iter().eq(seen.lock().unwrap().iter()), "what was on the wire, each once");
}

#[test]
fn calls_that_stand_are_released_when_told() {
    let mut world = World::new("SIP", clean());
    let hold = Duration::from_secs(1_000);
    let report = world.run(Trial { hold, ..trial(100) }, Duration::from_secs(5));
    assert_eq!((report.live, report.completed, report.failed()), (100, 0, 0), "{report:?}");
    world.generator.release(world.now, 50.0);
    let report = world.go_on(Duration::from_secs(5));
    assert_eq!((report.live, report.completed, report.failed()), (0, 100, 0), "{report:?}");
}

#[test]
fn a_pause_of_the_machine_fails_no_call() {
    for pause_ms in [100, 200, 400, 800] {
        let mut world = World::new("VoLTE", clean());
        world.run(trial(100), Duration::from_millis(900));
        world.now += Duration::from_millis(pause_ms);
        let report = world.go_on(Duration::from_secs(60));
        assert_eq!((report.completed, report.failed()), (100, 0), "{pause_ms} ms: {report:?}");
    }
}

/// What was heard by either end of the calls, in turn.
#[derive(Debug, Default)]
struct Book(Mutex<Vec<(Side, u32, String)>>);

impl Descriptions for Book {
    fn describe(&self, side: Side, call: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{side:?} of {call}").as_bytes());
    }

    fn heard(&self, side: Side, call: u32, description: &[u8]) {
        let text = String::from_utf8_lossy(description).into_owned();
        self.0.lock().unwrap().push((side, call, text));
    }
}

#[test]
fn each_end_of_a_call_hears_what_the_other_one_described() {
    let book = Arc::new(Book::default());
    let mut world = World::describing("SIP", clean(), Some(book.clone()));
    let report = world.run(trial(90), Duration::from_secs(60));
    assert_eq!((report.completed, report.failed()), (90, 0), "{report:?}");
    let heard = book.0.lock().unwrap();
    for call in 0..90 {
        for (side, other) in [(Side::Answerer, Side::Caller), (Side::Caller, Side::Answerer)] {
            let mut of = heard.iter().filter(|it| (it.0, it.1) == (side, call));
            let text = format!("{other:?} of {call}");
            assert_eq!(of.next().map(|it| &*it.2), Some(&*text));
            assert_eq!(of.next(), None, "a description twice");
        }
    }
}

/// The value of a header in the first message that begins so.
fn value(sent: &[String], begin: &str, name: &str) -> String {
    let text = sent.iter().find(|text| text.starts_with(begin)).expect("it was sent");
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
    line.expect("it has that header").to_owned()
}

/// A request of the element between the ends, inside of the call.
fn inside(method: &str, cseq: u32, parties: [&str; 2], call_id: &str, body: &str) -> String {
    let [from, to] = parties;
    format!(
        "{method} sip:there SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.9:5060;branch=z9hG4bKx{cseq}\r\n\
         Max-Forwards: 70\r\nFrom: {from}\r\nTo: {to}\r\nCall-ID: {call_id}\r\n\
         CSeq: {cseq} {method}\r\nContact: <sip:192.0.2.9>\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn ends_whose_media_are_described_answer_an_invite_inside_of_the_call() {
    let (book, sent) = (Arc::new(Book::default()), Arc::new(Mutex::new(Vec::new())));
    let kept = Arc::clone(&sent);
    let fate: Fate = Box::new(move |_, message| {
        kept.lock().unwrap().push(String::from_utf8_lossy(message.raw()).into_owned());
        vec![0]
    });
    let mut world = World::describing("SIP", fate, Some(book.clone()));
    let one = Trial { rate: 1.0, hold: Duration::from_secs(9), ..trial(1) };
    world.run(one, Duration::from_secs(3));
    let messages = std::mem::take(&mut *sent.lock().unwrap());
    let (caller, answerer) = (value(&messages, "INVITE", "From"), value(&messages, "ACK", "To"));
    let call_id = value(&messages, "INVITE", "Call-ID");
    let mut say = |port: u16, text: &str| -> Option<String> {
        let (local, remote) = if port == 0 { (CALLER, ANSWERER) } else { (ANSWERER, CALLER) };
        let flow = endpoint(port, local, remote);
        let flow = Flow::to(flow.port, flow.transport, flow.local, flow.remote);
        let mut out = Effects::default();
        let input = In::Message { flow, bytes: text.as_bytes() };
        world.generator.step(world.now, input, &mut out);
        out.sends().next().map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned())
    };
    let to_caller = [&*answerer, &*caller];
    let without = inside("INVITE", 7, to_caller, &call_id, "");
    let offer = say(0, &without).expect("it is answered");
    assert!(offer.starts_with("SIP/2.0 200 OK\r\n") && offer.contains("CSeq: 7 INVITE"), "{offer}");
    assert!(offer.ends_with("\r\n\r\nCaller of 0") && offer.contains("Contact: "), "{offer}");
    assert_eq!(say(0, &without), Some(offer), "it came again");
    assert_eq!(say(0, &inside("ACK", 7, to_caller, &call_id, "an answer")), None);
    assert_eq!(say(0, &inside("INVITE", 6, to_caller, &call_id, "late")), None);
    let to_answerer = [&*caller, &*answerer];
    let answer = say(1, &inside("INVITE", 5, to_answerer, &call_id, "an offer"));
    assert!(answer.is_some_and(|text| text.ends_with("\r\n\r\nAnswerer of 0")));
    assert_eq!(say(1, &inside("ACK", 5, to_answerer, &call_id, "")), None);
    let heard: Vec<_> = book.0.lock().unwrap().drain(..).skip(2).collect();
    let expected = [(Side::Caller, "an answer"), (Side::Answerer, "an offer")];
    assert_eq!(heard, expected.map(|(side, text)| (side, 0, text.to_owned())));
    let report = world.generator.report();
    assert_eq!((report.live, report.failed()), (1, 0), "the call stands: {report:?}");
}
