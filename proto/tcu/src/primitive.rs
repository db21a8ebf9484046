//! The primitives of Q.771 §3.1, with N-STATE and N-PCSTATE of Q.711 §6.3.3.

use crate::network::{NetworkIndication, NetworkRequest};
use bytes::Bytes;
use m3ua::codec::PointCode;
use sccp::codec::Address;
use tcap::codec::{Diagnostic, Problem};
use tcap::{OperationClass, PAbort};

/// Octets of its application's state that a dialogue carries, at most.
pub const STATE_OCTETS_MAX: usize = 256;

/// An operation or an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Code {
    /// A number, which means something in its application context.
    Local(i64),
    /// Contents octets of an object identifier.
    Global(Bytes),
}

/// A component: TC-INVOKE, TC-RESULT-L and -NL, TC-U-ERROR, TC-U-REJECT or TC-R-REJECT. Parameters
/// are whole elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Component {
    /// TC-INVOKE.
    Invoke {
        /// Names it among the operations of its side.
        id: i8,
        /// The operation of the other side that it belongs to.
        linked: Option<i8>,
        /// Which operation.
        code: Code,
        /// Its argument.
        parameter: Option<Bytes>,
        /// Which answers it has; none: as its row says, else one that has both.
        class: Option<OperationClass>,
        /// How long an answer may take, milliseconds; none: as its row says at most.
        time_ms: Option<u32>,
    },
    /// TC-RESULT-L; TC-RESULT-NL where another part follows.
    Result {
        /// The operation that is answered.
        id: i8,
        /// Whether no further part comes.
        is_last: bool,
        /// The operation again, and its result; none without a result.
        result: Option<(Code, Option<Bytes>)>,
    },
    /// TC-U-ERROR.
    Error {
        /// The operation that is answered.
        id: i8,
        /// Why it failed.
        code: Code,
        /// What is said about it.
        parameter: Option<Bytes>,
    },
    /// TC-U-REJECT, or TC-R-REJECT when it comes from the peer.
    Reject {
        /// The component, if it is known.
        id: Option<i8>,
        /// Why.
        problem: Problem,
    },
}

/// The dialogue portion and the components of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Portion {
    /// Contents octets of the application context.
    pub context: Option<Bytes>,
    /// EXTERNALs for the user of the other side, one after the other.
    pub user_information: Bytes,
    /// The components, in their order.
    pub components: Vec<Component>,
}

impl Code {
    /// Octets that it keeps beside itself.
    fn octets(&self) -> usize {
        match self {
            Self::Local(_) => 0,
            Self::Global(contents) => contents.len(),
        }
    }
}

impl Component {
    /// Octets of its code and parameter.
    pub(crate) fn octets(&self) -> usize {
        let of = |parameter: &Option<Bytes>| parameter.as_ref().map_or(0, Bytes::len);
        match self {
            Self::Invoke { code, parameter, .. } | Self::Error { code, parameter, .. } => {
                code.octets() + of(parameter)
            }
            Self::Result { result: Some((code, parameter)), .. } => code.octets() + of(parameter),
            Self::Result { result: None, .. } | Self::Reject { .. } => 0,
        }
    }
}

impl Portion {
    /// Components alone.
    #[must_use]
    pub fn of(components: Vec<Component>) -> Self {
        Self { components, ..Self::default() }
    }
}

/// What is known of a point code (N-PCSTATE).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointCodeStatus {
    /// It cannot be reached.
    Inaccessible,
    /// It can be reached.
    Accessible,
    /// There is a way, but its SCCP does not answer.
    SccpUnavailable,
    /// Its SCCP answers again.
    SccpAvailable,
    /// It is congested to that level; zero: no more.
    Congested(u8),
}

/// Why a request was not carried out; nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is no room for another dialogue, or for another operation in this one.
    Full,
    /// No such dialogue, or it is another instance's.
    Unknown,
    /// Not in this state of the dialogue.
    State,
    /// The identifier of an invoke is in use, or of a linked one unknown.
    InvokeId,
    /// The state is longer than [`STATE_OCTETS_MAX`], or the message or its context than what can
    /// be sent.
    Long,
    /// The calling address is not that of this application.
    Calling,
}

