//! The life of a router, drawn from the input: frames of all kinds, and programs between them. The
//! tests of the plane play it by seed (`plane/nodes/tests/nodes/lives.rs`).
#![allow(dead_code, unused_imports, reason = "a part of what the tests of the plane have")]
#![allow(clippy::unwrap_used, reason = "they are tests")]

#[path = "../../../plane/nodes/tests/nodes/drawn.rs"]
mod drawn;
#[path = "../../../plane/nodes/tests/nodes/hostile.rs"]
mod hostile;
#[path = "../../../plane/nodes/tests/nodes/lives.rs"]
mod lives;
#[path = "../../../plane/nodes/tests/nodes/world.rs"]
mod world;

use lives::{live, rich};
use world::programs;

/// A router with something of everything meets frames of all kinds, time passes: nothing panics
/// and every cell comes back.
pub fn frames(octets: &[u8]) {
    live(&rich(), octets, false);
}

/// Programs of all kinds between frames: nothing panics, what cannot be is refused.
pub fn changes(octets: &[u8]) {
    live(&programs(), octets, true);
}
