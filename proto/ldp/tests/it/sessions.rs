//! Neighbours are found and lost, sessions stand and end, with what is said of it.

use crate::net::{Net, SECOND, settings};
use ldp::codec::{
    Body, CommonHello, HelloBody, Initialization, Notification, Pdu, StatusCode, write_message,
    write_pdus,
};
use ldp::{
    BadSetting, ConnectionId, Discard, In, InterfaceSettings, LdpId, Out, SessionState, Settings,
    Speaker,
};
use machine::{Duration, Machine, Time};
use std::net::{IpAddr, Ipv4Addr};

fn pair() -> Net {
    let mut net = Net::new(3, 2);
    net.link(0, 1);
    net.start(0);
    net.start(1);
    net.route_all();
    net.run(SECOND * 10);
    net
}

#[test]
fn two_that_hear_each_other_have_one_session_made_by_the_greater_address() {
    let net = pair();
    net.check("two");
    assert_eq!(net.state(0, 1), Some(SessionState::Operational));
    let connects = |of: usize| net.told[of].iter().filter(|it| matches!(it, Out::Connect { .. }));
    assert_eq!((connects(0).count(), connects(1).count()), (0, 1));
}

#[test]
fn a_link_that_is_cut_ends_the_session_and_it_comes_back() {
    let mut net = pair();
    net.links[0].1 = false;
    net.run(SECOND * 20);
    assert_eq!(net.state(0, 1), None);
    assert!(!net.synchronized.contains(&(0, 0)));
    net.links[0].1 = true;
    net.run(SECOND * 30);
    net.check("again");
}

#[test]
fn hours_of_silence_are_filled_with_keepalives() {
    let mut net = pair();
    let before = net.told[0].iter().filter(|it| matches!(it, Out::Session(..))).count();
    net.run(SECOND * 3_600);
    net.check("an hour later");
    let after = net.told[0].iter().filter(|it| matches!(it, Out::Session(..))).count();
    assert_eq!(before, after);
}

#[test]
fn targets_have_sessions_across_others() {
    let mut net = Net::new(3, 3);
    net.link(0, 1);
    net.link(1, 2);
    (0..3).for_each(|it| net.start(it));
    for (one, two) in [(0, 2), (2, 0)] {
        net.step(one, In::Target(Net::router(two).into()));
    }
    net.route_all();
    net.run(SECOND * 20);
    net.check("three");
    assert_eq!(net.state(0, 2), Some(SessionState::Operational));
    net.step(0, In::TargetGone(Net::router(2).into()));
    net.run(SECOND);
    assert_eq!(net.state(0, 2), None);
}

/// A speaker with a neighbour that the test plays: its address is greater, so that it connects.
pub fn played() -> (Speaker, ConnectionId, Vec<Out>) {
    played_with(settings(0))
}

pub fn played_with(settings: Settings) -> (Speaker, ConnectionId, Vec<Out>) {
    let mut speaker = Speaker::new(settings).unwrap();
    let mut out = Vec::new();
    let interface = InterfaceSettings {
        index: 1,
        is_ipv4: true,
        is_ipv6: false,
        addresses: vec![Net::address(0, 0)],
    };
    speaker.step(Time::ZERO, In::InterfaceUp(interface), &mut out);
    speaker.step(Time::ZERO, hello(Net::id(1), 255, |_| {}), &mut out);
    let connection = ConnectionId { number: 1, is_own: false };
    speaker.step(Time::ZERO, In::Accepted(connection, Net::router(1).into()), &mut out);
    out.clear();
    (speaker, connection, out)
}

pub fn hello(sender: LdpId, hop_limit: u8, change: impl Fn(&mut HelloBody)) -> In {
    let common = CommonHello { hold_s: 15, has_gtsm: true, ..CommonHello::default() };
    let mut body = HelloBody { common, ipv4: Some(sender.router), ..HelloBody::default() };
    change(&mut body);
    let octets = write_pdus(sender, &[Body::Hello(body).write(1)], 4_096);
    let (interface, source) = (1, Net::address(0, 1));
    In::Datagram { interface, source, is_multicast: true, hop_limit, octets }
}

pub fn open() -> Initialization {
    Initialization {
        keepalive_s: 30,
        is_on_demand: false,
        detects_loops: false,
        pdu_octets: 0,
        receiver: Net::id(0),
        fault_tolerance: None,
        is_dynamic: false,
    }
}

/// Codes of the notifications among what was written.
fn codes(out: &[Out]) -> Vec<u32> {
    let mut found = Vec::new();
    for out in out {
        let Out::Write(_, octets) = out else { continue };
        let mut rest = &octets[..];
        while let Some(length) = ldp::codec::pdu_octets(rest, 4_096).unwrap() {
            let pdu = Pdu::read(&rest[..length]).unwrap();
            for message in &pdu.messages {
                if let Some(Body::Notification(it)) = Body::read(message).unwrap() {
                    found.push(it.code);
                }
            }
            rest = &rest[length..];
        }
    }
    found
}

