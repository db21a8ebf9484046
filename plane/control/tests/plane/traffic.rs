//! Filters, policers, marking, samples, queues.

use super::witness;
use super::world::{World, ethernet, interface, packet6, programs, udp4, via};
use graph::Outbox;
use nodes::Program;
use nodes::header::sum_ip4;
use nodes::program::{
    Class, Collector, Direction, Family, Filter, FilterUse, Hop, Interface, Marking, Match, Meter,
    Mode, Policer, PolicerUse, Queue, Removed, Rule, Sampling, Scheduler, Verdict,
};
use scheduler::Schedulers;
use std::time::Duration;

/// 192.0.2.0/24 and 2001:db8:ff::/48 behind interface 2; 198.51.100.0/24 behind interface 1.
fn routed() -> World {
    let mut said = programs();
    said.push(Program::Hop { id: 1, hop: via(2, "10.0.2.2") });
    said.push(Program::Hop { id: 2, hop: via(2, "2001:db8:2::2") });
    said.push(Program::Hop { id: 3, hop: via(1, "10.0.1.2") });
    let routes =
        vec![("192.0.2.0".parse().unwrap(), 24, 1), ("198.51.100.0".parse().unwrap(), 24, 3)];
    said.push(Program::Routes4 { vrf: 0, routes });
    let routes = vec![("2001:db8:ff::".parse().unwrap(), 48, 2)];
    said.push(Program::Routes6 { vrf: 0, routes });
    World::of(&said)
}

fn rule(matches: Match, verdict: Verdict) -> Rule {
    Rule { matches, verdict }
}

fn filter(world: &mut World, family: Family, direction: Direction, rules: Vec<Rule>) {
    world.apply(Program::Filter(Filter { filter: 5, family, rules }));
    let interface = if direction == Direction::In { 1 } else { 2 };
    world.apply(Program::FilterUse(FilterUse { interface, direction, filter: 5 }));
}

fn send4(world: &mut World, to: &str, octets: usize) -> Vec<(u16, Vec<u8>)> {
    let packet = udp4("10.0.1.9", to, 64, octets);
    world.send(0, &ethernet(0, 0x0800, &packet)).sent
}

#[test]
fn the_first_rule_that_matches_decides_and_every_rule_counts() {
    for direction in [Direction::In, Direction::Out] {
        let mut world = routed();
        let to = |text: &str| Some((text.parse().unwrap(), 32));
        let rules = vec![
            rule(Match { destination: to("192.0.2.1"), ..Match::default() }, Verdict::Deny),
            rule(Match { lengths: vec![(500, 1_500)], ..Match::default() }, Verdict::Mark(46)),
            rule(
                Match {
                    destination_ports: vec![(80, 80)],
                    protocols: vec![17],
                    ..Match::default()
                },
                Verdict::Permit,
            ),
        ];
        filter(&mut world, Family::Ip4, direction, rules);
        assert!(send4(&mut world, "192.0.2.1", 60).is_empty());
        let marked = send4(&mut world, "192.0.2.2", 600);
        assert_eq!(marked[0].1[15] >> 2, 46);
        assert_eq!(sum_ip4(marked[0].1[14..34].first_chunk().unwrap()), 0xffff);
        assert_eq!(send4(&mut world, "192.0.2.3", 60).len(), 1);
        let mut other = udp4("10.0.1.9", "192.0.2.3", 64, 60);
        other[22] = 1;
        assert!(world.send(0, &ethernet(0, 0x0800, &other)).sent.is_empty(), "port 336");
        let six = packet6("2001:db8:1::9", "2001:db8:ff::1", 9, 59, &[]);
        assert_eq!(world.send(0, &ethernet(0, 0x86dd, &six)).sent.len(), 1, "no filter of IPv6");
        assert_eq!(world.plane.filters().collect::<Vec<_>>(), [5]);
        let counted = world.plane.filter_counters(5).unwrap();
        let packets: Vec<u64> = counted.iter().map(|(packets, _)| *packets).collect();
        assert_eq!(packets, [1, 1, 1, 1], "and last what no rule matched");
        let hops: Vec<String> = (0..64).filter_map(|hop| world.plane.hop_words(hop)).collect();
        let is_there = |text: &str| hops.iter().any(|hop| hop.contains(text));
        assert!(is_there("local") && is_there(" at interface 2"), "{hops:?}");
        let family = Family::Ip4;
        let interface = if direction == Direction::In { 1 } else { 2 };
        world.apply(Program::Remove(Removed::FilterUse(interface, direction, family)));
        assert_eq!(send4(&mut world, "192.0.2.1", 60).len(), 1);
    }
}

