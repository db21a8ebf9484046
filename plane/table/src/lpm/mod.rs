//! Longest-prefix match for all tables of an address family: one [`Routes`] writes them, workers
//! look up in [`Lookups`] while it does. A route's value is the number of its next hop
//! ([`crate::hop`]), 0 where there is no route.

mod address;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512;
mod batch;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod descend;
mod find;
mod node;
mod prefix_expansion;
#[cfg(test)]
mod tests;

pub use address::{Address, Prefix};

use crate::epoch::{Domain, Reader};
use crate::lanes::Lanes;
use crate::memory::{Full, LINE_WORDS, Lines, Region};
use batch::Unit;
use find::Walk;
use hashbrown::HashMap;
use node::{Class, Entry, Nodes, SIZES};
use prefix_expansion::Change;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Tables of a family at most.
pub const TABLES_MAX: usize = 1 << 16;
/// Addresses of a batch at most.
pub const BATCH_MAX: usize = 256;
/// Next hops are below this number.
pub const HOP_END: u32 = 1 << 31;
/// What a lookup answers where there is no route.
pub const NO_HOP: u32 = 0;

/// Lines of memory that the tables of a family have together: 8 GB, which is there once touched.
const LINES_MAX: usize = if cfg!(miri) { 1 << 16 } else { 1 << 27 };
/// Lines that one change may need: a node that grows to a wide for each chunk of the address.
const CHANGE_LINES_MAX: usize = 8 * (4097 + 17 + 4 * 33);
/// From so many routes on the root of a table decides 16 bits at once (256 KB), and with less
/// than a quarter of them no more.
const WIDE_ROUTES: usize = 16_384;
/// From so many routes on the root of an IPv4 table decides 24 bits at once (64 MB). For IPv6 that
/// was no faster, measured with 250,000 routes: what it saves in steps it loses in caches.
const TOP_ROUTES: usize = 100_000;

/// What the root of a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Kind {
    /// What the routes need: nothing for none, a cache line for few.
    #[default]
    Small,
    Wide,
    Top,
}

/// What the writer knows of a table.
struct Table<A> {
    routes: HashMap<Prefix<A>, u32>,
    /// One bit for each length that a route ever had.
    lengths: [u64; 3],
    kind: Kind,
}

/// The writer's half: all tables of an address family.
pub struct Routes<A: Address> {
    nodes: Nodes,
    tables: Vec<Option<Box<Table<A>>>>,
    lookups: Arc<Lookups<A>>,
}

/// The readers' half.
pub struct Lookups<A: Address> {
    domain: Arc<Domain>,
    region: Arc<Region>,
    shorts: Option<Arc<Region>>,
    /// The word of the first root.
    roots: usize,
    unit: Unit,
    family: PhantomData<fn(A)>,
}

impl<A: Address> Routes<A> {
    /// Tables without routes, to be read by readers of `domain`.
    ///
    /// # Errors
    /// [`Full`] when the kernel gives no memory.
    pub fn new(domain: &Arc<Domain>) -> Result<Self, Full> {
        Self::with_lanes(domain, Lanes::best())
    }

    /// The same, looked up with narrower vectors than the best.
    ///
    /// # Errors
    /// [`Full`] when the kernel gives no memory.
    ///
    /// # Panics
    /// When this machine has no such vectors.
    pub fn with_lanes(domain: &Arc<Domain>, lanes: Lanes) -> Result<Self, Full> {
        let lines = Lines::new(domain, LINES_MAX, SIZES)?;
        let nodes = Nodes::new(lines, LINES_MAX, A::BITS == 32)?;
        let lookups = Lookups {
            domain: Arc::clone(domain),
            region: Arc::clone(nodes.lines.region()),
            shorts: nodes.shorts.clone(),
            roots: nodes.roots,
            unit: Unit::new(lanes),
            family: PhantomData,
        };
        Ok(Self { nodes, tables: Vec::new(), lookups: Arc::new(lookups) })
    }

    /// What workers look up in.
    #[must_use]
    pub fn lookups(&self) -> Arc<Lookups<A>> {
        Arc::clone(&self.lookups)
    }

