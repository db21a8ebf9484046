//! Status of subsystems and nodes.

use crate::every::{self, point_code};
use crate::world::*;
use m3ua::codec::{Affected, UserCause};
use machine::{Machine, Time};
use sccp::codec::{Management, ManagementType, ReturnCause, Routing};
use sccp::{Choice, In, Indication, Metric, Node, Parameters, Rules, Settings, Unitdata};

#[test]
fn a_subsystem_out_of_service_is_told_tested_and_told_again() {
    let mut world = World::plain(2);
    world.run(2, In::State(6, false));
    world.run(1, In::Unitdata(to(at(2, 6), 1, b"x")));
    assert_eq!(world.notices(1), [ReturnCause::SubsystemFailure.number()]);
    assert!(world.heard.contains(&(1, Indication::State(point_code(2), 6, false))));
    // Now it is known here: nothing goes there.
    let before = world.msus.len();
    world.run(1, In::Unitdata(to(at(2, 6), 1, b"x")));
    assert_eq!((world.notices(1).len(), world.msus.len()), (2, before));
    // Tests at 10, 30, 70 s; the answer to the one behind the return to service ends them.
    world.pass(Time::from_millis(30_000));
    assert_eq!(world.count(1, Metric::ManagementOut), 2);
    world.run(2, In::State(6, true));
    world.pass(Time::from_millis(69_999));
    assert_eq!(world.count(1, Metric::ManagementOut), 2);
    world.pass(Time::from_millis(70_000));
    assert!(world.heard.contains(&(1, Indication::State(point_code(2), 6, true))));
    world.pass(Time::from_millis(5_000_000));
    assert_eq!(world.count(1, Metric::ManagementOut), 3);
}

#[test]
fn each_test_is_due_at_its_own_time_and_ends_alone() {
    let mut world = World::plain(4);
    for (at, number) in [(1_000, 2), (2_000, 3), (3_000, 4)] {
        world.pass(Time::from_millis(at));
        world.run(number, In::State(6, false));
        world.run(1, In::Unitdata(to(at_six(number), 1, b"x")));
    }
    let told = |world: &World| {
        let tests = world.msus.iter().filter(|it| it.opc == point_code(1));
        let tests = tests.filter(|it| {
            let management = Management::read(unit(it).data);
            management.is_ok_and(|it| it.kind == ManagementType::StatusTest)
        });
        tests.map(|it| it.dpc.number()).collect::<Vec<_>>()
    };
    world.run(3, In::State(6, true));
    let cause = m3ua::Cause::Congestion(Some(1));
    world.run(1, In::Status(Affected::ALL, cause));
    world.pass(Time::from_millis(10_999));
    assert_eq!(told(&world), []);
    world.pass(Time::from_millis(12_500));
    assert_eq!(told(&world), [2, 3]);
    // What cannot be reached is not tested: the subsystems there are thought well of after it.
    world.run(1, In::Pause(Affected::one(point_code(2))));
    world.pass(Time::from_millis(100_000));
    assert_eq!(told(&world), [2, 3, 4, 4, 4]);
    assert_eq!(world.nodes[0].deadline(), Some(Time::from_millis(153_000)));
    world.run(1, In::Resume(Affected { point_code: point_code(0), mask: 2 }));
    assert!(world.heard.contains(&(1, Indication::State(point_code(2), 6, true))));
    world.run(1, In::Unitdata(to(at_six(2), 1, b"x")));
    assert_eq!(world.msus.last().unwrap().opc, point_code(2), "it was sent, and came back");
}

fn at_six(number: usize) -> sccp::codec::Address {
    at(u32::try_from(number).unwrap(), 6)
}

#[test]
fn those_concerned_are_told_when_it_is_news() {
    let settings = Settings {
        network: None,
        point_code: point_code(1),
        aliases: Vec::new(),
        network_indicator: 0,
        concerned: vec![point_code(2)],
        parameters: Parameters::q714(),
    };
    let first = Node::new(settings, Rules::default());
    let rules = vec![rule("4", &[(Some(1), Routing::Subsystem)], Choice::Backup)];
    let mut world = World::new(vec![first, node(2, Parameters::q714(), rules)]);
    for is_in_service in [false, true, true, false, false, true] {
        world.run(1, In::State(8, is_in_service));
    }
    let kinds = world.msus.iter().map(|it| Management::read(unit(it).data).unwrap().kind);
    let (a, p) = (ManagementType::Allowed, ManagementType::Prohibited);
    assert_eq!(kinds.collect::<Vec<_>>(), [a, p, a]);
    let told = [
        (2, Indication::State(point_code(1), 8, false)),
        (2, Indication::State(point_code(1), 8, true)),
    ];
    assert_eq!(world.heard, told);
}

