//! Packets with labels.

use super::world::{Left, World, ethernet, interface, mac, neighbour_mac, programs, udp4, via};
use nodes::Program;
use nodes::header::{checksum, sum, sum_ip4, word};
use nodes::mpls::entry::Entry;
use nodes::program::{
    AS_IT_IS, Class, Direction, Family, Filter, FilterUse, Hop, Interface, LabelAction, Marking,
    Match, Push, Rule, Tunnel, Urpf, Verdict,
};

/// Both interfaces take labels; hop 1 is neighbour 10.0.2.2, hops from 10 are these pushes over it.
fn with_labels(pushes: &[Push], labels: &[(u32, LabelAction)]) -> World {
    let mut said = programs();
    for program in &mut said {
        if let Program::Interface(interface) = program {
            interface.mpls = true;
        }
    }
    said.push(Program::Hop { id: 1, hop: via(2, "10.0.2.2") });
    said.push(Program::Vrf { vrf: 7 });
    let routes = vec![("192.0.2.0".parse().unwrap(), 24, 1)];
    said.push(Program::Routes4 { vrf: 7, routes });
    for (id, push) in (10..).zip(pushes) {
        said.push(Program::Hop { id, hop: Hop::Push(push.clone()) });
    }
    for (label, action) in labels {
        said.push(Program::Label { label: *label, action: action.clone() });
    }
    World::of(&said)
}

fn push(labels: &[u32]) -> Push {
    Push { over: 1, labels: labels.to_vec(), ..Push::default() }
}

#[test]
fn a_push_is_named_by_the_neighbour_that_carries_it() {
    let world = with_labels(&[push(&[16])], &[]);
    let words = (0..64).filter_map(|hop| world.plane.hop_words(hop));
    let named = words.filter(|words| words == "10.0.2.2 at interface 2").count();
    assert_eq!(named, 3, "the neighbour, the way by it, and the labels over that");
}

const FORWARD: fn(u32) -> LabelAction = |hop| LabelAction::Forward { hop, tunnel: Tunnel::Pipe };

/// Label, class, whether it is the last, time to live.
type Stack<'a> = &'a [(u32, u8, bool, u8)];

fn labelled(stack: Stack<'_>, packet: &[u8]) -> Vec<u8> {
    let entry = |(label, class, bottom, ttl): &(u32, u8, bool, u8)| {
        Entry::new(*label, *class, *bottom, *ttl).octets()
    };
    let mut octets: Vec<u8> = stack.iter().flat_map(entry).collect();
    octets.extend_from_slice(packet);
    ethernet(0, 0x8847, &octets)
}

/// Label, traffic class, bottom of stack, time to live.
type Label = (u32, u8, bool, u8);

/// The labels of a frame that left, and what is below.
fn parted(frame: &[u8]) -> (Vec<Label>, &[u8]) {
    assert_eq!(word(frame, 12), 0x8847);
    let (mut stack, mut at) = (Vec::new(), 14);
    loop {
        let entry = Entry::at(&frame[at..]).expect("the stack ends before the frame");
        stack.push((entry.label(), entry.class(), entry.is_bottom(), entry.ttl()));
        at += 4;
        if entry.is_bottom() {
            return (stack, &frame[at..]);
        }
    }
}

fn only(left: &Left) -> &[u8] {
    assert_eq!((left.sent.len(), left.sent[0].0), (1, 1), "{left:?}");
    &left.sent[0].1
}

#[test]
fn a_label_is_swapped_with_its_class_and_one_off_its_time_to_live() {
    let mut world = with_labels(&[push(&[200])], &[(100, FORWARD(10))]);
    let packet = udp4("10.9.9.9", "10.8.8.8", 9, 60);
    let left = world.send(0, &labelled(&[(100, 5, true, 64)], &packet));
    let frame = only(&left);
    assert_eq!((&frame[..6], &frame[6..12]), (&neighbour_mac(1)[..], &mac(1)[..]));
    assert_eq!(parted(frame), (vec![(200, 5, true, 63)], &packet[..]));
    let left = world.send(0, &labelled(&[(100, 1, false, 2), (300, 2, true, 7)], &packet));
    assert_eq!(parted(only(&left)).0, [(200, 1, false, 1), (300, 2, true, 7)]);
}

