//! A control process that comes back says everything again.

use super::world::{World, ethernet, interface, port, programs, udp4, via};
use nodes::program::{
    Address, BridgeMember, Direction, Family, Filter, FilterUse, Hop, Item, Marking, PolicerUse,
    Removed, Sampling, Scheduler, StaticMac,
};
use nodes::{Program, Refused};

fn everything() -> Vec<Program> {
    let mut said = programs();
    said.push(Program::Hop { id: 1, hop: via(2, "10.0.2.2") });
    said.push(Program::Hop { id: 2, hop: via(2, "10.0.2.3") });
    said.push(Program::Hop { id: 3, hop: Hop::Backup { primary: 1, backup: 2 } });
    let routes =
        vec![("192.0.2.0".parse().unwrap(), 24, 3), ("198.51.100.0".parse().unwrap(), 24, 1)];
    said.push(Program::Routes4 { vrf: 0, routes });
    said.push(Program::Vrf { vrf: 9 });
    said
}

fn reaches(world: &mut World, to: &str) -> usize {
    let left = world.send(0, &ethernet(0, 0x0800, &udp4("10.0.1.2", to, 9, 60)));
    left.sent.iter().filter(|(port, _)| *port == 1).count()
}

#[test]
fn what_is_said_again_stays_what_is_not_goes_and_forwarding_never_stops() {
    let mut world = World::of(&everything());
    world.apply(Program::Begin { generation: 7 });
    for program in everything() {
        if matches!(&program, Program::Vrf { .. } | Program::Hop { id: 3, .. }) {
            continue;
        }
        let program = match program {
            Program::Routes4 { vrf, routes } => {
                Program::Routes4 { vrf, routes: routes[1..].to_vec() }
            }
            other => other,
        };
        world.apply(program);
        assert_eq!(reaches(&mut world, "198.51.100.7"), 1);
        assert_eq!(reaches(&mut world, "192.0.2.7"), 1, "until the end");
    }
    world.apply(Program::End { generation: 7 });
    assert_eq!(reaches(&mut world, "198.51.100.7"), 1);
    assert_eq!(reaches(&mut world, "192.0.2.7"), 0);
    assert_eq!(reaches(&mut world, "10.0.2.2"), 1, "subnets are the plane's own");
    let gone = world.plane.apply(&Program::Remove(Removed::Hop(3)));
    assert_eq!(gone, Err(Refused::Missing { what: "hop", number: 3 }));
    let gone = world.plane.apply(&Program::Remove(Removed::Vrf(9)));
    assert_eq!(gone, Err(Refused::Missing { what: "vrf", number: 9 }));
    let again = world.plane.apply(&Program::End { generation: 7 });
    assert!(again.is_err(), "it has ended");
}

#[test]
fn nothing_said_again_leaves_nothing() {
    let mut world = World::of(&everything());
    world.apply(Program::Begin { generation: 1 });
    world.apply(Program::End { generation: 1 });
    assert_eq!(reaches(&mut world, "10.0.2.2"), 0);
    for program in everything() {
        world.apply(program);
    }
    assert_eq!(reaches(&mut world, "192.0.2.7"), 1, "and all can be said anew");
}

#[test]
fn a_program_that_cannot_be_is_refused_with_its_reason() {
    let mut world = World::new();
    let mut refused = |program: Program| world.plane.apply(&program).unwrap_err().to_string();
    let missing = nodes::program::Interface { index: 9, ..interface(9, 7) };
    assert_eq!(refused(Program::Interface(missing)), "port 7 is not there");
    let twin = interface(9, 0);
    assert_eq!(refused(Program::Interface(twin)), "interface 1 has that port and those VLANs");
    let far = nodes::program::Port { port: 999, ..port(0) };
    assert_eq!(refused(Program::Port(far)), "port 999: numbers go to 255");
    let nowhere = Program::Routes4 { vrf: 0, routes: vec![("10.0.0.0".parse().unwrap(), 8, 77)] };
    assert_eq!(refused(nowhere), "hop 77 is not there");
    let address = "10.0.1.1".parse().unwrap();
    let other = Address { interface: 1, address, length: 25 };
    assert_eq!(refused(Program::Address(other)), "the address is there with another length");
    let fast = Scheduler { port: 1, rate_bytes: u64::MAX / 8 + 1, queues: Vec::new() };
    let most = "rate 18446744073709551615 bit/s: 1600000000000 at most";
    assert_eq!(refused(Program::Scheduler(fast.clone())), most);
    let nowhere = Scheduler { port: 256, rate_bytes: 0, ..fast };
    assert_eq!(refused(Program::Scheduler(nowhere)), "port 256: numbers go to 255");
}

/// What workers read is indexed by interface: one that cannot be would take all memory, or be a
/// pseudowire.
#[test]
fn nothing_is_said_of_an_interface_that_cannot_be() {
    let mut world = World::new();
    let (interface, direction) = (65_536, Direction::In);
    world.apply(Program::Filter(Filter { filter: 1, family: Family::Ip4, rules: Vec::new() }));
    let member = BridgeMember::Interface(interface);
    for program in [
        Program::FilterUse(FilterUse { interface, direction, filter: 1 }),
        Program::PolicerUse(PolicerUse { interface, direction, class: None, policer: 1 }),
        Program::Marking(Marking { interface, ..Marking::default() }),
        Program::Sampling(Sampling { interface, one_in: 1, octets: 0 }),
        Program::StaticMac(StaticMac { bridge: 1, mac: [2; 6], member }),
    ] {
        let refused = world.plane.apply(&program).unwrap_err().to_string();
        assert_eq!(refused, "interface 65536: numbers go to 65535", "{program:?}");
    }
}

#[test]
fn programs_survive_their_encoding_and_unknown_fields_are_skipped() {
    let key = vec![0, 255];
    let item = Item { feature: "tally".to_owned(), key, value: vec![7; 3] };
    for program in everything().into_iter().chain([Program::Item(item)]) {
        let text = serde_json::to_string(&program).unwrap();
        assert_eq!(serde_json::from_str::<Program>(&text).unwrap(), program);
    }
    let text = r#"{"Port":{"port":1,"name":"a","mac":[1,2,3,4,5,6],"mtu":9000,"up":true,"new":7}}"#;
    assert!(
        matches!(serde_json::from_str(text).unwrap(), Program::Port(port) if port.mtu == 9_000)
    );
}
