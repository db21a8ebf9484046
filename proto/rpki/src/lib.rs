//! RPKI to Router (RFC 8210, RFC 6810) as the router's side, and origin validation (RFC 6811).
//!
//! ```text
//!   caches ──TCP──→ Client::receive ──→ Table ──→ validate_ipv4, validate_ipv6: Validity
//!                        └──→ Out::Changed(Delta): routes to be validated again
//! ```
//! - A [`Client`] is a machine without clock and sockets. It talks to the most preferred cache
//!   that answers, in version 1 or 0, and keeps what it learnt until that expires.
//! - An answer counts when it is whole: the table changes at End of Data, all at once.
//! - A [`Table`] takes 16 octets for a record of IPv4. [`Delta`] says which prefixes are concerned
//!   by a change, so that nobody has to go through all routes.
//! - Router keys are kept for whoever validates BGPsec. ASPA (version 2, a draft) is not there.
//!
//! ```
//! use bgp::family::Ipv4Prefix;
//! use rpki::{Change, Table, Validity, Vrp4};
//!
//! let prefix = |bits| Ipv4Prefix::new([192, 0, 2, 0].into(), bits).expect("at most 32 bits");
//! let mut table = Table::default();
//! let vrp = Vrp4 { prefix: prefix(24), max: 25, asn: 65_001 };
//! let delta = table.apply(&[Change { vrp, comes: true }], &[]);
//! assert!(delta.concerns_ipv4(prefix(26)) && !delta.concerns_ipv4(prefix(23)));
//! assert_eq!(table.validate_ipv4(prefix(25), Some(65_001)), Validity::Valid);
//! assert_eq!(table.validate_ipv4(prefix(26), Some(65_001)), Validity::Invalid);
//! assert_eq!(table.validate_ipv4(prefix(23), Some(65_001)), Validity::NotFound);
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod cache;
mod client;
mod effects;
mod index;
mod pdu;
mod table;
mod tree;

pub use cache::Phase;
pub use client::{Client, Status};
pub use effects::{
    BACKOFF, CACHES_MAX, CacheId, Cause, Counters, In, Indication, KEYS_MAX, Out, SPKI_BYTES_MAX,
    Settings,
};
pub use pdu::{
    ErrorCode, Framing, HEADER_BYTES, Intervals, PDU_BYTES_MAX, PORT, Pdu, PduType,
    REPEATED_BYTES_MAX, RouterKey, SKI_BYTES, TEXT_BYTES_MAX, Version, Vrp4, Vrp6, frame,
};
pub use table::{Change, Delta, Table, VRPS_MAX, Validity};
