//! A message of a terminal (TS 24.341 §5.3.3.4.1, TS 23.204 §6.3).
//!
//! ```text
//!   MESSAGE (RP-DATA) ─→ 202 ─→ whose identity ─→ whose registration ─→ MO-ForwardSM
//!                                 MESSAGE (RP-ACK, RP-ERROR; In-Reply-To) ←─ result, error
//! ```

use crate::argument::Argument;
use crate::asking::{Asking, Reply, Silence};
use crate::effects::{Direction, Received, Record, Route};
use crate::facts::Fact;
use crate::identity::{Imsi, Msisdn};
use crate::invoked::{failure_of, report_of};
use crate::senders::Known;
use crate::shared::Event;
use crate::step::Step;
use crate::store::{Answer, Key, Question, Row};
use bytes::Bytes;
use map::Error;
use map::types::SmEnumeratedDeliveryFailureCause as FailureCause;
use sms::rp::{Failure, Message, reference_of};
use sms::{Cause, Kind, RpAddress};

/// Octets of a TPDU that MAP carries (SignalInfo, TS 29.002 §17.7.8).
const TPDU_MAX: usize = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Begun,
    Whose,
    Registered,
    Asking,
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
    centre: RpAddress,
    sum: u64,
    state: State,
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
            centre: RpAddress::NONE,
            sum: 0,
            state: State::Begun,
            asking: None,
        }
    }

    /// Takes an event; whether the flow is over.
    pub(crate) fn on(&mut self, event: Event, step: &mut Step<'_>) -> bool {
        match (self.state, event) {
            (State::Begun, Event::Begin) => self.begin(step),
            (State::Whose, Event::Stored(answer)) => {
                if let Answer::Row(Some(Row::Identity(msisdn))) = answer {
                    self.msisdn = Some(msisdn);
                }
                self.whose(step)
            }
            (State::Registered, Event::Stored(answer)) => {
                let imsi = match answer {
                    Answer::Row(Some(Row::Subscriber(subscriber))) => subscriber.imsi,
                    _ => None,
                };
                self.forward(imsi, step)
            }
            (State::Asking, Event::Replied(reply)) => self.replied(reply, step),
            (State::Reporting, Event::Response(..) | Event::Due) => true,
            (_, Event::Due) => self.refused(Cause::TemporaryFailure, None, step),
            _ => false,
        }
    }

    /// Reads the message. What cannot be read and has no reference is the SIP request's fault.
    fn begin(&mut self, step: &mut Step<'_>) -> bool {
        let read = Message::read(&self.message.body);
        let message = match read {
            Ok(message) => message,
            Err(offence) => {
                step.count(Fact::Malformed);
                if reference_of(&self.message.body).is_none() {
                    step.respond(self.transaction, 400);
                    return true;
                }
                step.respond(self.transaction, 202);
                return self.refused(Cause::of_offence(&offence), None, step);
            }
        };
        if message.kind != sms::rp::Kind::DataFromTerminal {
            step.respond(self.transaction, 400);
            return true;
        }
        self.centre = message.destination;
        let tpdu = message.user_data.unwrap_or_default();
        let is_tpdu = message.tpdu_kind().is_some_and(|it| it.read(tpdu).is_ok());
        self.sum = self.sum(step);
        step.respond(self.transaction, 202);
        match step.shared.senders.seen(step.now, self.sum) {
            Some(Known::UnderWay) => {
                step.count(Fact::Duplicates);
                return true;
            }
            Some(Known::Reported(report)) => {
                step.count(Fact::Duplicates);
                return self.report(report, step);
            }
            None => {}
        }
        if self.centre.is_none() || !is_tpdu || tpdu.len() > TPDU_MAX {
            step.count(Fact::Malformed);
            return self.refused(Cause::InvalidMandatory, None, step);
        }
        self.state = State::Whose;
        step.store(Question::Get(Key::Identity(self.identity.clone())));
        false
    }

    /// What tells this message from others: its sender, its reference and all that it says.
    fn sum(&self, step: &Step<'_>) -> u64 {
        let text = [self.identity.as_bytes(), &[0], &self.message.body].concat();
        step.shared.hash.hash(&text)
    }

    fn whose(&mut self, step: &mut Step<'_>) -> bool {
        let asserted = || self.message.asserted.iter().find_map(|it| Msisdn::of_uri(it));
        let Some(msisdn) = self.msisdn.clone().or_else(asserted) else {
            return self.refused(Cause::UnidentifiedSubscriber, None, step);
        };
        self.msisdn = Some(msisdn.clone());
        if !step.shared.senders.admit(step.now, &msisdn) {
            step.count(Fact::Limited);
            return self.refused(Cause::Congestion, None, step);
        }
        self.state = State::Registered;
        step.store(Question::Get(Key::Subscriber(msisdn)));
        false
    }

    fn forward(&mut self, imsi: Option<Imsi>, step: &mut Step<'_>) -> bool {
        let centre = Msisdn::of_address_string(self.centre.octets());
        let subsystem = step.settings().subsystems.centre;
        let to = centre.and_then(|it| Step::titled(&it, subsystem));
        let read = Message::read(&self.message.body).ok();
        let tpdu = read.and_then(|it| it.user_data).map(<[u8]>::to_vec);
        let (Some(to), Some(tpdu), Some(msisdn)) = (to, tpdu, self.msisdn.clone()) else {
            return self.refused(Cause::UnassignedNumber, None, step);
        };
        self.state = State::Asking;
        let argument = Argument::Submit { centre: self.centre, msisdn, imsi, tpdu };
        self.asking = Some(step.ask(argument, to));
        false
    }

    fn replied(&mut self, reply: Reply, step: &mut Step<'_>) -> bool {
        match reply {
            Reply::Result(result) => {
                let report = result.as_deref().and_then(report_of);
                let report = report.filter(|it| Kind::SubmitReport.read(it).is_ok());
                let read = Message::read(&self.message.body).ok();
                let answer = read.map(|it| it.answer(None, report.as_deref()));
                let body = answer.and_then(|it| written(&it));
                step.count(Fact::Submitted);
                self.record(None, step);
                body.is_none_or(|body| self.reported(body, step))
            }
            Reply::Error(error, parameter) => {
                let (cause, report) = cause_of(error, parameter.as_ref());
                self.refused(cause, report.as_deref(), step)
            }
            Reply::Silence(Silence::Undelivered) => {
                self.refused(Cause::NetworkOutOfOrder, None, step)
            }
            Reply::Silence(_) => self.refused(Cause::TemporaryFailure, None, step),
        }
    }

    /// Reports a failure to the terminal.
    fn refused(&mut self, cause: Cause, report: Option<&[u8]>, step: &mut Step<'_>) -> bool {
        step.count(Fact::SubmissionFailed);
        self.record(Some(cause), step);
        let Some(reference) = reference_of(&self.message.body) else { return true };
        let report = report.filter(|it| Kind::SubmitReportError.read(it).is_ok());
        let message = Message::new(sms::rp::Kind::DataFromTerminal, reference);
        match written(&message.answer(Some(Failure::of(cause)), report)) {
            Some(body) => self.reported(body, step),
            None => true,
        }
    }

    fn reported(&mut self, body: Vec<u8>, step: &mut Step<'_>) -> bool {
        step.shared.senders.reported(self.sum, &body);
        self.report(body, step)
    }

    /// Sends the report.
    fn report(&mut self, body: Vec<u8>, step: &mut Step<'_>) -> bool {
        self.state = State::Reporting;
        let answers = Some(&*self.message.call_id);
        step.send(0, &self.identity, Route::Interrogating, answers, body);
        step.arm(step.settings().report_time);
        false
    }

    fn record(&self, cause: Option<Cause>, step: &mut Step<'_>) {
        step.record(Record {
            direction: Direction::Originated,
            subscriber: self.msisdn.clone(),
            centre: Msisdn::of_address_string(self.centre.octets()),
            way: None,
            cause: cause.map(Cause::number),
        });
    }
}

