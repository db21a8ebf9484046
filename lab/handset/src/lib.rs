//! Phones of IMS as machines (TS 24.229 §5.1, TS 33.203): a card that answers AKA, the security
//! agreement, ESP of its own; and the home network that challenges them ([`Home`]).
//!
//! ```text
//! Handset ── clear ────→ REGISTER ──→ P-CSCF under test ──→ Home (S-CSCF and HSS)
//!    ↑  └─── ESP ──────→ REGISTER, requests, answers
//!    └────── ESP, clear ←──
//! ```
//! Time is an argument and packets are octets, so that thousands of them stand in a simulated world
//! or behind one raw socket.
#![forbid(unsafe_code)]

mod handset;
mod home;
mod sockets;
mod text;

pub use handset::{Carrier, Config, Event, Handset, Packet, State};
pub use home::{Home, HomeCounts};
pub use sockets::Sockets;
pub use text::Subscriber;
