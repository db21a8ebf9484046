//! How far the other node of a pair has followed: its forwarder's limit, and what a standby that
//! could not take all does not go on with.

use super::pair::{Nodes, mirror, protected, site, started};
use super::*;
use media::program::Snapshot;
use runtime::Mirrored;

/// Up to which notice the forwarder knows that the other node has applied all.
fn followed(world: &World) -> Option<u64> {
    match Said::read(&Name::Followed.key(), world.plane.items.get(&Name::Followed.key())?) {
        Ok(Said::Followed(number)) => Some(number),
        other => panic!("{other:?}"),
    }
}

fn notice(number: u64) -> Notice {
    Notice { snapshot: Some(Snapshot::default()), number, ..Notice::default() }
}

/// A pair with a stream that has keys; where its ends are.
fn talking() -> (Nodes, Block) {
    let mut nodes = Nodes::new();
    nodes.active().greets(1, "ssc1", 7);
    let block = nodes.active().leases(1, "access", 32)[0];
    nodes.active().puts(1, 5, 1, &protected(at(block, 0), at(block, 1)));
    nodes.told();
    (nodes, block)
}

#[test]
fn a_forwarder_hears_how_far_the_other_node_has_applied_what_it_told() {
    let (mut nodes, block) = talking();
    let active = nodes.active();
    assert_eq!((followed(active), active.marks.len()), (Some(0), 0));
    active.notices(at(block, 0), &notice(5));
    active.notices(at(block, 0), &notice(6));
    let [first] = active.marks[..] else { panic!("one at a time: {:?}", active.marks) };
    assert_eq!(followed(active), Some(0), "it was told, and no more than that");
    mirror(active, Mirrored::Followed(Some(first + 9)));
    assert_eq!(followed(active), Some(0), "that is another one's");
    mirror(active, Mirrored::Followed(Some(first)));
    assert_eq!(followed(active), Some(5));
    let second = active.marks[1];
    mirror(active, Mirrored::Followed(Some(second)));
    assert_eq!((followed(active), active.marks.len()), (Some(6), 2));
    // Nobody could take over: nothing limits. Then one could again.
    active.notices(at(block, 0), &notice(7));
    mirror(active, Mirrored::Followed(None));
    assert_eq!(followed(active), None);
    active.notices(at(block, 0), &notice(8));
    mirror(active, Mirrored::Followed(Some(0)));
    assert_eq!(followed(active), Some(6), "what was applied stays so");
    let last = active.marks.last().copied();
    mirror(active, Mirrored::Followed(last));
    assert_eq!(followed(active), Some(8));
    // Another forwarder counts anew.
    active.notices(at(block, 0), &notice(9));
    let late = active.marks.last().copied();
    active.channel(ChannelEvent::Down("it died"));
    active.plane = Plane::default();
    active.now += Duration::from_millis(250);
    active.adopt();
    mirror(active, Mirrored::Followed(late));
    assert_eq!(followed(active), Some(0));
    // Who stands by says nothing of it, and somebody may follow who takes over, until none does.
    nodes.told();
    nodes.active = 1;
    assert_eq!(followed(nodes.active()), None);
    mirror(nodes.active(), Mirrored::Activate { is_current: true });
    assert_eq!(followed(nodes.active()), Some(0));
    mirror(nodes.active(), Mirrored::Followed(None));
    assert_eq!(followed(nodes.active()), None);
    mirror(nodes.active(), Mirrored::Snapshot(1));
    assert_eq!(followed(nodes.active()), Some(0), "as soon as somebody is being told");
}

#[test]
fn a_node_that_takes_over_tells_that_it_is_ahead_of_what_it_was_told() {
    let (mut nodes, block) = talking();
    let stream =
        srtp::StreamState { ssrc: 7, highest: srtp::Index::of(40_000), rtcp: Some(3), moved: 0 };
    let snapshot = Snapshot { send: vec![stream], ..Snapshot::default() };
    let told = Notice { snapshot: Some(snapshot), ..notice(1) };
    nodes.active().notices(at(block, 0), &told);
    nodes.dies();
    // The third one was told before the forwarder of the second one told anything.
    let flows = nodes.standby().plane.flows();
    let known = flows.iter().find_map(|it| it.resume.as_ref()?.send.first().copied());
    let skip = srtp::SKIP_MAX;
    let highest = srtp::Index::of(40_000 + u64::from(skip));
    let rtcp = Some(3 + u32::from(skip));
    assert_eq!(known, Some(srtp::StreamState { ssrc: 7, highest, rtcp, moved: skip }));
}

