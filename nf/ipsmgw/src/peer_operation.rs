//! The operation in a message of a peer's dialogue.

use crate::step::Asked;
use bytes::Bytes;
use map::{Context, Error, Operation};
use mapsms::invoked::{Invoked, Refused};
use tcap::codec::{InvokeProblem, Problem};
use tcu::{Code, Component};

/// The first invoke of components.
pub(crate) fn invoke_of(components: &[Component]) -> Option<(i8, i64, Option<&Bytes>)> {
    components.iter().find_map(|it| match it {
        Component::Invoke { id, code: Code::Local(code), parameter, .. } => {
            Some((*id, *code, parameter.as_ref()))
        }
        _ => None,
    })
}

/// What a peer's invoke is, or how it is answered at once.
pub(crate) enum Read {
    /// An operation.
    Operation(Asked, Invoked),
    /// An answer, and the end of the dialogue.
    Answer(Component),
}

/// Reads the operation of a peer in a dialogue of that context and version.
pub(crate) fn read(
    dialogue: u64,
    context: Context,
    version: u8,
    components: &[Component],
) -> Option<Read> {
    let (invoke, code, parameter) = invoke_of(components)?;
    let reject = |problem| {
        Read::Answer(Component::Reject { id: Some(invoke), problem: Problem::Invoke(problem) })
    };
    let may =
        |it: &Operation| context.version(version).is_some_and(|row| row.initiator.contains(it));
    let Some(operation) = Operation::of(code).filter(may) else {
        return Some(reject(InvokeProblem::UnrecognizedOperation));
    };
    let read = parameter.map_or(Ok(None), |it| Invoked::read(operation, it));
    Some(match read {
        Ok(Some(invoked)) => {
            Read::Operation(Asked { dialogue, version, invoke, operation }, invoked)
        }
        // It is of its type, and yet says nothing that can be done.
        Ok(None) => Read::Answer(Refused::of(Error::UnexpectedDataValue).component(invoke)),
        Err(_) => reject(InvokeProblem::MistypedParameter),
    })
}
