//! The stream to another node: work and records, numbered, acknowledged, sent again from the first
//! one that is not when nothing moves.

use crate::message::{self, Entry};
use bytes::Bytes;
use machine::{Duration, Time};
use std::collections::VecDeque;

/// Octets that wait for their acknowledgement, at most.
pub const LOG_OCTETS_MAX: usize = 16 << 20;
/// Octets that are on their way unacknowledged.
const WINDOW_OCTETS: usize = 512 << 10;
/// Octets of one datagram, after which the next one is begun.
const DATAGRAM_OCTETS: usize = 1_300;
/// The longest entry; UDP carries 65,507 octets.
pub const ENTRY_OCTETS_MAX: usize = 60_000;
/// What an entry counts beside its octets.
const ENTRY_OVERHEAD: usize = 16;

/// This side's end.
#[derive(Debug)]
pub(crate) struct Outward {
    /// This side's life.
    life: u64,
    /// Counts beginnings: what was told before is void.
    pub(crate) session: u64,
    log: VecDeque<Box<[u8]>>,
    /// Number of the first entry in the log.
    base: u64,
    /// Number of the entry to send next.
    next: u64,
    octets: usize,
    flying: usize,
    /// When an entry was acknowledged last, or the first one was appended.
    moved: Time,
    /// When entries were sent again last.
    tried: Time,
}

impl Outward {
    pub(crate) const fn new(life: u64) -> Self {
        Self {
            life,
            session: 1,
            log: VecDeque::new(),
            base: 1,
            next: 1,
            octets: 0,
            flying: 0,
            moved: Time::ZERO,
            tried: Time::ZERO,
        }
    }

    /// Octets that are not acknowledged.
    pub(crate) const fn octets(&self) -> usize {
        self.octets
    }

    /// Entries that are not acknowledged.
    pub(crate) fn waiting(&self) -> usize {
        self.log.len()
    }

    /// Everything up to that entry is acknowledged.
    pub(crate) const fn acknowledged(&self) -> u64 {
        self.base - 1
    }

    /// Since when nothing was acknowledged, while something waits for it.
    pub(crate) fn stands_since(&self) -> Option<Time> {
        (!self.log.is_empty()).then_some(self.moved)
    }

    /// Appends an entry: its number. None: it is too long, or too much waits.
    pub(crate) fn push(&mut self, now: Time, entry: &Entry<'_>) -> Option<u64> {
        let mut octets = Vec::with_capacity(64);
        message::write_entry(entry, &mut octets);
        let all = self.octets + octets.len() + ENTRY_OVERHEAD;
        if octets.len() > ENTRY_OCTETS_MAX || all > LOG_OCTETS_MAX {
            return None;
        }
        if self.log.is_empty() {
            self.moved = now;
        }
        self.octets = all;
        self.log.push_back(octets.into());
        Some(self.base + self.log.len() as u64 - 1)
    }

    /// Begins anew. Work that was never sent comes back; and how much of what was is lost.
    pub(crate) fn begin(&mut self) -> (Vec<Bytes>, usize) {
        let sent = usize::try_from(self.next - self.base).unwrap_or(usize::MAX);
        let is_work = |it: &[u8]| matches!(message::read_entry(it), Ok(Entry::Work(_)));
        let lost = self.log.iter().take(sent).filter(|it| is_work(it)).count();
        let unsent = self.log.iter().skip(sent).filter_map(|it| match message::read_entry(it) {
            Ok(Entry::Work(octets)) => Some(Bytes::copy_from_slice(octets)),
            _ => None,
        });
        let unsent = unsent.collect();
        self.log.clear();
        (self.session, self.base, self.next) = (self.session + 1, 1, 1);
        (self.octets, self.flying) = (0, 0);
        (unsent, lost)
    }

    /// The other side has taken everything up to `applied` of that session.
    pub(crate) fn taken(&mut self, now: Time, session: (u64, u64), applied: u64) {
        if session != (self.life, self.session) {
            return;
        }
        while self.base <= applied && self.base < self.next {
            let Some(entry) = self.log.pop_front() else { break };
            let size = entry.len() + ENTRY_OVERHEAD;
            self.octets -= size;
            self.flying = self.flying.saturating_sub(size);
            self.base += 1;
            self.moved = now;
        }
    }

    /// Goes back to the first entry that is not acknowledged when nothing has moved for a while.
    pub(crate) fn again(&mut self, now: Time, resend: Duration) {
        if self.next > self.base && now >= self.moved.max(self.tried) + resend {
            (self.next, self.flying, self.tried) = (self.base, 0, now);
        }
    }

    /// Sends what the window allows.
    pub(crate) fn flush(&mut self, send: &mut dyn FnMut(Vec<u8>)) {
        while self.flying < WINDOW_OCTETS {
            let at = usize::try_from(self.next - self.base).unwrap_or(usize::MAX);
            if at >= self.log.len() {
                return;
            }
            let mut datagram = message::entries((self.life, self.session), self.next);
            let empty = datagram.len();
            for entry in self.log.range(at..) {
                let size = entry.len() + ENTRY_OVERHEAD;
                if datagram.len() > empty && datagram.len() + size > DATAGRAM_OCTETS {
                    break;
                }
                message::entry(&mut datagram, entry);
                self.next += 1;
                self.flying += size;
            }
            send(datagram);
        }
    }
}

/// The other side's end, as it is followed here.
#[derive(Debug, Default)]
pub(crate) struct Inward {
    /// Its life and session.
    pub(crate) session: (u64, u64),
    /// The last entry that was taken.
    pub(crate) applied: u64,
}

/// What becomes of a piece of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Its first entries, so many, were taken before; the others are next.
    Next(usize),
    /// The same, and the stream has begun anew.
    Anew,
    /// It is old, or something before it is missing.
    Not,
}

impl Inward {
    /// A piece of the stream came.
    pub(crate) fn piece(&mut self, session: (u64, u64), first: u64) -> Piece {
        if session != self.session {
            let is_old = session.0 == self.session.0 && session.1 < self.session.1;
            if is_old || first != 1 {
                return Piece::Not;
            }
            (self.session, self.applied) = (session, 0);
            return Piece::Anew;
        }
        match (self.applied + 1).checked_sub(first) {
            Some(known) => Piece::Next(usize::try_from(known).unwrap_or(usize::MAX)),
            None => Piece::Not,
        }
    }
}
