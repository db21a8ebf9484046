//! What peers and terminals may take of the gateway, and what they may not.

use crate::network::{
    CENTRE, GATEWAY, MSC, address, deliver, deliver_invoke, number, portion, report_invoke, result,
    routing_by, routing_invoke, routing_of, routing_read, routing_value,
};
use crate::world::{ALICE, ALICE_IMSI, ALICE_NUMBER, World, network, settings, suppressed};
use ipsmgw::{Imsi, In, Metric, Network, Received, Register, Settings, Shares};
use machine::Duration;
use machine::bucket::Rate;
use map::{Context, Error, Operation};
use sms::Cause;
use sms::rp::{Kind, Message};
use tcap::codec::{InvokeProblem, Problem};
use tcu::{Code, Component, Indication, Portion, Request};

fn code(components: &[Component]) -> Option<Error> {
    match components.first() {
        Some(Component::Error { code: Code::Local(code), .. }) => Error::of(*code),
        _ => None,
    }
}

/// A service centre asks for a number; whoever the gateway asks answers.
fn asks(world: &mut World, dialogue: u64, msisdn: &str) -> Vec<Component> {
    let invoke = routing_invoke(msisdn);
    world.peer_begins(dialogue, portion(Context::ShortMsgGateway, 3, vec![invoke]));
    if let Some(asked) = world.begun() {
        let value = routing_value(&Imsi::of(ALICE_IMSI).unwrap().tbcd(), MSC);
        world.end(asked, vec![result(Operation::SendRoutingInfoForSm, Some(value))]);
    }
    world.ended(dialogue)
}

