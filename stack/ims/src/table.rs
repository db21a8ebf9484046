//! All agreements of a shard, found by REGISTER, by the phone's flow, by private identity.

use crate::keys;
use crate::set::{Associated, Identity, Impi, Register, Registration, Set, Stage};
use crate::sources::{Class, Sources};
use crate::spent::Spent;
use crate::vacated::Vacated;
use aka::digest::SessionKeys;
use ipsec::Endpoint;
use machine::Time;
use machine::slots::{Key, SlotChange, Slots};
use std::collections::{BTreeMap, BTreeSet};

/// Public identities of one phone that are told apart; beyond these its associations end with their
/// time alone.
const REGISTERED_MAX: usize = 32;

/// Agreements of one private identity that it has proven: the one before, the one of now, and one
/// under way (TS 33.203 §7.4).
const SETS_OF_PHONE_MAX: usize = 3;

/// A private identity that a phone has proven.
#[derive(Debug, Default)]
struct Phone {
    /// Its agreements, the newest last; at most [`SETS_OF_PHONE_MAX`].
    keys: Vec<Key>,
    /// The public identities that it has registered, each by a hash.
    registered: Vec<u64>,
}

/// An agreement, and what the table has beside it.
pub(crate) struct Copied<'a> {
    pub set: &'a Set,
    /// Whether it is what its REGISTER has offered.
    pub is_offer: bool,
    /// The public identities that its phone has registered.
    pub registered: &'a [u64],
}

/// The same, of another table.
#[derive(Debug)]
pub(crate) struct Copy {
    pub set: Set,
    pub is_offer: bool,
    pub registered: Vec<u64>,
}

#[derive(Debug)]
pub(crate) struct Table {
    sets: Slots<Set>,
    by_register: BTreeMap<Register, Key>,
    by_identity: BTreeMap<Identity, Vec<Key>>,
    by_impi: BTreeMap<Impi, Phone>,
    /// Those that nobody has proven yet, by a hash of the private identity that they claim.
    claimed: BTreeSet<(u64, u32)>,
    /// Those that are challenged, by the hash of their private identity.
    challenged: BTreeSet<(u64, u32)>,
    secret: u64,
    spent: Spent,
    pub vacated: Vacated,
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
            challenged: BTreeSet::new(),
            secret,
            spent: Spent::default(),
            vacated: Vacated::default(),
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

    /// Whether an agreement that is or claims to be of a private identity waits for the answer to
    /// its challenge. Of those that nobody has challenged, however many, none is looked at.
    pub fn is_challenged(&self, impi: &[u8]) -> bool {
        let hash = keys::hash(self.secret, impi);
        let indices = self.challenged.range((hash, 0)..=(hash, u32::MAX));
        let mut sets = indices.filter_map(|(_, index)| self.sets.at(self.sets.user_of(*index)?));
        sets.any(|set| *set.impi == *impi)
    }

    /// Whether a set has, or has had, associations with these keys.
    pub fn knows_keys(&self, keys: &SessionKeys) -> bool {
        self.spent.knows(Spent::number(self.secret, keys))
    }

    /// The set that has associations with these keys.
    pub fn by_keys(&self, keys: &SessionKeys) -> Option<Key> {
        self.spent.set_of(Spent::number(self.secret, keys))
    }

    /// A set gets its associations, with these keys.
    pub fn associate(&mut self, key: Key, associated: Associated, keys: &SessionKeys) {
        let spent = Spent::number(self.secret, keys);
        if let Some(set) = self.sets.at_mut(key) {
            set.associated = Some(Associated { spent, ..associated });
            self.spent.begin(spent, key);
        }
    }

    /// Whether a phone may be known by that flow: nobody is, and nobody was who may still be
    /// called there.
    pub fn is_free(&self, now: Time, identity: Identity, impi: &[u8]) -> bool {
        self.by_identity(identity).is_empty() && self.vacated.is_free(now, identity, impi)
    }

