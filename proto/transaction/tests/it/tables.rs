//! The transaction table in virtual time: what is sent when, what the user hears, what is left.

use core::time::Duration;
use machine::Time;
use sip::Message;
use transaction::{Arrival, ClientId, Kept, Limits, Out, ServerId, Timers, Transactions, shard_of};

type Flow = u8;
type User = u32;

const START: Time = Time::from_millis(1_000_000);
const PEER: Flow = 7;

struct Bench {
    table: Transactions<Flow, User>,
    now: Time,
    out: Vec<Out<Flow, User>>,
}

fn bench() -> Bench {
    let limits = Limits { clients_max: 64, servers_max: 64 };
    Bench {
        table: Transactions::new(Timers::default(), limits, [9; 32], 5, START),
        now: START,
        out: Vec::new(),
    }
}

impl Bench {
    /// Starts a request of `method`; its id and bytes.
    fn start(&mut self, method: &str, reliable: bool) -> (ClientId, Vec<u8>) {
        let (id, branch) = self.table.reserve().unwrap();
        let branch = String::from_utf8(branch.to_vec()).unwrap();
        let bytes = request(method, &branch);
        self.table.start_client(self.now, id, PEER, reliable, &bytes, 42);
        (id, bytes)
    }

    fn receive(&mut self, bytes: &[u8], reliable: bool) -> Arrival<User> {
        let message = Message::parse(bytes).unwrap();
        self.table.receive(self.now, PEER, reliable, &message, &mut self.out)
    }

    fn server(&mut self, bytes: &[u8], reliable: bool) -> ServerId {
        match self.receive(bytes, reliable) {
            Arrival::Request(id) | Arrival::Cancel { id, .. } => {
                self.table.set_user(id, 77);
                id
            }
            other => panic!("not a new request: {other:?}"),
        }
    }

    /// Lets virtual time pass until nothing is armed or `limit` is over; when each effect came,
    /// in milliseconds from now, and what it was.
    fn run(&mut self, limit: Duration) -> Vec<(u128, String)> {
        let (begin, until) = (self.now, self.now + limit);
        let mut log = Vec::new();
        while let Some(at) = self.table.deadline().filter(|&at| at <= until) {
            self.now = self.now.max(at);
            self.table.tick(self.now, &mut self.out);
            let after = (self.now - begin).as_millis();
            log.extend(self.out.drain(..).map(|effect| (after, name(&effect))));
        }
        self.now = until;
        log
    }
}

fn name(effect: &Out<Flow, User>) -> String {
    match effect {
        Out::Send { bytes, .. } => {
            let line = bytes.split(|&b| b == b'\r').next().unwrap_or_default();
            let line = String::from_utf8_lossy(line).into_owned();
            match line.strip_prefix("SIP/2.0 ") {
                Some(status) => status[..3].to_owned(),
                None => line.split(' ').next().unwrap_or_default().to_owned(),
            }
        }
        Out::Timeout { .. } => "timeout".to_owned(),
        Out::TransportError { .. } => "error".to_owned(),
        Out::AckMissing { .. } => "no ack".to_owned(),
    }
}

fn sent(out: &[Out<Flow, User>]) -> Vec<String> {
    out.iter().map(name).collect()
}

fn request(method: &str, branch: &str) -> Vec<u8> {
    format!(
        "{method} sip:bob@example.com SIP/2.0\r\n\
         Via: SIP/2.0/UDP host.example.org:5070;branch={branch}\r\n\
         Route: <sip:edge.example.com;lr>\r\n\
         Max-Forwards: 70\r\n\
         From: <sip:alice@example.org>;tag=a1\r\n\
         To: <sip:bob@example.com>\r\n\
         Call-ID: c1@example.org\r\n\
         CSeq: 314 {method}\r\n\
         Contact: <sip:alice@host.example.org>\r\n\
         Content-Type: application/sdp\r\n\
         Content-Length: 4\r\n\r\nv=0\n"
    )
    .into_bytes()
}

/// The response to `request` with `status`, To tag `b1`.
fn response(request: &[u8], status: u16) -> Vec<u8> {
    let text = String::from_utf8(request.to_vec()).unwrap();
    let mut response = format!("SIP/2.0 {status} Whatever\r\n");
    for line in text.split("\r\n").skip(1) {
        let name = line.split(':').next().unwrap();
        if ["Via", "From", "Call-ID", "CSeq"].contains(&name) {
            response += &format!("{line}\r\n");
        }
        if name == "To" {
            response += &format!("{line};tag=b1\r\n");
        }
    }
    (response + "Content-Length: 0\r\n\r\n").into_bytes()
}

