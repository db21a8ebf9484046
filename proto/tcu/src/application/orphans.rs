//! Instances are lost: their dialogues go on at others, or end.

use super::dialogue::Held;
use super::instance::Instance;
use super::{Application, Happened, InstanceId, Side};
use crate::names::Speech;
use crate::primitive::Indication;
use bytes::Bytes;
use machine::Time;

/// Dialogues that are taken over or ended in one go, at most: each costs a message.
const TAKEN_OVER_MAX: usize = 4_096;

impl Application {
    /// A connection is over.
    pub fn lost(&mut self, now: Time, id: InstanceId, side: &mut Side<'_>) {
        if self.instances.get(&id).is_some_and(Instance::is_ready) {
            self.counts.ended += 1;
            self.note(id, Happened::Ended);
        }
        let Some(instance) = self.instances.remove(&id) else { return };
        self.end_connections(id);
        let until = now + self.settings.resume;
        for dialogue in instance.dialogues {
            let Some(record) = self.dialogues.get_mut(&dialogue) else { continue };
            record.instance = None;
            record.is_new = false;
            record.unsent = 0;
            match record.is_lost() {
                true => self.doomed.push_back((now, dialogue)),
                false => self.orphans.push_back((until, dialogue)),
            }
        }
        self.take_over(now, side);
        self.end_doomed(now, side);
    }

    /// Ends dialogues that nobody can go on with, as many as one turn may take.
    pub(super) fn end_doomed(&mut self, now: Time, side: &mut Side<'_>) {
        for _ in 0..TAKEN_OVER_MAX {
            let Some((_, dialogue)) = self.doomed.pop_front() else { return };
            let Some(record) = self.dialogues.get(&dialogue) else { continue };
            self.counts.lost += 1;
            let context = record.context();
            self.refuse(now, dialogue, context, side);
        }
    }

    /// The connections that `is_lost` says are over.
    pub fn lost_all(
        &mut self,
        now: Time,
        is_lost: impl Fn(InstanceId) -> bool,
        side: &mut Side<'_>,
    ) {
        let lost = self.instances.keys().copied().filter(|id| is_lost(*id));
        lost.collect::<Vec<_>>().into_iter().for_each(|id| self.lost(now, id, side));
    }

    /// Gives dialogues without an instance to those that have room.
    pub(super) fn take_over(&mut self, now: Time, side: &mut Side<'_>) {
        self.end_unsaid(now, side);
        for _ in 0..TAKEN_OVER_MAX {
            let Some((_, dialogue)) = self.orphans.front().copied() else { return };
            let is_waiting = self.dialogues.get(&dialogue).is_some_and(|it| it.instance.is_none());
            if !is_waiting {
                self.orphans.pop_front();
                continue;
            }
            let Some(to) = self.choose() else { return };
            self.orphans.pop_front();
            self.move_to(now, to, dialogue, side);
            self.end_unsaid(now, side);
        }
    }

    fn move_to(&mut self, now: Time, to: InstanceId, dialogue: u64, side: &mut Side<'_>) {
        let Some(record) = self.dialogues.get_mut(&dialogue) else { return };
        let held = record.held.iter().flat_map(Held::indications);
        let (speech, held) = (record.speech, held.collect::<Vec<_>>());
        let state = record.state.as_deref().map(Bytes::copy_from_slice);
        let (context, state) = (record.context(), state.unwrap_or_default());
        let is_unanswered = record.is_unanswered();
        let id = side.transactions.numbered(dialogue);
        let ends = id.and_then(|it| side.transactions.ends(it));
        let (Some(id), Some((own, peer))) = (id, ends) else { return self.forget(dialogue) };
        self.give(to, dialogue);
        // Who stands by hears whose it is now; it stands.
        let _ = side.transactions.changed(id);
        if is_unanswered {
            self.counts.again += 1;
        } else {
            self.counts.resumed += 1;
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

    /// Dialogues that nobody has taken over in time end, as many as one turn may take.
    pub(super) fn expire(&mut self, now: Time, side: &mut Side<'_>) {
        for _ in 0..TAKEN_OVER_MAX {
            let due = self.orphans.front().copied().filter(|it| it.0 <= now);
            let Some((_, dialogue)) = due else { return };
            self.orphans.pop_front();
            let Some(record) = self.dialogues.get(&dialogue) else { continue };
            if record.instance.is_none() {
                self.counts.lost += 1;
                let context = record.context();
                self.refuse(now, dialogue, context, side);
            }
        }
    }

    /// The application is no more: every dialogue of it ends, every instance is told.
    pub fn end(&mut self, now: Time, side: &mut Side<'_>) {
        self.serve_inside(now, None, side);
        for id in self.instances.keys().copied().collect::<Vec<_>>() {
            self.bye(now, id, "the application is configured no more");
        }
        for id in core::mem::take(&mut self.instances).into_keys() {
            self.end_connections(id);
        }
        for dialogue in self.dialogues.keys().copied().collect::<Vec<_>>() {
            self.counts.lost += 1;
            let context = self.dialogues.get(&dialogue).and_then(|it| it.context());
            self.refuse(now, dialogue, context, side);
        }
        self.orphans.clear();
        self.homeless.clear();
        self.doomed.clear();
    }

    /// The speech of a dialogue, for who reads of it.
    pub(super) fn speech_of(&self, dialogue: u64) -> Speech {
        self.dialogues.get(&dialogue).map(|it| it.speech).unwrap_or_default()
    }
}
