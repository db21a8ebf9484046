//! What an operator changes, and what it costs; keys; numbers that two routers have.

use crate::world::{SECOND, World};
use igp::config::KeyChain;
use igp::{Metric, Protocol, Sections, Shown};

fn two(lines: &str) -> World {
    let mut world = World::new(7, 2);
    world.lines = lines.to_owned();
    world.wire(true, &[(0, 10), (1, 10)]);
    world.wire(true, &[(1, 10)]);
    world.start_all();
    world.run(SECOND * 60);
    world
}

const BROADCAST: &str = "it takes the link for a broadcast one, here it is point-to-point";
const POINT_TO_POINT: &str = "it takes the link for point-to-point, here it is a broadcast one";

fn refused() -> [(String, String); 1] {
    [("w0".to_owned(), "refused".to_owned())]
}

/// What the row of a router's only neighbour says against it.
pub fn why(world: &World, router: usize) -> String {
    let rows = question::value(world.at(router).neighbours(world.now));
    assert_eq!(rows.as_array().unwrap().len(), 1, "{rows}");
    rows[0]["why"].as_str().unwrap_or_default().to_owned()
}

fn lost(why: &str) -> String {
    format!("10.255.0.2 at w0 is no neighbour any more: {why}")
}

fn full(world: &World) -> bool {
    world.states(0) == [("w0".to_owned(), "Full".to_owned())]
}

#[test]
fn another_cost_takes_no_adjacency_and_another_hello_does_as_it_was_foretold() {
    let mut world = two("hello_s = 2\ndead_s = 8");
    assert!(full(&world));
    let before = world.section(0);
    world.wires[0].ends[0].1 = 77;
    let after = world.section(0);
    assert_eq!(before.interruptions(Some(&after)), Vec::<String>::new());
    world.configure(0);
    assert!(full(&world), "the adjacency stands");
    world.run(SECOND * 10);
    assert_eq!(world.at(0).route(World::prefix(1)).map(|it| it.cost), Some(87));
    world.lines = "hello_s = 1\ndead_s = 8".to_owned();
    let last = world.section(0);
    assert_eq!(
        after.interruptions(Some(&last)),
        ["this interface begins its adjacencies anew: w0"]
    );
    world.configure(0);
    world.run(SECOND * 20);
    // It is heard all the same, and why it is no neighbour stands wherever somebody looks.
    assert_eq!(world.states(0), refused());
    assert_eq!(why(&world, 0), "its hello interval is 2 s, here 1 s");
    assert_eq!(world.said(0), [lost("its hello interval is 2 s, here 1 s")]);
    assert_eq!(why(&world, 1), "its hello interval is 1 s, here 2 s");
    assert_eq!(world.at(0).route(World::prefix(1)), None);
    world.configure(1);
    world.run(SECOND * 60);
    assert!(full(&world));
    assert_eq!(last.interruptions(None), ["this interface speaks OSPF no more: w0"]);
}

#[test]
fn keys_change_without_a_loss_and_who_has_none_is_no_neighbour() {
    let mut world = World::new(8, 2);
    world.lines = "key_file = \"keys\"".to_owned();
    let keys = |text: &str| KeyChain::read(Protocol::Ospf, text).unwrap();
    world.keys.insert("keys".to_owned(), keys("1 hmac-sha-256 first"));
    world.wire(false, &[(0, 10), (1, 10)]);
    world.start_all();
    world.run(SECOND * 60);
    assert!(full(&world));
    // The new key is known to both before either sends with it.
    for text in ["1 hmac-sha-256 first\n2 md5 second", "2 md5 second\n1 hmac-sha-256 first"] {
        world.keys.insert("keys".to_owned(), keys(text));
        (0..2).for_each(|router| world.configure(router));
        world.run(SECOND * 60);
        assert!(full(&world), "{text}");
        assert_eq!(world.alarms(0), Vec::<String>::new());
    }
    world.keys.insert("keys".to_owned(), keys("2 md5 other"));
    world.configure(1);
    world.run(SECOND * 60);
    assert_eq!(world.states(0), refused());
    assert_eq!(world.said(0), [lost("it knows another secret: both say key 2")]);
    world.keys.insert("keys".to_owned(), keys("password word"));
    world.configure(1);
    world.run(SECOND * 20);
    assert_eq!(why(&world, 0), "its packets have a password, here key 2");
    world.keys.clear();
    world.configure(1);
    world.run(SECOND * 60);
    assert_eq!(world.states(1), refused(), "a file that is gone lets nobody in");
    // Nobody speaks any more: what was heard last counts for a minute.
    world.set_passing(0, false);
    world.run(SECOND * 120);
    assert_eq!(world.states(0), []);
}

