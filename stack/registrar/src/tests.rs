//! The registrar in virtual time: what reaches the core, what is answered here, what is found.

use crate::*;
use core::net::SocketAddr;
use machine::identity::TOKEN_BYTES;
use machine::slots::Key;
use machine::{Duration, Time};
use runtime::{ConnId, Flow, PortId, Transport};
use sip::Message;
use sip_stack::RealmId;

const START: Time = Time::from_millis(1_000_000);
const ACCESS: &[u8] = b"10.0.0.1:5060";
const CORE: &[u8] = b"10.9.0.1:5060;transport=tcp";

fn flow(port: u16) -> Flow {
    let local = SocketAddr::from(([10, 0, 0, 1], 5060));
    Flow::to(PortId(1), Transport::Udp, local, SocketAddr::from(([192, 0, 2, 1], port)))
}

fn connection(number: u32) -> Flow {
    Flow { transport: Transport::Tcp, conn: ConnId(number), ..flow(5000) }
}

/// A client's next REGISTER, as text.
#[derive(Clone)]
struct Client {
    user: &'static str,
    contact: String,
    call_id: &'static str,
    cseq: u32,
    expires: Option<u32>,
    extra: &'static str,
}

fn alice() -> Client {
    Client {
        user: "alice",
        contact: "<sip:alice@192.168.1.2:5060>".to_owned(),
        call_id: "c1",
        cseq: 1,
        expires: Some(3600),
        extra: "",
    }
}

impl Client {
    fn register(&self) -> Vec<u8> {
        let contact = if self.contact.is_empty() {
            String::new()
        } else {
            format!("Contact: {}\r\n", self.contact)
        };
        let expires = self.expires.map_or(String::new(), |s| format!("Expires: {s}\r\n"));
        format!(
            "REGISTER sip:example.com SIP/2.0\r\n\
             Via: SIP/2.0/UDP 192.168.1.2;branch=z9hG4bK{}\r\n\
             Max-Forwards: 70\r\n\
             From: <sip:{user}@example.com>;tag=1\r\n\
             To: <sip:{user}@example.com>\r\n\
             Call-ID: {}\r\nCSeq: {} REGISTER\r\n{contact}{expires}{}\
             User-Agent: A phone\r\nContent-Length: 0\r\n\r\n",
            self.cseq,
            self.call_id,
            self.cseq,
            self.extra,
            user = self.user,
        )
        .into_bytes()
    }
}

struct Bench {
    registrar: Registrar,
    now: Time,
}

fn bench() -> Bench {
    bench_of(100)
}

fn bench_of(bindings_max: u32) -> Bench {
    let config = Config::default();
    Bench { registrar: Registrar::new(config, bindings_max, 3, &[5; 16], START), now: START }
}

impl Bench {
    fn refresh(&mut self, client: &Client, from: &Flow) -> Option<Refreshed> {
        let bytes = client.register();
        self.registrar.refresh(self.now, from, &Message::parse(&bytes).unwrap())
    }

    fn judge(&mut self, client: &Client, from: &Flow) -> Verdict {
        let bytes = client.register();
        let message = Message::parse(&bytes).unwrap();
        self.registrar.on_register(self.now, from, RealmId(0), &message)
    }

