//! Routing information (TS 23.204 §6.4): a service centre asks where a subscriber is, and is told
//! this gateway and a correlation IMSI.
//!
//! ```text
//!   SRI-for-SM ─→ Get subscriber ─→ HLR: SRI-for-SM ─→ Get, Put correlation ─→ result: own address
//!                                └─ suppressed ───────┘       not registered: as the HLR said
//! ```

use crate::effects::Way;
use crate::metrics::Metric;
use crate::shared::{Event, Held};
use crate::step::{Asked, Step};
use crate::store::{Answer, Correlation, Key, Question, Row, Waiting};
use bytes::Bytes;
use map::Error;
use mapsms::argument::Argument;
use mapsms::asking::{Asking, Reply};
use mapsms::given::{For, Full};
use mapsms::identity::{Imsi, Msisdn};
use mapsms::informed::MwStatus;
use mapsms::invoked::{Refused, routing_of, routing_result};
use mapsms::subscribers::Turn;
use sms::RpAddress;

/// Why a subscriber is absent: deregistered for IMS (TS 23.040 §3.3.2).
pub(crate) const DEREGISTERED: i64 = 11;

/// Correlation IMSIs that are drawn for one that is free.
const DRAWS_MAX: u8 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Looking,
    Asking,
    /// Whether the terminal has no memory, as far as the gateway itself knows.
    Noting,
    /// It waits for its turn to give out a correlation IMSI.
    Queued,
    /// Whether the correlation IMSI is free.
    Drawing,
    Storing,
    /// Of a subscriber who is absent: who waits, once it is this flow's turn.
    Waiting,
    Keeping,
}

/// A question for routing information.
#[derive(Debug)]
pub struct Routing {
    asked: Asked,
    /// Who asks, by the title of the dialogue.
    asker: Msisdn,
    msisdn: Msisdn,
    centre: RpAddress,
    has_priority: bool,
    is_registered: bool,
    /// What the service centre is told beside the answer.
    told: Option<MwStatus>,
    correlation: Option<Imsi>,
    /// What it shall stand for, and how many were drawn.
    row: Option<Correlation>,
    draws: u8,
    state: State,
    pub(crate) asking: Option<Asking>,
}

impl Routing {
    pub(crate) const fn new(
        asked: Asked,
        asker: Msisdn,
        msisdn: Msisdn,
        centre: RpAddress,
        has_priority: bool,
    ) -> Self {
        Self {
            asked,
            asker,
            msisdn,
            centre,
            has_priority,
            is_registered: false,
            told: None,
            correlation: None,
            row: None,
            draws: 0,
            state: State::Looking,
            asking: None,
        }
    }

    /// Takes an event; whether the flow is over.
    pub(crate) fn on(&mut self, event: Event, step: &mut Step<'_>) -> bool {
        match (self.state, event) {
            (_, Event::Lost) => true,
            (_, Event::Due) => self.refuse(Refused::of(Error::SystemFailure), step),
            (State::Looking, Event::Begin) if !step.settings().serves(&self.msisdn) => {
                self.refuse(Refused::of(Error::UnknownSubscriber), step)
            }
            (State::Looking, Event::Begin) => {
                step.store(Question::Get(Key::Subscriber(self.msisdn.clone())));
                false
            }
            (State::Looking, Event::Stored(answer)) => self.looked(&answer, step),
            (State::Asking, Event::Informed(status)) => {
                self.told = Some(status);
                false
            }
            (State::Asking, Event::Replied(reply)) => self.replied(reply, step),
            (State::Noting, Event::Stored(answer)) => self.noted(&answer, step),
            (State::Drawing, Event::Stored(answer)) => self.drawn(&answer, step),
            (State::Storing, Event::Stored(answer)) => self.stored(&answer, step),
            (State::Queued, Event::Turn) => self.give(step),
            (State::Waiting, Event::Turn) => self.look(step),
            (State::Waiting, Event::Stored(Answer::Row(row))) => self.wait(row, step),
            // A fault of the store says nothing about the subscriber.
            (State::Waiting | State::Keeping, Event::Stored(Answer::Failed)) => {
                self.refuse(Refused::of(Error::SystemFailure), step)
            }
            (State::Keeping, Event::Stored(Answer::Row(_))) => {
                self.refuse(Refused::absent(DEREGISTERED), step)
            }
            _ => false,
        }
    }

