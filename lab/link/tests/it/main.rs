//! The link: its laws in virtual time, its wire in namespaces.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laws;
mod wire;
