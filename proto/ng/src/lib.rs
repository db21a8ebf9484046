//! The NG protocol: how Kamailio, OpenSIPS and others drive rtpengine, and so a media controller of
//! ours (rtpengine's `docs/ng_control_protocol.md`).
//!
//! ```text
//!   cookie SP d7:command5:offer7:call-id…e ─→ Engine::take ─→ cookie SP d6:result2:ok3:sdp…e
//!                                                 │
//!                                                 └─ Effect: streams to put and to remove, digits
//! ```
//! Bencode in datagrams, or one message behind the other over TCP ([`frame`]). A cookie that came
//! before gets the same reply again. Offers and answers go through [`anchor::Session`]; the flags
//! of a command become the policies of its two sides.
//!
//! **Whoever reaches the port is believed**: NG has no key and no password. It belongs on the
//! loopback or on a network of the operator's own. Within that, nothing of a call is given to who
//! does not know its Call-ID and a tag of it; a tag that nobody answered with joins and ends
//! nothing. Calls are bounded in number ([`CALLS_MAX`]) and octets ([`OCTETS_MAX`]); what nobody
//! answers, and what has no media, ends in time ([`Engine::tick`], [`Timeouts`]).
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod bencode;
mod call;
mod command;
mod engine;
mod flags;
mod query;
mod record;
mod replies;
mod task;
mod timeouts;
mod words;
mod world;

pub use command::{COOKIE_OCTETS_MAX, Command, MESSAGE_OCTETS_MAX, Verb, frame};
pub use engine::{CALLS_MAX, Effect, Engine, OCTETS_MAX};
pub use timeouts::Timeouts;
pub use world::{Around, Counters, World};
