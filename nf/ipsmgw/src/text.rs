//! Text that the gateway's own centre takes: a MESSAGE with `text/plain` (RFC 3428), or what an
//! operator sends. It becomes short messages, as many as it needs, which are stored before it is
//! answered.
//!
//! ```text
//!   MESSAGE ─→ whose identity ─→ whom it is for ─→ stored, part by part ─→ 202
//! ```

use crate::account::Account;
use crate::centre::Stored;
use crate::effects::{Direction, Out, Received, Record, Written};
use crate::metrics::Metric;
use crate::shared::Event;
use crate::step::Step;
use crate::store::{Answer, Key, Question, Row};
use crate::submission::sum_of;
use mapsms::identity::Msisdn;
use sms::{Address, Cause};
use smsdiameter::Charge;
use std::collections::VecDeque;

/// Who waits for an answer.
#[derive(Debug)]
enum Asker {
    /// A terminal.
    Terminal { transaction: u64, message: Received },
    /// An operator.
    Operator { ticket: u64, from: Option<Address>, text: Written },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Begun,
    Whose,
    Whom,
    /// Its messages are being debited.
    Charging,
    Storing,
}

/// A text under way.
#[derive(Debug)]
pub struct Text {
    asker: Asker,
    sender: Option<Msisdn>,
    to: Option<Msisdn>,
    trail: u64,
    account: Account,
    /// What tells it from other texts; zero: nothing does.
    sum: u64,
    /// Parts that have a place and are not stored yet, the first of them being stored now.
    parts: VecDeque<(u64, Stored)>,
    /// Parts that are stored. They wait from then on when all are.
    stored: Vec<(u64, Stored)>,
    state: State,
}

impl Text {
    pub(crate) fn of_terminal(transaction: u64, message: Received) -> Self {
        let trail = message.trail;
        Self::new(Asker::Terminal { transaction, message }, None, trail)
    }

    pub(crate) fn of_operator(
        ticket: u64,
        to: Msisdn,
        from: Option<Address>,
        text: Written,
        trail: u64,
    ) -> Self {
        Self::new(Asker::Operator { ticket, from, text }, Some(to), trail)
    }

    fn new(asker: Asker, to: Option<Msisdn>, trail: u64) -> Self {
        let (parts, stored) = (VecDeque::new(), Vec::new());
        let account = Account::default();
        let state = State::Begun;
        Self { asker, sender: None, to, trail, account, sum: 0, parts, stored, state }
    }

    /// Its trail.
    pub(crate) const fn trail(&self) -> u64 {
        self.trail
    }

    /// Takes an event; whether the flow is over.
    pub(crate) fn on(&mut self, event: Event, step: &mut Step<'_>) -> bool {
        match (self.state, event) {
            (State::Begun, Event::Begin) => self.begin(step),
            (State::Whose, Event::Stored(answer)) => {
                let known = msisdn_of(answer);
                self.whose(known, step)
            }
            (State::Whom, Event::Stored(answer)) => {
                let known = msisdn_of(answer);
                self.whom(known, step)
            }
            (State::Charging, Event::Charged(charged)) => match self.account.charged(charged) {
                Ok(()) => self.split(step),
                Err(Cause::TemporaryFailure) => self.refused(503, "nobody charges it", step),
                Err(_) => self.refused(403, "it is not paid for", step),
            },
            (State::Storing, Event::Stored(Answer::Row(_))) => {
                self.stored.extend(self.parts.pop_front());
                self.store(step)
            }
            (State::Storing, Event::Stored(Answer::Failed)) => {
                self.refused(503, "the store takes nothing", step)
            }
            (_, Event::Due) => self.refused(503, "the store does not answer", step),
            _ => false,
        }
    }

    fn begin(&mut self, step: &mut Step<'_>) -> bool {
        match &self.asker {
            Asker::Terminal { message, .. } => {
                let identity = message.asserted.first().cloned().unwrap_or_default();
                self.state = State::Whose;
                step.store(Question::Get(Key::identity(&identity)));
                false
            }
            Asker::Operator { .. } => self.split(step),
        }
    }

    fn whose(&mut self, known: Option<Msisdn>, step: &mut Step<'_>) -> bool {
        let Asker::Terminal { message, transaction } = &self.asker else { return true };
        let asserted = || message.asserted.iter().find_map(|it| step.settings().msisdn_of(it));
        let Some(sender) = known.or_else(asserted) else {
            return self.refused(403, "the sender has no number", step);
        };
        if !step.may_send(&sender) {
            return self.refused(503, "the sender sends too many", step);
        }
        let whose = message.asserted.first().map(String::as_str).unwrap_or_default();
        let request = [whose, &message.call_id].join("\0");
        self.sum = sum_of([request.as_bytes(), &message.body]);
        if step.shared.senders.taken_at(self.sum).is_some() {
            // Whoever had the rows before did not get to say so.
            step.count(Metric::Duplicates);
            step.respond(*transaction, 202);
            return true;
        }
        self.sender = Some(sender);
        self.state = State::Whom;
        step.store(Question::Get(Key::identity(&message.to)));
        false
    }

