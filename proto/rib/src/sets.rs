//! Attribute sets: each combination of peer, attributes and next hop once.

use crate::decide::{Rank, Standing};
use crate::hash::Hash;
use crate::next_hops::{self, NextHops};
use crate::{Kind, NONE, PeerId};
use bgp::codec::{AttributeType, Attributes, Community, ExtendedCommunity, WellKnownCommunity};
use hashbrown::HashTable;

/// What is to be interned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Content<'a> {
    pub(crate) peer: PeerId,
    pub(crate) epoch: u32,
    pub(crate) attributes: &'a [u8],
    /// Of MP_REACH_NLRI; empty where NEXT_HOP says it.
    pub(crate) next_hop: &'a [u8],
    /// The set as it came, where the import policy has changed it; none otherwise.
    pub(crate) came_as: u32,
    /// The import policy refuses it.
    pub(crate) is_refused: bool,
}

/// An attribute set.
#[derive(Debug)]
pub(crate) struct Set {
    /// The attributes, and behind them the next hop.
    octets: Box<[u8]>,
    next_hop_bytes: u8,
    pub(crate) kind: Kind,
    pub(crate) no_export: bool,
    pub(crate) no_advertise: bool,
    /// It has ONLY_TO_CUSTOMER (RFC 9234).
    pub(crate) only_to_customers: bool,
    pub(crate) peer: PeerId,
    pub(crate) epoch: u32,
    pub(crate) rank: Rank,
    /// The set as it came, where the import policy has changed it; none otherwise.
    pub(crate) came_as: u32,
    /// How many paths have it, and sets came as it; none of a free slot.
    pub(crate) references: u32,
    /// The first of them; the others hang on it.
    pub(crate) first: u32,
    /// The set of the same peer that came after it, and the one that came before it.
    pub(crate) newer: u32,
    pub(crate) older: u32,
    /// The class of its route targets; zero where they do not count.
    pub(crate) class: u32,
    /// The hash of its content: a table that grows would read all octets again.
    hash: u64,
}

impl Set {
    pub(crate) fn attributes(&self) -> &[u8] {
        &self.octets[..self.octets.len() - usize::from(self.next_hop_bytes)]
    }

    pub(crate) fn next_hop(&self) -> &[u8] {
        &self.octets[self.octets.len() - usize::from(self.next_hop_bytes)..]
    }

    /// Octets of attributes and next hop.
    pub(crate) fn bytes(&self) -> u64 {
        self.octets.len() as u64
    }

    /// The next hop that is to be reached; none for one that leads nowhere, is no peer's, or is
    /// refused: nothing leads over that.
    fn leads_to(&self) -> Option<core::net::IpAddr> {
        let address = || next_hops::address(self.attributes(), self.next_hop());
        if self.peer.is_none() || self.rank.is_refused() { None } else { address() }
    }

    fn content(&self) -> Content<'_> {
        Content {
            peer: self.peer,
            epoch: self.epoch,
            attributes: self.attributes(),
            next_hop: self.next_hop(),
            came_as: self.came_as,
            is_refused: self.rank.is_refused(),
        }
    }

    /// Whether routes of it look the same to everybody.
    pub(crate) fn says_the_same_as(&self, other: &Self) -> bool {
        self.octets == other.octets
            && self.next_hop_bytes == other.next_hop_bytes
            && self.rank == other.rank
    }

    /// Whether it is of a site (RFC 4364 §7).
    pub(crate) fn is_of_site(&self, site: ExtendedCommunity) -> bool {
        let kind = AttributeType::ExtendedCommunities;
        let value = Attributes::new(self.attributes()).value(kind).unwrap_or_default();
        ExtendedCommunity::all(value).any(|it| it == site)
    }

    pub(crate) fn has_community(&self, wanted: WellKnownCommunity) -> bool {
        has_community(self.attributes(), wanted)
    }
}

fn has_community(attributes: &[u8], wanted: WellKnownCommunity) -> bool {
    let value = Attributes::new(attributes).value(AttributeType::Communities);
    value.is_some_and(|value| Community::all(value).any(|it| it.0 == wanted.number()))
}

/// To whom routes may not be told, read out of the attributes in one walk.
#[derive(Debug, Default, Clone, Copy)]
struct Scope {
    no_export: bool,
    no_advertise: bool,
    only_to_customers: bool,
}

impl Scope {
    fn read(attributes: &[u8]) -> Self {
        let mut scope = Self::default();
        for attribute in Attributes::new(attributes).map_while(Result::ok) {
            match attribute.kind() {
                Some(AttributeType::Communities) => {
                    for community in Community::all(attribute.value) {
                        match WellKnownCommunity::of(community.0) {
                            Some(
                                WellKnownCommunity::NoExport
                                | WellKnownCommunity::NoExportSubconfed,
                            ) => scope.no_export = true,
                            Some(WellKnownCommunity::NoAdvertise) => scope.no_advertise = true,
                            _ => {}
                        }
                    }
                }
                Some(AttributeType::OnlyToCustomer) => scope.only_to_customers = true,
                _ => {}
            }
        }
        scope
    }
}