    /// A phone has registered a public identity, or taken it back; says whether one is left
    /// (TS 24.229 §5.2.5: associations end with the last).
    pub fn registered(&mut self, impi: &[u8], public: u64, stands: bool) -> bool {
        let Some(phone) = self.by_impi.get_mut(impi) else { return false };
        phone.registered.retain(|other| *other != public);
        if stands && phone.registered.len() < REGISTERED_MAX {
            put(&mut phone.registered, public);
        }
        !phone.registered.is_empty()
    }

    /// The network has taken back all public identities that a phone has registered.
    pub fn forget_registered(&mut self, impi: &[u8]) {
        if let Some(phone) = self.by_impi.get_mut(impi) {
            phone.registered.clear();
        }
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
        self.begun += 1;
        set.usage.proven = self.begun;
        let (impi, expires) = (set.impi.clone(), set.expires);
        self.claimed.remove(&(keys::hash(self.secret, &impi), key.index));
        put(self.by_identity.entry(identity).or_default(), key);
        self.vacated.remove(identity);
        self.advance(key, Stage::Proven, expires);
        let keys = &mut self.by_impi.entry(impi).or_default().keys;
        put(keys, key);
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
        if before == Stage::Challenged {
            self.challenged.remove(&(keys::hash(self.secret, &set.impi), key.index));
        }
        if stage == Stage::Challenged {
            self.challenged.insert((keys::hash(self.secret, &set.impi), key.index));
        }
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
        let Some((impi, associations)) = self.unlist(key) else { return };
        if let Some(associations) = associations {
            esp.remove(associations);
        }
        self.spend(key);
        let Some(set) = self.sets.at(key) else { return };
        let (identity, registered_until) = (set.identity, set.usage.registered_until);
        if registered_until > Time::ZERO && self.by_identity(identity).is_empty() {
            self.vacated.put(identity, impi, registered_until);
        }
        self.sets.give_back(key);
    }

    /// Its keys have no associations any more. Nothing leaves by a set before its phone has proven
    /// its card.
    fn spend(&mut self, key: Key) {
        if let Some(set) = self.sets.at(key)
            && let Some(associated) = &set.associated
        {
            self.spent.end(associated.spent, key, set.usage.proven > 0);
        }
    }

    /// Ends all agreements. Flows whose registration stands are kept for their phones, by the last
    /// of each phone's registrations.
    pub fn end_all(&mut self, esp: &mut Endpoint) {
        let until = |set: &Set| set.usage.registered_until;
        let mut keys: Vec<_> = self.iter().map(|(key, set)| (until(set), key)).collect();
        keys.sort_by_key(|(until, _)| *until);
        self.spent.end_all();
        for (_, key) in keys {
            self.remove(key, esp);
        }
    }

    /// Takes an agreement out of all indices and counts; its private identity and where its
    /// associations are.
    fn unlist(&mut self, key: Key) -> Option<(Impi, Option<Key>)> {
        self.advance(key, Stage::Ending, Time::MAX);
        let set = self.sets.at_mut(key)?;
        let (source, class, begun) = (set.source, Class::of(set), set.begun);
        let (register, identity) = (set.register, set.identity);
        let (impi, associations) = (core::mem::take(&mut set.impi), set.associations());
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
        self.sources.remove(source, class, begun);
        Some((impi, associations))
    }

    /// Notes what changes from now on, or no more.
    pub fn watch(&mut self, is_watched: bool) {
        self.sets.watch(is_watched);
        self.vacated.watch(is_watched);
    }

    /// The copy becomes the table itself.
    pub fn settle(&mut self) {
        self.sets.settle();
    }

    /// The next agreements of a snapshot count as changed; where to go on.
    pub fn touch(&mut self, from: u32, most: usize) -> Option<u32> {
        self.sets.touch(from, most)
    }

