//! Labels (RFC 3031, RFC 3032): the table of labels, what comes off, what goes on.

pub(crate) mod echo;
pub mod entry;
mod expired;
pub(crate) mod hash;
mod input;
pub mod push;
pub mod table;
pub(crate) mod ttl;

pub use expired::MplsExpired;
pub use input::MplsInput;