    /// A word for the verdict.
    fn verdict(&mut self, client: &Client, from: &Flow) -> &'static str {
        match self.refresh(client, from) {
            Some(refreshed) if refreshed.is_repeated => return "again",
            Some(_) => return "answer",
            None => {}
        }
        match self.judge(client, from) {
            Verdict::Forward(pending) => {
                self.registrar.abandon(pending);
                "forward"
            }
            Verdict::Reject(reject) => match reject.status {
                403 => "403",
                423 => "423",
                500 => "500",
                503 => "503",
                _ => "other",
            },
        }
    }

    fn forward(&mut self, client: &Client, from: &Flow) -> Key {
        match self.judge(client, from) {
            Verdict::Forward(pending) => pending,
            other => panic!("not forwarded: {other:?}"),
        }
    }

    /// What is written for the core.
    fn to_core(&self, pending: Key) -> String {
        let mut out = Vec::new();
        self.registrar.write_core(&mut out, pending, CORE);
        String::from_utf8(out).unwrap()
    }

    /// The core answers `status`, echoing our contacts, with `extra` lines.
    fn core(&mut self, pending: Key, status: u16, extra: &str) -> CoreVerdict {
        let sent = self.to_core(pending);
        let contacts: String = sent
            .split_inclusive("\r\n")
            .filter(|line| line.starts_with("Contact: <") && !line.contains("expires=0\r\n"))
            .collect();
        let contacts = if status == 200 { contacts } else { String::new() };
        let response = format!(
            "SIP/2.0 {status} Whatever\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\n\
             From: <sip:alice@example.com>;tag=1\r\nTo: <sip:alice@example.com>;tag=2\r\n\
             Call-ID: x\r\nCSeq: 1 REGISTER\r\n{contacts}{extra}Content-Length: 0\r\n\r\n"
        );
        let response = Message::parse(response.as_bytes()).unwrap();
        self.registrar.on_core_answer(self.now, pending, &response)
    }

    fn register(&mut self, client: &Client, from: &Flow) -> Change {
        let pending = self.forward(client, from);
        match self.core(pending, 200, "") {
            CoreVerdict::Answered(_, change, _) => change,
            CoreVerdict::Pass => panic!("a 200 is answered"),
        }
    }

    fn answer(&self, user: &str) -> String {
        let aor = Aor::parse(format!("sip:{user}@example.com").as_bytes()).unwrap();
        let mut out = Vec::new();
        self.registrar.write_answer(&mut out, self.now, &aor, ACCESS);
        String::from_utf8(out).unwrap()
    }

    /// Lets time pass, ticking at each deadline; what ended.
    fn pass(&mut self, time_s: u64) -> Vec<Gone> {
        let until = self.now + Duration::from_secs(time_s);
        let mut gone = Vec::new();
        while let Some(at) = self.registrar.deadline().filter(|&at| at <= until) {
            self.now = self.now.max(at);
            self.registrar.tick(self.now, &mut gone);
        }
        self.now = until;
        gone
    }

    fn token(&self, pending: Key) -> String {
        let sent = self.to_core(pending);
        let at = sent.find("<sip:").unwrap() + 5;
        sent[at..at + TOKEN_BYTES].to_owned()
    }

    fn is_spotless(&self) -> bool {
        let registrar = &self.registrar;
        registrar.is_empty()
            && registrar.waiting() == 0
            && registrar.identities.len() == 0
            && registrar.sources.len() == 0
    }
}

#[test]
fn the_core_gets_our_contact_and_path_and_the_client_its_own_contact() {
    let mut bench = bench();
    let pending = bench.forward(&alice(), &flow(40_000));
    let token = bench.token(pending);
    let expected = format!(
        "Contact: <sip:{token}@10.9.0.1:5060;transport=tcp>;expires=1800\r\nExpires: 1800\r\n\
         Path: <sip:{token}@10.9.0.1:5060;transport=tcp;lr>\r\nSupported: path\r\n"
    );
    assert_eq!(bench.to_core(pending), expected);
    assert!(bench.registrar.by_token(token.as_bytes()).is_none(), "not before the core agrees");
    let CoreVerdict::Answered(aor, change, Some(_)) = bench.core(pending, 200, "") else {
        panic!("a 200 is answered")
    };
    assert_eq!((&*aor, change), (&b"alice@example.com"[..], Change::Registered));
    let expected = "Contact: <sip:alice@192.168.1.2:5060>;expires=30\r\n";
    assert_eq!(bench.answer("alice"), expected);
    let (key, binding) = bench.registrar.by_token(token.as_bytes()).unwrap();
    assert_eq!(binding.contact_uri(), b"sip:alice@192.168.1.2:5060");
    assert_eq!(binding.flow, flow(40_000));
    assert_eq!(binding.user_agent(), b"A phone");
    assert_eq!(bench.registrar.by_source(&flow(40_000)).next().unwrap().0, key);
    assert!(bench.registrar.by_source(&flow(40_001)).next().is_none());
}

