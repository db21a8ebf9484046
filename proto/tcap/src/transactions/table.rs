//! The records of dialogues: one table, or one for each partition that several nodes share.
//!
//! ```text
//!   index of a shared table: partition, 6 bits · epoch of its owner, 2 bits · slot, 16 bits
//! ```
//! Who serves a partition after another node takes a table in which nothing stands, and makes its
//! identifiers with a secret of its own: no transaction identifier has two owners, and who has seen
//! those of one owner knows none of the next.

use crate::codec::TransactionId;
use crate::record::Record;
use machine::identity::Layout;
use machine::slots::{Key, SlotChange, Slots};
use machine::{Time, narrow};

/// A transaction identifier: seven shards, two million slots, four bits of generation and of check.
pub(super) const LAYOUT: Layout = Layout::of_32(3, 21, 4);
/// The same where nodes share partitions: table, slot, generation; four bits of check.
pub(super) const SHARED: Layout = Layout::of_32(8, 16, 4);
/// Partitions that nodes share.
pub const PARTITIONS: u8 = 48;
/// Tables of a partition, one for each of so many owners one after the other.
const OWNERS: u8 = 4;
/// Bits of a slot in its table, and in its partition.
const SLOT_BITS: u32 = 16;
const PARTITION_SLOT_BITS: u32 = 18;

/// All records.
#[derive(Debug)]
pub(super) struct Table {
    tables: Tables,
    len: usize,
    max: usize,
}

#[derive(Debug)]
enum Tables {
    One(Box<Slots<Record>>),
    Shared(Shared),
}

/// Tables of partitions.
#[derive(Debug)]
struct Shared {
    tables: Vec<Option<Box<Slots<Record>>>>,
    /// What the identifiers of each table are made with.
    secrets: Vec<u64>,
    /// Partitions that are served here, and the place of the table that new ones go to.
    served: Vec<(u8, u8)>,
    next: usize,
    /// Tables with changes that were not told.
    dirty: Vec<u8>,
    now: Time,
}

/// The number of a table, and the slot in it.
fn split(index: u32) -> (u8, u32) {
    let table = u8::try_from(index >> SLOT_BITS).unwrap_or(u8::MAX);
    (table, index & ((1 << SLOT_BITS) - 1))
}

const fn joined(table: u8, slot: u32) -> u32 {
    (table as u32) << SLOT_BITS | slot
}

impl Shared {
    fn at(&self, table: u8) -> Option<&Slots<Record>> {
        self.tables.get(usize::from(table))?.as_deref()
    }

    fn at_mut(&mut self, table: u8) -> Option<&mut Slots<Record>> {
        self.tables.get_mut(usize::from(table))?.as_deref_mut()
    }

    fn secret(&self, table: u8) -> Option<u64> {
        self.secrets.get(usize::from(table)).copied()
    }

    fn is_empty(&self, table: u8) -> bool {
        self.at(table).is_none_or(Slots::is_empty)
    }

    /// The table of that number, made if it was not.
    fn made(&mut self, table: u8) -> Option<&mut Slots<Record>> {
        let now = self.now;
        let place = self.tables.get_mut(usize::from(table))?;
        Some(place.get_or_insert_with(|| {
            let mut slots = Slots::new(1 << SLOT_BITS, now);
            slots.watch(true);
            Box::new(slots)
        }))
    }

    fn touched(&mut self, table: u8) {
        if !self.dirty.contains(&table) {
            self.dirty.push(table);
        }
    }

    fn take(&mut self) -> Option<(Key, &mut Record)> {
        // A table that is full is passed over.
        let count = self.served.len();
        let fits = |at: &usize| {
            let table = self.served[*at].1;
            self.at(table).is_none_or(|it| it.len() < 1 << SLOT_BITS)
        };
        let at = (0..count).map(|it| (self.next + it) % count).find(fits)?;
        self.next = at + 1;
        let table = self.served[at].1;
        self.touched(table);
        let (key, record) = self.made(table)?.take()?;
        Some((Key { index: joined(table, key.index), ..key }, record))
    }
}

/// A record that stands, or is no more, by its slot in its partition.
#[derive(Debug)]
pub(super) enum Change<'a> {
    Stands(Key, &'a Record),
    Gone(u32),
}

impl Table {
    pub(super) fn one(max: u32, now: Time) -> Self {
        let tables = Tables::One(Box::new(Slots::new(max, now)));
        Self { tables, len: 0, max: max as usize }
    }

