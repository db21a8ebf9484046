//! Packets of one IP protocol past the kernel's IP, between it and a Linux host.

use crate::field::{FAR_MAC, Field, NEAR_MAC};
use driver::packet::{Offload, PacketSocket};
use driver::{DatagramSocket, ReceiveBatch, SendBatch, SocketOptions};
use ports::Bypass;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// For experiments (RFC 3692).
const PROTOCOL: u8 = 253;
const LIMIT: Duration = Duration::from_secs(60);
/// After so long, changes are heard of.
const HEARD_NS: u64 = 20_000_000;

fn joined(place: &str) -> Field {
    let field = Field::joined(place);
    field.near("sysctl -qw net.ipv6.conf.all.disable_ipv6=0");
    field.far("sysctl -qw net.ipv6.conf.all.disable_ipv6=0");
    field.near_ip("address add 10.9.0.2/24 dev near0");
    field.near_ip("address add fd09::2/64 dev near0 nodad");
    field.far("ip address add fd09::1/64 dev far0 nodad");
    field
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn raw(address: &str, protocol: u8) -> DatagramSocket {
    DatagramSocket::raw(ip(address), protocol, &SocketOptions::default()).unwrap()
}

fn throw(from: &DatagramSocket, to: &str, bytes: &[u8]) {
    let mut batch = SendBatch::new();
    let mut filling = batch.fill();
    filling.push(&SocketAddr::new(ip(to), 0), None, 0, std::iter::once(bytes));
    assert_eq!(filling.send(from, 0).unwrap(), 1);
}

/// What comes to the socket, until there is something.
fn caught(socket: &DatagramSocket) -> Vec<u8> {
    let (mut batch, until) = (ReceiveBatch::new(), Instant::now() + LIMIT);
    while batch.receive(socket).unwrap() == 0 {
        assert!(Instant::now() < until, "nothing came");
    }
    batch.datagrams().map(|it| it.bytes.to_vec()).next().unwrap()
}

fn is_quiet(socket: &DatagramSocket) -> bool {
    ReceiveBatch::new().receive(socket).unwrap() == 0
}

/// What comes past the kernel, until there is something.
fn bypassed(bypass: &mut Bypass) -> Vec<(IpAddr, Vec<u8>)> {
    let until = Instant::now() + LIMIT;
    while bypass.receive() == 0 {
        assert!(Instant::now() < until, "nothing came");
    }
    bypass.datagrams().map(|(source, bytes)| (source, bytes.to_vec())).collect()
}

#[test]
fn whole_packets_of_its_protocol_pass_by_the_kernel_and_all_others_reach_it() {
    let field = joined("bypass-in");
    for (near, far) in [("10.9.0.2", "10.9.0.1"), ("fd09::2", "fd09::1")] {
        let (kept, other) = (raw(near, PROTOCOL), raw(near, PROTOCOL + 1));
        let mut bypass = Bypass::open(ip(near), PROTOCOL).unwrap();
        let [sender, stranger] = field.in_far(|| [PROTOCOL, PROTOCOL + 1].map(|it| raw(far, it)));
        for octets in [1, 5, 20, 46, 1_000, 1_440] {
            throw(&sender, near, &vec![octets as u8; octets]);
            assert_eq!(bypassed(&mut bypass), [(ip(far), vec![octets as u8; octets])]);
        }
        throw(&sender, near, &[3; 3_000]);
        assert_eq!(caught(&kept), [3; 3_000], "fragments are the kernel's");
        throw(&stranger, near, b"of another protocol");
        assert_eq!(caught(&other), b"of another protocol");
        assert!(is_quiet(&kept) && bypass.receive() == 0);
        field.far(&format!("ping -c 1 -W 5 {near}"));
        if near == "10.9.0.2" {
            field.near_ip("address add 10.9.0.3/24 dev near0");
            let beside = raw("10.9.0.3", PROTOCOL);
            throw(&sender, "10.9.0.3", b"to another address");
            assert_eq!(caught(&beside), b"to another address");
        }
    }
}

#[test]
fn packets_leave_past_the_kernel_while_it_has_a_neighbour_and_as_it_has_him() {
    let field = joined("bypass-out");
    for (near, far, beyond) in
        [("10.9.0.2", "10.9.0.1", "192.0.2.7"), ("fd09::2", "fd09::1", "fd10::7")]
    {
        let mut bypass = Bypass::open(ip(near), PROTOCOL).unwrap();
        let receiver = field.in_far(|| raw(far, PROTOCOL));
        let mut now = HEARD_NS;
        assert!(!bypass.send(now, ip(far), b"nobody knows him"));
        field.near(&format!("ping -c 1 -W 5 {far}"));
        now += HEARD_NS;
        for octets in [1, 33, 1_440] {
            assert!(bypass.send(now, ip(far), &vec![9; octets]));
            bypass.flush();
            assert_eq!(caught(&receiver), vec![9; octets]);
        }
        // What routers may fragment: of IPv6 they do none.
        for octets in [1_240, 1_241, 1_440] {
            let passes = near == "10.9.0.2" || octets == 1_240;
            assert_eq!(bypass.send_in_parts(now, ip(far), &vec![8; octets]), passes, "{octets}");
            bypass.flush();
            if passes {
                assert_eq!(caught(&receiver), vec![8; octets]);
            }
        }
        assert!(!bypass.send(now, ip(far), &[9; 1_490]), "longer than the link takes");
        assert!(!bypass.send_in_parts(now, ip(far), &[9; 1_490]), "longer than the link takes");
        assert!(!bypass.send(now, ip(beyond), b"no route"));
        field.near_ip(&format!("route add {beyond} via {far}"));
        now += HEARD_NS;
        assert!(bypass.send(now, ip(beyond), b"by a gateway"));
        field.near_ip(&format!("neighbour replace {far} lladdr 02:00:00:00:00:77 dev near0"));
        now += HEARD_NS;
        assert!(bypass.send(now, ip(far), b"to whom that is now"));
        bypass.flush();
        field.near_ip(&format!("neighbour replace {far} lladdr 02:00:00:00:09:01 dev near0"));
        now += HEARD_NS;
        assert!(bypass.send(now, ip(far), b"to the first again"));
        bypass.flush();
        assert_eq!(caught(&receiver), b"to the first again");
        assert!(is_quiet(&receiver));
        field.near_ip(&format!("neighbour replace {far} nud stale dev near0"));
        now += HEARD_NS;
        assert!(!bypass.send(now, ip(far), b"the kernel shall confirm him"));
        field.near_ip("link set near0 down");
        now += 10 * HEARD_NS;
        assert!(!bypass.send(now, ip(far), b"the link is down"));
        field.near_ip("link set near0 up");
        field.near_ip("address replace fd09::2/64 dev near0 nodad");
    }
}

#[test]
fn a_packet_whose_header_is_wrong_is_received_and_left_out() {
    let field = joined("bypass-wrong");
    let mut bypass = Bypass::open(ip("10.9.0.2"), PROTOCOL).unwrap();
    let sender = field.in_far(|| PacketSocket::open("far0", 1 << 20).unwrap());
    let mut header = [0x45, 0, 0, 23, 0, 0, 0x40, 0, 64, PROTOCOL, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2];
    for sum in [0x25d7u16, 0x25d6] {
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        let link = [&NEAR_MAC[..], &FAR_MAC, &[8, 0]].concat();
        let frame = [&link, &header[..], b"abc", &[0; 23]].concat();
        let mut other = frame.clone();
        other[..6].copy_from_slice(&[2, 0, 0, 0, 0, 0x55]);
        let with = [&frame, &other].map(|frame| (Offload::default(), &frame[..]));
        assert_eq!(sender.send(with.into_iter()).unwrap(), 2);
        let (mut came, mut taken, until) = (0, Vec::new(), Instant::now() + LIMIT);
        while came < 2 {
            assert!(Instant::now() < until, "{came} of 2 came");
            came += bypass.receive();
            taken.extend(bypass.datagrams().map(|(source, bytes)| (source, bytes.to_vec())));
        }
        let right = [(ip("10.9.0.1"), b"abc".to_vec())];
        assert_eq!(taken, right[..usize::from(sum == 0x25d6)]);
    }
}

#[test]
fn what_is_lost_is_told_once() {
    let field = joined("bypass-lost");
    let mut bypass = Bypass::open(ip("10.9.0.2"), PROTOCOL).unwrap();
    field.near("ping -c 1 -W 5 10.9.0.1");
    let sender = field.in_far(|| raw("10.9.0.1", PROTOCOL));
    for _ in 0..1_500 {
        throw(&sender, "10.9.0.2", b"more than a ring holds");
    }
    let mut got = 0;
    while bypass.receive() > 0 {
        got += bypass.datagrams().count() as u64;
    }
    let lost = bypass.attend(100_000_000);
    assert_eq!((got + lost.received, lost.sent), (1_500, 0));
    assert!(lost.received > 0, "{got} came");
    assert_eq!(bypass.attend(200_000_000), ports::Lost::default());
}

#[test]
fn an_address_that_has_no_ethernet_of_its_own_is_refused_in_words() {
    let field = joined("bypass-refused");
    let words = |address: &str| Bypass::open(ip(address), PROTOCOL).unwrap_err().to_string();
    assert!(words("192.0.2.1").contains("no interface"), "{}", words("192.0.2.1"));
    assert!(words("127.0.0.1").contains("no Ethernet"), "{}", words("127.0.0.1"));
    let open = Bypass::open(ip("10.9.0.2"), PROTOCOL).unwrap();
    assert!(words("fd09::2").contains("have all queues"), "{}", words("fd09::2"));
    assert!(words("10.9.0.2").contains("another port has"), "{}", words("10.9.0.2"));
    drop(open);
    Bypass::open(ip("fd09::2"), PROTOCOL).unwrap();
    field.near_ip("link set near0 mtu 3000");
    assert!(words("10.9.0.2").contains("MTU of 3000"), "{}", words("10.9.0.2"));
}

/// A child process that has copies of all descriptors, as each has between its fork and its exec;
/// it ends after so long.
#[allow(unsafe_code, reason = "the standard library shows no child before its exec")]
fn forked(milliseconds: u32) -> libc::pid_t {
    // SAFETY: the child calls nothing but what a signal handler may.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::usleep(milliseconds * 1_000);
            libc::_exit(0);
        }
        child
    }
}

#[allow(unsafe_code, reason = "a child that the standard library has not begun")]
fn wait_for(child: libc::pid_t) {
    // SAFETY: the kernel is asked to write nothing.
    let ended = unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    assert_eq!(ended, child);
}

#[test]
fn what_was_closed_is_opened_again_while_a_child_process_still_has_the_descriptors() {
    let _field = joined("bypass-forked");
    let open = Bypass::open(ip("10.9.0.2"), PROTOCOL).unwrap();
    let child = forked(400);
    drop(open);
    Bypass::open(ip("10.9.0.2"), PROTOCOL).unwrap();
    wait_for(child);
}
