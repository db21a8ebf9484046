//! Connections by which this system has sent data: BGP and LDP over TCP.

use crate::bucket::mixed;
use crate::header::{IP4, TCP, address6, long, word};
use crate::local::transport;
use crate::program::Class;
use machine::Time;
use machine::narrow::halves;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Places of connections; a set of [`WAYS`] is searched.
const PLACES: usize = 16_384;
const WAYS: usize = 4;
/// Seconds after which one by which nothing was sent is forgotten: no hold time is longer than what
/// sessions in use have, and who is forgotten is a stranger, no more.
const LIFE_S: u64 = 1_800;
/// The seconds in a place; the rest is the connection's number.
const SECONDS: u64 = 0xffff;
const BGP: u16 = 179;
const LDP: u16 = 646;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// Connections of all workers.
pub struct Connections {
    key: u64,
    places: Box<[AtomicU64]>,
}

impl Connections {
    pub(super) fn new(key: u64) -> Self {
        Self { key, places: (0..PLACES).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Whether a class has connections.
    pub(crate) const fn are_of(class: Class) -> bool {
        matches!(class, Class::Bgp | Class::Ldp)
    }

    /// Takes note of a packet of this system itself. It makes a connection known when it opens one
    /// or carries data: an answer to a forged SYN is neither.
    pub fn sent(&self, packet: &[u8], now: Time) {
        let Some((number, segment)) = self.read(packet, false) else { return };
        let flags = segment.get(13).copied().unwrap_or(0);
        let header = usize::from(segment.get(12).copied().unwrap_or(0) >> 4) * 4;
        let opens = flags & (SYN | ACK) == SYN;
        let speaks = flags & (SYN | RST) == 0 && segment.len() > header;
        if opens || speaks {
            self.note(number, seconds(now));
        }
    }

    /// The number of the connection that a packet for this system belongs to.
    #[must_use]
    pub fn of(&self, packet: &[u8], now: Time) -> Option<u64> {
        let (number, _) = self.read(packet, true)?;
        let now = seconds(now);
        let is_it = |place: &AtomicU64| {
            let known = place.load(Relaxed);
            known & !SECONDS == number && !is_over(known, now)
        };
        self.set(number).iter().any(is_it).then_some(number)
    }

    fn set(&self, number: u64) -> &[AtomicU64] {
        let first = (number >> 16) as usize % (PLACES / WAYS) * WAYS;
        &self.places[first..first + WAYS]
    }

    fn note(&self, number: u64, now: u64) {
        let set = self.set(number);
        let age = |place: &&AtomicU64| match place.load(Relaxed) {
            known if known & !SECONDS == number => u64::MAX,
            0 => u64::MAX - 1,
            known => now.wrapping_sub(known) & SECONDS,
        };
        if let Some(place) = set.iter().max_by_key(age) {
            place.store(number | now & SECONDS, Relaxed);
        }
    }

    /// The number of a TCP packet's connection, and its segment; addresses and ports are those of
    /// the far end first.
    fn read<'a>(&self, packet: &'a [u8], is_received: bool) -> Option<(u64, &'a [u8])> {
        let found = transport(packet).filter(|it| it.protocol == TCP && !it.fragment)?;
        let segment = packet.get(found.at..)?;
        let ports = (word(segment, 0), word(segment, 2));
        if ![ports.0, ports.1].iter().any(|port| matches!(*port, BGP | LDP)) {
            return None;
        }
        let addresses = match packet.len() >= IP4 && packet[0] >> 4 == 4 {
            true => (u128::from(long(packet, 12)), u128::from(long(packet, 16))),
            false => (address6(packet, 8), address6(packet, 24)),
        };
        let ((far, far_port), (own, own_port)) = match is_received {
            true => ((addresses.0, ports.0), (addresses.1, ports.1)),
            false => ((addresses.1, ports.1), (addresses.0, ports.0)),
        };
        let parts = [halves(far), halves(own)];
        let both = u64::from(far_port) << 16 | u64::from(own_port);
        let number = parts
            .as_flattened()
            .iter()
            .fold(mixed(both, self.key), |sum, part| mixed(sum ^ part, self.key.rotate_left(16)));
        Some((number & !SECONDS | 1 << 63, segment))
    }
}

fn seconds(now: Time) -> u64 {
    now.as_nanos() / 1_000_000_000
}

fn is_over(known: u64, now: u64) -> bool {
    now.wrapping_sub(known) & SECONDS > LIFE_S
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(ends: ([u8; 4], u16), to: ([u8; 4], u16), flags: u8, data: usize) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, TCP, 0, 0];
        packet.extend(ends.0);
        packet.extend(to.0);
        packet.extend(ends.1.to_be_bytes());
        packet.extend(to.1.to_be_bytes());
        packet.extend([0, 0, 0, 0, 0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
        packet.resize(packet.len() + data, 7);
        packet
    }

    #[test]
    fn a_connection_is_known_once_this_system_opened_it_or_sent_data() {
        let (own, far) = (([10, 0, 0, 1], BGP), ([10, 0, 0, 2], 40_000));
        let now = Time::from_millis(5_000_000);
        for (flags, data, is_known) in [
            (SYN | ACK, 0, false),
            (RST | ACK, 0, false),
            (ACK, 0, false),
            (ACK | 1, 0, false),
            (ACK | 8, 19, true),
            (SYN, 0, true),
        ] {
            let all = Connections::new(5);
            all.sent(&segment(own, far, flags, data), now);
            let from = segment(far, own, ACK, 0);
            assert_eq!(all.of(&from, now).is_some(), is_known, "{flags:x} {data}");
            let other = segment((far.0, 40_001), own, ACK, 0);
            assert_eq!(all.of(&other, now), None, "another port");
            let later = now + std::time::Duration::from_secs(LIFE_S + 1);
            assert_eq!(all.of(&from, later), None);
        }
    }

    #[test]
    fn who_comes_again_and_again_displaces_none_that_is_in_use() {
        let all = Connections::new(5);
        let (own, far) = (([10, 0, 0, 1], BGP), ([10, 0, 0, 2], 40_000));
        for second in 0..3_000_u64 {
            let now = Time::from_millis(1_000 * (70_000 + second));
            if second % 20 == 0 {
                all.sent(&segment(own, far, ACK, 19), now);
            }
            for host in 0..10_u8 {
                let other = ([10, 9, host, second as u8], (second % 60_000) as u16);
                all.sent(&segment(own, other, ACK, 19), now);
            }
            assert!(all.of(&segment(far, own, ACK, 0), now).is_some(), "{second}");
        }
    }

    #[test]
    fn what_is_no_whole_segment_is_none() {
        let all = Connections::new(5);
        let whole = segment(([10, 0, 0, 1], BGP), ([10, 0, 0, 2], 4), ACK, 9);
        for end in 0..whole.len() {
            all.sent(&whole[..end], Time::from_millis(1));
            let _ = all.of(&whole[..end], Time::from_millis(1));
        }
    }
}