#[test]
fn refreshes_are_answered_here_until_the_core_needs_one() {
    let mut bench = bench();
    let mut client = alice();
    bench.register(&client, &flow(1));
    let mut forwarded = Vec::new();
    for round in 1..=120u64 {
        assert!(bench.pass(25).is_empty(), "a refreshed binding lives");
        client.cseq += 1;
        if bench.refresh(&client, &flow(1)).is_some() {
            assert!(bench.answer("alice").contains(";expires=30\r\n"));
            continue;
        }
        match bench.judge(&client, &flow(1)) {
            Verdict::Forward(pending) => {
                forwarded.push(round * 25);
                bench.core(pending, 200, "");
            }
            Verdict::Reject(reject) => panic!("{reject:?}"),
        }
    }
    assert_eq!(forwarded, [1200, 2400], "once per core interval less ten minutes");
    assert_eq!(bench.registrar.len(), 1);
}

#[test]
fn a_binding_that_is_not_refreshed_ends_and_leaves_nothing() {
    let mut bench = bench();
    let pending = bench.forward(&alice(), &flow(1));
    let token = bench.token(pending);
    let alias = "P-Associated-URI: <sip:alice@example.com>, <tel:+4930123>\r\n";
    bench.core(pending, 200, alias);
    assert!(bench.pass(29).is_empty());
    let gone = bench.pass(1);
    assert_eq!(gone.len(), 1);
    assert_eq!(&*gone[0].aor, b"alice@example.com");
    assert!(bench.registrar.by_token(token.as_bytes()).is_none());
    assert!(bench.is_spotless());
}

#[test]
fn whatever_is_not_the_same_client_at_the_same_place_goes_to_the_core() {
    let mut bench = bench();
    let client = alice();
    bench.register(&client, &flow(1));
    let next = Client { cseq: 2, ..client.clone() };
    assert_eq!(bench.verdict(&next, &flow(2)), "forward", "another source");
    let other_call = Client { call_id: "c2", ..next.clone() };
    assert_eq!(bench.verdict(&other_call, &flow(1)), "forward", "another Call-ID");
    let moved = Client { contact: "<sip:alice@192.168.1.9>".to_owned(), ..next.clone() };
    assert_eq!(bench.verdict(&moved, &flow(1)), "forward", "another contact");
    let featured = Client { contact: format!("{};audio", next.contact), ..next.clone() };
    assert_eq!(bench.verdict(&featured, &flow(1)), "forward", "other features");
    let asking = Client { contact: String::new(), ..next.clone() };
    assert_eq!(bench.verdict(&asking, &flow(1)), "forward", "a question");
    let leaving = Client { expires: Some(0), ..next.clone() };
    assert_eq!(bench.verdict(&leaving, &flow(1)), "forward", "the end");
    assert_eq!(bench.verdict(&next, &flow(1)), "answer");
    assert_eq!(bench.verdict(&next, &flow(1)), "again", "a copy");
    assert_eq!(bench.verdict(&client, &flow(1)), "500", "an old number");
    assert_eq!(bench.registrar.len(), 1);
}

#[test]
fn a_refused_registration_changes_nothing() {
    let mut bench = bench();
    let pending = bench.forward(&alice(), &flow(1));
    assert!(matches!(bench.core(pending, 401, ""), CoreVerdict::Pass));
    assert!(bench.is_spotless());
    bench.register(&Client { cseq: 2, ..alice() }, &flow(1));
    let pending = bench.forward(&Client { cseq: 3, ..alice() }, &flow(2));
    assert!(matches!(bench.core(pending, 403, ""), CoreVerdict::Pass));
    let (_, binding) = bench.registrar.iter().next().unwrap();
    assert_eq!((binding.flow, binding.cseq), (flow(1), 2));
}

