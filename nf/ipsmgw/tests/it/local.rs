//! The gateway as its own service centre.

use crate::network::{number, rp, submit};
use crate::world::{ALICE, ALICE_NUMBER, World, settings};
use ipsmgw::centre::{Plan, Retry};
use ipsmgw::store::{Key, Row};
use ipsmgw::{Body, In, Local, Msisdn, Received, Register, Settings, Written};
use machine::Duration;
use sms::rp::{Failure, Kind as RpKind, Message};
use sms::{Cause, FailureCause, Kind, Parameter, Status, Tpdu, Value};

const BOB: &str = "sip:+447700900999@ims.example.org";
const BOB_NUMBER: &str = "447700900999";
const CENTRE: &str = crate::network::GATEWAY;

pub fn local() -> Settings {
    Settings {
        networks: Vec::new(),
        final_causes: vec![111],
        local: Some(Local {
            numbers: vec!["4477".into()],
            country_code: Some("44".into()),
            plan: Plan {
                messages_max: 10,
                messages_per_receiver_max: 4,
                retries: vec![Duration::from_secs(60), Duration::from_secs(600)],
            },
            validity: Duration::from_secs(3_600),
            validity_max: Duration::from_secs(7_200),
            parts_max: 3,
            quarters: 0,
        }),
        ..settings()
    }
}

fn register(world: &mut World, who: (&str, &str), takes_rp: bool, expires_s: u32) {
    let contacts = if takes_rp { vec!["sip:x@192.0.2.1".into()] } else { Vec::new() };
    let register = Register {
        identity: who.0.into(),
        s_cscf: "sip:scscf.ims.example.org:6060".into(),
        expires_s,
        msisdn: Msisdn::of(who.1),
        imsi: None,
        contacts: Some(contacts),
    };
    world.step(In::Register { transaction: 1, register });
    assert_eq!(world.responses.pop(), Some((1, 200)));
}

/// Alice and Bob are registered.
fn world() -> World {
    let mut world = World::new(local());
    register(&mut world, (ALICE, ALICE_NUMBER), true, 3_600);
    register(&mut world, (BOB, BOB_NUMBER), true, 3_600);
    world
}

fn of(asserted: &str, call_id: &str, answers: Option<&str>, body: Vec<u8>) -> Received {
    Received {
        to: format!("sip:+{CENTRE}@ims.example.org"),
        asserted: vec![asserted.into()],
        call_id: call_id.into(),
        in_reply_to: answers.map(ToOwned::to_owned),
        content_type: sms::rp::CONTENT_TYPE.into(),
        body,
        trail: 7,
    }
}

/// Alice sends Bob a TPDU; what she is told.
fn submits(world: &mut World, reference: u8, tpdu: &[u8]) -> Result<Vec<u8>, (Cause, Vec<u8>)> {
    let message = Message::from_terminal(reference, number(CENTRE), tpdu);
    let message = of(ALICE, &format!("call-{reference}"), None, rp(&message));
    world.step(In::Message { transaction: 9, message });
    assert_eq!(world.responses.pop(), Some((9, 202)));
    let at = world.sent.iter().position(|it| it.in_reply_to.is_some()).expect("a report leaves");
    let sent = world.sent.remove(at);
    assert_eq!((&*sent.to, sent.trail), (ALICE, 7));
    world.step(In::Response { number: sent.number, status: 200 });
    let read = Message::read(sent.body.octets()).unwrap();
    assert_eq!(read.reference, reference);
    let report = read.user_data.unwrap_or_default().to_vec();
    match read.failure {
        None => Ok(report),
        Some(failure) => Err((failure.cause().unwrap(), report)),
    }
}

/// The message on its way to a terminal: Call-ID, reference, TPDU.
fn delivered(world: &mut World, to: &str) -> (String, u8, Vec<u8>) {
    let sent = world.sent.remove(0);
    assert_eq!(sent.to, to);
    let message = Message::read(sent.body.octets()).unwrap();
    assert_eq!((message.kind, message.originator), (RpKind::DataToTerminal, number(CENTRE)));
    let found = (sent.call_id, message.reference, message.user_data.unwrap().to_vec());
    world.step(In::Response { number: sent.number, status: 200 });
    found
}

/// A terminal reports.
fn reports(world: &mut World, who: &str, to: &(String, u8, Vec<u8>), cause: Option<Cause>) {
    let data = Message::new(RpKind::DataToTerminal, to.1);
    let body = rp(&data.answer(cause.map(Failure::of), None));
    let answers = format!("{}@gw.ims.example.org", to.0);
    let message = of(who, "report", Some(&answers), body);
    world.step(In::Message { transaction: 10, message });
    assert_eq!(world.responses.pop(), Some((10, 202)));
}

