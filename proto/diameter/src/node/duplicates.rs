//! Requests that come again, told by Origin-Host and End-to-End Identifier (RFC 6733 §3, §5.5.4):
//! the application sees each once, and the answer is the same. The T bit is no condition, since the
//! one that has it may come first.
//!
//! Whoever asks writes both, and they can be counted: what tells a request is all that it says
//! beside, but for what agents write on its way. So nobody is given an answer whose question he
//! does not know, and none is answered what another one asked.

use crate::codec::{Avp, Message};
use crate::row::Row;
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

/// What agents add to a request or change in it.
static OF_AGENTS: [&Row; 6] = [
    &base::ROUTE_RECORD,
    &base::PROXY_INFO,
    &base::DESTINATION_HOST,
    &base::DRMP,
    &base::OC_SUPPORTED_FEATURES,
    &base::LOAD,
];

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
    /// Before this time nothing is over.
    due: Time,
}

impl Duplicates {
    pub(crate) fn new(secret: u128) -> Self {
        Self {
            hash: KeyedHash::of_secret(secret),
            known: HashMap::new(),
            order: BTreeMap::new(),
            shares: Shares::default(),
            due: Time::MAX,
        }
    }

    /// What a request is known by.
    pub(crate) fn mark(&self, message: &Message<'_>) -> u64 {
        let header = &message.header;
        let mut text = Vec::with_capacity(message.octets().len());
        for word in [header.end_to_end, header.command, header.application] {
            text.extend_from_slice(&word.to_be_bytes());
        }
        let of_origin = |it: &Avp<'_>| !OF_AGENTS.iter().any(|row| it.is(row));
        for avp in message.avps().flatten().filter(of_origin) {
            text.extend_from_slice(avp.whole);
        }
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
        self.due = self.due.min(until);
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

    /// Lets go of what is over. Of each peer one answer at least is, each time that peers are
    /// looked through.
    fn expire(&mut self, now: Time) {
        while self.due <= now {
            let is_over =
                |it: &VecDeque<(Time, u64, usize)>| it.front().is_some_and(|it| it.0 <= now);
            let over = self.order.iter().filter(|it| is_over(it.1)).map(|(peer, _)| *peer);
            for peer in over.collect::<Vec<_>>() {
                self.drop_oldest(peer);
            }
            let fronts = self.order.values().filter_map(|it| Some(it.front()?.0));
            self.due = fronts.min().unwrap_or(Time::MAX);
        }
    }

    pub(crate) const fn octets(&self) -> usize {
        self.shares.sum()
    }
}
