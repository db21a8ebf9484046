//! Connections of many sets: they end with their sets, and who holds too much makes way.

use crate::world::{End, associations};
use ipsec::{Address, Endpoint, Lane, Metric, Settings, Streams, Way};
use machine::slots::Key;
use machine::{Duration, Time};
use std::net::SocketAddr;

const IDLE: Duration = Duration::from_secs(900);

/// An endpoint with sets of peers at these addresses.
fn endpoint(peers: &[String]) -> (Endpoint, Vec<Key>) {
    let mut own = End::new("192.0.2.1", "192.0.2.1:0", 11);
    let address = Address { ip: own.ip, raw: crate::world::RAW, bypass: false, in_udp: None };
    let settings = Settings { addresses: vec![address], sets_max: 2_000 };
    own.endpoint = Endpoint::new(settings, 0, 11, Time::ZERO);
    let sets = peers.iter().map(|peer| {
        (own.set, own.spis) = own.endpoint.reserve().unwrap();
        let peer = End::new(peer, &format!("{peer}:0"), 22);
        let made = associations(&own, &peer, false, 0);
        assert!(own.endpoint.install(own.set, made));
        own.set
    });
    let sets = sets.collect();
    (own.endpoint, sets)
}

/// So many octets wait for a phone that does not answer.
fn waits(streams: &mut Streams, esp: &mut Endpoint, set: Key, octets: usize) {
    let ends =
        (SocketAddr::from(([192, 0, 2, 1], 5_064)), SocketAddr::from(([10, 0, 0, 1], 6_100)));
    let way = Way { set, lane: Lane::Second };
    assert!(streams.send(Time::ZERO, esp, way, ends, &vec![b'x'; octets]));
    streams.leave(Time::ZERO, esp, |_, _| {});
}

#[test]
fn a_connection_ends_with_its_set() {
    let (mut esp, sets) = endpoint(&["192.0.2.9".to_owned(), "192.0.2.8".to_owned()]);
    let mut streams = Streams::new(7, IDLE);
    sets.iter().for_each(|set| waits(&mut streams, &mut esp, *set, 100_000));
    assert_eq!((streams.len(), esp.count(Metric::StreamsLive)), (2, 2));
    esp.remove(sets[0]);
    streams.leave(Time::ZERO, &mut esp, |_, _| {});
    assert_eq!((streams.len(), esp.count(Metric::StreamsLive)), (1, 1));
    let second = Way { set: sets[1], lane: Lane::Second };
    assert!(streams.is_open(second));
    // Whoever has its slot next has nothing of it.
    let (next, _) = esp.reserve().unwrap();
    esp.remove(next);
    streams.leave(Time::ZERO, &mut esp, |_, _| {});
    assert!(streams.is_open(second));
}

#[test]
fn what_waits_for_phones_behind_one_address_is_bounded_and_others_lose_nothing() {
    let mut peers = vec!["192.0.2.9".to_owned(); 100];
    peers.push("192.0.2.8".to_owned());
    let (mut esp, sets) = endpoint(&peers);
    let mut streams = Streams::new(7, IDLE);
    let (many, other) = sets.split_at(100);
    waits(&mut streams, &mut esp, other[0], 250_000);
    waits(&mut streams, &mut esp, many[0], 1_000);
    for set in &many[1..] {
        waits(&mut streams, &mut esp, *set, 250_000);
    }
    let is_open = |set: &Key| streams.is_open(Way { set: *set, lane: Lane::Second });
    let open = many.iter().filter(|set| is_open(set)).count();
    // 67 times 61 pages of 4,096 octets, and one that holds less than one.
    assert_eq!((open, esp.count(Metric::StreamsMadeWay)), (68, 32));
    assert!(is_open(&other[0]) && is_open(&many[0]), "of another address, and a small one");
}

#[test]
fn what_waits_for_phones_of_many_addresses_is_bounded() {
    let peers: Vec<String> =
        (0..1_200).map(|at| format!("10.1.{}.{}", at / 250, at % 250)).collect();
    let (mut esp, sets) = endpoint(&peers);
    let mut streams = Streams::new(7, IDLE);
    for set in &sets {
        waits(&mut streams, &mut esp, *set, 250_000);
    }
    assert_eq!(streams.len(), 65_536 / 61);
    assert_eq!(esp.count(Metric::StreamsMadeWay), 1_200 - 65_536 / 61);
}
