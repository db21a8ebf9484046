//! A link emulator: delay, jitter, rate and queue, loss, reordering, duplicates, corruption, cut
//! and heal at a time, for each direction, by a seed.
//!
//! The [`Pipe`] is a machine: simulations give it packets and virtual time. The [`Emulator`] puts
//! pipes between interfaces, so that real packets of any program cross them.
//!
//! ```
//! use link::{Pipe, PipeSpec, Schedule};
//! use machine::{Duration, Machine, Time};
//! let mut pipe = Pipe::new(7, PipeSpec::delayed(Duration::from_millis(10)), Schedule::default());
//! let mut out = Vec::new();
//! pipe.step(Time::ZERO, b"hello".to_vec(), &mut out);
//! let at = pipe.deadline().expect("it is on its way");
//! pipe.tick(at, &mut out);
//! assert_eq!((at, &out[0].packet[..]), (Time::from_millis(10), &b"hello"[..]));
//! ```
//!
//! ```text
//!   file, command line → Plan ─→ Emulator ─┬ PacketSocket → Frame (cut into segments) ┐
//!                                          │                Pipe ←────────────────────┘
//!                                          └ PacketSocket ←─ Arrival
//! ```
#![forbid(unsafe_code)]

mod emulator;
mod end;
mod flying;
mod frame;
mod jitter;
mod loss;
mod pipe;
mod plan;
mod quantity;
mod random;
mod spec;
mod summary;

pub use emulator::Emulator;
pub use frame::Frame;
pub use jitter::{DEVIATIONS_MAX, Jitter, Shape};
pub use loss::{GilbertElliott, Loss};
pub use pipe::{Arrival, Counts, FLYING_MAX, Packet, Pipe};
pub use plan::{
    CORRUPT_BITS_MAX, EVENTS_MAX, Event, LINKS_MAX, LinkPlan, Place, Plan, Way, What, Which,
};
pub use quantity::{Probability, Queue, Rate, Span};
pub use random::Random;
pub use spec::{Change, HOLD, PipeSpec, Schedule};
pub use summary::{Late, LinkSummary, Summary, WaySummary};