    /// Tables of partitions, none of which is served yet.
    pub(super) fn shared(max: u32, now: Time) -> Self {
        let count = usize::from(PARTITIONS) * usize::from(OWNERS);
        let tables = (0..count).map(|_| None).collect();
        let (served, dirty) = (Vec::new(), Vec::new());
        let shared = Shared { tables, secrets: vec![0; count], served, next: 0, dirty, now };
        Self { tables: Tables::Shared(shared), len: 0, max: max as usize }
    }

    pub(super) const fn is_shared(&self) -> bool {
        matches!(self.tables, Tables::Shared(_))
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn set_max(&mut self, max: u32) {
        self.max = max as usize;
        if let Tables::One(slots) = &mut self.tables {
            slots.set_max(max);
        }
    }

    /// The identifier of a dialogue.
    pub(super) fn identifier(&self, secret: u64, shard: u16, key: Key) -> Option<TransactionId> {
        let number = match &self.tables {
            Tables::One(_) => LAYOUT.write(secret, shard, key)?,
            Tables::Shared(shared) => {
                let (table, slot) = split(key.index);
                let secret = shared.secret(table)?;
                SHARED.write(secret, table.into(), Key { index: slot, ..key })?
            }
        };
        u32::try_from(number).ok().map(TransactionId::of)
    }

    /// The dialogue of an identifier.
    pub(super) fn find(&self, secret: u64, shard: u16, id: TransactionId) -> Option<Key> {
        let number = id.number()?.into();
        match &self.tables {
            Tables::One(slots) => {
                let number = LAYOUT.read(secret, number)?;
                let key = slots.user_of(number.index)?;
                (number.shard == shard && LAYOUT.is_of(number, key)).then_some(key)
            }
            Tables::Shared(shared) => {
                let table = u8::try_from(SHARED.shard_of(number)?).ok()?;
                let number = SHARED.read(shared.secret(table)?, number)?;
                let key = shared.at(table)?.user_of(number.index)?;
                let found = Key { index: joined(table, key.index), ..key };
                SHARED.is_of(number, key).then_some(found)
            }
        }
    }

    pub(super) fn take(&mut self) -> Option<(Key, &mut Record)> {
        if self.len >= self.max {
            return None;
        }
        let taken = match &mut self.tables {
            Tables::One(slots) => slots.take(),
            Tables::Shared(shared) => shared.take(),
        }?;
        self.len += 1;
        Some(taken)
    }

    pub(super) fn give_back(&mut self, key: Key) {
        if self.at(key).is_none() {
            return;
        }
        self.len -= 1;
        match &mut self.tables {
            Tables::One(slots) => slots.give_back(key),
            Tables::Shared(shared) => {
                let (table, index) = split(key.index);
                shared.touched(table);
                if let Some(slots) = shared.at_mut(table) {
                    slots.give_back(Key { index, ..key });
                }
            }
        }
    }

    #[inline]
    pub(super) fn at(&self, key: Key) -> Option<&Record> {
        match &self.tables {
            Tables::One(slots) => slots.at(key),
            Tables::Shared(shared) => {
                let (table, index) = split(key.index);
                shared.at(table)?.at(Key { index, ..key })
            }
        }
    }

    #[inline]
    pub(super) fn at_mut(&mut self, key: Key) -> Option<&mut Record> {
        match &mut self.tables {
            Tables::One(slots) => slots.at_mut(key),
            Tables::Shared(shared) => {
                let (table, index) = split(key.index);
                shared.touched(table);
                shared.at_mut(table)?.at_mut(Key { index, ..key })
            }
        }
    }

    /// Does something to every record. None of them counts as changed.
    pub(super) fn each_mut(&mut self, mut act: impl FnMut(&mut Record)) {
        match &mut self.tables {
            Tables::One(slots) => slots.each_mut(act),
            Tables::Shared(shared) => {
                shared.tables.iter_mut().flatten().for_each(|it| it.each_mut(&mut act));
            }
        }
    }

    /// The present user of a slot.
    pub(super) fn user_of(&self, index: u32) -> Option<Key> {
        match &self.tables {
            Tables::One(slots) => slots.user_of(index),
            Tables::Shared(shared) => {
                let (table, slot) = split(index);
                let key = shared.at(table)?.user_of(slot)?;
                Some(Key { index, ..key })
            }
        }
    }

    pub(super) fn arm(&mut self, key: Key, at: Time) {
        match &mut self.tables {
            Tables::One(slots) => slots.arm(key, at),
            Tables::Shared(shared) => {
                let (table, index) = split(key.index);
                if let Some(slots) = shared.at_mut(table) {
                    slots.arm(Key { index, ..key }, at);
                }
            }
        }
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        match &self.tables {
            Tables::One(slots) => slots.deadline(),
            Tables::Shared(shared) => {
                let tables = shared.tables.iter().flatten();
                tables.filter_map(|it| it.deadline()).min()
            }
        }
    }

    /// Appends the dialogues that are due.
    pub(super) fn expire(&mut self, now: Time, due: &mut Vec<Key>) {
        let shared = match &mut self.tables {
            Tables::One(slots) => return slots.expire(now, due),
            Tables::Shared(shared) => shared,
        };
        shared.now = now;
        for (table, slots) in (0..u8::MAX).zip(&mut shared.tables) {
            let Some(slots) = slots.as_mut().filter(|it| it.deadline() <= Some(now)) else {
                continue;
            };
            let first = due.len();
            slots.expire(now, due);
            due[first..].iter_mut().for_each(|it| it.index = joined(table, it.index));
        }
    }

    /// A partition is served here from now on, by the owner of that epoch or, where something
    /// stands in its table, the next one.
    pub(super) fn serve(&mut self, partition: u8, epoch: u32, secret: u64) {
        let Tables::Shared(shared) = &mut self.tables else { return };
        if partition >= PARTITIONS {
            return;
        }
        let first = u8::try_from(epoch % u32::from(OWNERS)).unwrap_or_default();
        let mut tables = (0..OWNERS).map(|it| partition * OWNERS + (first + it) % OWNERS);
        let table = tables.find(|it| shared.is_empty(*it));
        if let Some(empty) = table.map(usize::from) {
            (shared.tables[empty], shared.secrets[empty]) = (None, secret);
        }
        let table = table.unwrap_or(partition * OWNERS + first);
        shared.served.retain(|it| it.0 != partition);
        shared.served.push((partition, table));
        // What was put there becomes the table itself.
        for table in partition * OWNERS..(partition + 1) * OWNERS {
            if let Some(slots) = shared.at_mut(table) {
                // Whoever stands by has them already, or is told all.
                slots.tell(|told| u64::from(matches!(told, SlotChange::Stands(..))));
                slots.settle();
            }
        }
    }

    /// The owner's table that new records of a partition go to, while it is served here.
    pub(super) fn owner(&self, partition: u8) -> Option<u8> {
        let Tables::Shared(shared) = &self.tables else { return None };
        let served = shared.served.iter().find(|it| it.0 == partition);
        served.map(|it| it.1 % OWNERS)
    }

    /// The tables of a partition that have something, and what their identifiers are made with;
    /// the last one is that of its owner, while it is served here.
    pub(super) fn owners(&self, partition: u8) -> Vec<(u8, u64)> {
        let Tables::Shared(shared) = &self.tables else { return Vec::new() };
        let own = self.owner(partition);
        let others = (0..OWNERS).filter(|it| Some(*it) != own);
        let first = partition.min(PARTITIONS) * OWNERS;
        let others = others.filter(|it| !shared.is_empty(first + *it));
        let secret = |it: u8| shared.secret(first + it).map(|secret| (it, secret));
        others.chain(own).filter_map(secret).collect()
    }

    /// What the identifiers of a table were made with at another node.
    pub(super) fn own(&mut self, partition: u8, owner: u8, secret: u64) {
        let Tables::Shared(shared) = &mut self.tables else { return };
        let table = usize::from(partition) * usize::from(OWNERS) + usize::from(owner % OWNERS);
        if let Some(place) = shared.secrets.get_mut(table) {
            *place = secret;
        }
    }

    /// Records of a partition.
    pub(super) fn len_of(&self, partition: u8) -> usize {
        let Tables::Shared(shared) = &self.tables else { return 0 };
        let first = usize::from(partition.min(PARTITIONS)) * usize::from(OWNERS);
        let tables = shared.tables.iter().skip(first).take(usize::from(OWNERS));
        tables.flatten().map(|it| it.len()).sum()
    }

    /// A partition is served here no more: its records are gone.
    pub(super) fn leave(&mut self, partition: u8) -> usize {
        let Tables::Shared(shared) = &mut self.tables else { return 0 };
        shared.served.retain(|it| it.0 != partition);
        let mut count = 0;
        for table in partition.min(PARTITIONS) * OWNERS..(partition + 1).min(PARTITIONS) * OWNERS {
            shared.dirty.retain(|it| *it != table);
            let place = shared.tables.get_mut(usize::from(table));
            count += place.and_then(Option::take).map_or(0, |it| it.len());
        }
        self.len -= count;
        count
    }

    /// A record of a partition that another node has served: to be filled.
    pub(super) fn put(
        &mut self,
        partition: u8,
        slot: u32,
        generation: u32,
    ) -> Option<(Key, &mut Record)> {
        let Tables::Shared(shared) = &mut self.tables else { return None };
        if partition >= PARTITIONS || slot >> PARTITION_SLOT_BITS != 0 {
            return None;
        }
        let index = u32::from(partition) << PARTITION_SLOT_BITS | slot;
        let (table, place) = split(index);
        let slots = shared.made(table)?;
        let before = slots.len();
        let record = slots.put(Key { index: place, generation });
        record.as_ref()?;
        let after = slots.len();
        self.len = self.len + after - before;
        let key = Key { index, generation };
        let (Tables::Shared(shared), place) = (&mut self.tables, Key { index: place, generation })
        else {
            return None;
        };
        Some((key, shared.at_mut(table)?.at_mut(place)?))
    }

    /// Tells what changed and `stands`, or stood and is gone.
    pub(super) fn changes(
        &mut self,
        stands: impl Fn(&Record) -> bool,
        tell: &mut dyn FnMut(u8, Change<'_>),
    ) {
        let Tables::Shared(shared) = &mut self.tables else { return };
        let mut dirty = core::mem::take(&mut shared.dirty);
        for table in dirty.drain(..) {
            let Some(slots) = shared.at_mut(table) else { continue };
            let partition = table / OWNERS;
            slots.tell(|told| match told {
                SlotChange::Stands(key, record, was) => {
                    if was == 0 && !stands(record) {
                        return 0;
                    }
                    let key = Key { index: joined(table, key.index), ..key };
                    tell(partition, Change::Stands(key, record));
                    1
                }
                SlotChange::Gone(key) => {
                    tell(partition, Change::Gone(in_partition(joined(table, key.index))));
                    0
                }
            });
        }
        shared.dirty = dirty;
    }

    /// The records of a partition from that slot on, until `tell` says that it is enough: where the
    /// next ones stand.
    pub(super) fn standing(
        &self,
        partition: u8,
        from: u32,
        tell: &mut dyn FnMut(Key, &Record) -> bool,
    ) -> Option<u32> {
        let Tables::Shared(shared) = &self.tables else { return None };
        let (first, mut slot) = split(from);
        for owner in first..OWNERS {
            let table = partition * OWNERS + owner;
            let Some(slots) = shared.at(table) else {
                slot = 0;
                continue;
            };
            for place in slot..slots.places() {
                let Some(key) = slots.user_of(place) else { continue };
                let Some(record) = slots.at(key) else { continue };
                if !tell(Key { index: joined(table, place), ..key }, record) {
                    return Some(joined(owner, place));
                }
            }
            slot = 0;
        }
        None
    }

    /// Where nodes share partitions: that of a dialogue.
    pub(super) fn partition_of(key: Key) -> u8 {
        u8::try_from(key.index >> PARTITION_SLOT_BITS).unwrap_or(u8::MAX)
    }
}

/// The slot of an index in its partition.
pub(super) const fn in_partition(index: u32) -> u32 {
    index & ((1 << PARTITION_SLOT_BITS) - 1)
}

/// The partition of an identifier.
pub(super) fn partition_of(id: TransactionId) -> Option<u8> {
    let table = SHARED.shard_of(id.number()?.into())?;
    u8::try_from(table / u16::from(OWNERS)).ok().filter(|it| *it < PARTITIONS)
}

/// Dialogues at most, as far as a table can have them.
pub(super) fn slots_max(dialogues_max: u32, is_shared: bool) -> u32 {
    let most = match is_shared {
        true => u64::from(PARTITIONS) << PARTITION_SLOT_BITS,
        false => LAYOUT.slots_max(),
    };
    narrow::at_most(u64::from(dialogues_max).min(most), u32::MAX)
}
