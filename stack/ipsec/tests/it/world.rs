//! Two endpoints whose packets are lost, come twice and overtake each other, by seed.

use esp::{
    Algorithm, Encryption, Inbound, Integrity, KeyLength, Material, Mode, Outbound, Parameters,
    Spi, Tunnel, Udp,
};
use ipsec::{Address, Arrived, Associations, Endpoint, Lane, Metric, Path, Settings};
use machine::Time;
use machine::identity::mix;
use machine::slots::Key;
use runtime::{Flow, PortId, Transport};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

pub const RAW: PortId = PortId(40);
pub const IN_UDP: PortId = PortId(41);
pub const LANES: [Lane; 2] = [Lane::First, Lane::Second];

/// Numbers by seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(mix(self.0)) % limit
    }
}

/// An end: a endpoint with one set, and where the other end is.
pub struct End {
    pub endpoint: Endpoint,
    pub set: Key,
    pub spis: [Spi; 2],
    pub ip: IpAddr,
    /// Where the network sees it.
    pub outside: SocketAddr,
}

impl End {
    pub fn new(ip: &str, outside: &str, secret: u64) -> Self {
        let ip = ip.parse().unwrap();
        let address = Address { ip, raw: RAW, bypass: false, in_udp: Some((IN_UDP, Udp::PORT)) };
        let settings = Settings { addresses: vec![address], sets_max: 8 };
        let mut endpoint = Endpoint::new(settings, 0, secret, Time::ZERO);
        let (set, spis) = endpoint.reserve().unwrap();
        Self { endpoint, set, spis, ip, outside: outside.parse().unwrap() }
    }

    fn inner(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.ip, port)
    }

    /// Sends by a lane; the flow and the octets that leave.
    pub fn send(&mut self, to: &End, lane: Lane, payload: &[u8]) -> Option<(Flow, Vec<u8>)> {
        let mut out = Vec::new();
        let ends = (self.inner(5062), to.inner(6100));
        let flow = self.endpoint.protect(self.set, lane, ends, payload, &mut out)?;
        Some((flow, out))
    }

    /// A packet arrives as the network shows its sender.
    pub fn take(&mut self, now: Time, from: SocketAddr, in_udp: bool, bytes: &[u8]) -> Came {
        let port = if in_udp { IN_UDP } else { RAW };
        let from = if in_udp { from } else { SocketAddr::new(from.ip(), 0) };
        let local = SocketAddr::new(self.ip, 0);
        let flow = Flow::to(port, Transport::Udp, local, from);
        let arrived = self.endpoint.unprotect(now, &flow, bytes)?;
        let payload = self.endpoint.octets()[arrived.payload.clone()].to_vec();
        Some((arrived, payload))
    }
}

pub type Came = Option<(Arrived, Vec<u8>)>;

/// The associations of one of two ends, which has so many numbers granted at once.
pub fn associations(end: &End, peer: &End, in_udp: bool, block: u32) -> Associations {
    let keys = [7; 16];
    let algorithm =
        Algorithm::new(Encryption::AesCbc(KeyLength::Bits128), Integrity::HmacSha1_96).unwrap();
    let material = Material { encryption: &keys, integrity: &[9; 20] };
    let remote = peer.outside;
    let parameters = |spi| {
        let base = Parameters { block, ..Parameters::new(spi, algorithm) };
        let tunnel = Mode::Tunnel(Tunnel::between(end.ip, remote.ip()));
        match in_udp {
            false => base,
            true => Parameters {
                mode: tunnel,
                udp: Some(Udp { local: Udp::PORT, remote: remote.port() }),
                ..base
            },
        }
    };
    let inbound = end.spis.map(|spi| Inbound::new(parameters(spi), material).ok());
    let seed = end.ip.to_string().bytes().fold(1, u8::wrapping_add);
    let outbound = peer.spis.map(|spi| Outbound::new(parameters(spi), material, [seed; 16]).ok());
    let (port, number) = if in_udp { (IN_UDP, Udp::PORT) } else { (RAW, 0) };
    let path = Path {
        port,
        local: SocketAddr::new(end.ip, number),
        remote: SocketAddr::new(remote.ip(), if in_udp { remote.port() } else { 0 }),
        in_udp,
    };
    Associations { inbound, outbound, path, owner: 3 }
}

/// Two ends that agree, over raw packets or in UDP.
pub fn agreed(one: &mut End, two: &mut End, in_udp: bool) {
    let [first, second] = [associations(one, two, in_udp, 0), associations(two, one, in_udp, 0)];
    assert!(one.endpoint.install(one.set, first));
    assert!(two.endpoint.install(two.set, second));
}

/// Two ends on addresses of their own.
pub fn raw_pair() -> (End, End) {
    let mut one = End::new("192.0.2.1", "192.0.2.1:0", 11);
    let mut two = End::new("192.0.2.2", "192.0.2.2:0", 22);
    agreed(&mut one, &mut two, false);
    (one, two)
}

/// A phone behind a NAT, and a proxy.
pub fn nat_pair() -> (End, End) {
    let mut phone = End::new("10.0.0.5", "198.51.100.9:40123", 11);
    let mut proxy = End::new("192.0.2.2", "192.0.2.2:4500", 22);
    agreed(&mut phone, &mut proxy, true);
    (phone, proxy)
}