fn wanting_report(to: &str, text: &str) -> Vec<u8> {
    let mut tpdu = submit(4, to, text);
    tpdu[0] |= 0x20;
    tpdu
}

#[test]
fn a_message_is_stored_acknowledged_delivered_and_taken_out() {
    let mut world = world();
    let report = submits(&mut world, 1, &submit(1, BOB_NUMBER, "Hi")).unwrap();
    let read = Kind::SubmitReport.read(&report).unwrap();
    assert!(read.time(Parameter::ServiceCentreTime).is_some());
    assert_eq!(world.gateway.waiting(), (1, 1));
    let to_bob = delivered(&mut world, BOB);
    let tpdu = Kind::Deliver.read(&to_bob.2).unwrap();
    assert_eq!(tpdu.address(), sms::Address::international(ALICE_NUMBER).as_ref());
    assert_eq!(crate::network::text_of(Kind::Deliver, &to_bob.2), "Hi");
    assert!(tpdu.flag(Parameter::MoreMessages), "none waits behind it");
    reports(&mut world, BOB, &to_bob, None);
    assert_eq!(world.gateway.waiting(), (0, 0));
    assert_eq!(world.store.len(), 2, "two registrations");
    assert!(world.sent.is_empty() && world.idle());
}

#[test]
fn nothing_is_acknowledged_that_is_not_stored_and_a_full_store_says_congestion() {
    let mut world = world();
    world.store_fails = true;
    // The store is asked whose identity it is first.
    let failed = submits(&mut world, 1, &submit(1, BOB_NUMBER, "Hi")).unwrap_err();
    assert_eq!(failed.0, Cause::TemporaryFailure);
    world.store_fails = false;
    assert_eq!(world.gateway.waiting(), (0, 0));
    // What passes is tried again when it comes again.
    submits(&mut world, 1, &submit(1, BOB_NUMBER, "Hi")).unwrap();
    for n in 2..=4 {
        submits(&mut world, n, &submit(n, BOB_NUMBER, "Hi")).unwrap();
    }
    let full = submits(&mut world, 5, &submit(5, BOB_NUMBER, "Hi")).unwrap_err();
    assert_eq!((full.0, world.gateway.waiting()), (Cause::Congestion, (4, 1)));
    for n in 0..4 {
        let it = delivered(&mut world, BOB);
        let read = Kind::Deliver.read(&it.2).unwrap();
        // The first one left before the others came.
        let is_last = n == 0 || n == 3;
        assert_eq!(read.flag(Parameter::MoreMessages), is_last, "in their order");
        reports(&mut world, BOB, &it, None);
    }
    assert_eq!(world.gateway.waiting(), (0, 0));
}

#[test]
fn who_is_absent_gets_it_by_the_plan_or_when_he_registers_and_the_sender_is_told() {
    let mut world = World::new(local());
    register(&mut world, (ALICE, ALICE_NUMBER), true, 3_600);
    submits(&mut world, 1, &wanting_report(BOB_NUMBER, "Hi")).unwrap();
    assert!(world.sent.is_empty());
    let why = world.gateway.pending().next().unwrap().why;
    assert_eq!(why, "the receiver is not registered");
    register(&mut world, (BOB, BOB_NUMBER), true, 3_600);
    // He refuses it for now: after a minute it is tried again, then after ten.
    for wait in [60, 600] {
        let sent = world.sent.remove(0);
        world.step(In::Response { number: sent.number, status: 480 });
        world.pass(Duration::from_secs(wait - 1));
        assert!(world.sent.is_empty(), "not before");
        world.pass(Duration::from_secs(1));
    }
    let to_bob = delivered(&mut world, BOB);
    reports(&mut world, ALICE, &to_bob, None);
    assert_eq!(world.gateway.waiting(), (1, 1), "another one's report is none");
    reports(&mut world, BOB, &to_bob, None);
    let to_alice = delivered(&mut world, ALICE);
    let report = Kind::StatusReport.read(&to_alice.2).unwrap();
    assert_eq!((report.status(), report.reference()), (Some(Status::Received), Some(4)));
    reports(&mut world, ALICE, &to_alice, None);
    assert_eq!((world.gateway.waiting(), world.store.len()), ((0, 0), 2));
}

