//! BGP-4 (RFC 4271): codec, address families, packing, and the session as a machine without clock
//! and sockets.
//!
//! ```text
//!            In::Connected, Accepted, Closed, …          Out::Connect, Send, Close
//!   TCP  ───────────────────────────────────→ Session ───────────────────────────→ TCP
//!            receive(bytes)                      │       Out::Updates(range of bytes)
//!        ───────────────────────────────────→    └───────────────────────────────→ owner
//!            In::Start, Stop, Refuse, …                  Out::Indicate(Up, Down, Retain, …)
//!   owner ──────────────────────────────────→    └───────────────────────────────→ owner
//! ```
//! - A [`Session`] owns no routes: the UPDATEs stay in the buffer that was given to
//!   [`Session::receive`]. Their owner reads them with [`codec::Update::read`] in the context that
//!   [`Indication::Up`] told, and answers a violation by [`In::Refuse`].
//! - Reading borrows. [`codec::Update::canonical`] gives an attribute set as one slice, to be
//!   interned by its octets; [`codec::reflect`] and [`codec::rewrite`] change what must be changed.
//! - [`family`] has a row for each address family. A route is a *key*, which tables hold, and a
//!   *payload*. [`family::Ipv4Prefix`] takes five octets.
//! - [`pack`] writes as many routes of one attribute set into a message as fit, and message after
//!   message into one buffer.
//!
//! ```
//! use bgp::codec::Offer;
//! use bgp::family::{Family, FamilySet};
//! use bgp::{ConnectionId, In, Indication, Out, PeerAs, Session, Settings};
//! use machine::{Machine, Time};
//!
//! let now = Time::ZERO;
//! let speaker = |identifier, passive| {
//!     let families = FamilySet::only(Family::Ipv4Unicast);
//!     let offer = Offer::modern(65_000, identifier, 90, families);
//!     let mut settings = Settings::new(offer, PeerAs::Internal);
//!     settings.passive = passive;
//!     Session::new(settings, 7)
//! };
//! let mut ends = [speaker(1, false), speaker(2, true)];
//! let mut out = Vec::new();
//! ends.iter_mut().for_each(|end| end.step(now, In::Start, &mut out));
//! assert!(matches!(out[0], Out::Connect));
//! let id = ConnectionId(1);
//! let (mut from, mut sent) = (0, Vec::new());
//! ends[0].step(now, In::Connected(id), &mut sent);
//! ends[1].step(now, In::Accepted(id), &mut out);
//! let mut up = 0;
//! for _ in 0..6 {
//!     let mut next = if from == 0 { core::mem::take(&mut out) } else { Vec::new() };
//!     for effect in core::mem::take(&mut sent) {
//!         match effect {
//!             Out::Send(_, bytes) => _ = ends[1 - from].receive(now, id, &bytes, &mut next),
//!             Out::Indicate(Indication::Up(..)) => up += 1,
//!             _ => {}
//!         }
//!     }
//!     (sent, from) = (next, 1 - from);
//! }
//! assert_eq!(up, 2);
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod codec;
pub mod family;
pub mod pack;
mod session;

pub use session::{
    COLLISION_WINDOW, CONNECTIONS_MAX, Cause, ConnectionId, Counters, In, Indication, Negotiated,
    OPEN_HOLD_TIME, Out, PeerAs, Session, Settings, State,
};
