//! RTP and RTCP: packets and reports as a codec, and what a receiver knows of a stream.
//!
//! ```text
//!   datagram ─ Datagram::of ─┬─ Rtp ── Header::peek ── Reception::packet ── Rewrite::apply
//!                            └─ Rtcp ─ Compound::read ─ Packet ─ Reception::reported
//!   Reception::figures ── quality::Rating ── R, MOS          Reception::report ── rtcp::write_*
//! ```
//! - Reading borrows and checks every length; writing appends to a buffer of the caller's.
//! - What runs for each packet ([`Datagram`], [`Header`], [`Rewrite`], [`Reception`]) allocates
//!   nothing, and its state is of a fixed size.
//! - There is no clock: the time of arrival is an argument, in ticks of the payload's clock
//!   ([`ClockRate::ticks`]) or as the middle of an NTP timestamp ([`NtpMiddle::of`]).
//!
//! ```
//! use rtp::{Arrival, Datagram, Header, Packet, Reception, Rewrite};
//!
//! let header =
//!     Header { payload_type: 8, sequence: 65_535, timestamp: 160, ssrc: 7, marker: true };
//! let mut octets = Vec::new();
//! Packet { header, payload: &[0xD5; 160], ..Packet::default() }.write(&mut octets);
//! assert_eq!(Datagram::of(&octets), Datagram::Rtp);
//! assert_eq!(Packet::read(&octets)?.payload.len(), 160);
//!
//! let mut reception = Reception::new(7, header.sequence, header.timestamp, 1_000);
//! assert_eq!(reception.packet(0, 320, 1_164), Arrival::Next);
//! assert_eq!(reception.packet(0, 320, 1_170), Arrival::Duplicate);
//! assert_eq!(reception.figures().duplicates, 1);
//!
//! assert!(Rewrite { ssrc: Some(9), sequence: 2, ..Rewrite::default() }.apply(&mut octets));
//! let header = Header::peek(&octets).expect("it is one");
//! assert_eq!((header.ssrc, header.sequence, header.marker), (9, 1, true));
//! # Ok::<(), wire::Malformed>(())
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod bursts;
mod clock;
pub mod comfort_noise;
mod datagram;
pub mod event;
pub mod extension;
mod packet;
pub mod quality;
mod reception;
pub mod rtcp;
mod sending;
mod words;

pub use bursts::{Bursts, GMIN};
pub use clock::{ClockRate, Ntp, NtpMiddle, duration, round_trip};
pub use datagram::Datagram;
pub use extension::Extension;
pub use packet::{CSRCS_MAX, HEADER_BYTES, Header, Packet, Rewrite, VERSION};
pub use reception::{Arrival, Figures, MAX_DROPOUT, MAX_MISORDER, Reception};
pub use sending::Sending;
pub use wire::Malformed;
pub use words::Words;
