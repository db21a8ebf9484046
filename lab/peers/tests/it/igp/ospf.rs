//! OSPF with FRR's ospfd on one side and BIRD on the other: adjacencies, the same databases, routes
//! through us in both.

use super::daemons::Daemon;
use super::wire::Leaving;
use super::{Place, now, until};
use driver::Clock;
use machine::Machine;
use ospf::lsa::MAX_AGE;
use ospf::packet::{Algorithm, AuthenticationKey};
use ospf::{
    AreaKind, Authentication, Discard, In, Instance, InterfaceSettings, LinkType, NeighbourState,
    Out, Prefix, Redistributed, Route, RouteKind, Settings,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

struct Field {
    places: [Place; 2],
    instance: Instance,
    clock: Clock,
    routes: BTreeMap<Prefix, Route>,
}

fn frr() -> Daemon {
    Daemon::Frr("ospfd", String::new())
}

fn bird() -> Daemon {
    Daemon::Bird(String::new())
}

impl Field {
    fn round(&mut self) {
        let mut out = Vec::new();
        for (index, place) in self.places.iter_mut().enumerate() {
            for arrived in place.wire.receive() {
                if arrived.protocol == ospf::PROTOCOL {
                    let packet = In::Packet {
                        interface: index as u32,
                        source: arrived.source,
                        destination: arrived.destination,
                        octets: arrived.payload,
                    };
                    self.instance.step(now(&self.clock), packet, &mut out);
                }
            }
        }
        self.instance.tick(now(&self.clock), &mut out);
        self.take(out);
    }

    fn step(&mut self, input: In) {
        let mut out = Vec::new();
        self.instance.step(now(&self.clock), input, &mut out);
        self.take(out);
    }

    fn take(&mut self, out: Vec<Out>) {
        for out in out {
            match out {
                Out::Send { interface, destination, octets } => {
                    let leaving =
                        Leaving { destination, protocol: ospf::PROTOCOL, ttl: 1, payload: &octets };
                    self.places[interface as usize].wire.send(&leaving);
                }
                Out::Route(prefix, route) => drop(self.routes.insert(prefix, route)),
                Out::Withdraw(prefix) => drop(self.routes.remove(&prefix)),
                Out::Neighbour { .. } | Out::Interface { .. } => {}
            }
        }
    }

    fn is_full(&self, interface: u32) -> bool {
        let neighbours = self.instance.neighbours(interface);
        neighbours.len() == 1 && neighbours[0].2 == NeighbourState::Full
    }

    /// Sequence numbers and checksums of all live LSAs here.
    fn database(&self) -> BTreeSet<(u32, u16)> {
        let headers = self.instance.headers(0, now(&self.clock));
        let live = headers.iter().filter(|it| it.age < MAX_AGE);
        live.map(|it| (it.sequence.cast_unsigned(), it.checksum)).collect()
    }

    /// The same as FRR prints them: `0x80000001 0xabcd` in columns 4 and 5.
    fn of_frr(&self) -> BTreeSet<(u32, u16)> {
        let text = self.places[0].ask(&frr(), "show ip ospf database");
        let number = |word: &str| u32::from_str_radix(word.strip_prefix("0x")?, 16).ok();
        let row = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let sum = u16::try_from(number(words.get(4)?)?).ok()?;
            Some((number(words.get(3)?)?, sum))
        };
        text.lines().filter_map(row).collect()
    }

    /// The same as BIRD prints them: sequence number and checksum in columns 3 and 5.
    fn of_bird(&self) -> BTreeSet<(u32, u16)> {
        let text = self.places[1].ask(&bird(), "show ospf lsadb");
        let number = |word: &str| u32::from_str_radix(word, 16).ok();
        let row = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let sequence = words.get(3).filter(|it| it.len() == 8)?;
            let sum = u16::try_from(number(words.get(5)?)?).ok()?;
            Some((number(sequence)?, sum))
        };
        text.lines().filter_map(row).collect()
    }

    /// Whether a peer's kernel sends packets to a prefix to us.
    fn leads_here(&self, place: usize, prefix: &str) -> bool {
        let place = &self.places[place];
        let said = place.there.ip(&["route", "show", prefix]).unwrap_or_default();
        said.contains(&format!("via {}", place.wire.address))
    }

    fn metric(&self, place: usize, prefix: &str) -> String {
        self.places[place].there.ip(&["route", "show", prefix]).unwrap_or_default()
    }
}

fn prefix(octets: [u8; 4], length: u8) -> Prefix {
    Prefix::new(u32::from_be_bytes(octets), length)
}

fn interface(
    place: &Place,
    index: u32,
    link: LinkType,
    key: AuthenticationKey,
) -> InterfaceSettings {
    InterfaceSettings {
        link,
        hello_s: 1,
        dead_s: 4,
        retransmit_s: 2,
        authentication: Authentication::cryptographic(vec![key]).unwrap(),
        ..InterfaceSettings::new(index, 0, place.wire.address, 24)
    }
}

