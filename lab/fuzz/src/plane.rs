//! The life of a router, drawn from the input: frames of all kinds, and programs between them. The
//! tests of the plane play it by seed (`plane/control/tests/plane/lives.rs`).
#![allow(dead_code, unused_imports, reason = "a part of what the tests of the plane have")]
#![allow(clippy::unwrap_used, reason = "they are tests")]

#[path = "../../../plane/control/tests/plane/drawn.rs"]
mod drawn;
#[path = "../../../plane/control/tests/plane/hostile.rs"]
mod hostile;
#[path = "../../../plane/control/tests/plane/lives.rs"]
mod lives;
#[path = "../../../plane/control/tests/plane/world.rs"]
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
