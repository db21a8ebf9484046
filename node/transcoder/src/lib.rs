//! The process that transcodes streams, and the way to it.
//!
//! ```text
//!   control ─ channel ─→ ToTranscoder ─ Unix socket ─→ serve: codec::Transcoder
//!      │                      │ starts one where none stands      ↑↓ packet channel: rings
//!      └ codec::Ledger: streams and their numbers,                forwarder
//!        said again to the next process
//! ```
//! Codecs that are C libraries read what peers send. They do it in a process of their own: when one
//! crashes no call ends, but a few packets of its streams are lost until the next process was told
//! them. One process is one core; a control that has more gives each its share of the streams.
//!
//! Packets do not pass the control: they come from the forwarder by a packet channel of their own
//! and go back there, so that they flow while the control is another one. The socket is open to the
//! user of the process alone. What a control says is believed as far as its form is right: a
//! control is of the same user.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

mod connection;
mod feed;
mod launch;
mod serve;

pub use connection::Lost;
pub use feed::CLASS_RECORDS;
pub use launch::{Launch, ToTranscoder};
pub use serve::{Failed, Spec, serve};
