//! Features: one that the plane does not know beforehand lives by its row alone.

use super::tally::{ROW, Tally, counted};
use super::world::{World, ethernet, programs, udp4};
use nodes::program::Removed;
use nodes::{Program, Refused};
use plane_control::{FEATURES, Plane};

const TO: u32 = u32::from_be_bytes([10, 0, 2, 2]);

/// A router that counts packets of interface 1 to 10.0.2.2.
fn counting() -> World {
    let plane = Plane::with_features(1, &[FEATURES, &[ROW]].concat()).unwrap();
    World::on(plane, &[programs(), vec![counted(1, TO)]].concat())
}

/// Sends a packet by a port to an address; it leaves by the other.
fn sends(world: &mut World, port: u16, from: &str, to: &str) {
    let left = world.send(port, &ethernet(port, 0x0800, &udp4(from, to, 9, 60)));
    assert_eq!(left.sent.len(), 1, "{to}");
}

fn packets(world: &World) -> Option<u64> {
    world.plane.feature::<Tally>().unwrap().packets(1, TO)
}

/// Packets that the node has seen.
fn seen(world: &World) -> u64 {
    world.graph.counters().iter().filter(|node| node.name == "tally").map(|it| it.packets).sum()
}

#[test]
fn a_feature_that_is_one_row_counts_what_it_is_told_to_count_and_nothing_else() {
    let mut world = counting();
    sends(&mut world, 0, "10.0.1.2", "10.0.2.2");
    sends(&mut world, 0, "10.0.1.2", "10.0.2.2");
    world.send(0, &ethernet(0, 0x0800, &udp4("10.0.1.2", "10.0.2.99", 9, 60)));
    sends(&mut world, 1, "10.0.2.2", "10.0.1.2");
    assert_eq!(packets(&world), Some(2));
    assert_eq!(seen(&world), 3, "packets of other interfaces do not pass its node");
}

#[test]
fn what_it_was_told_is_swept_away_when_it_is_not_said_again() {
    let mut world = counting();
    world.apply(Program::Begin { generation: 1 });
    programs().into_iter().for_each(|program| world.apply(program));
    world.apply(counted(1, TO));
    world.apply(Program::End { generation: 1 });
    sends(&mut world, 0, "10.0.1.2", "10.0.2.2");
    assert_eq!(packets(&world), Some(1), "it was said again");
    world.apply(Program::Begin { generation: 2 });
    programs().into_iter().for_each(|program| world.apply(program));
    world.apply(Program::End { generation: 2 });
    sends(&mut world, 0, "10.0.1.2", "10.0.2.2");
    assert_eq!((packets(&world), seen(&world)), (None, 1), "its node is off the path");
}

#[test]
fn it_forgets_an_interface_that_goes() {
    let mut world = counting();
    world.apply(Program::Remove(Removed::Interface(1)));
    assert_eq!(packets(&world), None);
}

#[test]
fn what_cannot_be_is_refused_in_the_words_of_the_feature() {
    let mut world = counting();
    let refused = world.plane.apply(&counted(70_000, TO));
    assert!(matches!(refused, Err(Refused::Number { what: "interface", .. })), "{refused:?}");
    let mut plain = World::new();
    let refused = plain.plane.apply(&counted(1, TO));
    assert_eq!(refused, Err(Refused::Conflict("there is no feature tally".to_owned())));
}

#[test]
fn features_of_an_arc_come_in_the_order_of_their_ranks() {
    let mut world = counting();
    let features = vec!["nothing".to_owned()];
    let program = Program::Features { arc: "ip4-in".to_owned(), interface: 1, features };
    let refused = world.plane.apply(&program).unwrap_err().to_string();
    let order = "ip4-urpf, sample, tally, classify, ip4-filter, media4, policer-in";
    assert!(refused.ends_with(order), "{refused}");
}

#[test]
fn the_map_of_the_nodes_names_nodes_and_arcs_that_exist() {
    let world = World::new();
    let text = include_str!("../../../nodes/src/lib.rs");
    let map = text.split("```").nth(1).expect("the map");
    let words = map.split(|it: char| !it.is_ascii_alphanumeric() && it != '-');
    let names = words.map(|it| it.trim_matches('-')).filter(|it| it.contains('-'));
    let arcs = nodes::arcs::RECEIVED;
    for name in names.filter(|name| !arcs.contains(name)) {
        assert!(world.graph.entry(name).is_some(), "{name}");
    }
}