#[test]
fn one_concerned_that_was_away_hears_what_is_in_service_and_what_is_not() {
    let settings = Settings {
        network: None,
        point_code: point_code(1),
        aliases: vec![point_code(4)],
        network_indicator: 0,
        concerned: vec![point_code(2)],
        parameters: Parameters::q714(),
    };
    let first = Node::new(settings, Rules::default());
    let mut world = World::new(vec![first]);
    let two = Affected::one(point_code(2));
    world.run(1, In::Pause(two));
    for input in [In::State(6, true), In::State(8, true), In::State(8, false)] {
        world.run(1, input);
    }
    assert!(world.msus.is_empty(), "there is no way to it");
    let told = |world: &mut World| {
        let msus = world.step(1, In::Resume(two));
        let of = |it: &m3ua::Transfer| {
            let said = Management::read(unit(it).data).unwrap();
            (it.opc.number(), said.point_code.number(), said.kind, said.subsystem)
        };
        msus.iter().map(of).collect::<Vec<_>>()
    };
    let (a, p) = (ManagementType::Allowed, ManagementType::Prohibited);
    let all = [(1, 1, a, 6), (1, 1, p, 8), (4, 4, a, 6), (4, 4, p, 8)];
    assert_eq!(told(&mut world), all);
    assert_eq!(told(&mut world), [], "it was not away");
}

#[test]
fn who_goes_on_sending_to_a_subsystem_out_of_service_is_told_once_a_second() {
    let mut world = World::plain(2);
    world.run(2, In::State(6, false));
    let msus = world.step(1, In::Unitdata(to(at(2, 6), 1, b"x")));
    let mut answers = Vec::new();
    for at in [0, 1, 999, 1_000] {
        world.now = Time::from_millis(at);
        answers.push(world.step(2, In::Transfer(msus[0].clone())).len());
    }
    assert_eq!(answers, [2, 1, 1, 2], "UDTS each time, SSP with the first");
    // Many nodes are told at most so many times.
    let told = (100..1_000).map(|number| {
        let opc = point_code(number);
        let msu = m3ua::Transfer { opc, ..msus[0].clone() };
        world.step(2, In::Transfer(msu)).len()
    });
    let told: usize = told.filter(|it| *it == 2).count();
    assert_eq!(told, 255);
}

#[test]
fn a_node_speaks_of_itself_alone() {
    let mut world = World::plain(2);
    world.run(1, In::Unitdata(to(at(2, 6), 1, b"x")));
    let msu = world.msus[0].clone();
    world.heard.clear();
    for (_, octets) in every::management() {
        // Of the point code 0x1234, from 1.
        let payload = bytes::Bytes::from(octets);
        world.run(2, In::Transfer(m3ua::Transfer { payload, ..msu.clone() }));
    }
    assert!(world.heard.is_empty());
    assert_eq!(world.count(2, Metric::ManagementIn), 6);
    assert_eq!(world.count(2, Metric::Discarded), 6);
}

