//! Policers as workers use them (RFC 2697, 2698, 4115): which one a packet passes, and buckets.
//!
//! A policer that one worker alone serves is that worker's own; one that several serve has a pool
//! of tokens, of which each worker draws (`table::policer`).

use super::fields::set_dscp;
use crate::program::{Direction, Meter, Policer, PolicerUse};
use graph::Meta;
use machine::Time;
use machine::narrow::at_most;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use table::policer::{Colour, Marker, OutOfRange, Pool, Profile, Share, Tokens};

/// Policers are numbered below this, from 1.
pub const POLICERS_MAX: u32 = 1 << 16;
/// Ticks a second of the clock that policers see.
const TICKS: u64 = 1_000_000_000;
/// Classes of traffic.
const CLASSES: usize = 8;

/// Packets and octets by colour.
pub type Coloured = [(u64, u64); 3];

/// One worker's counters of a policer.
#[derive(Default)]
#[repr(align(64))]
struct Cells([[AtomicU64; 2]; 3]);

/// A policer as workers see it.
pub struct Row {
    /// Another policer has another, also under the same number.
    serial: u64,
    profile: Profile,
    pool: Option<Arc<Pool>>,
    marks: [Option<u8>; 2],
    cells: Box<[Cells]>,
}

/// All policers, and who passes them; replaced whole when one changes.
#[derive(Default)]
pub struct Policers {
    generation: u64,
    rows: Vec<Option<Arc<Row>>>,
    /// By direction and interface: the policer of each class.
    uses: [Vec<[u16; CLASSES]>; 2],
}

impl Row {
    /// Ready for so many workers.
    pub fn new(
        policer: &Policer,
        serial: u64,
        workers: usize,
        now: Time,
    ) -> Result<Self, OutOfRange> {
        let profile = Profile::new(marker(policer), policer.colour_aware, TICKS)?;
        let pool = (workers > 1).then(|| Pool::new(profile, workers, now.as_nanos()));
        let cells = (0..workers.max(1)).map(|_| Cells::default()).collect();
        Ok(Self { serial, profile, pool, marks: [policer.mark_yellow, policer.mark_red], cells })
    }

    /// What all workers have counted.
    pub fn counted(&self) -> Coloured {
        let mut sum = Coloured::default();
        for cells in &self.cells {
            for (sum, cell) in sum.iter_mut().zip(&cells.0) {
                sum.0 += cell[0].load(Relaxed);
                sum.1 += cell[1].load(Relaxed);
            }
        }
        sum
    }
}

/// The marker that a policer is.
pub(crate) fn marker(policer: &Policer) -> Marker {
    let (cir, cbs) = (policer.committed_bytes, u64::from(policer.committed_burst));
    let (rate, burst) = (policer.excess_bytes, u64::from(policer.excess_burst));
    match policer.meter {
        Meter::SingleRate => Marker::SingleRate { cir, cbs, ebs: burst },
        Meter::TwoRate => Marker::TwoRate { cir, cbs, pir: rate, pbs: burst },
        Meter::TwoRateEfficient => Marker::Differentiated { cir, cbs, eir: rate, ebs: burst },
    }
}

impl Policers {
    /// As the programs say; another `generation` makes workers look for what changed.
    pub fn of(
        generation: u64,
        rows: &BTreeMap<u32, Arc<Row>>,
        uses: &BTreeMap<(u32, Direction, Option<u8>), PolicerUse>,
    ) -> Self {
        let mut made = Self { generation, ..Self::default() };
        for (number, row) in rows {
            let at = *number as usize;
            made.rows.resize(made.rows.len().max(at + 1), None);
            made.rows[at] = Some(Arc::clone(row));
        }
        // Those for all classes sort before those for one.
        for used in uses.values() {
            let of_direction = &mut made.uses[used.direction as usize];
            let at = used.interface as usize;
            of_direction.resize(of_direction.len().max(at + 1), [0; CLASSES]);
            let policer = at_most(used.policer.into(), u16::MAX);
            match used.class {
                None => of_direction[at] = [policer; CLASSES],
                Some(class) => {
                    of_direction[at][usize::from(class) % CLASSES] = policer;
                }
            }
        }
        made
    }

