//! The further shards, as the first one sees them: what each of them sends, and what it owes them.

use super::{AGAIN, Work, shard_of};
use crate::effects::Sent;
use machine::Time;
use runtime::Effects;
use std::collections::{BTreeMap, BTreeSet};

/// Answers to requests that wait for their shards, at most: whoever asked asks again.
const ANSWERS_MAX: usize = 65_536;

/// The further shards.
#[derive(Debug)]
pub(crate) struct First {
    shards: u16,
    /// Messages that are sent, and by which shard: no more than there are flows.
    sent: BTreeMap<Sent, u16>,
    /// Shards that do not know yet that nothing of before counts: they are told nothing else.
    behind: BTreeSet<u16>,
    /// Answers that were not taken.
    answers: BTreeMap<u64, u16>,
    again: Option<Time>,
}

impl First {
    /// That of a shard that has just begun: the others may know of the one before.
    pub(crate) fn new(now: Time, shards: u16) -> Self {
        let (sent, answers) = (BTreeMap::new(), BTreeMap::new());
        Self { shards, sent, behind: (1..shards).collect(), answers, again: Some(now) }
    }

    /// What the further shards were asked for counts no more.
    pub(crate) fn begin_anew(&mut self, now: Time) {
        *self = Self::new(now, self.shards);
    }

    pub(crate) const fn deadline(&self) -> Option<Time> {
        self.again
    }

    /// The shard that a message leaves by: all of a flow by one. None: it cannot be told.
    pub(crate) fn leaves_by(&mut self, number: Sent) -> Option<u16> {
        let further = u64::from(self.shards.saturating_sub(1).max(1));
        let shard = u16::try_from(1 + number.flow % further).unwrap_or(1);
        let is_heard = !self.behind.contains(&shard);
        is_heard.then(|| self.sent.insert(number, shard));
        is_heard.then_some(shard)
    }

    /// Whether what a shard says of a message is what was waited for.
    pub(crate) fn is_awaited(&mut self, number: Sent, from: u16) -> bool {
        let is_its = self.sent.get(&number) == Some(&from);
        is_its && self.sent.remove(&number).is_some()
    }

    /// A shard has begun anew: what it was sending has failed.
    pub(crate) fn born(&mut self, shard: u16) -> Vec<Sent> {
        let its = self.sent.iter().filter(|(_, by)| **by == shard);
        let its: Vec<Sent> = its.map(|(number, _)| *number).collect();
        self.sent.retain(|_, by| *by != shard);
        // Nobody waits for these any more.
        self.answers.retain(|transaction, _| shard_of(*transaction) != shard);
        its
    }

    /// Something was not taken; the message among it that has failed so.
    pub(crate) fn handed_back(&mut self, now: Time, to: u16, work: &Work) -> Option<Sent> {
        match work {
            Work::Anew => {
                self.behind.insert(to);
            }
            Work::Respond(transaction, status) if self.answers.len() < ANSWERS_MAX => {
                self.answers.insert(*transaction, *status);
            }
            Work::Send(sending) => {
                return self.sent.remove(&sending.number).map(|_| sending.number);
            }
            _ => return None,
        }
        self.again.get_or_insert(now + AGAIN);
        None
    }

    /// Says again what is due.
    pub(crate) fn tick(&mut self, now: Time, out: &mut Effects) {
        if self.again.is_none_or(|at| at > now) {
            return;
        }
        self.again = None;
        for shard in std::mem::take(&mut self.behind) {
            out.hand(shard, |to| Work::Anew.write(to));
        }
        for (transaction, status) in std::mem::take(&mut self.answers) {
            out.hand(shard_of(transaction), |to| Work::Respond(transaction, status).write(to));
        }
    }
}
