//! SCTP (RFC 9260): codec, association and endpoint, as a machine without clock and sockets.
//!
//! An [`Endpoint`] is one port with its associations. It is told of packets and of the user's
//! wishes by [`Endpoint::step`], of time by [`Endpoint::tick`], and answers with [`Out`]: packets
//! to send and indications to the user.
//!
//! ```text
//!        In::Send, In::Shutdown, …            Out::Indicate(Data, NetworkStatusChange, …)
//!  user ───────────────────────────→ Endpoint ───────────────────────────────────────→ user
//!        In::Packet                     │       Out::Transmit
//!  wire ───────────────────────────→    └─────────────────────────────────────────────→ wire
//! ```
//! - A message does not leave at once but at the next tick, for which [`Endpoint::deadline`]
//!   asks at once: what one round of the shard's loop brings is bundled into full packets.
//! - A path is an address of the peer. The UDP port beside it is that of an encapsulation
//!   (RFC 6951), zero without one; it follows the peer.
//! - Nothing is kept for a peer before its cookie has come back.
//!
//! ```
//! use machine::Time;
//! use sctp::{Endpoint, Indication, Out, Packet, In, Parameters, Settings};
//! let settings = |port, last, listens| Settings {
//!     port, addresses: vec![[10, 0, 0, last].into()], listens, associations_max: 8,
//!     parameters: Parameters::rfc9260(),
//! };
//! let mut client = Endpoint::new(settings(1000, 1, false), [1; 32]);
//! let mut server = Endpoint::new(settings(2000, 2, true), [2; 32]);
//! let (mut out, now) = (Vec::new(), Time::ZERO);
//! client.associate(now, &[([10, 0, 0, 2], 0).into()], 2000, &mut out).expect("there is room");
//! let mut is_up = false;
//! for turn in 0..4 {
//!     let sent = core::mem::take(&mut out);
//!     for effect in sent {
//!         let Out::Transmit(sent) = effect else { continue };
//!         let from = [10, 0, 0, if turn % 2 == 0 { 1 } else { 2 }];
//!         let packet = Packet { source: (from, 0).into(), destination: sent.destination.ip(),
//!                               bytes: sent.bytes.into() };
//!         let peer = if turn % 2 == 0 { &mut server } else { &mut client };
//!         peer.step(now, In::Packet(packet), &mut out);
//!     }
//!     let up = |it: &Out| matches!(it, Out::Indicate(_, Indication::CommunicationUp(..)));
//!     is_up |= out.iter().any(up);
//! }
//! assert!(is_up);
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod arrived;
mod association;
pub mod codec;
mod cookie;
mod effects;
mod endpoint;
mod greeting;
mod id;
mod offer;
mod parameters;
mod random;

pub use association::{
    AddressRequest, Answer, Message, Outgoing, PATHS_MAX, Part, PathState, PathStatus, Reliability,
    Request, Scheduler, State, Status,
};
pub use effects::{
    AddressChange, Failure, Icmp, IcmpError, In, Indication, Lost, Out, Packet, Reconfiguration,
    Transmit,
};
pub use endpoint::{Counts, Endpoint, Refused, Settings};
pub use id::AssociationId;
pub use overload::Answers;
pub use parameters::{Extensions, Parameters, PathParameters};
