//! The base as an edge has it: routes of its own, next hops that come and go one by one, readers
//! that fill a FIB. What a reader knows at rest is what a slow and simple reference says.

use crate::world::{OURSELVES, Said, Spec, World, hop_of};
use bgp::codec::{AttributeType, Attributes, SegmentKind, prepend, write_attribute};
use bgp::family::{Family, FamilySet};
use rib::{Bounds, Change, Choice, Kind, OwnRoute, PathRef, PeerId, ReaderId};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

/// The policy that refuses all.
const REFUSES: u32 = 3;
const FAMILIES: [Family; 3] = [Family::Ipv4Unicast, Family::Ipv6Unicast, Family::Vpnv4];

/// A path as a reader remembers it: whose, next hop, attributes and labels.
type Way = (usize, IpAddr, Vec<u8>, Vec<u8>);

/// What a reader knows of a route: the paths that share traffic, and the backup.
type Known = (Vec<Way>, Option<Way>);

/// One who copies what it is told.
struct Copy {
    id: ReaderId,
    equal_max: usize,
    knows: BTreeMap<(Family, Vec<u8>), (Known, bool)>,
    told: usize,
    begun: usize,
}

fn way(path: PathRef<'_>) -> Way {
    let whose = if path.peer == PeerId::OWN { OURSELVES } else { path.peer.0 as usize };
    assert_eq!(path.kind == Kind::Own, whose == OURSELVES);
    let hop = path.next_hop.expect("the world makes it");
    (whose, hop, path.attributes.to_vec(), path.payload.to_vec())
}

impl Copy {
    fn new(world: &mut World, equal_max: usize) -> Self {
        let id = world.rib.reader(FAMILIES.into_iter().collect(), equal_max);
        Self { id, equal_max, knows: BTreeMap::new(), told: 0, begun: 0 }
    }

    fn take(&mut self, change: Change<'_>) {
        match change {
            Change::Begin(family) => {
                self.begun += 1;
                let of_family = self.knows.iter_mut().filter(|(routed, _)| routed.0 == family);
                of_family.for_each(|(_, (_, is_stale))| *is_stale = true);
            }
            Change::Route(choice) => self.learn(&choice),
            Change::End(family) => {
                self.knows.retain(|routed, (_, is_stale)| routed.0 != family || !*is_stale);
            }
        }
    }

    fn learn(&mut self, choice: &Choice<'_>) {
        self.told += 1;
        let routed = (choice.family, choice.key.to_vec());
        let paths: Vec<Way> = choice.paths().map(way).collect();
        assert_eq!(choice.best().map(way), paths.first().cloned());
        let known = (paths, choice.backup().map(way));
        match known.0.is_empty() {
            true => drop(self.knows.remove(&routed)),
            false => drop(self.knows.insert(routed, (known, false))),
        }
    }

    /// Reads a little; whether there is more.
    fn read(&mut self, world: &mut World, budget: usize) -> bool {
        let id = self.id;
        let more = world.rib.read_changes(id, budget, &mut |change| self.take(change));
        assert_eq!(world.rib.has_changes(id), more);
        more
    }

    fn read_all(&mut self, world: &mut World) {
        while self.read(world, 7) {}
    }

    fn check(&self, world: &World, seed: u64) {
        let knows: BTreeMap<_, _> =
            self.knows.iter().map(|(routed, (known, _))| (routed.clone(), known.clone())).collect();
        assert_eq!(knows, reference(world, self.equal_max), "seed {seed}");
        assert!(self.knows.values().all(|(_, is_stale)| !is_stale), "seed {seed}");
    }
}

