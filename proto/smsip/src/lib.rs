//! SIP of short messages over IP (TS 24.341, TS 24.229 §5.4.1.7): third-party REGISTER and MESSAGE
//! as records, read from SIP and written into it.
//!
//! ```text
//!   REGISTER, MESSAGE ─→ register, received ─→ Register, Received ─┐ as tagged fields, where
//!   MESSAGE ←── write ←── Sending ←────────────────────────────────┘ another shard has the flow
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod fields;
mod message;
mod text;

pub use message::{Body, Received, Register, Route, Sending, Sent};
pub use text::{Envelope, received, register, write};
