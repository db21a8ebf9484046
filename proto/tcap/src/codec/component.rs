//! Components (Q.773 §3.4 to §3.7).

use super::{GeneralProblem, Problem};
use ber::{Element, Oid, Reader, Tag};

/// An operation or an error: a number, or an object identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code<'a> {
    /// Means something in its application context.
    Local(i64),
    /// Means the same everywhere.
    Global(Oid<'a>),
}

/// What a component says.
#[derive(Debug, Clone, Copy)]
pub enum Payload<'a> {
    /// Asks for an operation.
    Invoke {
        /// The operation that this one belongs to.
        linked_id: Option<i8>,
        /// Which operation.
        code: Code<'a>,
        /// Its argument.
        parameter: Option<Element<'a>>,
    },
    /// A result, or a part of one.
    ReturnResult {
        /// Whether no further part comes.
        is_last: bool,
        /// Which operation, and its result; neither, or both.
        result: Option<(Code<'a>, Option<Element<'a>>)>,
    },
    /// An error.
    ReturnError {
        /// Which.
        code: Code<'a>,
        /// What is said about it.
        parameter: Option<Element<'a>>,
    },
    /// A component was not understood.
    Reject(Problem),
}

/// A component.
#[derive(Debug, Clone, Copy)]
pub struct Component<'a> {
    /// Names the operation in its dialogue; only a reject may have none.
    pub invoke_id: Option<i8>,
    /// What it says.
    pub payload: Payload<'a>,
}

/// A component that is rejected: what is known of it, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejected {
    /// The invoke identifier, when one was found.
    pub invoke_id: Option<i8>,
    /// Why.
    pub problem: Problem,
    /// Whether it was a reject: that is not answered (Q.774 §3.2.2.2).
    pub is_reject: bool,
}

impl Rejected {
    /// What is no element.
    pub(crate) const UNREADABLE: Self =
        Self { invoke_id: None, problem: Problem::General(STRUCTURE), is_reject: false };
}

impl<'a> Component<'a> {
    /// Reads a component.
    ///
    /// # Errors
    /// [`Rejected`]: what its reject says.
    pub fn read(element: &Element<'a>) -> Result<Self, Rejected> {
        let tag = element.tag();
        let is_reject = tag == Tag::context(4);
        let reject = |invoke_id, problem| Rejected {
            invoke_id,
            problem: Problem::General(problem),
            is_reject,
        };
        let is_known = tag.class() == ber::Class::Context && matches!(tag.number(), 1..=4 | 7);
        if !is_known {
            return Err(reject(None, GeneralProblem::UnrecognizedComponent));
        }
        let mistyped = |invoke_id| reject(invoke_id, MISTYPED);
        let mut parts = element.children().map_err(|_| reject(None, STRUCTURE))?;
        let small = parts.small_integer();
        let first = match small {
            Some(_) => None,
            None => next(&mut parts).map_err(|()| reject(None, STRUCTURE))?,
        };
        let invoke_id = match first {
            None if small.is_some() => small,
            Some(first) if first.tag() == Tag::INTEGER => {
                let number = first.integer().ok().and_then(|number| i8::try_from(number).ok());
                Some(number.ok_or_else(|| mistyped(None))?)
            }
            Some(first) if is_reject && first.tag() == Tag::NULL => None,
            _ => return Err(mistyped(None)),
        };
        let payload = match tag.number() {
            1 => invoke(&mut parts),
            number @ (2 | 7) => result(&mut parts, number == 2),
            3 => error(&mut parts),
            _ => problem(&mut parts),
        };
        let payload = payload.map_err(|problem| reject(invoke_id, problem))?;
        match parts.next() {
            None => Ok(Self { invoke_id, payload }),
            Some(Ok(_)) => Err(mistyped(invoke_id)),
            Some(Err(_)) => Err(reject(invoke_id, STRUCTURE)),
        }
    }
}

