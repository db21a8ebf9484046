//! What waits for an instance: dialogues in progress first, then those that begin.

use bytes::Bytes;
use machine::Time;
use std::collections::{BTreeMap, VecDeque};

/// What a message in progress is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// Nothing that counts.
    Nothing,
    /// A dialogue that it is held for.
    Dialogue(u64),
    /// A connection.
    Connection(u32),
}

/// What waits, in two rows.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Of dialogues and connections in progress.
    first: VecDeque<(Of, Bytes)>,
    /// Dialogues that begin, since when they wait.
    later: VecDeque<(Time, u64, Bytes)>,
    octets: usize,
    /// Octets of connections, each that has some.
    connections: BTreeMap<u32, usize>,
}

impl Queue {
    /// Octets in both.
    pub(super) const fn octets(&self) -> usize {
        self.octets
    }

    /// Messages of dialogues in progress.
    pub(super) fn in_progress(&self) -> usize {
        self.first.len()
    }

    /// Octets of a connection.
    pub(super) fn octets_of(&self, connection: u32) -> usize {
        self.connections.get(&connection).copied().unwrap_or(0)
    }

    pub(super) fn push(&mut self, of: Of, octets: Bytes) {
        self.octets += octets.len();
        if let Of::Connection(connection) = of {
            *self.connections.entry(connection).or_default() += octets.len();
        }
        self.first.push_back((of, octets));
    }

    /// Before everything else.
    pub(super) fn push_front(&mut self, octets: Bytes) {
        self.octets += octets.len();
        self.first.push_front((Of::Nothing, octets));
    }

    /// A dialogue that begins.
    pub(super) fn push_new(&mut self, now: Time, dialogue: u64, octets: Bytes) {
        self.octets += octets.len();
        self.later.push_back((now, dialogue, octets));
    }

    /// Whether something of a dialogue that begins waits; the newest is looked at first.
    pub(super) fn has_new(&self, dialogue: u64) -> bool {
        self.later.iter().rev().any(|it| it.1 == dialogue)
    }

    /// A dialogue that begins is over already: it waits no more. Whether it did.
    pub(super) fn withdraw(&mut self, dialogue: u64) -> bool {
        let before = self.later.len();
        let octets = &mut self.octets;
        self.later.retain(|it| {
            if it.1 == dialogue {
                *octets -= it.2.len();
            }
            it.1 != dialogue
        });
        self.later.len() < before
    }

    pub(super) fn next(&mut self) -> Option<(Of, Bytes)> {
        let later = || self.later.pop_front().map(|(_, dialogue, it)| (Of::Dialogue(dialogue), it));
        let next = self.first.pop_front().or_else(later)?;
        self.octets -= next.1.len();
        if let Of::Connection(connection) = next.0
            && let Some(octets) = self.connections.get_mut(&connection)
        {
            *octets -= next.1.len();
            if *octets == 0 {
                self.connections.remove(&connection);
            }
        }
        Some(next)
    }

    /// Since when the first dialogue waits that begins.
    pub(super) fn waits_since(&self) -> Option<Time> {
        self.later.front().map(|it| it.0)
    }

    /// The first dialogue that begins; it waits no more.
    pub(super) fn give_up(&mut self) -> Option<u64> {
        let (_, dialogue, octets) = self.later.pop_front()?;
        self.octets -= octets.len();
        Some(dialogue)
    }
}
