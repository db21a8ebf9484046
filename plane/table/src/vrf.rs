//! The tables of a router by the number of their VRF: IPv4 and IPv6, 0 is the global table. They
//! are created and removed while workers read.

use crate::epoch::Domain;
use crate::lpm::{Lookups, Routes, TABLES_MAX};
use crate::memory::Full;
use std::collections::BTreeSet;
use std::sync::Arc;

/// VRFs at most, the global table among them: their numbers are below.
pub const VRFS_MAX: usize = TABLES_MAX;
/// The number of the global table.
pub const GLOBAL: u32 = 0;

/// The writer's half: the routes of every VRF.
pub struct Vrfs {
    there: BTreeSet<u32>,
    /// IPv4 routes; the table's number is the VRF's.
    pub ipv4: Routes<u32>,
    /// IPv6 routes.
    pub ipv6: Routes<u128>,
}

/// The readers' half; it stays good whatever VRFs come and go.
#[derive(Clone)]
pub struct VrfLookups {
    /// IPv4 tables.
    pub ipv4: Arc<Lookups<u32>>,
    /// IPv6 tables.
    pub ipv6: Arc<Lookups<u128>>,
}

impl Vrfs {
    /// Only the global table, and it is empty.
    ///
    /// # Errors
    /// [`Full`] when the kernel gives no memory.
    pub fn new(domain: &Arc<Domain>) -> Result<Self, Full> {
        let (ipv4, ipv6) = (Routes::new(domain)?, Routes::new(domain)?);
        Ok(Self { there: BTreeSet::from([GLOBAL]), ipv4, ipv6 })
    }

    /// What workers look up in.
    #[must_use]
    pub fn lookups(&self) -> VrfLookups {
        VrfLookups { ipv4: self.ipv4.lookups(), ipv6: self.ipv6.lookups() }
    }

    /// A VRF without routes. `false` if it is there already or its number is too large.
    pub fn create(&mut self, vrf: u32) -> bool {
        (vrf as usize) < VRFS_MAX && self.there.insert(vrf)
    }

    /// The VRF and its routes are gone: lookups in it find nothing. `false` if it was not there,
    /// or is the global table.
    pub fn remove(&mut self, vrf: u32) -> bool {
        if vrf == GLOBAL || !self.there.remove(&vrf) {
            return false;
        }
        self.ipv4.clear(vrf);
        self.ipv6.clear(vrf);
        true
    }

    /// Whether there is such a VRF.
    #[must_use]
    pub fn has(&self, vrf: u32) -> bool {
        self.there.contains(&vrf)
    }

    /// The VRFs that are there, by number.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.there.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lpm::Prefix;

    #[test]
    fn a_vrf_answers_for_itself_only_and_nothing_once_it_is_gone() {
        let domain = Domain::new();
        let mut vrfs = Vrfs::new(&domain).unwrap();
        let lookups = vrfs.lookups();
        let reader = domain.reader().unwrap();
        let ten = Prefix::new(0x0a00_0000_u32, 8).unwrap();
        assert!(vrfs.create(7) && vrfs.create(8) && !vrfs.create(7) && !vrfs.create(1 << 16));
        vrfs.ipv4.insert(7, ten, 70).unwrap();
        vrfs.ipv4.insert(8, ten, 80).unwrap();
        let find = |vrf| lookups.ipv4.lookup(&reader, vrf, 0x0a01_0101);
        assert_eq!([find(0), find(7), find(8), find(9)], [0, 70, 80, 0]);
        assert!(vrfs.remove(7) && !vrfs.remove(7) && !vrfs.remove(GLOBAL));
        assert_eq!([find(0), find(7), find(8)], [0, 0, 80]);
        assert_eq!(vrfs.iter().collect::<Vec<_>>(), [0, 8]);
    }
}