/// What a reader is to know.
fn reference(world: &World, equal_max: usize) -> BTreeMap<(Family, Vec<u8>), Known> {
    let said = world.clients.iter().flat_map(|it| it.says.keys()).chain(world.own.keys());
    let mut all = BTreeMap::new();
    for routed in said.filter(|routed| FAMILIES.contains(&routed.0)) {
        let way =
            |(from, said): &(usize, Said)| (*from, hop_of(said), said.0.clone(), said.2.clone());
        let paths = world.paths(routed);
        let mut chosen: Vec<Way> = Vec::new();
        for path in world.equal(paths.clone(), 0) {
            let (from, hop, attributes, labels) = way(&path);
            let is_twice = chosen.iter().any(|it| (it.1, &it.3) == (hop, &labels));
            if chosen.len() < equal_max && !is_twice {
                chosen.push((from, hop, attributes, labels));
            }
        }
        let is_elsewhere = |path: &(usize, Said)| chosen.iter().all(|it| it.1 != hop_of(&path.1));
        let rest: Vec<_> = paths.into_iter().filter(is_elsewhere).collect();
        let backup = world.equal(rest, 0).first().map(way);
        if !chosen.is_empty() {
            all.insert((routed.0, routed.1.clone()), (chosen, backup));
        }
    }
    all
}

fn plain(kind: Kind) -> Spec {
    Spec {
        kind,
        add_path: false,
        constrained: false,
        four_octet_as: true,
        location: 0,
        import: 0,
        export: 0,
        role: None,
        long_lived: false,
    }
}

fn specs() -> Vec<Spec> {
    vec![
        plain(Kind::Client),
        plain(Kind::NonClient),
        plain(Kind::NonClient),
        Spec { add_path: true, ..plain(Kind::Client) },
        Spec { constrained: true, ..plain(Kind::Client) },
        plain(Kind::External),
        plain(Kind::External),
    ]
}

fn key(family: Family, number: u8) -> Vec<u8> {
    match family {
        Family::Ipv4Unicast => vec![24, 10, 0, number],
        Family::Ipv6Unicast => vec![40, 0x20, 1, 0xd, 0xb8, number],
        _ => vec![88, 0, 0, 0xfd, 0xe8, 0, 0, 0, 1, 10, 0, number],
    }
}

fn hop(number: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, 100 + number])
}

/// A route over one of a few next hops.
fn said(world: &mut World, number: usize, family: Family) -> Said {
    let over = world.random.below(4) as u8;
    said_over(world, number, family, over)
}

fn said_over(world: &mut World, number: usize, family: Family, over: u8) -> Said {
    let is_external = number != OURSELVES && world.clients[number].spec.kind == Kind::External;
    let (mut path, mut out) = (Vec::new(), Vec::new());
    let through = |asn: u32, path: &mut Vec<u8>| {
        let mut longer = Vec::new();
        prepend(path, SegmentKind::Sequence, asn, &mut longer);
        *path = longer;
    };
    if world.random.is(50) && number != OURSELVES {
        through(70_001 + world.random.below(2) as u32, &mut path);
    }
    if is_external {
        through(world.asn(number), &mut path);
    }
    write_attribute(0x40, 1, &[world.random.below(8) as u8 / 7], &mut out);
    write_attribute(0x40, 2, &path, &mut out);
    if family == Family::Ipv4Unicast {
        write_attribute(0x40, 3, &[192, 0, 2, 100 + over], &mut out);
    }
    if world.random.is(30) {
        write_attribute(0x80, 4, &[0, 0, 0, world.random.below(3) as u8], &mut out);
    }
    if !is_external && number != OURSELVES {
        write_attribute(0x40, 5, &[0, 0, 0, 100], &mut out);
    }
    let label = vec![0, world.random.below(2) as u8, 0x11];
    match family {
        Family::Ipv4Unicast => (out, vec![], vec![]),
        Family::Ipv6Unicast => {
            let IpAddr::V4(over) = hop(over) else { unreachable!("it is IPv4") };
            (out, over.to_ipv6_mapped().octets().to_vec(), vec![])
        }
        _ => {
            let target = [0, 2, 0xfd, 0xe8, 0, 0, 0, world.random.below(4) as u8];
            write_attribute(0xc0, 16, &target, &mut out);
            (out, [&[0; 8][..], &[192, 0, 2, 100 + over]].concat(), label)
        }
    }
}

