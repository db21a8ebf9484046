//! Blocks of port pairs: who has which, and when one that was given back is free.
//!
//! ```text
//!   free ── want ──→ leased ── wants fewer, or is gone ──→ ending ─ no stream, QUARANTINE ─→ free
//! ```
//! A block that ends still serves what its lessee took from it before it heard that.

use crate::addresses::Addresses;
use anchor::{BLOCKS_MAX, Block, Local};
use machine::{Duration, Time};
use std::collections::BTreeMap;

/// Who has a lease: a session controller, or NG.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Lessee(pub u16);

impl Lessee {
    /// The calls of NG.
    pub const NG: Self = Self(0);
    /// Nobody: what rests of one that is gone for good, whose number another one may get.
    const NOBODY: Self = Self(u16::MAX);
}

/// A block.
#[derive(Debug)]
struct Held {
    pairs: u16,
    lessee: Option<Lessee>,
    /// Since when it shall end.
    ending: Option<Time>,
    /// Pairs with a stream.
    in_use: u32,
    /// The section cuts ports in another way by now: it goes with its last stream.
    is_old: bool,
    /// Streams stand there, or may, that an earlier start of its lessee said.
    is_former: bool,
}

/// What a group's pairs are doing, of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Figures {
    /// Pairs that there are.
    pub pairs: u32,
    /// Those that are leased, or still rest.
    pub leased: u32,
    /// Those that have a stream.
    pub in_use: u32,
    /// A session controller has fewer than it wants, since others have them.
    pub lacks: bool,
}

impl Figures {
    /// Whether that part of all pairs is leased. A lease is of a whole block, and session
    /// controllers lease ahead of what they need: of a small range the first one has all.
    pub fn is_leased(&self, percent: u64) -> bool {
        self.pairs > 0 && u64::from(self.leased) * 100 >= u64::from(self.pairs) * percent
    }

    /// Whether that part is leased, and that part of it has streams.
    pub fn is_scarce(&self, percent: u64) -> bool {
        self.is_leased(percent) && u64::from(self.in_use) * 100 >= u64::from(self.leased) * percent
    }
}

/// All blocks.
#[derive(Debug)]
pub(crate) struct Book {
    /// By the number of their address and their first port.
    blocks: BTreeMap<(u16, u16), Held>,
    /// How the section cuts ports: pairs of each block.
    cut: BTreeMap<(u16, u16), u16>,
    quarantine: Duration,
}

impl Book {
    /// An empty one.
    pub fn new() -> Self {
        let (blocks, cut) = (BTreeMap::new(), BTreeMap::new());
        Self { blocks, cut, quarantine: Duration::ZERO }
    }

    /// Cuts the ports of all addresses into blocks. What is no block any more is nobody's, or, as
    /// long as streams stand there and the address does, a block that ends.
    pub fn configure(
        &mut self,
        now: Time,
        addresses: &Addresses,
        block_pairs: u16,
        quarantine: Duration,
    ) {
        self.quarantine = quarantine;
        let mut wanted = BTreeMap::new();
        for (number, address) in addresses.iter() {
            let (mut first, mut left) = address.pairs;
            while left > 0 {
                let pairs = left.min(block_pairs);
                wanted.insert((number, first), pairs);
                left -= pairs;
                // The last block may end with the last port.
                first = first.saturating_add(2 * pairs);
            }
        }
        self.blocks.retain(|key, block| {
            block.is_old = wanted.get(key) != Some(&block.pairs);
            if block.is_old {
                block.ending.get_or_insert(now);
            }
            !block.is_old || (block.in_use > 0 && addresses.at(key.0).is_some())
        });
        self.cut = wanted;
        self.fill();
    }

    /// Makes the blocks that there are to be, where none stands in their way.
    fn fill(&mut self) {
        for (&(address, first), &pairs) in &self.cut {
            let end = u32::from(first) + 2 * u32::from(pairs);
            let before = self.blocks.range((address, 0)..=(address, u16::MAX));
            let mut before = before.rev().filter(|((_, at), _)| u32::from(*at) < end);
            let reaches = |(key, block): (&(u16, u16), &Held)| {
                u32::from(key.1) + 2 * u32::from(block.pairs) > u32::from(first)
            };
            if !before.next().is_some_and(reaches) {
                let (lessee, ending, in_use) = (None, None, 0);
                let (is_old, is_former) = (false, false);
                let free = Held { pairs, lessee, ending, in_use, is_old, is_former };
                self.blocks.insert((address, first), free);
            }
        }
    }

