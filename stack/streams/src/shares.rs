//! How many connections there are, and of whom: what has not got beyond its SYN has a share of its
//! own, and nobody has more than a few.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Connections of one far end at most.
pub(crate) const OF_ONE_MAX: u32 = 4;
/// Connections of all that have not got beyond the SYN of a far end. More are answered, and not
/// remembered.
pub(crate) const BEGINNING_MAX: usize = 512;

/// A far end, by the table that leads to it.
pub(crate) type Far = (u32, IpAddr);

#[derive(Debug, Default, Clone, Copy)]
struct Share {
    begins: u32,
    stands: u32,
    /// Of both, those that nobody is told of any more.
    closing: u32,
}

/// The counts.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    of: BTreeMap<Far, Share>,
    begins: usize,
    stands: usize,
}

impl Shares {
    pub(crate) const fn new() -> Self {
        Self { of: BTreeMap::new(), begins: 0, stands: 0 }
    }

    /// Those that have not got beyond their SYN.
    pub(crate) const fn begins(&self) -> usize {
        self.begins
    }

    /// All others.
    pub(crate) const fn stands(&self) -> usize {
        self.stands
    }

    /// Whether one more SYN of a far end is remembered.
    pub(crate) fn may_begin(&self, far: Far) -> bool {
        let it = self.of.get(&far).copied().unwrap_or_default();
        self.begins < BEGINNING_MAX && it.begins + it.stands < OF_ONE_MAX
    }

    /// Whether one more connection that a far end has begun may stand, as far as that one goes.
    pub(crate) fn may_stand(&self, far: Far) -> bool {
        self.of.get(&far).is_none_or(|it| it.stands < OF_ONE_MAX)
    }

    /// Whether a far end has one that makes way for another one of it.
    pub(crate) fn has_closing(&self, far: Far) -> bool {
        self.of.get(&far).is_some_and(|it| it.closing > 0)
    }

    /// Nobody is told of one any more.
    pub(crate) fn close(&mut self, far: Far) {
        if let Some(it) = self.of.get_mut(&far) {
            it.closing += 1;
        }
    }

    /// One more.
    pub(crate) fn add(&mut self, far: Far, begins: bool) {
        let it = self.of.entry(far).or_default();
        it.begins += u32::from(begins);
        it.stands += u32::from(!begins);
        self.begins += usize::from(begins);
        self.stands += usize::from(!begins);
    }

    /// One less, of which nobody was told any more.
    pub(crate) fn remove_closing(&mut self, far: Far, begins: bool) {
        if let Some(it) = self.of.get_mut(&far) {
            it.closing -= 1;
        }
        self.remove(far, begins);
    }

    /// One less.
    pub(crate) fn remove(&mut self, far: Far, begins: bool) {
        let Some(it) = self.of.get_mut(&far) else { return };
        it.begins -= u32::from(begins);
        it.stands -= u32::from(!begins);
        self.begins -= usize::from(begins);
        self.stands -= usize::from(!begins);
        if it.begins + it.stands == 0 {
            self.of.remove(&far);
        }
    }
}