#[test]
fn a_filter_of_ipv6_looks_behind_extension_headers() {
    let mut world = routed();
    let rules = vec![
        rule(
            Match { protocols: vec![17], destination_ports: vec![(53, 53)], ..Match::default() },
            Verdict::Deny,
        ),
        rule(Match::default(), Verdict::Permit),
    ];
    filter(&mut world, Family::Ip6, Direction::In, rules);
    let udp = |port: u16| {
        let mut body = vec![17, 0, 1, 4, 0, 0, 0, 0, 0, 1];
        body.extend(port.to_be_bytes());
        body.extend([0, 8, 0, 0]);
        packet6("2001:db8:1::9", "2001:db8:ff::1", 9, 60, &body)
    };
    assert!(world.send(0, &ethernet(0, 0x86dd, &udp(53))).sent.is_empty());
    assert_eq!(world.send(0, &ethernet(0, 0x86dd, &udp(54))).sent.len(), 1);
}

#[test]
fn what_hides_its_transport_header_passes_no_filter_that_looks_at_it() {
    let mut world = routed();
    let tcp = |fragment: u16, octets: usize| {
        let mut packet = udp4("10.0.1.9", "192.0.2.1", 9, octets);
        packet[9] = 6;
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet.resize(octets, 0);
        nodes::header::seal_ip4(&mut packet[..20]);
        ethernet(0, 0x0800, &packet)
    };
    let chain = |headers: usize, next: u8, rest: &[u8]| {
        let mut body = Vec::new();
        (1..headers).for_each(|_| body.extend([60, 0, 1, 4, 0, 0, 0, 0]));
        body.extend([next, 0, 1, 4, 0, 0, 0, 0]);
        body.extend(rest);
        ethernet(0, 0x86dd, &packet6("2001:db8:1::9", "2001:db8:ff::1", 9, 60, &body))
    };
    let udp = [0, 9, 0, 9, 0, 8, 0, 0];
    let cases = [
        (tcp(0x2000, 36), false, "a first fragment of sixteen octets"),
        (tcp(0x2000, 60), true, "one with the whole header"),
        (tcp(1, 60), false, "one that comes to lie upon the flags"),
        (tcp(4, 60), true, "one behind them"),
        (chain(3, 17, &udp), true, "a few extension headers"),
        (chain(9, 17, &udp), false, "more than are walked"),
        (chain(2, 44, &[17, 0, 0, 1, 0, 0, 0, 1]), false, "a first fragment without its header"),
        (chain(2, 44, &[60, 0, 0, 1, 0, 0, 0, 1]), false, "one that ends within its chain"),
    ];
    let passes = |world: &mut World, frame: &[u8]| !world.send(0, frame).sent.is_empty();
    for (frame, _, which) in &cases {
        assert!(passes(&mut world, frame), "no filter: {which}");
    }
    for family in [Family::Ip4, Family::Ip6] {
        let ports = Match { destination_ports: vec![(7, 7)], ..Match::default() };
        let ports = Match { protocols: vec![6, 17], ..ports };
        let rules = vec![rule(ports, Verdict::Deny), rule(Match::default(), Verdict::Permit)];
        let number = if family == Family::Ip4 { 5 } else { 6 };
        world.apply(Program::Filter(Filter { filter: number, family, rules }));
        let (interface, direction) = (1, Direction::In);
        world.apply(Program::FilterUse(FilterUse { interface, direction, filter: number }));
    }
    for (frame, is_let, which) in &cases {
        assert_eq!(passes(&mut world, frame), *is_let, "{which}");
    }
    let reason = "fragment or header chain hides what a rule looks at";
    let dropped = world.graph.counters();
    let dropped = dropped.iter().flat_map(|node| node.dropped.clone());
    let hidden = dropped.filter(|(why, _)| *why == reason).map(|(_, count)| count);
    assert_eq!(hidden.sum::<u64>(), 5, "of both families");
    let addresses = Match { source: Some(("10.0.1.9".parse().unwrap(), 32)), ..Match::default() };
    filter(&mut world, Family::Ip4, Direction::In, vec![rule(addresses, Verdict::Permit)]);
    assert!(passes(&mut world, &cases[0].0), "no rule looks above the network header");
}

