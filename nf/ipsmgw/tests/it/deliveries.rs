//! Messages to terminals: routing information, over IP, by circuits, one after the other.

use crate::network::{
    CENTRE, GATEWAY, MSC, deliver, deliver_invoke, error, forwarded, number, portion, result,
    routing_invoke, routing_read, routing_value, text_of,
};
use crate::world::{ALICE, ALICE_IMSI, ALICE_NUMBER, World, network, settings, suppressed};
use ipsmgw::store::{Key, Row};
use ipsmgw::{Imsi, In, Metric, Network, Route, Sending, Settings, Way};
use machine::Duration;
use map::{Context, Error, Operation};
use sms::Cause;
use sms::rp::{Failure, Kind, Message};
use tcap::codec::{InvokeProblem, Problem};
use tcu::{Code, Component, Indication, Portion, Request};

/// Routing information is asked for; the HLR knows an MSC, if it is asked.
pub fn routed(world: &mut World, dialogue: u64) -> (Vec<u8>, String) {
    let invoke = routing_invoke(ALICE_NUMBER);
    world.peer_begins(dialogue, portion(Context::ShortMsgGateway, 3, vec![invoke]));
    if let Some(asked) = world.begun() {
        let imsi = Imsi::of(ALICE_IMSI).unwrap().tbcd();
        let value = routing_value(&imsi, MSC);
        world.end(asked, vec![result(Operation::SendRoutingInfoForSm, Some(value))]);
    }
    match &world.ended(dialogue)[0] {
        Component::Result { result: Some((_, Some(value))), .. } => routing_read(value),
        other => panic!("{other:?}"),
    }
}

pub fn delivered(world: &mut World, dialogue: u64, imsi: &[u8], text: &str) {
    let invoke = deliver_invoke(imsi, &deliver("447700900999", text), 3);
    world.peer_begins(dialogue, portion(Context::ShortMsgMtRelay, 3, vec![invoke]));
}

/// The last MESSAGE, and the RP message in it.
pub fn sent(world: &World) -> (Sending, u8, String) {
    let sending = world.sent.last().unwrap().clone();
    let message = Message::read(sending.body.octets()).unwrap();
    assert_eq!((message.kind, message.originator), (Kind::DataToTerminal, number(CENTRE)));
    let text = text_of(sms::Kind::Deliver, message.user_data.unwrap());
    let reference = message.reference;
    (sending, reference, text)
}

pub fn taken(world: &mut World, sending: &Sending) {
    world.step(In::Response { number: sending.number, status: 202 });
}

/// Alice reports.
pub fn reports(world: &mut World, sending: &Sending, reference: u8, cause: Option<Cause>) {
    let data = Message::new(Kind::DataToTerminal, reference);
    let call_id = format!("{}@gw.example.org", sending.call_id);
    world.message(90, Some(&call_id), &data.answer(cause.map(Failure::of), Some(&[0, 0])));
}

pub fn code_of(components: &[Component]) -> Option<Error> {
    match &components[0] {
        Component::Error { code: Code::Local(code), .. } => Error::of(*code),
        _ => None,
    }
}

#[test]
fn a_message_goes_over_ip_to_the_serving_cscf_and_its_report_ends_the_dialogue() {
    let mut world = World::registered();
    let (imsi, node) = routed(&mut world, 1);
    assert_eq!(node, GATEWAY);
    assert_ne!(imsi, Imsi::of(ALICE_IMSI).unwrap().tbcd(), "it correlates, and names nobody");
    delivered(&mut world, 2, &imsi, "Hi");
    let (sending, reference, text) = sent(&world);
    assert_eq!((&*text, &*sending.to), ("Hi", ALICE));
    assert_eq!(sending.route, Route::Serving("sip:scscf.ims.example.org:6060".into()));
    taken(&mut world, &sending);
    assert!(world.requests.is_empty(), "the report is to come");
    reports(&mut world, &sending, reference, None);
    assert_eq!(world.responses.last(), Some(&(90, 202)));
    assert!(matches!(world.ended(2)[0], Component::Result { result: Some(_), .. }));
    assert_eq!(world.records[0].way, Some(Way::PacketSwitched));
    assert!(world.idle());
}

