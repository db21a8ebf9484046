//! Bindings by where they were registered from. A million subscribers may share one source (a
//! kept connection, an outbound proxy), so the bindings of a source are a chain through the
//! bindings themselves: putting one in and taking it out costs the same however long it is.

use crate::binding::{Links, NONE};
use crate::index::spread;
use crate::registrar::Registrar;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use machine::narrow::half;
use machine::slots::Key;
use runtime::Flow;
use std::net::IpAddr;

/// The first slot of each chain, by the hash of its source.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    table: HashTable<(u32, u32)>,
}

impl Sources {
    fn first(&self, hash: u32) -> u32 {
        let found = self.table.find(spread(hash), |&(known, _)| known == hash);
        found.map_or(NONE, |&(_, slot)| slot)
    }

    /// Puts `slot` first; returns what was first before.
    fn push(&mut self, hash: u32, slot: u32) -> u32 {
        let is_same = |&(known, _): &(u32, u32)| known == hash;
        match self.table.entry(spread(hash), is_same, |&(known, _)| spread(known)) {
            Entry::Occupied(mut entry) => core::mem::replace(&mut entry.get_mut().1, slot),
            Entry::Vacant(entry) => {
                entry.insert((hash, slot));
                NONE
            }
        }
    }

    /// The chain begins at `after` from now on, if it began at `slot`.
    fn pop(&mut self, hash: u32, slot: u32, after: u32) {
        let found = self.table.find_entry(spread(hash), |&entry| entry == (hash, slot));
        let Ok(mut entry) = found else { return };
        if after == NONE {
            entry.remove();
        } else {
            entry.get_mut().1 = after;
        }
    }

    /// Number of sources: it returns to zero when every binding is gone.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }
}

impl Registrar {
    /// Puts a binding into the chain of its source.
    pub(crate) fn link(&mut self, key: Key) {
        let Some(binding) = self.bindings.at(key) else { return };
        let hash = self.source_hash(&binding.flow);
        let after = self.sources.push(hash, key.index);
        if let Some(binding) = self.bindings.at_mut(key) {
            binding.links = Links { before: NONE, after };
        }
        if let Some(neighbour) = self.bindings.user_mut(after) {
            neighbour.links.before = key.index;
        }
    }

    /// Takes a binding out of the chain of its source.
    pub(crate) fn unlink(&mut self, key: Key) {
        let Some(binding) = self.bindings.at(key) else { return };
        let (hash, Links { before, after }) = (self.source_hash(&binding.flow), binding.links);
        if let Some(neighbour) = self.bindings.user_mut(after) {
            neighbour.links.before = before;
        }
        match self.bindings.user_mut(before) {
            Some(neighbour) => neighbour.links.after = after,
            None => self.sources.pop(hash, key.index, after),
        }
    }

    /// The bindings under the hash of a source, newest first.
    pub(crate) fn chain(&self, flow: &Flow) -> impl Iterator<Item = Key> + '_ {
        let first = self.bindings.user_of(self.sources.first(self.source_hash(flow)));
        core::iter::successors(first, |&key| {
            self.bindings.user_of(self.bindings.at(key)?.links.after)
        })
    }

    fn source_hash(&self, flow: &Flow) -> u32 {
        let mut bytes = [0; 25];
        match flow.remote.ip() {
            IpAddr::V4(ip) => bytes[..4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => bytes[..16].copy_from_slice(&ip.octets()),
        }
        bytes[16..18].copy_from_slice(&flow.remote.port().to_le_bytes());
        bytes[18..20].copy_from_slice(&flow.port.0.to_le_bytes());
        bytes[20] = flow.transport as u8;
        bytes[21..].copy_from_slice(&flow.conn.0.to_le_bytes());
        half(self.hash.hash(&bytes))
    }
}
