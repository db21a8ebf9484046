//! What nodes tell each other: datagrams of tagged fields. Tags that are not known are passed over,
//! so that nodes of two versions understand each other.

use crate::node::{NodeSet, Partition, PartitionSet};
use crate::table::{Table, Version};
use machine::Time;
use machine::narrow::told;
use wire::field::{self, Fields};
use wire::{Cursor, Malformed};

/// The version that is spoken, and the oldest one that is understood.
pub const VERSION: u32 = 1;
/// See [`VERSION`].
pub const OLDEST: u32 = 1;

const MAGIC: &[u8; 4] = b"TDC1";
const SPEC: &str = "stack/cluster, message";
const CUT: &str = "an entry is cut off";
/// No term and no number comes near: what is added to them later does not wrap.
const NUMBER_MAX: u64 = 1 << 62;

const KIND_BEAT: u8 = 1;
const KIND_TABLE: u8 = 2;
const KIND_ENTRIES: u8 = 3;
const KIND_TAKEN: u8 = 4;

mod tag {
    pub(super) const LIFE: u8 = 1;
    pub(super) const STAMP: u8 = 2;
    pub(super) const ECHO: u8 = 3;
    pub(super) const TERM: u8 = 4;
    pub(super) const FLAGS: u8 = 5;
    pub(super) const VOTE_ECHO: u8 = 6;
    pub(super) const STORED_TERM: u8 = 7;
    pub(super) const STORED_NUMBER: u8 = 8;
    pub(super) const ACTING_TERM: u8 = 9;
    pub(super) const ACTING_NUMBER: u8 = 10;
    pub(super) const SERVING: u8 = 11;
    pub(super) const FILLED: u8 = 12;
    pub(super) const BEHIND: u8 = 13;
    pub(super) const HEARS: u8 = 14;
    pub(super) const WEIGHT: u8 = 15;
    pub(super) const DIGEST: u8 = 16;
    pub(super) const VERSION: u8 = 17;
    pub(super) const OLDEST: u8 = 18;
    pub(super) const SESSION: u8 = 19;
    pub(super) const APPLIED: u8 = 20;
    pub(super) const OF_LIFE: u8 = 21;
    pub(super) const FIRST: u8 = 22;
    pub(super) const ENTRY: u8 = 23;
    pub(super) const TABLE: u8 = 24;
    pub(super) const DIALOGUES: u8 = 25;
    pub(super) const VOID: u8 = 26;
}

mod flag {
    pub(super) const CLAIMS: u64 = 1;
    pub(super) const LEADS: u64 = 2;
    pub(super) const GRANTS: u64 = 4;
    pub(super) const VOTES: u64 = 8;
    pub(super) const DRAINS: u64 = 16;
}

/// A heartbeat: votes, leases, what the sender does, and the acknowledgement of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Beat {
    /// The sender's life: another number after each start.
    pub life: u64,
    /// The sender's time.
    pub stamp: Time,
    /// The newest stamp of the receiver that the sender has heard.
    pub echo: Time,
    /// The highest term that it knows; its own while it claims.
    pub term: u64,
    /// It wants to be the coordinator, or is.
    pub claims: bool,
    /// It is the coordinator.
    pub leads: bool,
    /// The coordinator lets the receiver serve, from `echo` on.
    pub grants: bool,
    /// It votes for the receiver, from `vote_echo` on.
    pub votes: bool,
    /// It is to serve nothing.
    pub drains: bool,
    /// The receiver's stamp that the vote counts from.
    pub vote_echo: Time,
    /// The newest table that it has.
    pub stored: Version,
    /// The newest table that it knows to hold.
    pub acting: Version,
    /// Partitions that it serves.
    pub serving: PartitionSet,
    /// Those of them whose joining node has everything.
    pub filled: PartitionSet,
    /// Those of them whose standby or joining node does not follow.
    pub behind: PartitionSet,
    /// Those that the table gives to it from an earlier life, of which it has nothing.
    pub void: PartitionSet,
    /// Nodes that it hears.
    pub hears: NodeSet,
    /// Its share of the load.
    pub weight: u8,
    /// A number for what has to be configured alike at all nodes.
    pub digest: u64,
    /// The version that it speaks.
    pub version: u32,
    /// The oldest version that it understands.
    pub oldest: u32,
    /// The life and session of the receiver's stream that it follows.
    pub session: (u64, u64),
    /// The last entry of it that was taken.
    pub applied: u64,
    /// Dialogues that stand there, for people.
    pub load: u64,
}