#[test]
fn a_terminal_without_memory_says_when_it_has_some_and_one_that_refuses_is_not_asked_again() {
    let mut world = world();
    submits(&mut world, 1, &wanting_report(BOB_NUMBER, "Hi")).unwrap();
    let it = delivered(&mut world, BOB);
    reports(&mut world, BOB, &it, Some(Cause::MemoryCapacityExceeded));
    assert_eq!(world.gateway.pending().next().unwrap().why, "the terminal has no memory");
    let smma = rp(&Message::new(RpKind::MemoryAvailable, 77));
    world.step(In::Message { transaction: 11, message: of(BOB, "smma", None, smma) });
    let ack = world.sent.remove(0);
    let ack_kind = Message::read(ack.body.octets()).unwrap().kind;
    assert_eq!((&*ack.to, ack_kind), (BOB, RpKind::AckToTerminal));
    world.step(In::Response { number: ack.number, status: 200 });
    let it = delivered(&mut world, BOB);
    reports(&mut world, BOB, &it, Some(Cause::ProtocolError));
    let to_alice = delivered(&mut world, ALICE);
    let report = Kind::StatusReport.read(&to_alice.2).unwrap();
    assert_eq!(report.status(), Some(Status::RejectedBySme));
    reports(&mut world, ALICE, &to_alice, None);
    assert_eq!((world.gateway.waiting(), world.idle()), ((0, 0), true));
}

#[test]
fn when_its_validity_ends_a_message_leaves_and_the_sender_is_told() {
    let mut world = World::new(local());
    register(&mut world, (ALICE, ALICE_NUMBER), true, 9_000);
    submits(&mut world, 1, &wanting_report(BOB_NUMBER, "Hi")).unwrap();
    world.pass(Duration::from_secs(3_599));
    assert_eq!(world.gateway.waiting(), (1, 1));
    world.pass(Duration::from_secs(1));
    let to_alice = delivered(&mut world, ALICE);
    let report = Kind::StatusReport.read(&to_alice.2).unwrap();
    assert_eq!(report.status(), Some(Status::ValidityExpired));
    reports(&mut world, ALICE, &to_alice, None);
    assert_eq!(world.gateway.waiting(), (0, 0));
}

#[test]
fn what_the_centre_does_not_do_is_refused_with_its_cause() {
    let mut world = world();
    let elsewhere = submits(&mut world, 1, &submit(1, "4915500", "Hi")).unwrap_err();
    assert_eq!(elsewhere.0, Cause::UnassignedNumber);
    let command = Tpdu::new(Kind::Command)
        .octet(Parameter::MessageReference, 2)
        .octet(Parameter::ProtocolIdentifier, 0)
        .octet(Parameter::CommandType, 2)
        .octet(Parameter::MessageNumber, 1)
        .with(
            Parameter::DestinationAddress,
            Value::Address(sms::Address::international(BOB_NUMBER).unwrap()),
        )
        .with(Parameter::CommandData, Value::Octets(&[]));
    let mut octets = Vec::new();
    command.write(&mut octets).unwrap();
    let (cause, report) = submits(&mut world, 2, &octets).unwrap_err();
    let read = Kind::SubmitReportError.read(&report).unwrap();
    let why = (cause, read.failure_cause());
    assert_eq!(why, (Cause::TransferRejected, Some(FailureCause::CommandUnsupported)));
    world.store_fails = true;
    register_fails(&mut world);
}

fn register_fails(world: &mut World) {
    let register = Register {
        identity: BOB.into(),
        s_cscf: "sip:s".into(),
        expires_s: 60,
        msisdn: None,
        imsi: None,
        contacts: None,
    };
    world.step(In::Register { transaction: 2, register: register.clone() });
    assert_eq!(world.responses.pop(), Some((2, 503)));
    let other = Register { msisdn: Msisdn::of(ALICE_NUMBER), ..register };
    world.step(In::Register { transaction: 3, register: other });
    assert_eq!(world.responses.pop(), Some((3, 403)), "two numbers contradict each other");
}

