//! What the nodes of a cluster tell each other. Numbers are big-endian.
//!
//! ```text
//! datagram  magic 4 · kind 1 · cluster 8 · from 1 · to 1 · life of from 8 · life of to 8 · body
//! beat      stamp 8 · echo 8 · version 4 · roster 8 · flags 1 · base 8 · version of records 8 ·
//!           seen 8 · number of the way 8 · records, 40 each
//! pieces    { group 2 · epoch 8 · stream 8 · first 8 · octets 4 · entries } …
//! acks      { group 2 · epoch 8 · stream 8 · applied 8 } …
//! ```
//! An entry is a tagged field (`kit/wire`): a change, or the end of a snapshot.

use crate::field::Fields;
use machine::Time;
use machine::narrow::place;
use runtime::{GROUPS_MAX, GroupId, NODES_MAX, NodeId};

const MAGIC: &[u8; 4] = b"TDG1";
/// Octets before the body.
pub const HEAD_BYTES: usize = 31;
/// Octets of a piece before its entries.
const PIECE_HEAD_BYTES: usize = 30;
const BEAT_BYTES: usize = 61;
const RECORD_BYTES: usize = 40;
const ACK_BYTES: usize = 26;
/// Epochs, numbers of streams and entries end here; see `message`.
const NUMBER_MAX: u64 = 1 << 62;

/// In place of a group: the stream of what is posted.
pub const POSTS: GroupId = GroupId(u16::MAX);

/// What a datagram is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Beat = 1,
    Pieces = 2,
    Acks = 3,
    /// Pieces, and somebody waits until they are applied.
    Awaited = 4,
}

/// Whose a datagram is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub kind: Kind,
    pub cluster: u64,
    pub from: NodeId,
    pub to: NodeId,
    pub from_life: u64,
    /// As the sender knows it; zero: it does not.
    pub to_life: u64,
}

/// What a node is for a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// It follows, or nothing at all.
    #[default]
    Idle,
    /// It wants to serve.
    Candidate,
    /// It serves.
    Active,
}

/// What a node says of itself and one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Record {
    pub group: GroupId,
    /// The highest epoch that it knows.
    pub epoch: u64,
    pub role: Role,
    /// The epoch in which it serves, wants to, or did last.
    pub term: u64,
    /// To whom it gave the group when it last ceased to serve.
    pub heir: Option<NodeId>,
    /// Epoch of the copy that it has.
    pub copy: u64,
    pub is_whole: bool,
    /// Whether it would serve.
    pub serves: bool,
    /// Whom it has voted for, and in which epoch.
    pub grant: Option<(NodeId, u64)>,
    /// The nodes whose copies are whole and lack nothing, while it serves: bit `node - 1`.
    pub followers: u16,
}

/// A heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Beat {
    pub stamp: Time,
    /// The newest stamp of the receiver that the sender has heard; zero: none.
    pub echo: Time,
    pub version: u32,
    /// Digest of the sender's roster.
    pub roster: u64,
    /// It gives its groups away: it ends, or something that it needs has failed.
    pub is_leaving: bool,
    /// The records are those that changed after this version.
    pub base: u64,
    /// The version that they lead to.
    pub doc: u64,
    /// The version of the receiver's that the sender has.
    pub seen: u64,
    /// Number of the sender's way to the receiver, never zero: another one once it has left the
    /// receiver out and taken it in again.
    pub way: u64,
    pub records: Vec<Record>,
}

/// A piece of a stream.
#[derive(Debug, Clone)]
pub struct Piece<'a> {
    pub group: GroupId,
    pub stream: (u64, u64),
    pub first: u64,
    pub fields: Fields<'a>,
}

/// How far a stream is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    pub group: GroupId,
    pub stream: (u64, u64),
    pub applied: u64,
}

/// Begins a datagram.
pub fn head(head: &Head) -> Vec<u8> {
    let mut out = Vec::with_capacity(1_500);
    out.extend_from_slice(MAGIC);
    out.push(head.kind as u8);
    out.extend_from_slice(&head.cluster.to_be_bytes());
    out.extend_from_slice(&[head.from.0, head.to.0]);
    out.extend_from_slice(&head.from_life.to_be_bytes());
    out.extend_from_slice(&head.to_life.to_be_bytes());
    out
}

fn node(node: Option<NodeId>) -> u8 {
    node.map_or(0, |node| node.0)
}

/// Says of a datagram of pieces that somebody waits until they are applied.
pub fn await_it(datagram: &mut [u8]) {
    if let Some(kind) = datagram.get_mut(MAGIC.len()) {
        *kind = Kind::Awaited as u8;
    }
}

