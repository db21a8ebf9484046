//! The registrar front (RFC 3261 §10, RFC 3327, RFC 3608, RFC 5626): the core registers a contact
//! of ours, the client's own contact and flow stay here, and a refresh reaches the core only when
//! the core's binding needs one.
//!
//! ```text
//! REGISTER ──→ refresh (known, same source, core's binding fresh) ──→ 200
//!      else ─→ on_register ──┬─ Forward (write_core: our Contact and Path) ──→ core
//!                            └─ Reject                                           │
//! 200 ←── Answered (write_answer: the client's contacts) ←── on_core_answer ←────┘
//! ```
//! A client that comes from another address, with another contact or another Call-ID goes to the
//! core, whose challenge decides; only its 200 moves a binding. A binding is found by the token
//! in the Contact that the core has, by address of record or alias, and by source.
//!
//! A function embeds one [`Registrar`] in each shard, numbers its networks ([`RealmId`]) and sends
//! what the registrar writes; deltas for a standby go out by [`Registrar::tell`].
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod accept;
mod aor;
mod binding;
mod config;
mod dialog_source;
mod identity;
mod index;
mod pending;
mod refresh;
mod registrar;
mod replica;
mod source;
#[cfg(test)]
mod tests;
mod write;

pub use accept::{Change, CoreVerdict};
pub use aor::{AOR_BYTES_MAX, Aor};
pub use binding::{AGENT_BYTES_MAX, Binding, TEXT_BYTES_MAX};
pub use config::Config;
pub use dialog_source::may_come_from;
pub use pending::{PENDING_MAX, Pending};
pub use refresh::Refreshed;
pub use registrar::{ALIASES_MAX, ENDED_PER_TICK_MAX, Gone, Registrar, Reject, Verdict};
pub use replica::KINDS_FROM;
pub use write::DROPPED;
