//! A batch: all packets through one stage, then all through the next.

use super::aes::{self, RoundKeys};
use super::chain::{self, Chain, LANES_MIN as LANES_MIN_OF_CHAINS};
use super::context::{Context, Pad};
use super::ghash::{POWERS, Text, ghash};
use super::lanes::{Message, Messages, hmac};
use super::octets::{Line, block, equal, load, load_all, octets, store, store_all};
use crate::job::Places;
use crate::key::Schedule;
use crate::portable::TAG_MAX;
use crate::{Encryption, Extra, Integrity, Job, Op, Outcome, Suite};
use std::arch::x86_64::*;

/// Jobs that go through the stages together: their packets and round keys stay in the first cache.
const BATCH: usize = 32;

/// With fewer messages of SHA-1 than these, one behind the other by SHA-NI is faster.
const LANES_MIN: usize = 2;

/// Runs the jobs whose keys are of this back end, and leaves the others.
pub(crate) fn run(buffer: &mut [u8], jobs: &mut [Job<'_>]) {
    for jobs in jobs.chunks_mut(BATCH) {
        if !jobs.iter().any(|job| context(job).is_some()) {
            continue;
        }
        // SAFETY: there is a context of this back end, so the processor has what it needs.
        unsafe {
            match jobs.len() {
                1 => batch::<1>(buffer, jobs),
                2..=8 => batch::<8>(buffer, jobs),
                _ => batch::<BATCH>(buffer, jobs),
            }
        }
    }
}

#[inline]
fn context<'k>(job: &Job<'k>) -> Option<&'k Context> {
    match job.key.schedule() {
        Schedule::Wide(context) => Some(context),
        Schedule::Portable(_) => None,
    }
}

/// A job that can be run: what its key is and where its parts stand.
#[derive(Clone)]
struct Item<'k> {
    context: &'k Context,
    suite: Suite,
    places: Places,
    /// Whether it is authenticated in a lane.
    in_lane: bool,
}

impl Item<'_> {
    #[inline(always)]
    fn is_gcm(&self) -> bool {
        matches!(self.suite.encryption(), Encryption::AesGcm(_))
    }

    #[inline(always)]
    fn is_cbc(&self) -> bool {
        matches!(self.suite.encryption(), Encryption::AesCbc(_))
    }

    /// Blocks of AAD, of AAD that does not stand in the buffer in whole blocks, and of data.
    #[inline(always)]
    fn shape(&self, extra: Extra) -> u64 {
        // Packed: compared as a whole from memory it would be waited for. No piece has more than
        // 2²⁴ blocks: `Job::places` says so.
        let (aad, more) = self.aad(extra);
        let blocks = |octets: usize| octets.div_ceil(16) as u64;
        blocks(aad) << 34 | blocks(more) << 32 | blocks(self.places.data.len())
    }

    /// Octets of AAD that are hashed where they stand, and octets that are put together with those
    /// that stand nowhere.
    #[inline(always)]
    fn aad(&self, extra: Extra) -> (usize, usize) {
        let (aad, extra) = (self.places.aad.len(), extra.octets().len());
        if extra == 0 { (aad, 0) } else { (aad & !15, aad % 16 + extra) }
    }

    /// What is hashed of it; `tail` has room for the last octets of the AAD and those that stand
    /// nowhere, at most 15 and 12.
    #[inline(always)]
    fn text<'a>(&'a self, tail: &'a mut [u8; 32], buffer: &'a [u8], extra: Extra) -> Text<'a> {
        let powers = self.context.powers().unwrap_or(&[[0; 16]; POWERS]);
        let (aad, data) = (&buffer[self.places.aad.clone()], &buffer[self.places.data.clone()]);
        if extra.octets().is_empty() {
            return Text { powers, pieces: [aad, &[], data] };
        }
        let (whole, rest) = aad.split_at(aad.len() & !15);
        tail[..rest.len()].copy_from_slice(rest);
        tail[rest.len()..][..16].copy_from_slice(&extra.padded());
        Text { powers, pieces: [whole, &tail[..rest.len() + extra.octets().len()], data] }
    }
}

