//! Who is no end.

use crate::world::{Random, nat_pair, raw_pair};
use ipsec::{Lane, Metric, STRANGERS_PER_S, steer};
use machine::Time;

#[test]
fn guessed_indices_and_changed_octets_are_dropped_and_counted() {
    let (mut one, mut two) = raw_pair();
    let mut random = Random(5);
    for _ in 0..20_000 {
        let spi = random.below(1 << 32) as u32;
        if two.spis.iter().all(|own| own.0 != spi) {
            let packet = [&spi.to_be_bytes()[..], &[0; 60]].concat();
            assert_eq!(two.take(Time::ZERO, one.outside, false, &packet), None);
        }
    }
    assert!(two.endpoint.count(Metric::UnknownSpi) > 19_000);
    let (_, octets) = one.send(&two, Lane::First, b"INVITE").unwrap();
    for place in 4..octets.len() {
        let mut changed = octets.clone();
        changed[place] ^= 1;
        assert_eq!(two.take(Time::ZERO, one.outside, false, &changed), None, "{place}");
    }
    assert!(two.take(Time::ZERO, one.outside, false, &octets).is_some(), "nothing was believed");
    let before = two.endpoint.count(Metric::Replayed);
    assert_eq!(two.take(Time::ZERO, one.outside, false, &octets), None);
    assert!(two.endpoint.count(Metric::Forged) > 20);
    assert_eq!(two.endpoint.count(Metric::Replayed), before + 1);
    for length in 0..4 {
        assert_eq!(two.take(Time::ZERO, one.outside, false, &octets[..length]), None);
    }
    assert_eq!(two.endpoint.count(Metric::Malformed), 4);
}

#[test]
fn a_raw_packet_from_elsewhere_is_dropped_before_its_icv() {
    let (mut one, mut two) = raw_pair();
    let (_, octets) = one.send(&two, Lane::First, b"INVITE").unwrap();
    let elsewhere = "192.0.2.77:0".parse().unwrap();
    assert_eq!(two.take(Time::ZERO, elsewhere, false, &octets), None);
    assert_eq!(two.take(Time::ZERO, one.outside, true, &octets), None, "in UDP");
    assert_eq!(two.endpoint.count(Metric::Elsewhere), 2);
    assert!(two.take(Time::ZERO, one.outside, false, &octets).is_some());
}

#[test]
fn a_source_that_forges_packets_in_udp_is_looked_at_so_often_and_the_peer_always() {
    let (mut phone, mut proxy) = nat_pair();
    let spi = proxy.spis[0].0.to_be_bytes();
    let forged = [&spi[..], &[7; 80]].concat();
    let stranger = "203.0.113.66:4500".parse().unwrap();
    for ms in 0..1_000 {
        for _ in 0..10 {
            assert_eq!(proxy.take(Time::from_millis(ms), stranger, true, &forged), None);
        }
    }
    let looked = proxy.endpoint.count(Metric::Forged) + proxy.endpoint.count(Metric::Malformed);
    assert!(looked <= u64::from(STRANGERS_PER_S) + 11, "{looked} looks in a second");
    assert!(proxy.endpoint.count(Metric::Limited) > 9_900);
    let (_, octets) = phone.send(&proxy, Lane::First, b"INVITE").unwrap();
    assert!(proxy.take(Time::from_millis(1_000), phone.outside, true, &octets).is_some());
    assert_eq!(proxy.take(Time::ZERO, phone.outside, true, &[0xff]), None);
    assert_eq!(proxy.endpoint.count(Metric::Keepalives), 1);
}

#[test]
fn sets_are_bounded_and_an_index_goes_to_its_shard() {
    let (_, mut two) = raw_pair();
    let more: Vec<_> = core::iter::from_fn(|| two.endpoint.reserve()).take(100).collect();
    assert_eq!(more.len(), 7);
    assert_eq!(two.endpoint.count(Metric::SetsRefused), 1);
    let spi = more[0].1[0].0.to_be_bytes();
    assert_eq!(steer(&spi, 4), Some(0));
    assert_eq!(steer(&[0, 0, 0, 0, 1], 4), None, "IKE");
    two.endpoint.remove(more[0].0);
    let (key, spis) = two.endpoint.reserve().unwrap();
    assert_eq!(key.index, more[0].0.index);
    assert_ne!(spis, more[0].1, "another generation has other indices");
}