const STRUCTURE: GeneralProblem = GeneralProblem::BadlyStructuredComponent;
const MISTYPED: GeneralProblem = GeneralProblem::MistypedComponent;

fn next<'a>(parts: &mut Reader<'a>) -> Result<Option<Element<'a>>, ()> {
    parts.next().transpose().map_err(drop)
}

fn part<'a>(parts: &mut Reader<'a>) -> Result<Option<Element<'a>>, GeneralProblem> {
    next(parts).map_err(|()| STRUCTURE)
}

fn code<'a>(element: Option<Element<'a>>) -> Result<Code<'a>, GeneralProblem> {
    let element = element.ok_or(MISTYPED)?;
    match element.tag() {
        Tag::INTEGER => element.integer().map(Code::Local).map_err(|_| MISTYPED),
        Tag::OBJECT_IDENTIFIER => element.oid().map(Code::Global).map_err(|_| MISTYPED),
        _ => Err(MISTYPED),
    }
}

fn invoke<'a>(parts: &mut Reader<'a>) -> Result<Payload<'a>, GeneralProblem> {
    if let Some(number) = parts.small_integer() {
        let (code, parameter) = (Code::Local(number.into()), part(parts)?);
        return Ok(Payload::Invoke { linked_id: None, code, parameter });
    }
    let mut first = part(parts)?;
    let mut linked_id = None;
    if let Some(linked) = first.filter(|it| it.tag() == Tag::context(0)) {
        let number = linked.integer().ok().and_then(|number| i8::try_from(number).ok());
        linked_id = Some(number.ok_or(MISTYPED)?);
        first = part(parts)?;
    }
    Ok(Payload::Invoke { linked_id, code: code(first)?, parameter: part(parts)? })
}

fn result<'a>(parts: &mut Reader<'a>, is_last: bool) -> Result<Payload<'a>, GeneralProblem> {
    let Some(sequence) = part(parts)? else {
        return Ok(Payload::ReturnResult { is_last, result: None });
    };
    if sequence.tag() != Tag::SEQUENCE {
        return Err(MISTYPED);
    }
    let mut parts = sequence.children().map_err(|_| STRUCTURE)?;
    let result = Some((code(part(&mut parts)?)?, part(&mut parts)?));
    match part(&mut parts)? {
        None => Ok(Payload::ReturnResult { is_last, result }),
        Some(_) => Err(MISTYPED),
    }
}

fn error<'a>(parts: &mut Reader<'a>) -> Result<Payload<'a>, GeneralProblem> {
    Ok(Payload::ReturnError { code: code(part(parts)?)?, parameter: part(parts)? })
}

fn problem<'a>(parts: &mut Reader<'a>) -> Result<Payload<'a>, GeneralProblem> {
    let element = part(parts)?.ok_or(MISTYPED)?;
    let tag = u8::try_from(element.tag().number()).unwrap_or(u8::MAX);
    if element.tag().class() != ber::Class::Context || tag > 3 {
        return Err(MISTYPED);
    }
    let number = element.integer().map_err(|_| MISTYPED)?;
    Ok(Payload::Reject(Problem::of(tag, number)))
}

/// The components of a message; behind one that is not well-formed there are none: where the next
/// one begins is not known.
#[derive(Debug, Clone)]
pub struct Components<'a> {
    parts: Option<Reader<'a>>,
}

impl<'a> Components<'a> {
    pub(crate) fn new(portion: Option<&Element<'a>>) -> Self {
        Self { parts: portion.and_then(|portion| portion.children().ok()) }
    }
}

impl<'a> Iterator for Components<'a> {
    type Item = Result<Component<'a>, Rejected>;

    fn next(&mut self) -> Option<Self::Item> {
        let element = self.parts.as_mut()?.next()?;
        let Ok(element) = element else {
            return Some(Err(Rejected::UNREADABLE));
        };
        Some(Component::read(&element))
    }
}