fn act(world: &mut World, copies: &mut Vec<Copy>) {
    let number = world.random.below(world.clients.len() as u64) as usize;
    let family = FAMILIES[world.random.below(3) as usize];
    let route = key(family, world.random.below(10) as u8);
    if !world.clients[number].is_up {
        return world.up(number);
    }
    match world.random.below(100) {
        0..45 => {
            let said = said(world, number, family);
            world.announce(number, family, &route, said);
            world.find_new_hops();
        }
        45..60 => world.withdraw(number, family, &route),
        60..67 => {
            let said = world.random.is(60).then(|| said(world, OURSELVES, family));
            world.originate(family, &route, said);
        }
        67..77 => {
            let address = match (hop(world.random.below(4) as u8), family) {
                (IpAddr::V4(address), Family::Ipv6Unicast) => address.to_ipv6_mapped().into(),
                (address, _) => address,
            };
            let metric = world.random.is(70).then(|| 10 + world.random.below(2) as u32);
            world.set_hop(address, metric);
        }
        77..79 => world.down(number, FamilySet::EMPTY),
        79 if copies.len() > 1 => {
            let gone = copies.swap_remove(world.random.below(copies.len() as u64) as usize);
            world.rib.close_reader(gone.id);
        }
        80 if copies.len() < 4 => {
            let equal_max = 1 + world.random.below(4) as usize;
            copies.push(Copy::new(world, equal_max));
        }
        81..91 => {
            let (at, budget) = (world.random.below(copies.len() as u64), world.random.below(9));
            copies[at as usize].read(world, budget as usize);
        }
        _ => world.run_a_little(),
    }
}

