//! The way of chosen packets, node by node.

use crate::meta::TRACED;
use crate::pool::{Pool, Slot};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

/// Packets traced at once at most.
pub const TRACES_MAX: usize = 256;
/// Steps noted of one packet at most.
pub const STEPS_MAX: usize = 64;

/// Which packets to trace.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// So many, at most [`TRACES_MAX`].
    pub packets: usize,
    /// Only from this port.
    pub port: Option<u16>,
    /// Only with these octets in them, anywhere in the first 128 (an address, a port).
    pub containing: Vec<u8>,
    /// Of so many packets at most that are looked at; `None`: of any number.
    pub looks: Option<u64>,
}

/// One step of a traced packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The node.
    pub node: String,
    /// What it says of the packet, or why it dropped it.
    pub note: String,
}

/// Octets of a packet in which [`Choice::containing`] is sought.
const SOUGHT_IN: usize = 128;

#[derive(Default)]
pub(crate) struct Traces {
    choice: Choice,
    /// Where the trace of a packet that is on its way stands.
    open: HashMap<u32, usize, BuildHasherDefault<DefaultHasher>>,
    traces: Vec<Vec<Step>>,
}

impl Traces {
    pub(crate) fn start(&mut self, choice: Choice) {
        let packets = choice.packets.min(TRACES_MAX);
        *self = Self { choice: Choice { packets, ..choice }, ..Self::default() };
    }

    pub(crate) fn stop(&mut self) {
        self.choice.packets = 0;
    }

    #[inline]
    pub(crate) fn wanted(&self) -> bool {
        self.choice.packets > 0
    }

    #[inline]
    pub(crate) fn active(&self) -> bool {
        !self.open.is_empty()
    }

    #[cold]
    pub(crate) fn choose(&mut self, packets: &[Slot], pool: &mut Pool) {
        for slot in packets {
            if self.choice.packets == 0 {
                return;
            }
            if let Some(looks) = &mut self.choice.looks {
                let Some(left) = looks.checked_sub(1) else { return self.stop() };
                *looks = left;
            }
            if self.chosen(*slot, pool) {
                self.choice.packets -= 1;
                pool.meta_mut(*slot).flags |= TRACED;
                self.open(*slot);
            }
        }
    }

    fn chosen(&self, slot: Slot, pool: &Pool) -> bool {
        let sought = &self.choice.containing;
        let octets = pool.bytes(slot);
        let octets = &octets[..octets.len().min(SOUGHT_IN)];
        self.choice.port.is_none_or(|port| port == pool.meta(slot).port)
            && (sought.is_empty() || octets.windows(sought.len()).any(|part| part == sought))
    }

    fn open(&mut self, slot: Slot) {
        self.open.insert(slot.0, self.traces.len());
        self.traces.push(Vec::new());
    }

    /// Whether the packet is traced; the copy of a traced packet gets a trace of its own.
    pub(crate) fn follows(&mut self, slot: Slot, pool: &Pool) -> bool {
        if pool.meta(slot).flags & TRACED == 0 {
            // The cell has another packet now.
            self.open.remove(&slot.0);
            return false;
        }
        if !self.open.contains_key(&slot.0) && self.traces.len() < TRACES_MAX {
            self.open(slot);
        }
        self.open.contains_key(&slot.0)
    }

    pub(crate) fn step(&mut self, slot: Slot, step: Step) {
        let Some(at) = self.open.get(&slot.0) else { return };
        if self.traces[*at].len() < STEPS_MAX {
            self.traces[*at].push(step);
        }
    }

    pub(crate) fn end(&mut self, slot: Slot, node: &str, why: &str) {
        if let Some(at) = self.open.remove(&slot.0) {
            self.traces[at].push(Step { node: node.to_owned(), note: format!("dropped: {why}") });
        }
    }

    pub(crate) fn read(&self) -> &[Vec<Step>] {
        &self.traces
    }
}
