//! All agreements of a shard, found by REGISTER, by the phone's flow, by private identity.

use crate::keys;
use crate::set::{Identity, Register, Registration, Set, Stage};
use crate::sources::{Class, Sources};
use ipsec::Endpoint;
use machine::Time;
use machine::slots::{Key, Slots};
use std::collections::{BTreeMap, BTreeSet};

/// Public identities of one phone that are told apart; beyond these its associations end with their
/// time alone.
const REGISTERED_MAX: usize = 32;

/// Agreements of one private identity that it has proven: the one before, the one of now, and one
/// under way (TS 33.203 §7.4).
const SETS_OF_PHONE_MAX: usize = 3;

/// Flows that are kept for phones that have left them, at most.
const VACATED_MAX: usize = 65_536;

/// A private identity that a phone has proven.
#[derive(Debug, Default)]
struct Phone {
    /// Its agreements, the newest last; at most [`SETS_OF_PHONE_MAX`].
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
    /// Those that nobody has proven yet, by a hash of the private identity that they claim.
    claimed: BTreeSet<(u64, u32)>,
    secret: u64,
    /// Flows that have lost their last set while the function still has a registration of their
    /// phone there: nobody else gets them until that is over. The first to end first beside.
    vacated: BTreeMap<Identity, (Box<[u8]>, Time)>,
    vacated_until: BTreeSet<(Time, Identity)>,
    pub sources: Sources,
    begun: u64,
    under_way: usize,
    current: usize,
}

impl Table {
    pub fn new(max: u32, secret: u64, now: Time) -> Self {
        Self {
            sets: Slots::new(max, now),
            by_register: BTreeMap::new(),
            by_identity: BTreeMap::new(),
            by_impi: BTreeMap::new(),
            claimed: BTreeSet::new(),
            secret,
            vacated: BTreeMap::new(),
            vacated_until: BTreeSet::new(),
            sources: Sources::default(),
            begun: 0,
            under_way: 0,
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
        (self.under_way, self.current)
    }

    pub fn by_register(&self, register: Register) -> Option<Key> {
        self.by_register.get(&register).copied()
    }

    /// The agreements by which a phone is reached, the newest last.
    pub fn by_identity(&self, identity: Identity) -> &[Key] {
        self.by_identity.get(&identity).map_or(&[], Vec::as_slice)
    }

    /// The agreements that a phone has proven to be of a private identity, the newest last.
    pub fn by_impi(&self, impi: &[u8]) -> &[Key] {
        self.by_impi.get(impi).map_or(&[], |phone| phone.keys.as_slice())
    }

    /// All agreements that are or claim to be of a private identity: those that it has proven, and
    /// those that anybody has begun in its name.
    pub fn naming<'a>(&'a self, impi: &'a [u8]) -> impl Iterator<Item = &'a Set> + 'a {
        let hash = keys::hash(self.secret, impi);
        let claimed = self.claimed.range((hash, 0)..=(hash, u32::MAX));
        let claimed = claimed.filter_map(|(_, index)| self.sets.user_of(*index));
        let keys = self.by_impi(impi).iter().copied().chain(claimed);
        keys.filter_map(|key| self.sets.at(key)).filter(move |set| *set.impi == *impi)
    }

    /// Whether a phone may be known by that flow: nobody is, and nobody was who may still be
    /// called there.
    pub fn is_free(&self, now: Time, identity: Identity, impi: &[u8]) -> bool {
        let vacated = self.vacated.get(&identity);
        self.by_identity(identity).is_empty()
            && vacated.is_none_or(|(of, until)| **of == *impi || *until <= now)
    }

    /// The last set of a flow has ended before its registration.
    fn vacate(&mut self, identity: Identity, impi: Box<[u8]>, until: Time) {
        self.occupy(identity);
        self.vacated.insert(identity, (impi, until));
        self.vacated_until.insert((until, identity));
        if self.vacated.len() > VACATED_MAX
            && let Some((_, first)) = self.vacated_until.pop_first()
        {
            self.vacated.remove(&first);
        }
    }

