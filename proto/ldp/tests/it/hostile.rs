//! Hellos that somebody on the link forges, and messages that are to cost a speaker its time.

use crate::net::{Net, SECOND, settings};
use crate::sessions::{hello, open, played_with};
use ldp::codec::{Body, Fec, LabelBody, MessageType, Prefix, write_pdus};
use ldp::{Discard, In, LdpId, Limits, NextHop, Out, SessionState, Settings, Speaker};
use machine::{Machine, Time};
use std::net::{IpAddr, Ipv4Addr};

/// A speaker whose session with a neighbour that the test plays stands.
fn standing() -> (Speaker, ldp::ConnectionId) {
    standing_with(settings(0))
}

fn standing_with(settings: Settings) -> (Speaker, ldp::ConnectionId) {
    let (mut speaker, connection, mut out) = played_with(settings);
    let stands = [Body::Initialization(open()).write(1), Body::KeepAlive.write(2)];
    let octets = write_pdus(Net::id(1), &stands, 4_096);
    speaker.step(Time::ZERO, In::Octets(connection, octets), &mut out);
    assert!(out.contains(&Out::Session(Net::id(1), true)));
    (speaker, connection)
}

fn from(source: Ipv4Addr, mut input: In) -> In {
    if let In::Datagram { source: it, .. } = &mut input {
        *it = source.into();
    }
    input
}

/// The interface by which strangers come.
const ELSEWHERE: u32 = 2;

/// A session of a peer by another interface, which the test plays as well.
fn by_elsewhere(speaker: &mut Speaker, peer: LdpId, transport: Ipv4Addr) -> ldp::ConnectionId {
    let mut out = Vec::new();
    let settings = ldp::InterfaceSettings {
        index: ELSEWHERE,
        is_ipv4: true,
        is_ipv6: false,
        addresses: vec![Ipv4Addr::new(203, 0, 113, 1).into()],
    };
    speaker.step(Time::ZERO, In::InterfaceUp(settings), &mut out);
    let mut heard = from(transport, hello(peer, 255, |it| it.ipv4 = Some(transport)));
    if let In::Datagram { interface, .. } = &mut heard {
        *interface = ELSEWHERE;
    }
    speaker.step(Time::ZERO, heard, &mut out);
    let connection = ldp::ConnectionId { number: 77, is_own: false };
    speaker.step(Time::ZERO, In::Accepted(connection, transport.into()), &mut out);
    let stands = [Body::Initialization(open()).write(1), Body::KeepAlive.write(2)];
    let octets = write_pdus(peer, &stands, 4_096);
    speaker.step(Time::ZERO, In::Octets(connection, octets), &mut out);
    assert!(out.contains(&Out::Session(peer, true)), "{out:?}");
    connection
}

/// A peer says something in its session.
fn say(speaker: &mut Speaker, peer: LdpId, by: ldp::ConnectionId, said: &[Body]) -> Vec<Out> {
    let mut out = Vec::new();
    let messages: Vec<Vec<u8>> = said.iter().map(|it| it.write(9)).collect();
    let octets = write_pdus(peer, &messages, 4_096);
    speaker.step(Time::ZERO, In::Octets(by, octets), &mut out);
    out
}

fn mapping(prefix: Prefix, label: u32) -> Body {
    let (fecs, label) = (vec![Fec::Prefix(prefix)], Some(label));
    Body::Label(MessageType::LabelMapping, LabelBody { fecs, label, ..LabelBody::default() })
}

/// The labels of the ways of what was said last of a prefix.
fn labels(out: &[Out]) -> Option<Vec<Option<u32>>> {
    out.iter().rev().find_map(|it| match it {
        Out::Forward { hops, .. } => Some(hops.iter().map(|it| it.label).collect()),
        _ => None,
    })
}

