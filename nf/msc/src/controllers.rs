//! Session controllers by their names: what they lease, and since when they are away.

use crate::lease::Lessee;
use authentication::Keys;
use machine::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Octets of a session controller's name at most.
const NAME_OCTETS_MAX: usize = 64;

/// What a key is known by that a session controller proved: whoever reads it has no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyId(u64);

impl KeyId {
    /// What the names of keys are proofs of.
    const LABEL: &'static [u8] = b"the key of a session controller's name";

    /// Of all keys that there are.
    pub fn all(keys: &Keys) -> impl Iterator<Item = Self> {
        keys.prove(Self::LABEL, &[]).into_iter().filter_map(|proof| {
            proof.first_chunk::<8>().map(|octets| Self(u64::from_be_bytes(*octets)))
        })
    }

    /// Of those that somebody has made proofs with.
    pub fn proved(
        keys: &Keys,
        label: &[u8],
        challenge: &[u8],
        proofs: &[Box<[u8]>],
    ) -> Box<[Self]> {
        let ours = keys.prove(label, challenge);
        // All are looked at: how long it takes says nothing of which.
        let has = |our: &Vec<u8>| {
            proofs.iter().fold(false, |is, proof| is | authentication::same(our, proof))
        };
        let has: Vec<bool> = ours.iter().map(has).collect();
        Self::all(keys).zip(has).filter(|(_, has)| *has).map(|(key, _)| key).collect()
    }
}

/// A session controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Controller {
    /// Its name.
    pub name: Box<str>,
    /// Of its life; `None`: it was not heard since this controller began.
    pub epoch: Option<u64>,
    /// The keys that it proved who has its name: none where there are none.
    pub keys: Box<[KeyId]>,
    /// Since when it is not connected.
    pub away_since: Option<Time>,
    /// Pairs that it wants, by group.
    pub wants: BTreeMap<String, u32>,
    /// Whether it has said all of its streams since it is connected.
    pub is_whole: bool,
    /// Until when streams stand that an earlier start of it said, and this one has not.
    pub former_until: Option<Time>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Controllers {
    list: BTreeMap<Lessee, Controller>,
}

impl Controllers {
    /// The one of a name, a new one if there is none; `None`: there are too many, or it is no name.
    pub fn named(&mut self, name: &str, now: Time, controllers_max: usize) -> Option<Lessee> {
        if let Some(lessee) = self.find(name) {
            return Some(lessee);
        }
        let is_name = !name.is_empty()
            && name.len() <= NAME_OCTETS_MAX
            && name.bytes().all(|octet| octet.is_ascii_graphic());
        if !is_name || self.list.len() >= controllers_max {
            return None;
        }
        let free = (1..u16::MAX).map(Lessee).find(|it| !self.list.contains_key(it))?;
        let controller = Controller {
            name: name.into(),
            epoch: None,
            keys: Box::default(),
            away_since: Some(now),
            wants: BTreeMap::new(),
            is_whole: false,
            former_until: None,
        };
        self.list.insert(free, controller);
        Some(free)
    }

    /// One of them.
    pub fn at(&self, lessee: Lessee) -> Option<&Controller> {
        self.list.get(&lessee)
    }

    /// The same.
    pub fn at_mut(&mut self, lessee: Lessee) -> Option<&mut Controller> {
        self.list.get_mut(&lessee)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Lessee, &Controller)> {
        self.list.iter().map(|(lessee, it)| (*lessee, it))
    }

    /// Whether a name is that of who has proved these keys: it is of who proved it first, as long
    /// as one of the keys of then is one of `all` still.
    pub fn binds(&mut self, lessee: Lessee, proved: &[KeyId], all: Option<&Keys>) -> bool {
        let Some(controller) = self.list.get_mut(&lessee) else { return false };
        let all: Vec<KeyId> = all.into_iter().flat_map(KeyId::all).collect();
        let is_another = controller.keys.iter().any(|key| all.contains(key))
            && !controller.keys.iter().any(|key| proved.contains(key));
        if !is_another {
            controller.keys = proved.into();
        }
        !is_another
    }

    /// None is connected: whoever was is away from now on.
    pub fn leave_all(&mut self, now: Time) {
        for controller in self.list.values_mut() {
            controller.away_since.get_or_insert(now);
            controller.is_whole = false;
        }
    }

    /// All of them are away since now: they have the time to come.
    pub fn await_all(&mut self, now: Time) {
        for controller in self.list.values_mut() {
            (controller.away_since, controller.is_whole) = (Some(now), false);
        }
    }

    /// The one of a name.
    pub fn find(&self, name: &str) -> Option<Lessee> {
        self.list.iter().find(|(_, it)| *it.name == *name).map(|(lessee, _)| *lessee)
    }

    /// Forgets one.
    pub fn forget(&mut self, lessee: Lessee) {
        self.list.remove(&lessee);
    }

    /// How many are connected, and how many are not.
    pub fn count(&self) -> (usize, usize) {
        let there = self.list.values().filter(|it| it.away_since.is_none()).count();
        (there, self.list.len() - there)
    }

    /// The name of a lessee; that of NG is its own.
    pub fn name(&self, lessee: Lessee) -> &str {
        match self.list.get(&lessee) {
            Some(controller) => &controller.name,
            None => "NG",
        }
    }
}
