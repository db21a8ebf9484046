//! The entries of all neighbours, in the order in which they give way, and what becomes of those
//! for whom there is no room (RFC 6583 §6).

use super::shares::{Holder, Tally};
use machine::Time;
use nodes::bucket::{Bucket, Rate};
use program::Mac;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

/// Neighbours of all interfaces at most.
pub const NEIGHBOURS_MAX: usize = 65_536;
/// Neighbours of one interface at most, but for those that the control process names.
pub const NEIGHBOURS_OF_INTERFACE_MAX: usize = 16_384;
/// Gateways of one interface at most: neighbours that hops of the control process go by, which
/// stay as long as these do.
pub const GATEWAYS_OF_INTERFACE_MAX: usize = 8_192;
/// Neighbours that were asked for and have not answered, at most …
pub const ASKED_MAX: usize = 4_096;
/// … and of one interface.
pub const ASKED_OF_INTERFACE_MAX: usize = 512;
/// Neighbours of one interface that spoke of themselves and have not answered yet, at most.
pub const HEARD_OF_INTERFACE_MAX: usize = 1_024;
/// Neighbours of one interface that are asked for anew, because packets go there.
pub const NEW_OF_INTERFACE: Rate = Rate { per_second: 2_000, burst: 512 };
/// How long an address that did not answer is not asked for again.
pub const SILENCE: Duration = Duration::from_secs(3);
/// Addresses of one interface of which that is known, at most.
pub const SILENT_OF_INTERFACE_MAX: usize = 1_024;

pub(super) type Key = (u32, IpAddr);
pub(super) type Held = (u32, Box<[u8]>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Asked,
    Known,
    Probed,
    Static,
}

/// How neighbours give way, the first ones first; those that the control process names never do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Class {
    /// Asked for, and not yet heard.
    Asked,
    /// Heard of itself; it has not answered us.
    Heard,
    /// It has answered.
    Known,
}

/// Why a resolution was not done, or not as it was wanted. By interface.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// Asked for; a newer one took its place before it answered.
    AskedDisplaced,
    /// It spoke of itself; a newer one took its place before it answered us.
    HeardDisplaced,
    /// It was known; its interface held most, and another needed room.
    KnownDisplaced,
    /// There was no room for a new one.
    Full,
    /// Too many new ones a second.
    TooOften,
    /// It did not answer a moment ago.
    Silent,
    /// It spoke, and nobody had asked for it.
    Unasked,
    /// Somebody claimed the address of a neighbour that is known.
    Claimed,
    /// The neighbour that was known answered: the claim was not taken.
    ClaimRefuted,
    /// It did not answer: the claim was taken.
    ClaimTaken,
    /// A packet waited for it, and newer ones took its place.
    HeldDisplaced,
    /// A packet waited for it, and it did not answer.
    HeldUnanswered,
}

impl Reason {
    /// In words that `ctl` shows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AskedDisplaced => "asked_displaced",
            Self::HeardDisplaced => "heard_displaced",
            Self::KnownDisplaced => "known_displaced",
            Self::Full => "full",
            Self::TooOften => "too_often",
            Self::Silent => "silent",
            Self::Unasked => "unasked",
            Self::Claimed => "claimed",
            Self::ClaimRefuted => "claim_refuted",
            Self::ClaimTaken => "claim_taken",
            Self::HeldDisplaced => "held_displaced",
            Self::HeldUnanswered => "held_unanswered",
        }
    }

    /// Why a packet was dropped, if that is counted by it.
    #[must_use]
    pub const fn drops(self) -> Option<&'static str> {
        Some(match self {
            Self::TooOften => "too many new neighbours a second",
            Self::Silent => "its neighbour did not answer a moment ago",
            Self::HeldDisplaced => "held for its neighbour, and newer ones took its place",
            Self::HeldUnanswered => "held for its neighbour, which did not answer",
            _ => return None,
        })
    }
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) number: u32,
    pub(super) hop: u32,
    pub(super) state: State,
    pub(super) mac: Option<Mac>,
    /// Whether it has answered a question of ours.
    pub(super) confirmed: bool,
    /// The MAC address that somebody else claims for it, until it was asked.
    pub(super) claim: Option<Mac>,
    /// Claims before that time are not looked at.
    pub(super) claims_from: Time,
    /// An answer before that time was asked for.
    pub(super) answers_until: Time,
    pub(super) held: Vec<Held>,
    /// Hops of the control process that go by it.
    pub(super) users: u32,
    pub(super) tries: u8,
    pub(super) due: Time,
    holder: Holder,
    /// It counts among the gateways of its interface.
    counts: bool,
    /// Where it stands among those that give way.
    place: Option<(Class, u64)>,
}

