//! Samples of interfaces' packets, as IPFIX: a feature of the packet plane.
//!
//! ```text
//!   ip4-in, ip6-in ─→ sample ─ one packet of N ─→ flow, or first octets ─→ message
//!                        │                                                         │
//!                        ↓ every packet, onward          ip4-lookup, ip6-lookup ←──┤ UDP
//!                                                      up, class `Samples` ←───────┘ no collector
//! ```
//! [`Sampler`] is the feature; its words are `Program::Sampling` and `Program::Collector`.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

mod collector;
mod feature;
mod flow;
mod ipfix;
mod node;

pub use feature::Sampler;
