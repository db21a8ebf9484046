//! Choices that a compiler must not turn into jumps: whether a bucket is full, and who pays, is as
//! mixed as traffic is, and each wrong guess costs as much as the whole marker.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::arch::asm;

/// The smaller one.
#[inline(always)]
pub(super) fn least(a: u64, b: u64) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let mut least = a;
        // SAFETY: compares and moves registers only.
        unsafe {
            asm!(
                "cmp {b}, {least}",
                "cmovb {least}, {b}",
                least = inout(reg) least,
                b = in(reg) b,
                options(pure, nomem, nostack),
            );
        }
        least
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    a.min(b)
}

/// All bits, or none.
#[inline(always)]
pub(super) fn mask(yes: bool) -> u64 {
    let mut mask = u64::from(yes);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: changes a register only.
    unsafe {
        asm!("neg {mask}", mask = inout(reg) mask, options(pure, nomem, nostack));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        mask = mask.wrapping_neg();
    }
    mask
}
