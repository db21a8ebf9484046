//! Connections of an application without TCAP: what one of them may cost the others.

use crate::world::{World, settings};
use bytes::Bytes;
use machine::Duration;
use sccp::codec::{Address, ConnectionClass, LocalReference, ReleaseCause};
use sccp::{ConnectionEvent as Event, ConnectionInput as Input};
use tcu::{Indication, InstanceId, Network, NetworkIndication as Told, Settings, Spelling};

const fn reference(number: u32) -> LocalReference {
    LocalReference::truncated(number)
}

/// An application with an instance that has connections with these numbers.
fn world(connections: &[u32]) -> (World, InstanceId) {
    let mut world =
        World::new(Settings { is_network: true, queue_octets_max: 131_072, ..settings() });
    let a = world.instance("", Spelling::Json);
    for number in connections {
        let called = Address::subsystem(None, 6);
        let (class, importance, data) = (ConnectionClass::Basic, None, Bytes::new());
        let event = Event::Offered { called, calling: None, class, importance, data };
        world.application.connection_event(world.now, reference(*number), event);
    }
    world.pass(Duration::from_millis(1));
    world.stick(a, true);
    (world, a)
}

/// So many octets come for a connection; the connections that the application ends.
fn data(world: &mut World, connection: u32, octets: usize) -> Vec<u32> {
    let event = Event::Data(vec![7; octets].into());
    world.application.connection_event(world.now, reference(connection), event);
    let wanted = world.application.take_network().into_iter().filter_map(|it| match it {
        Network::Connection(Input::Disconnect(of, what)) => {
            assert_eq!(what.cause, ReleaseCause::NetworkCongestion.number());
            Some(of.number())
        }
        // Whoever goes on although nothing is acknowledged is ended.
        Network::Connection(Input::Busy(_, true)) => None,
        other => panic!("{other:?}"),
    });
    wanted.collect()
}

#[test]
fn a_connection_that_floods_ends_alone_and_its_instance_stays() {
    let (mut world, a) = world(&[1, 2]);
    let mut ended = Vec::new();
    for _ in 0..2_000 {
        ended.extend(data(&mut world, 1, 200));
    }
    assert_eq!(ended, [1], "once");
    assert!(data(&mut world, 2, 1_000).is_empty(), "there is room for the other one");
    assert_eq!((world.application.connections(), world.status().counts.too_slow), (1, 0));
    world.pass(Duration::from_millis(10));
    assert!(!world.instances[&a].is_closed);
    world.stick(a, false);
    let told = world.told_to(a);
    let has = |wanted: &dyn Fn(&Told) -> bool| {
        told.iter().any(|it| matches!(it, Indication::Network(it) if wanted(it)))
    };
    assert!(has(&|it| matches!(it, Told::Disconnect { connection: Some(1), .. })));
    assert!(has(&|it| matches!(it, Told::Data { connection: 2, .. })));
}

#[test]
fn however_many_flood_nobody_else_is_released() {
    let all: Vec<u32> = (1..=40).collect();
    let (mut world, a) = world(&all);
    let mut ended = Vec::new();
    for round in 0..400 {
        for number in 1..40 {
            ended.extend(data(&mut world, number, 100 + round));
        }
    }
    ended.sort_unstable();
    assert_eq!(ended, all[..39]);
    assert!(data(&mut world, 40, 100).is_empty());
    world.pass(Duration::from_millis(10));
    assert!(!world.instances[&a].is_closed);
}
