//! What a play costs, both of its roles and their TCAP, in virtual time: no sockets, no clock.
//!
//! `cargo bench -p tandem-scenario` tells plays a second of some scenarios; `-- --plays N NAME`
//! plays N and ends, for callgrind.

use machine::Duration;
use scenario::{World, built_in};
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

/// Plays of one measurement.
const PLAYS: u64 = 50_000;
const NAMES: [&str; 4] = ["map-sri-for-sm", "cap-call-monitoring", "location-update", "mt-sms"];

fn played(name: &str, count: u64) -> f64 {
    let found = built_in().iter().find(|it| it.name == name).expect("there is one of that name");
    let mut program = scenario::read(found.text, Path::new(".")).expect("it is well-formed");
    program.load.rate = 5_000.0;
    let mut world = World::new(program, 1);
    let begun = Instant::now();
    let report = world.play(Some(count), Duration::from_secs(3_600));
    assert_eq!(report.failed(), 0, "{report:#?}");
    count as f64 / begun.elapsed().as_secs_f64()
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let mut out = std::io::stdout();
    if let Some(at) = words.iter().position(|it| it == "--plays") {
        let count = words.get(at + 1).and_then(|it| it.parse().ok()).expect("--plays N NAME");
        played(words.get(at + 2).map_or(NAMES[0], String::as_str), count);
        return;
    }
    for name in NAMES {
        let rate = played(name, PLAYS);
        writeln!(out, "{name}: {rate:.0} plays a second, both roles").expect("somebody reads it");
    }
}
