//! What stays while somebody is away: a session controller, the forwarder, or this control.

use super::*;
use media::program::Snapshot;

/// A world with a call of `ssc1`.
fn with_a_call() -> (World, Block) {
    let mut world = World::adopted(SITE);
    world.greets(1, "ssc1", 7);
    let block = world.leases(1, "access", 32)[0];
    world.puts(1, 5, 1, &stream(at(block, 0), at(block, 1)));
    assert_eq!(world.plane.flows().len(), 4);
    (world, block)
}

#[test]
fn the_other_node_of_a_pair_goes_on_with_leases_and_streams_by_their_names() {
    let (mut world, block) = with_a_call();
    world.disconnect(1);
    assert_eq!(world.alarms(), ["session-controller-away"]);
    world.passes(30);
    world.greets(2, "ssc1", 7);
    assert_eq!(world.leases(2, "access", 32), [block]);
    let items = world.plane.items.clone();
    world.says(2, Message::Begin);
    world.puts(2, 5, 1, &stream(at(block, 0), at(block, 1)));
    world.says(2, Message::End);
    assert_eq!(world.alarms(), Vec::<String>::new());
    assert_eq!(world.plane.items, items);
}

#[test]
fn what_a_session_controller_that_began_anew_does_not_say_again_fades() {
    let (mut world, block) = with_a_call();
    world.puts(1, 6, 9, &stream(at(block, 2), at(block, 3)));
    world.greets(2, "ssc1", 8);
    assert_eq!(world.closed, [2].into(), "where nobody proves a name, it is whose it is");
    // One that is silent may be gone without a word.
    world.passes(10);
    world.greets(2, "ssc1", 8);
    assert_eq!(world.closed, [1, 2].into(), "a later connection is the right one");
    let items = world.plane.items.clone();
    world.says(2, Message::Begin);
    // Its calls count anew: the same number, the same ports, another generation.
    world.puts(2, 6, 1, &stream(at(block, 2), at(block, 3)));
    assert_eq!(world.plane.items, items);
    world.says(2, Message::End);
    assert_eq!(world.plane.items, items, "nobody said that the other call is over");
    world.told(2);
    world.notices(at(block, 0), &Notice { timed_out: true, ..Notice::default() });
    world.says(2, Message::Ask { stream: id(5) });
    assert_eq!(world.told(2), [Message::Report { stream: id(5), statistics: None }]);
    world.removes(2, 5, 9);
    world.passes(59);
    assert_eq!(world.plane.items, items);
    world.passes(2);
    let ports: Vec<u16> = world.plane.flows().iter().map(|it| it.at.port).collect();
    assert_eq!(ports, [2, 3].map(|pair| at(block, pair).port).map(|it| [it, it + 1]).concat());
}

#[test]
fn a_stream_of_who_began_anew_takes_name_and_ports_of_one_that_fades() {
    let (mut world, block) = with_a_call();
    world.passes(10);
    world.greets(2, "ssc1", 8);
    let other = world.leases(2, "access", 32)[0];
    assert_ne!(other, block, "there are others");
    world.says(2, Message::Begin);
    world.says(2, Message::End);
    // A number is another call's.
    world.puts(2, 5, 1, &stream(at(other, 0), at(other, 1)));
    let ports = |world: &World| -> Vec<u16> {
        let flows = world.plane.flows();
        flows.iter().filter(|it| it.settings.of == media::Use::Rtp).map(|it| it.at.port).collect()
    };
    assert_eq!(ports(&world), [0, 1].map(|pair| at(other, pair).port));
    // A port is another call's, when no others are left.
    let (mut world, block) = with_a_call();
    world.passes(10);
    world.greets(2, "ssc1", 8);
    let all = world.leases(2, "access", 4_000);
    assert!(all.contains(&block) && all.len() == 4, "{all:?}");
    world.puts(2, 6, 1, &stream(at(block, 1), at(block, 2)));
    assert_eq!(ports(&world), [1, 2].map(|pair| at(block, pair).port));
    let timed_out = Notice { timed_out: true, ..Notice::default() };
    world.told(2);
    world.notices(at(block, 1), &timed_out);
    assert!(matches!(world.told(2)[..], [Message::Event { stream, .. }] if stream == id(6)));
}

#[test]
fn streams_outlive_a_session_controller_that_began_anew_together_with_this_control() {
    let (world, block) = with_a_call();
    let now = world.now + Duration::from_secs(2);
    let mut world = World::with(world.settings, world.plane, now);
    world.adopt();
    world.greets(1, "ssc1", 8);
    assert!(!world.leases(1, "access", 32).contains(&block), "a stream may stand there");
    world.says(1, Message::Begin);
    world.says(1, Message::End);
    assert_eq!(world.plane.flows().len(), 4, "nobody said that the call is over");
    world.passes(59);
    assert_eq!(world.plane.flows().len(), 4);
    world.passes(2);
    assert_eq!(world.plane.flows(), []);
    world.passes(11);
    assert!(world.leases(1, "access", 4_000).contains(&block));
}

