//! The transactions of a shard: requests of users, and time. What comes is in `receive`.

mod receive;
mod replica;
mod sources;
mod table;
mod user;

pub use replica::Report;
pub use sources::Sources;
pub use table::PARTITIONS;

use crate::codec::{ComponentWriter, Message, PAbortCause, TransactionId, Writer};
use crate::effects::{Begin, Close, DialogueId, In, Indication, Out, PAbort, Refused, Say};
use crate::metrics::Metric;
use crate::record::{Ends, State};
use bytes::Bytes;
use event::Metrics;
use machine::slots::Key;
use machine::{Duration, Machine, Time};
use sccp::codec::Class;
use std::collections::VecDeque;
use table::{LAYOUT, Table};

/// Octets of an application context that is kept, at most: those of the 3GPP have seven.
const CONTEXT_OCTETS_MAX: usize = 64;
/// Operations of one dialogue that may wait for their answers, at most.
const INVOCATIONS_MAX: usize = 32;
/// Dialogues whose timers are looked at in one go, at most: each may tell of all its operations.
const EXPIRED_MAX: usize = 1_024;

/// What the transactions of a shard are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The shard, 0 to 6.
    pub shard: u16,
    /// What identifiers are made with; the same at all shards.
    pub secret: u64,
    /// Dialogues at most, two million at most.
    pub dialogues_max: u32,
    /// Dialogues that one source may have begun, at most: a point code, or a title without one.
    pub dialogues_per_source_max: u32,
    /// Sources are counted elsewhere: no limit of one holds here, and [`Transactions::released`]
    /// tells whose dialogues are over.
    pub sources_elsewhere: bool,
    /// A dialogue of which nothing was heard or said for so long is broken off.
    pub idle: Duration,
}

/// The dialogues of a shard: transactions (Q.774 §3.3), dialogues (§3.2.2), invocations (§3.2.1).
#[derive(Debug)]
pub struct Transactions {
    settings: Settings,
    slots: Table,
    sources: Sources,
    /// Places of dialogues that are over, where they are counted elsewhere.
    released: Vec<u16>,
    /// Dialogues whose timers have fired and were not looked at yet, since when, and the newest.
    due: VecDeque<Key>,
    due_since: Option<Time>,
    fired: Vec<Key>,
    metrics: Metrics<Metric>,
    out: Vec<Out>,
}

impl Transactions {
    /// No dialogues yet.
    #[must_use]
    pub fn new(settings: Settings, now: Time) -> Self {
        let slots = Table::one(table::slots_max(settings.dialogues_max, false), now);
        Self {
            settings,
            slots,
            sources: Sources::new(),
            released: Vec::new(),
            due: VecDeque::new(),
            due_since: None,
            fired: Vec::new(),
            metrics: Metrics::new(),
            out: Vec::new(),
        }
    }

    /// Changes limits and the idle timer; the shard and the secret stay as they are, and dialogues
    /// that stand go on.
    pub fn set_settings(&mut self, settings: Settings) {
        self.slots.set_max(table::slots_max(settings.dialogues_max, self.slots.is_shared()));
        self.settings =
            Settings { shard: self.settings.shard, secret: self.settings.secret, ..settings };
    }

    /// What the transactions are.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What was counted.
    #[must_use]
    pub const fn metrics(&self) -> &Metrics<Metric> {
        &self.metrics
    }

    /// Dialogues that stand.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether none stands.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The shard that a message for a transaction here belongs to; none: any may take it.
    #[must_use]
    pub fn shard_of(message: &Message<'_>) -> Option<u16> {
        LAYOUT.shard_of(message.dtid?.number()?.into())
    }

    /// The shard whose transaction has sent a message that came back; none: nobody's.
    #[must_use]
    pub fn sender_of(message: &Message<'_>) -> Option<u16> {
        LAYOUT.shard_of(message.otid?.number()?.into())
    }

    fn count(&self, metric: Metric) {
        self.metrics.add(metric, 1);
    }

    fn indicate(&mut self, key: Key, indication: Indication) {
        self.out.push(Out::Indicate(DialogueId(key), indication));
    }

    fn local(&self, key: Key) -> Option<TransactionId> {
        self.slots.identifier(self.settings.secret, self.settings.shard, key)
    }

