//! HMAC-SHA1 of many messages: sixteen at once, twice if there are so many, and a lane whose
//! message is done takes the next.
//!
//! ```text
//! lane: whole blocks of the text ─→ its rest, extra, padding ─→ inner digest ─┐
//!       where the text stands         the lane's own two blocks               │
//!                                                sixteen of them: outer hashes ─→ codes
//! ```

use super::octets::{load, store_all};
use super::sha1::{LANES, States, compress, compress_digests};
use crate::job::Extra;
use std::arch::x86_64::*;
use std::cell::UnsafeCell;

/// What is to be authenticated, message by message.
///
/// # Safety
/// The text of a message stays where it is, unchanged, until [`hmac`] returns.
pub(super) unsafe trait Messages {
    /// Which one is next, by a number of its own.
    fn next(&mut self) -> Option<usize>;

    /// A message.
    fn message(&self, at: usize) -> Message<'_>;

    /// The state behind the outer pad of its key.
    fn outer(&self, at: usize) -> [u32; 5];
}

/// A message.
#[derive(Clone, Copy)]
pub(super) struct Message<'b> {
    /// The state behind the inner pad of the key.
    pub inner: [u32; 5],
    pub text: &'b [u8],
    /// What follows the text.
    pub extra: Extra,
}

/// Octets that a state behind a pad has taken in.
const PAD: usize = 64;

/// The last two blocks of a message, which stand nowhere else.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Blocks([u8; 128]);

/// A block for lanes without a message.
static NOTHING: [u8; 64] = [0; 64];

/// The last blocks of each lane's message. They are not part of [`Lanes`], whose pointers lead to
/// them.
type Rests = [UnsafeCell<Blocks>; LANES];

/// Sixteen messages under way.
struct Lanes<'r> {
    states: States,
    /// The next block of each.
    at: [*const u8; LANES],
    /// By how much `at` moves: nothing in a lane that is idle.
    stride: [usize; LANES],
    /// Blocks left of what stands at `at`.
    left: [u32; LANES],
    /// The last blocks of each message, and how many they are: none once they are begun.
    rests: &'r Rests,
    rest_blocks: [u32; LANES],
    numbers: [usize; LANES],
}

impl<'r> Lanes<'r> {
    #[inline(always)]
    fn new(rests: &'r Rests) -> Self {
        Self {
            states: States([[0; LANES]; 5]),
            at: [NOTHING.as_ptr(); LANES],
            stride: [0; LANES],
            left: [u32::MAX; LANES],
            rests,
            rest_blocks: [0; LANES],
            numbers: [0; LANES],
        }
    }

    /// Puts a message into a lane.
    #[target_feature(enable = "avx512f,avx512bw,bmi2")]
    #[inline]
    fn begin(&mut self, lane: usize, number: usize, message: Message<'_>) {
        let text = message.text;
        let (whole, rest) = text.as_chunks::<64>();
        let rest_at = self.rests[lane].get();
        // SAFETY: nobody else has a reference to it, and pointers of this lane are set anew below.
        let blocks = unsafe { &mut (*rest_at).0 };
        let used = pad(blocks, rest, message.extra, text.len());
        self.stride[lane] = 64;
        self.numbers[lane] = number;
        for (words, word) in self.states.0.iter_mut().zip(message.inner) {
            words[lane] = word;
        }
        if whole.is_empty() {
            self.at[lane] = rest_at.cast();
            self.left[lane] = used;
            self.rest_blocks[lane] = 0;
        } else {
            self.at[lane] = text.as_ptr();
            // A text is shorter than 2³² octets by far: `Job::places` says so.
            self.left[lane] = whole.len() as u32;
            self.rest_blocks[lane] = used;
        }
    }

    /// Goes on with the last blocks of a message; no if they are through.
    #[inline]
    fn proceed(&mut self, lane: usize) -> bool {
        let blocks = std::mem::take(&mut self.rest_blocks[lane]);
        self.at[lane] = self.rests[lane].get().cast();
        self.left[lane] = blocks;
        blocks > 0
    }

    /// Leaves a lane without a message.
    fn idle(&mut self, lane: usize) {
        self.at[lane] = NOTHING.as_ptr();
        self.stride[lane] = 0;
        self.left[lane] = u32::MAX;
    }

    /// A block in each lane was taken in; a bit for each lane where none is left.
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn step(&mut self) -> u16 {
        // SAFETY: the array is as long as what is loaded and stored.
        unsafe {
            // A lane that is through leads to the end of what it led to.
            for (at, stride) in self.at.iter_mut().zip(&self.stride) {
                *at = at.wrapping_add(*stride);
            }
            let left = _mm512_loadu_si512(self.left.as_ptr().cast());
            let left = _mm512_sub_epi32(left, _mm512_set1_epi32(1));
            _mm512_storeu_si512(self.left.as_mut_ptr().cast(), left);
            _mm512_cmpeq_epi32_mask(left, _mm512_setzero_si512())
        }
    }
}

