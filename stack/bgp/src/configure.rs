//! A configuration becomes another: what is gone leaves, what is new joins, what stays is not
//! touched unless the session depends on what changed.

use crate::Speaker;
use crate::config::{Change, PeerSettings, Resolved, Section};
use crate::effects::{Out, PolicyChange};
use crate::peers::Held;
use bgp::In;
use bgp::codec::Cease;
use machine::Time;
use policy::PolicyConfig;
use rib::PeerId;
use runtime::Effects;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Speaker {
    /// Makes the policies of `section` those of the sessions that stand, and those that it names
    /// for a peer those of its session, which goes on; tables ask [`Speaker::policies`] again.
    /// `None` when none differs. [`Speaker::configure`] follows.
    pub fn set_policies(&mut self, section: &Section<'_>) -> Option<PolicyChange> {
        let changed = changed_policies(&self.policy_configs, section.policy);
        if !changed.is_empty() {
            self.policy_configs = section.policy.to_vec();
            self.policies = Arc::new(self.policies.with(section.policies()));
        }
        self.name_policies(&section.resolve());
        let rebound = self.bind_anew();
        if changed.is_empty() && rebound.is_empty() {
            return None;
        }
        Some(PolicyChange { rebound, numbers: self.policies.numbers(&changed) })
    }

    /// Sessions that go on have the policies that `next` names.
    fn name_policies(&mut self, next: &Resolved) {
        for id in self.peers.ids() {
            let Some(peer) = self.peers.get_mut(id) else { continue };
            if let Some(wanted) = next.of(&peer.settings)
                && peer.settings.change(&wanted) == Change::Live
            {
                let PeerSettings { group, import, export, default_policy, .. } = wanted;
                (peer.settings.group, peer.settings.default_policy) = (group, default_policy);
                (peer.settings.import, peer.settings.export) = (import, export);
            }
        }
    }

    /// Makes `section` the configuration of the peers. What cannot be configured was refused by
    /// its check.
    pub fn configure(&mut self, now: Time, section: &Section<'_>, out: &mut Effects) {
        self.resolved = section.resolve();
        for id in self.peers.ids() {
            let Some(peer) = self.peers.get(id) else { continue };
            match self.resolved.of(&peer.settings) {
                Some(next) => self.change(now, id, next, out),
                None => self.dismiss(now, id, out),
            }
        }
        self.departed.expire(now, &self.resolved);
        self.join(now);
        for id in self.peers.ids() {
            self.start(now, id, out);
        }
    }

    /// What there is not yet, joins.
    pub(crate) fn join(&mut self, now: Time) {
        let names = self.peers.iter().filter(|(_, peer)| !peer.settings.is_dynamic);
        let known: BTreeSet<String> = names.map(|(_, peer)| peer.settings.name.clone()).collect();
        let new = self.resolved.peers.iter().filter(|it| !known.contains(&it.name));
        for settings in new.cloned().collect::<Vec<_>>() {
            self.admit(now, settings);
        }
    }

    /// A peer goes.
    fn dismiss(&mut self, now: Time, id: PeerId, out: &mut Effects) {
        self.tell(now, id, In::Stop(Cease::PeerDeconfigured, None), out);
        if let Some(peer) = self.peers.remove(id) {
            self.departed.forget(Some(peer.settings.address));
        }
    }

    /// A peer is another one from now on.
    fn change(&mut self, now: Time, id: PeerId, next: PeerSettings, out: &mut Effects) {
        let Some(peer) = self.peers.get(id) else { return };
        if peer.settings == next {
            return;
        }
        let change = peer.settings.change(&next);
        let (was_enabled, is_enabled) = (peer.settings.enabled, next.enabled);
        if change == Change::Reset || !is_enabled {
            let cease = match is_enabled {
                true => Cease::OtherConfigurationChange,
                false => Cease::AdministrativeShutdown,
            };
            self.tell(now, id, In::Stop(cease, None), out);
        }
        let session = Box::new(self.settings_now(&next.session));
        self.peers.readdress(id, next);
        self.tell(now, id, In::SetSettings(session), out);
        let Some(peer) = self.peers.get_mut(id) else { return };
        match (was_enabled, is_enabled) {
            (_, false) => peer.held = Some(Held::Configured),
            (false, true) => peer.held = None,
            (true, true) => {}
        }
        if change == Change::Reset {
            // What was the matter before is of another configuration.
            peer.ending.take_if(|it| it.at < now);
            self.refusals.forget(peer.settings.address);
        }
        self.events.push_back(Out::Limits(id));
    }
}

/// Names of the policies that are others, have come or have gone.
fn changed_policies(old: &[PolicyConfig], next: &[PolicyConfig]) -> BTreeSet<String> {
    let gone = old.iter().filter(|it| !next.contains(it));
    let come = next.iter().filter(|it| !old.contains(it));
    gone.chain(come).map(|it| it.name.clone()).collect()
}