    fn whom(&mut self, known: Option<Msisdn>, step: &mut Step<'_>) -> bool {
        let Asker::Terminal { message, .. } = &self.asker else { return true };
        self.to = known.or_else(|| step.settings().msisdn_of(&message.to));
        self.split(step)
    }

    /// Makes short messages of the text, and keeps a place for each.
    fn split(&mut self, step: &mut Step<'_>) -> bool {
        let Some(local) = step.settings().local.clone() else { return true };
        let Some(to) = self.to.clone().and_then(|it| local.served(it)) else {
            return self.refused(404, "the receiver is none of this centre's", step);
        };
        let own = self.sender.as_ref().unwrap_or(&step.settings().number).digits();
        let (from, text) = match &self.asker {
            Asker::Terminal { message, .. } => {
                (None, core::str::from_utf8(&message.body).ok().map(ToOwned::to_owned))
            }
            Asker::Operator { from, text, .. } => (*from, Some(text.0.clone())),
        };
        let Some(text) = text else { return self.refused(415, "the text is not UTF-8", step) };
        let from = from.or_else(|| Address::international(own));
        let [reference, ..] = step.flow.wrapping_add(step.now.as_micros()).to_le_bytes();
        let tpdus = from.map(|it| local.texts(&text, it, reference, step.now));
        let tpdus = tpdus.unwrap_or_default();
        if tpdus.is_empty() {
            return self.refused(413, "the text needs too many messages", step);
        }
        if self.is_charged_first(&to, tpdus.len(), step) {
            return false;
        }
        let until = local.until(None, step.now);
        let last = tpdus.len() - 1;
        for (at, tpdu) in tpdus.into_iter().enumerate() {
            let Some(number) = step.reserve(&to, self.sender.as_ref()) else {
                return self.refused(503, "too many messages wait", step);
            };
            let stored = Stored {
                to: to.clone(),
                sender: self.sender.clone(),
                reference,
                wants_report: false,
                tpdu,
                received: step.now,
                until,
                trail: self.trail,
                // The others were stored before it: with the last one it is taken.
                sum: if at == last { self.sum } else { 0 },
            };
            self.parts.push_back((number, stored));
        }
        self.state = State::Storing;
        self.store(step)
    }

    /// Whether its messages are being debited now; an operator's cost nothing.
    fn is_charged_first(&mut self, to: &Msisdn, messages: usize, step: &mut Step<'_>) -> bool {
        let Some(subscriber) = self.sender.clone() else { return false };
        let messages = u32::try_from(messages).unwrap_or(u32::MAX);
        let other = Some(to.digits().to_owned());
        let charge = Charge { subscriber, imsi: None, other, messages, is_delivery: false };
        let is_asked = self.account.debit(charge, step);
        if is_asked {
            self.state = State::Charging;
        }
        is_asked
    }

    /// Stores the next part; when all are, the text is taken.
    fn store(&mut self, step: &mut Step<'_>) -> bool {
        if let Some((number, stored)) = self.parts.front() {
            step.keep(*number, stored);
            return false;
        }
        let count = self.stored.len();
        for (number, stored) in self.stored.drain(..) {
            step.insert(number, stored);
        }
        match &self.asker {
            Asker::Terminal { transaction, .. } => {
                step.count(Metric::Submitted);
                step.respond(*transaction, 202);
                self.record(None, step);
            }
            Asker::Operator { ticket, .. } => {
                let (ticket, trail) = (*ticket, self.trail);
                step.out.push(Out::Taken { ticket, trail, outcome: Ok(count) });
            }
        }
        true
    }

    /// It is not taken, and no part of it waits.
    fn refused(&mut self, status: u16, why: &'static str, step: &mut Step<'_>) -> bool {
        for (number, stored) in self.parts.drain(..).chain(self.stored.drain(..)) {
            step.give_up(number, &stored);
        }
        self.account.refund(step);
        match &self.asker {
            Asker::Terminal { transaction, .. } => {
                step.count(Metric::SubmissionFailed);
                step.respond(*transaction, status);
                self.record(Some(Cause::TemporaryFailure), step);
            }
            Asker::Operator { ticket, .. } => {
                let (ticket, trail) = (*ticket, self.trail);
                step.out.push(Out::Taken { ticket, trail, outcome: Err(why) });
            }
        }
        true
    }

    fn record(&self, cause: Option<Cause>, step: &mut Step<'_>) {
        step.record(Record {
            direction: Direction::Originated,
            subscriber: self.sender.clone(),
            other: None,
            octets: 0,
            postponed: None,
            attempts: Vec::new(),
            trail: step.trail,
            centre: Some(step.settings().number.clone()),
            way: None,
            cause: cause.map(Cause::number),
        });
    }
}

fn msisdn_of(answer: Answer) -> Option<Msisdn> {
    match answer {
        Answer::Row(Some(Row::Identity(msisdn))) => Some(msisdn),
        _ => None,
    }
}
