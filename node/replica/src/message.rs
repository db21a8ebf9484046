//! What the two nodes and the arbiter tell each other: datagrams of tagged fields.

use crate::election::{Merit, Name, Role};
use crate::field::{self, Fields};
use machine::{Duration, Time};

/// First octets of every datagram.
const MAGIC: &[u8; 4] = b"TDR1";
/// First octets of what a node has sealed for the arbiter: its pair and name follow in clear, so
/// that the arbiter knows which key to try.
const ENVELOPE: &[u8; 4] = b"TDA1";
/// Numbers of the stream and epochs end here: no life counts so far, and what is added to them
/// later does not wrap.
const NUMBER_MAX: u64 = 1 << 62;

const KIND_BEAT: u8 = 1;
const KIND_DELTAS: u8 = 2;
const KIND_REQUEST: u8 = 3;
const KIND_GRANT: u8 = 4;
const KIND_PRESENT: u8 = 5;

mod tag {
    pub const PAIR: u8 = 1;
    pub const NODE: u8 = 2;
    pub const INCARNATION: u8 = 3;
    pub const STAMP: u8 = 4;
    pub const ECHO: u8 = 5;
    pub const ROLE: u8 = 6;
    pub const EPOCH: u8 = 7;
    pub const STATE_EPOCH: u8 = 8;
    pub const SYNCED: u8 = 9;
    pub const APPLIED: u8 = 10;
    pub const PRIORITY: u8 = 11;
    pub const VOTE: u8 = 12;
    pub const VOTE_ECHO: u8 = 13;
    pub const STREAM: u8 = 14;
    pub const FIRST: u8 = 15;
    pub const DELTA: u8 = 16;
    pub const SNAPSHOT_END: u8 = 17;
    pub const PROMISE: u8 = 18;
    pub const STREAM_EPOCH: u8 = 19;
    pub const VERSION: u8 = 20;
    pub const TELLS_EPOCH: u8 = 21;
    pub const TELLS: u8 = 22;
    pub const TOLD: u8 = 23;
    pub const HELD: u8 = 24;
    pub const SERVED: u8 = 25;
    /// Something that the sender tracks has failed; absent: nothing has.
    pub const UNFIT: u8 = 26;
    /// The sender waits for an acknowledgement; absent: it does not.
    pub const ASKS: u8 = 27;
    /// The sender cannot read what it is told; absent: it can.
    pub const CANNOT_READ: u8 = 28;
}

/// A heartbeat, and at the same time the acknowledgement of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Beat {
    /// Who sends it.
    pub node: Name,
    /// Number of this life of the sender.
    pub incarnation: u64,
    /// The sender's time.
    pub stamp: Time,
    /// The newest stamp of the receiver that the sender has heard; zero: none.
    pub echo: Time,
    /// The sender's role.
    pub role: Role,
    /// The highest epoch it knows; its own while it is active.
    pub epoch: u64,
    /// What it could offer as the active node.
    pub merit: Merit,
    /// The epoch for which it votes for the receiver; zero: it does not.
    pub vote: u64,
    /// The receiver's stamp that the vote counts from.
    pub vote_echo: Time,
    /// The stream it follows, and in which epoch; zero: none.
    pub stream: (u64, u64),
    /// The last delta of it that was applied.
    pub applied: u64,
    /// The stream that the sender tells while it is active, and the number of its last entry.
    pub tells: Option<((u64, u64), u64)>,
    /// Version of what the sender says; zero: one before there was a number.
    pub version: u32,
    /// The time of the sender up to which it may have served in its last term, while it does not;
    /// `None`: it does not say.
    pub served: Option<Time>,
    /// It hands over as soon as all that it has told is acknowledged.
    pub asks: bool,
    /// What the other node tells is of a version that it cannot read: it follows nothing.
    pub cannot_read: bool,
}

/// An entry of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A delta of one lane.
    Delta(u16, &'a [u8]),
    /// Everything that stood when the stream began has been told.
    SnapshotEnd,
    /// What this version does not know: it has its number, and nothing comes of it.
    Unknown,
}

