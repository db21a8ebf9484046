//! What a plan gives, and which plans are refused.

use crate::plans::{ETHERNET, UDP, every, ipv4, ipv6, mpls, routed_v4, vary, vlan};
use graph::{Pool, STRIDE, Slot};
use machine::Time;
use packet_load::{
    FLOWS_MAX, Form, Generator, Layer, Part, Plan, Refused, SIZE_MAX, Sizes, Stream, Values,
};
use std::collections::HashSet;

fn packets(generator: &mut Generator, count: usize) -> Vec<Vec<u8>> {
    let mut room = vec![0; generator.longest()];
    let mut one = |number: usize| {
        let length = generator.write(Time::from_nanos(number as u64 * 1_000), &mut room);
        room[..length].to_vec()
    };
    (0..count).map(&mut one).collect()
}

#[test]
fn the_same_seed_gives_the_same_packets_and_another_one_others() {
    let of = |seed| {
        let plan = Plan { seed, ..every().0 };
        packets(&mut plan.generator().unwrap(), 2_000)
    };
    assert!(of(1) == of(1) && of(1) != of(2));
}

#[test]
fn every_flow_has_its_own_header_and_the_sizes_are_those_of_the_mix() {
    let plan = Plan::of(routed_v4(5_000, Sizes::imix()), 3);
    let mut generator = plan.generator().unwrap();
    let all = packets(&mut generator, 40_920);
    let flows: HashSet<Vec<u8>> = all.iter().map(|packet| packet[26..38].to_vec()).collect();
    assert!(flows.len() > 4_900, "{}", flows.len());
    let count = |size: usize| all.iter().filter(|packet| packet.len() + 4 == size).count();
    assert_eq!((count(64), count(570), count(1_518)), (23_870, 13_640, 3_410));
    assert_eq!(generator.form(), Form::Sixteen);
}

#[test]
fn a_value_that_all_flows_share_is_in_every_packet() {
    let from = 0x2001_0002_u128 << 96;
    let mut stream = Stream::new("", vec![ETHERNET, vlan(false, 1), ipv6(), UDP], 128);
    stream.layers[2] = Layer::Ipv6 {
        source: std::net::Ipv6Addr::UNSPECIFIED,
        destination: std::net::Ipv6Addr::UNSPECIFIED,
        class: 0,
        hop_limit: 64,
    };
    stream.vary = vec![
        vary(1, Part::Vlan, Values::count(7_u32, 1)),
        vary(2, Part::Source, Values::Random { first: from, bits: 16 }),
        vary(2, Part::Destination, Values::count(9_u32, 1)),
    ];
    for flows in [1, 5] {
        stream.flows = flows;
        let mut generator = Plan::of(stream.clone(), 3).generator().unwrap();
        for packet in packets(&mut generator, 20) {
            assert_eq!(packet[14..16], [0x60, 7]);
            assert_eq!(packet[26..30], [0x20, 0x01, 0x00, 0x02]);
            assert_eq!(packet[56..58], [0, 9]);
        }
    }
}

#[test]
fn streams_come_by_their_weights() {
    let mut streams = every().0.streams;
    streams.truncate(2);
    (streams[0].weight, streams[1].weight) = (3, 1);
    let mut generator = Plan { streams, seed: 1 }.generator().unwrap();
    let tcp = packets(&mut generator, 400).iter().filter(|packet| packet[23] == 6).count();
    assert_eq!(tcp, 100);
}

#[test]
fn cells_of_a_pool_hold_the_same_packets_as_octets() {
    let stream = || Plan::of(routed_v4(50, Sizes::imix()), 3);
    let (mut one, mut other) = (stream().generator().unwrap(), stream().generator().unwrap());
    let mut pool = Pool::new(100, STRIDE);
    let mut slots = [Slot::default(); 100];
    assert_eq!(pool.take_all(&mut slots), 100);
    one.fill(Time::ZERO, &mut pool, &slots);
    let mut room = vec![0; other.longest()];
    for slot in slots {
        assert_eq!(other.next_length(), pool.bytes(slot).len());
        let length = other.write(Time::ZERO, &mut room);
        assert_eq!(pool.bytes(slot), &room[..length]);
    }
}

fn refusal(change: impl FnOnce(&mut Stream)) -> Refused {
    let mut stream = Stream::new("", vec![ETHERNET, vlan(false, 1), ipv6(), UDP], 128);
    change(&mut stream);
    Plan::of(stream, 1).generator().unwrap_err()
}

#[test]
fn what_cannot_be_sent_is_refused_with_the_place_of_the_violation() {
    let least = 14 + 4 + 40 + 8 + 12 + 4;
    let small = refusal(|stream| stream.sizes = Sizes::fixed(78));
    assert_eq!(small, Refused::Small { stream: 0, size: 78, least });
    let fits = Stream::new("", vec![ETHERNET, vlan(false, 1), ipv6(), UDP], least);
    assert_eq!(Plan::of(fits, 1).generator().unwrap().form(), Form::Twelve);
    let wrong = |layer| Refused::Layer { stream: 0, layer };
    assert_eq!(refusal(|stream| stream.layers.swap(2, 3)), wrong(2));
    assert_eq!(refusal(|stream| _ = stream.layers.remove(0)), wrong(0));
    let twice = |stream: &mut Stream| {
        stream.layers.splice(1..1, [ETHERNET, ipv4()]);
    };
    assert_eq!(refusal(twice), wrong(1));
    let networks = |stream: &mut Stream| {
        stream.layers = vec![ETHERNET, mpls(16), ETHERNET, ipv4(), UDP];
        stream.layers.insert(1, ipv4());
    };
    assert_eq!(refusal(networks), wrong(2));
    let value = |vary, flow| Refused::Value { stream: 0, vary, flow };
    let label = |stream: &mut Stream| {
        stream.vary = vec![vary(1, Part::Label, Values::count(1_u32, 5))];
    };
    assert_eq!(refusal(label), value(0, 0));
    let large = |stream: &mut Stream| {
        stream.flows = 10;
        stream.vary = vec![vary(1, Part::Vlan, Values::count(4_090_u32, 10))];
    };
    assert_eq!(refusal(large), value(0, 6));
    let nowhere = |stream: &mut Stream| {
        stream.vary = vec![vary(9, Part::Vlan, Values::count(1_u32, 1))];
    };
    assert_eq!(refusal(nowhere), value(0, 0));
    assert_eq!(refusal(|stream| stream.flows = 0), Refused::Flows);
    assert_eq!(refusal(|stream| stream.flows = FLOWS_MAX + 1), Refused::Flows);
    assert_eq!(refusal(|stream| stream.weight = 0), Refused::Weight(0));
    assert_eq!(refusal(|stream| stream.sizes = Sizes::fixed(SIZE_MAX + 1)), Refused::Sizes(0));
    assert_eq!(refusal(|stream| stream.sizes = Sizes::mix(&[])), Refused::Sizes(0));
    assert_eq!(Plan { streams: vec![], seed: 1 }.generator().unwrap_err(), Refused::Streams(0));
}

#[test]
fn a_frame_without_network_header_is_one_of_the_experimental_type() {
    let plan = Plan::of(Stream::new("", vec![ETHERNET], 64), 1);
    let packet = packets(&mut plan.generator().unwrap(), 1).remove(0);
    assert_eq!((packet.len(), &packet[12..18]), (60, &[0x88, 0xb5, 14, 15, 16, 17][..]));
    let echo = Layer::Echo { identifier: 1 };
    assert!(Plan::of(Stream::new("", vec![ETHERNET, echo], 64), 1).generator().is_err());
}
