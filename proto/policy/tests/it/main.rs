//! Policies: rules, laws, faults, documents.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod documents;
mod faults;
mod given;
mod laws;
mod reference;
mod rules;
