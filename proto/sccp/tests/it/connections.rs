//! Connections of classes 2 and 3 between two nodes.

use crate::world::*;
use bytes::Bytes;
use machine::{Duration, Time};
use sccp::codec::{
    ConnectionClass, ConnectionMessage, LocalReference, Message, ReleaseCause, ResetCause,
};
use sccp::{
    Accept, Connect, ConnectionEvent as Event, ConnectionInput as Input, ConnectionParameters,
    Disconnect, Disconnected, In, Indication, Inform, Metric, Parameters,
};

pub const BASIC: ConnectionClass = ConnectionClass::Basic;
pub const FLOW: ConnectionClass = ConnectionClass::FlowControl;

/// Without T(guard), and a window of 4.
pub fn parameters() -> Parameters {
    let connections = ConnectionParameters {
        guard: Duration::ZERO,
        credit_max: 4,
        ..ConnectionParameters::q714()
    };
    Parameters { connections, ..Parameters::q714() }
}

pub fn world(parameters: Parameters) -> World {
    let mut world = World::new((1..=2).map(|it| node(it, parameters, Vec::new())).collect());
    world.run(2, In::Connection(Input::Serve(6, true)));
    world
}

pub fn connect(class: ConnectionClass, data: &[u8]) -> In {
    let (called, calling) = (at(2, 6), Some(at(1, 6)));
    let (importance, data) = (None, Bytes::copy_from_slice(data));
    In::Connection(Input::Connect(Connect { tag: 7, called, calling, class, importance, data }))
}

pub fn accept(class: ConnectionClass) -> Accept {
    Accept { class, responding: None, data: Bytes::from_static(b"yes") }
}

pub fn disconnect(cause: u8, data: &[u8]) -> Disconnect {
    Disconnect { cause, data: Bytes::copy_from_slice(data) }
}

pub fn data(of: LocalReference, data: &[u8]) -> In {
    In::Connection(Input::Data(of, Bytes::copy_from_slice(data)))
}

/// What a node's users heard of connections since this was asked last.
pub fn events(world: &mut World, number: usize) -> Vec<(LocalReference, Event)> {
    let mut events = Vec::new();
    world.heard.retain(|(at, it)| match it {
        Indication::Connection(reference, event) if *at == number => {
            events.push((*reference, event.clone()));
            false
        }
        _ => true,
    });
    events
}

/// Two nodes, and the references of a connection between them.
pub fn connected(class: ConnectionClass) -> (World, LocalReference, LocalReference) {
    let mut world = world(parameters());
    world.run(1, connect(class, b"hello"));
    let (there, event) = events(&mut world, 2).remove(0);
    assert!(matches!(&event, Event::Offered { class: it, data, .. }
        if *it == class && data == &b"hello"[..]));
    world.run(2, In::Connection(Input::Accept(there, accept(class))));
    let heard = events(&mut world, 1);
    let here = heard[0].0;
    assert_eq!(heard[0].1, Event::Begun(7));
    assert!(matches!(&heard[1], (it, Event::Confirmed { class: agreed, data, .. })
        if *it == here && *agreed == class && data == &b"yes"[..]));
    world.msus.clear();
    (world, here, there)
}

pub fn kinds(world: &World) -> Vec<&'static str> {
    world.msus.iter().map(|it| Message::read(&it.payload).unwrap().kind.name()).collect()
}

fn secs(seconds: u64) -> Time {
    Time::from_millis(seconds * 1_000)
}

#[test]
fn data_pass_both_ways_in_order_on_one_sls_and_long_ones_in_segments() {
    for class in [BASIC, FLOW] {
        let (mut world, here, there) = connected(class);
        let long: Vec<u8> = (0..5_000u32).map(|it| it.to_le_bytes()[0]).collect();
        for it in [&b"first"[..], &long, b"last"] {
            world.run(1, data(here, it));
            world.run(2, data(there, it));
        }
        for (number, reference) in [(1, here), (2, there)] {
            let came: Vec<_> = events(&mut world, number);
            let expected = [&b"first"[..], &long, b"last"]
                .map(|it| (reference, Event::Data(Bytes::copy_from_slice(it))));
            assert_eq!(came, expected, "class {}", class.number());
        }
        for opc in [1, 2] {
            let of = world.msus.iter().filter(|it| it.opc.number() == opc);
            let sls: std::collections::BTreeSet<u8> = of.map(|it| it.sls).collect();
            assert_eq!(sls.len(), 1);
        }
        assert!(world.msus.iter().all(|it| it.payload.len() <= 268));
        assert_eq!(world.nodes[0].connection_octets() + world.nodes[1].connection_octets(), 0);
    }
}

