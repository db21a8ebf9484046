//! IS-IS as OSPF: networks by seed, both beside each other, keys, restarts, BFD, what others are
//! told.

use crate::operator::why;
use crate::world::{SECOND, World};
use igp::config::{KeyChain, Source};
use igp::{External, Prefix, Protocol};
use machine::Duration;

fn world(seed: u64, routers: usize, speaks: &[Protocol]) -> World {
    let mut world = World::new(seed, routers);
    world.speaks = speaks.to_vec();
    world
}

fn states(world: &World) -> Vec<(String, String)> {
    world.states(0)
}

fn up(interfaces: &[&str]) -> Vec<(String, String)> {
    interfaces.iter().map(|it| ((*it).to_owned(), "Up".to_owned())).collect()
}

#[test]
fn routers_of_random_networks_learn_every_subnet_and_follow_what_is_cut_and_healed() {
    for seed in 0..8 {
        let count = 4 + (seed % 4) as usize;
        let mut world = world(seed, count, &[Protocol::Isis]);
        world.isis_lines = "hello_s = 1\nmultiplier = 4".to_owned();
        world.loss = if seed.is_multiple_of(3) { 20 } else { 0 };
        for router in 0..count {
            let (cost, back) = (1 + world.below(9) as u16, 1 + world.below(9) as u16);
            let is_broadcast = world.below(2) == 0;
            world.wire(is_broadcast, &[(router, cost), ((router + 1) % count, back)]);
        }
        let all: Vec<(usize, u16)> =
            (0..count).filter(|it| it % 2 == 0).map(|it| (it, 5)).collect();
        world.wire(true, &all);
        world.start_all();
        world.run(SECOND * 60);
        world.check(&format!("seed {seed}"));
        let cut = world.below(world.wires.len());
        world.set_up(cut, false);
        world.run(SECOND * 30);
        world.check(&format!("seed {seed}, wire {cut} is cut"));
        world.set_up(cut, true);
        world.run(SECOND * 60);
        world.check(&format!("seed {seed}, wire {cut} is healed"));
    }
}

#[test]
fn of_both_protocols_the_one_with_the_lower_distance_holds_and_the_other_waits() {
    let mut world = world(1, 2, &Protocol::ALL);
    world.wire(true, &[(0, 10), (1, 10)]);
    let far = world.wire(true, &[(1, 7)]);
    world.start_all();
    world.run(SECOND * 60);
    let of = |world: &World| {
        let route = world.at(0).route(World::prefix(far));
        route.map(|it| (it.protocol, it.distance, it.ways.len()))
    };
    assert_eq!(of(&world), Some((Protocol::Ospf, 110, 1)));
    for protocol in Protocol::ALL {
        let row = world.row(0, protocol, World::prefix(far)).unwrap();
        assert_eq!(row["held_by"], "ospf", "{protocol:?}");
    }
    world.own_isis_lines[0] = "distance = 90".to_owned();
    world.configure(0);
    world.run(SECOND);
    assert_eq!(of(&world), Some((Protocol::Isis, 90, 1)));
    let row = world.row(0, Protocol::Ospf, World::prefix(far)).unwrap();
    assert_eq!(row["held_by"], "isis");
    let v6 = world.at(0).route(World::prefix_ipv6(far)).unwrap();
    assert!(v6.ways.iter().all(|it| it.gateway.to_string().starts_with("fe80::")), "{v6:?}");
    // One of them goes: its routes are told as changed, and the other's hold.
    world.speaks = vec![Protocol::Ospf];
    world.with(0, |it, _| drop(it.take_changed()));
    world.configure(0);
    let changed = {
        let mut changed = Default::default();
        world.with(0, |it, _| changed = it.take_changed());
        changed
    };
    assert!(changed.contains(&World::prefix_ipv6(far)), "{changed:?}");
    assert_eq!(of(&world), Some((Protocol::Ospf, 110, 1)));
    assert_eq!(world.at(0).route(World::prefix_ipv6(far)), None);
}

