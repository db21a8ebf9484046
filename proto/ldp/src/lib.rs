//! LDP (RFC 5036): neighbours are found, sessions stand, labels are bound to prefixes and told
//! (downstream unsolicited, liberal retention, ordered or independent control), and to pseudowires
//! (RFC 8077).
//!
//! ```text
//! In::Datagram ─→ adjacencies ─→ sessions ─→ Out::Connect, Out::Write
//! In::Octets   ─→ session ─→ bindings ─→ Out::Forward: a prefix, its label, its hops with theirs
//!                         └→ pseudowires ─→ Out::Pseudowire, Out::ForgetMacs
//! ```
//!
//! Beside it: IPv6 (RFC 7552), GTSM of hellos and sessions (RFC 6720, RFC 5082), restart (RFC
//! 3478), when the IGP may use a link (RFC 5443), withdrawal of MAC addresses (RFC 4762).
//! [`Speaker`] is a machine: time is an argument, connections of TCP are numbers, and what they
//! carry are octets.
//!
//! What a peer can make grow is bounded ([`Limits`]). Whatever is not believed is counted with its
//! reason ([`Discard`]) and answered as the RFC says.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod adjacency;
mod bindings;
pub mod codec;
mod discard;
mod labels;
mod prefix_labels;
mod pseudowire;
mod session;
mod settings;
mod speaker;

pub use codec::{Fec, LdpId, Prefix, PseudowireId};
pub use discard::Discard;
pub use pseudowire::{PseudowireSettings, PseudowireState};
pub use session::SessionState;
pub use settings::{
    BadSetting, ConnectionId, Control, IMPLICIT_NULL, InterfaceSettings, LabelHop, Limits, NextHop,
    Settings,
};
pub use speaker::{ALL_ROUTERS_IPV4, ALL_ROUTERS_IPV6, In, Out, PORT, Speaker};
