//! Ports: blocks of pairs that a media controller leases, and which of them are taken.
//!
//! ```text
//!   block: address 3, from 20,000, 4 pairs    RTP 20,000 20,002 20,004 20,006, RTCP the odd ones
//!   fresh pairs, one after the other ─→ taken ─→ quarantine, 8 octets each ─→ the oldest first
//! ```
//! A pair rests before it is given again: packets of the call before may still be on their way,
//! and its peers may not have heard the BYE.

use crate::side::Side;
use core::net::IpAddr;
use core::time::Duration;
use machine::Time;
use srtp::dtls::Fingerprint;
use std::collections::VecDeque;

/// Pairs of a block at most: every even port.
pub const PAIRS_MAX: u16 = 32_768;
/// Blocks of a pool at most.
pub const BLOCKS_MAX: usize = 1_024;

/// A pair of ports of a media controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Local {
    /// The number of the address, which a lease names.
    pub address: u16,
    /// The even port, of RTP; RTCP has the next one.
    pub port: u16,
}

/// Where a session takes its ports.
pub trait Source {
    /// A pair for `side`, of an address of that family; `None`: none is free.
    fn take(&mut self, side: Side, is_v6: bool) -> Option<Local>;
    /// Gives a pair back.
    fn give_back(&mut self, local: Local);
    /// The address of that number, as its side sees it; unspecified (`0.0.0.0`, `::`): it is not
    /// known any more, and nothing is agreed on with it.
    fn address(&self, number: u16) -> IpAddr;
    /// The fingerprint of the certificate that DTLS shows; `None`: there is no DTLS.
    fn fingerprint(&self) -> Option<&Fingerprint>;
    /// What the media plane codes anew: a bit for the number of each codec.
    fn codecs(&self) -> u32 {
        u32::MAX
    }
}

/// A block of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// The number of the address.
    pub address: u16,
    /// The first port, even.
    pub first: u16,
    /// How many pairs.
    pub pairs: u16,
}

impl Block {
    /// Whether every pair of it is one.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let end = u32::from(self.first) + 2 * u32::from(self.pairs);
        self.first >= 2 && self.first.is_multiple_of(2) && self.pairs > 0 && end <= 65_536
    }

    fn overlaps(&self, other: &Self) -> bool {
        let end = |block: &Self| u32::from(block.first) + 2 * u32::from(block.pairs);
        self.address == other.address
            && u32::from(self.first) < end(other)
            && u32::from(other.first) < end(self)
    }

    fn index(&self, local: Local) -> Option<u16> {
        let offset = local.port.checked_sub(self.first)?;
        let is_ours = local.address == self.address && offset.is_multiple_of(2);
        (is_ours && offset / 2 < self.pairs).then_some(offset / 2)
    }
}

/// A block and which of its pairs are out of the fresh ones.
#[derive(Debug)]
struct Leased {
    block: Block,
    /// The first pair that was never given.
    fresh: u16,
    /// A bit a pair: taken.
    taken: Box<[u64]>,
    /// A bit a pair: rests in the queue.
    resting: Box<[u64]>,
    /// Gives no more: the lease ends when the last pair is back.
    is_ending: bool,
    in_use: u32,
}

fn bit(index: u16) -> (usize, u64) {
    (usize::from(index / 64), 1 << (index % 64))
}

/// The pairs of one family of one media controller.
#[derive(Debug)]
pub struct Pool {
    /// A place stays the same as long as its block stands.
    blocks: Vec<Option<Leased>>,
    /// Pairs given back, oldest first: place of the block, pair, second.
    resting: VecDeque<(u16, u16, u32)>,
    quarantine_s: u32,
}

impl Pool {
    /// An empty one; a pair rests that long.
    #[must_use]
    pub fn new(quarantine: Duration) -> Self {
        let quarantine_s = u32::try_from(quarantine.as_secs()).unwrap_or(u32::MAX);
        Self { blocks: Vec::new(), resting: VecDeque::new(), quarantine_s }
    }

