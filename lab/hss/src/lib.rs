//! A home subscriber server for the lab: Cx (TS 29.229) and Sh (TS 29.329) over Tandem's Diameter,
//! an online charging system beside it for immediate events of Ro (RFC 8506), and a function of a
//! running node that answers with it and asks for others. It replaces no real peer: it is what
//! scenarios without one are answered by.
//!
//! ```text
//!   Member: diameter_stack::Peers ─ Indication::Request → Hss::answer → Peers::answer
//!           ask "request" (JSON of a message) ──────────→ Peers::request → "answers"
//! ```
#![forbid(unsafe_code)]

mod cx;
mod member;
mod ro;
mod sh;
mod subscriber;

pub use member::{Member, MemberConfig};
pub use subscriber::{Hss, Subscriber};
