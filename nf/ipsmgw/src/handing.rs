//! A message of the gateway's own centre on its way to the receiver, and what is done with it at
//! its end (TS 23.040 §3.2, TS 24.341 §5.3.3.4.2, RFC 3428).
//!
//! ```text
//!   Get subscriber ─→ MESSAGE ─→ 2xx ─→ report ─→ status report stored ─→ message taken out
//!        │ absent        │ other           │ silence, RP-ERROR that is not final
//!        └───────────────┴─────────────────┴──→ postponed by the centre's plan
//!   its time is over ─────────────────────────→ status report stored ─→ message taken out
//!   another node sent it, which is gone ─→ report, as above; none soon: it is tried again
//! ```
//! The report that ends it is answered when the message is taken out, at the other node of a pair
//! too: that one does not deliver it again.

use crate::account::Account;
use crate::calls::Former;
use crate::centre::{Stored, UNROUTED};
use crate::effects::{Body, Direction, Record, Route, Way};
use crate::metrics::Metric;
use crate::shared::Event;
use crate::step::Step;
use crate::store::{Answer, Flight, Form, Key, Question, Row, Subscriber};
use machine::Duration;
use mapsms::deposit::{as_text, with_more};
use mapsms::identity::Msisdn;
use sms::rp::Message;
use sms::{Cause, Status};
use smsdiameter::{Charge, Charged};

/// How long the report is awaited of a message that another node sent: the terminal may have had
/// it, or not.
const RESUMED_TIME: Duration = Duration::from_secs(4);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Another node sent it.
    Resumed,
    Looking,
    /// It is being debited.
    Charging,
    Sent,
    Reporting,
    /// The status report is being stored.
    Telling,
    /// That it is dealt with is being stored in its place.
    Marking,
    /// The message is being taken out.
    Removing,
}

/// A message of the centre's under way.
#[derive(Debug)]
pub struct Handing {
    number: u64,
    stored: Stored,
    /// Its time is over: it is not sent.
    is_expired: bool,
    state: State,
    form: Form,
    /// The identity that it was sent to.
    identity: String,
    reference: Option<u8>,
    report: Option<(u64, Stored)>,
    /// The row that says how it was sent stands.
    has_departed: bool,
    /// How another node named it that sent it.
    former: Option<Former>,
    /// The transaction of the report that ended it.
    unanswered: Option<u64>,
    account: Account,
    /// Whom it is sent to once it is debited.
    receiver: Option<Subscriber>,
}

impl Handing {
    /// The first message of a receiver.
    pub(crate) fn new(number: u64, stored: Stored) -> Self {
        let (state, form) = (State::Looking, Form::ShortMessage);
        let identity = String::new();
        Self {
            number,
            stored,
            is_expired: false,
            state,
            form,
            identity,
            reference: None,
            report: None,
            has_departed: false,
            former: None,
            unanswered: None,
            account: Account::default(),
            receiver: None,
        }
    }

    /// One that another node sent, which is gone: its report may be on its way.
    pub(crate) fn resumed(number: u64, stored: Stored, flight: Flight) -> Self {
        let Flight { flow, proof, reference, identity, is_debited } = flight;
        let account = is_debited.then(|| Account::debited(charge_of(&stored)));
        Self {
            account: account.unwrap_or_default(),
            state: State::Resumed,
            identity,
            reference: Some(reference),
            has_departed: true,
            former: Some((flow, proof)),
            ..Self::new(number, stored)
        }
    }

    /// A message whose time is over.
    pub(crate) fn expired(number: u64, stored: Stored) -> Self {
        Self { is_expired: true, ..Self::new(number, stored) }
    }

    /// Its trail.
    pub(crate) const fn trail(&self) -> u64 {
        self.stored.trail
    }

    fn to(&self) -> Msisdn {
        self.stored.to.clone()
    }

    /// Whether the other node of a pair can go on with it.
    pub(crate) const fn goes_on(&self) -> bool {
        self.has_departed && matches!(self.state, State::Sent | State::Reporting)
    }

    /// Whether a report may end it.
    pub(crate) const fn awaits_report(&self) -> bool {
        matches!(self.state, State::Sent | State::Reporting)
    }

