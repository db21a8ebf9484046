//! What goes by Diameter in place of MAP, and what stays with MAP beside it.

use crate::network::{CENTRE, GATEWAY, MSC, deliver, number, result, text_of};
use crate::world::{ALICE_IMSI, ALICE_NUMBER, World, settings, suppressed};
use ipsmgw::{
    DestinationKeys, Home, Imsi, In, Metric, Msisdn, PeerQuestion, Reply, Role, Settings, Silence,
    Way,
};
use machine::Duration;
use map::{Error, Operation};
use mapsms::argument::Argument;
use mapsms::by_diameter::{Named, NodeKind};
use mapsms::invoked::{Invoked, routing_of, routing_result};
use sms::Cause;
use sms::rp::{Failure, Kind, Message};
use tcu::{Code, Component};

/// A dialogue of Diameter's.
const DIALOGUE: u64 = 1 << 63 | 7;

fn destination(role: Role, numbers: &str, realm: &str) -> DestinationKeys {
    DestinationKeys { role, numbers: vec![numbers.into()], realm: realm.into(), host: None }
}

fn home(destinations: Vec<DestinationKeys>) -> Home {
    Home { destinations, ..Home::default() }
}

/// Home subscriber server and service centre are reached by Diameter, and no link stands.
fn world() -> World {
    let all = vec![destination(Role::Hss, "4477", "home"), destination(Role::Centre, "4478", "sc")];
    let mut world = World::new(Settings { home: home(all), ..settings() });
    world.register(1, 3_600);
    world.answer_all();
    world.step(In::Connected(false));
    world
}

fn replies(world: &mut World, question: &PeerQuestion, reply: Reply) {
    let (reference, names) = (question.reference, Vec::new());
    world.step(In::PeerReplied { reference, reply, names, informed: None });
}

fn asks(world: &mut World, operation: Operation, invoked: Invoked) {
    let (dialogue, title) = (DIALOGUE, ipsmgw::Msisdn::of(CENTRE).unwrap());
    world.step(In::PeerAsks { dialogue, title, operation, invoked });
}

fn routing(msisdn: &str) -> Invoked {
    let (msisdn, centre) = (Msisdn::of(msisdn).unwrap(), number(CENTRE));
    Invoked::Routing { msisdn, centre, has_priority: false }
}

