//! A message of a terminal (TS 24.341 §5.3.3.4.1, TS 23.204 §6.3).
//!
//! ```text
//!   MESSAGE (RP-DATA) ─→ 202 ─→ whose identity ─→ whose registration ─→ MO-ForwardSM
//!                                 MESSAGE (RP-ACK, RP-ERROR; In-Reply-To) ←─ result, error
//! ```
//! The standby of a pair knows what a service centre was asked for, and how that was reported,
//! before the report leaves. What comes again while nobody knows whether the service centre took
//! it, since that did not answer or the node that had asked has died, is said to it with TP-RD (TS
//! 23.040 §9.2.3.25): of a duplicate it says so, and has the message.

use crate::account::Account;
use crate::centre::Stored;
use crate::effects::{Body, Direction, Received, Record, Route};
use crate::metrics::Metric;
use crate::shared::Event;
use crate::step::Step;
use crate::store::{Answer, Key, Question, Row};
use machine::Time;
use mapsms::argument::Argument;
use mapsms::asking::{Asking, Reply, Silence};
use mapsms::deposit::{Kept, rejecting_duplicates};
use mapsms::identity::{Imsi, Msisdn};
use mapsms::invoked::{cause_of, report_of};
use mapsms::senders::{Asked, Known};
use sha2::{Digest as _, Sha256};
use sms::rp::{Failure, Message, reference_of};
use sms::{Cause, FailureCause, Kind, Parameter, RpAddress};
use smsdiameter::{Charge, Charged};

/// Octets of a TPDU that MAP carries (SignalInfo, TS 29.002 §17.7.8).
const TPDU_MAX: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Begun,
    Whose,
    Registered,
    /// It is being debited.
    Charging,
    Asking,
    /// How it is reported is being stored.
    Marking,
    /// The gateway's own centre takes it.
    Storing,
    Reporting,
}

/// A message of a terminal under way.
#[derive(Debug)]
pub struct Submission {
    transaction: u64,
    message: Received,
    /// The identity that the report goes to.
    identity: String,
    msisdn: Option<Msisdn>,
    imsi: Option<Imsi>,
    centre: RpAddress,
    account: Account,
    sum: u64,
    state: State,
    /// The service centre may have it: it did not answer, here or to another node.
    before: Option<Asked>,
    /// When it came, where whoever serves next was told of it.
    marked: Option<Time>,
    /// What it is reported by, while that is being stored.
    unsent: Vec<u8>,
    /// What is being stored: it has a place at the centre.
    placed: Option<(u64, Stored)>,
    pub(crate) asking: Option<Asking>,
}

impl Submission {
    pub(crate) fn new(transaction: u64, message: Received) -> Self {
        let identity = message.asserted.first().cloned().unwrap_or_default();
        Self {
            transaction,
            message,
            identity,
            msisdn: None,
            imsi: None,
            centre: RpAddress::NONE,
            account: Account::default(),
            sum: 0,
            state: State::Begun,
            before: None,
            marked: None,
            unsent: Vec::new(),
            placed: None,
            asking: None,
        }
    }

    /// Its trail.
    pub(crate) const fn trail(&self) -> u64 {
        self.message.trail
    }

    /// Takes an event; whether the flow is over.
    pub(crate) fn on(&mut self, event: Event, step: &mut Step<'_>) -> bool {
        match (self.state, event) {
            (State::Begun, Event::Begin) => self.begin(step),
            (State::Whose | State::Registered, Event::Stored(Answer::Failed)) => {
                self.refused(Cause::TemporaryFailure, None, step)
            }
            (State::Whose, Event::Stored(answer)) => {
                if let Answer::Row(Some(Row::Identity(msisdn))) = answer {
                    self.msisdn = Some(msisdn);
                }
                self.whose(step)
            }
            (State::Registered, Event::Stored(answer)) => {
                self.imsi = match answer {
                    Answer::Row(Some(Row::Subscriber(subscriber))) => subscriber.imsi,
                    _ => None,
                };
                self.forward(step)
            }
            (State::Charging, Event::Charged(charged)) => self.charged(charged, step),
            (State::Asking, Event::Replied(reply)) => self.replied(reply, step),
            (State::Marking, Event::Stored(_) | Event::Due) => {
                let report = core::mem::take(&mut self.unsent);
                self.reported(report, step)
            }
            (State::Storing, Event::Stored(answer)) => self.stored(&answer, step),
            (State::Storing, Event::Due) => self.stored(&Answer::Failed, step),
            (State::Reporting, Event::Response(..) | Event::Due) => true,
            (State::Asking, Event::Due) => self.unanswered(Silence::Timeout, step),
            (_, Event::Due) => self.refused(Cause::TemporaryFailure, None, step),
            _ => false,
        }
    }

