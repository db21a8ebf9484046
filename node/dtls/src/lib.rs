//! Handshakes of DTLS 1.2 and 1.3 (RFC 6347, RFC 9147) that leave keys for SRTP (RFC 5764), by the
//! crate `dimpl`, as a [`Handshake`]: a [`machine::Machine`] of one peer, time and octets in,
//! octets and keys out.
//!
//! ```text
//! Datagram, Expect ─→ Handshake ─→ Send, Keys, Failed, Closed
//! ```
//!
//! It stands on this floor beside TLS, not among the protocols, because it is not pure: `dimpl`
//! draws the secrets of key exchanges and signatures from the system's random source, whatever it
//! is given, and takes time as instants of the system's clock, which only a clock can make. So the
//! same inputs do not give the same octets; all else that holds for machines holds here.
//!
//! - **No keys before trust.** A certificate says nothing by itself: what SDP said of it decides
//!   ([`In::Expect`]). Until then keys wait inside; of a stranger they never come out.
//! - **No amplification.** A server answers nothing longer than what it was asked before a cookie
//!   has come back.
//! - **Bounded.** Datagrams, the queues of the handshake, its time and the attempts that forged
//!   datagrams can begin have limits; afterwards the engine goes within [`LINGER`].
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod attempt;
mod certificate;
mod cookie_exchange;
mod handshake;
mod settings;

pub use certificate::{Certificate, CertificateError};
pub use handshake::{
    ATTEMPTS_MAX, DATAGRAM_OCTETS_MAX, Failure, Handshake, In, Judge, Keys, LINGER, Out, Role,
    SOURCE_ATTEMPTS_MAX, UNPROVEN_MAX,
};
pub use settings::{HANDSHAKE_MAX, Settings};
