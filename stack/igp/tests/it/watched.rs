//! Neighbours watched by BFD: one that falls silent is lost long before its hellos are missed.

use crate::world::{SECOND, World};
use detection::program::{Name, Notice};
use machine::Duration;

#[test]
fn a_neighbour_that_falls_silent_is_lost_after_three_intervals_of_bfd() {
    let mut world = World::new(3, 3);
    world.lines = "bfd = { interval_ms = 100, multiplier = 3 }".to_owned();
    world.wire(false, &[(0, 10), (1, 10)]);
    world.wire(false, &[(1, 10), (2, 10)]);
    world.wire(false, &[(2, 100), (0, 100)]);
    let far = world.wire(true, &[(1, 1)]);
    world.start_all();
    world.run(SECOND * 60);
    let bfd = |world: &World| {
        let rows = question::value(world.at(0).neighbours(world.now));
        rows.as_array().unwrap().iter().map(|it| it["bfd"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(bfd(&world), ["Up", "Up"]);
    let hop = |world: &World| world.at(0).route(World::prefix(far)).unwrap().ways[0].interface;
    assert_eq!(hop(&world), 1);
    // Nothing passes, and no link says so.
    world.wires[0].passes = false;
    world.run(Duration::from_millis(1_000));
    assert_eq!(hop(&world), 3, "by the other way");
    let alarms = world.at(0).alarms(world.now);
    let [alarm, session] = &alarms[..] else { panic!("{alarms:?}") };
    assert_eq!((&*session.name, &*session.subject), ("bfd-neighbour-lost", "w0 10.0.0.2"));
    assert_eq!((&*alarm.name, &*alarm.subject), ("igp-adjacency-lost", "w0 10.0.0.2"));
    assert!(alarm.text.ends_with("its BFD session went down"), "{}", alarm.text);
    world.wires[0].passes = true;
    world.run(SECOND * 60);
    assert_eq!((hop(&world), bfd(&world).len()), (1, 2));
    assert_eq!(world.alarms(0), Vec::<String>::new(), "it is back");
}

#[test]
fn a_neighbour_without_bfd_is_a_neighbour_all_the_same() {
    let mut world = World::new(4, 2);
    world.wire(false, &[(0, 10), (1, 10)]);
    world.start_all();
    world.lines = "bfd = {}".to_owned();
    world.configure(0);
    world.run(SECOND * 60);
    assert_eq!(world.states(0), [("w0".to_owned(), "Full".to_owned())]);
    let row = &question::value(world.at(0).neighbours(world.now))[0];
    assert_eq!(row["bfd"], "Down");
    world.lines.clear();
    world.configure(0);
    assert_eq!(world.states(0), [("w0".to_owned(), "Full".to_owned())]);
}

#[test]
fn who_guesses_what_a_session_is_called_is_told_of_for_a_minute() {
    let mut world = World::new(5, 2);
    world.lines = "bfd = { interval_ms = 100, multiplier = 3 }".to_owned();
    world.wire(false, &[(0, 10), (1, 10)]);
    world.start_all();
    world.run(SECOND * 60);
    let name = Name { interface: 1, address: [10, 0, 0, 2].into() };
    let mut misnamed = 0;
    for (a_second, alarms) in [(40, 0), (60, 1), (0, 1)] {
        for _ in 0..5 {
            world.run(SECOND);
            misnamed += a_second;
            let state = Some(bfd::State::Up);
            world.hear(0, &name, Notice { state, misnamed, ..Notice::default() });
        }
        assert_eq!(world.alarms(0), vec!["bfd-session-guessed"; alarms], "{a_second} a second");
    }
    world.run(SECOND * 60);
    assert_eq!(world.alarms(0), Vec::<String>::new());
}