fn changed(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(text.contains(from), "nothing to change: {from}");
    text.replace(from, to).into_bytes()
}

const FOREVER: Duration = Duration::from_secs(1_000);

fn times(log: &[(u128, String)], what: &str) -> Vec<u128> {
    log.iter().filter(|(_, name)| name == what).map(|&(at, _)| at).collect()
}

#[test]
fn an_unanswered_invite_is_sent_seven_times_and_times_out_after_32_seconds() {
    let mut bench = bench();
    bench.start("INVITE", false);
    let log = bench.run(FOREVER);
    assert_eq!(times(&log, "INVITE"), [500, 1500, 3500, 7500, 15_500, 31_500]);
    assert_eq!(times(&log, "timeout"), [32_000]);
    assert!(bench.table.is_empty() && bench.table.deadline().is_none());
}

#[test]
fn an_unanswered_bye_is_sent_at_most_every_four_seconds_and_times_out() {
    let mut bench = bench();
    bench.start("BYE", false);
    let log = bench.run(FOREVER);
    let expected = [500, 1500, 3500, 7500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500];
    assert_eq!(times(&log, "BYE"), expected);
    assert_eq!(times(&log, "timeout"), [32_000]);
    assert!(bench.table.is_empty());
}

#[test]
fn nothing_is_sent_again_over_a_reliable_transport() {
    let mut bench = bench();
    bench.start("INVITE", true);
    bench.start("BYE", true);
    let log = bench.run(FOREVER);
    let timeout = |_| (32_000, "timeout".to_owned());
    assert_eq!(log, [0, 1].map(timeout));
    assert!(bench.table.is_empty());
}

#[test]
fn a_provisional_response_stops_an_invite_and_slows_other_requests_to_t2() {
    let mut bench = bench();
    let (_, invite) = bench.start("INVITE", false);
    let (_, info) = bench.start("INFO", false);
    assert!(matches!(bench.receive(&response(&invite, 180), false), Arrival::Response { .. }));
    assert!(matches!(bench.receive(&response(&info, 100), false), Arrival::Response { .. }));
    let log = bench.run(Duration::from_secs(20));
    assert!(times(&log, "INVITE").is_empty());
    assert_eq!(times(&log, "INFO"), [500, 4500, 8500, 12_500, 16_500]);
}

#[test]
fn a_failed_invite_is_acknowledged_each_time_the_response_comes_and_forgotten_after_timer_d() {
    let mut bench = bench();
    let (id, invite) = bench.start("INVITE", false);
    let busy = response(&invite, 486);
    assert_eq!(bench.receive(&busy, false), Arrival::Response { id, user: 42 });
    assert_eq!(bench.receive(&busy, false), Arrival::Absorbed);
    assert_eq!(sent(&bench.out), ["ACK", "ACK"]);
    let Out::Send { to, bytes } = bench.out.remove(0) else { panic!("an ACK is sent") };
    let ack = Message::parse(&bytes).unwrap();
    let original = Message::parse(&invite).unwrap();
    assert_eq!(to, PEER);
    assert_eq!(ack.via().branch, original.via().branch);
    assert_eq!(ack.cseq().number, 314);
    assert_eq!(ack.to_tag(), Some(&b"b1"[..]));
    assert_eq!(ack.header(sip::Header::Route), Some(&b"<sip:edge.example.com;lr>"[..]));
    assert_eq!(ack.header(sip::Header::Contact), None);
    assert!(ack.body().is_empty());
    bench.out.clear();
    bench.run(Duration::from_millis(31_999));
    assert_eq!(bench.table.len(), 1);
    bench.run(Duration::from_millis(1));
    assert_eq!(bench.table.len(), 0);
    assert_eq!(bench.receive(&busy, false), Arrival::StrayResponse);
}

#[test]
fn a_failed_invite_over_a_reliable_transport_is_over_with_its_ack() {
    let mut bench = bench();
    let (_, invite) = bench.start("INVITE", true);
    bench.receive(&response(&invite, 404), true);
    assert_eq!(sent(&bench.out), ["ACK"]);
    assert!(bench.table.is_empty());
}

