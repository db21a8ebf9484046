//! Work between two shards, there and back: `cargo bench -p tandem-runtime --bench work`.
//!
//! So many pieces of 64 octets are under way; whichever shard takes one hands it back to the other.
//! Hand-overs a second of both shards, and CPU time of one, system calls included.
#![allow(clippy::print_stdout, clippy::expect_used, reason = "a bench prints and gives up")]

use machine::{Duration, Time};
use runtime::*;
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;

const WORK: [u8; 64] = [7; 64];
const RUN: Duration = Duration::from_secs(2);

fn cpu_ns() -> u64 {
    let cpu = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    cpu.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Hands back whatever it is handed.
struct Player {
    shard: u16,
    taken: u64,
    came_back: u64,
}

impl Function for Player {
    type Config = ();

    fn step(&mut self, _: Time, input: In<'_>, out: &mut Effects) {
        match input {
            In::Work { from, work } => {
                self.taken += 1;
                out.hand(from, |out| out.extend_from_slice(work));
            }
            In::HandedBack { .. } => self.came_back += 1,
            _ => {}
        }
    }

    fn tick(&mut self, _: Time, _: &mut Effects) {}

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn configure(&mut self, _: Time, _: Arc<()>, _: &mut Effects) {}

    fn frame(_: PortId, buffer: &[u8]) -> Frame {
        Frame::Message(buffer.len())
    }

    fn ask(
        &mut self,
        _: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        if let (Some(pieces), 0) = (ask.params.get("pieces"), self.shard) {
            let pieces: u32 = pieces.parse().expect("a number");
            (0..pieces).for_each(|_| out.hand(1, |out| out.extend_from_slice(&WORK)));
        }
        let cpu_ns = cpu_ns();
        Ok(json!([{ "taken": self.taken, "came_back": self.came_back, "cpu_ns": cpu_ns }]))
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        Vec::new()
    }
}

/// Of both shards: pieces taken, pieces that came back, CPU nanoseconds.
fn reading(running: &Running<Player>) -> [u64; 3] {
    let rows = running.ask(Ask::default()).expect("it answers");
    let rows = rows.as_array().expect("rows");
    let sum = |name: &str| rows.iter().filter_map(|row| row[name].as_u64()).sum();
    ["taken", "came_back", "cpu_ns"].map(sum)
}

fn main() {
    for pieces in [1, 64, 4_096, 65_536] {
        let cores = (0..2).map(|at| at % cores()).collect();
        let spec = ShardSpec { shards: 2, cores, ..ShardSpec::default() };
        let make = |seed: Seed, _: Arc<()>| Player { shard: seed.shard, taken: 0, came_back: 0 };
        let running = start(spec, Arc::new(()), make).expect("it starts");
        let params = [("pieces".to_owned(), pieces.to_string())].into();
        running.ask(Ask { path: "play".into(), params }).expect("it answers");
        std::thread::sleep(RUN / 4);
        let ([taken, _, cpu], start) = (reading(&running), Instant::now());
        std::thread::sleep(RUN);
        let ([later, came_back, cpu_later], elapsed) = (reading(&running), start.elapsed());
        let count = later - taken;
        let rate = count as f64 / elapsed.as_secs_f64();
        let each = (cpu_later - cpu) as f64 / count.max(1) as f64;
        println!(
            "{pieces:6} under way: {rate:12.0} hand-overs/s, {each:6.0} ns CPU each, \
             {came_back} came back"
        );
    }
}
