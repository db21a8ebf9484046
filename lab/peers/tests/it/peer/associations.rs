//! Set-up, data and the end, in both roles.

use super::{Field, Pair, Place, fresh_port, parameters};
use crate::node::{LIMIT, Node, OUR_PORT, capture, pattern, sum_of};
use peers::GUEST_ADDRESSES;
use sctp::{In, Indication, Lost, Outgoing};
use std::net::IpAddr;
use std::time::Duration;

const PPID: u32 = 4_242;

pub fn messages_of_all_sizes_come_back_from_the_peer_in_order(field: &impl Field) {
    for mut pair in Pair::both(field, parameters(), "-o echo -o quiet") {
        assert!(pair.hear("up").starts_with("up 10 10 "), "as many streams as we asked for");
        let sizes = [1, 3, 100, 1_000, 1_424, 1_452, 1_500, 5_000, 9_000];
        let sent: Vec<Vec<u8>> = (0..400).map(|n| pattern(n, sizes[n % sizes.len()])).collect();
        for (n, message) in sent.iter().enumerate() {
            let outgoing = Outgoing::new(n as u16 % 3, PPID, message.clone().into());
            pair.node.send(pair.id, &outgoing);
            if n % 50 == 0 {
                pair.node.run(|it| it.messages().count() + 100 >= n);
            }
        }
        pair.node.run(|it| it.messages().count() >= sent.len());
        for stream in 0..3 {
            let got = pair.node.messages().filter(|it| it.stream == stream);
            let expected = sent.iter().enumerate().filter(|(n, _)| *n as u16 % 3 == stream);
            assert!(got.map(|it| &it.payload[..]).eq(expected.map(|(_, it)| &it[..])), "{stream}");
        }
        assert!(pair.node.messages().all(|it| it.ppid == PPID && !it.is_unordered));
        pair.end();
    }
}

pub fn what_the_peer_sends_arrives_and_it_ends_in_order(field: &impl Field) {
    for mut pair in Pair::both(field, parameters(), "") {
        pair.ask("send 1 4243 o 500 1300", "ok send");
        pair.ask("send 2 4244 u 20 3000", "ok send");
        pair.ask("send 3 4245 i 1 10", "ok send");
        pair.peer.say("shutdown").unwrap();
        pair.node.run(|it| it.was_told(&Indication::ShutdownComplete));
        let ordered = pair.node.messages().filter(|it| it.stream == 1 && it.ppid == 4_243);
        let expected: Vec<Vec<u8>> = (0..500).map(|n| pattern(n, 1_300)).collect();
        assert!(ordered.map(|it| &it.payload[..]).eq(expected.iter().map(|it| &it[..])));
        let unordered: Vec<_> = pair.node.messages().filter(|it| it.is_unordered).collect();
        assert!(unordered.iter().all(|it| it.stream == 2 && it.payload.len() == 3_000));
        assert_eq!(unordered.len(), 20);
        let last = pair.node.messages().find(|it| it.stream == 3 && it.ppid == 4_245);
        assert_eq!(last.unwrap().payload, pattern(0, 10));
        pair.hear("shutdown-complete");
        capture::check(&pair.node.passed);
    }
}

pub fn megabytes_pass_both_ways_at_once_with_one_packet_of_forty_lost(field: &impl Field) {
    const MESSAGES: usize = 2_000;
    const LENGTH: usize = 2_000;
    let mut pair = Pair::ours(field, parameters(), "-o quiet");
    for wire in 0..2 {
        pair.node.wire(wire).loses_one_of = Some(40);
    }
    pair.peer.say(&format!("send 0 4242 o {MESSAGES} {LENGTH}")).unwrap();
    let sent: Vec<Vec<u8>> = (0..MESSAGES).map(|n| pattern(n + 1, LENGTH)).collect();
    for message in &sent {
        pair.node.send(pair.id, &Outgoing::new(0, PPID, message.clone().into()));
        pair.node.turn();
    }
    pair.node.run(|it| it.messages().count() == MESSAGES);
    let expected: Vec<Vec<u8>> = (0..MESSAGES).map(|n| pattern(n, LENGTH)).collect();
    assert_eq!(
        sum_of(pair.node.messages().map(|it| &it.payload[..])),
        sum_of(expected.iter().map(|it| &it[..]))
    );
    let id = pair.id;
    pair.node.run(|it| it.endpoint.status(id).is_some_and(|it| it.unacknowledged == 0));
    let octets = MESSAGES * LENGTH;
    let sum = sum_of(sent.iter().map(|it| &it[..]));
    pair.hear("ok send");
    // What is acknowledged may not have been read yet.
    let all = format!("sum {MESSAGES} {octets} {sum:016x}");
    for _ in 0..50 {
        pair.peer.forget();
        if pair.ask("sum", "sum ").starts_with(&format!("sum {MESSAGES} ")) {
            break;
        }
        pair.node.wait(Duration::from_millis(50));
    }
    pair.hear(&all);
    pair.end();
}

pub fn an_abort_of_either_side_ends_it_at_once(field: &impl Field) {
    for mut pair in Pair::both(field, parameters(), "") {
        pair.node.step(In::Abort(pair.id, "enough".into()));
        let line = pair.hear("lost");
        assert!(line.ends_with(" 12"), "User-Initiated Abort: {line}");
        capture::check(&pair.node.passed);
    }
    for mut pair in Pair::both(field, parameters(), "") {
        pair.peer.say("abort").unwrap();
        let aborted = Indication::CommunicationLost(Lost::PeerAborted(12));
        pair.node.run(|it| it.was_told(&aborted));
        capture::check(&pair.node.passed);
    }
}

pub fn a_restart_of_ours_is_noticed_and_the_association_goes_on(field: &impl Field) {
    let mut pair = Pair::ours(field, parameters(), "");
    let port = pair.node.endpoint.status(pair.id).unwrap().peer_port;
    pair.node.restart();
    let peer = GUEST_ADDRESSES.map(|it| (IpAddr::from(it), 0).into());
    pair.id = pair.node.associate_with(&peer, port);
    pair.node.run_until_up(pair.id);
    pair.hear("restart");
    pair.node.send(pair.id, &Outgoing::new(0, PPID, pattern(5, 100).into()));
    pair.hear("data 0 0 4242 0 100 ");
    pair.end();
}

pub fn a_port_where_nobody_listens_refuses_on_both_sides(field: &impl Field) {
    let Place { wires, start } = field.place();
    let mut node = Node::on(wires, 2, parameters(), false);
    let mut other = start(&format!("-l -p {} -b {}", fresh_port(), GUEST_ADDRESSES[0]));
    other.hear("listening", LIMIT).unwrap();
    let to = [(IpAddr::from(GUEST_ADDRESSES[0]), 0).into()];
    node.associate_with(&to, fresh_port());
    let refused =
        |it: &(_, Indication)| matches!(it.1, Indication::CommunicationLost(Lost::PeerAborted(_)));
    node.run(|it| it.told.iter().any(refused));
    drop(other);
    let (from, to) = (GUEST_ADDRESSES[0], node.wire(0).address);
    let mut peer = start(&format!("-p {} -b {from} -r {OUR_PORT} -c {to}", fresh_port()));
    let is_refused =
        |it: &String| it.starts_with("error connect") || it.starts_with("cannot-start");
    node.run(|_| peer.heard().iter().any(is_refused));
    capture::check(&node.passed);
}
