//! I-DATA, stream reset, partial reliability, authentication, address changes.

use super::{Field, Pair, parameters};
use crate::node::{pattern, sum_of};
use peers::GUEST_ADDRESSES;
use sctp::codec::ChunkTypes;
use sctp::{
    AddressChange, AddressRequest, Answer, Failure, In, Indication, Outgoing, Parameters,
    Reconfiguration, Reliability, Request, Scheduler,
};
use std::net::IpAddr;
use std::time::Duration;

const PPID: u32 = 4_242;
const DATA: u8 = 0;
const AUTH: u8 = 15;
const I_DATA: u8 = 64;
const FORWARD_TSN: u8 = 192;
/// Behind the IP header and the common header.
const FIRST_CHUNK: usize = 32;

fn with(change: impl FnOnce(&mut Parameters)) -> Parameters {
    let mut parameters = parameters();
    change(&mut parameters);
    parameters
}

/// Packets of one side.
fn sent(pair: &Pair, is_ours: bool) -> impl Iterator<Item = &Vec<u8>> {
    let from_guest =
        |it: &&Vec<u8>| GUEST_ADDRESSES.iter().any(|guest| it[12..16] == guest.octets());
    pair.node.passed.iter().filter(move |it| from_guest(it) != is_ours)
}

/// Types of the chunks of a packet.
fn chunks(packet: &[u8]) -> Vec<u8> {
    let (mut at, mut types) = (FIRST_CHUNK, Vec::new());
    while let Some(head) = packet.get(at..at + 4) {
        types.push(head[0]);
        at += usize::from(u16::from_be_bytes([head[2], head[3]])).next_multiple_of(4);
    }
    types
}

/// Packets of one side with a chunk of that type.
fn count(pair: &Pair, kind: u8, is_ours: bool) -> usize {
    sent(pair, is_ours).filter(|it| chunks(it).contains(&kind)).count()
}

fn interleaved() -> Parameters {
    with(|it| it.extensions.interleaving = true)
}

pub fn i_data_that_fits_a_packet_passes_both_ways(field: &impl Field) {
    let whole = Parameters { split_from_bytes: None, ..interleaved() };
    for mut pair in Pair::both(field, whole, "-o idata") {
        let id = pair.id;
        assert!(pair.node.endpoint.status(id).unwrap().is_interleaved);
        for n in 0..50 {
            let mut outgoing = Outgoing::new(n % 3, PPID, pattern(n.into(), 1_000).into());
            outgoing.is_unordered = n % 5 == 4;
            pair.node.send(id, &outgoing);
        }
        for n in 0..50 {
            let sum = sum_of([&pattern(n, 1_000)[..]].into_iter());
            pair.hear_of(&format!(" 1000 {sum:016x}"));
        }
        pair.ask("send 1 4242 o 20 1400", "ok send");
        pair.ask("send 2 4242 u 20 100", "ok send");
        pair.node.run(|it| it.messages().count() == 40);
        let ordered = pair.node.messages().filter(|it| !it.is_unordered);
        let expected: Vec<Vec<u8>> = (0..20).map(|n| pattern(n, 1_400)).collect();
        assert!(ordered.map(|it| &it.payload[..]).eq(expected.iter().map(|it| &it[..])));
        for is_ours in [true, false] {
            assert_eq!(count(&pair, DATA, is_ours), 0);
            assert!(count(&pair, I_DATA, is_ours) > 0);
        }
        pair.end();
    }
}

pub fn by_i_data_a_short_message_passes_a_long_one_of_another_stream(field: &impl Field) {
    for mut pair in Pair::both(field, interleaved(), "-o idata") {
        let id = pair.id;
        assert!(pair.node.endpoint.status(id).unwrap().is_interleaved);
        pair.node.step(In::SetScheduler(id, Scheduler::RoundRobin));
        pair.node.step(In::Send(id, Outgoing::new(0, PPID, pattern(0, 100_000).into())));
        pair.node.step(In::Send(id, Outgoing::new(1, PPID, pattern(1, 10).into())));
        let mut unordered = Outgoing::new(2, PPID, pattern(2, 50_000).into());
        unordered.is_unordered = true;
        pair.node.step(In::Send(id, unordered));
        for (stream, n, length) in [(0, 0, 100_000), (1, 1, 10), (2, 2, 50_000)] {
            let line = pair.hear(&format!("data {stream} "));
            let sum = sum_of([&pattern(n, length)[..]].into_iter());
            assert!(line.ends_with(&format!(" {length} {sum:016x}")), "{line}");
        }
        let at = |stream: &str| pair.peer.heard().iter().position(|it| it.starts_with(stream));
        let mut at = at;
        assert!(at("data 1 ") < at("data 0 "), "the short one came first");
        assert!(count(&pair, I_DATA, true) > 0 && count(&pair, DATA, true) == 0);
        pair.end();
    }
}

