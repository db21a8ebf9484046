//! A neighbour that says a lot and answers nothing.

use crate::net::{Net, SECOND};
use machine::{Machine as _, Time};
use ospf::lsa::{self, External, Header, Key, LsaType, MAX_AGE, MAX_SEQUENCE, Network, Router};
use ospf::packet::{Body, Description, Head, Hello, PacketType, Writer};
use ospf::{
    ALL_SPF_ROUTERS, Authentication, Discard, In, Limits, LinkType, NeighbourState, Out, Settings,
};
use std::net::Ipv4Addr;

/// Three routers in a row, of whom the first is mute: what it says, the test says.
struct Mute {
    net: Net,
}

impl Mute {
    fn of(settings: Settings) -> Self {
        let mut net = Net::new(8, 3);
        net.link(LinkType::PointToPoint, 0, &[(0, 1), (1, 1)]);
        net.link(LinkType::PointToPoint, 0, &[(1, 1), (2, 1)]);
        net.start_with(1, settings);
        net.start(2);
        net.keeps_packets = true;
        net.run(SECOND * 10);
        Self { net }
    }

    fn new() -> Self {
        Self::of(Net::settings(1))
    }

    fn say(&mut self, writer: Writer) {
        let octets = writer.finish(&Authentication::Null, 0).unwrap();
        let (source, destination) = (Net::address(0, 0), ALL_SPF_ROUTERS);
        self.net.step(1, In::Packet { interface: 0, source, destination, octets });
    }

    fn writer(kind: PacketType) -> Writer {
        Writer::new(kind, Net::id(0).into(), 0)
    }

    fn hello(&mut self) {
        let none = Ipv4Addr::UNSPECIFIED;
        let (mask, interval_s, options, priority, dead_s) = (0xFFFF_FF00, 1, 2, 1, 4);
        let (designated, backup, neighbours) = (none, none, vec![Net::id(1).into()]);
        self.say(Self::writer(PacketType::Hello).hello(&Hello {
            mask,
            interval_s,
            options,
            priority,
            dead_s,
            designated,
            backup,
            neighbours,
        }));
    }

    /// Time passes, and hellos go on.
    fn live(&mut self, seconds: u32) {
        for _ in 0..seconds {
            self.hello();
            self.net.run(SECOND);
        }
    }

    /// Answers the last description with those headers.
    fn describe(&mut self, headers: Vec<Header>) {
        let mut theirs = self.net.sent.iter().rev().filter(|it| it.0 == Net::address(0, 1));
        let found = theirs.find_map(|it| {
            let (head, packet) = Head::read(&it.2).unwrap();
            match Body::read(head.kind, packet).unwrap() {
                Body::Description(description) => Some(description.sequence),
                _ => None,
            }
        });
        let (mtu, options, flags, sequence) = (1_500, 0x42, 0, found.unwrap());
        let description = Description { mtu, options, flags, sequence, headers };
        self.say(Self::writer(PacketType::Description).description(&description));
    }

    /// Begins an adjacency, and describes those headers.
    fn begin(&mut self, headers: Vec<Header>) {
        self.hello();
        self.describe(Vec::new());
        self.describe(headers);
    }

    fn flood(&mut self, key: Key, sequence: i32, body: &[u8]) {
        let octets = lsa::make(key, 2, sequence, body).unwrap();
        self.say(Self::writer(PacketType::Update).update(&[(0, &octets)]));
    }

    fn state(&self) -> NeighbourState {
        self.net.at(1).neighbours(0)[0].2
    }

    /// LSAs of a type in the middle, and those of them that are dead.
    fn held(&self, kind: LsaType) -> (usize, usize) {
        let all = self.net.at(1).headers(0, self.net.now);
        let of = all.iter().filter(|it| it.key.kind == kind);
        (of.clone().count(), of.filter(|it| it.age == MAX_AGE).count())
    }

