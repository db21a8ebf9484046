//! `AF_PACKET` on a veth.

use crate::echo::{Host, MIRRORED, frames, mirrored};
use crate::field::{FAR_MAC, Field, NEAR_MAC};
use driver::packet::{Offload, PacketBatch, PacketSocket};
use graph::{Pool, STRIDE};
use ports::packet::Spec;
use ports::{Device, PacketPort, Port, ReceiveDrop, SendDrop};
use std::net::UdpSocket;
use std::process::{Command, Stdio};

fn host(spec: &Spec) -> Host {
    Host::new(Port::Packet(PacketPort::open(spec).unwrap()), Pool::new(2_048, STRIDE))
}

/// Sends every frame from the far side and checks that each comes back, bit by bit.
pub fn mirrors_everything(socket: &PacketSocket, host: &mut Host) {
    let wanted = frames(NEAR_MAC, FAR_MAC);
    let mut back = Vec::new();
    let mut batch = PacketBatch::new();
    for some in wanted.chunks(32) {
        let with = some.iter().map(|frame| (Offload::default(), &frame[..]));
        assert_eq!(socket.send(with).unwrap(), some.len());
        let enough = back.len() + some.len();
        for _ in 0..200 {
            host.turn();
            batch.receive(socket).unwrap();
            for frame in batch.frames() {
                let tag = frame.tag.unwrap_or_default();
                let tag = if frame.tag.is_some() { &tag[..] } else { &[] };
                back.push([frame.head, tag, frame.tail].concat());
            }
            if back.len() >= enough {
                break;
            }
        }
    }
    back.retain(|frame| frame[12..14] == MIRRORED || frame[12..14] == [0x81, 0]);
    let expected: Vec<_> = wanted.iter().map(|frame| mirrored(frame)).collect();
    assert_eq!(back.len(), expected.len());
    assert!(back == expected, "every octet comes back, in order");
    let seen: Vec<_> = host.seen.iter().filter(|frame| frame[6..12] == FAR_MAC).collect();
    assert!(seen.ends_with(&wanted.iter().collect::<Vec<_>>()), "and was seen so");
}

/// Pings the host behind the port from the kernel's own stack.
pub fn answers_pings(field: &Field, host: &mut Host) {
    for size in [56, 1_472] {
        pings(|command| field.far_command(command), size, host);
    }
}

/// Pings the host with so many octets, from where `command` runs.
pub fn pings(command: impl Fn(&str) -> Command, size: usize, host: &mut Host) {
    let words = format!("ping -q -c 20 -i 0.01 -W 2 -s {size} -p c0ffee 10.9.0.2");
    let ping = command(&words).stdout(Stdio::piped()).spawn().unwrap();
    assert!(host.serve(ping), "{words}");
}

#[test]
fn the_kernel_pings_through_a_packet_port() {
    let field = Field::joined("ping");
    let mut host = host(&Spec::new("near0"));
    assert_eq!((host.port.mac(), host.port.mtu(), host.port.is_up()), (NEAR_MAC, 1_500, true));
    answers_pings(&field, &mut host);
    let counters = host.port.counters();
    assert!(counters.received.packets >= 40 && counters.sent.packets >= 40, "{counters:?}");
    assert_eq!(host.pool.free_slots(), host.pool.slots());
}

#[test]
fn frames_of_all_lengths_pass_a_packet_port_bit_by_bit() {
    let field = Field::joined("bits");
    let mut host = host(&Spec::new("near0"));
    let socket = field.in_far(|| PacketSocket::open("far0", 8 << 20).unwrap());
    mirrors_everything(&socket, &mut host);
}

#[test]
fn a_checksum_left_to_hardware_is_finished() {
    let field = Field::joined("sum");
    let mut host = host(&Spec::new("near0"));
    field.far("ip neighbour add 10.9.0.2 lladdr 02:00:00:00:09:02 dev far0");
    let sender = field.in_far(|| UdpSocket::bind("10.9.0.1:7000").unwrap());
    for length in [1, 2, 3, 700, 1_471] {
        sender.send_to(&vec![0x5a; length], "10.9.0.2:9").unwrap();
        while host.seen.last().is_none_or(|frame| frame.len() != 42 + length) {
            host.turn();
        }
        let frame = host.seen.last().unwrap();
        let datagram = &frame[34..];
        let length = (datagram.len() as u16).to_be_bytes();
        let summed = [&frame[26..34], &[0, 17], &length, datagram].concat();
        let words = summed
            .chunks(2)
            .map(|two| u32::from(two[0]) << 8 | u32::from(two.get(1).copied().unwrap_or_default()));
        let sum: u32 = words.sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "{length:?}");
    }
}

