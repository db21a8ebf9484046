//! BMP (RFC 7854, RFC 8671, RFC 9069): what a BGP speaker tells a monitoring station, as a codec
//! and as the speaker's side of the session.
//!
//! ```text
//!   owner ──PeerUp, PeerDown, Live──→ Sender ──Send──→ TCP to the station
//!     ↑ ←──Ask: a piece of a peer's routes──┘ ←──Blocked, Written──┘
//! ```
//! - Writing appends whole messages to a buffer; [`frame`] reads them and borrows.
//! - A [`Sender`] has no routes and no clock. When a station is there it asks its owner for the
//!   routes of one peer after the other, a piece at a time and only while the transport takes
//!   them; what happens meanwhile goes in between.
//! - A station that takes less than it is told is not served stale or thinned out: at
//!   [`QUEUE_BYTES_MAX`] it is disconnected, and begins anew.
//!
//! ```
//! use bmp::{Framing, Message, PeerHeader, frame, write_route_monitoring};
//!
//! let peer = PeerHeader::of([192, 0, 2, 1].into(), 65_001, 0x0A00_0001);
//! let mut update = Vec::new();
//! bgp::pack::end_of_rib(bgp::family::Family::Ipv4Unicast, &mut update);
//! let mut octets = Vec::new();
//! write_route_monitoring(&peer, &update, &mut octets);
//! let Framing::Message(message, length) = frame(&octets) else { panic!("it is one") };
//! assert_eq!((message, length), (Message::RouteMonitoring(peer, &update), octets.len()));
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod effects;
mod header;
mod information;
mod message;
mod peer;
mod sender;
mod statistics;
mod write;

pub use effects::{Counters, In, Out, PEERS_MAX, PeerId, QUEUE_BYTES_MAX, Settings, Token};
pub use header::{HEADER_BYTES, MESSAGE_BYTES_MAX, MessageType, VERSION};
pub use information::{Information, InformationType, MirroringType, Tlvs};
pub use message::{DownReason, Framing, Message, PeerDown, PeerUp, TerminationReason, frame};
pub use peer::{PEER_HEADER_BYTES, PeerHeader, PeerType};
pub use sender::{Sender, State};
pub use statistics::{Statistic, StatisticType, Statistics};
pub use write::{
    write_initiation, write_peer_down, write_peer_up, write_route_mirroring,
    write_route_monitoring, write_statistics, write_termination,
};
