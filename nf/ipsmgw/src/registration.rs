//! Third-party registration (TS 24.341 §5.3.3.2, TS 23.204 §6.1): who takes short messages over IP.
//!
//! ```text
//!   REGISTER ─→ Get ─→ Put subscriber ─→ Put identity ─→ 200 ─→ HLR: this gateway serves ─→ who
//!               Expires: 0 ─→ Take subscriber ─→ Take identity ─→ 200 ─→ HLR: no longer     waits
//! ```

mod numbering;

use crate::effects::Register;
use crate::metrics::Metric;
use crate::shared::{Event, Held};
use crate::step::Step;
use crate::store::{Answer, Form, Key, Question, Row, Subscriber};
use machine::Duration;
use map::types::AlertReason;
use mapsms::argument::Argument;
use mapsms::asking::Asking;
use mapsms::identity::{Msisdn, canonical};
use mapsms::subscribers::Turn;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Looking,
    /// Whose the identity was before.
    Whose,
    /// The home subscriber server is asked for the number.
    Numbering,
    Storing,
    Naming,
    /// Whether it is the one that stands.
    Leaving,
    Ending,
    Unnaming,
    Telling,
    Waiting,
    Alerting,
}

/// A third-party registration under way.
#[derive(Debug)]
pub struct Registration {
    transaction: u64,
    register: Register,
    msisdn: Option<Msisdn>,
    state: State,
    is_initial: bool,
    pub(crate) asking: Option<Asking>,
}

impl Registration {
    pub(crate) fn new(transaction: u64, register: Register) -> Self {
        let msisdn = register.msisdn.clone();
        Self {
            transaction,
            register,
            msisdn,
            state: State::Looking,
            is_initial: false,
            asking: None,
        }
    }

    fn subscriber(&self, form: Form) -> Subscriber {
        Subscriber {
            identity: self.register.identity.clone(),
            s_cscf: self.register.s_cscf.clone(),
            imsi: self.register.imsi.clone(),
            contacts: self.register.contacts.clone().unwrap_or_default(),
            form,
        }
    }

    /// How the terminal takes short messages; none: not at all. The gateway's own centre sends
    /// text to those that do not know them.
    fn form(&self, step: &Step<'_>) -> Option<Form> {
        let told = self.register.contacts.as_ref().map(|it| !it.is_empty());
        let form = match told.unwrap_or(step.settings().terminals.take_by_default) {
            true => Some(Form::ShortMessage),
            false => step.settings().local.is_some().then_some(Form::Text),
        };
        form.filter(|_| self.register.expires_s > 0)
    }

    /// Whether the terminal takes short messages.
    fn takes(&self, step: &Step<'_>) -> bool {
        self.form(step).is_some()
    }

    /// Takes an event; whether the flow is over.
    pub(crate) fn on(&mut self, event: Event, step: &mut Step<'_>) -> bool {
        let own = step.settings().msisdn_of(&self.register.identity);
        // What the identity says and what the service information says is the same, if both do.
        let msisdn = self.msisdn.take().filter(|it| own.as_ref().is_none_or(|own| own == it));
        self.msisdn = if self.register.msisdn.is_some() { msisdn } else { own };
        let Some(msisdn) = self.msisdn.clone() else { return self.unnumbered(event, step) };
        if !step.settings().serves(&msisdn) {
            return self.refused(step);
        }
        match (self.state, event) {
            // What is said of one number is dealt with in its order.
            (State::Looking, Event::Begin) => match step.hold(&msisdn, Held::Registration) {
                Turn::Now => self.look(msisdn, step),
                Turn::Later => false,
                Turn::Full => self.failed(step),
            },
            (State::Looking, Event::Turn) => self.look(msisdn, step),
            (State::Waiting, Event::Turn) => {
                step.store(Question::Take(Key::Waiting(msisdn)));
                false
            }
            (_, Event::Stored(Answer::Failed)) => self.failed(step),
            (_, Event::Stored(Answer::Row(row))) => self.stored(msisdn, row, step),
            (State::Telling, Event::Replied(_)) if self.takes(step) => self.wait(msisdn, step),
            (State::Telling | State::Alerting, Event::Replied(_)) => true,
            (_, Event::Due) => self.failed(step),
            _ => false,
        }
    }

    fn look(&mut self, msisdn: Msisdn, step: &mut Step<'_>) -> bool {
        if !self.takes(step) {
            if self.register.expires_s > 0 {
                // Another terminal of the subscriber's may take them.
                step.respond(self.transaction, 200);
                return true;
            }
            self.state = State::Leaving;
        }
        step.store(Question::Get(Key::Subscriber(msisdn)));
        false
    }

    /// Asks who waits for the subscriber.
    fn wait(&mut self, msisdn: Msisdn, step: &mut Step<'_>) -> bool {
        self.state = State::Waiting;
        match step.hold(&msisdn, Held::Waiting) {
            Turn::Now => {
                step.store(Question::Take(Key::Waiting(msisdn)));
                false
            }
            Turn::Later => false,
            Turn::Full => true,
        }
    }

