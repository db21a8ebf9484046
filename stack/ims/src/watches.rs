//! All subscriptions to registrations of a shard, found by public user identity and by our tag.

use crate::metrics::RegEventMetric;
use crate::watch::{Stage, Watch};
use event::Metrics;
use machine::Time;
use machine::identity::{Side, Token};
use machine::slots::{Key, Slots};
use registrar::Aor;
use std::collections::BTreeMap;

/// Subscriptions of a shard at most, whatever its realms allow.
const WATCHES_MAX: u32 = ipsec::SETS_MAX;

/// A public user identity in its one form.
fn form(identity: &[u8]) -> Option<Box<[u8]>> {
    Aor::parse(identity).map(|aor| (*aor).into())
}

/// The subscriptions.
#[derive(Debug)]
pub(crate) struct Watches {
    pub slots: Slots<Watch>,
    /// By the public user identity in its one form.
    by_identity: BTreeMap<Box<[u8]>, Key>,
    /// How many there are of each realm.
    counts: BTreeMap<usize, u32>,
    /// Those that are due and were not looked at yet.
    ready: Vec<Key>,
    pub shard: u16,
    pub metrics: Metrics<RegEventMetric>,
    /// When the core last refused one for good, and how.
    pub refused: Option<(Time, u16)>,
}

impl Watches {
    pub fn new(shard: u16, now: Time) -> Self {
        Self {
            slots: Slots::new(WATCHES_MAX, now),
            by_identity: BTreeMap::new(),
            counts: BTreeMap::new(),
            ready: Vec::new(),
            shard,
            metrics: Metrics::new(),
            refused: None,
        }
    }

    pub fn at(&self, key: Key) -> Option<&Watch> {
        self.slots.at(key)
    }

    /// To change what no index is made of; [`Watches::arm`] when its time has changed.
    pub fn at_mut(&mut self, key: Key) -> Option<&mut Watch> {
        self.slots.at_mut(key)
    }

    /// The subscription of a public user identity.
    pub fn of(&self, identity: &[u8]) -> Option<Key> {
        self.by_identity.get(&form(identity)?).copied()
    }

    pub fn count_of(&self, realm: usize) -> u32 {
        self.counts.get(&realm).copied().unwrap_or(0)
    }

    /// A registration is watched from now on; of one that is already, the way to the core and the
    /// time are those of now.
    pub fn watch(&mut self, now: Time, begun: Watch, most: u32) {
        if let Some(key) = self.of(&begun.identity)
            && let Some(known) = self.slots.at_mut(key)
        {
            (known.core, known.path) = (begun.core, begun.path);
            known.granted_s = begun.granted_s;
            let is_waiting = known.stage == Stage::Waiting && known.due > now;
            if is_waiting || known.stage == Stage::Leaving {
                // The core has answered: it may have changed its mind, or a phone has come back.
                if known.stage == Stage::Leaving {
                    known.begin_anew(begun.secret);
                }
                (known.due, known.failures) = (now, 0);
                self.arm(key);
            }
            return;
        }
        let room = (self.count_of(begun.realm) < most).then(|| self.slots.take()).flatten();
        let Some((key, slot)) = room else {
            return self.metrics.add(RegEventMetric::NoRoom, 1);
        };
        *slot = Watch { due: now, ..begun };
        self.list(key);
        self.arm(key);
    }

    fn list(&mut self, key: Key) {
        let Some(watch) = self.slots.at(key) else { return };
        *self.counts.entry(watch.realm).or_default() += 1;
        if let Some(form) = form(&watch.identity) {
            self.by_identity.insert(form, key);
        }
        self.gauge();
    }

    fn unlist(&mut self, key: Key) {
        let Some(watch) = self.slots.at(key) else { return };
        if let Some(count) = self.counts.get_mut(&watch.realm) {
            *count = count.saturating_sub(1);
        }
        if let Some(form) = form(&watch.identity)
            && self.by_identity.get(&form) == Some(&key)
        {
            self.by_identity.remove(&form);
        }
    }

    fn gauge(&self) {
        self.metrics.set(RegEventMetric::Watched, self.slots.len() as u64);
    }

    /// It is no more.
    pub fn remove(&mut self, key: Key) {
        self.unlist(key);
        self.slots.give_back(key);
        self.gauge();
    }

    /// Its time has changed.
    pub fn arm(&mut self, key: Key) {
        if let Some(due) = self.slots.at(key).map(|watch| watch.due) {
            self.slots.arm(key, due);
        }
    }

    /// The subscription that our tag names.
    pub fn named(&self, tag: &[u8]) -> Option<Key> {
        let token = Token::read(tag).filter(|it| it.shard == self.shard && it.side == Side::A)?;
        let key = self.slots.user_of(token.index)?;
        (self.slots.at(key)?.tag(self.shard, key) == *tag).then_some(key)
    }

    /// The next that is due.
    pub fn due(&mut self, now: Time) -> Option<Key> {
        if self.ready.is_empty() {
            self.slots.expire(now, &mut self.ready);
        }
        self.ready.pop()
    }

    pub fn deadline(&self) -> Option<Time> {
        let ready = (!self.ready.is_empty()).then_some(Time::ZERO);
        ready.or_else(|| self.slots.deadline())
    }

    /// Realms have other places, or are not watched any more.
    pub fn remap(&mut self, place: impl Fn(usize) -> Option<usize>) {
        let keys: Vec<Key> = self.slots.iter().map(|(key, _)| key).collect();
        for key in keys {
            let Some(realm) = self.slots.at(key).map(|watch| watch.realm) else { continue };
            match place(realm) {
                Some(next) if next == realm => {}
                Some(next) => {
                    self.unlist(key);
                    if let Some(watch) = self.slots.at_mut(key) {
                        watch.realm = next;
                    }
                    self.list(key);
                }
                None => self.remove(key),
            }
        }
    }

    /// A subscription as another table has it; `false`: there is no room.
    pub fn put(&mut self, key: Key, watch: Watch) -> bool {
        if let Some(user) = self.slots.user_of(key.index) {
            self.unlist(user);
        }
        let Some(slot) = self.slots.put(key) else { return false };
        *slot = watch;
        self.list(key);
        true
    }

    /// The user of that slot is gone from the other table.
    pub fn take_away(&mut self, next: Key) {
        if let Some(user) = self.slots.user_of(next.index) {
            self.unlist(user);
        }
        self.slots.take_away(next);
        self.gauge();
    }

    /// The copy becomes the table itself. What was asked there is asked again: its answer went
    /// where nobody takes it any more.
    pub fn take_over(&mut self, mut secret: impl FnMut() -> u128) {
        self.slots.settle();
        self.ready.clear();
        let keys: Vec<Key> = self.slots.iter().map(|(key, _)| key).collect();
        for key in keys {
            let Some(watch) = self.slots.at_mut(key) else { continue };
            if watch.stage == Stage::Asked {
                if !watch.has_dialog() {
                    watch.begin_anew(secret());
                }
                watch.stage = if watch.has_dialog() { Stage::Standing } else { Stage::Waiting };
                watch.due = Time::ZERO;
            }
            self.arm(key);
        }
        self.gauge();
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.by_identity.clear();
        self.counts.clear();
        self.ready.clear();
        self.gauge();
    }
}
