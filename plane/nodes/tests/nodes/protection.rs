//! What floods cost.

use super::world::{World, echo4, ethernet, udp4};
use std::time::Duration;

#[test]
fn a_flood_of_echoes_costs_neither_the_session_nor_what_passes_through() {
    let mut world = World::new();
    let flood = ethernet(0, 0x0800, &echo4("10.0.1.2", "10.0.1.1", 84));
    let mut bgp = udp4("10.0.2.2", "10.0.1.1", 64, 60);
    bgp[9] = 6;
    bgp[22..24].copy_from_slice(&179_u16.to_be_bytes());
    nodes::header::seal_ip4(&mut bgp[..20]);
    let bgp = ethernet(1, 0x0800, &bgp);
    let through = ethernet(1, 0x0800, &udp4("10.0.2.2", "10.0.1.2", 64, 60));
    let (mut answered, mut punted, mut passed) = (0, 0, 0);
    for round in 0..20_000 {
        world.now += Duration::from_micros(10);
        answered += world.send(0, &flood).sent.len();
        if round % 100 == 0 {
            punted += world.send(1, &bgp).punted.len();
            passed += world.send(1, &through).sent.len();
        }
    }
    assert_eq!((punted, passed), (200, 200));
    assert!((200..=260).contains(&answered), "{answered}: 200 at once, 200 a second");
    assert_eq!(world.dropped()["policed: icmp"] as usize, 20_000 - answered);
}

#[test]
fn what_is_allowed_is_allowed_once_whichever_worker_the_packets_come_to() {
    let mut world = World::new();
    let mut other = world.plane.graph().unwrap();
    let flood = ethernet(0, 0x0800, &echo4("10.0.1.2", "10.0.1.1", 84));
    let mut answered = 0;
    for _ in 0..20_000 {
        world.now += Duration::from_micros(10);
        answered += world.send(0, &flood).sent.len();
        std::mem::swap(&mut world.graph, &mut other);
    }
    assert!((200..=260).contains(&answered), "{answered}: 200 at once, 200 a second");
}
