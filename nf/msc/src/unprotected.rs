//! Packets that do not hold what protects them. A few are no failure: the first ones of a call come
//! before their keys do (SIP and media have different ways), and the last ones of old keys after.
//!
//! ```text
//!   count ─→ Doubt ─ FAILURE, or for FAILURE_FOR ─→ told, with all that came before
//!                  └ none for FORGOTTEN ─→ nothing
//! ```

use anchor::Local;
use hashbrown::HashMap;
use machine::{Duration, Time};

/// Packets of an end that are a failure however short they last: a fifth of a second of speech.
const FAILURE: u64 = 10;
/// Fewer are one when they go on for so long.
const FAILURE_FOR: Duration = Duration::from_secs(5);
/// Without such a packet for so long, an end begins anew.
const FORGOTTEN: Duration = Duration::from_secs(30);
/// Ends that are remembered at most; what comes from more is told at once.
const REMEMBERED_MAX: usize = 4_096;

#[derive(Debug)]
struct Doubt {
    since: Time,
    last: Time,
    untold: u64,
    is_failure: bool,
}

/// What came unprotected, by the port where it did.
#[derive(Debug, Default)]
pub(crate) struct Unprotected {
    ends: HashMap<Local, Doubt>,
}

impl Unprotected {
    /// So many more came; how many are to be told as a failure.
    pub fn count(&mut self, now: Time, local: Local, packets: u64) -> u64 {
        if self.ends.len() >= REMEMBERED_MAX && !self.ends.contains_key(&local) {
            self.ends.retain(|_, it| now.since(it.last) < FORGOTTEN);
            if self.ends.len() >= REMEMBERED_MAX {
                return packets;
            }
        }
        let fresh = || Doubt { since: now, last: now, untold: 0, is_failure: false };
        let doubt = self.ends.entry(local).or_insert_with(fresh);
        if now.since(doubt.last) >= FORGOTTEN {
            *doubt = fresh();
        }
        doubt.last = now;
        doubt.untold = doubt.untold.saturating_add(packets);
        doubt.is_failure |= doubt.untold >= FAILURE || now.since(doubt.since) >= FAILURE_FOR;
        if doubt.is_failure { core::mem::take(&mut doubt.untold) } else { 0 }
    }

    /// An end has no stream any more.
    pub fn forget(&mut self, local: Local) {
        self.ends.remove(&local);
        self.ends.remove(&Local { port: local.port | 1, ..local });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: Local = Local { address: 0, port: 20_000 };

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn the_first_packets_of_a_call_are_no_failure_and_many_or_lasting_ones_are() {
        let mut all = Unprotected::default();
        assert_eq!(all.count(at(1), END, 1), 0, "the first one, before its key");
        assert_eq!(all.count(at(2), END, 8), 0);
        assert_eq!(all.count(at(3), END, 41), 50, "all that came");
        assert_eq!(all.count(at(4), END, 1), 1, "it is one from there on");
        all.forget(END);
        assert_eq!(all.count(at(10), END, 1), 0);
        assert_eq!(all.count(at(12), END, 1), 0);
        assert_eq!(all.count(at(15), END, 1), 3, "they go on");
        assert_eq!(all.count(at(45), END, 1), 0, "that was long ago");
    }

    #[test]
    fn ends_are_forgotten_and_bounded() {
        let mut all = Unprotected::default();
        for address in 0..5_000 {
            let told = all.count(at(1), Local { address, ..END }, 1);
            assert_eq!(told, u64::from(usize::from(address) >= REMEMBERED_MAX), "{address}");
        }
        assert_eq!(all.count(at(31), Local { address: 6_000, ..END }, 1), 0);
        assert_eq!(all.ends.len(), 1);
    }
}