#[test]
fn keys_change_without_a_loss_and_who_has_none_is_no_neighbour() {
    let mut world = world(8, 2, &[Protocol::Isis]);
    let keys = |text: &str| KeyChain::read(Protocol::Isis, text).unwrap();
    world.isis_lines = "key_file = \"keys\"".to_owned();
    world.own_isis_lines = vec!["key_file = \"keys\"".to_owned(); 2];
    world.keys.insert("keys".to_owned(), keys("1 hmac-sha-256 first"));
    world.wire(false, &[(0, 10), (1, 10)]);
    let far = world.wire(true, &[(1, 10)]);
    world.start_all();
    world.run(SECOND * 60);
    assert_eq!(states(&world), up(&["w0"]));
    // The new key is known to both before either sends with it, and the old one goes last.
    for text in [
        "1 hmac-sha-256 first\n2 hmac-md5 second",
        "2 hmac-md5 second\n1 hmac-sha-256 first",
        "2 hmac-md5 second",
    ] {
        world.keys.insert("keys".to_owned(), keys(text));
        for router in 0..2 {
            world.configure(router);
            world.run(SECOND * 20);
            assert_eq!(states(&world), up(&["w0"]), "{text}");
        }
        assert!(world.at(0).route(World::prefix(far)).is_some());
        assert_eq!(world.alarms(0), Vec::<String>::new());
    }
    world.keys.insert("keys".to_owned(), keys("2 hmac-md5 other"));
    world.configure(1);
    world.run(SECOND * 60);
    assert_eq!(states(&world), refused());
    let reason = "it knows another secret: both say a digest of HMAC-MD5";
    assert_eq!(why(&world, 0), reason);
    let name = "pe1 0000.0000.0002 at w0";
    assert_eq!(world.said(0), [format!("{name} is no neighbour any more: {reason}")]);
    world.keys.clear();
    world.configure(1);
    world.run(SECOND * 60);
    assert_eq!(world.states(1), refused(), "a file that is gone lets nobody in");
    // Nobody speaks any more: what was heard last counts for a minute.
    world.set_passing(0, false);
    world.run(SECOND * 120);
    assert_eq!(states(&world), []);
}

fn refused() -> Vec<(String, String)> {
    vec![("w0".to_owned(), "refused".to_owned())]
}

const BROADCAST: &str = "it takes the link for a broadcast one, here it is point-to-point";
const POINT_TO_POINT: &str = "it takes the link for point-to-point, here it is a broadcast one";
const UNHEARD: &str = "it does not hear this router, or does not believe it";

#[test]
fn a_mistake_of_an_operator_is_told_with_the_value_there_and_here() {
    type Mistake = fn(&mut World);
    let mistakes: [(Mistake, &str, &str); 4] = [
        (
            |it| it.area = "1".to_owned(),
            "its area is 49.0001, here 49.0002",
            "its area is 49.0002, here 49.0001",
        ),
        (
            |it| it.own_isis_lines[0] = "level = \"2\"".to_owned(),
            "its level is level-1, here level-2",
            "its level is level-2, here level-1",
        ),
        (
            |it| it.own_interface = "network = \"point-to-point\"".to_owned(),
            BROADCAST,
            POINT_TO_POINT,
        ),
        (
            |it| {
                it.keys.insert(
                    "keys".to_owned(),
                    KeyChain::read(Protocol::Isis, "7 hmac-sha-256 s3cret").unwrap(),
                );
                it.own_interface = "key_file = \"keys\"".to_owned();
            },
            "its hellos have no authentication, here key 7",
            UNHEARD,
        ),
    ];
    for (mistake, at_0, at_1) in mistakes {
        let mut world = world(4, 2, &[Protocol::Isis]);
        world.own_isis_lines = vec!["level = \"1\"".to_owned(); 2];
        world.wire(true, &[(0, 10), (1, 10)]);
        world.start_all();
        world.run(SECOND * 60);
        assert_eq!((states(&world), why(&world, 0)), (up(&["w0"]), String::new()));
        mistake(&mut world);
        world.configure(0);
        world.run(SECOND * 50);
        assert_eq!((why(&world, 0), why(&world, 1)), (at_0.to_owned(), at_1.to_owned()));
        assert_eq!(states(&world), refused(), "{at_0}");
        world.own_isis_lines[0] = "level = \"1\"".to_owned();
        (world.area, world.own_interface) = ("0".to_owned(), String::new());
        world.configure(0);
        world.run(SECOND * 120);
        assert_eq!((states(&world), why(&world, 0)), (up(&["w0"]), String::new()), "{at_0}");
        assert_eq!((why(&world, 1), world.said(1)), (String::new(), Vec::new()), "{at_0}");
    }
}

#[test]
fn what_is_odd_of_a_neighbour_stands_beside_it() {
    let mut world = world(4, 2, &[Protocol::Isis]);
    world.mtus[1] = 1_400;
    world.wire(false, &[(0, 10), (1, 10)]);
    world.start_all();
    world.run(SECOND * 60);
    let said = "its hellos have 1497 octets, and the MTU here bears 1397";
    assert_eq!((why(&world, 1), world.states(1)), (said.to_owned(), up(&["w0"])));
    assert_eq!(why(&world, 0), "");
    world.mtus[1] = 1_500;
    world.configure(1);
    assert!(world.said(1)[0].ends_with(": its interface has another MTU"), "{:?}", world.said(1));
    world.run(SECOND * 60);
    assert_eq!((why(&world, 1), world.states(1)), (String::new(), up(&["w0"])));
    // One of them believes LSPs by a key alone that the other one does not have.
    let keys = KeyChain::read(Protocol::Isis, "1 hmac-sha-256 s3cret").unwrap();
    world.keys.insert("keys".to_owned(), keys);
    world.own_isis_lines[0] = "key_file = \"keys\"".to_owned();
    world.configure(0);
    world.run(SECOND * 30);
    let said = "its LSPs of level-2 have no authentication, here key 1";
    assert_eq!((why(&world, 0), states(&world)), (said.to_owned(), up(&["w0"])));
    world.own_isis_lines[0].clear();
    world.configure(0);
    world.run(SECOND * 60);
    assert_eq!((why(&world, 0), states(&world)), (String::new(), up(&["w0"])));
}

