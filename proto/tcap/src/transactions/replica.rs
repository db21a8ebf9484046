//! Dialogues of partitions that several nodes share: what stands is told as a delta of tagged
//! fields, and another node goes on with it.

use super::Transactions;
use super::table::{self, Change, Table};
use crate::codec::{Message, Problem, TransactionId};
use crate::effects::{DialogueId, OperationClass, Refused};
use crate::record::{Ends, Record, State};
use m3ua::codec::PointCode;
use machine::narrow;
use machine::{Duration, Time};
use sccp::codec::Address;
use wire::Malformed;
use wire::field::{self, Fields};

const SPEC: &str = "proto/tcap, record of a dialogue";

mod tag {
    pub(super) const GENERATION: u8 = 1;
    pub(super) const STATE: u8 = 2;
    pub(super) const REMOTE: u8 = 3;
    pub(super) const OWN: u8 = 4;
    pub(super) const PEER: u8 = 5;
    pub(super) const CONTEXT: u8 = 6;
    pub(super) const INVOCATION: u8 = 7;
    pub(super) const OWED: u8 = 8;
    pub(super) const SOURCE: u8 = 9;
    pub(super) const REJECT: u8 = 10;
    pub(super) const SLS: u8 = 11;
    pub(super) const IDLE: u8 = 12;
}

/// What is told of a dialogue.
#[derive(Debug)]
pub enum Report<'a> {
    /// It stands so: its slot in its partition, and the fields to append.
    Stands(DialogueId, u32, &'a [u8]),
    /// It is no more.
    Gone(u32),
}

fn write_address(tag: u8, it: &Address, out: &mut Vec<u8>) {
    field::nested(out, tag, |out| {
        // A point code may be longer than the 14 bits of Q.713.
        out.extend(it.point_code.map_or(u32::MAX, PointCode::number).to_be_bytes());
        Address { point_code: None, ..*it }.write(out);
    });
}

fn read_address(octets: &[u8]) -> Result<Address, Malformed> {
    let cut = || Malformed::new(0, "an address is cut off", SPEC);
    let (number, rest) = octets.split_first_chunk::<4>().ok_or_else(cut)?;
    let point_code = PointCode::new(u32::from_be_bytes(*number));
    Ok(Address { point_code, ..Address::read(rest, 4)? })
}

const fn class_number(it: OperationClass) -> u8 {
    match it {
        OperationClass::One => 1,
        OperationClass::Two => 2,
        OperationClass::Three => 3,
        OperationClass::Four => 4,
    }
}

const fn class(number: u8) -> OperationClass {
    match number {
        2 => OperationClass::Two,
        3 => OperationClass::Three,
        4 => OperationClass::Four,
        _ => OperationClass::One,
    }
}

/// Appends a record; times are what is left of them at `now`.
fn write(now: Time, generation: u32, it: &Record, out: &mut Vec<u8>) {
    let left = |due: Time| narrow::micros(due.since(now));
    field::number(out, tag::GENERATION, generation.into());
    let state = match it.state {
        State::InitiationSent => 0,
        State::InitiationReceived => 1,
        State::Active => 2,
    };
    field::bytes(out, tag::STATE, &[state]);
    if let Some(remote) = it.remote {
        let (octets, first) = remote.octets();
        field::bytes(out, tag::REMOTE, &octets[first..]);
    }
    if let Some(ends) = it.ends() {
        write_address(tag::OWN, &ends.own, out);
        write_address(tag::PEER, &ends.peer, out);
    }
    if !it.context().is_empty() {
        field::bytes(out, tag::CONTEXT, it.context());
    }
    for (id, of, time, due) in it.invocations.all() {
        field::nested(out, tag::INVOCATION, |out| {
            out.extend([id.cast_unsigned(), class_number(of)]);
            out.extend(narrow::micros(time).to_be_bytes());
            out.extend(left(due).to_be_bytes());
        });
    }
    if it.owed().next().is_some() {
        field::nested(out, tag::OWED, |out| out.extend(it.owed().map(i8::cast_unsigned)));
    }
    if let Some(source) = it.source {
        field::bytes(out, tag::SOURCE, &source.to_be_bytes());
    }
    for (id, problem) in it.rejects() {
        let (kind, number) = problem.parts();
        field::nested(out, tag::REJECT, |out| {
            out.extend([u8::from(id.is_some()), id.unwrap_or_default().cast_unsigned(), kind]);
            out.extend(number.to_be_bytes());
        });
    }
    field::bytes(out, tag::SLS, &[it.sls]);
    field::number(out, tag::IDLE, left(it.idle_due));
}