impl Entry {
    fn class(&self) -> Option<Class> {
        match (self.state, self.mac) {
            (State::Static, _) => None,
            _ if self.users > 0 => None,
            (_, None) => Some(Class::Asked),
            _ if self.confirmed => Some(Class::Known),
            _ => Some(Class::Heard),
        }
    }
}

/// How many neighbours an interface has, and why others are not there.
#[derive(Clone, Debug, Default)]
pub struct Resolution {
    /// Neighbours in all.
    pub neighbours: usize,
    /// Those that were asked for and have not answered.
    pub asked: usize,
    /// Those that spoke of themselves and have not answered us.
    pub heard: usize,
    /// What was not done, by reason.
    pub counts: BTreeMap<Reason, u64>,
}

/// What is kept of an interface besides its neighbours.
#[derive(Debug, Default)]
struct Link {
    counts: BTreeMap<Reason, u64>,
    new: Bucket,
    silent: BTreeMap<IpAddr, Time>,
    silent_order: BTreeSet<(Time, IpAddr)>,
}

/// All neighbours.
#[derive(Default)]
pub(in super::super) struct Neighbours {
    pub(super) entries: BTreeMap<Key, Entry>,
    pub(super) numbers: BTreeMap<u32, Key>,
    hops: BTreeMap<u32, Key>,
    last_number: u32,
    pub(super) due: BTreeSet<(Time, u32)>,
    /// When addresses are announced (`MAX`: when their interface is up), and how often they were.
    pub(super) announce: BTreeMap<Key, (Time, usize)>,
    /// Those that may give way: interface, class, age.
    order: BTreeSet<(Holder, Class, u64, u32)>,
    age: u64,
    asked: Tally,
    heard: Tally,
    all: Tally,
    gateways: Tally,
    links: BTreeMap<u32, Link>,
    /// Those that a feature watches: their guards, and whether they are lost.
    pub(super) watched: BTreeMap<Key, (u16, bool)>,
}

impl Neighbours {
    /// The neighbour that a hop of the table leads to.
    pub(in super::super) fn of_hop(&self, hop: u32) -> Option<Key> {
        self.hops.get(&hop).copied()
    }

    pub(in super::super) fn hop(&self, key: &Key) -> Option<u32> {
        self.entries.get(key).map(|entry| entry.hop)
    }

    /// Every neighbour: its address, its MAC address if known, and its state in a word.
    pub(in super::super) fn list(&self) -> impl Iterator<Item = (Key, Option<Mac>, String)> {
        self.entries.iter().map(|(key, it)| (*key, it.mac, format!("{:?}", it.state)))
    }

    /// What every interface has, and has not.
    pub(in super::super) fn resolution(&self) -> BTreeMap<u32, Resolution> {
        let mut all: BTreeMap<u32, Resolution> = BTreeMap::new();
        for (number, link) in &self.links {
            all.entry(*number).or_default().counts.clone_from(&link.counts);
        }
        for (key, entry) in &self.entries {
            let of = all.entry(key.0).or_default();
            of.neighbours += 1;
            of.asked += usize::from(entry.mac.is_none());
            of.heard += usize::from(entry.class() == Some(Class::Heard));
        }
        all
    }

