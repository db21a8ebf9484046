//! The site file: diagnostics with position and hint, candidate, commit, rollback.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod archive;
mod draft;
mod foreign;
mod issue;
pub mod keys;
pub mod need;
mod reference;
mod schema;
mod site;
mod source;
mod store;
mod wording;

pub use archive::{Archive, Cause, Disk, Entry, State, write_atomic};
pub use draft::Corrected;
pub use foreign::{Links, open_regular, read_regular};
pub use issue::{Diagnostic, Issue, render};
pub use reference::describe;
pub use site::{ListenAddress, Site, closing, corrected, locate, placed, read, schema_of, shape};
pub use source::{SITE_BYTES_MAX, Source};
pub use store::{
    CONFIRM_MAX, Candidate, Moment, Order, Passed, Pending, REVISIONS_MAX, ROLLBACK_RETRY,
    Reconfigure, Refused, Running, Store,
};
pub use wording::{counted, interrupted, interruptions_listed, meant, nearest};
