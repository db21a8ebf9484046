//! A message to a terminal (TS 24.341 §5.3.3.4.2, TS 23.204 §6.4 and §6.5): over IP, by the
//! circuit-switched network or its like, in the order that is configured, each way once.
//!
//! ```text
//!   MT-ForwardSM ─→ Take… correlation ─→ Get subscriber ─→ its turn ─→ a way ─→ result, error
//!      ps: MESSAGE (RP-DATA) ─→ 2xx ─→ MESSAGE (RP-ACK, RP-ERROR; In-Reply-To)      │
//!      cs: MT-ForwardSM to each node that the HLR named ─→ result, error            │
//!          SIP error, silence, RP-ERROR that is not final ──────────→ the next way ─┘
//! ```

use crate::account::Account;
use crate::effects::{Attempt, Body, Direction, Record, Route, Way};
use crate::metrics::Metric;
use crate::peer_operation::{Read, read};
use crate::routing::DEREGISTERED;
use crate::shared::Event;
use crate::step::{Asked, Step};
use crate::store::{Answer, Correlation, Key, Question, Row, Subscriber};
use map::types::SmEnumeratedDeliveryFailureCause as FailureCause;
use map::{Context, Error};
use mapsms::argument::Argument;
use mapsms::asking::{Asking, Reply};
use mapsms::identity::{Imsi, Msisdn};
use mapsms::invoked::{Invoked, Refused, delivery_result, report_of};
use mapsms::subscribers::Turn;
use sms::rp::Message;
use sms::{Cause, Kind, RpAddress};
use smsdiameter::Charge;
use std::collections::VecDeque;

/// Why a subscriber is absent: no response via the IP-SM-GW (TS 23.040 §3.3.2).
const NO_RESPONSE: i64 = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The operation is to come.
    Awaited,
    Correlating,
    Looking,
    Queued,
    /// It is being debited.
    Charging,
    /// The MESSAGE is sent.
    Sent,
    /// The MESSAGE was taken: the report is to come.
    Reporting,
    Asking,
}

/// What is known of the message once its operation came.
#[derive(Default)]
pub(crate) struct Content {
    pub imsi: Imsi,
    pub centre: RpAddress,
    pub tpdu: Vec<u8>,
    /// Another one follows in the dialogue (TS 29.002 §23.3).
    pub has_more: bool,
}

impl core::fmt::Debug for Content {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "TPDU of {} octets", self.tpdu.len())
    }
}

/// A message to a terminal under way.
#[derive(Debug)]
pub struct Delivery {
    dialogue: u64,
    version: u8,
    asked: Option<Asked>,
    content: Content,
    correlation: Option<Correlation>,
    subscriber: Option<Subscriber>,
    /// The identity that it was sent to over IP.
    identity: String,
    reference: Option<u8>,
    /// Ways that were not tried yet, and the one that is.
    ways: VecDeque<Way>,
    way: Option<Way>,
    nodes: VecDeque<Msisdn>,
    attempt: u8,
    /// What was tried, for the record.
    attempts: Vec<Attempt>,
    state: State,
    /// Why the ways so far failed: what is told if all do.
    failure: Option<(Refused, Option<Cause>)>,
    account: Account,
    pub(crate) asking: Option<Asking>,
}

impl Delivery {
    /// One whose operation is to come.
    pub(crate) fn awaited(dialogue: u64, version: u8) -> Self {
        Self {
            dialogue,
            version,
            asked: None,
            content: Content::default(),
            correlation: None,
            subscriber: None,
            identity: String::new(),
            reference: None,
            ways: VecDeque::new(),
            way: None,
            nodes: VecDeque::new(),
            attempt: 0,
            attempts: Vec::new(),
            state: State::Awaited,
            failure: None,
            account: Account::default(),
            asking: None,
        }
    }

    pub(crate) fn new(asked: Asked, content: Content) -> Self {
        let state = State::Correlating;
        Self { asked: Some(asked), content, state, ..Self::awaited(asked.dialogue, asked.version) }
    }