#[test]
fn a_rule_redirects_packets_whatever_their_destination() {
    let mut world = routed();
    let rules = vec![rule(Match::default(), Verdict::Redirect(3))];
    filter(&mut world, Family::Ip4, Direction::In, rules);
    let left = send4(&mut world, "192.0.2.1", 60);
    assert_eq!((left[0].0, left[0].1[22]), (0, 63));
}

#[test]
fn frames_of_a_cross_connect_are_filtered_by_address_type_and_vlan() {
    let mut said = programs();
    said.push(Program::Hop { id: 5, hop: Hop::Interface { interface: 51 } });
    for (index, port) in [(50, 0), (51, 1)] {
        let mode = Mode::CrossConnect { hop: 5 };
        let tagged = Interface { outer: Some(10), mode, ..interface(index, port) };
        said.push(Program::Interface(tagged));
    }
    let mut world = World::of(&said);
    let arp = Match { ethertypes: vec![0x0806], ..Match::default() };
    let near = Match { macs: [Some(([2, 0, 0, 0, 0, 0], 24)), None], ..Match::default() };
    let rules = vec![rule(arp, Verdict::Deny), rule(near, Verdict::Permit)];
    world.apply(Program::Filter(Filter { filter: 5, family: Family::Ethernet, rules }));
    let used = FilterUse { interface: 50, direction: Direction::In, filter: 5 };
    world.apply(Program::FilterUse(used));
    let frame = |from: u8, kind: [u8; 2]| {
        let mut made = vec![2, 9, 9, 9, 9, 9, from, 0, 0, 1, 1, 1, 0x81, 0, 0, 10];
        made.extend(kind);
        made.resize(64, 0);
        made
    };
    assert!(world.send(0, &frame(2, [8, 6])).sent.is_empty());
    assert_eq!(world.send(0, &frame(2, [8, 0])).sent.len(), 1);
    assert!(world.send(0, &frame(4, [8, 0])).sent.is_empty());
    let counted: Vec<u64> =
        world.plane.filter_counters(5).unwrap().iter().map(|(packets, _)| *packets).collect();
    assert_eq!(counted, [1, 1, 1]);
}

fn policer(mark_yellow: Option<u8>) -> Policer {
    Policer {
        policer: 3,
        meter: Meter::SingleRate,
        colour_aware: false,
        committed_bytes: 10_000,
        committed_burst: 1_000,
        excess_bytes: 0,
        excess_burst: 1_000,
        mark_yellow,
        mark_red: None,
    }
}

#[test]
fn a_policer_marks_what_exceeds_and_drops_what_is_beyond() {
    let mut world = routed();
    world.apply(Program::Policer(policer(Some(10))));
    let used = PolicerUse { interface: 1, direction: Direction::In, class: None, policer: 3 };
    world.apply(Program::PolicerUse(used));
    let mut marks = Vec::new();
    for _ in 0..5 {
        let left = send4(&mut world, "192.0.2.1", 500);
        marks.push(left.first().map(|(_, frame)| frame[15] >> 2));
    }
    assert_eq!(marks, [Some(0), Some(0), Some(10), Some(10), None]);
    world.pass(Duration::from_millis(50));
    assert_eq!(send4(&mut world, "192.0.2.1", 500).len(), 1, "half a second's tokens");
    let counted = world.plane.policer_counters(3).unwrap();
    assert_eq!(counted, [(3, 1_500), (2, 1_000), (1, 500)]);
    assert_eq!(world.dropped().get("beyond the policed rate"), Some(&1));
}

#[test]
fn a_group_of_interfaces_and_a_rule_share_the_buckets_of_one_policer() {
    let mut world = routed();
    world.apply(Program::Policer(policer(None)));
    let out = PolicerUse { interface: 2, direction: Direction::Out, class: None, policer: 3 };
    world.apply(Program::PolicerUse(out));
    let rules = vec![rule(Match::default(), Verdict::Police(3))];
    filter(&mut world, Family::Ip4, Direction::In, rules);
    // In 486 octets of IP, out 500 of Ethernet: each packet passes it twice.
    let passed = (0..10).filter(|_| !send4(&mut world, "192.0.2.1", 486).is_empty()).count();
    assert_eq!(passed, 2);
}