#[test]
fn an_unanswered_registration_is_forgotten_by_itself() {
    let mut bench = bench();
    bench.forward(&alice(), &flow(1));
    assert_eq!((bench.registrar.len(), bench.registrar.waiting()), (1, 1));
    bench.pass(64);
    assert!(bench.is_spotless());
}

#[test]
fn a_client_behind_a_nat_that_moved_is_latched_anew_after_the_core_agreed() {
    let mut bench = bench();
    bench.register(&alice(), &flow(1));
    let change = bench.register(&Client { cseq: 2, ..alice() }, &flow(2));
    assert_eq!(change, Change::Refreshed);
    assert!(bench.registrar.by_source(&flow(1)).next().is_none());
    assert_eq!(bench.registrar.by_source(&flow(2)).count(), 1);
    assert_eq!(bench.verdict(&Client { cseq: 3, ..alice() }, &flow(2)), "answer");
}

#[test]
fn a_deregistration_ends_one_contact_and_a_star_all() {
    let mut bench = bench();
    let desk = alice();
    let mobile = Client { contact: "<sip:alice@192.168.1.3>".to_owned(), call_id: "c2", ..alice() };
    bench.register(&desk, &flow(1));
    bench.register(&mobile, &flow(2));
    assert_eq!(bench.answer("alice").matches("Contact: ").count(), 2);
    let leave = Client { cseq: 2, expires: Some(0), ..desk.clone() };
    let pending = bench.forward(&leave, &flow(1));
    assert!(bench.to_core(pending).contains(";expires=0\r\nExpires: 0\r\n"));
    let verdict = bench.core(pending, 200, "");
    assert!(matches!(verdict, CoreVerdict::Answered(_, Change::Removed, None)));
    assert_eq!(bench.answer("alice").matches("Contact: ").count(), 1);
    bench.register(&Client { cseq: 3, ..desk.clone() }, &flow(1));
    let star = Client { contact: "*".to_owned(), cseq: 4, expires: Some(0), ..desk.clone() };
    let pending = bench.forward(&star, &flow(1));
    assert_eq!(bench.to_core(pending), "Contact: *\r\nExpires: 0\r\n");
    bench.core(pending, 200, "");
    assert!(bench.is_spotless());
    let wrong = Client { expires: Some(60), ..star };
    assert_eq!(bench.verdict(&wrong, &flow(1)), "other");
}

#[test]
fn an_instance_keeps_its_binding_when_its_address_changes() {
    let mut bench = bench();
    let device = |host: &str, cseq| Client {
        contact: format!("<sip:alice@{host};ob>;+sip.instance=\"<urn:uuid:1>\";reg-id=1"),
        cseq,
        ..alice()
    };
    let pending = bench.forward(&device("192.168.1.2", 1), &flow(1));
    let token = bench.token(pending);
    let sent = bench.to_core(pending);
    assert!(sent.contains(">;+sip.instance=\"<urn:uuid:1>\";reg-id=1;expires=1800\r\n"));
    assert!(sent.contains(";lr;ob>\r\n"));
    bench.core(pending, 200, "");
    assert!(bench.answer("alice").ends_with("Require: outbound\r\n"));
    let pending = bench.forward(&device("10.1.1.1", 2), &flow(2));
    assert_eq!(bench.token(pending), token, "the core's binding stays the same");
    bench.core(pending, 200, "");
    let (_, binding) = bench.registrar.by_token(token.as_bytes()).unwrap();
    assert_eq!(binding.contact_uri(), b"sip:alice@10.1.1.1;ob");
    assert_eq!(bench.registrar.len(), 1);
}

