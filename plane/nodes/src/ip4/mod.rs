//! IPv4 (RFC 791, RFC 1812).

mod error;
mod fragment;
mod input;
mod lookup;
mod options;

pub use error::{ERROR_BYTES_MAX, Ip4Error};
pub use fragment::{FRAGMENTS_MAX, Ip4Fragment};
pub use input::Ip4Input;
pub use lookup::{Ip4Lookup, Ip4Redirect};
pub use options::Ip4Options;

pub(crate) use error::TTL;
pub(crate) use lookup::{leave, rewrite};