#[test]
fn marks_become_classes_and_classes_marks() {
    let mut world = routed();
    let mut by_dscp = vec![(0, 0); 64];
    by_dscp[46] = (5, 0);
    by_dscp[10] = (1, 1);
    world.apply(Program::Marking(Marking { interface: 1, by_dscp, ..Marking::default() }));
    let to_dscp: Vec<u8> = (0..24).collect();
    world.apply(Program::Marking(Marking { interface: 2, to_dscp, ..Marking::default() }));
    let mut sent = |dscp: u8| {
        let mut packet = udp4("10.0.1.9", "192.0.2.1", 64, 60);
        packet[1] = dscp << 2 | 1;
        nodes::header::seal_ip4(&mut packet[..20]);
        let left = world.send(0, &ethernet(0, 0x0800, &packet)).sent;
        assert_eq!(sum_ip4(left[0].1[14..34].first_chunk().unwrap()), 0xffff);
        (left[0].1[15] >> 2, left[0].1[15] & 3)
    };
    assert_eq!([sent(46), sent(10), sent(20)], [(15, 1), (4, 1), (0, 1)]);
    let short = Marking { interface: 1, to_priority: vec![1, 2], ..Marking::default() };
    assert!(world.plane.apply(&Program::Marking(short)).is_err());
}

/// IPFIX messages as payloads of UDP to port 4739.
fn wrapped(messages: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let wrap = |message: &Vec<u8>| {
        let mut packet = udp4("10.0.1.1", "10.0.1.2", 64, 28 + message.len());
        packet[22..24].copy_from_slice(&4_739_u16.to_be_bytes());
        packet[26..28].fill(0);
        packet[28..].copy_from_slice(message);
        ethernet(0, 0x0800, &packet)
    };
    messages.iter().map(wrap).collect()
}

#[test]
fn one_packet_of_so_many_becomes_part_of_a_flow_that_tshark_reads() {
    let mut world = routed();
    world.apply(Program::Sampling(Sampling { interface: 1, one_in: 10, octets: 0 }));
    let mut messages = Vec::new();
    for turn in 0..2_000_u32 {
        let six = packet6("2001:db8:1::9", "2001:db8:ff::1", 9, 59, &[]);
        let frame = match turn % 2 {
            0 => ethernet(0, 0x0800, &udp4("10.0.1.9", "192.0.2.1", 64, 100)),
            _ => ethernet(0, 0x86dd, &six),
        };
        let left = world.send(0, &frame);
        assert!(left.classes.iter().all(|class| *class == Class::Samples as u32));
        messages.extend(left.punted);
        world.now += Duration::from_millis(100);
    }
    // Word 3 of a message: its sequence, the records before it.
    assert!(messages.len() >= 3, "{}", messages.len());
    let filters = [
        "cflow.template_id == 256",
        "cflow.template_id == 257",
        "cflow.template_id == 258",
        "cflow.srcaddr == 10.0.1.9 && cflow.dstport == 80",
        "cflow.srcaddrv6 == 2001:db8:1::9",
        "cflow.sampling_population == 10",
    ];
    witness::sound_with(&wrapped(&messages), &filters, &["-d", "udp.port==4739,cflow"]);
    assert!(messages.iter().all(|message| message[..2] == [0, 10]));
}

#[test]
fn samples_leave_by_udp_to_their_collector_by_its_own_table() {
    let mut world = routed();
    world.apply(Program::Sampling(Sampling { interface: 1, one_in: 1, octets: 64 }));
    let mut left = Vec::new();
    for (source, address) in [("10.0.2.1", "192.0.2.9"), ("2001:db8:2::1", "2001:db8:ff::9")] {
        let (source, address) = (source.parse().unwrap(), address.parse().unwrap());
        let collector = Collector { vrf: 0, source, address, port: 4_739 };
        world.apply(Program::Collector(collector));
        for _ in 0..40 {
            let packet = udp4("10.0.1.9", "192.0.2.1", 64, 100);
            let world = world.send(0, &ethernet(0, 0x0800, &packet));
            assert!(world.punted.is_empty(), "nothing is handed up");
            left.extend(world.sent.into_iter().map(|(_, frame)| frame));
        }
    }
    let port = 4_739_u16.to_be_bytes();
    left.retain(|frame| frame.windows(4).any(|ports| ports == [port, port].concat()));
    let filters = [
        "cflow.template_id == 259 && ip.src == 10.0.2.1 && ip.dst == 192.0.2.9",
        "cflow.template_id == 259 && ipv6.dst == 2001:db8:ff::9 && udp.checksum.status == 1",
    ];
    assert!(left.len() >= 4, "{}", left.len());
    let strict = ["-d", "udp.port==4739,cflow", "-o", "udp.check_checksum:TRUE"];
    witness::sound_with(&left, &filters, &strict);
    let other = Collector {
        vrf: 0,
        source: "10.0.2.1".parse().unwrap(),
        address: "2001:db8::9".parse().unwrap(),
        port: 1,
    };
    assert!(world.plane.apply(&Program::Collector(other)).is_err());
    world.apply(Program::Remove(Removed::Collector));
}

