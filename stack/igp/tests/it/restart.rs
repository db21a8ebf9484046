//! A control that is started anew beside a forwarder that went on (RFC 3623).

use crate::world::{SECOND, World};
use machine::Duration;

#[test]
fn neighbours_bear_a_control_that_dies_and_comes_back_and_no_route_is_lost() {
    for is_broadcast in [false, true] {
        let mut world = World::new(5, 3);
        world.wire(is_broadcast, &[(0, 10), (1, 10)]);
        world.wire(is_broadcast, &[(1, 10), (2, 10)]);
        let far = world.wire(true, &[(2, 1)]);
        world.start_all();
        world.run(SECOND * 90);
        let prefix = World::prefix(far);
        let cost = world.at(0).route(prefix).map(|it| it.cost);
        assert_eq!(cost, Some(21));
        // It dies without a word; what forwards for it goes on.
        world.routers[1] = None;
        world.run(SECOND * 8);
        world.start(1, true);
        assert!(world.at(1).is_restarting());
        for step in 0..600 {
            world.run(Duration::from_millis(100));
            for router in [0, 2] {
                let route =
                    world.at(router).route(World::prefix(if router == 0 { far } else { 0 }));
                assert!(route.is_some(), "router {router} after {step} steps ({is_broadcast})");
            }
        }
        assert!(!world.at(1).is_restarting(), "every adjacency of before is full again");
        assert_eq!(world.at(1).route(prefix).map(|it| it.cost), Some(11));
        assert_eq!(world.alarms(0), Vec::<String>::new());
    }
}

#[test]
fn a_restart_that_nobody_bears_ends_with_its_time() {
    let mut world = World::new(6, 2);
    world.own_lines = vec!["restart_s = 30".to_owned(), "helper_s = 0".to_owned()];
    world.wire(false, &[(0, 10), (1, 10)]);
    let far = world.wire(true, &[(1, 1)]);
    world.start(0, true);
    world.run(SECOND * 20);
    assert!(world.at(0).is_restarting());
    world.start(1, false);
    world.run(SECOND * 60);
    assert!(!world.at(0).is_restarting() && world.at(0).is_settled());
    assert_eq!(world.at(0).route(World::prefix(far)).map(|it| it.cost), Some(11));
}
