//! Merged requests (RFC 3261 §8.2.2.2): one request that forked before us and came by two ways.
//! It bears the same Call-ID, From tag and CSeq, but another branch, so that it is another
//! transaction.
//!
//! A table of fixed size remembers the requests outside of dialogs by a keyed hash; a younger
//! request takes the place of an older one with the same slot. So a merged request may pass when
//! very many are under way, which costs the far end a second call, and nothing here.

use machine::identity::{hash_combine, mix};
use machine::narrow::slot;
use machine::slots::Key;
use sip::Message;

/// Requests remembered.
const REMEMBERED: usize = 1 << 14;

/// The requests under way, by hash, and what their user knows them by.
#[derive(Debug)]
pub struct Merged {
    secret: u64,
    rows: Box<[Row]>,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    hash: u64,
    user: Key,
}

impl Merged {
    /// An empty table whose slots an outsider cannot foresee.
    #[must_use]
    pub fn new(secret: u64) -> Self {
        let nobody = Row { hash: 0, user: Key { index: u32::MAX, generation: u32::MAX } };
        Self { secret, rows: vec![nobody; REMEMBERED].into_boxed_slice() }
    }

    /// What a request is remembered by.
    fn hash(&self, message: &Message<'_>) -> u64 {
        let cseq = message.cseq();
        let start = mix(self.secret ^ u64::from(cseq.number) << 8 ^ cseq.method as u64);
        let hash = hash_combine(start, message.call_id());
        hash_combine(hash, message.from_tag().unwrap_or_default())
    }

    /// The request that is the same as this one, as far as its hash says, and may be over.
    #[must_use]
    pub fn same(&self, message: &Message<'_>) -> Option<Key> {
        let hash = self.hash(message);
        let row = self.rows[slot(hash, REMEMBERED)];
        (row.hash == hash).then_some(row.user)
    }

    /// Remembers a request outside of dialogs.
    pub fn remember(&mut self, message: &Message<'_>, user: Key) {
        let hash = self.hash(message);
        self.rows[slot(hash, REMEMBERED)] = Row { hash, user };
    }
}
