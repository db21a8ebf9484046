//! What a message of a dialogue says in words: the line of a ladder, why something failed, and all
//! of it in full, parameters as JSON by their names in ASN.1.

use super::ends::Ends;
use super::unit::{Unit, show};
use crate::operation::Operation;
use bytes::Bytes;
use sccp::codec::{Form, ReturnCause, Segmentation, Word};
use std::fmt::Write as _;
use tcap::codec::{
    Code, Component, Diagnostic, Dialogue, Message, MessageType, PAbortCause, Payload,
};
use tcu::{Speech, component_json, context_name, problem_name};

/// Operations that wait for an answer, which are remembered.
const ASKED_MAX: usize = 64;
/// Components of a message that are shown.
const COMPONENTS_MAX: usize = 64;
/// Octets of an object identifier that are written out.
const OID_BYTES_MAX: usize = 64;
/// The subsystems of CAP and of the gsmSSF's side of it (TS 23.003 §8).
const CAP_SUBSYSTEM: u8 = 146;

/// What was said in a dialogue so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Talk {
    speech: Speech,
    /// Who speaks.
    pub(super) ends: Ends,
    /// Operations that were asked for, by invoke identifier.
    asked: Vec<(i8, Option<Operation>)>,
    reassembles: bool,
    pending: Option<Pending>,
}

/// What a message says.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// The line of the ladder.
    pub(crate) title: String,
    /// Why something failed, and the number that says it.
    pub(crate) failure: Option<(Failure, String, u16)>,
    /// The first operation that is asked for.
    pub(crate) operation: Option<Operation>,
    /// The message of TCAP; empty where not all of it has come.
    pub(crate) octets: Bytes,
}

/// How something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// By a return error, by TCAP or by SCCP.
    Failed,
    /// It was refused, or rejected.
    Rejected,
}

/// What the context of a message says that is spoken.
pub(super) fn context_of(message: &Message<'_>) -> Speech {
    let dialogue = message.dialogue.and_then(|it| Dialogue::read(&it).ok());
    match &dialogue {
        Some(
            Dialogue::Request { context, .. }
            | Dialogue::Response { context, .. }
            | Dialogue::Unidirectional { context, .. },
        ) => Speech::of_context(context.contents()),
        _ => Speech::Unknown,
    }
}

/// What is spoken in a message: what its context says, what was known before, what its first
/// operation says, or else what its subsystems are.
fn speech_of(unit: &Unit<'_>, message: &Message<'_>, known: Speech) -> Speech {
    let context = context_of(message);
    if context != Speech::Unknown {
        return context;
    }
    if known != Speech::Unknown {
        return known;
    }
    let is_cap =
        [&unit.sender, &unit.receiver].iter().any(|it| it.subsystem == Some(CAP_SUBSYSTEM));
    if is_cap {
        return Speech::Cap(cap::Context::GsmSsf, 4);
    }
    let first = message.components().flatten().next().and_then(|it| match it.payload {
        Payload::Invoke { code: Code::Local(code), .. } => Some(code),
        _ => None,
    });
    match (message.kind, first) {
        (MessageType::Begin | MessageType::Unidirectional, Some(code)) => Speech::first(Some(code)),
        _ => Speech::Map(map::Context::ShortMsgGateway, 3),
    }
}

/// Segments of a message that have come.
#[derive(Debug, Clone)]
struct Pending {
    name: String,
    /// Segments of the whole.
    count: u8,
    /// Those that are still to come.
    remaining: u8,
    octets: Vec<u8>,
}

impl Talk {
    /// One that puts segments together: a page does, what runs keeps none of them.
    pub(crate) fn reassembling() -> Self {
        Self { reassembles: true, ..Self::default() }
    }

    /// What is spoken.
    pub(crate) const fn speech(&self) -> Speech {
        self.speech
    }