#[test]
fn both_lanes_carry_datagrams_of_both_families_and_a_row_says_how_many() {
    let v6 = || {
        let mut one = End::new("2001:db8::1", "[2001:db8::1]:0", 1);
        let mut two = End::new("2001:db8::2", "[2001:db8::2]:0", 2);
        agreed(&mut one, &mut two, false);
        (one, two)
    };
    for (mut one, mut two) in [raw_pair(), v6()] {
        for lane in LANES {
            let (flow, octets) = one.send(&two, lane, b"REGISTER").unwrap();
            assert_eq!((flow.port, flow.remote.ip()), (RAW, two.ip));
            let (arrived, payload) = two.take(Time::ZERO, one.outside, false, &octets).unwrap();
            assert_eq!((arrived.lane, arrived.owner, &payload[..]), (lane, 3, &b"REGISTER"[..]));
            assert_eq!(arrived.source, SocketAddr::new(one.ip, 5062));
            assert_eq!(arrived.destination, SocketAddr::new(two.ip, 6100));
            assert_eq!(arrived.protocol, ipsec::UDP);
        }
        let row = two.endpoint.show(two.set).unwrap();
        assert_eq!((row.came.0, row.left.0), (2, 0));
        assert!(row.octets <= 1_280, "{} octets a set", row.octets);
        two.endpoint.remove(two.set);
        let (_, octets) = one.send(&two, Lane::First, b"late").unwrap();
        assert_eq!(two.take(Time::ZERO, one.outside, false, &octets), None);
        assert_eq!(two.endpoint.count(Metric::UnknownSpi), 1);
    }
}

#[test]
fn what_arrives_arrives_once_whatever_the_network_does() {
    for seed in 0..40 {
        let mut random = Random(seed * 1_000);
        let in_udp = seed % 2 == 1;
        let (mut one, mut two) = if in_udp { nat_pair() } else { raw_pair() };
        let (mut air, mut came, mut sent): (Vec<Vec<u8>>, _, _) =
            (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for number in 0..400_u32 {
            let lane = LANES[random.below(2) as usize];
            let (_, octets) = one.send(&two, lane, &number.to_be_bytes()).unwrap();
            match random.below(10) {
                0 => {}                                    // lost
                1 => air.extend([octets.clone(), octets]), // twice
                _ => air.push(octets),
            }
            sent.insert(number);
            while air.len() > random.below(12) as usize {
                let place = random.below(air.len() as u64) as usize;
                let octets = air.swap_remove(place);
                let now = Time::from_millis(number.into());
                if let Some((_, payload)) = two.take(now, one.outside, in_udp, &octets) {
                    let number = u32::from_be_bytes(payload.try_into().unwrap());
                    assert!(came.insert(number), "{number} came twice, seed {seed}");
                }
            }
        }
        assert!(came.is_subset(&sent));
        assert!(came.len() > 300, "{} of 400 came, seed {seed}", came.len());
        let dropped = two.endpoint.count(Metric::Replayed);
        assert!(dropped > 0 && two.endpoint.count(Metric::Forged) == 0);
    }
}

#[test]
fn a_peer_whose_nat_moves_is_followed_by_what_it_sends_and_not_by_what_is_sent_again() {
    let (mut phone, mut proxy) = nat_pair();
    let (_, first) = phone.send(&proxy, Lane::First, b"one").unwrap();
    let before = phone.outside;
    assert!(proxy.take(Time::ZERO, before, true, &first).is_some());
    phone.outside = "198.51.100.9:52000".parse().unwrap();
    let (_, second) = phone.send(&proxy, Lane::First, b"two").unwrap();
    let (arrived, _) = proxy.take(Time::ZERO, phone.outside, true, &second).unwrap();
    assert_eq!(arrived.moved_from, Some(before));
    for lane in LANES {
        let (flow, _) = proxy.send(&phone, lane, b"back").unwrap();
        assert_eq!((flow.port, flow.remote), (IN_UDP, phone.outside));
    }
    let elsewhere = "203.0.113.66:9".parse().unwrap();
    assert_eq!(proxy.take(Time::ZERO, elsewhere, true, &second), None);
    assert_eq!(proxy.endpoint.path(proxy.set).unwrap().remote, phone.outside);
    assert_eq!(proxy.endpoint.count(Metric::Moved), 1);
}

#[test]
fn a_peer_that_moves_there_and_back_by_another_lane_is_followed_back() {
    let (mut phone, mut proxy) = nat_pair();
    let home = phone.outside;
    let away: SocketAddr = "198.51.100.9:52000".parse().unwrap();
    for (lane, from) in [(Lane::First, home), (Lane::First, away), (Lane::Second, home)] {
        phone.outside = from;
        let (_, octets) = phone.send(&proxy, lane, b"here").unwrap();
        assert!(proxy.take(Time::ZERO, from, true, &octets).is_some());
        assert_eq!(proxy.endpoint.path(proxy.set).unwrap().remote, from, "{lane:?}");
    }
    let (flow, _) = proxy.send(&phone, Lane::Second, b"reply").unwrap();
    assert_eq!(flow.remote, home);
}
