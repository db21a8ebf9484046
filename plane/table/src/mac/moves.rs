//! Addresses that move too often (RFC 7432 §15.1): N moves within M seconds freeze an address.

use super::MacKey;
use std::collections::{BTreeMap, VecDeque};

/// Addresses whose moves are counted at once, and frozen ones that wait to be thawed.
pub const MOVERS_MAX: usize = 65_536;

/// What happens to an address that moves too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMoves {
    /// It stays at the port where it was first; frames from elsewhere are dropped.
    Freeze,
    /// All frames from it and to it are dropped.
    Block,
}

/// When an address of a bridge moves too often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveRule {
    /// Moves within the window that are too many (RFC 7432: N = 5).
    pub moves: u32,
    /// The window in seconds (RFC 7432: M = 180).
    pub window_s: u32,
    /// Seconds after which it is thawed; 0 is never, an operator does it.
    pub hold_s: u32,
    /// What is done.
    pub then: OnMoves,
}

impl Default for MoveRule {
    fn default() -> Self {
        Self { moves: 5, window_s: 180, hold_s: 0, then: OnMoves::Freeze }
    }
}

struct Mover {
    since_s: u32,
    until_s: u32,
    moves: u32,
}

/// The moves of all addresses that moved lately, and the frozen ones in the order of thawing.
#[derive(Default)]
pub(super) struct Movers {
    movers: BTreeMap<MacKey, Mover>,
    frozen: BTreeMap<u32, VecDeque<MacKey>>,
    frozen_len: usize,
    /// When it was last swept because it was full: once a second is enough.
    swept_s: u32,
}

impl Movers {
    /// Counts a move; true if it is one too many.
    pub(super) fn count(&mut self, key: MacKey, rule: &MoveRule, now_s: u32) -> bool {
        if self.movers.len() >= MOVERS_MAX && !self.movers.contains_key(&key) {
            if self.swept_s != now_s {
                self.swept_s = now_s;
                self.movers.retain(|_, mover| now_s <= mover.until_s);
            }
            if self.movers.len() >= MOVERS_MAX {
                return false;
            }
        }
        let until_s = now_s.saturating_add(rule.window_s);
        let fresh = || Mover { since_s: now_s, until_s, moves: 0 };
        let mover = self.movers.entry(key).or_insert_with(fresh);
        if now_s.saturating_sub(mover.since_s) >= rule.window_s {
            *mover = fresh();
        }
        mover.moves += 1;
        let too_many = mover.moves >= rule.moves;
        if too_many {
            self.movers.remove(&key);
        }
        too_many
    }

    /// Notes when a frozen address is to be thawed; false if too many wait already.
    pub(super) fn freeze(&mut self, key: MacKey, thaw_s: u32) -> bool {
        let room = self.frozen_len < MOVERS_MAX;
        if room {
            self.frozen.entry(thaw_s).or_default().push_back(key);
            self.frozen_len += 1;
        }
        room
    }

    /// The next address whose time has come.
    pub(super) fn thaw(&mut self, now_s: u32) -> Option<MacKey> {
        let mut first = self.frozen.first_entry().filter(|first| *first.key() <= now_s)?;
        let key = first.get_mut().pop_front();
        if first.get().is_empty() {
            first.remove();
        }
        self.frozen_len -= usize::from(key.is_some());
        key
    }
}
