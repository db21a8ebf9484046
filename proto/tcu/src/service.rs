//! An application as a trait, and how it meets the transactions of a gateway; services that a
//! gateway has inside, and any program.

mod hlr;
mod monitor;
mod subscribers;

pub use hlr::Hlr;
pub use monitor::Monitor;
pub use subscribers::{Subscribers, Unusable};

use crate::names::Speech;
use crate::primitive::{Code, Component, Indication, Portion, Refusal, Request};
use ber::{Element, Oid};
use bytes::Bytes;
use machine::{Duration, Time};
use tcap::codec::{self, Diagnostic, Dialogue, Message, Payload};
use tcap::{Begin, Close, DialogueId, Out, Refused, Say, Transactions, UAbort};

/// Diagnostics of the user (Q.773 §4.2.2): no reason given, application-context-name-not-supported.
const NO_REASON: i64 = 1;
const NOT_SUPPORTED: i64 = 2;

/// An application: it is told indications, and adds what it wants to `wants`. The same inside the
/// gateway and in a program apart.
///
/// ```
/// use tcu::{Component, Indication, Portion, Request, Service};
///
/// /// Answers whatever is asked for with an empty result.
/// struct Empty;
///
/// impl Service for Empty {
///     fn indicated(&mut self, _: machine::Time, it: Indication, wants: &mut Vec<Request>) {
///         let Indication::Begin { dialogue, portion, .. } = it else { return };
///         let result = |it: &Component| match it {
///             Component::Invoke { id, .. } => {
///                 Some(Component::Result { id: *id, is_last: true, result: None })
///             }
///             _ => None,
///         };
///         let portion = Portion::of(portion.components.iter().filter_map(result).collect());
///         wants.push(Request::End { dialogue, is_prearranged: false, portion });
///     }
/// }
/// ```
pub trait Service {
    /// Takes one indication.
    fn indicated(&mut self, now: Time, it: Indication, wants: &mut Vec<Request>);
}

/// Refuses every dialogue that begins, without a reason.
#[derive(Debug, Clone, Copy, Default)]
pub struct Refuse;

impl Service for Refuse {
    fn indicated(&mut self, _now: Time, it: Indication, wants: &mut Vec<Request>) {
        if let Indication::Begin { dialogue, portion, .. } = it {
            let portion = Portion { context: portion.context, ..Portion::default() };
            wants.push(Request::UAbort { dialogue, portion });
        }
    }
}

/// Ends every dialogue that begins, each operation with its argument as its result.
#[derive(Debug, Clone, Copy, Default)]
pub struct Echo;

impl Service for Echo {
    fn indicated(&mut self, _now: Time, it: Indication, wants: &mut Vec<Request>) {
        let Indication::Begin { dialogue, portion, .. } = it else { return };
        let result = |it: Component| match it {
            Component::Invoke { id, code, parameter, .. } => {
                Some(Component::Result { id, is_last: true, result: Some((code, parameter)) })
            }
            _ => None,
        };
        let components = portion.components.into_iter().filter_map(result).collect();
        let portion = Portion::of(components);
        wants.push(Request::End { dialogue, is_prearranged: false, portion });
    }
}

/// What the users are told by these outputs of the transactions, a message with its components.
#[must_use]
pub fn indications(outs: &[Out]) -> Vec<Indication> {
    let mut told: Vec<Indication> = Vec::new();
    for out in outs {
        match out {
            Out::Unitdata(_) => {}
            Out::Unidirectional { called, calling, message } => {
                let (called, calling) = (*called, *calling);
                told.push(Indication::Uni { called, calling, portion: unidirectional(message) });
            }
            Out::Indicate(id, tcap::Indication::Component(octets)) => {
                if let (Some(to), Some(component)) =
                    (open_portion(&mut told, id.number()), component(octets))
                {
                    to.components.push(component);
                }
            }
            Out::Indicate(id, it) => told.push(indication(id.number(), it)),
        }
    }
    told
}

/// Where the components of a dialogue's message belong: to its last indication that has some.
fn open_portion(told: &mut [Indication], number: u64) -> Option<&mut Portion> {
    told.iter_mut().rev().find_map(|it| match it {
        Indication::Begin { dialogue, portion, .. }
        | Indication::Continue { dialogue, portion }
        | Indication::End { dialogue, portion }
            if *dialogue == number =>
        {
            Some(portion)
        }
        _ => None,
    })
}

