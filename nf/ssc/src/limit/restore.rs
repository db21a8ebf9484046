//! Calls that a standby took over: they take of the limits what they took at the other node.

use super::{Asking, Grant, Kind, Limits};
use crate::Controller;
use machine::slots::Key;
use overload::{NOBODY, Users};
use sip::NameAddr;

impl Limits {
    /// The name of the next hop that a call counts at; empty: none.
    pub(crate) fn hop_name(&self, grant: Grant) -> &str {
        self.counters.at(grant.hop).map_or("", |counter| &counter.name)
    }

    /// What a call of another node takes: it is counted by [`Limits::count`].
    pub(crate) fn read_grant(&self, units: u16, hop: &[u8]) -> Grant {
        let hop = self.counters.find(Kind::NextHop, hop);
        Grant { hop, units, ..Grant::default() }
    }

    /// Nothing is counted any more.
    fn forget(&mut self) {
        self.counters.forget();
        self.subscribers = Users::default();
        self.stock.forget();
    }

    /// Counts a call that stands; no limit refuses it. `asking` has no next hop: `was` has it.
    fn count(&mut self, was: Grant, asking: &Asking) -> Grant {
        let [realm, _] = self.counters_of(asking);
        self.counters.count(realm);
        self.counters.count(was.hop);
        let is_own = self.has_subscribers(asking.realm);
        let subscriber = if is_own { self.subscribers.count(asking.subscriber) } else { NOBODY };
        self.stock.take(was.units);
        Grant { realm, hop: was.hop, units: was.units, subscriber }
    }
}

impl Controller {
    /// The copy becomes the table itself: every call in it is counted anew.
    pub(crate) fn recount(&mut self) {
        self.limits.forget();
        let keys: Vec<Key> = self.calls.iter().map(|(key, _)| key).collect();
        for key in keys {
            let Some(call) = self.calls.at(key).filter(|call| call.grant.units > 0) else {
                continue;
            };
            let realm = call.a.realm;
            let from = NameAddr::parse(call.a.parties().1);
            let from = from.map_or(&b""[..], |from| from.uri);
            let binding = self.sender_of(&call.a.flow, from);
            let caller = self.caller((realm, &call.a.flow), binding, from);
            let subscriber = self.merged.name(realm, &caller);
            let asking = Asking { realm, hop: None, subscriber, units: call.grant.units };
            let grant = self.limits.count(call.grant, &asking);
            if let Some(call) = self.calls.at_mut(key) {
                call.grant = grant;
            }
        }
    }
}