#[test]
fn who_disconnects_is_confirmed_and_the_other_user_hears_why() {
    let (mut world, here, there) = connected(BASIC);
    world.run(2, In::Connection(Input::Disconnect(there, disconnect(0, b"bye"))));
    let why = Disconnected::Released(0);
    let data = Bytes::from_static(b"bye");
    assert_eq!(events(&mut world, 1), [(here, Event::Disconnected { why, data })]);
    assert_eq!(kinds(&world), ["RLSD", "RLC"]);
    assert_eq!((world.nodes[0].connections(), world.nodes[1].connections()), ((0, 1), (0, 1)));
    world.pass(secs(61));
    assert_eq!((world.nodes[0].connections(), world.nodes[1].connections()), ((0, 0), (0, 0)));
}

#[test]
fn both_disconnect_at_once_and_nothing_is_left() {
    let (mut world, here, there) = connected(BASIC);
    let mut msus = world.step(1, In::Connection(Input::Disconnect(here, disconnect(3, b""))));
    msus.extend(world.step(2, In::Connection(Input::Disconnect(there, disconnect(3, b"")))));
    world.carry(msus);
    assert_eq!((world.nodes[0].connections().0, world.nodes[1].connections().0), (0, 0));
    assert!(events(&mut world, 1).is_empty() && events(&mut world, 2).is_empty());
}

#[test]
fn a_reference_that_is_frozen_is_not_taken_again() {
    let connections =
        ConnectionParameters { reference_first: 0x00ff_fffe, ..parameters().connections };
    let mut world = world(Parameters { connections, ..parameters() });
    let mut seen = Vec::new();
    for _ in 0..5 {
        world.run(1, connect(BASIC, b""));
        let (there, _) = events(&mut world, 2).remove(0);
        let refusal = disconnect(3, b"");
        world.run(2, In::Connection(Input::Disconnect(there, refusal)));
        seen.push(events(&mut world, 1)[0].0.number());
    }
    assert_eq!(seen, [0x00ff_fffe, 0x00ff_ffff, 0, 1, 2], "they go round");
    assert_eq!(world.nodes[0].connections(), (0, 5));
    world.nodes[0].set_settings(sccp::Settings {
        network: None,
        point_code: crate::every::point_code(1),
        aliases: Vec::new(),
        network_indicator: 2,
        concerned: Vec::new(),
        parameters: Parameters { connections, ..parameters() },
    });
    world.pass(secs(59));
    assert_eq!(world.nodes[0].connections(), (0, 5));
    world.pass(secs(61));
    assert_eq!(world.nodes[0].connections(), (0, 0));
}

#[test]
fn a_release_that_is_not_confirmed_is_repeated_and_given_up_after_t_int() {
    let (mut world, here, _) = connected(BASIC);
    world.step(1, In::Connection(Input::Disconnect(here, disconnect(3, b""))));
    let mut sent = 0;
    for second in 1..=76 {
        world.now = secs(second);
        let mut out = Vec::new();
        machine::Machine::tick(&mut world.nodes[0], world.now, &mut out);
        sent += out.iter().filter(|it| matches!(it, sccp::Out::Transfer(_))).count();
    }
    assert_eq!((sent, world.nodes[0].connections()), (4, (0, 1)));
    assert_eq!(world.count(1, Metric::ConnectionsExpired), 1);
    world.pass(secs(76 + 14 * 60));
    assert_eq!(world.nodes[0].connections(), (0, 1), "the other half may live for T(iar)");
}

#[test]
fn a_request_that_nobody_answers_ends_with_t_conn_est_on_both_sides() {
    let mut world = world(parameters());
    world.run(1, connect(BASIC, b""));
    world.pass(secs(91));
    let why = Disconnected::Refused(12);
    let ended = Event::Disconnected { why, data: Bytes::new() };
    assert_eq!(events(&mut world, 1).pop().unwrap().1, ended);
    assert_eq!(events(&mut world, 2).pop().unwrap().1, ended);
    assert_eq!((world.nodes[0].connections().0, world.nodes[1].connections().0), (0, 0));
}