fn indication(dialogue: u64, it: &tcap::Indication) -> Indication {
    match it {
        tcap::Indication::Begin { called, calling, message } => Indication::Begin {
            dialogue,
            called: *called,
            calling: *calling,
            is_again: false,
            portion: dialogue_portion(message),
        },
        tcap::Indication::Continue(message) => {
            Indication::Continue { dialogue, portion: dialogue_portion(message) }
        }
        tcap::Indication::End(message) => {
            Indication::End { dialogue, portion: dialogue_portion(message) }
        }
        tcap::Indication::UAbort(why, message) => Indication::UAbort {
            dialogue,
            refused: match why {
                UAbort::User => None,
                UAbort::Refused(diagnostic) => Some(*diagnostic),
            },
            portion: dialogue_portion(message),
        },
        tcap::Indication::PAbort(cause) => Indication::PAbort { dialogue, cause: *cause },
        tcap::Indication::LocalReject(id, problem) => {
            Indication::LocalReject { dialogue, id: *id, problem: *problem }
        }
        tcap::Indication::Cancel(id) => Indication::Cancel { dialogue, id: *id },
        tcap::Indication::Notice(cause) => Indication::Notice { dialogue, cause: *cause },
        // Its message has taken it already.
        tcap::Indication::Component(_) => {
            Indication::Continue { dialogue, portion: Portion::default() }
        }
    }
}

/// Context and user information of a message.
fn dialogue_portion(message: &Bytes) -> Portion {
    let mut portion = Portion::default();
    let external = Message::read(message).ok().and_then(|it| it.dialogue);
    let of = |octets: &[u8]| match octets.is_empty() {
        true => Bytes::new(),
        false => message.slice_ref(octets),
    };
    match external.map(|it| (it, Dialogue::read(&it))) {
        Some((
            _,
            Ok(
                Dialogue::Request { context, user_information, .. }
                | Dialogue::Unidirectional { context, user_information, .. }
                | Dialogue::Response { context, user_information, .. },
            ),
        )) => {
            portion.context = Some(of(context.contents()));
            portion.user_information = of(externals(user_information));
        }
        Some((_, Ok(Dialogue::Abort { user_information, .. }))) => {
            portion.user_information = of(externals(user_information));
        }
        Some((external, Ok(Dialogue::Other(..)))) => {
            portion.user_information = of(external.whole());
        }
        _ => {}
    }
    portion
}

/// The octets of user information; none where something is no EXTERNAL, which Q.773 §4.2.2 wants
/// and TCAP does not look at.
fn externals(of: codec::UserInformation<'_>) -> &[u8] {
    let all = of.iter().map(|it| it.whole().len()).sum::<usize>();
    let are = of.iter().all(|it| it.tag() == ber::Tag::EXTERNAL) && all == of.octets().len();
    if are { of.octets() } else { &[] }
}

fn unidirectional(message: &Bytes) -> Portion {
    let mut portion = dialogue_portion(message);
    if let Ok(read) = Message::read(message) {
        let all = read.components().map_while(Result::ok);
        portion.components = all.filter_map(|it| owned(&it, message)).collect();
    }
    portion
}

fn component(octets: &Bytes) -> Option<Component> {
    let element = Element::only(octets).ok()?;
    owned(&codec::Component::read(&element).ok()?, octets)
}

/// A component that keeps its message; none without the identifier that it must have.
pub(crate) fn owned(component: &codec::Component<'_>, message: &Bytes) -> Option<Component> {
    let code = |it: codec::Code<'_>| match it {
        codec::Code::Local(number) => Code::Local(number),
        codec::Code::Global(oid) => Code::Global(message.slice_ref(oid.contents())),
    };
    let whole = |it: Option<Element<'_>>| it.map(|it| message.slice_ref(it.whole()));
    let id = component.invoke_id;
    Some(match component.payload {
        Payload::Invoke { linked_id, code: which, parameter } => Component::Invoke {
            id: id?,
            linked: linked_id,
            code: code(which),
            parameter: whole(parameter),
            class: None,
            time_ms: None,
        },
        Payload::ReturnResult { is_last, result } => Component::Result {
            id: id?,
            is_last,
            result: result.map(|(which, parameter)| (code(which), whole(parameter))),
        },
        Payload::ReturnError { code: which, parameter } => {
            Component::Error { id: id?, code: code(which), parameter: whole(parameter) }
        }
        Payload::Reject(problem) => Component::Reject { id, problem },
    })
}

fn says(components: &[Component], speech: Speech) -> Vec<Say<'_>> {
    components.iter().filter_map(|it| say(it, speech)).collect()
}