    /// A flow has a phone again.
    fn occupy(&mut self, identity: Identity) {
        if let Some((_, until)) = self.vacated.remove(&identity) {
            self.vacated_until.remove(&(until, identity));
        }
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
        self.claimed.insert((keys::hash(self.secret, &set.impi), key.index));
        self.begun += 1;
        *slot = Set { stage: Stage::Offered, expires, begun: self.begun, ..set };
        let class = Class::of(slot);
        self.sets.arm(key, expires);
        if let Some(register) = register {
            self.by_register.insert(register, key);
        }
        self.under_way += 1;
        self.sources.add(source, class, self.begun, key);
        Some(key)
    }

    /// Its phone has proven its private identity, and is known by `identity` from now on. Another
    /// agreement of that phone may be one too many.
    pub fn prove(&mut self, key: Key, identity: Identity) -> Option<Key> {
        let set = self.sets.at_mut(key)?;
        set.identity = identity;
        let (impi, expires) = (set.impi.clone(), set.expires);
        self.claimed.remove(&(keys::hash(self.secret, &impi), key.index));
        self.by_identity.entry(identity).or_default().push(key);
        self.occupy(identity);
        self.advance(key, Stage::Proven, expires);
        let keys = &mut self.by_impi.entry(impi).or_default().keys;
        keys.push(key);
        if keys.len() <= SETS_OF_PHONE_MAX {
            return None;
        }
        let order = |other: &Key| match self.sets.at(*other)?.stage {
            Stage::Ending => Some(0),
            Stage::Offered | Stage::Challenged | Stage::Proven => Some(1),
            Stage::Old => Some(2),
            Stage::Current => Some(3),
        };
        keys.iter().filter(|other| **other != key).min_by_key(|other| order(other)).copied()
    }

    /// A REGISTER came by it.
    pub fn registers(&mut self, key: Key, register: Register, registration: Registration) {
        if let Some(set) = self.sets.at_mut(key) {
            let before = set.register.replace(register);
            set.registration = registration;
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
        let (class, before) = (Class::of(set), set.stage);
        (set.stage, set.expires) = (stage, expires);
        set.usage.was_accepted |= stage == Stage::Current;
        let (after, source, begun) = (Class::of(set), set.source, set.begun);
        self.sets.arm(key, expires);
        if class != after {
            self.sources.remove(source, class, begun);
            self.sources.add(source, after, begun, key);
        }
        self.under_way += usize::from(stage.is_under_way());
        self.under_way -= usize::from(before.is_under_way());
        self.current += usize::from(stage == Stage::Current);
        self.current -= usize::from(before == Stage::Current);
    }

    /// Ends an agreement and its associations.
    pub fn remove(&mut self, key: Key, esp: &mut Endpoint) {
        self.advance(key, Stage::Ending, Time::MAX);
        let Some(set) = self.sets.at_mut(key) else { return };
        let (source, class, begun) = (set.source, Class::of(set), set.begun);
        let (register, identity) = (set.register, set.identity);
        let registered_until = set.usage.registered_until;
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
        self.claimed.remove(&(keys::hash(self.secret, &impi), key.index));
        if let Some(phone) = self.by_impi.get_mut(&impi) {
            phone.keys.retain(|other| *other != key);
            if phone.keys.is_empty() {
                self.by_impi.remove(&impi);
            }
        }
        if registered_until > Time::ZERO && self.by_identity(identity).is_empty() {
            self.vacate(identity, impi, registered_until);
        }
        self.sources.remove(source, class, begun);
        self.sets.give_back(key);
    }

    pub fn deadline(&self) -> Option<Time> {
        self.sets.deadline()
    }

    pub fn expire(&mut self, now: Time, due: &mut Vec<Key>) {
        self.sets.expire(now, due);
        while let Some((_, first)) = self.vacated_until.first().filter(|(at, _)| *at <= now) {
            self.occupy(*first);
        }
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
