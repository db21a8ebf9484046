//! Time to write one packet around a 500-byte message, and to read it again.
//!
//! `taskset -c 1 cargo run --release -p tandem-hep --example write`
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a measurement for people")]

use std::hint::black_box;
use std::time::Instant;

const ROUNDS: u32 = 2_000_000;

fn main() {
    let payload = vec![b'x'; 500];
    let address = |host: u8| std::net::SocketAddr::from(([192, 0, 2, host], 5060));
    let mut out = Vec::with_capacity(1 << 16);
    let packet = hep::Packet {
        protocol: hep::UDP,
        source: address(1),
        destination: address(2),
        seconds: 1_800_000_000,
        micros: 1,
        kind: hep::KIND_SIP,
        capture_id: 2001,
        correlation: b"0123456789abcdef",
        auth_key: b"",
        tags: b"",
        payload: &payload,
    };
    let began = Instant::now();
    for micros in 0..ROUNDS {
        if out.len() > 48 * 1024 {
            out.clear();
        }
        hep::Packet { micros, ..black_box(packet) }.write(&mut out);
    }
    let write = began.elapsed() / ROUNDS;
    out.clear();
    packet.write(&mut out);
    let began = Instant::now();
    for _ in 0..ROUNDS {
        let read = hep::Packet::parse(black_box(&out));
        assert!(black_box(read).is_ok());
    }
    println!("write {write:?}, read {:?}", began.elapsed() / ROUNDS);
}