#[test]
fn an_sccp_that_does_not_answer_is_passed_over_and_tested_and_seldom_when_it_is_not_equipped() {
    for (cause, after) in [(2, 10_000), (1, 600_000)] {
        let mut world = World::plain(2);
        let status = m3ua::Cause::UserPartUnavailable(UserCause { cause, user: 3 });
        world.run(1, In::Status(Affected::one(point_code(2)), status));
        assert_eq!(world.heard, [(1, Indication::Sccp(point_code(2), false))]);
        world.run(1, In::Unitdata(to(at(2, 6), 1, b"x")));
        assert_eq!(world.notices(1), [ReturnCause::SccpFailure.number()]);
        let back = (1, Indication::Sccp(point_code(2), true));
        world.pass(Time::from_millis(after - 1));
        assert!(!world.heard.contains(&back));
        world.pass(Time::from_millis(after));
        assert!(world.heard.contains(&back), "SST for SSN 1 is answered by SSA");
        // Whatever comes from there says the same.
        world.heard.clear();
        world.run(1, In::Status(Affected::one(point_code(2)), status));
        world.run(2, In::Unitdata(to(at(1, 6), 2, b"x")));
        assert!(world.heard.contains(&back));
        world.run(1, In::Unitdata(to(at(2, 6), 1, b"y")));
        assert_eq!(world.data(2), [&b"y"[..]]);
    }
    let mut world = World::plain(2);
    let other = m3ua::Cause::UserPartUnavailable(UserCause { cause: 2, user: 5 });
    world.run(1, In::Status(Affected::one(point_code(2)), other));
    world.run(1, In::Status(Affected::one(point_code(2)), m3ua::Cause::Congestion(Some(2))));
    assert_eq!(world.heard, [(1, Indication::Congested(point_code(2), 2))]);
}

#[test]
fn status_of_strangers_takes_no_more_room_than_there_is() {
    let parameters = Parameters { remotes_max: 4, ..Parameters::q714() };
    let all: Vec<_> = (10..20).map(|it| (Some(it), Routing::Subsystem)).collect();
    let rules = vec![rule("4", &all, Choice::Backup)];
    let mut world = World::new(vec![node(1, parameters, rules)]);
    for number in 10..20 {
        world.run(1, In::Pause(Affected::one(point_code(number))));
    }
    assert_eq!((world.heard.len(), world.count(1, Metric::RemotesShed)), (4, 6));
    world.run(1, In::Resume(Affected::ALL));
    assert_eq!(world.heard.len(), 8);
}

/// What the management of a node says of a subsystem of it.
fn said(opc: u32, kind: ManagementType, subsystem: u8) -> In {
    let of = point_code(opc);
    let said = Management { kind, subsystem, point_code: of, multiplicity: 0, congestion: 0 };
    let mut data = Vec::new();
    said.write(&mut data);
    let mut world = World::plain(1);
    let calling = at(opc, 1);
    let mut msus = world.step(1, In::Unitdata(Unitdata { calling, ..to(at(2, 6), 1, &data) }));
    let mut msu = msus.swap_remove(0);
    let unit = sccp::codec::Unit { called: at(1, 1), ..unit(&msu) };
    let mut payload = Vec::new();
    unit.write(&mut payload).unwrap();
    msu.payload = bytes::Bytes::from(payload);
    In::Transfer(m3ua::Transfer { opc: of, dpc: point_code(1), ..msu })
}

#[test]
fn what_is_said_of_nodes_that_nothing_leads_to_is_told_and_not_kept() {
    let mut world = World::plain(2);
    for number in 100..5_100 {
        world.step(1, In::Pause(Affected::one(point_code(number))));
        world.step(1, said(number, ManagementType::Prohibited, 6));
    }
    assert_eq!(world.nodes[0].remotes().count(), 0);
    assert_eq!((world.nodes[0].deadline(), world.count(1, Metric::RemotesShed)), (None, 0));
    assert!(world.heard.contains(&(1, Indication::PointCode(point_code(100), false))));
    assert!(world.heard.contains(&(1, Indication::State(point_code(100), 6, false))));
    // Those that rules lead to have their room.
    world.run(1, In::Pause(Affected::one(point_code(2))));
    world.run(1, In::Unitdata(to(at(2, 6), 1, b"x")));
    assert_eq!(world.notices(1), [ReturnCause::MtpFailure.number()]);
    world.run(1, In::Resume(Affected::one(point_code(100))));
    assert_eq!(world.heard.last(), Some(&(1, Indication::PointCode(point_code(100), true))));
    // They are forgotten when no rule leads there any more.
    world.nodes[0].set_rules(Rules::default());
    assert_eq!(world.nodes[0].remotes().count(), 0);
}

#[test]
fn tests_of_many_subsystems_are_spread() {
    let all: Vec<_> = (10..30).map(|it| (Some(it), Routing::Subsystem)).collect();
    let rules = vec![rule("4", &all, Choice::Backup)];
    let mut first = node(1, Parameters::q714(), rules);
    for number in 10..30 {
        for subsystem in 2..12 {
            let input = said(number, ManagementType::Prohibited, subsystem);
            first.step(Time::ZERO, input, &mut Vec::new());
        }
    }
    let (mut sent, mut most) = (0, 0);
    while let Some(at) = first.deadline().filter(|it| *it < Time::from_millis(15_000)) {
        let mut out = Vec::new();
        first.tick(at, &mut out);
        (sent, most) = (sent + out.len(), most.max(out.len()));
    }
    assert_eq!((sent, most), (200, 64));
}

