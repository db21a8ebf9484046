//! BGP speakers by the thousand in one thread: clients of a route reflector that announce tables
//! and verify, route by route, what comes back.
//!
//! ```text
//!   InternetShape, synthetic, Evpn ─→ Feed: octets of UPDATEs, and the Sum that others must hold
//!                                       │
//!   Clients (epoll) ── Client ×N ── TCP from 127.16.x.y ──→ the reflector
//!                      │ ←───────────────────────────────┘
//!                      └ Reader ─→ Streams: the octets that the first one got, decoded once;
//!                                  equal octets of others are compared, the rest is decoded
//! ```
//! A client holds the right routes when the [`Sum`] of what it holds is the expected one: a number
//! that does not depend on the order, over key, path identifier, payload and attributes, among them
//! NEXT_HOP, ORIGINATOR_ID and CLUSTER_LIST. Its own routes, which may come back to it, are left
//! out (RFC 4456 §8: they are ignored).
//!
//! A reflector that writes the same octets to many is checked at the price of comparing them.
//! Which octets were equal decides nothing else: whoever gets other octets is decoded from the
//! message on in which they differ, on top of what it got before.
#![forbid(unsafe_code)]

mod client;
mod clients;
mod contents;
mod course;
mod criterion;
mod digest;
mod evpn;
mod internet;
mod keys;
mod plan;
mod random;
mod recorded;
mod streams;
mod table;

pub use client::WRITE_BYTES;
pub use clients::{Clients, Convergence, Error};
pub use contents::Contents;
pub use course::{Change, Course};
pub use criterion::Criterion;
pub use digest::{Attributes, Sum};
pub use evpn::{EVIS_MAX, Evpn};
pub use internet::InternetShape;
pub use keys::{KEYS_MAX, Keys};
pub use plan::{CLIENTS_MAX, Plan};
pub use random::Random;
pub use recorded::Recorded;
pub use streams::{REFERENCES_MAX, Reader, Streams};
pub use table::{Feed, Origin, Table};
