//! One target under libFuzzer: `TANDEM_FUZZ_TARGET` names it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static RUN: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("TANDEM_FUZZ_TARGET").expect("TANDEM_FUZZ_TARGET names a target");
    targets::named(&name).unwrap_or_else(|| panic!("there is no target {name}")).run
});

fuzz_target!(|octets: &[u8]| RUN(octets));
