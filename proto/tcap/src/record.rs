//! What is kept of a dialogue.

use crate::codec::{Problem, TransactionId};
use crate::invocation::Invocations;
use machine::Time;
use machine::slots::Reuse;
use sccp::codec::Address;

/// Rejects that wait for the next message, at most.
const REJECTS_MAX: usize = 16;

/// States of a transaction (Q.774 §3.3.3.1, figure 3); an idle one has no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    #[default]
    InitiationSent,
    InitiationReceived,
    Active,
}

/// Addresses of this side and of the peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) own: Address,
    pub(crate) peer: Address,
}

/// A dialogue.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) state: State,
    /// The transaction at the peer.
    pub(crate) remote: Option<TransactionId>,
    pub(crate) ends: Option<Ends>,
    /// Contents octets of the application context; none: without dialogue portions.
    pub(crate) context: Vec<u8>,
    pub(crate) invocations: Invocations,
    /// Operations of the peer that its user here said it will answer, by their identifiers.
    pub(crate) owed: [u64; 4],
    /// Whose dialogues it counts among, when it was begun from elsewhere.
    pub(crate) source: Option<u16>,
    /// What goes with the next message.
    pub(crate) rejects: Vec<(Option<i8>, Problem)>,
    /// When nothing was heard or said for too long.
    pub(crate) idle_due: Time,
    /// Messages of a dialogue keep their order.
    pub(crate) sls: u8,
}

impl Reuse for Record {
    fn reuse(&mut self) {
        self.state = State::InitiationSent;
        (self.remote, self.ends) = (None, None);
        self.context.clear();
        self.invocations.clear();
        (self.owed, self.source) = ([0; 4], None);
        self.rejects.clear();
    }
}

impl Record {
    pub(crate) fn due(&self) -> Time {
        self.invocations.deadline().unwrap_or(Time::MAX).min(self.idle_due)
    }

    fn owed_bit(id: i8) -> (usize, u64) {
        let number = usize::from(id.cast_unsigned());
        (number / 64, 1 << (number % 64))
    }

    /// Whether an answer to the peer's operation is owed.
    pub(crate) fn owes(&self, id: i8) -> bool {
        let (word, bit) = Self::owed_bit(id);
        self.owed[word] & bit != 0
    }

    pub(crate) fn owe(&mut self, id: i8, is_owed: bool) {
        let (word, bit) = Self::owed_bit(id);
        self.owed[word] = if is_owed { self.owed[word] | bit } else { self.owed[word] & !bit };
    }

    pub(crate) fn reject(&mut self, id: Option<i8>, problem: Problem) {
        if self.rejects.len() < REJECTS_MAX {
            self.rejects.push((id, problem));
        }
    }
}