#[test]
fn readers_and_peers_know_what_the_reference_says_however_next_hops_and_own_routes_change() {
    let seeds = std::env::var("TANDEM_SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(150);
    let mut begun = 0;
    for seed in 1..=seeds {
        let gone_max = [0, 5, 1 << 20][seed as usize % 3];
        let bounds = Bounds { gone_max, chunk_bytes: 300, ..Bounds::default() };
        let mut world = World::bounded(seed, specs(), bounds);
        world.follow();
        let mut copies = vec![Copy::new(&mut world, 64), Copy::new(&mut world, 2)];
        for _ in 0..4 {
            let count = world.random.below(300);
            (0..count).for_each(|_| act(&mut world, &mut copies));
            world.settle();
            world.check(seed);
            for copy in &mut copies {
                copy.read_all(&mut world);
                copy.check(&world, seed);
                begun += usize::from(copy.begun > FAMILIES.len());
            }
        }
        let mut used: Vec<IpAddr> = world
            .clients
            .iter()
            .flat_map(|it| &it.says)
            .filter(|(routed, _)| FAMILIES.contains(&routed.0))
            .map(|(_, said)| hop_of(said))
            .collect();
        used.sort_unstable();
        used.dedup();
        let listed = world.rib.next_hops();
        let hops = world.hops.as_ref().expect("they are followed");
        assert!(listed.iter().all(|it| it.sets > 0 && it.metric == hops[&it.address]));
        let listed: Vec<IpAddr> = listed.into_iter().map(|it| it.address).collect();
        assert_eq!(listed, used, "seed {seed}");
    }
    assert!(begun > 0, "some were told everything anew");
}

/// A world in which next hops are near as soon as they are in use, and one reads.
fn edge(specs: Vec<Spec>, bounds: Bounds) -> (World, Copy) {
    let mut world = World::bounded(1, specs, bounds);
    world.follow();
    (0..world.clients.len()).for_each(|number| world.up(number));
    let copy = Copy::new(&mut world, 64);
    world.settle();
    (world, copy)
}

#[test]
fn a_next_hop_that_goes_concerns_what_leads_over_it_alone() {
    let (mut world, mut copy) =
        edge(vec![plain(Kind::Client), plain(Kind::Client)], Bounds::default());
    let family = Family::Ipv4Unicast;
    for route in 0..40 {
        let said = said_over(&mut world, 0, family, route % 4);
        world.announce(0, family, &key(family, route), said);
    }
    world.find_new_hops();
    copy.read_all(&mut world);
    world.settle();
    let (told, sent) = (copy.told, world.clients[1].told.len());
    world.set_hop(hop(3), None);
    copy.read_all(&mut world);
    world.settle();
    assert_eq!((copy.told - told, sent), (10, 40));
    assert_eq!((copy.knows.len(), world.clients[1].told.len()), (30, 30), "the peer as well");
    let messages = world.clients[1].messages;
    world.set_hop(hop(2), Some(99));
    copy.read_all(&mut world);
    world.settle();
    assert_eq!(copy.told - told, 20, "the metric concerns who reads");
    assert_eq!(world.clients[1].messages, messages, "but no peer");
    let hops = world.rib.next_hops();
    assert_eq!(hops.iter().map(|it| it.metric).collect::<Vec<_>>(), {
        vec![Some(10), Some(10), Some(99), None]
    });
    world.down(0, FamilySet::EMPTY);
    world.settle();
    assert_eq!(world.rib.next_hops(), vec![], "nothing is kept of what nobody uses");
}

#[test]
fn what_is_no_better_concerns_who_reads_and_who_is_told_all_paths_but_nobody_else() {
    let many = Spec { add_path: true, ..plain(Kind::Client) };
    let specs = vec![plain(Kind::Client), plain(Kind::Client), plain(Kind::Client), many];
    let (mut world, mut copy) = edge(specs, Bounds::default());
    let (family, route) = (Family::Ipv4Unicast, key(Family::Ipv4Unicast, 1));
    let attributes = |over: u8, preference: u8| {
        let mut out = Vec::new();
        write_attribute(0x40, 1, &[0], &mut out);
        write_attribute(0x40, 2, &[], &mut out);
        write_attribute(0x40, 3, &[192, 0, 2, 100 + over], &mut out);
        write_attribute(0x40, 5, &[0, 0, 0, preference], &mut out);
        (out, vec![], vec![])
    };
    world.announce(0, family, &route, attributes(0, 200));
    world.find_new_hops();
    world.settle();
    copy.read_all(&mut world);
    let messages = [2, 3].map(|peer| world.clients[peer].messages);
    world.announce(1, family, &route, attributes(1, 150));
    world.find_new_hops();
    world.settle();
    assert!(world.clients[3].messages > messages[1]);
    assert_eq!(world.clients[3].told.len(), 2);
    world.withdraw(1, family, &route);
    world.settle();
    assert_eq!(world.clients[2].messages, messages[0], "the best path is as it was");
    assert_eq!(world.clients[3].told.len(), 1);
    let told = copy.told;
    copy.read_all(&mut world);
    assert_eq!(copy.told, told + 1, "once, as it stands");
    // Who was yet to be told of the best path is told when something minor follows.
    world.announce(0, family, &route, attributes(0, 201));
    world.announce(1, family, &route, attributes(1, 150));
    world.find_new_hops();
    world.settle();
    assert_eq!(world.clients[2].messages, messages[0] + 1);
    world.check(1);
    copy.read_all(&mut world);
    copy.check(&world, 1);
}

#[test]
fn one_who_stalls_holds_neither_the_log_nor_what_is_gone() {
    let bounds = Bounds { gone_max: 50, ..Bounds::default() };
    let (mut world, mut copy) = edge(vec![plain(Kind::Client), plain(Kind::Client)], bounds);
    let family = Family::Ipv4Unicast;
    let (one, other) = (said_over(&mut world, 0, family, 0), said_over(&mut world, 0, family, 1));
    copy.read_all(&mut world);
    assert_eq!(copy.begun, 3);
    for round in 0..4_000 {
        for route in 0..5 {
            let said = if round % 2 == 0 { &one } else { &other };
            world.announce(0, family, &key(family, route), said.clone());
        }
        if round == 0 {
            world.find_new_hops();
        }
        if round % 100 == 0 {
            world.settle();
        }
    }
    world.settle();
    assert!(!copy.read(&mut world, 6_000), "20,000 changes are no more places than the log keeps");
    assert_eq!((copy.told, copy.begun), (5, 3), "each entry once");
    copy.check(&world, 1);
    for route in 10..250 {
        world.announce(0, family, &key(family, route), one.clone());
        world.withdraw(0, family, &key(family, route));
        world.settle();
        assert!(world.rib.counters().entries <= 5 + 51);
    }
    copy.read_all(&mut world);
    assert_eq!(copy.begun, 4, "that family anew");
    copy.check(&world, 1);
}

#[test]
fn an_ipv6_next_hop_of_ipv4_is_told_to_who_agreed_on_it_for_that_family() {
    let plain_hop = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).octets().to_vec();
    let vpn_hop = [&[0; 8][..], &plain_hop].concat();
    for (family, payload, next_hop) in
        [(Family::Ipv4Unicast, vec![], plain_hop), (Family::Vpnv4, vec![0, 3, 0x21], vpn_hop)]
    {
        let (mut world, _) = edge(vec![plain(Kind::Client); 2], Bounds::default());
        world.down(1, FamilySet::EMPTY);
        world.clients[1].extended = FamilySet::only(family);
        world.up(1);
        let mut attributes = Vec::new();
        write_attribute(0x40, 1, &[0], &mut attributes);
        write_attribute(0x40, 2, &[], &mut attributes);
        let said = (attributes, next_hop.clone(), payload);
        world.originate(family, &key(family, 1), Some(said));
        world.settle();
        let told = [0, 1].map(|peer: usize| {
            world.clients[peer].told.values().map(|it| it.1.clone()).collect::<Vec<_>>()
        });
        assert_eq!(told, [vec![], vec![next_hop]], "{family}");
    }
}