    /// Updates that the middle sent to the mute one.
    fn updates(&self) -> usize {
        let theirs = self.net.sent.iter().filter(|it| it.0 == Net::address(0, 1));
        theirs.filter(|it| it.2[1] == PacketType::Update.number()).count()
    }
}

fn router_key(router: usize) -> Key {
    let id = Net::id(router).into();
    Key { kind: LsaType::Router, id, router: id }
}

fn outside(number: u32) -> (Key, Vec<u8>) {
    let forward = Ipv4Addr::UNSPECIFIED;
    let external = External { mask: u32::MAX, is_type2: true, metric: 1, forward, tag: 0 };
    let router = Net::id(1).into();
    (Key { kind: LsaType::External, id: 0x0B00_0000 + number, router }, external.write())
}

#[test]
fn what_is_said_in_a_routers_name_without_end_is_answered_once_an_interval() {
    let mut mute = Mute::new();
    mute.begin(Vec::new());
    assert_eq!(mute.state(), NeighbourState::Full);
    mute.live(5);
    for number in 0..1_000 {
        let (key, body) = outside(number);
        mute.flood(key, 5, &body);
    }
    assert_eq!(mute.held(LsaType::External), (1_000, 1), "the first is taken back at once");
    mute.live(2);
    assert_eq!(mute.held(LsaType::External), (1_000, 1_000), "all others an interval later");
    assert_eq!(mute.net.at(1).counts().fought_back, 1_000);
}

#[test]
fn nobody_waits_for_who_acknowledges_nothing() {
    let mut mute = Mute::new();
    mute.begin(Vec::new());
    for number in 0..3_000 {
        let (key, body) = outside(number);
        mute.flood(key, 5, &body);
    }
    mute.live(20);
    assert_eq!(
        (mute.held(LsaType::External), mute.state()),
        ((3_000, 3_000), NeighbourState::Full)
    );
    mute.live(10);
    assert_eq!((mute.held(LsaType::External).0, mute.state()), (0, NeighbourState::Full));
    assert!(mute.net.at(1).discarded(Discard::Unanswered) > 0);
}

#[test]
fn what_is_sent_again_is_sent_at_a_pace() {
    let mut mute = Mute::new();
    mute.begin(Vec::new());
    for number in 0..5_000 {
        let (key, body) = outside(number);
        mute.flood(key, 5, &body);
    }
    mute.live(3);
    let (mut most, mut all) = (0, 0);
    let end = mute.net.now + SECOND * 3;
    let Some(instance) = &mut mute.net.routers[1] else { panic!("it runs") };
    while let Some(at) = instance.deadline().filter(|at| *at < end) {
        let mut out = Vec::new();
        instance.tick(at, &mut out);
        let sizes = out.iter().map(|it| match it {
            Out::Send { interface: 0, octets, .. } => octets.len(),
            _ => 0,
        });
        let octets: usize = sizes.sum();
        (most, all) = (most.max(octets), all + octets);
    }
    assert!(most < 80_000, "{most} at once");
    assert!(all > 2 * 5_000 * 36, "{all}: each of them twice and more");
}

/// A header of an LSA that nobody will ever send.
fn missing(number: u32) -> Header {
    let body = Network { mask: 0xFFFF_FF00, routers: vec![7] }.write();
    let key = Key { kind: LsaType::Network, id: 0x0A63_0000 + number, router: 0x0909_0909 };
    let octets = lsa::make(key, 2, 1, &body).unwrap();
    Header::read(&mut wire::Cursor::new(&octets, 0, "")).unwrap()
}

#[test]
fn an_lsa_that_never_comes_keeps_nobody_from_being_adjacent() {
    let mut mute = Mute::new();
    mute.begin(vec![missing(1)]);
    mute.live(10);
    assert_eq!(mute.state(), NeighbourState::Loading);
    mute.live(5);
    assert_eq!(mute.state(), NeighbourState::Full);
    assert_eq!(mute.net.at(1).discarded(Discard::Unanswered), 1);
}

