//! What the transactions are told, and what they want: the primitives of Q.771.

use crate::codec::{Code, Diagnostic, Problem};
use bytes::Bytes;
use machine::Duration;
use machine::slots::Key;
use sccp::codec::Address;

/// Names a dialogue here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DialogueId(pub(crate) Key);

/// Which answers an operation has (Q.771 §2.2.1.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationClass {
    /// A result or an error.
    One,
    /// An error alone.
    Two,
    /// A result alone.
    Three,
    /// None.
    Four,
}

/// A component to send. Parameters are whole elements.
#[derive(Debug, Clone, Copy)]
pub enum Say<'a> {
    /// TC-INVOKE.
    Invoke {
        /// Names it among the operations of this side.
        id: i8,
        /// The peer's operation that this one belongs to.
        linked_id: Option<i8>,
        /// Which answers it has.
        class: OperationClass,
        /// How long an answer may take.
        time: Duration,
        /// Which operation.
        code: Code<'a>,
        /// Its argument.
        parameter: Option<&'a [u8]>,
    },
    /// TC-RESULT-L, TC-RESULT-NL.
    Result {
        /// The peer's operation.
        id: i8,
        /// Whether no further part comes.
        is_last: bool,
        /// Which operation, and its result.
        result: Option<(Code<'a>, Option<&'a [u8]>)>,
    },
    /// TC-U-ERROR.
    Error {
        /// The peer's operation.
        id: i8,
        /// Which error.
        code: Code<'a>,
        /// What is said about it.
        parameter: Option<&'a [u8]>,
    },
    /// TC-U-REJECT.
    Reject {
        /// The peer's component.
        id: Option<i8>,
        /// Why.
        problem: Problem,
    },
}

/// TC-BEGIN request.
#[derive(Debug, Clone, Copy)]
pub struct Begin<'a> {
    /// Where to.
    pub called: Address,
    /// Where from.
    pub calling: Address,
    /// Contents octets of the application context; none: without a dialogue portion.
    pub context: Option<&'a [u8]>,
    /// EXTERNALs for the peer's user.
    pub user_information: &'a [u8],
}

/// TC-U-ABORT request.
#[derive(Debug, Clone, Copy)]
pub enum Close<'a> {
    /// For a reason that the user information says.
    User(&'a [u8]),
    /// The dialogue is refused, with the context that might be used, before it is answered.
    Refuse(&'a [u8], Diagnostic),
}

/// What happened.
#[derive(Debug, Clone)]
pub enum In {
    /// N-UNITDATA indication; its source is who calls.
    Unitdata(sccp::Unitdata),
    /// The same of a source of that number, by which its dialogues are counted: association and
    /// point code, say. What stands in the calling address, whoever sends may choose.
    UnitdataOf(u64, sccp::Unitdata),
    /// The same, of a source that is counted elsewhere at that place: see [`crate::Sources`].
    UnitdataAt(u16, sccp::Unitdata),
    /// N-NOTICE indication: the return cause, and the data that came back.
    Notice(u8, Bytes),
}

/// What shall be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// N-UNITDATA request.
    Unitdata(sccp::Unitdata),
    /// A primitive for the user of a dialogue.
    Indicate(DialogueId, Indication),
    /// TC-UNI: a message without a dialogue, whole.
    Unidirectional {
        /// Where to.
        called: Address,
        /// Where from.
        calling: Address,
        /// The message, see [`crate::codec::Message`].
        message: Bytes,
    },
}

/// Why a dialogue was broken off by TCAP, there or here (Q.771 §3.1.2.2.2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PAbort {
    /// The number of a P-Abort cause.
    Cause(i64),
    /// What came of the dialogue portion was not to be expected.
    AbnormalDialogue,
    /// The peer speaks no version of the dialogue portion that is spoken here.
    NoCommonDialoguePortion,
    /// Nothing was heard for too long.
    Idle,
}

/// Why a dialogue was broken off by the peer's user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UAbort {
    /// For a reason that the dialogue portion says, if any.
    User,
    /// The context is not supported: the AARE names another.
    Refused(Diagnostic),
}

/// What the user of a dialogue is told. The components of a message follow its first indication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Indication {
    /// TC-BEGIN: the whole message has what the dialogue portion says.
    Begin {
        /// Where to.
        called: Address,
        /// Where from.
        calling: Address,
        /// The message, see [`crate::codec::Message`].
        message: Bytes,
    },
    /// TC-CONTINUE.
    Continue(Bytes),
    /// TC-END: the dialogue is over behind its components.
    End(Bytes),
    /// TC-U-ABORT: the dialogue is over.
    UAbort(UAbort, Bytes),
    /// TC-P-ABORT: the dialogue is over.
    PAbort(PAbort),
    /// A component, see [`crate::codec::Component::read`].
    Component(Bytes),
    /// TC-L-REJECT: a component that came was rejected; the reject goes with the next message.
    LocalReject(Option<i8>, Problem),
    /// TC-L-CANCEL: no answer came in time.
    Cancel(i8),
    /// TC-NOTICE: a message came back with that return cause.
    Notice(u8),
}

/// Why a request was not carried out; nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There is no room for another dialogue, or for another operation in this one.
    Full,
    /// No such dialogue.
    Unknown,
    /// Not in this state of the dialogue.
    State,
    /// The identifier of an invoke is in use, or of a linked one unknown.
    InvokeId,
    /// The application context is longer than any that is kept.
    Long,
}
