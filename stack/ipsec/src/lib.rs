//! ESP as an endpoint: sets of security associations and the runtime's ports below them, for any
//! function.
//!
//! ```text
//!  raw IP (protocol 50) ─┐                 ┌─ datagram, segment: Arrived
//!  UDP (RFC 3948) ───────┴→ unprotect ─────┤
//!                             │ SPI        └─ dropped and counted (Metric)
//!                             ↓
//!                        sets by number ←─ reserve, install, remove
//!                             ↑
//!  a flow and octets ←── protect ←── datagram, packet ←── Streams (TCP inside)
//! ```
//! A packet is steered by its SPI ([`steer`]), which carries the shard, the slot and the generation
//! of its set ([`machine::identity::Layout`]): no table says whose it is. What an SPI gains who
//! guesses it is a look at an ICV.
//!
//! - The work for strangers is bounded: an unknown SPI costs a look at a slot; a packet of a known
//!   one from elsewhere than its peer is dropped before its ICV, and in UDP, where a NAT may move
//!   the peer, each source has so many tries a second ([`STRANGERS_PER_S`]).
//! - Another node of a pair may go on with sets: no number is used twice, none taken twice that it
//!   was told of ([`Endpoint::tell`], [`Endpoint::apply`]).
//! - Who takes part in which set, and when it ends, is the function's to say.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod endpoint;
mod handed;
mod metrics;
mod packet;
mod promises;
mod replica;
mod set;
mod shares;
mod spi;
mod strangers;
mod streams;

pub use endpoint::{Address, Arrived, Endpoint, PROTOCOL, Settings};
pub use handed::{read_handed, write_handed};
pub use metrics::Metric;
pub use packet::{TCP, UDP};
pub use promises::BLOCK;
pub use replica::Numbers;
pub use set::{Associations, Failed, Lane, Path, SetRow};
pub use spi::{SETS_MAX, SHARDS_MAX, steer};
pub use strangers::STRANGERS_PER_S;
pub use streams::{Incoming, Progress, Streams, Way};
