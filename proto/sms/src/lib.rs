//! Short messages: TPDUs (TS 23.040), RP messages (TS 24.011) with the SIP body that they are, and
//! alphabets (TS 23.038), all as rows.
//!
//! ```text
//!   application/vnd.3gpp.sms = RP-DATA, RP-ACK, RP-ERROR, RP-SMMA             rp::Message
//!                                 └─ RP-User-Data = a TPDU                    Kind::read → Tpdu
//!                                       └─ TP-UD = header elements, text      UserData → Header
//! ```
//! - A row is the only place of what it says: where a parameter stands, its name, its section;
//!   codec, JSON both ways, messages by seed, and the tables of `docs/sms.md` follow from it.
//! - Reading borrows and allocates nothing. What would be written otherwise than it stands is kept
//!   in JSON as octets, so that a message always comes back as it was.
//! - What a relay has no part in is not judged: user data headers are read when they are asked for.
//!
//! ```
//! use sms::rp::Message;
//! use sms::{Address, Kind, RpAddress};
//!
//! let octets = [
//!     0x00, 0x2a, 0x00, 0x05, 0x91, 0x44, 0x77, 0x00, 0x09, 0x0f, 0x01, 0x07, 0x0c, 0x91, 0x44,
//!     0x77, 0x00, 0x09, 0x10, 0x32, 0x00, 0x00, 0x02, 0xc8, 0x34,
//! ];
//! let message = Message::read(&octets)?;
//! assert_eq!(message.destination, RpAddress::international("44770090").unwrap());
//! let submit = message.tpdu_kind().unwrap().read(message.user_data.unwrap())?;
//! assert_eq!(submit.kind(), Kind::Submit);
//! assert_eq!(submit.address(), Address::international("447700900123").as_ref());
//! assert_eq!(submit.user_data().unwrap().text()?.as_deref(), Some("Hi"));
//! # Ok::<(), wire::Malformed>(())
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod address;
pub mod alphabet;
mod coding;
mod concatenation;
pub mod header;
mod json;
mod names;
pub mod rp;
mod sample;
mod tables;
mod time;
mod tpdu;
mod user_data;

pub use address::{Address, NumberingPlan, RpAddress, TypeOfNumber, digits};
pub use coding::{Characters, Class, Coding, Indication, Waiting};
pub use concatenation::{Joiner, Limits, Part, Split, split};
pub use names::{Cause, Command, FailureCause, Status};
pub use tables::tables;
pub use time::{TIME_OCTETS, Time, Validity};
pub use tpdu::{Direction, Field, Kind, Parameter, Place, Shape, Tpdu, Value};
pub use user_data::{Made, OCTETS_MAX, UserData, header_of};