#[test]
fn a_peer_says_nothing_of_next_hops_of_other_links_and_the_first_of_a_link_counts() {
    let (mut speaker, honest) = standing();
    let stranger = LdpId::of(Ipv4Addr::new(0, 0, 0, 1));
    let hostile = by_elsewhere(&mut speaker, stranger, Ipv4Addr::new(203, 0, 113, 9));
    let prefix = Prefix::new(Ipv4Addr::new(10, 99, 0, 0).into(), 16);
    let gateway = Net::address(0, 1);
    let mut out = Vec::new();
    let route = In::Route(prefix, vec![NextHop { interface: 1, gateway }]);
    speaker.step(Time::ZERO, route, &mut out);
    let said = [Body::Address(vec![gateway]), mapping(prefix, 666)];
    let out = say(&mut speaker, stranger, hostile, &said);
    assert_eq!(labels(&out), None, "nothing changes");
    let said = [Body::Address(vec![gateway]), mapping(prefix, 500)];
    let out = say(&mut speaker, Net::id(1), honest, &said);
    assert_eq!(labels(&out), Some(vec![Some(500)]));
    let again = [mapping(prefix, 667)];
    assert_eq!(labels(&say(&mut speaker, stranger, hostile, &again)), None);
    // On its own link as well whoever said an address first has it.
    let heard = from(
        Ipv4Addr::new(10, 0, 0, 99),
        hello(stranger, 255, |it| {
            it.ipv4 = Some(Ipv4Addr::new(203, 0, 113, 9));
        }),
    );
    let mut out = Vec::new();
    speaker.step(Time::ZERO, heard, &mut out);
    assert_eq!(labels(&out), Some(vec![Some(667)]), "it is on the link, and said it first");
    let gone = [Body::AddressWithdraw(vec![gateway])];
    assert_eq!(labels(&say(&mut speaker, stranger, hostile, &gone)), Some(vec![Some(500)]));
    let again = [Body::Address(vec![gateway])];
    assert_eq!(labels(&say(&mut speaker, stranger, hostile, &again)), None);
}

#[test]
fn a_forged_hello_makes_no_session_end_earlier() {
    let (mut speaker, _) = standing();
    let mut out = Vec::new();
    speaker.step(Time::ZERO, hello(Net::id(1), 255, |it| it.common.hold_s = 1), &mut out);
    for second in 1..=5 {
        speaker.tick(Time::ZERO + SECOND * second, &mut out);
    }
    let all: Vec<_> = speaker.sessions().collect();
    assert_eq!(all, [(Net::id(1), SessionState::Operational)]);
    speaker.tick(Time::ZERO + SECOND * 6, &mut out);
    assert_eq!(speaker.sessions().count(), 0, "the true one was silent for its time");
}

#[test]
fn a_place_has_one_peer_and_hellos_of_others_there_make_no_sessions() {
    let (mut speaker, _) = standing();
    let mut out = Vec::new();
    for number in 0..1_000 {
        let other = LdpId::of(Ipv4Addr::from(0x0B00_0000 + number));
        speaker.step(Time::ZERO, hello(other, 255, |_| {}), &mut out);
    }
    assert_eq!(speaker.sessions().count(), 1);
    assert_eq!(speaker.discarded(Discard::Identifier), 1_000);
    assert!(!out.iter().any(|it| matches!(it, Out::Close(_))));
}

#[test]
fn who_had_a_hop_limit_of_255_is_held_to_it_whatever_a_packet_says() {
    let (mut speaker, _) = standing();
    let transport: IpAddr = Net::router(1).into();
    let mut out = Vec::new();
    assert!(speaker.has_gtsm(transport));
    speaker.step(Time::ZERO, hello(Net::id(1), 64, |it| it.common.has_gtsm = false), &mut out);
    assert_eq!(speaker.discarded(Discard::HopLimit), 1);
    speaker.step(Time::ZERO, hello(Net::id(1), 255, |it| it.common.has_gtsm = false), &mut out);
    let elsewhere = hello(Net::id(1), 64, |it| it.common.has_gtsm = false);
    speaker.step(Time::ZERO, from(Ipv4Addr::new(10, 0, 0, 99), elsewhere), &mut out);
    assert!(speaker.has_gtsm(transport));
}