/// A component to send; none when its object identifier is none.
fn say(component: &Component, speech: Speech) -> Option<Say<'_>> {
    Some(match component {
        Component::Invoke { id, linked, code, parameter, class, time_ms } => {
            let (usual, usual_ms) = speech.expects(code);
            Say::Invoke {
                id: *id,
                linked_id: *linked,
                class: class.unwrap_or(usual),
                time: Duration::from_millis(time_ms.unwrap_or(usual_ms).into()),
                code: borrowed(code)?,
                parameter: parameter.as_deref(),
            }
        }
        Component::Result { id, is_last, result } => Say::Result {
            id: *id,
            is_last: *is_last,
            result: match result {
                Some((code, parameter)) => Some((borrowed(code)?, parameter.as_deref())),
                None => None,
            },
        },
        Component::Error { id, code, parameter } => {
            Say::Error { id: *id, code: borrowed(code)?, parameter: parameter.as_deref() }
        }
        Component::Reject { id, problem } => Say::Reject { id: *id, problem: *problem },
    })
}

fn borrowed(code: &Code) -> Option<codec::Code<'_>> {
    match code {
        Code::Local(number) => Some(codec::Code::Local(*number)),
        Code::Global(contents) => Oid::new(contents).ok().map(codec::Code::Global),
    }
}

const fn refusal(of: Refused) -> Refusal {
    match of {
        Refused::Full => Refusal::Full,
        Refused::Unknown => Refusal::Unknown,
        Refused::State => Refusal::State,
        Refused::InvokeId => Refusal::InvokeId,
        Refused::Long => Refusal::Long,
    }
}

/// Carries a request out; what TCAP sends is added to `outs`. `speech` is that of the dialogue, by
/// which operations have classes and timers. Returns the dialogue that was begun.
///
/// # Errors
/// Why it is not carried out; nothing was sent.
pub fn carry_out(
    now: Time,
    transactions: &mut Transactions,
    request: &Request,
    speech: Speech,
    outs: &mut Vec<Out>,
) -> Result<Option<DialogueId>, Refusal> {
    let found = |transactions: &Transactions| -> Result<DialogueId, Refusal> {
        let number = request.dialogue().ok_or(Refusal::Unknown)?;
        transactions.numbered(number).ok_or(Refusal::Unknown)
    };
    let done = match request {
        Request::Uni { called, calling, portion } => {
            let begin = beginning(*called, *calling, portion);
            transactions.unidirectional(&begin, &says(&portion.components, speech), outs);
            Ok(())
        }
        Request::Begin { called, calling, portion, .. } => {
            let begin = beginning(*called, *calling, portion);
            let says = says(&portion.components, speech);
            let begun = transactions.begin(now, &begin, &says, outs);
            return begun.map(Some).map_err(refusal);
        }
        Request::Continue { portion, .. } => {
            let says = says(&portion.components, speech);
            let id = found(transactions)?;
            transactions.go_on(now, id, &portion.user_information, &says, outs)
        }
        Request::End { is_prearranged: true, .. } => {
            let id = found(transactions)?;
            transactions.end_prearranged(id)
        }
        Request::End { portion, .. } => {
            let says = says(&portion.components, speech);
            let id = found(transactions)?;
            transactions.end(now, id, &portion.user_information, &says, outs)
        }
        Request::UAbort { portion, .. } => {
            let id = found(transactions)?;
            let close = closing(transactions, id, portion);
            transactions.abort(id, close, outs)
        }
        Request::Cancel { id, .. } => {
            let dialogue = found(transactions)?;
            transactions.cancel(dialogue, *id)
        }
        Request::TimerReset { id, time_ms, .. } => {
            let dialogue = found(transactions)?;
            let time = time_ms.map(|ms| Duration::from_millis(ms.into()));
            transactions.reset_timer(now, dialogue, *id, time)
        }
        Request::Keep { .. } => {
            let dialogue = found(transactions)?;
            transactions.changed(dialogue)
        }
        // What is of no dialogue.
        Request::State { .. } | Request::Network(_) => Ok(()),
    };
    done.map(|()| None).map_err(refusal)
}

fn beginning(
    called: sccp::codec::Address,
    calling: sccp::codec::Address,
    portion: &Portion,
) -> Begin<'_> {
    let context = portion.context.as_deref();
    Begin { called, calling, context, user_information: &portion.user_information }
}

/// How a dialogue is aborted: with a context it is refused, which is only possible before it was
/// answered.
fn closing<'p>(transactions: &Transactions, id: DialogueId, portion: &'p Portion) -> Close<'p> {
    match &portion.context {
        Some(context) if transactions.may_refuse(id) => {
            let is_own = transactions.context(id).is_some_and(|own| own == &context[..]);
            let number = if is_own { NO_REASON } else { NOT_SUPPORTED };
            Close::Refuse(context, Diagnostic::User(number))
        }
        _ => Close::User(&portion.user_information),
    }
}