    /// Takes an event; whether the flow is over.
    pub(crate) fn on(&mut self, event: Event, step: &mut Step<'_>) -> bool {
        match (self.state, event) {
            (_, Event::Lost) => {
                self.account.refund(step);
                self.leave(step)
            }
            (State::Awaited, Event::Begin) => {
                step.accept(self.dialogue);
                false
            }
            (State::Awaited, Event::Continued(components)) => self.came(&components, step),
            (State::Awaited, Event::Due) => {
                step.shared.forget(self.dialogue);
                step.out.push(crate::shared::abort(self.dialogue, tcu::Portion::default()));
                true
            }
            (State::Correlating, Event::Begin) => self.correlate(step),
            (State::Correlating, Event::Stored(answer)) => self.correlated(answer, step),
            (State::Looking, Event::Stored(answer)) => self.looked(answer, step),
            (State::Queued, Event::Turn) => self.begin(step),
            (State::Charging, Event::Charged(charged)) => match self.account.charged(charged) {
                Ok(()) => self.next(step),
                // What passes is tried again by whoever asked.
                Err(Cause::TemporaryFailure) => {
                    self.refuse(Refused::of(Error::SystemFailure), None, step)
                }
                Err(cause) => {
                    self.refuse(Refused::of(Error::FacilityNotSupported), Some(cause), step)
                }
            },
            (State::Sent, Event::Response(attempt, status)) => {
                self.responded(attempt, status, step)
            }
            (State::Sent | State::Reporting, Event::Reported(body, asserted)) => {
                self.is_of_receiver(&asserted, step) && self.reported(&body, step)
            }
            (State::Sent | State::Reporting, Event::Due) => {
                self.failed(Refused::absent(NO_RESPONSE), None, step)
            }
            (State::Asking, Event::Replied(reply)) => self.replied(reply, step),
            (State::Asking, Event::Due) => self.failed(Refused::absent(NO_RESPONSE), None, step),
            (_, Event::Due) => self.refuse(Refused::of(Error::SystemFailure), None, step),
            _ => false,
        }
    }

    /// The operation that was awaited came.
    fn came(&mut self, components: &[tcu::Component], step: &mut Step<'_>) -> bool {
        let context = match self.version {
            1 => Context::ShortMsgMoRelay,
            _ => Context::ShortMsgMtRelay,
        };
        match read(self.dialogue, context, self.version, components) {
            Some(Read::Operation(asked, Invoked::Deliver { imsi, centre, tpdu, has_more })) => {
                self.asked = Some(asked);
                self.content = Content { imsi, centre, tpdu, has_more };
                self.state = State::Correlating;
                self.correlate(step)
            }
            Some(Read::Answer(component)) => {
                step.count(Metric::Malformed);
                let portion = tcu::Portion::of(vec![component]);
                let (dialogue, is_prearranged) = (self.dialogue, false);
                step.shared.forget(dialogue);
                let end = tcu::Request::End { dialogue, is_prearranged, portion };
                step.out.push(crate::effects::Out::Request(Box::new(end)));
                true
            }
            _ => false,
        }
    }

    fn correlate(&mut self, step: &mut Step<'_>) -> bool {
        let is_tpdu = Kind::in_data(sms::Direction::ToTerminal, &self.content.tpdu)
            .is_some_and(|it| it.read(&self.content.tpdu).is_ok());
        if !is_tpdu {
            step.count(Metric::Malformed);
            return self.refuse(Refused::of(Error::UnexpectedDataValue), None, step);
        }
        step.store(Question::Get(Key::Correlation(self.content.imsi.clone())));
        false
    }