#[test]
fn every_2xx_reaches_the_user_for_64_t1_and_the_request_is_forgotten_at_the_first() {
    let mut bench = bench();
    let (id, invite) = bench.start("INVITE", false);
    assert_eq!(bench.table.stored(id).as_deref(), Some(&invite[..]));
    let answer = response(&invite, 200);
    for _ in 0..2 {
        assert_eq!(bench.receive(&answer, false), Arrival::Response { id, user: 42 });
    }
    let fork = changed(&answer, "tag=b1", "tag=b2");
    assert_eq!(bench.receive(&fork, false), Arrival::Response { id, user: 42 });
    assert_eq!(bench.receive(&response(&invite, 486), false), Arrival::Absorbed);
    assert!(bench.out.is_empty(), "the ACK for a 2xx is the user's");
    assert_eq!(bench.table.stored(id), None);
    assert!(bench.run(FOREVER).is_empty());
    assert!(bench.table.is_empty());
}

#[test]
fn a_response_with_another_method_or_branch_belongs_to_nobody() {
    let mut bench = bench();
    let (_, bye) = bench.start("BYE", false);
    let answer = response(&bye, 200);
    assert_eq!(bench.receive(&changed(&answer, "BYE", "INFO"), false), Arrival::StrayResponse);
    let foreign = changed(&answer, "branch=z9hG4bK", "branch=z9hG4bKf");
    assert_eq!(bench.receive(&foreign, false), Arrival::StrayResponse);
    assert!(matches!(bench.receive(&answer, false), Arrival::Response { .. }));
    assert_eq!(bench.receive(&answer, false), Arrival::Absorbed);
}

#[test]
fn a_cancel_waits_for_a_provisional_response_and_then_tries_by_itself() {
    let mut bench = bench();
    let (id, invite) = bench.start("INVITE", false);
    let reason = Some(&b"SIP;cause=200"[..]);
    let now = bench.now;
    assert!(bench.table.cancel(now, id, reason, &mut bench.out));
    assert!(!bench.table.cancel(now, id, reason, &mut bench.out), "only once");
    assert!(bench.out.is_empty(), "nothing may be sent before a 1xx");
    bench.receive(&response(&invite, 100), false);
    assert_eq!(sent(&bench.out), ["CANCEL"]);
    let Out::Send { bytes, .. } = bench.out.remove(0) else { panic!("a CANCEL is sent") };
    let cancel = Message::parse(&bytes).unwrap();
    let original = Message::parse(&invite).unwrap();
    assert_eq!(cancel.via().branch, original.via().branch);
    assert_eq!(cancel.to_tag(), None);
    assert_eq!(cancel.cseq().number, 314);
    assert_eq!(cancel.header(sip::Header::Reason), reason);
    let log = bench.run(Duration::from_secs(4));
    assert_eq!(times(&log, "CANCEL"), [500, 1500, 3500]);
    assert_eq!(bench.receive(&response(&bytes, 200), false), Arrival::Absorbed);
    let answer = bench.receive(&response(&invite, 487), false);
    assert_eq!(answer, Arrival::Response { id, user: 42 });
    assert_eq!(sent(&bench.out), ["ACK"]);
    bench.out.clear();
    assert!(bench.run(FOREVER).is_empty());
    assert!(bench.table.is_empty());
}

#[test]
fn a_cancelled_invite_that_is_never_answered_is_given_up_after_64_t1() {
    let mut bench = bench();
    let (id, invite) = bench.start("INVITE", false);
    bench.receive(&response(&invite, 180), false);
    bench.run(Duration::from_secs(100));
    let now = bench.now;
    assert!(bench.table.cancel(now, id, None, &mut bench.out));
    bench.out.clear();
    let log = bench.run(FOREVER);
    assert_eq!(times(&log, "timeout"), [32_000]);
    assert!(bench.table.is_empty());
}

#[test]
fn an_invite_that_is_answered_cannot_be_cancelled() {
    let mut bench = bench();
    let (id, invite) = bench.start("INVITE", false);
    bench.receive(&response(&invite, 200), false);
    let now = bench.now;
    assert!(!bench.table.cancel(now, id, None, &mut bench.out));
}

