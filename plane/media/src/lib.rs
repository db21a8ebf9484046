//! Media in the packet plane: what a controller's ports take, and where it goes on.
//!
//! ```text
//!   ip4-in, ip6-in ─→ media4, media6 ─ port: a cell ─┬ SRTP: opened ─→ Flow::packet ─┬→ headers
//!        (behind the rules)     │                    └ RTP ────────────┘ │           │  of the way
//!                               │ no flow: dropped                      up, dropped  ↓
//!   media-send ← frames that come down                 SRTP: protected ─→ ip4-lookup, ip6-lookup
//! ```
//! A [`Flow`] is what comes to one port: the port is its index, nothing is looked up by address.
//! It is told by signalling what it may take, and changes nothing of that by itself: the one thing
//! that packets decide is from where they come, within what [`Latch`] allows. [`program`] has the
//! words of the feature ([`Media`]), which makes of them cells that the nodes read.
//!
//! - Nothing here allocates for a packet that is in the clear, or reads a clock. A cell is held
//!   while a packet of its flow is handled; one stream stays on one worker, so its order stands.
//! - A drop has a reason, and the flow's state is then as before, but for what counts.
//! - No index is used twice under one key: a key has one sender, whatever flows have the key.
//! - Nothing leaves in the clear for want of keys.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod agreed;
mod arrival;
mod batch;
mod branch;
mod cell;
mod departure;
mod feature;
mod flow;
mod latch;
mod lines;
mod node;
mod peer;
mod police;
pub mod program;
mod reason;
mod reports;
mod rows;
mod senders;
mod table;
mod watch;

pub use feature::{Media, PORTS_MAX, RANGES_MAX};
pub use flow::{
    Arrived, Flow, Passed, PayloadTypes, Reason, SOURCES_MAX, STREAMS_MAX, Settings, Sources, Use,
    Verdict,
};
pub use latch::{Expected, LATCH_WINDOW, Latch, SILENCE, Seen};
pub use node::{MEDIA_SEND, MEDIA4, MEDIA6};
pub use peer::Peer;
pub use police::{BURST, Police, Rate};
/// What the settings of a flow are made of.
pub use rtp::{ClockRate, Rewrite};
pub use table::FLOWS_MAX;
pub use watch::{ONE_WAY, ROUND, STATISTICS, STEP};
