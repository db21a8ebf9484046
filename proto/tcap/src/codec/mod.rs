//! The words of TCAP (Q.773).

mod cause;
mod component;
mod dialogue;
mod message;
mod transaction_id;
mod writer;

pub use cause::{
    GeneralProblem, InvokeProblem, PAbortCause, Problem, ReturnErrorProblem, ReturnResultProblem,
};
pub use component::{Code, Component, Components, Payload, Rejected};
pub use dialogue::{DIALOGUE, Diagnostic, Dialogue, UNIDIALOGUE, UserInformation, VERSION_1};
pub use message::{Message, MessageType, Violation};
pub use transaction_id::TransactionId;
pub use writer::{ComponentWriter, Writer};
