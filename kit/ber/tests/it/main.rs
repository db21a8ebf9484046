//! BER: reading, writing, types as rows.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod allocation;
mod json;
mod other_forms;
mod properties;
mod reading;
mod rows;
mod shop;
mod writing;
