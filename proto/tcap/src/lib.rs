//! TCAP (Q.771 to Q.775, 1997): the words of Q.773, and dialogues as a machine
//! ([`Transactions`]). Messages, dialogue portion and components borrow from the octets they were
//! read from, and reading allocates nothing.
//!
//! ```text
//!   Message::read ──→ kind, transaction identifiers, P-Abort cause
//!      │──dialogue──→ Dialogue::read: AARQ, AARE, ABRT, unidialogue
//!      └──components()──→ Component: invoke, results, error, reject
//! ```
//! What is wrong with a message says how it is answered: an [`Violation`] carries the P-Abort cause
//! (Q.773 §3.3) and the transaction that it goes to; that of a component is the [`Problem`] of its
//! reject (Q.773 §3.7).
//!
//! ```
//! use tcap::codec::{Code, Message, MessageType, Payload, TransactionId, Writer};
//!
//! let otid = TransactionId::of(0x0102_0304);
//! let mut octets = Vec::new();
//! Writer::begin(otid).write(&mut octets, |components| {
//!     let parameter = Some(&[0x30, 0][..]);
//!     components.invoke(1, None, Code::Local(45), parameter);
//! });
//! let message = Message::read(&octets).expect("it is well-formed");
//! assert_eq!((message.kind, message.otid), (MessageType::Begin, Some(otid)));
//! let invoke = message.components().next().expect("there is one").expect("it is an invoke");
//! assert_eq!(invoke.invoke_id, Some(1));
//! assert!(matches!(invoke.payload, Payload::Invoke { code: Code::Local(45), .. }));
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod codec;
mod effects;
mod invocation;
mod metrics;
pub mod operation;
mod packed;
mod record;
mod transactions;

#[doc(hidden)]
pub use ber;
pub use effects::{
    Begin, Close, DialogueId, In, Indication, OperationClass, Out, PAbort, Refused, Say, UAbort,
};
pub use metrics::Metric;
pub use transactions::{PARTITIONS, Report, Settings, Sources, Transactions};
