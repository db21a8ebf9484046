//! An operation that is asked of the network: a dialogue of its own, its version negotiated down,
//! an argument that is long sent after an empty BEGIN (TS 29.002 §23.2.1).

use crate::argument::Argument;
use bytes::Bytes;
use map::negotiation::{self, Refusal};
use map::{Context, Error, Operation};
use sccp::codec::Address;
use tcap::PAbort;
use tcu::{Code, Component, Portion, Request};

/// The identifier of the one invoke in a dialogue.
const INVOKE: i8 = 1;

/// Why an operation had no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// None came in time.
    Timeout,
    /// The dialogue was broken off, or the operation rejected.
    Aborted,
    /// It could not be sent, or came back.
    Undelivered,
}

/// What came of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Its result.
    Result(Option<Bytes>),
    /// An error and its parameter.
    Error(Option<Error>, Option<Bytes>),
    /// Nothing.
    Silence(Silence),
}

/// An operation under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asking {
    argument: Argument,
    to: Address,
    from: Address,
    context: Context,
    version: u8,
    /// Names the BEGIN that was asked for last.
    pub reference: u64,
    /// The dialogue, once it stands.
    pub dialogue: Option<u64>,
    /// The invoke follows once the empty BEGIN is answered.
    is_delayed: bool,
}

impl Asking {
    /// An operation for whoever has that address; from the version that the peer is known to speak
    /// on downwards.
    #[must_use]
    pub fn new(argument: Argument, to: Address, from: Address, known: Option<u8>) -> Self {
        let (context, highest) = argument.context();
        let version = known.filter(|it| *it < highest).unwrap_or(highest);
        let context =
            if version == 1 { context.in_version_1().unwrap_or(context) } else { context };
        let (reference, dialogue, is_delayed) = (0, None, false);
        Self { argument, to, from, context, version, reference, dialogue, is_delayed }
    }

    /// What is asked.
    #[must_use]
    pub const fn argument(&self) -> &Argument {
        &self.argument
    }

    /// Whom, and the version that is spoken.
    #[must_use]
    pub const fn peer(&self) -> (&Address, u8) {
        (&self.to, self.version)
    }

    /// The BEGIN. An argument longer than `octets_max` follows an empty one, from version 2 on.
    pub fn begin(&mut self, reference: u64, octets_max: usize) -> Request {
        let argument = self.argument.encode(self.version);
        self.is_delayed = argument.len() > octets_max && self.version > 1;
        (self.reference, self.dialogue) = (reference, None);
        let context = (self.version > 1).then(|| self.context.oid(self.version));
        let portion = Portion {
            context: context.map(|it| Bytes::copy_from_slice(&it)),
            components: if self.is_delayed { Vec::new() } else { vec![self.invoke(argument)] },
            ..Portion::default()
        };
        let (called, calling) = (self.to, self.from);
        Request::Begin { reference, called, calling, state: None, portion }
    }

    fn invoke(&self, argument: Bytes) -> Component {
        let code = Code::Local(self.argument.operation(self.version).code());
        let parameter = Some(argument);
        Component::Invoke { id: INVOKE, linked: None, code, parameter, class: None, time_ms: None }
    }

    /// The peer took the dialogue: what is to be said in it, if the invoke was delayed.
    pub fn accepted(&mut self) -> Option<Vec<Component>> {
        let is_delayed = core::mem::take(&mut self.is_delayed);
        is_delayed.then(|| vec![self.invoke(self.argument.encode(self.version))])
    }

    /// Whether what is asked is never answered but by the end of the dialogue (classes 4 of
    /// Q.771): version 1 has such operations.
    #[must_use]
    pub const fn has_no_result(&self) -> bool {
        matches!(
            self.argument.operation(self.version),
            Operation::NoteSubscriberPresent | Operation::AlertServiceCentreWithoutResult
        )
    }

    /// The peer refused the dialogue: whether another version of it may be asked for now.
    pub fn refused(&mut self, context: Option<&Bytes>, provider: Option<PAbort>) -> bool {
        let refusal = match (context, provider) {
            (Some(context), _) => Refusal::Context(context),
            (None, Some(cause)) => Refusal::Provider(cause),
            (None, None) => return false,
        };
        let next = negotiation::next((self.context, self.version), refusal, |_, _| true);
        if let Some((context, version)) = next {
            (self.context, self.version) = (context, version);
        }
        next.is_some()
    }
}

/// What the components of a message say of the one invoke.
#[must_use]
pub fn reply_of(components: &[Component]) -> Option<Reply> {
    components.iter().find_map(|it| match it {
        Component::Result { id: INVOKE, is_last: true, result } => {
            Some(Reply::Result(result.as_ref().and_then(|it| it.1.clone())))
        }
        Component::Error { id: INVOKE, code: Code::Local(code), parameter } => {
            Some(Reply::Error(Error::of(*code), parameter.clone()))
        }
        Component::Error { id: INVOKE, parameter, .. } => {
            Some(Reply::Error(None, parameter.clone()))
        }
        Component::Reject { .. } => Some(Reply::Silence(Silence::Aborted)),
        _ => None,
    })
}