    /// Takes a message in; what it says.
    pub(crate) fn take(&mut self, unit: &Unit<'_>) -> Said {
        let mut said = Said::default();
        if let Some(head) = unit.head {
            head.kind.name().clone_into(&mut said.title);
        }
        if let Some(number) = unit.cause() {
            let cause = ReturnCause::of(number).map_or("unknown cause", ReturnCause::name);
            said.title = format!("Returned: {cause}");
            said.failure = Some((Failure::Failed, format!("SCCP: {cause}"), number.into()));
            return said;
        }
        match unit.segmentation() {
            Some(segmentation) => self.segment(unit, segmentation, &mut said),
            None => said.octets = Bytes::copy_from_slice(unit.sccp.data),
        }
        let octets = said.octets.clone();
        match Message::read(&octets) {
            Ok(message) => self.whole(unit, &message, &mut said),
            Err(_) if unit.segmentation().is_none() => said.title.push_str(", not well-formed"),
            Err(_) => {}
        }
        said
    }

    fn segment(&mut self, unit: &Unit<'_>, it: Segmentation, said: &mut Said) {
        let name = unit.segments().unwrap_or_default();
        let is_next = |pending: &Pending| {
            pending.name == name && pending.remaining.checked_sub(1) == Some(it.remaining)
        };
        let data = unit.sccp.data;
        let pending = match self.pending.take() {
            Some(pending) if !it.is_first && is_next(&pending) => {
                let octets = [&pending.octets, data].concat();
                Some(Pending { octets, remaining: it.remaining, ..pending })
            }
            _ if it.is_first => {
                let count = it.remaining + 1;
                let octets = if self.reassembles { data.to_vec() } else { Vec::new() };
                Some(Pending { name, count, remaining: it.remaining, octets })
            }
            _ => None,
        };
        let place = match &pending {
            Some(pending) => {
                format!("segment {} of {}", pending.count - it.remaining, pending.count)
            }
            None => format!("segment, {} to come", it.remaining),
        };
        match said.title.as_str() {
            "" => said.title = place,
            _ => {
                let _ = write!(said.title, ", {place}");
            }
        }
        match pending {
            Some(pending) if it.remaining == 0 => said.octets = pending.octets.into(),
            pending => self.pending = pending,
        }
    }

    /// A message of which all has come.
    fn whole(&mut self, unit: &Unit<'_>, message: &Message<'_>, said: &mut Said) {
        message.kind.name().clone_into(&mut said.title);
        self.speech = speech_of(unit, message, self.speech);
        self.of_dialogue(message, said);
        let mut parts = Vec::new();
        let mut count = 0usize;
        for component in message.components() {
            count += 1;
            if count > COMPONENTS_MAX {
                continue;
            }
            match component {
                Ok(component) => parts.push(self.component(&component, said)),
                Err(_) => parts.push("not well-formed".to_owned()),
            }
        }
        if count > COMPONENTS_MAX {
            parts.push(and_more(count));
        }
        if !parts.is_empty() {
            let _ = write!(said.title, " {}", parts.join(", "));
        }
    }

    /// Of the dialogue portion, and of an abort, what is no success.
    fn of_dialogue(&self, message: &Message<'_>, said: &mut Said) {
        let why = refusal(message);
        let number = message.p_abort.and_then(|it| u16::try_from(it).ok()).unwrap_or_default();
        if let Some((how, why)) = why {
            let _ = write!(said.title, ": {why}");
            said.failure = Some((how, why, number));
        }
    }

