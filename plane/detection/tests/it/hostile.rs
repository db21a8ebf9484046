//! Strangers, forgers and recorders: counted by reason, and no session notices.

use super::world::{World, item, mac, ms, name, session};
use detection::program::{Name, Said};
use std::net::Ipv4Addr;

/// A packet to 10.0.1.1 at the first router, in a frame.
fn forged(source: [u8; 4], ttl: u8, payload: &[u8]) -> Vec<u8> {
    let length = (28 + payload.len()) as u16;
    let mut packet = vec![0x45, 0xc0];
    packet.extend(length.to_be_bytes());
    packet.extend([0, 0, 0, 0, ttl, 17, 0, 0]);
    packet.extend(source);
    packet.extend(Ipv4Addr::new(10, 0, 1, 1).octets());
    nodes::header::seal_ip4(&mut packet);
    packet.extend(50_000_u16.to_be_bytes());
    packet.extend(3_784_u16.to_be_bytes());
    packet.extend((length - 20).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend_from_slice(payload);
    [&mac(0, 0)[..], &mac(1, 0), &[8, 0], &packet].concat()
}

fn down(mine: u32, yours: u32) -> Vec<u8> {
    let mut octets = vec![0x20, 0x40, 3, 24];
    for word in [mine, yours, 10_000, 10_000, 0] {
        octets.extend(word.to_be_bytes());
    }
    octets
}

const PEER: [u8; 4] = [10, 0, 1, 2];

#[test]
fn packets_of_strangers_are_counted_by_reason_and_end_no_session() {
    let mut world = World::new(1, 2);
    world.watch(1, ms(10));
    world.run(ms(4_000));
    let now = world.now;
    let mut cut = forged(PEER, 255, &down(9, 0));
    cut.truncate(cut.len() - 4);
    for (frame, _) in [
        (forged([10, 0, 1, 77], 255, &down(9, 0)), "no-session"),
        (forged(PEER, 255, &down(9, 0)), "unproven"),
        (forged(PEER, 255, &down(9, 77)), "your-discriminator"),
        (forged(PEER, 254, &down(9, 0)), "afar"),
        (forged(PEER, 255, &down(0, 0)), "my-discriminator"),
        (forged(PEER, 255, &[0x40; 24]), "version"),
        (forged(PEER, 255, &[0x20; 9]), "length"),
    ] {
        for worker in 0..2 {
            world.routers[0].arrive(worker, 0, &frame, now);
        }
    }
    world.run(ms(500));
    assert_eq!((world.states(1), world.notice(0).downs), (["Up", "Up"], 0));
    let dropped = world.routers[0].dropped();
    for why in ["no-session", "unproven", "your-discriminator", "my-discriminator"] {
        assert_eq!(dropped.get(&*format!("bfd: {why}")), Some(&2), "{why}: {dropped:?}");
    }
    assert_eq!(dropped["hop limit says that it is not from this link"], 2);
    assert!(dropped["bfd: version"] == 2 && dropped["bfd: length"] == 2, "{dropped:?}");
    assert_eq!(world.routers[0].punted, 0);
}

#[test]
fn a_flood_of_forged_packets_beside_a_session_of_ten_milliseconds_costs_it_nothing() {
    let mut world = World::new(2, 2);
    world.watch(1, ms(10));
    world.run(ms(4_000));
    for _ in 0..2_000 {
        let (now, chance) = (world.now, world.chance());
        for n in 0..20_u32 {
            let frame = forged(PEER, 255, &down(n + 1, chance as u32 >> (n % 3)));
            world.routers[0].arrive(n as usize % 2, 0, &frame, now);
        }
        world.run(ms(1));
    }
    assert_eq!((world.states(1), world.notice(0).downs), (["Up", "Up"], 0));
}

/// Two workers; a session by each interface whose packets come to the second one and are for the
/// first.
fn two_links() -> World {
    let mut world = World::new(3, 2);
    world.watch(1, ms(10));
    let nobody = Name { interface: 1, address: [10, 0, 1, 77].into() };
    world.routers[0].say(&item(&Said { name: nobody, ..session(0, 1, ms(10)) }));
    world.watch(2, ms(10));
    world.run(ms(4_000));
    assert_eq!(world.states(2), ["Up", "Up"]);
    world
}

#[test]
fn a_flood_in_a_neighbours_name_takes_no_place_of_what_comes_by_other_links() {
    let mut world = two_links();
    for _ in 0..10 {
        let (now, chance) = (world.now, world.chance() as u32);
        for n in 0..6_000 {
            world.routers[0].arrive(1, 0, &forged(PEER, 255, &down(n + 1, chance ^ n)), now);
        }
        world.run(ms(10));
    }
    assert_eq!((world.states(1), world.states(2)), (["Up"; 2], ["Up"; 2]));
    assert_eq!(world.routers[0].heard[&name(0, 2)].downs, 0);
    let dropped = world.routers[0].dropped();
    assert_eq!(dropped.get("bfd: no room at its worker"), None, "{dropped:?}");
    assert!(dropped["bfd: policed"] > 59_000, "{dropped:?}");
    world.run(ms(1_100));
    let misnamed = world.notice(0).misnamed;
    assert!((110..=125).contains(&misnamed), "100 at once and 200 a second: {misnamed}");
}

#[test]
fn a_neighbour_that_floods_in_its_own_name_has_a_part_of_the_ring() {
    let mut world = two_links();
    let [mine, yours] = world.notice(1).discriminators;
    for _ in 0..10 {
        let now = world.now;
        let mut up = down(mine, yours);
        up[1] = 0xc0;
        for _ in 0..6_000 {
            world.routers[0].arrive(1, 0, &forged(PEER, 255, &up), now);
        }
        world.run(ms(10));
    }
    assert_eq!((world.states(2), world.routers[0].heard[&name(0, 2)].downs), (["Up"; 2], 0));
    let dropped = world.routers[0].dropped();
    assert_eq!(dropped.get("bfd: no room at its worker"), None, "{dropped:?}");
    assert!(dropped["bfd: policed"] > 58_000, "{dropped:?}");
}