    /// Reads the message. What cannot be read and has no reference is the SIP request's fault.
    fn begin(&mut self, step: &mut Step<'_>) -> bool {
        let read = Message::read(&self.message.body);
        let message = match read {
            Ok(message) => message,
            Err(violation) => {
                step.count(Metric::Malformed);
                if reference_of(&self.message.body).is_none() {
                    step.respond(self.transaction, 400);
                    return true;
                }
                step.respond(self.transaction, 202);
                return self.refused(Cause::of_violation(&violation), None, step);
            }
        };
        if message.kind != sms::rp::Kind::DataFromTerminal {
            step.respond(self.transaction, 400);
            return true;
        }
        self.centre = message.destination;
        let tpdu = message.user_data.unwrap_or_default();
        let is_tpdu = message.tpdu_kind().is_some_and(|it| it.read(tpdu).is_ok());
        self.sum = self.sum();
        step.respond(self.transaction, 202);
        if self.centre.is_none() || !is_tpdu || tpdu.len() > TPDU_MAX {
            step.count(Metric::Malformed);
            return self.refused(Cause::InvalidMandatory, None, step);
        }
        self.state = State::Whose;
        step.store(Question::Get(Key::identity(&self.identity)));
        false
    }

    /// What tells this message from others: its sender, its reference and all that it says.
    fn sum(&self) -> u64 {
        sum_of([self.identity.as_bytes(), &self.message.body])
    }

    fn whose(&mut self, step: &mut Step<'_>) -> bool {
        let asserted = || self.message.asserted.iter().find_map(|it| step.settings().msisdn_of(it));
        let Some(msisdn) = self.msisdn.clone().or_else(asserted) else {
            return self.refused(Cause::UnidentifiedSubscriber, None, step);
        };
        self.msisdn = Some(msisdn.clone());
        if !step.settings().serves(&msisdn) {
            return self.refused(Cause::UnidentifiedSubscriber, None, step);
        }
        if !step.may_send(&msisdn) {
            return self.refused(Cause::Congestion, None, step);
        }
        match step.shared.senders.seen(step.now, self.sum) {
            Some(Known::UnderWay) => {
                step.count(Metric::Duplicates);
                return true;
            }
            Some(Known::Reported(report)) => {
                step.count(Metric::Duplicates);
                return self.report(report, step);
            }
            Some(Known::Taken(at)) => {
                step.count(Metric::Duplicates);
                return self.taken_before(at, step);
            }
            Some(Known::Asked(before)) => self.before = Some(before),
            None => {}
        }
        if step.settings().local.is_some() {
            return self.deposit(step);
        }
        self.state = State::Registered;
        step.store(Question::Get(Key::Subscriber(msisdn)));
        false
    }

    /// Another node took it, or this one before its last start: that is reported again.
    fn taken_before(&mut self, at: Time, step: &mut Step<'_>) -> bool {
        let local = step.settings().local.as_ref();
        let report = local.and_then(|it| it.submit_report(None, at));
        let read = Message::read(&self.message.body).ok();
        let body = read.and_then(|it| written(&it.answer(None, report.as_deref())));
        body.is_none_or(|body| self.reported(body, step))
    }

    /// What it costs: one message for whom it says.
    fn charge(&self, subscriber: Msisdn) -> Charge {
        let read = Message::read(&self.message.body).ok();
        let tpdu = read.as_ref().and_then(|it| it.tpdu_kind()?.read(it.user_data?).ok());
        let other = tpdu.and_then(|it| Some(it.address()?.text()));
        Charge { subscriber, imsi: self.imsi.clone(), other, messages: 1, is_delivery: false }
    }

    /// Whether it is being debited now.
    fn is_charged_first(&mut self, subscriber: &Msisdn, step: &mut Step<'_>) -> bool {
        let charge = self.charge(subscriber.clone());
        let is_asked = self.account.debit(charge, step);
        if is_asked {
            self.state = State::Charging;
        }
        is_asked
    }

    /// The charging system has spoken: the message is taken now, or not.
    fn charged(&mut self, charged: Charged, step: &mut Step<'_>) -> bool {
        match self.account.charged(charged) {
            Err(cause) => self.refused(cause, None, step),
            Ok(()) if step.settings().local.is_some() => self.deposit(step),
            Ok(()) => self.forward(step),
        }
    }