fn micros(octets: &[u8]) -> Duration {
    Duration::from_micros(field::read(octets))
}

/// Reads a record into an empty one; fields that are not known are passed over.
fn read(now: Time, fields: Fields<'_>, it: &mut Record) -> Result<(), Malformed> {
    let (mut own, mut peer, mut context) = (None, None, &[][..]);
    for (tag, value) in fields {
        match (tag, value) {
            (tag::STATE, [0, ..]) => it.state = State::InitiationSent,
            (tag::STATE, [1, ..]) => it.state = State::InitiationReceived,
            (tag::STATE, _) => it.state = State::Active,
            (tag::REMOTE, octets) => it.remote = TransactionId::read(octets),
            (tag::OWN, octets) => own = Some(read_address(octets)?),
            (tag::PEER, octets) => peer = Some(read_address(octets)?),
            (tag::CONTEXT, octets) if octets.len() <= super::CONTEXT_OCTETS_MAX => {
                context = octets;
            }
            (tag::INVOCATION, [id, of, rest @ ..]) => {
                let (time, left) = rest.split_at_checked(8).unwrap_or_default();
                let (id, of) = (id.cast_signed(), class(*of));
                if it.invocations.len() < super::INVOCATIONS_MAX {
                    it.invocations.put(id, of, micros(time), now + micros(left));
                }
            }
            (tag::OWED, octets) => octets.iter().for_each(|id| it.owe(id.cast_signed(), true)),
            (tag::SOURCE, octets) => {
                it.source = Some(narrow::at_most(field::read(octets), u16::MAX))
            }
            (tag::REJECT, [has, id, kind, rest @ ..]) => {
                let number = field::read(rest).cast_signed();
                it.reject((*has != 0).then_some(id.cast_signed()), Problem::of(*kind, number));
            }
            (tag::SLS, [sls, ..]) => it.sls = sls & 0x0f,
            (tag::IDLE, octets) => it.idle_due = now + micros(octets),
            _ => {}
        }
    }
    let ends = own.zip(peer).map(|(own, peer)| Ends { own, peer });
    let ends = ends.ok_or_else(|| Malformed::new(0, "the addresses lack", SPEC))?;
    it.set(&ends, context);
    Ok(())
}

impl Transactions {
    /// Dialogues of partitions that nodes share; none is served until [`Transactions::serve`].
    #[must_use]
    pub fn shared(settings: super::Settings, now: Time) -> Self {
        let mut it = Self::new(settings, now);
        it.slots = Table::shared(table::slots_max(settings.dialogues_max, true), now);
        it
    }

