//! Packets through a forwarder: the tester on one core, what is tested on the other.
//!
//! ```text
//!   namespace `side`, core 0              namespace `sut`, core 1
//!   Tester ─ left ══ veth ══ in ─→ Linux, or Tandem's forwarder ─→ out ══ veth ══ right ─ Tester
//! ```
//! One direction. The tester counts loss, order and delay of every packet.
#![forbid(unsafe_code)]

mod arp;
mod bench;
mod case;
mod customers;
mod edge;
mod memory;
mod programs;
mod provider;
mod session;
mod testbed;
mod tester;
mod testpmd;

pub use bench::{Bench, Reached};
pub use case::{Case, Version};
pub use customers::{Customers, MANAGEMENT, PORTS, ROUTER_MAC, echo, echoed};
pub use edge::Edge;
pub use memory::{InMemory, Memory, Rings};
pub use programs::router;
pub use provider::{Provider, Scale};
pub use session::{Held, Session};
pub use testbed::{
    IN, IN_MAC, IN_MAC_TEXT, LEFT, LEFT_MAC, NEXT_MAC, NEXT_V4, OUT, OUT_MAC, OUT_MAC_TEXT, RIGHT,
    SUT_V4, Testbed, Who,
};
pub use tester::{Found, Tester};
pub use testpmd::Testpmd;
