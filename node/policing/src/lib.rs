//! Policing of sources, for whoever listens where strangers can reach him: who sent it is all that
//! is looked at, before anything else is.
//!
//! ```text
//!   message ─→ Policer (each shard) ─→ Pass, refused, or asked for a proof
//!                 └ Change: known, blacklisted ─→ KernelFilter ─→ XDP before the interfaces
//! ```
//! A function asks its [`Policer`] about each source and hands on what that learns
//! ([`Policer::report`]); whoever starts the function starts a [`kernel::KernelFilter`] beside it.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod kernel;
mod policer;

pub use policer::{
    CHANGES_MAX, Change, Flood, KINDS_MAX, KNOWN_MAX, PROVEN_FOR, Policer, Prefix, Rules, Sentence,
    Source, TRUSTED_MAX, Verdict, Violation, WINDOW,
};
