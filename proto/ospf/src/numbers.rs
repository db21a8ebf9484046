//! The numbers of packets with digests, so that none is believed that was sent before another (RFC
//! 2328 §D.3). The digest covers the router's number and not the addresses around the packet (the
//! hole that RFC 7474 §5 closes): numbers are kept by router and key. They end with the neighbour,
//! for there are routers whose numbers begin anew with their machine (FRR's are its uptime), or
//! outlive it (`keeps_numbers`), so that the recording of a former adjacency proves nothing.

use crate::discard::Discard;
use crate::packet::Proof;
use std::collections::{BTreeMap, BTreeSet};

/// Routers and keys at once. Only who has a key makes one.
const NUMBERS_MAX: usize = 1_024;

/// The last number of each router and key.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    last: BTreeMap<(u32, u8), u32>,
    /// Neighbours that were heard at another address as well: who stands there does so by an old
    /// packet, perhaps, and the numbers outlive it.
    elsewhere: BTreeSet<u32>,
}

impl Numbers {
    /// Takes a number that is not lower than the last one. An equal one is taken: BIRD's rise
    /// only when it was silent for more than a second, so that they stand with hellos of a second.
    pub(crate) fn take(&mut self, router: u32, proof: Proof) -> Result<(), Discard> {
        let Proof { key, sequence } = proof;
        if let Some(last) = self.last.get_mut(&(router, key)) {
            if sequence < *last {
                return Err(Discard::Replay);
            }
            *last = sequence;
            return Ok(());
        }
        if self.last.len() >= NUMBERS_MAX {
            let oldest = self.last.iter().min_by_key(|it| it.1).map(|it| *it.0);
            oldest.and_then(|oldest| self.last.remove(&oldest));
        }
        self.last.insert((router, key), sequence);
        Ok(())
    }

    /// A router that is a neighbour was heard at another address.
    pub(crate) fn is_elsewhere(&mut self, router: u32) {
        self.elsewhere.insert(router);
    }

    /// A neighbour is gone, and may begin anew.
    pub(crate) fn forget(&mut self, router: u32) {
        if !self.elsewhere.remove(&router) {
            self.last.retain(|(it, _), _| *it != router);
        }
    }
}
