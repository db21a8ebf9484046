//! A leaf: the queue of one class of one service, bounded, with tail drop or WRED.
//!
//! Packets that wait are a list through their own `Meta` (`words[0]` names the next): a queue
//! costs one line, however long it may become.

use crate::shaper::Shaper;
use graph::{Pool, Slot};
use program::{Drops, Wred};

/// No packet.
pub(crate) const NONE: u32 = u32::MAX;
/// The weight of the newest length in WRED's average: 2^-9 (RFC 2309's paper, w_q = 0.002).
const AVERAGE_WEIGHT: f32 = 1.0 / 512.0;

/// Why a leaf does not take a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Full {
    /// The queue is as long as it may be.
    Tail,
    /// WRED chose it.
    Early,
}

/// What a leaf has counted.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct LeafCounters {
    /// Packets that left.
    pub packets: u64,
    /// Their octets.
    pub octets: u64,
    /// Packets dropped because the queue, or the scheduler, was full.
    pub tail_dropped: u64,
    /// Packets dropped by WRED.
    pub early_dropped: u64,
}

/// A cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Leaf {
    pub(crate) head: u32,
    tail: u32,
    packets: u32,
    octets: u32,
    limit: u32,
    /// Deficit round robin among the weighted classes of a service.
    pub(crate) deficit: i32,
    pub(crate) quantum: u32,
    pub(crate) service: u32,
    average: f32,
    /// Which row of the scheduler's WRED profiles; `u16::MAX` is none.
    wred: u16,
    /// Its place in its service.
    pub(crate) class: u8,
    /// Waits for its shaper.
    pub(crate) waits: bool,
    pub(crate) shaper: Shaper,
}

const _: () = assert!(size_of::<Leaf>() == 64);

impl Leaf {
    pub(crate) fn new(service: u32, class: u8, limit: u32) -> Self {
        Self {
            head: NONE,
            tail: NONE,
            packets: 0,
            octets: 0,
            limit,
            deficit: 0,
            quantum: 0,
            service,
            average: 0.0,
            wred: u16::MAX,
            class,
            waits: false,
            shaper: Shaper::default(),
        }
    }

    pub(crate) fn with_wred(mut self, profile: u16) -> Self {
        self.wred = profile;
        self
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Packets and octets that wait.
    pub(crate) fn waiting(&self) -> (u32, u32) {
        (self.packets, self.octets)
    }

    /// Whether a packet may join. `dice` is a random number.
    #[inline]
    pub(crate) fn admits(
        &mut self,
        colour: u8,
        profiles: &[Wred],
        dice: impl FnOnce() -> u32,
    ) -> Result<(), Full> {
        if self.packets >= self.limit {
            return Err(Full::Tail);
        }
        let Some(profile) = profiles.get(usize::from(self.wred)) else { return Ok(()) };
        // A queue that ran empty starts again: its average belonged to a time gone by.
        if self.packets == 0 {
            self.average = 0.0;
        }
        self.average += (self.octets as f32 - self.average) * AVERAGE_WEIGHT;
        let drops = &profile[usize::from(colour.min(2))];
        if early(drops, self.average, dice) { Err(Full::Early) } else { Ok(()) }
    }

    /// A packet joins at the end.
    #[inline]
    pub(crate) fn push(&mut self, slot: Slot, octets: u32, packets: &mut Pool) {
        packets.meta_mut(slot).words[0] = NONE;
        match self.tail {
            NONE => self.head = slot.0,
            tail => packets.meta_mut(Slot(tail)).words[0] = slot.0,
        }
        self.tail = slot.0;
        self.packets += 1;
        self.octets += octets;
    }

    /// The first packet leaves. The queue is not empty.
    #[inline]
    pub(crate) fn pop(&mut self, octets: u32, packets: &Pool) -> Slot {
        let slot = Slot(self.head);
        self.head = packets.meta(slot).words[0];
        if self.head == NONE {
            self.tail = NONE;
        }
        self.packets -= 1;
        self.octets -= octets;
        slot
    }
}

#[inline]
fn early(drops: &Drops, average: f32, dice: impl FnOnce() -> u32) -> bool {
    let (min, max) = (drops.min_octets as f32, drops.max_octets as f32);
    if average < min {
        return false;
    }
    if average >= max {
        return true;
    }
    let chance = f32::from(drops.permille) / 1_000.0 * (average - min) / (max - min);
    (dice() as f32) < chance * u32::MAX as f32
}
