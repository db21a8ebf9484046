//! Numbers that nobody guesses, and that say nothing of each other: ports (RFC 6056 §3.3.3), first
//! numbers (RFC 6528), and first numbers that are kept by nobody, since whoever acknowledges one
//! proves that it was given (SYN cookies, RFC 4987 §3.6).
//!
//! ```text
//!   cookie  |  30 bits: ends, the SYN's number, a clock of 64 s  |  2 bits: what segments carry
//! ```

use crate::packet::Ends;
use machine::{KeyedHash, Time};
use std::net::IpAddr;
use tcp::Segment;

/// What one segment carries: with its headers and its signature it fits 1,500 octets, and tunnels
/// around them.
pub(crate) const MSS: u16 = 1_380;
/// What a far end may say that it takes, as far as a cookie knows: the least that is believed, what
/// who says nothing takes of IPv4 and of IPv6 (RFC 9293 §3.7.1), and the most.
const SIZES: [u16; 4] = [216, SIZE_UNSAID, 1_220, MSS];
const SIZE_UNSAID: u16 = 536;
/// The first numbers of connections follow a clock of 4 µs (RFC 9293 §3.4.1).
const TICK_NS: u64 = 4_000;
/// Cookies are taken for this time at least (64 s), twice of it at most.
const COOKIE_NS: u64 = 64_000_000_000;
/// The bits of a cookie that prove it.
const PROOF: u32 = !3;

/// What numbers are for: those of one kind say nothing of others.
#[derive(Clone, Copy)]
enum For {
    First = 0,
    Port,
    Cookie,
}

/// Makes numbers by a secret.
#[derive(Debug)]
pub(crate) struct Numbers(KeyedHash);

/// The lower half.
fn low(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0)
}

impl Numbers {
    pub(crate) fn new(secret: &[u8; 16]) -> Self {
        Self(KeyedHash::new(secret))
    }

    fn number(&self, of: For, ends: &Ends, more: &[u8]) -> u64 {
        let mut octets = Vec::with_capacity(64);
        octets.push(of as u8);
        octets.extend(ends.table.to_be_bytes());
        for end in [ends.own, ends.far] {
            match end.ip() {
                IpAddr::V4(ip) => octets.extend(ip.to_ipv6_mapped().octets()),
                IpAddr::V6(ip) => octets.extend(ip.octets()),
            }
            octets.extend(end.port().to_be_bytes());
        }
        octets.extend(more);
        self.0.number(&octets)
    }

    /// A number of these ends, for a port.
    pub(crate) fn port(&self, ends: &Ends) -> u64 {
        self.number(For::Port, ends, &[])
    }

    /// A first number, beyond those of all connections before between the same ends.
    pub(crate) fn first(&self, now: Time, ends: &Ends) -> u32 {
        low(self.number(For::First, ends, &[]).wrapping_add(now.as_nanos() / TICK_NS))
    }

    fn proof(&self, ends: &Ends, seq: u32, turn: u64, size: u32) -> u32 {
        let more = [u64::from(seq), turn, size.into()].map(u64::to_be_bytes);
        low(self.number(For::Cookie, ends, more.as_flattened())) & PROOF
    }

    /// The first number that answers a SYN which nobody remembers.
    pub(crate) fn cookie(&self, now: Time, ends: &Ends, syn: &Segment<'_>) -> u32 {
        let said = syn.mss.unwrap_or(SIZE_UNSAID);
        let size = (0..).zip(SIZES).filter(|(_, it)| *it <= said).map(|it| it.0).last();
        let size = size.unwrap_or(0);
        self.proof(ends, syn.seq, now.as_nanos() / COOKIE_NS, size) | size
    }

    /// What the far end takes in a segment, where this acknowledges a cookie that is not too old.
    pub(crate) fn proven(&self, now: Time, ends: &Ends, ack: &Segment<'_>) -> Option<u16> {
        let (cookie, seq) = (ack.ack.wrapping_sub(1), ack.seq.wrapping_sub(1));
        let size = cookie & !PROOF;
        let turn = now.as_nanos() / COOKIE_NS;
        let is_it = |turn| self.proof(ends, seq, turn, size) == cookie & PROOF;
        let is_proven = is_it(turn) || turn.checked_sub(1).is_some_and(is_it);
        SIZES.get(usize::try_from(size).ok()?).copied().filter(|_| is_proven)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Duration;
    use tcp::Flags;

    const COOKIE_TIME: Duration = Duration::from_nanos(COOKIE_NS);

    fn ends(far: u16) -> Ends {
        let far = ([10, 0, 0, 2], far).into();
        Ends { table: 1, own: ([10, 0, 0, 1], 179).into(), far }
    }

    fn syn(mss: Option<u16>) -> Segment<'static> {
        let (source, destination, flags) = (5_000, 179, Flags::SYN);
        Segment { source, destination, seq: 77, ack: 0, flags, window: 9, mss, payload: &[] }
    }

    #[test]
    fn a_cookie_is_taken_of_its_ends_alone_for_its_time_and_knows_how_much_segments_carry() {
        let numbers = Numbers::new(&[7; 16]);
        let begin = Time::from_millis(1_000_000);
        let cases = [(None, 536), (Some(7), 216), (Some(1_300), 1_220), (Some(9_000), MSS)];
        for (said, known) in cases {
            let cookie = numbers.cookie(begin, &ends(5_000), &syn(said));
            let ack = |seq: u32, number: u32| Segment {
                seq,
                ack: number.wrapping_add(1),
                flags: Flags::ACK,
                ..syn(None)
            };
            let now = begin + COOKIE_TIME;
            let proven = |ends: &Ends, it: &Segment<'_>| numbers.proven(now, ends, it);
            assert_eq!(proven(&ends(5_000), &ack(78, cookie)), Some(known));
            assert_eq!(proven(&ends(5_001), &ack(78, cookie)), None);
            assert_eq!(proven(&ends(5_000), &ack(79, cookie)), None);
            let forged =
                (0..32).filter(|bit| proven(&ends(5_000), &ack(78, cookie ^ 1 << bit)).is_some());
            assert_eq!(forged.count(), 0);
            let late = begin + COOKIE_TIME * 2;
            assert_eq!(numbers.proven(late, &ends(5_000), &ack(78, cookie)), None);
        }
    }

    #[test]
    fn first_numbers_go_on_with_time_and_those_of_other_ends_or_secrets_are_others() {
        let (one, other) = (Numbers::new(&[1; 16]), Numbers::new(&[2; 16]));
        let now = Time::from_millis(1_000_000);
        let first = one.first(now, &ends(5_000));
        let later = one.first(now + Duration::from_millis(1), &ends(5_000));
        assert_eq!(later.wrapping_sub(first), 250);
        assert_ne!(one.first(now, &ends(5_001)).wrapping_sub(first), 0);
        assert_ne!(other.first(now, &ends(5_000)), first);
        assert_ne!(low(one.port(&ends(5_000))), first.wrapping_sub(low(now.as_nanos() / TICK_NS)));
    }
}
