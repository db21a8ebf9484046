//! The site file: diagnostics with position and hint, candidate, commit, rollback.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod archive;
mod issue;
mod schema;
mod site;
mod source;
mod store;

pub use archive::{Archive, Cause, Disk, Entry, write_atomic};
pub use issue::{Diagnostic, Issue};
pub use schema::nearest;
pub use site::{Doorway, Site, locate, read, schema_of, shape};
pub use source::{SITE_BYTES_MAX, Source};
pub use store::{
    CONFIRM_MAX, Candidate, Moment, Passed, Pending, Plant, REVISIONS_MAX, ROLLBACK_RETRY, Refused,
    Running, Store,
};
