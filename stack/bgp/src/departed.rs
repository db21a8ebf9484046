//! Peers from ranges whose session has stood and ended: who is missed, since when and why.
//!
//! ```text
//!            the session ended                    remember_s is over, an operator forgets it,
//!   a peer ────────────────────→ Departed ──────→ its range is no more, too many left after it
//!     ↑                             │
//!     └──── its session stands ─────┘ what it had flapped goes on
//! ```
//! A configured peer is missed by itself: its session is always there. One from a range would leave
//! nothing behind.

use crate::config::{PEERS_MAX, Resolved};
use crate::peers::{Peer, Peers};
use machine::{Duration, Time};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Peers of one range that are remembered at most; the one that went first is forgotten.
pub const DEPARTED_MAX: usize = 256;

/// A peer that came from a range, and went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departed {
    /// Its name, which is its address.
    pub name: String,
    /// Its address.
    pub address: IpAddr,
    /// Its group.
    pub group: String,
    /// Its AS.
    pub asn: Option<u32>,
    /// Its BGP Identifier.
    pub identifier: Option<u32>,
    /// Whether it is a client of this node.
    pub client: bool,
    /// When its session ended.
    pub at: Time,
    /// Why.
    pub why: String,
    /// How often its session has ended since it is remembered.
    pub flaps: u64,
    /// The range that it came from: its first address and its length.
    range: (IpAddr, u8),
}

/// Those that are remembered, by address.
#[derive(Debug, Default)]
pub(crate) struct DepartedPeers {
    rows: BTreeMap<IpAddr, Departed>,
}

impl DepartedPeers {
    /// The session of a peer has ended.
    pub(crate) fn note(&mut self, now: Time, resolved: &Resolved, peer: &Peer) {
        let address = peer.settings.address.to_canonical();
        let range = resolved.ranges.iter().find(|range| range.has(address));
        let Some(range) = range.filter(|_| peer.settings.is_dynamic) else { return };
        let is_kept = resolved.groups.get(range.group).is_some_and(|it| !it.remember.is_zero());
        if !is_kept {
            return;
        }
        let range = (range.prefix, range.length);
        let offered = peer.negotiated.as_ref().map(|it| &it.peer);
        let gone = Departed {
            name: peer.settings.name.clone(),
            address,
            group: peer.settings.group.clone().unwrap_or_default(),
            asn: offered.map(|it| it.asn),
            identifier: offered.map(|it| it.identifier),
            client: peer.settings.client,
            at: now,
            why: peer.ending.as_ref().map_or_else(String::new, |it| it.text.clone()),
            flaps: peer.flaps(),
            range,
        };
        self.rows.insert(address, gone);
        let of_range = || self.rows.values().filter(|it| it.range == range);
        let first = match (of_range().count() > DEPARTED_MAX, self.rows.len() > PEERS_MAX) {
            (true, _) => of_range().min_by_key(|it| it.at),
            (false, true) => self.rows.values().min_by_key(|it| it.at),
            (false, false) => None,
        };
        if let Some(address) = first.map(|it| it.address) {
            self.rows.remove(&address);
        }
    }

    /// The session of a peer stands: it is missed no more. How often it had ended before.
    pub(crate) fn came_back(&mut self, address: IpAddr) -> u64 {
        self.rows.remove(&address.to_canonical()).map_or(0, |it| it.flaps)
    }

    /// Forgets those that are remembered for long enough, or whose range is no more.
    pub(crate) fn expire(&mut self, now: Time, resolved: &Resolved) {
        self.rows.retain(|address, it| {
            let range = resolved.ranges.iter().find(|range| range.has(*address));
            let group = range.and_then(|range| resolved.groups.get(range.group));
            group.is_some_and(|group| {
                group.name() == it.group && !is_over(now, it.at, group.remember)
            })
        });
    }

    /// Forgets one, or all; how many there were.
    pub(crate) fn forget(&mut self, address: Option<IpAddr>) -> usize {
        let before = self.rows.len();
        match address {
            Some(address) => drop(self.rows.remove(&address.to_canonical())),
            None => self.rows.clear(),
        }
        before - self.rows.len()
    }

    /// Those that no peer has taken the place of, by address.
    pub(crate) fn away<'a>(&'a self, peers: &'a Peers) -> impl Iterator<Item = &'a Departed> {
        self.rows.values().filter(|it| peers.of_address(it.address).is_none())
    }

    /// Those of which a session is wanted.
    pub(crate) fn missed<'a>(&'a self, peers: &'a Peers) -> impl Iterator<Item = &'a Departed> {
        let peer = |it: &Departed| peers.of_address(it.address).and_then(|id| peers.get(id));
        self.rows.values().filter(move |it| peer(it).is_none_or(|peer| peer.held.is_none()))
    }

    /// Whether a peer is one of them.
    pub(crate) fn misses(&self, peer: &Peer) -> bool {
        peer.held.is_none() && self.rows.contains_key(&peer.settings.address.to_canonical())
    }
}

fn is_over(now: Time, at: Time, remember: Duration) -> bool {
    at + remember <= now
}
