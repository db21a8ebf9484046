//! Routes of VPNs on their way into VRFs (RFC 4364 §4.3.1).
//!
//! A path of a VRF is called by the number of its distinguisher and its place among the paths of
//! the route: those of one route have the places from zero on, without a gap.

use crate::attributes;
use crate::key::{self, FAMILIES};
use crate::{Vpn, VrfId};
use bgp::family::Family;
use rib::{Change, Choice, EQUAL_MAX, Imported, PathRef, PeerId, Rib, Taken};

/// Bits of an identifier of a path that say its place.
pub(crate) const ORDINAL_BITS: u32 = 7;

const _: () = assert!(EQUAL_MAX + 3 < 1 << ORDINAL_BITS);

/// What a path of a VRF is called.
fn path_id(distinguisher: u32, ordinal: u32) -> u32 {
    distinguisher << ORDINAL_BITS | (ordinal + 1)
}

impl Vpn {
    /// Takes a change of the core.
    pub(crate) fn take(&mut self, change: Change<'_>) {
        match change {
            Change::Begin(family) => self.begun.push(family),
            Change::Route(choice) => self.import(&choice),
            Change::End(_) => {}
        }
    }

    fn import(&mut self, choice: &Choice<'_>) {
        let Some(inner) = key::inner(choice.family) else { return };
        let mut room = std::mem::take(&mut self.room);
        if let Some(distinguisher) = key::split(choice.key, &mut room.key) {
            let others = choice.paths().chain(choice.backup());
            let paths: Vec<PathRef<'_>> = others.chain(choice.own()).collect();
            // What this edge has exported comes back to other VRFs only.
            let origin = self.of_distinguisher.get(&distinguisher);
            room.wanted.clear();
            for (at, path) in paths.iter().enumerate() {
                self.targets.importers(path.attributes, &mut room.importers);
                let origin = origin.filter(|_| path.peer == PeerId::OWN);
                let others = room.importers.iter().filter(|vrf| Some(*vrf) != origin);
                room.wanted.extend(others.map(|vrf| (*vrf, at)));
            }
            room.wanted.sort_unstable();
            let number = match room.wanted.is_empty() {
                true => self.distinguishers.find(distinguisher),
                false => self.distinguishers.take(distinguisher),
            };
            if let Some(number) = number {
                room.affected.clear();
                room.affected.extend(self.distinguishers.members(number));
                room.affected.extend(room.wanted.iter().map(|(vrf, _)| *vrf));
                room.affected.sort_unstable();
                room.affected.dedup();
                self.room = room;
                self.spread(number, inner, &paths);
                room = std::mem::take(&mut self.room);
                self.distinguishers.settle(number);
            }
        }
        self.room = room;
    }

    /// Gives every VRF that is concerned the paths that it wants.
    fn spread(&mut self, number: u32, inner: Family, paths: &[PathRef<'_>]) {
        let affected = std::mem::take(&mut self.room.affected);
        let wanted = std::mem::take(&mut self.room.wanted);
        let mut rest = &wanted[..];
        for &vrf in &affected {
            let count = rest.iter().take_while(|(it, _)| *it == vrf).count();
            let (own, others) = rest.split_at(count);
            rest = others;
            self.put(number, inner, vrf, own.iter().map(|(_, at)| &paths[*at]));
        }
        (self.room.affected, self.room.wanted) = (affected, wanted);
    }

    /// A VRF has these paths of the route from now on, and no others.
    fn put<'p>(
        &mut self,
        number: u32,
        inner: Family,
        id: VrfId,
        paths: impl Iterator<Item = &'p PathRef<'p>>,
    ) {
        let Some(vrf) = self.vrfs.get_mut(&id) else { return };
        let (key, imported) = (&self.room.key[..], &mut self.room.imported);
        let mut ordinal = 0;
        for path in paths {
            let is_full = ordinal == 0 && vrf.prefixes() >= vrf.settings.routes_max;
            if is_full && !vrf.rib.has_route(inner, key) {
                vrf.counters.refused += 1;
                self.short.insert(id);
                break;
            }
            let (from, hop) = (path.attributes, path.next_hop_octets);
            let make = |out: &mut _, to: &mut _| attributes::imported(from, hop, out, to);
            if !imported.of(inner, from, hop, make) {
                continue;
            }
            let taken = vrf.rib.import(
                inner,
                &Imported {
                    key,
                    path_id: path_id(number, ordinal),
                    payload: path.payload,
                    attributes: &imported.attributes,
                    next_hop: &imported.next_hop,
                    from: path.peer,
                    rank: path.rank,
                },
            );
            match taken {
                Some(Taken::New) if ordinal == 0 => {
                    vrf.counters.imported += 1;
                    self.distinguishers.came(number, id);
                }
                Some(Taken::New | Taken::Known) => {}
                Some(Taken::Refused) | None => {
                    vrf.counters.refused += 1;
                    break;
                }
            }
            ordinal += 1;
        }
        while vrf.rib.remove_import(inner, key, path_id(number, ordinal)) {
            if ordinal == 0 {
                vrf.counters.imported -= 1;
                self.distinguishers.went(number, id);
            }
            ordinal += 1;
        }
        self.touch(id);
    }

    /// Where the core tells everything anew, what was imported and is gone there goes.
    pub(crate) fn sweep(&mut self, core: &Rib) {
        for family in std::mem::take(&mut self.begun) {
            let Some((_, inner)) = FAMILIES.iter().find(|(vpn, _)| *vpn == family) else {
                continue;
            };
            let ids: Vec<VrfId> = self.vrfs.keys().copied().collect();
            for id in ids {
                self.sweep_vrf(core, id, family, *inner);
            }
        }
    }

    fn sweep_vrf(&mut self, core: &Rib, id: VrfId, family: Family, inner: Family) {
        let Some(vrf) = self.vrfs.get_mut(&id) else { return };
        let mut outer = Vec::new();
        let mut is_changed = false;
        for (key, path) in vrf.rib.keys_from(PeerId::IMPORTED, inner) {
            let number = path >> ORDINAL_BITS;
            let Some(distinguisher) = self.distinguishers.of(number) else { continue };
            let stands = key::join(distinguisher, &key, &mut outer)
                .is_some_and(|()| core.has_route(family, &outer));
            if !stands && vrf.rib.remove_import(inner, &key, path) {
                is_changed = true;
                if path == path_id(number, 0) {
                    vrf.counters.imported -= 1;
                    self.distinguishers.went(number, id);
                    self.distinguishers.settle(number);
                }
            }
        }
        if is_changed {
            self.touch(id);
        }
    }
}
