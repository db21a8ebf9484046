//! What other shards did not take and have to be told nevertheless: that this one has begun, and
//! which connections and dialogues are no more. Nothing else of these is kept, so that no more
//! waits than there are.

use super::{Transit, Work};
use bytes::Bytes;
use machine::{Duration, Time};
use sccp::codec::LocalReference;
use std::collections::BTreeMap;

/// The pause before something is told again that was not taken.
pub(crate) const AGAIN: Duration = Duration::from_millis(100);
/// Connections of one shard that are told of at once, at most: the rest follows [`AGAIN`].
const AT_ONCE: usize = 1_024;

/// Dialogues of one shard of which that waits, at most: nobody knows whether those are there that a
/// peer names. What is beyond ends when it is idle.
const ABORTS_MAX: usize = 16_384;

/// What is owed to other shards.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    shards: BTreeMap<u16, OfShard>,
    again: Option<Time>,
}

/// What is owed to one of them.
#[derive(Debug, Default)]
struct OfShard {
    /// Everything of before is gone: it is to hear that before anything else.
    has_begun: bool,
    /// Connections that are no more, and what says so.
    ended: BTreeMap<LocalReference, Work>,
    /// Those that got no reference: the tag, and the refusal cause.
    refused: BTreeMap<u64, u8>,
    /// Aborts of dialogues of which a message was lost, by themselves.
    aborts: BTreeMap<Bytes, Transit>,
}

impl OfShard {
    fn is_empty(&self) -> bool {
        !self.has_begun
            && self.ended.is_empty()
            && self.refused.is_empty()
            && self.aborts.is_empty()
    }
}

impl Owed {
    fn of(&mut self, now: Time, shard: u16) -> &mut OfShard {
        self.again.get_or_insert(now + AGAIN);
        self.shards.entry(shard).or_default()
    }

    /// A shard does not know that this one has begun.
    pub(crate) fn begun(&mut self, now: Time, shard: u16) {
        self.of(now, shard).has_begun = true;
    }

    /// Whether a shard does not know that: whatever it is told of connections would be lost then.
    pub(crate) fn owes_begun(&self, shard: u16) -> bool {
        self.shards.get(&shard).is_some_and(|it| it.has_begun)
    }

    /// A shard does not know that a connection is no more, which `says` says.
    pub(crate) fn ended(&mut self, now: Time, shard: u16, of: LocalReference, says: Work) {
        self.of(now, shard).ended.insert(of, says);
    }

    /// Whether a shard does not know that.
    pub(crate) fn owes_end(&self, shard: u16, of: LocalReference) -> bool {
        self.shards.get(&shard).is_some_and(|it| it.ended.contains_key(&of))
    }

    /// The reference stands for another connection now, or the other side has ended that one.
    pub(crate) fn settled(&mut self, shard: u16, of: LocalReference) {
        if let Some(it) = self.shards.get_mut(&shard) {
            it.ended.remove(&of);
        }
    }

    /// A shard does not know that a connection with that tag got no reference.
    pub(crate) fn refused(&mut self, now: Time, shard: u16, tag: u64, cause: u8) {
        self.of(now, shard).refused.insert(tag, cause);
    }

    /// A shard does not know that a dialogue is over, which this abort says.
    pub(crate) fn aborted(&mut self, now: Time, shard: u16, abort: Transit) {
        let all = &mut self.of(now, shard).aborts;
        if all.len() < ABORTS_MAX {
            all.insert(abort.unitdata.data.clone(), abort);
        }
    }

    /// A shard has begun anew: it has nothing that it could be told of.
    pub(crate) fn forget(&mut self, shard: u16) {
        self.shards.remove(&shard);
    }

    /// When [`Owed::take`] has something.
    pub(crate) const fn deadline(&self) -> Option<Time> {
        self.again
    }

    /// What is to be told again now, in order. What is not taken is owed anew.
    pub(crate) fn take(&mut self, now: Time) -> Vec<(u16, Work)> {
        let mut told = Vec::new();
        if self.again.is_none_or(|at| at > now) {
            return told;
        }
        for (shard, it) in &mut self.shards {
            if core::mem::take(&mut it.has_begun) {
                told.push((*shard, Work::Born));
            }
            for _ in 0..AT_ONCE {
                let Some((_, says)) = it.ended.pop_first() else { break };
                told.push((*shard, says));
            }
            for _ in 0..AT_ONCE {
                let Some((tag, cause)) = it.refused.pop_first() else { break };
                told.push((*shard, Work::NotConnected(tag, cause)));
            }
            for _ in 0..AT_ONCE {
                let Some((_, abort)) = it.aborts.pop_first() else { break };
                told.push((*shard, Work::Unitdata(abort)));
            }
        }
        self.shards.retain(|_, it| !it.is_empty());
        self.again = (!self.shards.is_empty()).then(|| now + AGAIN);
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_owed_is_told_once_and_a_beginning_before_all_else() {
        let (mut it, now) = (Owed::default(), Time::from_millis(1));
        let reference = LocalReference::truncated;
        for number in 0..1_500 {
            it.ended(now, 2, reference(number), Work::Notice(0, Bytes::new()));
        }
        it.refused(now, 2, 7, 3);
        it.begun(now, 2);
        it.settled(2, reference(1));
        assert!(it.owes_begun(2) && it.owes_end(2, reference(2)) && !it.owes_end(2, reference(1)));
        assert!(it.take(now).is_empty(), "not yet");
        let told = it.take(now + AGAIN);
        assert_eq!((told.len(), &told[0]), (1 + AT_ONCE + 1, &(2, Work::Born)));
        assert_eq!(it.take(now + AGAIN + AGAIN).len(), 1_499 - AT_ONCE);
        assert_eq!((it.deadline(), it.owes_begun(2)), (None, false));
        it.begun(now, 1);
        it.forget(1);
        assert!(it.take(now + AGAIN).is_empty());
    }
}
