//! What a node keeps of partitions that it does not serve: the last word on each dialogue and each
//! connection of SCCP, as octets; and the words by which it is told.
//!
//! ```text
//!   dialogue:   stands 1, slot (4 octets), fields       gone 2, slot
//!   owner:      3, number, secret (8 octets)
//!   connection: stands 4, local reference (4 octets), fields     a piece of its data 5, reference
//!               gone 6, reference
//! ```
//! An *owner* is a table of the partition, and what the identifiers of its dialogues are made with:
//! the last one is that of the node which serves. Who serves next uses another table and another
//! secret, so that no transaction identifier has two owners (`tcap`, `table.rs`).

use crate::partition::partition_of_reference;
use machine::Time;
use std::collections::BTreeMap;

const STANDS: u8 = 1;
const GONE: u8 = 2;
const OWNER: u8 = 3;
const CONNECTED: u8 = 4;
const PIECE: u8 = 5;
const DISCONNECTED: u8 = 6;
/// Dialogues of a partition, at most: its slots.
const SLOTS: u32 = 1 << 18;
/// Tables of a partition.
const OWNERS: u8 = 4;
/// Octets of data of which more follows, of one connection.
const PIECES_MAX: usize = 1 << 16;

/// A change of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// A dialogue stands so: its slot, and its fields.
    Stands(u32, &'a [u8]),
    /// One is over.
    Gone(u32),
    /// The number of an owner's table, and its secret.
    Owner(u8, u64),
    /// A connection stands so: its local reference, and its fields. No data of it came of which
    /// more follows, but those that are told behind it.
    Connected(u32, &'a [u8]),
    /// Data came of a connection, of which more follows.
    Piece(u32, &'a [u8]),
    /// A connection is over.
    Disconnected(u32),
}

impl<'a> Change<'a> {
    /// As octets.
    #[must_use]
    pub fn write(self) -> Vec<u8> {
        let (kind, number, octets) = match self {
            Self::Stands(slot, fields) => (STANDS, slot, fields),
            Self::Gone(slot) => (GONE, slot, &[][..]),
            Self::Connected(reference, fields) => (CONNECTED, reference, fields),
            Self::Piece(reference, data) => (PIECE, reference, data),
            Self::Disconnected(reference) => (DISCONNECTED, reference, &[][..]),
            Self::Owner(number, secret) => {
                return [&[OWNER, number][..], &secret.to_be_bytes()].concat();
            }
        };
        [&[kind][..], &number.to_be_bytes(), octets].concat()
    }

    /// None: another version's, or cut off.
    #[must_use]
    pub fn read(octets: &'a [u8]) -> Option<Self> {
        let (kind, rest) = octets.split_first()?;
        if *kind == OWNER {
            let (number, rest) = rest.split_first()?;
            let secret = u64::from_be_bytes(*rest.first_chunk()?);
            return Some(Self::Owner(*number, secret)).filter(|_| *number < OWNERS);
        }
        let (number, fields) = rest.split_first_chunk()?;
        let number = u32::from_be_bytes(*number);
        match *kind {
            STANDS if number < SLOTS => Some(Self::Stands(number, fields)),
            GONE if number < SLOTS => Some(Self::Gone(number)),
            CONNECTED => Some(Self::Connected(number, fields)),
            PIECE => Some(Self::Piece(number, fields)),
            DISCONNECTED => Some(Self::Disconnected(number)),
            _ => None,
        }
    }
}

/// A connection of SCCP.
#[derive(Debug)]
pub struct CopyOfConnection {
    /// When it was told: times in its fields count from there.
    pub at: Time,
    /// Its fields.
    pub fields: Box<[u8]>,
    /// Data that came, of which more follows.
    pub came: Vec<u8>,
}

impl CopyOfConnection {
    fn octets(&self) -> usize {
        self.fields.len() + self.came.len()
    }
}

/// A partition's dialogues and connections.
#[derive(Debug, Default)]
pub struct Copy {
    /// When each was told, and its fields: times in them count from there.
    records: BTreeMap<u32, (Time, Box<[u8]>)>,
    connections: BTreeMap<u32, CopyOfConnection>,
    octets: usize,
    owners: Vec<(u8, u64)>,
}

impl Copy {
    /// Tables of which something stands, and their secrets. The node that served last used the last
    /// one.
    #[must_use]
    pub fn owners(&self) -> &[(u8, u64)] {
        &self.owners
    }

    /// Slots of dialogues, when each was told, and its fields.
    pub fn records(&self) -> impl Iterator<Item = (u32, Time, &[u8])> {
        self.records.iter().map(|(slot, (at, octets))| (*slot, *at, &**octets))
    }

    /// Connections by their local references.
    pub fn connections(&self) -> impl Iterator<Item = (u32, &CopyOfConnection)> {
        self.connections.iter().map(|(reference, it)| (*reference, it))
    }

    fn connected(&mut self, now: Time, reference: u32, fields: &[u8]) {
        self.disconnected(reference);
        self.octets += fields.len();
        let it = CopyOfConnection { at: now, fields: fields.into(), came: Vec::new() };
        self.connections.insert(reference, it);
    }

    fn piece(&mut self, reference: u32, data: &[u8]) {
        if let Some(it) = self.connections.get_mut(&reference)
            && it.came.len() + data.len() <= PIECES_MAX
        {
            it.came.extend_from_slice(data);
            self.octets += data.len();
        }
    }

    fn disconnected(&mut self, reference: u32) {
        let before = self.connections.remove(&reference);
        self.octets -= before.map_or(0, |it| it.octets());
    }

    fn insert(&mut self, now: Time, slot: u32, fields: &[u8]) {
        self.octets += fields.len();
        if let Some((_, before)) = self.records.insert(slot, (now, fields.into())) {
            self.octets -= before.len();
        }
    }

    fn remove(&mut self, slot: u32) {
        if let Some((_, before)) = self.records.remove(&slot) {
            self.octets -= before.len();
        }
    }
}

/// The copies of a node.
#[derive(Debug, Default)]
pub struct Copies {
    all: BTreeMap<u8, Copy>,
}

impl Copies {
    /// Takes a change; whether it was understood.
    pub fn apply(&mut self, now: Time, partition: u8, delta: &[u8]) -> bool {
        let Some(change) = Change::read(delta) else { return false };
        let is_of = |reference: u32| partition_of_reference(reference) == Some(partition);
        if let Change::Connected(it, _) | Change::Piece(it, _) | Change::Disconnected(it) = change
            && !is_of(it)
        {
            return false;
        }
        let copy = self.all.entry(partition).or_default();
        match change {
            Change::Stands(slot, fields) => copy.insert(now, slot, fields),
            Change::Gone(slot) => copy.remove(slot),
            Change::Owner(number, secret) => {
                copy.owners.retain(|it| it.0 != number);
                copy.owners.push((number, secret));
            }
            Change::Connected(reference, fields) => copy.connected(now, reference, fields),
            Change::Piece(reference, data) => copy.piece(reference, data),
            Change::Disconnected(reference) => copy.disconnected(reference),
        }
        true
    }

    /// Takes a partition's copy: a snapshot follows, or this node serves it.
    pub fn take(&mut self, partition: u8) -> Copy {
        self.all.remove(&partition).unwrap_or_default()
    }

    /// Dialogues and octets of a partition's copy.
    #[must_use]
    pub fn size(&self, partition: u8) -> (usize, usize) {
        self.all.get(&partition).map_or((0, 0), |it| (it.records.len(), it.octets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_last_word_on_each_dialogue() {
        let mut copies = Copies::default();
        let told = [
            Change::Owner(2, 7),
            Change::Owner(1, 8),
            Change::Owner(2, 9),
            Change::Stands(7, b"first"),
            Change::Stands(8, b"other"),
            Change::Stands(7, b"last word"),
            Change::Gone(8),
            Change::Gone(9),
        ];
        for it in told {
            let octets = it.write();
            assert_eq!(Change::read(&octets), Some(it));
            assert!(copies.apply(Time::from_millis(5), 3, &octets));
        }
        assert_eq!((copies.size(3), copies.size(4)), ((1, 9), (0, 0)));
        let copy = copies.take(3);
        assert_eq!(copy.owners(), [(1, 8), (2, 9)]);
        assert_eq!(
            copy.records().collect::<Vec<_>>(),
            [(7, Time::from_millis(5), &b"last word"[..])]
        );
        assert_eq!(copies.size(3), (0, 0));
    }

    #[test]
    fn a_copy_has_the_last_word_on_each_connection_and_the_data_that_came_behind_it() {
        let mut copies = Copies::default();
        let first = 3 << 18 | 7;
        let told = [
            Change::Connected(first, b"asked for"),
            Change::Piece(first, b"half"),
            Change::Connected(first, b"there"),
            Change::Piece(first, b"to"),
            Change::Piece(first, b"gether"),
            Change::Connected(first + 1, b"other"),
            Change::Disconnected(first + 1),
            Change::Piece(first + 1, b"nobody's"),
        ];
        for it in told {
            let octets = it.write();
            assert_eq!(Change::read(&octets), Some(it));
            assert!(copies.apply(Time::from_millis(5), 3, &octets));
            assert!(!copies.apply(Time::from_millis(5), 4, &octets), "of another partition");
        }
        assert_eq!(copies.size(3), (0, 13));
        let copy = copies.take(3);
        let all: Vec<_> =
            copy.connections().map(|(of, it)| (of, &it.fields[..], &it.came[..])).collect();
        assert_eq!(all, [(first, &b"there"[..], &b"together"[..])]);
    }

    #[test]
    fn what_is_cut_off_or_beyond_a_partition_is_not_understood() {
        let mut copies = Copies::default();
        let far = [3, 4, 0, 0, 0, 0, 0, 0, 0, 0];
        let cut = [&[][..], &[1, 0, 0, 0], &[2], &[3], &[3, 1, 0], &[7, 0, 0, 0, 0], &far];
        for octets in cut.into_iter().chain([&[1, 0, 4, 0, 0][..]]) {
            assert!(!copies.apply(Time::ZERO, 0, octets), "{octets:?}");
        }
    }
}
