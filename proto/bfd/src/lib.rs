//! Bidirectional Forwarding Detection: RFC 5880, on one hop (5881), in general (5882), over several
//! hops (5883), on label switched paths (5884) and pseudowires (5885).
//!
//! ```text
//!            Down ──→ ┌──────┐ ──→ Init, Up
//!   ┌────→ ┌──────┐   │ Init │   ┌────┐
//!   │      │ Down │   └──────┘   │ Up │     Init: the peer is Down and hears us
//!   │      └──────┘ ──→ Init ──→ └────┘     Up: both hear each other
//!   └── detection time, peer Down, AdminDown ──┘
//! ```
//!
//! [`Sessions`] is a machine: datagrams and time in, datagrams and changes of state out. It is
//! small and quick, since a forwarder's worker runs it beside packets: nothing is allocated for a
//! packet, a session has a fixed size, and one queue holds one deadline of each. Whatever is not
//! believed is counted with its reason ([`Discard`]).
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod agenda;
mod authentication;
mod echo;
mod packet;
mod rows;
mod session;
mod sessions;
mod settings;

pub use authentication::{Authentication, Key, Keys};
pub use echo::{ECHO_OCTETS, Echo};
pub use packet::{AuthSection, Datagram, MANDATORY_OCTETS, OCTETS_MAX, Packet};
pub use rows::{AuthType, Diagnostic, Discard, State};
pub use session::SESSION_OCTETS;
pub use sessions::{In, Out, Received, Sessions, Summary};
pub use settings::{Limits, Path, Role, SessionId, SessionSettings, Timers};

/// UDP port of control packets on one hop (RFC 5881 §4).
pub const PORT_SINGLE_HOP: u16 = 3784;
/// UDP port of echo packets (RFC 5881 §4).
pub const PORT_ECHO: u16 = 3785;
/// UDP port of control packets over several hops (RFC 5883 §5).
pub const PORT_MULTIHOP: u16 = 4784;
/// The lowest UDP port that control packets may come from (RFC 5881 §4).
pub const SOURCE_PORT_MIN: u16 = 49_152;
/// The TTL that packets on one hop leave with and must arrive with (RFC 5881 §5).
pub const TTL: u8 = 255;