#[test]
fn own_routes_are_before_all_others_and_no_restart_touches_them() {
    let specs = vec![plain(Kind::NonClient), plain(Kind::NonClient), plain(Kind::External)];
    let (mut world, mut copy) = edge(specs, Bounds::default());
    for family in FAMILIES {
        let (route, all) = (key(family, 1), FamilySet::only(family));
        let theirs = said_over(&mut world, 0, family, 1);
        world.announce(0, family, &route, theirs);
        world.find_new_hops();
        let ours = said_over(&mut world, OURSELVES, family, 0);
        world.originate(family, &route, Some(ours));
        let shown = |world: &World| {
            let routes = world.rib.routes(family, &rib::Wanted { limit: 9, ..Default::default() });
            let whose = |it: &rib::PathView| (it.peer, it.loses_by);
            routes[0].paths.iter().map(whose).collect::<Vec<_>>()
        };
        let expected = [(PeerId::OWN, None), (PeerId(0), Some("own before others"))];
        assert_eq!(shown(&world), expected);
        for peer in [PeerId::OWN, PeerId(7)] {
            world.rib.down(peer, FamilySet::EMPTY);
            world.rib.long_lived(peer, all);
            world.rib.purge(peer, all);
            world.rib.judge_anew(peer);
        }
        world.settle();
        assert_eq!(shown(&world), expected);
        world.check(1);
        assert_eq!(world.rib.received(PeerId::OWN, family), 1);
    }
    copy.read_all(&mut world);
    copy.check(&world, 1);
    let said = &world.clients[2].told[&(Family::Ipv4Unicast, key(Family::Ipv4Unicast, 1), 0)].0;
    let value = |kind| Attributes::new(said).value(kind).map(<[u8]>::to_vec);
    assert_eq!(value(AttributeType::NextHop), Some(vec![192, 0, 2, 254]), "ours on the session");
    let said = &world.clients[1].told[&(Family::Ipv4Unicast, key(Family::Ipv4Unicast, 1), 0)].0;
    let value = |kind| Attributes::new(said).value(kind).map(<[u8]>::to_vec);
    assert_eq!(value(AttributeType::NextHop), Some(vec![192, 0, 2, 100]), "the one it was given");
    assert_eq!(value(AttributeType::OriginatorId), None, "nobody reflects it");
    for family in FAMILIES {
        world.originate(family, &key(family, 1), None);
    }
    world.settle();
    world.check(1);
    copy.read_all(&mut world);
    copy.check(&world, 1);
    assert_eq!(world.rib.attribute_octets(PeerId::OWN), 0);
}

