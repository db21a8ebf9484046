//! Ping and traceroute of label-switched paths (RFC 8029), whose labels are those that LDP gives to
//! prefixes of IPv4.
//!
//! ```text
//!   Wanted ─→ Probes ─→ requests behind the labels of the path, as many hops as they may go
//!                ↑  reply ←─ answer ←─ request, at whoever it came to
//!   Outcome ←────┘
//! ```
//! [`Message`] is the codec, [`answer`] what a router says of a request, [`Probes`] a machine that
//! sends requests and hears replies.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod codec;
mod probes;
mod responder;

pub use codec::{Code, Fec, Kind, Message, OCTETS_MAX, PORT, REPLY_BY_UDP, REPLY_NEVER};
pub use probes::{HOPS_MAX, Outcome, PROBES_MAX, Probes, RUNS_MAX, Send, Step, Wanted};
pub use responder::{Here, answer};
