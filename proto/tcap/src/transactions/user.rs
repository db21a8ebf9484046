//! What users ask of dialogues that stand, beside messages: timers, cancels, numbers.

use super::Transactions;
use crate::effects::{DialogueId, Refused};
use crate::record::State;
use machine::slots::Key;
use machine::{Duration, Time};
use sccp::codec::Address;

/// Bits of the generation that a number shows: with those of the slot it has 53, which every
/// program reads exactly (RFC 8259 §6).
const GENERATION_BITS: u32 = 21;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;

impl DialogueId {
    /// Names the dialogue outside of this process, in 53 bits: slot, and which user of it.
    #[must_use]
    pub const fn number(self) -> u64 {
        let Self(Key { index, generation }) = self;
        (generation & GENERATION_MASK) as u64 * (1 << 32) + index as u64
    }
}

impl Transactions {
    /// The dialogue of that number, if it stands.
    #[must_use]
    pub fn numbered(&self, number: u64) -> Option<DialogueId> {
        let index = u32::try_from(number & u64::from(u32::MAX)).ok()?;
        let id = DialogueId(self.slots.user_of(index)?);
        (id.number() == number).then_some(id)
    }

    /// Addresses of a dialogue: this side's, and the peer's.
    #[must_use]
    pub fn ends(&self, DialogueId(key): DialogueId) -> Option<(Address, Address)> {
        let ends = self.slots.at(key)?.ends()?;
        Some((ends.own, ends.peer))
    }

    /// Contents octets of the application context of a dialogue; none without a dialogue portion.
    #[must_use]
    pub fn context(&self, DialogueId(key): DialogueId) -> Option<&[u8]> {
        let context = self.slots.at(key)?.context();
        Some(context).filter(|it| !it.is_empty())
    }

    /// Whether a dialogue may still be refused: the peer began it, with a context, and it was not
    /// answered.
    #[must_use]
    pub fn may_refuse(&self, DialogueId(key): DialogueId) -> bool {
        self.slots
            .at(key)
            .is_some_and(|it| it.state == State::InitiationReceived && !it.context().is_empty())
    }

    /// TC-U-CANCEL request: no answer to this operation is waited for any more. Nothing is sent.
    ///
    /// # Errors
    /// No such dialogue, or no such operation.
    pub fn cancel(&mut self, DialogueId(key): DialogueId, id: i8) -> Result<(), Refused> {
        let record = self.slots.at_mut(key).ok_or(Refused::Unknown)?;
        if !record.invocations.has(id) {
            return Err(Refused::InvokeId);
        }
        record.invocations.end(id);
        Ok(())
    }

    /// TC-TIMER-RESET request: the time of this operation begins anew.
    ///
    /// # Errors
    /// No such dialogue, or no such operation.
    pub fn reset_timer(
        &mut self,
        now: Time,
        DialogueId(key): DialogueId,
        id: i8,
        time: Option<Duration>,
    ) -> Result<(), Refused> {
        let record = self.slots.at_mut(key).ok_or(Refused::Unknown)?;
        if !record.invocations.restart(now, id, time) {
            return Err(Refused::InvokeId);
        }
        let due = record.due();
        self.slots.arm(key, due);
        Ok(())
    }
}