/// A datagram that was understood.
#[derive(Debug, Clone)]
pub enum Datagram<'a> {
    /// A heartbeat.
    Beat(Beat),
    /// A piece of the stream.
    Deltas {
        /// Epoch and number of the stream.
        stream: (u64, u64),
        /// Number of the first entry.
        first: u64,
        /// Its fields; see [`entries`].
        fields: Fields<'a>,
        /// The sender waits to hear that they are applied.
        asks: bool,
    },
    /// A node asks the arbiter for its vote.
    Request {
        /// Which node.
        node: Name,
        /// Its time.
        stamp: Time,
        /// How long the arbiter shall vote for nobody else.
        promise: Duration,
    },
    /// The arbiter votes for the receiver.
    Grant {
        /// The stamp of the request.
        stamp: Time,
        /// For how long nobody else has had its vote, as far as it knows.
        held: Duration,
    },
    /// The arbiter is there, and votes for nobody by that.
    Present,
}

fn head(out: &mut Vec<u8>, pair: u64, kind: u8) {
    out.extend_from_slice(MAGIC);
    out.push(kind);
    field::number(out, tag::PAIR, pair);
}

/// A heartbeat as a datagram.
pub fn beat(pair: u64, beat: &Beat) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    head(&mut out, pair, KIND_BEAT);
    let fields = [
        (tag::NODE, beat.node.number()),
        (tag::INCARNATION, beat.incarnation),
        (tag::STAMP, beat.stamp.as_nanos()),
        (tag::ECHO, beat.echo.as_nanos()),
        (tag::ROLE, u64::from(beat.role == Role::Active)),
        (tag::EPOCH, beat.epoch),
        (tag::STATE_EPOCH, beat.merit.epoch),
        (tag::SYNCED, beat.merit.synced.into()),
        (tag::PRIORITY, beat.merit.priority.into()),
        (tag::VOTE, beat.vote),
        (tag::VOTE_ECHO, beat.vote_echo.as_nanos()),
        (tag::STREAM_EPOCH, beat.stream.0),
        (tag::STREAM, beat.stream.1),
        (tag::APPLIED, beat.applied),
        (tag::VERSION, beat.version.into()),
    ];
    for (tag, value) in fields {
        field::number(&mut out, tag, value);
    }
    if !beat.merit.fit {
        field::bytes(&mut out, tag::UNFIT, &[]);
    }
    if beat.asks {
        field::bytes(&mut out, tag::ASKS, &[]);
    }
    if beat.cannot_read {
        field::bytes(&mut out, tag::CANNOT_READ, &[]);
    }
    if let Some(served) = beat.served {
        field::number(&mut out, tag::SERVED, served.as_nanos());
    }
    if let Some(((epoch, stream), told)) = beat.tells {
        field::number(&mut out, tag::TELLS_EPOCH, epoch);
        field::number(&mut out, tag::TELLS, stream);
        field::number(&mut out, tag::TOLD, told);
    }
    out
}

/// Whether a datagram of ours is a heartbeat.
pub fn is_beat(datagram: &[u8]) -> bool {
    datagram.get(MAGIC.len()) == Some(&KIND_BEAT)
}

/// The begin of a piece of the stream; entries follow by [`delta`] and [`snapshot_end`].
pub fn deltas(pair: u64, stream: (u64, u64), first: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(2048);
    head(&mut out, pair, KIND_DELTAS);
    field::number(&mut out, tag::STREAM_EPOCH, stream.0);
    field::number(&mut out, tag::STREAM, stream.1);
    field::number(&mut out, tag::FIRST, first);
    out
}

/// Appends to a piece of the stream that its sender waits to hear of it: the field of its first
/// number once more, since what has a tag of its own has a number for a node that does not know it.
pub fn asking(out: &mut Vec<u8>) {
    field::bytes(out, tag::FIRST, &[]);
}

/// Appends an entry: a delta of a lane.
pub fn delta(out: &mut Vec<u8>, lane: u16, delta: &[u8]) {
    field::nested(out, tag::DELTA, |out| {
        out.extend_from_slice(&lane.to_be_bytes());
        out.extend_from_slice(delta);
    });
}

