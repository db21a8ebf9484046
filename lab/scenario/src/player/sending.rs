//! Messages that plays send.

use super::{Player, Want, Wanted, Went};
use crate::came::{self, Violation};
use crate::cast::Casts;
use crate::file::Sent;
use crate::filter::text_of;
use crate::message;
use crate::play::{Dialogue, Play, Stands, Waits};
use crate::program::{Identifier, Made, Number, Program, Send, Sending};
use crate::report::Cause;
use crate::template::Template;
use bytes::Bytes;
use machine::Time;
use sccp::codec::Address;
use std::sync::Arc;
use tcu::{Component, Portion, Request, Speech};

/// Bits of a slot in the reference of a begin, behind two of the dialogue.
const SLOT_BITS: u32 = 24;
/// Bits of a slot's generation there: with all others 50, which JSON carries exactly.
const GENERATION_BITS: u32 = 24;

/// A play, and what its messages are made of.
struct Maker<'a> {
    play: &'a mut Play,
    program: &'a Program,
    casts: &'a mut Casts,
}

fn wrong(words: String) -> Violation {
    (Cause::Value, words)
}

fn set_id(component: &mut Component, is: i8, linked_to: Option<i8>) {
    match component {
        Component::Invoke { id, linked, .. } => {
            *id = is;
            *linked = linked_to.or(*linked);
        }
        Component::Result { id, .. } | Component::Error { id, .. } => *id = is,
        Component::Reject { id, .. } => *id = Some(is),
    }
}

impl Maker<'_> {
    /// The JSON of a template.
    fn text(&self, template: &Template) -> Result<String, Violation> {
        let mut text = String::with_capacity(256);
        template.render(&self.play.scope(self.program), &mut text).map_err(wrong)?;
        Ok(text)
    }

    /// The values that fill a template; none: not all of them are strings.
    fn values(&self, template: &Template) -> Result<Option<Vec<String>>, Violation> {
        template.values(&self.play.scope(self.program)).map_err(wrong)
    }

    fn information(&self, of: &Made<Bytes>) -> Result<Bytes, Violation> {
        match of {
            Made::Fixed(information) => Ok(information.clone()),
            Made::Each(template, _) => message::information(&self.text(template)?).map_err(wrong),
        }
    }

    /// A component, from what its template became before where that can be.
    fn component(
        &mut self,
        of: &Made<Component>,
        speech: Option<Speech>,
    ) -> Result<Component, Violation> {
        let (template, number) = match of {
            Made::Fixed(component) => return Ok(component.clone()),
            Made::Each(template, Number(number)) => (template, *number),
        };
        let Some(values) = self.values(template)? else {
            return message::component(&self.text(template)?, speech).map_err(wrong);
        };
        if let Some(component) = self.casts.component(number, speech, &values) {
            return Ok(component);
        }
        let component = message::component(&template.filled(&values), speech).map_err(wrong)?;
        self.casts.learn_component(number, speech, template, &values, &component);
        Ok(component)
    }

    /// An address, likewise.
    fn address(&mut self, of: &Made<Address>) -> Result<Address, Violation> {
        let (template, number) = match of {
            Made::Fixed(address) => return Ok(*address),
            Made::Each(template, Number(number)) => (template, *number),
        };
        let Some(values) = self.values(template)? else {
            return message::address(&self.text(template)?).map_err(wrong);
        };
        if let Some(address) = self.casts.address(number, &values) {
            return Ok(address);
        }
        let address = message::address(&template.filled(&values)).map_err(wrong)?;
        self.casts.learn_address(number, template, &values, &address);
        Ok(address)
    }

    /// The invoke identifier of a component.
    fn identifier(&mut self, sending: &Sending, dialogue: usize) -> Result<i8, Violation> {
        let of = &mut self.play.dialogues[dialogue];
        match &sending.id {
            Identifier::Next => Ok(of.next_id()),
            Identifier::Answers(name) => of.asked(name.as_deref()).ok_or_else(|| {
                let name = name.as_deref().unwrap_or("any operation");
                wrong(format!("nobody has asked for {name}"))
            }),
            Identifier::Is(template) => {
                let value = template.value(&self.play.scope(self.program)).map_err(wrong)?;
                let text = text_of(&value);
                text.parse().map_err(|_| wrong(format!("{text} is no invoke identifier")))
            }
        }
    }

    /// The components of a message; operations that are asked for, and those that are answered, are
    /// noted.
    fn components(
        &mut self,
        send: &Send,
        mut speech: Option<Speech>,
    ) -> Result<Vec<Component>, Violation> {
        let mut components = Vec::with_capacity(send.components.len());
        for sending in &send.components {
            let mut component = self.component(&sending.is, speech)?;
            let id = self.identifier(sending, send.dialogue)?;
            let of = &mut self.play.dialogues[send.dialogue];
            let linked = match &sending.linked {
                Some(name) => {
                    let id = of.asked(Some(name));
                    Some(id.ok_or_else(|| wrong(format!("nobody has asked for {name}")))?)
                }
                None => None,
            };
            set_id(&mut component, id, linked);
            if let Some(operation) = &sending.operation {
                of.ours.push((id, Arc::clone(operation)));
            } else if !matches!(component, Component::Result { is_last: false, .. }) {
                of.theirs.retain(|it| it.0 != id);
            }
            components.push(component);
            if speech.is_none() {
                speech = Some(Speech::of(None, &components));
            }
        }
        Ok(components)
    }

    fn request(
        &mut self,
        send: &Send,
        slot: usize,
        dialogue: u64,
        portion: Portion,
    ) -> Result<Request, Violation> {
        let own = |portion: Portion| Portion { context: None, ..portion };
        Ok(match send.kind {
            Sent::Begin | Sent::Uni => {
                let none = || wrong("whom it is to is not said".to_owned());
                let (called, calling) = send.addresses.as_ref().ok_or_else(none)?;
                let (called, calling) = (self.address(called)?, self.address(calling)?);
                if send.kind == Sent::Uni {
                    return Ok(Request::Uni { called, calling, portion });
                }
                let of: &mut Dialogue = &mut self.play.dialogues[send.dialogue];
                of.speech = Speech::of(portion.context.as_deref(), &portion.components);
                let reference = Player::reference(slot, self.play.generation, send.dialogue);
                Request::Begin { reference, called, calling, state: None, portion }
            }
            Sent::Continue => Request::Continue { dialogue, state: None, portion: own(portion) },
            Sent::End => Request::End { dialogue, is_prearranged: false, portion: own(portion) },
            Sent::Prearranged => {
                Request::End { dialogue, is_prearranged: true, portion: Portion::default() }
            }
            Sent::Abort | Sent::Call | Sent::Release => Request::UAbort { dialogue, portion },
        })
    }
}