/// An entry of the stream between two nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry<'a> {
    /// Work for the function there.
    Work(&'a [u8]),
    /// Everything of a partition follows: what was told before is void. The epoch, and the number
    /// of the filling.
    Begin(Partition, u32, u32),
    /// A record stands so.
    Record(Partition, u32, u32, &'a [u8]),
    /// A record is no more.
    Gone(Partition, u32, u32),
    /// Everything that stood was told.
    End(Partition, u32),
    /// The sender serves the partition no more, and has told everything.
    Handed(Partition, u32),
}

/// A datagram that was understood.
#[derive(Debug, Clone)]
pub enum Datagram<'a> {
    /// A heartbeat.
    Beat(Beat),
    /// A table of the coordinator.
    Table(Table),
    /// The sender's life; the life and session of the receiver's stream, and the last entry of it
    /// that was taken.
    Taken(u64, (u64, u64), u64),
    /// A piece of the stream: life and session, the number of the first entry, and the entries.
    Entries((u64, u64), u64, Entries<'a>),
}

/// The entries of a piece.
#[derive(Debug, Clone)]
pub struct Entries<'a>(Fields<'a>);

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let (_, entry) = self.0.find(|(tag, _)| *tag == tag::ENTRY)?;
        Some(read_entry(entry))
    }
}

/// Appends an entry.
pub fn write_entry(entry: &Entry<'_>, out: &mut Vec<u8>) {
    let mut of = |kind: u8, partition: &Partition, epoch: &u32| {
        out.extend([kind, partition.number()]);
        out.extend(epoch.to_be_bytes());
    };
    match entry {
        Entry::Work(octets) => {
            out.push(1);
            out.extend_from_slice(octets);
        }
        Entry::Begin(partition, epoch, fill) => {
            of(2, partition, epoch);
            out.extend(fill.to_be_bytes());
        }
        Entry::Record(partition, epoch, slot, octets) => {
            of(3, partition, epoch);
            out.extend(slot.to_be_bytes());
            out.extend_from_slice(octets);
        }
        Entry::Gone(partition, epoch, slot) => {
            of(4, partition, epoch);
            out.extend(slot.to_be_bytes());
        }
        Entry::End(partition, epoch) => of(5, partition, epoch),
        Entry::Handed(partition, epoch) => of(6, partition, epoch),
    }
}

/// Reads an entry.
///
/// # Errors
/// It is cut off, of no kind that is known, or of no partition.
pub fn read_entry(octets: &[u8]) -> Result<Entry<'_>, Malformed> {
    let cursor = &mut Cursor::new(octets, 0, SPEC);
    let kind = cursor.octet(CUT)?;
    if kind == 1 {
        return Ok(Entry::Work(cursor.rest()));
    }
    let partition = Partition::new(cursor.octet(CUT)?);
    let partition = partition.ok_or_else(|| cursor.offence("no partition has that number"))?;
    let epoch = cursor.be32(CUT)?;
    Ok(match kind {
        2 => Entry::Begin(partition, epoch, cursor.be32(CUT)?),
        3 => {
            let slot = cursor.be32(CUT)?;
            Entry::Record(partition, epoch, slot, cursor.rest())
        }
        4 => Entry::Gone(partition, epoch, cursor.be32(CUT)?),
        5 => Entry::End(partition, epoch),
        6 => Entry::Handed(partition, epoch),
        _ => return Err(cursor.offence("an entry of no kind that is known")),
    })
}

fn head(kind: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(512);
    out.extend_from_slice(MAGIC);
    out.push(kind);
    out
}

/// A heartbeat as a datagram.
#[must_use]
pub fn beat(it: &Beat) -> Vec<u8> {
    let mut out = head(KIND_BEAT);
    let flags = [
        (it.claims, flag::CLAIMS),
        (it.leads, flag::LEADS),
        (it.grants, flag::GRANTS),
        (it.votes, flag::VOTES),
        (it.drains, flag::DRAINS),
    ];
    let flags = flags.iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum();
    let numbers = [
        (tag::LIFE, it.life),
        (tag::STAMP, it.stamp.as_nanos()),
        (tag::ECHO, it.echo.as_nanos()),
        (tag::TERM, it.term),
        (tag::FLAGS, flags),
        (tag::VOTE_ECHO, it.vote_echo.as_nanos()),
        (tag::STORED_TERM, it.stored.term),
        (tag::STORED_NUMBER, it.stored.number),
        (tag::ACTING_TERM, it.acting.term),
        (tag::ACTING_NUMBER, it.acting.number),
        (tag::SERVING, it.serving.0),
        (tag::FILLED, it.filled.0),
        (tag::BEHIND, it.behind.0),
        (tag::VOID, it.void.0),
        (tag::HEARS, it.hears.0.into()),
        (tag::WEIGHT, it.weight.into()),
        (tag::DIGEST, it.digest),
        (tag::VERSION, it.version.into()),
        (tag::OLDEST, it.oldest.into()),
        (tag::OF_LIFE, it.session.0),
        (tag::SESSION, it.session.1),
        (tag::APPLIED, it.applied),
        (tag::DIALOGUES, it.load),
    ];
    numbers.into_iter().for_each(|(tag, value)| field::number(&mut out, tag, value));
    out
}