#[test]
fn a_failed_transport_ends_the_requests_on_their_way_and_no_others() {
    let mut bench = bench();
    let (invite, _) = bench.start("INVITE", true);
    let (_, answered) = bench.start("INVITE", true);
    bench.receive(&response(&answered, 180), true);
    let (bye, _) = bench.start("BYE", true);
    let now = bench.now;
    bench.table.transport_failed(now, PEER + 1, &mut bench.out);
    assert!(bench.out.is_empty());
    bench.table.transport_failed(now, PEER, &mut bench.out);
    let mut ids: Vec<ClientId> = bench
        .out
        .iter()
        .map(|effect| match effect {
            Out::TransportError { id, user: 42 } => *id,
            other => panic!("unexpected {other:?}"),
        })
        .collect();
    ids.sort();
    assert_eq!(ids, [invite, bye]);
    assert_eq!(bench.table.len(), 1);
}

#[test]
fn a_reservation_can_be_given_back_but_a_running_transaction_cannot() {
    let mut bench = bench();
    let (id, branch) = bench.table.reserve().unwrap();
    assert_eq!(shard_of(&branch), Some(5));
    bench.table.release(id);
    assert!(bench.table.is_empty());
    let (id, _) = bench.start("BYE", false);
    bench.table.release(id);
    assert_eq!(bench.table.len(), 1);
}

#[test]
fn loose_branches_are_unique_and_answer_to_nothing() {
    let mut bench = bench();
    let one = bench.table.loose_branch();
    let two = bench.table.loose_branch();
    assert_ne!(*one, *two);
    let ack = request("ACK", core::str::from_utf8(&one).unwrap());
    assert_eq!(bench.receive(&response(&ack, 200), false), Arrival::StrayResponse);
}

#[test]
fn a_retransmitted_invite_gets_the_last_provisional_response_again() {
    let mut bench = bench();
    let invite = request("INVITE", "z9hG4bKx1");
    let id = bench.server(&invite, false);
    assert_eq!(bench.receive(&invite, false), Arrival::Absorbed);
    assert!(bench.out.is_empty(), "nothing was sent yet");
    let now = bench.now;
    for status in [100, 180] {
        bench.table.respond(now, id, status, &response(&invite, status));
    }
    assert_eq!(bench.receive(&invite, false), Arrival::Absorbed);
    assert_eq!(sent(&bench.out), ["180"]);
}

#[test]
fn a_final_response_other_than_2xx_is_sent_again_until_its_ack() {
    let mut bench = bench();
    let invite = request("INVITE", "z9hG4bKx1");
    let id = bench.server(&invite, false);
    let now = bench.now;
    bench.table.respond(now, id, 486, &response(&invite, 486));
    let log = bench.run(Duration::from_secs(5));
    assert_eq!(times(&log, "486"), [500, 1500, 3500]);
    let ack = changed(&request("ACK", "z9hG4bKx1"), "bob@example.com>", "bob@example.com>;tag=b1");
    assert_eq!(bench.receive(&ack, false), Arrival::AckNon2xx(77));
    assert_eq!(bench.receive(&ack, false), Arrival::Absorbed);
    assert_eq!(bench.receive(&invite, false), Arrival::Absorbed);
    assert!(bench.out.is_empty());
    bench.run(Duration::from_millis(4_999));
    assert_eq!(bench.table.len(), 1);
    assert!(bench.run(Duration::from_millis(1)).is_empty());
    assert!(bench.table.is_empty());
}

#[test]
fn a_missing_ack_is_reported_after_timer_h() {
    let mut bench = bench();
    let invite = request("INVITE", "z9hG4bKx1");
    let id = bench.server(&invite, false);
    let now = bench.now;
    bench.table.respond(now, id, 500, &response(&invite, 500));
    let log = bench.run(FOREVER);
    let expected = [500, 1500, 3500, 7500, 11_500, 15_500, 19_500, 23_500, 27_500, 31_500];
    assert_eq!(times(&log, "500"), expected);
    assert_eq!(times(&log, "no ack"), [32_000]);
    assert!(bench.table.is_empty());
}

