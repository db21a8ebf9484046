//! The trails that run: found by the hashes of what joins messages to them.

use crate::entry::Entry;
use crate::keys;
use crate::live::Live;
use crate::protocol::Signal;
use crate::trail::Kind;
use hashbrown::HashTable;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Hashes under which one trail may be found.
const JOINS_MAX: usize = 128;
/// Legs that one trail takes because of what a header says.
const MARKED_MAX: u8 = 16;
/// Call-IDs that are remembered after their trails were closed, and for how long, microseconds:
/// 64 T1 (RFC 3261 §17.1.1.2).
const CLOSED_MAX: usize = 65_536;
const LATE_US: u64 = 32_000_000;
/// Tells hashes of transactions from all others.
const OF_DIALOGUES: u64 = 0x9e37_79b9_7f4a_7c15;
/// Slots that are compared when the quietest trail has to go.
const EVICTION_SAMPLE: usize = 32;
/// Slots that are passed over at most to find them.
const EVICTION_PASS: usize = 1_024;

/// A trail's slot and how often the slot was used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Index of the slot.
    pub index: u32,
    /// Grows with each use.
    pub generation: u32,
}

/// How far the headers of a message that name a call are believed: whoever sends a message writes
/// what he likes into them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Believed {
    /// The agent says by itself what belongs together.
    Never,
    /// If the message comes from a host that is part of the call already: a back-to-back user agent
    /// that got the one leg sends the other.
    FromHosts(IpAddr),
    /// The agent captures on trusted networks only.
    Always,
}

/// A header names a call of which the sender is no part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unbelieved;

/// The trails that run.
#[derive(Debug)]
pub struct Table {
    slots: Vec<(u32, Option<Box<Live>>)>,
    free: Vec<u32>,
    joins: HashTable<(u64, u32)>,
    seed: u64,
    hand: u32,
    /// Those of them that are dialogues.
    dialogues: usize,
    /// Call-IDs of trails that were closed a short while ago, and until when they count.
    closed: HashMap<u64, u64>,
    closed_order: VecDeque<(u64, u64)>,
}

