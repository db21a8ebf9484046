//! Connections that are refused, passed on, or shed; messages that do not belong.

use crate::connections::*;
use crate::every::point_code;
use crate::world::*;
use bytes::Bytes;
use machine::{Duration, Time};
use sccp::codec::{
    Address, ConnectionClass, ConnectionMessage, ErrorCause, LocalReference, Message, Parameter,
    RefusalCause, Routing,
};
use sccp::{
    Choice, Connect, ConnectionEvent as Event, ConnectionInput as Input, ConnectionParameters,
    Disconnected, In, Indication, Metric, Parameters,
};

fn to_address(called: Address) -> In {
    let calling = Some(Address::subsystem(None, 6));
    let (class, importance, data) = (BASIC, None, Bytes::new());
    In::Connection(Input::Connect(Connect { tag: 9, called, calling, class, importance, data }))
}

fn refused(world: &mut World, number: usize) -> u8 {
    let not = world.heard.iter().find_map(|(at, it)| match it {
        Indication::NotConnected(9, cause) if *at == number => Some(*cause),
        _ => None,
    });
    not.unwrap_or_else(|| match events(world, number).pop() {
        Some((_, Event::Disconnected { why: Disconnected::Refused(cause), .. })) => cause,
        other => panic!("{other:?}"),
    })
}

#[test]
fn what_cannot_be_connected_is_refused_with_its_cause() {
    let rules = vec![
        rule("44", &[(Some(2), Routing::Subsystem)], Choice::Backup),
        rule("45", &[(Some(9), Routing::Subsystem)], Choice::Backup),
    ];
    let table = [
        (at(2, 6), RefusalCause::NoService),
        (at(2, 8), RefusalCause::SubsystemFailure),
        (at(2, 9), RefusalCause::UnequippedUser),
        (at(9, 6), RefusalCause::DestinationInaccessible),
        (title("44"), RefusalCause::NoService),
        (title("45"), RefusalCause::DestinationInaccessible),
        (title("99"), RefusalCause::DestinationUnknown),
    ];
    for (called, cause) in table {
        let mut world =
            World::new(vec![node(1, parameters(), rules.clone()), node(2, parameters(), vec![])]);
        world.run(2, In::State(8, true));
        world.run(2, In::State(8, false));
        world.run(1, In::Pause(m3ua::codec::Affected::one(point_code(9))));
        world.run(1, to_address(called));
        assert_eq!(refused(&mut world, 1), cause.number(), "{called:?}");
        assert_eq!((world.nodes[0].connections().0, world.nodes[1].connections()), (0, (0, 0)));
    }
}

/// The relay inserts who sent it: CC comes from the node behind it, and data go past it.
#[test]
fn a_request_by_title_passes_a_relay_and_the_two_ends_have_the_connection() {
    let mut world = World::new(vec![
        node(1, parameters(), vec![rule("4", &[(Some(2), Routing::Title)], Choice::Backup)]),
        node(2, parameters(), vec![rule("4", &[(Some(3), Routing::Subsystem)], Choice::Backup)]),
        node(3, parameters(), Vec::new()),
    ]);
    world.run(3, In::Connection(Input::Serve(6, true)));
    world.run(1, to_address(title("4467")));
    let (there, _) = events(&mut world, 3).remove(0);
    world.run(3, In::Connection(Input::Accept(there, accept(BASIC))));
    let (here, event) = events(&mut world, 1).remove(1);
    assert!(matches!(event, Event::Confirmed { .. }));
    world.run(1, data(here, b"straight"));
    assert_eq!(events(&mut world, 3), [(there, Event::Data(Bytes::from_static(b"straight")))]);
    let way: Vec<(u32, u32)> =
        world.msus.iter().map(|it| (it.opc.number(), it.dpc.number())).collect();
    assert_eq!(way, [(1, 2), (2, 3), (3, 1), (1, 3)]);
    assert_eq!((world.nodes[1].connections(), world.count(2, Metric::Relayed)), ((0, 0), 1));
}

