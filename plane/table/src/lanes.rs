//! Which vector instructions a lookup may use: chosen once when a table is made, never per packet.

/// The widest vectors of this processor that lookups have code for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lanes {
    /// Plain integer code, on every processor (and under miri).
    Scalar,
    /// 256 bits.
    Avx2,
    /// 512 bits: AVX-512 F, BW, VL and DQ.
    Avx512,
}

impl Lanes {
    /// The best that this processor has.
    #[must_use]
    pub fn best() -> Self {
        Self::all().last().copied().unwrap_or(Self::Scalar)
    }

    /// Every kind that runs here, the narrowest first: tests take each.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::Scalar];
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            // All that the functions enable: a hypervisor may mask BMI and leave AVX2.
            let narrow = std::is_x86_feature_detected!("avx2")
                && std::is_x86_feature_detected!("popcnt")
                && std::is_x86_feature_detected!("bmi1")
                && std::is_x86_feature_detected!("bmi2");
            if narrow {
                all.push(Self::Avx2);
            }
            let wide = std::is_x86_feature_detected!("avx512f")
                && std::is_x86_feature_detected!("avx512bw")
                && std::is_x86_feature_detected!("avx512dq")
                && std::is_x86_feature_detected!("avx512vl");
            if wide && all.len() == 2 {
                all.push(Self::Avx512);
            }
        }
        all
    }
}

/// Asks the processor to fetch the cache line of `place`; never faults, whatever `place` is.
#[inline(always)]
pub(crate) fn prefetch<T>(place: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch is a hint: it reads nothing into the program and cannot fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}