    fn component(&mut self, component: &Component<'_>, said: &mut Said) -> String {
        let id = component.invoke_id;
        match &component.payload {
            Payload::Invoke { code, .. } => {
                let operation = Operation::of(self.speech, code);
                said.operation = said.operation.or(operation);
                self.answered(id);
                if let Some(id) = id.filter(|_| self.asked.len() < ASKED_MAX) {
                    self.asked.push((id, operation));
                }
                self.operation(code)
            }
            Payload::ReturnResult { is_last, result } => {
                let name = match result {
                    Some((code, _)) => self.operation(code),
                    None => self.asked(id).to_owned(),
                };
                if *is_last {
                    self.answered(id);
                }
                let what = if *is_last { "result" } else { "part of result" };
                format!("{what} {name}").trim_end().to_owned()
            }
            Payload::ReturnError { code, .. } => {
                self.answered(id);
                let name = match code {
                    Code::Local(code) => self.speech.error_name(*code).map(str::to_owned),
                    Code::Global(_) => None,
                };
                let name = name.unwrap_or_else(|| number(code));
                let status = match code {
                    Code::Local(code) => u16::try_from(*code).unwrap_or_default(),
                    Code::Global(_) => 0,
                };
                said.failure = Some((Failure::Failed, name.clone(), status));
                format!("error {name}")
            }
            Payload::Reject(problem) => {
                self.answered(id);
                let name = problem_name(*problem);
                said.failure = Some((Failure::Rejected, format!("reject {name}"), 0));
                format!("reject {name}")
            }
        }
    }

    fn operation(&self, code: &Code<'_>) -> String {
        let name = match code {
            Code::Local(code) => self.speech.operation_name(*code),
            Code::Global(_) => None,
        };
        name.map_or_else(|| format!("operation {}", number(code)), str::to_owned)
    }

    fn asked(&self, id: Option<i8>) -> &'static str {
        let found = self.asked.iter().find(|(known, _)| Some(*known) == id);
        found.and_then(|(_, operation)| *operation).map_or("", Operation::name)
    }

    /// Nothing more is expected of that invocation.
    fn answered(&mut self, id: Option<i8>) {
        self.asked.retain(|(known, _)| Some(*known) != id);
    }

    /// The components of a message as JSON, each by the names of what is spoken; of very many the
    /// first ones.
    pub(crate) fn components(&self, octets: &Bytes) -> Vec<String> {
        let message = Message::read(octets).ok();
        let components = message.iter().flat_map(Message::components).take(COMPONENTS_MAX);
        components.flatten().filter_map(|it| component_json(&it, octets, self.speech)).collect()
    }
}

fn and_more(count: usize) -> String {
    format!("... and {} more", count - COMPONENTS_MAX)
}

fn number(code: &Code<'_>) -> String {
    match code {
        Code::Local(code) => code.to_string(),
        Code::Global(oid) if oid.contents().len() > OID_BYTES_MAX => "of a long name".to_owned(),
        Code::Global(oid) => oid.to_string(),
    }
}

/// Why a dialogue is refused or broken off.
fn refusal(message: &Message<'_>) -> Option<(Failure, String)> {
    if let Some(number) = message.p_abort {
        let cause = u8::try_from(number).ok().and_then(PAbortCause::of);
        let name = cause.map_or_else(|| format!("cause {number}"), |it| it.name().to_owned());
        return Some((Failure::Failed, name));
    }
    let dialogue = message.dialogue.and_then(|it| Dialogue::read(&it).ok());
    match dialogue {
        Some(Dialogue::Response { is_refused: true, diagnostic, .. }) => {
            let why = match diagnostic {
                Diagnostic::User(2) => "context not supported",
                Diagnostic::Provider(2) => "no common dialogue portion",
                _ => "no reason given",
            };
            Some((Failure::Rejected, format!("refused, {why}")))
        }
        _ if message.kind != MessageType::Abort => None,
        Some(Dialogue::Abort { by_provider: true, .. }) => {
            Some((Failure::Failed, "by the dialogue's provider".to_owned()))
        }
        _ => Some((Failure::Rejected, "by the user".to_owned())),
    }
}

