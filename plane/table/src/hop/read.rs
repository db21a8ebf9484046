//! The readers' half: from the number of a hop, and a packet's hash where it is a group, to its
//! line.

use super::{GUARDS_MAX, HOPS_MAX, Line, NO_ROUTE};
use crate::epoch::{Domain, Reader};
use crate::memory::{LINE_BYTES, LINE_WORDS, Region};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Hops of a batch at most.
pub const BATCH_MAX: usize = 256;
/// Groups that are followed while they are taken apart: afterwards there is one.
const STEPS_MAX: usize = 4;

/// Where a hop's number leads: a line, the buckets of a group, or two hops of which a guard
/// decides.
///
/// ```text
///   31 | 30 … 27          | 26 … 0
///   0  | 0                | the line
///   1  | log2 of buckets  | the line where the buckets begin
///   1  | 1                | the line of primary, backup, guard
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head(pub(super) u32);

impl Head {
    const GROUP: u32 = 1 << 31;
    const LINE: u32 = (1 << 27) - 1;

    pub(super) const fn line(line: u32) -> Self {
        Self(line & Self::LINE)
    }

    pub(super) const fn group(line: u32, buckets: usize) -> Self {
        Self(Self::GROUP | buckets.trailing_zeros() << 27 | line & Self::LINE)
    }

    pub(super) const fn pair(line: u32) -> Self {
        Self(Self::GROUP | 1 << 27 | line & Self::LINE)
    }

    #[inline]
    const fn is_pair(self) -> bool {
        self.0 >> 27 == 0b1_0001
    }

    #[inline]
    const fn is_group(self) -> bool {
        self.0 & Self::GROUP != 0
    }

    #[inline]
    const fn at(self) -> usize {
        (self.0 & Self::LINE) as usize
    }

    /// The word of the bucket that a hash chooses.
    #[inline]
    const fn bucket(self, hash: u32) -> usize {
        let mask = (1_u32 << ((self.0 >> 27) & 15)) - 1;
        self.at() * LINE_WORDS + (hash & mask) as usize
    }
}

/// The next hops as workers read them.
pub struct HopLookups {
    pub(super) domain: Arc<Domain>,
    pub(super) heads: Region,
    pub(super) lines: Arc<Region>,
    pub(super) guards: Region,
}

impl HopLookups {
    /// The line of a hop; of the member that `hash` chooses if it is a group. A number that
    /// stands for no hop is [`NO_ROUTE`].
    ///
    /// # Panics
    /// When the reader is away or of another domain.
    #[must_use]
    #[inline]
    pub fn resolve<'a>(&'a self, reader: &'a Reader, hop: u32, hash: u32) -> &'a Line {
        assert!(reader.reads(&self.domain), "the reader reads this domain");
        let head = self.select(self.head(hop), hash);
        self.line(head)
    }

    /// The lines of up to [`BATCH_MAX`] hops, each with its packet's hash.
    ///
    /// # Panics
    /// As [`HopLookups::resolve`]; when there are too many, or `hashes` or `lines` are fewer.
    #[inline]
    pub fn resolve_batch<'a>(
        &'a self,
        reader: &'a Reader,
        hops: &[u32],
        hashes: &[u32],
        lines: &mut [&'a Line],
    ) {
        assert!(reader.reads(&self.domain), "the reader reads this domain");
        let count = hops.len();
        assert!(count <= BATCH_MAX && hashes.len() >= count && lines.len() >= count, "a batch");
        let mut heads = [Head(0); BATCH_MAX];
        let mut groups = false;
        for (head, hop) in heads.iter_mut().zip(hops) {
            *head = self.head(*hop);
            groups |= head.is_group();
            self.prefetch(*head);
        }
        if groups {
            for (head, hash) in heads.iter_mut().zip(hashes).take(count) {
                if head.is_group() {
                    *head = self.select(*head, *hash);
                    self.prefetch(*head);
                }
            }
        }
        for (line, head) in lines.iter_mut().zip(heads).take(count) {
            *line = self.line(head);
        }
    }