#[test]
fn a_user_that_disconnects_before_the_answer_hears_no_more_and_what_is_confirmed_is_released() {
    let mut world = world(parameters());
    world.run(1, connect(BASIC, b""));
    let here = events(&mut world, 1)[0].0;
    world.run(1, In::Connection(Input::Disconnect(here, disconnect(3, b""))));
    let (there, _) = events(&mut world, 2).remove(0);
    world.run(2, In::Connection(Input::Accept(there, accept(BASIC))));
    assert_eq!(kinds(&world), ["CR", "CC", "RLSD", "RLC"]);
    assert!(events(&mut world, 1).is_empty());
    assert!(matches!(events(&mut world, 2)[..], [(_, Event::Disconnected { .. })]));
    assert_eq!((world.nodes[0].connections().0, world.nodes[1].connections().0), (0, 0));
}

#[test]
fn an_idle_connection_is_held_by_inactivity_tests_and_ends_with_its_other_half() {
    for class in [BASIC, FLOW] {
        let (mut world, here, _) = connected(class);
        world.pass(secs(3 * 3_600));
        assert!(kinds(&world).iter().all(|it| *it == "IT") && world.msus.len() > 40);
        assert_eq!((world.nodes[0].connections().0, world.nodes[1].connections().0), (1, 1));
        world.nodes[1] = node(2, parameters(), Vec::new());
        world.pass(secs(4 * 3_600));
        let why = Disconnected::Released(ReleaseCause::InactivityExpired.number());
        let data = Bytes::new();
        assert_eq!(events(&mut world, 1), [(here, Event::Disconnected { why, data })]);
        assert_eq!(world.nodes[0].connections().0, 0);
    }
}

