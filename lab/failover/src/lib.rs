//! SCTP under M3UA on two paths, one of which fails: two signalling endpoints in virtual time, or
//! as processes between namespaces, and what their users saw of it.
//!
//! ```text
//!   ledger: MSUs ─→ End (M3UA, SCTP) ─┬─ path 0, cut ──┬─→ End (SCTP, M3UA) ─→ ledger: times
//!                                     └─ path 1 ───────┘
//!                                     Field: link::Pipe, virtual time
//!                                     live: namespaces, link::Emulator, UDP or IP
//! ```
#![forbid(unsafe_code)]

pub mod arithmetic;
mod asp;
pub mod configuration;
pub mod course;
mod end;
pub mod ledger;
mod live_end;
pub mod live_testbed;
pub mod pauses;
pub mod simulation;
pub mod statistics;
mod watch;

pub use asp::{Asp, ECHOED};
pub use configuration::{Condition, Configuration};
pub use course::{Case, Course, Load};
pub use simulation::run;
