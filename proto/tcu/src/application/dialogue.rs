//! What is kept of a dialogue: whose it is, its application's state, and what is held.

use super::{Application, InstanceId};
use crate::frame::{Cut, cut};
use crate::message::ToApplication;
use crate::names::Speech;
use crate::primitive::Indication;
use crate::tagged;
use bytes::Bytes;
use wire::Malformed;

/// Octets of indications that are held of one dialogue, at most.
const HELD_OCTETS_MAX: usize = 16_384;
/// Instances that may be lost with what one dialogue told them: what has ended two programs would
/// end every other one, too.
const LOSSES_MAX: u8 = 1;

/// A dialogue.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) instance: Option<InstanceId>,
    pub(super) speech: Speech,
    context: Context,
    /// What the application has said of it last.
    pub(super) state: Option<Box<[u8]>>,
    /// What its instance was told since it said anything; none: more than is kept.
    pub(super) held: Option<Held>,
    /// How many of these, the last ones, wait in the queue: its instance cannot know them.
    pub(super) unsent: u32,
    /// Its BEGIN may still wait for its first instance.
    pub(super) is_new: bool,
    /// Instances that were lost one after the other while something was held for them.
    losses: u8,
}

/// Indications that are held: as tagged fields, one message after the other, whatever spelling
/// their instance has. Many dialogues stand with one or two.
#[derive(Debug, Default)]
pub(super) struct Held(Box<[u8]>);

impl Held {
    /// Octets of all.
    pub(super) const fn octets(&self) -> usize {
        self.0.len()
    }

    /// As they are kept.
    pub(super) const fn messages_of_all(&self) -> &[u8] {
        &self.0
    }

    /// Those of another node.
    ///
    /// # Errors
    /// One is cut off, or there are more octets than are kept of a dialogue.
    pub(super) fn read(octets: &[u8]) -> Result<Self, Malformed> {
        let held = Self(octets.into());
        let read: usize = held.messages().map(<[u8]>::len).sum();
        match read == octets.len() && read <= HELD_OCTETS_MAX {
            true => Ok(held),
            false => Err(Malformed::new(read, "an indication is cut off", "proto/tcu, replica")),
        }
    }

    /// Another one, by its message.
    fn add(&mut self, message: &[u8]) {
        let mut all = core::mem::take(&mut self.0).into_vec();
        all.reserve_exact(message.len());
        all.extend_from_slice(message);
        self.0 = all.into();
    }

    /// The messages of all.
    fn messages(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &*self.0;
        core::iter::from_fn(move || {
            let Cut::Message(length) = cut(rest) else { return None };
            let (message, others) = rest.split_at_checked(length)?;
            rest = others;
            Some(message)
        })
    }

    /// All of them, as they were told.
    pub(super) fn indications(&self) -> impl Iterator<Item = Indication> {
        self.messages().filter_map(|message| match tagged::read_to_application(message) {
            Ok(ToApplication::Indication(it)) => Some(it),
            _ => None,
        })
    }

    /// Lets go of all but the last ones.
    fn keep_last(&mut self, count: usize) {
        if count == 0 {
            self.0 = Box::default();
            return;
        }
        let known = self.messages().count().saturating_sub(count);
        let octets: usize = self.messages().take(known).map(<[u8]>::len).sum();
        self.0 = self.0.get(octets..).unwrap_or_default().into();
    }
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
        let held = Some(Held::default());
        let (instance, state) = (None, None);
        let (unsent, is_new, losses) = (0, true, 0);
        Self { instance, speech, context, state, held, unsent, is_new, losses }
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
        self.losses += u8::from(self.held.as_ref().is_none_or(|held| held.octets() > 0));
        let can_go_on = self.held.is_some() && (self.is_unanswered() || self.state.is_some());
        !can_go_on || self.losses > LOSSES_MAX
    }

    /// Whether its BEGIN was not answered yet.
    pub(super) fn is_unanswered(&self) -> bool {
        let first = self.held.as_ref().and_then(|held| held.messages().next());
        first.is_some_and(tagged::is_begin)
    }

    /// Octets that are held of it.
    pub(super) fn held_octets(&self) -> usize {
        self.held.as_ref().map_or(0, Held::octets)
    }
}

impl Application {
    /// Keeps what an instance is told, for who would take the dialogue over.
    pub(super) fn hold(&mut self, dialogue: u64, it: &Indication) {
        // A service inside is told in this turn.
        if self.is_inside() {
            return;
        }
        let room = self.settings.held_octets_max as usize;
        let Some(record) = self.dialogues.get_mut(&dialogue) else { return };
        let Some(held) = &mut record.held else { return };
        self.spelled.clear();
        tagged::write_indication(it, &mut self.spelled);
        let octets = self.spelled.len();
        if held.octets() + octets <= HELD_OCTETS_MAX && self.held_octets + octets <= room {
            held.add(&self.spelled);
            self.held_octets += octets;
            return;
        }
        self.held_octets -= held.octets();
        record.held = None;
    }

    /// The instance has said something: it may know what has left the queue.
    pub(super) fn release(&mut self, dialogue: u64) {
        let Some(record) = self.dialogues.get_mut(&dialogue) else { return };
        (record.is_new, record.losses) = (false, 0);
        match &mut record.held {
            Some(held) => {
                let before = held.octets();
                held.keep_last(record.unsent as usize);
                self.held_octets -= before - held.octets();
            }
            // More than is kept, of which some waits still: nobody could take it over.
            None if record.unsent > 0 => {}
            None => record.held = Some(Held::default()),
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
