//! What the analyser makes of packets that were lost, doubled, late, padded, stripped of labels or
//! never its own.

use crate::plans::{ETHERNET, UDP, every, ipv4, mpls, routed_v4, vlan};
use machine::Time;
use packet_load::{Analyser, Generator, Order, Plan, Random, Report, Sizes, Stream, WINDOW};
use std::time::Duration;

/// Sends `count` packets, one a microsecond, through `wire`, which says when each of those that
/// came through arrived.
fn through(
    generator: &mut Generator,
    analyser: &mut Analyser,
    count: usize,
    wire: impl Fn(usize, &[u8]) -> Vec<(Time, Vec<u8>)>,
) -> Report {
    let mut room = vec![0; generator.longest()];
    let mut arrivals = Vec::new();
    for number in 0..count {
        let length = generator.write(Time::from_nanos(number as u64 * 1_000), &mut room);
        arrivals.extend(wire(number, &room[..length]));
    }
    arrivals.sort_by_key(|(at, _)| *at);
    arrivals.iter().for_each(|(at, packet)| analyser.receive(*at, packet));
    analyser.settle(generator)
}

fn after(number: usize, delay: u64) -> Time {
    Time::from_nanos(number as u64 * 1_000 + delay)
}

fn both(plan: &Plan) -> (Generator, Analyser) {
    let generator = plan.generator().unwrap();
    let analyser = generator.analyser();
    (generator, analyser)
}

#[test]
fn what_passes_unharmed_is_all_there_with_its_delay() {
    let (mut generator, mut analyser) = both(&every().0);
    let report = through(&mut generator, &mut analyser, 10_000, |number, packet| {
        vec![(after(number, 5_000), packet.to_vec())]
    });
    let all = &report.all;
    assert_eq!((all.sent, all.received, all.lost, report.foreign), (10_000, 10_000, 0, 0));
    assert_eq!((all.duplicates, all.reordered, all.flows_with_loss), (0, 0, 0));
    assert_eq!((all.delays.min_ns, all.delays.p99_ns, all.delays.max_ns), (5_000, 5_000, 5_000));
    assert!((all.received_pps / 1e6 - 1.0).abs() < 0.001, "{}", all.received_pps);
    let sent: u64 = report.streams.iter().map(|stream| stream.sent).sum();
    assert!(sent == 10_000 && report.streams.len() == 11);
}

#[test]
fn loss_is_counted_by_flow() {
    let mut stream = routed_v4(10, Sizes::fixed(64));
    stream.order = Order::RoundRobin;
    let (mut generator, mut analyser) = both(&Plan::of(stream, 1));
    let report = through(&mut generator, &mut analyser, 1_000, |number, packet| {
        // Every second one of the flow with number 3.
        let is_lost = number % 20 == 3;
        if is_lost { vec![] } else { vec![(after(number, 1), packet.to_vec())] }
    });
    let all = &report.all;
    assert_eq!((all.lost, all.flows, all.flows_with_loss, all.flow_lost_max), (50, 10, 1, 50));
    assert_eq!(all.discontinuities, 50);
}

#[test]
fn the_longest_loss_is_that_of_one_flow_in_its_middle_or_at_its_end() {
    let mut stream = routed_v4(10, Sizes::fixed(64));
    stream.order = Order::RoundRobin;
    for (lost, wanted) in [(500..540, 4), (960..1_000, 4), (995..1_000, 1), (7..8, 1), (0..0, 0)] {
        let (mut generator, mut analyser) = both(&Plan::of(stream.clone(), 1));
        let report = through(&mut generator, &mut analyser, 1_000, |number, packet| {
            let is_lost = lost.contains(&number);
            if is_lost { vec![] } else { vec![(after(number, 1), packet.to_vec())] }
        });
        assert_eq!(report.all.loss_period_max, wanted, "{lost:?}");
    }
}

#[test]
fn duplicates_and_order_are_told_apart_from_loss() {
    let (mut generator, mut analyser) = both(&Plan::of(routed_v4(1, Sizes::fixed(64)), 1));
    let report = through(&mut generator, &mut analyser, 1_000, |number, packet| {
        let once = (after(number, 10), packet.to_vec());
        match number {
            100 => vec![once, (after(number, 700), packet.to_vec())],
            200 => vec![(after(number, 3_500), packet.to_vec())],
            300 => vec![(after(number, 1_000 * u64::from(WINDOW) + 1_500), packet.to_vec())],
            _ => vec![once],
        }
    });
    let all = &report.all;
    assert_eq!((all.sent, all.received, all.lost), (1_000, 999, 1));
    assert_eq!((all.duplicates, all.reordered, all.too_late), (1, 1, 1));
    assert_eq!((all.reordered_behind_max, all.discontinuities), (4, 2));
    assert_eq!((all.delays.p50_ns, all.delays.max_ns), (10, 3_500));
}

