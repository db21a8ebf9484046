//! Calls that a standby took over: they take of the limits what they took at the other node.

use super::{Asking, Grant, Kind, Limits};
use crate::Controller;
use machine::narrow::index;
use machine::slots::Key;
use sip::NameAddr;

impl Limits {
    /// The name of the next hop that a call counts at; empty: none.
    pub(crate) fn hop_name(&self, grant: Grant) -> &str {
        self.counters.get(usize::from(grant.hop)).map_or("", |counter| &counter.name)
    }

    /// What a call of another node takes: it is counted by [`Limits::count`].
    pub(crate) fn read_grant(&self, units: u16, hop: &[u8]) -> Grant {
        let is_it = |c: &super::Counter| c.kind == Kind::NextHop && c.name.as_bytes() == hop;
        let hop = self.counters.iter().position(is_it).map_or(super::NONE, index);
        Grant { hop, units, ..Grant::default() }
    }

    /// Nothing is counted any more.
    fn forget(&mut self) {
        self.counters.iter_mut().for_each(|counter| counter.live = 0);
        self.subscribers = super::Subscribers::default();
        (self.units, self.sessions) = (0, 0);
    }

    /// Counts a call that stands; no limit refuses it. `asking` has no next hop: `was` has it.
    fn count(&mut self, was: Grant, asking: &Asking) -> Grant {
        let realm = self.realms.get(usize::from(asking.realm.0)).copied().unwrap_or(super::NONE);
        for number in [realm, was.hop] {
            if let Some(counter) = self.counters.get_mut(usize::from(number)) {
                counter.live += 1;
            }
        }
        let is_own = self.has_subscribers(asking.realm);
        let nobody = super::subscribers::NOBODY;
        let subscriber = if is_own { self.subscribers.count(asking.subscriber) } else { nobody };
        self.units += u32::from(was.units);
        self.sessions += 1;
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
