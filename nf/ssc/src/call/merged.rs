//! Merged requests (RFC 3261 §8.2.2.2): one request that forked before us and came by two ways.
//! It bears the same Call-ID, From tag and CSeq, but another branch.
//!
//! A table of fixed size remembers the requests outside of dialogs by a keyed hash; a younger
//! request takes the place of an older one with the same slot. So a merged request may pass when
//! very many are under way, which costs the far end a second call, and nothing here.

use super::calls::Calls;
use super::relay::Relay;
use machine::identity::{hash_combine, mix};
use machine::narrow::slot;
use machine::slots::Key;
use sip::Message;

/// Requests remembered per shard.
const REMEMBERED: usize = 1 << 14;

/// The requests under way, by hash.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(super) secret: u64,
    rows: Box<[Row]>,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    hash: u64,
    relay: Key,
}

impl Merged {
    /// An empty table whose slots an outsider cannot foresee.
    pub(crate) fn new(secret: u64) -> Self {
        let nobody = Row { hash: 0, relay: Key { index: u32::MAX, generation: u32::MAX } };
        Self { secret, rows: vec![nobody; REMEMBERED].into_boxed_slice() }
    }

    /// A number below 100 for a call, which nobody can choose with its Call-ID.
    #[allow(clippy::cast_possible_truncation, reason = "below 100")]
    pub(crate) fn dice(&self, call_id: &[u8]) -> u8 {
        (hash_combine(self.secret, call_id) % 100) as u8
    }

    /// What a request is remembered by.
    fn hash(&self, message: &Message<'_>) -> u64 {
        let cseq = message.cseq();
        let start = mix(self.secret ^ u64::from(cseq.number) << 8 ^ cseq.method as u64);
        let hash = hash_combine(start, message.call_id());
        hash_combine(hash, message.from_tag().unwrap_or_default())
    }
}

impl Calls {
    /// Whether the request came already, by another way, and still runs.
    pub(crate) fn is_merged(&self, message: &Message<'_>) -> bool {
        let hash = self.merged.hash(message);
        let row = self.merged.rows[slot(hash, REMEMBERED)];
        let same = |relay: &Relay| {
            relay.initial
                && relay.cseq_up == message.cseq().number
                && relay.method == message.method()
        };
        row.hash == hash && self.relays.at(row.relay).is_some_and(same)
    }

    /// Remembers a request outside of dialogs.
    pub(crate) fn remember(&mut self, message: &Message<'_>, relay: Key) {
        let hash = self.merged.hash(message);
        self.merged.rows[slot(hash, REMEMBERED)] = Row { hash, relay };
    }
}
