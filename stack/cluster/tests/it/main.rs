//! Clusters in simulated worlds, and what their messages may be.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a test program")]
#![allow(clippy::cast_possible_truncation, reason = "a test program")]

mod codec;
mod placement;
mod world;
mod worlds;
