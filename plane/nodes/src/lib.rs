//! What happens to a packet: the nodes of the packet plane, and the [`Plane`] that programs them.
//!
//! ```text
//!   control process ── Program ──→ Plane (one writer) ── tables ──→ workers' graphs
//!                   ←── Heard ────       ←──── bounded rings ────
//!
//!   ethernet-input ─┬→ ip4-input ─arc ip4-in→ ip4-lookup ┬→ ip4-rewrite ─arc out→ interface-output
//!                   ├→ ip6-input ─arc ip6-in→ ip6-lookup ┤→ ip4-local / ip6-local ─→ punt
//!                   ├→ arp-input                        └→ icmp-error, glean
//!                   └→ mpls-input, bridge-input, cross-connect
//! ```
//! Each node is one file. Everything is pure: packets come from a [`graph::Pool`], time is an
//! argument, and what workers notice (a neighbour's answer, a MAC address) goes to the plane
//! through bounded rings.
#![allow(unsafe_code, reason = "headers are read and written in place on the path of a packet")]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod addresses;
mod advertisement;
pub mod arcs;
pub mod arp;
pub mod bucket;
pub mod echo;
pub mod ethernet;
pub mod flow;
pub mod frame;
pub mod glean;
pub mod header;
pub mod hop;
pub mod icmp;
pub mod inject;
pub mod interfaces;
pub mod ip4;
pub mod ip6;
mod l2;
pub mod local;
pub mod mpls;
pub mod nd;
mod notes;
pub mod output;
pub mod plane;
pub mod protection;
mod qos;
pub mod reassembly;
mod sampling;
mod services;
pub mod urpf;

pub use ::{program, scheduler};
pub use icmp::{error_entry, unreachable};
pub use interfaces::{Counted, InterfaceCounters, Interfaces};
pub use plane::{Heard, Out, Plane, Refused, Resolution, Speech};
pub use program::Program;
