//! From offers and answers (RFC 3264) to media streams: how a border controller anchors media.
//!
//! ```text
//!   description of A ─→ Session::offer  ─→ description for B
//!   description for A ←─ Session::answer ←─ description of B
//!                            │
//!                            ├─ Change: a stream was added, changed, removed
//!                            └─ Stream: two ends, payloads, keys: what the media plane is told
//! ```
//! [`Session`] is a call between A and B. What each side wants is its [`Policy`]; ports come from a
//! [`Source`], usually a [`Pool`] of leased blocks; what must not be guessed comes from the caller.
//! What a session controller tells a media controller of all that are the messages of [`row`].
//! A description that is not taken is a [`Refusal`] and changes nothing.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod answer;
mod attribute;
mod bundle;
mod carriage;
mod codec;
mod format;
mod guard;
mod line;
mod means;
mod offer;
mod packed;
mod payload;
mod pending;
mod policy;
mod port;
mod refusal;
pub mod row;
mod section;
mod session;
mod side;
mod stream;
mod text;
mod towards;
mod write;

pub use attribute::Owner;
pub use carriage::{Carriage, Security};
pub use codec::{Codec, Shape};
pub use format::{Format, parameter};
pub use means::{Heard, Means};
pub use pending::FORKS_MAX;
pub use policy::{
    Bandwidth, CodecName, Codecs, Dtmf, Family, Feedback, Ice, Kinds, Origin, Policy, Protection,
    RtcpMux, Srtp,
};
pub use port::{BLOCKS_MAX, Block, Local, PAIRS_MAX, Pool, Source};
pub use refusal::{Reason, Refusal};
pub use session::{Change, LINES_MAX, Session};
pub use side::{Fork, Side};
pub use stream::{
    Action, Bundle, Checks, Coding, End, Event, Flow, Guard, Kind, PARAMETERS_MAX, Payload, Rtcp,
    Stream, Trace,
};
