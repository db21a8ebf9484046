//! Everything that speaks is a machine, and time is an argument.
//!
//! A [`Machine`] is told what happened and when; it answers with effects. It is infallible: a
//! peer's violation is an effect (reject, count, abort), not an error. Its timers are data inside
//! it, outside sees one deadline. Long work takes a budget and re-arms `deadline = now`.
#![forbid(unsafe_code)]

pub mod bucket;
pub mod fair;
pub mod identity;
mod keyed_hash;
pub mod narrow;
mod patience;
pub mod sequence;
pub mod shares;
pub mod slots;
mod time;
mod timers;
mod wheel;

pub use core::time::Duration;
pub use keyed_hash::KeyedHash;
pub use patience::Patience;
pub use time::Time;
pub use timers::Timers;
pub use wheel::Wheel;

/// A protocol's state, driven from outside.
///
/// Laws (`lab/sim/tests/it/laws.rs` holds every machine to them): the same inputs give the same
/// outputs; after `tick(t)`, `deadline()` is `None` or later than `t`, unless work was left over on
/// purpose; memory is bounded by named limits; no input panics.
pub trait Machine {
    /// What happened, in the past tense.
    type In;
    /// What shall be done, as commands.
    type Out;
    /// Takes one input.
    fn step(&mut self, now: Time, input: Self::In, out: &mut Vec<Self::Out>);
    /// Lets time pass until `now`: every timer due fires.
    fn tick(&mut self, now: Time, out: &mut Vec<Self::Out>);
    /// When `tick` wants to be called next.
    fn deadline(&self) -> Option<Time>;
}
