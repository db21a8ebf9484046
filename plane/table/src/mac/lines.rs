//! The lines of a MAC table: four slots of sixteen bytes each, so that one cache line holds the
//! addresses, their ports and their ages.

use super::{Entry, MacKey};
use crate::memory::Full;
use crate::memory::count;
use crate::pages::{Pages, Zeros};
use machine::narrow::halves;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Slots of a line.
pub(super) const SLOTS: usize = 4;
/// Lines that are searched for an address, its home first.
pub(super) const PROBES_MAX: usize = 16;
/// In the first slot's entry: an address that has its home here or before stands further on.
const FURTHER: u32 = 1 << 31;

#[repr(C, align(64))]
pub(super) struct Line {
    keys: [AtomicU64; SLOTS],
    /// Written by the writer only.
    entries: [AtomicU32; SLOTS],
    /// Seconds at which the address was last a source; written by workers, too.
    ages: [AtomicU32; SLOTS],
}

// SAFETY: integers only, aligned to a line.
unsafe impl Zeros for Line {}

impl Line {
    pub(super) fn key(&self, slot: usize) -> Option<MacKey> {
        let key = self.keys[slot].load(Ordering::Acquire);
        (key != 0).then_some(MacKey(key))
    }

    #[inline(always)]
    pub(super) fn entry(&self, slot: usize) -> Entry {
        Entry(self.entries[slot].load(Ordering::Relaxed) & (Entry::FLAGS | (super::PORTS_MAX - 1)))
    }

    pub(super) fn age(&self, slot: usize) -> u32 {
        self.ages[slot].load(Ordering::Relaxed)
    }

    /// Notes that the address was a source at `now_s`; leaves the line alone if it says so.
    #[inline(always)]
    pub(super) fn refresh(&self, slot: usize, now_s: u32) {
        if self.ages[slot].load(Ordering::Relaxed) != now_s {
            self.ages[slot].store(now_s, Ordering::Relaxed);
        }
    }

    pub(super) fn fill(&self, slot: usize, key: MacKey, entry: Entry, age_s: u32) {
        self.ages[slot].store(age_s, Ordering::Relaxed);
        self.set(slot, entry);
        self.keys[slot].store(key.0, Ordering::Release);
    }

    pub(super) fn clear(&self, slot: usize) {
        self.keys[slot].store(0, Ordering::Release);
    }

    /// Changes the entry of a slot in place: port and flags at once.
    pub(super) fn set(&self, slot: usize, entry: Entry) {
        let further = self.entries[slot].load(Ordering::Relaxed) & FURTHER;
        self.entries[slot].store(entry.0 | further, Ordering::Release);
    }

    #[inline(always)]
    fn goes_further(&self) -> bool {
        self.entries[0].load(Ordering::Acquire) & FURTHER != 0
    }

    /// The slots that hold this key, as bits.
    #[inline(always)]
    pub(super) fn with_key(&self, key: MacKey) -> u32 {
        let keys = self.keys.iter().enumerate();
        keys.fold(0, |bits, (slot, held)| {
            bits | u32::from(held.load(Ordering::Acquire) == key.0) << slot
        })
    }

    /// As [`Line::with_key`], in one comparison.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    #[inline]
    pub(super) fn with_key_avx2(&self, key: MacKey) -> u32 {
        use std::arch::asm;
        use std::arch::x86_64::{
            _mm256_castsi256_pd, _mm256_cmpeq_epi64, _mm256_movemask_pd, _mm256_set1_epi64x,
        };
        let keys;
        // SAFETY: reads the 32 bytes of the keys, aligned. It is assembly because the writer may
        // store to them meanwhile: each word is read whole, as by four loads in order.
        unsafe {
            asm!(
                "vmovdqa {keys}, [{place}]",
                keys = out(ymm_reg) keys,
                place = in(reg) std::ptr::from_ref(self),
                options(nostack, preserves_flags, readonly),
            );
        }
        let same = _mm256_cmpeq_epi64(keys, _mm256_set1_epi64x(key.0.cast_signed()));
        _mm256_movemask_pd(_mm256_castsi256_pd(same)) as u32
    }
}

/// All lines of a table: a power of two.
pub(super) struct Lines {
    lines: Pages<Line>,
    secrets: [u64; 2],
}

impl Lines {
    pub(super) fn new(lines: usize, secrets: [u64; 2]) -> Result<Self, Full> {
        Ok(Self { lines: Pages::new(lines.next_power_of_two().max(PROBES_MAX))?, secrets })
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn secrets(&self) -> [u64; 2] {
        self.secrets
    }

    /// The line where the search for a key begins.
    #[inline(always)]
    pub(super) fn home(&self, key: MacKey) -> usize {
        let product = u128::from(key.0 ^ self.secrets[0]) * u128::from(self.secrets[1]);
        let [low, high] = halves(product);
        count(low ^ high) & (self.lines.len() - 1)
    }

    /// The line at `at`, which wraps.
    #[inline(always)]
    pub(super) fn line(&self, at: usize) -> &Line {
        &self.lines[at & (self.lines.len() - 1)]
    }

    /// Line, slot and entry of a key; line and slot mean nothing if the entry is unknown.
    #[inline(always)]
    pub(super) fn find(
        &self,
        home: usize,
        key: MacKey,
        with_key: &impl Fn(&Line, MacKey) -> u32,
    ) -> (&Line, usize, Entry) {
        let mut line = self.line(home);
        for next in 1..=PROBES_MAX {
            let slots = with_key(line, key);
            if slots != 0 {
                let slot = slots.trailing_zeros() as usize % SLOTS;
                return (line, slot, line.entry(slot));
            }
            if !line.goes_further() {
                break;
            }
            line = self.line(home + next);
        }
        (line, 0, Entry::UNKNOWN)
    }

    /// Says of a line whether an address stands further on.
    pub(super) fn mark(&self, at: usize, further: bool) {
        let entry = &self.line(at).entries[0];
        let word = entry.load(Ordering::Relaxed) & !FURTHER;
        entry.store(word | if further { FURTHER } else { 0 }, Ordering::Release);
    }
}
