//! How a vector of addresses is looked up: by what the machine has, chosen once.

use super::BATCH_MAX;
use super::address::Address;
use super::find::Walk;
use super::node::Entry;
use crate::lanes::Lanes;

/// How batches are looked up, with vectors that this machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit(Lanes);

impl Unit {
    /// # Panics
    /// When the machine has no such vectors.
    pub(super) fn new(lanes: Lanes) -> Self {
        assert!(Lanes::all().contains(&lanes), "the machine has such vectors");
        Self(lanes)
    }

    /// All addresses from one root. There are no more than [`BATCH_MAX`], and as many hops.
    pub(super) fn one_table<A: Address>(
        self,
        walk: &Walk<'_>,
        root: Entry,
        addresses: &[A],
        hops: &mut [u32],
    ) {
        if !root.is_node() {
            hops.fill(root.0);
            return;
        }
        assert!(addresses.len() <= BATCH_MAX && hops.len() == addresses.len(), "a batch");
        match self.0 {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the machine has AVX-512 (`new`); the root is a node that can be found.
            Lanes::Avx512 => unsafe { super::avx512::one_table(walk, root, addresses, hops) },
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the machine has AVX2 (`new`); the root is a node that can be found.
            Lanes::Avx2 => unsafe { super::avx2::one_table(walk, root, addresses, hops) },
            _ => {
                for (address, hop) in addresses.iter().zip(hops) {
                    *hop = walk.find(root, *address);
                }
            }
        }
    }

    /// Each address from the root that stands where its hop shall be. As many as above.
    pub(super) fn roots_given<A: Address>(
        self,
        walk: &Walk<'_>,
        addresses: &[A],
        hops: &mut [u32],
    ) {
        assert!(addresses.len() <= BATCH_MAX && hops.len() == addresses.len(), "a batch");
        match self.0 {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the machine has AVX-512 (`new`); the roots can be found.
            Lanes::Avx512 => unsafe { super::avx512::roots_given(walk, addresses, hops) },
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the machine has AVX2 (`new`); the roots can be found.
            Lanes::Avx2 => unsafe { super::avx2::roots_given(walk, addresses, hops) },
            _ => {
                for (address, hop) in addresses.iter().zip(hops) {
                    *hop = walk.find(Entry(*hop), *address);
                }
            }
        }
    }
}
