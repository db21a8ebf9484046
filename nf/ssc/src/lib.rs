//! Signalling session controller.
#![forbid(unsafe_code)]

pub mod config;
pub mod realm;
