//! The border: realms and their doors, the ways between them, and who stands at the far ends.

use crate::config::Ssc;
use crate::lookup::Lookups;
use crate::next_hop::NextHops;
use crate::proof::Proofs;
use crate::realm::Realms;
use crate::realm_map::RealmMap;
use crate::route::Routes;
use machine::Time;

/// What a message crosses.
pub(crate) struct Border {
    pub(crate) realms: Realms,
    pub(crate) routes: Routes,
    pub(crate) hops: NextHops,
    pub(crate) lookups: Lookups,
    pub(crate) proofs: Proofs,
}

impl Border {
    /// The border of a validated configuration.
    pub(crate) fn new(config: &Ssc, now: Time) -> Self {
        let realms = Realms::new(config);
        let hops = NextHops::new(config, &realms, now);
        let mut proofs = Proofs::default();
        proofs.configure(config, &realms);
        Self {
            routes: Routes::new(config, &realms),
            lookups: Lookups::new(&hops, config, now),
            realms,
            hops,
            proofs,
        }
    }

    /// Takes routes and next hops of another configuration, whose realms are in place already;
    /// what is known of targets and far ends stays known.
    pub(crate) fn configure(&mut self, config: &Ssc, realms: &RealmMap, now: Time) {
        self.proofs.remap(|realm| realms.of(realm));
        self.proofs.configure(config, &self.realms);
        self.routes = Routes::new(config, &self.realms);
        let mut hops = NextHops::new(config, &self.realms, now);
        hops.inherit(&self.hops);
        self.lookups = Lookups::new(&hops, config, now);
        self.hops = hops;
    }
}
