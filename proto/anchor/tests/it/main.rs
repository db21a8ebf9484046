//! Descriptions through a call.

mod call;
mod codecs;
mod direction;
mod forks;
mod keys;
mod laws;
mod pairs;
mod rows;
mod unchanged;
