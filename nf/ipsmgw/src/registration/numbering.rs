//! The number of an identity that has none: as it was told before, or as the home subscriber server
//! says (TS 29.328 §7.6.9).

use super::{Registration, State};
use crate::shared::Event;
use crate::step::Step;
use crate::store::{Answer, Key, Question, Row};
use mapsms::identity::Msisdn;
use smsdiameter::{HomeAnswer, HomeQuestion};

impl Registration {
    /// Takes an event while the number is not known; whether the flow is over.
    pub(super) fn unnumbered(&mut self, event: Event, step: &mut Step<'_>) -> bool {
        // Two numbers that differ are none.
        let is_asked = step.settings().home.numbers && self.register.msisdn.is_none();
        let identity = self.register.identity.clone();
        match (self.state, event) {
            (State::Looking, Event::Begin) if is_asked => {
                self.state = State::Whose;
                step.store(Question::Get(Key::identity(&identity)));
                false
            }
            (State::Whose, Event::Stored(Answer::Row(Some(Row::Identity(msisdn))))) => {
                self.numbered(msisdn, step)
            }
            (State::Whose, Event::Stored(Answer::Row(_))) if self.register.expires_s == 0 => {
                // Nothing stands that could end.
                step.respond(self.transaction, 200);
                true
            }
            (State::Whose, Event::Stored(Answer::Row(_))) => {
                self.state = State::Numbering;
                step.ask_home(HomeQuestion::Number(identity));
                false
            }
            (State::Numbering, Event::Home(HomeAnswer::Number(Some(msisdn)))) => {
                self.numbered(msisdn, step)
            }
            (State::Looking, _) | (State::Numbering, Event::Home(HomeAnswer::Number(None))) => {
                self.refused(step)
            }
            (_, Event::Stored(Answer::Failed) | Event::Home(HomeAnswer::Failed) | Event::Due) => {
                self.failed(step)
            }
            _ => false,
        }
    }

    fn numbered(&mut self, msisdn: Msisdn, step: &mut Step<'_>) -> bool {
        self.register.msisdn = Some(msisdn.clone());
        self.msisdn = Some(msisdn);
        self.state = State::Looking;
        self.on(Event::Begin, step)
    }
}