    fn correlated(&mut self, answer: Answer, step: &mut Step<'_>) -> bool {
        match answer {
            Answer::Row(Some(Row::Correlation(correlation)))
                if correlation.is_of(self.content.centre) =>
            {
                self.state = State::Looking;
                self.nodes = correlation.nodes.iter().cloned().collect();
                step.store(Question::Get(Key::Subscriber(correlation.msisdn.clone())));
                self.correlation = Some(correlation);
                false
            }
            Answer::Row(_) => {
                step.count(Metric::Uncorrelated);
                self.refuse(Refused::of(Error::UnidentifiedSubscriber), None, step)
            }
            Answer::Failed => self.refuse(Refused::of(Error::SystemFailure), None, step),
        }
    }

    fn looked(&mut self, answer: Answer, step: &mut Step<'_>) -> bool {
        match answer {
            Answer::Row(Some(Row::Subscriber(subscriber))) => self.subscriber = Some(subscriber),
            Answer::Row(_) => {}
            Answer::Failed => return self.refuse(Refused::of(Error::SystemFailure), None, step),
        }
        let Some(msisdn) = self.msisdn() else {
            return self.refuse(Refused::of(Error::SystemFailure), None, step);
        };
        let (sender, max) = (self.sender(), step.settings().shares.deliveries_max);
        self.state = State::Queued;
        match step.shared.subscribers.join(&msisdn, &sender, step.flow, max) {
            Turn::Now => self.begin(step),
            Turn::Later => false,
            Turn::Full => {
                self.correlation = None;
                self.refuse(Refused::of(Error::SubscriberBusyForMtSms), None, step)
            }
        }
    }

    fn msisdn(&self) -> Option<Msisdn> {
        self.correlation.as_ref().map(|it| it.msisdn.clone())
    }

    /// Whose messages keep their order: the originating address, of status reports the centre's.
    fn sender(&self) -> Vec<u8> {
        let read = Kind::Deliver.read(&self.content.tpdu).ok();
        let address = read.and_then(|it| it.address().copied());
        let mut sender = self.content.centre.octets().to_vec();
        address.into_iter().for_each(|it| it.write(&mut sender));
        sender
    }

    fn begin(&mut self, step: &mut Step<'_>) -> bool {
        let network = self.correlation.as_ref().and_then(|it| step.settings().network(&it.msisdn));
        self.ways = network.map(|it| it.ways.iter().copied().collect()).unwrap_or_default();
        let is_there = self.subscriber.is_some() || !self.nodes.is_empty();
        if let Some(charge) = self.charge().filter(|_| is_there)
            && self.account.debit(charge, step)
        {
            self.state = State::Charging;
            return false;
        }
        self.next(step)
    }

    /// What it costs its receiver.
    fn charge(&self) -> Option<Charge> {
        let correlation = self.correlation.as_ref()?;
        let kind = Kind::in_data(sms::Direction::ToTerminal, &self.content.tpdu);
        let tpdu = kind.filter(|it| *it == Kind::Deliver)?.read(&self.content.tpdu).ok()?;
        let known = self.subscriber.as_ref().and_then(|it| it.imsi.clone());
        Some(Charge {
            subscriber: correlation.msisdn.clone(),
            imsi: correlation.imsi.clone().or(known),
            other: tpdu.address().map(|it| it.text()),
            messages: 1,
            is_delivery: true,
        })
    }

    /// Tries the next way; when none is left, what failed is told.
    fn next(&mut self, step: &mut Step<'_>) -> bool {
        while let Some(way) = self.ways.front().copied().filter(|_| step.may_try()) {
            let is_begun = match way {
                Way::PacketSwitched => self.by_ip(step),
                Way::CircuitSwitched => self.by_circuits(step),
            };
            if is_begun {
                self.way = Some(way);
                return false;
            }
            self.ways.pop_front();
        }
        self.watch(step);
        let absent = (Refused::absent(DEREGISTERED), None);
        let (refused, cause) = self.failure.take().unwrap_or(absent);
        self.refuse(refused, cause, step)
    }

