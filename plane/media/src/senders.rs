//! Who protects what leaves, one a key: whatever flows have the same key, and however often they
//! are said, **no index is used twice under it**.
//!
//! ```text
//!   a key that is known     its sender, whoever else has it; other keys beside it only where no
//!                           other pair of ports has it
//!   another key, same flow  the same sender with another key: counters go on (RFC 3711 §3.3.1)
//!   a new key               a new sender; one that was given up goes on ahead of all that left
//!                           under it, and of what the flow had before
//!   one that is resumed     ahead of what was told by as much as another one may have used since
//! ```
//! Keys that were given up are remembered by whom they belong to: an *owner* is a sender and all
//! that came after it, in a flow or under its keys. As long as an owner has a sender, none of its
//! keys is forgotten; nor for [`KEEP`] after its last one is gone, nor while there are fewer than
//! [`KEPT`]. Where that leaves no room, a key that nobody knows is refused: nothing is forgotten
//! for it.

use crate::program::{Keys, Place, Snapshot};
use crate::table::{FLOWS_MAX, Table};
use machine::{Duration, Time};
use nodes::Refused;
use srtp::{
    Allowance, DIGEST_OCTETS, KeyEntry, Past, Rollover, Sender, Skip, StreamState, Unusable,
};
use std::collections::{BTreeMap, BTreeSet};

/// For how long at least keys are remembered whose owner is gone: no fork of a call is answered
/// later.
pub const KEEP: Duration = Duration::from_secs(600);
/// Keys that were given up and are remembered in any case.
pub const KEPT: usize = 1 << 16;
/// Keys at most, those in use and those that were given up.
pub const KEYS_MAX: usize = 1 << 20;
/// Keys that one owner gave up, at most: then it gets no further one.
pub const OWNER_KEYS_MAX: usize = 256;

impl Owner {
    const fn of_one() -> Self {
        Self { senders: 1, retired: Vec::new(), left: None }
    }
}

/// How much is remembered.
#[derive(Debug, Clone, Copy)]
struct Limits {
    kept: usize,
    keys: usize,
    of_owner: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { kept: KEPT, keys: KEYS_MAX, of_owner: OWNER_KEYS_MAX }
    }
}

/// The name of a master key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Name([u8; DIGEST_OCTETS]);

impl Name {
    fn of(entry: &KeyEntry) -> Self {
        Self(entry.key.digest())
    }
}

/// A sender that is in use.
struct User {
    /// Whose packets leave by it: most have one flow.
    flow: Place,
    more: Vec<Place>,
    owner: u64,
}

impl User {
    fn flows(&self) -> impl Iterator<Item = &Place> {
        core::iter::once(&self.flow).chain(&self.more)
    }

    /// A flow has it no more; whether it was the last.
    fn leave(&mut self, at: &Place) -> bool {
        if let Some(place) = self.more.iter().position(|it| it == at) {
            self.more.swap_remove(place);
            return false;
        }
        if self.flow != *at {
            return false;
        }
        match self.more.pop() {
            Some(next) => self.flow = next,
            None => return true,
        }
        false
    }
}

/// A key that was given up: how far it came.
#[derive(Clone)]
struct Retired {
    streams: Vec<StreamState>,
    past: Option<Past>,
    left: Allowance,
    owner: u64,
}

/// How far a sender came: its streams and its past, and what is left of each of its keys.
struct Far {
    streams: Vec<StreamState>,
    past: Option<Past>,
    left: Vec<(Name, Allowance)>,
}

impl Far {
    fn of(sender: &Sender) -> Self {
        let left = sender.keys().map(|entry| (Name::of(entry), entry.allowance)).collect();
        Self { streams: sender.streams().collect(), past: sender.past(), left }
    }
}

/// To whom keys belong. One that has one sender and gave nothing up is nowhere.
struct Owner {
    senders: u32,
    retired: Vec<Name>,
    /// When its last sender went.
    left: Option<Time>,
}

/// What a flow wants to protect with.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// The flow.
    pub at: Place,
    /// With these.
    pub keys: &'a Keys,
    /// The sender that it had.
    pub before: Option<u32>,
    /// What another forwarder told of it; `None`: no other one had these keys.
    pub resume: Option<&'a Snapshot>,
    /// Whether that one goes on with them: this one goes ahead when it takes its place.
    pub follows: bool,
}

/// Keys, and who protects with them.
#[derive(Default)]
pub(crate) struct Senders {
    known: BTreeMap<Name, u32>,
    /// By number.
    users: Vec<Option<User>>,
    free: Vec<u32>,
    retired: BTreeMap<Name, Retired>,
    owners: BTreeMap<u64, Owner>,
    next_owner: u64,
    /// Owners without a sender, the one that is gone longest first.
    gone: BTreeSet<(Time, u64)>,
    limits: Limits,
    /// Whether another forwarder may take the place of this one.
    is_bounded: bool,
}

