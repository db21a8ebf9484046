//! The generator in the eyes of others, what the analyser makes of damage, methods on devices
//! that are noisy by seed.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot be set up fails")]

mod damage;
mod device;
mod methods;
mod packets;
mod plans;
mod speech;
mod wire;
