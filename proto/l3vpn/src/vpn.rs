//! The VPNs of an edge: its VRFs, and what passes between them and the core.

use crate::attributes::Rewritten;
use crate::distinguishers::Distinguishers;
use crate::key::FAMILIES;
use crate::targets::{self, Targets};
use crate::vrf::{Vrf, families};
use crate::{Counters, TARGETS_MAX, VRFS_MAX, VrfId, VrfSettings};
use bgp::codec::{Asn, ExtendedCommunity, Identifier, write_attribute};
use bgp::family::{Family, RouteDistinguisher};
use core::net::Ipv4Addr;
use hashbrown::HashMap;
use rib::{Bounds, EQUAL_MAX, OwnRoute, PeerId, Policy, ReaderId, Rib};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// ORIGIN and AS_PATH of a wish, of which only its key says anything.
const ORIGIN: u8 = 1;
const AS_PATH: u8 = 2;
const LOCAL_PREF: u8 = 5;
/// Flags of a well-known attribute.
const WELL_KNOWN: u8 = 0x40;
/// Bits of a whole route target with the AS that wants it (RFC 4684 §4).
const WISH_BITS: u8 = 96;

/// What the VPNs of an edge are made from.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Our AS.
    pub asn: Asn,
    /// Our BGP Identifier.
    pub identifier: Identifier,
    /// The next hop that other edges are told: an address of this one.
    pub next_hop: Ipv4Addr,
    /// The policies of customers' sessions.
    pub policy: Option<Arc<dyn Policy>>,
    /// From a random source.
    pub seed: u64,
    /// How much may wait for customers, of each VRF.
    pub bounds: Bounds,
    /// The targets that are imported are told as wishes (RFC 4684).
    pub wishes: bool,
}

/// Why a VRF is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Another VRF has the distinguisher.
    DistinguisherTaken(VrfId),
    /// A community is no route target.
    NoTarget(ExtendedCommunity),
    /// More than [`TARGETS_MAX`] targets one way.
    TooManyTargets,
    /// More than [`VRFS_MAX`] VRFs.
    TooManyVrfs,
}

/// The VPNs of an edge.
#[derive(Debug)]
pub struct Vpn {
    pub(crate) settings: Settings,
    /// What is imported is read by it.
    reader: ReaderId,
    pub(crate) vrfs: BTreeMap<VrfId, Box<Vrf>>,
    pub(crate) of_distinguisher: HashMap<RouteDistinguisher, VrfId>,
    pub(crate) targets: Targets,
    pub(crate) distinguishers: Distinguishers,
    /// VRFs in which something changed that may have to be exported.
    pub(crate) touched: VecDeque<VrfId>,
    /// VRFs to which something was refused.
    pub(crate) short: BTreeSet<VrfId>,
    /// Families of which the core tells everything anew.
    pub(crate) begun: Vec<Family>,
    pub(crate) room: Room,
}

/// Room that is used again and again.
#[derive(Debug, Default)]
pub(crate) struct Room {
    pub(crate) key: Vec<u8>,
    pub(crate) importers: Vec<VrfId>,
    /// Which VRF imports which of a route's paths.
    pub(crate) wanted: Vec<(VrfId, usize)>,
    pub(crate) affected: Vec<VrfId>,
    pub(crate) imported: Rewritten,
    pub(crate) exported: Rewritten,
}

impl Vpn {
    /// One without VRFs, which imports from and exports to that base.
    pub fn new(settings: Settings, core: &mut Rib) -> Self {
        let reader = core.importer(FAMILIES.iter().map(|(vpn, _)| *vpn).collect(), EQUAL_MAX);
        Self {
            settings,
            reader,
            vrfs: BTreeMap::new(),
            of_distinguisher: HashMap::new(),
            targets: Targets::default(),
            distinguishers: Distinguishers::default(),
            touched: VecDeque::new(),
            short: BTreeSet::new(),
            begun: Vec::new(),
            room: Room::default(),
        }
    }

    /// A VRF is like that from now on: it comes, or changes while it runs. Only routes with targets
    /// that it imports from now on, or no more, are judged anew.
    ///
    /// # Errors
    /// It cannot be like that, and nothing has changed.
    pub fn set_vrf(
        &mut self,
        core: &mut Rib,
        id: VrfId,
        mut settings: VrfSettings,
    ) -> Result<(), Refusal> {
        for targets in [&mut settings.import, &mut settings.export] {
            targets.sort_unstable();
            targets.dedup();
        }
        self.check(id, &settings)?;
        let before = self.vrfs.get(&id).map(|vrf| vrf.settings.clone());
        let (old, new) = (before.as_ref().map_or(&[][..], |it| &it.import), &settings.import[..]);
        let only = |these: &[ExtendedCommunity], others: &[ExtendedCommunity]| {
            let lacks = |it: &&ExtendedCommunity| !others.contains(it);
            these.iter().filter(lacks).copied().collect::<Vec<_>>()
        };
        let (gone, come) = (only(old, new), only(new, old));
        self.change_targets(core, id, &gone, &come);
        let is_more = before.as_ref().is_some_and(|it| it.routes_max < settings.routes_max);
        match &before {
            None => self.insert(id, settings),
            Some(before) => self.change(core, id, before, settings),
        }
        retell(core, &[gone, come].concat());
        if is_more && self.short.remove(&id) {
            retell(core, &self.vrfs[&id].settings.import);
        }
        Ok(())
    }

