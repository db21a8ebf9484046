//! Provider edge: static configuration of a router, told to the process that forwards.
#![forbid(unsafe_code)]

mod compile;
pub mod config;
mod desired;
mod numbers;

pub use compile::FileRoute;
