//! Classifier, MAC table and policers against naive references, by seed.

mod classifier;
mod mac;
mod policer;
#[path = "../../examples/match_clocks/rules.rs"]
mod rules;
