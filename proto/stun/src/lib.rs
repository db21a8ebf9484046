//! STUN as a codec, and the lite side of ICE as a machine.
//!
//! ```text
//!   datagram ─ Message::read ─ attributes · integrity · fingerprint      Writer ─→ octets
//!       └────→ ice::Agent ──→ answer, Nominated, ConsentLost         time and seed are arguments
//! ```
//! - Reading borrows and checks every length; writing appends to a buffer of the caller's.
//! - Credentials are those of the short-term mechanism; the long-term one is TURN's.
//! - An [`ice::Agent`] keeps nothing of one who does not know its password, answers such only a few
//!   times a second, and never with more than it was sent.
//!
//! ```
//! use stun::{Algorithm, AttributeType, BINDING, Class, Integrity, Message, TransactionId, Writer};
//!
//! let mut octets = Vec::new();
//! Writer::new(Class::Request, BINDING, TransactionId([7; 12]), &mut octets)
//!     .attribute(AttributeType::Username, b"ours:theirs")
//!     .integrity(Algorithm::Sha1, b"password")
//!     .fingerprint();
//! let message = Message::read(&octets)?;
//! assert_eq!(message.value(AttributeType::Username), Some(&b"ours:theirs"[..]));
//! assert_eq!(message.integrity(b"password"), Integrity::Holds(Algorithm::Sha1));
//! assert_eq!(message.integrity(b"other"), Integrity::Wrong);
//! assert_eq!(message.fingerprint(), Some(true));
//! # Ok::<(), wire::Malformed>(())
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod address;
mod attribute;
mod error;
mod guard;
pub mod ice;
mod message;
mod random;
mod write;

pub use attribute::{Attribute, AttributeType, Attributes};
pub use error::{ErrorCode, Refusal};
pub use guard::Algorithm;
pub use message::{
    ATTRIBUTES_MAX, BINDING, Class, HEADER_BYTES, Integrity, MESSAGE_BYTES_MAX, Message,
    TransactionId,
};
pub use wire::Malformed;
pub use write::Writer;