#[test]
fn a_report_before_the_response_counts_and_one_of_another_reference_or_forged_does_not() {
    let mut world = World::registered();
    let (imsi, _) = routed(&mut world, 1);
    delivered(&mut world, 2, &imsi, "Hi");
    let (sending, reference, _) = sent(&world);
    reports(&mut world, &sending, reference.wrapping_add(1), None);
    let mut forged = sending.clone();
    forged.call_id.replace_range(33.., "g");
    reports(&mut world, &forged, reference, None);
    assert!(!world.idle() && world.requests.is_empty());
    reports(&mut world, &sending, reference, None);
    assert!(matches!(world.ended(2)[0], Component::Result { .. }));
    reports(&mut world, &sending, reference, None);
    assert!(world.idle(), "the second changes nothing");
}

#[test]
fn the_next_way_is_tried_after_a_sip_error_silence_or_a_cause_that_is_not_final() {
    for fault in 0..4 {
        let mut world = World::registered();
        let (imsi, _) = routed(&mut world, 1);
        delivered(&mut world, 2, &imsi, "Hi");
        let (sending, reference, _) = sent(&world);
        match fault {
            0 => world.step(In::Response { number: sending.number, status: 480 }),
            1 => world.step(In::Response { number: sending.number, status: 408 }),
            2 => world.pass(Duration::from_secs(41)),
            _ => reports(&mut world, &sending, reference, Some(Cause::ProtocolError)),
        }
        let (operation, argument) = world.asked();
        assert_eq!(operation, Operation::MtForwardSm, "{fault}");
        assert_eq!(text_of(sms::Kind::Deliver, &forwarded(&argument)), "Hi");
        let dialogue = world.begun().unwrap();
        world.end(dialogue, vec![result(operation, None)]);
        assert!(matches!(world.ended(2)[0], Component::Result { .. }));
        assert_eq!(world.records[0].way, Some(Way::CircuitSwitched));
        assert!(world.idle());
    }
}

#[test]
fn a_full_memory_is_final_and_the_service_centre_hears_it() {
    let mut world = World::registered();
    let (imsi, _) = routed(&mut world, 1);
    delivered(&mut world, 2, &imsi, "Hi");
    let (sending, reference, _) = sent(&world);
    reports(&mut world, &sending, reference, Some(Cause::MemoryCapacityExceeded));
    assert_eq!(world.begun(), None, "no other way is tried");
    let ended = world.ended(2);
    assert_eq!(code_of(&ended), Some(Error::SmDeliveryFailure));
    assert_eq!(world.records[0].cause, Some(22));
}

#[test]
fn circuits_come_first_where_it_is_so_configured_and_ip_after_them() {
    let ways = vec![Way::CircuitSwitched, Way::PacketSwitched];
    let mut world =
        World::new(Settings { networks: vec![Network { ways, ..network() }], ..settings() });
    world.register(1, 3600);
    world.answer_all();
    let (imsi, _) = routed(&mut world, 1);
    delivered(&mut world, 2, &imsi, "Hi");
    assert!(world.sent.is_empty());
    let dialogue = world.begun().unwrap();
    world.end(dialogue, vec![error(Error::AbsentSubscriberSm, None)]);
    let (sending, reference, _) = sent(&world);
    taken(&mut world, &sending);
    reports(&mut world, &sending, reference, None);
    assert!(matches!(world.ended(2)[0], Component::Result { .. }));
}

#[test]
fn when_all_ways_fail_the_service_centre_is_told_why() {
    let mut world = World::registered();
    let (imsi, _) = routed(&mut world, 1);
    delivered(&mut world, 2, &imsi, "Hi");
    let (sending, ..) = sent(&world);
    world.step(In::Response { number: sending.number, status: 480 });
    let dialogue = world.begun().unwrap();
    world.end(dialogue, vec![error(Error::AbsentSubscriberSm, None)]);
    assert_eq!(code_of(&world.ended(2)), Some(Error::AbsentSubscriberSm));
    assert!(world.idle());
    assert_eq!(world.gateway.metrics().read(Metric::DeliveryFailed), 1);
}

#[test]
fn what_was_never_given_out_is_refused_and_so_is_who_may_not_ask() {
    let mut world = World::registered();
    let unknown = Imsi::of("234159999999999").unwrap().tbcd();
    delivered(&mut world, 2, &unknown, "Hi");
    assert_eq!(code_of(&world.ended(2)), Some(Error::UnidentifiedSubscriber));
    let own = Imsi::of(ALICE_IMSI).unwrap().tbcd();
    delivered(&mut world, 3, &own, "Hi");
    assert_eq!(code_of(&world.ended(3)), Some(Error::UnidentifiedSubscriber));
    assert_eq!(world.gateway.metrics().read(Metric::Uncorrelated), 2);
    let invoke = routing_invoke(ALICE_NUMBER);
    let portion = portion(Context::ShortMsgGateway, 3, vec![invoke]);
    let (called, calling) =
        (crate::network::address(GATEWAY, 8), crate::network::address("331234", 8));
    let begin = Indication::Begin { dialogue: 4, called, calling, is_again: false, portion };
    world.step(In::Network(begin));
    assert!(matches!(world.requests.last(), Some(Request::UAbort { dialogue: 4, .. })));
}

