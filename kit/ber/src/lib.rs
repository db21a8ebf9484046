//! BER, the Basic Encoding Rules of ASN.1 (X.690 §8): a reader that borrows, a writer, and types
//! as rows.
//!
//! ```text
//! element = identifier: class, constructed, number · length: definite, indefinite · contents
//!
//!   octets ──Reader──→ Element ──children()──→ Reader …           depth is bounded
//!                         │──integer(), octets(), bits(), oid()    one value
//!                         └──MyType::read()──→ Record ──get(MyType::Field)──→ Element
//! ```
//! - Reading allocates nothing: an [`Element`] borrows from the message. A string that comes in
//!   pieces (X.690 §8.7.3) is read piece by piece, see [`Octets`].
//! - [`sequence!`], [`set!`], [`choice!`], [`enumerated!`] and [`named!`] declare types, one row a
//!   component; check, names, values by seed for tests, and the outline for people follow.
//! - [`Writer::record`] writes a type by its rows; [`Type::to_json`] and [`Type::from_json`] speak
//!   its names.
//! - A component that is there and is not well-formed is a violation, optional or not. Components
//!   that an extensible type does not know are passed over and kept ([`Record::unknown`]).
//!
//! ```
//! use ber::{Boolean, Element, OctetString, Writer};
//!
//! ber::sequence! {
//!     /// A toy.
//!     pub enum RoutingInfo = "RoutingInfo", "TOY §1" {
//!         Number = "number", OctetString<1, 9> [0];
//!         Priority = "priority", Boolean [1];
//!         Centre = "centre", OctetString<1, 9> [2], optional;
//!         ...
//!     }
//! }
//!
//! let mut octets = Vec::new();
//! let mut writer = Writer::new(&mut octets);
//! writer.constructed(ber::Tag::SEQUENCE, |writer| {
//!     writer.octets(ber::Tag::context(0), &[0x91, 0x64]);
//!     writer.boolean(ber::Tag::context(1), true);
//! });
//! let info = RoutingInfo::read(Element::only(&octets)?)?;
//! assert_eq!(info.octets(RoutingInfo::Number).unwrap(), [0x91, 0x64][..]);
//! assert_eq!(info.boolean(RoutingInfo::Priority), Some(true));
//! assert!(!info.has(RoutingInfo::Centre));
//! # Ok::<(), wire::Malformed>(())
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod check;
mod element;
mod fill;
mod header;
mod integer;
pub mod json;
mod oid;
mod outline;
mod place;
mod record;
mod rows;
mod sample;
mod string;
mod tag;
mod types;
mod visit;
mod writer;

pub use element::{Element, Reader};
pub use fill::Fill;
pub use oid::{Oid, parse as parse_oid};
pub use place::Placed;
pub use record::{Record, Rows};
pub use string::{Bits, Leaves, Octets};
pub use tag::{Class, Tag};
pub use types::{
    Any, BitString, Boolean, Described, Field, Ia5String, Integer, Null, NumericString,
    ObjectIdentifier, OctetString, Presence, SequenceOf, SetOf, Shape, Size, Type, Utf8String,
    VisibleString,
};
pub use visit::Each;
#[doc(hidden)]
pub use wire;
pub use writer::Writer;

/// Constructed elements within each other, at most; deeper ones are refused.
pub const DEPTH_MAX: u8 = 32;
