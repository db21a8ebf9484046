//! The VPNs of an edge: its VRFs, and what passes between them and the core.

use crate::attributes::Rewritten;
use crate::distinguishers::Distinguishers;
use crate::key::FAMILIES;
use crate::targets::{self, Targets};
use crate::vrf::Vrf;
use crate::{Counters, TARGETS_MAX, VRFS_MAX, VrfId, VrfSettings};
use bgp::codec::{Asn, ExtendedCommunity, Identifier, write_attribute};
use bgp::family::{Family, RouteDistinguisher};
use core::net::Ipv4Addr;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use machine::Time;
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
    /// VRFs of which something is not exported.
    pub(crate) withheld: BTreeSet<VrfId>,
    /// When that was last judged anew.
    pub(crate) relieved: Option<Time>,
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
            withheld: BTreeSet::new(),
            relieved: None,
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
        if is_more && self.withheld.contains(&id) {
            self.export_anew(id);
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
        // It was checked that nobody else has it.
        let is_another = !self.has_distinguisher(id, settings.distinguisher);
        if is_another {
            self.release(core, id);
            self.of_distinguisher.insert(settings.distinguisher, id);
        }
        let is_anew =
            is_another || (&before.export, before.label) != (&settings.export, settings.label);
        let Some(vrf) = self.vrfs.get_mut(&id) else { return };
        vrf.settings = settings;
        if is_anew {
            self.room.exported.forget();
            self.export_anew(id);
        }
        self.touch(id);
    }

    /// A VRF gives its distinguisher back for another one to have, and takes back what it exported
    /// under it: nothing is exported until [`Vpn::set_vrf`] gives it one. VRFs that exchange
    /// theirs give them back first.
    pub fn release(&mut self, core: &mut Rib, id: VrfId) {
        let Some(vrf) = self.vrfs.get_mut(&id) else { return };
        let distinguisher = vrf.settings.distinguisher;
        if let Entry::Occupied(held) = self.of_distinguisher.entry(distinguisher)
            && *held.get() == id
        {
            held.remove();
            vrf.counters.exported = 0;
            retract(core, distinguisher);
        }
    }

    /// Whether a VRF has that distinguisher now.
    pub(crate) fn has_distinguisher(&self, id: VrfId, distinguisher: RouteDistinguisher) -> bool {
        self.of_distinguisher.get(&distinguisher) == Some(&id)
    }

    /// A VRF is no more: its table, and what it has exported.
    pub fn remove_vrf(&mut self, core: &mut Rib, id: VrfId) -> bool {
        self.release(core, id);
        let Some(vrf) = self.vrfs.remove(&id) else { return false };
        self.change_targets(core, id, &vrf.settings.import, &[]);
        self.distinguishers.forget(id);
        self.touched.retain(|it| *it != id);
        self.short.remove(&id);
        self.withheld.remove(&id);
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
        core.has_changes(self.reader) || !self.touched.is_empty()
    }

    /// The base of a VRF has worked: whether it chose something by that, which is exported by the
    /// next [`Vpn::work`]. The routes of a session that ended go with the base's own work.
    pub fn has_worked(&mut self, id: VrfId) -> bool {
        let vrf = self.vrfs.get(&id);
        let has_news = vrf.is_some_and(|vrf| vrf.rib.has_changes(vrf.reader));
        if has_news {
            self.touch(id);
        }
        has_news
    }

    /// Whether VRFs wait for [`Vpn::work`].
    #[must_use]
    pub fn has_work(&self) -> bool {
        !self.touched.is_empty()
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

    /// The same, where nothing is done that could have to be exported: reading, sending. After its
    /// own work, [`Vpn::has_worked`] is to follow.
    pub fn rib_untouched(&mut self, id: VrfId) -> Option<&mut Rib> {
        self.vrfs.get_mut(&id).map(|vrf| &mut vrf.rib)
    }

    /// Another address of this edge is the next hop that other edges are told.
    pub fn set_next_hop(&mut self, next_hop: Ipv4Addr) {
        self.settings.next_hop = next_hop;
        self.room.exported.forget();
        let ids: Vec<VrfId> = self.vrfs.keys().copied().collect();
        ids.into_iter().for_each(|id| self.export_anew(id));
    }

    /// Whether a VRF has more prefixes than it may (it may have fewer now, customers told them), or
    /// was refused routes, since it has as many, and is so still.
    #[must_use]
    pub fn is_full(&self, id: VrfId) -> bool {
        let has_too_many = |vrf: &Vrf| vrf.prefixes() > vrf.settings.routes_max;
        self.short.contains(&id) || self.vrfs.get(&id).is_some_and(|vrf| has_too_many(vrf))
    }

    /// Prefixes of the table of a VRF.
    #[must_use]
    pub fn prefixes(&self, id: VrfId) -> usize {
        self.vrfs.get(&id).map_or(0, |vrf| vrf.prefixes())
    }

    /// Whether some of a VRF's routes are not exported, since as many are as may be.
    #[must_use]
    pub fn is_withheld(&self, id: VrfId) -> bool {
        self.withheld.contains(&id)
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
pub(crate) fn retell(core: &mut Rib, targets: &[ExtendedCommunity]) {
    if targets.is_empty() {
        return;
    }
    let targets: BTreeSet<_> = targets.iter().copied().collect();
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
