//! Worlds by seed: whatever other edges and customers say, and however VRFs and next hops change,
//! in the end everybody knows what a slow and simple reference says.

use crate::world::{
    CUSTOMERS, EDGES, World, connected, customer_said, distinguisher, hop, key, target, vpn_key,
    vpn_said, vrf_settings,
};
use bgp::family::{Family, Label};
use l3vpn::VrfId;
use rib::Bounds;

const INNER: [Family; 2] = [Family::Ipv4Unicast, Family::Ipv6Unicast];

fn act(world: &mut World) {
    let id = VrfId(world.random.below(4) as u32);
    let family = INNER[world.random.below(2) as usize];
    let route = key(family, world.random.below(8) as u8);
    if !world.tables.contains_key(&id) {
        return world.add(id, vrf_settings(id.0 as u8));
    }
    match world.random.below(100) {
        0..35 => {
            let edge = world.random.below(EDGES as u64 - 1) as usize;
            let (rd, number) = (world.random.below(6) as u8, world.random.below(8) as u8);
            let (vpn, route) = vpn_key(rd, family, number);
            let said = world.random.is(70).then(|| vpn_said(&mut world.random, edge, vpn));
            world.edge_says(edge, vpn, &route, said);
        }
        35..55 => {
            let customer = world.random.below(CUSTOMERS as u64) as usize;
            let said = world.random.is(60);
            let said = said.then(|| customer_said(&mut world.random, customer, family));
            world.customer_says((id, customer), family, &route, said);
        }
        55..62 => {
            let said = world.random.is(60).then(|| connected(family));
            world.originate(id, family, &route, said);
        }
        62..70 => {
            let address = hop(world.random.below(2) as usize, world.random.below(2) as u8);
            let metric = world.random.is(70).then(|| 10 + world.random.below(2) as u32);
            let address = match family {
                Family::Ipv4Unicast => address.into(),
                _ => address.to_ipv6_mapped().into(),
            };
            world.set_hop(address, metric);
        }
        70..76 => {
            let mut settings = world.tables[&id].settings.clone();
            match world.random.below(4) {
                0 => settings.distinguisher = distinguisher(world.random.below(6) as u8),
                1 => settings.label = Label::new(50 + id.0).expect("twenty bits"),
                2 => settings.export = vec![target(world.random.below(5) as u8)],
                _ => {
                    let number = world.random.below(3);
                    let import = (0..number).map(|_| target(world.random.below(5) as u8));
                    settings.import = import.collect();
                }
            }
            world.change(id, settings);
        }
        76 => world.remove(id),
        77 => {
            let other = VrfId((id.0 + 1) % 4);
            if world.tables.contains_key(&other) {
                world.exchange([id, other]);
            }
        }
        78..80 => {
            let customer = world.random.below(CUSTOMERS as u64) as usize;
            world.customer_begins_anew(id, customer);
        }
        _ => world.run_a_little(),
    }
}

#[test]
fn everybody_knows_what_the_reference_says() {
    let seeds = std::env::var("TANDEM_SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(100);
    (1..=seeds).for_each(play);
}

fn play(seed: u64) {
    let gone_max = [0, 3, 1 << 20][seed as usize % 3];
    let mut world = World::new(seed, Bounds { gone_max, ..Bounds::default() });
    for _ in 0..4 {
        let count = world.random.below(200);
        (0..count).for_each(|_| act(&mut world));
        world.settle();
        world.check(seed);
    }
    let ids: Vec<VrfId> = world.tables.keys().copied().collect();
    ids.into_iter().for_each(|id| world.remove(id));
    world.settle();
    world.check(seed);
    assert_eq!(world.core.received(rib::PeerId::OWN, Family::Vpnv4), 0);
    assert_eq!(world.core.received(rib::PeerId::OWN, Family::RouteTarget), 0);
}