#[test]
fn what_a_peer_does_wrong_is_answered_with_its_code() {
    let pdu = |messages: &[Vec<u8>]| write_pdus(Net::id(1), messages, 4_096);
    let init = |change: &dyn Fn(&mut Initialization)| {
        let mut said = open();
        change(&mut said);
        pdu(&[Body::Initialization(said).write(1)])
    };
    let stands = [Body::Initialization(open()).write(1), Body::KeepAlive.write(2)].concat();
    let after = |message: Vec<u8>| pdu(&[stands.clone(), message]);
    let mut version = init(&|_| {});
    version[1] = 7;
    let stranger = write_pdus(Net::id(5), &[Body::KeepAlive.write(1)], 4_096);
    let other = [after(Body::KeepAlive.write(3)), stranger.clone()].concat();
    let rows: Vec<(Vec<u8>, StatusCode)> = vec![
        (version, StatusCode::BadPduLength),
        (stranger, StatusCode::NoHello),
        (init(&|it| it.receiver = Net::id(7)), StatusCode::NoHello),
        (init(&|it| it.keepalive_s = 0), StatusCode::BadKeepAlive),
        (pdu(&[Body::KeepAlive.write(1)]), StatusCode::Shutdown),
        (after(vec![0x07, 0x77, 0, 4, 0, 0, 0, 9]), StatusCode::UnknownMessage),
        (
            after(write_message(ldp::codec::MessageType::LabelMapping, 9, &[1, 0, 0, 9])),
            StatusCode::MalformedTlv,
        ),
        (after(Body::Initialization(open()).write(5)), StatusCode::Shutdown),
        (other, StatusCode::BadLdpIdentifier),
    ];
    for (octets, code) in rows {
        let (mut speaker, connection, mut out) = played();
        speaker.step(Time::ZERO, In::Octets(connection, octets), &mut out);
        assert_eq!(codes(&out), [code.number()], "{}", code.name());
        let closes = out.iter().any(|it| matches!(it, Out::Close(_)));
        assert_eq!(closes, code.is_fatal(), "{}", code.name());
    }
    // Who knows that it may not be known is not told.
    let (mut speaker, connection, mut out) = played();
    let octets = after(vec![0x87, 0x77, 0, 4, 0, 0, 0, 9]);
    speaker.step(Time::ZERO, In::Octets(connection, octets), &mut out);
    assert!(codes(&out).is_empty());
    assert_eq!(speaker.discarded(Discard::UnknownMessage), 1);
}

#[test]
fn a_peer_that_falls_silent_is_told_so_and_one_that_ends_is_not() {
    let (mut speaker, connection, mut out) = played();
    let stands = [Body::Initialization(open()).write(1), Body::KeepAlive.write(2)];
    let octets = write_pdus(Net::id(1), &stands, 4_096);
    speaker.step(Time::ZERO, In::Octets(connection, octets), &mut out);
    assert!(out.contains(&Out::Session(Net::id(1), true)));
    out.clear();
    for second in 1..=30 {
        let now = Time::ZERO + SECOND * second;
        speaker.step(now, hello(Net::id(1), 255, |_| {}), &mut out);
        speaker.tick(now, &mut out);
    }
    assert_eq!(codes(&out), [StatusCode::KeepAliveExpired.number()]);
    let (mut speaker, connection, mut out) = played();
    let ends = Body::Notification(Notification::of(StatusCode::Shutdown, (0, 0))).write(3);
    let octets = write_pdus(Net::id(1), &[stands.concat(), ends], 4_096);
    speaker.step(Time::ZERO, In::Octets(connection, octets), &mut out);
    assert!(codes(&out).is_empty() && out.contains(&Out::Close(connection)));
}

#[test]
fn hellos_that_come_from_elsewhere_are_not_believed() {
    let mut speaker = Speaker::new(settings(0)).unwrap();
    let mut out = Vec::new();
    let interface =
        InterfaceSettings { index: 1, is_ipv4: true, is_ipv6: false, addresses: vec![] };
    speaker.step(Time::ZERO, In::InterfaceUp(interface), &mut out);
    let rows = [
        (hello(Net::id(1), 254, |_| {}), Discard::HopLimit),
        (hello(Net::id(0), 255, |_| {}), Discard::Identifier),
        (hello(LdpId { space: 3, ..Net::id(1) }, 255, |_| {}), Discard::Identifier),
        (hello(Net::id(1), 255, |it| it.common.is_targeted = true), Discard::Target),
        (hello(Net::id(1), 255, |it| it.ipv4 = Some(Ipv4Addr::UNSPECIFIED)), Discard::Transport),
    ];
    for (input, why) in rows {
        let before = speaker.discarded(why);
        speaker.step(Time::ZERO, input, &mut out);
        assert_eq!(speaker.discarded(why), before + 1, "{}", why.name());
    }
    assert_eq!(speaker.sessions().count(), 0);
    let stranger = ConnectionId { number: 9, is_own: false };
    out.clear();
    speaker.step(Time::ZERO, In::Accepted(stranger, IpAddr::V4(Net::router(1))), &mut out);
    assert!(out.contains(&Out::Close(stranger)));
    // Without the bit a hop may lie in between.
    speaker.step(Time::ZERO, hello(Net::id(1), 1, |it| it.common.has_gtsm = false), &mut out);
    assert_eq!(speaker.sessions().count(), 1);
}

