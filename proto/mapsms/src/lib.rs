//! Short messages as a node between service centres, HLRs and MSCs deals with them (TS 29.002 §12,
//! §23, TS 29.338), whatever its flows are.
//!
//! ```text
//!   argument ─→ octets of an invocation            who may, and how much: buckets, senders
//!   octets of an invocation, a result ─→ invoked   what is known for a while: standing, versions
//!   argument, invoked, refused ⇄ requests and answers of S6c and SGd: by_diameter
//!   messages that wait: centre; what is under way to whom: subscribers; who is waited for: watches
//!   rows that outlive a flow: store, and as octets: rows; what correlates: identity, given
//!   what became of a message: record, outcomes; who does not answer: silent
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod argument;
pub mod asking;
pub mod buckets;
pub mod by_diameter;
pub mod centre;
pub mod deposit;
pub mod given;
pub mod identity;
pub mod informed;
pub mod invoked;
pub mod outcomes;
pub mod record;
pub mod rows;
pub mod senders;
pub mod silent;
pub mod standing;
pub mod store;
pub mod subscribers;
pub mod versions;
pub mod watches;
