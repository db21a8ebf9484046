//! Messages that one SAS takes a second, everything on one core: HEP and SIP parsing,
//! correlation, compression, index, and the disk thread with its syncs.
//!
//! `cargo run --release -p tandem-sas --example ingest -- [--small] [DIRECTORY]`; pin it with
//! `taskset -c 1`. It prints one line: messages, seconds, messages/s, octets on disk a message.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement for people")]
#![allow(clippy::disallowed_methods, reason = "a measurement needs a clock")]

#[path = "../tests/it/support/calls.rs"]
mod calls;

use machine::Time;
use runtime::{Effects, Flow, Function as _, In, PortId, Seed, Transport};
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let small = std::env::args().any(|arg| arg == "--small");
    let named = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    run(small, named.map(Into::into));
}

/// The measurement; a small one only shows that it works.
pub fn run(small: bool, named: Option<std::path::PathBuf>) {
    let temporary = tempfile::tempdir().unwrap();
    let directory = named.unwrap_or_else(|| temporary.path().to_owned());
    let messages_wanted = if small { 28_000 } else { 1_400_000 };

    let config = Arc::new(sas::config::Sas { live_max: 500_000, ..sas::config::Sas::default() });
    let archive = sas::Archive::open(&config, &directory).unwrap();
    let start = Time::from_millis(1_800_000_000_000);
    let seed = Seed { shard: 0, shards: 1, random: [7; 32], now: start };
    let mut sas = archive.function(&seed, config);
    let mut out = Effects::default();
    let nowhere = "127.0.0.1:9060".parse().unwrap();
    let flow = Flow::to(PortId(0), Transport::Udp, nowhere, nowhere);

    // All packets are made before the clock starts, so that the figure is that of the server
    // alone: shard and disk thread share the core from the first packet to the last sync. Both
    // legs of each call are captured, as the SSC does: 14 messages.
    let mut plant = calls::Plant::new(start);
    let packets = plant.packets(messages_wanted);
    let began = Instant::now();
    for (now, packet) in &packets {
        if sas.deadline().is_some_and(|deadline| deadline <= *now) {
            sas.tick(*now, &mut out);
        }
        // A shard whose disk lags leaves packets in the socket; here nothing may be shed.
        while sas.is_behind() {
            std::thread::yield_now();
            sas.tick(*now, &mut out);
        }
        sas.step(*now, In::Message { flow, bytes: packet }, &mut out);
    }
    sas.step(plant.now(), In::Drain, &mut out);
    drop(sas);
    archive.store().stop();
    let spent = began.elapsed().as_secs_f64();
    let done = packets.len() as u64;

    let count = |name: &str| {
        archive.store().cells().samples().find(|(row, _)| row.name == name).map(|(_, r)| r)
    };
    assert_eq!(
        count("store_entries_total"),
        Some(event::Sample::Value(done)),
        "every message is on disk"
    );
    let bytes = archive.store().status().bytes as f64;
    println!(
        "{done} messages in {spent:.2} s: {:.0} messages/s, {:.0} octets on disk a message",
        done as f64 / spent,
        bytes / done as f64,
    );
}