    /// Adds a block; `false`: it is none, overlaps another one, or there are too many.
    pub fn add(&mut self, block: Block) -> bool {
        let overlaps = self.leased().any(|leased| leased.block.overlaps(&block));
        let place = self.blocks.iter().position(Option::is_none);
        if !block.is_sound() || overlaps || (place.is_none() && self.blocks.len() >= BLOCKS_MAX) {
            return false;
        }
        let words = usize::from(block.pairs).div_ceil(64);
        let map = || vec![0; words].into_boxed_slice();
        let leased =
            Leased { block, fresh: 0, taken: map(), resting: map(), is_ending: false, in_use: 0 };
        match place {
            Some(place) => self.blocks[place] = Some(leased),
            None => self.blocks.push(Some(leased)),
        }
        true
    }

    /// Ends the lease of a block: no pair of it is given any more, and it goes with its last one.
    pub fn end(&mut self, block: Block) {
        for place in &mut self.blocks {
            let Some(leased) = place.as_mut().filter(|leased| leased.block == block) else {
                continue;
            };
            leased.is_ending = true;
            if leased.in_use == 0 {
                *place = None;
            }
        }
        self.sweep();
    }

    /// A pair; `None`: none is free yet.
    pub fn take(&mut self, now: Time) -> Option<Local> {
        let fresh = |leased: &&mut Leased| !leased.is_ending && leased.fresh < leased.block.pairs;
        if let Some(leased) = self.blocks.iter_mut().flatten().find(fresh) {
            let index = leased.fresh;
            return Some(leased.take(index));
        }
        let now = seconds(now);
        while let Some(&(place, index, since)) = self.resting.front() {
            let leased = self.blocks.get_mut(usize::from(place)).and_then(Option::as_mut);
            let leased = leased.filter(|leased| !leased.is_ending && leased.rests(index));
            if leased.is_some() && now.saturating_sub(since) < self.quarantine_s {
                return None;
            }
            self.resting.pop_front();
            if let Some(leased) = leased {
                return Some(leased.take(index));
            }
        }
        None
    }

    /// Takes that very pair, which a call that stands has; `false`: it is not of any block, or
    /// taken.
    pub fn claim(&mut self, local: Local) -> bool {
        let Some((place, index)) = self.place(local) else { return false };
        let Some(leased) = self.blocks[place].as_mut() else { return false };
        if leased.is_taken(index) {
            return false;
        }
        if leased.rests(index) {
            // A second stay in the queue would end with the first one.
            self.resting.retain(|it| (usize::from(it.0), it.1) != (place, index));
        }
        // Those before it that were never given are given first all the same: they rest no more.
        while leased.fresh < index {
            let before = leased.fresh;
            leased.fresh += 1;
            leased.rest(before);
            let place = u16::try_from(place).unwrap_or(u16::MAX);
            self.resting.push_front((place, before, 0));
        }
        leased.take(index);
        true
    }

    /// Gives a pair back; `false`: it was not taken.
    pub fn give_back(&mut self, local: Local, now: Time) -> bool {
        let Some((place, index)) = self.place(local) else { return false };
        let Some(leased) = self.blocks[place].as_mut() else { return false };
        if !leased.is_taken(index) {
            return false;
        }
        leased.release(index);
        if leased.is_ending && leased.in_use == 0 {
            self.blocks[place] = None;
            self.sweep();
        } else if !leased.is_ending {
            let place = u16::try_from(place).unwrap_or(u16::MAX);
            self.resting.push_back((place, index, seconds(now)));
        }
        true
    }

    /// Pairs that are taken.
    #[must_use]
    pub fn in_use(&self) -> u32 {
        self.leased().map(|leased| leased.in_use).sum()
    }

    /// Pairs that stand in the blocks.
    #[must_use]
    pub fn pairs(&self) -> u32 {
        self.leased().map(|leased| u32::from(leased.block.pairs)).sum()
    }

    /// The blocks.
    pub fn blocks(&self) -> impl Iterator<Item = Block> {
        self.leased().map(|leased| leased.block)
    }

    fn leased(&self) -> impl Iterator<Item = &Leased> {
        self.blocks.iter().flatten()
    }

    fn place(&self, local: Local) -> Option<(usize, u16)> {
        self.blocks.iter().enumerate().find_map(|(place, leased)| {
            leased.as_ref()?.block.index(local).map(|index| (place, index))
        })
    }

