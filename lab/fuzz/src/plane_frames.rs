//! A router with something of everything meets frames of all kinds, time passes: nothing panics and
//! every cell comes back (`plane/nodes/tests/nodes/lives.rs`).
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
use lives::{live, rich};

fuzz_target!(|octets: &[u8]| live(&rich(), octets, false));