/// The message in full: addresses, transactions, context, components.
pub(crate) fn full(unit: &Unit<'_>, octets: &Bytes, components: &[String]) -> String {
    let kind = match (unit.sccp.form, unit.cause()) {
        (Form::Basic, None) => "UDT",
        (Form::Extended, None) => "XUDT",
        (Form::Long, None) => "LUDT",
        (Form::Basic, Some(_)) => "UDTS",
        (Form::Extended, Some(_)) => "XUDTS",
        (Form::Long, Some(_)) => "LUDTS",
    };
    let address = |it: &sccp::codec::Address| {
        let digits = it.title.map(|title| title.digits.to_string());
        let at = it.point_code.map(show);
        let subsystem = it.subsystem.map(|it| format!("subsystem {it}"));
        let parts: Vec<String> = [digits, at, subsystem].into_iter().flatten().collect();
        parts.join(", ")
    };
    let mut out = format!("{kind} from node {}\n", show(unit.opc));
    // Writing to a string cannot fail.
    let _ = writeln!(out, "calling: {}", address(&unit.sccp.calling));
    let _ = writeln!(out, "called: {}", address(&unit.sccp.called));
    if let Word::Service(number) = unit.sccp.word {
        let cause = ReturnCause::of(number).map_or("unknown", ReturnCause::name);
        let _ = writeln!(out, "return cause: {number}, {cause}");
    }
    if let Some(it) = unit.sccp.segmentation {
        let first = if it.is_first { "the first" } else { "a later" };
        let _ = writeln!(
            out,
            "segmentation: {first} segment of {:06x}, {} to come",
            it.reference, it.remaining
        );
    }
    if let Some(head) = unit.head {
        let _ = writeln!(out, "\n{}", head.kind.name());
    }
    let ids = unit.transactions();
    for (what, id) in ["transaction at who sent it", "transaction at who gets it"].iter().zip(&ids)
    {
        if let Some(id) = id {
            let _ = writeln!(out, "{what}: {id}");
        }
    }
    let Ok(message) = Message::read(octets) else { return out };
    if let Some(words) = dialogue_words(&message) {
        out.push_str(&words);
    }
    if let Some((_, why)) = refusal(&message) {
        let _ = writeln!(out, "why: {why}");
    }
    for component in components {
        out.push('\n');
        out.push_str(&pretty(component));
        out.push('\n');
    }
    let count = message.components().count();
    if count > COMPONENTS_MAX {
        let _ = writeln!(out, "\n{}", and_more(count));
    }
    out
}

fn dialogue_words(message: &Message<'_>) -> Option<String> {
    let dialogue = message.dialogue?;
    let Ok(dialogue) = Dialogue::read(&dialogue) else {
        return Some("dialogue portion: not well-formed\n".to_owned());
    };
    let (pdu, context) = match &dialogue {
        Dialogue::Request { context, .. } => ("AARQ", context),
        Dialogue::Unidirectional { context, .. } => ("AUDT", context),
        Dialogue::Response { context, .. } => ("AARE", context),
        Dialogue::Abort { .. } => return Some("dialogue: ABRT\n".to_owned()),
        Dialogue::Other(..) => return None,
    };
    Some(format!("dialogue: {pdu}\ncontext: {}\n", context_name(context.contents())))
}

/// JSON over several lines: its names stay in their order.
pub(crate) fn pretty(json: &str) -> String {
    let (mut out, mut depth, mut in_string, mut is_escaped) = (String::new(), 0usize, false, false);
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(core::iter::repeat_n("  ", depth));
    };
    let mut letters = json.chars().peekable();
    while let Some(letter) = letters.next() {
        if in_string {
            out.push(letter);
            in_string = is_escaped || letter != '"';
            is_escaped = !is_escaped && letter == '\\';
            continue;
        }
        match letter {
            '"' => {
                in_string = true;
                out.push(letter);
            }
            '{' | '[' if letters.peek().is_some_and(|next| matches!(next, '}' | ']')) => {
                out.push(letter);
                out.extend(letters.next());
            }
            '{' | '[' => {
                depth += 1;
                out.push(letter);
                line(&mut out, depth);
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(letter);
            }
            ',' => {
                out.push(letter);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_spread_over_lines_and_stays_the_same() {
        let json = r#"{"invoke":1,"list":[],"argument":{"a":"x\",{","b":[1,2]}}"#;
        let spread = pretty(json);
        assert!(spread.starts_with("{\n  \"invoke\": 1,\n  \"list\": [],\n"), "{spread}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&spread), read(json));
    }
}
