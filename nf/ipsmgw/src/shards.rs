//! What the shards of a gateway have to do with each other.
//!
//! ```text
//!   shards 1 …: SIP, transactions, ── Registered, Came, Answered, NextHop ──→ shard 0: flows,
//!    next hops, their probes       ←── Respond, Trail, Send ────────────────  store, centre,
//!                                                                             SS7, Diameter
//! ```
//! - Rows, what waits for a subscriber, correlation IMSIs and links are one table each: flows are
//!   the first shard's, and with them the journal, records, operators' texts, and what comes by
//!   links and Diameter.
//! - What costs most of a message is its SIP: it is read, checked, held in its transaction and
//!   written by a further shard. A response names its shard in its branch; requests of one sender
//!   go to one shard, so that they keep their order; messages of one flow leave by one shard.
//! - The number of a server transaction names its shard, and which of the shard's lives it is of.
//! - A further shard that dies has cost its transactions: requests come again, and what it was
//!   sending has failed as if no next hop had taken it. When the first one dies, requests that wait
//!   are answered 503, and what the store has goes on.
//! - What finds no room: a request is answered 503, a message finds no next hop; what nobody would
//!   say again (answers to both, that a next hop is there again) waits and is said again.

mod crossing;
mod edge;
mod first;
mod work;

pub(crate) use edge::{Edge, hand};
pub(crate) use first::First;
pub(crate) use work::Work;

use crate::config::Ipsmgw;
use crate::place::Place;
use machine::{Duration, Time};
use runtime::Seed;
use std::sync::Arc;

/// The pause before something is told again that was not taken.
const AGAIN: Duration = Duration::from_millis(100);
/// Flows of a shard that has none: room for them is made ahead.
const FLOWS: u32 = 16;
/// Bits of a transaction's number below that of its shard, and below that of the shard's life.
const SHARD_BITS: u32 = 48;
const LIFE_BITS: u32 = 32;

/// What a shard does.
#[derive(Debug)]
pub(crate) enum Part {
    /// Everything: it is the only one.
    Whole,
    /// The first of several: flows, the store, SS7 and Diameter.
    First(First),
    /// Another one: SIP.
    Edge(Edge),
}

impl Part {
    pub(crate) fn of(seed: &Seed) -> Self {
        match (seed.shards, seed.shard) {
            (..=1, _) => Self::Whole,
            (shards, 0) => Self::First(First::new(seed.now, shards)),
            _ => Self::Edge(Edge::new(seed.now)),
        }
    }

    /// The node changed its duty: nothing of before counts.
    pub(crate) fn begin_anew(&mut self, now: Time) {
        match self {
            Self::Whole => {}
            Self::First(first) => first.begin_anew(now),
            Self::Edge(edge) => edge.forget(),
        }
    }

    /// Whether it speaks SIP.
    pub(crate) const fn has_sip(&self) -> bool {
        matches!(self, Self::Whole | Self::Edge(_))
    }

    /// Whether it has flows, and what they ask.
    pub(crate) const fn has_flows(&self) -> bool {
        matches!(self, Self::Whole | Self::First(_))
    }
}

/// A shard: what it does, its number, and that of its last transaction.
#[derive(Debug)]
pub(crate) struct Own {
    pub part: Part,
    pub shard: u16,
    pub numbers: u64,
    pub place: Place,
}

impl Own {
    pub(crate) fn of(seed: &Seed) -> Self {
        let (numbers, place) = (first_number(seed), Place::default());
        Self { part: Part::of(seed), shard: seed.shard, numbers, place }
    }
}

/// The number before the first transaction of this life of a shard.
fn first_number(seed: &Seed) -> u64 {
    let [a, b, ..] = seed.random;
    match seed.shard {
        0 => 0,
        shard => {
            u64::from(shard) << SHARD_BITS | u64::from(u16::from_be_bytes([a, b])) << LIFE_BITS
        }
    }
}

/// The shard that has a transaction.
pub(crate) fn shard_of(transaction: u64) -> u16 {
    u16::try_from(transaction >> SHARD_BITS).unwrap_or_default()
}

/// The shard that a message goes to: one of those with SIP, which a branch of ours names.
pub(crate) fn steer(bytes: &[u8], shards: u16) -> u16 {
    let named = || sip_stack::steer::steer(bytes, shards).filter(|it| *it > 0);
    let dealt = || sip_stack::steer::steer(bytes, shards - 1).map(|it| it + 1);
    let is_response = bytes.starts_with(b"SIP/2.0 ");
    if is_response { named() } else { dealt() }.unwrap_or(1)
}

/// What of a configuration concerns a shard: one of SIP has no store, no records and no way into
/// other networks, and its share of the transactions.
pub(crate) fn concerning(shard: u16, config: Arc<Ipsmgw>) -> Arc<Ipsmgw> {
    let further = u32::from(config.shards.saturating_sub(1).max(1));
    if shard == 0 {
        return config;
    }
    let mut own = Ipsmgw::clone(&config);
    own.limits.transactions_max = (own.limits.transactions_max / further).max(1);
    own.limits.flows_max = FLOWS;
    (own.backend, own.cdr, own.cdr_folder) = (keyed::Backend::Memory, None, None);
    (own.diameter, own.hss, own.charging) = (None, None, None);
    own.link.clear();
    own.diameter_peer.clear();
    own.diameter_route.clear();
    own.diameter_destination.clear();
    Arc::new(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_names_its_shard_and_requests_of_a_sender_one_with_sip() {
        for shard in 1..16 {
            let seed = Seed { shard, shards: 16, random: [0xff; 32], now: Time::ZERO };
            assert_eq!(shard_of(first_number(&seed) + u64::from(u32::MAX)), shard);
        }
        let request = |user: u32| {
            format!(
                "MESSAGE sip:x@y SIP/2.0\r\nFrom: <sip:{user}@y>;tag=1\r\nTo: <sip:x@y>\r\n\r\n"
            )
        };
        for shards in 2..6 {
            let at = |user| steer(request(user).as_bytes(), shards);
            let all: std::collections::BTreeSet<u16> = (0..200).map(at).collect();
            assert_eq!(all, (1..shards).collect(), "none is idle, and the first has none");
            assert_eq!(at(7), at(7));
            assert_eq!(steer(b"nonsense", shards), 1);
        }
    }
}