    /// Leaves the message to the gateway's own centre.
    fn deposit(&mut self, step: &mut Step<'_>) -> bool {
        let local = step.settings().local.clone();
        let Some((local, sender)) = local.as_ref().zip(self.msisdn.clone()) else {
            return self.refused(Cause::TemporaryFailure, None, step);
        };
        let body = core::mem::take(&mut self.message.body);
        let made = Message::read(&body)
            .ok()
            .map(|it| local.stored(&it, sender, &step.shared.centre, step.now));
        self.message.body = body;
        let stored = match made {
            Some(Ok(mut stored)) => {
                (stored.trail, stored.sum) = (self.message.trail, self.sum);
                stored
            }
            Some(Err(Kept::Cause(cause))) => return self.refused(cause, None, step),
            Some(Err(Kept::Centre(why))) => {
                let report = local.submit_report(Some(why), step.now);
                return self.refused(Cause::TransferRejected, report.as_deref(), step);
            }
            None => return self.refused(Cause::ProtocolError, None, step),
        };
        if let Some(sender) = &stored.sender
            && self.is_charged_first(sender, step)
        {
            return false;
        }
        let Some(number) = step.reserve(&stored.to, stored.sender.as_ref()) else {
            return self.refused(Cause::Congestion, None, step);
        };
        self.state = State::Storing;
        step.keep(number, &stored);
        self.placed = Some((number, stored));
        false
    }

    /// The store has the message, which is acknowledged now, or has not.
    fn stored(&mut self, answer: &Answer, step: &mut Step<'_>) -> bool {
        let Some((number, stored)) = self.placed.take() else { return true };
        if *answer == Answer::Failed {
            step.give_up(number, &stored);
            return self.refused(Cause::Congestion, None, step);
        }
        let local = step.settings().local.as_ref();
        let report = local.and_then(|it| it.submit_report(None, stored.received));
        step.insert(number, stored);
        self.taken(report.as_deref(), step)
    }

    fn forward(&mut self, step: &mut Step<'_>) -> bool {
        let centre = Msisdn::of_address_string(self.centre.octets());
        let network = self.msisdn.as_ref().and_then(|it| step.settings().network(it));
        if let Some((centre, network)) = centre.as_ref().zip(network)
            && !network.has_centre(centre)
        {
            // The terminal names it, and would send in the operator's name to anybody's.
            step.count(Metric::CentreRefused);
            return self.refused(Cause::TransferRejected, None, step);
        }
        let subsystem = step.settings().subsystems.centre;
        let to = centre.and_then(|it| Step::titled(&it, subsystem));
        let tpdu = self.tpdu();
        let (Some(to), Some(tpdu), Some(msisdn)) = (to, tpdu, self.msisdn.clone()) else {
            return self.refused(Cause::UnassignedNumber, None, step);
        };
        if self.before.is_some_and(|it| it.is_debited) {
            self.before = Some(Asked::default());
            self.account = Account::debited(self.charge(msisdn.clone()));
        }
        if self.is_charged_first(&msisdn, step) {
            return false;
        }
        self.state = State::Asking;
        self.marked = step.mark_asked(self.sum, self.account.is_debited());
        let imsi = self.imsi.clone();
        let argument = Argument::Submit { centre: self.centre, msisdn, imsi, tpdu };
        self.asking = Some(step.ask(argument, to));
        false
    }

    /// What the service centre is told; of what it may have already, that it shall say so.
    fn tpdu(&self) -> Option<Vec<u8>> {
        let read = Message::read(&self.message.body).ok()?;
        let tpdu = read.user_data?;
        let is_submit = read.tpdu_kind() == Some(Kind::Submit);
        match self.before.is_some() && is_submit {
            true => Some(rejecting_duplicates(tpdu)),
            false => Some(tpdu.to_vec()),
        }
    }

    /// Whether a report says that the service centre has it from the node that has died. A terminal
    /// that asked for that itself is told so.
    fn is_taken_before(&self, report: Option<&[u8]>) -> bool {
        let read = Message::read(&self.message.body).ok();
        let own = read.as_ref().and_then(|it| Kind::Submit.read(it.user_data?).ok());
        let asked_itself = own.is_some_and(|it| it.flag(Parameter::RejectDuplicates));
        let report = report.and_then(|it| Kind::SubmitReportError.read(it).ok());
        let is_duplicate =
            report.and_then(|it| it.failure_cause()) == Some(FailureCause::DuplicateRejected);
        self.before.is_some() && is_duplicate && !asked_itself
    }

