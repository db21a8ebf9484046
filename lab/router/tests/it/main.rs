//! The experiments of the router's report, small.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod packets;
mod reflection;
