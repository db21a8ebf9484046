//! What happens to a packet: the nodes of the packet plane, and the views that they read.
//!
//! ```text
//!   ethernet-input ─┬→ ip4-input ─arc ip4-in─→ ip4-lookup ─┬─arc out─→ interface-output → ports
//!                   ├→ ip6-input ─arc ip6-in─→ ip6-lookup ─┤
//!                   │                                      └→ local, glean, ip4-error, ip6-error
//!                   ├→ arp-input ─arc out─→
//!                   ├→ llc-input ─→ up to the control plane
//!                   ├→ mpls-input ─┬─arc out─→
//!                   │              └→ ip4-input, ip6-input, bridge-input, mpls-expired
//!                   ├─arc connect-in─→ cross-connect ─arc out─→
//!                   └─arc bridge-in──→ bridge-input ──arc out─→
//!   local ─→ echo, nd-input, reassembly, or up to the control plane
//! ```
//! Each node is one file. [`plan`] makes those that are there whatever features there are, features
//! ([`feature`]) make the others. Everything is pure: packets come from a [`graph::Pool`], time is
//! an argument, and what workers notice (a neighbour's answer, a MAC address) goes to the tables'
//! one writer (`plane/control`) through bounded rings. What both halves read stands in [`view`].
#![allow(unsafe_code, reason = "headers are read and written in place on the path of a packet")]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod addresses;
pub mod advertisement;
pub mod arcs;
pub mod arp;
pub mod bucket;
pub mod echo;
pub mod ethernet;
pub mod feature;
pub mod frame;
pub mod glean;
pub mod hop;
pub mod icmp;
pub mod inject;
pub mod interfaces;
pub mod ip4;
pub mod ip6;
pub mod l2;
pub mod llc;
pub mod local;
pub mod mpls;
pub mod nd;
pub mod output;
pub mod plan;
pub mod protection;
pub mod qos;
pub mod reassembly;
mod refused;
pub mod urpf;
pub mod view;

pub use ::packet::header;
pub use ::program;
pub use icmp::{error_entry, unreachable};
pub use interfaces::{Counted, InterfaceCounters, Interfaces};
pub use program::Program;
pub use refused::Refused;
pub use view::{Heard, Out, Speech, Token};