impl Table {
    /// An empty table whose hashes nobody can foresee.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            joins: HashTable::new(),
            seed,
            hand: 0,
            dialogues: 0,
            closed: HashMap::new(),
            closed_order: VecDeque::new(),
        }
    }

    /// Trails in it.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Number of slots, used or not; `live_max` bounds it.
    #[must_use]
    pub fn slots(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }

    /// The hash of a Call-ID, a correlation or another mark; never 0.
    #[must_use]
    pub fn hash(&self, mark: &[u8]) -> u64 {
        xxh3_64_with_seed(mark, self.seed).max(1)
    }

    /// The hash of what a message is joined by: transactions and Call-IDs are different things,
    /// even where they are written alike.
    fn hash_of(&self, message: &dyn Signal, mark: &[u8]) -> u64 {
        if message.is_of_dialogue() { self.hash_of_dialogue(mark) } else { self.hash(mark) }
    }

    /// The hash of a transaction; never 0.
    #[must_use]
    pub fn hash_of_dialogue(&self, mark: &[u8]) -> u64 {
        xxh3_64_with_seed(mark, self.seed ^ OF_DIALOGUES).max(1)
    }

    /// The hash of the leg of a message.
    #[must_use]
    pub fn leg_of(&self, message: &dyn Signal) -> Option<u64> {
        message.leg().map(|leg| self.hash_of(message, leg))
    }

    /// The trail that a hash leads to.
    #[must_use]
    pub fn find(&self, hash: u64) -> Option<u32> {
        self.joins.find(hash, |&(h, _)| h == hash).map(|&(_, index)| index)
    }

    /// The trail in a slot.
    #[must_use]
    pub fn at(&mut self, index: u32) -> Option<&mut Live> {
        self.slots.get_mut(index as usize)?.1.as_deref_mut()
    }

    /// The slot with this index as it is used now.
    #[must_use]
    pub fn slot(&self, index: u32) -> Slot {
        let generation = self.slots.get(index as usize).map_or(0, |slot| slot.0);
        Slot { index, generation }
    }

    /// The trail in a slot, if the slot was not used again since.
    #[must_use]
    pub fn live(&mut self, slot: Slot) -> Option<&mut Live> {
        let (generation, live) = self.slots.get_mut(slot.index as usize)?;
        live.as_deref_mut().filter(|_| *generation == slot.generation)
    }

    /// Puts a trail in.
    pub fn insert(&mut self, live: Live) -> Slot {
        let index = self.free.pop().unwrap_or_else(|| {
            let index = self.slots();
            self.slots.push((0, None));
            index
        });
        let slot = &mut self.slots[index as usize];
        slot.0 = slot.0.wrapping_add(1);
        slot.1 = Some(Box::new(live));
        Slot { index, generation: slot.0 }
    }

    /// Lets `hash` lead to the trail in a slot from now on.
    fn join(&mut self, hash: u64, index: u32) {
        let Some(live) = self.slots[index as usize].1.as_deref_mut() else { return };
        if live.joins.contains(&hash) || live.joins.len() >= JOINS_MAX {
            return;
        }
        live.joins.push(hash);
        self.joins.insert_unique(hash, (hash, index), |&(h, _)| h);
    }

    /// The trail that a message or an event belongs to: by what its agent says, which no sender can
    /// write, then by Call-ID, or by its transactions.
    #[must_use]
    pub fn locate(&self, message: Option<&dyn Signal>, correlation: &[u8]) -> Option<u32> {
        let known = |hash: u64| self.find(hash);
        let own = Some(correlation).filter(|c| !c.is_empty());
        let mut found = own.and_then(|it| known(self.hash(it)));
        if let Some(message) = message {
            message.joins(&mut |mark| {
                found = found.or_else(|| known(self.hash_of(message, mark)));
            });
        }
        found
    }

    /// Joins what another element captured of the leg of this message, before its agent said whose
    /// leg it is, to the trail that the agent says. The ladder would be cut in two.
    pub fn unite(&mut self, index: u32, entry: &Entry<'_>, hash: u64) {
        let Some(other) = self.find(hash).filter(|other| *other != index) else { return };
        let at = |index: u32| self.slots.get(index as usize).and_then(|slot| slot.1.as_deref());
        let Some((live, foreign)) = at(index).zip(at(other)) else { return };
        if live.legs.contains(&hash) || !foreign.is_part_of(live, hash, entry) {
            return;
        }
        let Some(foreign) = self.remove(other) else { return };
        if let Some(live) = self.at(index) {
            live.merge(*foreign);
        }
        self.join(hash, index);
    }

    /// Notes that a trail was closed: what comes late with one of its Call-IDs begins no other.
    pub fn note_closed(&mut self, now_us: u64, legs: &[u64]) {
        for &hash in legs {
            if self.closed.len() >= CLOSED_MAX
                && let Some((oldest, _)) = self.closed_order.pop_front()
            {
                self.closed.remove(&oldest);
            }
            if self.closed.insert(hash, now_us + LATE_US).is_none() {
                self.closed_order.push_back((hash, now_us + LATE_US));
            }
        }
    }

    /// Whether a message is one that comes late to a trail that was closed: it begins nothing by
    /// itself.
    #[must_use]
    pub fn is_late(&mut self, now_us: u64, message: &dyn Signal) -> bool {
        let may_be = !message.begins() && !message.is_of_dialogue();
        let leg = message.leg().filter(|_| may_be);
        leg.is_some_and(|leg| self.is_closed(now_us, leg))
    }

    /// Whether a trail with this Call-ID or correlation was closed a short while ago.
    #[must_use]
    pub fn is_closed(&mut self, now_us: u64, mark: &[u8]) -> bool {
        while self.closed_order.front().is_some_and(|&(_, until)| until <= now_us) {
            if let Some((hash, _)) = self.closed_order.pop_front() {
                self.closed.remove(&hash);
            }
        }
        self.closed.contains_key(&self.hash(mark))
    }

    /// Whether a trail has a leg of this hash.
    #[must_use]
    pub fn has_leg(&mut self, index: u32, hash: u64) -> bool {
        self.at(index).is_some_and(|live| live.legs.contains(&hash))
    }

    /// The trail that the marks of back-to-back user agents in a message lead to.
    ///
    /// # Errors
    /// They lead to one, and are not believed.
    pub fn marked(
        &mut self,
        message: &dyn Signal,
        believed: Believed,
    ) -> Result<Option<u32>, Unbelieved> {
        if believed == Believed::Never {
            return Ok(None);
        }
        let mut found = None;
        message.marks(&mut |mark| found = found.or_else(|| self.find(self.hash(mark))));
        let Some(live) = found.and_then(|index| self.at(index)) else { return Ok(None) };
        let is_part = match believed {
            Believed::Never => false,
            Believed::FromHosts(ip) => live.trail.hosts.iter().any(|host| host.ip() == ip),
            Believed::Always => true,
        };
        if is_part && live.marked < MARKED_MAX { Ok(found) } else { Err(Unbelieved) }
    }

    /// Lets everything that a message can be joined by lead to the trail in a slot.
    pub fn adopt(
        &mut self,
        index: u32,
        message: Option<&dyn Signal>,
        correlation: &[u8],
        believed: Believed,
    ) {
        if let Some(message) = message {
            message.joins(&mut |mark| self.join_new(self.hash_of(message, mark), index));
            if believed != Believed::Never {
                message.marks(&mut |mark| self.join_new(self.hash(mark), index));
            }
        }
        self.correlate(index, correlation);
    }

    /// Lets an agent's correlation lead to the trail in a slot.
    pub fn correlate(&mut self, index: u32, correlation: &[u8]) {
        if correlation.is_empty() {
            return;
        }
        let hash = self.hash(correlation);
        if self.at(index).is_some_and(|live| live.correlation != hash) {
            self.join_new(hash, index);
            if let Some(live) = self.at(index) {
                live.correlation = hash;
                // A function shows its number of a trail, which leads here.
                keys::add_call_id(&mut live.keys, correlation);
            }
        }
    }

    fn join_new(&mut self, hash: u64, index: u32) {
        if self.find(hash).is_none() {
            self.join(hash, index);
        }
    }

    /// Puts a trail in that is found by its Call-IDs from now on.
    pub fn resume(&mut self, live: Live) -> u32 {
        let legs = live.legs.clone();
        let index = self.insert(live).index;
        self.count(index);
        legs.into_iter().for_each(|hash| self.join_new(hash, index));
        index
    }

    /// Counts a trail that has turned out to be a dialogue.
    pub fn count(&mut self, index: u32) {
        let Some(live) = self.at(index) else { return };
        if live.trail.kind == Kind::Dialogue && !live.is_dialogue {
            live.is_dialogue = true;
            self.dialogues += 1;
        }
    }

    /// Which trail goes so that another one has room among so many. Dialogues have half of them at
    /// most, and make room for each other first: whoever reaches a node of SS7 can begin as many as
    /// he likes.
    #[must_use]
    pub fn evicted_for(&mut self, most: usize, is_dialogue: bool) -> Option<Slot> {
        let is_full = self.len() >= most;
        let is_share_full = self.dialogues >= (most / 2).max(1);
        let own = match is_dialogue && (is_full || is_share_full) {
            true => self.quiet(true),
            false => None,
        };
        own.or_else(|| is_full.then(|| self.quiet(false)).flatten())
    }

    /// Takes a trail out.
    pub fn remove(&mut self, index: u32) -> Option<Box<Live>> {
        let live = self.slots.get_mut(index as usize)?.1.take()?;
        self.dialogues -= usize::from(live.is_dialogue);
        for &hash in &live.joins {
            let found = self.joins.find_entry(hash, |&(h, i)| h == hash && i == index);
            if let Ok(entry) = found {
                entry.remove();
            }
        }
        self.free.push(index);
        Some(live)
    }

    /// A trail that was quiet long: the quietest of the next few slots.
    fn quiet(&mut self, is_dialogue: bool) -> Option<Slot> {
        let (mut quietest, mut compared): (Option<(u64, Slot)>, usize) = (None, 0);
        for _ in 0..EVICTION_PASS.min(self.slots.len()) {
            if compared == EVICTION_SAMPLE {
                break;
            }
            self.hand = (self.hand + 1) % self.slots();
            let (generation, Some(live)) = &self.slots[self.hand as usize] else { continue };
            if is_dialogue && !live.is_dialogue {
                continue;
            }
            compared += 1;
            if quietest.is_none_or(|(last, _)| live.last_us < last) {
                let slot = Slot { index: self.hand, generation: *generation };
                quietest = Some((live.last_us, slot));
            }
        }
        quietest.map(|(_, slot)| slot)
    }
}