#[test]
fn a_forged_hello_holds_nobody_to_a_hop_limit_of_255() {
    let (mut speaker, mut out) = (Speaker::new(settings(0)).unwrap(), Vec::new());
    let interface = ldp::InterfaceSettings {
        index: 1,
        is_ipv4: true,
        is_ipv6: false,
        addresses: vec![Net::address(0, 0)],
    };
    speaker.step(Time::ZERO, In::InterfaceUp(interface), &mut out);
    let own = |hops| hello(Net::id(1), hops, |it| it.common.has_gtsm = false);
    speaker.step(Time::ZERO, own(1), &mut out);
    // From its own address, and from another one of the link.
    speaker.step(Time::ZERO, hello(Net::id(1), 255, |_| {}), &mut out);
    let elsewhere = hello(Net::id(1), 255, |_| {});
    speaker.step(Time::ZERO, from(Ipv4Addr::new(10, 0, 0, 99), elsewhere), &mut out);
    assert!(!speaker.has_gtsm(Net::router(1).into()));
    speaker.step(Time::ZERO + SECOND * 5, own(1), &mut out);
    assert_eq!(speaker.discarded(Discard::HopLimit), 0, "it is heard as before");
}

#[test]
fn a_peers_sessions_end_where_it_said_first_and_nobody_elses_do() {
    let (mut speaker, _) = standing();
    let (mut out, source) = (Vec::new(), Ipv4Addr::new(10, 0, 0, 99));
    let stranger = Ipv4Addr::new(10, 0, 0, 66);
    let of_peer = hello(Net::id(1), 255, |it| it.ipv4 = Some(stranger));
    speaker.step(Time::ZERO, from(source, of_peer), &mut out);
    let other = hello(LdpId::of(stranger), 255, |it| it.ipv4 = Some(Net::router(1)));
    speaker.step(Time::ZERO, from(source, other), &mut out);
    assert_eq!(speaker.discarded(Discard::Transport), 2);
    let connection = ldp::ConnectionId { number: 9, is_own: false };
    speaker.step(Time::ZERO, In::Accepted(connection, stranger.into()), &mut out);
    assert!(out.contains(&Out::Close(connection)));
    assert_eq!(speaker.sessions().count(), 1);
}

#[test]
fn one_host_of_a_link_is_so_many_neighbours_and_no_more() {
    let (mut speaker, _) = standing();
    let mut out = Vec::new();
    for number in 0..1_000 {
        let transport = Ipv4Addr::from(0x0C00_0000 + number);
        let heard = hello(LdpId::of(transport), 255, |it| it.ipv4 = Some(transport));
        speaker.step(Time::ZERO, from(transport, heard), &mut out);
    }
    assert_eq!((speaker.sessions().count(), speaker.adjacencies().count()), (64, 64));
    assert_eq!(speaker.discarded(Discard::Adjacencies), 937);
    let other = LdpId::of(Ipv4Addr::new(13, 0, 0, 1));
    by_elsewhere(&mut speaker, other, Ipv4Addr::new(203, 0, 113, 9));
}

#[test]
fn labels_of_all_peers_are_bounded_and_one_has_what_is_left_for_others() {
    let limits = Limits { bindings_of_all: 100, ..Limits::default() };
    let (mut speaker, first) = standing_with(Settings { limits, ..settings(0) });
    let second = LdpId::of(Ipv4Addr::new(13, 0, 0, 1));
    let other = by_elsewhere(&mut speaker, second, Ipv4Addr::new(203, 0, 113, 9));
    let prefix = |number: u32| Prefix::new(Ipv4Addr::from(0x0B00_0000 + (number << 8)).into(), 24);
    let many: Vec<Body> = (0..80).map(|number| mapping(prefix(number), 100 + number)).collect();
    say(&mut speaker, Net::id(1), first, &many);
    say(&mut speaker, second, other, &many);
    let count = |speaker: &Speaker, peer| speaker.remote(peer).len();
    assert_eq!([count(&speaker, Net::id(1)), count(&speaker, second)], [50, 25]);
    assert_eq!(speaker.discarded(Discard::Bindings), 30 + 55);
    let all = LabelBody { fecs: vec![Fec::Wildcard], ..LabelBody::default() };
    let gone = [Body::Label(MessageType::LabelWithdraw, all)];
    say(&mut speaker, Net::id(1), first, &gone);
    say(&mut speaker, second, other, &many);
    assert_eq!([count(&speaker, Net::id(1)), count(&speaker, second)], [0, 50]);
    let mut out = Vec::new();
    speaker.step(Time::ZERO, In::Closed(other), &mut out);
    say(&mut speaker, Net::id(1), first, &many);
    assert_eq!(count(&speaker, Net::id(1)), 50, "what a session had is free");
}

