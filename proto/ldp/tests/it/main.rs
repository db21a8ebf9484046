//! LDP: messages, and speakers that find each other and tell labels in virtual time.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hostile;
mod labels;
mod messages;
mod net;
mod pseudowires;
mod sessions;
mod tshark;
mod worlds;
