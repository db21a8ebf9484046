//! Speech codecs of RTP, frames in and frames out, and the machine that transcodes streams.
//!
//! ```text
//!   packet ─→ Intake ─→ Decoder ─→ Resampler ─→ Encoder ─→ packet     each direction of a stream
//!               │ order, loss  │ samples, one channel │
//!               └ digits, comfort noise, concealment ─┘
//! ```
//! [`Transcoder`] has the streams; time is its argument, and it does no IO. G.711 and G.722 are
//! written here; Opus, AMR and AMR-WB are libraries of the system that are loaded when the process
//! begins ([`Library`]). Frames have one channel.
#![deny(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation, clippy::cast_sign_loss))]

pub mod amr;
pub mod conceal;
mod decoder;
pub mod dtmf;
mod encoder;
mod format;
pub mod g711;
pub mod g722;
pub mod intake;
mod ledger;
mod library;
pub mod message;
pub mod noise;
pub mod opus;
mod outgoing;
pub mod resample;
mod sample;
mod stream;
mod transcoder;
mod way;

pub use decoder::{Decoded, Decoder, PAYLOAD_OCTETS_MAX};
pub use encoder::{Coded, Encoder};
pub use format::{Codec, Format};
pub use ledger::{Ledger, Numbers};
pub use library::{Absent, Library};
pub use resample::{Rate, Resampler};
pub use stream::{Counts, Digits, End, Events, Notice, Output, Place, Refused, Side};
pub use transcoder::{STREAMS_MAX, Transcoder};