    /// Whether nodes share partitions.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        self.slots.is_shared()
    }

    /// The partition that a message for a transaction belongs to, where nodes share them; none: any
    /// may take it.
    #[must_use]
    pub fn partition_of(message: &Message<'_>) -> Option<u8> {
        table::partition_of(message.dtid?)
    }

    /// The partition whose transaction has sent a message that came back.
    #[must_use]
    pub fn partition_of_sender(message: &Message<'_>) -> Option<u8> {
        table::partition_of(message.otid?)
    }

    /// The partition of a dialogue by its number, see [`DialogueId::number`].
    #[must_use]
    pub fn partition_of_number(number: u64) -> u8 {
        let index = narrow::at_most(number & u64::from(u32::MAX), u32::MAX);
        Table::partition_of(machine::slots::Key { index, generation: 0 })
    }

    /// A partition is served here from now on, in that epoch: what was restored of it goes on, and
    /// dialogues begin in it, with identifiers that are made with a `secret` of this time alone.
    pub fn serve(&mut self, partition: u8, epoch: u32, secret: u64) {
        self.slots.serve(partition, epoch, secret);
    }

    /// The owners of a partition of whom something stands, by the numbers of their tables, and what
    /// the identifiers of each are made with. That in which dialogues begin here is the last.
    #[must_use]
    pub fn owners(&self, partition: u8) -> Vec<(u8, u64)> {
        self.slots.owners(partition)
    }

    /// The same as another node has told it, before what stands is restored.
    pub fn own(&mut self, partition: u8, owner: u8, secret: u64) {
        self.slots.own(partition, owner, secret);
    }

    /// The number of the table that dialogues begin in, of a partition that is served here: who
    /// serves it next is told the one after it as the epoch.
    #[must_use]
    pub fn owner(&self, partition: u8) -> Option<u8> {
        self.slots.owner(partition)
    }

    /// Dialogues of a partition.
    #[must_use]
    pub fn len_of(&self, partition: u8) -> usize {
        self.slots.len_of(partition)
    }

    /// A partition is served here no more: its dialogues are forgotten. How many they were.
    pub fn leave(&mut self, partition: u8) -> usize {
        let mut sources = Vec::new();
        self.slots.standing(partition, 0, &mut |_, record| {
            sources.extend(record.source);
            true
        });
        sources.into_iter().for_each(|it| self.sources.remove(it));
        self.due.retain(|key| Table::partition_of(*key) != partition);
        self.slots.leave(partition)
    }

    /// Restores a dialogue as another node has told it. Timers go on with what is left of them.
    ///
    /// # Errors
    /// It lacks something, or has no place here.
    pub fn restore(
        &mut self,
        now: Time,
        partition: u8,
        slot: u32,
        octets: &[u8],
    ) -> Result<DialogueId, Malformed> {
        let generation = Fields::new(octets).find(|it| it.0 == tag::GENERATION);
        let generation = generation.map_or(0, |it| narrow::at_most(field::read(it.1), u32::MAX));
        let no_place = || Malformed::new(0, "no place for it", SPEC);
        let (key, record) = self.slots.put(partition, slot, generation).ok_or_else(no_place)?;
        if let Err(violation) = read(now, Fields::new(octets), record) {
            self.slots.give_back(key);
            return Err(violation);
        }
        let (due, source) = (record.due(), record.source);
        source.into_iter().for_each(|it| self.sources.add(it));
        self.slots.arm(key, due);
        Ok(DialogueId(key))
    }

    /// Whether a dialogue stands: a TC-CONTINUE has been said.
    #[must_use]
    pub fn stands(&self, DialogueId(key): DialogueId) -> bool {
        self.slots.at(key).is_some_and(|it| it.state == State::Active)
    }

    /// What its user keeps of a dialogue has changed: it is told again.
    ///
    /// # Errors
    /// No such dialogue.
    pub fn changed(&mut self, DialogueId(key): DialogueId) -> Result<(), Refused> {
        self.slots.at_mut(key).map(drop).ok_or(Refused::Unknown)
    }

    /// Tells which dialogues stand otherwise than when this was asked last: the partition, and
    /// what. One is told from the first TC-CONTINUE on, or with `all` from its beginning.
    pub fn changes(&mut self, now: Time, all: bool, tell: &mut dyn FnMut(u8, Report<'_>)) {
        let mut octets = Vec::new();
        let stands = |record: &Record| all || record.state == State::Active;
        self.slots.changes(stands, &mut |partition, change| match change {
            Change::Gone(slot) => tell(partition, Report::Gone(slot)),
            Change::Stands(key, record) => {
                octets.clear();
                write(now, key.generation, record, &mut octets);
                let slot = table::in_partition(key.index);
                tell(partition, Report::Stands(DialogueId(key), slot, &octets));
            }
        });
    }

    /// Tells dialogues of a partition that stand, from that slot on, until `tell` says that it is
    /// enough. Where the next ones stand; none: these were all.
    pub fn standing(
        &self,
        now: Time,
        partition: u8,
        from: u32,
        all: bool,
        tell: &mut dyn FnMut(Report<'_>) -> bool,
    ) -> Option<u32> {
        let mut octets = Vec::new();
        self.slots.standing(partition, from, &mut |key, record| {
            if !all && record.state != State::Active {
                return true;
            }
            octets.clear();
            write(now, key.generation, record, &mut octets);
            tell(Report::Stands(DialogueId(key), table::in_partition(key.index), &octets))
        })
    }
}