    /// Takes what rests of blocks that are gone out of the queue: a later block may get their
    /// place.
    fn sweep(&mut self) {
        let blocks = &self.blocks;
        self.resting.retain(|&(place, _, _)| {
            blocks
                .get(usize::from(place))
                .and_then(Option::as_ref)
                .is_some_and(|leased| !leased.is_ending)
        });
    }
}

impl Leased {
    fn is_taken(&self, index: u16) -> bool {
        let (word, bit) = bit(index);
        self.taken[word] & bit != 0
    }

    fn rests(&self, index: u16) -> bool {
        let (word, bit) = bit(index);
        self.resting[word] & bit != 0
    }

    fn rest(&mut self, index: u16) {
        let (word, bit) = bit(index);
        self.resting[word] |= bit;
    }

    fn take(&mut self, index: u16) -> Local {
        let (word, bit) = bit(index);
        self.taken[word] |= bit;
        self.resting[word] &= !bit;
        self.fresh = self.fresh.max(index + 1);
        self.in_use += 1;
        Local { address: self.block.address, port: self.block.first + 2 * index }
    }

    fn release(&mut self, index: u16) {
        let (word, bit) = bit(index);
        self.taken[word] &= !bit;
        self.resting[word] |= bit;
        self.in_use -= 1;
    }
}

fn seconds(now: Time) -> u32 {
    u32::try_from(now.as_millis() / 1_000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(pairs: u16) -> Pool {
        let mut pool = Pool::new(Duration::from_secs(10));
        assert!(pool.add(Block { address: 0, first: 20_000, pairs }));
        pool
    }

    #[test]
    fn a_pair_comes_back_after_its_quarantine_the_oldest_first() {
        let (mut pool, at) = (pool(2), Time::from_millis);
        let first = pool.take(at(0)).expect("fresh");
        let second = pool.take(at(0)).expect("fresh");
        assert_eq!((first.port, second.port, pool.take(at(0))), (20_000, 20_002, None));
        assert!(pool.give_back(second, at(1_000)) && pool.give_back(first, at(2_000)));
        assert!(!pool.give_back(first, at(2_000)), "twice");
        assert_eq!(pool.take(at(10_999)), None);
        assert_eq!(pool.take(at(11_000)), Some(second));
        assert_eq!(pool.take(at(11_000)), None);
        assert_eq!(pool.take(at(12_000)), Some(first));
    }

    #[test]
    fn a_claimed_pair_is_not_given_and_those_before_it_are() {
        let (mut pool, now) = (pool(4), Time::from_millis(60_000));
        assert!(pool.claim(Local { address: 0, port: 20_004 }));
        assert!(!pool.claim(Local { address: 0, port: 20_004 }));
        assert!(!pool.claim(Local { address: 1, port: 20_000 }));
        assert!(!pool.claim(Local { address: 0, port: 20_001 }));
        let mut ports: Vec<u16> =
            core::iter::from_fn(|| pool.take(now)).map(|local| local.port).collect();
        ports.sort_unstable();
        assert_eq!(ports, [20_000, 20_002, 20_006]);
    }

    #[test]
    fn an_ended_block_goes_with_its_last_pair() {
        let (mut pool, now) = (pool(2), Time::ZERO);
        let block = pool.blocks().next().expect("one");
        let pair = pool.take(now).expect("fresh");
        pool.end(block);
        assert_eq!((pool.take(now), pool.pairs()), (None, 2));
        assert!(pool.give_back(pair, now));
        assert_eq!((pool.pairs(), pool.in_use()), (0, 0));
        assert!(pool.add(block));
    }

    #[test]
    fn blocks_that_are_none_or_overlap_are_not_taken() {
        let mut pool = pool(10);
        for (first, pairs) in [(20_018, 1), (20_001, 1), (65_534, 2), (0, 1), (30_000, 0)] {
            assert!(!pool.add(Block { address: 0, first, pairs }), "{first}");
        }
        assert!(pool.add(Block { address: 1, first: 20_000, pairs: 10 }));
        assert!(pool.add(Block { address: 0, first: 65_534, pairs: 1 }));
    }
}
