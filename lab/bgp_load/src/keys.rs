//! Every route that anybody announces has a number: what clients hold is a table by it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Routes of one run at most.
pub const KEYS_MAX: usize = 64_000_000;
/// The feeder of a route that no feeder announced.
pub(crate) const NOBODY: u16 = u16::MAX;

/// Keys are well mixed already.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// The numbers of all routes, and which client feeds each. A route has one feeder.
#[derive(Debug, Default)]
pub struct Keys {
    by_key: HashMap<u64, u32, BuildHasherDefault<Identity>>,
    keys: Vec<u64>,
    feeders: Vec<u16>,
    /// The route that is waited for, as number and tag.
    pub(crate) watched: Option<(u32, u32)>,
}

impl Keys {
    /// No route.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for so many more.
    pub fn reserve(&mut self, more: usize) {
        let more = more.min(KEYS_MAX);
        self.by_key.reserve(more);
        self.keys.reserve(more);
        self.feeders.reserve(more);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The number of a route, given one when it is new; `None` when there are too many.
    pub(crate) fn number(&mut self, key: u64, feeder: u16) -> Option<u32> {
        if let Some(number) = self.by_key.get(&key) {
            let known = &mut self.feeders[*number as usize];
            if *known == NOBODY {
                *known = feeder;
            }
            return Some(*number);
        }
        if self.keys.len() >= KEYS_MAX {
            return None;
        }
        let number = self.keys.len() as u32;
        self.by_key.insert(key, number);
        self.keys.push(key);
        self.feeders.push(feeder);
        Some(number)
    }

    /// The number of a route that came: mostly the one behind the route before.
    #[inline]
    pub(crate) fn find(&mut self, key: u64, before: u32) -> Option<u32> {
        for guess in [before.wrapping_add(1), before.wrapping_sub(1)] {
            if self.keys.get(guess as usize) == Some(&key) {
                return Some(guess);
            }
        }
        self.number(key, NOBODY)
    }

    /// Who feeds the route with this number.
    #[inline]
    pub(crate) fn feeder(&self, number: u32) -> usize {
        usize::from(self.feeders[number as usize])
    }
}
