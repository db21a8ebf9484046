//! Cross-connects and bridge domains.

use super::witness;
use super::world::{Left, World, interface, mac, programs, via};
use nodes::Program;
use nodes::header::word;
use nodes::mpls::entry::Entry;
use nodes::program::{
    Bridge, BridgeMember, Hop, Interface, LabelAction, Mode, Pseudowire, Push, Removed, StaticMac,
};
use plane_control::KnownMac;
use std::time::Duration;

const A: [u8; 6] = [2, 0, 0, 0, 7, 1];
const B: [u8; 6] = [2, 0, 0, 0, 7, 2];
const C: [u8; 6] = [2, 0, 0, 0, 7, 3];
const ALL: [u8; 6] = [0xff; 6];

/// Hop 1 is neighbour 10.0.2.2 by interface 2, which takes labels.
fn base() -> Vec<Program> {
    let mut said = programs();
    for program in &mut said {
        if let Program::Interface(interface) = program {
            interface.mpls = true;
        }
    }
    said.push(Program::Hop { id: 1, hop: via(2, "10.0.2.2") });
    said
}

fn circuit(index: u32, port: u16, vlans: (Option<u16>, Option<u16>), mode: Mode) -> Program {
    let (outer, inner) = vlans;
    Program::Interface(Interface { outer, inner, mode, ..interface(index, port) })
}

fn frame(to: [u8; 6], from: [u8; 6], tags: &[u16], payload: &[u8]) -> Vec<u8> {
    let mut made = to.to_vec();
    made.extend(from);
    for (nth, tag) in tags.iter().enumerate() {
        let kind: u16 = if nth + 1 < tags.len() { 0x88a8 } else { 0x8100 };
        made.extend(kind.to_be_bytes());
        made.extend(tag.to_be_bytes());
    }
    made.extend([0x88, 0xb5]);
    made.extend_from_slice(payload);
    made
}

#[test]
fn frames_of_a_cross_connect_get_the_tags_of_the_other_end_and_keep_their_priority() {
    let tags = [(None, None), (Some(10), None), (Some(20), Some(30)), (Some(40), None)];
    for (at, from) in tags.iter().enumerate() {
        for to in &tags[..] {
            let mut said = base();
            // Interface 2 holds the frames without tags of port 1; the others stand on port 2.
            let second = nodes::program::Port { port: 2, ..super::world::port(1) };
            said.push(Program::Port(second));
            for (id, interface) in [(5, 51), (6, 50)] {
                said.push(Program::Hop { id, hop: Hop::Interface { interface } });
            }
            let third = nodes::program::Port { port: 3, ..super::world::port(1) };
            said.push(Program::Port(third));
            said.push(circuit(50, 2, *from, Mode::CrossConnect { hop: 5 }));
            said.push(circuit(51, 3, *to, Mode::CrossConnect { hop: 6 }));
            let mut world = World::of(&said);
            let tagged = |(outer, inner): (Option<u16>, Option<u16>), marks: u16| {
                outer.iter().chain(&inner).map(|vlan| marks | vlan).collect::<Vec<u16>>()
            };
            let sent = frame(B, A, &tagged(*from, 0xb000), &[7; 50]);
            let left = world.send(2, &sent);
            let marks = if from.0.is_some() { 0xb000 } else { 0 };
            let wanted = frame(B, A, &tagged(*to, marks), &[7; 50]);
            assert_eq!(left.sent, [(3, wanted)], "{at}: {from:?} to {to:?}");
        }
    }
}

