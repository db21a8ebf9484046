//! Streams a core.
fn main() {}
