//! Who protects what leaves, one a key: whatever flows have the same key, and however often they
//! are said, **no index is used twice under it**.
//!
//! ```text
//!   a key that is known     its sender, whoever else has it
//!   another key, same flow  the same sender with another key: counters go on (RFC 3711 §3.3.1)
//!   a new key               a new sender; one that was given up lately goes on where it stopped
//! ```

use crate::program::Keys;
use crate::table::{FLOWS_MAX, Table};
use nodes::Refused;
use srtp::{MasterKey, Rollover, SKIP_MAX, Sender, Skip, StreamState, Unusable};
use std::collections::{BTreeMap, VecDeque};

/// Keys that were given up and are remembered with how far they came.
const RETIRED_MAX: usize = 4_096;

/// A master key as a name. It is wiped when it goes.
#[derive(Clone, PartialEq, Eq)]
struct Name(MasterKey);

impl Ord for Name {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.0.expose().cmp(other.0.expose())
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A sender that is in use.
struct User {
    names: Vec<Name>,
    flows: u32,
}

/// Keys, and who protects with them.
#[derive(Default)]
pub(crate) struct Senders {
    known: BTreeMap<Name, u32>,
    users: BTreeMap<u32, User>,
    free: Vec<u32>,
    next: u32,
    retired: VecDeque<(Vec<Name>, Vec<StreamState>)>,
}

fn names(keys: &Keys) -> Vec<Name> {
    keys.entries.iter().map(|entry| Name(entry.key.clone())).collect()
}

pub(crate) fn unusable(why: Unusable) -> Refused {
    Refused::Conflict(why.to_string())
}

impl Senders {
    /// The sender of these keys for a flow that had `before`. It is the flow's once more: what it
    /// had before is to be given back, but for the same one.
    ///
    /// # Errors
    /// Why the keys cannot be used; then all is as it was.
    pub fn take(
        &mut self,
        table: &Table,
        keys: &Keys,
        before: Option<u32>,
        resume: &[StreamState],
    ) -> Result<u32, Refused> {
        let names = names(keys);
        let mut known = names.iter().filter_map(|name| self.known.get(name).copied());
        let number = known.next();
        if known.any(|other| Some(other) != number) {
            let why = "keys of two directions at once: their indices are counted apart";
            return Err(Refused::Conflict(why.to_owned()));
        }
        // Counters of a key that was given up stand elsewhere: they are not those of `before`.
        let alone = |it: &u32| {
            self.users.get(it).is_some_and(|user| user.flows == 1) && self.was(&names).is_none()
        };
        match number.or(before.filter(alone)) {
            Some(number) => self.rekey(table, number, keys, names)?,
            None => return self.begin(table, keys, names, (before, resume)),
        }
        let number = number.or(before).unwrap_or(0);
        if before != Some(number)
            && let Some(user) = self.users.get_mut(&number)
        {
            user.flows += 1;
        }
        Ok(number)
    }

    /// Where a key that was given up is remembered.
    fn was(&self, names: &[Name]) -> Option<usize> {
        self.retired.iter().position(|(old, _)| old.iter().any(|it| names.contains(it)))
    }

    /// Remembers how far keys came that are given up.
    fn retire(&mut self, names: Vec<Name>, streams: Vec<StreamState>) {
        if names.is_empty() || streams.is_empty() {
            return;
        }
        self.retired.push_back((names, streams));
        if self.retired.len() > RETIRED_MAX {
            self.retired.pop_front();
        }
    }

    fn rekey(
        &mut self,
        table: &Table,
        number: u32,
        keys: &Keys,
        names: Vec<Name>,
    ) -> Result<(), Refused> {
        let mut held = table.sender(number).ok_or(Refused::Full("senders"))?;
        let sender = held.as_mut().ok_or(Refused::Full("senders"))?;
        let streams = sender.streams().collect();
        sender.rekey(keys.parameters, &keys.entries, Rollover::Kept).map_err(unusable)?;
        drop(held);
        self.known.extend(names.iter().map(|name| (name.clone(), number)));
        let Some(user) = self.users.get_mut(&number) else { return Ok(()) };
        let mut gone = std::mem::replace(&mut user.names, names);
        gone.retain(|name| !user.names.contains(name));
        for name in &gone {
            self.known.remove(name);
        }
        self.retire(gone, streams);
        Ok(())
    }

    /// A sender of keys that nobody has now.
    fn begin(
        &mut self,
        table: &Table,
        keys: &Keys,
        names: Vec<Name>,
        from: (Option<u32>, &[StreamState]),
    ) -> Result<u32, Refused> {
        let (before, resume) = from;
        let (parameters, entries) = (keys.parameters, &keys.entries[..]);
        let was = self.was(&names);
        let before = before.and_then(|number| table.sender(number));
        let before = before.and_then(|held| Some(held.as_ref()?.streams().collect::<Vec<_>>()));
        let sender = match (was, before) {
            // All that left under the key is known.
            (Some(at), _) => Sender::resume(parameters, entries, &self.retired[at].1, Skip::NONE),
            (None, Some(streams)) if resume.is_empty() => {
                Sender::resume(parameters, entries, &streams, Skip::NONE)
            }
            (None, _) if resume.is_empty() => Sender::new(parameters, entries),
            (None, _) => {
                let skip = Skip::by(SKIP_MAX).unwrap_or(Skip::NONE);
                Sender::resume(parameters, entries, resume, skip)
            }
        };
        let sender = sender.map_err(unusable)?;
        let number = self.free.pop().unwrap_or(self.next);
        if number >= FLOWS_MAX {
            return Err(Refused::Full("senders"));
        }
        self.next = self.next.max(number + 1);
        *table.sender(number).ok_or(Refused::Full("senders"))? = Some(sender);
        self.known.extend(names.iter().map(|name| (name.clone(), number)));
        self.users.insert(number, User { names, flows: 1 });
        Ok(number)
    }

    /// A flow has it no more. Nobody's way leads to it when its last flow gives it back.
    pub fn give_back(&mut self, table: &Table, number: u32) {
        let Some(user) = self.users.get_mut(&number) else { return };
        user.flows -= 1;
        if user.flows > 0 {
            return;
        }
        let Some(user) = self.users.remove(&number) else { return };
        let sender = table.sender(number).and_then(|mut held| held.take());
        for name in &user.names {
            self.known.remove(name);
        }
        self.free.push(number);
        self.retire(user.names, sender.iter().flat_map(Sender::streams).collect());
    }
}