pub fn i_data_of_the_peer_is_put_together(field: &impl Field) {
    for mut pair in Pair::both(field, interleaved(), "-o idata") {
        for (stream, kind) in [(0, "o"), (1, "o"), (2, "u"), (1, "u")] {
            pair.peer.say(&format!("send {stream} 4242 {kind} 5 60000")).unwrap();
        }
        pair.node.run(|it| it.messages().count() == 20);
        for (stream, is_unordered) in [(0, false), (1, false), (2, true), (1, true)] {
            let these =
                |it: &&sctp::Message| (it.stream, it.is_unordered) == (stream, is_unordered);
            let got = pair.node.messages().filter(these).map(|it| &it.payload[..]);
            let expected: Vec<Vec<u8>> = (0..5).map(|n| pattern(n, 60_000)).collect();
            assert!(got.eq(expected.iter().map(|it| &it[..])), "{stream} {is_unordered}");
        }
        assert!(count(&pair, I_DATA, false) > 0 && count(&pair, DATA, false) == 0);
        pair.end();
    }
}

fn changed(what: Reconfiguration) -> Indication {
    Indication::Reconfigured(what)
}

pub fn streams_are_reset_at_our_wish(field: &impl Field) {
    for mut pair in Pair::both(field, parameters(), "-o reset") {
        let id = pair.id;
        for n in 0..3 {
            pair.node.send(id, &Outgoing::new(1, PPID, pattern(n, 10).into()));
        }
        pair.hear("data 1 2 4242");
        pair.node.step(In::Reconfigure(id, Request::ResetOutgoing(vec![1])));
        pair.node.run(|it| it.was_told(&changed(Reconfiguration::OutgoingReset(vec![1]))));
        assert_eq!(pair.hear("reset"), "reset 0x1 1", "its incoming stream 1");
        pair.peer.forget();
        pair.node.send(id, &Outgoing::new(1, PPID, pattern(3, 10).into()));
        pair.hear("data 1 0 4242");
        pair.ask("send 2 4242 o 2 10", "ok send");
        pair.node.step(In::Reconfigure(id, Request::ResetIncoming(vec![2])));
        pair.node.run(|it| it.was_told(&changed(Reconfiguration::IncomingReset(vec![2]))));
        // Until it has our answer the peer takes nothing for that stream.
        pair.hear("reset 0x2 2");
        pair.ask("send 2 4242 o 2 10", "ok send");
        pair.node.run(|it| it.messages().count() == 4);
        pair.end();
    }
}

pub fn streams_are_reset_and_added_and_everything_begins_anew_at_the_wish_of_the_peer(
    field: &impl Field,
) {
    for mut pair in Pair::both(field, parameters(), "-o reset -o streams=10") {
        let id = pair.id;
        pair.ask("send 1 4242 o 3 10", "ok send");
        pair.node.run(|it| it.messages().count() == 3);
        pair.ask("reset out 1", "ok reset");
        pair.node.run(|it| it.was_told(&changed(Reconfiguration::IncomingReset(vec![1]))));
        pair.hear("reset 0x2 1");
        pair.ask("send 1 4242 o 3 10", "ok send");
        pair.node.run(|it| it.messages().count() == 6);
        pair.node.send(id, &Outgoing::new(3, PPID, pattern(0, 10).into()));
        pair.hear("data 3 0");
        pair.ask("reset in 3", "ok reset");
        pair.node.run(|it| it.was_told(&changed(Reconfiguration::OutgoingReset(vec![3]))));
        pair.ask("streams 0 2", "ok streams");
        pair.node.run(|it| {
            let count = it.endpoint.status(id).unwrap().streams.1;
            it.was_told(&changed(Reconfiguration::IncomingStreams(count))) && count == 12
        });
        pair.hear("streams 0");
        pair.ask("send 11 4242 o 1 10", "ok send");
        pair.node.run(|it| it.messages().any(|it| it.stream == 11));
        // Not before all is acknowledged.
        pair.node.wait(Duration::from_millis(300));
        pair.ask("reset-association", "ok reset-association");
        pair.node.run(|it| it.was_told(&changed(Reconfiguration::AssociationReset)));
        pair.hear("association-reset");
        pair.peer.forget();
        pair.node.send(id, &Outgoing::new(3, PPID, pattern(0, 10).into()));
        pair.hear("data 3 0");
        pair.ask("send 1 4242 o 1 10", "ok send");
        pair.node.run(|it| it.messages().count() == 8);
        pair.end();
    }
}

