//! TAP: the kernel's own stack on the other end.

use crate::echo::Host;
use crate::field::{FAR_MAC, Field, NEAR_MAC};
use crate::packet::{mirrors_everything, pings};
use driver::packet::PacketSocket;
use graph::{Pool, STRIDE};
use ports::tap::Spec;
use ports::{Port, SendDrop, TapPort};
use std::net::UdpSocket;

fn spec(has_queues: bool) -> Spec {
    Spec { interface: "plane0".to_owned(), has_queues, mac: NEAR_MAC, is_tun: false }
}

fn host(field: &Field, has_queues: bool) -> Host {
    let port = TapPort::open(&spec(has_queues)).unwrap();
    let device = port.device();
    device.set_mac(FAR_MAC).unwrap();
    field.near("sysctl -qw net.ipv6.conf.all.disable_ipv6=1");
    device.set_up(true).unwrap();
    field.near_ip("address add 10.9.0.1/24 dev plane0");
    let mut host = Host::new(Port::Tap(port), Pool::new(512, STRIDE));
    host.port.attend(&mut host.pool);
    host
}

#[test]
fn the_kernel_pings_through_a_tap_and_the_interface_goes_with_it() {
    let field = Field::bare("tap");
    let mut host = host(&field, false);
    assert_eq!((host.port.mac(), host.port.mtu(), host.port.is_up()), (NEAR_MAC, 1_500, true));
    for size in [56, 1_472] {
        pings(|command| field.near_command(command), size, &mut host);
    }
    let Host { port, mut pool, .. } = host;
    assert_eq!((port.close(&mut pool), pool.free_slots()), (0, 512));
    assert!(!field.near("ip link show").contains("plane0"));
}

#[test]
fn frames_of_all_lengths_pass_a_tap_bit_by_bit() {
    let field = Field::bare("tap-bits");
    let mut host = host(&field, false);
    mirrors_everything(&PacketSocket::open("plane0", 8 << 20).unwrap(), &mut host);
}

#[test]
fn queues_of_a_tap_get_whole_flows() {
    let field = Field::bare("tap-queues");
    let mut first = host(&field, true);
    let second = TapPort::open(&spec(true)).unwrap();
    let mut second = Host::new(Port::Tap(second), Pool::new(512, STRIDE));
    field.near("ip neighbour add 10.9.0.2 lladdr 02:00:00:00:09:02 dev plane0");
    for flow in 0..32u16 {
        let sender = UdpSocket::bind(("10.9.0.1", 7_000 + flow)).unwrap();
        for _ in 0..3 {
            sender.send_to(&[1; 100], "10.9.0.2:9").unwrap();
        }
    }
    for _ in 0..10 {
        first.turn();
        second.turn();
    }
    let flows = [first, second].map(|host| {
        let mut ports: Vec<_> =
            host.seen.iter().filter(|f| f.len() == 142).map(|f| [f[34], f[35]]).collect();
        assert_eq!(ports.len() % 3, 0, "whole flows");
        ports.dedup();
        ports.len()
    });
    assert_eq!(flows[0] + flows[1], 32);
    assert!(flows[0] > 0 && flows[1] > 0, "{flows:?}");
}

#[test]
fn a_tap_that_is_down_or_given_what_it_does_not_take_counts_it() {
    let field = Field::bare("tap-down");
    let mut host = host(&field, false);
    let mut slots =
        [&[1; 1_523][..], &[1; 13], &[2; 60]].map(|bytes| host.pool.put(bytes).unwrap()).to_vec();
    host.port.send(&mut host.pool, &mut slots);
    let counters = host.port.counters();
    assert_eq!((counters.sent.packets, counters.not_sent(SendDrop::TooLong)), (1, 1));
    assert_eq!(counters.not_sent(SendDrop::Refused), 1);
    field.near_ip("link set plane0 down");
    for _ in 0..2 {
        let mut slots = vec![host.pool.put(&[1; 60]).unwrap()];
        host.port.send(&mut host.pool, &mut slots);
        host.port.attend(&mut host.pool);
    }
    assert_eq!(host.port.counters().not_sent(SendDrop::Down), 2);
    assert_eq!(host.pool.free_slots(), 512);
}

#[test]
fn a_tun_carries_ip_packets_both_ways() {
    let field = Field::bare("tun");
    field.near("sysctl -qw net.ipv6.conf.all.disable_ipv6=1");
    let port = TapPort::open(&Spec { is_tun: true, ..spec(false) }).unwrap();
    port.device().set_up(true).unwrap();
    field.near_ip("address add 10.9.0.1/24 dev plane0");
    let mut host = Host::new(Port::Tap(port), Pool::new(512, STRIDE));
    host.port.attend(&mut host.pool);
    let socket = UdpSocket::bind("10.9.0.1:7000").unwrap();
    socket.send_to(b"down", "10.9.0.2:7001").unwrap();
    let mut slots = Vec::new();
    assert_eq!(host.port.receive(&mut host.pool, &mut slots), 1);
    let packet = host.pool.bytes_mut(slots[0]);
    assert_eq!((packet[0], packet.len(), &packet[28..]), (0x45, 32, &b"down"[..]));
    // With addresses and ports exchanged no sum changes.
    let (from, to) = packet[12..20].split_at_mut(4);
    from.swap_with_slice(to);
    let (from, to) = packet[20..24].split_at_mut(2);
    from.swap_with_slice(to);
    host.port.send(&mut host.pool, &mut slots);
    socket.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let mut got = [0; 10];
    let (length, from) = socket.recv_from(&mut got).unwrap();
    assert_eq!((&got[..length], from.to_string()), (&b"down"[..], "10.9.0.2:7001".to_owned()));
}