#[test]
fn a_mistake_of_an_operator_is_told_with_the_value_there_and_here() {
    for (lines, at_0, at_1) in [
        (
            "dead_s = 50",
            "its dead interval is 40 s, here 50 s",
            "its dead interval is 50 s, here 40 s",
        ),
        ("network = \"point-to-point\"", BROADCAST, POINT_TO_POINT),
    ] {
        let mut world = two("");
        world.own_interface = lines.to_owned();
        world.configure(0);
        world.run(SECOND * 100);
        assert_eq!((why(&world, 0), why(&world, 1)), (at_0.to_owned(), at_1.to_owned()));
        world.own_interface = String::new();
        world.configure(0);
        world.run(SECOND * 120);
        assert!(full(&world), "{lines}");
        assert_eq!((why(&world, 0), why(&world, 1)), (String::new(), String::new()), "{lines}");
        assert_eq!(world.said(0), Vec::<String>::new());
    }
}

#[test]
fn another_area_and_another_mtu_are_the_reason_and_no_interface_that_is_down() {
    let mut world = two("");
    world.area = "1".to_owned();
    world.configure(0);
    assert_eq!(world.said(0), [lost("its area is another one")]);
    world.run(SECOND * 20);
    assert_eq!(world.said(0), [lost("its area is 0.0.0.0, here 0.0.0.1")]);
    world.area = "0".to_owned();
    world.mtus[1] = 1_400;
    (0..2).for_each(|router| world.configure(router));
    world.run(SECOND * 60);
    assert_eq!(why(&world, 0), "its MTU is 1400, here 1500");
    assert_eq!(why(&world, 1), "its MTU is 1500, here 1400");
    assert!(!full(&world));
}

#[test]
fn an_interface_that_is_passive_says_so_and_an_area_is_named_by_one_number_as_well() {
    let mut world = two("");
    let lsas = |area: &str| {
        let params = [("area".to_owned(), area.to_owned())].into();
        let ask = runtime::Ask { path: "igp/database".to_owned(), params };
        world.at(0).database(world.now, &ask).map(|it| it.rows.len())
    };
    assert_eq!((lsas("0").unwrap(), lsas("1").unwrap()), (3, 0));
    assert_eq!(lsas("0.0.0.0").unwrap(), 3);
    for area in ["", "-1", "4294967296", "0.0.0", "level-2"] {
        assert!(lsas(area).is_err(), "{area}");
    }
    world.own_interface = "passive = true".to_owned();
    world.configure(0);
    world.run(SECOND);
    assert_eq!(world.states(0), []);
    let rows = question::value(world.at(0).interface_rows(world.now));
    assert_eq!((&rows[0]["state"], &rows[0]["passive"]), (&"passive".into(), &true.into()));
}

#[test]
fn a_router_with_the_number_of_another_is_an_alarm_at_both() {
    let mut world = World::new(9, 2);
    world.wire(true, &[(0, 10), (1, 10)]);
    world.start_all();
    let same = world.section(0);
    let of_own = |mut it: igp::config::Ospf| {
        it.router_id = same.router_id;
        it
    };
    let section = std::sync::Arc::new(of_own((*world.section(1)).clone()));
    let (now, around) = (world.now, world.around_of(1));
    let sections = Sections {
        ospf: Some((section, Default::default())),
        isis: None,
        ..igp::Sections::default()
    };
    world.with(1, |it, out| it.configure(now, &sections, &around, out));
    world.run(SECOND * 30);
    for router in 0..2 {
        assert_eq!(world.alarms(router), ["igp-duplicate-router-id"]);
        assert_eq!(world.states(router), refused());
        assert_eq!(why(&world, router), "it has the number of this router");
    }
}

#[test]
fn what_is_counted_moves_and_is_nothing_once_there_is_no_router() {
    let world = two("");
    let shown = Shown::default();
    shown.show(Some(world.at(0)), world.now);
    let value = |metric: Metric| {
        let name = event::Metric::row(metric).name;
        let mut all = shown.cells().into_iter().flat_map(|it| it.labelled());
        match all.find(|(row, ..)| row.name == name).unwrap().2 {
            event::Sample::Value(value) => value,
            _ => panic!("a number"),
        }
    };
    let wanted = [
        (Metric::Neighbours, 1),
        (Metric::Adjacencies, 1),
        (Metric::Routes, 2),
        (Metric::Lsas, 3),
        (Metric::Lost, 0),
    ];
    for (metric, wanted) in wanted {
        assert_eq!(value(metric), wanted, "{metric:?}");
    }
    for metric in [Metric::Runs, Metric::Received, Metric::Sent, Metric::Originated] {
        assert!(value(metric) > 0, "{metric:?}");
    }
    shown.show(None, world.now);
    assert_eq!((value(Metric::Adjacencies), value(Metric::Routes)), (0, 0));
    assert!(value(Metric::Runs) > 0, "what has happened stays");
}