#[test]
fn frames_cross_a_pseudowire_with_control_word_and_flow_label() {
    let mut said = base();
    let wire = Push { over: 1, labels: vec![400], ..Push::default() };
    said.push(Program::Hop { id: 2, hop: Hop::Push(wire) });
    let wire =
        Push { over: 2, labels: vec![77], flow_label: true, control_word: true, ..Push::default() };
    said.push(Program::Hop { id: 3, hop: Hop::Push(wire) });
    said.push(circuit(50, 0, (Some(10), None), Mode::CrossConnect { hop: 3 }));
    let action = LabelAction::PopInterface { interface: 50, control_word: true, flow_label: true };
    said.push(Program::Label { label: 88, action });
    let mut world = World::of(&said);
    let sent = frame(B, A, &[0xa00a], &[7; 50]);
    let left = world.send(0, &sent);
    let (out, seen) = &left.sent[0];
    let entry = |at: usize| Entry::at(&seen[at..]).unwrap();
    assert_eq!((*out, word(seen, 12)), (1, 0x8847));
    assert_eq!(
        (entry(14), entry(18)),
        (Entry::new(400, 5, false, 255), Entry::new(77, 5, false, 255))
    );
    assert!(entry(22).is_bottom() && entry(22).ttl() == 1 && entry(22).label() >= 16);
    assert_eq!((&seen[26..30], &seen[30..]), (&[0; 4][..], &frame(B, A, &[], &[7; 50])[..]));
    // Back: its label, the flow label, the control word, the frame.
    let mut back = mac(1).to_vec();
    back.extend([2, 0, 0, 0, 1, 2, 0x88, 0x47]);
    back.extend(Entry::new(88, 3, false, 9).octets());
    back.extend_from_slice(&seen[22..26]);
    back.extend([0; 4]);
    back.extend(frame(A, B, &[], &[8; 50]));
    let left = world.send(1, &back);
    assert_eq!(left.sent, [(0, frame(A, B, &[0x600a], &[8; 50]))]);
    // An associated channel is not a frame (RFC 5085).
    back[22] = 0x10;
    let left = world.send(1, &back);
    assert_eq!((left.sent.len(), left.punted.len()), (0, 1));
    // tshark goes by the last label: here the flow's.
    let wire = format!("mpls.label=={},pwethcw", entry(22).label());
    let inner = "mpls.label == 77 && eth.dst == 02:00:00:00:07:02";
    witness::sound_with(std::slice::from_ref(seen), &[inner], &["-d", &wire]);
}

/// Bridge 9: interfaces 50 (port 0, VLAN 10), 51 (port 0, VLAN 11), 52 (port 2), and pseudowires
/// 1 and 2 in split horizon group 1.
fn bridged(change: impl Fn(&mut Bridge)) -> World {
    let mut said = base();
    said.push(Program::Port(nodes::program::Port { port: 2, ..super::world::port(1) }));
    let mut bridge = Bridge {
        bridge: 9,
        ageing_s: 300,
        macs_max: 1_000,
        flood_unknown: true,
        learn: true,
        storm_pps: 0,
        moves_max: 0,
    };
    change(&mut bridge);
    said.push(Program::Bridge(bridge));
    let mode = Mode::Bridged { bridge: 9, split_horizon: 0, macs_max: 0 };
    said.push(circuit(50, 0, (Some(10), None), mode.clone()));
    said.push(circuit(51, 0, (Some(11), None), mode.clone()));
    said.push(circuit(52, 2, (None, None), mode));
    for wire in 1..=2 {
        let push =
            Push { over: 1, labels: vec![100 + wire], control_word: true, ..Push::default() };
        said.push(Program::Hop { id: 10 + wire, hop: Hop::Push(push) });
        said.push(Program::Pseudowire(Pseudowire {
            pseudowire: wire,
            bridge: 9,
            hop: 10 + wire,
            split_horizon: 1,
            macs_max: 0,
        }));
        let action =
            LabelAction::PopPseudowire { pseudowire: wire, control_word: true, flow_label: false };
        said.push(Program::Label { label: 200 + wire, action });
    }
    World::of(&said)
}