#[test]
fn a_sampled_packet_is_told_from_its_ip_header() {
    let mut world = routed();
    world.apply(Program::Sampling(Sampling { interface: 1, one_in: 1, octets: 64 }));
    let mut messages = Vec::new();
    for _ in 0..40 {
        let packet = udp4("10.0.1.9", "192.0.2.1", 64, 100);
        messages.extend(world.send(0, &ethernet(0, 0x0800, &packet)).punted);
    }
    let packet = udp4("10.0.1.9", "192.0.2.1", 64, 100);
    let held =
        |message: &Vec<u8>| message.windows(64).filter(|part| **part == packet[..64]).count();
    assert!(messages.iter().map(held).sum::<usize>() >= 13, "a message is full");
    witness::sound_with(
        &wrapped(&messages),
        &["cflow.template_id == 259"],
        &["-d", "udp.port==4739,cflow"],
    );
}

#[test]
fn queues_of_a_port_hold_packets_until_their_rate_lets_them_go() {
    let mut world = routed();
    let queue = |queue, parent, class, priority| Queue {
        queue,
        parent,
        interface: (parent == 0).then_some(2),
        class,
        rate_bytes: if parent == 0 { 100_000 } else { 0 },
        priority,
        weight: 1,
        packets_max: 100,
        wred: None,
    };
    let queues = vec![queue(1, 0, None, 0), queue(2, 1, Some(5), 0), queue(3, 1, None, 1)];
    let scheduler = Scheduler { port: 1, rate_bytes: 1_000_000, queues };
    world.apply(Program::Scheduler(scheduler.clone()));
    let mut schedulers = Schedulers::new(world.plane.queues(), 1);
    let mut out = Outbox::default();
    let mut by_dscp = vec![(0, 0); 64];
    by_dscp[46] = (5, 0);
    world.apply(Program::Marking(Marking { interface: 1, by_dscp, ..Marking::default() }));
    let (mut sent, mut order) = (0, Vec::new());
    for turn in 0..150_u8 {
        let mut packet = udp4("10.0.1.9", "192.0.2.1", 64, 962);
        packet[1] = if turn % 10 == 9 { 46 << 2 } else { 0 };
        nodes::header::seal_ip4(&mut packet[..20]);
        let slot = world.pool.put(&ethernet(0, 0x0800, &packet)).unwrap();
        let entry = world.graph.entry("ethernet-input").unwrap();
        world.graph.push(entry, &[slot], &mut world.pool);
    }
    world.graph.run(&mut world.pool, &mut out, world.now);
    for _ in 0..500 {
        schedulers.pass(world.now, 32, &mut out, &mut world.pool);
        for slot in out.port(1).map(std::mem::take).unwrap_or_default() {
            sent += 1;
            order.push(world.pool.meta(slot).class);
            world.pool.free(slot);
        }
        world.now += Duration::from_millis(1);
    }
    // 16,384 octets at once and 100 a millisecond: a frame of 1,000 with what the line adds.
    assert!((64..=68).contains(&sent), "{sent}");
    assert_eq!(order[..15], [5; 15], "the strict class goes first");
    let port = schedulers.port(1).unwrap();
    let ((waiting, _), counters) = port.leaf(2, 0).unwrap();
    assert_eq!((counters.tail_dropped, counters.packets + u64::from(waiting)), (35, 100));
    assert!(schedulers.deadline().is_some());
    world.apply(Program::Remove(Removed::Scheduler(1)));
    schedulers.pass(world.now, 32, &mut out, &mut world.pool);
    assert_eq!(world.pool.free_slots(), world.pool.slots(), "every cell came back");
}