    /// Tells which agreements changed, as [`Slots::tell`].
    pub fn tell(&mut self, mut tell: impl FnMut(SlotChange<'_, Copied<'_>>) -> u64) {
        let Self { sets, by_register, by_impi, .. } = self;
        sets.tell(|told| match told {
            SlotChange::Gone(next) => tell(SlotChange::Gone(next)),
            SlotChange::Stands(key, set, was) => {
                let of = set.register.and_then(|register| by_register.get(&register));
                let phone = by_impi.get(&set.impi).filter(|_| set.usage.proven > 0);
                let registered = phone.map_or(&[][..], |phone| &phone.registered);
                let copied = Copied { set, is_offer: of == Some(&key), registered };
                tell(SlotChange::Stands(key, &copied, was))
            }
        });
    }

    /// An agreement as another table has it, under the same key. `false`: there is no room.
    pub fn put(&mut self, key: Key, copy: Copy, esp: &mut Endpoint) -> bool {
        let associations = copy.set.associations();
        if let Some(user) = self.sets.user_of(key.index)
            && let Some((_, Some(before))) = self.unlist(user)
            && Some(before) != associations
        {
            esp.remove(before);
            self.spend(user);
        }
        let Some(slot) = self.sets.put(key) else { return false };
        *slot = copy.set;
        if let Some(associated) = &mut slot.associated
            && let Some(keys) = &associated.keys
        {
            associated.spent = Spent::number(self.secret, keys);
            self.spent.begin(associated.spent, key);
        }
        let (stage, class, begun) = (slot.stage, Class::of(slot), slot.begun);
        let (source, expires, proven) = (slot.source, slot.expires, slot.usage.proven);
        let (identity, impi, register) = (slot.identity, slot.impi.clone(), slot.register);
        self.sets.arm(key, expires);
        self.begun = self.begun.max(begun).max(proven);
        self.under_way += usize::from(stage.is_under_way());
        self.current += usize::from(stage == Stage::Current);
        self.sources.add(source, class, begun, key);
        if stage == Stage::Challenged {
            self.challenged.insert((keys::hash(self.secret, &impi), key.index));
        }
        if let Some(register) = register.filter(|_| copy.is_offer) {
            self.by_register.insert(register, key);
        }
        if proven == 0 {
            self.claimed.insert((keys::hash(self.secret, &impi), key.index));
            return true;
        }
        let sets = &self.sets;
        let order = |key: &Key| sets.at(*key).map_or(0, |set| set.usage.proven);
        let by_identity = self.by_identity.entry(identity).or_default();
        put(by_identity, key);
        by_identity.sort_by_key(order);
        let phone = self.by_impi.entry(impi).or_default();
        put(&mut phone.keys, key);
        phone.keys.sort_by_key(order);
        phone.registered = copy.registered;
        phone.registered.truncate(REGISTERED_MAX);
        phone.registered.shrink_to_fit();
        true
    }

    /// The user of that slot is gone from the other table, where `next` names the next one.
    pub fn take_away(&mut self, next: Key, esp: &mut Endpoint) {
        if let Some(user) = self.sets.user_of(next.index)
            && let Some((_, Some(associations))) = self.unlist(user)
        {
            esp.remove(associations);
            self.spend(user);
        }
        self.sets.take_away(next);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.sets.clear();
        self.by_register.clear();
        self.by_identity.clear();
        self.by_impi.clear();
        self.claimed.clear();
        self.challenged.clear();
        self.spent.end_all();
        self.vacated.clear();
        self.sources = Sources::default();
        (self.under_way, self.current) = (0, 0);
    }

    pub fn deadline(&self) -> Option<Time> {
        self.sets.deadline()
    }

    pub fn expire(&mut self, now: Time, due: &mut Vec<Key>) {
        self.sets.expire(now, due);
        self.vacated.expire(now);
    }
}

/// Puts one behind the others, of which there are few: no room is taken for more.
fn put<T>(few: &mut Vec<T>, one: T) {
    few.reserve_exact(1);
    few.push(one);
}

fn unlist<K: Ord>(index: &mut BTreeMap<K, Vec<Key>>, at: &K, key: Key) {
    if let Some(keys) = index.get_mut(at) {
        keys.retain(|other| *other != key);
        if keys.is_empty() {
            index.remove(at);
        }
    }
}
