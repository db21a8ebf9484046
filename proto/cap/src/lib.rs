//! CAP (TS 29.078 release 16, with what phases 1 to 3 of CAMEL have of it): operations, errors,
//! application contexts and types as rows, as those of MAP are.
//!
//! ```text
//!   Context ── phase(3) ──→ object identifier, operations of both sides
//!   Operation ── signature(phase) ──→ class, argument, result, errors ──→ types, map::types
//! ```
//! Types are those of phase 4, which extend those of the phases before it: what an older peer sends
//! is read by them, and an older peer passes over what it does not know.
//!
//! ```
//! use ber::{Element, Writer};
//! use cap::types::InitialDpArg;
//! use cap::{Context, Operation};
//!
//! let mut octets = Vec::new();
//! Writer::new(&mut octets).record::<InitialDpArg>(|out| {
//!     out.integer(InitialDpArg::ServiceKey, 100);
//!     out.octets(InitialDpArg::CalledPartyNumber, &[0x84, 0x90, 0x21, 0x43]);
//! });
//! let (context, phase) = Context::of_oid(&[4, 0, 0, 1, 23, 3, 4]).unwrap();
//! let operation = Operation::named("initialDP").unwrap();
//! assert_eq!((context, phase), (Context::GsmSsf, 4));
//! assert!(context.phase(4).unwrap().initiator.contains(&operation));
//! let argument = operation.signature(phase).unwrap().argument.unwrap();
//! let mut json = String::new();
//! argument.kind.to_json(&Element::only(&octets)?, &mut json)?;
//! assert_eq!(json, r#"{"serviceKey":100,"calledPartyNumber":"84902143"}"#);
//! # Ok::<(), wire::Malformed>(())
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod context;
mod error;
mod operation;
mod tables;
pub mod types;

pub use context::{Context, Phase};
pub use error::Error;
pub use operation::{L, M, Operation, S};
pub use tables::tables;
