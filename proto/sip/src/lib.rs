//! SIP: messages and their words (RFC 3261 and its extensions). Transactions and dialogs are
//! crates of their own.
//!
//! The message layer borrows: [`Message::parse`] allocates nothing, copies nothing and keeps every
//! octet where it found it, so that what nobody touched leaves as it came. Words of the protocol
//! are rows: methods in `method.rs`, headers in `header.rs`.
//!
//! ```
//! let bytes = b"OPTIONS sip:bob@example.org SIP/2.0\r\n\
//!     Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK7\r\n\
//!     From: <sip:alice@example.com>;tag=1\r\n\
//!     To: <sip:bob@example.org>\r\n\
//!     i: 7@192.0.2.1\r\n\
//!     CSeq: 1 OPTIONS\r\n\r\n";
//! let message = sip::Message::parse(bytes)?;
//! assert_eq!(message.method(), sip::Method::Options);
//! assert_eq!(message.call_id(), b"7@192.0.2.1");
//!
//! let mut out = Vec::new();
//! let mut answer = sip::Writer::response(&mut out, 200, sip::reason(200).as_bytes());
//! message.lines().filter(|line| sip::Header::Via == line.header).for_each(|l| answer.copy(&l));
//! answer.end();
//! # Ok::<(), wire::Malformed>(())
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod address;
mod challenge;
mod check;
mod cseq;
mod escape;
mod frame;
mod header;
mod header_index;
mod lanes;
mod line;
pub mod locate;
mod message;
mod method;
mod octet;
pub mod overload;
mod param;
mod parse;
mod refuse;
mod request_head;
mod service;
mod set;
mod status;
mod text;
pub mod trust;
mod uri;
mod via;
pub mod view;
pub mod write;

pub use address::NameAddr;
pub use challenge::{Challenger, Unproved, write_stale};
pub use check::check_header;
pub use cseq::{CSEQ_MAX, CSeq};
pub use escape::{escaped, unescaped};
pub use frame::{Framing, ends_head, frame};
pub use header::{Grammar, Header, Shape};
pub use header_index::{HeadStep, HeadWalk, HeaderIndex, Lines, NameFilter};
pub use line::LineEnds;
pub use message::{HEADERS_MAX, Line, MESSAGE_BYTES_MAX, Message, Start};
pub use method::Method;
pub use param::{Items, Param, Params, param, unquoted};
pub use parse::{HEADER_NAME_BYTES_MAX, WRONG_VERSION};
pub use refuse::{TOO_LARGE_SPEC, refuse, status as refusal_status};
pub use request_head::{RequestHead, to_value};
pub use service::{is_emergency, is_service};
pub use set::HeaderSet;
pub use status::reason;
pub use uri::{Scheme, Uri};
pub use via::{MAGIC_COOKIE, Via};
pub use wire::Malformed;
pub use write::{Writer, decimal};
