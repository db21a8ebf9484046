//! LSAs that others say in a router's name, and databases that somebody would like to fill.

use crate::net::{Net, SECOND};
use machine::{Machine, Time};
use ospf::lsa::{self, External, Key, LsaType, MAX_SEQUENCE, Network, Router};
use ospf::packet::{PacketType, Writer};
use ospf::{Authentication, Discard, In, Instance, Limits, LinkType, Settings};
use std::net::Ipv4Addr;

fn pair() -> Net {
    let mut net = Net::new(8, 3);
    net.link(LinkType::PointToPoint, 0, &[(0, 1), (1, 1)]);
    net.link(LinkType::PointToPoint, 0, &[(1, 1), (2, 1)]);
    net.start_all();
    net.run(SECOND * 20);
    net
}

/// Somebody on the first link says an LSA to router 1 in the name of router 0.
fn inject(net: &mut Net, key: Key, sequence: i32, age: u16, body: &[u8]) {
    let octets = lsa::make(key, 2, sequence, body).unwrap();
    let writer = Writer::new(PacketType::Update, Net::id(0).into(), 0);
    let octets = writer.update(&[(age, &octets)]).finish(&Authentication::Null, 0).unwrap();
    let (source, destination) = (Net::address(0, 0), ospf::ALL_SPF_ROUTERS);
    net.step(1, In::Packet { interface: 0, source, destination, octets });
}

fn router_key(router: usize) -> Key {
    let id = Net::id(router).into();
    Key { kind: LsaType::Router, id, router: id }
}

#[test]
fn a_forged_lsa_of_any_router_is_taken_back_by_its_owner_whatever_its_number() {
    for (victim, sequence, age) in
        [(1, 100, 0), (2, 100, 0), (1, MAX_SEQUENCE, 0), (2, MAX_SEQUENCE, 0), (2, 100, 3_600)]
    {
        let mut net = pair();
        let empty = Router::default().write();
        inject(&mut net, router_key(victim), sequence, age, &empty);
        net.run(SECOND * 30);
        net.check(&format!("victim {victim}, number {sequence}"));
        assert!(net.at(victim).counts().fought_back > 0);
    }
}

#[test]
fn an_lsa_that_its_owner_never_said_is_flushed() {
    let mut net = pair();
    let body = Network { mask: 0xFFFF_FF00, routers: vec![1, 2] }.write();
    let id = u32::from_be_bytes([10, 99, 0, 1]);
    let forged = Key { kind: LsaType::Network, id, router: Net::id(2).into() };
    inject(&mut net, forged, 5, 0, &body);
    let external = External {
        mask: 0xFF00_0000,
        is_type2: true,
        metric: 1,
        forward: Ipv4Addr::UNSPECIFIED,
        tag: 0,
    };
    let outside = Key { kind: LsaType::External, id: 0x0B00_0000, router: Net::id(2).into() };
    inject(&mut net, outside, 5, 0, &external.write());
    net.run(SECOND * 30);
    for router in 0..3 {
        let now = net.now;
        let headers = net.at(router).headers(0, now);
        assert!(headers.iter().all(|it| it.key != forged && it.key != outside), "{router}");
    }
    let now = net.now;
    assert!(net.at(2).counts().fought_back >= 2, "{now:?}");
}

#[test]
fn changes_that_come_too_fast_are_counted_and_others_converge() {
    let mut net = pair();
    let body = |number: u32| Network { mask: 0xFFFF_FF00, routers: vec![number] }.write();
    let key = Key { kind: LsaType::Network, id: 0x0A63_0001, router: 0x0909_0909 };
    let before = net.at(1).discarded(Discard::LsaTooSoon);
    for number in 0..1_000 {
        inject(&mut net, key, number, 0, &body(number as u32));
    }
    assert_eq!(net.at(1).discarded(Discard::LsaTooSoon) - before, 999);
    net.links[1].is_up = false;
    net.run(SECOND * 20);
    net.links[1].is_up = true;
    net.run(SECOND * 20);
    net.check("all the same");
}

#[test]
fn a_database_holds_no_more_than_it_may() {
    let mut net = pair();
    let limits = Limits { lsas_of_router: 10, lsas: 50, ..Limits::default() };
    net.start_with(1, Settings { limits, ..Net::settings(1) });
    net.run(SECOND * 20);
    for router in 0..20 {
        for id in 0..20 {
            let key = Key { kind: LsaType::Network, id, router: 0x0900_0000 + router };
            inject(&mut net, key, 1, 0, &Network { mask: 0, routers: vec![1] }.write());
        }
    }
    let headers = net.at(1).headers(0, net.now);
    assert!(headers.len() <= 50, "{}", headers.len());
    let of_first = headers.iter().filter(|it| it.key.router == 0x0900_0000).count();
    assert_eq!(of_first, 10);
    assert!(net.at(1).discarded(Discard::DatabaseFull) >= 350);
}

#[test]
fn what_is_broken_is_counted_and_the_rest_of_an_update_is_taken() {
    let mut net = pair();
    let key = |id| Key { kind: LsaType::Network, id, router: 0x0909_0909 };
    let body = Network { mask: 0xFFFF_FF00, routers: vec![7] }.write();
    let good = lsa::make(key(1), 2, 1, &body).unwrap();
    let mut broken = lsa::make(key(2), 2, 1, &body).unwrap();
    broken[21] ^= 1;
    let mut unknown = lsa::make(key(3), 2, 1, &body).unwrap();
    unknown[3] = 99;
    let writer = Writer::new(PacketType::Update, Net::id(1).into(), 0);
    let lsas: [(u16, &[u8]); 3] = [(1, &broken), (1, &unknown), (1, &good)];
    let octets = writer.update(&lsas).finish(&Authentication::Null, 0).unwrap();
    let (source, destination) = (Net::address(0, 1), ospf::ALL_SPF_ROUTERS);
    net.step(0, In::Packet { interface: 0, source, destination, octets });
    assert_eq!(net.at(0).discarded(Discard::BadLsa), 2);
    assert!(net.at(0).body(0, key(1)).is_some());
}

#[test]
fn nobody_who_is_no_neighbour_is_heard() {
    let mut instance = Instance::new(Net::settings(0), Time::ZERO);
    instance.add_interface(ospf::InterfaceSettings::new(0, 0, Net::address(0, 0), 24));
    let mut out = Vec::new();
    instance.step(Time::ZERO, In::InterfaceUp(0), &mut out);
    for kind in [PacketType::Request, PacketType::Acknowledgment, PacketType::Description] {
        let writer = Writer::new(kind, 9, 0);
        let writer = if kind == PacketType::Description {
            let (mtu, options, flags, sequence) = (1_500, 2, 7, 1);
            let headers = Vec::new();
            writer.description(&ospf::packet::Description {
                mtu,
                options,
                flags,
                sequence,
                headers,
            })
        } else {
            writer
        };
        let octets = writer.finish(&Authentication::Null, 0).unwrap();
        let (source, destination) = (Net::address(0, 1), ospf::ALL_SPF_ROUTERS);
        let packet = In::Packet { interface: 0, source, destination, octets };
        instance.step(Time::from_millis(1), packet, &mut out);
    }
    assert_eq!(instance.discarded(Discard::NeighbourState), 3);
}