#[test]
fn a_swap_and_push_gives_all_labels_the_time_to_live() {
    let mut world = with_labels(&[push(&[500, 200])], &[(100, FORWARD(10))]);
    let left = world.send(0, &labelled(&[(100, 3, true, 64)], &udp4("1.1.1.1", "2.2.2.2", 9, 40)));
    assert_eq!(parted(only(&left)).0, [(500, 3, false, 63), (200, 3, true, 63)]);
}

#[test]
fn the_hop_before_the_last_leaves_what_is_below() {
    let uniform = LabelAction::Forward { hop: 1, tunnel: Tunnel::Uniform };
    let mut world = with_labels(&[], &[(100, FORWARD(1)), (101, uniform)]);
    let packet = udp4("10.9.9.9", "10.8.8.8", 50, 60);
    let left = world.send(0, &labelled(&[(100, 0, true, 64)], &packet));
    assert_eq!((word(only(&left), 12), &only(&left)[14..]), (0x0800, &packet[..]));
    let left = world.send(0, &labelled(&[(101, 0, true, 20)], &packet));
    let frame = only(&left);
    assert_eq!((frame[22], sum_ip4(frame[14..34].first_chunk().unwrap())), (19, 0xffff));
    let left = world.send(0, &labelled(&[(101, 0, false, 20), (300, 2, true, 7)], &packet));
    assert_eq!(parted(only(&left)).0, [(300, 2, true, 7)], "never raised");
    let left = world.send(0, &labelled(&[(101, 0, true, 20)], &[0x99; 20]));
    assert!(
        left.sent.is_empty() && world.dropped().contains_key("payload is not what its label says")
    );
}

#[test]
fn a_packet_of_a_vpn_is_looked_up_in_its_table_and_gets_its_labels() {
    let mut world = with_labels(
        &[push(&[400]), Push { over: 10, labels: vec![77], ..Push::default() }],
        &[(100, LabelAction::PopVrf { vrf: 7, tunnel: Tunnel::Pipe })],
    );
    let packet = udp4("10.9.9.9", "192.0.2.8", 50, 60);
    let left = world.send(0, &labelled(&[(100, 0, true, 64)], &packet));
    assert_eq!((only(&left)[22], word(only(&left), 12)), (49, 0x0800));
    // The other way: the VPN's route is a label over the tunnel's label.
    let routes = vec![("198.51.100.0".parse().unwrap(), 24, 11)];
    world.apply(Program::Routes4 { vrf: 0, routes });
    let left = world.send(0, &ethernet(0, 0x0800, &udp4("10.9.9.9", "198.51.100.3", 50, 60)));
    let (stack, inner) = parted(only(&left));
    assert_eq!(stack, [(400, 0, false, 255), (77, 0, true, 255)]);
    assert_eq!(inner[8], 49);
}

#[test]
fn in_the_uniform_model_the_time_to_live_goes_into_the_label_and_back() {
    let uniform = Push { over: 1, labels: vec![400], tunnel: Tunnel::Uniform, ..Push::default() };
    let action = LabelAction::PopVrf { vrf: 7, tunnel: Tunnel::Uniform };
    let mut world = with_labels(&[uniform], &[(100, action)]);
    let routes = vec![("198.51.100.0".parse().unwrap(), 24, 10)];
    world.apply(Program::Routes4 { vrf: 0, routes });
    let left = world.send(0, &ethernet(0, 0x0800, &udp4("10.9.9.9", "198.51.100.3", 50, 60)));
    assert_eq!(parted(only(&left)).0, [(400, 0, true, 49)]);
    let packet = udp4("10.9.9.9", "192.0.2.8", 50, 60);
    let left = world.send(0, &labelled(&[(100, 0, true, 30)], &packet));
    assert_eq!(only(&left)[22], 29);
    assert_eq!(sum_ip4(only(&left)[14..34].first_chunk().unwrap()), 0xffff);
}

