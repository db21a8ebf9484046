//! Messages of terminals.

use crate::network::{error, forwarded, number, result, text_of};
use crate::world::{ALICE, World, settings};
use ber::Writer;
use bytes::Bytes;
use ipsmgw::store::Key;
use ipsmgw::{Charged, Home, In, Metric, Received, Route, Settings, Whom};
use machine::Duration;
use machine::bucket::Rate;
use map::{Context, Error, Operation};
use sms::Cause;
use sms::rp::{Kind, Message};
use tcap::PAbort;
use tcu::{Indication, Portion, Request};

fn cause(world: &World) -> Option<Cause> {
    let message = Message::read(world.sent.last().unwrap().body.octets()).unwrap();
    assert!(matches!(message.kind, Kind::ErrorToTerminal | Kind::AckToTerminal));
    message.failure.and_then(|it| it.cause())
}

#[test]
fn a_message_is_taken_forwarded_and_reported_to_who_sent_it() {
    let mut world = World::registered();
    world.submits(20, 9, "Hi");
    assert_eq!(world.responses, [(20, 202)]);
    let (operation, argument) = world.asked();
    assert_eq!(operation, Operation::MoForwardSm);
    assert_eq!(text_of(sms::Kind::Submit, &forwarded(&argument)), "Hi");
    let dialogue = world.begun().unwrap();
    world.end(dialogue, vec![result(operation, None)]);
    let sent = &world.sent[0];
    let report = Message::read(sent.body.octets()).unwrap();
    assert_eq!((report.kind, report.reference), (Kind::AckToTerminal, 9));
    assert_eq!((&*sent.to, &sent.route), (ALICE, &Route::Interrogating));
    assert_eq!(sent.in_reply_to.as_deref(), Some("call-20"));
    let number = sent.number;
    world.step(In::Response { number, status: 202 });
    assert!(world.idle());
    assert_eq!((world.records.len(), world.records[0].cause), (1, None));
}

#[test]
fn an_error_of_the_service_centre_is_told_with_its_cause_and_its_report() {
    let report = [1, 0xc0, 0, 0x62, 0x11, 0x72, 0, 0x40, 0x24, 0x40];
    let failure = |number: i64, with: bool| {
        use map::types::SmDeliveryFailureCause as Parameter;
        let mut octets = Vec::new();
        Writer::new(&mut octets).record::<Parameter>(|out| {
            out.integer(Parameter::SmEnumeratedDeliveryFailureCause, number);
            if with {
                out.octets(Parameter::DiagnosticInfo, &report);
            }
        });
        Some(Bytes::from(octets))
    };
    for (reference, code, parameter, cause, with) in [
        (1, Error::SmDeliveryFailure, failure(3, false), Cause::UnassignedNumber, false),
        (2, Error::SmDeliveryFailure, failure(4, true), Cause::Congestion, true),
        (3, Error::SmDeliveryFailure, failure(6, false), Cause::UnidentifiedSubscriber, false),
        (4, Error::SystemFailure, None, Cause::NetworkOutOfOrder, false),
        (5, Error::FacilityNotSupported, None, Cause::FacilityRejected, false),
    ] {
        let mut world = World::registered();
        world.submits(20, reference, "Hi");
        let dialogue = world.begun().unwrap();
        world.end(dialogue, vec![error(code, parameter)]);
        let message = Message::read(world.sent[0].body.octets()).unwrap();
        assert_eq!(message.failure.and_then(|it| it.cause()), Some(cause));
        assert_eq!(message.user_data, with.then_some(&report[..]));
    }
}

#[test]
fn versions_are_negotiated_down_and_remembered() {
    let mut world = World::registered();
    world.submits(20, 9, "Hi");
    let dialogue = world.begun().unwrap();
    let context = Context::ShortMsgMoRelay.oid(2);
    let portion = Portion { context: Some(Bytes::copy_from_slice(&context)), ..Portion::default() };
    let refused = Some(tcap::codec::Diagnostic::User(2));
    world.step(In::Network(Indication::UAbort { dialogue, refused, portion }));
    let Some(Request::Begin { portion, .. }) = world.requests.last() else { panic!("once more") };
    assert_eq!(portion.context.as_deref(), Some(&context[..]));
    let dialogue = world.begun().unwrap();
    world.step(In::Network(Indication::PAbort { dialogue, cause: PAbort::Cause(3) }));
    let Some(Request::Begin { portion, .. }) = world.requests.last() else { panic!("once more") };
    assert_eq!(portion.context, None, "version 1 has no dialogue portion");
    let dialogue = world.begun().unwrap();
    world.end(dialogue, vec![result(Operation::MoForwardSm, None)]);
    assert_eq!(cause(&world), None);
    world.submits(21, 10, "Hi");
    let Some(Request::Begin { portion, .. }) = world.requests.last() else { panic!("it begins") };
    assert_eq!(portion.context, None, "the centre is known to speak it");
}