#[test]
fn contexts_and_arguments_that_are_none_of_ours_are_refused_as_map_says() {
    let mut world = World::registered();
    let oid = Context::ShortMsgMtRelay.oid(4);
    let context = Some(bytes::Bytes::copy_from_slice(&oid));
    world.peer_begins(2, Portion { context, ..Portion::default() });
    let Some(Request::UAbort { portion: refusal, .. }) = world.requests.pop() else { panic!() };
    assert_eq!(refusal.context.as_deref(), Some(&Context::ShortMsgMtRelay.oid(3)[..]));
    let invoke = Component::Invoke {
        id: 1,
        linked: None,
        code: Code::Local(44),
        parameter: Some(bytes::Bytes::from_static(&[0x30, 1, 0])),
        class: None,
        time_ms: None,
    };
    world.peer_begins(3, portion(Context::ShortMsgMtRelay, 3, vec![invoke]));
    let mistyped = Problem::Invoke(InvokeProblem::MistypedParameter);
    assert!(matches!(world.ended(3)[0], Component::Reject { problem, .. } if problem == mistyped));
    let (imsi, _) = routed(&mut world, 4);
    let invoke = deliver_invoke(&imsi, &[0, 1], 3);
    world.peer_begins(5, portion(Context::ShortMsgMtRelay, 3, vec![invoke]));
    assert_eq!(code_of(&world.ended(5)), Some(Error::UnexpectedDataValue));
    assert!(world.idle());
}

#[test]
fn a_message_after_an_empty_begin_is_delivered_and_versions_below_three_have_no_result() {
    let mut world = World::registered();
    let (imsi, _) = routed(&mut world, 1);
    world.peer_begins(2, portion(Context::ShortMsgMtRelay, 2, Vec::new()));
    assert!(matches!(world.requests.pop(), Some(Request::Continue { dialogue: 2, .. })));
    let long = "a".repeat(160);
    let invoke = deliver_invoke(&imsi, &deliver("447700900999", &long), 2);
    let portion = Portion::of(vec![invoke]);
    world.step(In::Network(Indication::Continue { dialogue: 2, portion }));
    let (sending, reference, text) = sent(&world);
    assert_eq!(text, long);
    reports(&mut world, &sending, reference, None);
    assert!(matches!(world.ended(2)[0], Component::Result { result: None, .. }));
    world.peer_begins(3, crate::network::portion(Context::ShortMsgMtRelay, 3, Vec::new()));
    world.pass(Duration::from_secs(100));
    assert!(matches!(world.requests.last(), Some(Request::UAbort { dialogue: 3, .. })));
    assert!(world.idle());
}

#[test]
fn messages_of_one_sender_follow_each_other_and_a_lost_one_lets_the_next_go() {
    let mut world = World::registered();
    let (imsi, _) = routed(&mut world, 1);
    for (dialogue, text) in [(2, "one"), (3, "two"), (4, "three")] {
        delivered(&mut world, dialogue, &imsi, text);
    }
    assert_eq!((world.sent.len(), sent(&world).2), (1, "one".into()));
    let other = deliver_invoke(&imsi, &deliver("447700900998", "other"), 3);
    world.peer_begins(5, portion(Context::ShortMsgMtRelay, 3, vec![other]));
    let (others, reference, text) = sent(&world);
    assert_eq!((world.sent.len(), &*text), (2, "other"));
    let first = world.sent[0].clone();
    let first_reference = Message::read(first.body.octets()).unwrap().reference;
    assert_ne!(first_reference, reference, "both are under way");
    let lost = Indication::PAbort { dialogue: 2, cause: tcap::PAbort::Cause(0) };
    world.step(In::Network(lost));
    assert_eq!(sent(&world).2, "two");
    let (second, second_reference, _) = sent(&world);
    reports(&mut world, &second, second_reference, None);
    assert_eq!(sent(&world).2, "three");
    let (third, third_reference, _) = sent(&world);
    reports(&mut world, &third, third_reference, None);
    reports(&mut world, &others, reference, None);
    assert!(world.idle());
}

