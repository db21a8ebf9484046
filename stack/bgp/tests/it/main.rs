//! Two speakers joined by TCP connections, in virtual time: what an owner of routes sees of them.
#![allow(missing_docs, clippy::unwrap_used)]

mod config;
mod sessions;
mod world;