/// Appends a heartbeat.
pub fn beat(out: &mut Vec<u8>, beat: &Beat) {
    out.extend_from_slice(&beat.stamp.as_nanos().to_be_bytes());
    out.extend_from_slice(&beat.echo.as_nanos().to_be_bytes());
    out.extend_from_slice(&beat.version.to_be_bytes());
    out.extend_from_slice(&beat.roster.to_be_bytes());
    out.push(beat.is_leaving.into());
    for number in [beat.base, beat.doc, beat.seen, beat.way] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    for it in &beat.records {
        out.extend_from_slice(&it.group.0.to_be_bytes());
        out.extend_from_slice(&it.epoch.to_be_bytes());
        out.push(it.role as u8 | u8::from(it.is_whole) << 4 | u8::from(it.serves) << 5);
        out.extend_from_slice(&it.term.to_be_bytes());
        out.push(node(it.heir));
        out.extend_from_slice(&it.copy.to_be_bytes());
        out.push(node(it.grant.map(|(node, _)| node)));
        out.extend_from_slice(&it.grant.map_or(0, |(_, epoch)| epoch).to_be_bytes());
        out.extend_from_slice(&it.followers.to_be_bytes());
        out.push(0);
    }
}

/// Appends the head of a piece; its entries follow, then [`piece_end`]. Where it begins.
pub fn piece(out: &mut Vec<u8>, group: GroupId, stream: (u64, u64), first: u64) -> usize {
    let at = out.len();
    out.extend_from_slice(&group.0.to_be_bytes());
    for number in [stream.0, stream.1, first] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    out.extend_from_slice(&[0; 4]);
    at
}

/// Ends the piece that begins there.
pub fn piece_end(out: &mut [u8], at: usize) {
    let octets = place(out.len() - at - PIECE_HEAD_BYTES).to_be_bytes();
    out[at + PIECE_HEAD_BYTES - 4..at + PIECE_HEAD_BYTES].copy_from_slice(&octets);
}

/// Appends how far a stream is applied.
pub fn ack(out: &mut Vec<u8>, ack: Ack) {
    out.extend_from_slice(&ack.group.0.to_be_bytes());
    for number in [ack.stream.0, ack.stream.1, ack.applied] {
        out.extend_from_slice(&number.to_be_bytes());
    }
}

/// Octets that are read from their beginning.
struct Octets<'a>(&'a [u8]);

impl<'a> Octets<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn octet(&mut self) -> Option<u8> {
        self.take::<1>().map(|[octet]| octet)
    }

    fn any(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    /// A number that something counts.
    fn number(&mut self) -> Option<u64> {
        self.any().filter(|number| *number <= NUMBER_MAX)
    }

    fn group(&mut self) -> Option<GroupId> {
        self.stream_of().filter(|group| *group != POSTS)
    }

    /// A group, or [`POSTS`].
    fn stream_of(&mut self) -> Option<GroupId> {
        let group = GroupId(self.take().map(u16::from_be_bytes)?);
        (group.0 < GROUPS_MAX || group == POSTS).then_some(group)
    }

    /// A node; `Some(None)`: none.
    fn node(&mut self) -> Option<Option<NodeId>> {
        match self.octet()? {
            0 => Some(None),
            node @ 1..=NODES_MAX => Some(Some(NodeId(node))),
            _ => None,
        }
    }

    fn stream(&mut self) -> Option<(u64, u64)> {
        Some((self.number()?, self.number()?))
    }
}

/// Reads whose a datagram is; its body. `None`: it is not ours, or of a kind that this version
/// does not know.
pub fn read(bytes: &[u8]) -> Option<(Head, &[u8])> {
    let mut octets = Octets(bytes.strip_prefix(MAGIC)?);
    let kind = match octets.octet()? {
        1 => Kind::Beat,
        2 => Kind::Pieces,
        3 => Kind::Acks,
        4 => Kind::Awaited,
        _ => return None,
    };
    let cluster = octets.any()?;
    let (from, to) = (octets.node()??, octets.node()??);
    let (from_life, to_life) = (octets.any()?, octets.any()?);
    Some((Head { kind, cluster, from, to, from_life, to_life }, octets.0))
}

/// Reads the body of a heartbeat. `None`: it is broken, or counts further than any life.
pub fn read_beat(body: &[u8]) -> Option<Beat> {
    let mut octets = Octets(body);
    let (stamp, echo) = (Time::from_nanos(octets.any()?), Time::from_nanos(octets.any()?));
    let version = octets.take().map(u32::from_be_bytes)?;
    let roster = octets.any()?;
    let is_leaving = octets.octet()? & 1 != 0;
    let (base, doc, seen) = (octets.number()?, octets.number()?, octets.number()?);
    let way = octets.number()?;
    debug_assert_eq!(body.len() - octets.0.len(), BEAT_BYTES);
    if octets.0.len() % RECORD_BYTES != 0 || octets.0.len() / RECORD_BYTES > GROUPS_MAX.into() {
        return None;
    }
    let mut records = Vec::with_capacity(octets.0.len() / RECORD_BYTES);
    while !octets.0.is_empty() {
        records.push(read_record(&mut octets)?);
    }
    Some(Beat { stamp, echo, version, roster, is_leaving, base, doc, seen, way, records })
}