    fn send(&mut self, ends: Ends, sls: u8, message: Vec<u8>) {
        self.count(Metric::MessagesOut);
        self.out.push(Out::Unitdata(sccp::Unitdata {
            called: ends.peer,
            calling: ends.own,
            class: Class { is_sequenced: true, returns: true },
            sls,
            importance: None,
            data: Bytes::from(message),
        }));
    }

    /// The dialogue is over.
    fn close(&mut self, key: Key) {
        if let Some(source) = self.slots.at(key).and_then(|record| record.source) {
            self.release(source);
        }
        self.slots.give_back(key);
    }

    /// A dialogue of that source is over, or has not begun.
    fn release(&mut self, source: u16) {
        match self.settings.sources_elsewhere {
            true => self.released.push(source),
            false => self.sources.remove(source),
        }
    }

    /// Places of sources whose dialogues are over since this was asked last, each as often as it
    /// has had one: with [`Settings::sources_elsewhere`].
    pub fn released(&mut self) -> Vec<u16> {
        core::mem::take(&mut self.released)
    }

    /// Who counted the sources of dialogues has begun anew, and knows nothing of those that stand.
    pub fn forget_sources(&mut self) {
        self.released.clear();
        self.slots.each_mut(|record| record.source = None);
    }

    /// Counts a dialogue that was refused elsewhere, because its source has too many.
    pub fn shed_of_source(&self) {
        self.count(Metric::ShedOfSource);
    }

    /// Counts a dialogue that was refused elsewhere, because its begin had waited too long.
    pub fn shed_late(&self) {
        self.count(Metric::ShedLate);
    }

    /// The user will answer an operation of the peer: until it has, another one with the same
    /// identifier is rejected (Q.773 §3.7: duplicate invoke ID). Which operations have answers, the
    /// user alone knows.
    ///
    /// # Errors
    /// No such dialogue.
    pub fn owe(&mut self, DialogueId(key): DialogueId, id: i8) -> Result<(), Refused> {
        self.slots.at_mut(key).ok_or(Refused::Unknown)?.owe(id, true);
        Ok(())
    }

    /// Takes a free record; its deadline is armed.
    fn take(&mut self, now: Time, ends: Ends, context: &[u8]) -> Option<Key> {
        let idle_due = now + self.settings.idle;
        let (key, record) = self.slots.take()?;
        record.set(&ends, context);
        record.idle_due = idle_due;
        record.sls = u8::try_from(key.index & 0x0f).unwrap_or_default();
        self.slots.arm(key, idle_due);
        Some(key)
    }

    /// Something was heard or said: the dialogue is not idle.
    fn touch(&mut self, now: Time, key: Key) {
        let idle = self.settings.idle;
        let Some(record) = self.slots.at_mut(key) else { return };
        record.idle_due = now + idle;
        let due = record.due();
        self.slots.arm(key, due);
    }