    /// Takes an event; whether the flow is over.
    pub(crate) fn on(&mut self, event: Event, step: &mut Step<'_>) -> bool {
        match (self.state, event) {
            (State::Resumed, Event::Begin) => self.resume(step),
            (State::Looking, Event::Begin) if self.is_expired => {
                step.count(Metric::Expired);
                let cause = Some(Cause::DestinationOutOfOrder);
                self.close(Status::ValidityExpired, cause, step)
            }
            (State::Looking, Event::Begin) => {
                step.store(Question::Get(Key::Subscriber(self.to())));
                false
            }
            (State::Looking, Event::Stored(answer)) => self.looked(answer, step),
            (State::Charging, Event::Charged(charged)) => self.charged(charged, step),
            (State::Charging, Event::Due) => self.postponed("nobody charges it", step),
            (State::Sent, Event::Response(_, status)) => self.responded(status, step),
            (State::Sent | State::Reporting, Event::ReportedIn(transaction, body, asserted)) => {
                self.unanswered = Some(transaction);
                let (identity, to) = (&self.identity, &self.stored.to);
                let is_own = step.settings().is_asserted(&asserted, identity, to);
                let is_over = is_own && self.reported(&body, step);
                if is_over || self.awaits_report() {
                    self.answer(step);
                }
                is_over
            }
            (State::Sent | State::Reporting, Event::Due) => {
                if self.former.is_some() {
                    step.reachable(&self.stored.to);
                }
                self.postponed("no delivery report came", step)
            }
            (State::Looking, Event::Due) => self.postponed("the store does not answer", step),
            (State::Telling, Event::Stored(answer)) => self.report_stored(&answer, step),
            (State::Telling, Event::Due) => self.report_stored(&Answer::Failed, step),
            (State::Marking, Event::Stored(Answer::Failed) | Event::Due) => self.take_out(step),
            (State::Marking | State::Removing, Event::Stored(_) | Event::Due) => {
                step.done(self.number);
                self.answer(step);
                true
            }
            _ => false,
        }
    }

    fn resume(&mut self, step: &mut Step<'_>) -> bool {
        let claimed = self.reference.filter(|it| step.shared.subscribers.claim(&self.to(), *it));
        self.reference = claimed;
        if let Some(former) = self.former {
            step.shared.calls.resume(former, step.flow);
        }
        self.state = State::Reporting;
        step.arm(step.settings().report_time.min(RESUMED_TIME));
        false
    }

    fn looked(&mut self, answer: Answer, step: &mut Step<'_>) -> bool {
        match answer {
            Answer::Row(Some(Row::Subscriber(subscriber))) => self.charge(subscriber, step),
            Answer::Row(_) => self.postponed("the receiver is not registered", step),
            Answer::Failed => self.postponed("the store does not answer", step),
        }
    }

    /// Has it debited, where its receiver pays: a message of a subscriber's, none of the operator's
    /// and no report.
    fn charge(&mut self, subscriber: Subscriber, step: &mut Step<'_>) -> bool {
        let is_of_subscriber = self.stored.sender.is_some();
        let charge = Charge { imsi: subscriber.imsi.clone(), ..charge_of(&self.stored) };
        if !is_of_subscriber || !self.account.debit(charge, step) {
            return self.send(subscriber, step);
        }
        self.receiver = Some(subscriber);
        self.state = State::Charging;
        false
    }

    fn charged(&mut self, charged: Charged, step: &mut Step<'_>) -> bool {
        match (self.account.charged(charged), self.receiver.take()) {
            (Ok(()), Some(subscriber)) => self.send(subscriber, step),
            (Err(Cause::TemporaryFailure), _) => self.postponed("nobody charges it", step),
            _ => self.postponed("it is not paid for", step),
        }
    }

    fn send(&mut self, subscriber: Subscriber, step: &mut Step<'_>) -> bool {
        self.form = subscriber.form;
        let body = match self.form {
            Form::ShortMessage => {
                let Some(body) = self.short_message(step) else {
                    return self.postponed("too much is under way to the receiver", step);
                };
                body
            }
            Form::Text => {
                let Some((from, text)) = as_text(&self.stored.tpdu) else {
                    let cause = Some(Cause::NotImplemented);
                    return self.close(Status::IncompatibleDestination, cause, step);
                };
                Body::Text { from, text }
            }
        };
        self.state = State::Sent;
        self.identity.clone_from(&subscriber.identity);
        // Whoever goes on with it knows of it before anybody can answer it.
        if let Some(reference) = self.reference {
            let is_debited = self.account.is_debited();
            self.has_departed = step.depart(self.number, reference, &self.identity, is_debited);
        }
        step.send(0, &subscriber.identity, Route::Serving(subscriber.s_cscf), None, body);
        step.arm(step.settings().report_time);
        false
    }

    fn short_message(&mut self, step: &mut Step<'_>) -> Option<Body> {
        let reference = step.shared.subscribers.reference(&self.stored.to)?;
        self.reference = Some(reference);
        let tpdu = with_more(&self.stored.tpdu, step.has_more(&self.stored.to));
        let centre = step.settings().number.address_string();
        let mut body = Vec::new();
        Message::to_terminal(reference, centre, &tpdu).write(&mut body).ok()?;
        Some(Body::Rp(body))
    }

