//! Floods and what is let through, in namespaces.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod aka;
mod esp;
mod flood;
mod kernel_filter;