#[test]
fn a_version_in_which_nobody_answered_is_not_remembered() {
    let mut world = World::registered();
    world.submits(20, 9, "Hi");
    for cause in [3, 0] {
        let (dialogue, cause) = (world.begun().unwrap(), PAbort::Cause(cause));
        world.step(In::Network(Indication::PAbort { dialogue, cause }));
    }
    assert_eq!(cause(&world), Some(Cause::TemporaryFailure));
    world.submits(21, 10, "Hi");
    let Some(Request::Begin { portion, .. }) = world.requests.last() else { panic!("it begins") };
    assert_eq!(portion.context.as_deref(), Some(&Context::ShortMsgMoRelay.oid(3)[..]));
}

#[test]
fn an_end_that_says_nothing_is_no_result_of_what_has_one() {
    // The second is too long for its BEGIN: it was not even said.
    for text in ["Hi", &*"a".repeat(160)] {
        let mut world = World::registered();
        world.submits(20, 9, text);
        let dialogue = world.begun().unwrap();
        world.end(dialogue, Vec::new());
        assert_eq!(cause(&world), Some(Cause::TemporaryFailure), "{text}");
        assert_eq!(world.gateway.metrics().read(Metric::Submitted), 0);
        world.submits(21, 9, text);
        assert!(world.begun().is_some(), "it may come again");
    }
}

#[test]
fn what_is_longer_than_any_message_is_not_kept() {
    let mut world = World::registered();
    world.octets(20, None, vec![0; 1_025]);
    assert_eq!(world.responses, [(20, 413)]);
    assert!(world.idle());
}

#[test]
fn a_long_message_follows_an_empty_begin() {
    let mut world = World::registered();
    world.submits(20, 9, &"a".repeat(160));
    let Some(Request::Begin { portion, .. }) = world.requests.last() else { panic!("it begins") };
    assert!(portion.components.is_empty() && portion.context.is_some());
    let dialogue = world.begun().unwrap();
    let portion = Portion::default();
    world.step(In::Network(Indication::Continue { dialogue, portion }));
    let Some(Request::Continue { portion, .. }) = world.requests.last() else {
        panic!("it follows")
    };
    let (operation, argument) = crate::network::invoked(&portion.components).unwrap();
    assert_eq!(text_of(sms::Kind::Submit, &forwarded(&argument)).len(), 160);
    world.end(dialogue, vec![result(operation, None)]);
    assert_eq!(cause(&world), None);
}

#[test]
fn what_comes_again_is_not_forwarded_again_and_reported_as_before() {
    let mut world = World::registered();
    world.submits(20, 9, "Hi");
    world.submits(21, 9, "Hi");
    assert_eq!(world.responses, [(20, 202), (21, 202)]);
    let dialogue = world.begun().unwrap();
    assert_eq!(world.begun(), None, "it is under way");
    world.end(dialogue, vec![result(Operation::MoForwardSm, None)]);
    world.submits(22, 9, "Hi");
    assert_eq!((world.sent.len(), world.begun()), (2, None));
    assert_eq!(world.sent[0].body, world.sent[1].body);
    assert_eq!(world.sent[1].in_reply_to.as_deref(), Some("call-22"));
    world.submits(23, 10, "Hi");
    assert!(world.begun().is_some(), "another reference is another message");
    assert_eq!(world.gateway.metrics().read(Metric::Duplicates), 2);
}