    fn responded(&mut self, status: u16, step: &mut Step<'_>) -> bool {
        match (status, self.form) {
            (200..=299, Form::Text) => self.delivered(step),
            (200..=299, Form::ShortMessage) => {
                self.state = State::Reporting;
                step.arm(step.settings().report_time);
                false
            }
            (404 | 410 | 430 | 480, _) => {
                step.watch(&self.identity, &self.stored.to);
                self.postponed("the receiver is absent", step)
            }
            (408, _) => {
                step.watch(&self.identity, &self.stored.to);
                self.postponed("nobody answers", step)
            }
            (486 | 600, _) => self.postponed("the receiver is busy", step),
            (503, _) => self.postponed(UNROUTED, step),
            _ => self.postponed("the core or the terminal refuses it", step),
        }
    }

    /// The terminal reports. What is none of this message's changes nothing.
    fn reported(&mut self, body: &[u8], step: &mut Step<'_>) -> bool {
        let Ok(message) = Message::read(body) else {
            step.count(Metric::Malformed);
            return false;
        };
        if Some(message.reference) != self.reference {
            return false;
        }
        let Some(failure) = message.failure else { return self.delivered(step) };
        let cause = failure.cause().unwrap_or(Cause::ProtocolError);
        if cause == Cause::MemoryCapacityExceeded {
            return self.postponed("the terminal has no memory", step);
        }
        if step.settings().final_causes.contains(&cause.number()) {
            return self.close(Status::RejectedBySme, Some(cause), step);
        }
        self.postponed("the terminal did not take it", step)
    }

    fn delivered(&mut self, step: &mut Step<'_>) -> bool {
        step.count(Metric::DeliveredByIp);
        self.close(Status::Received, None, step)
    }

    /// It was not delivered this time.
    fn postponed(&mut self, why: &'static str, step: &mut Step<'_>) -> bool {
        self.account.refund(step);
        self.release(step);
        step.count(Metric::Postponed);
        self.record(None, Some(why), step);
        step.postponed(&self.stored.to, why);
        true
    }

    fn record(&self, cause: Option<Cause>, why: Option<&'static str>, step: &mut Step<'_>) {
        let is_delivered = cause.is_none() && why.is_none();
        step.record(Record {
            direction: Direction::Terminated,
            subscriber: Some(self.to()),
            other: self.stored.shown().map(|it| it.text()),
            octets: self.stored.tpdu.len(),
            centre: Some(step.settings().number.clone()),
            way: is_delivered.then_some(Way::PacketSwitched),
            cause: cause.map(Cause::number),
            postponed: why,
            attempts: Vec::new(),
            trail: step.trail,
        });
    }

    fn release(&mut self, step: &mut Step<'_>) {
        if let Some(reference) = self.reference.take() {
            step.shared.subscribers.release(&self.stored.to, reference);
        }
        if let Some(former) = self.former.take() {
            step.shared.calls.forget(former);
        }
        if core::mem::take(&mut self.has_departed) {
            step.undo(Key::Flight(self.number));
        }
    }

    /// It is dealt with: its sender is told, if that was asked for.
    fn close(&mut self, status: Status, cause: Option<Cause>, step: &mut Step<'_>) -> bool {
        self.release(step);
        if cause.is_some() {
            self.account.refund(step);
            step.count(Metric::DeliveryFailed);
        }
        self.record(cause, None, step);
        let now = step.now;
        let local = step.settings().local.as_ref();
        let report = local.and_then(|it| it.status_report(&self.stored, status, now));
        let placed = report.and_then(|it| Some((step.reserve(&it.to, None)?, it)));
        step.arm(step.settings().flow_time);
        let Some((number, report)) = placed else { return self.remove(step) };
        self.state = State::Telling;
        step.keep(number, &report);
        self.report = Some((number, report));
        false
    }

    /// The status report is stored, or is not.
    fn report_stored(&mut self, answer: &Answer, step: &mut Step<'_>) -> bool {
        if let Some((number, report)) = self.report.take() {
            match answer {
                Answer::Row(_) => step.insert(number, report),
                Answer::Failed => {
                    step.count(Metric::ReportsLost);
                    step.give_up(number, &report);
                }
            }
        }
        self.remove(step)
    }

    fn remove(&mut self, step: &mut Step<'_>) -> bool {
        if !step.mark_done(self.number, &self.stored) {
            return self.take_out(step);
        }
        self.state = State::Marking;
        step.arm(step.settings().flow_time);
        false
    }

    fn take_out(&mut self, step: &mut Step<'_>) -> bool {
        self.state = State::Removing;
        step.store(Question::Take(Key::Message(self.number)));
        step.arm(step.settings().flow_time);
        false
    }

    fn answer(&mut self, step: &mut Step<'_>) {
        self.unanswered.take().into_iter().for_each(|it| step.respond(it, 202));
    }
}

/// What it costs its receiver.
fn charge_of(stored: &Stored) -> Charge {
    let other = stored.shown().map(|it| it.text());
    let subscriber = stored.to.clone();
    Charge { subscriber, imsi: None, other, messages: 1, is_delivery: true }
}