#[test]
fn a_circle_of_translations_refuses_a_request() {
    let circle = |next| vec![rule("4", &[(Some(next), Routing::Title)], Choice::Backup)];
    let mut world = World::new(vec![
        node(1, parameters(), circle(2)),
        node(2, parameters(), circle(3)),
        node(3, parameters(), circle(4)),
        node(4, parameters(), circle(2)),
    ]);
    world.run(1, to_address(title("4")));
    assert_eq!(refused(&mut world, 1), RefusalCause::HopCounterViolation.number());
}

#[test]
fn a_request_that_mtp3_has_no_way_for_is_refused_to_who_sent_it() {
    let mut world = world(parameters());
    let msus = world.step(1, connect(BASIC, b""));
    world.run(1, In::Undeliverable(msus[0].clone()));
    let inaccessible = RefusalCause::DestinationInaccessible.number();
    assert_eq!(refused(&mut world, 1), inaccessible);
    assert_eq!(world.nodes[0].connections().0, 0);
    let mut world = World::new(vec![
        node(1, parameters(), vec![rule("4", &[(Some(2), Routing::Title)], Choice::Backup)]),
        node(2, parameters(), vec![rule("4", &[(Some(3), Routing::Subsystem)], Choice::Backup)]),
    ]);
    let msus = world.step(1, to_address(title("4")));
    let relayed = world.step(2, In::Transfer(msus[0].clone()));
    world.run(2, In::Undeliverable(relayed[0].clone()));
    assert_eq!(refused(&mut world, 1), inaccessible);
}

#[test]
fn there_are_no_connections_until_t_guard_has_run_out_after_the_start() {
    let connections =
        ConnectionParameters { guard: Duration::from_secs(1_440), ..parameters().connections };
    let mut world = world(Parameters { connections, ..parameters() });
    world.run(1, to_address(at(2, 6)));
    assert_eq!(refused(&mut world, 1), RefusalCause::NoServiceNow.number());
    world.heard.clear();
    world.nodes[0] = node(1, parameters(), Vec::new());
    world.run(1, to_address(at(2, 6)));
    assert_eq!(refused(&mut world, 1), RefusalCause::NoServiceNow.number());
    world.now = Time::from_millis(1_440_000);
    world.run(1, to_address(at(2, 6)));
    assert!(matches!(events(&mut world, 2)[..], [(_, Event::Offered { .. })]));
}

#[test]
fn a_node_that_takes_all_it_can_leaves_room_to_others() {
    let connections = ConnectionParameters { references_max: 64, ..parameters().connections };
    let few = Parameters { connections, ..parameters() };
    let mut world =
        World::new(vec![node(1, parameters(), vec![]), node(2, few, vec![]), node(3, few, vec![])]);
    world.run(2, In::Connection(Input::Serve(6, true)));
    for _ in 0..100 {
        world.run(1, to_address(at(2, 6)));
    }
    assert_eq!((world.nodes[1].connections(), world.nodes[0].connections().0), ((22, 0), 22));
    assert_eq!(world.count(2, Metric::ConnectionsShed), 78);
    assert_eq!(refused(&mut world, 1), RefusalCause::NoServiceNow.number());
    for _ in 0..100 {
        world.run(3, to_address(at(2, 6)));
    }
    assert_eq!(world.nodes[1].connections().0, 29);
}

#[test]
fn octets_that_wait_are_bounded_and_what_finds_no_room_is_given_back() {
    let connections =
        ConnectionParameters { waiting_octets_max: 4_000, ..parameters().connections };
    let mut world = world(Parameters { connections, ..parameters() });
    world.run(1, connect(FLOW, b""));
    let (there, _) = events(&mut world, 2).remove(0);
    world.run(2, In::Connection(Input::Accept(there, accept(FLOW))));
    let here = events(&mut world, 1)[0].0;
    let mut refused = 0;
    for _ in 0..40 {
        world.step(1, data(here, &[0; 100]));
        refused += events(&mut world, 1).len();
        assert!(world.nodes[0].connection_octets() <= 2_000);
    }
    assert!(refused > 20);
    world.step(1, data(here, &[0; 9_000]));
    assert!(matches!(&events(&mut world, 1)[..], [(_, Event::NotSent(it))] if it.len() == 9_000));
    // Segments of which the last one never comes.
    world.run(1, to_address(at(2, 6)));
    let (there, _) = events(&mut world, 2).remove(0);
    world.run(2, In::Connection(Input::Accept(there, accept(BASIC))));
    let msu = world.msus.last().unwrap().clone();
    for _ in 0..100 {
        let mut payload = Vec::new();
        let message = ConnectionMessage::Data1 { destination: there, more: true, data: &[0; 200] };
        message.write(&mut payload).unwrap();
        let (opc, dpc) = (point_code(1), point_code(2));
        let msu = m3ua::Transfer { opc, dpc, payload: payload.into(), ..msu.clone() };
        world.step(2, In::Transfer(msu));
        assert!(world.nodes[1].connection_octets() <= 2_000);
    }
    assert!(matches!(events(&mut world, 2)[..], [(_, Event::Disconnected { .. })]));
    assert_eq!(world.nodes[1].connection_octets(), 0);
}

