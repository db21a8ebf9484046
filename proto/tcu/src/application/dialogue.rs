//! What is kept of a dialogue: whose it is, its application's state, and what is held.

use super::{Application, InstanceId};
use crate::names::Speech;
use crate::primitive::{Indication, Portion};
use bytes::Bytes;

/// Octets of indications that are held of one dialogue, at most.
const HELD_OCTETS_MAX: usize = 16_384;
/// Instances that may be lost with what one dialogue told them: what has ended two programs would
/// end every other one, too.
const LOSSES_MAX: u8 = 1;
/// What an indication costs beside its parameters.
const HELD_OVERHEAD: usize = 256;

/// A dialogue.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) instance: Option<InstanceId>,
    pub(super) speech: Speech,
    context: Context,
    /// What the application has said of it last.
    pub(super) state: Option<Bytes>,
    /// What its instance was told since it said anything; none: more than is kept.
    pub(super) held: Option<Vec<Indication>>,
    pub(super) held_octets: u32,
    /// How many of these, the last ones, wait in the queue: its instance cannot know them.
    pub(super) unsent: usize,
    /// Its BEGIN may still wait for its first instance.
    pub(super) is_new: bool,
    /// Instances that were lost one after the other while something was held for them.
    losses: u8,
}

/// The application context of a dialogue. Many dialogues stand, and nearly all have one that their
/// speech leads back to: its octets are not kept.
#[derive(Debug)]
enum Context {
    None,
    Spoken,
    Other(Box<[u8]>),
}

impl Context {
    fn of(speech: Speech, octets: Option<&[u8]>) -> Self {
        match octets {
            None => Self::None,
            Some(octets) if speech.has_context(octets) => Self::Spoken,
            Some(octets) => Self::Other(octets.into()),
        }
    }
}

impl Record {
    pub(super) fn new(speech: Speech, context: Option<&[u8]>) -> Self {
        let context = Context::of(speech, context);
        let held = Some(Vec::new());
        let (instance, state) = (None, None);
        let (held_octets, unsent, is_new, losses) = (0, 0, true, 0);
        Self { instance, speech, context, state, held, held_octets, unsent, is_new, losses }
    }

    /// Contents octets of its application context.
    pub(super) fn context(&self) -> Option<Bytes> {
        match &self.context {
            Context::None => None,
            Context::Spoken => self.speech.context().map(Bytes::from),
            Context::Other(octets) => Some(Bytes::copy_from_slice(octets)),
        }
    }

    /// Its instance is lost: whether it is, too. Another instance goes on with one that was not
    /// answered or has a state, unless what it was told may be what ends programs.
    pub(super) fn is_lost(&mut self) -> bool {
        self.losses += u8::from(self.held.as_ref().is_none_or(|held| !held.is_empty()));
        let can_go_on = self.held.is_some() && (self.is_unanswered() || self.state.is_some());
        !can_go_on || self.losses > LOSSES_MAX
    }

    /// Whether its BEGIN was not answered yet.
    pub(super) fn is_unanswered(&self) -> bool {
        let first = self.held.as_ref().and_then(|held| held.first());
        matches!(first, Some(Indication::Begin { .. }))
    }
}

impl Application {
    /// Keeps what an instance is told, for who would take the dialogue over.
    pub(super) fn hold(&mut self, dialogue: u64, it: &Indication) {
        let octets = octets_of(it);
        let room = self.settings.held_octets_max as usize;
        let Some(record) = self.dialogues.get_mut(&dialogue) else { return };
        let Some(held) = &mut record.held else { return };
        let all = record.held_octets as usize + octets;
        if all <= HELD_OCTETS_MAX && self.held_octets + octets <= room {
            // It is nearly always the only one, and room for more is most of what a dialogue takes.
            held.reserve_exact(1);
            held.push(it.detached());
            // It is below the limit.
            record.held_octets = u32::try_from(all).unwrap_or(u32::MAX);
            self.held_octets += octets;
            return;
        }
        self.held_octets -= record.held_octets as usize;
        (record.held, record.held_octets) = (None, 0);
    }

    /// The instance has said something: it may know what has left the queue.
    pub(super) fn release(&mut self, dialogue: u64) {
        let Some(record) = self.dialogues.get_mut(&dialogue) else { return };
        (record.is_new, record.losses) = (false, 0);
        match &mut record.held {
            Some(held) => {
                let known = held.len().saturating_sub(record.unsent);
                let before = record.held_octets;
                let octets: usize = held.drain(..known).map(|it| octets_of(&it)).sum();
                record.held_octets = before.saturating_sub(u32::try_from(octets).unwrap_or(before));
                self.held_octets -= (before - record.held_octets) as usize;
                // A dialogue that stands for a minute keeps no room for what it holds for a moment.
                if held.is_empty() {
                    *held = Vec::new();
                }
            }
            // More than is kept, of which some waits still: nobody could take it over.
            None if record.unsent > 0 => {}
            None => record.held = Some(Vec::new()),
        }
    }
}

/// Whether an indication is one of those that are held.
pub(super) const fn is_held(it: &Indication) -> bool {
    !it.is_last()
        && it.dialogue().is_some()
        && !matches!(
            it,
            Indication::Begun { .. } | Indication::Refused { .. } | Indication::Resume { .. }
        )
}

/// About what an indication occupies.
fn octets_of(it: &Indication) -> usize {
    HELD_OVERHEAD + it.portion().map_or(0, portion_octets)
}

fn portion_octets(portion: &Portion) -> usize {
    let components = portion.components.iter().map(|it| HELD_OVERHEAD + it.octets());
    let context = portion.context.as_ref().map_or(0, Bytes::len);
    context + portion.user_information.len() + components.sum::<usize>()
}