#[test]
fn addresses_that_come_and_go_in_one_breath_change_nothing() {
    let (mut speaker, connection) = standing();
    let mut out = Vec::new();
    let gateway = Net::address(0, 1);
    for number in 0..100 {
        let prefix = Prefix::new(Ipv4Addr::from(0x0B00_0000 + (number << 8)).into(), 24);
        let hops = vec![NextHop { interface: 1, gateway }];
        speaker.step(Time::ZERO, In::Route(prefix, hops), &mut out);
        let (fecs, label) = (vec![Fec::Prefix(prefix)], Some(1_000 + number));
        let said = LabelBody { fecs, label, ..LabelBody::default() };
        let message = Body::Label(MessageType::LabelMapping, said).write(number);
        let octets = write_pdus(Net::id(1), &[message], 4_096);
        speaker.step(Time::ZERO, In::Octets(connection, octets), &mut out);
    }
    let mut forwards = |messages: &[Vec<u8>]| {
        let mut out = Vec::new();
        let octets = write_pdus(Net::id(1), messages, 4_096);
        speaker.step(Time::ZERO, In::Octets(connection, octets), &mut out);
        let of = out
            .iter()
            .filter(|it| matches!(it, Out::Forward { hops, .. } if hops[0].label.is_some()));
        (of.count(), out.iter().filter(|it| matches!(it, Out::Forward { .. })).count())
    };
    let [comes, goes] = [Body::Address(vec![gateway]), Body::AddressWithdraw(vec![gateway])];
    let [comes, goes] = [comes, goes].map(|it| it.write(7));
    assert_eq!(forwards(std::slice::from_ref(&comes)), (100, 100));
    let often: Vec<Vec<u8>> = vec![[goes.clone(), comes]; 50].concat();
    assert_eq!(forwards(&often), (0, 0));
    assert_eq!(forwards(&[goes]), (0, 100));
}

#[test]
fn labels_are_withdrawn_and_released_by_their_number() {
    let (mut speaker, connection) = standing();
    let mut out = Vec::new();
    let prefix = |number: u32| Prefix::new(Ipv4Addr::from(0x0B00_0000 + (number << 8)).into(), 24);
    let mut say = |speaker: &mut Speaker, kind, fecs: Vec<Fec>, label| {
        let said = LabelBody { fecs, label, ..LabelBody::default() };
        let octets = write_pdus(Net::id(1), &[Body::Label(kind, said).write(9)], 4_096);
        speaker.step(Time::ZERO, In::Octets(connection, octets), &mut out);
    };
    for number in 0..10 {
        let fecs = vec![Fec::Prefix(prefix(number))];
        say(&mut speaker, MessageType::LabelMapping, fecs, Some(100 + number / 5));
    }
    say(&mut speaker, MessageType::LabelWithdraw, vec![Fec::Wildcard], Some(7));
    assert_eq!(speaker.remote(Net::id(1)).len(), 10);
    say(&mut speaker, MessageType::LabelWithdraw, vec![Fec::Wildcard], Some(100));
    assert_eq!(speaker.remote(Net::id(1)).len(), 5);
    // A wildcard is alone in its TLV (RFC 5036 §3.4.1).
    say(&mut speaker, MessageType::LabelWithdraw, vec![Fec::Wildcard; 2], None);
    assert_eq!(speaker.discarded(Discard::Malformed), 1);
    assert!(out.iter().any(|it| matches!(it, Out::Close(_))));
}

/// A connection of the neighbour, by which its session begins; what is said.
fn begins(speaker: &mut Speaker, now: Time, number: u32) -> Vec<Out> {
    let (connection, mut out) = (ldp::ConnectionId { number, is_own: false }, Vec::new());
    speaker.step(now, hello(Net::id(1), 255, |_| {}), &mut out);
    speaker.step(now, In::Accepted(connection, Net::router(1).into()), &mut out);
    let stands = [Body::Initialization(open()).write(1), Body::KeepAlive.write(2)];
    let octets = write_pdus(Net::id(1), &stands, 4_096);
    speaker.step(now, In::Octets(connection, octets), &mut out);
    out
}

