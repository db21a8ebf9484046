//! Diameter (RFC 6733): its rows, its codec, and the node as a machine without clock and sockets.
//!
//! ```text
//!            In::Request, In::Answer              Out::Indicate(Request, Answer, PeerUp, …)
//!  function ────────────────────────────→ Node ───────────────────────────────────────→ function
//!            In::Connected, Message, Lost   │      Out::Connect, Out::Send, Out::Close
//!  TCP, TLS, SCTP ──────────────────────→   └──────────────────────────────→ TCP, TLS, SCTP
//! ```
//! - **Rows.** Applications, commands and AVPs are declared once ([`row`], [`rows`]); reading,
//!   checking, JSON both ways, made-up values and the tables of `docs/diameter.md` follow. Another
//!   application is a table of further rows given to [`Dictionary::new`], and nothing else.
//! - **Codec.** [`codec::Message`] borrows from the octets; [`Dictionary::check`] holds it against
//!   its rows and names each violation with Result-Code and Failed-AVP; [`codec::Writer`] writes.
//! - **Node.** A [`Node`] has peers with capabilities, election, watchdog and disconnect, routes by
//!   realm and application, the requests under way with failover, and what it knows of requests
//!   that come twice. It relays and redirects too.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod check;
pub mod codec;
mod dictionary;
mod effects;
mod json;
mod metrics;
mod node;
pub mod row;
pub mod rows;
mod sample;
mod session_id;
mod settings;
mod tables;
mod timers;

pub use dictionary::Dictionary;
pub use effects::{DisconnectCause, In, Indication, Out, Outcome, Outgoing, RequestId};
pub use metrics::Metric;
pub use node::{Node, NodeStatus, PeerCounts, PeerStatus, State};
pub use session_id::SessionIds;
pub use settings::{
    Action, Connection, HOPS_MAX, Hop, PEERS_MAX, Parameters, PeerId, PeerSettings, REQUESTS_MAX,
    ROUTES_MAX, Refused, Route, Settings,
};