    /// The prefix leads to `hop` from now on; returns where it led before.
    ///
    /// # Errors
    /// [`Full`], and nothing was changed.
    ///
    /// # Panics
    /// When `table` is not below [`TABLES_MAX`] or `hop` not below [`HOP_END`].
    pub fn insert(&mut self, table: u32, prefix: Prefix<A>, hop: u32) -> Result<Option<u32>, Full> {
        assert!(hop < HOP_END, "the hop's number is below its limit");
        self.has_room()?;
        let of = self.table(table);
        of.lengths[usize::from(prefix.length()) / 64] |= 1 << (prefix.length() % 64);
        let before = of.routes.insert(prefix, hop);
        if before != Some(hop) {
            self.expand(self.root(table), prefix, 0, hop, prefix.length())?;
        }
        if before.is_none() {
            self.regard(table);
        }
        Ok(before)
    }

    /// There is no such prefix from now on; returns where it led.
    ///
    /// # Errors
    /// [`Full`], and nothing was changed.
    pub fn remove(&mut self, table: u32, prefix: Prefix<A>) -> Result<Option<u32>, Full> {
        self.has_room()?;
        let Some(of) = self.tables.get_mut(table as usize).and_then(Option::as_mut) else {
            return Ok(None);
        };
        let Some(before) = of.routes.remove(&prefix) else { return Ok(None) };
        if of.routes.is_empty() {
            self.clear(table);
            return Ok(Some(before));
        }
        let under = of.under(prefix);
        self.expand(self.root(table), prefix, prefix.length(), under.0, under.1)?;
        self.regard(table);
        Ok(Some(before))
    }

    /// Replaces all routes of a table at once: a reader sees the old table or the new one. Of
    /// several routes of a prefix the last counts.
    ///
    /// # Errors
    /// [`Full`], and nothing was changed.
    ///
    /// # Panics
    /// As [`Routes::insert`].
    pub fn load(&mut self, table: u32, routes: &[(Prefix<A>, u32)]) -> Result<(), Full> {
        assert!(routes.iter().all(|(_, hop)| *hop < HOP_END), "hops are below their limit");
        let mut new = HashMap::with_capacity(routes.len());
        new.extend(routes.iter().copied());
        let kind = Kind::of::<A>(new.len(), Kind::Small);
        let sorted = routes.is_sorted_by_key(|(prefix, _)| *prefix) && new.len() == routes.len();
        let (entry, depth) =
            if sorted { self.build(kind, routes)? } else { self.build(kind, &list(&new))? };
        let of = self.table(table);
        of.lengths = [0; 3];
        for (prefix, _) in routes {
            of.lengths[usize::from(prefix.length()) / 64] |= 1 << (prefix.length() % 64);
        }
        of.routes = new;
        of.kind = kind;
        self.replace_root(table, entry, depth);
        Ok(())
    }

    /// The table has no route from now on, and takes no memory.
    pub fn clear(&mut self, table: u32) {
        let Some(of) = self.tables.get_mut(table as usize) else { return };
        if of.take().is_some() {
            self.replace_root(table, Entry(NO_HOP), 0);
        }
    }

    /// Where exactly this prefix leads.
    #[must_use]
    pub fn route(&self, table: u32, prefix: Prefix<A>) -> Option<u32> {
        self.tables.get(table as usize)?.as_ref()?.routes.get(&prefix).copied()
    }

    /// Routes of a table.
    #[must_use]
    pub fn len(&self, table: u32) -> usize {
        let of = self.tables.get(table as usize).and_then(Option::as_ref);
        of.map_or(0, |of| of.routes.len())
    }

    /// Whether a table has no route.
    #[must_use]
    pub fn is_empty(&self, table: u32) -> bool {
        self.len(table) == 0
    }

