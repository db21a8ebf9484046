//! A worker's graph: takes packets at an entry node and runs them to completion.

use crate::chains::Chains;
use crate::next::{Next, Ready, Waiting};
use crate::node::{Context, Node, Row, VECTOR_MAX};
use crate::outbox::Outbox;
use crate::pool::{Pool, Slot};
use crate::trace::{Choice, Step, Traces};
use machine::Time;
use std::collections::BTreeMap;
use std::sync::Arc;
use table::epoch::{Published, Reader};

/// How often an edge may lead a packet back to a node that comes before (a label is popped, the
/// packet inside is looked up) until it is dropped as one that circles.
pub const PASSES_MAX: u8 = 8;

/// A node of the graph: its place in the sequence is its number.
pub(crate) struct Placed {
    node: Box<dyn Node>,
    row: Row,
    edges: Vec<u16>,
    /// Followers that come before it, or itself.
    back: Vec<u16>,
    counted: Counted,
}

impl Placed {
    pub(crate) fn new(node: Box<dyn Node>, row: Row, edges: Vec<u16>, back: Vec<u16>) -> Self {
        let counted = Counted { dropped: vec![0; row.reasons.len()], ..Counted::default() };
        Self { node, row, edges, back, counted }
    }
}

#[derive(Clone, Default)]
struct Counted {
    vectors: u64,
    packets: u64,
    clocks: u64,
    dropped: Vec<u64>,
    circled: u64,
}

/// What a node has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// The node.
    pub name: String,
    /// Vectors it was handed.
    pub vectors: u64,
    /// Packets in them.
    pub packets: u64,
    /// Clocks of the processor's time-stamp counter that it took for them.
    pub clocks: u64,
    /// Packets it dropped, by reason; only reasons that occurred.
    pub dropped: Vec<(&'static str, u64)>,
    /// Those that may follow it by its own edges.
    pub next: Vec<String>,
}

/// The graph of one worker.
pub struct Graph {
    nodes: Vec<Placed>,
    places: BTreeMap<String, u16>,
    chains: Arc<Published<Chains>>,
    reader: Reader,
    waiting: Waiting,
    /// The vector that is being processed; its memory is kept.
    work: Vec<Slot>,
    freed: Vec<Slot>,
    traces: Traces,
    is_away: bool,
    /// Nodes that have deadlines.
    timed: Vec<usize>,
}

/// What one run of a graph has for all of its nodes.
struct Round<'a> {
    chains: &'a Published<Chains>,
    out: &'a mut Outbox,
    now: Time,
}

impl Graph {
    pub(crate) fn new(
        nodes: Vec<Placed>,
        places: BTreeMap<String, u16>,
        chains: Arc<Published<Chains>>,
        reader: Reader,
    ) -> Self {
        let vectors = nodes.iter().map(|_| Vec::with_capacity(2 * VECTOR_MAX)).collect();
        let waiting = Waiting { vectors, ready: Ready::default(), dropped: Vec::new() };
        let (work, freed) = (Vec::new(), Vec::new());
        let (traces, is_away) = (Traces::default(), false);
        let timed = (0..nodes.len()).filter(|at| nodes[*at].node.has_deadlines()).collect();
        Self { nodes, places, chains, reader, waiting, work, freed, traces, is_away, timed }
    }

