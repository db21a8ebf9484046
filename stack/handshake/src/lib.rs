//! Connectivity checks (ICE, RFC 8445) and DTLS (RFC 5764) of ends of media, and what was agreed.
//!
//! ```text
//!   packet of an end ─→ Ends ─→ Came: what leaves · Change ─→ Agreement, by port ─→ flows
//! ```
//! Whoever controls streams embeds [`Ends`], on the shard of its choice, and keeps the
//! [`Agreement`] where its streams are.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod agreement;
mod ends;

pub use agreement::{Agreed, Agreement, Kept};
pub use ends::{Came, Change, Class, Ends, Known, Received, Sent, What};