#[test]
fn explicit_null_and_entropy_labels_come_off_on_the_way_to_the_packet() {
    let mut world =
        with_labels(&[], &[(100, LabelAction::PopVrf { vrf: 7, tunnel: Tunnel::Pipe })]);
    let packet = udp4("10.9.9.9", "192.0.2.8", 50, 60);
    let left = world.send(0, &labelled(&[(0, 0, false, 64), (100, 0, true, 64)], &packet));
    assert_eq!(only(&left)[22], 49);
    let action = LabelAction::Pop { tunnel: Tunnel::Pipe };
    world.apply(Program::Label { label: 101, action });
    let routes = vec![("192.0.2.0".parse().unwrap(), 24, 1)];
    world.apply(Program::Routes4 { vrf: 0, routes });
    let stack = [(101, 0, false, 64), (7, 0, false, 64), (99_999, 0, true, 0)];
    let left = world.send(0, &labelled(&stack, &packet));
    assert_eq!(only(&left)[22], 49);
}

#[test]
fn an_entropy_label_spreads_flows_and_keeps_each_on_its_way() {
    let mut world = with_labels(
        &[
            Push { over: 1, labels: vec![400], entropy: true, ..Push::default() },
            push(&[200]),
            push(&[201]),
        ],
        &[],
    );
    let group = Hop::Group { members: vec![(11, 1), (12, 1)], resilient: false };
    world.apply(Program::Hop { id: 20, hop: group });
    world.apply(Program::Label { label: 100, action: FORWARD(20) });
    let routes = vec![("198.51.100.0".parse().unwrap(), 24, 10)];
    world.apply(Program::Routes4 { vrf: 0, routes });
    let (mut values, mut ways) = (Vec::new(), Vec::new());
    for flow in 1..=100_u8 {
        let packet = udp4("10.9.9.9", &format!("198.51.100.{flow}"), 50, 60);
        let left = world.send(0, &ethernet(0, 0x0800, &packet));
        let stack = parted(only(&left)).0;
        assert_eq!((stack[0], stack[1]), ((400, 0, false, 255), (7, 0, false, 255)));
        assert_eq!((stack[2].2, stack[2].3), (true, 0));
        values.push(stack[2].0);
        let transit = [(100, 0, false, 64), (7, 0, false, 64), (stack[2].0, 0, true, 0)];
        let first = parted(only(&world.send(0, &labelled(&transit, &packet)))).0[0].0;
        let other = udp4("10.1.1.1", "10.2.2.2", 3, 40);
        let second = parted(only(&world.send(0, &labelled(&transit, &other)))).0[0].0;
        assert_eq!(first, second, "the entropy label decides alone");
        ways.push(first);
    }
    values.sort_unstable();
    values.dedup();
    assert!(values.len() > 90 && values.iter().all(|value| *value >= 16));
    let left = ways.iter().filter(|way| **way == 200).count();
    assert!((25..=75).contains(&left), "{left} of 100 flows");
}

#[test]
fn what_cannot_be_forwarded_is_dropped_with_its_reason_or_handed_up() {
    let mut world =
        with_labels(&[], &[(100, LabelAction::PopVrf { vrf: 7, tunnel: Tunnel::Pipe })]);
    let packet = udp4("10.9.9.9", "192.0.2.8", 50, 60);
    for (stack, reason) in [
        (&[(999, 0, true, 64)][..], "unknown label"),
        (&[(100, 0, false, 64), (5_000, 0, true, 9)], "more labels below a service's label"),
        (&[(3, 0, true, 64)], "label is reserved"),
        (&[(0, 0, false, 64); 12], "too many labels come off"),
    ] {
        assert_eq!(world.send(0, &labelled(stack, &packet)), Left::default(), "{reason}");
        assert_eq!(world.dropped().get(reason), Some(&1), "{:?}", world.dropped());
    }
    let left = world.send(0, &labelled(&[(1, 0, false, 64), (100, 0, true, 64)], &packet));
    assert_eq!((left.punted.len(), left.classes[0]), (1, Class::Exceptions as u32));
    let closed = Interface { mpls: false, ..interface(1, 0) };
    world.apply(Program::Interface(closed));
    world.send(0, &labelled(&[(100, 0, true, 64)], &packet));
    assert_eq!(world.dropped().get("interface takes no labels"), Some(&1));
}

