//! Which shard a message of TCAP goes to.

use crate::config::application::shard_of_tag;
use machine::{Duration, Time};
use sccp::ConnectionEvent;
use sccp::codec::LocalReference;
use std::collections::{BTreeMap, BTreeSet};
use tcap::Transactions;
use tcap::codec::{Message, MessageType};

/// How long a shard that took no work is given none that begins, while others are there.
const REST: Duration = Duration::from_millis(500);

/// The rank of an application without an instance whose dialogues are refused.
pub(crate) const REFUSED: u8 = 254;

/// What the first shard knows of those with dialogues.
#[derive(Debug)]
pub(crate) struct Spread {
    /// All shards.
    shards: u16,
    /// Subsystems of applications.
    served: BTreeSet<u8>,
    /// The first group of each that takes dialogues, by subsystem and shard.
    ranks: BTreeMap<u8, BTreeMap<u16, u8>>,
    /// The same of subsystems that no application serves yet: a shard may have taken a commit
    /// before this one, and says so once.
    early: BTreeMap<u8, BTreeMap<u16, u8>>,
    /// Those of them that have had an instance.
    has_had: BTreeSet<u8>,
    /// The shards whose applications have connections, by reference.
    connections: BTreeMap<LocalReference, u16>,
    /// Shards that took no work, until when they rest.
    resting: BTreeMap<u16, Time>,
    /// The shard that was given a dialogue last.
    last: u16,
}

impl Spread {
    pub(crate) const fn new(shards: u16) -> Self {
        Self {
            shards,
            served: BTreeSet::new(),
            ranks: BTreeMap::new(),
            early: BTreeMap::new(),
            has_had: BTreeSet::new(),
            connections: BTreeMap::new(),
            resting: BTreeMap::new(),
            last: 0,
        }
    }

    /// The shards that have dialogues.
    pub(crate) fn dialogues(&self) -> impl Iterator<Item = u16> + use<> {
        1..self.shards
    }

    /// Applications serve these subsystems.
    pub(crate) fn serve(&mut self, served: BTreeSet<u8>) {
        self.ranks.retain(|subsystem, _| served.contains(subsystem));
        self.has_had.retain(|subsystem| served.contains(subsystem));
        self.served = served;
        for subsystem in self.served.iter().copied().collect::<Vec<_>>() {
            for (shard, rank) in self.early.remove(&subsystem).unwrap_or_default() {
                self.rank(shard, subsystem, Some(rank));
            }
        }
    }

    /// Whether an application serves a subsystem.
    pub(crate) fn serves(&self, subsystem: u8) -> bool {
        self.served.contains(&subsystem)
    }

    /// Whether somebody takes the dialogues of a subsystem.
    pub(crate) fn can_serve(&self, subsystem: u8) -> bool {
        !self.serves(subsystem) || self.ranks.get(&subsystem).is_some_and(|it| !it.is_empty())
    }

    /// A shard says which group takes the dialogues of a subsystem there. Whether the subsystem
    /// can serve, where that has changed.
    pub(crate) fn rank(&mut self, shard: u16, subsystem: u8, rank: Option<u8>) -> Option<bool> {
        if !self.serves(subsystem) {
            let early = self.early.entry(subsystem).or_default();
            match rank {
                Some(rank) => drop(early.insert(shard, rank)),
                None => drop(early.remove(&shard)),
            }
            return None;
        }
        let before = self.can_serve(subsystem);
        if rank.is_some_and(|it| it < REFUSED) {
            self.has_had.insert(subsystem);
        }
        let ranks = self.ranks.entry(subsystem).or_default();
        match rank {
            Some(rank) => drop(ranks.insert(shard, rank)),
            None => drop(ranks.remove(&shard)),
        }
        Some(self.can_serve(subsystem)).filter(|is| *is != before)
    }

    /// Where no shard has an instance of the application of a subsystem: whether one has had.
    pub(crate) fn is_absent(&self, subsystem: u8) -> Option<bool> {
        let mut ranks = self.ranks.get(&subsystem).into_iter().flat_map(BTreeMap::values);
        let is_there = ranks.any(|it| *it < REFUSED);
        (self.serves(subsystem) && !is_there).then(|| self.has_had.contains(&subsystem))
    }

    /// A shard has begun anew: it has said nothing yet. Subsystems that nobody serves now.
    pub(crate) fn born(&mut self, shard: u16) -> Vec<u8> {
        let subsystems: Vec<u8> = self.ranks.keys().copied().collect();
        let lost = subsystems.into_iter().filter(|it| self.rank(shard, *it, None) == Some(false));
        let lost = lost.collect();
        self.early.values_mut().for_each(|it| it.retain(|of, _| *of != shard));
        self.resting.remove(&shard);
        lost
    }

    /// A shard took no work.
    pub(crate) fn rests(&mut self, now: Time, shard: u16) {
        self.resting.insert(shard, now + REST);
    }

    /// Where a message for a subsystem goes: to the shard of its transaction; what begins, to the
    /// next in turn of those with the first group.
    pub(crate) fn of(&mut self, now: Time, subsystem: u8, message: &[u8]) -> u16 {
        let message = Message::read(message).ok();
        let named = message.and_then(|it| Transactions::shard_of(&it));
        // An identifier that was never given leads nowhere: any shard says so.
        named
            .filter(|it| self.dialogues().any(|own| own == *it))
            .unwrap_or_else(|| self.begins(now, subsystem))
    }

