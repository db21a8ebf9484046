//! What is told on: a terminal that has memory again (RP-SMMA), the end of a delivery
//! (ReportSM-DeliveryStatus), and alerts to service centres (TS 23.204 §6.6, TS 23.040 §3.2.7).

use crate::effects::{Body, Received, Route};
use crate::metrics::Metric;
use crate::shared::{Event, Held};
use crate::step::{Asked, Step};
use crate::store::{Answer, Key, Question, Row, Waiting};
use map::Error;
use map::types::{AlertReason, SmDeliveryOutcome};
use mapsms::argument::Argument;
use mapsms::asking::{Asking, Reply};
use mapsms::identity::Msisdn;
use mapsms::invoked::{Refused, cause_of};
use mapsms::subscribers::Turn;
use sms::rp::{Failure, Message};
use sms::{Cause, RpAddress};

/// What is told on.
#[derive(Debug)]
enum What {
    /// A terminal has memory.
    Memory { transaction: u64, message: Received },
    /// A delivery ended.
    Report {
        asked: Asked,
        /// Who reports, by the title of the dialogue.
        asker: Msisdn,
        centre: RpAddress,
        outcome: SmDeliveryOutcome,
        diagnostic: Option<i64>,
    },
    /// A subscriber can be reached again, as the home subscriber server tells.
    Reachable,
    /// A service centre may try again.
    Alert(Msisdn),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Begun,
    Whose,
    Registered,
    Waiting,
    Keeping,
    Asking,
    Reporting,
}

/// Something that is told on.
#[derive(Debug)]
pub struct Notice {
    what: What,
    msisdn: Option<Msisdn>,
    state: State,
    pub(crate) asking: Option<Asking>,
}

impl Notice {
    const fn new(what: What, msisdn: Option<Msisdn>) -> Self {
        Self { what, msisdn, state: State::Begun, asking: None }
    }

    pub(crate) const fn memory(transaction: u64, message: Received) -> Self {
        Self::new(What::Memory { transaction, message }, None)
    }

    pub(crate) const fn report(
        asked: Asked,
        asker: Msisdn,
        msisdn: Msisdn,
        centre: RpAddress,
        outcome: SmDeliveryOutcome,
        diagnostic: Option<i64>,
    ) -> Self {
        Self::new(What::Report { asked, asker, centre, outcome, diagnostic }, Some(msisdn))
    }

    pub(crate) const fn reachable(msisdn: Msisdn) -> Self {
        Self::new(What::Reachable, Some(msisdn))
    }

    pub(crate) const fn alert(msisdn: Msisdn, centre: Msisdn) -> Self {
        Self::new(What::Alert(centre), Some(msisdn))
    }

    /// Whether a terminal began it.
    pub(crate) const fn is_of_terminal(&self) -> bool {
        matches!(self.what, What::Memory { .. })
    }

    /// Its trail, where a message brought one.
    pub(crate) const fn trail(&self) -> Option<u64> {
        match &self.what {
            What::Memory { message, .. } => Some(message.trail),
            What::Report { .. } | What::Reachable | What::Alert(_) => None,
        }
    }

    /// Takes an event; whether the flow is over.
    pub(crate) fn on(&mut self, event: Event, step: &mut Step<'_>) -> bool {
        match (self.state, event) {
            (_, Event::Lost) => true,
            (State::Begun, Event::Begin) => self.begin(step),
            (State::Whose, Event::Stored(answer)) => {
                if let Answer::Row(Some(Row::Identity(msisdn))) = answer {
                    self.msisdn = Some(msisdn);
                }
                self.whose(step)
            }
            (State::Registered, Event::Stored(answer)) => self.registered(answer, step),
            (State::Waiting, Event::Turn) => self.turn(step),
            (State::Waiting, Event::Stored(answer)) => self.waited(answer, step),
            (State::Keeping, Event::Stored(answer)) => {
                let is_kept = matches!(answer, Answer::Row(_));
                self.done(is_kept.then_some(()).ok_or(Error::SystemFailure), step)
            }
            (State::Asking, Event::Replied(reply)) => self.replied(reply, step),
            (State::Reporting, Event::Response(..) | Event::Due) => true,
            (_, Event::Due) => self.done(Err(Error::SystemFailure), step),
            _ => false,
        }
    }

