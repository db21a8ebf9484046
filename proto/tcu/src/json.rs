//! Messages as lines of JSON: an object each, `tc` says what it is.
//!
//! Operations, errors, contexts and parameters bear their ASN.1 names where MAP or CAP has rows for
//! them; else they are numbers, object identifiers with dots, and elements in hexadecimal digits
//! (`raw`).

mod address;
mod component;
mod object;
mod read;
mod write;

pub(crate) use read::{read_to_application, read_to_gateway};
pub(crate) use write::{write_to_application, write_to_gateway};

const SPEC: &str = "docs/applications.md, lines of JSON";
