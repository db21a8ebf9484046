//! Screening, from outside.

mod build;
mod evasions;
mod fs11;
mod laws;
mod rules;
mod velocity;
