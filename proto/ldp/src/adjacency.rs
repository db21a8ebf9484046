//! Adjacencies: who was heard, where, and for how long that holds.

use crate::codec::LdpId;
use machine::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where an adjacency is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    /// On a link: the interface and the sender's address there.
    Link(u32, IpAddr),
    /// Anywhere: the sender's address.
    Targeted(IpAddr),
}

#[derive(Debug, Clone)]
pub(crate) struct Adjacency {
    pub(crate) peer: LdpId,
    /// Where the peer's sessions end.
    pub(crate) transport: IpAddr,
    pub(crate) ends: Time,
    /// Both say that packets come with a hop limit of 255.
    pub(crate) has_gtsm: bool,
    /// Its turn among all.
    turn: u64,
}

impl Adjacency {
    pub(crate) const fn new(peer: LdpId, transport: IpAddr, ends: Time, has_gtsm: bool) -> Self {
        Self { peer, transport, ends, has_gtsm, turn: 0 }
    }
}

/// All of them: by place, by peer, and by where sessions end.
#[derive(Debug, Default)]
pub(crate) struct Adjacencies {
    places: BTreeMap<Place, Adjacency>,
    peers: BTreeSet<(LdpId, Place)>,
    transports: BTreeSet<(IpAddr, Place)>,
    turn: u64,
}

const FIRST: Place = Place::Link(0, IpAddr::V4(Ipv4Addr::UNSPECIFIED));
const LAST: Place = Place::Targeted(IpAddr::V6(Ipv6Addr::new(
    0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff,
)));

impl Adjacencies {
    /// One that is there keeps its turn.
    pub(crate) fn insert(&mut self, place: Place, mut it: Adjacency) {
        self.turn += 1;
        it.turn = self.remove(&place).map_or(self.turn, |was| was.turn);
        self.peers.insert((it.peer, place));
        self.transports.insert((it.transport, place));
        self.places.insert(place, it);
    }

    pub(crate) fn remove(&mut self, place: &Place) -> Option<Adjacency> {
        let it = self.places.remove(place)?;
        self.peers.remove(&(it.peer, *place));
        self.transports.remove(&(it.transport, *place));
        Some(it)
    }

    pub(crate) fn of(&self, place: &Place) -> Option<&Adjacency> {
        self.places.get(place)
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Place, &Adjacency)> {
        self.places.iter()
    }

    /// Those of an interface.
    pub(crate) fn on(&self, interface: u32) -> impl Iterator<Item = (&Place, &Adjacency)> {
        let first = Place::Link(interface, IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let of = self.places.range(first..);
        of.take_while(move |it| matches!(it.0, Place::Link(index, _) if *index == interface))
    }

    /// Those of a peer.
    pub(crate) fn of_peer(&self, peer: LdpId) -> impl Iterator<Item = &Adjacency> {
        let of = self.peers.range((peer, FIRST)..=(peer, LAST));
        of.filter_map(|(_, place)| self.places.get(place))
    }

    /// Whether a peer is heard on an interface.
    pub(crate) fn has(&self, peer: LdpId, interface: u32) -> bool {
        let first = Place::Link(interface, IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let next = self.peers.range((peer, first)..=(peer, LAST)).next();
        next.is_some_and(|(_, place)| matches!(place, Place::Link(it, _) if *it == interface))
    }

    /// That of an address for sessions that has stood the longest.
    pub(crate) fn first_at(&self, transport: IpAddr) -> Option<&Adjacency> {
        self.at(transport).min_by_key(|it| it.turn)
    }

    /// Those whose sessions end at an address.
    pub(crate) fn at(&self, transport: IpAddr) -> impl Iterator<Item = &Adjacency> {
        let of = self.transports.range((transport, FIRST)..=(transport, LAST));
        of.filter_map(|(_, place)| self.places.get(place))
    }
}

/// Where a datagram came from.
pub(crate) struct Arrival {
    pub(crate) interface: u32,
    pub(crate) source: IpAddr,
    pub(crate) is_multicast: bool,
    pub(crate) hop_limit: u8,
}