/// Appends the entry that ends a snapshot.
pub fn snapshot_end(out: &mut Vec<u8>) {
    field::bytes(out, tag::SNAPSHOT_END, &[]);
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A request to the arbiter.
pub fn request(pair: u64, node: Name, stamp: Time, promise: Duration) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    head(&mut out, pair, KIND_REQUEST);
    field::number(&mut out, tag::NODE, node.number());
    field::number(&mut out, tag::STAMP, stamp.as_nanos());
    field::number(&mut out, tag::PROMISE, nanos(promise));
    out
}

/// What node `node` of `pair` has sealed for the arbiter, as it leaves.
#[must_use]
pub fn envelope(pair: u64, node: Name, sealed: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(sealed.len() + 13);
    out.extend_from_slice(ENVELOPE);
    out.extend_from_slice(&pair.to_be_bytes());
    out.push(if node == Name::A { 1 } else { 2 });
    out.extend_from_slice(sealed);
    out
}

/// Which node of which pair says that it sealed the rest.
pub fn enveloped(bytes: &[u8]) -> Option<(u64, Name, &[u8])> {
    let (pair, rest) = bytes.strip_prefix(ENVELOPE)?.split_first_chunk()?;
    let (&node, sealed) = rest.split_first()?;
    Some((u64::from_be_bytes(*pair), Name::of(node.into())?, sealed))
}

/// The arbiter's vote, which nobody else has had for so long.
pub fn grant(pair: u64, stamp: Time, held: Duration) -> Vec<u8> {
    let mut out = Vec::with_capacity(56);
    head(&mut out, pair, KIND_GRANT);
    field::number(&mut out, tag::STAMP, stamp.as_nanos());
    field::number(&mut out, tag::HELD, nanos(held));
    out
}

/// What the arbiter answers to a node that makes itself known.
pub fn present(pair: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(16);
    head(&mut out, pair, KIND_PRESENT);
    out
}