    fn looked(&mut self, answer: &Answer, step: &mut Step<'_>) -> bool {
        // Nobody is sent past this gateway, or told that the subscriber is away, because the store
        // does not answer.
        if *answer == Answer::Failed {
            return self.refuse(Refused::of(Error::SystemFailure), step);
        }
        let network = step.settings().network(&self.msisdn);
        let by_ip = network.is_some_and(|it| it.ways.contains(&Way::PacketSwitched));
        self.is_registered = by_ip && matches!(answer, Answer::Row(Some(Row::Subscriber(_))));
        if let Some(hlr) = step.hlr(&self.msisdn) {
            self.state = State::Asking;
            let (msisdn, centre) = (self.msisdn.clone(), self.centre);
            let argument = Argument::Routing { msisdn, centre, has_priority: self.has_priority };
            self.asking = Some(step.ask(argument, hlr));
            return false;
        }
        if self.is_registered {
            self.state = State::Noting;
            return self.look(step);
        }
        self.state = State::Waiting;
        match step.hold(&self.msisdn, Held::Waiting) {
            Turn::Now => self.look(step),
            Turn::Later => false,
            Turn::Full => self.refuse(Refused::absent(DEREGISTERED), step),
        }
    }

    /// A service centre that is to wait for memory is told so with the answer (TS 23.040 §3.2.7).
    fn noted(&mut self, answer: &Answer, step: &mut Step<'_>) -> bool {
        if let Answer::Row(Some(Row::Waiting(waiting))) = answer
            && waiting.is_full
        {
            self.tell_of(waiting, false);
        }
        self.keep(None, Vec::new(), step)
    }

    /// The service centre is told who waits, and why.
    fn tell_of(&mut self, waiting: &Waiting, is_not_reachable: bool) {
        let centre = Msisdn::of_address_string(self.centre.octets());
        let is_not_included = !centre.is_some_and(|it| waiting.centres.contains(&it));
        let is_full = waiting.is_full;
        let status = MwStatus { is_not_included, is_not_reachable, is_full, ..MwStatus::default() };
        self.told = Some(status);
    }

    fn look(&self, step: &mut Step<'_>) -> bool {
        step.store(Question::Get(Key::Waiting(self.msisdn.clone())));
        false
    }

    /// The service centre is to hear when the subscriber comes.
    fn wait(&mut self, row: Option<Row>, step: &mut Step<'_>) -> bool {
        self.state = State::Keeping;
        let mut waiting = match row {
            Some(Row::Waiting(waiting)) => waiting,
            _ => Waiting::default(),
        };
        let Some(centre) = Msisdn::of_address_string(self.centre.octets()) else {
            return self.refuse(Refused::absent(DEREGISTERED), step);
        };
        if !step.may_wait(&self.asker, &self.msisdn, &centre, &waiting) {
            self.tell_of(&waiting, true);
            return self.refuse(Refused::absent(DEREGISTERED), step);
        }
        waiting.add(centre);
        self.tell_of(&waiting, true);
        step.keep_waiting(&self.msisdn, waiting);
        false
    }

    fn replied(&mut self, reply: Reply, step: &mut Step<'_>) -> bool {
        match reply {
            Reply::Result(Some(result)) if self.is_registered => match routing_of(&result) {
                Some((imsi, nodes)) => self.keep(Some(imsi), nodes, step),
                None => self.keep(None, Vec::new(), step),
            },
            // Who takes nothing over IP is the HLR's alone.
            Reply::Result(Some(result)) => self.pass(result, step),
            // The HLR has the subscriber detached, or nothing of him: over IP he is there.
            Reply::Error(Some(Error::AbsentSubscriberSm), _) | Reply::Silence(_)
                if self.is_registered =>
            {
                self.keep(None, Vec::new(), step)
            }
            Reply::Error(error, parameter) => {
                let error = error.unwrap_or(Error::SystemFailure);
                self.refuse(Refused { error, parameter }, step)
            }
            Reply::Result(None) | Reply::Silence(_) => {
                self.refuse(Refused::of(Error::SystemFailure), step)
            }
        }
    }