fn by_wire(wire: u32, inner: &[u8]) -> Vec<u8> {
    let mut made = mac(1).to_vec();
    made.extend([2, 0, 0, 0, 1, 2, 0x88, 0x47]);
    made.extend(Entry::new(200 + wire, 0, true, 9).octets());
    made.extend([0; 4]);
    made.extend_from_slice(inner);
    made
}

/// Which members a frame left by: VLANs of port 0, `2` for port 2, labels of pseudowires.
fn ways(left: &Left) -> Vec<u32> {
    let way = |(port, frame): &(u16, Vec<u8>)| match port {
        0 => u32::from(word(frame, 14) & 0xfff),
        1 => Entry::at(&frame[14..]).unwrap().label(),
        port => u32::from(*port),
    };
    let mut ways: Vec<u32> = left.sent.iter().map(way).collect();
    ways.sort_unstable();
    ways
}

#[test]
fn unknown_frames_are_flooded_and_known_ones_go_to_their_member_alone() {
    let mut world = bridged(|_| {});
    let left = world.send(0, &frame(B, A, &[10], &[7; 50]));
    assert_eq!(ways(&left), [2, 11, 101, 102]);
    world.tick();
    assert_eq!(world.plane.macs(9), 1);
    let mut known = Vec::new();
    let mut note = |it: KnownMac| {
        known.push((it.bridge, it.mac, it.member));
        known.len() < 2
    };
    assert_eq!(world.plane.walk_macs(0, usize::MAX, &mut note), None);
    let (mut place, mut looks) = (Some(0), 0);
    while let Some(from) = place {
        place = world.plane.walk_macs(from, 16, |_| true);
        looks += 1;
        assert!(place.is_none_or(|next| next == from + 16));
    }
    assert!(looks > 1, "no look takes all of the table");
    let refused = world.plane.walk_macs(0, usize::MAX, &mut note);
    assert!(refused.is_some(), "what is not taken is where to go on");
    assert_eq!(world.plane.walk_macs(usize::MAX, 1, |_| true), None);
    assert_eq!(known[0], (9, A, BridgeMember::Interface(50)));
    let left = world.send(2, &frame(A, B, &[], &[7; 50]));
    assert_eq!(left.sent, [(0, frame(A, B, &[10], &[7; 50]))]);
    world.tick();
    let left = world.send(1, &by_wire(1, &frame(B, C, &[], &[7; 50])));
    assert_eq!(left.sent, [(2, frame(B, C, &[], &[7; 50]))]);
    world.tick();
    let left = world.send(0, &frame(C, A, &[10], &[7; 50]));
    assert_eq!(ways(&left), [101]);
    let left = world.send(0, &frame(A, A, &[10], &[7; 50]));
    assert!(left.sent.is_empty());
    assert_eq!(world.dropped().get("destination is where it came from"), Some(&1));
    let left = world.send(0, &frame([1, 0x80, 0xc2, 0, 0, 3], A, &[10], &[7; 50]));
    assert_eq!((left.sent.len(), world.dropped().get("reserved group address")), (0, Some(&1)));
}

#[test]
fn pseudowires_of_one_group_do_not_talk_to_each_other() {
    let mut world = bridged(|_| {});
    let left = world.send(1, &by_wire(1, &frame(ALL, C, &[], &[7; 50])));
    assert_eq!(ways(&left), [2, 10, 11]);
    world.tick();
    let left = world.send(1, &by_wire(2, &frame(C, B, &[], &[7; 50])));
    assert!(left.sent.is_empty());
    assert_eq!(world.dropped().get("split horizon"), Some(&1));
}