/// A centre asks by Diameter, and the home subscriber server has the subscriber at that node.
fn routed(world: &mut World, node: &str, name: Option<Named>) -> (Imsi, Vec<Msisdn>) {
    asks(world, Operation::SendRoutingInfoForSm, routing(ALICE_NUMBER));
    let question = world.peers.remove(0);
    assert!(matches!(question.argument, Argument::Routing { .. }));
    assert_eq!((&*question.place.realm, question.place.host.as_ref()), ("home", None));
    let value = routing_result(&Imsi::of(ALICE_IMSI).unwrap(), &Msisdn::of(node).unwrap());
    let (reference, reply) = (question.reference, Reply::Result(Some(value)));
    let names = name.into_iter().collect();
    world.step(In::PeerReplied { reference, reply, names, informed: None });
    match &world.ended(DIALOGUE)[0] {
        Component::Result { result: Some((_, Some(value))), .. } => routing_of(value).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn delivers(world: &mut World, imsi: Imsi, text: &str) {
    let (centre, tpdu) = (number(CENTRE), deliver("447700900999", text));
    let invoked = Invoked::Deliver { imsi, centre, tpdu, has_more: false };
    asks(world, Operation::MtForwardSm, invoked);
}

fn reports(world: &mut World, cause: Option<Cause>) {
    let sending = world.sent.remove(0);
    let reference = Message::read(sending.body.octets()).unwrap().reference;
    world.step(In::Response { number: sending.number, status: 202 });
    let data = Message::new(Kind::DataToTerminal, reference);
    let call_id = format!("{}@gw.example.org", sending.call_id);
    world.message(90, Some(&call_id), &data.answer(cause.map(Failure::of), Some(&[0, 0])));
}

#[test]
fn a_message_goes_to_the_centre_by_diameter_and_its_answer_is_reported() {
    let failure = Reply::Error(Some(Error::SystemFailure), None);
    for (reply, cause) in [
        (Reply::Result(None), None),
        (failure, Some(Cause::NetworkOutOfOrder)),
        (Reply::Silence(Silence::Undelivered), Some(Cause::NetworkOutOfOrder)),
        (Reply::Silence(Silence::Timeout), Some(Cause::TemporaryFailure)),
    ] {
        let mut world = world();
        world.submits(20, 9, "Hi");
        assert!(world.requests.is_empty(), "nothing goes by MAP");
        let question = world.peers.remove(0);
        assert_eq!(question.place.realm, "sc");
        let Argument::Submit { msisdn, imsi, tpdu, .. } = &question.argument else { panic!() };
        assert_eq!(
            (msisdn.digits(), imsi.as_ref().map(Imsi::digits)),
            (ALICE_NUMBER, Some(ALICE_IMSI))
        );
        assert_eq!(text_of(sms::Kind::Submit, tpdu), "Hi");
        replies(&mut world, &question, reply.clone());
        let sent = world.sent.remove(0);
        let report = Message::read(sent.body.octets()).unwrap();
        assert_eq!(report.failure.and_then(|it| it.cause()), cause);
        world.step(In::Response { number: sent.number, status: 202 });
        assert!(world.idle());
        // An answer that comes once more is nobody's.
        replies(&mut world, &question, reply);
        assert!(world.sent.is_empty());
    }
}

#[test]
fn a_centre_is_told_this_gateway_and_its_message_is_answered_by_the_terminals_report() {
    let mut world = world();
    let (imsi, nodes) = routed(&mut world, MSC, None);
    assert_ne!(imsi.digits(), ALICE_IMSI, "it correlates, and names nobody");
    assert_eq!(nodes, [Msisdn::of(GATEWAY).unwrap()]);
    delivers(&mut world, imsi.clone(), "Hi");
    reports(&mut world, None);
    assert!(matches!(world.ended(DIALOGUE)[0], Component::Result { .. }));
    assert_eq!(world.records[0].way, Some(Way::PacketSwitched));
    // One that was never given out is refused.
    delivers(&mut world, Imsi::of("234150000000777").unwrap(), "Hi");
    let unidentified = Code::Local(Error::UnidentifiedSubscriber.code());
    assert!(matches!(&world.ended(DIALOGUE)[0],
        Component::Error { code, .. } if *code == unidentified));
    assert!(world.idle());
}

#[test]
fn the_next_way_is_the_node_that_was_told_with_its_name_and_else_map() {
    let named = |number: &str| {
        let (kind, number) = (NodeKind::Mme, Msisdn::of(number).unwrap());
        Named { kind, number, host: "mme1.home".into(), realm: "home".into() }
    };
    let mut world = world();
    let (imsi, _) = routed(&mut world, "447900000002", Some(named("447900000002")));
    delivers(&mut world, imsi, "Hi");
    let sent = world.sent.remove(0);
    world.step(In::Response { number: sent.number, status: 480 });
    let question = world.peers.remove(0);
    assert_eq!(question.place.host.as_deref(), Some("mme1.home"));
    let Argument::Deliver { imsi, .. } = &question.argument else { panic!() };
    assert_eq!(imsi.digits(), ALICE_IMSI);
    replies(&mut world, &question, Reply::Result(None));
    assert!(matches!(world.ended(DIALOGUE)[0], Component::Result { .. }));
    let record = world.records.remove(0);
    assert_eq!(
        (record.way, record.other.as_deref()),
        (Some(Way::CircuitSwitched), Some("447700900999"))
    );
    let attempts: Vec<_> = record.attempts.iter().map(|it| (it.way.name(), it.result)).collect();
    assert_eq!(attempts, [("ps", "absentSubscriberSM"), ("cs", "delivered")]);
    // A node without a name is an MSC, by MAP.
    world.step(In::Connected(true));
    let (imsi, _) = routed(&mut world, MSC, None);
    delivers(&mut world, imsi, "Hi");
    let sent = world.sent.remove(0);
    world.step(In::Response { number: sent.number, status: 480 });
    assert!(world.peers.is_empty());
    let (operation, _) = world.asked();
    assert_eq!(operation, Operation::MtForwardSm);
    let dialogue = world.begun().unwrap();
    world.end(dialogue, vec![result(operation, None)]);
    assert!(matches!(world.ended(DIALOGUE)[0], Component::Result { .. }));
    assert!(world.idle());
}

#[test]
fn a_node_is_where_the_subscribers_own_home_server_said_and_nowhere_that_another_one_did() {
    let all = vec![
        destination(Role::Hss, "44770", "home"),
        destination(Role::Hss, "44771", "other"),
        destination(Role::Centre, "4478", "sc"),
    ];
    let mut world = World::new(Settings { home: home(all), ..settings() });
    world.register(1, 3_600);
    world.answer_all();
    // The other home subscriber server says that an MSC of everybody's is a host of its own.
    asks(&mut world, Operation::SendRoutingInfoForSm, routing("447710000001"));
    let question = world.peers.remove(0);
    assert_eq!(question.place.realm, "other");
    let (kind, number) = (NodeKind::Mme, Msisdn::of(MSC).unwrap());
    let named = Named { kind, number, host: "evil.other".into(), realm: "other".into() };
    let value = routing_result(&Imsi::of(ALICE_IMSI).unwrap(), &Msisdn::of(MSC).unwrap());
    let (reference, reply) = (question.reference, Reply::Result(Some(value)));
    world.step(In::PeerReplied { reference, reply, names: vec![named], informed: None });
    assert!(matches!(world.ended(DIALOGUE)[0], Component::Result { .. }));
    let (imsi, _) = routed(&mut world, MSC, None);
    delivers(&mut world, imsi, "Hi");
    let sent = world.sent.remove(0);
    world.step(In::Response { number: sent.number, status: 480 });
    assert!(world.peers.is_empty(), "{:?}", world.peers);
    assert_eq!(world.asked().0, Operation::MtForwardSm);
}

#[test]
fn a_peer_is_answered_before_its_node_gives_up_and_nothing_is_begun_that_has_no_time() {
    let named = || {
        let (kind, number) = (NodeKind::Mme, Msisdn::of("447900000002").unwrap());
        Named { kind, number, host: "mme1.home".into(), realm: "home".into() }
    };
    let all = vec![destination(Role::Hss, "4477", "home")];
    let home = Home { answer_time: Some(Duration::from_secs(60)), ..home(all) };
    for (report_s, tries_node) in [(59, false), (30, true)] {
        let report_time = Duration::from_secs(report_s);
        let mut world = World::new(Settings { home: home.clone(), report_time, ..settings() });
        world.register(1, 3_600);
        world.answer_all();
        world.step(In::Connected(false));
        let (imsi, _) = routed(&mut world, "447900000002", Some(named()));
        delivers(&mut world, imsi, "Hi");
        // The terminal takes it late, and never reports.
        let late = if tries_node { 1 } else { 50 };
        world.pass(Duration::from_secs(late));
        let sent = world.sent.remove(0);
        world.step(In::Response { number: sent.number, status: 202 });
        world.pass(Duration::from_millis(59_900 - late * 1_000));
        assert!(world.requests.is_empty(), "it is under way");
        assert_eq!(world.peers.len(), usize::from(tries_node));
        world.pass(Duration::from_millis(200));
        assert!(matches!(world.ended(DIALOGUE)[0], Component::Error { .. }));
        assert!(world.idle());
    }
}

#[test]
fn a_link_that_is_lost_ends_nothing_that_goes_by_diameter() {
    let mut world = world();
    world.submits(20, 9, "Hi");
    asks(&mut world, Operation::SendRoutingInfoForSm, routing(ALICE_NUMBER));
    world.step(In::Connected(true));
    world.step(In::Connected(false));
    assert!(world.sent.is_empty() && world.requests.is_empty());
    let [submit, routing] = <[PeerQuestion; 2]>::try_from(world.peers.clone()).unwrap();
    replies(&mut world, &routing, Reply::Error(Some(Error::UnknownSubscriber), None));
    assert!(matches!(world.ended(DIALOGUE)[0], Component::Error { .. }));
    replies(&mut world, &submit, Reply::Result(None));
    assert_eq!(world.sent.len(), 1);
}

#[test]
fn a_report_goes_on_to_the_home_server_and_an_alert_to_the_centre() {
    let mut world = world();
    let outcome = map::types::SmDeliveryOutcome::of(1).unwrap();
    let (msisdn, centre) = (Msisdn::of(ALICE_NUMBER).unwrap(), number(CENTRE));
    let report = Invoked::Report { msisdn: msisdn.clone(), centre, outcome, diagnostic: None };
    asks(&mut world, Operation::ReportSmDeliveryStatus, report);
    let question = world.peers.remove(0);
    assert!(matches!(question.argument, Argument::Report { .. }));
    replies(&mut world, &question, Reply::Result(None));
    assert!(matches!(world.ended(DIALOGUE)[0], Component::Result { .. }));
    // Without a home server the gateway itself alerts.
    let all = vec![destination(Role::Centre, "4478", "sc")];
    let mut world = World::new(Settings { home: home(all), ..suppressed() });
    asks(&mut world, Operation::SendRoutingInfoForSm, routing(ALICE_NUMBER));
    assert!(matches!(world.ended(DIALOGUE)[0], Component::Error { .. }));
    world.register(1, 3_600);
    let question = world.peers.remove(0);
    assert_eq!(question.place.realm, "sc");
    let alert = Argument::Alert { msisdn, centre: Msisdn::of(CENTRE).unwrap() };
    assert!(question.argument == alert);
    replies(&mut world, &question, Reply::Result(None));
    assert!(world.idle());
}

#[test]
fn nobody_who_answers_by_diameter_is_waited_for_longer_than_a_flow_may_take() {
    let mut world = world();
    world.submits(20, 9, "Hi");
    asks(&mut world, Operation::SendRoutingInfoForSm, routing(ALICE_NUMBER));
    world.pass(Duration::from_secs(200));
    assert!(matches!(world.ended(DIALOGUE)[0], Component::Error { .. }));
    assert!(world.idle());
    assert_eq!(world.gateway.metrics().read(Metric::SubmissionFailed), 1);
}
