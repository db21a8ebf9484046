//! The border: realms and their listeners, the ways between them, and who stands at the far ends.

use crate::lookup::Lookups;
use crate::next_hop::NextHops;
use crate::proof::Proofs;
use crate::realm::Realms;
use crate::realm_map::RealmMap;
use crate::route::Routes;
use crate::settings::Settings;
use machine::Time;

/// What a message crosses.
#[derive(Debug)]
pub struct Border {
    /// The realms.
    pub realms: Realms,
    /// Which request goes to which next hop.
    pub routes: Routes,
    /// The next hops.
    pub hops: NextHops,
    /// Their domains.
    pub lookups: Lookups,
    /// Who the far ends of connections are.
    pub proofs: Proofs,
}

impl Border {
    /// The border of checked settings; the first probes and searches are due at once.
    #[must_use]
    pub fn new(settings: &Settings<'_>, now: Time) -> Self {
        let realms = Realms::new(&settings.realms);
        let hops = NextHops::new(&settings.hops, &realms, now);
        let mut proofs = Proofs::default();
        proofs.configure(settings, &realms);
        Self {
            routes: Routes::new(settings, &realms),
            lookups: Lookups::new(&hops, &settings.hops, now),
            realms,
            hops,
            proofs,
        }
    }

    /// Takes routes and next hops of other settings, whose realms are in place already;
    /// what is known of targets and far ends stays known.
    pub fn configure(&mut self, settings: &Settings<'_>, moved: &RealmMap, now: Time) {
        self.proofs.remap(|realm| moved.of(realm));
        self.proofs.configure(settings, &self.realms);
        self.routes = Routes::new(settings, &self.realms);
        let mut hops = NextHops::new(&settings.hops, &self.realms, now);
        hops.inherit(&self.hops);
        self.lookups = Lookups::new(&hops, &settings.hops, now);
        self.hops = hops;
    }
}