fn cut(pair: &mut Pair, is_cut: bool) {
    for wire in 0..2 {
        pair.node.wire(wire).is_cut = is_cut;
    }
}

pub fn messages_of_ours_whose_time_is_over_are_skipped(field: &impl Field) {
    for options in ["", "-o idata"] {
        let mut pair = Pair::ours(field, interleaved(), options);
        let id = pair.id;
        pair.node.send(id, &Outgoing::new(0, PPID, pattern(0, 100).into()));
        pair.hear("data 0 0");
        cut(&mut pair, true);
        for n in 1..=20 {
            let mut outgoing = Outgoing::new(0, PPID, pattern(n, 100).into());
            outgoing.reliability = match n % 2 {
                0 => Reliability::Until(pair.node.now() + Duration::from_millis(150)),
                _ => Reliability::Retransmissions(0),
            };
            outgoing.context = n as u64;
            pair.node.send(id, &outgoing);
            pair.node.turn();
        }
        pair.node.wait(Duration::from_millis(700));
        cut(&mut pair, false);
        pair.node.send(id, &Outgoing::new(0, PPID, pattern(21, 200).into()));
        let line = pair.hear("data 0 ");
        assert!(line.starts_with("data 0 0"), "{line}");
        pair.node.run(|_| pair.peer.heard().iter().any(|it| it.contains(" 4242 0 200 ")));
        let failed = |it: &(_, Indication)| {
            matches!(it.1, Indication::SendFailure(_, Failure::Abandoned | Failure::Unsent))
        };
        assert_eq!(pair.node.told.iter().filter(|it| failed(it)).count(), 20);
        let came = pair.peer.heard().iter().filter(|it| it.starts_with("data")).count();
        assert_eq!(came, 2, "the first and the last: {:?}", pair.peer.heard());
        let kind = if options.is_empty() { FORWARD_TSN } else { 194 };
        assert!(count(&pair, kind, true) > 0, "a FORWARD-TSN went out");
        pair.end();
    }
}

pub fn messages_of_the_peer_whose_time_is_over_are_skipped(field: &impl Field) {
    for options in ["", "-o idata"] {
        let mut pair = Pair::theirs(field, interleaved(), options);
        pair.ask("send 0 4242 o 1 100", "ok send");
        pair.node.run(|it| it.messages().count() == 1);
        cut(&mut pair, true);
        pair.peer.forget();
        pair.ask("send 0 4242 t150 10 100", "ok send");
        pair.peer.forget();
        pair.ask("send 0 4242 r0 10 100", "ok send");
        pair.node.wait(Duration::from_millis(700));
        cut(&mut pair, false);
        pair.peer.forget();
        pair.ask("send 0 4242 o 1 200", "ok send");
        pair.node.run(|it| it.messages().any(|it| it.payload.len() == 200));
        assert!(pair.node.messages().count() < 22, "something was given up");
        let forward = if options.is_empty() { FORWARD_TSN } else { 194 };
        assert!(count(&pair, forward, false) > 0, "a FORWARD-TSN came in");
        pair.end();
    }
}

fn authenticated() -> Parameters {
    with(|it| {
        it.extensions.authentication = true;
        it.extensions.authenticated = ChunkTypes::NONE.with(DATA);
    })
}

