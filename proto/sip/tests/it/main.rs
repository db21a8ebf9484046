//! SIP: its words, dialogs, transactions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod dialogs;
mod laws;
mod locate;
mod smoke;
mod torture;
mod transaction_tables;
mod transactions;
