//! Labels (RFC 3031, RFC 3032): the table of labels, what comes off, what goes on.

pub mod entry;
mod expired;
pub(crate) mod hash;
mod input;
pub(crate) mod push;
pub(crate) mod table;
pub(crate) mod ttl;

pub(crate) use expired::MplsExpired;
pub(crate) use input::MplsInput;