    /// When [`Graph::run`] wants to be called, whether packets come or not.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.timed.iter().filter_map(|at| self.nodes[*at].node.deadline()).min()
    }

    /// Lets nodes do what is due.
    fn tick(&mut self, packets: &mut Pool, round: &mut Round<'_>) {
        for at in 0..self.timed.len() {
            let at = self.timed[at];
            let placed = &mut self.nodes[at];
            if placed.node.deadline().is_none_or(|due| due > round.now) {
                continue;
            }
            let next = Next {
                edges: &placed.edges,
                waiting: &mut self.waiting,
                chains: round.chains.read(&self.reader),
            };
            let (out, now) = (&mut *round.out, round.now);
            placed.node.tick(&mut Context { packets, next, out, reader: &self.reader, now });
            if !self.waiting.dropped.is_empty() {
                self.drop_counted(at, packets);
            }
        }
    }

    /// The number of a node, to push packets to it.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<usize> {
        self.places.get(name).map(|place| usize::from(*place))
    }

    /// Hands packets to a node. They move with the next [`Graph::run`].
    ///
    /// # Panics
    /// When there is no node `entry`.
    #[inline]
    pub fn push(&mut self, entry: usize, packets: &[Slot], pool: &mut Pool) {
        if packets.is_empty() {
            return;
        }
        if self.traces.wanted() {
            self.traces.choose(packets, pool);
        }
        self.waiting.vectors[entry].extend_from_slice(packets);
        self.waiting.ready.set(entry);
    }

    /// Runs until no packet is left inside: all have left by `out` or were dropped. Ends with the
    /// worker's quiescent moment.
    pub fn run(&mut self, packets: &mut Pool, out: &mut Outbox, now: Time) {
        if std::mem::take(&mut self.is_away) {
            self.reader.quiesce();
        }
        let chains = Arc::clone(&self.chains);
        if !self.timed.is_empty() {
            self.tick(packets, &mut Round { chains: &chains, out: &mut *out, now });
        }
        while let Some(at) = self.waiting.ready.take() {
            std::mem::swap(&mut self.waiting.vectors[at], &mut self.work);
            let mut work = std::mem::take(&mut self.work);
            for batch in work.chunks(VECTOR_MAX) {
                let mut round = Round { chains: &chains, out: &mut *out, now };
                self.step(at, batch, packets, &mut round);
            }
            work.clear();
            self.work = work;
        }
        self.reader.quiesce();
    }

    /// Says that this worker sleeps: it holds up no change of a table until it runs again.
    pub fn leave(&mut self) {
        self.reader.leave();
        self.is_away = true;
    }

    fn step(&mut self, at: usize, batch: &[Slot], packets: &mut Pool, round: &mut Round<'_>) {
        let placed = &mut self.nodes[at];
        let before: [usize; 4] = backlog(&placed.back, &self.waiting);
        let started = clocks();
        let next = Next {
            edges: &placed.edges,
            waiting: &mut self.waiting,
            chains: round.chains.read(&self.reader),
        };
        let (out, now) = (&mut *round.out, round.now);
        let mut cx = Context { packets, next, out, reader: &self.reader, now };
        placed.node.process(batch, &mut cx);
        placed.counted.clocks += clocks().wrapping_sub(started);
        placed.counted.vectors += 1;
        placed.counted.packets += batch.len() as u64;
        if self.traces.active() {
            self.note(at, batch, packets);
        }
        for (nth, before) in before.iter().enumerate().take(self.nodes[at].back.len()) {
            self.limit_loops(at, nth, *before, packets);
        }
        if !self.waiting.dropped.is_empty() {
            self.drop_counted(at, packets);
        }
    }

    /// Packets that an edge led back: those that circle are taken out.
    #[cold]
    fn limit_loops(&mut self, at: usize, nth: usize, before: usize, packets: &mut Pool) {
        let placed = &mut self.nodes[at];
        let vector = &mut self.waiting.vectors[usize::from(placed.back[nth])];
        let mut kept = before;
        for position in before..vector.len() {
            let slot = vector[position];
            let passes = &mut packets.meta_mut(slot).passes;
            *passes += 1;
            if *passes > PASSES_MAX {
                placed.counted.circled += 1;
                self.freed.push(slot);
            } else {
                vector[kept] = slot;
                kept += 1;
            }
        }
        vector.truncate(kept);
        if self.traces.active() {
            for slot in &self.freed {
                self.traces.end(*slot, &placed.row.name, CIRCLES);
            }
        }
        packets.free_all(&self.freed);
        self.freed.clear();
    }

    /// Counts and frees what the node has dropped.
    fn drop_counted(&mut self, at: usize, packets: &mut Pool) {
        let placed = &mut self.nodes[at];
        for (slot, reason) in self.waiting.dropped.drain(..) {
            let reason = usize::from(reason.0);
            placed.counted.dropped[reason] += 1;
            if self.traces.active() {
                self.traces.end(slot, &placed.row.name, placed.row.reasons[reason]);
            }
            self.freed.push(slot);
        }
        packets.free_all(&self.freed);
        self.freed.clear();
    }

    #[cold]
    fn note(&mut self, at: usize, batch: &[Slot], packets: &Pool) {
        let placed = &self.nodes[at];
        for slot in batch {
            let mut note = String::new();
            if self.traces.follows(*slot, packets) {
                placed.node.trace(packets, *slot, &mut note);
                self.traces.step(*slot, Step { node: placed.row.name.to_string(), note });
            }
        }
    }

    /// What every node has counted, in the order in which packets pass them.
    #[must_use]
    pub fn counters(&self) -> Vec<Counters> {
        self.nodes.iter().map(Placed::counters).collect()
    }

    /// Chooses packets to be traced, of those pushed from now on; what was traced before is
    /// forgotten.
    pub fn trace(&mut self, choice: Choice) {
        self.traces.start(choice);
    }

    /// Chooses no further packets: each of those that are pushed was looked at until now. What was
    /// traced stays.
    pub fn end_trace(&mut self) {
        self.traces.stop();
    }

    /// The traced packets, each with its way through the nodes.
    #[must_use]
    pub fn traced(&self) -> &[Vec<Step>] {
        self.traces.read()
    }
}

/// Why a packet that passed back more than [`PASSES_MAX`] times is dropped.
const CIRCLES: &str = "circles";

/// Back edges of a node are few; those beyond the fourth are watched no more than by the hop
/// limit of the packet itself.
fn backlog(back: &[u16], waiting: &Waiting) -> [usize; 4] {
    let mut lengths = [0; 4];
    for (length, to) in lengths.iter_mut().zip(back) {
        *length = waiting.vectors[usize::from(*to)].len();
    }
    lengths
}

impl Placed {
    fn counters(&self) -> Counters {
        let reasons = self.row.reasons.iter().copied().zip(self.counted.dropped.iter().copied());
        let reasons = reasons.chain([(CIRCLES, self.counted.circled)]);
        Counters {
            name: self.row.name.to_string(),
            vectors: self.counted.vectors,
            packets: self.counted.packets,
            clocks: self.counted.clocks,
            dropped: reasons.filter(|(_, count)| *count > 0).collect(),
            next: self.row.next.iter().map(|name| (*name).to_owned()).collect(),
        }
    }
}

/// The processor's time-stamp counter: a measure of work, no clock of the protocol's.
#[inline]
fn clocks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a counter.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    0
}
