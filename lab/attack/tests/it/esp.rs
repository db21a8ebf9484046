//! Forged ESP at a raw socket of the loopback, beside a phone that sends. Needs `CAP_NET_RAW`.

use attack::{SocketAttack, SocketKind, run_by_sockets};
use driver::{DatagramSocket, ReceiveBatch, SendBatch, SocketOptions};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::{Duration, Instant};

const TARGET: Ipv4Addr = Ipv4Addr::new(127, 205, 0, 1);
const PHONE: Ipv4Addr = Ipv4Addr::new(127, 205, 0, 2);
const INDEX: [u8; 4] = [7, 7, 7, 7];
const PATIENCE: Duration = Duration::from_secs(60);

fn raw(address: Ipv4Addr) -> DatagramSocket {
    DatagramSocket::raw(IpAddr::V4(address), 50, &SocketOptions::default())
        .expect("raw sockets need CAP_NET_RAW")
}

/// What came: of guessed indices, of the phone's with a wrong code, again, with an old number.
#[derive(Debug, Default)]
struct Came {
    guessed: u64,
    wrong: u64,
    again: u64,
    old: u64,
}

#[test]
fn indices_are_guessed_and_a_phones_packets_come_forged_again_and_with_old_numbers() {
    let (target, phone) = (raw(TARGET), raw(PHONE));
    let attacker = std::thread::spawn(|| {
        run_by_sockets(&SocketAttack {
            kind: SocketKind::Esp,
            target: SocketAddrV4::new(TARGET, 5_060),
            sources: "127.66.0.0/30".parse().unwrap(),
            other: None,
            rate: 2_000,
            time: Duration::from_secs(3),
        })
    });
    let (mut came, mut number, mut own) = (Came::default(), 100u32, 0u64);
    let (mut receive, mut send) = (ReceiveBatch::new(), SendBatch::new());
    let end = Instant::now() + PATIENCE;
    while !attacker.is_finished() && Instant::now() < end {
        number += 1;
        let packet = [&INDEX[..], &number.to_be_bytes(), &[0xaa; 64]].concat();
        let to = SocketAddr::new(IpAddr::V4(TARGET), 0);
        let mut batch = send.fill();
        batch.push(&to, None, 0, std::iter::once(packet.as_slice()));
        own += batch.send(&phone, 0).unwrap() as u64;
        std::thread::sleep(Duration::from_millis(5));
        while receive.receive(&target).is_ok_and(|count| count > 0) {
            for it in receive.datagrams() {
                let is_phone = it.remote.ip() == IpAddr::V4(PHONE);
                let (index, rest) = it.bytes.split_at(4);
                match (index == INDEX, &rest[..4], rest.ends_with(&[0xaa; 8])) {
                    (false, ..) => came.guessed += u64::from(!is_phone),
                    (true, [0, 0, 0, 1], false) => came.old += u64::from(is_phone),
                    (true, _, false) => came.wrong += u64::from(is_phone),
                    (true, _, true) => came.again += u64::from(is_phone),
                }
            }
        }
    }
    let report = attacker.join().unwrap().unwrap();
    assert!(report.frames > 100, "{report:?}");
    assert!(came.guessed > 0 && came.wrong > 0 && came.old > 0, "{came:?}");
    assert!(came.again > own, "the phone has sent {own}: {came:?}");
}