    /// There is no number that is served.
    fn refused(&self, step: &mut Step<'_>) -> bool {
        step.count(Metric::RegistrationRefused);
        step.respond(self.transaction, 403);
        true
    }

    /// The store has no room, or does not answer: nothing stands that was not stored.
    fn failed(&self, step: &mut Step<'_>) -> bool {
        let is_told = matches!(self.state, State::Telling | State::Waiting | State::Alerting);
        if !is_told {
            step.count(Metric::RegistrationRefused);
            step.respond(self.transaction, 503);
        }
        if let (State::Naming, Some(msisdn)) = (self.state, &self.msisdn) {
            step.undo(Key::Subscriber(msisdn.clone()));
        }
        true
    }

    fn stored(&mut self, msisdn: Msisdn, row: Option<Row>, step: &mut Step<'_>) -> bool {
        let time = Duration::from_secs(self.register.expires_s.into());
        match self.state {
            State::Looking => {
                self.is_initial = row.is_none();
                self.state = State::Storing;
                let takes_rp =
                    matches!(&row, Some(Row::Subscriber(it)) if it.form == Form::ShortMessage);
                // A second terminal that knows text alone takes nothing from the first one.
                let form = self.form(step).filter(|_| !takes_rp).unwrap_or_default();
                let row = Row::Subscriber(self.subscriber(form));
                step.store(Question::Put(Key::Subscriber(msisdn), row, time));
            }
            State::Storing => {
                self.state = State::Naming;
                if self.is_named(&msisdn, step) {
                    return self.stored(msisdn, None, step);
                }
                let key = Key::identity(&self.register.identity);
                step.store(Question::Put(key, Row::Identity(msisdn), time));
            }
            State::Naming => {
                step.count(Metric::Registered);
                step.respond(self.transaction, 200);
                step.release();
                if step.settings().local.is_some() {
                    step.reachable(&msisdn);
                    return true;
                }
                // A refresh tells nobody anything new.
                return !self.is_initial || self.tell(msisdn, true, step);
            }
            State::Leaving => {
                // An end that another S-CSCF tells, or that is another identity's, changes nothing.
                let is_own = matches!(&row, Some(Row::Subscriber(it))
                    if canonical(&it.identity) == canonical(&self.register.identity)
                        && it.s_cscf == self.register.s_cscf);
                if !is_own {
                    step.respond(self.transaction, 200);
                    return true;
                }
                self.state = State::Ending;
                step.store(Question::Take(Key::Subscriber(msisdn)));
            }
            State::Ending => {
                self.is_initial = row.is_some();
                self.state = State::Unnaming;
                if self.is_named(&msisdn, step) {
                    return self.stored(msisdn, None, step);
                }
                step.store(Question::Take(Key::identity(&self.register.identity)));
            }
            State::Unnaming => {
                step.respond(self.transaction, 200);
                step.release();
                if !self.is_initial {
                    return true;
                }
                step.count(Metric::Deregistered);
                if step.settings().local.is_some() {
                    return true;
                }
                return self.tell(msisdn, false, step);
            }
            State::Waiting => return self.waited(&msisdn, row, step),
            State::Telling | State::Alerting => return true,
            State::Whose | State::Numbering => {}
        }
        false
    }

    /// Whether the identity says the number itself: no row has to.
    fn is_named(&self, msisdn: &Msisdn, step: &Step<'_>) -> bool {
        step.settings().msisdn_of(&self.register.identity).as_ref() == Some(msisdn)
    }

    /// Tells the HLR whether this gateway serves the subscriber.
    fn tell(&mut self, msisdn: Msisdn, is_registered: bool, step: &mut Step<'_>) -> bool {
        self.state = State::Telling;
        if let Some(hlr) = step.hlr(&msisdn) {
            let gateway = step.settings().number.clone();
            let argument = Argument::Registration { msisdn, gateway, is_registered };
            self.asking = Some(step.ask(argument, hlr));
            return false;
        }
        !is_registered || self.wait(msisdn, step)
    }

    /// The subscriber can be reached: whoever waits may try again.
    fn waited(&mut self, msisdn: &Msisdn, row: Option<Row>, step: &mut Step<'_>) -> bool {
        self.state = State::Alerting;
        step.taken(msisdn);
        if let Some((hlr, imsi)) = step.hlr(msisdn).zip(self.register.imsi.clone()) {
            let argument = Argument::Ready { imsi, reason: AlertReason::MsPresent };
            self.asking = Some(step.ask(argument, hlr));
            return false;
        }
        if let Some(Row::Waiting(waiting)) = row {
            if waiting.is_full {
                // It had no memory; that it is there again does not say that it has some.
                step.keep_waiting(msisdn, waiting);
                return false;
            }
            waiting.centres.iter().for_each(|it| step.alert(msisdn, it));
        }
        true
    }
}
