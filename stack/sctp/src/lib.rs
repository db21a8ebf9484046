//! SCTP bound to ports: an [`sctp::Endpoint`] and the runtime's ports below it, for any function.
//!
//! A function lists the ports of its [`Config`] in its [`runtime::ShardSpec`], embeds a
//! [`SctpEndpoint`], and hands on what happens. Underneath is the house's own SCTP, or the kernel's
//! where it has one.
//!
//! ```text
//!   In::Message ──→ SctpEndpoint::message ─┐
//!   In::Returned ─→ SctpEndpoint::returned ┤
//!   In::Ready ────→ SctpEndpoint::ready ───┤
//!   user's wish ──→ associate, wish ──┼→ Endpoint ─┬→ flush → Effects::send → UDP, raw IP
//!   tick ─────────→ SctpEndpoint::tick ────┘            └→ next  → (association, indication)
//! ```
//! Whoever calls one of the upper ones then takes everything from [`SctpEndpoint::next`] and calls
//! [`SctpEndpoint::flush`]. All associations of an endpoint live on the first shard
//! ([`SctpEndpoint::steer`]).
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod config;
pub mod host;
mod kernel;
mod kernel_event;
mod kernel_status;
mod metrics;
mod needs;
mod parameters;
mod routes;
mod sctp_endpoint;
mod show;
mod stack;
mod will;

pub use self::config::{
    ADDRESSES_MAX, ASSOCIATIONS_MAX, Carrier, Config, ENCAPSULATION_PORT, Peer, SCTP_PROTOCOL,
};
pub use metrics::AssociationMetric;
pub use parameters::{Extensions, Overrides, preset};
pub use sctp::{AssociationId, Refused};
pub use sctp_endpoint::SctpEndpoint;
pub use show::{SctpAssociationRow, SctpPathRow};
pub use will::is_abort;
