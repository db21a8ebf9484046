//! What messages of terminals cost: debited before they are taken, refunded where they were not.

use crate::deliveries::{code_of, delivered, reports, routed, sent, taken};
use crate::local::local;
use crate::network::{error, result};
use crate::world::{ALICE, ALICE_NUMBER, World, settings};
use ipsmgw::{Charge, Charged, Home, In, Received, Settings};
use map::{Error, Operation};
use sms::Cause;
use sms::rp::Message;

fn charging(settings: Settings) -> Settings {
    Settings { home: Home { charges: true, ..Home::default() }, ..settings }
}

/// Alice is registered at a gateway that charges.
fn world(settings: Settings) -> World {
    let mut world = World::new(charging(settings));
    world.register(1, 3_600);
    world.answer_all();
    world
}

/// What is to be debited, which is answered so.
fn says(world: &mut World, charged: Charged) -> Charge {
    let (ticket, charge, is_refund) = world.charges.remove(0);
    assert!(!is_refund);
    world.step(In::Charged { ticket, charged });
    charge
}

fn cause(world: &mut World) -> Option<Cause> {
    let sent = world.sent.remove(0);
    let report = Message::read(sent.body.octets()).unwrap();
    world.step(In::Response { number: sent.number, status: 202 });
    report.failure.and_then(|it| it.cause())
}

#[test]
fn a_message_is_debited_before_it_goes_on_and_refunded_once_where_the_centre_refuses_it() {
    for charged in [Charged::Debited, Charged::Free] {
        for is_taken in [true, false] {
            let mut world = world(settings());
            world.submits(20, 9, "Hi");
            assert!(world.requests.is_empty(), "nothing goes on before");
            // What comes once more meanwhile is not debited once more.
            world.submits(21, 9, "Hi");
            assert_eq!(world.charges.len(), 1);
            let charge = says(&mut world, charged);
            assert_eq!((charge.subscriber.digits(), charge.messages), (ALICE_NUMBER, 1));
            assert_eq!(charge.other.as_deref(), Some("447700900999"));
            assert_eq!(charge.imsi.as_ref().map(|it| it.digits()), Some("234150000000123"));
            let (operation, _) = world.asked();
            assert_eq!(operation, Operation::MoForwardSm);
            let dialogue = world.begun().unwrap();
            let answer = match is_taken {
                true => result(operation, None),
                false => error(Error::FacilityNotSupported, None),
            };
            world.end(dialogue, vec![answer]);
            let expected = (!is_taken).then_some(Cause::FacilityRejected);
            assert_eq!(cause(&mut world), expected);
            let refunds = charged == Charged::Debited && !is_taken;
            assert_eq!(world.charges.len(), usize::from(refunds), "{charged:?} {is_taken}");
            if refunds {
                let (_, refunded, is_refund) = world.charges.remove(0);
                assert!(is_refund && refunded == charge);
            }
            // It is answered again, and costs nothing again.
            world.submits(22, 9, "Hi");
            assert_eq!(cause(&mut world), expected);
            assert!(world.charges.is_empty() && world.idle());
        }
    }
}

#[test]
fn what_is_not_paid_for_is_refused_with_its_cause_and_goes_nowhere() {
    for settings in [settings(), local()] {
        for why in [Cause::OperatorBarring, Cause::NotSubscribed, Cause::TemporaryFailure] {
            let mut world = world(settings.clone());
            world.submits(20, 9, "Hi");
            says(&mut world, Charged::Refused(why));
            assert_eq!(cause(&mut world), Some(why));
            assert!(world.requests.is_empty() && world.charges.is_empty() && world.idle());
            assert_eq!(world.gateway.waiting(), (0, 0));
        }
    }
}

#[test]
fn nobody_is_debited_for_what_is_refused_anyway_or_where_nothing_is_charged() {
    let mut world = world(settings());
    let tpdu = crate::network::submit(1, "447700900999", "Hi");
    // A service centre that the network has not.
    let centre = crate::network::number("491710760000");
    world.message(20, None, &Message::from_terminal(1, centre, &tpdu));
    assert_eq!(cause(&mut world), Some(Cause::TransferRejected));
    assert!(world.charges.is_empty());
    let mut free = World::registered();
    free.submits(20, 9, "Hi");
    assert!(free.charges.is_empty() && free.begun().is_some());
}

#[test]
fn a_message_that_the_own_centre_cannot_store_is_refunded_and_an_answer_in_vain_is_nobodys() {
    let mut world = world(local());
    world.submits(20, 9, "Hi");
    world.store_fails = true;
    says(&mut world, Charged::Debited);
    assert_eq!(cause(&mut world), Some(Cause::Congestion));
    assert!(world.charges.remove(0).2, "it is refunded");
    world.store_fails = false;
    world.submits(21, 10, "Hi");
    let (ticket, ..) = world.charges.remove(0);
    world.pass(machine::Duration::from_secs(91));
    assert_eq!(cause(&mut world), Some(Cause::TemporaryFailure));
    world.step(In::Charged { ticket, charged: Charged::Debited });
    assert!(world.charges.is_empty() && world.idle());
}

fn text(world: &mut World, transaction: u64, text: &str) {
    let message = Received {
        to: "tel:+447700900999".into(),
        asserted: vec![ALICE.into()],
        call_id: format!("text-{transaction}"),
        in_reply_to: None,
        content_type: "text/plain".into(),
        body: text.as_bytes().to_vec(),
        trail: 7,
    };
    world.step(In::Message { transaction, message });
}

