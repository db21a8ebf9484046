//! What is worked on soon is fetched into the cache meanwhile.

/// Fetches a value into the cache: whoever knows of a packet a little ahead says so of what the
/// packet needs. Nothing is read of it, so it may be called for values that are in no cache.
#[inline]
pub fn fetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start: *const i8 = std::ptr::from_ref(value).cast();
        for at in (0..size_of::<T>()).step_by(64) {
            // SAFETY: every processor of 64 bits has the instruction, and it may be given any
            // address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
