//! Calls that a standby took over: they take of the limits what they took at the other node.

use super::{Asking, Grant, Kind, Limits};
use overload::{NOBODY, Users};

impl Limits {
    /// The name of the next hop that a call counts at; empty: none.
    #[must_use]
    pub fn hop_name(&self, grant: Grant) -> &str {
        self.counters.at(grant.hop).map_or("", |counter| &counter.name)
    }

    /// What a call of another node takes: it is counted by [`Limits::count`].
    #[must_use]
    pub fn read_grant(&self, units: u16, hop: &[u8]) -> Grant {
        let hop = self.counters.find(Kind::NextHop, hop);
        Grant { hop, units, ..Grant::default() }
    }

    /// Nothing is counted any more.
    pub fn forget(&mut self) {
        self.counters.forget();
        self.subscribers = Users::default();
        self.stock.forget();
    }

    /// Counts a call that stands; no limit refuses it. `asking` has no next hop: `was` has it.
    pub fn count(&mut self, was: Grant, asking: &Asking) -> Grant {
        let [realm, _] = self.counters_of(asking);
        self.counters.count(realm);
        self.counters.count(was.hop);
        let is_own = self.has_subscribers(asking.realm);
        let subscriber = if is_own { self.subscribers.count(asking.subscriber) } else { NOBODY };
        self.stock.take(was.units);
        Grant { realm, hop: was.hop, units: was.units, subscriber }
    }
}