#[test]
fn each_fault_has_its_cause_or_its_status() {
    let mut world = World::registered();
    let cases: [(&[u8], u16, Option<Cause>); 7] = [
        (&[], 400, None),
        (&[7], 400, None),
        (&[7, 3], 202, Some(Cause::TypeNonExistent)),
        (&[0, 3, 0, 2, 0x91, 0x44], 202, Some(Cause::InvalidMandatory)),
        (&[0, 3, 0, 0, 2, 1, 0], 202, Some(Cause::InvalidMandatory)),
        (&[1, 3, 2, 0x91, 0x44, 0, 2, 0, 0], 400, None),
        (&[0, 4, 0, 2, 0x91, 0x44, 3, 1, 9, 9], 202, Some(Cause::InvalidMandatory)),
    ];
    for (index, (body, status, expected)) in cases.into_iter().enumerate() {
        let transaction = 30 + index as u64;
        let before = world.sent.len();
        world.octets(transaction, None, body.to_vec());
        assert_eq!(world.responses.last(), Some(&(transaction, status)), "{body:?}");
        assert_eq!(world.sent.len() - before, usize::from(expected.is_some()), "{body:?}");
        if expected.is_some() {
            assert_eq!(cause(&world), expected, "{body:?}");
        }
    }
    for (content_type, asserted, status) in
        [("text/plain", vec![ALICE.to_owned()], 415), (sms::rp::CONTENT_TYPE, Vec::new(), 403)]
    {
        let message = Received {
            to: "tel:+447700000099".into(),
            asserted,
            call_id: "x".into(),
            in_reply_to: None,
            content_type: content_type.into(),
            body: vec![0],
            trail: 7,
        };
        world.step(In::Message { transaction: 50, message });
        assert_eq!(world.responses.last(), Some(&(50, status)));
    }
    world.pass(Duration::from_secs(200));
    assert!(world.idle() && world.requests.is_empty());
}

#[test]
fn silence_a_lost_gateway_and_too_many_messages_are_told() {
    let mut world = World::registered();
    world.submits(20, 1, "Hi");
    let dialogue = world.begun().unwrap();
    world.step(In::Network(Indication::Cancel { dialogue, id: 1 }));
    assert_eq!(cause(&world), Some(Cause::TemporaryFailure));
    assert!(matches!(world.requests.last(), Some(Request::UAbort { .. })));
    world.submits(21, 2, "Hi");
    world.begun().unwrap();
    world.step(In::Connected(false));
    assert_eq!(cause(&world), Some(Cause::NetworkOutOfOrder));
    world.submits(22, 3, "Hi");
    assert_eq!(cause(&world), Some(Cause::NetworkOutOfOrder));
    world.step(In::Connected(true));
    world.submits(23, 4, "Hi");
    world.begun().unwrap();
    world.pass(Duration::from_secs(100));
    assert_eq!(cause(&world), Some(Cause::TemporaryFailure), "its time is over");
    world.pass(Duration::from_secs(100));
    assert!(world.idle());
    let mut world =
        World::new(ipsmgw::Settings { sender_rate: Rate::new(0.1, Some(1)), ..settings() });
    world.submits(20, 1, "Hi");
    world.submits(21, 2, "Hi");
    assert_eq!(cause(&world), Some(Cause::Congestion));
    let tpdu = crate::network::submit(5, "44", "x");
    let unnumbered = Message::from_terminal(5, number(crate::network::CENTRE), &tpdu);
    let message = Received {
        to: "tel:+447700000099".into(),
        asserted: vec!["sip:bob@example.org".into()],
        call_id: "x".into(),
        in_reply_to: None,
        content_type: sms::rp::CONTENT_TYPE.into(),
        body: crate::network::rp(&unnumbered),
        trail: 7,
    };
    world.step(In::Message { transaction: 24, message });
    assert_eq!(cause(&world), Some(Cause::UnidentifiedSubscriber));
}

fn with_standby() -> Settings {
    Settings { has_standby: true, ..settings() }
}

fn paired(settings: Settings) -> World {
    let mut world = World::new(settings);
    world.register(1, 3_600);
    world.answer_all();
    world
}

/// What a service centre says of a message that it has already, or of a wrong one, with its report.
pub fn rejected(why: u8) -> tcu::Component {
    use map::types::SmDeliveryFailureCause as Parameter;
    let report = [1, why, 0, 0x62, 0x11, 0x72, 0, 0x40, 0x24, 0x40];
    let mut octets = Vec::new();
    Writer::new(&mut octets).record::<Parameter>(|out| {
        out.integer(Parameter::SmEnumeratedDeliveryFailureCause, 5);
        out.octets(Parameter::DiagnosticInfo, &report);
    });
    error(Error::SmDeliveryFailure, Some(octets.into()))
}

