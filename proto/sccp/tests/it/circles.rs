//! Translations that lead in a circle.

use crate::every::point_code;
use crate::world::*;
use sccp::codec::{Address, Class, Form, ReturnCause, Routing, Word};
use sccp::{Choice, In, Indication, Metric, Node, Parameters, Unitdata};

fn on_to(number: u32, next: u32) -> Node {
    let rules = vec![rule("", &[(Some(next), Routing::Title)], Choice::Backup)];
    node(number, Parameters::q714(), rules)
}

#[test]
fn what_would_go_back_to_the_node_that_it_came_from_is_returned() {
    for importance in [None, Some(0)] {
        let mut world = World::new(vec![on_to(1, 2), on_to(2, 3), on_to(3, 2)]);
        world.run(1, In::Unitdata(Unitdata { importance, ..to(title("4"), 1, b"round") }));
        assert_eq!(world.notices(1), [ReturnCause::NoTranslationAddress.number()]);
        assert_eq!(
            (world.count(3, Metric::Circular), world.count(3, Metric::Untranslated)),
            (1, 0)
        );
        assert_eq!(world.msus.len(), 3);
    }
    // Another target that there is takes it.
    let rules =
        vec![rule("", &[(Some(1), Routing::Title), (Some(3), Routing::Subsystem)], Choice::Backup)];
    let two = node(2, Parameters::q714(), rules);
    let mut world = World::new(vec![on_to(1, 2), two, node(3, Parameters::q714(), Vec::new())]);
    world.run(1, In::Unitdata(to(title("4"), 1, b"on")));
    assert_eq!((world.data(3).len(), world.count(2, Metric::Circular)), (1, 0));
    // Where it ends there is no circle: a subsystem beside the one that asks.
    let back = vec![rule("", &[(Some(1), Routing::Subsystem)], Choice::Backup)];
    let mut world = World::new(vec![on_to(1, 2), node(2, Parameters::q714(), back)]);
    world.run(1, In::Unitdata(to(title("4"), 1, b"beside")));
    assert_eq!(world.data(1), [&b"beside"[..]]);
}

#[test]
fn what_comes_back_to_a_title_that_nobody_knows_ends_too() {
    let mut world = World::new(vec![on_to(1, 2), on_to(2, 3), on_to(3, 2)]);
    world.run(1, In::Unitdata(Unitdata { calling: title("9"), ..to(title("4"), 1, b"x") }));
    assert!(world.notices(1).is_empty());
    assert!(world.msus.len() < 20, "{}", world.msus.len());
}

#[test]
fn a_udt_that_goes_on_by_its_title_leaves_as_xudt_and_no_circle_keeps_it() {
    let mut world = World::new(vec![on_to(1, 2), on_to(2, 3), on_to(3, 4), on_to(4, 2)]);
    world.run(1, In::Unitdata(to(title("4"), 1, b"round")));
    assert_eq!(world.notices(1), [ReturnCause::HopCounterViolation.number()]);
    let forms: Vec<_> = world.msus.iter().map(|it| (unit(it).form, unit(it).hops)).collect();
    let (basic, extended) = (Form::Basic, Form::Extended);
    assert_eq!(forms[..4], [(basic, 0), (extended, 15), (extended, 14), (extended, 13)]);
    assert_eq!(forms.len(), 17, "sixteen there, and one back");
    // The same for what comes back by a title.
    let mut world = World::new(vec![on_to(1, 2), on_to(2, 3), on_to(3, 4), on_to(4, 2)]);
    world.run(1, In::Unitdata(Unitdata { calling: title("9"), ..to(title("4"), 1, b"x") }));
    assert!(world.msus.len() < 50, "{}", world.msus.len());
}

#[test]
fn a_relay_by_title_reaches_its_end_as_xudt_and_one_by_subsystem_as_it_came() {
    let last = vec![rule("4", &[(Some(4), Routing::Subsystem)], Choice::Backup)];
    let nodes = |parameters| {
        let rules = vec![rule("4", &[(Some(3), Routing::Title)], Choice::Backup)];
        let three = node(3, Parameters::q714(), last.clone());
        let four = node(4, Parameters::q714(), Vec::new());
        World::new(vec![on_to(1, 2), node(2, parameters, rules), three, four])
    };
    let longest = vec![7; 230];
    for data in [&b"x"[..], &longest] {
        let mut world = nodes(Parameters::q714());
        world.run(1, In::Unitdata(to(title("44"), 1, data)));
        assert_eq!(world.data(4), [data]);
        let forms: Vec<_> = world.msus.iter().map(|it| unit(it).form).collect();
        assert_eq!(forms, [Form::Basic, Form::Extended, Form::Extended]);
        let Some((4, Indication::Unitdata(_, came))) = world.heard.last() else { panic!() };
        assert_eq!(came.class, Class { is_sequenced: false, returns: true });
    }
    // A next node that reads no XUDT gets what came.
    let mut world = nodes(Parameters { relays_extended: false, ..Parameters::q714() });
    world.run(1, In::Unitdata(to(title("44"), 1, b"x")));
    assert!(world.msus.iter().all(|it| unit(it).form == Form::Basic));
    assert_eq!(world.data(4), [&b"x"[..]]);
    // To the destination itself nothing changes.
    let two = node(2, Parameters::q714(), last.clone());
    let rest = [3, 4].map(|number| node(number, Parameters::q714(), Vec::new()));
    let mut world = World::new([on_to(1, 2), two].into_iter().chain(rest).collect());
    let silent = Class { is_sequenced: true, returns: false };
    world.run(1, In::Unitdata(Unitdata { class: silent, ..to(title("44"), 1, b"x") }));
    assert!(world.msus.iter().all(|it| unit(it).form == Form::Basic));
    assert_eq!(unit(&world.msus[1]).word, Word::Data(silent));
    assert_eq!(unit(&world.msus[1]).calling, Address::subsystem(Some(point_code(1)), 6));
}
