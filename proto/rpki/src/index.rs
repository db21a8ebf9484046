//! Where among sorted addresses to search: places of equal width, and narrower ones inside of those
//! that are crowded. Registries give out blocks, so that most addresses crowd together in few.

/// Places of the whole at most, and of a crowded place.
const PLACES_MAX: usize = 1 << 16;
/// Addresses of a place that are searched without further help, at most.
const CROWDED: usize = 16;

/// An address as a number.
pub(crate) trait Address: Copy + Ord + Default {
    /// The number of its bits.
    const BITS: u8;
    /// What lies behind the first `bits` bits cleared.
    fn masked(self, bits: u8) -> Self;
    /// How many times 2^`shift` it lies behind `base`; as good as infinite if that does not fit.
    fn steps(self, base: Self, shift: u32) -> usize;
    /// The least shift by which it lies less than `places` steps behind `base`.
    fn shift(self, base: Self, places: usize) -> u32;
}

/// The number of a record or a level: what caches tell is bounded far below 2^32.
pub(crate) fn number(place: usize) -> u32 {
    u32::try_from(place).expect("fewer than 2^32 records")
}

macro_rules! address {
    ($number:ident, $bits:literal) => {
        impl Address for $number {
            const BITS: u8 = $bits;

            #[inline]
            fn masked(self, bits: u8) -> Self {
                let shift = Self::BITS - u32::from(bits);
                self.checked_shr(shift).map_or(0, |it| it << shift)
            }

            #[inline]
            fn steps(self, base: Self, shift: u32) -> usize {
                usize::try_from(self.saturating_sub(base) >> shift).unwrap_or(usize::MAX)
            }

            fn shift(self, base: Self, places: usize) -> u32 {
                let width = Self::BITS - self.saturating_sub(base).leading_zeros();
                width.saturating_sub(places.ilog2())
            }
        }
    };
}

address!(u32, 32);
address!(u128, 128);

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// How many addresses lie before it.
    from: u32,
    /// One more than the number of its narrower places; zero for none.
    inside: u32,
}

/// Places of equal width.
#[derive(Debug, Clone, Copy)]
struct Level<A> {
    base: A,
    shift: u32,
    /// Where its places begin, and their number. One more behind them says where the last ends.
    at: usize,
    count: usize,
}

impl<A: Address> Level<A> {
    #[inline]
    fn place(&self, address: A) -> usize {
        self.at + address.steps(self.base, self.shift).min(self.count - 1)
    }
}

/// The index of a row of addresses.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index<A> {
    /// The whole first.
    levels: Vec<Level<A>>,
    places: Vec<Place>,
}

impl<A: Address> Index<A> {
    /// The index of `count` addresses in order.
    pub(crate) fn new(count: usize, address: impl Fn(usize) -> A) -> Self {
        let mut index = Self { levels: Vec::new(), places: Vec::new() };
        if count == 0 {
            return index;
        }
        index.put_level(0, count, &address);
        for place in 0..index.levels[0].count {
            let (from, to) = (index.places[place].from, index.places[place + 1].from);
            let (from, to) = (from as usize, to as usize);
            // Addresses that are all the same cannot be told apart.
            if to - from > CROWDED && address(from) != address(to - 1) {
                index.put_level(from, to, &address);
                index.places[place].inside = number(index.levels.len());
            }
        }
        index
    }

    /// Adds the places of the addresses `from..to`, of which there is at least one.
    fn put_level(&mut self, from: usize, to: usize, address: &impl Fn(usize) -> A) {
        // Two at least: a shift by all bits is none.
        let places = ((to - from) / 4).next_power_of_two().clamp(2, PLACES_MAX);
        let (base, last) = (address(from), address(to - 1));
        let shift = last.shift(base, places);
        let count = last.steps(base, shift) + 1;
        let level = Level { base, shift, at: self.places.len(), count };
        self.levels.push(level);
        let mut next = from;
        for place in level.at..level.at + count {
            self.places.push(Place { from: number(next), inside: 0 });
            while next < to && level.place(address(next)) == place {
                next += 1;
            }
        }
        self.places.push(Place { from: number(to), inside: 0 });
    }

    /// Which addresses to search: all before them are less, all behind them greater.
    #[inline]
    pub(crate) fn range(&self, address: A) -> (usize, usize) {
        let Some(whole) = self.levels.first() else { return (0, 0) };
        let mut at = whole.place(address);
        if let Some(inside) = self.places[at].inside.checked_sub(1) {
            at = self.levels[inside as usize].place(address);
        }
        (self.places[at].from as usize, self.places[at + 1].from as usize)
    }

    /// Octets of memory.
    pub(crate) const fn bytes(&self) -> usize {
        self.levels.capacity() * size_of::<Level<A>>() + self.places.capacity() * size_of::<Place>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<A: Address + core::fmt::Debug>(mut addresses: Vec<A>, asked: &[A]) {
        addresses.sort_unstable();
        let index = Index::new(addresses.len(), |at| addresses[at]);
        for address in addresses.iter().chain(asked) {
            let (from, to) = index.range(*address);
            let rank = addresses.partition_point(|it| it <= address);
            assert!((from..=to).contains(&rank), "{address:?}: {rank} is not in {from}..={to}");
        }
    }

    #[test]
    fn every_address_is_searched_for_where_it_is() {
        let mixed = |it: u32| it.wrapping_mul(2_654_435_761);
        let edges = [0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xA00_0000, u32::MAX - 1, u32::MAX];
        for count in [0, 1, 2, 3, 7, 8, 9, 17, 100, 5_000] {
            // Spread, crowded in two blocks, all the same, and at both ends.
            check((0..count).map(mixed).collect(), &edges);
            check((0..count).map(|it| 0xA00_0000 * (1 + it % 2) + it).collect(), &edges);
            check((0..count).map(|_| 0xA00_0000).collect(), &edges);
            check(
                (0..count).map(|it| if it % 2 == 0 { it } else { u32::MAX - it }).collect(),
                &edges,
            );
            let wide = |it: u32| u128::from(mixed(it)) << (96 - it % 3 * 40);
            check((0..count).map(wide).collect(), &edges.map(|it| u128::from(it) << 96));
        }
    }

    #[test]
    fn a_crowd_is_told_apart() {
        let addresses: Vec<u32> =
            (0..4_096).map(|it| 0x2001_0000 + it).chain([1, u32::MAX]).collect();
        let mut sorted = addresses;
        sorted.sort_unstable();
        let index = Index::new(sorted.len(), |at| sorted[at]);
        let (from, to) = index.range(0x2001_0800);
        assert!(to - from <= CROWDED, "{from}..{to}");
    }
}
