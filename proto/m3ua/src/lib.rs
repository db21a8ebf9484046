//! M3UA (RFC 4666): codec, and the signalling process as a machine without clock and sockets.
//!
//! A [`Process`] is configured with peers and Application Servers. It is told of associations,
//! messages and the user's wishes by [`Process::step`](machine::Machine::step), of time by
//! [`Process::tick`](machine::Machine::tick), and answers with [`Out`]: messages to send and
//! indications to the MTP3 user and to the management.
//!
//! ```text
//!         In::Transfer, In::Pause, …             Out::Indicate(Transfer, Pause, Status, …)
//!   user ────────────────────────────→ Process ─────────────────────────────────────────→ user
//!         In::CommunicationUp, Message    │       Out::Send, Out::Abort
//!   SCTP, TCP ───────────────────────→    └─────────────────────────────────────→ SCTP, TCP
//! ```
//! - What a process is, an ASP, an SGP or an IPSP, is its [`Role`] towards each peer (§1.2, §4.3).
//! - An Application Server stands either [`Side::Here`], when this process is one of its ASPs, or
//!   [`Side::There`], when the peers are. A single exchange between IPSPs has one for both
//!   directions, which stands `There` on both sides (§4.3.4.1, §5.6.1).
//! - An MSU goes to the Application Server whose key it belongs to; without one, it goes as from
//!   an ASP to the best Signalling Gateway on the way to its destination (§1.4.2.4, §4.5.2.2).
//! - MSUs with the same SLS keep their order: they go to the same ASP, on the same stream (§1.4.7).
//! - Over TCP, [`codec::frame`] finds the messages of a stream.
//!
//! ```
//! use bytes::Bytes;
//! use m3ua::codec::{PointCode, RoutingContext};
//! use m3ua::{In, Indication, Key, Out, Parameters, PeerSettings, Process, Role};
//! use m3ua::{ServerSettings, Settings, Side, Transfer};
//! use machine::{Machine, Time};
//!
//! let (mut out, now) = (Vec::new(), Time::ZERO);
//! let settings = Settings { peers_max: 8, servers_max: 8, parameters: Parameters::rfc4666() };
//! let point_code = |number| PointCode::new(number).expect("24 bits");
//! let key = Key::of(point_code(2));
//! let mut ends = [(Role::Sgp, Side::There), (Role::Asp, Side::Here)].map(|(role, side)| {
//!     let mut process = Process::new(settings).expect("they are valid");
//!     let server = ServerSettings::new(side, Some(RoutingContext(7)), key.clone());
//!     let server = process.add_server(server).expect("there is room");
//!     let peer = process.add_peer(PeerSettings::new(role)).expect("there is room");
//!     process.assign(now, server, peer, &mut Vec::new()).expect("they go together");
//!     (process, peer)
//! });
//! for (process, peer) in &mut ends {
//!     process.step(now, In::CommunicationUp(*peer, Some(10)), &mut out);
//! }
//! let mut to = 0; // the ASP has spoken first
//! while out.iter().any(|effect| matches!(effect, Out::Send(..))) {
//!     let (process, peer) = &mut ends[to];
//!     for effect in core::mem::take(&mut out) {
//!         let Out::Send(_, stream, bytes) = effect else { continue };
//!         process.step(now, In::Message(*peer, stream, bytes), &mut out);
//!     }
//!     to = 1 - to;
//! }
//! let payload = Bytes::from_static(b"UDT");
//! let (opc, dpc) = (point_code(1), point_code(2));
//! let msu = Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 5, payload };
//! ends[0].0.step(now, In::Transfer(msu.clone()), &mut out);
//! let Some(Out::Send(_, stream, bytes)) = out.pop() else { panic!("it is sent") };
//! let (asp, sgp) = &mut ends[1];
//! asp.step(now, In::Message(*sgp, stream, bytes), &mut out);
//! let Some(Out::Indicate(Indication::Transfer(.., came))) = out.pop() else { panic!("it came") };
//! assert_eq!(came, msu);
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod codec;
mod effects;
mod id;
mod loadshare;
mod metrics;
mod parameters;
mod process;
mod ranges;
mod settings;
mod timers;

pub use effects::{Cause, In, Indication, Out, Transfer};
pub use id::{PeerId, ServerId};
pub use metrics::Metric;
pub use parameters::{PENDING_MESSAGES_MAX, Parameters, Registration};
pub use process::{
    Availability, Course, DestinationStatus, MemberStatus, PeerStatus, Process, ServerStatus,
    Settings,
};
pub use settings::{
    Destination, KEY_DESTINATIONS_MAX, KEY_LIST_MAX, Key, MEMBERS_MAX, PeerSettings, Refused, Role,
    SERVERS_PER_PEER_MAX, ServerSettings, Side,
};
