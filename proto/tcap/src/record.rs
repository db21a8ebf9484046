//! What is kept of a dialogue. Many stand at once: what few of them have takes no room in others.

use crate::codec::{Problem, TransactionId};
use crate::invocation::Invocations;
pub(crate) use crate::packed::Ends;
use crate::packed::Packed;
use machine::Time;
use machine::slots::Reuse;
use sccp::codec::Address;

/// Rejects that wait for the next message, at most.
const REJECTS_MAX: usize = 16;
/// Operations that are owed an answer and take no room of their own.
const OWED_FEW: usize = 7;

/// States of a transaction (Q.774 §3.3.3.1, figure 3); an idle one has no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    #[default]
    InitiationSent,
    InitiationReceived,
    Active,
}

/// Operations of the peer that the user here said it will answer, by their identifiers: a few, or
/// all of them as bits.
#[derive(Debug, Default)]
struct Owed {
    few: [i8; OWED_FEW],
    count: u8,
    many: Option<Box<[u64; 4]>>,
}

impl Owed {
    fn bit(id: i8) -> (usize, u64) {
        let number = usize::from(id.cast_unsigned());
        (number / 64, 1 << (number % 64))
    }

    fn few(&self) -> &[i8] {
        self.few.get(..usize::from(self.count)).unwrap_or_default()
    }

    fn has(&self, id: i8) -> bool {
        let (word, bit) = Self::bit(id);
        self.few().contains(&id) || self.many.as_ref().is_some_and(|it| it[word] & bit != 0)
    }

    fn add(&mut self, id: i8) {
        if self.has(id) {
            return;
        }
        if let Some(place) = self.few.get_mut(usize::from(self.count)) {
            *place = id;
            self.count += 1;
            return;
        }
        let (word, bit) = Self::bit(id);
        self.many.get_or_insert_default()[word] |= bit;
    }

    /// All of them.
    fn all(&self) -> impl Iterator<Item = i8> {
        let many = self.many.iter().flat_map(|_| i8::MIN..=i8::MAX).filter(|id| {
            let (word, bit) = Self::bit(*id);
            self.many.as_ref().is_some_and(|it| it[word] & bit != 0)
        });
        self.few().iter().copied().chain(many)
    }

    fn remove(&mut self, id: i8) {
        if let Some(at) = self.few().iter().position(|it| *it == id) {
            self.count -= 1;
            self.few.swap(at, usize::from(self.count));
        }
        let (word, bit) = Self::bit(id);
        if let Some(many) = &mut self.many {
            many[word] &= !bit;
        }
    }
}

/// A dialogue.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) state: State,
    /// Messages of a dialogue keep their order.
    pub(crate) sls: u8,
    /// Whose dialogues it counts among, when it was begun from elsewhere.
    pub(crate) source: Option<u16>,
    /// The transaction at the peer.
    pub(crate) remote: Option<TransactionId>,
    packed: Packed,
    pub(crate) invocations: Invocations,
    owed: Owed,
    /// What goes with the next message.
    #[expect(clippy::box_collection, reason = "few dialogues have any")]
    rejects: Option<Box<Vec<Reject>>>,
    /// When nothing was heard or said for too long.
    pub(crate) idle_due: Time,
}

/// A component that was rejected, if it is known, and why.
pub(crate) type Reject = (Option<i8>, Problem);

impl Reuse for Record {
    fn reuse(&mut self) {
        self.state = State::InitiationSent;
        self.remote = None;
        self.packed.clear();
        self.invocations.clear();
        (self.owed, self.source) = (Owed::default(), None);
        self.rejects = None;
    }
}

impl Record {
    pub(crate) fn due(&self) -> Time {
        self.invocations.deadline().unwrap_or(Time::MAX).min(self.idle_due)
    }

    /// Where it stands, and the contents octets of its application context; none: without dialogue
    /// portions.
    pub(crate) fn set(&mut self, ends: &Ends, context: &[u8]) {
        self.packed.set(ends, context);
    }

    /// The peer is there from now on.
    pub(crate) fn set_peer(&mut self, peer: Address) {
        let Some(Ends { own, peer: before }) = self.ends() else { return };
        if peer != before {
            let context = self.context().to_vec();
            self.packed.set(&Ends { own, peer }, &context);
        }
    }

    /// Addresses of both sides.
    pub(crate) fn ends(&self) -> Option<Ends> {
        self.packed.ends()
    }

    /// Contents octets of the application context.
    pub(crate) fn context(&self) -> &[u8] {
        self.packed.context()
    }

    /// Whether an answer to the peer's operation is owed.
    pub(crate) fn owes(&self, id: i8) -> bool {
        self.owed.has(id)
    }

    pub(crate) fn owe(&mut self, id: i8, is_owed: bool) {
        match is_owed {
            true => self.owed.add(id),
            false => self.owed.remove(id),
        }
    }

    /// All operations of the peer to which an answer is owed.
    pub(crate) fn owed(&self) -> impl Iterator<Item = i8> {
        self.owed.all()
    }

    /// What goes with the next message.
    pub(crate) fn rejects(&self) -> &[Reject] {
        self.rejects.as_deref().map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn reject(&mut self, id: Option<i8>, problem: Problem) {
        let rejects = self.rejects.get_or_insert_default();
        if rejects.len() < REJECTS_MAX {
            rejects.push((id, problem));
        }
    }

    /// Takes the rejects that wait.
    pub(crate) fn take_rejects(&mut self) -> Vec<Reject> {
        self.rejects.take().map(|it| *it).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_operations_may_be_owed_and_each_ends_by_itself() {
        let mut owed = Owed::default();
        for id in i8::MIN..=i8::MAX {
            assert!(!owed.has(id));
            owed.add(id);
            owed.add(id);
        }
        assert_eq!(owed.all().count(), 256);
        assert!((i8::MIN..=i8::MAX).all(|id| owed.has(id)));
        for id in (i8::MIN..=i8::MAX).rev() {
            owed.remove(id);
            owed.remove(id);
            assert!(!owed.has(id) && (i8::MIN..id).all(|id| owed.has(id)), "{id}");
        }
        owed.add(5);
        assert!(owed.has(5) && !owed.has(0));
    }
}
