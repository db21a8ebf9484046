//! IPv6 (RFC 8200).

mod error;
mod input;
mod lookup;
mod options;

pub use error::Ip6Error;
pub use input::Ip6Input;
pub use lookup::{Ip6Lookup, Ip6Redirect};
pub use options::Ip6Options;
