//! What was agreed of flows, once for all of them that have the same: very many flows have a few
//! codecs, and what all packets need stays near the processor.

use crate::cell::Special;
use crate::flow::{PayloadTypes, Settings};
use crate::police::Upward;
use crate::program::{FlowSaid, UP_PER_S};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Kinds of flows that are shared, at most; of more each flow has its own.
const SHARED_MAX: usize = 1_024;

/// Things by what they are made of.
struct Shared<K, T>(BTreeMap<K, Arc<T>>);

impl<K, T> Default for Shared<K, T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord, T> Shared<K, T> {
    fn of(&mut self, name: K, make: impl FnOnce() -> T) -> Arc<T> {
        if let Some(known) = self.0.get(&name) {
            return Arc::clone(known);
        }
        if self.0.len() >= SHARED_MAX {
            self.0.retain(|_, known| Arc::strong_count(known) > 1);
        }
        let new = Arc::new(make());
        if self.0.len() < SHARED_MAX {
            self.0.insert(name, Arc::clone(&new));
        }
        new
    }
}

/// Payload types that are rewritten, that go up, and that are digits; how often those go up.
type Kinds = (Vec<(u8, u8)>, u128, u128, u16);

/// What flows have in common.
#[derive(Default)]
pub(crate) struct Agreed {
    settings: Shared<[u64; 9], Settings>,
    special: Shared<Kinds, Special>,
}

impl Agreed {
    /// These settings.
    pub fn of(&mut self, settings: &Settings) -> Arc<Settings> {
        match settings.name() {
            Some(name) => self.settings.of(name, || *settings),
            // What names a source is one flow's alone.
            None => Arc::new(*settings),
        }
    }

    /// What is special to payload types of a flow.
    pub fn special(&mut self, said: &FlowSaid) -> Option<Arc<Special>> {
        let FlowSaid { becomes, up, digits, .. } = said;
        let up_per_s = if said.up_per_s == 0 { UP_PER_S } else { said.up_per_s };
        let all = becomes.iter().fold(0, |bits, (before, _)| bits | 1_u128 << (before & 127));
        let all = PayloadTypes::of_bits(all | up.bits() | digits.bits());
        if all == PayloadTypes::default() {
            return None;
        }
        let name = (becomes.clone(), up.bits(), digits.bits(), up_per_s);
        let make = || Special {
            becomes: becomes.clone(),
            up: *up,
            up_rate: Upward::per_s(up_per_s),
            digits: *digits,
            all,
        };
        Some(self.special.of(name, make))
    }
}
