//! What waits to be written to a stream: octets of our own, and pieces that many connections share.
//!
//! ```text
//!   pieces   (3, ▣) (0, ▣) …        each shared piece, and how many of our octets go before it
//!   owned    ───out───┃ a b c ┃ d e f    those before `head` are out, those behind the last shared
//!                   head               piece follow it
//! ```

use bytes::{Buf, Bytes};
use std::collections::VecDeque;
use std::io::IoSlice;

/// Pieces of one vectored write.
pub(crate) const PARTS_MAX: usize = 64;
/// A drained queue keeps at most this much room.
const QUEUE_KEPT_BYTES: usize = 256 << 10;
/// Shared pieces that a drained queue keeps room for.
const PIECES_KEPT: usize = 64;
/// What is shorter is copied: that costs less than a piece of its own, and keeps the number of
/// pieces in proportion to their octets.
const SHARED_MIN_BYTES: usize = 512;

/// Octets in the order in which they go out.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    owned: Vec<u8>,
    head: usize,
    shared: VecDeque<(usize, Bytes)>,
    /// Octets of the shared pieces that wait.
    shared_octets: usize,
    /// Our octets behind the last shared piece.
    behind: usize,
}

impl Queue {
    /// Octets that wait.
    pub(crate) fn len(&self) -> usize {
        self.owned.len() - self.head + self.shared_octets
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends octets of our own.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.append(|owned| owned.extend_from_slice(bytes));
    }

    /// Appends what `write` appends.
    pub(crate) fn append<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let before = self.owned.len();
        let result = write(&mut self.owned);
        self.behind += self.owned.len() - before;
        result
    }

    /// Appends a piece that is not copied.
    pub(crate) fn push_shared(&mut self, bytes: Bytes) {
        if bytes.len() < SHARED_MIN_BYTES {
            return self.push(&bytes);
        }
        self.shared_octets += bytes.len();
        self.shared.push_back((self.behind, bytes));
        self.behind = 0;
    }

    /// The first pieces, for one write of at most so many octets; returns how many there are.
    pub(crate) fn parts<'a>(
        &'a self,
        parts: &mut [IoSlice<'a>; PARTS_MAX],
        octets_max: usize,
    ) -> usize {
        let (mut used, mut at, mut room) = (0, self.head, octets_max);
        let mut add = |bytes: &'a [u8]| {
            let fits = bytes.len().min(room);
            if fits > 0 && used < PARTS_MAX {
                parts[used] = IoSlice::new(&bytes[..fits]);
                used += 1;
                room -= fits;
            }
            used < PARTS_MAX && room > 0
        };
        for (before, bytes) in &self.shared {
            if !add(&self.owned[at..at + before]) || !add(bytes) {
                return used;
            }
            at += before;
        }
        add(&self.owned[at..]);
        used
    }

    /// The first `octets` are out.
    pub(crate) fn advance(&mut self, mut octets: usize) {
        while let Some((before, bytes)) = self.shared.front_mut() {
            let ours = octets.min(*before);
            *before -= ours;
            self.head += ours;
            octets -= ours;
            let theirs = octets.min(bytes.len());
            bytes.advance(theirs);
            self.shared_octets -= theirs;
            octets -= theirs;
            if *before > 0 || !bytes.is_empty() {
                return;
            }
            self.shared.pop_front();
        }
        self.head += octets;
        self.behind -= octets;
        if self.is_empty() {
            self.owned.clear();
            self.owned.shrink_to(QUEUE_KEPT_BYTES);
            self.shared.shrink_to(PIECES_KEPT);
            self.head = 0;
        }
    }

    /// Moves our octets to the front once more than half of the room is used up.
    pub(crate) fn compact(&mut self) {
        if self.head > self.owned.len() / 2 {
            self.owned.drain(..self.head);
            self.head = 0;
        }
    }

    /// Takes everything as one run of octets.
    pub(crate) fn drain_into(&mut self, out: &mut Vec<u8>) {
        while !self.is_empty() {
            let mut parts = [IoSlice::new(&[]); PARTS_MAX];
            let used = self.parts(&mut parts, usize::MAX);
            let mut octets = 0;
            for part in &parts[..used] {
                out.extend_from_slice(part);
                octets += part.len();
            }
            self.advance(octets);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts owned and shared pieces of these lengths into a queue and beside it.
    fn fill(queue: &mut Queue, lengths: &[usize]) -> Vec<u8> {
        let mut all = Vec::new();
        for (n, &length) in lengths.iter().enumerate() {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 + n) as u8).collect();
            all.extend_from_slice(&bytes);
            if n % 3 == 0 {
                queue.push(&bytes);
            } else {
                queue.push_shared(Bytes::from(bytes));
            }
        }
        all
    }

    #[test]
    fn pieces_go_out_in_order_however_little_is_taken_at_once() {
        let lengths: Vec<usize> = (0..300).map(|n| [1, 600, 511, 20, 2_000, 512][n % 6]).collect();
        for step in [1usize, 13, 511, 512, 3_000, 1 << 20] {
            let mut queue = Queue::default();
            let all = fill(&mut queue, &lengths);
            let mut out: Vec<u8> = Vec::new();
            while !queue.is_empty() {
                assert_eq!(queue.len(), all.len() - out.len());
                let mut parts = [IoSlice::new(&[]); PARTS_MAX];
                let used = queue.parts(&mut parts, step);
                parts[..used].iter().for_each(|part| out.extend_from_slice(part));
                let octets = parts[..used].iter().map(|part| part.len()).sum();
                assert!((1..=step).contains(&octets));
                queue.advance(octets);
                queue.compact();
            }
            assert!(out == all, "step {step}");
            assert_eq!((queue.head, queue.behind, queue.shared.len()), (0, 0, 0));
        }
    }

    #[test]
    fn a_large_piece_is_not_copied_and_let_go_as_soon_as_it_is_out() {
        let piece = Bytes::from(vec![7; 64 << 10]);
        let mut queue = Queue::default();
        queue.push(b"before");
        queue.push_shared(piece.clone());
        queue.push(b"after");
        assert!(queue.owned.len() == 11 && !piece.is_unique());
        queue.advance(6 + piece.len());
        assert!(piece.is_unique());
        let mut rest = Vec::new();
        queue.drain_into(&mut rest);
        assert_eq!(rest, b"after");
    }

    #[test]
    fn everything_can_be_taken_as_one_run() {
        let mut queue = Queue::default();
        let all = fill(&mut queue, &[700; 200]);
        let mut out = Vec::new();
        queue.drain_into(&mut out);
        assert!(out == all && queue.is_empty());
    }
}