    /// The routes of a table, in no order.
    pub fn iter(&self, table: u32) -> impl Iterator<Item = (Prefix<A>, u32)> + '_ {
        let of = self.tables.get(table as usize).and_then(Option::as_ref);
        of.into_iter().flat_map(|of| of.routes.iter().map(|(prefix, hop)| (*prefix, *hop)))
    }

    /// Octets of the memory that readers look up in, for all tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let bytes = self.nodes.lines.bytes();
        if self.nodes.shorts.is_some() { bytes + bytes / 2 } else { bytes }
    }

    /// Makes memory that no worker can hold any more free; done as changes go on.
    pub fn recycle(&mut self) {
        self.nodes.lines.recycle();
    }

    fn root(&self, table: u32) -> usize {
        assert!((table as usize) < TABLES_MAX, "the table's number is below its limit");
        self.nodes.roots + table as usize
    }

    fn table(&mut self, table: u32) -> &mut Table<A> {
        let at = table as usize;
        assert!(at < TABLES_MAX, "the table's number is below its limit");
        if self.tables.len() <= at {
            self.tables.resize_with(at + 1, || None);
        }
        self.tables[at].get_or_insert_with(Box::default)
    }

    fn has_room(&self) -> Result<(), Full> {
        if self.nodes.lines.has(CHANGE_LINES_MAX) { Ok(()) } else { Err(Full) }
    }

    /// What has a depth from `from` to the prefix's own leads to another hop.
    fn expand(
        &mut self,
        root: usize,
        prefix: Prefix<A>,
        from: u8,
        hop: u32,
        depth: u8,
    ) -> Result<(), Full> {
        let (address, length) = (prefix.address(), u32::from(prefix.length()));
        let depths = (from, prefix.length());
        self.nodes.expand(root, &Change { address, length, depths, hop, depth })
    }

    /// Gives the table another root when it has grown or shrunk; leaves it when there is no room.
    fn regard(&mut self, table: u32) {
        let of = self.table(table);
        let kind = Kind::of::<A>(of.routes.len(), of.kind);
        if kind == of.kind {
            return;
        }
        let list = list(&of.routes);
        if let Ok((entry, depth)) = self.build(kind, &list) {
            self.table(table).kind = kind;
            self.replace_root(table, entry, depth);
        }
    }

    /// A table that no reader can find, of routes in order.
    fn build(&mut self, kind: Kind, routes: &[(Prefix<A>, u32)]) -> Result<(Entry, u8), Full> {
        let at = self.nodes.roots + TABLES_MAX;
        self.nodes.set(at, Entry(NO_HOP), 0);
        self.nodes.is_apart = true;
        let built = self.build_at(at, kind, routes);
        let built = built.map(|()| (self.nodes.entry(at), self.nodes.depth(at)));
        if built.is_err() {
            self.nodes.drop_tree(self.nodes.entry(at));
        }
        self.nodes.is_apart = false;
        self.nodes.set(at, Entry(NO_HOP), 0);
        built
    }

    fn build_at(&mut self, at: usize, kind: Kind, routes: &[(Prefix<A>, u32)]) -> Result<(), Full> {
        let class = match kind {
            Kind::Small => None,
            Kind::Wide => Some(Class::Wide),
            Kind::Top => Some(Class::Top),
        };
        if let Some(class) = class {
            let root = self.nodes.array(class, Entry(NO_HOP), 0)?;
            self.nodes.set(at, root, 0);
        }
        for (prefix, hop) in routes {
            self.has_room()?;
            self.expand(at, *prefix, 0, *hop, prefix.length())?;
        }
        Ok(())
    }

    fn replace_root(&mut self, table: u32, entry: Entry, depth: u8) {
        let root = self.root(table);
        let old = self.nodes.entry(root);
        self.nodes.set(root, entry, depth);
        self.nodes.drop_tree(old);
        self.nodes.lines.recycle();
    }
}

/// The routes in the order of their addresses, shorter ones first.
fn list<A: Address>(routes: &HashMap<Prefix<A>, u32>) -> Vec<(Prefix<A>, u32)> {
    let mut list: Vec<_> = routes.iter().map(|(prefix, hop)| (*prefix, *hop)).collect();
    list.sort_unstable_by_key(|(prefix, _)| *prefix);
    list
}

