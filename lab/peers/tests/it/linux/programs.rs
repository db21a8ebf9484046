//! Programs of others over the kernel's SCTP, and its UDP encapsulation.

use super::guest::{LINUX, guest};
use crate::node::malformed::made_by_scapy;
use crate::node::raw::RawSocket;
use crate::node::{Carrier, LIMIT, Node, OUR_PORT, capture, pattern};
use crate::peer::{Field, Pair, fresh_port, parameters};
use peers::{GUEST_ADDRESSES, GUEST_CONTROL, HOST_CONTROL};
use sctp::{In, Indication, Outgoing};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

const PPID: u32 = 4_242;

#[test]
fn socat_over_sctp_is_served_and_serves() {
    let mut node = Node::on(LINUX.place().wires, 1, parameters(), true);
    let port = fresh_port();
    let server =
        guest().talk(&format!("socat SCTP4-LISTEN:{port},bind={} PIPE", GUEST_ADDRESSES[0]));
    let peer = [(IpAddr::from(GUEST_ADDRESSES[0]), 0).into()];
    // It says nothing when it is ready.
    node.wait(Duration::from_secs(1));
    let id = node.associate_with(&peer, port);
    node.run_until_up(id);
    node.send(id, &Outgoing::new(0, 0, "through a pipe".into()));
    node.run(|it| it.messages().any(|it| it.payload == "through a pipe"));
    drop(server);
    let to = node.wire(0).address;
    let mut client = guest().talk(&format!("socat - SCTP4:{to}:{OUR_PORT}")).unwrap();
    client.say("from a terminal").unwrap();
    // socat makes a message of each piece that it reads.
    let said = |it: &Node| it.messages().flat_map(|it| it.payload.to_vec()).collect::<Vec<_>>();
    node.run(|it| said(it).ends_with(b"from a terminal\n"));
    let id = node.told.iter().rev().find(|it| matches!(it.1, Indication::Data(_))).unwrap().0;
    node.send(id, &Outgoing::new(0, 0, "an answer\n".into()));
    node.run(|_| client.heard().iter().any(|it| it == "an answer"));
    capture::check(&node.passed);
}

#[test]
fn sctp_darn_of_lksctp_tools_sends_and_listens() {
    let mut node = Node::on(LINUX.place().wires, 1, parameters(), true);
    let (host, port, to) = (GUEST_ADDRESSES[0], fresh_port(), node.wire(0).address);
    guest().run("checksctp").unwrap();
    let words = format!("sctp_darn -H {host} -P {port} -h {to} -p {OUR_PORT} -s");
    let mut darn = guest().talk(&words).unwrap();
    darn.say("a line").unwrap();
    node.run(|it| it.messages().any(|it| it.payload.starts_with(b"a line")));
    drop(darn);
    let port = fresh_port();
    let _darn = guest().talk(&format!("sctp_darn -H {host} -P {port} -l")).unwrap();
    // It says nothing when it is ready, and keeps what it has to say.
    node.wait(Duration::from_secs(1));
    let id = node.associate_with(&[(IpAddr::from(host), 0).into()], port);
    node.run_until_up(id);
    node.send(id, &Outgoing::new(0, 0, "to darn".into()));
    node.run(|it| it.endpoint.status(id).is_some_and(|it| it.unacknowledged + it.queued == 0));
    node.step(In::Shutdown(id));
    node.run(|it| it.was_told(&Indication::ShutdownComplete));
    capture::check(&node.passed);
}

#[test]
fn encapsulated_in_udp_messages_come_back_too() {
    let inside = || {
        guest().enter().unwrap();
        Node::new(&[HOST_CONTROL.into()], parameters(), false)
    };
    let mut node = std::thread::scope(|scope| scope.spawn(inside).join().unwrap());
    let (ours, port, linux_port) = (node.udp_port(), fresh_port(), fresh_port());
    guest().run(&format!("echo {port} >/proc/sys/net/sctp/udp_port")).unwrap();
    let options = format!("-o encapsulation={ours} -o echo");
    let words = format!("association -l -p {linux_port} -b {GUEST_CONTROL} {options}");
    let mut linux = guest().talk(&words).unwrap();
    linux.hear("listening", LIMIT).unwrap();
    let id = node.associate_with(&[SocketAddr::new(GUEST_CONTROL.into(), port)], linux_port);
    node.run_until_up(id);
    for n in 0..100 {
        node.send(id, &Outgoing::new(0, PPID, pattern(n, 1_400).into()));
    }
    node.run(|it| it.messages().count() == 100);
    node.step(In::Shutdown(id));
    node.run(|it| it.was_told(&Indication::ShutdownComplete));
}