    pub(super) fn of_interface(&self, interface: u32) -> Vec<Key> {
        let keys = self.entries.keys().filter(|key| key.0 == interface);
        keys.copied().collect()
    }

    pub(in super::super) fn statics(&self) -> Vec<Key> {
        let fixed = self.entries.iter().filter(|(_, entry)| entry.state == State::Static);
        fixed.map(|(key, _)| *key).collect()
    }

    pub(super) fn schedule(&mut self, key: &Key, at: Time) {
        if let Some(entry) = self.entries.get_mut(key) {
            self.due.remove(&(entry.due, entry.number));
            entry.due = at;
            self.due.insert((at, entry.number));
        }
    }

    pub(super) fn set(&mut self, key: &Key, state: State) {
        if let Some(entry) = self.entries.get_mut(key) {
            (entry.state, entry.tries) = (state, 0);
        }
        self.rank(key);
    }

    /// Puts an entry where it belongs among those that give way: the youngest of its class.
    pub(super) fn rank(&mut self, key: &Key) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let (holder, number, after) = (entry.holder, entry.number, entry.class());
        let before = entry.place.take();
        // An entry grows older as long as it is unheard, however often it is asked for.
        let age = match before {
            Some((class, age)) if Some(class) == after && class != Class::Known => age,
            _ => self.age + 1,
        };
        self.age = self.age.max(age);
        entry.place = after.map(|class| (class, age));
        let is_gateway = entry.users > 0;
        match (core::mem::replace(&mut entry.counts, is_gateway), is_gateway) {
            (false, true) => self.gateways.add(holder),
            (true, false) => self.gateways.take(holder),
            _ => {}
        }
        self.leave(holder, number, before);
        if let Some(class) = after {
            self.order.insert((holder, class, age, number));
            self.all.add(holder);
            match class {
                Class::Asked => self.asked.add(holder),
                Class::Heard => self.heard.add(holder),
                Class::Known => {}
            }
        }
    }

    fn leave(&mut self, holder: Holder, number: u32, place: Option<(Class, u64)>) {
        let Some((class, age)) = place else { return };
        self.order.remove(&(holder, class, age, number));
        self.all.take(holder);
        match class {
            Class::Asked => self.asked.take(holder),
            Class::Heard => self.heard.take(holder),
            Class::Known => {}
        }
    }

    /// The number of the next neighbour.
    pub(super) fn next_number(&self) -> u32 {
        // Numbers come again after 2^32 neighbours; 0 names none.
        let mut number = self.last_number.wrapping_add(1);
        while number == 0 || self.numbers.contains_key(&number) {
            number = number.wrapping_add(1);
        }
        number
    }

    pub(super) fn insert(&mut self, key: Key, vrf: u32, hop: u32, due: Time, users: u32) {
        let number = self.next_number();
        self.last_number = number;
        let entry = Entry {
            number,
            hop,
            state: State::Asked,
            mac: None,
            confirmed: false,
            claim: None,
            claims_from: Time::ZERO,
            answers_until: Time::ZERO,
            held: Vec::new(),
            users,
            tries: 0,
            due,
            holder: (vrf, key.0),
            counts: false,
            place: None,
        };
        self.entries.insert(key, entry);
        self.numbers.insert(number, key);
        self.hops.insert(hop, key);
        self.due.insert((due, number));
        self.rank(&key);
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Entry> {
        let entry = self.entries.remove(key)?;
        self.leave(entry.holder, entry.number, entry.place);
        if entry.counts {
            self.gateways.take(entry.holder);
        }
        self.numbers.remove(&entry.number);
        self.hops.remove(&entry.hop);
        self.due.remove(&(entry.due, entry.number));
        Some(entry)
    }

    /// Whether a neighbour is a gateway, or may become one.
    pub(super) fn may_be_gateway(&self, key: &Key, holder: Holder) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.counts)
            || self.gateways.of(holder) < GATEWAYS_OF_INTERFACE_MAX
    }

    /// Who has to go so that one more of a class (`None`: of those that stay) finds room.
    ///
    /// # Errors
    /// When nobody may go for it.
    pub(super) fn room(
        &self,
        holder: Holder,
        class: Option<Class>,
    ) -> Result<Option<(Key, Reason)>, Reason> {
        if let Some(oldest) = class.and_then(|class| self.over(holder, class)) {
            return Ok(Some(oldest));
        }
        let is_kept = class.is_none();
        if !is_kept && self.all.of(holder) >= NEIGHBOURS_OF_INTERFACE_MAX {
            // Those that answered stay before those that are new.
            return self.oldest(holder, Class::Asked, Class::Heard).map(Some).ok_or(Reason::Full);
        }
        if self.entries.len() < NEIGHBOURS_MAX {
            return Ok(None);
        }
        let most = self.all.most().ok_or(Reason::Full)?;
        let last = if most == holder && !is_kept { Class::Heard } else { Class::Known };
        self.oldest(most, Class::Asked, last).map(Some).ok_or(Reason::Full)
    }

    /// Who has to go because there are enough of its class.
    pub(super) fn over(&self, holder: Holder, class: Class) -> Option<(Key, Reason)> {
        let holds_most = match class {
            Class::Asked if self.asked.of(holder) >= ASKED_OF_INTERFACE_MAX => Some(holder),
            Class::Asked if self.asked.total() >= ASKED_MAX => self.asked.most(),
            Class::Heard if self.heard.of(holder) >= HEARD_OF_INTERFACE_MAX => Some(holder),
            _ => None,
        };
        self.oldest(holds_most?, class, class)
    }

    /// The first of an interface to give way, of these classes.
    fn oldest(&self, holder: Holder, first: Class, last: Class) -> Option<(Key, Reason)> {
        let range = (holder, first, 0, 0)..=(holder, last, u64::MAX, u32::MAX);
        let (_, class, _, number) = self.order.range(range).next()?;
        let reason = match class {
            Class::Asked => Reason::AskedDisplaced,
            Class::Heard => Reason::HeardDisplaced,
            Class::Known => Reason::KnownDisplaced,
        };
        Some((*self.numbers.get(number)?, reason))
    }

    pub(super) fn count(&mut self, interface: u32, reason: Reason) {
        *self.links.entry(interface).or_default().counts.entry(reason).or_default() += 1;
    }

    /// Nothing is kept of an interface that is gone.
    pub(super) fn forget_link(&mut self, interface: u32) {
        self.links.remove(&interface);
    }

    /// Whether an address may be asked for because a packet goes there.
    pub(super) fn may_ask(&mut self, key: Key, now: Time) -> Result<(), Reason> {
        let (interface, address) = key;
        let link = self.links.entry(interface).or_default();
        if link.silent.get(&address).is_some_and(|until| now < *until) {
            return Err(Reason::Silent);
        }
        link.new.take(NEW_OF_INTERFACE, now).then_some(()).ok_or(Reason::TooOften)
    }

    /// An address did not answer.
    pub(super) fn falls_silent(&mut self, key: Key, now: Time) {
        let (interface, address) = key;
        let link = self.links.entry(interface).or_default();
        let until = now + SILENCE;
        if let Some(before) = link.silent.insert(address, until) {
            link.silent_order.remove(&(before, address));
        }
        link.silent_order.insert((until, address));
        while let Some((until, address)) = link.silent_order.first().copied()
            && (until <= now || link.silent.len() > SILENT_OF_INTERFACE_MAX)
        {
            link.silent_order.pop_first();
            link.silent.remove(&address);
        }
    }

    /// An address speaks.
    pub(super) fn is_no_longer_silent(&mut self, key: Key) {
        let (interface, address) = key;
        let Some(link) = self.links.get_mut(&interface) else { return };
        if let Some(until) = link.silent.remove(&address) {
            link.silent_order.remove(&(until, address));
        }
    }
}