#[test]
fn a_stranger_touches_no_connection_and_hears_what_was_wrong() {
    let (mut world, here, there) = connected(ConnectionClass::FlowControl);
    world.run(1, data(here, b"x"));
    let msu = world.msus[0].clone();
    events(&mut world, 2);
    let wrong = LocalReference::truncated(0xabcdef);
    let (destination, cause) = (there, 0);
    let (data, importance) = (None, None);
    for (opc, source, error) in
        [(9, here, ErrorCause::PointCodeMismatch), (1, wrong, ErrorCause::InconsistentReference)]
    {
        for message in [
            ConnectionMessage::Released { destination, source, cause, importance, data },
            ConnectionMessage::ResetRequest { destination, source, cause },
            ConnectionMessage::ReleaseComplete { destination, source },
        ] {
            let mut payload = Vec::new();
            message.write(&mut payload).unwrap();
            let payload = payload.into();
            let msu = m3ua::Transfer { opc: point_code(opc), payload, ..msu.clone() };
            let answers = world.step(2, In::Transfer(msu));
            assert!(events(&mut world, 2).is_empty() && world.nodes[1].connections().0 == 1);
            let answer = answers.first().map(|it| Message::read(&it.payload).unwrap());
            match message {
                ConnectionMessage::ReleaseComplete { .. } => assert!(answer.is_none()),
                _ => {
                    let answer = answer.unwrap();
                    assert_eq!(answer.octet(Parameter::ErrorCause), Some(error.number()));
                    assert_eq!(
                        answer.reference(Parameter::DestinationReference),
                        Some(source.number())
                    );
                }
            }
        }
    }
    for message in [
        ConnectionMessage::Data2 {
            destination,
            sequencing: sccp::codec::Sequencing { send: 1, receive: 0, more: false },
            data: b"forged",
        },
        ConnectionMessage::Error { destination, cause },
    ] {
        let mut payload = Vec::new();
        message.write(&mut payload).unwrap();
        let opc = point_code(9);
        let msu = m3ua::Transfer { opc, payload: payload.into(), ..msu.clone() };
        assert!(world.step(2, In::Transfer(msu)).is_empty());
    }
    assert!(events(&mut world, 2).is_empty());
}

#[test]
fn an_association_with_many_point_codes_leaves_connections_to_others() {
    let connections = ConnectionParameters { references_max: 64, ..parameters().connections };
    let mut world = world(Parameters { connections, ..parameters() });
    let mut process = m3ua::Process::new(m3ua::Settings {
        peers_max: 4,
        servers_max: 4,
        parameters: m3ua::Parameters::rfc4666(),
    })
    .unwrap();
    let settings = m3ua::PeerSettings::new(m3ua::Role::Sgp);
    let [liar, other] = [settings.clone(), settings].map(|it| process.add_peer(it).unwrap());
    let msus = world.step(1, connect(BASIC, b""));
    for number in 100..400 {
        let opc = point_code(number);
        world.step(2, In::TransferBy(liar, m3ua::Transfer { opc, ..msus[0].clone() }));
    }
    let taken = world.nodes[1].connections().0;
    assert!((22..=32).contains(&taken), "{taken}");
    world.step(2, In::TransferBy(other, msus[0].clone()));
    assert_eq!(world.nodes[1].connections().0, taken + 1);
}