/// What an application is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Indication {
    /// TC-UNI.
    Uni {
        /// Where to.
        called: Address,
        /// Where from.
        calling: Address,
        /// What.
        portion: Portion,
    },
    /// TC-BEGIN.
    Begin {
        /// Names the dialogue from now on.
        dialogue: u64,
        /// Where to.
        called: Address,
        /// Where from.
        calling: Address,
        /// Another instance was told before, and ended before it answered.
        is_again: bool,
        /// What.
        portion: Portion,
    },
    /// TC-CONTINUE.
    Continue {
        /// In which dialogue.
        dialogue: u64,
        /// What.
        portion: Portion,
    },
    /// TC-END: the dialogue is over.
    End {
        /// Which dialogue.
        dialogue: u64,
        /// What.
        portion: Portion,
    },
    /// TC-U-ABORT: the dialogue is over. The portion says why.
    UAbort {
        /// Which dialogue.
        dialogue: u64,
        /// The context was refused: the portion has one that might be used.
        refused: Option<Diagnostic>,
        /// What.
        portion: Portion,
    },
    /// TC-P-ABORT: the dialogue is over.
    PAbort {
        /// Which dialogue.
        dialogue: u64,
        /// Why.
        cause: PAbort,
    },
    /// TC-NOTICE: a message of the dialogue came back.
    Notice {
        /// Of which dialogue.
        dialogue: u64,
        /// The number of the return cause (Q.713 §3.12).
        cause: u8,
    },
    /// TC-L-REJECT: a component that came was rejected; the reject goes with the next message.
    LocalReject {
        /// In which dialogue.
        dialogue: u64,
        /// The component, if it is known.
        id: Option<i8>,
        /// Why.
        problem: Problem,
    },
    /// TC-L-CANCEL: no answer came in time.
    Cancel {
        /// In which dialogue.
        dialogue: u64,
        /// Which operation.
        id: i8,
    },
    /// N-STATE: a subsystem elsewhere is in service, or out of service.
    State {
        /// Where.
        point_code: PointCode,
        /// Which.
        subsystem: u8,
        /// Whether it is in service.
        in_service: bool,
    },
    /// N-PCSTATE.
    PointCode {
        /// Which.
        point_code: PointCode,
        /// What is known of it.
        status: PointCodeStatus,
    },
    /// The dialogue is begun that was asked for.
    Begun {
        /// The number that the request had.
        reference: u64,
        /// Names the dialogue from now on.
        dialogue: u64,
    },
    /// A request was not carried out.
    Refused {
        /// That of a begin.
        reference: Option<u64>,
        /// That of any other.
        dialogue: Option<u64>,
        /// Why.
        why: Refusal,
    },
    /// The dialogue of an instance that ended goes on here. What that was told and did not answer
    /// follows.
    Resume {
        /// Which dialogue.
        dialogue: u64,
        /// The address of this side.
        own: Address,
        /// The address of the peer.
        peer: Address,
        /// Contents octets of the application context.
        context: Option<Bytes>,
        /// What the application said of it last.
        state: Bytes,
    },
    /// More waits for this instance than it reads: it is given no new dialogues, or it is again.
    Slow(bool),
    /// Of the network service, for a subsystem without TCAP.
    Network(NetworkIndication),
}

/// What an application asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// TC-UNI.
    Uni {
        /// Where to.
        called: Address,
        /// Where from.
        calling: Address,
        /// What.
        portion: Portion,
    },
    /// TC-BEGIN; [`Indication::Begun`] answers.
    Begin {
        /// Any number, by which the answer is told.
        reference: u64,
        /// Where to.
        called: Address,
        /// Where from.
        calling: Address,
        /// The application's state of it.
        state: Option<Bytes>,
        /// What.
        portion: Portion,
    },
    /// TC-CONTINUE.
    Continue {
        /// In which dialogue.
        dialogue: u64,
        /// The application's state of it; none: as it was.
        state: Option<Bytes>,
        /// What.
        portion: Portion,
    },
    /// TC-END.
    End {
        /// Which dialogue.
        dialogue: u64,
        /// Nothing is sent: the peer knows.
        is_prearranged: bool,
        /// What.
        portion: Portion,
    },
    /// TC-U-ABORT. With a context in the portion a dialogue that was not answered yet is refused:
    /// that context might be used.
    UAbort {
        /// Which dialogue.
        dialogue: u64,
        /// What.
        portion: Portion,
    },
    /// TC-U-CANCEL: no answer to the operation is waited for any more.
    Cancel {
        /// In which dialogue.
        dialogue: u64,
        /// Which operation.
        id: i8,
    },
    /// TC-TIMER-RESET: the time of the operation begins anew.
    TimerReset {
        /// In which dialogue.
        dialogue: u64,
        /// Which operation.
        id: i8,
        /// How long an answer may take from now on, milliseconds; none: as before.
        time_ms: Option<u32>,
    },
    /// The application's state of a dialogue, while nothing is sent.
    Keep {
        /// Which dialogue.
        dialogue: u64,
        /// The state.
        state: Bytes,
    },
    /// N-STATE: this instance takes new dialogues, or none: it leaves once its own are over.
    State {
        /// Whether it takes some.
        in_service: bool,
    },
    /// Of the network service, for a subsystem without TCAP.
    Network(NetworkRequest),
}

