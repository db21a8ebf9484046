//! What happens to a media packet on its way through a controller, as far as it needs no graph.
//!
//! ```text
//!   payload of UDP, its source ─→ Flow::packet
//!     Datagram::of ─ use of the port ─ Latch ─ payload type, SSRC ─ Police ─ Reception ─ Rewrite
//!         │ STUN, DTLS: up    └── dropped, each with its Reason ──┘          └→ Forward
//! ```
//! A [`Flow`] is what comes to one port: the port is its index, nothing is looked up by address.
//! It is told by signalling what it may take, and changes nothing of that by itself: the one thing
//! that packets decide is from where they come, within what [`Latch`] allows.
//!
//! - Nothing here allocates for a packet, reads a clock or knows of workers. Who owns a flow calls
//!   it: packets of one flow are handled one after the other, so that their order stands.
//! - A drop has a reason, and the flow's state is then as before, but for what counts.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation))]

mod arrival;
mod batch;
mod cell;
mod departure;
mod feature;
mod flow;
mod latch;
mod node;
mod police;
pub mod program;
mod reason;
mod senders;
mod table;
mod watch;

pub use feature::{Media, PORTS_MAX, RANGES_MAX};
pub use flow::{Arrived, Flow, Passed, PayloadTypes, Reason, STREAMS_MAX, Settings, Use, Verdict};
pub use latch::{Expected, LATCH_WINDOW, Latch, SILENCE, Seen};
pub use node::{MEDIA_SEND, MEDIA4, MEDIA6};
pub use police::{BURST, Police, Rate};
pub use table::FLOWS_MAX;
pub use watch::{ONE_WAY, ROUND, STATISTICS, STEP};
