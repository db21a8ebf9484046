//! Time of a search by number over ten million calls on disk.
//!
//! `cargo run --release -p tandem-sas --example search -- [--small] [DIRECTORY]`. It writes the
//! records of the calls (no messages), opens the store again, and prints one line per search.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement for people")]
#![allow(clippy::disallowed_methods, reason = "a measurement needs a clock")]

#[path = "../tests/it/support/calls.rs"]
mod calls;

use sas::trail::{Kind, Outcome, Trail};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const START_US: u64 = 1_800_000_000_000_000;

fn main() {
    let small = std::env::args().any(|arg| arg == "--small");
    let named = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    run(small, named.map(Into::into));
}

/// The measurement; a small one only shows that it works.
pub fn run(small: bool, named: Option<std::path::PathBuf>) {
    let temporary = tempfile::tempdir().unwrap();
    let directory = named.unwrap_or_else(|| temporary.path().to_owned());
    let calls = if small { 100_000 } else { 10_000_000 };
    fill(&directory, calls);
    let config = sas::config::Sas { size_max_mb: 1 << 20, ..sas::config::Sas::default() };
    let began = Instant::now();
    let archive = sas::Archive::open(&config, &directory).unwrap();
    println!("opened {calls} calls in {:.3} s", began.elapsed().as_secs_f64());
    let nothing_live: sas::AskFn = Arc::new(|_| Ok(serde_json::json!({ "rows": [] })));
    let (from, to) = calls::numbers(calls / 3);
    let digits = &from[3..];
    for (what, pairs) in [
        ("number, all digits", vec![("number", from.as_str())]),
        ("number, no prefix", vec![("number", digits)]),
        ("number, first digits", vec![("number", "493000012*")]),
        ("number that never called", vec![("number", "+15550001111")]),
        ("free text", vec![("q", to.as_str())]),
        ("number and outcome", vec![("number", digits), ("outcome", "busy")]),
        ("an address of every call", vec![("address", "192.0.2.1"), ("limit", "50")]),
        ("the newest", vec![]),
        ("all that were busy", vec![("outcome", "busy")]),
        ("a status that never was", vec![("status", "503")]),
        ("answered and busy", vec![("status", "200"), ("outcome", "busy")]),
    ] {
        let params: BTreeMap<_, _> =
            pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut times = Vec::new();
        let mut found = 0;
        for _ in 0..5 {
            let began = Instant::now();
            let page = sas::archive::search(&archive, &nothing_live, params.clone()).unwrap();
            times.push(began.elapsed());
            found = page.trails.len();
        }
        let (first, best) = (times[0], times.iter().min().unwrap());
        println!("{what:26} {found:4} found  first {first:>10.2?}  best {best:>10.2?}");
    }
}

/// Writes the records of `calls` calls, 10,000 a second of their time.
fn fill(directory: &Path, calls: u64) {
    let config = sas::config::Sas { size_max_mb: 1 << 20, ..sas::config::Sas::default() };
    let directory = directory.join(&config.directory);
    let options = store::Options::new(directory, Duration::from_secs(72 * 3_600), 1 << 40);
    let store::Opened { store, mut writer, .. } = store::Store::open(options).unwrap();
    for call in 0..calls {
        let now_us = START_US + call * 100;
        let record = record(call, now_us);
        while writer.record(now_us, record.clone()).is_err() {
            std::thread::sleep(Duration::from_millis(1));
            writer.tick(now_us);
        }
        if writer.is_roll_due(now_us) {
            writer.roll(now_us);
            writer.snapshot_done(now_us);
        }
    }
    drop(writer);
    store.stop();
}

fn record(call: u64, now_us: u64) -> store::Record {
    let (from, to) = calls::numbers(call);
    let mut trail = Trail::new(((now_us / 1_000) << 22) | (call % 1_000), now_us);
    trail.kind = Kind::Call;
    trail.method = sip::Method::Invite;
    trail.outcome = if call % 10_000 == 7 { Outcome::Busy } else { Outcome::Answered };
    trail.status = if call % 10_000 == 7 { 486 } else { 200 };
    trail.from = format!("sip:{from}@access.example.org").into();
    trail.to = format!("sip:{to}@core.example.org").into();
    trail.call_ids = (0..2).map(|leg| format!("{call:016x}{leg}@192.0.2.1").into()).collect();
    for host in ["198.51.100.7:5060", "192.0.2.1:5060", "192.0.2.129:5060", "203.0.113.9:5060"] {
        trail.hosts.push(host.parse().unwrap());
    }
    sas::record_of(&trail)
}
