//! How one direction of a link behaves, and how that changes with time.

use crate::{Jitter, Loss, Probability, Queue, Rate};
use machine::{Duration, Time};
use std::collections::VecDeque;

/// How far a packet is held back by reordering when nothing else is said.
pub const HOLD: Duration = Duration::from_millis(10);

/// The behaviour of a pipe. The default is a wire without faults, delay or limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PipeSpec {
    /// Bits a second; `None`: packets take no time to be sent.
    pub rate: Option<Rate>,
    /// Octets that each packet takes on the wire beside its own (Ethernet's preamble, check
    /// sequence and gap: 24).
    pub overhead: u32,
    /// What may wait while another packet is being sent; counts only with a rate.
    pub queue: Queue,
    /// Time on the way.
    pub delay: Duration,
    /// How the delay varies.
    pub jitter: Jitter,
    /// Loss on the wire: a lost packet has used its time of the rate.
    pub loss: Loss,
    /// A packet arrives twice.
    pub duplicate: Probability,
    /// A packet is held back, so that others overtake it.
    pub reorder: Probability,
    /// For how long.
    pub hold: Duration,
    /// Bits of a packet are flipped.
    pub corrupt: Probability,
    /// How many bits of such a packet.
    pub corrupt_bits: u32,
    /// Whether a cut also loses what waits and what is on its way. Otherwise that still arrives.
    pub spill: bool,
}

impl Default for PipeSpec {
    fn default() -> Self {
        Self {
            rate: None,
            overhead: 0,
            queue: Queue::default(),
            delay: Duration::ZERO,
            jitter: Jitter::default(),
            loss: Loss::None,
            duplicate: Probability::NEVER,
            reorder: Probability::NEVER,
            hold: HOLD,
            corrupt: Probability::NEVER,
            corrupt_bits: 1,
            spill: false,
        }
    }
}

impl PipeSpec {
    /// A wire with that delay and nothing else.
    #[must_use]
    pub fn delayed(delay: Duration) -> Self {
        Self { delay, ..Self::default() }
    }
}

/// What happens to a pipe at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// Nothing that is given to it arrives any more.
    Cut,
    /// It carries again.
    Heal,
    /// It behaves like this from now on.
    Become(PipeSpec),
}

/// Changes in the order of their times, counted from the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schedule {
    changes: VecDeque<(Time, Change)>,
}

impl Schedule {
    /// Changes at times after `start`; those of one time happen in the order given.
    #[must_use]
    pub fn new(start: Time, changes: &[(Duration, Change)]) -> Self {
        let mut changes: Vec<_> =
            changes.iter().map(|&(at, change)| (start + at, change)).collect();
        changes.sort_by_key(|(at, _)| *at);
        Self { changes: changes.into() }
    }

    pub(crate) fn next_at(&self) -> Option<Time> {
        self.changes.front().map(|(at, _)| *at)
    }

    pub(crate) fn take(&mut self) -> Option<(Time, Change)> {
        self.changes.pop_front()
    }
}