#[test]
fn addresses_age_move_and_are_limited() {
    let mut world = bridged(|bridge| (bridge.ageing_s, bridge.macs_max) = (10, 2));
    for (port, tags, source) in [(0, &[10][..], A), (2, &[], B), (2, &[], C)] {
        world.send(port, &frame(ALL, source, tags, &[7; 50]));
        world.tick();
    }
    assert_eq!(world.plane.macs(9), 2, "the third is one too many");
    world.send(0, &frame(ALL, A, &[11], &[7; 50]));
    world.tick();
    assert_eq!(ways(&world.send(2, &frame(A, B, &[], &[7; 50]))), [11], "it moved");
    for _ in 0..30 {
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(world.plane.macs(9), 0);
    assert_eq!(ways(&world.send(2, &frame(A, B, &[], &[7; 50]))), [10, 11, 101, 102]);
}

#[test]
fn an_address_that_moves_too_often_stays_and_a_configured_one_never_moves() {
    let mut world = bridged(|bridge| bridge.moves_max = 3);
    for turn in 0..8 {
        world.send(0, &frame(ALL, A, &[10 + turn % 2], &[7; 50]));
        world.pass(Duration::from_secs(2));
    }
    let (moved, misplaced) = (
        world.plane.mac(9, A),
        world.dropped().get("source is fixed elsewhere or a group").copied(),
    );
    assert!(moved.is_frozen() && misplaced > Some(0), "{moved:?} {misplaced:?}");
    let member = BridgeMember::Pseudowire(2);
    world.apply(Program::StaticMac(StaticMac { bridge: 9, mac: C, member }));
    world.send(0, &frame(ALL, C, &[10], &[7; 50]));
    world.tick();
    assert_eq!(ways(&world.send(2, &frame(C, B, &[], &[7; 50]))), [102]);
    world.apply(Program::Remove(Removed::StaticMac(9, C)));
    assert_eq!(ways(&world.send(2, &frame(C, B, &[], &[7; 50]))), [10, 11, 101, 102]);
}

#[test]
fn a_storm_is_cut_to_its_rate_and_unknown_addresses_may_be_kept_in() {
    let mut world = bridged(|bridge| (bridge.storm_pps, bridge.flood_unknown) = (100, false));
    let floods = (0..200)
        .filter(|_| !world.send(0, &frame(ALL, A, &[10], &[7; 50])).sent.is_empty())
        .count();
    assert!((10..=17).contains(&floods), "{floods}");
    assert!(world.send(0, &frame(B, A, &[10], &[7; 50])).sent.is_empty());
    assert_eq!(world.dropped().get("unknown destination"), Some(&1));
}

#[test]
fn what_was_learnt_by_a_member_that_is_gone_is_forgotten() {
    let mut world = bridged(|_| {});
    world.send(0, &frame(ALL, A, &[10], &[7; 50]));
    world.send(1, &by_wire(1, &frame(ALL, C, &[], &[7; 50])));
    world.tick();
    assert_eq!(world.plane.macs(9), 2);
    world.apply(Program::Remove(Removed::Interface(50)));
    world.apply(Program::Remove(Removed::Pseudowire(1)));
    assert_eq!(world.plane.macs(9), 0);
    assert_eq!(ways(&world.send(2, &frame(A, B, &[], &[7; 50]))), [11, 102]);
    world.apply(Program::Remove(Removed::Bridge(9)));
    assert!(world.send(2, &frame(A, B, &[], &[7; 50])).sent.is_empty());
}

#[test]
fn a_bridge_beyond_the_last_is_refused_and_its_members_teach_no_other_bridge() {
    let mut world = bridged(|_| {});
    let bridge = 9 + (1 << 16);
    let mode = Mode::Bridged { bridge, split_horizon: 0, macs_max: 0 };
    let wire = Pseudowire { pseudowire: 3, bridge, hop: 11, split_horizon: 1, macs_max: 0 };
    let wire = Program::Pseudowire(wire);
    let said = [circuit(53, 0, (Some(12), None), mode), wire];
    let refused = said.map(|program| world.plane.apply(&program).is_err());
    world.plane.publish();
    world.send(0, &frame(ALL, A, &[12], &[7; 50]));
    world.tick();
    assert_eq!((world.plane.macs(9), world.plane.macs(bridge)), (0, 0));
    assert_eq!(refused, [true; 2]);
}
