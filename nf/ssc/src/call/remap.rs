//! A new configuration under calls that stand: what they hold of the old one is turned into the
//! new one's terms.
//!
//! Calls and requests under way name realms and routes by index. An index moves when a realm comes
//! or goes before it; a call on a realm that is gone ends on both legs.

use super::calls::Calls;
use crate::config::Ssc;
use machine::Time;
use machine::slots::Key;
use sip_stack::realm::RealmId;
use sip_stack::realm_map::RealmMap;

impl Calls {
    /// The calls with a leg in a realm that the new configuration does not have.
    pub(crate) fn of_removed(&self, realms: &RealmMap) -> Vec<Key> {
        let is_gone = |realm: RealmId| realms.of(realm).is_none();
        let calls = self.table.iter();
        let gone = calls.filter(|(_, call)| is_gone(call.a.realm) || is_gone(call.b.realm));
        gone.map(|(key, _)| key).collect()
    }

    /// Gives calls and requests under way the new indices.
    pub(crate) fn remap(&mut self, realms: &RealmMap) {
        // What is gone has ended; the few records that wait for their last answer need some realm.
        let to = |realm: RealmId| realms.of(realm).unwrap_or_default();
        let calls: Vec<Key> = self.table.iter().map(|(key, _)| key).collect();
        for key in calls {
            let Some(call) = self.table.at_mut(key) else { continue };
            for leg in [&mut call.a, &mut call.b].into_iter().chain(&mut call.forks) {
                leg.realm = to(leg.realm);
            }
        }
        let relays: Vec<Key> = self.relays.iter().map(|(key, _)| key).collect();
        for key in relays {
            let Some(relay) = self.relays.at_mut(key) else { continue };
            relay.realms.up = to(relay.realms.up);
            relay.realms.down = to(relay.realms.down);
        }
    }

    /// Requests under way keep the place that their route had for them, unless routes or next
    /// hops changed: then they stay with the target they have.
    pub(crate) fn forget_plans(&mut self, old: &Ssc, new: &Ssc) {
        if old.route == new.route && old.next_hop == new.next_hop {
            return;
        }
        let relays: Vec<Key> = self.relays.iter().map(|(key, _)| key).collect();
        for key in relays {
            let Some(relay) = self.relays.at_mut(key) else { continue };
            relay.plan = None;
            relay.timing.again_at = Time::MAX;
            let due = relay.due();
            self.relays.arm(key, due);
        }
    }
}