fn read_record(octets: &mut Octets<'_>) -> Option<Record> {
    let (group, epoch, flags) = (octets.group()?, octets.number()?, octets.octet()?);
    let role = match flags & 15 {
        0 => Role::Idle,
        1 => Role::Candidate,
        2 => Role::Active,
        _ => return None,
    };
    let (term, heir, copy) = (octets.number()?, octets.node()?, octets.number()?);
    let (granted, grant) = (octets.node()?, octets.number()?);
    let followers = octets.take().map(u16::from_be_bytes)?;
    let _ = octets.octet()?;
    let grant = granted.map(|node| (node, grant));
    let (is_whole, serves) = (flags & 16 != 0, flags & 32 != 0);
    Some(Record { group, epoch, role, term, heir, copy, is_whole, serves, grant, followers })
}

/// The pieces of a datagram; ends at the first that is broken.
pub fn read_pieces(body: &[u8]) -> impl Iterator<Item = Piece<'_>> {
    let mut octets = Octets(body);
    core::iter::from_fn(move || {
        let (group, stream, first) = (octets.stream_of()?, octets.stream()?, octets.number()?);
        let length = usize::try_from(octets.take().map(u32::from_be_bytes)?).ok()?;
        let (entries, rest) = octets.0.split_at_checked(length)?;
        octets.0 = rest;
        Some(Piece { group, stream, first, fields: Fields::new(entries) })
    })
}

/// The acknowledgements of a datagram; ends at the first that is broken.
pub fn read_acks(body: &[u8]) -> impl Iterator<Item = Ack> + '_ {
    let mut octets = Octets(body);
    core::iter::from_fn(move || {
        let (group, stream) = (octets.stream_of()?, octets.stream()?);
        Some(Ack { group, stream, applied: octets.number()? })
    })
}

/// Acknowledgements that one datagram has at most.
pub const ACKS_MAX: usize = 1_200 / ACK_BYTES;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message;

    const HEAD: Head = Head {
        kind: Kind::Beat,
        cluster: 9,
        from: NodeId(1),
        to: NodeId(16),
        from_life: u64::MAX,
        to_life: 0,
    };

    fn record() -> Record {
        Record {
            group: GroupId(1_023),
            epoch: 5,
            role: Role::Active,
            term: 4,
            heir: Some(NodeId(2)),
            copy: 3,
            is_whole: true,
            serves: true,
            grant: Some((NodeId(1), 4)),
            followers: 0x8001,
        }
    }

    #[test]
    fn a_heartbeat_is_read_as_it_was_written_and_a_cut_one_is_none() {
        let records = vec![record(), Record { grant: None, heir: None, ..record() }];
        let written = Beat {
            stamp: Time::from_millis(7),
            echo: Time::from_millis(6),
            version: 1,
            roster: 77,
            is_leaving: true,
            base: 3,
            doc: 4,
            seen: 5,
            way: 6,
            records,
        };
        let mut bytes = head(&HEAD);
        assert_eq!(bytes.len(), HEAD_BYTES);
        beat(&mut bytes, &written);
        let (found, body) = read(&bytes).unwrap();
        assert_eq!((found, read_beat(body).as_ref()), (HEAD, Some(&written)));
        assert_eq!(body.len(), BEAT_BYTES + 2 * RECORD_BYTES);
        for cut in (0..body.len())
            .filter(|cut| *cut < BEAT_BYTES || !(cut - BEAT_BYTES).is_multiple_of(RECORD_BYTES))
        {
            assert_eq!(read_beat(&body[..cut]), None, "{cut}");
        }
        for cut in 0..HEAD_BYTES {
            assert_eq!(read(&bytes[..cut]), None, "{cut}");
        }
        let far = [&body[..29], &u64::MAX.to_be_bytes(), &body[37..]].concat();
        assert_eq!(read_beat(&far), None, "nothing counts so far");
    }

    #[test]
    fn pieces_and_acknowledgements_are_read_as_they_were_written() {
        let mut body = Vec::new();
        for group in [GroupId(3), GroupId(4)] {
            let at = piece(&mut body, group, (2, 1), 9);
            message::delta(&mut body, 0, b"what has changed");
            message::snapshot_end(&mut body);
            piece_end(&mut body, at);
        }
        let found: Vec<_> = read_pieces(&body).collect();
        assert_eq!(found.len(), 2);
        assert_eq!((found[1].group, found[1].stream, found[1].first), (GroupId(4), (2, 1), 9));
        assert_eq!(message::entries(found[1].fields.clone()).count(), 2);
        assert_eq!(read_pieces(&body[..body.len() - 1]).count(), 1);
        let mut body = Vec::new();
        let written = Ack { group: GroupId(3), stream: (2, 1), applied: 10 };
        ack(&mut body, written);
        assert_eq!(body.len(), ACK_BYTES);
        assert_eq!(read_acks(&body).collect::<Vec<_>>(), [written]);
        body[0] = 0xfe;
        assert_eq!(read_acks(&body).count(), 0, "there is no such group");
        body[..2].copy_from_slice(&[0xff, 0xff]);
        assert_eq!(read_acks(&body).next().map(|ack| ack.group), Some(POSTS));
    }
}
