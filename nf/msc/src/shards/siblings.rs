//! The further shards, as the first one sees them: what they were told of which ends.

use super::work::{Packet, Stands, Work};
use super::{AGAIN, shard_of};
use anchor::{End, Local};
use handshake::{Came, Known, Received};
use hashbrown::HashSet;
use machine::Time;
use media::program::Place;
use runtime::Effects;
use std::collections::BTreeSet;

/// Ends that one tick tells of again.
const AT_ONCE: usize = 1_024;

/// The further shards.
#[derive(Debug)]
pub(crate) struct Siblings {
    shards: u16,
    /// Ends that one of them was told of.
    told: HashSet<Local>,
    /// Ends of which one has to be told how they stand, or that they do not.
    owed: BTreeSet<Local>,
    /// Shards that do not know yet that nothing of before counts: they are told nothing else.
    behind: BTreeSet<u16>,
    /// When that is told.
    again: Option<Time>,
}

impl Siblings {
    /// Those of a first shard that has just begun: they may know of the one before.
    pub fn new(now: Time, shards: u16) -> Self {
        Self {
            shards,
            told: HashSet::new(),
            owed: BTreeSet::new(),
            behind: (1..shards).collect(),
            again: Some(now),
        }
    }

    /// When [`Siblings::tick`] wants to be called next.
    pub const fn deadline(&self) -> Option<Time> {
        self.again
    }

    /// Whether one of them was told of an end.
    pub fn has(&self, local: Local) -> bool {
        self.told.contains(&local)
    }

    fn hand(&self, local: Local, work: &Work, out: &mut Effects) -> bool {
        let shard = shard_of(local, self.shards);
        let is_heard = !self.behind.contains(&shard);
        if is_heard {
            out.hand(shard, |to| work.write(to));
        }
        is_heard
    }

    fn owe(&mut self, now: Time, local: Local) {
        self.owed.insert(local);
        self.again.get_or_insert(now + AGAIN);
    }

    /// An end stands, or is another one.
    pub fn stands(
        &mut self,
        now: Time,
        end: &End,
        place: Option<Place>,
        known: Known,
        out: &mut Effects,
    ) -> Came {
        self.told.insert(end.local);
        let work = Work::Stands(Box::new(Stands { end: end.clone(), place, known }));
        if !self.hand(end.local, &work, out) {
            self.owe(now, end.local);
        }
        Came::default()
    }

    /// A packet came to the port of an end.
    pub fn packet(&mut self, received: &Received<'_>, out: &mut Effects) -> Came {
        let local = received.end.local;
        self.told.insert(local);
        // Who has not heard how an end stands cannot judge what comes to it.
        let is_taken = !self.owed.contains(&local)
            && self.hand(local, &Work::Packet(Box::new(Packet::of(received))), out);
        Came { postponed: u64::from(!is_taken), ..Came::default() }
    }

    /// A port has no end any more.
    pub fn forget(&mut self, local: Local, out: &mut Effects) {
        // Who is behind forgets everything.
        if self.told.remove(&local) {
            self.hand(local, &Work::Forget(local), out);
        }
        self.owed.remove(&local);
    }

    /// Another node has the ends.
    pub fn forget_all(&mut self, out: &mut Effects) {
        self.told.clear();
        self.owed.clear();
        for shard in (1..self.shards).filter(|it| !self.behind.contains(it)) {
            out.hand(shard, |to| Work::ForgetAll.write(to));
        }
    }

    /// Says to those who are behind that nothing of before counts.
    fn say_anew(&mut self, out: &mut Effects) {
        for shard in std::mem::take(&mut self.behind) {
            out.hand(shard, |to| Work::Anew.write(to));
        }
    }

    /// One of them has begun: it knows of no end.
    pub fn born(&mut self, now: Time, shard: u16) {
        let its = self.told.iter().filter(|it| shard_of(**it, self.shards) == shard);
        self.owed.extend(its);
        if !self.owed.is_empty() {
            self.again = Some(now);
        }
    }

    /// One of them did not take this; whether a packet is lost.
    pub fn handed_back(&mut self, now: Time, to: u16, work: &[u8]) -> bool {
        match Work::read(work) {
            // For whoever knows of no end both say the same.
            Ok(Work::Anew | Work::ForgetAll) => {
                self.behind.insert(to);
                self.again.get_or_insert(now + AGAIN);
            }
            Ok(Work::Stands(it)) => self.owe(now, it.end.local),
            Ok(Work::Forget(local)) => self.owe(now, local),
            Ok(Work::Packet(_)) => return true,
            Ok(_) | Err(_) => {}
        }
        false
    }

    /// Tells those who are behind; the ends of which one has to be told.
    pub fn tick(&mut self, now: Time, out: &mut Effects) -> Vec<Local> {
        if self.again.is_none_or(|at| at > now) {
            return Vec::new();
        }
        self.say_anew(out);
        let mut owed = Vec::new();
        while owed.len() < AT_ONCE
            && let Some(local) = self.owed.pop_first()
        {
            owed.push(local);
        }
        self.again = (!self.owed.is_empty()).then(|| now + AGAIN);
        owed
    }

    /// An end of which one was to be told does not stand.
    pub fn is_gone(&mut self, local: Local, out: &mut Effects) {
        self.told.insert(local);
        self.forget(local, out);
    }
}