#[test]
fn a_text_costs_as_many_messages_as_it_needs() {
    let mut world = world(local());
    text(&mut world, 20, &"x".repeat(400));
    assert!(world.responses.is_empty());
    assert_eq!(says(&mut world, Charged::Debited).messages, 3);
    assert_eq!(world.responses.pop(), Some((20, 202)));
    for (why, status) in [(Cause::OperatorBarring, 403), (Cause::TemporaryFailure, 503)] {
        text(&mut world, 21, "Hi");
        assert_eq!(says(&mut world, Charged::Refused(why)).messages, 1);
        assert_eq!(world.responses.pop(), Some((21, status)));
    }
    text(&mut world, 22, "Hi");
    world.store_fails = true;
    says(&mut world, Charged::Debited);
    assert_eq!(world.responses.pop(), Some((22, 503)));
    assert!(world.charges.remove(0).2, "it is refunded");
    assert_eq!(world.gateway.waiting(), (3, 1));
}

/// Alice is registered at a gateway that charges deliveries.
fn charging_deliveries(settings: Settings) -> World {
    let home = Home { charges: true, charges_deliveries: true, ..Home::default() };
    let mut world = World::new(Settings { home, ..settings });
    world.register(1, 3_600);
    world.answer_all();
    world
}

#[test]
fn a_delivery_is_debited_to_its_receiver_before_the_first_way_and_refunded_where_all_fail() {
    for is_delivered in [true, false] {
        let mut world = charging_deliveries(settings());
        let (imsi, _) = routed(&mut world, 1);
        delivered(&mut world, 2, &imsi, "Hi");
        assert!(world.sent.is_empty(), "it is debited before");
        let charge = says(&mut world, Charged::Debited);
        assert_eq!((charge.subscriber.digits(), charge.is_delivery), (ALICE_NUMBER, true));
        assert_eq!(charge.other.as_deref(), Some("447700900999"));
        let (sending, reference, _) = sent(&world);
        taken(&mut world, &sending);
        if is_delivered {
            reports(&mut world, &sending, reference, None);
            assert!(world.charges.is_empty());
        } else {
            reports(&mut world, &sending, reference, Some(Cause::ProtocolError));
            // The other way costs nothing more, and then none is left.
            assert!(world.charges.is_empty());
            let dialogue = world.begun().unwrap();
            world.end(dialogue, vec![error(Error::AbsentSubscriberSm, None)]);
            let (_, refunded, is_refund) = world.charges.remove(0);
            assert!(is_refund && refunded == charge);
        }
        world.ended(2);
        assert!(world.idle());
    }
}

#[test]
fn a_delivery_that_is_not_paid_for_is_refused_and_one_that_nobody_can_charge_passes() {
    for (why, expected) in [
        (Cause::OperatorBarring, Error::FacilityNotSupported),
        (Cause::TemporaryFailure, Error::SystemFailure),
    ] {
        let mut world = charging_deliveries(settings());
        let (imsi, _) = routed(&mut world, 1);
        delivered(&mut world, 2, &imsi, "Hi");
        says(&mut world, Charged::Refused(why));
        assert_eq!(code_of(&world.ended(2)), Some(expected));
        assert!(world.sent.is_empty() && world.charges.is_empty() && world.idle());
    }
}

#[test]
fn of_the_own_centre_each_attempt_that_fails_is_refunded_and_an_operators_text_costs_nothing() {
    let mut world = charging_deliveries(local());
    text_to(&mut world, 20, "tel:+447700900123");
    says(&mut world, Charged::Debited);
    assert_eq!(world.responses.pop(), Some((20, 202)));
    let charge = says(&mut world, Charged::Refused(Cause::OperatorBarring));
    assert!(charge.is_delivery && charge.subscriber.digits() == ALICE_NUMBER);
    assert_eq!(world.gateway.pending().next().map(|it| it.why), Some("it is not paid for"));
    assert!(world.sent.is_empty() && world.charges.is_empty());
    world.step(In::Retry(None));
    says(&mut world, Charged::Debited);
    let number = world.sent.remove(0).number;
    world.step(In::Response { number, status: 480 });
    let (_, refunded, is_refund) = world.charges.remove(0);
    assert!(is_refund && refunded == charge);
    world.step(In::Retry(None));
    says(&mut world, Charged::Free);
    let number = world.sent.remove(0).number;
    world.step(In::Response { number, status: 480 });
    assert!(world.charges.is_empty(), "what was free is not refunded");
    let mut world = charging_deliveries(local());
    let (to, text) = (ipsmgw::Msisdn::of(ALICE_NUMBER).unwrap(), ipsmgw::Written("Hi".into()));
    world.step(In::Operator { ticket: 1, to, from: None, text });
    assert!(world.charges.is_empty() && world.sent.len() == 1);
}

fn text_to(world: &mut World, transaction: u64, to: &str) {
    let message = Received {
        to: to.into(),
        asserted: vec![ALICE.into()],
        call_id: format!("text-{transaction}"),
        in_reply_to: None,
        content_type: "text/plain".into(),
        body: b"Hi".to_vec(),
        trail: 7,
    };
    world.step(In::Message { transaction, message });
}
