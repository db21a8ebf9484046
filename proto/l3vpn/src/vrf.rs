//! A VRF: its targets, its label, its table.

use bgp::codec::ExtendedCommunity;
use bgp::family::{FamilySet, Label, RouteDistinguisher};
use rib::{ReaderId, Rib};

/// The number of a VRF, given by the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VrfId(pub u32);

/// What a VRF is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VrfSettings {
    /// What makes its routes differ from those of others: no other VRF of this edge has it.
    pub distinguisher: RouteDistinguisher,
    /// Routes of VPNs with one of these targets are imported.
    pub import: Vec<ExtendedCommunity>,
    /// Its routes are told with these targets.
    pub export: Vec<ExtendedCommunity>,
    /// Packets with this label are looked up in it.
    pub label: Label,
    /// Prefixes of both families that its table may have before no further ones are imported, and
    /// routes of customers that are exported.
    pub routes_max: usize,
}

/// What is counted of a VRF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Routes of VPNs that are imported now: each distinguisher counts.
    pub imported: u64,
    /// Routes that are exported now.
    pub exported: u64,
    /// Imports that were refused since the table had as many prefixes as it may, or a prefix as
    /// many paths.
    pub refused: u64,
    /// Exports that were withheld since as many as may be are exported.
    pub withheld: u64,
}

/// A VRF.
#[derive(Debug)]
pub(crate) struct Vrf {
    pub(crate) settings: VrfSettings,
    pub(crate) rib: Rib,
    /// What is exported is read by it.
    pub(crate) reader: ReaderId,
    pub(crate) counters: Counters,
    /// Something may have to be exported.
    pub(crate) is_touched: bool,
}

/// The families of a VRF.
pub(crate) fn families() -> FamilySet {
    crate::key::FAMILIES.iter().map(|(_, inner)| *inner).collect()
}

impl Vrf {
    pub(crate) fn new(settings: VrfSettings, mut rib: Rib) -> Self {
        let reader = rib.reader(families(), 1);
        let counters = Counters::default();
        Self { settings, rib, reader, counters, is_touched: true }
    }

    /// Prefixes of its table.
    pub(crate) fn prefixes(&self) -> usize {
        families().iter().map(|family| self.rib.sizes(family).0).sum()
    }
}