fn names(keys: &Keys) -> Vec<Name> {
    keys.entries.iter().map(Name::of).collect()
}

pub(crate) fn unusable(why: Unusable) -> Refused {
    Refused::Conflict(why.to_string())
}

fn conflict(why: &str) -> Refused {
    Refused::Conflict(why.to_owned())
}

/// Whether two places are ports of RTP and its RTCP, or the same (RFC 3550 §11).
fn are_a_pair(one: &Place, other: &Place) -> bool {
    (one.vrf, one.address, one.port | 1) == (other.vrf, other.address, other.port | 1)
}

/// Whether nothing would change with these keys.
fn is_of(sender: &Sender, keys: &Keys) -> bool {
    let (own, said) = (sender.keys(), keys.entries.iter());
    *sender.parameters() == keys.parameters
        && own.map(|it| (&it.key, it.mki)).eq(said.map(|it| (&it.key, it.mki)))
}

/// Whether one of the streams that were told has come further than here.
fn is_further(told: &[StreamState], sender: &Sender) -> bool {
    told.iter().any(|told| {
        let own = sender.stream(told.ssrc);
        let (highest, rtcp) = own.map_or((None, None), |own| (own.highest, own.rtcp));
        told.highest > highest || told.rtcp > rtcp
    })
}

/// Goes ahead of what another forwarder may have used, or, while that one goes on, no further than
/// it told.
fn go_ahead(sender: &mut Sender, told: &Snapshot, follows: bool) {
    if let Some(past) = &told.past {
        sender.remember(past);
    }
    let skip = if follows { Skip::NONE } else { Skip::MAX };
    sender.advance(&told.send, skip);
}

impl Senders {
    /// The sender of what a flow wants. It is the flow's once more: what it had before is to be
    /// given back, but for the same one.
    ///
    /// # Errors
    /// Why the keys cannot be used; then all is as it was.
    pub fn take(&mut self, table: &Table, wanted: Wanted<'_>, now: Time) -> Result<u32, Refused> {
        let names = names(wanted.keys);
        let mut known = names.iter().filter_map(|name| self.known.get(name).copied());
        let number = known.next();
        if known.any(|other| Some(other) != number) {
            return Err(conflict(
                "keys of two directions at once: their indices are counted apart",
            ));
        }
        let number = match number {
            Some(number) => {
                self.share(table, number, wanted, names, now)?;
                number
            }
            // Counters of a key that was given up stand elsewhere: they are not those of `before`.
            None => match wanted.before.filter(|it| self.may_go_on(*it, &names, wanted)) {
                Some(before) => {
                    self.rekey(table, before, wanted, names, now)?;
                    before
                }
                None => return self.begin(table, wanted, names, now),
            },
        };
        if wanted.before != Some(number)
            && let Some(user) = self.user_mut(number)
            && !user.flows().any(|flow| *flow == wanted.at)
        {
            user.more.push(wanted.at);
        }
        Ok(number)
    }

    /// Whether a flow's own sender may go on with other keys.
    fn may_go_on(&self, before: u32, names: &[Name], wanted: Wanted<'_>) -> bool {
        let is_alone = self.user(before).is_some_and(|user| user.more.is_empty());
        is_alone
            && wanted.resume.is_none()
            && !names.iter().any(|name| self.retired.contains_key(name))
    }

    /// A sender whose key a flow wants, maybe with others beside it.
    fn share(
        &mut self,
        table: &Table,
        number: u32,
        wanted: Wanted<'_>,
        names: Vec<Name>,
        now: Time,
    ) -> Result<(), Refused> {
        {
            let mut held = table.sender(number).ok_or(Refused::Full("senders"))?;
            let sender = held.as_mut().ok_or(Refused::Full("senders"))?;
            if is_of(sender, wanted.keys) {
                // What this one told is no further than it is itself.
                let follows = wanted.follows;
                let news = |it: &&Snapshot| follows || is_further(&it.send, sender);
                if let Some(told) = wanted.resume.filter(news) {
                    go_ahead(sender, told, follows);
                }
                return Ok(());
            }
        }
        let flows = self.user(number).into_iter().flat_map(User::flows);
        if !flows.into_iter().all(|flow| are_a_pair(flow, &wanted.at)) {
            return Err(conflict("another flow protects with one of the keys, not with all"));
        }
        self.rekey(table, number, wanted, names, now)
    }

