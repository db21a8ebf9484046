//! TC-user links of a function, from either side: to the applications of signalling gateways, over
//! TCP and TLS, and, of a gateway itself, from the instances of its applications ([`serving`]).
//!
//! ```text
//!   ports ─→ step ─→ Link ─ tcu::Client ─→ Indication ─→ indication ─→ function
//!   Effects ←─────── Link ←─ fewest dialogues ←─────── request ←──────── function
//! ```
//! - A link is one connection to one place of one application: what `[[sgc.application]]` listens
//!   at. Each is an instance there; several links to an application share its dialogues.
//! - Dialogues of all links have numbers of one kind here. Those of a link that is lost end:
//!   [`tcu::Refusal::Unknown`] says so of each, and of each that was asked for.
//! - A function keeps the keys of its section and lends them as a [`config::Section`]. All links
//!   live on the first shard.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod config;
mod ladder;
mod link;
mod links;
pub mod serving;

pub use ladder::{Ladder, Way};
pub use links::{Counts, Links, TcuLinkRow};

use runtime::Frame;
use tcu::Cut;

/// The message that the buffer of a link begins with.
#[must_use]
pub fn frame(buffer: &[u8]) -> Frame {
    match tcu::cut(buffer) {
        Cut::Partial => Frame::Partial,
        Cut::Skip(octets) => Frame::Skip(octets),
        Cut::Message(octets) => Frame::Message(octets),
        Cut::Broken(what) => Frame::Broken(what),
    }
}

/// Whether [`frame`] may now find more than in the first `seen` octets.
#[must_use]
pub fn ends_frame(buffer: &[u8], seen: usize) -> bool {
    tcu::ends_within(buffer, seen)
}