    /// Sees to it that a lessee has so many pairs of a group in one family, or as many as there
    /// are; whether that changed anything.
    pub fn want(&mut self, now: Time, lessee: Lessee, numbers: &[u16], pairs: u32) -> bool {
        let (mut own, mut ending, mut free) = (Vec::new(), Vec::new(), Vec::new());
        let mut former = Vec::new();
        for (key, block) in numbers.iter().flat_map(|number| self.blocks.range(keys(*number))) {
            match (block.lessee, block.ending) {
                (Some(holder), None) if holder == lessee => own.push((block.in_use, *key)),
                (Some(holder), Some(_)) if holder == lessee && !block.is_old => {
                    if block.is_former { &mut former } else { &mut ending }.push(*key);
                }
                (None, _) => free.push(*key),
                _ => {}
            }
        }
        let mut has = self.leased(lessee, numbers);
        let mut changed = false;
        // Blocks that end come back first: its streams stand there. Those with streams of who it
        // was before come last. More than a grant can name are of no use.
        let room = BLOCKS_MAX.saturating_sub(own.len());
        for key in ending.into_iter().chain(free).chain(former).take(room) {
            let Some(block) = self.blocks.get_mut(&key).filter(|_| has < pairs) else { break };
            (block.lessee, block.ending, block.is_former) = (Some(lessee), None, false);
            has += u32::from(block.pairs);
            changed = true;
        }
        // Those without streams go first; one stays as long as a pair of it is wanted.
        own.sort_unstable();
        for (_, key) in own {
            let is_spare = |block: &&mut Held| has - u32::from(block.pairs) >= pairs;
            if let Some(block) = self.blocks.get_mut(&key).filter(is_spare) {
                block.ending = Some(now);
                has -= u32::from(block.pairs);
                changed = true;
            }
        }
        changed
    }

    /// Pairs that a lessee may take of these addresses.
    pub fn leased(&self, lessee: Lessee, numbers: &[u16]) -> u32 {
        self.blocks_of(lessee, numbers).iter().map(|block| u32::from(block.pairs)).sum()
    }

    /// The blocks that a lessee may take pairs of.
    pub fn blocks_of(&self, lessee: Lessee, numbers: &[u16]) -> Vec<Block> {
        let is_leased = |block: &Held| block.lessee == Some(lessee) && block.ending.is_none();
        let of_group = numbers.iter().flat_map(|number| self.blocks.range(keys(*number)));
        let of_group = of_group.filter(|(_, block)| is_leased(block));
        of_group
            .map(|(&(address, first), block)| Block { address, first, pairs: block.pairs })
            .collect()
    }

    /// Who may have a stream at that pair.
    pub fn lessee(&self, local: Local) -> Option<Lessee> {
        self.block(local)?.lessee
    }

    /// A stream stands at a pair.
    pub fn taken(&mut self, local: Local) {
        if let Some(block) = self.block_mut(local) {
            block.in_use += 1;
        }
    }

    /// None stands there any more.
    pub fn returned(&mut self, now: Time, local: Local) {
        if let Some(block) = self.block_mut(local) {
            block.in_use = block.in_use.saturating_sub(1);
            block.ending = block.ending.map(|since| since.max(now));
        }
    }

    /// A lessee begins anew: blocks with streams of who it was before end, or, where nobody knows
    /// which have some, all blocks, and rest from `until` on.
    pub fn renew(&mut self, now: Time, lessee: Lessee, until: Option<Time>) {
        for block in self.blocks.values_mut().filter(|block| block.lessee == Some(lessee)) {
            if block.in_use > 0 || until.is_some() {
                block.is_former = true;
                block.ending = Some(until.unwrap_or(now));
            }
        }
    }

    /// A stream of who it was before is said again: its block is a lease as others are.
    pub fn reclaim(&mut self, local: Local) {
        if let Some(block) = self.block_mut(local).filter(|block| block.is_former) {
            (block.is_former, block.ending) = (false, None);
        }
    }

    /// A lessee is gone for good.
    pub fn forget(&mut self, now: Time, lessee: Lessee) {
        for block in self.blocks.values_mut().filter(|block| block.lessee == Some(lessee)) {
            block.lessee = Some(Lessee::NOBODY);
            block.ending.get_or_insert(now);
        }
    }

    /// Frees what has ended and rested.
    pub fn sweep(&mut self, now: Time) {
        let mut has_room = false;
        self.blocks.retain(|_, block| {
            let has_rested = block.ending.is_some_and(|since| since + self.quarantine <= now);
            if has_rested && block.in_use == 0 {
                (block.lessee, block.ending, block.is_former) = (None, None, false);
                has_room |= block.is_old;
                return !block.is_old;
            }
            true
        });
        if has_room {
            self.fill();
        }
    }

    /// A lessee of the life before has a block, if it is one that nobody has.
    pub fn restore(&mut self, key: (u16, u16), lessee: Lessee) {
        if let Some(block) = self.blocks.get_mut(&key).filter(|it| it.lessee.is_none()) {
            (block.lessee, block.ending) = (Some(lessee), None);
        }
    }

    /// A lessee has these blocks and no others, whoever had them.
    pub fn assign(&mut self, now: Time, lessee: Lessee, keys: &[(u16, u16)]) {
        for (key, block) in self.blocks.iter_mut().filter(|(_, it)| it.lessee == Some(lessee)) {
            if !keys.contains(key) {
                let rests = (block.in_use > 0).then_some(now);
                (block.lessee, block.ending) = (rests.map(|_| Lessee::NOBODY), rests);
            }
        }
        for key in keys {
            if let Some(block) = self.blocks.get_mut(key) {
                (block.lessee, block.ending) = (Some(lessee), None);
            }
        }
    }

