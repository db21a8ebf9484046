//! A new configuration under calls that stand: what they hold of the old one is turned into the
//! new one's terms.
//!
//! Calls, requests under way and bindings name realms and routes by index. An index moves when a
//! realm comes or goes before it; a call on a realm that is gone ends on both legs.

use crate::Controller;
use crate::config::Ssc;
use crate::realm::{RealmId, Realms};
use machine::Time;
use machine::narrow::index;
use machine::slots::Key;
use runtime::Effects;

/// Where each realm of the old configuration is in the new one.
pub(crate) struct Moves(Vec<Option<RealmId>>);

impl Moves {
    /// By name.
    pub(crate) fn between(old: &Realms, new: &Realms) -> Self {
        Self(old.rows().iter().map(|realm| new.named(&realm.name)).collect())
    }

    /// Whether every realm kept its index.
    pub(crate) fn are_none(&self) -> bool {
        let stays = |(n, to): (usize, &Option<RealmId>)| *to == Some(RealmId(index(n)));
        self.0.iter().enumerate().all(stays)
    }

    /// The new index; `None` when the realm is gone.
    pub(crate) fn of(&self, realm: RealmId) -> Option<RealmId> {
        self.0.get(usize::from(realm.0)).copied().flatten()
    }
}

impl Controller {
    /// Ends the calls on realms that the new configuration does not have. While the old realms
    /// are still in place.
    pub(crate) fn leave(&mut self, now: Time, moves: &Moves, out: &mut Effects) {
        if moves.are_none() {
            return;
        }
        let is_gone = |realm: RealmId| moves.of(realm).is_none();
        let calls = self.calls.iter();
        let gone = calls.filter(|(_, call)| is_gone(call.a.realm) || is_gone(call.b.realm));
        let gone: Vec<Key> = gone.map(|(key, _)| key).collect();
        for key in gone {
            self.tear_down(now, key, 480, "the realm of one leg was removed", out);
        }
        self.transacted(now, out);
    }

    /// Gives calls, requests under way and bindings the new indices.
    pub(crate) fn reseat(&mut self, now: Time, moves: &Moves) {
        if moves.are_none() {
            return;
        }
        // What is gone has ended; the few records that wait for their last answer need some realm.
        let to = |realm: RealmId| moves.of(realm).unwrap_or_default();
        let calls: Vec<Key> = self.calls.iter().map(|(key, _)| key).collect();
        for key in calls {
            let Some(call) = self.calls.at_mut(key) else { continue };
            for leg in [&mut call.a, &mut call.b].into_iter().chain(&mut call.forks) {
                leg.realm = to(leg.realm);
            }
        }
        let relays: Vec<Key> = self.relays.iter().map(|(key, _)| key).collect();
        for key in relays {
            let Some(relay) = self.relays.at_mut(key) else { continue };
            relay.realm_up = to(relay.realm_up);
            relay.realm_down = to(relay.realm_down);
        }
        let mut gone = Vec::new();
        self.registrar.reseat(|realm| moves.of(realm), &mut gone);
        self.gone(now, &gone);
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
            relay.again_at = Time::MAX;
            let due = relay.due();
            self.relays.arm(key, due);
        }
    }
}