/// The attribute sets of a table.
#[derive(Debug)]
pub(crate) struct Sets {
    slots: Vec<Set>,
    free: Vec<u32>,
    index: HashTable<u32>,
    hash: Hash,
    /// Where next hops are followed one by one.
    pub(crate) next_hops: Option<Box<NextHops>>,
}

impl Sets {
    pub(crate) fn new(hash: Hash) -> Self {
        let (slots, free, index) = (Vec::new(), Vec::new(), HashTable::new());
        Self { slots, free, index, hash, next_hops: None }
    }

    /// Next hops are followed one by one from now on; the sets that have one, but for own ones.
    pub(crate) fn follow_next_hops(&mut self) -> Vec<u32> {
        let mut hops = NextHops::default();
        let used = (0..).zip(&self.slots).filter(|(_, set)| set.references > 0);
        let led = used.filter_map(|(number, set)| Some((number, set.peer, set.leads_to()?)));
        let linked = led.map(|(number, peer, address)| {
            hops.link(number, peer, address);
            number
        });
        let linked = linked.collect();
        self.next_hops = Some(Box::new(hops));
        linked
    }

    pub(crate) fn get(&self, set: u32) -> &Set {
        &self.slots[set as usize]
    }

    pub(crate) fn get_mut(&mut self, set: u32) -> &mut Set {
        &mut self.slots[set as usize]
    }

    /// Slots, the free ones included.
    pub(crate) fn len(&self) -> u32 {
        crate::number(self.slots.len())
    }

    /// Sets in use.
    pub(crate) fn in_use(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Octets of those in use.
    pub(crate) fn bytes(&self) -> usize {
        let octets: usize = self.slots.iter().map(|set| set.octets.len()).sum();
        octets + self.slots.capacity() * size_of::<Set>()
    }

    /// The hash of a content, for [`Self::find`] and [`Self::insert`].
    pub(crate) fn hash(&self, content: &Content<'_>) -> u64 {
        let hash = self.hash;
        let who = u64::from(content.peer.0) << 32 | u64::from(content.epoch);
        let octets = hash.octets(content.attributes);
        let how = u64::from(content.came_as) << 1 | u64::from(content.is_refused);
        hash.words(who, octets ^ hash.octets(content.next_hop).rotate_left(32)) ^ hash.word(how)
    }

    /// The set of that content, if there is one.
    pub(crate) fn find(&self, hash: u64, content: &Content<'_>) -> Option<u32> {
        let is_it = |&at: &u32| {
            let known = self.get(at);
            known.hash == hash && known.content() == *content
        };
        self.index.find(hash, is_it).copied()
    }

    /// Adds a set that no path has yet, in front of the peer's newest.
    pub(crate) fn insert(
        &mut self,
        hash: u64,
        content: &Content<'_>,
        kind: Kind,
        rank: Rank,
        newest: u32,
    ) -> u32 {
        let mut octets = Vec::with_capacity(content.attributes.len() + content.next_hop.len());
        octets.extend_from_slice(content.attributes);
        octets.extend_from_slice(content.next_hop);
        let standing = rank.standing.with(Standing::REFUSED, content.is_refused);
        let Scope { no_export, no_advertise, only_to_customers } = Scope::read(content.attributes);
        let set = Set {
            octets: octets.into_boxed_slice(),
            next_hop_bytes: u8::try_from(content.next_hop.len())
                .expect("one octet tells the length of a next hop"),
            kind,
            no_export,
            only_to_customers,
            no_advertise,
            peer: content.peer,
            epoch: content.epoch,
            rank: Rank { standing, ..rank },
            came_as: content.came_as,
            references: 0,
            first: NONE,
            newer: NONE,
            older: newest,
            class: 0,
            hash,
        };
        let number = if let Some(number) = self.free.pop() {
            self.slots[number as usize] = set;
            number
        } else {
            self.slots.push(set);
            crate::number(self.slots.len() - 1)
        };
        if newest != NONE {
            self.get_mut(newest).newer = number;
        }
        if content.came_as != NONE {
            self.get_mut(content.came_as).references += 1;
        }
        let slots = &self.slots;
        self.index.insert_unique(hash, number, |&at| slots[at as usize].hash);
        number
    }

    /// The next hop of a set is followed from now on, where they are.
    pub(crate) fn link(&mut self, number: u32) {
        let set = &self.slots[number as usize];
        if let (Some(hops), Some(address)) = (&mut self.next_hops, set.leads_to()) {
            hops.link(number, set.peer, address);
        }
    }

    /// Takes out a set that no path has any more; the peer's newest set afterwards, if it was it.
    pub(crate) fn remove(&mut self, number: u32) -> Option<u32> {
        let hash = self.get(number).hash;
        if let Ok(found) = self.index.find_entry(hash, |&at| at == number) {
            found.remove();
        }
        if let Some(hops) = &mut self.next_hops {
            hops.unlink(number, self.slots[number as usize].peer);
        }
        let set = self.get_mut(number);
        let (newer, older) = (set.newer, set.older);
        set.octets = Box::default();
        set.next_hop_bytes = 0;
        self.free.push(number);
        if older != NONE {
            self.get_mut(older).newer = newer;
        }
        if newer == NONE {
            return Some(older);
        }
        self.get_mut(newer).older = older;
        None
    }
}