    /// All blocks of a lessee, those that end included, by address and first port.
    pub fn held_by(&self, lessee: Lessee) -> impl Iterator<Item = (u16, u16)> {
        let is_its = move |block: &Held| block.lessee == Some(lessee);
        self.blocks.iter().filter(move |(_, block)| is_its(block)).map(|(key, _)| *key)
    }

    /// What pairs of these addresses are doing.
    pub fn figures(&self, numbers: &[u16]) -> Figures {
        let mut figures = Figures::default();
        for (_, block) in numbers.iter().flat_map(|number| self.blocks.range(keys(*number))) {
            figures.pairs += u32::from(block.pairs);
            figures.leased += if block.lessee.is_some() { block.pairs.into() } else { 0 };
            figures.in_use += block.in_use;
        }
        figures
    }

    fn block(&self, local: Local) -> Option<&Held> {
        let (key, block) = self.blocks.range(..=(local.address, local.port)).next_back()?;
        is_in(key.0, key.1, block.pairs, local).then_some(block)
    }

    fn block_mut(&mut self, local: Local) -> Option<&mut Held> {
        let (key, block) = self.blocks.range_mut(..=(local.address, local.port)).next_back()?;
        is_in(key.0, key.1, block.pairs, local).then_some(block)
    }
}

fn keys(number: u16) -> core::ops::RangeInclusive<(u16, u16)> {
    (number, 0)..=(number, u16::MAX)
}

fn is_in(address: u16, first: u16, pairs: u16, local: Local) -> bool {
    let offset = local.port.checked_sub(first);
    address == local.address
        && offset.is_some_and(|offset| offset.is_multiple_of(2) && offset / 2 < pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Lessee = Lessee(1);
    const TWO: Lessee = Lessee(2);

    fn book(ports: &str) -> Book {
        let text = format!(
            "name = \"msc1\"\n[[group]]\nname = \"access\"\naddresses = [\"192.0.2.1\"]\n\
             ports = \"{ports}\""
        );
        let mut addresses = Addresses::default();
        addresses.configure(&toml::from_str(&text).expect("a section"));
        let mut book = Book::new();
        book.configure(Time::ZERO, &addresses, 64, Duration::from_secs(30));
        book
    }

    fn at(port: u16) -> Local {
        Local { address: 0, port }
    }

    #[test]
    fn blocks_go_to_whoever_asks_first_and_no_pair_to_two() {
        let (mut book, now) = (book("20000-20399"), Time::ZERO);
        assert_eq!(book.figures(&[0]).pairs, 200);
        assert!(book.want(now, ONE, &[0], 100));
        assert!(!book.want(now, ONE, &[0], 100), "it has them");
        assert!(book.want(now, TWO, &[0], 1_000));
        let firsts = |book: &Book, lessee| -> Vec<(u16, u16)> {
            book.blocks_of(lessee, &[0]).iter().map(|it| (it.first, it.pairs)).collect()
        };
        assert_eq!(firsts(&book, ONE), [(20_000, 64), (20_128, 64)]);
        assert_eq!(firsts(&book, TWO), [(20_256, 64), (20_384, 8)]);
        assert_eq!(book.lessee(at(20_398)), Some(TWO));
        for port in [20_400, 20_001, 19_998] {
            assert_eq!(book.lessee(at(port)), None, "{port}");
        }
    }

    #[test]
    fn a_block_that_is_given_back_serves_its_streams_and_rests_before_another_one_gets_it() {
        let (mut book, at_s) = (book("20000-20255"), |s| Time::ZERO + Duration::from_secs(s));
        book.want(at_s(1), ONE, &[0], 128);
        book.taken(at(20_000));
        assert!(book.want(at_s(2), ONE, &[0], 64));
        assert_eq!(book.blocks_of(ONE, &[0])[0].first, 20_000, "the one without a stream goes");
        assert_eq!(book.lessee(at(20_128)), Some(ONE), "it may not have heard yet");
        book.forget(at_s(3), ONE);
        book.sweep(at_s(32));
        assert!(book.want(at_s(32), TWO, &[0], 64));
        assert_eq!(book.blocks_of(TWO, &[0])[0].first, 20_128);
        book.sweep(at_s(100));
        assert!(!book.want(at_s(100), TWO, &[0], 128), "a stream stands there");
        book.returned(at_s(101), at(20_000));
        book.sweep(at_s(130));
        assert!(!book.want(at_s(130), TWO, &[0], 128), "its packets may still come");
        book.sweep(at_s(131));
        assert!(book.want(at_s(131), TWO, &[0], 128));
    }

    #[test]
    fn the_last_port_of_all_is_leased_with_its_pair() {
        let mut book = book("65500-65535");
        assert_eq!(book.figures(&[0]).pairs, 18);
        book.want(Time::ZERO, ONE, &[0], 18);
        assert_eq!(book.lessee(at(65_534)), Some(ONE));
    }
}
