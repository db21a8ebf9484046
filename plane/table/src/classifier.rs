//! A packet classifier: thousands of rules, the first that matches decides.
//!
//! ```text
//!   header ─┬ source      → tree → class → row of bits ┐
//!           ├ destination → tree → class → row of bits ├ and → lowest bit = first rule
//!           └ ports, protocol, flags, … → cell  → row  ┘
//! ```
//! Aggregated bit vectors (Baboescu and Varghese, SIGCOMM 2001) with joined fields: the work for
//! a packet does not depend on how the rules overlap. Up to 1,024 rules a row is looked at whole,
//! up to 32,768 through a summary of one bit for each 64 rules. Where rows would take too much
//! memory the rules are cut into runs that are looked at one after the other: slower, never wrong.

mod chunk;
mod compile;
mod header;
mod lines;
mod rows;
mod rule;
mod search;

pub use header::{Address, Fragment, Header};
pub use rule::{Flags, ITEMS_MAX, NotCompiled, Prefix, Rule};

use crate::lanes::Lanes;
use chunk::Chunk;
use machine::narrow::place;
use rows::{SUMMARISED_MAX, WHOLE_MAX};
use search::BATCH;

/// What a lookup answers when no rule matches.
pub const NO_RULE: u32 = u32::MAX;
/// Rules of a classifier at most.
pub const RULES_MAX: usize = 65_536;
/// Bytes that a compiled classifier takes at most, unless told otherwise.
pub const MEMORY_MAX: usize = 256 << 20;

/// Compiled rules of one family: `u32` for IPv4, `u128` for IPv6. Immutable: publish it whole
/// ([`crate::epoch::Publisher`]).
pub struct Classifier<A> {
    chunks: Vec<Chunk>,
    verdicts: Box<[u32]>,
    lanes: Lanes,
    family: std::marker::PhantomData<A>,
}

impl<A: Address> Classifier<A> {
    /// Compiles rules, the first of highest priority, into at most [`MEMORY_MAX`] bytes.
    ///
    /// # Errors
    /// [`NotCompiled`] when there are too many rules, or one contradicts itself.
    pub fn compile(rules: &[Rule<A>]) -> Result<Self, NotCompiled> {
        Self::compile_within(rules, MEMORY_MAX, Lanes::best())
    }

    /// As [`Classifier::compile`], into at most `bytes_max`, looked up by the given kind of code.
    ///
    /// # Errors
    /// [`NotCompiled`], also when the rules do not fit however they are cut.
    pub fn compile_within(
        rules: &[Rule<A>],
        bytes_max: usize,
        lanes: Lanes,
    ) -> Result<Self, NotCompiled> {
        if rules.len() > RULES_MAX {
            return Err(NotCompiled::TooMany);
        }
        for (at, rule) in rules.iter().enumerate() {
            rule.check(at)?;
        }
        let verdicts = rules.iter().map(|rule| rule.verdict).collect();
        // Each cut divides the memory of rows by its square: eight times fewer, sixty-four times.
        let runs = [SUMMARISED_MAX, SUMMARISED_MAX / 8, WHOLE_MAX, WHOLE_MAX / 8];
        let needed = |run: &&usize| **run >= rules.len().min(WHOLE_MAX / 8);
        let mut runs = runs.iter().filter(needed);
        let chunks = runs.find_map(|run| cut(rules, *run, bytes_max));
        let chunks = chunks.ok_or(NotCompiled::Memory)?;
        Ok(Self { chunks, verdicts, lanes, family: std::marker::PhantomData })
    }

    /// The place of the first rule that matches each header, [`NO_RULE`] if none does: count by
    /// it, and ask [`Classifier::verdict`].
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn lookup(&self, headers: &[Header<A>], rules: &mut [u32]) {
        assert_eq!(headers.len(), rules.len(), "an answer for each header");
        let Some((first, rest)) = self.chunks.split_first() else { return rules.fill(NO_RULE) };
        for (headers, rules) in headers.chunks(BATCH).zip(rules.chunks_mut(BATCH)) {
            self.lookup_in(first, headers, rules);
            for chunk in rest {
                self.lookup_open(chunk, headers, rules);
            }
        }
    }

    /// Asks a later chunk for the headers that no earlier one had a rule for.
    fn lookup_open(&self, chunk: &Chunk, headers: &[Header<A>], rules: &mut [u32]) {
        let (mut places, mut open) = ([0; BATCH], 0);
        let mut left = [headers[0]; BATCH];
        for (at, _) in rules.iter().enumerate().filter(|(_, rule)| **rule == NO_RULE) {
            (places[open], left[open]) = (at, headers[at]);
            open += 1;
        }
        let mut found = [NO_RULE; BATCH];
        self.lookup_in(chunk, &left[..open], &mut found[..open]);
        for (place, rule) in places[..open].iter().zip(found) {
            rules[*place] = if rule == NO_RULE { rule } else { rule + chunk.first };
        }
    }

    fn lookup_in(&self, chunk: &Chunk, headers: &[Header<A>], rules: &mut [u32]) {
        match self.lanes {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: `Lanes` says that this processor has AVX-512.
            Lanes::Avx512 => unsafe { lookup_avx512(chunk, headers, rules) },
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: `Lanes` says that this processor has AVX2.
            Lanes::Avx2 => unsafe { lookup_avx2(chunk, headers, rules) },
            _ => chunk.lookup(lines::Plain, headers, rules),
        }
    }

    /// The verdict of a rule by its place.
    #[inline(always)]
    #[must_use]
    pub fn verdict(&self, rule: u32) -> Option<u32> {
        self.verdicts.get(rule as usize).copied()
    }

    /// Rules.
    #[must_use]
    pub fn len(&self) -> usize {
        self.verdicts.len()
    }

    /// Whether there is no rule: nothing matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.verdicts.is_empty()
    }

    /// Bytes it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.chunks.iter().map(Chunk::bytes).sum::<usize>() + size_of_val(&self.verdicts[..])
    }

    /// Runs of rules that a packet may have to go through, one if memory sufficed.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.chunks.len()
    }
}

/// Compiles runs of at most `run` rules each; `None` if they take more than `bytes_max` together.
fn cut<A: Address>(rules: &[Rule<A>], run: usize, bytes_max: usize) -> Option<Vec<Chunk>> {
    let (mut chunks, mut left) = (Vec::new(), bytes_max);
    for (at, rules) in rules.chunks(run).enumerate() {
        let chunk = Chunk::new(rules, place(at * run), left).ok()?;
        left -= chunk.bytes();
        chunks.push(chunk);
    }
    Some(chunks)
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
fn lookup_avx512<A: Address>(chunk: &Chunk, headers: &[Header<A>], rules: &mut [u32]) {
    // SAFETY: this function needs the same instructions.
    chunk.lookup(unsafe { lines::Wide::new() }, headers, rules);
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn lookup_avx2<A: Address>(chunk: &Chunk, headers: &[Header<A>], rules: &mut [u32]) {
    chunk.lookup(lines::Plain, headers, rules);
}