#[test]
fn text_becomes_short_messages_and_short_messages_text() {
    let mut world = World::new(local());
    register(&mut world, (ALICE, ALICE_NUMBER), true, 3_600);
    register(&mut world, (BOB, BOB_NUMBER), false, 3_600);
    let text = |from: &str, to: &str, text: &str| Received {
        to: to.into(),
        content_type: "text/plain;charset=UTF-8".into(),
        ..of(from, "text", None, text.as_bytes().to_vec())
    };
    world.step(In::Message { transaction: 5, message: text(BOB, ALICE, &"é".repeat(170)) });
    assert_eq!(world.responses.pop(), Some((5, 202)));
    for part in 1..=2 {
        let it = delivered(&mut world, ALICE);
        let tpdu = Kind::Deliver.read(&it.2).unwrap();
        let header = tpdu.user_data().unwrap().header().unwrap();
        let place = header.concatenation().unwrap();
        assert_eq!((place.sequence, place.maximum), (part, 2));
        reports(&mut world, ALICE, &it, None);
    }
    submits(&mut world, 1, &submit(1, BOB_NUMBER, "Hello")).unwrap();
    let sent = world.sent.remove(0);
    let body = Body::Text { from: format!("+{ALICE_NUMBER}"), text: "Hello".into() };
    assert_eq!((&*sent.to, &sent.body), (BOB, &body));
    world.step(In::Response { number: sent.number, status: 200 });
    assert_eq!(world.gateway.waiting(), (0, 0));
    for (message, status) in [
        (text(ALICE, "sip:+4915500@ims.example.org", "x"), 404),
        (text(ALICE, BOB, &"x".repeat(999)), 413),
        (text("sip:+447700900123@elsewhere.example", BOB, "x"), 403),
        (Received { body: vec![0xff], ..text(ALICE, BOB, "") }, 415),
        (Received { call_id: format!("{}@h", sent.call_id), ..text(ALICE, BOB, "x") }, 482),
    ] {
        world.step(In::Message { transaction: 6, message });
        assert_eq!(world.responses.pop(), Some((6, status)));
    }
    assert_eq!(world.gateway.waiting(), (0, 0));
}

#[test]
fn an_operator_sends_tries_again_and_what_stood_in_the_store_waits_again() {
    let mut world = World::new(local());
    let (to, text) = (Msisdn::of(BOB_NUMBER).unwrap(), "News".to_owned());
    let from = sms::Address::letters("Tandem");
    world.step(In::Operator { ticket: 1, to: to.clone(), from, text: Written(text.clone()) });
    assert_eq!(world.taken.pop(), Some((1, Ok(1))));
    world.step(In::Operator {
        ticket: 2,
        to: to.clone(),
        from: None,
        text: Written("x".repeat(999)),
    });
    assert!(matches!(world.taken.pop(), Some((2, Err(_)))));
    let (number, stored) = {
        let first = world.gateway.pending().next().unwrap();
        (first.number, first.stored.clone())
    };
    register(&mut world, (BOB, BOB_NUMBER), true, 3_600);
    let sent = world.sent.remove(0);
    world.step(In::Response { number: sent.number, status: 503 });
    world.step(In::Retry(Some(to)));
    let sent = world.sent.remove(0);
    world.step(In::Response { number: sent.number, status: 503 });
    world.step(In::Retry(None));
    let sent = world.sent.remove(0);
    world.step(In::Response { number: sent.number, status: 503 });
    let why = world.gateway.pending().next().unwrap().why;
    assert_eq!((why, world.sent.len()), ("no next hop takes it", 0));
    world.step(In::NextHop);
    assert_eq!(delivered(&mut world, BOB).2[1..], stored.tpdu[1..]);
    let mut other = World::new(local());
    other.step(In::Restored { number, stored, flight: None, retry: None });
    assert_eq!(other.gateway.waiting(), (1, 1));
    register(&mut other, (BOB, BOB_NUMBER), true, 3_600);
    let it = delivered(&mut other, BOB);
    reports(&mut other, BOB, &it, None);
    assert_eq!(other.gateway.waiting(), (0, 0));
}

/// Bob's message is sent by a gateway with a standby, which then goes on with what stands.
fn taken_over() -> (World, (String, u8, Vec<u8>)) {
    let settings = Settings { has_standby: true, ..local() };
    let mut world = World::new(settings.clone());
    register(&mut world, (BOB, BOB_NUMBER), true, 3_600);
    let (to, text) = (Msisdn::of(BOB_NUMBER).unwrap(), Written("News".to_owned()));
    world.step(In::Operator { ticket: 1, to, from: None, text });
    let sent = delivered(&mut world, BOB);
    let mut other = World::new(settings);
    let seeds = ipsmgw::Seeds { proofs: [8; 16], correlations: [9; 16], share: (0, 1) };
    other.gateway.begin_anew(seeds, other.now);
    other.store = world.store;
    let rows = |key: fn(&Key) -> bool| {
        let found = other.store.iter().find(|it| key(it.0));
        found.map(|(key, row)| (key.clone(), row.clone())).unwrap()
    };
    let Row::Flight(flight) = rows(|it| matches!(it, Key::Flight(_))).1 else { panic!() };
    let (Key::Message(number), Row::Message(stored)) = rows(|it| matches!(it, Key::Message(_)))
    else {
        panic!()
    };
    other.step(In::Restored { number, stored, flight: Some(flight), retry: None });
    assert_eq!((other.sent.len(), other.gateway.waiting()), (0, (1, 1)), "it is under way");
    (other, sent)
}