#[test]
fn adjacencies_and_connections_are_bounded() {
    let limits = ldp::Limits { adjacencies: 4, connections: 2, ..ldp::Limits::default() };
    let mut speaker = Speaker::new(Settings { limits, ..settings(0) }).unwrap();
    let mut out = Vec::new();
    let interface =
        InterfaceSettings { index: 1, is_ipv4: true, is_ipv6: false, addresses: vec![] };
    speaker.step(Time::ZERO, In::InterfaceUp(interface), &mut out);
    for number in 1..100 {
        let In::Datagram { octets, .. } = hello(Net::id(number), 255, |_| {}) else { return };
        let source = Ipv4Addr::new(10, 0, 0, number as u8 + 1).into();
        let (interface, is_multicast, hop_limit) = (1, true, 255);
        let input = In::Datagram { interface, source, is_multicast, hop_limit, octets };
        speaker.step(Time::ZERO, input, &mut out);
    }
    assert_eq!(speaker.sessions().count(), 4);
    assert_eq!(speaker.discarded(Discard::Adjacencies), 95);
    for number in 0..10 {
        let id = ConnectionId { number, is_own: false };
        speaker.step(Time::ZERO, In::Accepted(id, Net::router(1).into()), &mut out);
    }
    assert_eq!(speaker.discarded(Discard::NoHello), 8);
    speaker.tick(Time::ZERO + Duration::from_secs(16), &mut out);
    assert!(out.iter().filter(|it| matches!(it, Out::Close(_))).count() >= 10);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let refused = |settings: Settings| Speaker::new(settings).err();
    assert_eq!(refused(settings(0)), None);
    let none = Settings { ipv4: None, ..settings(0) };
    assert_eq!(refused(none), Some(BadSetting::Transport));
    assert_eq!(refused(Settings { labels: (3, 99), ..settings(0) }), Some(BadSetting::Labels));
    assert_eq!(refused(Settings { hold_s: 1, ..settings(0) }), Some(BadSetting::Hold));
}

#[test]
fn where_both_families_are_heard_the_session_is_one_of_ipv6() {
    let own = "2001:db8::9".parse().unwrap();
    let mut speaker = Speaker::new(Settings { ipv6: Some(own), ..settings(0) }).unwrap();
    let mut out = Vec::new();
    let (is_ipv4, is_ipv6) = (true, true);
    let interface = InterfaceSettings { index: 1, is_ipv4, is_ipv6, addresses: vec![] };
    speaker.step(Time::ZERO, In::InterfaceUp(interface), &mut out);
    let groups: Vec<IpAddr> = out
        .iter()
        .filter_map(|it| match it {
            Out::Datagram { destination, hop_limit: 255, .. } => Some(*destination),
            _ => None,
        })
        .collect();
    assert_eq!(groups, [IpAddr::V4(ldp::ALL_ROUTERS_IPV4), IpAddr::V6(ldp::ALL_ROUTERS_IPV6)]);
    let peer = "2001:db8::1".parse().unwrap();
    let ipv6 = |hop_limit| {
        let said = hello(Net::id(1), hop_limit, |it| {
            (it.ipv4, it.ipv6, it.common.has_gtsm) = (None, Some(peer), false);
        });
        let In::Datagram { interface, is_multicast, octets, .. } = said else { panic!() };
        let source = "fe80::1".parse().unwrap();
        In::Datagram { interface, source, is_multicast, hop_limit, octets }
    };
    speaker.step(Time::ZERO, ipv6(64), &mut out);
    assert_eq!(speaker.discarded(Discard::HopLimit), 1, "IPv6 always has the bit (RFC 7552 §9)");
    out.clear();
    // Of IPv4 it is the other one that connects, of IPv6 we are.
    speaker.step(Time::ZERO, hello(Net::id(1), 255, |_| {}), &mut out);
    assert!(out.is_empty());
    speaker.step(Time::ZERO, ipv6(255), &mut out);
    let connects = out.iter().find_map(|it| match it {
        Out::Connect { local, remote, .. } => Some((*local, *remote)),
        _ => None,
    });
    assert_eq!(connects, Some((IpAddr::V6(own), IpAddr::V6(peer))));
}
