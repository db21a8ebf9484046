//! Questions that only the forwarder can answer: they go to it under the runtime's tickets, and
//! nobody waits.

use crate::Dataplane;
use crate::numbers::Kind;
use forwarder::ipc::{self, Reply, Request};
use machine::Time;
use runtime::{Answered, Ask, AskError, ChannelEvent, DEFERRED_TIME, Effects, Ticket};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Questions that wait for the forwarder at once: as many as the runtime defers.
pub const QUESTIONS_MAX: usize = runtime::DEFERRED_MAX;
/// The name of the routing table with number 0, which has no name of its own.
pub const GLOBAL: &str = "global";

/// What parameters of questions name.
const PARAMETERS: [(&str, Kind); 5] = [
    ("port", Kind::Port),
    ("interface", Kind::Interface),
    ("vrf", Kind::Vrf),
    ("bridge", Kind::Bridge),
    ("filter", Kind::Filter),
];
/// What columns of answers number.
const COLUMNS: [(&str, Kind); 7] = [
    ("interface", Kind::Interface),
    ("port", Kind::Port),
    ("vrf", Kind::Vrf),
    ("bridge", Kind::Bridge),
    ("pseudowire", Kind::Pseudowire),
    ("filter", Kind::Filter),
    ("policer", Kind::Policer),
];
/// What numbers in the notes of traced packets stand behind.
const NOTED: [(&str, Kind); 3] =
    [("interface", Kind::Interface), ("out", Kind::Interface), ("vrf", Kind::Vrf)];
/// The key of such a note.
const NOTE: &str = "note";

/// Those that wait, and until when: tickets grow, so that the first one is due first.
#[derive(Default)]
pub(crate) struct Questions {
    waiting: BTreeMap<Ticket, Time>,
    is_open: bool,
}

impl Dataplane {
    /// Asks the forwarder, whoever controls it. Names of ports and interfaces in parameters become
    /// numbers, and numbers in the answer names. `None`: the answer comes by [`Effects::answer`].
    pub fn question(
        &mut self,
        now: Time,
        path: &str,
        ask: &Ask,
        ticket: Ticket,
        out: &mut Effects,
    ) -> Option<Answered> {
        let params = match self.numbered(ask) {
            Ok(params) => params,
            Err(error) => return Some(Err(error)),
        };
        let questions = &mut self.questions;
        // The runtime has given those up by then whose time is over, and refuses one too many.
        while questions.waiting.first_key_value().is_some_and(|(_, until)| *until <= now) {
            questions.waiting.pop_first();
        }
        if questions.waiting.len() >= QUESTIONS_MAX {
            return Some(Err(AskError::Unreachable));
        }
        questions.waiting.insert(ticket, now + DEFERRED_TIME);
        self.open_questions(out);
        let asked = Request::Ask { id: ticket.0, path: path.to_owned(), params };
        let mut written = Ok(());
        out.write(self.channels.questions, |into| written = ipc::write(&asked, into));
        if let Err(broken) = written {
            self.questions.waiting.remove(&ticket);
            return Some(Err(AskError::BadParameter(broken.to_string())));
        }
        None
    }

    pub(crate) fn open_questions(&mut self, out: &mut Effects) {
        if !core::mem::replace(&mut self.questions.is_open, true) {
            out.connect(self.channels.questions, self.to_ask.clone());
        }
    }

    fn numbered(&self, ask: &Ask) -> Result<Vec<(String, String)>, AskError> {
        let mut params = Vec::new();
        for (name, value) in &ask.params {
            let is_global = name == "vrf" && value == GLOBAL;
            let kind = PARAMETERS.iter().find(|(known, _)| known == name && !is_global);
            let value = match kind {
                None => value.clone(),
                Some((_, kind)) => {
                    let number = self.numbers.known(*kind, value);
                    number.ok_or_else(|| AskError::NotFound(format!("{name} {value}")))?.to_string()
                }
            };
            params.push((name.clone(), value));
        }
        Ok(params)
    }

    /// Takes what happened on the channel of questions.
    pub(crate) fn asked(&mut self, event: ChannelEvent<'_>, out: &mut Effects) {
        match event {
            ChannelEvent::Up | ChannelEvent::Packet(..) | ChannelEvent::Shed(_) => {}
            ChannelEvent::Absent(why) => self.give_up(why.unwrap_or("it is being started"), out),
            ChannelEvent::Down(why) => self.give_up(why, out),
            ChannelEvent::Message(message) => match ipc::read(message) {
                Ok(Some((Reply::Answer { id, answer }, _))) => {
                    let ticket = Ticket(id);
                    if self.questions.waiting.remove(&ticket).is_some() {
                        out.answer(ticket, self.named(answer));
                    } else {
                        self.measured(id, answer);
                    }
                }
                // Who only asks proves nothing, and is told nothing else.
                Ok(_) => {}
                Err(broken) => {
                    out.hang_up(self.channels.questions);
                    self.give_up(&broken.to_string(), out);
                }
            },
        }
    }

    fn give_up(&mut self, why: &str, out: &mut Effects) {
        self.questions.is_open = false;
        for ticket in std::mem::take(&mut self.questions.waiting).into_keys() {
            out.answer(ticket, Err(self.unanswered(why.to_owned())));
        }
    }

    /// Why there is no answer: what was asked, while the forwarder stands.
    fn unanswered(&self, why: String) -> AskError {
        if self.has_channel() { AskError::BadParameter(why) } else { AskError::Unreachable }
    }

    pub(crate) fn named(&self, answer: Result<Value, String>) -> Answered {
        let mut answer = answer.map_err(|why| self.unanswered(why))?;
        // Rows as they are, or those of a page.
        let rows = match answer.get_mut("rows") {
            Some(rows) => rows.as_array_mut(),
            None => answer.as_array_mut(),
        };
        rows.into_iter().flatten().for_each(|row| self.name_numbers(row));
        Ok(answer)
    }

    fn name_numbers(&self, row: &mut Value) {
        for (key, kind) in COLUMNS {
            let number = row.get(key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
            if let Some(name) = number.and_then(|number| self.numbers.name(kind, number)) {
                row[key] = json!(name);
            }
        }
        if let Some(note) = row[NOTE].as_str() {
            row[NOTE] = self.named_note(note).into();
        }
    }

    /// A note of a traced packet with names in place of numbers: those behind the words of
    /// [`NOTED`], and behind an arrow between two interfaces.
    fn named_note(&self, note: &str) -> String {
        let mut before: Option<Kind> = None;
        let mut words = Vec::new();
        for word in note.split(' ') {
            let number = word.parse::<u32>().ok();
            let name = number.zip(before).and_then(|(number, kind)| match (kind, number) {
                (Kind::Vrf, 0) => Some(GLOBAL),
                // It was not looked up: the packet is dropped, or waits for its neighbour.
                (Kind::Interface, 0) => Some("none"),
                (kind, number) => self.numbers.name(kind, number),
            });
            words.push(name.unwrap_or(word).to_owned());
            let kind = NOTED.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind);
            // `interface 3 → 5`: the number behind the arrow is one of the same kind.
            let goes_on = word == "→" || number.is_some();
            before = kind.or_else(|| before.filter(|_| goes_on));
        }
        words.join(" ")
    }
}