#[test]
fn labels_that_are_taken_off_and_padding_hide_nothing() {
    let layers = vec![ETHERNET, mpls(16), mpls(17), ipv4(), UDP];
    let (mut generator, mut analyser) = both(&Plan::of(Stream::new("VPN", layers, 72), 1));
    let report = through(&mut generator, &mut analyser, 100, |number, packet| {
        let mut popped = [&packet[..12], &[0x08, 0x00], &packet[22..]].concat();
        if number % 2 == 0 {
            popped.resize(64, 0);
        }
        vec![(after(number, 1), popped)]
    });
    assert_eq!((report.all.received, report.foreign), (100, 0));
}

#[test]
fn padding_behind_tags_and_labels_is_passed_over() {
    let kinds = [
        vec![ETHERNET, vlan(true, 5), vlan(false, 6), ipv4(), UDP],
        vec![ETHERNET, mpls(16), mpls(17), ipv4(), UDP],
        vec![ETHERNET, vlan(false, 6), mpls(17), crate::plans::ipv6(), UDP],
    ];
    for layers in kinds {
        let (mut generator, mut analyser) = both(&Plan::of(Stream::new("", layers, 100), 1));
        let report = through(&mut generator, &mut analyser, 50, |number, packet| {
            vec![(after(number, 1), [packet, &[0; 9]].concat())]
        });
        assert_eq!((report.all.received, report.foreign), (50, 0));
    }
}

#[test]
fn what_others_send_and_what_an_earlier_trial_sent_is_foreign() {
    let (mut generator, mut analyser) = both(&Plan::of(routed_v4(100, Sizes::fixed(64)), 1));
    let mut room = vec![0; 60];
    generator.write(Time::ZERO, &mut room);
    let straggler = room.clone();
    (1..10).for_each(|_| _ = generator.write(Time::ZERO, &mut room));
    generator.begin(1);
    analyser.begin(1);
    analyser.receive(Time::ZERO, &straggler);
    let mut random = Random::new(1);
    for length in 0..200 {
        let noise: Vec<u8> = (0..length).map(|_| random.number() as u8).collect();
        analyser.receive(Time::ZERO, &noise);
    }
    let report = through(&mut generator, &mut analyser, 1_000, |number, packet| {
        vec![(after(number, 1), packet.to_vec())]
    });
    assert_eq!((report.foreign, report.all.sent, report.all.lost), (201, 1_000, 0));
    assert_eq!(analyser.received(), 1_000);
}

#[test]
fn by_seed_every_packet_is_received_or_lost_and_never_both() {
    for seed in 0..20 {
        let plan = Plan { seed, ..every().0 };
        let (mut generator, mut analyser) = both(&plan);
        let report = through(&mut generator, &mut analyser, 3_000, |number, packet| {
            let mut random = Random::new(seed << 32 | number as u64);
            let mut copies = Vec::new();
            for _ in 0..[0, 1, 1, 1, 1, 1, 1, 2][random.below(8) as usize] {
                copies.push((after(number, random.below(600_000).into()), packet.to_vec()));
            }
            copies
        });
        let all = &report.all;
        assert_eq!((all.sent, all.received + all.lost), (3_000, 3_000));
        assert!(all.lost >= 200 && all.duplicates >= 200 && all.reordered > 0, "{all:?}");
        assert!(all.delays.max_ns < 600_000);
    }
}

#[test]
fn a_delay_of_a_second_is_told_across_the_end_of_the_clock() {
    let (mut generator, mut analyser) = both(&Plan::of(routed_v4(1, Sizes::fixed(64)), 1));
    let sent = Time::from_nanos(u64::from(u32::MAX) - 5);
    let mut room = vec![0; 60];
    generator.write(sent, &mut room);
    analyser.receive(sent + Duration::from_secs(1), &room);
    let delays = analyser.settle(&generator).all.delays;
    assert_eq!((delays.min_ns, delays.max_ns), (1_000_000_000, 1_000_000_000));
}
