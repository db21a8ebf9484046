//! Service assurance server.
#![forbid(unsafe_code)]

pub mod config;
