//! How a vector of addresses is looked up: by what the machine has, chosen once.

use super::BATCH_MAX;
use super::address::Address;
use super::find::Walk;
use super::node::Entry;

/// What lookups are done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// AVX-512 (F, BW, VL): sixteen loads at once, a row of ends in one comparison.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx512,
    /// AVX2: eight loads at once, a row of ends in two comparisons.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx2,
    /// One address after the other.
    Scalar,
}

impl Unit {
    /// Every unit that the machine has, the best first.
    pub(super) fn all_of_this_machine() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            let has_avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl");
            let has_bits = is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi2");
            if has_avx512 && has_bits {
                all.push(Self::Avx512);
            }
            if is_x86_feature_detected!("avx2") && has_bits {
                all.push(Self::Avx2);
            }
        }
        all.push(Self::Scalar);
        all
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
        match self {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the machine has AVX-512; the root is a node that can be found.
            Self::Avx512 => unsafe { super::avx512::one_table(walk, root, addresses, hops) },
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the machine has AVX2; the root is a node that can be found.
            Self::Avx2 => unsafe { super::avx2::one_table(walk, root, addresses, hops) },
            Self::Scalar => {
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
        match self {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the machine has AVX-512; the roots can be found.
            Self::Avx512 => unsafe { super::avx512::roots_given(walk, addresses, hops) },
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the machine has AVX2; the roots can be found.
            Self::Avx2 => unsafe { super::avx2::roots_given(walk, addresses, hops) },
            Self::Scalar => {
                for (address, hop) in addresses.iter().zip(hops) {
                    *hop = walk.find(Entry(*hop), *address);
                }
            }
        }
    }
}