fn start(link: LinkType, net: u8) -> Field {
    let mut places = [Place::new(net), Place::new(net + 1)];
    for (place, last) in places.iter().zip([1, 2]) {
        let own = format!("10.77.{net}.{last}/32");
        place.there.ip(&["address", "add", &own, "dev", "lo"]).unwrap();
    }
    let kind = if link == LinkType::Broadcast { "broadcast" } else { "point-to-point" };
    let configuration = format!(
        "log stdout errors\ninterface far\n ip ospf hello-interval 1\n ip ospf dead-interval 4\n\
        \x20ip ospf network {kind}\n ip ospf authentication message-digest\n\
        \x20ip ospf message-digest-key 1 md5 secret\n ip ospf cost 7\nexit\n\
        router ospf\n ospf router-id 10.255.0.2\n capability opaque\n\
        \x20network 10.{net}.0.0/24 area 0\n\
        \x20network 10.77.{net}.1/32 area 0\n redistribute static\nexit\n"
    );
    places[0].start(&Daemon::zebra());
    places[0].start(&Daemon::Frr("ospfd", configuration));
    let kind = if link == LinkType::Broadcast { "broadcast" } else { "ptp" };
    let configuration = format!(
        "log stderr all;\nrouter id 10.255.0.3;\nprotocol device {{ scan time 1; }}\n\
        protocol kernel {{ ipv4 {{ export all; }}; }}\n\
        protocol static {{ ipv4; route 198.51.100.0/24 blackhole; }}\n\
        protocol ospf v2 {{ ipv4 {{ import all; export where source = RTS_STATIC; }}; area 0 {{ \
        interface \"far\" {{ type {kind}; hello 1; dead count 4; cost 9; \
        authentication cryptographic; password \"key\" {{ id 5; algorithm hmac sha256; }}; }}; \
        interface \"lo\" {{ stub yes; }}; }}; }}\n"
    );
    places[1].start(&Daemon::Bird(configuration));
    let clock = Clock::start();
    let mut instance = Instance::new(Settings::new(Ipv4Addr::new(10, 255, 0, 1)), now(&clock));
    instance.add_area(0, AreaKind::Normal);
    let md5 = AuthenticationKey::new(1, Algorithm::Md5, b"secret").unwrap();
    let sha = AuthenticationKey::new(5, Algorithm::HmacSha256, b"key").unwrap();
    assert!(instance.add_interface(interface(&places[0], 0, link, md5)));
    assert!(instance.add_interface(interface(&places[1], 1, link, sha)));
    let mut field = Field { places, instance, clock, routes: BTreeMap::new() };
    field.step(In::InterfaceUp(0));
    field.step(In::InterfaceUp(1));
    field
}

fn together(link: LinkType, net: u8) {
    let mut field = start(link, net);
    let external = Redistributed { metric: 33, is_type2: true, tag: 5 };
    field.step(In::Redistribute(prefix([203, 0, 113, 0], 24), external));
    let full = |field: &mut Field| field.is_full(0) && field.is_full(1);
    until("both are full", &mut field, Field::round, full);
    let same = |field: &mut Field| {
        let own = field.database();
        own.len() >= 5 && own == field.of_frr() && own == field.of_bird()
    };
    until("three databases are the same", &mut field, Field::round, same);
    let (one, two) = (format!("10.77.{net}.1"), format!("10.77.{net}.2"));
    let there = |field: &mut Field| {
        field.leads_here(0, &two)
            && field.leads_here(1, &one)
            && field.leads_here(0, "203.0.113.0/24")
            && field.leads_here(1, "203.0.113.0/24")
            && field.leads_here(0, "198.51.100.0/24")
    };
    until("each reaches the other through us", &mut field, Field::round, there);
    // Our own run may wait longer than theirs (RFC 8405).
    let own = [prefix([10, 77, net, 1], 32), prefix([10, 77, net, 2], 32)];
    let outside = prefix([198, 51, 100, 0], 24);
    let known = |field: &mut Field| {
        own.iter().chain([&outside]).all(|prefix| field.routes.contains_key(prefix))
    };
    until("we have the routes", &mut field, Field::round, known);
    assert!(field.metric(0, &two).contains("metric"), "{}", field.metric(0, &two));
    for (prefix, index) in own.iter().zip([0, 1]) {
        let route = &field.routes[prefix];
        assert_eq!(route.kind, RouteKind::IntraArea);
        let gateway = Ipv4Addr::new(10, net + index, 0, 2);
        let hop = route.hops[0];
        assert_eq!((hop.interface, hop.gateway), (u32::from(index), Some(gateway)), "{route:?}");
    }
    assert_eq!(field.routes[&outside].kind, RouteKind::External2);
    for why in Discard::ALL.iter().filter(|why| **why != Discard::Sequence) {
        let count = field.instance.discarded(*why);
        // Before the peer's first hello, and while a designated router is elected, packets may
        // come early.
        assert!(count <= 5, "{}: {count}", why.name());
    }
    // One side is cut off: the other loses its way there, and has it again.
    field.places[1].wire.is_cut = true;
    let lost =
        |field: &mut Field| !field.leads_here(0, &two) && !field.routes.contains_key(&own[1]);
    until("it is lost, here and there", &mut field, Field::round, lost);
    field.places[1].wire.is_cut = false;
    until("it is there again", &mut field, Field::round, there);
    until("and databases are the same again", &mut field, Field::round, same);
}

#[test]
fn with_frr_and_bird_on_links_of_two() {
    together(LinkType::PointToPoint, 51);
}

#[test]
fn with_frr_and_bird_on_networks() {
    together(LinkType::Broadcast, 53);
}