#[test]
fn a_control_that_dies_and_comes_back_is_not_noticed_whether_it_is_helped_or_not() {
    for (is_broadcast, helper) in [(false, true), (false, false), (true, true), (true, false)] {
        let mut world = world(5, 3, &[Protocol::Isis]);
        world.isis_lines = "hello_s = 2".to_owned();
        world.own_isis_lines = vec![format!("helper = {helper}"); 3];
        world.wire(is_broadcast, &[(0, 10), (1, 10)]);
        world.wire(is_broadcast, &[(1, 10), (2, 10)]);
        let far = world.wire(true, &[(2, 1)]);
        world.start_all();
        world.run(SECOND * 90);
        let what = format!("broadcast: {is_broadcast}, helped: {helper}");
        let (prefix, back) = (World::prefix(far), World::prefix(0));
        assert_eq!(world.at(0).route(prefix).map(|it| it.cost), Some(21), "{what}");
        world.routers[1] = None;
        world.run(SECOND);
        world.start(1, true);
        assert!(world.at(1).is_restarting());
        for step in 0..300 {
            world.run(Duration::from_millis(100));
            for (router, to) in [(0, prefix), (2, back)] {
                let route = world.at(router).route(to);
                assert!(route.is_some(), "router {router} after {step} steps, {what}");
            }
        }
        assert!(!world.at(1).is_restarting(), "{what}");
        world.run(SECOND);
        assert_eq!(world.at(1).route(prefix).map(|it| it.cost), Some(11), "{what}");
        assert_eq!(world.alarms(0), Vec::<String>::new(), "{what}");
        // Ended in order, its neighbours bear it until its time is over.
        let now = world.now;
        world.with(1, |it, out| it.drain(now, true, out));
        world.run(SECOND);
        assert_eq!(states(&world), up(&["w0"]), "{what}");
    }
}

#[test]
fn neighbours_of_both_protocols_have_one_session_of_bfd_and_both_lose_them() {
    let mut world = world(3, 2, &Protocol::ALL);
    world.lines = "bfd = { interval_ms = 300, multiplier = 3 }".to_owned();
    world.isis_lines = "bfd = { interval_ms = 100, multiplier = 3 }".to_owned();
    world.wire(false, &[(0, 10), (1, 10)]);
    world.start_all();
    world.run(SECOND * 60);
    let rows = question::value(world.at(0).summary(world.now));
    let rows = rows.as_array().unwrap();
    assert!(rows.iter().all(|it| it["bfd_up"] == 1), "{rows:?}");
    world.wires[0].passes = false;
    world.run(Duration::from_millis(500));
    let alarms = world.at(0).alarms(world.now);
    let lost = alarms.iter().filter(|it| it.name == "igp-adjacency-lost");
    let texts: Vec<&str> = lost.map(|it| it.text.as_str()).collect();
    assert_eq!(texts.len(), 2, "sooner than OSPF alone would: {texts:?}");
    assert!(texts.iter().all(|it| it.ends_with("its BFD session went down")), "{texts:?}");
    // The one that stays keeps the session.
    world.wires[0].passes = true;
    world.run(SECOND * 60);
    world.speaks = vec![Protocol::Ospf];
    world.configure(0);
    world.run(SECOND * 15);
    let rows = question::value(world.at(0).summary(world.now));
    assert_eq!(rows.as_array().unwrap().len(), 1);
    assert_eq!(rows[0]["bfd_up"], 1, "{rows}");
}