/// Packets that belong to no association, by scapy: RFC 9260 leaves no choice about these, and
/// tests/it/malformed.rs asks us the same.
#[test]
fn the_kernel_too_answers_packets_out_of_the_blue_as_rfc_9260_says() {
    const SOURCE_PORT: u16 = 999;
    let (mut wire, port) = (LINUX.place().wires.remove(0), fresh_port());
    let words = format!("association -l -p {port} -b {}", GUEST_ADDRESSES[0]);
    let mut listener = guest().talk(&words).unwrap();
    listener.hear("listening", LIMIT).unwrap();
    let all = made_by_scapy(1, [SOURCE_PORT, port], 1, 0);
    let blue: Vec<_> = all.iter().filter(|it| it.is_blue()).collect();
    assert!(blue.len() > 10);
    for it in blue {
        let destination = (IpAddr::from(GUEST_ADDRESSES[0]), 0).into();
        let bytes = it.octets.clone();
        let sent = sctp::Transmit { source: None, destination, may_fragment: false, bytes };
        wire.send(wire.address.into(), &sent);
        let until = Instant::now() + Duration::from_millis(300);
        let mut answers = Vec::new();
        while answers.is_empty() && Instant::now() < until {
            answers.extend(wire.receive().into_iter().map(|(packet, _)| packet.bytes.to_vec()));
            std::thread::sleep(Duration::from_millis(1));
        }
        it.expect(&answers);
    }
}

#[test]
fn over_a_raw_socket_of_the_driver_messages_come_back_from_linux() {
    let inside = || {
        guest().enter().unwrap();
        RawSocket::open(HOST_CONTROL.into())
    };
    let socket = std::thread::scope(|scope| scope.spawn(inside).join().unwrap());
    let carrier = Carrier::Raw(Box::new(socket));
    let mut node = Node::over(carrier, vec![HOST_CONTROL.into()], parameters(), false);
    let port = fresh_port();
    let words = format!("association -l -p {port} -b {GUEST_CONTROL} -o echo -o quiet");
    let mut linux = guest().talk(&words).unwrap();
    linux.hear("listening", LIMIT).unwrap();
    let id = node.associate_with(&[(IpAddr::from(GUEST_CONTROL), 0).into()], port);
    node.run_until_up(id);
    for n in 0..200 {
        node.send(id, &Outgoing::new(0, PPID, pattern(n, 10 * n + 1).into()));
    }
    node.run(|it| it.messages().count() == 200);
    let right = |(n, it): (usize, &sctp::Message)| it.payload == pattern(n, 10 * n + 1);
    assert!(node.messages().enumerate().all(right));
    node.step(In::Shutdown(id));
    node.run(|it| it.was_told(&Indication::ShutdownComplete));
}

/// Linux 6.1 counts the fragments of an I-DATA message from 0 behind the first one, which is 0
/// itself (RFC 8260 §2.1): long messages do not pass between it and those that follow the RFC. When
/// this test fails, Linux has mended it, and `by_i_data_…` and `i_data_of_the_peer_…` are for it
/// too.
#[test]
fn linux_gives_two_fragments_of_i_data_the_same_number() {
    const FSN: std::ops::Range<usize> = 48..52;
    const BEGIN: u8 = 2;
    let mut parameters = parameters();
    parameters.extensions.interleaving = true;
    let mut pair = Pair::ours(&LINUX, parameters, "-o idata");
    pair.ask("send 0 4242 o 1 5000", "ok send");
    let is_i_data = |it: &&Vec<u8>| it[32] == 64 && it[12..16] == GUEST_ADDRESSES[0].octets();
    pair.node.run(|it| it.passed.iter().filter(is_i_data).count() >= 3);
    let mut fragments = pair.node.passed.iter().filter(is_i_data);
    assert_eq!(fragments.next().unwrap()[33] & BEGIN, BEGIN);
    let numbers: Vec<&[u8]> = fragments.take(2).map(|it| &it[FSN]).collect();
    assert_eq!(numbers, [[0, 0, 0, 0], [0, 0, 0, 1]]);
}
