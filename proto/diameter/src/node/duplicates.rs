//! Requests that come again, told by Origin-Host and End-to-End Identifier (RFC 6733 §3, §5.5.4):
//! the application sees each once, and the answer is the same. The T bit is no condition, since the
//! one that has it may come first.

use crate::codec::Message;
use crate::rows::base;
use crate::settings::PeerId;
use bytes::Bytes;
use hashbrown::HashMap;
use machine::shares::Shares;
use machine::slots::Key;
use machine::{KeyedHash, Time};
use std::collections::{BTreeMap, VecDeque};

/// What an answer costs beside its octets.
const COST: usize = 128;

/// What is known of a request.
#[derive(Debug, Clone)]
pub(crate) enum Known {
    /// The application has it.
    UnderWay(Key),
    /// It was answered so.
    Answered(Bytes),
}

/// Requests by their mark, a keyed hash. Those under way are bounded by the table that has them,
/// answers by octets: the oldest of the peer that has most goes first.
#[derive(Debug)]
pub(crate) struct Duplicates {
    hash: KeyedHash,
    known: HashMap<u64, Known>,
    order: BTreeMap<PeerId, VecDeque<(Time, u64, usize)>>,
    shares: Shares<PeerId>,
}

impl Duplicates {
    pub(crate) fn new(secret: u128) -> Self {
        Self {
            hash: KeyedHash::of_secret(secret),
            known: HashMap::new(),
            order: BTreeMap::new(),
            shares: Shares::default(),
        }
    }

    /// What a request is known by.
    pub(crate) fn mark(&self, message: &Message<'_>) -> u64 {
        let header = &message.header;
        let mut text = Vec::with_capacity(128);
        for word in [header.end_to_end, header.command, header.application] {
            text.extend_from_slice(&word.to_be_bytes());
        }
        let host = message.avps().find(&base::ORIGIN_HOST);
        text.extend(host.map(|it| it.data.to_ascii_lowercase()).unwrap_or_default());
        text.push(0);
        let session = message.avps().find(&base::SESSION_ID);
        text.extend_from_slice(session.map(|it| it.data).unwrap_or_default());
        self.hash.hash(&text)
    }

    pub(crate) fn find(&mut self, mark: u64, now: Time) -> Option<Known> {
        self.expire(now);
        self.known.get(&mark).cloned()
    }

    pub(crate) fn begin(&mut self, mark: u64, key: Key) {
        self.known.insert(mark, Known::UnderWay(key));
    }

    pub(crate) fn forget(&mut self, mark: u64) {
        self.known.remove(&mark);
    }

    pub(crate) fn end(&mut self, mark: u64, peer: PeerId, answer: Bytes, until: Time, max: usize) {
        let octets = answer.len() + COST;
        self.known.insert(mark, Known::Answered(answer));
        // The sum is bounded below; who has most gives way.
        self.shares.take(peer, octets, usize::MAX);
        self.order.entry(peer).or_default().push_back((until, mark, octets));
        while self.shares.sum() > max {
            let Some((&peer, _)) = self.shares.most() else { break };
            self.drop_oldest(peer);
        }
    }

    fn drop_oldest(&mut self, peer: PeerId) {
        let Some(order) = self.order.get_mut(&peer) else { return };
        if let Some((_, mark, octets)) = order.pop_front() {
            self.shares.give_back(&peer, octets);
            self.known.remove(&mark);
        }
        if order.is_empty() {
            self.order.remove(&peer);
        }
    }

    fn expire(&mut self, now: Time) {
        let is_over =
            |order: &VecDeque<(Time, u64, usize)>| order.front().is_some_and(|it| it.0 <= now);
        loop {
            let over = self.order.iter().find(|(_, order)| is_over(order)).map(|(peer, _)| *peer);
            let Some(peer) = over else { return };
            self.drop_oldest(peer);
        }
    }

    pub(crate) const fn octets(&self) -> usize {
        self.shares.sum()
    }
}