#[test]
fn aliases_and_service_route_of_the_core_are_kept_and_told() {
    let mut bench = bench();
    let pending = bench.forward(&alice(), &flow(1));
    let extra = "Service-Route: <sip:orig@scscf.example.com;lr>\r\n\
        P-Associated-URI: <sip:alice@example.com>\r\n\
        P-Associated-URI: \"Alice\" <tel:+49-30-123>\r\n";
    bench.core(pending, 200, extra);
    let answer = bench.answer("alice");
    assert!(answer.contains("Service-Route: <sip:10.0.0.1:5060;lr>\r\n"));
    assert!(
        answer
            .contains("P-Associated-URI: <sip:alice@example.com>, \"Alice\" <tel:+49-30-123>\r\n")
    );
    for uri in ["tel:+4930123", "sip:alice@EXAMPLE.com;user=phone"] {
        let identity = Aor::parse(uri.as_bytes()).unwrap();
        let (_, binding) = bench.registrar.reached_by(&identity).next().unwrap();
        assert_eq!(binding.service_route(), b"<sip:orig@scscf.example.com;lr>");
    }
    let stranger = Aor::parse(b"tel:+4930124").unwrap();
    assert!(bench.registrar.reached_by(&stranger).next().is_none());
}

#[test]
fn too_brief_an_interval_is_refused_with_the_least_one() {
    let mut bench = bench();
    let Verdict::Reject(reject) = bench.judge(&Client { expires: Some(5), ..alice() }, &flow(1))
    else {
        panic!("5 s is too brief")
    };
    assert_eq!((reject.status, reject.min_expires_s), (423, Some(10)));
    bench.register(&Client { expires: Some(12), ..alice() }, &flow(1));
    assert!(bench.answer("alice").contains(";expires=12\r\n"));
}

#[test]
fn a_core_that_wants_longer_intervals_is_asked_for_them() {
    let mut bench = bench();
    let pending = bench.forward(&alice(), &flow(1));
    assert!(matches!(bench.core(pending, 423, "Min-Expires: 7200\r\n"), CoreVerdict::Pass));
    let pending = bench.forward(&Client { cseq: 2, ..alice() }, &flow(1));
    assert!(bench.to_core(pending).contains("Expires: 7200\r\n"));
}

#[test]
fn a_core_that_gives_less_than_the_client_interval_gives_the_client_less() {
    let mut bench = bench();
    let pending = bench.forward(&alice(), &flow(1));
    let token = bench.token(pending);
    let response = format!(
        "SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\nFrom: <sip:a@x>;tag=1\r\n\
         To: <sip:a@x>;tag=2\r\nCall-ID: x\r\nCSeq: 1 REGISTER\r\n\
         Contact: <sip:other@x>;expires=99, <sip:{token}@y>;expires=20\r\n\r\n"
    );
    let response = Message::parse(response.as_bytes()).unwrap();
    bench.registrar.on_core_answer(START, pending, &response);
    assert!(bench.answer("alice").ends_with(";expires=20\r\n"));
}

#[test]
fn clients_of_a_realm_with_an_expiry_of_its_own_get_that() {
    let mut bench = bench();
    let of_realms = vec![Some(600), None];
    bench.registrar.configure(Config { of_realms, ..Config::default() }, 100);
    let mut client = alice();
    for expected in ["600", "30"] {
        bench.register(&client, &flow(1));
        let answer = bench.answer("alice");
        assert!(answer.ends_with(&format!(";expires={expected}\r\n")), "{answer}");
        client.cseq += 1;
        bench.refresh(&client, &flow(1)).expect("the core need not know");
        let answer = bench.answer("alice");
        assert!(answer.ends_with(&format!(";expires={expected}\r\n")), "{answer}");
        client.cseq += 1;
        // The realm's own is taken back; the core is asked again.
        bench.registrar.configure(Config::default(), 100);
        bench.pass(1_500);
    }
    let of_realms = vec![None, Some(9_000)];
    let config = Config { of_realms, ..Config::default() };
    assert_eq!((config.client_expires_s(RealmId(0)), config.client_expires_max_s()), (30, 9_000));
}