#[test]
fn a_session_that_comes_and_goes_is_taken_again_more_and_more_seldom() {
    let (mut speaker, mut connection) = standing();
    let mut stood = 0;
    for number in 100..1_100 {
        let now = Time::ZERO + machine::Duration::from_millis(100) * (number - 100);
        let mut out = Vec::new();
        speaker.step(now, In::Closed(connection), &mut out);
        speaker.tick(now, &mut out);
        let out = begins(&mut speaker, now, number);
        let stands = out.contains(&Out::Session(Net::id(1), true));
        stood += u32::from(stands);
        if stands {
            connection = ldp::ConnectionId { number, is_own: false };
        }
    }
    assert!((3..=8).contains(&stood), "{stood} in 100 s");
    let now = Time::ZERO + SECOND * 200;
    let out = begins(&mut speaker, now, 9_000);
    assert!(out.contains(&Out::Session(Net::id(1), true)));
}

#[test]
fn a_hello_of_anybody_takes_no_link_away_from_its_neighbours() {
    let (mut speaker, _) = standing();
    let mut out = Vec::new();
    let now = Time::ZERO + SECOND * 2;
    speaker.tick(now, &mut out);
    assert!(out.contains(&Out::Synchronized(1, true)));
    let transport = Ipv4Addr::new(10, 0, 0, 99);
    let stranger = hello(LdpId::of(transport), 255, |it| it.ipv4 = Some(transport));
    speaker.step(now, from(transport, stranger), &mut out);
    speaker.tick(now + SECOND, &mut out);
    assert_eq!(speaker.sessions().count(), 2);
    assert!(!out.contains(&Out::Synchronized(1, false)));
}

#[test]
fn who_gives_no_label_back_has_no_session_and_labels_are_there_again() {
    let (mut speaker, connection) = standing_with(Settings { labels: (100, 119), ..settings(0) });
    let mut out = Vec::new();
    let gateway = Net::address(0, 1);
    let prefix = |number: u32| Prefix::new(Ipv4Addr::from(0x0B00_0000 + (number << 8)).into(), 24);
    let hops = vec![NextHop { interface: 1, gateway }];
    for number in 0..25 {
        speaker.step(Time::ZERO, In::Route(prefix(number), hops.clone()), &mut out);
    }
    assert_eq!((speaker.bindings().count(), speaker.lacking()), (20, 5));
    for number in 0..4 {
        speaker.step(Time::ZERO, In::NoRoute(prefix(number)), &mut out);
    }
    assert_eq!((speaker.lacking(), speaker.discarded(Discard::Owed)), (5, 0), "it has them yet");
    assert_eq!(speaker.deadline(), Some(Time::ZERO + SECOND), "it settles first");
    // One comes back within its time, and the others have theirs from then on.
    let released =
        LabelBody { fecs: vec![Fec::Wildcard], label: Some(100), ..LabelBody::default() };
    say(&mut speaker, Net::id(1), connection, &[Body::Label(MessageType::LabelRelease, released)]);
    assert_eq!((speaker.lacking(), speaker.discarded(Discard::Owed)), (4, 0));
    let number = 4..6;
    for number in number {
        speaker.step(Time::ZERO, In::NoRoute(prefix(number)), &mut out);
    }
    assert_eq!((speaker.lacking(), speaker.discarded(Discard::Owed)), (0, 1), "too many");
    assert!(out.contains(&Out::Session(Net::id(1), false)));
}

#[test]
fn who_gives_a_label_back_too_late_has_no_session() {
    let (mut speaker, connection) = standing();
    let mut out = Vec::new();
    let gateway = Net::address(0, 1);
    let prefix = Prefix::new(Ipv4Addr::new(10, 99, 0, 0).into(), 16);
    let hops = vec![NextHop { interface: 1, gateway }];
    speaker.step(Time::ZERO, In::Route(prefix, hops), &mut out);
    speaker.step(Time::ZERO, In::NoRoute(prefix), &mut out);
    for second in 1..=300 {
        let now = Time::ZERO + SECOND * second;
        assert_eq!(speaker.discarded(Discard::Owed), 0, "{second}");
        speaker.step(now, hello(Net::id(1), 255, |_| {}), &mut out);
        let alive = write_pdus(Net::id(1), &[Body::KeepAlive.write(9)], 4_096);
        speaker.step(now, In::Octets(connection, alive), &mut out);
        speaker.tick(now, &mut out);
    }
    assert_eq!(speaker.discarded(Discard::Owed), 1);
}
