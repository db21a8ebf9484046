//! Two ends of a connection, with a network between them that loses, doubles and reorders.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test program")]

mod carried;
mod hostile;
mod segments;
mod world;
