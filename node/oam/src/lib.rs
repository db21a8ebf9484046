//! HTTP API, metrics, alarms, logs, health, console: everything an operator sees of a site.
//!
//! A function takes part through [`Managed`]; the binary puts its functions into a [`Registry`]
//! and starts [`Oam`]. Metrics are read from the cells of the shards, nothing is counted twice.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

pub mod alarm;
pub mod clock;
mod console;
pub mod core;
pub mod exposition;
pub mod history;
pub mod http;
pub mod log;
mod managed;
pub mod metrics;
pub mod notify;
pub mod process;
pub mod section;
mod server;
pub mod session;
mod ticker;
pub mod token;

pub use managed::{Described, Extra, Managed, PortRow, Registry, State};
pub use section::Section;
pub use server::{ExposuresFn, Oam, Spec, assemble};
pub use utoipa::openapi::OpenApi;
