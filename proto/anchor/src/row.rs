//! What a session controller and a media controller say to each other, over TCP or TLS.
//!
//! ```text
//!   session controller                            media controller
//!   Hello ──────────────────────────────────────→
//!         ←────────────────────────────────────── Hello
//!   Lease ──────────────────────────────────────→ blocks of port pairs
//!         ←────────────────────────────────────── Grant
//!   Begin, Put …, End ──────────────────────────→ everything: what is not in between goes
//!   Put, Remove, Play ──────────────────────────→ as calls change, with their SIP messages
//!         ←────────────────────────────────────── Event, Load, Ack
//!   Ask ────────────────────────────────────────→
//!         ←────────────────────────────────────── Report
//!
//!   message = length, 4 octets · kind, 1 · number, 8 · tagged fields (wire::field)
//! ```
//! The length counts what follows it. Numbers begin at 1 on each connection and rise by one; an
//! `Ack` says up to which one everything is done. Every message may come twice: a stream has a name
//! and a generation, and only a later one changes it. A kind or a field that is not known is
//! skipped: of two versions, the older one does what it knows.

mod event;
mod fields;
mod message;
mod standing;
mod stream;

pub use event::{Event, Load, Quality, Statistics};
pub use message::{Envelope, HEAD_OCTETS, MESSAGE_OCTETS_MAX, Message, Row, read, write};
pub use standing::{Done, Standing};
pub use stream::{read_stream, write_stream};

/// The version of this language.
pub const VERSION: u16 = 1;

/// The name of a stream: the number that the session controller gave its call, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// The call.
    pub call: u64,
    /// The stream of it.
    pub line: u8,
}