    /// The policer of an interface's packets of a class; 0 is none.
    #[inline]
    pub(crate) fn used(&self, direction: Direction, interface: u32, class: u8) -> u32 {
        let row = self.uses[direction as usize].get(interface as usize);
        row.map_or(0, |row| u32::from(row[usize::from(class) % CLASSES]))
    }
}

/// A worker's part of a policer.
enum Bucket {
    Own(Tokens),
    Drawn(Share),
}

struct Held {
    row: Arc<Row>,
    bucket: Bucket,
}

/// A worker's buckets: its nodes that police share them.
#[derive(Default)]
pub struct Bank {
    generation: u64,
    held: Vec<Option<Held>>,
    worker: usize,
}

impl Bank {
    /// Without buckets.
    pub fn new(worker: usize) -> Self {
        Self { worker, ..Self::default() }
    }

    /// Takes note of policers that changed; those that stayed keep their tokens.
    #[inline]
    pub(crate) fn follow(&mut self, policers: &Policers, now: Time) {
        if self.generation != policers.generation {
            self.rebuild(policers, now);
        }
    }

    #[cold]
    fn rebuild(&mut self, policers: &Policers, now: Time) {
        let mut before = std::mem::take(&mut self.held);
        self.held = policers
            .rows
            .iter()
            .enumerate()
            .map(|(at, row)| {
                let row = row.as_ref()?;
                let kept = before.get_mut(at).and_then(Option::take);
                match kept.filter(|kept| kept.row.serial == row.serial) {
                    Some(kept) => Some(kept),
                    None => held(row, now),
                }
            })
            .collect();
        self.generation = policers.generation;
    }

    /// Whether a policer lets a packet pass, which it may mark. One that is not there lets pass.
    #[inline(always)]
    pub(crate) fn police(
        &mut self,
        policer: u32,
        now: Time,
        meta: &mut Meta,
        cell: &mut [u8],
    ) -> bool {
        let held = self.held.get_mut(policer as usize).and_then(Option::as_mut);
        let Some(Held { row, bucket }) = held else { return true };
        let came = match meta.colour {
            0 => Colour::Green,
            1 => Colour::Yellow,
            _ => Colour::Red,
        };
        let octets = u32::from(meta.length);
        let colour = match bucket {
            Bucket::Own(tokens) => tokens.mark(&row.profile, now.as_nanos(), octets, came),
            Bucket::Drawn(share) => share.mark(now.as_nanos(), octets, came),
        };
        meta.colour = colour as u8;
        if let Some(cells) = row.cells.get(self.worker) {
            let [packets, sum] = &cells.0[colour as usize];
            packets.store(packets.load(Relaxed).wrapping_add(1), Relaxed);
            sum.store(sum.load(Relaxed).wrapping_add(u64::from(octets)), Relaxed);
        }
        match colour {
            Colour::Green => true,
            Colour::Yellow => marked(meta, cell, row.marks[0], true),
            Colour::Red => marked(meta, cell, row.marks[1], false),
        }
    }
}

/// A packet that is out of profile is marked if its policer says so.
#[inline(never)]
fn marked(meta: &Meta, cell: &mut [u8], mark: Option<u8>, passes: bool) -> bool {
    let Some(mark) = mark else { return passes };
    let end = usize::from(meta.offset) + usize::from(meta.length);
    if meta.l3 != 0
        && let Some(packet) = cell.get_mut(usize::from(meta.l3)..end)
    {
        set_dscp(packet, mark);
    }
    true
}

fn held(row: &Arc<Row>, now: Time) -> Option<Held> {
    let bucket = match &row.pool {
        None => Bucket::Own(row.profile.full(now.as_nanos())),
        Some(pool) => Bucket::Drawn(pool.share()?),
    };
    Some(Held { row: Arc::clone(row), bucket })
}
