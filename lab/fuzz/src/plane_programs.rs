//! Programs of all kinds between frames: nothing panics, what cannot be is refused (`plane/nodes/tests/nodes/lives.rs`).
#![no_main]
#![allow(dead_code, unused_imports, reason = "a part of what the tests of the plane have")]

#[path = "../../plane/nodes/tests/nodes/drawn.rs"]
mod drawn;
#[path = "../../plane/nodes/tests/nodes/hostile.rs"]
mod hostile;
#[path = "../../plane/nodes/tests/nodes/lives.rs"]
mod lives;
#[path = "../../plane/nodes/tests/nodes/world.rs"]
mod world;

use libfuzzer_sys::fuzz_target;
use lives::live;
use world::programs;

fuzz_target!(|octets: &[u8]| live(&programs(), octets, true));
