//! A connection as the main thread has it, and what one that controls nothing may keep here.

use crate::door::Challenge;
use crate::stream::{Lost, Stream};
use crate::wire::{Broken, LENGTH_OCTETS, Request};
use driver::Interest;

/// Octets of answers that wait for who only asks, past which no question of his is taken.
const ANSWERS_OCTETS_MAX: usize = 1 << 20;
/// Octets of a message of whoever does not control: questions and proofs are short.
const QUESTION_OCTETS_MAX: usize = 64 << 10;

/// A connection.
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    pub(crate) is_control: bool,
    /// Of the forwarder's own user, or of root.
    pub(crate) is_own: bool,
    pub(crate) challenge: Option<Challenge>,
}

impl Connection {
    /// Whether so much waits for the other side that nothing is taken from it until it reads.
    pub(crate) fn is_full(&self) -> bool {
        !self.is_control && self.stream.waiting() > ANSWERS_OCTETS_MAX
    }

    /// Whether a whole message waits: nothing more is read before it had its turn.
    pub(crate) fn has_turn(&self) -> bool {
        self.stream.has_message()
    }

    /// The next message that may be taken.
    ///
    /// # Errors
    /// When it is none, or longer than somebody may say who does not control.
    pub(crate) fn next(&mut self) -> Result<Option<Request>, Lost> {
        if self.is_full() {
            return Ok(None);
        }
        let octets = self.stream.next_octets();
        if !self.is_control && octets > QUESTION_OCTETS_MAX + LENGTH_OCTETS {
            return Err(Broken::Long(octets).into());
        }
        self.stream.next()
    }

    /// What the poll is to wait for.
    pub(crate) fn interest(&self) -> Interest {
        if self.is_full() {
            Interest::Write
        } else if self.stream.waiting() > 0 || self.has_turn() {
            // What is whole and waits for its turn is no reason to sleep.
            Interest::ReadWrite
        } else {
            Interest::Read
        }
    }
}
