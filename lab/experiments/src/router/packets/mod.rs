//! Packets through a forwarder: the tester on one core, what is tested on the other.
//!
//! ```text
//!   namespace `side`, core 0              namespace `sut`, core 1
//!   Tester ─ left ══ veth ══ in ─→ Linux, or Tandem's forwarder ─→ out ══ veth ══ right ─ Tester
//! ```
//! One direction. The tester counts loss, order and delay of every packet.

mod bench;
mod case;
mod ground;
mod tester;

pub(super) use bench::{Bench, Reached};
pub(super) use case::{Case, Version};
pub(super) use ground::{Ground, IN_MAC, LEFT_MAC, SUT_V4};
pub(super) use tester::{Found, Tester};
