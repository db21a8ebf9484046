//! The types that versions 1 and 2 of application contexts write otherwise than the highest: GSM
//! 09.02
//! phase 2, which has those of phase 1 in it.

mod mobility;
mod services;

pub use mobility::*;
pub use services::*;
