//! TLS 1.2 and 1.3 by rustls with aws-lc-rs: keys and trust ([`Context`]), one connection's
//! state ([`Session`]).
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod context;
mod session;

pub use context::{ClientAuth, Context, TlsFileError, TlsSpec};
pub use rustls::Error as TlsError;
pub use session::{Progress, Session};
