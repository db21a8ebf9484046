//! The least of hosts behind a port: answers ARP for its address and echo requests, and sends
//! frames of the test's own type back with the addresses exchanged.

use crate::field::{NEAR_ADDRESS, NEAR_MAC};
use driver::{Interest, Poll};
use graph::{Pool, Slot};
use ports::Port;
use std::process::Child;
use std::time::Duration;

/// IEEE 802 local experimental.
pub const MIRRORED: [u8; 2] = [0x88, 0xb5];

/// A port with its pool and what answers behind it.
pub struct Host {
    pub port: Port,
    pub pool: Pool,
    pub seen: Vec<Vec<u8>>,
    poll: Poll,
}

impl Host {
    pub fn new(port: Port, pool: Pool) -> Self {
        let poll = Poll::new().unwrap();
        poll.add(&port.descriptor(), 1, Interest::Read).unwrap();
        Self { port, pool, seen: Vec::new(), poll }
    }

    /// One round; sleeps for at most 20 ms when there is nothing. Returns packets received.
    pub fn turn(&mut self) -> usize {
        let mut slots: Vec<Slot> = Vec::new();
        let count = self.port.receive(&mut self.pool, &mut slots);
        for slot in &slots {
            self.seen.push(self.pool.bytes(*slot).to_vec());
        }
        let (mut answers, others): (Vec<_>, Vec<_>) =
            slots.into_iter().partition(|slot| answer(self.pool.bytes_mut(*slot)));
        self.pool.free_all(&others);
        self.port.send(&mut self.pool, &mut answers);
        if count == 0 && self.port.doze() {
            self.poll.wait(Some(Duration::from_millis(20))).unwrap();
        }
        self.port.rise();
        self.port.attend(&mut self.pool);
        count
    }

    /// Works until a process has ended; says whether it succeeded.
    pub fn serve(&mut self, mut child: Child) -> bool {
        for _ in 0..100_000 {
            self.turn();
            if let Some(status) = child.try_wait().unwrap() {
                return status.success();
            }
        }
        child.kill().unwrap();
        false
    }
}

fn answer(bytes: &mut [u8]) -> bool {
    match bytes[12..14] {
        [0x08, 0x06] => arp(bytes),
        [0x08, 0x00] => icmp(bytes),
        [0x81, 0x00] if bytes[16..18] == MIRRORED => exchange(bytes),
        _ if bytes[12..14] == MIRRORED => exchange(bytes),
        _ => false,
    }
}

fn exchange(bytes: &mut [u8]) -> bool {
    let (to, rest) = bytes.split_at_mut(6);
    to.swap_with_slice(&mut rest[..6]);
    true
}

fn arp(bytes: &mut [u8]) -> bool {
    if bytes[20..22] != [0, 1] || bytes[38..42] != NEAR_ADDRESS {
        return false;
    }
    let asker: [u8; 10] = std::array::from_fn(|at| bytes[22 + at]);
    bytes[..6].copy_from_slice(&asker[..6]);
    bytes[6..12].copy_from_slice(&NEAR_MAC);
    bytes[21] = 2;
    bytes[22..28].copy_from_slice(&NEAR_MAC);
    bytes[28..32].copy_from_slice(&NEAR_ADDRESS);
    bytes[32..42].copy_from_slice(&asker);
    true
}

/// An echo request becomes its reply: eight less in the type is eight more in the checksum.
fn icmp(bytes: &mut [u8]) -> bool {
    if bytes[23] != 1 || bytes[30..34] != NEAR_ADDRESS || bytes[34] != 8 {
        return false;
    }
    exchange(bytes);
    let (from, to) = bytes[26..34].split_at_mut(4);
    from.swap_with_slice(to);
    bytes[34] = 0;
    let sum = u32::from(u16::from_be_bytes([bytes[36], bytes[37]])) + 0x0800;
    let sum = (sum & 0xffff) + (sum >> 16);
    bytes[36..38].copy_from_slice(&(sum as u16).to_be_bytes());
    true
}

/// Frames of the test's own type, of all lengths, each with a pattern of its own; every fourth has
/// a VLAN tag.
pub fn frames(to: [u8; 6], from: [u8; 6]) -> Vec<Vec<u8>> {
    let lengths = (60..200).chain((200..1_500).step_by(61)).chain([1_513, 1_514]);
    let frame = |(number, length): (usize, usize)| {
        let mut frame = [to, from].concat();
        if number % 4 == 3 && length < 1_500 {
            frame.extend_from_slice(&[0x81, 0, 0x20, number as u8]);
        }
        frame.extend_from_slice(&MIRRORED);
        let have = frame.len();
        frame.extend((have..length).map(|at| (at * 7 + number * 13) as u8));
        frame
    };
    lengths.enumerate().map(frame).collect()
}

/// The same with the addresses exchanged, as they come back.
pub fn mirrored(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    exchange(&mut frame);
    frame
}