    /// As [`HopLookups::resolve_batch`], with hashes that are asked for, by place, only where a
    /// hop is a group.
    ///
    /// # Panics
    /// As [`HopLookups::resolve_batch`].
    #[inline]
    pub fn resolve_each<'a>(
        &'a self,
        reader: &'a Reader,
        hops: &[u32],
        mut hash: impl FnMut(usize) -> u32,
        lines: &mut [&'a Line],
    ) {
        assert!(reader.reads(&self.domain), "the reader reads this domain");
        let count = hops.len();
        assert!(count <= BATCH_MAX && lines.len() >= count, "a batch");
        let mut heads = [Head(0); BATCH_MAX];
        let mut groups = false;
        for (head, hop) in heads.iter_mut().zip(hops) {
            *head = self.head(*hop);
            groups |= head.is_group();
            self.prefetch(*head);
        }
        if groups {
            for (at, head) in heads.iter_mut().enumerate().take(count) {
                if head.is_group() {
                    *head = self.select(*head, hash(at));
                    self.prefetch(*head);
                }
            }
        }
        for (line, head) in lines.iter_mut().zip(heads).take(count) {
            *line = self.line(head);
        }
    }

    /// Says whether who has a guard is lost: packets on their way to him go by their backups from
    /// now on, or no more. Any thread may say so; 0 is nobody's.
    pub fn set_lost(&self, guard: u16, is_lost: bool) {
        if guard != 0 {
            self.guards.word(guard.into()).store(is_lost.into(), Ordering::Release);
        }
    }

    /// Whether who has a guard is lost.
    #[must_use]
    pub fn is_lost(&self, guard: u16) -> bool {
        self.guards.word(guard.into()).load(Ordering::Acquire) != 0
    }

    /// The hop of a pair that its guard chooses.
    #[inline]
    fn chosen(&self, pair: Head) -> u32 {
        let first = pair.at() * LINE_WORDS;
        let guard = self.lines.word(first + 2).load(Ordering::Relaxed) as usize % GUARDS_MAX;
        let is_lost = self.guards.word(guard).load(Ordering::Acquire) != 0;
        self.lines.word(first + usize::from(is_lost)).load(Ordering::Acquire)
    }

    #[inline]
    fn head(&self, hop: u32) -> Head {
        let hop = if (hop as usize) < HOPS_MAX { hop } else { NO_ROUTE };
        Head(self.heads.word(hop as usize).load(Ordering::Acquire))
    }

    #[inline]
    fn select(&self, mut head: Head, hash: u32) -> Head {
        for _ in 0..STEPS_MAX {
            if !head.is_group() {
                return head;
            }
            let hop = match head.is_pair() {
                true => self.chosen(head),
                false => self.lines.word(head.bucket(hash)).load(Ordering::Acquire),
            };
            head = self.head(hop);
        }
        if head.is_group() { self.head(NO_ROUTE) } else { head }
    }

    /// The line that a head leads to.
    #[inline]
    fn line(&self, head: Head) -> &Line {
        debug_assert!(!head.is_group());
        // SAFETY: heads that are not groups lead to lines that were written before the head was,
        // do not change, and are freed only after the reader, whose borrow the callers tie to
        // the answer, has quiesced. No head is 0 before `Hops::new` has written all of them that
        // can be found, and line 0 itself is a line of zeros, which drops.
        unsafe { &*self.lines.base().add(head.at() * LINE_BYTES).cast::<Line>() }
    }

    #[inline]
    fn prefetch(&self, head: Head) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: a prefetch reads nothing that the program could see.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.lines.base().add(head.at() * LINE_BYTES).cast());
        }
        #[cfg(any(not(target_arch = "x86_64"), miri))]
        let _ = head;
    }
}
