//! What a session controller and a media controller say to each other, over TCP or TLS.
//!
//! ```text
//!   session controller                            media controller
//!         ←────────────────────────────────────── Challenge, Prove …: where both have a key
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
//! With a key: `Challenge`, then the session controller's `Prove`, then the media controller's;
//! what comes before is not taken. It says who is there, and protects nothing that follows: TLS
//! does.
//!
//! **Keys of SRTP are of one life of a media controller.** A `Put` has keys and no counters: how
//! far they were used is known to the media controller and its standby alone, which tell each
//! other. A `Hello` with another epoch than before says that this is lost: one that starts anew
//! would use indices again that were used. So
//!
//! - a media controller keeps its epoch when its standby takes over, with all counters and ahead of
//!   them, and has another one whenever it does not know them;
//! - a session controller that hears another epoch says [`Session::renew_keys`](crate::Session) of
//!   each of its calls there before it puts their streams: those with keys are gone until a
//!   re-INVITE has agreed on new ones, all others stand;
//! - DTLS needs nothing: its keys are of a handshake, which a new life makes anew;
//! - a `Put` of a stream that stands, with the keys that it has, changes no counter.
//!
//! **A session controller that begins anew** says another epoch, and has no calls but those that
//! somebody told it. What it said before counts no more, but nobody has said that those calls are
//! over, and their ends speak on: such streams fade as those of one that stays away. Until then a
//! new stream may have their name or their ports, and they go for it; ports of theirs are leased
//! again only when there are no others.
//!
//! The length counts what follows it. Numbers begin at 1 on each connection and rise by one; an
//! `Ack` says up to which one everything is done. Every message may come twice: a stream has a name
//! and a generation, and only a later one changes it. A kind or a field that is not known is
//! skipped: of two versions, the older one does what it knows.

mod event;
mod fields;
mod message;
mod standing;
mod stream;

use machine::Duration;

pub use event::{Event, Load, Quality, Statistics};
pub use message::{
    Envelope, HEAD_OCTETS, MEDIA_CONTROLLER, MESSAGE_OCTETS_MAX, Message, Nonce, Row,
    SESSION_CONTROLLER, proved, read, write,
};
pub use standing::{Done, Standing};
pub use stream::{read_end, read_stream, read_trace, write_end, write_stream};

/// The version of this language. From 2 on a media controller says something every
/// [`BEAT`](crate::row::BEAT), if it is nothing but an `Ack` of what is acknowledged already.
pub const VERSION: u16 = 2;
/// How often a media controller of version 2 is heard at least.
pub const BEAT: Duration = Duration::from_millis(250);

/// The name of a stream: the number that the session controller gave its call, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// The call.
    pub call: u64,
    /// The stream of it.
    pub line: u8,
}