    fn begin(&mut self, step: &mut Step<'_>) -> bool {
        match &self.what {
            What::Memory { transaction, message } => {
                let transaction = *transaction;
                let identity = message.asserted.first().cloned().unwrap_or_default();
                if Message::read(&message.body).is_err() {
                    step.count(Metric::Malformed);
                    step.respond(transaction, 400);
                    return true;
                }
                step.count(Metric::MemoryAvailable);
                step.respond(transaction, 202);
                self.state = State::Whose;
                step.store(Question::Get(Key::identity(&identity)));
                false
            }
            What::Report { centre, outcome, diagnostic, .. } => {
                let Some(msisdn) = self.msisdn.clone() else { return true };
                if !step.settings().serves(&msisdn) {
                    return self.done(Err(Error::UnknownSubscriber), step);
                }
                if let Some(hlr) = step.hlr(&msisdn) {
                    let (centre, outcome, diagnostic) = (*centre, *outcome, *diagnostic);
                    self.state = State::Asking;
                    let argument = Argument::Report { msisdn, centre, outcome, diagnostic };
                    self.asking = Some(step.ask(argument, hlr));
                    return false;
                }
                self.look(&msisdn, step)
            }
            What::Reachable => {
                let Some(msisdn) = self.msisdn.clone() else { return true };
                self.state = State::Registered;
                step.store(Question::Get(Key::Subscriber(msisdn)));
                false
            }
            What::Alert(centre) => {
                let subsystem = step.settings().subsystems.centre;
                let (to, msisdn) = (Step::titled(centre, subsystem), self.msisdn.clone());
                let Some((to, msisdn)) = to.zip(msisdn) else { return true };
                step.count(Metric::Alerts);
                self.state = State::Asking;
                let argument = Argument::Alert { msisdn, centre: centre.clone() };
                self.asking = Some(step.ask(argument, to));
                false
            }
        }
    }

    /// Asks who waits, when it is this flow's turn: others may change that row.
    fn look(&mut self, msisdn: &Msisdn, step: &mut Step<'_>) -> bool {
        self.state = State::Waiting;
        match step.hold(msisdn, Held::Waiting) {
            Turn::Now => self.turn(step),
            Turn::Later => false,
            Turn::Full => self.done(Err(Error::SystemFailure), step),
        }
    }

    fn turn(&self, step: &mut Step<'_>) -> bool {
        let Some(msisdn) = self.msisdn.clone() else { return true };
        step.store(match self.what {
            What::Memory { .. } | What::Reachable => Question::Take(Key::Waiting(msisdn)),
            What::Report { .. } | What::Alert(_) => Question::Get(Key::Waiting(msisdn)),
        });
        false
    }

    fn whose(&mut self, step: &mut Step<'_>) -> bool {
        let What::Memory { message, .. } = &self.what else { return true };
        let asserted = || message.asserted.iter().find_map(|it| step.settings().msisdn_of(it));
        let Some(msisdn) = self.msisdn.clone().or_else(asserted) else {
            return self.acknowledge(Some(Cause::UnidentifiedSubscriber), step);
        };
        if !step.may_send(&msisdn) {
            return self.acknowledge(Some(Cause::Congestion), step);
        }
        self.msisdn = Some(msisdn.clone());
        if step.settings().local.is_some() {
            step.reachable(&msisdn);
            return self.acknowledge(None, step);
        }
        self.state = State::Registered;
        step.store(Question::Get(Key::Subscriber(msisdn)));
        false
    }

    fn registered(&mut self, answer: Answer, step: &mut Step<'_>) -> bool {
        let Some(msisdn) = self.msisdn.clone() else { return true };
        let imsi = match answer {
            Answer::Row(Some(Row::Subscriber(subscriber))) => subscriber.imsi,
            _ => None,
        };
        match (step.hlr(&msisdn), imsi) {
            (Some(hlr), Some(imsi)) => {
                self.state = State::Asking;
                let reason = match self.what {
                    What::Reachable => AlertReason::MsPresent,
                    _ => AlertReason::MemoryAvailable,
                };
                self.asking = Some(step.ask(Argument::Ready { imsi, reason }, hlr));
                false
            }
            // The HLR knows a subscriber by the IMSI alone here.
            (Some(_), None) if matches!(self.what, What::Reachable) => true,
            (Some(_), None) => self.acknowledge(Some(Cause::UnidentifiedSubscriber), step),
            (None, _) => self.look(&msisdn, step),
        }
    }