    fn check(&self, id: VrfId, settings: &VrfSettings) -> Result<(), Refusal> {
        let targets = [&settings.import, &settings.export];
        if targets.iter().any(|it| it.len() > TARGETS_MAX) {
            return Err(Refusal::TooManyTargets);
        }
        if let Some(none) = targets.into_iter().flatten().find(|it| !it.is_route_target()) {
            return Err(Refusal::NoTarget(*none));
        }
        match self.of_distinguisher.get(&settings.distinguisher) {
            Some(other) if *other != id => return Err(Refusal::DistinguisherTaken(*other)),
            _ => {}
        }
        if self.vrfs.len() >= VRFS_MAX && !self.vrfs.contains_key(&id) {
            return Err(Refusal::TooManyVrfs);
        }
        Ok(())
    }

    fn insert(&mut self, id: VrfId, settings: VrfSettings) {
        let Settings { asn, identifier, ref policy, seed, bounds, .. } = self.settings;
        let (cluster, policy) = (identifier, policy.clone());
        let rib = Rib::new(rib::Settings { asn, identifier, cluster, policy, seed, bounds });
        self.of_distinguisher.insert(settings.distinguisher, id);
        self.vrfs.insert(id, Box::new(Vrf::new(settings, rib)));
        self.touched.push_back(id);
    }

    fn change(&mut self, core: &mut Rib, id: VrfId, before: &VrfSettings, settings: VrfSettings) {
        let Some(vrf) = self.vrfs.get_mut(&id) else { return };
        let is_another = before.distinguisher != settings.distinguisher;
        if is_another {
            vrf.counters.exported = 0;
            retract(core, before.distinguisher);
            self.of_distinguisher.remove(&before.distinguisher);
            self.of_distinguisher.insert(settings.distinguisher, id);
        }
        if is_another || (&before.export, before.label) != (&settings.export, settings.label) {
            vrf.rib.close_reader(vrf.reader);
            vrf.reader = vrf.rib.reader(families(), 1);
            self.room.exported.forget();
        }
        vrf.settings = settings;
        self.touch(id);
    }

    /// A VRF has a distinguisher of nobody's until it is set anew: another one may have its own.
    pub fn free_distinguisher(&mut self, core: &mut Rib, id: VrfId) {
        let Some(before) = self.vrfs.get(&id).map(|vrf| vrf.settings.clone()) else { return };
        let [a, b, c, d] = id.0.to_be_bytes();
        let distinguisher = RouteDistinguisher([0xff, 0xff, 0, 0, a, b, c, d]);
        self.change(core, id, &before, VrfSettings { distinguisher, ..before.clone() });
    }

    /// A VRF is no more: its table, and what it has exported.
    pub fn remove_vrf(&mut self, core: &mut Rib, id: VrfId) -> bool {
        let Some(vrf) = self.vrfs.remove(&id) else { return false };
        self.change_targets(core, id, &vrf.settings.import, &[]);
        self.of_distinguisher.remove(&vrf.settings.distinguisher);
        self.distinguishers.forget(id);
        self.touched.retain(|it| *it != id);
        self.short.remove(&id);
        retract(core, vrf.settings.distinguisher);
        true
    }

    /// A VRF imports some targets no more, and others from now on: wishes follow (RFC 4684).
    fn change_targets(
        &mut self,
        core: &mut Rib,
        id: VrfId,
        gone: &[ExtendedCommunity],
        come: &[ExtendedCommunity],
    ) {
        for target in gone {
            if self.targets.remove(*target, id) && self.settings.wishes {
                core.retract(Family::RouteTarget, &self.wish(*target));
            }
        }
        for target in come {
            if self.targets.add(*target, id) && self.settings.wishes {
                let mut attributes = Vec::new();
                write_attribute(WELL_KNOWN, ORIGIN, &[0], &mut attributes);
                write_attribute(WELL_KNOWN, AS_PATH, &[], &mut attributes);
                write_attribute(WELL_KNOWN, LOCAL_PREF, &100_u32.to_be_bytes(), &mut attributes);
                let (key, next_hop) = (self.wish(*target), self.settings.next_hop.octets());
                let (attributes, next_hop) = (&attributes[..], &next_hop[..]);
                let wish = OwnRoute { key: &key, payload: &[], attributes, next_hop };
                let taken = core.originate(Family::RouteTarget, &wish);
                debug_assert!(taken.is_some(), "it is whole");
            }
        }
    }

