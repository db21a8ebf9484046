//! Packets through a forwarder: the tester on one core, what is tested on the other.
//!
//! ```text
//!   namespace `side`, core 0              namespace `sut`, core 1
//!   Tester ─ left ══ veth ══ in ─→ Linux, or Tandem's forwarder ─→ out ══ veth ══ right ─ Tester
//! ```
//! One direction. The tester counts loss, order and delay of every packet.

mod bench;
mod case;
mod edge;
mod ground;
mod memory;
mod programs;
mod provider;
mod tester;

pub(super) use bench::{Bench, Reached, linux_name};
pub(super) use case::{Case, Version};
pub(super) use edge::Edge;
pub(super) use ground::{Ground, IN_MAC, LEFT_MAC, SUT_V4, Who};
pub(super) use memory::{Memory, Rings};
pub(super) use programs::router;
pub(super) use provider::{Provider, Scale};
pub(super) use tester::{Found, Tester};
