//! The arbiter: the third vote of a pair, given to one node at a time.

use crate::election::Name;
use crate::message::{self, Datagram};
use machine::{Duration, Time};
use std::collections::BTreeMap;

/// Pairs that one arbiter serves.
const PAIRS_MAX: usize = 1024;
/// The longest promise that is given.
const PROMISE_MAX: Duration = Duration::from_secs(60);

/// Votes for at most one node of each pair at a time. It keeps nothing over a restart, so that
/// it votes for nobody until every promise of its last life has run out.
#[derive(Debug)]
pub struct Arbiter {
    started: Time,
    votes: BTreeMap<u64, (Name, Time)>,
}

impl Arbiter {
    /// An arbiter that starts now.
    #[must_use]
    pub const fn new(now: Time) -> Self {
        Self { started: now, votes: BTreeMap::new() }
    }

    /// Takes a datagram; the answer, if there is one.
    pub fn step(&mut self, now: Time, bytes: &[u8]) -> Option<Vec<u8>> {
        let (pair, Datagram::Request { node, stamp, promise }) = message::read(bytes)? else {
            return None;
        };
        let promise = promise.min(PROMISE_MAX);
        if now < self.started + promise {
            return None;
        }
        if self.votes.len() >= PAIRS_MAX {
            self.votes.retain(|_, (_, until)| *until > now);
        }
        let known = self.votes.get(&pair);
        if known.is_none() && self.votes.len() >= PAIRS_MAX
            || known.is_some_and(|&(holder, until)| holder != node && until > now)
        {
            return None;
        }
        self.votes.insert(pair, (node, now + promise));
        Some(message::grant(pair, stamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vote_goes_to_one_node_until_its_promise_ran_out() {
        let promise = Duration::from_millis(50);
        let ask = |node, at| message::request(1, node, Time::from_millis(at), promise);
        let mut arbiter = Arbiter::new(Time::ZERO);
        let mut asked = |node, at| arbiter.step(Time::from_millis(at), &ask(node, at)).is_some();
        assert!(!asked(Name::A, 10), "an arbiter that just started may have promised before");
        assert!(asked(Name::A, 60) && asked(Name::A, 80));
        assert!(!asked(Name::B, 120));
        assert!(asked(Name::B, 131) && !asked(Name::A, 140));
    }
}