#[test]
fn whom_the_gateway_does_not_know_is_where_the_hlr_says() {
    let mut world = World::new(settings());
    let (imsi, node) = routed(&mut world, 1);
    assert_eq!((imsi, &*node), (Imsi::of(ALICE_IMSI).unwrap().tbcd(), MSC));
    let invoke = routing_invoke(ALICE_NUMBER);
    world.peer_begins(2, portion(Context::ShortMsgGateway, 3, vec![invoke]));
    let asked = world.begun().unwrap();
    world.end(asked, vec![error(Error::UnknownSubscriber, None)]);
    assert_eq!(code_of(&world.ended(2)), Some(Error::UnknownSubscriber));
    let mut world = World::registered();
    let invoke = routing_invoke(ALICE_NUMBER);
    world.peer_begins(3, portion(Context::ShortMsgGateway, 3, vec![invoke]));
    let asked = world.begun().unwrap();
    world.end(asked, vec![error(Error::AbsentSubscriberSm, None)]);
    let Component::Result { result: Some((_, Some(value))), .. } = &world.ended(3)[0] else {
        panic!("over IP the subscriber is there")
    };
    assert_eq!(routing_read(value).1, GATEWAY);
}

#[test]
fn without_an_hlr_the_gateway_alone_knows_and_over_ip_alone_is_delivered() {
    let mut world = World::new(suppressed());
    world.register(1, 3600);
    assert!(world.requests.is_empty());
    let (imsi, node) = routed(&mut world, 1);
    assert_eq!(node, GATEWAY);
    delivered(&mut world, 2, &imsi, "Hi");
    let (sending, ..) = sent(&world);
    world.step(In::Response { number: sending.number, status: 500 });
    assert_eq!(code_of(&world.ended(2)), Some(Error::AbsentSubscriberSm));
    assert!(world.idle() && world.begun().is_none());
}

#[test]
fn a_correlation_ends_with_its_time_and_a_store_that_fails_refuses() {
    let mut world = World::registered();
    let (imsi, _) = routed(&mut world, 1);
    world.pass(Duration::from_secs(601));
    delivered(&mut world, 2, &imsi, "Hi");
    assert_eq!(code_of(&world.ended(2)), Some(Error::UnidentifiedSubscriber));
    world.store_fails = true;
    let invoke = routing_invoke(ALICE_NUMBER);
    world.peer_begins(3, portion(Context::ShortMsgGateway, 3, vec![invoke]));
    // Nobody is told where the subscriber is, past this gateway, because it does not know.
    assert_eq!(code_of(&world.ended(3)), Some(Error::SystemFailure));
    assert!(world.begun().is_none());
    delivered(&mut world, 4, &imsi, "Hi");
    assert_eq!(code_of(&world.ended(4)), Some(Error::SystemFailure));
    assert!(world.idle());
}

#[test]
fn a_full_table_refuses_and_loses_nothing_that_it_took() {
    let mut world = World::new(Settings { flows_max: 3, ..settings() });
    world.register(1, 3600);
    world.answer_all();
    world.submits(20, 1, "one");
    world.submits(21, 2, "two");
    world.submits(22, 3, "three");
    assert_eq!(world.responses, [(20, 202), (21, 202), (22, 503)]);
    // Nobody has more than is left for all others.
    for dialogue in 5..7 {
        let invoke = routing_invoke(ALICE_NUMBER);
        world.peer_begins(dialogue, portion(Context::ShortMsgGateway, 3, vec![invoke]));
    }
    assert!(matches!(world.requests.last(), Some(Request::UAbort { dialogue: 6, .. })));
    for _ in 0..2 {
        let dialogue = world.begun().unwrap();
        world.end(dialogue, vec![result(Operation::MoForwardSm, None)]);
    }
    assert_eq!(world.sent.len(), 2);
    assert_eq!(world.gateway.metrics().read(Metric::Overload), 2);
}

#[test]
fn what_was_given_out_before_a_start_is_given_out_again_and_counts_for_who_asked() {
    let mut world = World::registered();
    let (imsi, _) = routed(&mut world, 1);
    let mut other = World::registered();
    let seeds = ipsmgw::Seeds { proofs: [8; 16], correlations: [9; 16], share: (0, 1) };
    other.gateway.begin_anew(seeds, other.now);
    other.step(In::Connected(true));
    let given = world.store.iter().find_map(|it| match it {
        (Key::Correlation(imsi), Row::Correlation(row)) => Some((imsi.clone(), row.clone())),
        _ => None,
    });
    let (own, row) = given.unwrap();
    assert_eq!(row.asker.as_ref().map(|it| it.digits()), Some(CENTRE));
    other.step(In::Given(own, row, other.now + Duration::from_secs(60)));
    assert_eq!(routed(&mut other, 1).0, imsi);
}
