//! Messages that come (Q.774 §3.2.2, §3.3.3).

use super::sources::Sources;
use super::{CONTEXT_OCTETS_MAX, Transactions};
use crate::codec::{
    Component, Diagnostic, Dialogue, InvokeProblem, Message, MessageType, PAbortCause, Payload,
    Problem, Rejected, TransactionId, Violation, Writer,
};
use crate::effects::{Indication, Out, PAbort, UAbort};
use crate::metrics::Metric;
use crate::record::{Ends, State};
use bytes::Bytes;
use machine::Time;
use machine::slots::Key;
use sccp::Unitdata;

/// Diagnostic of the user: application-context-name-not-supported (Q.773 §4.2.2).
const CONTEXT_NOT_SUPPORTED: i64 = 2;

/// The ends of a message that answers this one.
const fn back(unitdata: &Unitdata) -> Ends {
    Ends { own: unitdata.called, peer: unitdata.calling }
}

impl Transactions {
    pub(super) fn receive(&mut self, now: Time, source: Option<u16>, unitdata: &Unitdata) {
        self.count(Metric::MessagesIn);
        let message = match Message::read(&unitdata.data) {
            Ok(message) => message,
            Err(violation) => return self.offended(unitdata, violation),
        };
        match message.kind {
            MessageType::Unidirectional => {
                let (called, calling) = (unitdata.called, unitdata.calling);
                let message = unitdata.data.clone();
                self.out.push(Out::Unidirectional { called, calling, message });
            }
            MessageType::Begin => self.begun(now, source, unitdata, &message),
            MessageType::Continue => self.continued(now, unitdata, &message),
            MessageType::End => self.ended(unitdata, &message),
            MessageType::Abort => self.aborted(unitdata, &message),
        }
    }

    /// A transaction portion that is wrong: the peer's transaction is ended, and the one here.
    fn offended(&mut self, unitdata: &Unitdata, violation: Violation) {
        self.count(Metric::Malformed);
        if let Some(otid) = violation.otid {
            self.p_abort(unitdata, otid, violation.cause);
        }
        if let Some(key) = violation.dtid.and_then(|dtid| self.find(dtid)) {
            let cause = violation.cause.number().into();
            self.indicate(key, Indication::PAbort(PAbort::Cause(cause)));
            self.close(key);
        }
    }

    fn p_abort(&mut self, unitdata: &Unitdata, to: TransactionId, cause: PAbortCause) {
        self.count(Metric::AbortsOut);
        let mut message = Vec::with_capacity(32);
        Writer::p_abort(to, cause).write(&mut message, |_| ());
        self.send(back(unitdata), unitdata.sls, message);
    }

    fn find(&self, dtid: TransactionId) -> Option<Key> {
        self.slots.find(self.settings.secret, self.settings.shard, dtid)
    }

    fn begun(
        &mut self,
        now: Time,
        source: Option<u16>,
        unitdata: &Unitdata,
        message: &Message<'_>,
    ) {
        let secret = self.settings.secret;
        let source = source.unwrap_or_else(|| Sources::of(secret, &unitdata.calling));
        if !self.began(now, source, unitdata, message) && self.settings.sources_elsewhere {
            self.release(source);
        }
    }

