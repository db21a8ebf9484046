//! MSUs as the source numbers them and the sink takes them: each once, in the order of its SLS,
//! and how long it was on its way.

use crate::end::SLS_VALUES;
use bytes::Bytes;
use machine::{Duration, Time};

/// Octets of number and time of sending.
const STAMP_BYTES: usize = 16;
/// Longest transfer that ISUP and TCAP take without loss, and the one that they barely take
/// (004_be6cb727ecfb1c0c.txt §3).
pub const TRANSFER_LIMITS: [Duration; 2] =
    [Duration::from_millis(600), Duration::from_millis(1_000)];

/// What was sent and what came.
#[derive(Debug)]
pub struct Ledger {
    octets: usize,
    /// MSUs that were sent.
    pub sent: u64,
    /// MSUs that came.
    pub arrived: u64,
    /// The number that comes next for each SLS.
    next: [u64; SLS_VALUES as usize],
    /// MSUs that came twice, late or not at all: their SLS was not in order.
    pub disorder: u64,
    /// Only MSUs sent in here are judged by their time.
    pub judged: [Time; 2],
    /// The longest transfer.
    pub longest: Duration,
    total: Duration,
    counted: u64,
    /// Those that took longer than each of [`TRANSFER_LIMITS`].
    pub late: [u64; 2],
}

impl Ledger {
    /// MSUs of so many octets of user data.
    pub fn new(octets: usize) -> Self {
        Self {
            octets: octets.max(STAMP_BYTES),
            sent: 0,
            arrived: 0,
            next: std::array::from_fn(|sls| sls as u64),
            disorder: 0,
            judged: [Time::ZERO, Time::MAX],
            longest: Duration::ZERO,
            total: Duration::ZERO,
            counted: 0,
            late: [0; 2],
        }
    }

    /// The next MSU: its SLS and its user data.
    pub fn write(&mut self, now: Time) -> (u8, Bytes) {
        let mut payload = vec![0; self.octets];
        payload[..8].copy_from_slice(&self.sent.to_be_bytes());
        payload[8..STAMP_BYTES].copy_from_slice(&now.as_nanos().to_be_bytes());
        let sls = (self.sent % SLS_VALUES) as u8;
        self.sent += 1;
        (sls, payload.into())
    }

    /// An MSU came.
    pub fn read(&mut self, now: Time, payload: &[u8]) {
        let (Some((number, rest)), true) =
            (payload.split_first_chunk::<8>(), payload.len() == self.octets)
        else {
            self.disorder += 1;
            return;
        };
        let number = u64::from_be_bytes(*number);
        let sent = rest.first_chunk::<8>().map_or(0, |at| u64::from_be_bytes(*at));
        let sent = Time::from_nanos(sent);
        self.arrived += 1;
        let next = &mut self.next[(number % SLS_VALUES) as usize];
        self.disorder += u64::from(*next != number);
        *next = number + SLS_VALUES;
        if sent < self.judged[0] || sent > self.judged[1] {
            return;
        }
        let time = now.since(sent);
        self.longest = self.longest.max(time);
        self.total += time;
        self.counted += 1;
        for (late, limit) in self.late.iter_mut().zip(TRANSFER_LIMITS) {
            *late += u64::from(time > limit);
        }
    }

    /// Mean time on the way.
    pub fn mean(&self) -> Duration {
        self.total / u32::try_from(self.counted.max(1)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_comes_twice_or_too_early_is_disorder() {
        let mut ledger = Ledger::new(40);
        let now = Time::from_millis(5);
        let msus: Vec<_> = (0..40).map(|_| ledger.write(now).1).collect();
        for (number, msu) in msus.iter().enumerate() {
            if number != 3 {
                ledger.read(Time::from_millis(17), msu);
            }
        }
        assert_eq!((ledger.arrived, ledger.disorder), (39, 1), "19 came where 3 was due");
        ledger.read(Time::from_millis(20), &msus[39]);
        assert_eq!(ledger.disorder, 2);
        ledger.read(Time::from_millis(20), &msus[39][..20]);
        assert_eq!(ledger.disorder, 3);
    }

    #[test]
    fn only_msus_sent_in_the_judged_time_count() {
        let mut ledger = Ledger::new(16);
        ledger.judged = [Time::from_millis(10), Time::from_millis(20)];
        for (sent, came) in [(5, 2_000), (10, 30), (20, 1_500), (21, 9_000)] {
            let (_, msu) = ledger.write(Time::from_millis(sent));
            ledger.read(Time::from_millis(came), &msu);
        }
        assert_eq!(ledger.longest, Duration::from_millis(1_480));
        assert_eq!(ledger.late, [1, 1]);
        assert_eq!(ledger.mean(), Duration::from_millis(750));
    }
}