#[test]
fn for_an_importer_own_routes_stand_beside_what_is_chosen() {
    let (mut world, _) = edge(vec![plain(Kind::NonClient); 2], Bounds::default());
    let (family, route) = (Family::Vpnv4, key(Family::Vpnv4, 1));
    let importer = world.rib.importer(FamilySet::only(family), 64);
    let heard = |world: &mut World| {
        let mut heard = Vec::new();
        world.rib.read_changes(importer, 100, &mut |change| {
            if let Change::Route(choice) = change {
                let hops = |path: PathRef<'_>| path.next_hop.expect("the world makes it");
                let paths = choice.paths().map(hops).collect::<Vec<_>>();
                heard.push((paths, choice.backup().map(hops), choice.own().map(hops)));
            }
        });
        heard
    };
    for peer in 0..2 {
        let mut said = said_over(&mut world, peer, family, peer as u8);
        let value = [0, 0, 0, 100 + peer as u8];
        let edit = bgp::codec::Edit { kind: AttributeType::LocalPref, value: Some(&value) };
        let mut attributes = Vec::new();
        assert!(bgp::codec::rewrite(&said.0, &[edit], &mut attributes));
        said.0 = attributes;
        world.announce(peer, family, &route, said);
    }
    world.find_new_hops();
    let both = |own| vec![(vec![hop(1)], Some(hop(0)), own)];
    assert_eq!(heard(&mut world), both(None));
    let ours = said_over(&mut world, OURSELVES, family, 3);
    world.originate(family, &route, Some(ours));
    assert_eq!(heard(&mut world), both(Some(hop(3))));
    (0..2).for_each(|peer| world.withdraw(peer, family, &route));
    assert_eq!(heard(&mut world), vec![(vec![], None, Some(hop(3)))]);
    world.originate(family, &route, None);
    assert_eq!(heard(&mut world), vec![(vec![], None, None)]);
}

#[test]
fn what_is_no_whole_route_is_not_originated() {
    let (mut world, _) = edge(vec![plain(Kind::Client)], Bounds::default());
    let family = Family::Vpnv4;
    let (attributes, next_hop, payload) = said_over(&mut world, OURSELVES, family, 0);
    let key = key(family, 1);
    let whole =
        OwnRoute { key: &key, payload: &payload, attributes: &attributes, next_hop: &next_hop };
    let (unmasked, label) = ([&key[..], &[1]].concat(), [0, 0, 0x10]);
    let twice = [&attributes[..], &attributes].concat();
    for broken in [
        OwnRoute { key: &[], ..whole },
        OwnRoute { key: &unmasked, ..whole },
        OwnRoute { key: &key[..5], ..whole },
        OwnRoute { payload: &[], ..whole },
        OwnRoute { payload: &label, ..whole },
        OwnRoute { attributes: &[], ..whole },
        OwnRoute { attributes: &attributes[4..], ..whole },
        OwnRoute { attributes: &attributes[..attributes.len() - 1], ..whole },
        OwnRoute { attributes: &twice, ..whole },
        OwnRoute { next_hop: &[], ..whole },
        OwnRoute { next_hop: &[0; 12], ..whole },
        OwnRoute { next_hop: &next_hop[1..], ..whole },
    ] {
        assert_eq!(world.rib.originate(family, &broken), None, "{broken:?}");
    }
    let plain = OwnRoute { key: &[24, 10, 0, 1], payload: &[], next_hop: &[], ..whole };
    assert_eq!(world.rib.originate(Family::Ipv4Unicast, &plain), None, "NEXT_HOP lacks");
    assert_eq!(world.rib.counters().entries, 0);
    assert!(world.rib.originate(family, &whole).is_some() && !world.rib.retract(family, &[]));
}

/// A route of IPv4 over any next hop.
fn over(world: &mut World, number: usize, hop: [u8; 4]) -> Said {
    let (mut said, ..) = said_over(world, number, Family::Ipv4Unicast, 0);
    let at = said.windows(4).position(|it| it == [192, 0, 2, 100]).expect("its next hop");
    said[at..at + 4].copy_from_slice(&hop);
    (said, vec![], vec![])
}

