//! Tables change while a worker forwards.

use super::world::{World, ethernet, interface, neighbour_mac, port, programs, udp4, via};
use graph::{Outbox, Pool, STRIDE};
use machine::Time;
use nodes::Program;
use nodes::program::{Address, Hop, Neighbour, Port};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Rounds of changes.
const ROUNDS: u32 = 400;

fn three_ports() -> Vec<Program> {
    let mut said = programs();
    said.push(Program::Port(port(2)));
    said.push(Program::Interface(interface(3, 2)));
    let address = "10.0.3.1".parse().unwrap();
    said.push(Program::Address(Address { interface: 3, address, length: 24 }));
    let address = "10.0.3.2".parse().unwrap();
    said.push(Program::Neighbour(Neighbour { interface: 3, address, mac: neighbour_mac(2) }));
    said.push(Program::Hop { id: 1, hop: via(2, "10.0.2.2") });
    said.push(Program::Hop { id: 2, hop: via(3, "10.0.3.2") });
    said.push(Program::Hop { id: 3, hop: Hop::Backup { primary: 1, backup: 2 } });
    said.push(Program::Hop { id: 4, hop: via(2, "10.0.2.2") });
    let routes = vec![
        ("192.0.2.0".parse().unwrap(), 24, 3),
        ("198.51.100.0".parse().unwrap(), 24, 4),
        ("203.0.112.0".parse().unwrap(), 22, 1),
        ("203.0.113.0".parse().unwrap(), 24, 2),
    ];
    said.push(Program::Routes4 { vrf: 0, routes });
    said
}

/// Changes of all kinds, none of which leaves a destination without a way.
fn change(world: &mut World, round: u32) {
    let odd = round % 2 == 1;
    let hop = if odd { via(3, "10.0.3.2") } else { via(2, "10.0.2.2") };
    world.apply(Program::Hop { id: 4, hop });
    let members = if odd { vec![(1, 1), (2, 1)] } else { vec![(2, 1)] };
    world.apply(Program::Hop { id: 3, hop: Hop::Group { members, resilient: true } });
    let specific = if odd { 0 } else { 2 };
    let routes = vec![("203.0.113.0".parse().unwrap(), 24, specific)];
    world.apply(Program::Routes4 { vrf: 0, routes });
    let mac = [2, 0, 0, 0, 7, round as u8];
    let address = "10.0.2.2".parse().unwrap();
    world.apply(Program::Neighbour(Neighbour { interface: 2, address, mac }));
    let mtu = if odd { 9_000 } else { 1_500 };
    world.apply(Program::Port(Port { mtu, ..port(1) }));
    world.tick();
}

#[test]
fn no_packet_is_lost_or_led_astray_by_a_change() {
    let mut world = World::of(&three_ports());
    let mut graph = world.plane.graph().unwrap();
    let (stop, forwarded) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut pool = Pool::new(1_024, STRIDE);
            let mut out = Outbox::default();
            let entry = graph.entry("ethernet-input").unwrap();
            let to = ["192.0.2.7", "198.51.100.7", "203.0.113.7", "203.0.112.7"];
            let frames = to.map(|to| ethernet(0, 0x0800, &udp4("10.0.1.9", to, 64, 60)));
            let mut round = 0;
            while !stop.load(Ordering::Relaxed) {
                round += 1;
                let slots: Vec<_> = (0..64)
                    .map(|at| pool.put(&frames[(at + round) % 4]).expect("a cell"))
                    .collect();
                graph.push(entry, &slots, &mut pool);
                graph.run(&mut pool, &mut out, Time::from_millis(1));
                let mut left = 0;
                for port in [1, 2] {
                    for slot in out.port(port).map(std::mem::take).unwrap_or_default() {
                        let frame = pool.bytes(slot);
                        let known = if port == 2 {
                            frame[..6] == neighbour_mac(2)
                        } else {
                            frame[..6] == neighbour_mac(1) || frame[..5] == [2, 0, 0, 0, 7]
                        };
                        assert!(known && frame[22] == 63, "{frame:x?}");
                        pool.free(slot);
                        left += 1;
                    }
                }
                assert_eq!(left, 64, "{:?}", graph.counters());
                forwarded.fetch_add(left, Ordering::Relaxed);
            }
        });
        for round in 0..ROUNDS {
            change(&mut world, round);
            let seen = forwarded.load(Ordering::Relaxed);
            while forwarded.load(Ordering::Relaxed) == seen && !worker.is_finished() {
                std::thread::yield_now();
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(forwarded.load(Ordering::Relaxed) >= u64::from(ROUNDS) * 64);
}
