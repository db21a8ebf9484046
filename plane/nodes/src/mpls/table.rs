//! What becomes of packets by their outermost label: one word a label, changed in place while
//! workers read it (a word is written at once, so no reader sees half of a change).

use super::entry::LABELS;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What becomes of a packet, as its label's word says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Action {
    /// Nobody knows the label.
    Unknown = 0,
    /// On by a hop, with other labels or without.
    Forward,
    /// The payload is looked up in a table.
    Vrf,
    /// The payload is a frame of a bridge's member.
    Bridge,
    /// The payload is a frame that leaves by an interface.
    Interface,
    /// The label comes off.
    Pop,
}

/// The label's TTL becomes the payload's when it comes off (uniform; RFC 3443 §5).
pub const UNIFORM: u8 = 1;
/// The frame begins with a control word (RFC 4385).
pub const CONTROL_WORD: u8 = 2;
/// Below the label is a flow label (RFC 6391).
pub const FLOW_LABEL: u8 = 4;
/// Classes go by the payload's marks, not by the label's (short pipe; RFC 3270 §2.6.3).
pub const SHORT_PIPE: u8 = 8;

/// A label's word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row(u64);

impl Row {
    /// Nobody knows the label.
    pub const UNKNOWN: Self = Self(0);

    /// A word; `argument` is the hop, table, member or interface.
    pub const fn new(action: Action, flags: u8, argument: u32) -> Self {
        Self((action as u64) << 56 | (flags as u64) << 48 | argument as u64)
    }

    #[inline]
    pub(crate) const fn action(self) -> Action {
        match (self.0 >> 56) as u8 {
            1 => Action::Forward,
            2 => Action::Vrf,
            3 => Action::Bridge,
            4 => Action::Interface,
            5 => Action::Pop,
            _ => Action::Unknown,
        }
    }

    #[inline]
    pub(crate) const fn flags(self) -> u8 {
        (self.0 >> 48 & 0xff) as u8
    }

    #[inline]
    pub(crate) const fn has(self, flag: u8) -> bool {
        self.flags() & flag != 0
    }

    /// The hop, table, member or interface.
    #[inline]
    pub(crate) const fn argument(self) -> u32 {
        (self.0 & 0xffff_ffff) as u32
    }
}

/// All labels of the platform's label space.
pub struct Labels(Box<[AtomicU64]>);

impl Labels {
    /// All of them unknown.
    pub fn new() -> Arc<Self> {
        Arc::new(Self((0..LABELS).map(|_| AtomicU64::new(0)).collect()))
    }

    #[inline]
    pub(crate) fn row(&self, label: u32) -> Row {
        Row(self.0[label as usize % LABELS as usize].load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn prefetch(&self, label: u32) {
        graph::prefetch(&raw const self.0[label as usize % LABELS as usize]);
    }

    /// Only the plane's writer does this.
    pub fn set(&self, label: u32, row: Row) {
        self.0[label as usize % LABELS as usize].store(row.0, Ordering::Release);
    }
}