    /// Nobody has it now: word is wanted of when the terminal can be reached that did not answer.
    fn watch(&self, step: &mut Step<'_>) {
        let is_absent = |it: &Attempt| {
            it.way == Way::PacketSwitched && it.result == Error::AbsentSubscriberSm.name()
        };
        if let Some(msisdn) = self.msisdn().filter(|_| self.attempts.iter().any(is_absent)) {
            step.watch(&self.identity, &msisdn);
        }
    }

    fn by_ip(&mut self, step: &mut Step<'_>) -> bool {
        // Over IP it is tried once.
        let Some((subscriber, msisdn)) = self.subscriber.take().zip(self.msisdn()) else {
            return false;
        };
        let Some(reference) = step.shared.subscribers.reference(&msisdn) else { return false };
        self.reference = Some(reference);
        let message = Message::to_terminal(reference, self.content.centre, &self.content.tpdu);
        let mut body = Vec::new();
        if message.write(&mut body).is_err() {
            return false;
        }
        self.attempt = self.attempt.wrapping_add(1);
        self.state = State::Sent;
        let route = Route::Serving(subscriber.s_cscf);
        self.identity.clone_from(&subscriber.identity);
        step.send(self.attempt, &subscriber.identity, route, None, Body::Rp(body));
        step.arm(step.settings().report_time);
        true
    }

    fn by_circuits(&mut self, step: &mut Step<'_>) -> bool {
        let imsi = self.correlation.as_ref().and_then(|it| it.imsi.clone());
        let Some((imsi, node)) = imsi.zip(self.nodes.pop_front()) else { return false };
        let Some(to) = Step::titled(&node, step.settings().subsystems.msc) else { return false };
        self.state = State::Asking;
        let (centre, tpdu) = (self.content.centre, self.content.tpdu.clone());
        let msisdn = self.msisdn();
        let argument = Argument::Deliver { imsi, centre, tpdu };
        self.asking = Some(step.ask_for(msisdn.as_ref(), argument, to));
        step.arm(step.settings().flow_time);
        true
    }

    fn responded(&mut self, attempt: u8, status: u16, step: &mut Step<'_>) -> bool {
        match status {
            _ if attempt != self.attempt => false,
            200..=299 => {
                self.state = State::Reporting;
                step.arm(step.settings().report_time);
                false
            }
            404 | 410 | 430 | 480 => self.failed(Refused::absent(DEREGISTERED), None, step),
            _ => self.failed(Refused::absent(NO_RESPONSE), None, step),
        }
    }

    /// Whether the receiver itself reports.
    fn is_of_receiver(&self, asserted: &[String], step: &Step<'_>) -> bool {
        let msisdn = self.correlation.as_ref().map(|it| &it.msisdn);
        msisdn.is_some_and(|it| step.settings().is_asserted(asserted, &self.identity, it))
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
        let kind = message.tpdu_kind();
        let report = message.user_data.filter(|it| kind.is_some_and(|kind| kind.read(it).is_ok()));
        let Some(failure) = message.failure else {
            return self.delivered(Way::PacketSwitched, report, step);
        };
        let cause = failure.cause().unwrap_or(Cause::ProtocolError);
        let refused = Refused::delivery(self.version, failure_cause(cause), report);
        if step.settings().final_causes.contains(&cause.number()) {
            self.tried(refused.error.name(), Some(cause));
            return self.refuse(refused, Some(cause), step);
        }
        self.failed(refused, Some(cause), step)
    }

    fn replied(&mut self, reply: Reply, step: &mut Step<'_>) -> bool {
        match reply {
            Reply::Result(result) => {
                let report = result.as_deref().and_then(report_of);
                self.delivered(Way::CircuitSwitched, report.as_deref(), step)
            }
            Reply::Error(error, parameter) => {
                let error = error.unwrap_or(Error::SystemFailure);
                self.failed(Refused { error, parameter }, None, step)
            }
            Reply::Silence(_) => self.failed(Refused::absent(NO_RESPONSE), None, step),
        }
    }