    /// Whether the dialogue stands.
    fn began(
        &mut self,
        now: Time,
        source: u16,
        unitdata: &Unitdata,
        message: &Message<'_>,
    ) -> bool {
        let Some(otid) = message.otid else { return false };
        let abort = |of: &mut Self, writer: Writer<'_>| {
            of.count(Metric::AbortsOut);
            let mut message = Vec::with_capacity(64);
            writer.write(&mut message, |_| ());
            of.send(back(unitdata), unitdata.sls, message);
            false
        };
        let context = match message.dialogue.map(|it| Dialogue::read(&it)) {
            None => &[][..],
            Some(Ok(Dialogue::Request { is_version_1: true, context, .. })) => {
                let context = context.contents();
                if context.len() > CONTEXT_OCTETS_MAX {
                    let writer = Writer::abort(otid);
                    let diagnostic = Diagnostic::User(CONTEXT_NOT_SUPPORTED);
                    return abort(self, writer.refuse(context, diagnostic, &[]));
                }
                context
            }
            Some(Ok(Dialogue::Request { context, .. })) => {
                let writer = Writer::abort(otid);
                let diagnostic = Diagnostic::Provider(2);
                return abort(self, writer.refuse(context.contents(), diagnostic, &[]));
            }
            Some(_) => {
                self.count(Metric::Malformed);
                return abort(self, Writer::abort(otid).abrt(true, &[]));
            }
        };
        let has_room = self.settings.sources_elsewhere
            || self.sources.has_room(source, self.settings.dialogues_per_source_max);
        if !has_room {
            self.count(Metric::ShedOfSource);
            self.p_abort(unitdata, otid, PAbortCause::ResourceLimitation);
            return false;
        }
        let Some(key) = self.take(now, back(unitdata), context) else {
            self.count(Metric::Shed);
            self.p_abort(unitdata, otid, PAbortCause::ResourceLimitation);
            return false;
        };
        if let Some(record) = self.slots.at_mut(key) {
            (record.state, record.remote) = (State::InitiationReceived, Some(otid));
            record.source = Some(source);
        }
        if !self.settings.sources_elsewhere {
            self.sources.add(source);
        }
        self.count(Metric::BegunThere);
        let (called, calling) = (unitdata.called, unitdata.calling);
        let octets = unitdata.data.clone();
        self.indicate(key, Indication::Begin { called, calling, message: octets });
        self.components(key, message, &unitdata.data);
        self.touch(now, key);
        true
    }

    /// Whether the dialogue portion of an answer is what this state expects: an AARE in the first
    /// one to an AARQ, none otherwise (§3.2.2.1).
    fn is_expected(&self, key: Key, message: &Message<'_>) -> bool {
        let Some(record) = self.slots.at(key) else { return false };
        let is_asked = record.state == State::InitiationSent && !record.context().is_empty();
        match (is_asked, message.dialogue.map(|it| Dialogue::read(&it))) {
            (false, None) => true,
            (true, Some(Ok(Dialogue::Response { is_refused, .. }))) => !is_refused,
            _ => false,
        }
    }

    fn continued(&mut self, now: Time, unitdata: &Unitdata, message: &Message<'_>) {
        let (Some(otid), Some(dtid)) = (message.otid, message.dtid) else { return };
        let Some(key) = self.find(dtid) else {
            self.count(Metric::Unrecognized);
            return self.p_abort(unitdata, otid, PAbortCause::UnrecognizedTransactionId);
        };
        let is_expected = self.is_expected(key, message);
        let Some(record) = self.slots.at_mut(key) else { return };
        match record.state {
            State::InitiationSent => {
                record.remote = Some(otid);
                // The peer answers from where it stands: there goes what follows (§3.3.2.2).
                record.set_peer(unitdata.calling);
            }
            // Nobody may go on before this side has answered, nor from another transaction.
            State::InitiationReceived => return self.count(Metric::Unrecognized),
            State::Active if record.remote != Some(otid) => {
                return self.count(Metric::Unrecognized);
            }
            State::Active => {}
        }
        if !is_expected {
            return self.break_off(key, PAbort::AbnormalDialogue);
        }
        record.state = State::Active;
        self.indicate(key, Indication::Continue(unitdata.data.clone()));
        self.components(key, message, &unitdata.data);
        self.touch(now, key);
    }

    fn ended(&mut self, unitdata: &Unitdata, message: &Message<'_>) {
        let Some(key) = message.dtid.and_then(|dtid| self.find(dtid)) else {
            return self.count(Metric::Unrecognized);
        };
        if self.slots.at(key).is_some_and(|it| it.state == State::InitiationReceived) {
            return self.count(Metric::Unrecognized);
        }
        if self.is_expected(key, message) {
            self.indicate(key, Indication::End(unitdata.data.clone()));
            self.components(key, message, &unitdata.data);
        } else {
            self.indicate(key, Indication::PAbort(PAbort::AbnormalDialogue));
        }
        self.close(key);
    }

    fn aborted(&mut self, unitdata: &Unitdata, message: &Message<'_>) {
        let Some(key) = message.dtid.and_then(|dtid| self.find(dtid)) else {
            return self.count(Metric::Unrecognized);
        };
        self.count(Metric::AbortsIn);
        let dialogue = message.dialogue.map(|it| Dialogue::read(&it));
        let octets = unitdata.data.clone();
        let indication = match (message.p_abort, dialogue) {
            (Some(cause), _) => Indication::PAbort(PAbort::Cause(cause)),
            (None, None) => Indication::UAbort(UAbort::User, octets),
            (None, Some(Ok(Dialogue::Response { is_refused: true, diagnostic, .. }))) => {
                match diagnostic {
                    Diagnostic::Provider(_) => Indication::PAbort(PAbort::NoCommonDialoguePortion),
                    Diagnostic::User(_) => Indication::UAbort(UAbort::Refused(diagnostic), octets),
                }
            }
            (None, Some(Ok(Dialogue::Abort { by_provider: false, .. } | Dialogue::Other(..)))) => {
                Indication::UAbort(UAbort::User, octets)
            }
            (None, Some(_)) => Indication::PAbort(PAbort::AbnormalDialogue),
        };
        self.indicate(key, indication);
        self.close(key);
    }

    /// The components of a message; those behind one that is rejected are not looked at
    /// (§3.2.2.2).
    fn components(&mut self, key: Key, message: &Message<'_>, octets: &Bytes) {
        for (element, component) in message.components_with_elements() {
            let checked = component.and_then(|component| self.check(key, &component));
            match checked {
                Ok(()) => {
                    let whole = element.map(|it| it.whole()).unwrap_or_default();
                    self.indicate(key, Indication::Component(octets.slice_ref(whole)));
                }
                Err(Rejected { invoke_id, problem, is_reject }) => {
                    self.count(Metric::Rejected);
                    if let Some(record) = self.slots.at_mut(key)
                        && !is_reject
                    {
                        record.reject(invoke_id, problem);
                    }
                    self.indicate(key, Indication::LocalReject(invoke_id, problem));
                    return;
                }
            }
        }
    }

    /// Whether a component belongs to what was asked here.
    fn check(&mut self, key: Key, component: &Component<'_>) -> Result<(), Rejected> {
        let Some(record) = self.slots.at_mut(key) else { return Ok(()) };
        let invoke_id = component.invoke_id;
        let id = invoke_id.unwrap_or_default();
        let checked = match component.payload {
            Payload::Invoke { linked_id: Some(linked), .. } if !record.invocations.has(linked) => {
                Err(Problem::Invoke(InvokeProblem::UnrecognizedLinkedId))
            }
            Payload::Invoke { .. } if record.owes(id) => {
                Err(Problem::Invoke(InvokeProblem::DuplicateInvokeId))
            }
            Payload::Invoke { .. } => Ok(()),
            Payload::ReturnResult { is_last, .. } => record.invocations.result(id, is_last),
            Payload::ReturnError { .. } => record.invocations.error(id),
            Payload::Reject(problem) => {
                // A reject of an answer of this side says nothing of its own operations.
                let is_of_invoke = matches!(problem, Problem::Invoke(_) | Problem::General(_));
                if invoke_id.is_some() && is_of_invoke {
                    record.invocations.end(id);
                }
                Ok(())
            }
        };
        checked.map_err(|problem| Rejected { invoke_id, problem, is_reject: false })
    }

    /// A message came back: its transaction is the one that it came from.
    pub(super) fn notice(&mut self, cause: u8, data: &Bytes) {
        self.count(Metric::Notices);
        let Ok(message) = Message::read(data) else { return };
        if let Some(key) = message.otid.and_then(|otid| self.find(otid)) {
            self.indicate(key, Indication::Notice(cause));
        }
    }
}
