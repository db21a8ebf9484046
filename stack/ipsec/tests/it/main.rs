//! The endpoint of ESP: two ends with a bad network between them, and who is no end at all.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test program")]

mod hostile;
mod pair;
mod streams;
mod upgrade;
mod world;
