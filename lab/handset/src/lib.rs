//! Phones of IMS as machines (TS 24.229 §5.1, TS 33.203): a card that answers AKA, the security
//! agreement, ESP of its own; and the home network that challenges them ([`Home`]).
//!
//! ```text
//! Handset ── clear ────→ REGISTER ──→ P-CSCF under test ──→ Home (S-CSCF and HSS)
//!    ↑  └─── ESP ──────→ REGISTER, requests, answers
//!    └────── ESP, clear ←──
//! ```
//! Time is an argument and packets are octets, so that they stand in a simulated world. A [`Fleet`]
//! is thousands of them behind a few addresses and one endpoint of ESP.
#![forbid(unsafe_code)]

mod fleet;
mod handset;
mod home;
mod notifier;
mod passing;
mod phone;
mod sockets;
mod terminal;
mod text;

pub use fleet::{Came, Fleet, FleetConfig, Station};
pub use handset::Handset;
pub use home::{Home, HomeCounts};
pub use phone::{Agreed, Carrier, Config, Event, NOT_BELIEVED, Packet, State};
pub use sockets::Sockets;
pub use terminal::{Called, HomeServer, Terminal};
pub use text::Subscriber;