#[test]
fn after_a_2xx_the_invite_is_absorbed_and_the_ack_belongs_to_the_dialog() {
    let mut bench = bench();
    let invite = request("INVITE", "z9hG4bKx1");
    let id = bench.server(&invite, false);
    let now = bench.now;
    bench.table.respond(now, id, 200, &response(&invite, 200));
    assert_eq!(bench.receive(&invite, false), Arrival::Absorbed);
    assert_eq!(bench.receive(&request("ACK", "z9hG4bKx2"), false), Arrival::Ack2xx);
    assert_eq!(bench.receive(&request("ACK", "z9hG4bKx1"), false), Arrival::Ack2xx);
    assert!(bench.out.is_empty());
    bench.run(Duration::from_millis(31_999));
    assert_eq!(bench.table.len(), 1);
    assert!(bench.run(Duration::from_millis(1)).is_empty());
    assert!(bench.table.is_empty());
}

#[test]
fn a_retransmitted_bye_gets_its_final_response_again_until_timer_j() {
    let mut bench = bench();
    let bye = request("BYE", "z9hG4bKx1");
    let id = bench.server(&bye, false);
    assert_eq!(bench.receive(&bye, false), Arrival::Absorbed);
    assert!(bench.out.is_empty(), "nothing was sent yet");
    let now = bench.now;
    bench.table.respond(now, id, 200, &response(&bye, 200));
    bench.table.respond(now, id, 500, &response(&bye, 500));
    assert_eq!(bench.receive(&bye, false), Arrival::Absorbed);
    assert_eq!(sent(&bench.out), ["200"]);
    bench.out.clear();
    bench.run(Duration::from_millis(31_999));
    assert_eq!(bench.table.len(), 1);
    bench.run(Duration::from_millis(1));
    assert!(bench.table.is_empty());
}

#[test]
fn over_a_reliable_transport_an_answered_request_is_over() {
    let mut bench = bench();
    let bye = request("BYE", "z9hG4bKx1");
    let id = bench.server(&bye, true);
    let now = bench.now;
    bench.table.respond(now, id, 200, &response(&bye, 200));
    assert!(bench.table.is_empty());
}

#[test]
fn a_cancel_finds_its_invite_and_is_a_transaction_of_its_own() {
    let mut bench = bench();
    let invite = request("INVITE", "z9hG4bKx1");
    let id = bench.server(&invite, false);
    let cancel = request("CANCEL", "z9hG4bKx1");
    let Arrival::Cancel { id: own, invite: found } = bench.receive(&cancel, false) else {
        panic!("a CANCEL")
    };
    assert_eq!(found, Some((id, 77)));
    assert_ne!(own, id);
    assert_eq!(bench.receive(&cancel, false), Arrival::Absorbed);
    let other = request("CANCEL", "z9hG4bKx9");
    assert!(matches!(bench.receive(&other, false), Arrival::Cancel { invite: None, .. }));
}

#[test]
fn the_same_branch_from_another_host_or_with_another_method_is_another_transaction() {
    let mut bench = bench();
    let options = request("OPTIONS", "z9hG4bKx1");
    bench.server(&options, false);
    bench.server(&changed(&options, ":5070", ":5071"), false);
    bench.server(&changed(&options, "host.example.org:", "other.example.org:"), false);
    bench.server(&request("MESSAGE", "z9hG4bKx1"), false);
    bench.server(&changed(&options, "OPTIONS", "NEWONE"), false);
    bench.server(&changed(&options, "OPTIONS", "NEWTWO"), false);
    let upper = changed(&options, "UDP host.example.org", "UDP HOST.Example.org");
    assert_eq!(bench.receive(&upper, false), Arrival::Absorbed);
    assert_eq!(bench.table.len(), 6);
}

#[test]
fn requests_of_rfc_2543_are_matched_without_a_branch() {
    let mut bench = bench();
    let invite = changed(&request("INVITE", "x"), ";branch=x", "");
    let id = bench.server(&invite, false);
    assert_eq!(bench.receive(&invite, false), Arrival::Absorbed);
    bench.server(&changed(&invite, "CSeq: 314", "CSeq: 315"), false);
    bench.server(&changed(&invite, "bob@example.com>", "bob@example.com>;tag=x"), false);
    let now = bench.now;
    bench.table.respond(now, id, 486, &response(&invite, 486));
    let ack = changed(&request("ACK", "x"), ";branch=x", "");
    let wrong = changed(&ack, "bob@example.com>", "bob@example.com>;tag=zz");
    assert_eq!(bench.receive(&wrong, false), Arrival::Ack2xx);
    let right = changed(&ack, "bob@example.com>", "bob@example.com>;tag=b1");
    assert_eq!(bench.receive(&right, false), Arrival::AckNon2xx(77));
}

