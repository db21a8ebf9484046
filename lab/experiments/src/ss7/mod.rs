//! SCTP under M3UA, as two signalling endpoints on two paths: one experiment is one file.
//!
//! ```text
//!   ledger: MSUs ─→ End (M3UA, SCTP) ─┬─ path 0, cut ──┬─→ End (SCTP, M3UA) ─→ ledger: times
//!                                     └─ path 1 ───────┘
//!                                     Field: link::Pipe, virtual time
//!                                     live: namespaces, link::Emulator, UDP or IP
//! ```

mod failover_live;
mod failover_rows;
mod failover_search;
pub(crate) mod report;
pub mod sctp_failover;
mod side_by_side;
