//! Dialogues of partitions that several nodes share: what an application has of one is told beside
//! its transaction, and at another node it goes on with the same instance.
//!
//! There the instance hears RESUME, and again what it had not answered: so it knows from where the
//! dialogue is spoken with from now on, and that an answer may be lost. A state that it has given
//! is in the RESUME; one that it did not give, it has itself. Where the instance has no connection
//! to that node, another one takes the dialogue as if the first one were lost.

use super::dialogue::{Held, Record};
use super::{Application, InstanceId, Side};
use crate::names::Speech;
use crate::primitive::{Indication, STATE_OCTETS_MAX};
use bytes::Bytes;
use machine::Time;
use wire::Malformed;
use wire::field::{self, Fields};

mod tag {
    // Those of the transaction stand below.
    pub(super) const APPLICATION: u8 = 64;
    pub(super) const CONTEXT: u8 = 65;
    pub(super) const SPEECH: u8 = 66;
    pub(super) const STATE: u8 = 67;
    pub(super) const GROUP: u8 = 68;
    pub(super) const INSTANCE: u8 = 69;
    pub(super) const HELD: u8 = 70;
}

/// Whose a dialogue was at another node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Home {
    group: String,
    instance: String,
    /// Until when it is waited for that instance, where no other can go on.
    until: Option<Time>,
}

impl Home {
    /// As it is told; nothing of who has no name.
    pub(super) fn read(octets: &[u8]) -> Self {
        let mut home = Self::default();
        for (tag, value) in Fields::new(octets) {
            match tag {
                tag::GROUP => home.group = text(value),
                tag::INSTANCE => home.instance = text(value),
                _ => {}
            }
        }
        home
    }

    /// Group and instance.
    pub(super) fn names(&self) -> (&str, &str) {
        (&self.group, &self.instance)
    }
}

/// Appends whose something is: of which application, and of which group and instance there.
pub(super) fn write_home(application: &str, home: Option<(&str, &str)>, out: &mut Vec<u8>) {
    field::bytes(out, tag::APPLICATION, application.as_bytes());
    if let Some((group, instance)) = home {
        field::bytes(out, tag::GROUP, group.as_bytes());
        field::bytes(out, tag::INSTANCE, instance.as_bytes());
    }
}

