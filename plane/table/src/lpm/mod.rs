//! Longest-prefix match for all tables of an address family: one [`Routes`] writes them, workers
//! look up in [`Lookups`] while it does. A route's value is the number of its next hop
//! ([`crate::hop`]), 0 where there is no route.

mod address;

pub use address::{Address, Prefix};

use crate::epoch::{Domain, Published, Publisher, Reader};
use crate::memory::Full;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tables of a family at most.
pub const TABLES_MAX: usize = 1 << 16;
/// Addresses of a batch at most.
pub const BATCH_MAX: usize = 256;
/// Next hops are below this number.
pub const HOP_END: u32 = 1 << 31;
/// What a lookup answers where there is no route.
pub const NO_HOP: u32 = 0;

type Content<A> = BTreeMap<(u32, u8, A), u32>;

/// The writer's half: all tables of an address family.
pub struct Routes<A: Address> {
    publisher: Publisher<Content<A>>,
}

/// The readers' half.
pub struct Lookups<A: Address> {
    published: Arc<Published<Content<A>>>,
}

impl<A: Address> Routes<A> {
    /// Tables without routes, to be read by readers of `domain`.
    ///
    /// # Errors
    /// [`Full`] when the kernel gives no memory.
    pub fn new(domain: &Arc<Domain>) -> Result<Self, Full> {
        Ok(Self { publisher: Publisher::new(domain, Content::new()) })
    }

    /// What workers look up in.
    #[must_use]
    pub fn lookups(&self) -> Arc<Lookups<A>> {
        Arc::new(Lookups { published: self.publisher.published() })
    }

    /// The prefix leads to `hop` from now on; returns where it led before.
    ///
    /// # Errors
    /// [`Full`], and nothing was changed.
    ///
    /// # Panics
    /// When `table` is not below [`TABLES_MAX`] or `hop` not below [`HOP_END`].
    pub fn insert(&mut self, table: u32, prefix: Prefix<A>, hop: u32) -> Result<Option<u32>, Full> {
        assert!((table as usize) < TABLES_MAX && hop < HOP_END, "numbers are below their limits");
        let mut content = self.publisher.value().clone();
        let before = content.insert((table, prefix.length(), prefix.address()), hop);
        self.publisher.publish(content);
        Ok(before)
    }

    /// There is no such prefix from now on; returns where it led.
    ///
    /// # Errors
    /// [`Full`], and nothing was changed.
    pub fn remove(&mut self, table: u32, prefix: Prefix<A>) -> Result<Option<u32>, Full> {
        let mut content = self.publisher.value().clone();
        let before = content.remove(&(table, prefix.length(), prefix.address()));
        self.publisher.publish(content);
        Ok(before)
    }

    /// Replaces all routes of a table at once: a reader sees the old table or the new one.
    ///
    /// # Errors
    /// [`Full`], and nothing was changed.
    pub fn load(&mut self, table: u32, routes: &[(Prefix<A>, u32)]) -> Result<(), Full> {
        let mut content = self.publisher.value().clone();
        content.retain(|(of, ..), _| *of != table);
        for (prefix, hop) in routes {
            content.insert((table, prefix.length(), prefix.address()), *hop);
        }
        self.publisher.publish(content);
        Ok(())
    }

    /// The table has no route from now on.
    pub fn clear(&mut self, table: u32) {
        let mut content = self.publisher.value().clone();
        content.retain(|(of, ..), _| *of != table);
        self.publisher.publish(content);
    }

    /// Where exactly this prefix leads.
    #[must_use]
    pub fn route(&self, table: u32, prefix: Prefix<A>) -> Option<u32> {
        self.publisher.value().get(&(table, prefix.length(), prefix.address())).copied()
    }

    /// Routes of a table.
    #[must_use]
    pub fn len(&self, table: u32) -> usize {
        self.publisher.value().keys().filter(|(of, ..)| *of == table).count()
    }

    /// Whether a table has no route.
    #[must_use]
    pub fn is_empty(&self, table: u32) -> bool {
        self.len(table) == 0
    }
}

impl<A: Address> Lookups<A> {
    /// The next hop of an address; [`NO_HOP`] without a route or a table.
    ///
    /// # Panics
    /// When the reader is away or of another domain.
    #[must_use]
    pub fn lookup(&self, reader: &Reader, table: u32, address: A) -> u32 {
        let content = self.published.read(reader);
        let at = |length| content.get(&(table, length, address.masked(length)));
        (0..=A::BITS).rev().find_map(at).copied().unwrap_or(NO_HOP)
    }

    /// The next hops of addresses that are looked up in one table.
    ///
    /// # Panics
    /// When there are more than [`BATCH_MAX`], or `hops` is shorter than `addresses`.
    pub fn lookup_batch(&self, reader: &Reader, table: u32, addresses: &[A], hops: &mut [u32]) {
        assert!(addresses.len() <= BATCH_MAX && hops.len() >= addresses.len(), "a batch");
        for (address, hop) in addresses.iter().zip(hops) {
            *hop = self.lookup(reader, table, *address);
        }
    }

    /// The next hops of addresses that are looked up each in a table of its own.
    ///
    /// # Panics
    /// As [`Lookups::lookup_batch`], and when `tables` is shorter than `addresses`.
    pub fn lookup_each(&self, reader: &Reader, tables: &[u32], addresses: &[A], hops: &mut [u32]) {
        assert!(addresses.len() <= BATCH_MAX && hops.len() >= addresses.len(), "a batch");
        assert!(tables.len() >= addresses.len(), "a table for each address");
        for ((address, table), hop) in addresses.iter().zip(tables).zip(hops) {
            *hop = self.lookup(reader, *table, *address);
        }
    }
}
