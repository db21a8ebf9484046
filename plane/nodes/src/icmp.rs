//! ICMP errors of both families: when to send one, and how many (RFC 1812 §4.3.2, RFC 4443 §2.4).

use crate::bucket::{Bucket, Rate};
use graph::{Meta, Verdict};
use machine::Time;

/// Errors of one worker in all.
pub const ERRORS: Rate = Rate { per_second: 2_000, burst: 400 };
/// Errors of one worker to one receiver.
pub const ERRORS_TO_ONE: Rate = Rate { per_second: 100, burst: 50 };
/// Buckets of receivers; those with the same hash share one.
const RECEIVERS: usize = 1_024;

/// What is to be said of a packet: a number that `Meta::words` carries to the node that says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message(u8);

/// Its time to live ended on the way.
pub const TIME_EXCEEDED: Message = Message(0);
/// There is no route.
pub const UNREACHABLE_NET: Message = Message(1);
/// The host cannot be reached.
pub const UNREACHABLE_HOST: Message = Message(2);
/// It may not pass.
pub const PROHIBITED: Message = Message(3);
/// It is longer than the way out takes, which is the argument.
pub const TOO_BIG: Message = Message(4);
/// Something is wrong with the octet that the argument points to.
pub const PARAMETER: Message = Message(5);
/// The source has no meaning on the way out (RFC 4443 §3.1, code 2).
pub const BEYOND_SCOPE: Message = Message(6);
/// An option that is not known, at the octet that the argument points to.
pub const OPTION: Message = Message(7);

impl Message {
    /// Types and codes of ICMP.
    const ICMP: [(u8, u8); 8] =
        [(11, 0), (3, 0), (3, 1), (3, 13), (3, 4), (12, 0), (3, 1), (12, 0)];
    /// Types and codes of ICMPv6.
    const ICMP6: [(u8, u8); 8] = [(3, 0), (1, 0), (1, 3), (1, 1), (2, 0), (4, 0), (1, 2), (4, 2)];

    /// Notes on a packet what its sender is to hear, and passes it to the node that says it.
    #[inline]
    #[must_use]
    pub fn ask(meta: &mut Meta, message: Self, argument: u32, verdict: Verdict) -> Verdict {
        meta.words[0] = u32::from(message.0);
        meta.words[1] = argument;
        verdict
    }

    /// What was noted on a packet, and the argument.
    #[must_use]
    pub fn noted(meta: &Meta) -> (Self, u32) {
        (Self((meta.words[0] % 8) as u8), meta.words[1])
    }

    /// Type and code of ICMP.
    #[must_use]
    pub fn icmp(self) -> (u8, u8) {
        Self::ICMP[usize::from(self.0)]
    }

    /// Type and code of ICMPv6.
    #[must_use]
    pub fn icmp6(self) -> (u8, u8) {
        Self::ICMP6[usize::from(self.0)]
    }
}

/// The node that tells the sender of a packet what became of it.
#[must_use]
pub fn error_entry(packet: &[u8]) -> &'static str {
    if packet.first().is_some_and(|first| first >> 4 == 6) { "ip6-error" } else { "ip4-error" }
}

/// Notes on a packet that its receiver, beyond `interface`, does not answer (RFC 1812 §5.2.7.1,
/// RFC 4443 §3.1). Who says so has that interface's address.
pub fn unreachable(meta: &mut Meta, interface: u32, vrf: u32) {
    (meta.interface, meta.vrf, meta.l3) = (interface, vrf, meta.offset);
    meta.words = [u32::from(UNREACHABLE_HOST.0), 0, 0, 0];
}

/// How many errors a worker has sent.
pub struct Limiter {
    all: Bucket,
    receivers: Box<[Bucket]>,
}

impl Default for Limiter {
    fn default() -> Self {
        let receivers = vec![Bucket::default(); RECEIVERS].into_boxed_slice();
        Self { all: Bucket::default(), receivers }
    }
}

impl Limiter {
    /// Whether an error may be sent to a receiver (a hash of its address).
    pub fn admits(&mut self, receiver: u32, now: Time) -> bool {
        let mixed = receiver.wrapping_mul(0x9e37_79b1) >> 22;
        self.receivers[mixed as usize % RECEIVERS].take(ERRORS_TO_ONE, now)
            && self.all.take(ERRORS, now)
    }
}