#[test]
fn a_node_that_comes_back_leaves_no_tests_behind() {
    let mut world = World::plain(2);
    for _ in 0..5 {
        world.step(1, In::Pause(Affected::one(point_code(2))));
        world.step(1, said(2, ManagementType::Prohibited, 6));
        assert_eq!(world.nodes[0].deadline(), None, "what cannot be reached is not tested");
        world.step(1, In::Resume(Affected::one(point_code(2))));
        world.step(1, said(2, ManagementType::Prohibited, 6));
        world.step(1, In::Pause(Affected::one(point_code(2))));
        world.step(1, In::Resume(Affected::one(point_code(2))));
        assert_eq!(world.nodes[0].deadline(), None);
    }
}

#[test]
fn a_replicated_subsystem_asks_before_it_goes() {
    let mut world = World::plain(2);
    world.run(1, In::Unitdata(to(at(2, 6), 1, b"x")));
    let mut msu = world.msus[0].clone();
    world.heard.clear();
    let (_, octets) = every::management().swap_remove(3);
    // The affected point code becomes that of the sender.
    let mut octets = octets;
    let end = octets.len();
    octets[end - 3..end - 1].copy_from_slice(&[1, 0]);
    msu.payload = bytes::Bytes::from(octets);
    world.run(2, In::Transfer(msu));
    assert_eq!(world.heard, [(2, Indication::Coordinate(point_code(1), 200))]);
    let mut out = Vec::new();
    world.nodes[1].grant(point_code(1), 200, &mut out);
    let [sccp::Out::Transfer(msu)] = &out[..] else { panic!("it is granted") };
    assert_eq!(Management::read(unit(msu).data).unwrap().kind, ManagementType::OutOfServiceGrant);
}

#[test]
fn a_replicated_subsystem_goes_when_all_that_have_it_agree() {
    let mut world = World::plain(3);
    world.run(1, In::Coordinate(6, vec![point_code(2), point_code(3)]));
    let asks = (1, Indication::Coordinated(6, true));
    let asked =
        |of: &World, node| of.heard.contains(&(node, Indication::Coordinate(point_code(1), 6)));
    assert!(asked(&world, 2) && asked(&world, 3) && !world.heard.contains(&asks));
    for number in [2usize, 3] {
        let mut out = Vec::new();
        world.nodes[number - 1].grant(point_code(1), 6, &mut out);
        let sent = out.into_iter().map(|it| match it {
            sccp::Out::Transfer(msu) => msu,
            other => panic!("{other:?}"),
        });
        world.carry(sent.collect());
    }
    assert!(world.heard.contains(&asks));
    // T(ignore SST): it is on its way out, and says nothing of itself.
    world.run(1, In::State(6, false));
    let denied = (1, Indication::Coordinated(7, false));
    world.run(1, In::Coordinate(7, vec![point_code(2)]));
    world.pass(Time::from_millis(61_000));
    assert!(world.heard.contains(&denied), "T(coord chg) ran out");
}

#[test]
fn a_test_that_is_asked_for_is_told_when_it_is_answered() {
    let mut world = World::plain(2);
    world.run(1, In::Test(point_code(2), 6));
    let tested = |world: &World| {
        let all = world.heard.iter().filter(|it| matches!(it.1, Indication::Tested(..)));
        all.cloned().collect::<Vec<_>>()
    };
    let wanted = (1, Indication::Tested(point_code(2), 6, true));
    assert_eq!(tested(&world), std::slice::from_ref(&wanted));
    // What nobody has asked for is no answer.
    world.run(2, In::State(6, false));
    world.run(2, In::State(6, true));
    assert_eq!(tested(&world), std::slice::from_ref(&wanted));
    world.run(2, In::State(6, false));
    world.run(1, In::Test(point_code(2), 6));
    assert_eq!(tested(&world), [wanted], "one that is out of service does not answer (§5.3.4.3)");
}