    /// A way failed. That the terminal itself said why is told rather than that it was absent.
    fn failed(&mut self, refused: Refused, cause: Option<Cause>, step: &mut Step<'_>) -> bool {
        self.tried(refused.error.name(), cause);
        self.release(step);
        // What the node was asked is of no use any more.
        step.shared.drop_asking(self.asking.take(), step.out);
        let said = |it: &Refused| it.error == Error::SmDeliveryFailure;
        if !self.failure.as_ref().is_some_and(|it| said(&it.0)) {
            self.failure = Some((refused, cause));
        }
        step.count(Metric::Fallbacks);
        self.next(step)
    }

    fn delivered(&mut self, way: Way, report: Option<&[u8]>, step: &mut Step<'_>) -> bool {
        step.count(match way {
            Way::PacketSwitched => Metric::DeliveredByIp,
            Way::CircuitSwitched => Metric::DeliveredByCircuits,
        });
        self.way = Some(way);
        self.tried("delivered", None);
        self.record(Some(way), None, step);
        let Some(asked) = self.asked else { return self.leave(step) };
        let result = delivery_result(self.version, report);
        if !self.content.has_more || self.version == 1 {
            step.answer(asked, Ok(result));
            return self.leave(step);
        }
        // The dialogue goes on with the next message (TS 29.002 §23.3).
        self.leave(step);
        step.answer_on(asked, result);
        // Attempts are counted on: no two of the flow's messages have one Call-ID.
        *self = Self { attempt: self.attempt, ..Self::awaited(self.dialogue, self.version) };
        step.arm(step.settings().flow_time);
        false
    }

    fn refuse(&mut self, refused: Refused, cause: Option<Cause>, step: &mut Step<'_>) -> bool {
        self.account.refund(step);
        step.count(Metric::DeliveryFailed);
        self.record(None, Some(cause.unwrap_or(Cause::DestinationOutOfOrder)), step);
        if let Some(asked) = self.asked {
            step.answer(asked, Err(refused));
        }
        self.leave(step)
    }

    /// What came of the way that was tried.
    fn tried(&mut self, result: &'static str, cause: Option<Cause>) {
        let cause = cause.map(Cause::number);
        let attempt = self.way.map(|way| Attempt { way, result, cause });
        self.attempts.extend(attempt);
    }

    fn record(&self, way: Option<Way>, cause: Option<Cause>, step: &mut Step<'_>) {
        let kind = Kind::in_data(sms::Direction::ToTerminal, &self.content.tpdu);
        let other = kind.and_then(|it| it.read(&self.content.tpdu).ok());
        step.record(Record {
            direction: Direction::Terminated,
            subscriber: self.msisdn(),
            other: other.and_then(|it| Some(it.address()?.text())),
            octets: self.content.tpdu.len(),
            postponed: None,
            attempts: self.attempts.clone(),
            trail: step.trail,
            centre: Msisdn::of_address_string(self.content.centre.octets()),
            way,
            cause: cause.map(Cause::number),
        });
    }

    fn release(&mut self, step: &mut Step<'_>) {
        if let Some((msisdn, reference)) = self.msisdn().zip(self.reference.take()) {
            step.shared.subscribers.release(&msisdn, reference);
        }
    }

    /// The flow is over: the next message of its sender's has its turn.
    fn leave(&self, step: &mut Step<'_>) -> bool {
        let Some(msisdn) = self.msisdn() else { return true };
        if let Some(reference) = self.reference {
            step.shared.subscribers.release(&msisdn, reference);
        }
        let next = step.shared.subscribers.leave(&msisdn, &self.sender(), step.flow);
        next.into_iter().for_each(|it| step.shared.turn(it));
        true
    }
}

/// What a service centre is told of a terminal's cause (TS 29.002 §12.9.3).
const fn failure_cause(cause: Cause) -> FailureCause {
    match cause {
        Cause::MemoryCapacityExceeded => FailureCause::MemoryCapacityExceeded,
        Cause::NotImplemented => FailureCause::EquipmentNotSmEquipped,
        _ => FailureCause::EquipmentProtocolError,
    }
}