    /// Whether there is room for these keys, of which what is to be forgotten makes some.
    fn room(&mut self, names: &[Name], owner: Option<u64>, now: Time) -> Result<(), Refused> {
        self.forget(now);
        let is_new =
            |name: &&Name| !self.known.contains_key(*name) && !self.retired.contains_key(*name);
        let new = names.iter().filter(is_new).count();
        if new == 0 {
            return Ok(());
        }
        let of_owner = owner.and_then(|it| self.owners.get(&it)).map_or(0, |it| it.retired.len());
        if of_owner >= self.limits.of_owner {
            return Err(Refused::Full("keys that one call gave up"));
        }
        if self.known.len() + self.retired.len() + new > self.limits.keys {
            return Err(Refused::Full("keys that were given up and may come back"));
        }
        Ok(())
    }

    /// Forgets keys whose owners are gone for so long, as far as there are too many.
    fn forget(&mut self, now: Time) {
        while self.retired.len() > self.limits.kept
            && let Some((left, owner)) = self.gone.first().copied()
            && now.since(left) >= KEEP
        {
            self.gone.remove(&(left, owner));
            for name in self.owners.remove(&owner).into_iter().flat_map(|it| it.retired) {
                self.retired.remove(&name);
            }
        }
    }

    /// Remembers how far keys came that are given up.
    fn retire(&mut self, names: &[Name], far: &Far, owner: u64) {
        let Far { streams, past, left } = far;
        if streams.is_empty() && past.is_none() {
            return;
        }
        for (name, left) in left.iter().filter(|(name, _)| names.contains(name)) {
            let (streams, past, left) = (streams.clone(), past.clone(), *left);
            self.owners.entry(owner).or_insert_with(Owner::of_one).retired.push(*name);
            // It was taken out when it came back: there is one entry a key.
            self.retired.insert(*name, Retired { streams, past, left, owner });
        }
    }

    /// Keys of which no more is left than when they were given up.
    fn limited(&self, keys: &Keys) -> Vec<KeyEntry> {
        let left = |entry: &KeyEntry| self.retired.get(&Name::of(entry)).map(|it| it.left);
        let limited = |entry: &KeyEntry| KeyEntry {
            allowance: left(entry).map_or(entry.allowance, |left| entry.allowance.least(left)),
            ..entry.clone()
        };
        keys.entries.iter().map(limited).collect()
    }

    fn user(&self, number: u32) -> Option<&User> {
        self.users.get(number as usize)?.as_ref()
    }

    fn user_mut(&mut self, number: u32) -> Option<&mut User> {
        self.users.get_mut(number as usize)?.as_mut()
    }

    /// Keys that were given up are in use again, by this owner or their own; whose they are.
    fn reclaim(&mut self, names: &[Name], owner: Option<u64>) -> u64 {
        let mut before = Vec::new();
        for name in names {
            let Some(retired) = self.retired.remove(name) else { continue };
            before.push(retired.owner);
            if let Some(owner) = self.owners.get_mut(&retired.owner) {
                owner.retired.retain(|it| it != name);
            }
        }
        let owner = owner.or(before.first().copied()).unwrap_or_else(|| {
            self.next_owner += 1;
            self.next_owner
        });
        for other in before.into_iter().filter(|it| *it != owner) {
            // What one that is gone had beside them may come back where they did.
            if let Some(left) = self.owners.get(&other).and_then(|it| it.left) {
                self.gone.remove(&(left, other));
                let names = self.owners.remove(&other).map(|it| it.retired).unwrap_or_default();
                for name in &names {
                    if let Some(retired) = self.retired.get_mut(name) {
                        retired.owner = owner;
                    }
                }
                self.owners.entry(owner).or_insert_with(Owner::of_one).retired.extend(names);
            }
        }
        owner
    }

    /// What left under keys that were given up is behind a sender that has them again.
    fn pass(&self, sender: &mut Sender, names: &[Name]) {
        for retired in names.iter().filter_map(|name| self.retired.get(name)) {
            if let Some(past) = &retired.past {
                sender.remember(past);
            }
            // All of it is known.
            sender.advance(&retired.streams, Skip::NONE);
        }
    }

    fn rekey(
        &mut self,
        table: &Table,
        number: u32,
        wanted: Wanted<'_>,
        names: Vec<Name>,
        now: Time,
    ) -> Result<(), Refused> {
        let owner = self.user(number).map(|user| user.owner);
        self.room(&names, owner, now)?;
        let mut held = table.sender(number).ok_or(Refused::Full("senders"))?;
        let sender = held.as_mut().ok_or(Refused::Full("senders"))?;
        let (far, entries) = (Far::of(sender), self.limited(wanted.keys));
        sender.rekey(wanted.keys.parameters, &entries, Rollover::Kept).map_err(unusable)?;
        self.pass(sender, &names);
        if let Some(told) = wanted.resume {
            go_ahead(sender, told, wanted.follows);
        }
        drop(held);
        let owner = self.reclaim(&names, owner);
        self.known.extend(names.iter().map(|name| (*name, number)));
        let before = far.left.iter().map(|(name, _)| *name);
        let gone: Vec<Name> = before.filter(|name| !names.contains(name)).collect();
        for name in &gone {
            self.known.remove(name);
        }
        self.retire(&gone, &far, owner);
        Ok(())
    }

