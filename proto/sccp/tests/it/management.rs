//! Status of subsystems and nodes.

use crate::every::{self, point_code};
use crate::world::*;
use m3ua::codec::{Affected, UserCause};
use machine::{Machine, Time};
use sccp::codec::{Management, ManagementType, ReturnCause};
use sccp::{Fact, In, Indication, Node, Parameters, Rules, Settings};

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
    assert_eq!(world.count(1, Fact::ManagementOut), 2);
    world.run(2, In::State(6, true));
    world.pass(Time::from_millis(69_999));
    assert_eq!(world.count(1, Fact::ManagementOut), 2);
    world.pass(Time::from_millis(70_000));
    assert!(world.heard.contains(&(1, Indication::State(point_code(2), 6, true))));
    world.pass(Time::from_millis(5_000_000));
    assert_eq!(world.count(1, Fact::ManagementOut), 3);
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
    let mut world = World::new(vec![first, node(2, Parameters::q714(), Vec::new())]);
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
    assert_eq!(world.count(2, Fact::ManagementIn), 6);
    assert_eq!(world.count(2, Fact::Discarded), 6);
}

#[test]
fn an_sccp_that_does_not_answer_is_passed_over_and_tested_unless_it_is_not_equipped() {
    for (cause, is_tested) in [(2, true), (1, false)] {
        let mut world = World::plain(2);
        let status = m3ua::Cause::UserPartUnavailable(UserCause { cause, user: 3 });
        world.run(1, In::Status(Affected::one(point_code(2)), status));
        assert_eq!(world.heard, [(1, Indication::Sccp(point_code(2), false))]);
        world.run(1, In::Unitdata(to(at(2, 6), 1, b"x")));
        assert_eq!(world.notices(1), [ReturnCause::SccpFailure.number()]);
        world.pass(Time::from_millis(10_000));
        let is_back = world.heard.contains(&(1, Indication::Sccp(point_code(2), true)));
        assert_eq!(is_back, is_tested, "SST for SSN 1 is answered by SSA");
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
    let mut world = World::new(vec![node(1, parameters, Vec::new())]);
    for number in 10..20 {
        world.run(1, In::Pause(Affected::one(point_code(number))));
    }
    assert_eq!((world.heard.len(), world.count(1, Fact::RemotesShed)), (4, 6));
    world.run(1, In::Resume(Affected::ALL));
    assert_eq!(world.heard.len(), 8);
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
