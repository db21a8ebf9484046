//! MAP (TS 29.002 release 16, with GSM 09.02 phases 1 and 2): operations, errors, application
//! contexts and types as rows.
//!
//! ```text
//!   Operation ── signature(version) ──→ class, argument, result, errors ──→ types, v2
//!       │ timer, name, section
//!   Context ── version(2) ──→ operations of both sides
//!       └── negotiation: Answer to what is offered; what to offer after a refusal
//! ```
//! - A row is the only place of what it says: codec, names, JSON both ways
//!   ([`ber::Type::to_json`]), values by seed for tests and fuzzing, and the tables of
//!   `docs/map.md` follow from it.
//! - An operation has one row, with a signature for each range of versions: version 3 and 4 with
//!   the types of release 16 ([`types`]), versions 1 and 2 with those of GSM 09.02 ([`v2`]).
//! - Reading borrows and allocates nothing ([`ber::Record`]).
//!
//! ```
//! use ber::{Element, Writer};
//! use map::types::{LocationInfoWithLmsi, RoutingInfoForSmRes};
//! use map::{Context, Operation};
//!
//! let mut octets = Vec::new();
//! Writer::new(&mut octets).record::<RoutingInfoForSmRes>(|out| {
//!     out.octets(RoutingInfoForSmRes::Imsi, &[0x62, 0x02, 0x10, 0x32, 0x54, 0x76, 0x98, 0xf0]);
//!     let location = RoutingInfoForSmRes::LocationInfoWithLmsi;
//!     out.within::<LocationInfoWithLmsi>(location, |out| {
//!         out.octets(LocationInfoWithLmsi::NetworkNodeNumber, &[0x91, 0x44, 0x67]);
//!     });
//! });
//! let (context, version) = Context::of_oid(&[4, 0, 0, 1, 0, 20, 3]).unwrap();
//! let operation = Operation::of(45).unwrap();
//! assert!(context.version(version).unwrap().initiator.contains(&operation));
//! let result = operation.signature(version).unwrap().result.unwrap();
//! let mut json = String::new();
//! result.kind.to_json(&Element::only(&octets)?, &mut json)?;
//! assert_eq!(
//!     json,
//!     r#"{"imsi":"62021032547698f0","locationInfoWithLMSI":{"networkNode-Number":"914467"}}"#
//! );
//! # Ok::<(), wire::Malformed>(())
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod context;
pub mod dialogue;
mod error;
pub mod negotiation;
mod operation;
mod tables;
pub mod types;
pub mod v2;

pub use context::{Context, Version};
pub use error::Error;
pub use operation::{L, M, ML, Operation, S, USSD};
pub use tables::tables;
