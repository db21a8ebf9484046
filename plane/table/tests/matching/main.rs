//! Classifier, MAC table and policers against naive references, by seed.
#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

mod classifier;
mod mac;
mod policer;
#[path = "../../examples/match_clocks/rules.rs"]
mod rules;