fn written(message: &Message<'_>) -> Option<Vec<u8>> {
    let mut octets = Vec::new();
    message.write(&mut octets).ok().map(|()| octets)
}

/// The cause that a terminal is told of an error of a service centre, with the centre's report
/// (TS 24.011 §E.2, TS 23.040 §9.3.3).
pub(crate) fn cause_of(
    error: Option<Error>,
    parameter: Option<&Bytes>,
) -> (Cause, Option<Vec<u8>>) {
    let cause = match error {
        Some(Error::SmDeliveryFailure) => {
            let (cause, report) = failure_of(parameter);
            let cause = match cause {
                Some(FailureCause::UnknownServiceCentre) => Cause::UnassignedNumber,
                Some(FailureCause::ScCongestion) => Cause::Congestion,
                Some(FailureCause::InvalidSmeAddress) => Cause::TransferRejected,
                Some(FailureCause::SubscriberNotScSubscriber) => Cause::UnidentifiedSubscriber,
                _ => Cause::TransferRejected,
            };
            return (cause, report);
        }
        Some(Error::SystemFailure) => Cause::NetworkOutOfOrder,
        Some(Error::FacilityNotSupported) => Cause::FacilityRejected,
        Some(Error::UnknownSubscriber) => Cause::UnknownSubscriber,
        Some(Error::CallBarred) => Cause::CallBarred,
        Some(Error::DataMissing | Error::UnexpectedDataValue) => Cause::SemanticallyIncorrect,
        _ => Cause::TemporaryFailure,
    };
    (cause, None)
}
