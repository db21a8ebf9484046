//! TCP (RFC 9293) for octets that no kernel carries: inside of ESP, and between routers whose
//! addresses are a forwarder's.
//!
//! ```text
//! open ──→ SynSent ──┐                       ┌── FinWait1 ─→ FinWait2, Closing ─→ TimeWait
//!                    ├──→ Established ─close─┤
//! SYN ──→ SynReceived┘         │ FIN         └──────────────────────────────────────┐
//!                              └──→ CloseWait ─close─→ LastAck ─────────────────────┴→ Closed
//! ```
//! [`Connection`] is a machine: segments, octets and time in ([`Connection::receive`],
//! [`Connection::send`], [`Connection::tick`]), segments and octets out ([`Connection::next`],
//! [`Connection::incoming`]).
//!
//! - It is made for signalling: what comes out of order is dropped, acknowledged and sent again
//!   (RFC 9293 §3.10.7.4 lets it be kept or dropped); there are no options but the maximum segment
//!   size, and no segment waits for others to go with it.
//! - Its timer is that of RFC 6298, its window that of RFC 5681 with one loss at a time.
//! - Whoever guesses numbers gains nothing: a RST or SYN that fits a window alone gets a challenge
//!   (RFC 5961 §3, §4).
//! - Segments are signed, and signatures looked at, beside the machine ([`sign`], [`is_signed`]).
//! - Another process can go on with a connection ([`Position`], [`Connection::resume`]), and until
//!   it has what passes nothing of that is acknowledged, and nothing leaves.
//! - What waits is bounded in octets in both directions, and so is how often it is sent again.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod carried;
mod connection;
mod receiving;
mod segment;
mod sending;
mod signature;
mod timer;

pub use carried::Position;
pub use connection::{Connection, INCOMING_MAX, QUEUE_MAX, State, TIME_WAIT, Why};
pub use segment::{Ends, Flags, HEADER, OCTETS_MAX, PROTOCOL, Segment, is_sound};
pub use signature::{SIGNATURE, has_signature, is_signed, sign};