#[test]
fn what_a_standby_could_not_take_goes_on_with_its_keys_nowhere() {
    [false, true].into_iter().for_each(takes_not_all);
}

fn takes_not_all(is_configured: bool) {
    let (mut nodes, block) = talking();
    let limit = "quarantine_s = 10\n";
    let limited = site(12).replace(limit, &format!("{limit}streams_max = 1\n"));
    let configure = |world: &mut World, text: &str| {
        world.msc.configure(world.now, settings(text, None), &mut world.out);
        world.settle();
    };
    configure(nodes.standby(), &limited);
    assert!(!nodes.standby().is_incomplete);
    nodes.active().puts(1, 6, 1, &protected(at(block, 2), at(block, 3)));
    nodes.told();
    assert_eq!(nodes.standby().alarms(), ["standby-incomplete"]);
    // It may be able to take it from now on: it wants to be told all.
    if is_configured {
        configure(nodes.standby(), &site(12));
        assert!(nodes.standby().is_incomplete);
        nodes.syncs();
        assert_eq!(nodes.standby().alarms(), Vec::<String>::new());
    }
    let epoch = nodes.active().msc.state().epoch();
    nodes.active = 1;
    mirror(nodes.active(), Mirrored::Activate { is_current: true });
    let flows = nodes.active().plane.flows();
    if is_configured {
        assert_eq!((nodes.active().msc.state().epoch(), flows.len()), (epoch, 8));
        return;
    }
    assert_ne!(
        nodes.active().msc.state().epoch(),
        epoch,
        "session controllers agree on other keys"
    );
    assert_eq!(flows, vec![]);
}

#[test]
fn a_control_that_begins_anew_knows_that_another_node_served_before() {
    let (mut nodes, block) = talking();
    nodes.dies();
    let epoch = nodes.active().msc.state().epoch();
    let plane = std::mem::take(&mut nodes.active().plane);
    let mut again = started(12, plane, Time::from_millis(9_000));
    // A commit before it is known which of the two it is changes nothing of what is remembered.
    again.msc.configure(again.now, settings(&site(12), None), &mut again.out);
    again.settle();
    mirror(&mut again, Mirrored::Activate { is_current: true });
    assert_eq!(again.msc.state().epoch(), epoch);
    again.greets(2, "ssc1", 7);
    assert_eq!(again.leases(2, "access", 32), [block]);
    // The other one may have begun it and told nobody.
    again.puts(2, 9, 1, &protected(at(block, 4), at(block, 5)));
    let port = block.first + 8;
    let flow = again.plane.flows().into_iter().find(|it| it.at.port == port).expect("it stands");
    assert_eq!(flow.resume, Some(Snapshot::default()), "it begins ahead");
}

#[test]
fn how_far_a_flow_is_at_an_address_that_is_not_known_here_is_missed_and_not_passed_over() {
    // What is told of a flow, the number of an address and a port, as `pair` writes them.
    const RESUME: u8 = 6;
    const ADDRESS: u8 = 7;
    const PORT: u8 = 8;
    const SNAPSHOT: u8 = 13;
    let (mut nodes, _) = talking();
    assert_eq!(nodes.standby().alarms(), Vec::<String>::new());
    let mut told = vec![RESUME];
    replica::field::number(&mut told, ADDRESS, 99);
    replica::field::number(&mut told, PORT, 20_000);
    let snapshot = Snapshot::default();
    replica::field::nested(&mut told, SNAPSHOT, |octets| snapshot.write(octets));
    mirror(nodes.standby(), Mirrored::Delta(&told));
    assert_eq!(nodes.standby().alarms(), ["standby-incomplete"]);
}
