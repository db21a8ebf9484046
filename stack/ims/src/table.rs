//! All agreements of a shard, found by REGISTER, by the phone's flow, by private identity.

use crate::set::{Register, Set, Stage};
use ipsec::Endpoint;
use machine::Time;
use machine::slots::{Key, Slots};
use runtime::PortId;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

/// A phone as the function knows it.
pub(crate) type Identity = (PortId, SocketAddr);

/// Public identities of one phone that are told apart; beyond these its associations end with their
/// time alone.
const REGISTERED_MAX: usize = 32;

/// A private identity whose registration the core has accepted.
#[derive(Debug, Default)]
struct Phone {
    /// Its agreements, the newest last.
    keys: Vec<Key>,
    /// The public identities that it has registered, each by a hash.
    registered: Vec<u64>,
}

#[derive(Debug)]
pub(crate) struct Table {
    sets: Slots<Set>,
    by_register: BTreeMap<Register, Key>,
    by_identity: BTreeMap<Identity, Vec<Key>>,
    by_impi: BTreeMap<Box<[u8]>, Phone>,
    /// Registrations under way by source, and in the order in which they began.
    under_way: BTreeMap<u64, u32>,
    begun: VecDeque<Key>,
    under_way_count: usize,
    current: usize,
}

/// A number for an IPv4 address or an IPv6 /64.
fn source_number(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => machine::narrow::halves(address.to_bits())[1],
    }
}

impl Table {
    pub fn new(max: u32, now: Time) -> Self {
        Self {
            sets: Slots::new(max, now),
            by_register: BTreeMap::new(),
            by_identity: BTreeMap::new(),
            by_impi: BTreeMap::new(),
            under_way: BTreeMap::new(),
            begun: VecDeque::new(),
            under_way_count: 0,
            current: 0,
        }
    }

    pub const fn set_max(&mut self, max: u32) {
        self.sets.set_max(max);
    }

    pub fn at(&self, key: Key) -> Option<&Set> {
        self.sets.at(key)
    }

    /// To change what no index and no count is made of.
    pub fn at_mut(&mut self, key: Key) -> Option<&mut Set> {
        self.sets.at_mut(key)
    }

    pub fn user_of(&self, index: u32) -> Option<Key> {
        self.sets.user_of(index)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Key, &Set)> {
        self.sets.iter()
    }

    /// Registrations under way, and agreements whose registration stands.
    pub const fn counts(&self) -> (usize, usize) {
        (self.under_way_count, self.current)
    }

    /// Registrations under way of a source.
    pub fn of_source(&self, source: IpAddr) -> u32 {
        self.under_way.get(&source_number(source)).copied().unwrap_or(0)
    }

    pub fn by_register(&self, register: Register) -> Option<Key> {
        self.by_register.get(&register).copied()
    }

    /// The agreements by which a phone is reached, the newest last.
    pub fn by_identity(&self, identity: Identity) -> &[Key] {
        self.by_identity.get(&identity).map_or(&[], Vec::as_slice)
    }

    /// The agreements whose registration the core has accepted for a private identity, the newest
    /// last.
    pub fn by_impi(&self, impi: &[u8]) -> &[Key] {
        self.by_impi.get(impi).map_or(&[], |phone| phone.keys.as_slice())
    }

    /// A phone has registered a public identity, or taken it back; says whether one is left
    /// (TS 24.229 §5.2.5: associations end with the last).
    pub fn registered(&mut self, impi: &[u8], public: u64, stands: bool) -> bool {
        let Some(phone) = self.by_impi.get_mut(impi) else { return false };
        phone.registered.retain(|other| *other != public);
        if stands && phone.registered.len() < REGISTERED_MAX {
            phone.registered.push(public);
        }
        !phone.registered.is_empty()
    }