    fn keep(&mut self, imsi: Option<Imsi>, nodes: Vec<Msisdn>, step: &mut Step<'_>) -> bool {
        // By what it is given it alone delivers: who has no number is given none.
        let Some(centre) = Msisdn::of_address_string(self.centre.octets()) else {
            return self.refuse(Refused::of(Error::UnexpectedDataValue), step);
        };
        let centre = Some(centre);
        let (msisdn, asker) = (self.msisdn.clone(), Some(self.asker.clone()));
        self.row = Some(Correlation { msisdn, centre, asker, imsi, nodes });
        self.state = State::Queued;
        match step.hold(&self.msisdn, Held::Correlation) {
            Turn::Now => self.give(step),
            Turn::Later => false,
            Turn::Full => self.refuse(Refused::of(Error::SystemFailure), step),
        }
    }

    /// One that stands for the same is given out again: whoever asks on and on takes one row.
    fn give(&mut self, step: &mut Step<'_>) -> bool {
        let Some(row) = &self.row else { return true };
        match step.shared.given.known(&self.of(row)) {
            Ok(Some(imsi)) => self.put(imsi, step),
            Ok(None) => self.draw(step),
            Err(Full) => self.crowded(step),
        }
    }

    const fn of<'a>(&'a self, row: &'a Correlation) -> For<'a> {
        For { msisdn: &row.msisdn, centre: row.centre.as_ref(), asker: &self.asker }
    }

    /// There is no room for one more correlation, or not for one more of who asks.
    fn crowded(&self, step: &mut Step<'_>) -> bool {
        step.count(Metric::SharesRefused);
        self.refuse(Refused::of(Error::SystemFailure), step)
    }

    fn put(&mut self, imsi: Imsi, step: &mut Step<'_>) -> bool {
        let Some(row) = self.row.clone() else { return true };
        self.state = State::Storing;
        self.correlation = Some(imsi.clone());
        let (now, time) = (step.now, step.settings().correlation_time);
        if step.shared.given.put(now, &self.of(&row), imsi.clone(), time).is_err() {
            return self.crowded(step);
        }
        step.store(Question::Put(Key::Correlation(imsi), Row::Correlation(row), time));
        false
    }

    /// Draws an IMSI, and asks whether it stands for somebody already.
    fn draw(&mut self, step: &mut Step<'_>) -> bool {
        self.state = State::Drawing;
        self.draws += 1;
        if self.draws > DRAWS_MAX {
            return self.refuse(Refused::of(Error::SystemFailure), step);
        }
        let correlation = step.shared.correlations.give();
        step.store(Question::Get(Key::Correlation(correlation.clone())));
        self.correlation = Some(correlation);
        false
    }

    fn drawn(&mut self, answer: &Answer, step: &mut Step<'_>) -> bool {
        match (answer, self.correlation.clone()) {
            (Answer::Row(Some(_)), _) => self.draw(step),
            (Answer::Row(None), Some(imsi)) => self.put(imsi, step),
            _ => self.refuse(Refused::of(Error::SystemFailure), step),
        }
    }

    fn stored(&self, answer: &Answer, step: &mut Step<'_>) -> bool {
        match (answer, &self.correlation) {
            (Answer::Row(_), Some(imsi)) => {
                let result = routing_result(imsi, &step.settings().number.clone());
                self.pass(result, step)
            }
            _ => self.refuse(Refused::of(Error::SystemFailure), step),
        }
    }

    fn pass(&self, result: Bytes, step: &mut Step<'_>) -> bool {
        step.count(Metric::Routed);
        step.answer_and_tell(self.asked, Ok(Some(result)), self.told.as_ref());
        true
    }

    fn refuse(&self, refused: Refused, step: &mut Step<'_>) -> bool {
        step.count(Metric::RoutingFailed);
        step.answer_and_tell(self.asked, Err(refused), self.told.as_ref());
        true
    }
}