#[test]
fn one_that_stays_away_loses_its_streams_and_after_a_rest_its_ports() {
    let (mut world, block) = with_a_call();
    world.disconnect(1);
    world.passes(59);
    assert_eq!(world.plane.flows().len(), 4);
    world.passes(2);
    assert_eq!((world.plane.flows(), world.alarms()), (vec![], Vec::<String>::new()));
    world.greets(2, "ssc2", 1);
    assert!(!world.leases(2, "access", 4_000).contains(&block), "it rests");
    world.passes(12);
    assert!(world.leases(2, "access", 4_000).contains(&block));
}

#[test]
fn a_forwarder_that_comes_is_told_all_streams_and_how_far_they_were() {
    let (mut world, block) = with_a_call();
    let snapshot = Snapshot { latched: "198.51.100.9:4".parse().ok(), ..Snapshot::default() };
    let notice = Notice { snapshot: Some(snapshot.clone()), ..Notice::default() };
    world.notices(at(block, 0), &notice);
    world.channel(ChannelEvent::Down("it died"));
    assert!(world.alarms().contains(&"forwarder-away".to_owned()));
    world.plane = Plane::default();
    world.puts(1, 6, 1, &stream(at(block, 2), at(block, 3)));
    world.now += Duration::from_millis(250);
    world.adopt();
    let flows = world.plane.flows();
    assert_eq!((flows.len(), world.plane.ranges().len()), (8, 3));
    assert_eq!(flows[0].resume, Some(snapshot));
    // How far that one was nobody knows: it goes on ahead of it all the same.
    assert_eq!(flows[1].resume, Some(Snapshot::default()));
}

#[test]
fn a_control_that_begins_anew_costs_no_stream_and_sweeps_when_all_have_said_theirs() {
    let (mut world, block) = with_a_call();
    world.puts(1, 6, 1, &stream(at(block, 2), at(block, 3)));
    world.told(1);
    world.greets(9, "ssc9", 1);
    let [Message::Hello { epoch: before, .. }] = world.told(9)[..] else { panic!("a hello") };
    world.disconnect(9);
    world.passes(61);
    // It dies; the forwarder goes on.
    let now = world.now + Duration::from_secs(2);
    let mut world = World::with(world.settings, world.plane, now);
    world.greets(1, "ssc1", 7);
    assert_eq!(world.told(1), [], "the forwarder is asked first");
    world.adopt();
    let [Message::Hello { epoch, .. }] = world.told(1)[..] else { panic!("a hello") };
    assert_eq!(epoch, before, "keys were used as far as this forwarder knows");
    assert_eq!(world.plane.flows().len(), 8);
    world.greets(2, "ssc2", 3);
    assert!(!world.leases(2, "access", 4_000).contains(&block), "it is the other one's");
    assert_eq!(world.leases(1, "access", 32), [block]);
    world.says(1, Message::Begin);
    world.puts(1, 6, 1, &stream(at(block, 2), at(block, 3)));
    world.says(1, Message::End);
    assert_eq!(world.plane.flows().len(), 8, "another one may still say some");
    world.says(2, Message::Begin);
    world.says(2, Message::End);
    assert_eq!(world.plane.flows().len(), 4);
}

#[test]
fn another_section_ends_what_stands_at_ports_that_are_gone() {
    let (mut world, block) = with_a_call();
    let core = world.leases(1, "core", 32)[0];
    world.puts(1, 6, 1, &stream(at(core, 0), at(core, 1)));
    assert_eq!(world.plane.flows().len(), 8);
    world.told(1);
    let new = settings(&SITE.replace("\"192.0.2.2\"", "\"192.0.2.3\""), None);
    assert_eq!(world.settings.msc.interruptions(&new.msc).len(), 1);
    world.msc.configure(world.now, new, &mut world.out);
    world.settle();
    assert_eq!(world.plane.flows().len(), 4);
    assert_eq!(world.plane.ranges().len(), 3);
    let grants = world.told(1);
    let addresses = |group: &str| {
        let mut of_group = grants.iter().filter_map(|it| match it {
            Message::Grant { group: name, is_v6: false, addresses, blocks } if &**name == group => {
                Some((addresses.clone(), blocks.clone()))
            }
            _ => None,
        });
        of_group.next().expect("a grant")
    };
    assert_eq!(addresses("access").1, [block]);
    let (named, blocks) = addresses("core");
    assert_eq!((named, blocks[0].address), (vec![(3, "192.0.2.3".parse().unwrap())], 3));
}