/// The name of the application in the fields of a dialogue, if it is one of an application.
#[must_use]
pub fn application_of(octets: &[u8]) -> Option<&str> {
    let name = Fields::new(octets).find(|it| it.0 == tag::APPLICATION)?;
    core::str::from_utf8(name.1).ok()
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

impl Application {
    /// Appends what it has of a dialogue, behind what its transaction has.
    pub fn write_record(&self, dialogue: u64, out: &mut Vec<u8>) {
        let Some(record) = self.dialogues.get(&dialogue) else { return };
        let instance = record.instance.and_then(|id| self.instances.get(&id));
        let home = instance.map(|it| (&*it.group, &*it.name));
        let before = self.homes.get(&dialogue).map(Home::names);
        write_home(&self.settings.name, home.or(before), out);
        match (record.context(), record.speech.context()) {
            (Some(context), _) => field::bytes(out, tag::CONTEXT, &context),
            (None, Some(speech)) => field::bytes(out, tag::SPEECH, &speech),
            (None, None) => {}
        }
        if let Some(state) = &record.state {
            field::bytes(out, tag::STATE, state);
        }
        let Some(held) = &record.held else { return };
        field::bytes(out, tag::HELD, held.messages_of_all());
    }

    /// Takes a dialogue that another node has served, as [`Application::write_record`] told it;
    /// its transaction stands here already. It goes to its instance with [`Application::adopt`].
    ///
    /// # Errors
    /// What is held of it was not understood.
    pub fn restore(&mut self, dialogue: u64, octets: &[u8]) -> Result<(), Malformed> {
        let (mut context, mut speech) = (None, Speech::Unknown);
        let (mut state, mut held) = (None, None);
        for (tag, value) in Fields::new(octets) {
            match tag {
                tag::CONTEXT => {
                    (context, speech) = (Some(value), Speech::of_context(value));
                }
                tag::SPEECH => speech = Speech::of_context(value),
                tag::STATE if value.len() <= STATE_OCTETS_MAX => state = Some(value.into()),
                tag::HELD => held = Some(Held::read(value)?),
                _ => {}
            }
        }
        let mut record = Record::new(speech, context);
        (record.state, record.is_new, record.held) = (state, false, held);
        self.held_octets += record.held_octets();
        self.forget(dialogue);
        self.dialogues.insert(dialogue, record);
        self.homes.insert(dialogue, Home::read(octets));
        self.restored.push(dialogue);
        Ok(())
    }

    /// Dialogues that were restored go to their instances, or wait for them.
    pub fn adopt(&mut self, now: Time, side: &mut Side<'_>) {
        for dialogue in core::mem::take(&mut self.restored) {
            let Some(home) = self.homes.get(&dialogue) else { continue };
            match self.at_home(home) {
                Some(to) => self.move_home(now, to, dialogue, side),
                None => self.orphaned(now, dialogue),
            }
        }
        self.take_over(now, side);
        self.end_doomed(now, side);
        self.run_inside(now, side);
    }

    /// Nobody has it here: its instance may come, or another one takes it that can.
    fn orphaned(&mut self, now: Time, dialogue: u64) {
        let until = now + self.settings.resume;
        let Some(record) = self.dialogues.get_mut(&dialogue) else { return };
        if !record.is_lost() {
            return self.orphans.push_back((until, dialogue));
        }
        if let Some(home) = self.homes.get_mut(&dialogue) {
            home.until = Some(until);
            self.homeless.push_back((until, dialogue));
        }
    }

    /// The instance of that name.
    pub(super) fn at_home(&self, home: &Home) -> Option<InstanceId> {
        let is = |it: &super::instance::Instance| {
            it.is_ready()
                && it.over_since.is_none()
                && it.group == home.group
                && it.name == home.instance
        };
        self.instances.iter().find(|(_, it)| is(it)).map(|(id, _)| *id)
    }

    /// An instance has greeted: those of its dialogues that waited for it alone go on.
    pub(super) fn welcomed(&mut self, now: Time, id: InstanceId, side: &mut Side<'_>) {
        for (until, dialogue) in core::mem::take(&mut self.homeless) {
            let Some(home) = self.homes.get(&dialogue) else { continue };
            match self.at_home(home) {
                Some(to) if to == id => self.move_home(now, to, dialogue, side),
                _ => self.homeless.push_back((until, dialogue)),
            }
        }
        self.connections_welcomed(now);
    }

    /// Those for whose instances nobody waits any longer. One may have left with its partition, and
    /// have come back and found its instance.
    pub(super) fn expire_homeless(&mut self, now: Time) {
        while let Some((until, dialogue)) = self.homeless.pop_front_if(|it| it.0 <= now) {
            let home = self.homes.get(&dialogue);
            if home.is_some_and(|it| it.until == Some(until)) {
                self.doomed.push_back((now, dialogue));
            }
        }
        self.expire_connections(now);
    }

    fn move_home(&mut self, now: Time, to: InstanceId, dialogue: u64, side: &mut Side<'_>) {
        let Some(record) = self.dialogues.get_mut(&dialogue) else { return };
        let held = record.held.iter().flat_map(Held::indications);
        let (speech, held) = (record.speech, held.collect::<Vec<_>>());
        let state = record.state.as_deref().map(Bytes::copy_from_slice).unwrap_or_default();
        let context = record.context();
        let ends = side.transactions.numbered(dialogue).and_then(|it| side.transactions.ends(it));
        let Some((own, peer)) = ends else { return self.forget(dialogue) };
        let is_unanswered = record.is_unanswered();
        self.homes.remove(&dialogue);
        self.give(to, dialogue);
        self.counts.moved += 1;
        if !is_unanswered {
            let resume = Indication::Resume { dialogue, own, peer, context, state };
            self.push(now, to, &resume, speech);
        }
        for mut it in held {
            if let Indication::Begin { is_again, .. } = &mut it {
                *is_again = true;
            }
            self.push(now, to, &it, speech);
        }
    }

    /// Another node serves these dialogues: they are forgotten here, and nobody is told. How many
    /// they were.
    pub fn leave(&mut self, is_of: impl Fn(u64) -> bool) -> usize {
        let gone: Vec<u64> = self.dialogues.keys().copied().filter(|it| is_of(*it)).collect();
        gone.iter().for_each(|it| self.forget(*it));
        gone.len()
    }

    /// The instance that a dialogue is with, by group and name.
    #[must_use]
    pub fn instance_of(&self, dialogue: u64) -> Option<(&str, &str)> {
        let id = self.dialogues.get(&dialogue)?.instance?;
        self.instances.get(&id).map(|it| (&*it.group, &*it.name))
    }
}