#[test]
fn a_neighbour_that_loads_without_end_keeps_no_lsa_from_beginning_anew() {
    let mut mute = Mute::new();
    mute.begin((0..70).map(missing).collect());
    assert_eq!(mute.state(), NeighbourState::Loading);
    let body = Router::default().write();
    mute.flood(router_key(1), MAX_SEQUENCE, &body);
    mute.live(60);
    let (all, dead) = mute.held(LsaType::Router);
    assert_eq!((all, dead), (2, 0), "its own LSA lives again");
    assert!(mute.net.at(2).routes().any(|(prefix, _)| *prefix == Net::prefix(0)));
}

#[test]
fn the_same_asked_for_many_times_is_sent_once() {
    let mut mute = Mute::new();
    mute.begin(Vec::new());
    mute.live(5);
    let before = mute.updates();
    mute.say(Mute::writer(PacketType::Request).request(&[router_key(2); 100]));
    assert_eq!(mute.updates() - before, 1);
    mute.live(2);
    let before = mute.updates();
    // Older ones, of which a newer one goes back.
    for _ in 0..50 {
        mute.flood(router_key(2), lsa::INITIAL_SEQUENCE, &Router::default().write());
    }
    assert_eq!(mute.updates() - before, 1);
}

#[test]
fn one_neighbour_leaves_half_of_the_database_to_others_whoever_it_names() {
    let limits = Limits { lsas: 100, ..Limits::default() };
    let mut mute = Mute::of(Settings { limits, ..Net::settings(1) });
    mute.begin(Vec::new());
    let body = Network { mask: 0xFFFF_FF00, routers: vec![7] }.write();
    let key = |router: u32| Key { kind: LsaType::Network, id: 0x0A63_0001, router };
    for router in 0..500 {
        mute.flood(key(0x0900_0000 + router), 1, &body);
    }
    let (held, _) = mute.held(LsaType::Network);
    assert!((45..=50).contains(&held), "{held}");
    // The true neighbour's are taken.
    let octets = lsa::make(key(0x0800_0000), 2, 1, &body).unwrap();
    let writer = Writer::new(PacketType::Update, Net::id(2).into(), 0).update(&[(0, &octets)]);
    let octets = writer.finish(&Authentication::Null, 0).unwrap();
    let (source, destination) = (Net::address(1, 1), ALL_SPF_ROUTERS);
    mute.net.step(1, In::Packet { interface: 1, source, destination, octets });
    assert!(mute.net.at(1).body(0, key(0x0800_0000)).is_some());
    // What is there already is followed on.
    mute.net.run(SECOND * 2);
    mute.flood(key(0x0900_0000), 2, &body);
    let now = mute.net.now;
    let held = mute.net.at(1).headers(0, now);
    assert!(held.iter().any(|it| it.key == key(0x0900_0000) && it.sequence == 2));
    assert_ne!(now, Time::ZERO);
}

#[test]
fn who_describes_more_than_there_is_room_for_leaves_half_to_others_and_is_not_full() {
    let limits = Limits { lsas: 100, ..Limits::default() };
    let mut mute = Mute::of(Settings { limits, ..Net::settings(1) });
    mute.net.links[1].is_up = false;
    mute.net.run(SECOND * 10);
    let prefix = ospf::Prefix::new(Ipv4Addr::new(203, 0, 113, 0).into(), 24);
    let external = ospf::Redistributed { metric: 1, is_type2: true, tag: 0 };
    mute.net.step(2, In::Redistribute(prefix, external));
    mute.begin((0..100).map(missing).collect());
    assert!(mute.net.at(1).discarded(Discard::DatabaseFull) >= 50);
    mute.net.links[1].is_up = true;
    mute.live(10);
    assert_eq!(mute.net.full(1), 2);
    let known = mute.net.at(1).routes().any(|(it, _)| *it == prefix);
    assert!(known, "whoever is full has told what it has");
    mute.live(60);
    assert_ne!(mute.state(), NeighbourState::Full);
}