    /// Who waits is known: it is alerted, or one more waits.
    fn waited(&mut self, answer: Answer, step: &mut Step<'_>) -> bool {
        let Some(msisdn) = self.msisdn.clone() else { return true };
        let Answer::Row(row) = answer else { return self.done(Err(Error::SystemFailure), step) };
        let mut waiting = match row {
            Some(Row::Waiting(waiting)) => waiting,
            _ => Waiting::default(),
        };
        match &self.what {
            What::Memory { .. } => {
                step.taken(&msisdn);
                waiting.centres.iter().for_each(|it| step.alert(&msisdn, it));
                self.acknowledge(None, step)
            }
            What::Reachable if waiting.is_full => {
                // That it is there does not say that it has memory.
                self.state = State::Keeping;
                step.keep_waiting(&msisdn, waiting);
                false
            }
            What::Reachable => {
                step.taken(&msisdn);
                waiting.centres.iter().for_each(|it| step.alert(&msisdn, it));
                true
            }
            What::Report { outcome: SmDeliveryOutcome::SuccessfulTransfer, .. }
            | What::Alert(_) => self.done(Ok(()), step),
            What::Report { asker, centre, outcome, .. } => {
                let Some(centre) = Msisdn::of_address_string(centre.octets()) else {
                    return self.done(Err(Error::UnexpectedDataValue), step);
                };
                // Nobody but who was told where the subscriber is can know that of his terminal.
                let was_told = step.shared.given.has(&msisdn, &centre);
                waiting.is_full |=
                    was_told && *outcome == SmDeliveryOutcome::MemoryCapacityExceeded;
                if !step.may_wait(asker, &msisdn, &centre, &waiting) {
                    return self.done(Err(Error::MessageWaitingListFull), step);
                }
                waiting.add(centre);
                self.state = State::Keeping;
                step.keep_waiting(&msisdn, waiting);
                false
            }
        }
    }

    fn replied(&mut self, reply: Reply, step: &mut Step<'_>) -> bool {
        match (&self.what, reply) {
            (What::Alert(_) | What::Reachable, _) => true,
            (What::Memory { .. }, Reply::Result(_)) => self.acknowledge(None, step),
            (What::Memory { .. }, Reply::Error(error, parameter)) => {
                let (cause, _) = cause_of(error, parameter.as_ref());
                self.acknowledge(Some(cause), step)
            }
            (What::Memory { .. }, Reply::Silence(_)) => {
                self.acknowledge(Some(Cause::NetworkOutOfOrder), step)
            }
            (What::Report { asked, .. }, Reply::Result(result)) => {
                let asked = *asked;
                step.answer(asked, Ok(result.filter(|_| asked.version >= 3)));
                true
            }
            (What::Report { asked, .. }, Reply::Error(error, parameter)) => {
                let error = error.unwrap_or(Error::SystemFailure);
                step.answer(*asked, Err(Refused { error, parameter }));
                true
            }
            (What::Report { .. }, Reply::Silence(_)) => self.done(Err(Error::SystemFailure), step),
        }
    }

    /// It is over, well or not: whoever asked is answered.
    fn done(&mut self, how: Result<(), Error>, step: &mut Step<'_>) -> bool {
        match &self.what {
            What::Report { asked, .. } => {
                step.answer(*asked, how.map(|()| None).map_err(Refused::of));
                true
            }
            What::Memory { .. } => {
                self.acknowledge(how.err().map(|_| Cause::TemporaryFailure), step)
            }
            What::Alert(_) | What::Reachable => true,
        }
    }

    /// Answers RP-SMMA.
    fn acknowledge(&mut self, cause: Option<Cause>, step: &mut Step<'_>) -> bool {
        let What::Memory { message, .. } = &self.what else { return true };
        let Ok(read) = Message::read(&message.body) else { return true };
        let mut body = Vec::new();
        if read.answer(cause.map(Failure::of), None).write(&mut body).is_err() {
            return true;
        }
        self.state = State::Reporting;
        let to = message.asserted.first().cloned().unwrap_or_default();
        let call_id = message.call_id.clone();
        step.send(0, &to, Route::Interrogating, Some(&call_id), Body::Rp(body));
        step.arm(step.settings().report_time);
        false
    }
}