fn read_beat(fields: Fields<'_>) -> Result<Beat, Malformed> {
    let mut it = Beat::default();
    for (tag, value) in fields {
        let number = field::read(value);
        let small = told(number, u32::MAX);
        match tag {
            tag::LIFE => it.life = number,
            tag::STAMP => it.stamp = Time::from_nanos(number),
            tag::ECHO => it.echo = Time::from_nanos(number),
            tag::TERM => it.term = number,
            tag::FLAGS => {
                let has = |bit| number & bit != 0;
                (it.claims, it.leads) = (has(flag::CLAIMS), has(flag::LEADS));
                (it.grants, it.votes) = (has(flag::GRANTS), has(flag::VOTES));
                it.drains = has(flag::DRAINS);
            }
            tag::VOTE_ECHO => it.vote_echo = Time::from_nanos(number),
            tag::STORED_TERM => it.stored.term = number,
            tag::STORED_NUMBER => it.stored.number = number,
            tag::ACTING_TERM => it.acting.term = number,
            tag::ACTING_NUMBER => it.acting.number = number,
            tag::SERVING => it.serving.0 = number,
            tag::FILLED => it.filled.0 = number,
            tag::BEHIND => it.behind.0 = number,
            tag::VOID => it.void.0 = number,
            tag::HEARS => it.hears.0 = small,
            tag::WEIGHT => it.weight = told(number, u8::MAX),
            tag::DIGEST => it.digest = number,
            tag::VERSION => it.version = small,
            tag::OLDEST => it.oldest = small,
            tag::OF_LIFE => it.session.0 = number,
            tag::SESSION => it.session.1 = number,
            tag::APPLIED => it.applied = number,
            tag::DIALOGUES => it.load = number,
            _ => {}
        }
    }
    let numbers = [it.term, it.stored.term, it.stored.number, it.acting.term, it.acting.number];
    let times = [it.stamp, it.echo, it.vote_echo].map(Time::as_nanos);
    if numbers.iter().chain(&times).chain(&[it.applied]).any(|it| *it > NUMBER_MAX) {
        return Err(Malformed::new(0, "a number is beyond any that there is", SPEC));
    }
    Ok(it)
}

/// The acknowledgement of a stream as a datagram.
#[must_use]
pub fn taken(life: u64, session: (u64, u64), applied: u64) -> Vec<u8> {
    let mut out = head(KIND_TAKEN);
    field::number(&mut out, tag::LIFE, life);
    field::number(&mut out, tag::OF_LIFE, session.0);
    field::number(&mut out, tag::SESSION, session.1);
    field::number(&mut out, tag::APPLIED, applied);
    out
}

/// A table as a datagram.
#[must_use]
pub fn table(it: &Table) -> Vec<u8> {
    let mut out = head(KIND_TABLE);
    field::nested(&mut out, tag::TABLE, |out| it.write(out));
    out
}

/// The beginning of a datagram of entries; see [`entry`].
#[must_use]
pub fn entries(session: (u64, u64), first: u64) -> Vec<u8> {
    let mut out = head(KIND_ENTRIES);
    field::number(&mut out, tag::OF_LIFE, session.0);
    field::number(&mut out, tag::SESSION, session.1);
    field::number(&mut out, tag::FIRST, first);
    out
}

/// Appends an entry, as [`write_entry`] wrote it, to a datagram of entries.
pub fn entry(out: &mut Vec<u8>, entry: &[u8]) {
    field::bytes(out, tag::ENTRY, entry);
}

/// Reads a datagram.
///
/// # Errors
/// It is none of these.
pub fn read(octets: &[u8]) -> Result<Datagram<'_>, Malformed> {
    let offence = |what| Malformed::new(0, what, SPEC);
    let rest = octets.strip_prefix(MAGIC).ok_or_else(|| offence("it does not begin as one"))?;
    let (kind, rest) = rest.split_first().ok_or_else(|| offence("it has no kind"))?;
    let fields = Fields::new(rest);
    let find = |wanted| fields.clone().find(|(tag, _)| *tag == wanted).map(|(_, value)| value);
    let number = |wanted| find(wanted).map_or(0, field::read);
    match *kind {
        KIND_BEAT => read_beat(fields).map(Datagram::Beat),
        KIND_TABLE => {
            let table = find(tag::TABLE).ok_or_else(|| offence("there is no table in it"))?;
            let table = Table::read(table)?;
            if table.version.term > NUMBER_MAX || table.version.number > NUMBER_MAX {
                return Err(offence("a number is beyond any that there is"));
            }
            Ok(Datagram::Table(table))
        }
        KIND_TAKEN => {
            let session = (number(tag::OF_LIFE), number(tag::SESSION));
            Ok(Datagram::Taken(number(tag::LIFE), session, number(tag::APPLIED)))
        }
        KIND_ENTRIES => {
            let first = number(tag::FIRST);
            if first == 0 || first > NUMBER_MAX {
                return Err(offence("entries count from one"));
            }
            let session = (number(tag::OF_LIFE), number(tag::SESSION));
            Ok(Datagram::Entries(session, first, Entries(fields)))
        }
        _ => Err(offence("it is of no kind that is known")),
    }
}