pub fn data_is_authenticated_both_ways_with_keys_that_change(field: &impl Field) {
    for mut pair in Pair::both(field, authenticated(), "-o auth -o chunk=0 -o echo") {
        let id = pair.id;
        pair.node.send(id, &Outgoing::new(0, PPID, pattern(0, 100).into()));
        pair.node.run(|it| it.messages().count() == 1);
        pair.ask("key 7 secret", "ok key");
        pair.node.step(In::SetSharedKey(id, 7, "secret".into()));
        pair.node.step(In::UseSharedKey(id, 7));
        pair.ask("use-key 7", "ok use-key");
        pair.node.send(id, &Outgoing::new(0, PPID, pattern(1, 100).into()));
        pair.node.run(|it| it.messages().count() == 2);
        assert_eq!(pair.node.messages().last().unwrap().payload, pattern(1, 100));
        for is_ours in [true, false] {
            let (mut bare, mut authenticated) = (0, 0);
            for packet in sent(&pair, is_ours).map(|it| chunks(it)) {
                let at = |kind| packet.iter().position(|it| *it == kind);
                let Some(data) = at(DATA) else { continue };
                let is_authenticated = at(AUTH).is_some_and(|auth| auth < data);
                bare += usize::from(!is_authenticated);
                authenticated += usize::from(is_authenticated);
            }
            assert!(bare == 0 && authenticated >= 2, "{bare} {authenticated}");
        }
        // What is authenticated by another key is not taken.
        pair.ask("key 8 one", "ok key");
        pair.node.step(In::SetSharedKey(id, 8, "other".into()));
        pair.node.step(In::UseSharedKey(id, 8));
        pair.hear("data 0 1 4242");
        pair.peer.forget();
        pair.node.send(id, &Outgoing::new(0, PPID, pattern(2, 100).into()));
        pair.node.wait(Duration::from_millis(300));
        assert!(pair.peer.heard().iter().all(|it| !it.starts_with("data")));
        pair.node.step(In::UseSharedKey(id, 7));
        pair.hear("data 0 2 4242");
        pair.end();
    }
}

fn movable() -> Parameters {
    with(|it| it.extensions.address_reconfiguration = true)
}

pub fn the_peer_takes_our_address_changes(field: &impl Field) {
    let mut pair = Pair::ours_from(field, 1, movable(), "-o auth -o asconf -o echo");
    let id = pair.id;
    let [first, second] = [0, 1].map(|wire| IpAddr::from(pair.node.wire(wire).address));
    let requests = [
        (AddressRequest::Add(second), format!("path {second} added")),
        (AddressRequest::SetPrimary(second), format!("path {second} made-primary")),
        (AddressRequest::Delete(first), format!("path {first} removed")),
    ];
    for (request, line) in requests {
        pair.node.step(In::ChangeAddress(id, request));
        let performed = Indication::AddressAnswer(request, Answer::Performed);
        pair.node.run(|it| {
            it.told
                .iter()
                .any(|(_, it)| matches!(it, Indication::AddressAnswer(of, _) if *of == request))
        });
        assert!(pair.node.was_told(&performed), "{request:?}: {:?}", pair.node.ends_of_told());
        pair.hear(&line);
        if request == AddressRequest::Add(second) {
            pair.node.use_address(second);
            pair.hear(&format!("path {second} confirmed"));
        }
    }
    pair.node.wire(0).is_cut = true;
    pair.node.step(In::SetPrimary(id, GUEST_ADDRESSES[1].into()));
    pair.node.send(id, &Outgoing::new(0, PPID, pattern(0, 100).into()));
    pair.node.run(|it| it.messages().count() == 1);
    pair.end();
}

pub fn we_take_the_address_changes_of_the_peer(field: &impl Field) {
    let mut pair = Pair::theirs_from(field, 1, movable(), "-o auth -o asconf");
    let [first, second] = GUEST_ADDRESSES;
    let told =
        |address: std::net::Ipv4Addr, change| Indication::PeerAddress(address.into(), change);
    // usrsctp tells nobody of an address that comes while it is still setting up.
    pair.node.wait(Duration::from_millis(300));
    pair.ask(&format!("add {second}"), "ok add");
    pair.node.run(|it| it.was_told(&told(second, AddressChange::Added)));
    let id = pair.id;
    pair.node.run(|it| {
        let paths = it.endpoint.status(id).unwrap().paths;
        paths.len() == 2 && paths.iter().all(|it| it.state == sctp::PathState::Active)
    });
    pair.ask(&format!("peer-primary {second}"), "ok peer-primary");
    pair.node.run(|it| it.was_told(&told(second, AddressChange::MadePrimary)));
    // Our answer shall have come: usrsctp aborts what comes to an address that it is giving up.
    pair.node.wait(Duration::from_millis(300));
    pair.ask(&format!("del {first}"), "ok del");
    pair.node.run(|it| it.was_told(&told(first, AddressChange::Removed)));
    pair.node.send(id, &Outgoing::new(0, PPID, pattern(0, 100).into()));
    pair.hear("data 0 0 4242 0 100");
    pair.end();
}