    /// A sender of keys that nobody has now.
    fn begin(
        &mut self,
        table: &Table,
        wanted: Wanted<'_>,
        names: Vec<Name>,
        now: Time,
    ) -> Result<u32, Refused> {
        let before = wanted.before.and_then(|it| self.user(it)).map(|user| user.owner);
        self.room(&names, before, now)?;
        let entries = self.limited(wanted.keys);
        let mut sender = Sender::new(wanted.keys.parameters, &entries).map_err(unusable)?;
        // Along a flow counters never go back: so none of its keys is behind what it was used with.
        if let Some(held) = wanted.before.and_then(|number| table.sender(number))
            && let Some(before) = held.as_ref()
        {
            sender.advance(&before.streams().collect::<Vec<_>>(), Skip::NONE);
        }
        self.pass(&mut sender, &names);
        if let Some(told) = wanted.resume {
            go_ahead(&mut sender, told, wanted.follows);
        }
        sender.bound(self.is_bounded);
        let next = machine::narrow::place(self.users.len());
        let number = self.free.last().copied().unwrap_or(next);
        if number >= FLOWS_MAX {
            return Err(Refused::Full("senders"));
        }
        *table.sender(number).ok_or(Refused::Full("senders"))? = Some(sender);
        self.free.pop();
        let owner = self.reclaim(&names, before);
        self.came(owner, before.is_some());
        self.known.extend(names.iter().map(|name| (*name, number)));
        if number == next {
            if self.users.len() == self.users.capacity() {
                // By less than twice as much: there may be very many.
                self.users.reserve_exact(self.users.len() / 8 + 64);
            }
            self.users.push(None);
        }
        self.users[number as usize] = Some(User { flow: wanted.at, more: Vec::new(), owner });
        Ok(number)
    }

    /// Takes the place of the one that had these keys until now.
    pub fn take_over(&self, table: &Table) {
        self.each(table, |sender| sender.advance(&[], Skip::MAX));
    }

    /// What was told on the way to whoever may take over is lost.
    pub fn lost(&self, table: &Table) {
        self.each(table, Sender::lost);
    }

    /// Whether another one may take over with what this one tells: then none goes far beyond what
    /// that one has applied.
    pub fn bound(&mut self, table: &Table, is_bounded: bool) {
        if self.is_bounded != is_bounded {
            self.is_bounded = is_bounded;
            self.each(table, |sender| sender.bound(is_bounded));
        }
    }

    fn each(&self, table: &Table, mut with: impl FnMut(&mut Sender)) {
        for (number, _) in (0..).zip(&self.users).filter(|(_, user)| user.is_some()) {
            if let Some(sender) = table.sender(number).as_mut().and_then(|held| held.as_mut()) {
                with(sender);
            }
        }
    }

    /// An owner has one more sender; `has_one`: beside another one.
    fn came(&mut self, number: u64, has_one: bool) {
        match self.owners.get_mut(&number) {
            Some(owner) => {
                owner.senders += 1;
                if let Some(left) = owner.left.take() {
                    self.gone.remove(&(left, number));
                }
            }
            None if has_one => {
                self.owners.insert(number, Owner { senders: 2, ..Owner::of_one() });
            }
            None => {}
        }
    }

    /// An owner has one sender less.
    fn went(&mut self, number: u64, now: Time) {
        let Some(owner) = self.owners.get_mut(&number) else { return };
        owner.senders = owner.senders.saturating_sub(1);
        if owner.senders > 0 {
            return;
        }
        if owner.retired.is_empty() {
            self.owners.remove(&number);
        } else {
            owner.left = Some(now);
            self.gone.insert((now, number));
        }
    }

    /// A flow has it no more. Nobody's way leads to it when its last flow gives it back.
    pub fn give_back(&mut self, table: &Table, number: u32, at: &Place, now: Time) {
        let Some(user) = self.user_mut(number) else { return };
        if !user.leave(at) {
            return;
        }
        let Some(user) = self.users[number as usize].take() else { return };
        let sender = table.sender(number).and_then(|mut held| held.take());
        self.free.push(number);
        if let Some(far) = sender.as_ref().map(Far::of) {
            let names: Vec<Name> = far.left.iter().map(|(name, _)| *name).collect();
            for name in &names {
                self.known.remove(name);
            }
            self.retire(&names, &far, user.owner);
        }
        self.went(user.owner, now);
    }
}

#[cfg(test)]
mod tests;
