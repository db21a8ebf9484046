//! The site file: diagnostics with position and mend, candidate, commit, rollback.
#![forbid(unsafe_code)]

mod issue;

pub use issue::{Diagnostic, Issue};