    /// The key of a wish for a target.
    fn wish(&self, target: ExtendedCommunity) -> Vec<u8> {
        let mut key = vec![WISH_BITS];
        key.extend_from_slice(&self.settings.asn.to_be_bytes());
        key.extend_from_slice(&target.0);
        key
    }

    /// Goes on: imports what changed in the core and exports what changed in the VRFs, about
    /// `budget` routes of each. Whether there is more to be done at once.
    pub fn work(&mut self, core: &mut Rib, budget: usize) -> bool {
        core.read_changes(self.reader, budget, &mut |change| self.take(change));
        self.sweep(core);
        self.export(core, budget);
        self.relieve(core);
        core.has_changes(self.reader) || !self.touched.is_empty()
    }

    /// Whether a VRF has routes that were chosen since [`Vpn::work`] read them.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        self.vrfs.values().any(|vrf| vrf.rib.has_changes(vrf.reader))
    }

    /// What VRFs were refused is judged anew when they have room for it: an eighth of what they may
    /// have, so that routes around the limit cost no walk each time.
    fn relieve(&mut self, core: &mut Rib) {
        let has_room = |id: &VrfId| {
            let vrf = self.vrfs.get(id)?;
            let most = vrf.settings.routes_max;
            (vrf.prefixes() < most - most.div_ceil(8)).then_some((*id, vrf.settings.import.clone()))
        };
        let relieved: Vec<_> = self.short.iter().filter_map(has_room).collect();
        for (id, import) in &relieved {
            self.short.remove(id);
            retell(core, import);
        }
    }

    /// Something changed in a VRF.
    pub(crate) fn touch(&mut self, id: VrfId) {
        if let Some(vrf) = self.vrfs.get_mut(&id)
            && !std::mem::replace(&mut vrf.is_touched, true)
        {
            self.touched.push_back(id);
        }
    }

    /// The table of a VRF.
    #[must_use]
    pub fn rib(&self, id: VrfId) -> Option<&Rib> {
        self.vrfs.get(&id).map(|vrf| &vrf.rib)
    }

    /// The table of a VRF: sessions with its customers, its own routes (connected subnets, static
    /// routes), readers that fill its FIB. [`Vpn::work`] is to follow.
    pub fn rib_mut(&mut self, id: VrfId) -> Option<&mut Rib> {
        self.touch(id);
        self.vrfs.get_mut(&id).map(|vrf| &mut vrf.rib)
    }

    /// The same, where nothing is done that could have to be exported: reading, sending.
    pub fn rib_untouched(&mut self, id: VrfId) -> Option<&mut Rib> {
        self.vrfs.get_mut(&id).map(|vrf| &mut vrf.rib)
    }

    /// Another address of this edge is the next hop that other edges are told.
    pub fn set_next_hop(&mut self, next_hop: Ipv4Addr) {
        self.settings.next_hop = next_hop;
        self.room.exported.forget();
        let ids: Vec<VrfId> = self.vrfs.keys().copied().collect();
        for id in ids {
            if let Some(vrf) = self.vrfs.get_mut(&id) {
                vrf.rib.close_reader(vrf.reader);
                vrf.reader = vrf.rib.reader(families(), 1);
            }
            self.touch(id);
        }
    }

    /// Whether a VRF was refused routes, since it has as many as it may, and is so still.
    #[must_use]
    pub fn is_full(&self, id: VrfId) -> bool {
        self.short.contains(&id)
    }

    /// The VRFs in their order, with what was counted of them.
    pub fn vrfs(&self) -> impl Iterator<Item = (VrfId, &VrfSettings, Counters)> {
        self.vrfs.iter().map(|(id, vrf)| (*id, &vrf.settings, vrf.counters))
    }

    /// The distinguisher of a path that was imported ([`PeerId::IMPORTED`]), by its identifier.
    #[must_use]
    pub fn distinguisher(&self, path_id: u32) -> Option<RouteDistinguisher> {
        self.distinguishers.of(path_id >> crate::import::ORDINAL_BITS)
    }
}

/// Routes of VPNs that have one of these targets are told again.
fn retell(core: &mut Rib, targets: &[ExtendedCommunity]) {
    if targets.is_empty() {
        return;
    }
    for (vpn, _) in FAMILIES {
        core.retell(vpn, &mut |attributes| {
            targets::of_route(attributes).any(|target| targets.contains(&target))
        });
    }
}

/// What was exported under a distinguisher is taken back.
fn retract(core: &mut Rib, distinguisher: RouteDistinguisher) {
    for (vpn, _) in FAMILIES {
        for (key, _) in core.keys_from(PeerId::OWN, vpn) {
            if key.get(1..9) == Some(&distinguisher.0[..]) {
                core.retract(vpn, &key);
            }
        }
    }
}
