//! Service assurance server: every captured message kept for a while and found again.
//!
//! HEP3 comes in over UDP and TCP; messages are joined into [`trail::Trail`]s over all legs of a
//! call, kept in a [`store::Store`] and found by number, URI, Call-ID, address, time, method,
//! status and outcome. This is the one place where identities are shown in full; they are never
//! logged.
#![forbid(unsafe_code)]

mod answer;
pub mod config;
pub mod entry;
mod facts;
mod function;
mod keys;
mod live;
mod recover;
mod search;
mod table;
pub mod tail;
pub mod trail;

pub use facts::Fact;
pub use function::Sas;