#[test]
fn class_3_sends_no_more_than_the_window_and_goes_on_when_it_is_acknowledged() {
    let (mut world, here, _) = connected(FLOW);
    let mut msus = Vec::new();
    for number in 0..10u8 {
        msus.extend(world.step(1, data(here, &[number])));
    }
    assert_eq!(msus.len(), 4, "the window is 4");
    assert!(world.nodes[0].connection_octets() >= 6);
    world.carry(msus);
    let came = events(&mut world, 2);
    let came: Vec<u8> = came
        .iter()
        .map(|it| match &it.1 {
            Event::Data(data) => data[0],
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(came, (0..10).collect::<Vec<_>>());
    assert_eq!(kinds(&world).iter().filter(|it| **it == "AK").count(), 5);
    assert_eq!(world.nodes[0].connection_octets(), 0);
}

#[test]
fn the_class_and_the_window_are_agreed_downwards() {
    let mut world = world(parameters());
    world.run(1, connect(FLOW, b""));
    let (there, _) = events(&mut world, 2).remove(0);
    world.run(2, In::Connection(Input::Accept(there, accept(BASIC))));
    let (here, event) = events(&mut world, 1).remove(1);
    assert!(matches!(event, Event::Confirmed { class: BASIC, .. }));
    world.msus.clear();
    world.run(1, data(here, b"x"));
    assert_eq!(kinds(&world), ["DT1"]);
}

#[test]
fn expedited_data_pass_a_closed_window_one_after_the_other() {
    let (mut world, here, _) = connected(FLOW);
    for number in 0..10u8 {
        world.step(1, data(here, &[number]));
    }
    let urgent = |it: &[u8]| In::Connection(Input::Expedited(here, Bytes::copy_from_slice(it)));
    let msus = world.step(1, urgent(b"one"));
    assert!(world.step(1, urgent(b"two")).is_empty(), "it waits for EA");
    world.carry(msus);
    let came: Vec<Event> = events(&mut world, 2).into_iter().map(|it| it.1).collect();
    let expected = [b"one", b"two"].map(|it| Event::Expedited(Bytes::from_static(it)));
    assert_eq!(came, expected);
    for bad in [&[][..], &[0; 33]] {
        world.run(1, urgent(bad));
        let heard = events(&mut world, 1).pop().unwrap().1;
        assert_eq!(heard, Event::NotSent(Bytes::copy_from_slice(bad)));
    }
}

#[test]
fn a_lost_message_of_class_3_resets_the_connection_and_data_flow_again() {
    let (mut world, here, there) = connected(FLOW);
    world.run(1, data(here, b"before"));
    world.step(1, data(here, b"lost"));
    world.run(1, data(here, b"after"));
    let cause = ResetCause::IncorrectSend.number();
    let of = |it: Vec<(LocalReference, Event)>| it.into_iter().map(|it| it.1).collect::<Vec<_>>();
    let before = Event::Data(Bytes::from_static(b"before"));
    assert_eq!(of(events(&mut world, 2)), [before, Event::Reset(cause)]);
    assert_eq!(of(events(&mut world, 1)), [Event::Reset(cause)]);
    world.run(1, data(here, b"queued"));
    world.run(1, In::Connection(Input::ResetResponse(here)));
    let queued = Event::Data(Bytes::from_static(b"queued"));
    assert_eq!(of(events(&mut world, 2)), [Event::ResetConfirmed, queued]);
    world.run(2, In::Connection(Input::Reset(there, 1)));
    world.run(1, In::Connection(Input::ResetResponse(here)));
    assert_eq!(of(events(&mut world, 1)), [Event::Reset(1)]);
    assert_eq!(of(events(&mut world, 2)), [Event::ResetConfirmed]);
}

#[test]
fn a_reset_that_nobody_confirms_ends_the_connection() {
    let (mut world, here, there) = connected(FLOW);
    world.run(1, In::Connection(Input::Reset(here, 1)));
    world.pass(secs(16));
    let why = Disconnected::Released(ReleaseCause::ResetExpired.number());
    let ended = Event::Disconnected { why, data: Bytes::new() };
    assert_eq!(events(&mut world, 1), [(here, ended.clone())]);
    assert_eq!(events(&mut world, 2), [(there, Event::Reset(1)), (there, ended)]);
    assert_eq!((world.nodes[0].connections().0, world.nodes[1].connections().0), (0, 0));
}

#[test]
fn a_lost_acknowledgement_of_expedited_data_resets_the_connection() {
    let (mut world, here, _) = connected(FLOW);
    world.step(1, In::Connection(Input::Expedited(here, Bytes::from_static(b"lost"))));
    world.pass(secs(14));
    assert!(events(&mut world, 1).is_empty());
    world.pass(secs(16));
    let cause = ResetCause::Unqualified.number();
    assert_eq!(events(&mut world, 1), [(here, Event::Reset(cause))]);
}

#[test]
fn a_lost_acknowledgement_of_class_3_is_made_good_by_an_inactivity_test() {
    let (mut world, here, _) = connected(FLOW);
    for number in 0..5u8 {
        let msus = world.step(1, data(here, &[number]));
        for msu in msus {
            world.step(2, In::Transfer(msu));
        }
    }
    assert_eq!(events(&mut world, 2).len(), 4, "both AK are lost: the window is closed");
    world.pass(secs(7 * 60 + 1));
    assert_eq!(events(&mut world, 2).len(), 1);
    assert_eq!(world.count(1, Metric::ConnectionResets), 0);
}

#[test]
fn users_hear_when_the_way_to_the_other_node_fails_and_returns() {
    let (mut world, here, _) = connected(BASIC);
    let affected = m3ua::codec::Affected::one(crate::every::point_code(2));
    world.run(1, In::Pause(affected));
    world.run(1, In::Pause(affected));
    world.run(1, In::Resume(affected));
    let expected = [Inform::Failure, Inform::Return].map(|it| (here, Event::Inform(it)));
    assert_eq!(events(&mut world, 1), expected);
}

#[test]
fn a_test_of_another_class_ends_the_connection_and_data_of_another_class_are_an_error() {
    let (mut world, here, there) = connected(BASIC);
    world.run(1, data(here, b"x"));
    let msu = world.msus[0].clone();
    let with = |message: ConnectionMessage<'_>| {
        let mut payload = Vec::new();
        message.write(&mut payload).unwrap();
        In::Transfer(m3ua::Transfer { payload: payload.into(), ..msu.clone() })
    };
    events(&mut world, 2);
    world.msus.clear();
    world.run(
        2,
        with(ConnectionMessage::Acknowledgement { destination: there, receive: 0, credit: 1 }),
    );
    assert_eq!(kinds(&world), ["ERR", "RLSD", "RLC"], "who hears of it releases");
    assert_eq!((world.nodes[0].connections().0, world.nodes[1].connections().0), (0, 0));
}

#[test]
fn while_its_user_is_busy_nothing_is_acknowledged_and_the_other_side_stops() {
    let (mut world, here, there) = connected(FLOW);
    world.run(2, In::Connection(Input::Busy(there, true)));
    for number in 0..10 {
        world.run(1, data(here, &[number]));
    }
    assert_eq!(events(&mut world, 2).len(), 4, "as many as the window has");
    // What it sends itself acknowledges nothing either.
    world.run(2, data(there, b"back"));
    assert_eq!((events(&mut world, 1).len(), events(&mut world, 2).len()), (1, 0));
    assert!(!kinds(&world).contains(&"AK"), "{:?}", kinds(&world));
    world.run(2, In::Connection(Input::Busy(there, false)));
    assert_eq!(events(&mut world, 2).len(), 6);
    assert!(kinds(&world).contains(&"AK"));
}
