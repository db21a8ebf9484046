//! A service: the classes of one interface, which share its rate.

use crate::CLASSES_MAX;
use crate::leaf::{Leaf, NONE};
use crate::shaper::Shaper;

/// Where a service stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Nothing to send (or its shaped classes wait for themselves).
    Idle,
    /// In the round.
    InTurn,
    /// Waits for its shaper.
    Waits,
}

/// Its place in the scheduler: what its turns touch.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Place {
    /// Classes that may send, a bit each.
    pub(crate) ready: u8,
    /// Classes that go before all others, the lowest number first.
    strict: u8,
    /// The weighted class whose turn it is.
    turn: u8,
    pub(crate) state: State,
    /// Its quantum was added in this turn.
    pub(crate) begun: bool,
    /// By `Meta::class`: the place among its classes.
    map: [u8; CLASSES_MAX],
    /// The first of its leaves.
    pub(crate) base: u32,
    pub(crate) deficit: i32,
    pub(crate) quantum: u32,
    /// The next in the round.
    pub(crate) next: u32,
    pub(crate) shaper: Shaper,
}

impl Place {
    pub(crate) fn new(base: u32, strict: u8, map: [u8; CLASSES_MAX]) -> Self {
        Self {
            ready: 0,
            strict,
            turn: 0,
            state: State::Idle,
            begun: false,
            map,
            base,
            deficit: 0,
            quantum: 0,
            next: NONE,
            shaper: Shaper::default(),
        }
    }

    /// The leaf of a forwarding class.
    #[inline]
    pub(crate) fn leaf(&self, class: u8) -> u32 {
        self.base + u32::from(self.map[usize::from(class) % CLASSES_MAX])
    }

    /// Which classes share a leaf.
    pub(crate) fn classes(&self) -> &[u8; CLASSES_MAX] {
        &self.map
    }

    /// Whose packet is next: of the strict classes the first, else deficit round robin. Some
    /// class is ready.
    #[inline]
    pub(crate) fn choose(&mut self, leaves: &mut [Leaf]) -> u8 {
        let strict = self.ready & self.strict;
        if strict != 0 {
            return lowest(strict);
        }
        let mut class = self.turn;
        if self.ready >> class & 1 == 1 && leaves[self.at(class)].deficit > 0 {
            return class;
        }
        // A quantum lets at least one packet pass after a bounded number of rounds.
        loop {
            class = after(self.ready, class);
            let leaf = &mut leaves[self.at(class)];
            leaf.deficit += leaf.quantum as i32;
            if leaf.deficit > 0 {
                self.turn = class;
                return class;
            }
        }
    }

    #[inline]
    fn at(&self, class: u8) -> usize {
        self.base as usize + usize::from(class)
    }
}

/// The next bit of `ready` (not 0) above `class`, or the first.
#[inline]
fn after(ready: u8, class: u8) -> u8 {
    let above = ready & u8::MAX.checked_shl(u32::from(class) + 1).unwrap_or(0);
    lowest(if above == 0 { ready } else { above })
}

/// The lowest bit of `classes`, of none the highest class.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "less than 8")]
pub(crate) fn lowest(classes: u8) -> u8 {
    classes.trailing_zeros().min(7) as u8
}
const _: () = assert!(CLASSES_MAX == 8, "a bit of an octet for each class");