#[test]
fn a_connection_that_ends_takes_its_bindings_along() {
    let mut bench = bench();
    bench.register(&alice(), &connection(4));
    bench.registrar.connection_ended(&connection(5));
    assert!(bench.pass(1).is_empty());
    bench.registrar.connection_ended(&connection(4));
    assert_eq!(bench.pass(1).len(), 1);
    assert!(bench.is_spotless());
}

#[test]
fn limits_hold_for_contacts_of_a_name_and_for_all_bindings() {
    let mut bench = bench_of(10);
    let phone =
        |user, n: u32| Client { user, contact: format!("<sip:{user}@192.168.1.{n}>"), ..alice() };
    for n in 0..8 {
        bench.register(&phone("alice", n), &flow(1));
    }
    assert_eq!(bench.verdict(&phone("alice", 9), &flow(1)), "403");
    bench.register(&phone("bob", 1), &flow(1));
    bench.register(&phone("carol", 1), &flow(1));
    assert_eq!(bench.verdict(&phone("dave", 1), &flow(1)), "503");
    assert_eq!((bench.registrar.len(), bench.registrar.waiting()), (10, 0));
}

#[test]
fn two_registers_that_cross_make_one_binding() {
    let mut bench = bench();
    let one = bench.forward(&alice(), &flow(1));
    let two = bench.forward(&Client { cseq: 2, ..alice() }, &flow(1));
    let (first, second) = (bench.token(one), bench.token(two));
    bench.core(one, 200, "");
    bench.core(two, 200, "");
    assert_eq!(bench.registrar.len(), 1);
    assert!(bench.registrar.by_token(first.as_bytes()).is_none());
    assert!(bench.registrar.by_token(second.as_bytes()).is_some());
}

#[test]
fn a_forged_token_finds_nothing() {
    let mut bench = bench();
    let pending = bench.forward(&alice(), &flow(1));
    let token = bench.token(pending);
    bench.core(pending, 200, "");
    for at in 0..TOKEN_BYTES {
        let mut forged = token.clone().into_bytes();
        forged[at] = if forged[at] == b'0' { b'1' } else { b'0' };
        assert!(bench.registrar.by_token(&forged).is_none());
    }
    assert!(bench.registrar.by_token(b"alice").is_none());
}

#[test]
fn a_binding_costs_at_most_600_octets() {
    let mut bench = bench();
    let pending = bench.forward(&alice(), &flow(1));
    let extra = "Service-Route: <sip:orig@scscf1.ims.mnc001.mcc262.3gppnetwork.org:5060;lr>\r\n\
        P-Associated-URI: <sip:alice@example.com>, <tel:+4930123456>\r\n";
    bench.core(pending, 200, extra);
    let (_, binding) = bench.registrar.iter().next().unwrap();
    const SLOT: usize = 32;
    const INDEX_ENTRY: usize = 16;
    let octets = size_of::<Binding>() + SLOT + binding.heap_bytes() + 4 * INDEX_ENTRY;
    assert!(octets <= 600, "{octets} octets");
}

