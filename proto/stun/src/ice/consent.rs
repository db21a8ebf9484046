//! Whether the other side still wants what is sent (RFC 7675 §5.1): a check every five seconds,
//! each with a transaction of its own; without an answer for thirty nothing is sent any more.

use super::effects::Pair;
use crate::message::TransactionId;
use crate::random::Random;
use machine::{Duration, Time};

/// The time from one check to the next, of which a fifth more or less is taken.
pub const CONSENT_INTERVAL: Duration = Duration::from_secs(5);
/// How long an answer counts.
pub const CONSENT_TIMEOUT: Duration = Duration::from_secs(30);
/// Checks without an answer that are remembered: as many as are sent while an answer counts.
const OPEN_MAX: usize = 8;
/// The spread of the interval in milliseconds: 4,000 to 6,000.
const INTERVAL_MS_MIN: u64 = 4_000;
const INTERVAL_MS_SPREAD: u64 = 2_001;

/// The consent of one pair.
#[derive(Debug)]
pub(super) struct Consent {
    pub(super) pair: Pair,
    open: [Option<TransactionId>; OPEN_MAX],
    next_open: usize,
    next_check: Time,
    expires: Time,
}

/// What the time has brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// A check with this transaction.
    Check(TransactionId),
    /// The consent is over.
    Lost,
}

impl Consent {
    /// Of a pair that was chosen now, which is consent for the first time.
    pub(super) fn new(now: Time, pair: Pair, random: &mut Random) -> Self {
        let next_check = now + interval(random);
        let expires = now + CONSENT_TIMEOUT;
        Self { pair, open: [None; OPEN_MAX], next_open: 0, next_check, expires }
    }

    pub(super) fn deadline(&self) -> Time {
        self.next_check.min(self.expires)
    }

    pub(super) fn tick(&mut self, now: Time, random: &mut Random) -> Due {
        if self.expires <= now {
            return Due::Lost;
        }
        if self.next_check > now {
            return Due::Nothing;
        }
        self.next_check = now + interval(random);
        let transaction = random.transaction();
        self.open[self.next_open] = Some(transaction);
        self.next_open = (self.next_open + 1) % OPEN_MAX;
        Due::Check(transaction)
    }

    /// Whether such a check was sent and had no answer yet.
    pub(super) fn awaits(&self, transaction: TransactionId) -> bool {
        self.open.contains(&Some(transaction))
    }

    /// It was answered by who knows the password.
    pub(super) fn answered(&mut self, now: Time, transaction: TransactionId) {
        self.open.iter_mut().filter(|it| **it == Some(transaction)).for_each(|it| *it = None);
        self.expires = now + CONSENT_TIMEOUT;
    }
}

fn interval(random: &mut Random) -> Duration {
    Duration::from_millis(INTERVAL_MS_MIN + random.long() % INTERVAL_MS_SPREAD)
}
