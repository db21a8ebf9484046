//! Which peer wants routes of which route targets (RFC 4684).
//!
//! Routes fall into *classes* by the combination of their route targets. For each class a set of
//! peers is kept: who wants one of its targets.

use crate::PeerId;
use crate::announced::EVERYBODY;
use bgp::codec::{AttributeType, Attributes, ExtendedCommunity};
use bgp::family::RouteTarget;
use hashbrown::HashMap;

/// Combinations of route targets; routes of further ones are sent to everybody.
const CLASSES_MAX: usize = 1 << 16;
/// So many of them one peer makes; classes stay for good, so this outlasts its sessions.
const CLASSES_OF_PEER_MAX: u32 = 1 << 13;
/// Prefixes of targets that are kept for one peer; who says more gets everything, as with the
/// default target.
const PARTIAL_MAX: usize = 256;
/// Bits of a route target of full length.
const WHOLE_BITS: u8 = 96;

/// A combination of route targets and who wants it.
#[derive(Debug, Default)]
struct Class {
    targets: Box<[ExtendedCommunity]>,
    members: Vec<u64>,
}

/// What one peer wants.
#[derive(Debug, Default)]
struct Wants {
    /// Whole targets, and how often each was said.
    whole: HashMap<ExtendedCommunity, u32>,
    /// Prefixes of targets.
    partial: Vec<RouteTarget>,
    /// How many prefixes were said beyond them.
    beyond: usize,
}

impl Wants {
    fn has(&self, target: ExtendedCommunity) -> bool {
        self.whole.contains_key(&target) || self.partial.iter().any(|it| it.wants(target))
    }

    fn has_any(&self, targets: &[ExtendedCommunity]) -> bool {
        self.beyond > 0
            || self.partial.iter().any(|it| it.bits == 0)
            || targets.iter().any(|it| self.has(*it))
    }
}

/// Classes and who wants them.
#[derive(Debug)]
pub(crate) struct Interest {
    classes: Vec<Class>,
    index: HashMap<Box<[ExtendedCommunity]>, u32>,
    of_target: HashMap<ExtendedCommunity, Vec<u32>>,
    wants: HashMap<PeerId, Wants>,
    /// How many classes each peer's routes made.
    made: HashMap<PeerId, u32>,
    scratch: Vec<ExtendedCommunity>,
}

fn set(members: &mut Vec<u64>, peer: PeerId, is_member: bool) {
    let (word, bit) = ((peer.0 / 64) as usize, 1 << (peer.0 % 64));
    if members.len() <= word {
        members.resize(word + 1, 0);
    }
    members[word] = if is_member { members[word] | bit } else { members[word] & !bit };
}

impl Interest {
    pub(crate) fn new() -> Self {
        Self {
            // Numbers 0 and 1 stand for nobody and everybody.
            classes: vec![Class::default(), Class::default()],
            index: HashMap::new(),
            of_target: HashMap::new(),
            wants: HashMap::new(),
            made: HashMap::new(),
            scratch: Vec::new(),
        }
    }

    /// The class of a peer's routes with these attributes.
    pub(crate) fn class(&mut self, peer: PeerId, attributes: &[u8]) -> u32 {
        let mut targets = core::mem::take(&mut self.scratch);
        targets.clear();
        let value = Attributes::new(attributes).value(AttributeType::ExtendedCommunities);
        let all = ExtendedCommunity::all(value.unwrap_or_default());
        targets.extend(all.filter(|it| it.is_route_target()));
        targets.sort_unstable();
        targets.dedup();
        let class = self.intern(peer, &targets);
        self.scratch = targets;
        class
    }

    fn intern(&mut self, peer: PeerId, targets: &[ExtendedCommunity]) -> u32 {
        if let Some(&class) = self.index.get(targets) {
            return class;
        }
        let made = self.made.entry(peer).or_default();
        if self.classes.len() >= CLASSES_MAX || *made >= CLASSES_OF_PEER_MAX {
            return EVERYBODY;
        }
        *made += 1;
        let number = crate::number(self.classes.len());
        let mut members = Vec::new();
        for (&peer, wants) in &self.wants {
            if wants.has_any(targets) {
                set(&mut members, peer, true);
            }
        }
        for target in targets {
            self.of_target.entry(*target).or_default().push(number);
        }
        self.index.insert(targets.into(), number);
        self.classes.push(Class { targets: targets.into(), members });
        number
    }

    /// Whether a peer wants routes of a class.
    #[inline]
    pub(crate) fn has(&self, class: u32, peer: PeerId) -> bool {
        let Some(class) = self.classes.get(class as usize).filter(|_| class > EVERYBODY) else {
            return class == EVERYBODY;
        };
        let word = class.members.get((peer.0 / 64) as usize);
        word.is_some_and(|word| word >> (peer.0 % 64) & 1 != 0)
    }

    /// A peer wants routes of a target; the classes that it gets from now on.
    pub(crate) fn add(&mut self, peer: PeerId, target: RouteTarget) -> Vec<u32> {
        let wants = self.wants.entry(peer).or_default();
        if target.bits == WHOLE_BITS {
            *wants.whole.entry(target.target).or_default() += 1;
        } else if wants.partial.len() < PARTIAL_MAX {
            wants.partial.push(target);
        } else {
            wants.beyond += 1;
            if wants.beyond > 1 {
                return Vec::new(); // it has everything already
            }
        }
        self.turn(peer, target)
    }