#[test]
fn a_report_leaves_when_the_standby_has_it_and_that_one_says_it_again() {
    for answer in [result(Operation::MoForwardSm, None), error(Error::CallBarred, None)] {
        let mut world = paired(with_standby());
        world.submits(20, 9, "Hi");
        let dialogue = world.begun().unwrap();
        world.holds_store = true;
        world.end(dialogue, vec![answer]);
        assert!(world.sent.is_empty(), "it waits for the store");
        world.submits(21, 9, "Hi");
        world.release_store();
        assert_eq!((world.sent.len(), world.begun()), (1, None), "it is under way");
        let report = world.sent.remove(0).body;
        let mut other = world.taken_over(with_standby());
        other.submits(22, 9, "Hi");
        assert_eq!((other.begun(), &other.sent[0].body), (None, &report));
        assert_eq!(other.sent[0].in_reply_to.as_deref(), Some("call-22"));
        other.submits(23, 10, "Hi");
        assert!(other.begun().is_some(), "another reference is another message");
        // Long after it another message may have the same octets.
        other.pass(Duration::from_secs(200));
        other.submits(24, 9, "Hi");
        assert!(other.begun().is_some());
    }
}

#[test]
fn what_another_node_asked_for_is_asked_again_so_that_the_centre_says_whether_it_has_it() {
    for (why, expected) in [(0xc5, None), (0xc0, Some(Cause::TransferRejected))] {
        let mut world = paired(with_standby());
        world.submits(20, 9, "Hi");
        let first = forwarded(&world.asked().1);
        assert!(world.begun().is_some());
        let mut other = world.taken_over(with_standby());
        other.submits(21, 9, "Hi");
        other.submits(22, 9, "Hi");
        let again = forwarded(&other.asked().1);
        assert_eq!((first[0] & 4, again[0]), (0, first[0] | 4), "TP-RD");
        assert_eq!(first[1..], again[1..]);
        let dialogue = other.begun().unwrap();
        assert_eq!(other.begun(), None, "it is asked once");
        other.end(dialogue, vec![rejected(why)]);
        assert_eq!((other.sent.len(), cause(&other)), (1, expected));
        let count = |metric| other.gateway.metrics().read(metric);
        let is_taken = expected.is_none();
        assert_eq!(count(Metric::Submitted), u64::from(is_taken));
        assert_eq!(count(Metric::SubmissionFailed), u64::from(!is_taken));
    }
    // Of one that nobody asked for before a duplicate is one.
    let mut world = paired(with_standby());
    world.submits(20, 9, "Hi");
    let dialogue = world.begun().unwrap();
    world.end(dialogue, vec![rejected(0xc5)]);
    assert_eq!(cause(&world), Some(Cause::TransferRejected));
}

#[test]
fn what_another_node_had_debited_is_not_debited_again_and_refunded_where_it_is_not_taken() {
    let home = || Home { charges: true, ..Home::default() };
    let settings = || Settings { home: home(), ..with_standby() };
    for is_taken in [true, false] {
        let mut world = paired(settings());
        world.submits(20, 9, "Hi");
        let (ticket, charge, _) = world.charges.remove(0);
        world.step(In::Charged { ticket, charged: Charged::Debited });
        assert!(world.begun().is_some());
        let mut other = world.taken_over(settings());
        other.submits(21, 9, "Hi");
        assert!(other.charges.is_empty(), "it is debited");
        let dialogue = other.begun().unwrap();
        let answer = match is_taken {
            true => result(Operation::MoForwardSm, None),
            false => error(Error::FacilityNotSupported, None),
        };
        other.end(dialogue, vec![answer]);
        let refunds: Vec<_> = other.charges.iter().map(|it| (&it.1, it.2)).collect();
        assert_eq!(refunds, if is_taken { vec![] } else { vec![(&charge, true)] });
    }
}

#[test]
fn what_may_be_tried_again_is_new_to_whoever_serves_next() {
    let mut world = paired(with_standby());
    world.submits(20, 9, "Hi");
    let dialogue = world.begun().unwrap();
    let is_marked = |world: &World| world.store.iter().any(|it| matches!(it.0, Key::Submission(_)));
    assert!(is_marked(&world));
    world.end(dialogue, vec![error(Error::SystemFailure, None)]);
    assert_eq!(cause(&world), Some(Cause::NetworkOutOfOrder));
    assert!(!is_marked(&world));
    let mut other = world.taken_over(with_standby());
    other.submits(21, 9, "Hi");
    assert_eq!(forwarded(&other.asked().1)[0] & 4, 0, "nobody has it");
    // Without a standby nobody is told.
    let mut alone = World::registered();
    alone.submits(20, 9, "Hi");
    assert!(!is_marked(&alone));
}