    /// Where what begins goes.
    pub(crate) fn begins(&mut self, now: Time, subsystem: u8) -> u16 {
        self.resting.retain(|_, until| *until > now);
        let ranks = self.ranks.get(&subsystem);
        let rank_of = |shard: u16| match ranks {
            Some(ranks) => ranks.get(&shard).copied(),
            None => Some(0),
        };
        let candidates = self.dialogues().filter_map(|it| Some((rank_of(it)?, it)));
        let order =
            |it: &(u8, u16)| (self.resting.contains_key(&it.1), it.0, it.1 <= self.last, it.1);
        // Where nobody takes it, the first one refuses.
        let shard = candidates.min_by_key(order).map_or(1, |it| it.1);
        self.last = shard;
        shard
    }

    /// The shard whose dialogue has sent a message that came back.
    pub(crate) fn sender_of(&self, message: &[u8]) -> Option<u16> {
        let message = Message::read(message).ok()?;
        let shard = Transactions::sender_of(&message)?;
        self.dialogues().find(|it| *it == shard)
    }

    /// Whether a message begins a dialogue, and may so go to any shard.
    pub(crate) fn is_begin(message: &[u8]) -> bool {
        Message::read(message).is_ok_and(|it| it.kind == MessageType::Begin)
    }

    /// Whether a message aborts a dialogue.
    pub(crate) fn is_abort(message: &[u8]) -> bool {
        Message::read(message).is_ok_and(|it| it.kind == MessageType::Abort)
    }

    /// Something happens to a connection: at which shard. One that is offered goes to the next in
    /// turn, one that was asked for is where it was asked for.
    pub(crate) fn connection(
        &mut self,
        now: Time,
        of: LocalReference,
        event: &ConnectionEvent,
    ) -> Option<u16> {
        match event {
            ConnectionEvent::Offered { called, .. } => {
                let shard = self.begins(now, called.subsystem.unwrap_or_default());
                self.connections.insert(of, shard);
                Some(shard)
            }
            ConnectionEvent::Begun(tag) => {
                let shard = shard_of_tag(*tag);
                self.connections.insert(of, shard);
                Some(shard)
            }
            ConnectionEvent::Disconnected { .. } => self.connections.remove(&of),
            _ => self.connections.get(&of).copied(),
        }
    }

    /// Whether a connection is one of a shard's applications.
    pub(crate) fn has(&self, shard: u16, connection: LocalReference) -> bool {
        self.connections.get(&connection) == Some(&shard)
    }

    /// An application has ended a connection, or it is to end.
    pub(crate) fn forget(&mut self, of: LocalReference) {
        self.connections.remove(&of);
    }

    /// Takes the connections of a shard, which are to end.
    pub(crate) fn take_connections(&mut self, shard: u16) -> Vec<LocalReference> {
        let own = self.connections.iter().filter(|it| *it.1 == shard).map(|it| *it.0);
        let own: Vec<LocalReference> = own.collect();
        self.connections.retain(|_, of| *of != shard);
        own
    }

    /// Whether a shard is left that may take what another one did not.
    pub(crate) fn has_other(&self, than: u16) -> bool {
        self.dialogues().any(|it| it != than && !self.resting.contains_key(&it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcap::codec::{TransactionId, Writer};

    const NOW: Time = Time::from_millis(1);

    fn begin() -> Vec<u8> {
        let mut message = Vec::new();
        Writer::begin(TransactionId::of(1)).write(&mut message, |_| ());
        message
    }

    #[test]
    fn what_begins_is_shared_out_and_a_shard_that_takes_nothing_rests() {
        let (mut it, message) = (Spread::new(4), begin());
        let turn = |it: &mut Spread, now| [(); 4].map(|()| it.of(now, 8, &message));
        assert_eq!(turn(&mut it, NOW), [1, 2, 3, 1]);
        it.rests(NOW, 2);
        assert_eq!(turn(&mut it, NOW), [3, 1, 3, 1]);
        assert_eq!(turn(&mut it, NOW + REST), [2, 3, 1, 2]);
        (1..4).for_each(|shard| it.rests(NOW + REST, shard));
        assert!(!it.has_other(1));
        assert_eq!(turn(&mut it, NOW + REST), [3, 1, 2, 3], "somebody has to refuse");
    }

    #[test]
    fn an_application_s_dialogues_go_to_where_its_first_group_is() {
        let (mut it, message) = (Spread::new(4), begin());
        it.serve(BTreeSet::from([6]));
        assert!(!it.can_serve(6) && it.can_serve(8));
        assert_eq!(it.rank(2, 6, Some(1)), Some(true));
        assert_eq!((it.rank(3, 6, Some(0)), it.rank(1, 6, Some(0))), (None, None));
        assert_eq!([(); 3].map(|()| it.of(NOW, 6, &message)), [1, 3, 1]);
        assert_eq!((it.rank(3, 6, None), it.rank(1, 6, None)), (None, None));
        assert_eq!(it.of(NOW, 6, &message), 2);
        assert_eq!((it.born(2), it.can_serve(6)), (vec![6], false));
        assert_eq!(it.rank(2, 7, Some(0)), None, "of a subsystem without an application");
        it.rank(2, 9, Some(0));
        it.rank(2, 9, None);
        it.serve(BTreeSet::from([6, 7, 9]));
        assert!(it.can_serve(7) && !it.can_serve(9), "it took a commit before this one");
        it.rank(2, 6, Some(0));
        it.serve(BTreeSet::new());
        assert!(it.can_serve(6) && !it.serves(6));
    }
}
