//! Routes of VRFs on their way to other edges (RFC 4364 §4.3.2).

use crate::attributes::{self, Rewritten};
use crate::key::{self, FAMILIES};
use crate::vrf::Vrf;
use crate::{Vpn, VrfId};
use bgp::family::Family;
use core::net::Ipv4Addr;
use rib::{Change, Choice, OwnRoute, PeerId, Rib, Taken};

impl Vpn {
    /// Exports what changed in VRFs, about `budget` routes.
    pub(crate) fn export(&mut self, core: &mut Rib, budget: usize) {
        let mut left = budget;
        while left > 0
            && let Some(id) = self.touched.pop_front()
        {
            let more = self.export_vrf(core, id, &mut left);
            let Some(vrf) = self.vrfs.get_mut(&id) else { continue };
            vrf.is_touched = more;
            if more {
                self.touched.push_back(id);
            }
        }
    }

    fn export_vrf(&mut self, core: &mut Rib, id: VrfId, left: &mut usize) -> bool {
        let Some(vrf) = self.vrfs.get_mut(&id) else { return false };
        if self.of_distinguisher.get(&vrf.settings.distinguisher) != Some(&id) {
            return false;
        }
        let Vrf { settings, rib, reader, counters, .. } = &mut **vrf;
        let withheld = counters.withheld;
        let exported = &mut self.room.exported;
        // Another VRF has other targets.
        exported.forget();
        let (mut begun, mut vpn_key) = (Vec::new(), Vec::new());
        let (own, budget) = (self.settings.next_hop, *left);
        let more = rib.read_changes(*reader, budget, &mut |change| match change {
            Change::Begin(family) => begun.push(family),
            Change::End(_) => {}
            Change::Route(choice) => {
                *left = left.saturating_sub(1);
                let Some(vpn) = key::outer(choice.family) else { return };
                if key::join(settings.distinguisher, choice.key, &mut vpn_key).is_none() {
                    return;
                }
                let is_full = counters.exported >= settings.routes_max as u64;
                let mut way = Way { vpn, key: &vpn_key, own, settings, is_full, exported };
                match way.tell(core, &choice) {
                    Outcome::Came => counters.exported += 1,
                    Outcome::Went => counters.exported -= 1,
                    Outcome::Withheld => counters.withheld += 1,
                    Outcome::Same => {}
                }
            }
        });
        if counters.withheld > withheld {
            self.withheld.insert(id);
        }
        for (vpn, inner) in FAMILIES.iter().filter(|(_, inner)| begun.contains(inner)) {
            // What was exported and is gone since goes.
            for (vpn_key, _) in core.keys_from(PeerId::OWN, *vpn) {
                let mut key = Vec::new();
                let is_ours = key::split(&vpn_key, &mut key) == Some(settings.distinguisher);
                if is_ours && !rib.has_route(*inner, &key) && core.retract(*vpn, &vpn_key) {
                    counters.exported -= 1;
                }
            }
        }
        more
    }
}

/// What became of a route towards other edges.
enum Outcome {
    Came,
    Went,
    /// There are as many as may be.
    Withheld,
    Same,
}

/// One route on its way.
struct Way<'a> {
    vpn: Family,
    key: &'a [u8],
    own: Ipv4Addr,
    settings: &'a crate::VrfSettings,
    /// No further routes of customers are exported.
    is_full: bool,
    exported: &'a mut Rewritten,
}

impl Way<'_> {
    /// Tells the route if it is of this VRF, and takes it back otherwise. Subnets and static routes
    /// are the operator's own: they are told in any case.
    fn tell(&mut self, core: &mut Rib, choice: &Choice<'_>) -> Outcome {
        let best = choice.best().filter(|best| best.peer != PeerId::IMPORTED);
        let is_customers = best.is_some_and(|best| best.peer != PeerId::OWN);
        if self.is_full && is_customers && !core.has_own(self.vpn, self.key) {
            return Outcome::Withheld;
        }
        let (own, settings, is_ipv6) = (self.own, self.settings, self.vpn == Family::Vpnv6);
        let is_told = best.is_some_and(|best| {
            let (from, hop) = (best.attributes, best.next_hop_octets);
            self.exported.of(self.vpn, from, hop, |out, to| {
                attributes::exported(from, &settings.export, own, is_ipv6, out, to)
            })
        });
        let taken = match is_told {
            true => core.originate(
                self.vpn,
                &OwnRoute {
                    key: self.key,
                    payload: &settings.label.octets(true),
                    attributes: &self.exported.attributes,
                    next_hop: &self.exported.next_hop,
                },
            ),
            false => None,
        };
        match taken {
            Some(Taken::New) => Outcome::Came,
            Some(Taken::Known | Taken::Refused) => Outcome::Same,
            None if core.retract(self.vpn, self.key) => Outcome::Went,
            None => Outcome::Same,
        }
    }
}
