//! Octets that wait for room in a connection. What several far ends are sent stays one piece that
//! they have in common.

use bytes::{Buf as _, Bytes};
use std::collections::VecDeque;

#[derive(Debug)]
enum Piece {
    Own(VecDeque<u8>),
    Shared(Bytes),
}

/// What waits, in its order.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pieces: VecDeque<Piece>,
    octets: usize,
    own: usize,
}

impl Waiting {
    /// How many octets wait.
    pub(crate) const fn len(&self) -> usize {
        self.octets
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.octets == 0
    }

    /// Those of them that nobody has in common.
    pub(crate) const fn own(&self) -> usize {
        self.own
    }

    /// Appends a copy.
    pub(crate) fn copy(&mut self, octets: &[u8]) {
        self.octets += octets.len();
        self.own += octets.len();
        match self.pieces.back_mut() {
            Some(Piece::Own(last)) => last.extend(octets),
            _ => self.pieces.push_back(Piece::Own(octets.iter().copied().collect())),
        }
    }

    /// Appends what others may have, too.
    pub(crate) fn share(&mut self, octets: Bytes) {
        self.octets += octets.len();
        self.pieces.push_back(Piece::Shared(octets));
    }

    /// Takes out the first octets: so many at most, of one piece.
    pub(crate) fn take(&mut self, most: usize) -> Option<Bytes> {
        let (taken, is_over) = match self.pieces.front_mut()? {
            Piece::Own(it) => {
                let taken: Bytes = it.drain(..most.min(it.len())).collect();
                self.own -= taken.len();
                (taken, it.is_empty())
            }
            Piece::Shared(it) => {
                let taken = it.split_to(most.min(it.len()));
                (taken, !it.has_remaining())
            }
        };
        self.octets -= taken.len();
        if is_over {
            self.pieces.pop_front();
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_leave_in_their_order_and_what_is_shared_is_nobodys_own() {
        let mut it = Waiting::default();
        it.copy(b"one ");
        it.copy(b"two ");
        it.share(Bytes::from_static(b"three "));
        it.copy(b"four");
        assert_eq!((it.len(), it.own()), (18, 12));
        let mut whole = Vec::new();
        while let Some(some) = it.take(3) {
            assert!(!some.is_empty() && some.len() <= 3);
            whole.extend(some);
        }
        assert_eq!(whole, b"one two three four");
        assert_eq!((it.len(), it.own(), it.is_empty()), (0, 0, true));
    }
}