fn imsi(components: &[Component]) -> Vec<u8> {
    match components.first() {
        Some(Component::Result { result: Some((_, Some(value))), .. }) => routing_read(value).0,
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_asks_on_and_on_for_one_subscriber_is_given_the_same_and_takes_one_row() {
    let mut world = World::registered();
    let before = world.store.len();
    let given: Vec<_> = (1..20).map(|n| imsi(&asks(&mut world, n, ALICE_NUMBER))).collect();
    assert!(given.iter().all(|it| *it == given[0]));
    assert_eq!(world.store.len(), before + 1);
    // Those that ask at once, too.
    for dialogue in 100..110 {
        let invoke = routing_invoke(ALICE_NUMBER);
        world.peer_begins(dialogue, portion(Context::ShortMsgGateway, 3, vec![invoke]));
    }
    while let Some(asked) = world.begun() {
        let value = routing_value(&Imsi::of(ALICE_IMSI).unwrap().tbcd(), MSC);
        world.end(asked, vec![result(Operation::SendRoutingInfoForSm, Some(value))]);
    }
    assert_eq!(world.store.len(), before + 1);
}

#[test]
fn correlations_leave_room_to_registrations() {
    let shares = Shares { correlations_max: 0, ..settings().shares };
    let mut world = World::new(Settings { shares, ..settings() });
    world.register(1, 3600);
    world.answer_all();
    assert_eq!(code(&asks(&mut world, 1, ALICE_NUMBER)), Some(Error::SystemFailure));
    assert_eq!(world.gateway.metrics().read(Metric::SharesRefused), 1);
    world.register(2, 3600);
    assert_eq!(world.responses, [(2, 200)]);
}

#[test]
fn nobody_waits_for_numbers_of_others_nor_for_more_than_a_centre_may() {
    let shares = Shares { waiting_rate: Rate::new(0.001, Some(2)), ..settings().shares };
    let mut world = World::new(Settings { shares, ..suppressed() });
    assert_eq!(code(&asks(&mut world, 1, "331234")), Some(Error::UnknownSubscriber));
    let invoke = report_invoke("331234", 0);
    world.peer_begins(2, portion(Context::ShortMsgGateway, 3, vec![invoke]));
    assert_eq!(code(&world.ended(2)), Some(Error::UnknownSubscriber));
    assert!(world.store.is_empty());
    for n in 0..4 {
        let ended = asks(&mut world, 10 + n, &format!("44770090000{n}"));
        assert_eq!(code(&ended), Some(Error::AbsentSubscriberSm), "it is told all the same");
    }
    assert_eq!(world.store.len(), 2);
    let invoke = report_invoke("447700900007", 1);
    world.peer_begins(20, portion(Context::ShortMsgGateway, 3, vec![invoke]));
    assert_eq!(code(&world.ended(20)), Some(Error::MessageWaitingListFull));
    asks(&mut world, 30, "447700900001");
    assert_eq!(world.gateway.metrics().read(Metric::SharesRefused), 3, "who waits already may");
}

#[test]
fn a_terminal_sends_to_the_centres_of_its_network_alone() {
    let elsewhere = Network { centres: vec!["4479".into()], ..network() };
    let mut world = World::new(Settings { networks: vec![elsewhere], ..settings() });
    world.register(1, 3600);
    world.answer_all();
    world.submits(20, 1, "Hi");
    assert!(world.begun().is_none());
    let report = Message::read(world.sent[0].body.octets()).unwrap();
    assert_eq!(report.failure.and_then(|it| it.cause()), Some(Cause::TransferRejected));
    assert_eq!(world.gateway.metrics().read(Metric::CentreRefused), 1);
    // Of several networks the one that names most of the number has it.
    let near = Network { numbers: vec!["447700900".into()], ..network() };
    let far = Network { numbers: vec!["44".into()], centres: Vec::new(), ..network() };
    let mut world = World::new(Settings { networks: vec![far, near], ..settings() });
    world.register(1, 3600);
    world.answer_all();
    world.submits(20, 1, "Hi");
    assert!(world.begun().is_some());
}

#[test]
fn who_is_of_no_network_is_neither_registered_nor_heard() {
    let none = Network { numbers: vec!["4915".into()], ..network() };
    let mut world = World::new(Settings { networks: vec![none], ..settings() });
    world.register(1, 3600);
    assert_eq!((world.responses.pop(), world.store.len()), (Some((1, 403)), 0));
    world.submits(20, 1, "Hi");
    let report = Message::read(world.sent[0].body.octets()).unwrap();
    assert_eq!(report.failure.and_then(|it| it.cause()), Some(Cause::UnidentifiedSubscriber));
}

#[test]
fn an_alert_without_room_leaves_once_there_is_some() {
    let mut world = World::new(Settings { flows_max: 1, ..suppressed() });
    for centre in [CENTRE, "447800000010", "447800000011"] {
        let invoke = routing_of(ALICE_NUMBER, centre);
        world.peer_begins(1, portion(Context::ShortMsgGateway, 3, vec![invoke]));
        assert_eq!(code(&world.ended(1)), Some(Error::AbsentSubscriberSm));
    }
    world.register(2, 3600);
    for _ in 0..3 {
        assert_eq!(world.asked().0, Operation::AlertServiceCentre);
        let dialogue = world.begun().unwrap();
        assert!(world.begun().is_none(), "there is room for one");
        world.end(dialogue, vec![result(Operation::AlertServiceCentre, None)]);
    }
    assert!(world.idle());
    assert_eq!(world.gateway.metrics().read(Metric::Alerts), 3);
}

#[test]
fn a_peer_that_delivered_nothing_does_not_say_that_a_terminal_is_full() {
    let mut world = World::new(suppressed());
    let invoke = report_invoke(ALICE_NUMBER, 0);
    world.peer_begins(1, portion(Context::ShortMsgGateway, 3, vec![invoke]));
    assert!(matches!(world.ended(1)[0], Component::Result { .. }));
    world.register(2, 3600);
    assert_eq!(world.asked().0, Operation::AlertServiceCentre, "it is alerted at once");
}

#[test]
fn further_messages_come_in_the_dialogue_of_the_first() {
    let mut world = World::registered();
    let given = imsi(&asks(&mut world, 1, ALICE_NUMBER));
    let begin = |text: &str, has_more| {
        let Component::Invoke { id, linked, code, class, time_ms, .. } =
            deliver_invoke(&given, &deliver("447700900999", text), 3)
        else {
            panic!()
        };
        let parameter = Some(crate::network::mt_argument(&given, text, has_more));
        Component::Invoke { id, linked, code, parameter, class, time_ms }
    };
    let first = portion(Context::ShortMsgMtRelay, 3, vec![begin("one", true)]);
    world.peer_begins(2, first);
    let mut calls = std::collections::BTreeSet::new();
    for (n, text) in ["one", "two", "three"].into_iter().enumerate() {
        let sending = world.sent.last().unwrap().clone();
        assert!(calls.insert(sending.call_id.clone()), "each has a Call-ID of its own");
        let message = Message::read(sending.body.octets()).unwrap();
        let said = crate::network::text_of(sms::Kind::Deliver, message.user_data.unwrap());
        assert_eq!(said, text);
        let data = Message::new(Kind::DataToTerminal, message.reference);
        let call_id = format!("{}@gw", sending.call_id);
        world.message(90 + n as u64, Some(&call_id), &data.answer(None, None));
        if n == 2 {
            break;
        }
        let Some(Request::Continue { dialogue: 2, portion, .. }) = world.requests.pop() else {
            panic!("the dialogue goes on")
        };
        assert!(matches!(portion.components[..], [Component::Result { .. }]));
        let next = Portion::of(vec![begin(["two", "three"][n], n == 0)]);
        world.step(In::Network(Indication::Continue { dialogue: 2, portion: next }));
    }
    assert!(matches!(world.ended(2)[0], Component::Result { .. }));
    assert!(world.idle());
}

#[test]
fn who_asks_for_others_in_many_names_leaves_as_much_room_as_he_takes() {
    let shares = Shares { correlations_max: 4, ..settings().shares };
    let mut world = World::new(Settings { shares, ..suppressed() });
    world.register(1, 3600);
    let mut asks = |dialogue, title: &str, centre: &str| {
        let invoke = vec![routing_of(ALICE_NUMBER, centre)];
        world.title_begins(dialogue, title, portion(Context::ShortMsgGateway, 3, invoke));
        code(&world.ended(dialogue))
    };
    for n in 0..5 {
        let refused = (n > 1).then_some(Error::SystemFailure);
        assert_eq!(asks(n, CENTRE, &format!("44780000010{n}")), refused, "{n}");
    }
    assert_eq!(asks(9, "447800000008", CENTRE), None, "another one has room");
    assert_eq!(asks(10, CENTRE, "447800000100"), None, "what it has it is given again");
    world.pass(Duration::from_secs(601));
    let invoke = vec![routing_of(ALICE_NUMBER, "447800000103")];
    world.peer_begins(20, portion(Context::ShortMsgGateway, 3, invoke));
    assert_eq!(code(&world.ended(20)), None, "their time is over");
}

#[test]
fn who_has_many_centres_wait_has_the_rate_of_one() {
    let shares = Shares { waiting_rate: Rate::new(0.001, Some(2)), ..settings().shares };
    let mut world = World::new(Settings { shares, ..suppressed() });
    for n in 0..4 {
        let invoke = vec![routing_of(&format!("44770090000{n}"), &format!("44780000010{n}"))];
        world.peer_begins(n, portion(Context::ShortMsgGateway, 3, invoke));
        assert_eq!(code(&world.ended(n)), Some(Error::AbsentSubscriberSm));
    }
    assert_eq!(world.store.len(), 2);
}

#[test]
fn how_often_a_centre_began_to_wait_counts_on_at_whoever_serves_next() {
    let shares = Shares { waiting_rate: Rate::new(0.001, Some(3)), ..settings().shares };
    let settings = Settings { shares, has_standby: true, ..suppressed() };
    let mut world = World::new(settings.clone());
    let waits = |world: &World| {
        let all = world.store.iter();
        all.filter(|it| matches!(it.0, ipsmgw::store::Key::Waiting(_))).count()
    };
    for n in 0..2 {
        asks(&mut world, n, &format!("44770090000{n}"));
    }
    let mut other = world.taken_over(settings);
    for n in 2..5 {
        asks(&mut other, n, &format!("44770090000{n}"));
    }
    assert_eq!(waits(&other), 3);
}

#[test]
fn a_centre_whose_number_is_none_of_the_world_is_given_no_correlation() {
    let mut world = World::new(suppressed());
    world.register(1, 3600);
    let before = world.store.len();
    // A national number.
    let invoke = routing_by(ALICE_NUMBER, &[0xa1, 0x77, 0x00]);
    world.peer_begins(1, portion(Context::ShortMsgGateway, 3, vec![invoke]));
    assert_eq!(code(&world.ended(1)), Some(Error::UnexpectedDataValue));
    assert_eq!(world.store.len(), before);
    let none = ipsmgw::store::Correlation {
        msisdn: ipsmgw::Msisdn::of(ALICE_NUMBER).unwrap(),
        centre: None,
        imsi: None,
        nodes: Vec::new(),
        asker: None,
    };
    let national = sms::RpAddress::of(&[0xa1, 0x77, 0x00]).unwrap();
    assert!(!none.is_of(national) && !none.is_of(number(CENTRE)));
}

#[test]
fn an_operation_is_that_of_its_context() {
    let mut world = World::registered();
    let cases = [
        (Context::ShortMsgMtRelay, routing_invoke(ALICE_NUMBER)),
        (Context::ShortMsgGateway, deliver_invoke(&[0x32], &deliver("447700900999", "Hi"), 3)),
        (Context::ShortMsgMtRelay, deliver_invoke(&[0x32], &deliver("447700900999", "Hi"), 2)),
    ];
    for (dialogue, (context, invoke)) in (1..).zip(cases) {
        world.peer_begins(dialogue, portion(context, 3, vec![invoke]));
        let [Component::Reject { problem, .. }] = world.ended(dialogue)[..] else { panic!() };
        assert_eq!(problem, Problem::Invoke(InvokeProblem::UnrecognizedOperation));
    }
    assert!(world.idle());
}

#[test]
fn what_is_said_of_one_number_is_done_in_its_order() {
    let mut world = World::new(settings());
    world.holds_store = true;
    world.register(1, 3600);
    world.register(2, 0);
    world.register(3, 3600);
    world.release_store();
    world.holds_store = false;
    assert_eq!(world.responses, [(1, 200), (2, 200), (3, 200)]);
    assert_eq!(world.store.len(), 1, "the last one stands");
}

#[test]
fn an_identity_is_one_however_it_is_written() {
    let mut world = World::new(settings());
    let register = Register {
        identity: "sip:Alice@IMS.example.org;user=phone".into(),
        s_cscf: "sip:scscf".into(),
        expires_s: 600,
        msisdn: ipsmgw::Msisdn::of(ALICE_NUMBER),
        imsi: None,
        contacts: None,
    };
    world.step(In::Register { transaction: 1, register });
    world.answer_all();
    let tpdu = crate::network::submit(1, "447700900999", "Hi");
    let message = Received {
        to: "tel:+447700000099".into(),
        asserted: vec!["sip:Alice@ims.EXAMPLE.org".into()],
        call_id: "call".into(),
        in_reply_to: None,
        content_type: sms::rp::CONTENT_TYPE.into(),
        body: crate::network::rp(&Message::from_terminal(1, number(CENTRE), &tpdu)),
        trail: 7,
    };
    world.step(In::Message { transaction: 2, message });
    assert_eq!(world.asked().0, Operation::MoForwardSm, "it is known whose it is");
}

#[test]
fn logs_have_neither_texts_nor_identities() {
    let message = Received {
        to: "sip:secret@x".into(),
        asserted: vec![ALICE.into()],
        call_id: "call".into(),
        in_reply_to: None,
        content_type: "text/plain".into(),
        body: b"secret".to_vec(),
        trail: 7,
    };
    let text = ipsmgw::Written("secret".into());
    let to = ipsmgw::Msisdn::of(ALICE_NUMBER).unwrap();
    let all = [
        format!("{:?}", In::Message { transaction: 1, message }),
        format!("{:?}", In::Operator { ticket: 1, to, from: None, text }),
        format!("{:?}", ipsmgw::Body::Text { from: "secret".into(), text: "secret".into() }),
        format!("{:?}", ipsmgw::Body::Rp(b"secret".to_vec())),
        format!("{:?}", ipsmgw::HomeQuestion::Number("sip:secret@x".into())),
    ];
    let numbers = format!("{:?}", b"secret");
    for it in all {
        assert!(!it.contains("secret") && !it.contains("900123") && !it.contains(&numbers), "{it}");
    }
    // Nobody stands for the gateway itself.
    let mut world = World::registered();
    let invoke = routing_invoke(ALICE_NUMBER);
    let portion = portion(Context::ShortMsgGateway, 3, vec![invoke]);
    let (called, calling) = (address(GATEWAY, 8), address(GATEWAY, 8));
    let begin = Indication::Begin { dialogue: 4, called, calling, is_again: false, portion };
    world.step(In::Network(begin));
    assert!(matches!(world.requests.last(), Some(Request::UAbort { dialogue: 4, .. })));
}

#[test]
fn registrations_are_shed_before_messages_of_terminals_and_those_before_what_the_network_asks() {
    let mut world = World::new(Settings { flows_max: 16, ..settings() });
    // Whatever begins stays under way.
    world.holds_store = true;
    let registers = |world: &mut World, n: u64| {
        let register = Register {
            identity: format!("sip:+4477009001{n:02}@ims.example.org"),
            s_cscf: "sip:scscf.ims.example.org:6060".into(),
            expires_s: 600,
            msisdn: ipsmgw::Msisdn::of(&format!("4477009001{n:02}")),
            imsi: None,
            contacts: None,
        };
        world.step(In::Register { transaction: n, register });
        world.responses.pop() != Some((n, 503))
    };
    let submits = |world: &mut World, n: u64| {
        let tpdu = crate::network::submit(1, "447700900999", "Hi");
        let message = Received {
            to: "tel:+447700000099".into(),
            asserted: vec![format!("sip:+4477009002{n:02}@ims.example.org")],
            call_id: format!("call-{n}"),
            in_reply_to: None,
            content_type: sms::rp::CONTENT_TYPE.into(),
            body: crate::network::rp(&Message::from_terminal(1, number(CENTRE), &tpdu)),
            trail: 7,
        };
        world.step(In::Message { transaction: n, message });
        world.responses.pop() != Some((n, 503))
    };
    let asks = |world: &mut World, n: u64| {
        let invoke = vec![routing_invoke(ALICE_NUMBER)];
        let title = format!("4478000001{n:02}");
        world.title_begins(n, &title, portion(Context::ShortMsgGateway, 3, invoke));
        !matches!(world.requests.pop(), Some(Request::UAbort { .. }))
    };
    let how_many = |world: &mut World, takes: &dyn Fn(&mut World, u64) -> bool, from: u64| {
        (from..from + 20).take_while(|n| takes(world, *n)).count()
    };
    assert_eq!(how_many(&mut world, &registers, 0), 10, "five eighths");
    assert_eq!(how_many(&mut world, &submits, 30), 2, "three quarters");
    assert_eq!(how_many(&mut world, &asks, 60), 4, "all of them");
    assert_eq!(world.gateway.under_way().0, 16);
    assert_eq!(world.gateway.metrics().read(Metric::Overload), 3);
}