#[test]
fn bindings_of_one_source_leave_it_in_any_order() {
    let mut bench = bench();
    let users = ["alice", "bob", "carol", "dave"];
    let client = |user, expires| Client {
        user,
        contact: format!("<sip:{user}@192.168.1.2>"),
        cseq: if expires == 0 { 2 } else { 1 },
        expires: Some(expires),
        ..alice()
    };
    for user in users {
        bench.register(&client(user, 600), &connection(4));
    }
    let of_source = |bench: &Bench| {
        let source = connection(4);
        let found = bench.registrar.by_source(&source);
        let mut names: Vec<u8> = found.map(|(_, binding)| binding.aor()[0]).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(of_source(&bench), b"abcd");
    for (user, left) in [("bob", &b"acd"[..]), ("dave", b"ac"), ("alice", b"c"), ("carol", b"")] {
        bench.register(&client(user, 0), &connection(4));
        assert_eq!(of_source(&bench), left);
    }
    assert!(bench.is_spotless());
}

#[test]
fn when_very_many_bindings_end_at_once_each_tick_takes_its_share() {
    const MANY: usize = 3 * ENDED_PER_TICK_MAX + 10;
    let mut bench = bench_of(10_000);
    let phone = |n: usize, cseq| Client {
        contact: format!("<sip:alice@192.168.{}.{}>", n / 250, n % 250),
        user: Box::leak(format!("u{n}").into_boxed_str()),
        cseq,
        ..alice()
    };
    for n in 0..MANY {
        bench.register(&phone(n, 1), &flow(1));
    }
    bench.now += Duration::from_secs(31);
    let mut gone = Vec::new();
    bench.registrar.tick(bench.now, &mut gone);
    assert_eq!(gone.len(), ENDED_PER_TICK_MAX);
    assert_eq!(bench.registrar.deadline(), Some(Time::ZERO), "the rest is due at once");
    // The last one is still there and may be refreshed while it waits.
    assert!(bench.refresh(&phone(MANY - 1, 2), &flow(1)).is_some());
    for _ in 0..3 {
        bench.registrar.tick(bench.now, &mut gone);
    }
    assert_eq!((gone.len(), bench.registrar.len()), (MANY - 1, 1));
    assert_ne!(bench.registrar.deadline(), Some(Time::ZERO));
}

#[test]
fn a_sender_is_one_of_the_identities_that_the_core_has_registered_or_the_first_of_them() {
    const LISTED: &str = "P-Associated-URI: \"Alice\" <sip:alice@example.com>;x=1\r\n\
        P-Associated-URI: <tel:+49-30-1>\r\nP-Associated-URI: <sip:a.b@example.com;user=phone>\r\n";
    const DEFAULT: &str = "\"Alice\" <sip:alice@example.com>";
    const BARRED: &str = "P-Associated-URI: <tel:+49301>, <sip:other@example.com>\r\n";
    for (more, preferred, identity, is_asked) in [
        (LISTED, "", DEFAULT, false),
        (LISTED, "<tel:+49301>", "<tel:+49-30-1>", true),
        (LISTED, "\"Boss\" <sip:a.b@EXAMPLE.com>", "<sip:a.b@example.com;user=phone>", true),
        (LISTED, "sip:alice@example.com;user=phone", DEFAULT, true),
        (LISTED, "<sip:boss@example.com>", DEFAULT, false),
        (LISTED, "<sip:boss@example.com>|<tel:+49301>", "<tel:+49-30-1>", true),
        (LISTED, "no address|<sip:A.B@example.com>", DEFAULT, false),
        (LISTED, "tel:1|tel:2|<tel:+49301>", DEFAULT, false), // one or two (RFC 3325 §9.2)
        (BARRED, "<sip:alice@example.com>", "<tel:+49301>", false),
        ("P-Associated-URI:\r\n", "<sip:alice@example.com>", "<sip:alice@example.com>", true),
        ("", "<sip:bob@example.com>", "<sip:alice@example.com>", false),
    ] {
        let mut bench = bench();
        let pending = bench.forward(&alice(), &flow(1));
        bench.core(pending, 200, more);
        let values = || preferred.split('|').map(str::as_bytes);
        let key = bench.registrar.preferring(&[flow(9), flow(1)], values(), false).unwrap();
        let mut text = Vec::new();
        let asked = bench.registrar.binding(key).unwrap().write_identity(values(), &mut text);
        assert_eq!((&*String::from_utf8(text).unwrap(), asked), (identity, is_asked), "{more}");
        assert_eq!(bench.registrar.preferring(&[flow(9)], values(), false), None);
    }
}

#[test]
fn a_number_that_is_registered_alone_is_asserted_as_a_number() {
    let mut binding = Binding::default();
    assert!(binding.set_texts([b"+49301", b"<sip:a@10.0.0.1>", b"", b"", b""]));
    let mut text = Vec::new();
    assert!(binding.write_identity([&b"<tel:+49-301>"[..]].into_iter(), &mut text));
    assert_eq!(text, b"<tel:+49301>");
}

#[test]
fn of_several_registrations_of_a_client_that_one_counts_which_has_the_preferred_identity() {
    let mut bench = bench();
    for (user, call_id) in [("alice", "c1"), ("bob", "c2")] {
        let pending = bench.forward(&Client { user, call_id, ..alice() }, &flow(1));
        bench.core(pending, 200, "");
        bench.pass(1);
    }
    for (preferred, aor) in [
        ("<sip:bob@example.com>", "bob@example.com"),
        ("<sip:alice@example.com>", "alice@example.com"),
        ("<sip:carol@example.com>", "alice@example.com"), // who has registered first
        ("tel:1|tel:2|<sip:bob@example.com>", "alice@example.com"),
        ("", "alice@example.com"),
    ] {
        let values = preferred.split('|').map(str::as_bytes);
        let key = bench.registrar.preferring(&[flow(1)], values, false).unwrap();
        assert_eq!(bench.registrar.binding(key).unwrap().aor(), aor.as_bytes());
    }
}

#[test]
fn the_core_knows_an_emergency_registration_by_its_contact_and_it_stands_beside_the_other() {
    let mut bench = bench();
    assert_eq!(bench.register(&alice(), &flow(1)), Change::Registered);
    let contact = "<sip:alice@192.168.1.2:5060;sos>;+g.3gpp.icsi".to_owned();
    let emergency = Client { contact, call_id: "c2", ..alice() };
    let pending = bench.forward(&emergency, &flow(1));
    let sent = bench.to_core(pending);
    assert!(
        sent.contains(&format!("@{};sos>;+g.3gpp.icsi", str::from_utf8(CORE).unwrap())),
        "{sent}"
    );
    bench.core(pending, 200, "");
    assert_eq!(bench.registrar.len(), 2, "of one address of record");
    let taken = |bench: &Bench, is_emergency| {
        let preferred = core::iter::once(&b"<sip:alice@example.com>"[..]);
        let key = bench.registrar.preferring(&[flow(1)], preferred, is_emergency).unwrap();
        bench.registrar.binding(key).unwrap().is_emergency()
    };
    assert!(!taken(&bench, false) && taken(&bench, true), "the newest, of those that may");
    let plain = bench.forward(&Client { cseq: 2, ..alice() }, &flow(1));
    assert!(!bench.to_core(plain).contains("sos"));
}

#[test]
fn a_binding_does_not_end_while_the_core_is_asked_for_it() {
    for (status, stands) in [(Some(200), true), (Some(403), false), (None, false)] {
        let mut bench = bench();
        bench.register(&alice(), &flow(1));
        bench.pass(29);
        let pending = bench.forward(&Client { cseq: 2, ..alice() }, &flow(1));
        let token = bench.token(pending);
        assert!(bench.pass(3).is_empty(), "its time is over, and the core has not said");
        if let Some(status) = status {
            bench.core(pending, status, "");
        }
        let told = bench.answer("alice").contains("Contact: ");
        assert!(bench.registrar.by_token(token.as_bytes()).is_some(), "{status:?}");
        assert!(told, "{status:?}");
        let gone = bench.pass(if status.is_some() { 1 } else { 64 });
        assert_eq!(
            (gone.len(), bench.registrar.len()),
            (usize::from(!stands), usize::from(stands))
        );
    }
}