/// The last blocks of a message: the rest of its text, what follows it, padding and length
/// (FIPS 180-4 §5.1.1). Says how many blocks these are.
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[inline]
fn pad(blocks: &mut [u8; 128], rest: &[u8], extra: Extra, text: usize) -> u32 {
    let (low, high) = blocks.split_at_mut(64);
    store_all(low.try_into().expect("64 octets"), load(rest));
    store_all(high.try_into().expect("64 octets"), _mm512_setzero_si512());
    let from = rest.len().min(63);
    blocks[from..from + 16].copy_from_slice(&extra.padded());
    let two = from + extra.octets().len() + 9 > 64;
    let last = if two { 128 } else { 64 };
    let bits = (PAD + text + extra.octets().len()) as u64 * 8;
    blocks[last - 8..last].copy_from_slice(&bits.to_be_bytes());
    1 + u32::from(two)
}

/// Inner digests that wait for their outer hashes.
struct Outers {
    digests: States,
    states: States,
    numbers: [usize; LANES],
    waiting: usize,
}

impl Outers {
    #[inline]
    fn push(&mut self, digests: &States, lane: usize, number: usize, outer: [u32; 5]) {
        let slot = self.waiting % LANES;
        for (to, from) in self.digests.0.iter_mut().zip(&digests.0) {
            to[slot] = from[lane];
        }
        for (to, word) in self.states.0.iter_mut().zip(outer) {
            to[slot] = word;
        }
        self.numbers[slot] = number;
        self.waiting = slot + 1;
    }

    /// The codes of those that wait.
    #[target_feature(enable = "avx512f,avx512bw")]
    fn finish(&mut self, codes: &mut [[u8; 20]]) {
        compress_digests(&mut self.states, &self.digests);
        for (slot, number) in self.numbers.iter().enumerate().take(self.waiting) {
            let code = codes[*number].as_chunks_mut().0;
            for (octets, words) in code.iter_mut().zip(&self.states.0) {
                *octets = words[slot].to_be_bytes();
            }
        }
        self.waiting = 0;
    }
}

/// Lanes, those that wait for a message, and those that have one.
struct Set<'r> {
    lanes: Lanes<'r>,
    free: u16,
    busy: u16,
}

impl<'r> Set<'r> {
    #[inline(always)]
    fn new(rests: &'r Rests) -> Self {
        Self { lanes: Lanes::new(rests), free: u16::MAX, busy: 0 }
    }

    /// Gives each lane that waits the next message.
    #[target_feature(enable = "avx512f,avx512bw,bmi2")]
    #[inline]
    fn fill(&mut self, messages: &mut impl Messages) {
        while self.free != 0 {
            let lane = self.free.trailing_zeros() as usize;
            self.free &= self.free - 1;
            if let Some(number) = messages.next() {
                self.lanes.begin(lane, number, messages.message(number));
                self.busy |= 1 << lane;
            } else {
                self.lanes.idle(lane);
                self.busy &= !(1 << lane);
            }
        }
    }

    /// A block in each lane was taken in: what is through waits for its outer hash.
    #[target_feature(enable = "avx512f,avx512bw,bmi2")]
    #[inline]
    fn step(&mut self, messages: &impl Messages, outers: &mut Outers, codes: &mut [[u8; 20]]) {
        let mut through = self.lanes.step();
        while through != 0 {
            let lane = through.trailing_zeros() as usize;
            through &= through - 1;
            if self.lanes.proceed(lane) {
                continue;
            }
            let number = self.lanes.numbers[lane];
            outers.push(&self.lanes.states, lane, number, messages.outer(number));
            self.free |= 1 << lane;
            if outers.waiting == LANES {
                outers.finish(codes);
            }
        }
    }
}

/// The codes of all messages, each at its number.
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
pub(super) fn hmac(messages: &mut impl Messages, codes: &mut [[u8; 20]]) {
    let none = States([[0; LANES]; 5]);
    let mut outers = Outers { digests: none, states: none, numbers: [0; LANES], waiting: 0 };
    let rests = [const { [const { UnsafeCell::new(Blocks([0; 128])) }; LANES] }; 2];
    let [mut one, mut other] = rests.each_ref().map(Set::new);
    loop {
        one.fill(messages);
        other.fill(messages);
        // SAFETY: a text stays where it is, says `Messages`, and `left` counts its whole blocks;
        // rests outlive `lanes`, and `rest_blocks` counts their blocks. An idle lane stays at
        // `NOTHING`.
        unsafe {
            match (one.busy, other.busy) {
                (0, 0) => break,
                (_, 0) => compress([&mut one.lanes.states], [&one.lanes.at]),
                (0, _) => compress([&mut other.lanes.states], [&other.lanes.at]),
                _ => compress(
                    [&mut one.lanes.states, &mut other.lanes.states],
                    [&one.lanes.at, &other.lanes.at],
                ),
            }
        }
        if one.busy != 0 {
            one.step(messages, &mut outers, codes);
        }
        if other.busy != 0 {
            other.step(messages, &mut outers, codes);
        }
    }
    if outers.waiting > 0 {
        outers.finish(codes);
    }
}