fn wide_key(number: usize) -> Vec<u8> {
    vec![32, 11, (number >> 16) as u8, (number >> 8) as u8, number as u8]
}

#[test]
fn next_hops_of_refused_routes_are_not_followed() {
    let mut world = World::new(1, vec![Spec { import: REFUSES, ..plain(Kind::External) }]);
    world.follow();
    world.up(0);
    for number in 0..20 {
        let said = over(&mut world, 0, [192, 0, 2, number]);
        world.announce(0, Family::Ipv4Unicast, &wide_key(number.into()), said);
    }
    assert_eq!(world.rib.counters().refused, 20);
    assert_eq!(world.rib.new_next_hops(), Vec::<IpAddr>::new());
    assert!(world.rib.next_hops().is_empty());
}

#[test]
fn a_peer_has_so_many_next_hops_and_what_is_beyond_waits_until_one_goes() {
    let mut world = World::new(1, vec![plain(Kind::NonClient), plain(Kind::NonClient)]);
    world.follow();
    world.up(0);
    world.up(1);
    let most = rib::NEXT_HOPS_OF_PEER_MAX;
    let address =
        |number: usize| [172, 16 + (number >> 16) as u8, (number >> 8) as u8, number as u8];
    for number in 0..most + 10 {
        let said = over(&mut world, 0, address(number));
        world.announce(0, Family::Ipv4Unicast, &wide_key(number), said);
    }
    let reach_new = |world: &mut World| {
        let new = world.rib.new_next_hops();
        new.iter().for_each(|it| world.rib.set_next_hop(*it, Some(1)));
        new.len()
    };
    assert_eq!(reach_new(&mut world), most);
    assert_eq!(world.rib.excess_next_hops(PeerId(0)), 10);
    let usable = |world: &World, number: usize| {
        let route = world.rib.path(Family::Ipv4Unicast, &wide_key(number), (PeerId(0), 0));
        route.is_some()
    };
    assert!(usable(&world, most + 9), "the route is there, its next hop is not reached");
    // Another peer has its own, among them one that waits.
    let said = over(&mut world, 1, address(most + 5));
    world.announce(1, Family::Ipv4Unicast, &wide_key(1), said);
    assert_eq!(reach_new(&mut world), 1);
    // Of those that wait as many are followed as go.
    let mut copy = Copy::new(&mut world, 1);
    copy.read_all(&mut world);
    assert_eq!(copy.knows.len(), most);
    for number in 2..5 {
        world.withdraw(0, Family::Ipv4Unicast, &wide_key(number));
    }
    reach_new(&mut world);
    assert_eq!(world.rib.excess_next_hops(PeerId(0)), 7);
    copy.read_all(&mut world);
    assert_eq!(copy.knows.len(), most, "three went and three came");
    world.down(0, FamilySet::EMPTY);
    while world.work(10_000) {}
    assert_eq!(world.rib.excess_next_hops(PeerId(0)), 0);
    assert_eq!(world.rib.next_hops().len(), 1);
}

#[test]
fn an_external_peer_next_door_names_who_is_on_its_subnet() {
    let mut world = World::new(1, vec![plain(Kind::External)]);
    world.follow();
    let subnets = vec![("192.0.2.254".parse().expect("an address"), 24)];
    world.up_near(0, subnets);
    for (number, hop) in [[192, 0, 2, 1], [192, 0, 2, 77], [10, 255, 0, 1]].into_iter().enumerate()
    {
        let said = over(&mut world, 0, hop);
        world.announce(0, Family::Ipv4Unicast, &wide_key(number), said);
    }
    let new: Vec<String> = world.rib.new_next_hops().iter().map(ToString::to_string).collect();
    assert_eq!(new, ["192.0.2.1", "192.0.2.77"]);
    assert_eq!(world.rib.peer_counters(PeerId(0)).expect("it is up").foreign_next_hops, 1);
    world.rib.set_next_hop("10.255.0.1".parse().expect("an address"), Some(1));
    let mut copy = Copy::new(&mut world, 1);
    copy.read_all(&mut world);
    assert!(copy.knows.is_empty(), "none was said to be reached but that one");
}