#[test]
fn a_reload_that_cuts_ports_in_another_way_costs_no_stream() {
    let (mut world, block) = with_a_call();
    world.told(1);
    let new =
        SITE.replace("block_pairs = 32", "block_pairs = 16").replace("20000-20255", "20010-20255");
    world.msc.configure(world.now, settings(&new, None), &mut world.out);
    world.settle();
    assert_eq!(world.plane.flows().len(), 4, "its streams stand");
    let grants = world.told(1);
    let blocks = grants.iter().find_map(|it| match it {
        Message::Grant { group, is_v6: false, blocks, .. } if &**group == "access" => Some(blocks),
        _ => None,
    });
    let blocks = blocks.expect("a grant").clone();
    assert!(blocks.iter().all(|it| it.pairs <= 16 && it.first >= block.first + 64), "{blocks:?}");
    // Its ports rest when it is over, and are cut anew.
    world.removes(1, 5, 1);
    world.passes(12);
    let firsts: Vec<u16> = world.leases(1, "access", 4_000).iter().map(|it| it.first).collect();
    assert_eq!(firsts[0], 20_010);
    assert_eq!(world.msc.state().pairs(&[0]), 123);
}

#[test]
fn what_a_forwarder_keeps_is_believed_as_far_as_it_can_be() {
    let (mut world, block) = with_a_call();
    world.leases(1, "access", 64);
    // A name that would have been two in a list of words, and a lease of another one's block.
    world.says(1, Message::Lease { group: "access=9 core".into(), pairs: 7 });
    let numbers = |memo: &[u8]| serde_json::from_slice::<Numbers>(memo).expect("numbers");
    let mut kept = numbers(&world.plane.memo);
    let noted = kept.note("lease ssc1").expect("a lease").to_owned();
    assert!(!noted.contains("core"), "{noted}");
    kept.set_note("lease ssc2", Some(noted));
    world.plane.memo = serde_json::to_vec(&kept).expect("numbers");
    let now = world.now + Duration::from_secs(2);
    let mut world = World::with(world.settings, world.plane, now);
    world.adopt();
    world.greets(2, "ssc2", 1);
    assert!(!world.leases(2, "access", 64).contains(&block));
    world.greets(1, "ssc1", 7);
    assert!(world.leases(1, "access", 64).contains(&block));
}

#[test]
fn a_flow_that_the_forwarder_refuses_is_an_alarm() {
    let (mut world, block) = with_a_call();
    let place = world.msc.state().place(at(block, 0)).expect("a place");
    let key = Name::Flow(place).key();
    let refused = |feature: &str| Reply::Refused {
        what: "an item".to_owned(),
        why: "there are too many".to_owned(),
        of: Some(Removed::Item(feature.to_owned(), key.clone())),
    };
    world.hears(&refused("another feature"));
    assert!(!world.alarms().contains(&"stream-refused".to_owned()));
    world.hears(&refused(FEATURE));
    assert_eq!(world.alarms().last().map(String::as_str), Some("stream-refused"));
    let what = world.msc.state().refused_of_late(world.now).expect("of late").to_owned();
    let at = core::net::SocketAddr::new(place.address, place.port);
    assert_eq!(what, format!("the flow of {at}, line 0 of call 5"));
}

#[test]
fn one_session_controller_leases_its_share_and_no_more() {
    let text = SITE.replace("[limits]", "[limits]\npairs_max = 64");
    let mut world = World::adopted(&text);
    world.greets(1, "ssc1", 7);
    let pairs: u16 = world.leases(1, "access", u32::MAX).iter().map(|it| it.pairs).sum();
    assert_eq!(pairs, 64);
}

#[test]
fn the_documentation_has_every_alarm() {
    let page = include_str!("../../../../docs/media.md");
    let table = page.split("| alarm | when |").nth(1).expect("the table of alarms");
    let sources = [
        include_str!("../../src/alarms.rs"),
        include_str!("../../../../stack/dataplane/src/alarms.rs"),
        include_str!("../../../../node/replica/src/node.rs"),
    ];
    for source in sources {
        for said in source.split("alarm(\"").skip(1) {
            let name = said.split('"').next().expect("its name");
            assert!(table.contains(&format!("`{name}`")), "{name}");
        }
    }
}

#[test]
fn a_session_controller_hears_something_four_times_a_second_whatever_it_says() {
    let (mut world, _) = with_a_call();
    world.heard.clear();
    for _ in 0..100 {
        world.now += Duration::from_millis(10);
        if world.msc.deadline().is_some_and(|at| at <= world.now) {
            world.msc.tick(world.now, &mut world.out);
            world.settle();
        }
    }
    let beats = world.heard.remove(&1).unwrap_or_default();
    let acks = beats.iter().filter(|it| matches!(it, Message::Ack { .. })).count();
    assert!((4..=6).contains(&acks), "{beats:?}");
}
