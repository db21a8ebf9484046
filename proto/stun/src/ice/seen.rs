//! Checks that chose a pair: one that was recorded and comes again from elsewhere chooses nothing.
//!
//! The HMAC of a check does not cover where it came from (RFC 8445 §19.4.1): who hears one may send
//! it again with another source. Each check has a transaction of its own, so that one that comes
//! from two places is such a copy. The last [`SEEN_MAX`] are remembered; once older ones are
//! forgotten, another pair than the one that stands has to answer a check first.

use super::effects::Pair;
use crate::message::TransactionId;
use crate::random::Random;
use core::net::{IpAddr, SocketAddr};
use machine::narrow::halves;
use machine::{Duration, Time};
use std::collections::VecDeque;

/// Checks that are remembered: five minutes of those that keep a consent fresh.
pub(super) const SEEN_MAX: usize = 64;
/// Pairs that are asked whether they are there.
const ASKED_MAX: usize = 4;
/// How soon one is asked again.
const ASKED_AGAIN: Duration = Duration::from_millis(500);

/// What is known of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    No,
    /// It came from there before: it is sent again since its answer was lost.
    Here,
    /// It came from somewhere else before.
    Elsewhere,
}

/// A pair that was chosen and has to answer first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub pair: Pair,
    pub priority: u64,
    transaction: TransactionId,
    at: Time,
}

/// The checks that chose a pair.
#[derive(Debug)]
pub(super) struct Seen {
    list: VecDeque<(TransactionId, u64)>,
    has_forgotten: bool,
    asked: Vec<Asked>,
    /// What places are hashed with, so that nobody finds two that look the same.
    keys: [u64; 6],
}

impl Seen {
    pub fn new(random: &mut Random) -> Self {
        let keys = core::array::from_fn(|_| random.long());
        Self { list: VecDeque::new(), has_forgotten: false, asked: Vec::new(), keys }
    }

    /// A universal hash: two places look the same to one key of 2^64.
    fn place(&self, pair: Pair) -> u64 {
        let Pair { component, local, remote } = pair;
        let address = |address: SocketAddr| match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().to_bits(),
            IpAddr::V6(ip) => ip.to_bits(),
        };
        let [low, high] = halves(address(remote));
        let [local_low, local_high] = halves(address(local));
        let ports = u64::from(remote.port()) << 32 | u64::from(local.port());
        let words = [high, low, local_high, local_low, ports, u64::from(component)];
        // Multilinear, modulo 2^128: its upper half.
        let terms = words.iter().zip(&self.keys).map(|(word, key)| {
            u128::from(*word).wrapping_add(1).wrapping_mul(u128::from(*key) << 32 | 1)
        });
        let sum = terms.fold(0, u128::wrapping_add);
        let [_, upper] = halves(sum);
        upper
    }

    /// Whether a check is known.
    pub fn look(&self, transaction: TransactionId, pair: Pair) -> Known {
        match self.list.iter().find(|it| it.0 == transaction) {
            None => Known::No,
            Some((_, place)) if *place == self.place(pair) => Known::Here,
            Some(_) => Known::Elsewhere,
        }
    }

    /// Remembers a check that chose a pair.
    pub fn keep(&mut self, transaction: TransactionId, pair: Pair) {
        if self.list.len() == SEEN_MAX {
            self.list.pop_front();
            self.has_forgotten = true;
        }
        self.list.push_back((transaction, self.place(pair)));
    }

    /// Whether a copy of a check that is forgotten could choose another pair.
    pub const fn has_forgotten(&self) -> bool {
        self.has_forgotten
    }

    /// A pair has to answer; the transaction of the check that it is asked with, unless it was
    /// asked a moment ago.
    pub fn ask(
        &mut self,
        now: Time,
        pair: Pair,
        priority: u64,
        random: &mut Random,
    ) -> Option<TransactionId> {
        if let Some(at) = self.asked.iter().position(|asked| asked.pair == pair) {
            if now.since(self.asked[at].at) < ASKED_AGAIN {
                return None;
            }
            self.asked.remove(at);
        }
        if self.asked.len() == ASKED_MAX {
            self.asked.remove(0);
        }
        let transaction = random.transaction();
        self.asked.push(Asked { pair, priority, transaction, at: now });
        Some(transaction)
    }

    /// The pair that was asked with that transaction, which counts no more.
    pub fn answered(&mut self, pair: Pair, transaction: TransactionId) -> Option<Asked> {
        let is_it = |it: &Asked| it.pair == pair && it.transaction == transaction;
        self.asked.iter().position(is_it).map(|at| self.asked.remove(at))
    }

    /// Under another password nothing counts that came before.
    pub fn clear(&mut self) {
        self.list.clear();
        self.asked.clear();
        self.has_forgotten = false;
    }
}