#[test]
fn routes_of_both_families_are_told_while_they_hold_and_as_the_section_says() {
    let mut world = world(2, 2, &[Protocol::Isis]);
    world.wire(false, &[(0, 10), (1, 10)]);
    let stub = world.wire(true, &[(1, 10)]);
    let to = |text: &str, length| Prefix::new(text.parse().unwrap(), length);
    let of =
        |prefix, from, distance, by: &[u32]| External { prefix, from, distance, by: by.to_vec() };
    let (four, six) = (to("172.16.1.0", 24), to("2001:db8:ffff::", 48));
    let (behind, outside) = (to("172.16.2.0", 24), to("198.51.100.0", 24));
    let by = [stub as u32 + 1];
    world.externals[1] = vec![
        of(four, Source::Static, 1, &by),
        of(six, Source::Static, 1, &[]),
        of(behind, Source::Static, 200, &[]),
        of(outside, Source::Static, 1, &[]),
    ];
    world.own_isis_lines[1] = "redistribute = [{ from = \"static\", metric = 7, tag = 9, \
         within = [\"172.16.0.0/12\", \"2001:db8:ffff::/32\"] }, { from = \"default\" }]"
        .to_owned();
    world.start_all();
    world.run(SECOND * 60);
    let row = |world: &World, to| world.row(0, Protocol::Isis, to);
    let shown = row(&world, four).unwrap();
    assert_eq!((&shown["cost"], &shown["tag"]), (&17.into(), &9.into()), "{shown}");
    assert!(row(&world, six).is_some());
    for (to, why) in [(behind, "it waits behind what is learnt"), (outside, "it is not within")] {
        assert_eq!(row(&world, to), None, "{why}");
    }
    for default in [to("0.0.0.0", 0), to("::", 0)] {
        assert_eq!(row(&world, default).unwrap()["cost"], 20);
    }
    world.set_up(stub, false);
    world.run(SECOND * 10);
    assert_eq!(row(&world, four), None, "its way is gone");
    world.own_isis_lines[1].clear();
    world.configure(1);
    world.run(SECOND * 10);
    assert_eq!(row(&world, to("::", 0)), None, "nothing is told any more");
}

#[test]
fn another_metric_takes_no_adjacency_and_another_title_does_as_it_was_foretold() {
    let mut world = world(7, 2, &[Protocol::Isis]);
    world.wire(true, &[(0, 10), (1, 10)]);
    let far = world.wire(true, &[(1, 10)]);
    world.start_all();
    world.run(SECOND * 60);
    assert_eq!(states(&world), up(&["w0"]));
    let before = world.isis(0);
    world.wires[0].ends[0].1 = 77;
    world.isis_lines = "hello_s = 3\npriority = 99".to_owned();
    let after = world.isis(0);
    assert_eq!(before.interruptions(Some(&after)), Vec::<String>::new());
    world.configure(0);
    assert_eq!(states(&world), up(&["w0"]), "the adjacency stands");
    world.run(SECOND * 20);
    assert_eq!(states(&world), up(&["w0"]));
    assert_eq!(world.at(0).route(World::prefix(far)).map(|it| it.cost), Some(87));
    let mut last = (*after).clone();
    last.net = "49.0001.0000.0000.00ff.00".to_owned();
    assert_eq!(after.interruptions(Some(&last)).len(), 1);
    assert_eq!(after.interruptions(None), ["this interface speaks IS-IS no more: w0"]);
    let (now, around) = (world.now, world.around_of(0));
    let sections =
        igp::Sections { isis: Some((last.into(), Default::default())), ..Default::default() };
    world.with(0, |it, out| it.configure(now, &sections, &around, out));
    assert_eq!(states(&world), []);
    world.run(SECOND * 60);
    assert_eq!(states(&world), up(&["w0"]));
}

#[test]
fn a_system_with_the_id_of_another_is_an_alarm_at_both() {
    let mut world = world(9, 2, &[Protocol::Isis]);
    world.wire(true, &[(0, 10), (1, 10)]);
    world.start_all();
    let (now, around) = (world.now, world.around_of(1));
    let mut section = (*world.isis(1)).clone();
    section.net.clone_from(&world.isis(0).net);
    let sections =
        igp::Sections { isis: Some((section.into(), Default::default())), ..Default::default() };
    world.with(1, |it, out| it.configure(now, &sections, &around, out));
    world.run(SECOND * 40);
    for router in 0..2 {
        assert_eq!(world.alarms(router), ["igp-duplicate-router-id"]);
        assert_eq!(world.states(router), refused());
        assert_eq!(why(&world, router), "it has the system ID of this router");
    }
}

#[test]
fn an_interface_speaks_once_its_address_is_known() {
    let mut world = world(4, 2, &[Protocol::Isis]);
    world.wire(true, &[(0, 10), (1, 10)]);
    world.start_all();
    let mut around = world.around_of(0);
    around.links[0].mac = None;
    let (now, sections) = (world.now, world.sections(0));
    world.with(0, |it, out| it.configure(now, &sections, &around, out));
    world.run(SECOND * 60);
    assert_eq!(states(&world), []);
    world.set_up(0, true);
    world.run(SECOND * 60);
    assert_eq!(states(&world), up(&["w0"]));
}