#[test]
fn the_report_of_a_message_that_another_node_sent_finds_its_flow_and_it_is_not_sent_twice() {
    let (mut world, sent) = taken_over();
    reports(&mut world, ALICE, &sent, None);
    assert_eq!(world.gateway.waiting(), (1, 1), "it is not the receiver's");
    reports(&mut world, BOB, &sent, None);
    assert_eq!((world.sent.len(), world.gateway.waiting()), (0, (0, 0)));
    assert!(world.idle() && !world.store.iter().any(|it| matches!(it.0, Key::Flight(_))));
}

#[test]
fn a_message_that_another_node_sent_and_nobody_reports_is_sent_again_at_once() {
    let (mut world, before) = taken_over();
    world.pass(Duration::from_secs(4));
    let sent = delivered(&mut world, BOB);
    assert_ne!(sent.0, before.0);
    reports(&mut world, BOB, &before, None);
    assert_eq!(world.gateway.waiting(), (1, 1), "a report that comes too late changes nothing");
    reports(&mut world, BOB, &sent, None);
    assert!(world.idle() && world.gateway.waiting() == (0, 0));
    assert!(!world.store.iter().any(|it| matches!(it.0, Key::Flight(_))));
}

/// Another node that goes on with the one message of this one, by the plan of its receiver.
fn planned(world: World, settings: Settings) -> (World, Retry) {
    let mut other = World::new(settings);
    (other.now, other.store) = (world.now, world.store);
    let (mut message, mut plan) = (None, None);
    for (key, row) in other.store.iter() {
        match (key, row) {
            (Key::Message(number), Row::Message(stored)) => {
                message = Some((*number, stored.clone()));
            }
            (Key::Retry(_), Row::Retry(retry)) => plan = Some(*retry),
            _ => {}
        }
    }
    let ((number, stored), retry) = message.zip(plan).unwrap();
    other.step(In::Restored { number, stored, flight: None, retry: Some(retry) });
    (other, retry)
}

#[test]
fn the_plan_of_a_receiver_goes_on_where_another_node_left_it() {
    let settings = Settings { has_standby: true, ..local() };
    let mut world = World::new(settings.clone());
    let (to, text) = (Msisdn::of(BOB_NUMBER).unwrap(), Written("News".to_owned()));
    world.step(In::Operator { ticket: 1, to, from: None, text });
    world.pass(Duration::from_secs(61));
    let (mut other, retry) = planned(world, settings);
    assert_eq!(retry.failures, 2);
    let waits = |world: &World| world.gateway.pending().next().map(|it| (it.failures, it.due));
    assert_eq!(waits(&other), Some((2, Some(retry.due))));
    // A registration is a reason to try at once, and what is delivered leaves no plan.
    register(&mut other, (BOB, BOB_NUMBER), true, 3_600);
    let it = delivered(&mut other, BOB);
    reports(&mut other, BOB, &it, None);
    assert_eq!(waits(&other), None);
    assert!(!other.store.iter().any(|it| matches!(it.0, Key::Retry(_))));
}

#[test]
fn who_waited_for_a_next_hop_at_another_node_is_tried_when_there_is_one_here() {
    let settings = Settings { has_standby: true, ..local() };
    let mut world = World::new(settings.clone());
    register(&mut world, (BOB, BOB_NUMBER), true, 3_600);
    let (to, text) = (Msisdn::of(BOB_NUMBER).unwrap(), Written("News".to_owned()));
    world.step(In::Operator { ticket: 1, to, from: None, text });
    let number = world.sent.remove(0).number;
    world.step(In::Response { number, status: 503 });
    let (mut other, retry) = planned(world, settings);
    assert!(retry.is_unrouted);
    assert!(other.sent.is_empty());
    other.step(In::NextHop);
    assert_eq!(other.sent.len(), 1);
    assert!(!other.store.iter().any(|it| matches!(it.0, Key::Retry(_))), "its plan begins anew");
}
