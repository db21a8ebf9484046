//! Authentication and key agreement of 3GPP (TS 33.102 §6.3): the functions of a subscription by
//! Milenage (TS 35.206) or TUAK (TS 35.231), vectors, sequence numbers, both ends of a challenge,
//! and what HTTP Digest makes of it for IMS (RFC 3310, RFC 4169).
//!
//! ```text
//! home:  Algorithm + Generator ─ vector(RAND) ──→ RAND, AUTN, XRES, CK, IK
//!           ↑ resynchronise(AUTS)                       │ RAND, AUTN
//! card:  Algorithm + Freshness ─ answer ←───────────────┘
//!           └→ RES, CK, IK │ MAC failure │ AUTS
//! ```
//!
//! - No clock and no random source: RAND and the clock of the sequence numbers come in.
//! - Keys, answers and anonymity keys are a [`Secret`]: compared in constant time, overwritten when
//!   they are dropped, and not shown.
//! - [`digest`] stands on the rest and nothing else stands on it: EAP-AKA needs vectors alone.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod card;
pub mod digest;
pub mod esp_keys;
mod function;
mod home;
mod keccak;
mod milenage;
mod secret;
mod sequence;
mod token;
mod tuak;

pub use card::{Answer, Card, Reject};
pub use function::{Algorithm, Amf, Keys, Rand, Sqn};
pub use home::{Forged, Home, Vector};
pub use milenage::Milenage;
pub use secret::{SECRET_MAX, Secret};
pub use sequence::{
    Exhausted, Freshness, GENERAL_DELTA, Generator, GeneratorState, IND_BITS, IND_BITS_MAX, Scheme,
};
pub use token::{Autn, Auts, MAC_OCTETS};
pub use tuak::{Lengths, MacLength, ResLength, SessionLength, Tuak};