#[test]
fn what_a_sender_has_used_of_his_limit_counts_on_at_whoever_serves_next() {
    let rate = Rate::new(0.01, Some(3));
    let settings = || Settings { sender_rate: rate, ..with_standby() };
    let mut world = paired(settings());
    for n in 1..=2 {
        world.submits(20 + u64::from(n), n, "Hi");
        let dialogue = world.begun().unwrap();
        world.end(dialogue, vec![result(Operation::MoForwardSm, None)]);
    }
    let mut other = world.taken_over(settings());
    other.submits(23, 3, "Hi");
    assert!(other.begun().is_some(), "the third one of three");
    other.submits(24, 4, "Hi");
    assert_eq!(cause(&other), Some(Cause::Congestion));
    assert_eq!(other.gateway.metrics().read(Metric::Limited), 1);
    other.pass(Duration::from_secs(101));
    other.submits(25, 5, "Hi");
    assert!(other.begun().is_some());
}

#[test]
fn what_the_centre_did_not_answer_is_asked_again_so_that_it_says_whether_it_has_it() {
    let mut world = paired(with_standby());
    world.submits(20, 9, "Hi");
    let dialogue = world.begun().unwrap();
    world.step(In::Network(Indication::Cancel { dialogue, id: 1 }));
    assert_eq!(cause(&world), Some(Cause::TemporaryFailure));
    // Here, and at whoever serves next, whose link does not stand yet.
    world.requests.clear();
    world.submits(21, 9, "Hi");
    assert_eq!(forwarded(&world.asked().1)[0] & 4, 4);
    let mut other = world.taken_over(with_standby());
    other.step(In::Connected(false));
    other.submits(22, 9, "Hi");
    assert_eq!(cause(&other), Some(Cause::NetworkOutOfOrder));
    other.step(In::Connected(true));
    other.submits(23, 9, "Hi");
    assert_eq!(forwarded(&other.asked().1)[0] & 4, 4);
    let dialogue = other.begun().unwrap();
    other.end(dialogue, vec![rejected(0xc5)]);
    assert_eq!(cause(&other), None);
}

#[test]
fn who_does_not_answer_three_times_in_a_row_is_told_until_he_does_or_nobody_asks_him() {
    let mut world = World::registered();
    let silent = |world: &World| -> Vec<(Whom, u32)> {
        world.gateway.silent(world.now).map(|(whom, count)| (whom.clone(), count)).collect()
    };
    let centre = |count| vec![(Whom::Centre(crate::network::CENTRE.to_owned()), count)];
    for (n, expected) in [(1, vec![]), (2, vec![]), (3, centre(3)), (4, centre(4))] {
        world.submits(20 + u64::from(n), n, "Hi");
        let dialogue = world.begun().unwrap();
        world.step(In::Network(Indication::Cancel { dialogue, id: 1 }));
        assert_eq!(silent(&world), expected);
    }
    // What is not delivered says nothing of it, and an error is an answer.
    world.submits(30, 5, "Hi");
    let dialogue = world.begun().unwrap();
    world.step(In::Network(Indication::Notice { dialogue, cause: 0 }));
    assert_eq!(silent(&world), centre(4));
    world.submits(31, 6, "Hi");
    let dialogue = world.begun().unwrap();
    world.end(dialogue, vec![error(Error::SystemFailure, None)]);
    assert_eq!(silent(&world), []);
    // The HLR is told of registrations, and is asked no more for an hour.
    for n in 0..3 {
        world.register(40 + n, 0);
        world.register(50 + n, 3_600);
        while let Some(dialogue) = world.begun() {
            world.step(In::Network(Indication::Cancel { dialogue, id: 1 }));
        }
    }
    assert!(matches!(&silent(&world)[..], [(Whom::Hlr(network), 3..)] if network == "own"));
    world.pass(Duration::from_secs(3_600));
    assert_eq!(silent(&world), []);
    // Nobody is asked without a link.
    let mut world = World::registered();
    world.step(In::Connected(false));
    for n in 0..4 {
        world.register(60 + n, 0);
        world.register(70 + n, 3_600);
    }
    assert_eq!(silent(&world), []);
}
