//! What becomes of dialogues that begin at a subsystem of TCAP: no application is there yet, so
//! they are refused, or answered with what they ask for.

use crate::config::sccp::Dialogues;
use ber::Element;
use bytes::Bytes;
use machine::{Machine, Time};
use sccp::Unitdata;
use tcap::codec::{Component, Diagnostic, Dialogue, Message, Payload};
use tcap::{Close, DialogueId, In, Indication, Out, Say, Transactions};

/// Diagnostic of the user: no reason given (Q.773 §4.2.2).
const NO_REASON: i64 = 1;

/// A dialogue that began in this turn.
struct Began {
    id: DialogueId,
    message: Bytes,
    components: Vec<Bytes>,
}

/// What waits for TCAP.
#[derive(Default)]
pub(crate) struct Services {
    waiting: Vec<(Dialogues, In)>,
}

impl Services {
    /// Data came for a subsystem of TCAP.
    pub(crate) fn unitdata(&mut self, dialogues: Dialogues, unitdata: Unitdata) {
        self.waiting.push((dialogues, In::Unitdata(unitdata)));
    }

    /// Data of a dialogue came back.
    pub(crate) fn notice(&mut self, notice: In) {
        self.waiting.push((Dialogues::default(), notice));
    }

    /// Gives what waits to TCAP; what that sends is left in `outs`.
    pub(crate) fn serve(
        &mut self,
        now: Time,
        transactions: &mut Transactions,
        outs: &mut Vec<Out>,
    ) {
        for (dialogues, input) in self.waiting.drain(..) {
            let first = outs.len();
            transactions.step(now, input, outs);
            if let Some(began) = began(&outs[first..]) {
                answer(now, transactions, dialogues, &began, outs);
            }
        }
    }
}

/// The dialogue that a message began, with its components.
fn began(outs: &[Out]) -> Option<Began> {
    let (id, message) = outs.iter().find_map(|out| match out {
        Out::Indicate(id, Indication::Begin { message, .. }) => Some((*id, message.clone())),
        _ => None,
    })?;
    let components = outs.iter().filter_map(|out| match out {
        Out::Indicate(of, Indication::Component(component)) if *of == id => Some(component.clone()),
        _ => None,
    });
    Some(Began { id, message, components: components.collect() })
}

fn answer(
    now: Time,
    transactions: &mut Transactions,
    dialogues: Dialogues,
    began: &Began,
    outs: &mut Vec<Out>,
) {
    // It has just begun, and nothing was said: what is asked for is in order.
    let _ = match dialogues {
        Dialogues::Refused => transactions.abort(began.id, refusal(&began.message), outs),
        Dialogues::Echoed => {
            let elements: Vec<Element<'_>> =
                began.components.iter().filter_map(|it| Element::only(it).ok()).collect();
            let says: Vec<Say<'_>> = elements.iter().filter_map(result).collect();
            transactions.end(now, began.id, &[], &says, outs)
        }
    };
}

/// The dialogue is refused with its context, where it has one.
fn refusal(message: &[u8]) -> Close<'_> {
    let dialogue = Message::read(message).ok().and_then(|message| message.dialogue);
    match dialogue.map(|it| Dialogue::read(&it)) {
        Some(Ok(Dialogue::Request { context, .. })) => {
            Close::Refuse(context.contents(), Diagnostic::User(NO_REASON))
        }
        _ => Close::User(&[]),
    }
}

/// The result of an operation that is asked for: its argument.
fn result<'a>(element: &Element<'a>) -> Option<Say<'a>> {
    let component = Component::read(element).ok()?;
    let Payload::Invoke { code, parameter, .. } = component.payload else { return None };
    let result = Some((code, parameter.map(|it| it.whole())));
    Some(Say::Result { id: component.invoke_id?, is_last: true, result })
}