impl Player {
    /// The reference of a begin: slot, generation and dialogue.
    fn reference(slot: usize, generation: u32, dialogue: usize) -> u64 {
        let generation = u64::from(generation) & ((1 << GENERATION_BITS) - 1);
        (generation << SLOT_BITS | slot as u64) << 2 | dialogue as u64
    }

    /// The play and the dialogue of a reference, if it is one of that role.
    pub(super) fn referred(&self, role: usize, reference: u64) -> Option<(usize, usize)> {
        let dialogue = usize::try_from(reference & 3).ok()?;
        let slot = usize::try_from(reference >> 2 & ((1 << SLOT_BITS) - 1)).ok()?;
        let play = self.plays.get(slot).filter(|it| it.is_live)?;
        let is_it = Self::reference(slot, play.generation, dialogue) == reference;
        let roles = &self.program.scenarios.get(play.scenario)?.dialogues;
        (is_it && roles.get(dialogue) == Some(&role)).then_some((slot, dialogue))
    }

    /// A dialogue that was asked for has its number.
    pub(super) fn begun(&mut self, now: Time, role: usize, reference: u64, number: u64) {
        let Some((slot, dialogue)) = self.referred(role, reference) else {
            // Its play has failed meanwhile.
            let request = Request::UAbort { dialogue: number, portion: Portion::default() };
            return self.out.push(Want { role, what: Wanted::Request(request) });
        };
        let play = &mut self.plays[slot];
        if play.dialogues[dialogue].stands == Stands::Begins {
            play.dialogues[dialogue].stands = Stands::Open(number);
            self.dialogues.insert((role, number), (slot, dialogue));
        }
        if play.waits == Waits::Begun(dialogue) {
            play.waits = Waits::Not;
            self.advance(now, slot);
        }
    }