#[test]
fn the_sender_hears_of_a_label_that_is_too_old_by_the_way_its_packet_would_have_gone() {
    let mut world = with_labels(
        &[push(&[200])],
        &[(100, FORWARD(10)), (101, LabelAction::PopVrf { vrf: 7, tunnel: Tunnel::Pipe })],
    );
    let packet = udp4("192.0.2.9", "10.8.8.8", 50, 60);
    let left = world.send(0, &labelled(&[(100, 4, true, 1)], &packet));
    let (stack, error) = parted(only(&left));
    assert_eq!(stack, [(200, 4, true, 254)]);
    heard(error, &packet, &Entry::new(100, 4, true, 1).octets());
    let left = world.send(0, &labelled(&[(101, 0, true, 1)], &packet));
    heard(&only(&left)[14..], &packet, &Entry::new(101, 0, true, 1).octets());
    super::witness::sound(&[only(&left).to_vec()], &["icmp.mpls.label == 101"]);
    let mut about_error = super::world::echo4("192.0.2.9", "10.8.8.8", 60);
    about_error[20] = 11;
    assert!(world.send(0, &labelled(&[(101, 0, true, 1)], &about_error)).sent.is_empty());
}

/// An ICMP error about a packet, with the labels that it had (RFC 4950).
fn heard(error: &[u8], packet: &[u8], stack: &[u8]) {
    assert_eq!(sum_ip4(error[..20].first_chunk().unwrap()), 0xffff);
    assert_eq!((&error[12..16], &error[16..20]), (&[10, 0, 1, 1][..], &packet[12..16]));
    assert_eq!((error[20], error[21], error[25]), (11, 0, 32));
    assert_eq!(checksum(sum(&error[20..], 0)), 0);
    assert_eq!(&error[28..28 + packet.len()], packet);
    let extension = &error[28 + 128..];
    assert_eq!((extension[0], checksum(sum(extension, 0))), (0x20, 0));
    assert_eq!(&extension[4..8], [0, 4 + stack.len() as u8, 1, 1]);
    assert_eq!(&extension[8..], stack);
}

#[test]
fn the_traffic_class_of_a_label_becomes_a_class_and_another_traffic_class() {
    let mut world = with_labels(&[push(&[200])], &[(100, FORWARD(10))]);
    let by_priority = (0..8).map(|priority| (if priority == 5 { 2 } else { 0 }, 0)).collect();
    world.apply(Program::Marking(Marking { interface: 1, by_priority, ..Marking::default() }));
    let to_priority = vec![1, AS_IT_IS, 6, 7, 7, 7, 7, 7];
    world.apply(Program::Marking(Marking { interface: 2, to_priority, ..Marking::default() }));
    for (traffic_class, wanted) in [(5, 6), (3, 1)] {
        let packet = udp4("10.0.1.9", "192.0.2.1", 64, 100);
        let left = world.send(0, &labelled(&[(100, traffic_class, true, 64)], &packet));
        assert_eq!(parted(&left.sent[0].1).0, [(200, wanted, true, 63)]);
    }
}