impl Kind {
    /// What a table of so many routes is, which is `now` something.
    fn of<A: Address>(routes: usize, now: Self) -> Self {
        let wanted = |routes: usize| match routes {
            TOP_ROUTES.. if A::BITS == 32 => Self::Top,
            WIDE_ROUTES.. => Self::Wide,
            _ => Self::Small,
        };
        // Between a quarter of a bound and the bound it stays what it is.
        now.clamp(wanted(routes), wanted(routes.saturating_mul(4)))
    }
}

impl<A> Default for Table<A> {
    fn default() -> Self {
        Self { routes: HashMap::new(), lengths: [0; 3], kind: Kind::Small }
    }
}

impl<A: Address> Table<A> {
    /// What the addresses of a prefix lead to without it: the hop, and its prefix's length.
    fn under(&self, prefix: Prefix<A>) -> (u32, u8) {
        for word in (0..=prefix.length() / 64).rev() {
            let below = u32::from(prefix.length()) - 64 * u32::from(word);
            let mask = if below >= 64 { u64::MAX } else { (1 << below) - 1 };
            let mut lengths = self.lengths[usize::from(word)] & mask;
            while lengths != 0 {
                let bit = (lengths.ilog2() & 63) as u8;
                let length = 64 * word + bit;
                if let Some(hop) = self.routes.get(&prefix.shortened(length)) {
                    return (*hop, length);
                }
                lengths &= !(1 << bit);
            }
        }
        (NO_HOP, 0)
    }
}

impl<A: Address> Lookups<A> {
    /// The next hop of an address; [`NO_HOP`] without a route or a table.
    ///
    /// # Panics
    /// When the reader is away or of another domain.
    #[must_use]
    #[inline]
    pub fn lookup(&self, reader: &Reader, table: u32, address: A) -> u32 {
        assert!(reader.reads(&self.domain), "the reader reads this domain");
        self.walk().find(self.root(table), address)
    }

    /// The next hops of addresses that are looked up in one table.
    ///
    /// # Panics
    /// When there are more than [`BATCH_MAX`], or `hops` is shorter than `addresses`.
    pub fn lookup_batch(&self, reader: &Reader, table: u32, addresses: &[A], hops: &mut [u32]) {
        assert!(reader.reads(&self.domain), "the reader reads this domain");
        assert!(addresses.len() <= BATCH_MAX && hops.len() >= addresses.len(), "a batch");
        let hops = &mut hops[..addresses.len()];
        self.unit.one_table(&self.walk(), self.root(table), addresses, hops);
    }

    /// The next hops of addresses that are looked up each in a table of its own; as quick as
    /// [`Lookups::lookup_batch`] where that is the same for all.
    ///
    /// # Panics
    /// As [`Lookups::lookup_batch`], and when `tables` is shorter than `addresses`.
    pub fn lookup_each(&self, reader: &Reader, tables: &[u32], addresses: &[A], hops: &mut [u32]) {
        assert!(reader.reads(&self.domain), "the reader reads this domain");
        assert!(addresses.len() <= BATCH_MAX && hops.len() >= addresses.len(), "a batch");
        assert!(tables.len() >= addresses.len(), "a table for each address");
        let (hops, tables) = (&mut hops[..addresses.len()], &tables[..addresses.len()]);
        let Some(first) = tables.first() else { return };
        if tables.iter().fold(0, |odd, table| odd | (table ^ first)) == 0 {
            return self.unit.one_table(&self.walk(), self.root(*first), addresses, hops);
        }
        for (hop, table) in hops.iter_mut().zip(tables) {
            *hop = self.root(*table).0;
        }
        self.unit.roots_given(&self.walk(), addresses, hops);
    }

    fn walk(&self) -> Walk<'_> {
        Walk { region: &self.region, shorts: self.shorts.as_deref() }
    }

    #[inline]
    fn root(&self, table: u32) -> Entry {
        if table as usize >= TABLES_MAX {
            return Entry(NO_HOP);
        }
        // SAFETY: the roots of all tables lie in the region.
        let root = unsafe { self.region.known_word(self.roots + table as usize) };
        Entry(root.load(Ordering::Acquire))
    }
}

const _: () = assert!(TABLES_MAX.is_multiple_of(LINE_WORDS), "the roots fill their lines");
