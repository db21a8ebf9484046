//! Short messages in MAP (TS 29.002 §12, §23): what a node between service centres, HLRs and MSCs
//! says and hears of them, whatever its flows are.
//!
//! ```text
//!   argument ─→ octets of an invocation            who may, and how much: buckets, senders
//!   octets of an invocation, a result ─→ invoked   what is known for a while: standing, versions
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod argument;
pub mod buckets;
pub mod identity;
pub mod invoked;
pub mod senders;
pub mod standing;
pub mod versions;
