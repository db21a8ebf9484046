//! A configuration becomes another: what is gone leaves, what is new joins, what stays is not
//! touched unless the session depends on what changed.

use crate::Reflector;
use crate::config::{BmpTable, Rr};
use bgp::codec::Cease;
use machine::Time;
use runtime::Effects;
use std::sync::Arc;

impl Reflector {
    /// Makes `next` the configuration. What cannot be configured was refused by its check.
    pub(crate) fn apply(&mut self, now: Time, next: Arc<Rr>, out: &mut Effects) {
        let old = core::mem::replace(&mut self.config, Arc::clone(&next));
        if !old.is_same(&next) {
            self.begin_anew(now, out);
        }
        self.change_caches(now, &old, out);
        let policies = self.tables(|it| it.set_policies(&next.speaker()));
        // What stations were told of the tables behind the policies is another now.
        let is_told = self.stations.listen_to(BmpTable::PostPolicy);
        let families = |of: &Rr| of.speaker().families();
        let is_same = old.is_same(&next) && families(&old) == families(&next);
        let others = old.bmp != next.bmp || !is_same || old.name != next.name;
        let mut stations_begin_anew = others || (is_told && policies.is_some());
        if let Some(change) = policies {
            let is_rebound = !change.rebound.is_empty();
            stations_begin_anew |= is_rebound && self.stations.listen_to(BmpTable::AdjRibOut);
        }
        if old.distances() != next.distances() {
            self.rib.set_metrics(next.distances());
        }
        self.speaker.configure(now, &next.speaker(), out);
        self.follow(now, &[], out);
        if stations_begin_anew {
            self.change_stations(now, out);
        }
        self.has_work = true;
    }

    /// The node is another one: every session begins anew.
    fn begin_anew(&mut self, now: Time, out: &mut Effects) {
        self.speaker.stop_all(now, Cease::OtherConfigurationChange, out);
        self.follow(now, &[], out);
        self.rib = rib::Rib::new(self.config.rib(self.rib_seed, self.speaker.policies()));
        self.rib.set_metrics(self.config.distances());
    }
}
