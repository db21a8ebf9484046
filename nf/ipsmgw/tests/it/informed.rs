//! What service centres are told of messages that wait beside their answers, and what is made of
//! word that a terminal can be reached again.

use crate::network::{
    CENTRE, MSC, deliver, deliver_invoke, error, portion, report_invoke, result, routing_invoke,
    routing_of, routing_read, routing_value,
};
use crate::world::{ALICE, ALICE_IMSI, ALICE_NUMBER, World, network, settings, suppressed};
use ipsmgw::{
    DestinationKeys, Home, HomeQuestion, Imsi, In, Msisdn, Network, Reply, Role, Settings, Way,
};
use map::{Context, Error, Operation};
use mapsms::informed::MwStatus;
use mapsms::invoked::Invoked;
use tcu::{Code, Component};

const DIALOGUE: u64 = 1 << 63 | 7;

fn full() -> MwStatus {
    MwStatus { is_full: true, ..MwStatus::default() }
}

fn asks(world: &mut World, dialogue: u64, version: u8, centre: &str) {
    let invoke = routing_of(ALICE_NUMBER, centre);
    world.title_begins(dialogue, centre, portion(Context::ShortMsgGateway, version, vec![invoke]));
}

/// The answer to a centre that asked.
fn ended(world: &mut World, dialogue: u64) -> Result<Vec<u8>, Option<Error>> {
    match &world.ended(dialogue)[..] {
        [Component::Result { result: Some((_, Some(value))), .. }] => Ok(routing_read(value).0),
        [Component::Error { code: Code::Local(code), .. }] => Err(Error::of(*code)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_the_hlr_tells_beside_its_answer_is_passed_on_to_who_understands_it() {
    let stored = Msisdn::of("447700900555");
    let status = MwStatus { stored, is_not_included: true, ..full() };
    let value = routing_value(&Imsi::of(ALICE_IMSI).unwrap().tbcd(), MSC);
    let found = result(Operation::SendRoutingInfoForSm, Some(value));
    let absent = error(Error::CallBarred, None);
    for (answer, is_found) in [(&found, true), (&absent, false)] {
        for version in [3, 2, 1] {
            for tells in [true, false] {
                let mut world = World::registered();
                asks(&mut world, 1, version, CENTRE);
                let asked = world.begun().unwrap();
                let told = tells.then(|| status.component());
                world.end(asked, told.into_iter().chain([answer.clone()]).collect());
                assert_eq!(ended(&mut world, 1).is_ok(), is_found);
                let expected = Some(status.clone()).filter(|_| tells && version > 1);
                assert_eq!(world.told, expected, "version {version}");
                assert!(world.idle());
            }
        }
    }
}

#[test]
fn a_home_server_that_speaks_s6c_tells_it_as_well() {
    let (role, numbers) = (Role::Hss, vec!["4477".to_owned()]);
    let destinations = vec![DestinationKeys { role, numbers, realm: "home".into(), host: None }];
    let home = Home { destinations, ..Home::default() };
    let mut world = World::new(Settings { home, ..settings() });
    let (title, centre) = (Msisdn::of(CENTRE).unwrap(), crate::network::number(CENTRE));
    let msisdn = Msisdn::of(ALICE_NUMBER).unwrap();
    let invoked = Invoked::Routing { msisdn, centre, has_priority: false };
    let operation = Operation::SendRoutingInfoForSm;
    world.step(In::PeerAsks { dialogue: DIALOGUE, title, operation, invoked });
    let reference = world.peers.remove(0).reference;
    let reply = Reply::Error(Some(Error::AbsentSubscriberSm), None);
    let informed = Some(full());
    world.step(In::PeerReplied { reference, reply, names: Vec::new(), informed });
    assert_eq!(ended(&mut world, DIALOGUE), Err(Some(Error::AbsentSubscriberSm)));
    assert_eq!(world.told, Some(full()));
}

#[test]
fn a_gateway_without_an_hlr_says_itself_who_will_be_alerted_and_why() {
    let mut world = World::new(suppressed());
    for n in 0..17 {
        let centre = format!("4478000000{n:02}");
        asks(&mut world, 1, 3, &centre);
        assert_eq!(ended(&mut world, 1), Err(Some(Error::AbsentSubscriberSm)));
        // Sixteen are kept of a subscriber.
        let (is_not_included, is_not_reachable) = (n == 16, true);
        let expected = MwStatus { is_not_included, is_not_reachable, ..MwStatus::default() };
        assert_eq!(world.told, Some(expected), "{n}");
    }
    // One that is registered is there, and nothing is told of him.
    let mut world = World::new(suppressed());
    world.register(1, 3_600);
    asks(&mut world, 2, 3, CENTRE);
    assert!(ended(&mut world, 2).is_ok());
    assert_eq!(world.told, None);
    // His terminal has no memory: that is told until it says that it has some.
    let report = portion(Context::ShortMsgGateway, 3, vec![report_invoke(ALICE_NUMBER, 0)]);
    world.peer_begins(3, report);
    world.ended(3);
    asks(&mut world, 4, 3, CENTRE);
    assert!(ended(&mut world, 4).is_ok());
    assert_eq!(world.told, Some(full()));
    asks(&mut world, 5, 3, "447800000077");
    assert!(ended(&mut world, 5).is_ok());
    assert_eq!(world.told, Some(MwStatus { is_not_included: true, ..full() }));
}

fn watching(settings: Settings) -> World {
    let home = Home { reachability: true, ..Home::default() };
    let mut world = World::new(Settings { home, ..settings });
    world.register(1, 3_600);
    world.answer_all();
    world
}

/// A message whose terminal does not answer.
fn unanswered(world: &mut World) {
    let invoke = routing_invoke(ALICE_NUMBER);
    world.peer_begins(10, portion(Context::ShortMsgGateway, 3, vec![invoke]));
    if let Some(asked) = world.begun() {
        let value = routing_value(&Imsi::of(ALICE_IMSI).unwrap().tbcd(), MSC);
        world.end(asked, vec![result(Operation::SendRoutingInfoForSm, Some(value))]);
    }
    let imsi = ended(world, 10).unwrap();
    let invoke = deliver_invoke(&imsi, &deliver("447700900999", "Hi"), 3);
    world.peer_begins(11, portion(Context::ShortMsgMtRelay, 3, vec![invoke]));
    let sent = world.sent.remove(0);
    world.step(In::Response { number: sent.number, status: 480 });
}

fn alice() -> Msisdn {
    Msisdn::of(ALICE_NUMBER).unwrap()
}

#[test]
fn word_is_wanted_of_a_terminal_that_did_not_answer_and_nobody_else_took_the_message() {
    let own = vec![Network { ways: vec![Way::PacketSwitched], ..network() }];
    let mut world = watching(Settings { networks: own, ..settings() });
    unanswered(&mut world);
    let wanted = HomeQuestion::Reachability { identity: ALICE.into(), msisdn: alice() };
    assert_eq!(world.home.remove(0).1, wanted);
    // The MSC takes it: nothing is waited for.
    let mut world = watching(settings());
    unanswered(&mut world);
    let dialogue = world.begun().unwrap();
    world.end(dialogue, vec![result(Operation::MtForwardSm, None)]);
    assert!(world.home.is_empty() && world.idle());
    // It does not: then it is.
    let mut world = watching(settings());
    unanswered(&mut world);
    let dialogue = world.begun().unwrap();
    world.end(dialogue, vec![error(Error::AbsentSubscriberSm, None)]);
    assert_eq!(world.home.remove(0).1, wanted);
    // Nobody is asked who was not configured.
    let mut world = World::registered();
    unanswered(&mut world);
    let dialogue = world.begun().unwrap();
    world.end(dialogue, vec![error(Error::AbsentSubscriberSm, None)]);
    assert!(world.home.is_empty());
}

#[test]
fn with_that_word_the_hlr_is_told_or_who_waits_is_alerted() {
    let mut world = watching(settings());
    world.step(In::Retry(Some(alice())));
    assert_eq!(world.asked().0, Operation::ReadyForSm);
    let dialogue = world.begun().unwrap();
    world.end(dialogue, vec![result(Operation::ReadyForSm, None)]);
    assert!(world.idle());
    for outcome in [1, 0] {
        let mut world = watching(suppressed());
        unanswered(&mut world);
        world.ended(11);
        // Absent, or without memory: of the latter the terminal itself has to speak.
        let invoke = report_invoke(ALICE_NUMBER, outcome);
        world.peer_begins(12, portion(Context::ShortMsgGateway, 3, vec![invoke]));
        world.ended(12);
        world.step(In::Retry(Some(alice())));
        let alerts = world.begun();
        assert_eq!(alerts.is_some(), outcome == 1);
        if let Some(dialogue) = alerts {
            world.end(dialogue, vec![result(Operation::AlertServiceCentre, None)]);
        }
        assert!(world.idle());
        // It is alerted once.
        world.step(In::Retry(Some(alice())));
        assert!(world.begun().is_none() && world.idle());
    }
}