    /// A new agreement under way, begun by that REGISTER.
    pub fn offer(&mut self, set: Set, expires: Time) -> Option<Key> {
        let (key, slot) = self.sets.take()?;
        let (register, source) = (set.register, set.source);
        *slot = Set { stage: Stage::Offered, expires, ..set };
        self.sets.arm(key, expires);
        if let Some(register) = register {
            self.by_register.insert(register, key);
        }
        *self.under_way.entry(source_number(source)).or_default() += 1;
        self.under_way_count += 1;
        self.begun.push_back(key);
        Some(key)
    }

    /// The oldest registration under way.
    pub fn oldest(&mut self) -> Option<Key> {
        while let Some(key) = self.begun.front().copied() {
            if self.sets.at(key).is_some_and(|set| set.stage.is_under_way()) {
                return Some(key);
            }
            self.begun.pop_front();
        }
        None
    }

    /// It is found by that identity from now on.
    pub fn identify(&mut self, key: Key, identity: Identity) {
        if let Some(set) = self.sets.at_mut(key) {
            (set.door, set.identity) = identity;
            self.by_identity.entry(identity).or_default().push(key);
        }
    }

    /// A REGISTER came by it.
    pub fn registers(&mut self, key: Key, register: Register, deregisters: bool) {
        if let Some(set) = self.sets.at_mut(key) {
            let before = set.register.replace(register);
            set.deregisters = deregisters;
            if let Some(before) = before.filter(|before| *before != register)
                && self.by_register.get(&before) == Some(&key)
            {
                self.by_register.remove(&before);
            }
        }
    }

    /// It goes on to another stage, and ends at `expires`.
    pub fn advance(&mut self, key: Key, stage: Stage, expires: Time) {
        let Some(set) = self.sets.at_mut(key) else { return };
        let before = core::mem::replace(&mut set.stage, stage);
        set.expires = expires;
        let source = set.source;
        // The core has proven the identity only now: before, anybody could name it.
        if stage == Stage::Current && before != Stage::Current {
            self.by_impi.entry(set.impi.clone()).or_default().keys.push(key);
        }
        self.sets.arm(key, expires);
        self.count(before, stage, source);
    }

    fn count(&mut self, before: Stage, after: Stage, source: IpAddr) {
        if before.is_under_way() && !after.is_under_way() {
            self.under_way_count -= 1;
            let number = source_number(source);
            if let Some(count) = self.under_way.get_mut(&number) {
                *count -= 1;
                if *count == 0 {
                    self.under_way.remove(&number);
                }
            }
            if self.begun.len() > 2 * self.under_way_count + 1_024 {
                let sets = &self.sets;
                let is_under_way =
                    |key: &Key| sets.at(*key).is_some_and(|set| set.stage.is_under_way());
                self.begun.retain(is_under_way);
            }
        }
        self.current += usize::from(after == Stage::Current);
        self.current -= usize::from(before == Stage::Current);
    }

    /// Ends an agreement and its associations.
    pub fn remove(&mut self, key: Key, esp: &mut Endpoint) {
        self.advance(key, Stage::Ending, Time::MAX);
        let Some(set) = self.sets.at_mut(key) else { return };
        let (register, identity) = (set.register, (set.door, set.identity));
        let (impi, associations) = (core::mem::take(&mut set.impi), set.associations);
        if let Some(associations) = associations {
            esp.remove(associations);
        }
        if let Some(register) = register
            && self.by_register.get(&register) == Some(&key)
        {
            self.by_register.remove(&register);
        }
        unlist(&mut self.by_identity, &identity, key);
        if let Some(phone) = self.by_impi.get_mut(&impi) {
            phone.keys.retain(|other| *other != key);
            if phone.keys.is_empty() {
                self.by_impi.remove(&impi);
            }
        }
        self.sets.give_back(key);
    }

    pub fn deadline(&self) -> Option<Time> {
        self.sets.deadline()
    }

    pub fn expire(&mut self, now: Time, due: &mut Vec<Key>) {
        self.sets.expire(now, due);
    }
}

fn unlist<K: Ord>(index: &mut BTreeMap<K, Vec<Key>>, at: &K, key: Key) {
    if let Some(keys) = index.get_mut(at) {
        keys.retain(|other| *other != key);
        if keys.is_empty() {
            index.remove(at);
        }
    }
}
