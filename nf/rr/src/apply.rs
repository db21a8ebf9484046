//! A configuration becomes another: what is gone leaves, what is new joins, what stays is not
//! touched unless the session depends on what changed.

use crate::Reflector;
use crate::config::{BmpTable, Change, Rr, Speaker};
use crate::judges::shared;
use crate::peers::Held;
use bgp::In;
use bgp::codec::Cease;
use machine::Time;
use rib::PeerId;
use runtime::Effects;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Reflector {
    /// Makes `next` the configuration. What cannot be configured was refused by its check.
    pub(crate) fn apply(&mut self, now: Time, next: Arc<Rr>, out: &mut Effects) {
        let old = core::mem::replace(&mut self.config, Arc::clone(&next));
        self.ranges = next.ranges();
        if !old.is_same(&next) {
            self.begin_anew(now, out);
        }
        self.change_caches(now, &old, out);
        let changed = changed_policies(&old, &next);
        // What stations were told of the tables behind the policies is another now.
        let is_told = self.stations.listen_to(BmpTable::PostPolicy);
        let is_same = old.is_same(&next) && old.spoken() == next.spoken();
        let others = old.bmp != next.bmp || !is_same || old.name != next.name;
        let mut stations_begin_anew = others || (is_told && !changed.is_empty());
        if !changed.is_empty() {
            self.judges = Arc::new(self.judges.with(next.policies()));
            let is_seated_anew = self.seat_anew();
            stations_begin_anew |= is_seated_anew && self.stations.listen_to(BmpTable::AdjRibOut);
            let numbers = self.judges.numbers(&changed);
            self.rib.set_policy(shared(&self.judges), &numbers, &numbers);
        }
        if old.distances() != next.distances() {
            self.rib.set_metrics(next.distances());
        }
        let wanted: BTreeMap<&str, Speaker> =
            next.peer.iter().map(|peer| (&*peer.name, Speaker::of_peer(&next, peer))).collect();
        for id in self.peers.ids() {
            let Some(peer) = self.peers.get(id) else { continue };
            let speaker = match peer.speaker.is_dynamic {
                true => self.of_range(&peer.speaker, &next),
                false => wanted.get(&*peer.speaker.name).cloned(),
            };
            match speaker {
                Some(speaker) => self.change(now, id, speaker, out),
                None => self.dismiss(now, id, out),
            }
        }
        self.join(now, &next);
        for id in self.peers.ids() {
            self.start(now, id, out);
        }
        if stations_begin_anew {
            self.change_stations(now, out);
        }
        self.has_work = true;
    }

    /// A dynamic peer in another configuration: `None` when its range is gone or another group's,
    /// or a section of its own has come.
    fn of_range(&self, old: &Speaker, next: &Rr) -> Option<Speaker> {
        let address = old.address;
        let has_section = |peer: &crate::config::Peer| peer.address.to_canonical() == address;
        if next.peer.iter().any(has_section) {
            return None;
        }
        let range = self.ranges.iter().find(|range| range.has(address))?;
        let group =
            next.group.get(range.group).filter(|it| Some(&it.name) == old.group.as_ref())?;
        Some(Speaker::of_range(next, group, address)).filter(|speaker| speaker.enabled)
    }

    /// What there is not yet, joins.
    pub(crate) fn join(&mut self, now: Time, next: &Rr) {
        let names = self.peers.iter().filter(|(_, peer)| !peer.speaker.is_dynamic);
        let known: BTreeSet<String> = names.map(|(_, peer)| peer.speaker.name.clone()).collect();
        for peer in &next.peer {
            if !known.contains(&peer.name) {
                let speaker = Speaker::of_peer(next, peer);
                self.admit(now, speaker);
            }
        }
    }

    /// The node is another one: every session begins anew.
    fn begin_anew(&mut self, now: Time, out: &mut Effects) {
        for id in self.peers.ids() {
            self.tell(now, id, In::Stop(Cease::OtherConfigurationChange, None), out);
        }
        self.rib = rib::Rib::new(self.config.rib(self.rib_seed, &self.judges));
        self.rib.set_metrics(self.config.distances());
    }

    /// A peer goes.
    fn dismiss(&mut self, now: Time, id: PeerId, out: &mut Effects) {
        self.tell(now, id, In::Stop(Cease::PeerDeconfigured, None), out);
        self.peers.remove(id);
    }

    /// A peer is another one from now on.
    fn change(&mut self, now: Time, id: PeerId, next: Speaker, out: &mut Effects) {
        let Some(peer) = self.peers.get(id) else { return };
        if peer.speaker == next {
            return;
        }
        let change = peer.speaker.change(&next);
        let (was_enabled, is_enabled) = (peer.speaker.enabled, next.enabled);
        if change == Change::Reset || !is_enabled {
            let cease = match is_enabled {
                true => Cease::OtherConfigurationChange,
                false => Cease::AdministrativeShutdown,
            };
            self.tell(now, id, In::Stop(cease, None), out);
        }
        let settings = Box::new(self.settings_now(&next.settings));
        self.peers.readdress(id, next);
        self.tell(now, id, In::SetSettings(settings), out);
        let Some(peer) = self.peers.get_mut(id) else { return };
        match (was_enabled, is_enabled) {
            (_, false) => peer.held = Some(Held::Configured),
            (false, true) => peer.held = None,
            (true, true) => {}
        }
        self.check_limits(now, id, out);
    }
}

/// Names of the policies that are others, have come or have gone.
fn changed_policies(old: &Rr, next: &Rr) -> BTreeSet<String> {
    let lacks = |of: &Rr, it: &policy::PolicyConfig| !of.policy.contains(it);
    let gone = old.policy.iter().filter(|it| lacks(next, it));
    let come = next.policy.iter().filter(|it| lacks(old, it));
    gone.chain(come).map(|it| it.name.clone()).collect()
}