/// The entries among the fields of a piece of the stream: all but those of its head. Each has a
/// number, also one of a later version; what stood in a head of its own would be taken for one.
pub fn entries(fields: Fields<'_>) -> impl Iterator<Item = Entry<'_>> {
    const HEAD: [u8; 4] = [tag::PAIR, tag::STREAM_EPOCH, tag::STREAM, tag::FIRST];
    let entries = fields.filter(|(tag, _)| !HEAD.contains(tag));
    entries.map(|(tag, value)| match (tag, value.split_first_chunk()) {
        (tag::DELTA, Some((lane, delta))) => Entry::Delta(u16::from_be_bytes(*lane), delta),
        (tag::SNAPSHOT_END, _) => Entry::SnapshotEnd,
        _ => Entry::Unknown,
    })
}

/// Reads a datagram; its pair's number stands before it. `None`: it is not ours, of a kind that
/// this version does not know, or counts further than any life.
pub fn read(bytes: &[u8]) -> Option<(u64, Datagram<'_>)> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (&kind, rest) = rest.split_first()?;
    let fields = Fields::new(rest);
    let found = |wanted: u8| {
        let mut all = fields.clone();
        all.find(|&(tag, _)| tag == wanted).map_or(0, |(_, value)| field::read(value))
    };
    let time = |tag| Time::from_nanos(found(tag));
    let stream = (found(tag::STREAM_EPOCH), found(tag::STREAM));
    let counts = [tag::EPOCH, tag::STATE_EPOCH, tag::VOTE, tag::APPLIED, tag::FIRST].map(found);
    if counts.into_iter().chain([stream.0, stream.1]).any(|number| number > NUMBER_MAX) {
        return None;
    }
    let datagram = match kind {
        KIND_BEAT => Datagram::Beat(Beat {
            node: Name::of(found(tag::NODE))?,
            incarnation: found(tag::INCARNATION),
            stamp: time(tag::STAMP),
            echo: time(tag::ECHO),
            role: if found(tag::ROLE) == 1 { Role::Active } else { Role::Standby },
            epoch: found(tag::EPOCH),
            merit: Merit {
                epoch: found(tag::STATE_EPOCH),
                synced: found(tag::SYNCED) == 1,
                fit: !fields.clone().any(|(it, _)| it == tag::UNFIT),
                priority: u8::try_from(found(tag::PRIORITY)).unwrap_or(u8::MAX),
            },
            vote: found(tag::VOTE),
            vote_echo: time(tag::VOTE_ECHO),
            stream,
            applied: found(tag::APPLIED),
            tells: Some((found(tag::TELLS_EPOCH), found(tag::TELLS)))
                .filter(|(epoch, _)| *epoch > 0)
                .map(|stream| (stream, found(tag::TOLD))),
            version: u32::try_from(found(tag::VERSION)).unwrap_or(u32::MAX),
            served: fields.clone().any(|(it, _)| it == tag::SERVED).then(|| time(tag::SERVED)),
            asks: fields.clone().any(|(it, _)| it == tag::ASKS),
            cannot_read: fields.clone().any(|(it, _)| it == tag::CANNOT_READ),
        }),
        KIND_DELTAS => Datagram::Deltas {
            stream,
            first: found(tag::FIRST),
            fields: fields.clone(),
            asks: fields.clone().filter(|(it, _)| *it == tag::FIRST).nth(1).is_some(),
        },
        KIND_REQUEST => Datagram::Request {
            node: Name::of(found(tag::NODE))?,
            stamp: time(tag::STAMP),
            promise: Duration::from_nanos(found(tag::PROMISE)),
        },
        KIND_GRANT => Datagram::Grant {
            stamp: time(tag::STAMP),
            held: Duration::from_nanos(found(tag::HELD)),
        },
        KIND_PRESENT => Datagram::Present,
        _ => return None,
    };
    Some((found(tag::PAIR), datagram))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_is_read_as_it_was_written_and_fields_of_a_newer_version_are_skipped() {
        let written = Beat {
            node: Name::B,
            incarnation: 9,
            stamp: Time::from_millis(5),
            echo: Time::from_millis(4),
            role: Role::Active,
            epoch: 3,
            merit: Merit { epoch: 3, synced: true, fit: false, priority: 7 },
            vote: 4,
            vote_echo: Time::from_millis(2),
            stream: (3, 1),
            applied: 1_000,
            tells: Some(((3, 2), 7)),
            version: 1,
            served: Some(Time::ZERO),
            asks: true,
            cannot_read: true,
        };
        let mut bytes = beat(77, &written);
        field::bytes(&mut bytes, 250, b"what a later version says");
        let Some((77, Datagram::Beat(found))) = read(&bytes) else { panic!("a beat") };
        assert_eq!(found, written);
        let mut far = beat(77, &Beat { epoch: u64::MAX, ..written });
        assert!(read(&far).is_none(), "no epoch counts so far");
        far = deltas(77, (3, 1), u64::MAX);
        assert!(read(&far).is_none(), "no stream is so long");
        bytes[4] = 99;
        assert!(read(&bytes).is_none(), "a kind of a later version is passed over");
    }

    #[test]
    fn an_entry_of_a_later_version_has_its_number_and_so_has_one_that_is_none() {
        let mut bytes = deltas(77, (3, 1), 5);
        delta(&mut bytes, 2, b"one");
        field::bytes(&mut bytes, 250, b"what a later version says");
        field::bytes(&mut bytes, tag::DELTA, b"x");
        snapshot_end(&mut bytes);
        for is_asking in [false, true] {
            if is_asking {
                asking(&mut bytes);
            }
            let Some((77, Datagram::Deltas { first: 5, fields, asks, .. })) = read(&bytes) else {
                panic!("a piece")
            };
            let found: Vec<_> = entries(fields).collect();
            let expected =
                [Entry::Delta(2, b"one"), Entry::Unknown, Entry::Unknown, Entry::SnapshotEnd];
            assert_eq!((found, asks), (expected.to_vec(), is_asking));
        }
    }
}
