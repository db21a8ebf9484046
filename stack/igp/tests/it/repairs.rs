//! Repairs of routes: what routes carry, who is told first when a neighbour goes, what waits.

use crate::world::{SECOND, World};
use igp::{Prefix, Protocol, Way};
use machine::Duration;
use serde_json::json;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// A ring of four, of which each is repaired by the other side; what lies behind the third.
fn ring(method: &str, delay_ms: u32, of: Protocol) -> (World, Prefix) {
    let mut world = World::new(5, 4);
    world.speaks = vec![of];
    world.lines = "hello_s = 1\ndead_s = 4\nretransmit_s = 1".to_owned();
    world.isis_lines = "hello_s = 1".to_owned();
    let own = format!("repair = \"{method}\"\nmicroloop_delay_ms = {delay_ms}\n");
    (world.own_lines, world.own_isis_lines) = (vec![own.clone(); 4], vec![own; 4]);
    for (one, two, cost) in [(0, 1, 10), (1, 2, 10), (2, 3, 10), (3, 0, 15)] {
        world.wire(false, &[(one, cost), (two, cost)]);
    }
    let far = world.wire(true, &[(2, 10)]);
    world.start_all();
    world.run(SECOND * 40);
    (world, World::prefix(far))
}

fn taken(world: &mut World) -> BTreeSet<Prefix> {
    world.routers[0].as_mut().unwrap().take_changed()
}

fn way(wire: usize, end: usize) -> Way {
    let gateway = IpAddr::V4(World::address(wire, end));
    Way { interface: wire as u32 + 1, gateway }
}

#[test]
fn a_route_has_a_repair_and_whoever_is_lost_is_told_before_routes_are() {
    for of in Protocol::ALL {
        let (mut world, far) = ring("lfa", 0, of);
        taken(&mut world);
        let route = world.at(0).route(far).unwrap();
        assert!(route.is_guarded && route.ways == [way(0, 1)], "{route:?}");
        let repair = route.repair.unwrap();
        assert_eq!((repair.way, repair.tunnel), (way(3, 0), None));
        let row = world.row(0, of, far).unwrap();
        assert_eq!(row["repair"]["gateway"], json!(way(3, 0).gateway));
        assert_eq!(row["repair"]["state"], "ready");
        world.set_up(0, false);
        let guard = (of, way(0, 1));
        let router = world.routers[0].as_mut().unwrap();
        assert!(router.has_changed() && router.is_away(&guard));
        let moved = router.take_moved();
        assert!(moved.contains(&(guard, false)) && moved.iter().all(|it| !it.1), "{moved:?}");
        assert!(!router.take_changed().contains(&far), "SPF has not run");
        assert_eq!(world.row(0, of, far).unwrap()["repair"]["state"], "in use");
        world.run(SECOND);
        assert!(taken(&mut world).contains(&far));
        assert_eq!(world.at(0).route(far).unwrap().ways, [way(3, 0)]);
        world.set_up(0, true);
        world.run(SECOND * 20);
        let moved = world.routers[0].as_mut().unwrap().take_moved();
        assert!(moved.contains(&(guard, true)) && moved.iter().all(|it| it.1), "{moved:?}");
    }
}

#[test]
fn repaired_routes_wait_while_nothing_else_happens() {
    for of in Protocol::ALL {
        for disturbs in [false, true] {
            let (mut world, far) = ring("lfa", 3_000, of);
            taken(&mut world);
            world.set_up(0, false);
            world.run(Duration::from_millis(500));
            let told = taken(&mut world);
            assert!(!told.contains(&far), "{of:?}: it goes by its repair");
            assert!(world.alarms(0).contains(&"igp-repair-in-use".to_owned()));
            if disturbs {
                world.set_up(1, false);
            }
            // SPF waits a second by then (RFC 8405).
            world.run(SECOND * 2);
            assert_eq!(taken(&mut world).contains(&far), disturbs, "{of:?}");
            world.run(SECOND * 3);
            assert_eq!(taken(&mut world).contains(&far), !disturbs, "{of:?}");
            assert!(!world.alarms(0).contains(&"igp-repair-in-use".to_owned()));
        }
    }
}

#[test]
fn a_tunnel_needs_an_address_of_its_far_end() {
    let mut world = World::new(6, 6);
    world.lines = "hello_s = 1\ndead_s = 4\nretransmit_s = 1".to_owned();
    world.own_lines = vec!["repair = \"remote-lfa\"\n".to_owned(); 6];
    for router in 0..6 {
        world.wire(false, &[(router, 10), ((router + 1) % 6, 10)]);
    }
    world.start_all();
    world.run(SECOND * 40);
    // Nobody has an address of its own that a tunnel could lead to.
    assert_eq!(world.at(0).route(World::prefix(1)).unwrap().repair, None);
}

#[test]
fn topologies_changes_and_paths_are_shown() {
    for of in Protocol::ALL {
        let (mut world, _) = ring("lfa", 0, of);
        let ask = |params: &[(&str, &str)]| {
            let params = params.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            runtime::Ask { path: String::new(), params: params.collect() }
        };
        let rows = question::value(world.at(0).topology(&ask(&[])).unwrap());
        let row = &rows[0];
        assert_eq!((&row["protocol"], &row["repair"]), (&json!(of.name()), &json!("lfa")));
        let routers = row["nodes"].as_array().unwrap().iter();
        let routers = routers.map(|it| it["id"].as_str().unwrap().to_owned());
        let routers: Vec<String> = routers.collect();
        assert_eq!(routers.len(), 4);
        assert_eq!(row["links"].as_array().unwrap().len(), 8);
        assert!(row["nodes"][0]["own"].as_bool().unwrap() && row["nodes"][0]["cost"] == 0);
        let (own, next) = (&routers[0], &routers[1]);
        let path =
            question::value(world.at(0).paths(&ask(&[("from", own), ("to", next)])).unwrap());
        assert_eq!((&path[0]["cost"], &path[0]["repaired_by"]), (&json!(10), &json!("lfa")));
        assert!(world.at(0).paths(&ask(&[("from", own), ("to", "192.0.2.99")])).is_err());
        assert!(world.at(0).paths(&ask(&[("from", own)])).is_err());
        world.set_up(2, false);
        world.run(SECOND * 10);
        let changes = question::value(world.at(0).changes(world.now, &ask(&[])).unwrap());
        let last = changes.as_array().unwrap().last().unwrap();
        let gone = last["links"].as_array().unwrap();
        assert!(gone.iter().all(|it| it["before"] == 10 && it["after"].is_null()), "{last}");
    }
}