#[test]
fn joined_packets_are_dropped_and_counted_until_the_far_end_stops_making_them() {
    let field = Field::joined("joined");
    let mut host = host(&Spec::new("near0"));
    field.far("ip neighbour add 10.9.0.2 lladdr 02:00:00:00:09:02 dev far0");
    let sender = field.in_far(|| UdpSocket::bind("10.9.0.1:7000").unwrap());
    let segments: i32 = 1_000;
    cut_late(&sender, segments);
    sender.send_to(&[1; 4_000], "10.9.0.2:9").unwrap();
    for _ in 0..20 {
        host.turn();
    }
    assert_eq!(host.port.counters().not_received(ReceiveDrop::Joined), 1);
    field.in_far(|| Device::open("far0").unwrap().set_offloads_off().unwrap());
    host.seen.clear();
    sender.send_to(&[1; 4_000], "10.9.0.2:9").unwrap();
    for _ in 0..20 {
        host.turn();
    }
    assert_eq!(host.port.counters().not_received(ReceiveDrop::Joined), 1);
    assert_eq!(host.seen.iter().filter(|frame| frame.len() == 1_042).count(), 4);
}

/// `UDP_SEGMENT`: the kernel cuts what is sent, as late as it can.
#[allow(unsafe_code, reason = "an option that the standard library does not know")]
fn cut_late(socket: &UdpSocket, octets: i32) {
    use std::os::fd::AsRawFd;
    // SAFETY: the kernel reads four octets of an integer that lives over the call.
    let set = unsafe {
        let value = (&raw const octets).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, value, 4)
    };
    assert_eq!(set, 0);
}

#[test]
fn workers_that_share_an_interface_get_whole_flows() {
    let field = Field::joined("fanout");
    let spec = Spec { fanout: Some(7), ..Spec::new("near0") };
    let mut hosts = [host(&spec), host(&spec)];
    field.far("ip neighbour add 10.9.0.2 lladdr 02:00:00:00:09:02 dev far0");
    field.in_far(|| {
        for flow in 0..32u16 {
            let sender = UdpSocket::bind(("10.9.0.1", 7_000 + flow)).unwrap();
            (0..3).for_each(|_| assert_eq!(sender.send_to(&[1; 100], "10.9.0.2:9").unwrap(), 100));
        }
    });
    for _ in 0..20 {
        for host in &mut hosts {
            host.turn();
        }
    }
    let flows = hosts.map(|host| {
        let mut ports: Vec<_> =
            host.seen.iter().filter(|f| f.len() == 142).map(|f| [f[34], f[35]]).collect();
        assert_eq!(ports.len() % 3, 0, "whole flows");
        ports.sort_unstable();
        ports.dedup();
        ports
    });
    assert_eq!(flows[0].len() + flows[1].len(), 32);
    assert!(!flows[0].is_empty() && !flows[1].is_empty(), "{flows:?}");
    assert!(flows[0].iter().all(|port| !flows[1].contains(port)), "no flow at both");
}

#[test]
fn a_packet_too_long_is_refused_alone_and_a_link_that_is_down_refuses_all() {
    let field = Field::joined("down");
    let mut host = host(&Spec::new("near0"));
    let long = vec![0x88; 1_600];
    let mut slots =
        [&[1; 60][..], &long, &[2; 60]].map(|bytes| host.pool.put(bytes).unwrap()).to_vec();
    host.port.send(&mut host.pool, &mut slots);
    let counters = host.port.counters();
    assert_eq!((counters.sent.packets, counters.not_sent(SendDrop::TooLong)), (2, 1));
    field.near_ip("link set near0 down");
    let mut slots = vec![host.pool.put(&[1; 60]).unwrap(), host.pool.put(&[1; 60]).unwrap()];
    host.port.send(&mut host.pool, &mut slots);
    host.port.attend(&mut host.pool);
    assert_eq!(host.port.counters().not_sent(SendDrop::Down), 2);
    assert!(!host.port.is_up());
    assert_eq!(host.pool.free_slots(), host.pool.slots());
}

#[test]
fn an_interface_is_set_up_and_changed() {
    let field = Field::joined("device");
    let device = Device::open("near0").unwrap();
    device.set_mtu(1_400).unwrap();
    device.set_promiscuous(true).unwrap();
    let shown = field.near("ip -details link show near0");
    assert!(shown.contains("mtu 1400") && shown.contains("promiscuity 1"), "{shown}");
    device.set_up(false).unwrap();
    assert!(!device.is_up().unwrap());
    device.set_mac([2, 0, 0, 0, 9, 9]).unwrap();
    device.set_up(true).unwrap();
    assert_eq!((device.mac().unwrap(), device.mtu().unwrap()), ([2, 0, 0, 0, 9, 9], 1_400));
    assert!(device.is_up().unwrap());
}
