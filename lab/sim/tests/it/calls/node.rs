//! A node of a pair: a function on one shard beside the machine that says whether it serves.

use machine::{Duration, Time};
use replica::{Name, PROTOCOL, Pair, Params};
use runtime::{Effects, Function, In, Mirrored};

/// A function, whichever it is.
pub(super) trait Runs {
    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects);
    fn tick(&mut self, now: Time, out: &mut Effects);
    fn deadline(&self) -> Option<Time>;
    fn replicate(&mut self, now: Time, input: Mirrored<'_>, out: &mut Effects);
    fn ask(&mut self, now: Time, path: &str) -> serde_json::Value;
    fn cells(&self) -> Vec<event::MetricCells>;
}

impl<F: Function> Runs for F {
    fn step(&mut self, now: Time, input: In<'_>, out: &mut Effects) {
        Function::step(self, now, input, out);
    }

    fn tick(&mut self, now: Time, out: &mut Effects) {
        Function::tick(self, now, out);
    }

    fn deadline(&self) -> Option<Time> {
        Function::deadline(self)
    }

    fn replicate(&mut self, now: Time, input: Mirrored<'_>, out: &mut Effects) {
        Function::replicate(self, now, input, out);
    }

    fn ask(&mut self, now: Time, path: &str) -> serde_json::Value {
        let ask = runtime::Ask { path: path.to_owned(), params: Default::default() };
        Function::ask(self, now, &ask, &mut Effects::default()).unwrap()
    }

    fn cells(&self) -> Vec<event::MetricCells> {
        Function::cells(self)
    }
}

pub(super) struct Node {
    pub function: Box<dyn Runs>,
    pub out: Effects,
    pub pair: Pair,
    /// Which of its lives this is: what comes for another one comes to nobody.
    pub life: u64,
    /// It has the addresses.
    pub has_addresses: bool,
}

impl Node {
    pub fn new(function: Box<dyn Runs>, of: u64, node: usize, life: u64, now: Time) -> Self {
        let params = Params {
            pair: of,
            node: if node == 0 { Name::A } else { Name::B },
            priority: u8::from(node == 0),
            incarnation: life,
            heartbeat: Duration::from_millis(10),
            detect: Duration::from_millis(50),
            lease: Duration::from_millis(40),
            has_arbiter: true,
            lanes: 1,
            version: PROTOCOL,
        };
        let mut pair = Pair::new(params, now);
        pair.begin(now);
        let (out, has_addresses) = (Effects::default(), false);
        let mut node = Self { function, out, pair, life, has_addresses };
        node.function.replicate(now, Mirrored::Deactivate, &mut node.out);
        node
    }

    /// When something of it is due.
    pub fn deadline(&self, now: Time) -> Time {
        let pair = self.pair.deadline(now);
        self.function.deadline().map_or(pair, |own| own.min(pair))
    }
}