    /// TC-UNI request.
    pub fn unidirectional(&mut self, begin: &Begin<'_>, says: &[Say<'_>], out: &mut Vec<Out>) {
        let mut writer = Writer::unidirectional();
        if let Some(context) = begin.context {
            writer = writer.request(context, begin.user_information);
        }
        let mut message = Vec::with_capacity(128);
        writer.write(&mut message, |out| says.iter().for_each(|say| write(out, say)));
        self.send(Ends { own: begin.calling, peer: begin.called }, 0, message);
        out.append(&mut self.out);
    }

    /// TC-BEGIN request.
    ///
    /// # Errors
    /// Without room, for a context beyond 64 octets, and for identifiers that are given twice.
    pub fn begin(
        &mut self,
        now: Time,
        begin: &Begin<'_>,
        says: &[Say<'_>],
        out: &mut Vec<Out>,
    ) -> Result<DialogueId, Refused> {
        if begin.context.is_some_and(|it| it.len() > CONTEXT_OCTETS_MAX) {
            return Err(Refused::Long);
        }
        let ends = Ends { own: begin.calling, peer: begin.called };
        let key = self.take(now, ends, begin.context.unwrap_or_default()).ok_or(Refused::Full)?;
        let otid = self.local(key);
        let noted = self.note(now, key, says);
        let (Some(otid), Ok(())) = (otid, noted) else {
            self.close(key);
            return Err(noted.err().unwrap_or(Refused::Full));
        };
        let mut writer = Writer::begin(otid);
        if let Some(context) = begin.context {
            writer = writer.request(context, begin.user_information);
        }
        let mut message = Vec::with_capacity(128);
        writer.write(&mut message, |out| says.iter().for_each(|say| write(out, say)));
        let sls = self.slots.at(key).map_or(0, |record| record.sls);
        self.send(ends, sls, message);
        self.count(Metric::BegunHere);
        self.touch(now, key);
        out.append(&mut self.out);
        Ok(DialogueId(key))
    }

    /// Notes the invokes among what is said.
    fn note(&mut self, now: Time, key: Key, says: &[Say<'_>]) -> Result<(), Refused> {
        let record = self.slots.at_mut(key).ok_or(Refused::Unknown)?;
        let ids = || {
            says.iter().filter_map(|say| match say {
                Say::Invoke { id, .. } => Some(*id),
                _ => None,
            })
        };
        let is_twice = |(at, id): (usize, i8)| ids().skip(at + 1).any(|other| other == id);
        if ids().any(|id| record.invocations.has(id)) || ids().enumerate().any(is_twice) {
            return Err(Refused::InvokeId);
        }
        if record.invocations.len() + ids().count() > INVOCATIONS_MAX {
            return Err(Refused::Full);
        }
        for say in says {
            match say {
                Say::Result { id, is_last: true, .. } | Say::Error { id, .. } => {
                    record.owe(*id, false);
                }
                Say::Reject { id: Some(id), .. } => record.owe(*id, false),
                _ => {}
            }
            if let Say::Invoke { id, class, time, .. } = say {
                record.invocations.add(now, *id, *class, *time);
            }
        }
        Ok(())
    }

    /// TC-CONTINUE request. The first one of the side that did not begin accepts the dialogue.
    ///
    /// # Errors
    /// Before the peer has answered; an invoke identifier in use.
    pub fn go_on(
        &mut self,
        now: Time,
        DialogueId(key): DialogueId,
        user_information: &[u8],
        says: &[Say<'_>],
        out: &mut Vec<Out>,
    ) -> Result<(), Refused> {
        let local = self.local(key).ok_or(Refused::Unknown)?;
        self.answer(now, key, user_information, says, |remote| Writer::go_on(local, remote))?;
        if let Some(record) = self.slots.at_mut(key) {
            record.state = State::Active;
        }
        self.touch(now, key);
        out.append(&mut self.out);
        Ok(())
    }

    /// TC-END request, basic.
    ///
    /// # Errors
    /// Before the peer has answered.
    pub fn end(
        &mut self,
        now: Time,
        DialogueId(key): DialogueId,
        user_information: &[u8],
        says: &[Say<'_>],
        out: &mut Vec<Out>,
    ) -> Result<(), Refused> {
        self.answer(now, key, user_information, says, Writer::end)?;
        self.close(key);
        out.append(&mut self.out);
        Ok(())
    }

    /// TC-END request, prearranged: nothing is sent.
    ///
    /// # Errors
    /// No such dialogue.
    pub fn end_prearranged(&mut self, DialogueId(key): DialogueId) -> Result<(), Refused> {
        self.slots.at(key).ok_or(Refused::Unknown)?;
        self.close(key);
        Ok(())
    }

    /// Writes and sends a message to the peer's transaction, with the rejects that wait.
    fn answer<'w>(
        &mut self,
        now: Time,
        key: Key,
        user_information: &'w [u8],
        says: &[Say<'_>],
        writer: impl FnOnce(TransactionId) -> Writer<'w>,
    ) -> Result<(), Refused> {
        let record = self.slots.at(key).ok_or(Refused::Unknown)?;
        let (Some(remote), Some(ends)) = (record.remote, record.ends()) else {
            return Err(Refused::State);
        };
        self.note(now, key, says)?;
        let record = self.slots.at_mut(key).ok_or(Refused::Unknown)?;
        let mut rejects = record.take_rejects();
        let context = record.context();
        let accepts = record.state == State::InitiationReceived && !context.is_empty();
        let sls = record.sls;
        let mut message = Vec::with_capacity(128);
        let write_all = |out: &mut ComponentWriter<'_, '_>| {
            rejects.drain(..).for_each(|(id, problem)| out.reject(id, problem));
            says.iter().for_each(|say| write(out, say));
        };
        let plain = writer(remote);
        match accepts {
            true => plain.with_answer(context, user_information).write(&mut message, write_all),
            false => plain.write(&mut message, write_all),
        }
        self.send(ends, sls, message);
        Ok(())
    }

    /// TC-U-ABORT request. A peer that has not answered yet is told nothing.
    ///
    /// # Errors
    /// No such dialogue; a refusal of one that was accepted.
    pub fn abort(
        &mut self,
        DialogueId(key): DialogueId,
        close: Close<'_>,
        out: &mut Vec<Out>,
    ) -> Result<(), Refused> {
        let record = self.slots.at(key).ok_or(Refused::Unknown)?;
        let (state, sls, has_context) = (record.state, record.sls, !record.context().is_empty());
        if let (Some(remote), Some(ends)) = (record.remote, record.ends()) {
            let mut message = Vec::with_capacity(64);
            let plain = Writer::abort(remote);
            let writer = match close {
                Close::User(user) if has_context => plain.abrt(false, user),
                Close::User(_) => plain,
                Close::Refuse(context, diagnostic) => match state {
                    State::InitiationReceived => plain.refuse(context, diagnostic, &[]),
                    _ => return Err(Refused::State),
                },
            };
            writer.write(&mut message, |_| ());
            self.send(ends, sls, message);
        }
        self.close(key);
        out.append(&mut self.out);
        Ok(())
    }

    /// Breaks a dialogue off, and tells both sides why.
    fn break_off(&mut self, key: Key, why: PAbort) {
        let Some(record) = self.slots.at(key) else { return };
        let (has_context, sls) = (!record.context().is_empty(), record.sls);
        if let (Some(remote), Some(ends)) = (record.remote, record.ends()) {
            let mut message = Vec::with_capacity(64);
            let writer = match has_context {
                true => Writer::abort(remote).abrt(true, &[]),
                false => Writer::p_abort(remote, PAbortCause::ResourceLimitation),
            };
            writer.write(&mut message, |_| ());
            self.count(Metric::AbortsOut);
            self.send(ends, sls, message);
        }
        self.indicate(key, Indication::PAbort(why));
        self.close(key);
    }

    fn expire(&mut self, now: Time, key: Key) {
        while let Some(id) = self.slots.at_mut(key).and_then(|it| it.invocations.expire(now)) {
            self.count(Metric::Cancelled);
            self.indicate(key, Indication::Cancel(id));
        }
        let Some(record) = self.slots.at(key) else { return };
        if record.idle_due <= now {
            self.count(Metric::Idle);
            return self.break_off(key, PAbort::Idle);
        }
        let due = record.due();
        self.slots.arm(key, due);
    }
}

fn write(out: &mut ComponentWriter<'_, '_>, say: &Say<'_>) {
    match *say {
        Say::Invoke { id, linked_id, code, parameter, .. } => {
            out.invoke(id, linked_id, code, parameter);
        }
        Say::Result { id, is_last, result } => out.result(id, is_last, result),
        Say::Error { id, code, parameter } => out.error(id, code, parameter),
        Say::Reject { id, problem } => out.reject(id, problem),
    }
}

impl Machine for Transactions {
    type In = In;
    type Out = Out;

    fn step(&mut self, now: Time, input: In, out: &mut Vec<Out>) {
        match input {
            In::Unitdata(unitdata) => self.receive(now, None, &unitdata),
            In::UnitdataOf(source, unitdata) => {
                let place = Sources::numbered(self.settings.secret, source);
                self.receive(now, Some(place), &unitdata);
            }
            In::UnitdataAt(place, unitdata) => self.receive(now, Some(place), &unitdata),
            In::Notice(cause, data) => self.notice(cause, &data),
        }
        out.append(&mut self.out);
    }

    fn tick(&mut self, now: Time, out: &mut Vec<Out>) {
        self.slots.expire(now, &mut self.fired);
        self.due.extend(self.fired.drain(..));
        for _ in 0..EXPIRED_MAX {
            let Some(key) = self.due.pop_front() else { break };
            self.expire(now, key);
        }
        self.due_since = (!self.due.is_empty()).then_some(now);
        out.append(&mut self.out);
    }

    fn deadline(&self) -> Option<Time> {
        self.due_since.into_iter().chain(self.slots.deadline()).min()
    }
}
