//! Work that shards hand to each other.
#![allow(clippy::expect_used, reason = "a test's own part")]

use machine::{Duration, Time};
use runtime::*;
use serde_json::json;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);
/// The shard that takes this piece of work from another panics.
const POISON: u64 = 1 << 40;
/// More than one queue between two shards takes.
const TOO_MANY: u64 = 200_000;

/// What a shard was given: the piece and the shard at the other end.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Work { on: u16, from: u16, piece: u64 },
    Back { on: u16, to: u16, piece: u64 },
}

struct Hander {
    shard: u16,
    /// Held by a test: then nobody takes work.
    gate: Arc<Mutex<()>>,
    seen: Sender<Seen>,
}

impl Function for Hander {
    type Config = ();

    fn step(&mut self, _: Time, input: In<'_>, _: &mut Effects) {
        let number = |octets: &[u8]| u64::from_be_bytes(octets.try_into().unwrap());
        let seen = match input {
            In::Work { from, work } => {
                drop(self.gate.lock());
                Seen::Work { on: self.shard, from, piece: number(work) }
            }
            In::HandedBack { to, work } => Seen::Back { on: self.shard, to, piece: number(work) },
            _ => return,
        };
        assert!(!matches!(seen, Seen::Work { piece: POISON, .. }), "poison");
        self.seen.send(seen).unwrap();
    }

    fn tick(&mut self, _: Time, _: &mut Effects) {}

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn configure(&mut self, _: Time, _: Arc<()>, _: &mut Effects) {}

    fn frame(_: PortId, buffer: &[u8]) -> Frame {
        Frame::Message(buffer.len())
    }

    /// `from` hands the pieces `first..end` to the shard `to`.
    fn ask(
        &mut self,
        _: Time,
        ask: &Ask,
        out: &mut Effects,
    ) -> Result<serde_json::Value, AskError> {
        let part = |name: &str| ask.params[name].parse::<u64>().unwrap();
        if part("from") == u64::from(self.shard) {
            for piece in part("first")..part("end") {
                out.hand(part("to") as u16, |out| out.extend_from_slice(&piece.to_be_bytes()));
            }
        }
        Ok(json!([]))
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        Vec::new()
    }
}

struct Site {
    shards: u16,
    running: Running<Hander>,
    gate: Arc<Mutex<()>>,
    seen: Receiver<Seen>,
}

impl Site {
    fn start(shards: u16) -> Self {
        let (seen, events) = channel();
        let (seen, gate) = (Mutex::new(seen), Arc::new(Mutex::new(())));
        let spec = ShardSpec { shards, ..ShardSpec::default() };
        let standing = Arc::clone(&gate);
        let running = start(spec, Arc::new(()), move |seed, _| Hander {
            shard: seed.shard,
            gate: Arc::clone(&standing),
            seen: seen.lock().unwrap().clone(),
        });
        Self { shards, running: running.unwrap(), gate, seen: events }
    }

    fn hand(&self, from: u16, to: u16, pieces: std::ops::Range<u64>) {
        let params = [
            ("from", u64::from(from)),
            ("to", u64::from(to)),
            ("first", pieces.start),
            ("end", pieces.end),
        ];
        let params = params.map(|(name, number)| (name.to_owned(), number.to_string())).into();
        // Others may be held up by the test.
        let others: Vec<u16> = (0..self.shards).filter(|&shard| shard != from).collect();
        self.running.ask_without(&others, Ask { path: "hand".into(), params }).unwrap();
    }

    fn next(&self) -> Seen {
        self.seen.recv_timeout(PATIENCE).expect("it comes")
    }

    fn counted(&self, metric: RuntimeMetric) -> u64 {
        let name = event::Metric::row(metric).name;
        let cells = self.running.port_cells();
        let all = cells.iter().flat_map(|(_, cells)| cells).flat_map(event::MetricCells::samples);
        let values = all.filter(|(row, _)| row.name == name).map(|(_, reading)| match reading {
            event::Sample::Value(value) => value,
            event::Sample::Histogram { count, .. } => count,
        });
        values.sum()
    }
}

#[test]
fn work_wakes_the_shard_that_it_is_for_and_comes_in_order_from_each() {
    let site = Site::start(3);
    for from in 0..3 {
        for to in 0..3 {
            std::thread::sleep(Duration::from_millis(2)); // all of them sleep
            site.hand(from, to, 0..3_000);
            for piece in 0..3_000 {
                assert_eq!(site.next(), Seen::Work { on: to, from, piece });
            }
        }
    }
    assert_eq!(site.counted(RuntimeMetric::Handed), 9 * 3_000);
    assert_eq!(site.counted(RuntimeMetric::HandedBack), 0);
}

#[test]
fn what_a_slow_shard_has_no_room_for_comes_back_and_others_are_not_held_up() {
    let site = Site::start(3);
    let gate = site.gate.lock().unwrap();
    site.hand(0, 1, 0..TOO_MANY);
    let mut back = vec![match site.next() {
        Seen::Back { on: 0, to: 1, piece } => piece,
        other => panic!("{other:?}"),
    }];
    // The queue from another shard has its own room.
    site.hand(2, 1, 0..1_000);
    drop(gate);
    let (mut taken, mut of_other) = (Vec::new(), Vec::new());
    while (taken.len() + back.len()) as u64 != TOO_MANY || of_other.len() != 1_000 {
        match site.next() {
            Seen::Work { on: 1, from: 0, piece } => taken.push(piece),
            Seen::Work { on: 1, from: 2, piece } => of_other.push(piece),
            Seen::Back { on: 0, to: 1, piece } => back.push(piece),
            unexpected => panic!("{unexpected:?}"),
        }
    }
    assert!(taken.is_sorted() && back.is_sorted() && of_other.iter().copied().eq(0..1_000));
    assert_eq!(site.counted(RuntimeMetric::HandedBack), back.len() as u64);
    assert!(back.len() as u64 > TOO_MANY / 2, "a queue is bounded: {} came back", back.len());
    taken.extend(back);
    taken.sort_unstable();
    assert!(taken.into_iter().eq(0..TOO_MANY), "each piece once");
}

#[test]
fn the_piece_that_a_shard_dies_of_is_lost_and_those_behind_it_are_the_new_function_s() {
    let site = Site::start(2);
    let gate = site.gate.lock().unwrap();
    site.hand(0, 1, POISON - 10..POISON + 10);
    drop(gate);
    let all = (POISON - 10..POISON).chain(POISON + 1..POISON + 10);
    all.for_each(|piece| assert_eq!(site.next(), Seen::Work { on: 1, from: 0, piece }));
    assert_eq!(site.counted(RuntimeMetric::Crashed), 1);
}

#[test]
fn a_shard_that_no_function_has_gives_everything_back() {
    let site = Site::start(1);
    site.hand(0, 5, 0..3);
    (0..3).for_each(|piece| assert_eq!(site.next(), Seen::Back { on: 0, to: 5, piece }));
}

#[test]
fn a_function_that_drains_is_not_idle_while_work_waits() {
    let site = Site::start(2);
    let gate = site.gate.lock().unwrap();
    site.hand(0, 1, 0..TOO_MANY);
    site.running.drain();
    std::thread::sleep(Duration::from_millis(50));
    assert!(!site.running.is_idle());
    drop(gate);
    for _ in 0..TOO_MANY {
        site.next();
    }
    let until = std::time::Instant::now() + PATIENCE;
    while !site.running.is_idle() {
        assert!(std::time::Instant::now() < until, "it never becomes idle");
        std::thread::sleep(Duration::from_millis(1));
    }
}