#[test]
fn an_entropy_label_below_a_vpns_label_comes_off_with_it() {
    let vrf = LabelAction::PopVrf { vrf: 7, tunnel: Tunnel::Pipe };
    let mut world = with_labels(&[], &[(100, vrf)]);
    let packet = udp4("10.0.1.9", "192.0.2.1", 64, 100);
    let entropy = [(100, 0, false, 64), (7, 0, false, 64), (99_999, 0, true, 0)];
    let left = world.send(0, &labelled(&entropy, &packet));
    assert_eq!((left.sent.len(), word(&left.sent[0].1, 12)), (1, 0x0800));
    let other = [(100, 0, false, 64), (17, 0, false, 64), (99_999, 0, true, 0)];
    assert!(world.send(0, &labelled(&other, &packet)).sent.is_empty(), "labels of nobody");
}

#[test]
fn an_interface_that_is_not_the_cores_takes_no_label_of_a_service() {
    let tunnel = Tunnel::Pipe;
    let mut world = with_labels(
        &[push(&[200])],
        &[
            (100, FORWARD(10)),
            (101, LabelAction::PopVrf { vrf: 7, tunnel }),
            (
                102,
                LabelAction::PopInterface { interface: 2, control_word: false, flow_label: false },
            ),
        ],
    );
    let mut transit_only = |is: bool| {
        let it = Interface { mpls: true, transit_only: is, ..interface(1, 0) };
        world.apply(Program::Interface(it));
        let packet = udp4("10.9.9.9", "192.0.2.8", 9, 60);
        let frame = ethernet(0, 0x0800, &packet);
        let cases: [(Stack<'_>, &[u8]); 6] = [
            (&[(100, 0, true, 64)], &packet),
            (&[(100, 0, false, 64), (16, 0, true, 64)], &packet),
            (&[(101, 0, true, 64)], &packet),
            (&[(101, 0, true, 1)], &packet),
            (&[(0, 0, false, 64), (101, 0, true, 64)], &packet),
            (&[(102, 0, true, 64)], &frame),
        ];
        cases.map(|(stack, below)| world.send(0, &labelled(stack, below)).sent.len())
    };
    // An expired one is answered by who has its label.
    assert_eq!(transit_only(false)[..3], [1, 1, 1]);
    assert_eq!(transit_only(true), [1, 0, 0, 0, 0, 0]);
    let why = "label of a service by an interface that is not the core's";
    assert_eq!(world.dropped().get(why), Some(&5));
}

fn asking(source: &str, destination: &str, port: u16) -> Vec<u8> {
    let mut packet = udp4(source, destination, 1, 68);
    packet[22..24].copy_from_slice(&port.to_be_bytes());
    packet[26..28].copy_from_slice(&[0; 2]);
    packet
}

/// A request of LSP ping, and what is alike but none.
fn echoes() -> [Vec<u8>; 3] {
    let of = |destination: &str, port: u16| asking("10.0.1.2", destination, port);
    [of("127.0.0.1", 3_503), of("127.0.0.1", 3_504), of("10.9.9.9", 3_503)]
}

#[test]
fn what_asks_for_the_end_of_a_path_goes_up_where_its_labels_end_and_ldp_is_spoken() {
    let mut world = with_labels(&[push(&[200])], &[(100, FORWARD(10))]);
    let [request, other_port, elsewhere] = echoes();
    // Its time ended at a label, or its labels are gone.
    let expired = labelled(&[(100, 6, true, 1)], &request);
    let left = world.send(0, &expired);
    assert_eq!((left.punted.len(), left.sent.len()), (1, 0));
    assert_eq!(left.punted[0], expired[14..], "with its label");
    assert_eq!(
        world.send(0, &ethernet(0, 0x0800, &request)).punted,
        std::slice::from_ref(&request)
    );
    for packet in [&other_port, &elsewhere] {
        let left = world.send(0, &ethernet(0, 0x0800, packet));
        assert_eq!(left.punted.len(), 0, "{left:?}");
        assert_eq!(world.send(0, &labelled(&[(100, 6, true, 1)], packet)).punted.len(), 0);
    }
    let silent = Interface { mpls: true, speaks: Vec::new(), ..interface(1, 0) };
    world.apply(Program::Interface(silent));
    for frame in [&expired, &ethernet(0, 0x0800, &request)] {
        assert_eq!(world.send(0, frame).punted.len(), 0);
    }
}

#[test]
fn who_asks_for_the_end_of_a_path_is_a_host_that_filters_and_checks_of_sources_let_pass() {
    let mut world = with_labels(&[push(&[200])], &[(100, FORWARD(10))]);
    let asks = |world: &mut World, source: &str| {
        let packet = asking(source, "127.0.0.1", 3_503);
        let plain = world.send(0, &ethernet(0, 0x0800, &packet)).punted.len();
        [plain, world.send(0, &labelled(&[(100, 6, true, 1)], &packet)).punted.len()]
    };
    assert_eq!(asks(&mut world, "10.0.2.2"), [1, 1]);
    for source in ["127.0.0.1", "224.0.0.2", "255.255.255.255", "0.0.0.0", "240.0.0.1"] {
        assert_eq!(asks(&mut world, source), [0, 0], "{source}");
    }
    // A packet below a label that goes on is the far end's to look at.
    let strict = Interface { mpls: true, urpf: Urpf::Strict, ..interface(1, 0) };
    world.apply(Program::Interface(strict));
    assert_eq!(asks(&mut world, "10.0.1.2"), [1, 1]);
    assert_eq!(asks(&mut world, "10.0.2.2"), [0, 1], "it is behind the other port");
    let matches = Match { protocols: vec![17], ..Match::default() };
    let rules = vec![Rule { matches, verdict: Verdict::Deny }];
    world.apply(Program::Filter(Filter { filter: 5, family: Family::Ip4, rules }));
    let of_one = FilterUse { interface: 1, direction: Direction::In, filter: 5 };
    world.apply(Program::FilterUse(of_one));
    assert_eq!(asks(&mut world, "10.0.1.2"), [0, 1]);
}

#[test]
fn what_the_control_sends_behind_its_own_label_goes_the_way_of_that_label() {
    let mut world = with_labels(&[push(&[200])], &[(100, FORWARD(10)), (101, FORWARD(1))]);
    let [request, ..] = echoes();
    let behind = |label: u32, ttl: u8| {
        let mut octets = Entry::new(label, 6, true, ttl).octets().to_vec();
        octets.extend_from_slice(&request);
        octets
    };
    let left = world.inject(0, nodes::inject::BEHIND_LABELS, &behind(100, 2));
    assert_eq!(parted(only(&left)), (vec![(200, 6, true, 1)], &request[..]));
    let left = world.inject(0, nodes::inject::BEHIND_LABELS, &behind(101, 255));
    assert_eq!((word(only(&left), 12), &only(&left)[14..]), (0x0800, &request[..]));
    let left = world.inject(0, nodes::inject::BEHIND_LABELS, &behind(7_777, 255));
    assert_eq!(left.sent.len(), 0);
}

#[test]
fn a_trace_has_the_label_that_came_off_and_none_of_what_is_below() {
    let pop = LabelAction::PopVrf { vrf: 7, tunnel: Tunnel::Pipe };
    let mut world = with_labels(&[push(&[200])], &[(100, FORWARD(10)), (101, pop)]);
    let packet = udp4("10.9.9.9", "192.0.2.8", 50, 60);
    let mut noted = |stack: Stack<'_>| {
        world.graph.trace(graph::Choice { packets: 1, ..graph::Choice::default() });
        world.send(0, &labelled(stack, &packet));
        let steps = world.graph.traced()[0].iter();
        let mut notes = steps.filter(|step| step.node == "mpls-input" && !step.note.is_empty());
        notes.next().map(|step| step.note.clone()).unwrap_or_default()
    };
    assert_eq!(noted(&[(101, 0, true, 64)]), "vrf 7 last off: label 101 ttl 64");
    assert_eq!(noted(&[(100, 0, true, 64)]), "out 2");
    assert_eq!(noted(&[(999, 0, true, 9)]), "now first: label 999 ttl 9");
}