/// The dialogue that an indication is about, whether it is read or changed.
macro_rules! dialogue_of_indication {
    ($it:expr, $dialogue:ident => $of_one:expr, $of_some:expr) => {
        match $it {
            Self::Begin { dialogue: $dialogue, .. }
            | Self::Continue { dialogue: $dialogue, .. }
            | Self::End { dialogue: $dialogue, .. }
            | Self::UAbort { dialogue: $dialogue, .. }
            | Self::PAbort { dialogue: $dialogue, .. }
            | Self::Notice { dialogue: $dialogue, .. }
            | Self::LocalReject { dialogue: $dialogue, .. }
            | Self::Cancel { dialogue: $dialogue, .. }
            | Self::Begun { dialogue: $dialogue, .. }
            | Self::Resume { dialogue: $dialogue, .. } => $of_one,
            Self::Refused { dialogue: $dialogue, .. } => $of_some,
            Self::Uni { .. }
            | Self::State { .. }
            | Self::PointCode { .. }
            | Self::Slow(_)
            | Self::Network(_) => None,
        }
    };
}

/// The same of a request.
macro_rules! dialogue_of_request {
    ($it:expr, $dialogue:ident => $of_one:expr) => {
        match $it {
            Self::Continue { dialogue: $dialogue, .. }
            | Self::End { dialogue: $dialogue, .. }
            | Self::UAbort { dialogue: $dialogue, .. }
            | Self::Cancel { dialogue: $dialogue, .. }
            | Self::TimerReset { dialogue: $dialogue, .. }
            | Self::Keep { dialogue: $dialogue, .. } => $of_one,
            Self::Uni { .. } | Self::Begin { .. } | Self::State { .. } | Self::Network(_) => None,
        }
    };
}

impl Indication {
    /// The dialogue that it is about.
    #[must_use]
    pub const fn dialogue(&self) -> Option<u64> {
        dialogue_of_indication!(self, it => Some(*it), *it)
    }

    /// The same, for who numbers dialogues of several gateways.
    #[must_use]
    pub const fn dialogue_mut(&mut self) -> Option<&mut u64> {
        dialogue_of_indication!(self, it => Some(it), it.as_mut())
    }

    /// Whether the dialogue is over with it.
    #[must_use]
    pub const fn is_last(&self) -> bool {
        matches!(self, Self::End { .. } | Self::UAbort { .. } | Self::PAbort { .. })
    }

    /// What it carries of a message.
    #[must_use]
    pub const fn portion(&self) -> Option<&Portion> {
        match self {
            Self::Uni { portion, .. }
            | Self::Begin { portion, .. }
            | Self::Continue { portion, .. }
            | Self::End { portion, .. }
            | Self::UAbort { portion, .. } => Some(portion),
            _ => None,
        }
    }
}

impl Request {
    /// The dialogue that it is about.
    #[must_use]
    pub const fn dialogue(&self) -> Option<u64> {
        dialogue_of_request!(self, it => Some(*it))
    }

    /// The same, for who numbers dialogues of several gateways.
    #[must_use]
    pub const fn dialogue_mut(&mut self) -> Option<&mut u64> {
        dialogue_of_request!(self, it => Some(it))
    }

    /// What it sends of a message.
    #[must_use]
    pub const fn portion(&self) -> Option<&Portion> {
        match self {
            Self::Uni { portion, .. }
            | Self::Begin { portion, .. }
            | Self::Continue { portion, .. }
            | Self::End { portion, .. }
            | Self::UAbort { portion, .. } => Some(portion),
            _ => None,
        }
    }

    /// The application's state that comes with it.
    #[must_use]
    pub const fn state(&self) -> Option<&Bytes> {
        match self {
            Self::Begin { state, .. } | Self::Continue { state, .. } => state.as_ref(),
            Self::Keep { state, .. } => Some(state),
            _ => None,
        }
    }
}