    /// Sends a step's message, unless the dialogue's number is not known yet.
    pub(super) fn send(&mut self, now: Time, slot: usize, send: &Send) -> Result<Went, Violation> {
        let program = Arc::clone(&self.program);
        let play = &mut self.plays[slot];
        let role = program.scenarios[play.scenario].dialogues[send.dialogue];
        if matches!(send.kind, Sent::Call | Sent::Release) {
            return self.send_call(now, slot, send, role);
        }
        let begins = matches!(send.kind, Sent::Begin | Sent::Uni);
        let number = match play.dialogues[send.dialogue].stands {
            Stands::Begins => return Ok(Went::Later(send.dialogue)),
            Stands::Open(number) => number,
            Stands::Not if begins => 0,
            Stands::Not | Stands::Over => return Err(over(play, send.dialogue)),
        };
        let speech = match (begins, &send.context) {
            (true, Some(context)) => Some(Speech::of_context(context)),
            (true, None) => None,
            (false, _) => Some(play.dialogues[send.dialogue].speech),
        };
        let casts = &mut self.casts;
        let mut maker = Maker { play, program: &program, casts };
        let components = maker.components(send, speech)?;
        let information = send.information.as_ref();
        let information = information.map(|it| maker.information(it)).transpose()?;
        let user_information = information.unwrap_or_default();
        let portion = Portion { context: send.context.clone(), user_information, components };
        let request = maker.request(send, slot, number, portion)?;
        match send.kind {
            Sent::Begin => play.dialogues[send.dialogue].stands = Stands::Begins,
            Sent::Continue => {}
            Sent::Call | Sent::Release => {}
            Sent::End | Sent::Prearranged | Sent::Abort | Sent::Uni => {
                play.dialogues[send.dialogue].stands = Stands::Over;
                self.dialogues.remove(&(role, number));
            }
        }
        play.sent.get_or_insert(now);
        play.sent_last = now;
        self.tally.messages_out += u64::from(send.kind != Sent::Prearranged);
        self.out.push(Want { role, what: Wanted::Request(request) });
        Ok(Went::Out)
    }

    /// A call by SIP begins, or ends.
    fn send_call(
        &mut self,
        now: Time,
        slot: usize,
        send: &Send,
        role: usize,
    ) -> Result<Went, Violation> {
        let program = Arc::clone(&self.program);
        let play = &mut self.plays[slot];
        let stands = play.dialogues[send.dialogue].stands;
        let what = match (send.kind, stands) {
            (Sent::Call, Stands::Not) => {
                let template = send.subscriber.as_ref();
                let value = template.map(|it| it.value(&play.scope(&program)));
                let value = value.transpose().map_err(|wrong| (Cause::Value, wrong))?;
                let text = value.as_ref().map(text_of).unwrap_or_default();
                let wrong = || (Cause::Value, format!("{text} is no subscriber"));
                let subscriber: u32 = text.parse().map_err(|_| wrong())?;
                let call = Self::reference(slot, play.generation, send.dialogue);
                play.dialogues[send.dialogue].stands = Stands::Open(call);
                self.dialogues.insert((role, call), (slot, send.dialogue));
                Wanted::Call { call, subscriber }
            }
            (Sent::Release, Stands::Open(call)) => Wanted::Release { call },
            _ => return Err(over(play, send.dialogue)),
        };
        play.sent.get_or_insert(now);
        play.sent_last = now;
        self.out.push(Want { role, what });
        Ok(Went::Out)
    }
}

/// A message is to be sent in a dialogue that is over: what has ended it.
fn over(play: &Play, dialogue: usize) -> Violation {
    let speech = play.dialogues[dialogue].speech;
    let last = play.came.iter().rev().find(|it| it.0 == dialogue);
    match last {
        Some((_, it)) => came::instead(it, speech),
        None => (Cause::Unexpected, "the dialogue is over".into()),
    }
}
