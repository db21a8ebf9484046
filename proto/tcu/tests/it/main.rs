//! Tests of the TC-user primitives: both spellings, and the gateway's end of an application.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod application;
mod documentation;
mod forgetting;
mod hostile;
mod inside;
mod network;
mod replicas;
mod spelling;
mod standing;
mod values;
mod violations;
mod world;
