//! What is said in dialogues, told to the service assurance on the trail of the message that it is
//! about: SIP and MAP on one ladder. Operations and errors by their names; no argument leaves.

use machine::Time;
use map::{Error, Operation};
use runtime::Flow;
use sccp::codec::Address;
use std::collections::BTreeMap;
use tcu::{Code, Component, Indication, Portion, Request};
use trail::{Capture, Event, Field};

/// The trails of dialogues that stand, and the connections that these are on.
#[derive(Debug, Default)]
pub struct Ladder {
    ways: BTreeMap<u64, Way>,
}

/// A connection, and a trail.
pub type Way = (Option<Flow>, u64);

/// A primitive that is to be told.
struct Said<'a> {
    kind: &'static str,
    peer: Option<&'a Address>,
    portion: Option<&'a Portion>,
}

impl Ladder {
    /// A dialogue stands: its trail, and its connection.
    pub fn opened(&mut self, dialogue: u64, way: Way) {
        self.ways.insert(dialogue, way);
    }

    /// A primitive came.
    pub fn received(&mut self, capture: &mut Capture, now: Time, it: &Indication) {
        let Some(dialogue) = it.dialogue() else { return };
        let Some(way) = self.ways.get(&dialogue).copied() else { return };
        if let Some(said) = indicated(it) {
            tell(capture, now, way, false, &said);
        }
        let is_lost = matches!(it, Indication::Refused { .. });
        if it.is_last() || is_lost {
            self.ways.remove(&dialogue);
        }
    }

    /// A request is on its way; of a dialogue that begins, how.
    pub fn sent(&mut self, capture: &mut Capture, now: Time, it: &Request, begins: Option<Way>) {
        let way = it.dialogue().and_then(|it| self.ways.get(&it).copied()).or(begins);
        if let Some((way, said)) = way.zip(asked(it)) {
            tell(capture, now, way, true, &said);
        }
        if let Request::End { dialogue, .. } | Request::UAbort { dialogue, .. } = it {
            self.ways.remove(dialogue);
        }
    }
}

fn indicated(it: &Indication) -> Option<Said<'_>> {
    let (kind, peer) = match it {
        Indication::Begin { calling, .. } => ("BEGIN", Some(calling)),
        Indication::Continue { .. } => ("CONTINUE", None),
        Indication::End { .. } => ("END", None),
        Indication::UAbort { .. } => ("U-ABORT", None),
        Indication::PAbort { .. } => ("P-ABORT", None),
        Indication::Notice { .. } => ("NOTICE", None),
        Indication::Cancel { .. } => ("L-CANCEL", None),
        Indication::LocalReject { .. } => ("L-REJECT", None),
        _ => return None,
    };
    Some(Said { kind, peer, portion: it.portion() })
}

fn asked(it: &Request) -> Option<Said<'_>> {
    let (kind, peer) = match it {
        Request::Begin { called, .. } => ("BEGIN", Some(called)),
        Request::Continue { .. } => ("CONTINUE", None),
        Request::End { .. } => ("END", None),
        Request::UAbort { .. } => ("U-ABORT", None),
        _ => return None,
    };
    Some(Said { kind, peer, portion: it.portion() })
}

fn tell(capture: &mut Capture, now: Time, way: Way, is_sent: bool, said: &Said<'_>) {
    let (Some(flow), trail) = way else { return };
    if !capture.is_on() {
        return;
    }
    let components = said.portion.iter().flat_map(|it| &it.components);
    let names: Vec<String> = components.clone().map(name_of).collect();
    let message = format!("TC-{} {}", said.kind, names.join(", "));
    let title = said.peer.and_then(|it| it.title).map(|it| it.digits.to_string());
    let octets: usize = components.map(parameter_octets).sum();
    let mut fields = Vec::new();
    if let Some(title) = &title {
        fields.push(("peer", Field::Text(title.as_bytes())));
    }
    fields.push(("message", Field::Text(message.trim_end().as_bytes())));
    fields.push(("octets", Field::Number(octets as u64)));
    let event = if is_sent { Event::OperationSent } else { Event::OperationReceived };
    capture.event(now, &flow, trail, event, &fields);
}

/// A component by the names of MAP.
fn name_of(component: &Component) -> String {
    let operation = |code: &Code| match code {
        Code::Local(code) => {
            Operation::of(*code).map_or_else(|| code.to_string(), |it| it.name().to_owned())
        }
        Code::Global(_) => "operation".to_owned(),
    };
    match component {
        Component::Invoke { code, .. } => operation(code),
        Component::Result { result: Some((code, _)), .. } => {
            format!("result of {}", operation(code))
        }
        Component::Result { .. } => "result".to_owned(),
        Component::Error { code: Code::Local(code), .. } => {
            Error::of(*code).map_or_else(|| format!("error {code}"), |it| it.name().to_owned())
        }
        Component::Error { .. } => "error".to_owned(),
        Component::Reject { .. } => "reject".to_owned(),
    }
}

fn parameter_octets(component: &Component) -> usize {
    let parameter = match component {
        Component::Invoke { parameter, .. } | Component::Error { parameter, .. } => {
            parameter.as_ref()
        }
        Component::Result { result, .. } => result.as_ref().and_then(|it| it.1.as_ref()),
        Component::Reject { .. } => None,
    };
    parameter.map_or(0, bytes::Bytes::len)
}