#[test]
fn a_full_table_says_so_and_keeps_what_it_has() {
    let mut bench = bench();
    for n in 0..64 {
        bench.server(&request("OPTIONS", &format!("z9hG4bKx{n}")), false);
    }
    assert_eq!(bench.receive(&request("OPTIONS", "z9hG4bKy"), false), Arrival::Overload);
    assert_eq!(bench.receive(&request("OPTIONS", "z9hG4bKx3"), false), Arrival::Absorbed);
    while bench.table.reserve().is_some() {}
    assert_eq!(bench.table.clients(), 64);
}

#[test]
fn an_abandoned_transaction_leaves_nothing() {
    let mut bench = bench();
    let ids: Vec<_> =
        (0..20).map(|n| bench.server(&request("INVITE", &format!("z9hG4bKx{n}")), false)).collect();
    for id in ids.iter().rev() {
        bench.table.abandon(*id);
        bench.table.abandon(*id);
    }
    assert!(bench.table.is_empty());
    bench.server(&request("INVITE", "z9hG4bKx0"), false);
}

#[test]
fn a_response_that_cannot_be_delivered_ends_its_transaction() {
    let mut bench = bench();
    let invite = request("INVITE", "z9hG4bKx1");
    let id = bench.server(&invite, true);
    let now = bench.now;
    bench.table.respond(now, id, 486, &response(&invite, 486));
    assert_eq!(bench.table.len(), 1);
    bench.table.response_failed(now, id);
    assert!(bench.table.is_empty());
}

#[test]
fn a_refusal_that_is_the_first_response_is_sent_again_to_who_asks_again_only() {
    let mut bench = bench();
    for (has_ringed, count) in [(false, 0), (true, 10)] {
        let invite = request("INVITE", &format!("z9hG4bKrefused{has_ringed}"));
        let (id, now) = (bench.server(&invite, false), bench.now);
        if has_ringed {
            bench.table.respond(now, id, 180, &response(&invite, 180));
        }
        let bytes = &response(&invite, 486);
        bench.table.refuse(now, id, 486, &Kept { bytes, ..Kept::default() });
        assert_eq!(bench.receive(&invite, false), Arrival::Absorbed);
        assert_eq!(bench.out.len(), 1, "who asks again is answered again");
        bench.out.clear();
        let log = bench.run(Duration::from_secs(60));
        assert_eq!(times(&log, "486").len(), count, "{log:?}");
        assert_eq!(times(&log, "no ack"), [32_000], "timer H ends it");
    }
}

#[test]
fn what_a_request_says_already_is_not_kept_when_it_is_long_or_refused() {
    let head = b"Via: x\r\nTo: <sip:b>;tag=ours\r\n";
    let long: Vec<u8> = head.iter().copied().cycle().take(40_000).collect();
    for (method, ringing, head, has_gap) in [
        ("INVITE", false, &head[..], true),
        ("MESSAGE", false, &head[..], true),
        ("INVITE", true, &head[..], false),
        ("INVITE", true, &long[..], true),
        ("MESSAGE", false, &long[..], true),
    ] {
        let mut bench = bench();
        let request = request(method, &format!("z9hG4bK{method}{ringing}{}", head.len()));
        let (id, now) = (bench.server(&request, false), bench.now);
        if ringing {
            bench.table.respond(now, id, 180, &response(&request, 180));
        }
        let start = b"SIP/2.0 486 Busy\r\n";
        let bytes = &[&start[..], head, b"\r\n"].concat();
        let head = start.len()..start.len() + head.len();
        bench.table.refuse(now, id, 486, &Kept { bytes, head, tag: b"ours" });
        let arrival = bench.receive(&request, false);
        assert_eq!(matches!(arrival, Arrival::Repeated(_)), has_gap, "{method} {ringing}");
        let kept = bench.table.repeated(id).unwrap();
        if has_gap {
            assert_eq!(kept, [&start[..], b"ours", b"\r\n"]);
            bench.out.clear();
            assert!(times(&bench.run(Duration::from_secs(60)), "486").is_empty());
        } else {
            assert_eq!(kept, [b"", b"", &bytes[..]]);
        }
    }
}
