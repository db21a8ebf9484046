//! The hierarchical scheduler with ten thousand leaves, all of them backlogged.

use crate::case::{clocks, random};
use graph::{Pool, STRIDE, Slot};
use machine::Time;
use scheduler::{Class, Config, Discipline, Scheduler, Service};
use std::time::{Duration, Instant};

const SERVICES: u32 = 1_250;
const CLASSES: u8 = 8;
/// Packets that wait, five a leaf.
const HELD: usize = 50_000;
const BURST: usize = 64;

fn config() -> Config {
    let class = |at: u8| Class {
        classes: vec![at],
        discipline: if at == 7 { Discipline::Strict } else { Discipline::Weight(1) },
        rate: if at == 6 { 100_000_000 } else { 0 },
        packets_max: 64,
        wred: None,
    };
    let service = |interfaces: Vec<u32>| Service {
        interfaces,
        // All together more than the port: the shapers work, and the port decides.
        rate: 200_000_000,
        burst: 0,
        weight: 1,
        classes: (0..CLASSES).rev().map(class).collect(),
    };
    let services = (0..SERVICES).map(|interface| service(vec![interface])).collect();
    let other = service(Vec::new());
    Config { rate: 0, burst: 0, overhead: 24, packets_max: 60_000, services, other }
}

/// Puts packets in and takes as many out, as fast as it can.
pub fn measure(seconds: f64) {
    let mut now = Time::from_millis(1_000);
    let mut scheduler = Scheduler::new(&config(), 1, 7, now).expect("a scheduler");
    let mut pool = Pool::new(HELD + 16_384, STRIDE);
    let (mut state, mut dropped, mut out) = (1, Vec::new(), Vec::new());
    let (mut spent, mut packets) = (0_u64, 0_u64);
    let (started, began) = (Instant::now(), clocks());
    let mut slots = [Slot(0); BURST];
    let mut full = false;
    while started.elapsed().as_secs_f64() < seconds {
        for _ in 0..64 {
            let wanted = (HELD + 2 * BURST).saturating_sub(scheduler.held()).min(BURST);
            let count = pool.take_all(&mut slots[..wanted]);
            for slot in &slots[..count] {
                let bits = random(&mut state);
                let meta = pool.meta_mut(*slot);
                meta.length = 64 + (bits >> 50) as u16 % 1_400;
                meta.transmit = bits as u32 % SERVICES;
                meta.class = (bits >> 40) as u8 % CLASSES;
            }
            let first = clocks();
            scheduler.enqueue(now, &slots[..count], &mut pool, &mut dropped);
            // First the queues fill, then as many leave as come.
            full |= scheduler.held() >= HELD;
            if full {
                scheduler.poll(now, BURST, &mut pool, &mut out);
                spent += clocks() - first;
                packets += out.len() as u64;
            }
            pool.free_all(&out);
            pool.free_all(&dropped);
            out.clear();
            dropped.clear();
            // Packets of 764 octets at 100 Gbit/s.
            now += Duration::from_nanos(63 * BURST as u64);
        }
    }
    let hertz = (clocks() - began) as f64 / started.elapsed().as_secs_f64();
    let each = spent as f64 / packets as f64;
    println!(
        "scheduler    {:>9} {:>8.1} {each:>8.1}",
        SERVICES * u32::from(CLASSES),
        hertz / each / 1e6
    );
    println!("             wanted 5 Mpps; {} held, {:?}", scheduler.held(), scheduler.total());
}