    /// A peer no longer wants routes of a target; the classes that it gets no more.
    pub(crate) fn remove(&mut self, peer: PeerId, target: RouteTarget) -> Vec<u32> {
        let Some(wants) = self.wants.get_mut(&peer) else { return Vec::new() };
        if target.bits == WHOLE_BITS {
            if let Some(count) = wants.whole.get_mut(&target.target) {
                *count -= 1;
                if *count == 0 {
                    wants.whole.remove(&target.target);
                }
            }
        } else if let Some(at) = wants.partial.iter().position(|it| *it == target) {
            wants.partial.swap_remove(at);
        } else {
            wants.beyond = wants.beyond.saturating_sub(1);
        }
        self.turn(peer, target)
    }

    /// A peer is gone.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        if self.wants.remove(&peer).is_some() {
            self.classes.iter_mut().for_each(|class| set(&mut class.members, peer, false));
        }
    }

    /// Brings the classes with a target up to date for a peer; those that changed.
    fn turn(&mut self, peer: PeerId, target: RouteTarget) -> Vec<u32> {
        let all: Vec<u32> = if target.bits == WHOLE_BITS {
            self.of_target.get(&target.target).cloned().unwrap_or_default()
        } else {
            (EVERYBODY + 1..crate::number(self.classes.len())).collect()
        };
        let Some(wants) = self.wants.get(&peer) else { return Vec::new() };
        let mut turned = Vec::new();
        for number in all {
            let class = &self.classes[number as usize];
            let wanted = wants.has_any(&class.targets);
            if wanted != self.has(number, peer) {
                set(&mut self.classes[number as usize].members, peer, wanted);
                turned.push(number);
            }
        }
        turned
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bgp::codec::write_attribute;

    fn target(number: u8) -> ExtendedCommunity {
        ExtendedCommunity([0, 2, 0xfd, 0xe8, 0, 0, 0, number])
    }

    fn wish(number: u8, bits: u8) -> RouteTarget {
        RouteTarget { bits, origin: 65_000, target: target(number) }
    }

    fn attributes(numbers: &[u8]) -> Vec<u8> {
        let value: Vec<u8> = numbers.iter().flat_map(|number| target(*number).0).collect();
        let mut out = Vec::new();
        write_attribute(0xc0, 16, &value, &mut out);
        out
    }

    #[test]
    fn what_one_peer_makes_others_keep_walking_is_bounded() {
        let mut interest = Interest::new();
        let numbered = |number: u32| {
            let mut value = target(0).0;
            value[4..].copy_from_slice(&number.to_be_bytes());
            let mut out = Vec::new();
            assert!(write_attribute(0xc0, 16, &value, &mut out));
            out
        };
        for number in 0..CLASSES_OF_PEER_MAX {
            assert_ne!(interest.class(PeerId(1), &numbered(number)), EVERYBODY);
        }
        assert_eq!(interest.class(PeerId(1), &numbered(CLASSES_OF_PEER_MAX)), EVERYBODY);
        assert_ne!(interest.class(PeerId(1), &numbered(0)), EVERYBODY, "it stands already");
        interest.forget(PeerId(1));
        assert_eq!(interest.class(PeerId(1), &numbered(CLASSES_OF_PEER_MAX)), EVERYBODY);
        assert_ne!(interest.class(PeerId(2), &numbered(CLASSES_OF_PEER_MAX)), EVERYBODY);
        // Prefixes that want nothing of all this, until they are too many to be looked at.
        let (peer, all) = (PeerId(3), CLASSES_OF_PEER_MAX as usize + 1);
        let elsewhere = ExtendedCommunity([0, 2, 0xfd, 0xe9, 0, 0, 0, 0]);
        let far = |number: u32| RouteTarget { bits: 80, origin: number, target: elsewhere };
        let mut gained = 0;
        for number in 0..PARTIAL_MAX as u32 {
            gained += interest.add(peer, far(number)).len();
        }
        let before = gained;
        for number in 0..10 {
            gained += interest.add(peer, far(1_000 + number)).len();
        }
        assert_eq!((interest.wants[&peer].partial.len(), gained), (PARTIAL_MAX, all));
        let mut lost = 0;
        for number in (0..10).map(|it| it + 1_000) {
            lost += interest.remove(peer, far(number)).len();
        }
        assert_eq!(lost, all - before, "it has what it wants, no more");
    }

    #[test]
    fn a_class_is_wanted_while_one_of_its_targets_is() {
        let mut interest = Interest::new();
        let both = interest.class(PeerId(1), &attributes(&[1, 2]));
        assert_eq!(both, interest.class(PeerId(1), &attributes(&[2, 1, 2])));
        let peer = PeerId(70);
        assert!(!interest.has(both, peer));
        assert_eq!(interest.add(peer, wish(1, 96)), [both]);
        assert_eq!(interest.add(peer, wish(2, 96)), []);
        assert_eq!(interest.remove(peer, wish(1, 96)), []);
        assert!(interest.has(both, peer) && !interest.has(both, PeerId(69)));
        let one = interest.class(PeerId(1), &attributes(&[2]));
        assert!(interest.has(one, peer), "a class that comes later is wanted at once");
        let mut gone = interest.remove(peer, wish(2, 96));
        gone.sort_unstable();
        assert_eq!(gone, [both, one]);
        assert_eq!(interest.add(peer, wish(0, 0)).len(), 2, "the default target wants all");
        interest.forget(peer);
        assert!(!interest.has(both, peer));
    }
}
