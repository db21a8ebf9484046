//! Simulated worlds in virtual time: links that lose, delay, reorder and duplicate by a seed,
//! and the functions and scripted endpoints that talk over them.
//!
//! ```
//! use sim::{Link, LinkSpec};
//! use machine::Time;
//! let mut link = Link::new(7, LinkSpec { loss: 0.0, ..LinkSpec::default() });
//! link.send(Time::ZERO, b"hello", 1);
//! let at = link.deadline().expect("it is on its way");
//! assert_eq!(link.deliver(at), Some((1, b"hello".to_vec())));
//! ```
//!
//! A [`World`] owns one link and any number of [`Node`]s; where two addresses need a way of their
//! own (a rate, a queue, a schedule of cuts), [`World::lay`] lays a `link::Pipe`.
//! [`World::run_until`] moves time from one deadline to the next. The same seed gives the same
//! run, byte for byte: compare [`World::digest`].
#![forbid(unsafe_code)]

mod function;
mod law;
mod link;
mod world;

pub use ::link::Random;
pub use function::Hosted;
pub use law::hold;
pub use link::{Counts, Link, LinkSpec};
pub use world::{Node, NodeId, Outbox, PipeId, World};
