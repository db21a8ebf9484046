//! Third-party registration, and who hears of it.

use crate::network::{CENTRE, error, portion, report_invoke, routing_invoke};
use crate::world::{ALICE_NUMBER, World, settings, suppressed};
use ipsmgw::{In, Metric, Msisdn, Register};
use machine::Duration;
use map::{Context, Error, Operation};
use sms::rp::{Kind, Message};
use tcu::Component;

#[test]
fn a_registration_is_stored_before_it_is_answered_and_the_hlr_hears_of_the_first_alone() {
    let mut world = World::new(settings());
    world.register(7, 3600);
    assert_eq!(world.responses, [(7, 200)]);
    assert_eq!(world.store.len(), 1, "its identity says the number");
    assert_eq!(world.asked().0, Operation::AnyTimeModification);
    let dialogue = world.begun().unwrap();
    world.end(dialogue, vec![error(Error::AtmNotAllowed, None)]);
    assert_eq!(world.asked().0, Operation::ReadyForSm, "it is told on whatever the HLR says");
    world.answer_all();
    world.register(8, 3600);
    assert!(world.requests.is_empty() && world.responses == [(8, 200)]);
    world.register(9, 0);
    assert_eq!((world.responses[1], world.store.len()), ((9, 200), 0));
    assert_eq!(world.asked().0, Operation::AnyTimeModification);
    world.answer_all();
    assert!(world.idle());
}

#[test]
fn what_cannot_be_stored_is_refused_and_so_is_who_has_no_number() {
    let mut world = World::new(settings());
    world.store_fails = true;
    world.register(7, 3600);
    let register = Register {
        identity: "sip:alice@example.org".into(),
        s_cscf: "sip:scscf".into(),
        expires_s: 600,
        msisdn: None,
        imsi: None,
        contacts: None,
    };
    world.step(In::Register { transaction: 8, register });
    assert_eq!(world.responses, [(7, 503), (8, 403)]);
    assert!(world.idle() && world.requests.is_empty());
    assert_eq!(world.gateway.metrics().read(Metric::RegistrationRefused), 2);
}

#[test]
fn a_terminal_without_the_feature_is_not_registered_and_takes_nothing_from_another_one() {
    let register = |s_cscf: &str, expires_s| Register {
        identity: crate::world::ALICE.into(),
        s_cscf: s_cscf.into(),
        expires_s,
        msisdn: Msisdn::of(ALICE_NUMBER),
        imsi: None,
        contacts: Some(Vec::new()),
    };
    let mut world = World::new(settings());
    world.step(In::Register { transaction: 8, register: register("sip:scscf", 600) });
    assert_eq!((world.responses[0], world.store.len()), ((8, 200), 0));
    let mut world = World::registered();
    // A second terminal, and the end that an S-CSCF tells which serves no more.
    for (transaction, expires_s) in [(8, 600), (9, 0)] {
        world.step(In::Register { transaction, register: register("sip:scscf", expires_s) });
        assert_eq!((world.responses.pop(), world.store.len()), (Some((transaction, 200)), 1));
    }
    let own = "sip:scscf.ims.example.org:6060";
    world.step(In::Register { transaction: 10, register: register(own, 0) });
    assert_eq!((world.responses.pop(), world.store.len()), (Some((10, 200)), 0));
}

#[test]
fn without_an_hlr_each_service_centre_that_waits_is_alerted_once() {
    let mut world = World::new(suppressed());
    for dialogue in 1..4 {
        let invoke = routing_invoke(ALICE_NUMBER);
        world.peer_begins(dialogue, portion(Context::ShortMsgGateway, 3, vec![invoke]));
        let ended = world.ended(dialogue);
        let code = tcu::Code::Local(Error::AbsentSubscriberSm.code());
        assert!(matches!(&ended[0], Component::Error { code: it, .. } if *it == code));
    }
    world.register(7, 3600);
    let (operation, argument) = world.asked();
    assert_eq!(operation, Operation::AlertServiceCentre);
    let number = crate::network::number(CENTRE);
    assert!(argument.windows(number.octets().len()).any(|it| it == number.octets()));
    let dialogue = world.begun().unwrap();
    assert!(world.begun().is_none(), "one alert however many messages wait");
    world.end(dialogue, vec![crate::network::result(operation, None)]);
    assert!(world.idle());
}

#[test]
fn a_terminal_that_had_no_memory_is_waited_for_until_it_says_that_it_has_some() {
    let mut world = World::new(suppressed());
    world.register(5, 3600);
    let invoke = routing_invoke(ALICE_NUMBER);
    world.peer_begins(1, portion(Context::ShortMsgGateway, 3, vec![invoke]));
    assert!(matches!(world.ended(1)[0], Component::Result { .. }), "a message may be delivered");
    let invoke = report_invoke(ALICE_NUMBER, 0);
    world.peer_begins(2, portion(Context::ShortMsgGateway, 3, vec![invoke]));
    assert!(matches!(world.ended(2)[0], Component::Result { .. }));
    world.register(6, 0);
    world.register(7, 3600);
    assert!(world.requests.is_empty(), "it may still have none");
    world.message(8, None, &Message::new(Kind::MemoryAvailable, 5));
    assert_eq!(world.responses, [(5, 200), (6, 200), (7, 200), (8, 202)]);
    assert_eq!(world.asked().0, Operation::AlertServiceCentre);
    let ack = Message::read(world.sent[0].body.octets()).unwrap();
    assert_eq!((ack.kind, ack.reference), (Kind::AckToTerminal, 5));
    assert_eq!(world.sent[0].in_reply_to.as_deref(), Some("call-8"));
    world.answer_all();
    world.pass(Duration::from_secs(100));
    assert!(world.idle());
}

#[test]
fn the_hlr_hears_of_memory_and_its_refusal_is_told_to_the_terminal() {
    let mut world = World::registered();
    world.message(8, None, &Message::new(Kind::MemoryAvailable, 5));
    assert_eq!(world.asked().0, Operation::ReadyForSm);
    let dialogue = world.begun().unwrap();
    world.end(dialogue, vec![error(Error::UnknownSubscriber, None)]);
    let answer = Message::read(world.sent[0].body.octets()).unwrap();
    assert_eq!(answer.kind, Kind::ErrorToTerminal);
    assert_eq!(answer.failure.unwrap().cause(), Some(sms::Cause::UnknownSubscriber));
}

#[test]
fn an_identity_that_is_no_number_has_a_row_of_its_own_as_long_as_its_subscriber() {
    let mut world = World::new(settings());
    let register = |expires_s| Register {
        identity: "sip:alice@ims.example.org".into(),
        s_cscf: "sip:scscf.ims.example.org:6060".into(),
        expires_s,
        msisdn: Msisdn::of(ALICE_NUMBER),
        imsi: None,
        contacts: Some(vec!["sip:alice@192.0.2.1".into()]),
    };
    world.step(In::Register { transaction: 1, register: register(600) });
    assert_eq!((world.responses.pop(), world.store.len()), (Some((1, 200)), 2));
    world.answer_all();
    world.step(In::Register { transaction: 2, register: register(0) });
    assert_eq!((world.responses.pop(), world.store.len()), (Some((2, 200)), 0));
}
