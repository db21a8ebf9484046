//! HTTP Digest whose passwords are answers of AKA, version 1 (RFC 3310) and 2 (RFC 4169), as SIP
//! registrations in IMS use it (TS 24.229 §5.1.1.5, §5.2.2, §5.4.1.2).
//!
//! ```text
//! UE                                   P-CSCF                       S-CSCF
//!  │ REGISTER                            │                            │
//!  ├─────────────────────────────────────┼───────────────────────────→│ Server::challenge
//!  │                 401, no keys        │        401, ck, ik         │
//!  │←────────────────────────────────────┤ take_keys ←────────────────┤
//!  │ answer │ REGISTER, response or auts │                            │
//!  ├─────────────────────────────────────┼───────────────────────────→│ Server::check
//! ```
//! Values are those of a header field behind its name: `Digest realm="…", …`.

mod algorithm;
mod challenge;
mod client;
mod credentials;
mod nonce;
mod parameters;
mod response;
mod server;

pub use algorithm::{Algorithm, Hash, SessionKeys, Version};
pub use challenge::{Challenge, Qops, has_keys, take_keys};
pub use client::{Answered, Outcome, answer};
pub use credentials::{Credentials, Qop, mark};
pub use nonce::Nonce;
pub use parameters::{PARAMETERS_MAX, VALUE_OCTETS_MAX};
pub use response::Request;
pub use server::{Refused, SERVER_DATA_MAX, Server, WRONG_MAX};