    fn replied(&mut self, reply: Reply, step: &mut Step<'_>) -> bool {
        match reply {
            Reply::Result(result) => {
                let report = result.as_deref().and_then(report_of);
                let report = report.filter(|it| Kind::SubmitReport.read(it).is_ok());
                self.taken(report.as_deref(), step)
            }
            Reply::Error(error, parameter) => {
                let (cause, report) = cause_of(error, parameter.as_ref());
                if self.is_taken_before(report.as_deref()) {
                    return self.taken(None, step);
                }
                self.before = None;
                self.refused(cause, report.as_deref(), step)
            }
            Reply::Silence(why) => self.unanswered(why, step),
        }
    }

    /// Nobody knows whether the service centre has it.
    fn unanswered(&mut self, why: Silence, step: &mut Step<'_>) -> bool {
        self.before.get_or_insert_default();
        let cause = match why {
            Silence::Undelivered => Cause::NetworkOutOfOrder,
            _ => Cause::TemporaryFailure,
        };
        self.refused(cause, None, step)
    }

    /// The centre took it: that is reported.
    fn taken(&mut self, report: Option<&[u8]>, step: &mut Step<'_>) -> bool {
        let read = Message::read(&self.message.body).ok();
        let body = read.and_then(|it| written(&it.answer(None, report)));
        step.count(Metric::Submitted);
        self.record(None, step);
        body.is_none_or(|body| self.reported(body, step))
    }

    /// Reports a failure to the terminal.
    fn refused(&mut self, cause: Cause, report: Option<&[u8]>, step: &mut Step<'_>) -> bool {
        step.count(Metric::SubmissionFailed);
        self.account.refund(step);
        self.record(Some(cause), step);
        let Some(reference) = reference_of(&self.message.body) else { return true };
        let report = report.filter(|it| Kind::SubmitReportError.read(it).is_ok());
        let message = Message::new(sms::rp::Kind::DataFromTerminal, reference);
        let is_passing =
            matches!(cause, Cause::Congestion | Cause::TemporaryFailure | Cause::NetworkOutOfOrder);
        if is_passing {
            self.tried_again(step);
        }
        match written(&message.answer(Some(Failure::of(cause)), report)) {
            Some(body) if is_passing => self.report(body, step),
            Some(body) => self.reported(body, step),
            None => true,
        }
    }

    /// Sent again, it is tried again.
    fn tried_again(&mut self, step: &mut Step<'_>) {
        let marked = self.marked.take();
        match self.before {
            None => {
                step.shared.senders.forget(self.sum);
                marked.into_iter().for_each(|_| step.unmark(self.sum));
            }
            Some(before) => {
                step.shared.senders.unanswered(self.sum, before);
                marked.into_iter().for_each(|it| step.mark_unanswered(self.sum, it, before));
            }
        }
    }

    fn reported(&mut self, body: Vec<u8>, step: &mut Step<'_>) -> bool {
        let marked = self.marked.take();
        if marked.is_some_and(|it| step.mark_reported(self.sum, it, &body)) {
            self.state = State::Marking;
            self.unsent = body;
            return false;
        }
        // What comes again is reported at once from now on.
        step.shared.senders.reported(self.sum, &body);
        self.report(body, step)
    }

    /// Sends the report.
    fn report(&mut self, body: Vec<u8>, step: &mut Step<'_>) -> bool {
        self.state = State::Reporting;
        let answers = Some(&*self.message.call_id);
        step.send(0, &self.identity, Route::Interrogating, answers, Body::Rp(body));
        step.arm(step.settings().report_time);
        false
    }

    fn record(&self, cause: Option<Cause>, step: &mut Step<'_>) {
        let read = Message::read(&self.message.body).ok();
        let tpdu = read.as_ref().and_then(|it| Some((it.tpdu_kind()?, it.user_data?)));
        let submit = tpdu.and_then(|(kind, data)| kind.read(data).ok());
        step.record(Record {
            direction: Direction::Originated,
            subscriber: self.msisdn.clone(),
            other: submit.and_then(|it| Some(it.address()?.text())),
            octets: tpdu.map_or(0, |it| it.1.len()),
            postponed: None,
            attempts: Vec::new(),
            trail: step.trail,
            centre: Msisdn::of_address_string(self.centre.octets()),
            way: None,
            cause: cause.map(Cause::number),
        });
    }
}

/// A sum of what a message is known by when it comes again: the same at every node and after every
/// start, and nobody can make another message that has it.
pub(crate) fn sum_of(parts: [&[u8]; 2]) -> u64 {
    let [who, what] = parts;
    let digest = Sha256::new().chain_update(who).chain_update([0]).chain_update(what).finalize();
    digest.iter().take(8).fold(0, |sum, octet| sum << 8 | u64::from(*octet))
}

fn written(message: &Message<'_>) -> Option<Vec<u8>> {
    let mut octets = Vec::new();
    message.write(&mut octets).ok().map(|()| octets)
}