/// What is known of a batch, job by job.
struct Known<'k, const N: usize> {
    items: [Option<Item<'k>>; N],
    keys: [RoundKeys; N],
    /// The code of HMAC-SHA1, or the mask of its tag in GCM.
    codes: [[u8; 20]; N],
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,vaes,vpclmulqdq")]
fn batch<const N: usize>(buffer: &mut [u8], jobs: &mut [Job<'_>]) {
    for context in jobs.iter().filter_map(context) {
        context.prefetch();
    }
    let mut known = Known {
        items: [const { None }; N],
        keys: [const { RoundKeys::NONE }; N],
        codes: [[0; 20]; N],
    };
    let mut in_lanes = 0;
    for (job, to) in jobs.iter_mut().zip(&mut known.items) {
        let Some(context) = context(job) else { continue };
        let suite = job.key.suite();
        job.outcome = Outcome::Malformed;
        let Some(places) = job.places(buffer.len()) else { continue };
        let in_lane = suite.integrity() == Integrity::HmacSha1 && text(&places).is_some();
        in_lanes += usize::from(in_lane);
        *to = Some(Item { context, suite, places, in_lane });
    }
    expand_all(&known.items, &mut known.keys);
    for (at, job) in jobs.iter().enumerate() {
        let keys = known.keys[at].lines();
        match (&known.items[at], job.op) {
            (Some(item), Op::Protect) if item.is_gcm() => {
                let data = &mut buffer[item.places.data.clone()];
                let mask = aes::ctr_behind_mask(keys, counter_block(&job.iv, 1), data);
                known.codes[at][..16].copy_from_slice(&octets(mask));
            }
            (Some(item), Op::Protect) if item.is_cbc() => {}
            (Some(item), Op::Protect) => apply(job, item, keys, buffer),
            _ => {}
        }
    }
    encrypt_chains(buffer, jobs, &known);
    let lanes = in_lanes >= LANES_MIN;
    if lanes {
        let items = &known.items;
        hmac(&mut InLanes { buffer, jobs, items, next: 0 }, &mut known.codes);
    }
    for (at, job) in jobs.iter_mut().enumerate() {
        let Some(item) = known.items[at].as_ref().filter(|it| !it.is_gcm()) else { continue };
        let tag = match item.suite.integrity() {
            Integrity::Null => _mm512_setzero_si512(),
            _ if item.in_lane && lanes => load(&known.codes[at]),
            _ => code_of(job, item, buffer),
        };
        job.outcome = finish(job, item, known.keys[at].lines(), buffer, tag);
    }
    gcm(buffer, jobs, &known);
}

/// Encrypts the jobs of CBC: many together, a few one after the other.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,vaes,vpclmulqdq")]
fn encrypt_chains<const N: usize>(buffer: &mut [u8], jobs: &[Job<'_>], known: &Known<'_, N>) {
    let chains = jobs.iter().enumerate().filter_map(|(at, job)| {
        let item = known.items[at].as_ref().filter(|it| it.is_cbc() && job.op == Op::Protect)?;
        let (keys, data) = (known.keys[at].lines(), item.places.data.clone());
        Some(Chain { keys, iv: job.iv, data })
    });
    if chains.clone().take(LANES_MIN_OF_CHAINS).count() == LANES_MIN_OF_CHAINS {
        return chain::encrypt(buffer, chains);
    }
    for Chain { keys, iv, data } in chains {
        aes::cbc_encrypt(keys, block(&iv), &mut buffer[data]);
    }
}

/// Keys whose round keys are made together.
const KEYS: usize = 4;

/// Makes the round keys of all items.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,vaes,vpclmulqdq")]
#[inline]
fn expand_all(items: &[Option<Item<'_>>], keys: &mut [RoundKeys]) {
    let (fours, rest) = items.as_chunks::<KEYS>();
    let (four_keys, rest_keys) = keys.as_chunks_mut::<KEYS>();
    for (items, keys) in fours.iter().zip(four_keys) {
        match [&items[0], &items[1], &items[2], &items[3]].map(short_of) {
            [Some(a), Some(b), Some(c), Some(d)] => RoundKeys::set_128(keys, [a, b, c, d]),
            _ => expand_each(items, keys),
        }
    }
    expand_each(rest, rest_keys);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,vaes,vpclmulqdq")]
#[inline]
fn expand_each(items: &[Option<Item<'_>>], keys: &mut [RoundKeys]) {
    for (item, keys) in items.iter().zip(keys) {
        if let Some(item) = item {
            item.context.expand(keys);
        }
    }
}

/// The key of an item, if it is one of 128 bits.
#[inline(always)]
fn short_of<'k>(item: &Option<Item<'k>>) -> Option<&'k Line> {
    item.as_ref().and_then(|item| item.context.short())
}

/// How many texts of GCM are hashed together.
const TOGETHER: usize = 4;

/// Authenticates and finishes the jobs of GCM, those together that follow each other and are alike.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,vaes,vpclmulqdq")]
fn gcm<const N: usize>(buffer: &mut [u8], jobs: &mut [Job<'_>], known: &Known<'_, N>) {
    let (mut waiting, mut count, mut shape) = ([0; TOGETHER], 0, 0);
    for at in 0..jobs.len() {
        let Some(item) = known.items[at].as_ref().filter(|it| it.is_gcm()) else { continue };
        let new = item.shape(jobs[at].extra);
        if shape != new {
            hash_each(buffer, jobs, known, &waiting[..count]);
            (count, shape) = (0, new);
        }
        waiting[count] = at;
        count += 1;
        if count == TOGETHER {
            hash_and_finish(buffer, jobs, known, waiting);
            count = 0;
        }
    }
    hash_each(buffer, jobs, known, &waiting[..count]);
}

/// Authenticates and finishes jobs of GCM one after the other.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,vaes,vpclmulqdq")]
#[inline]
fn hash_each<const N: usize>(
    buffer: &mut [u8],
    jobs: &mut [Job<'_>],
    known: &Known<'_, N>,
    which: &[usize],
) {
    for at in which {
        hash_and_finish(buffer, jobs, known, [*at]);
    }
}

/// Authenticates and finishes jobs of GCM that are alike.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,vaes,vpclmulqdq")]
fn hash_and_finish<const N: usize, const M: usize>(
    buffer: &mut [u8],
    jobs: &mut [Job<'_>],
    known: &Known<'_, N>,
    which: [usize; M],
) {
    let mut tags = [[0; 16]; 4];
    {
        let mut tails = [[0; 32]; M];
        let mut texts = [Text { powers: &[[0; 16]; POWERS], pieces: [&[]; 3] }; M];
        for ((text, tail), at) in texts.iter_mut().zip(&mut tails).zip(which) {
            let Some(item) = &known.items[at] else { continue };
            *text = item.text(tail, buffer, jobs[at].extra);
        }
        store_all(tags.as_flattened_mut().try_into().expect("64 octets"), ghash(&texts));
    }
    for (at, hash) in which.into_iter().zip(tags) {
        let Some(item) = &known.items[at] else { continue };
        let keys = known.keys[at].lines();
        let mask = match jobs[at].op {
            Op::Protect => block(known.codes[at].first_chunk().unwrap_or(&[0; 16])),
            Op::Unprotect => aes::encrypt(keys, counter_block(&jobs[at].iv, 1)),
        };
        let tag = _mm512_zextsi128_si512(_mm_xor_si128(block(&hash), mask));
        jobs[at].outcome = finish(&jobs[at], item, keys, buffer, tag);
    }
}

/// Writes the tag, or compares it and decrypts.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,vaes,vpclmulqdq")]
#[inline]
fn finish(
    job: &Job<'_>,
    item: &Item<'_>,
    keys: &[Line],
    buffer: &mut [u8],
    tag: __m512i,
) -> Outcome {
    let place = &mut buffer[item.places.tag.clone()];
    match job.op {
        Op::Protect => store(place, tag),
        Op::Unprotect if equal(place, tag) => apply(job, item, keys, buffer),
        Op::Unprotect => return Outcome::Forged,
    }
    Outcome::Done
}

/// What HMAC is taken of, if it stands in one piece.
#[inline(always)]
fn text(places: &Places) -> Option<std::ops::Range<usize>> {
    let (aad, data) = (&places.aad, &places.data);
    if data.is_empty() {
        Some(aad.clone())
    } else if aad.is_empty() {
        Some(data.clone())
    } else {
        (aad.end == data.start).then_some(aad.start..data.end)
    }
}

/// The messages of those jobs that are authenticated in lanes.
struct InLanes<'a, 'k, const N: usize> {
    buffer: &'a [u8],
    jobs: &'a [Job<'k>],
    items: &'a [Option<Item<'k>>; N],
    next: usize,
}

impl<const N: usize> InLanes<'_, '_, N> {
    #[inline(always)]
    fn state(&self, at: usize, pad: Pad) -> [u32; 5] {
        self.items[at].as_ref().map_or([0; 5], |item| item.context.sha1(pad))
    }
}

// SAFETY: texts are parts of `buffer`, which is borrowed as long as this is.
unsafe impl<const N: usize> Messages for InLanes<'_, '_, N> {
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let left = self.items.get(self.next..).unwrap_or_default().iter();
        let at =
            self.next + left.take_while(|it| !it.as_ref().is_some_and(|it| it.in_lane)).count();
        self.next = at + 1;
        (at < N).then_some(at)
    }

    #[inline(always)]
    fn message(&self, at: usize) -> Message<'_> {
        let places = self.items[at].as_ref().map(|it| text(&it.places));
        let text = &self.buffer[places.flatten().unwrap_or(0..0)];
        Message { inner: self.state(at, Pad::Inner), text, extra: self.jobs[at].extra }
    }

    #[inline(always)]
    fn outer(&self, at: usize) -> [u32; 5] {
        self.state(at, Pad::Outer)
    }
}

/// Encrypts or decrypts the data of a job.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2,vaes")]
#[inline]
fn apply(job: &Job<'_>, item: &Item<'_>, keys: &[Line], buffer: &mut [u8]) {
    let data = &mut buffer[item.places.data.clone()];
    match (item.suite.encryption(), job.op) {
        (Encryption::Null, _) => {}
        (Encryption::AesCtr(_), _) => aes::ctr(keys, block(&job.iv), data),
        (Encryption::AesGcm(_), _) => aes::ctr(keys, counter_block(&job.iv, 2), data),
        (Encryption::AesCbc(_), Op::Protect) => aes::cbc_encrypt(keys, block(&job.iv), data),
        (Encryption::AesCbc(_), Op::Unprotect) => aes::cbc_decrypt(keys, block(&job.iv), data),
    }
}

/// A counter block of GCM (SP 800-38D §7.1): an IV of 96 bits and a counter, which is one for the
/// tag and two for the first block of data.
#[target_feature(enable = "sse4.1")]
#[inline]
fn counter_block(iv: &[u8; 16], counter: i32) -> __m128i {
    _mm_insert_epi32::<3>(block(iv), counter.swap_bytes())
}

/// The HMAC of one job by the portable back end, if it has one.
#[target_feature(enable = "avx512f,avx512bw")]
fn code_of(job: &Job<'_>, item: &Item<'_>, buffer: &[u8]) -> __m512i {
    let Places { aad, data, tag } = item.places.clone();
    let mut code = [0; TAG_MAX];
    if let Some(hmac) = item.context.hmac(item.suite) {
        hmac.tag(&[&buffer[aad], &buffer[data], job.extra.octets()], &mut code[..tag.len()]);
    }
    load_all(&code)
}
