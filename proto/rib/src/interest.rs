//! Which peer wants routes of which route targets (RFC 4684).
//!
//! Routes fall into *classes* by the combination of their route targets. For each class a set of
//! peers is kept: who wants one of its targets.

use crate::PeerId;
use crate::announced::EVERYBODY;
use crate::classes::ClassSet;
use bgp::codec::{AttributeType, Attributes, ExtendedCommunity};
use bgp::family::{RouteKey, RouteTarget};
use hashbrown::{HashMap, HashSet};
use machine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Combinations of route targets; routes of further ones are sent to everybody.
const CLASSES_MAX: usize = 1 << 16;
/// So many of them one peer makes; classes stay for good, so this outlasts its sessions.
const CLASSES_OF_PEER_MAX: u32 = 1 << 13;
/// Route targets of a class at most: routes with more are sent to everybody, so that neither the
/// octets of a peer's classes nor the time to look at one are of the peer's choosing.
const TARGETS_OF_CLASS_MAX: usize = 64;
/// Prefixes of targets that are kept for one peer; who says more gets everything, as with the
/// default target.
const PARTIAL_MAX: usize = 256;
/// Whole targets that changed for a peer beyond which all classes are looked at.
const TOUCHED_MAX: usize = 4_096;
/// The same of prefixes of targets.
const TOUCHED_RANGES_MAX: usize = 256;
/// Classes that are looked at in one go, and steps on the way to them, but for those of the peer
/// that is past it; a peer who took as many has a pause.
const LOOKS_MAX: usize = 4_096;
/// The pause of such a peer: what it says meanwhile is looked at once, then.
const LOOKS_PAUSE: Duration = Duration::from_secs(5);
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
    /// The first and the last target of each prefix, those that lie in others left out: in order
    /// and apart. `None`: prefixes have changed since.
    ranges: Option<Vec<(u64, u64)>>,
}

impl Wants {
    /// What its prefixes say, in the order in which it is looked up.
    fn settle(&mut self) {
        let Self { partial, ranges, .. } = self;
        ranges.get_or_insert_with(|| outermost(partial.iter().map(RouteTarget::range)));
    }

    fn has(&self, target: ExtendedCommunity) -> bool {
        let value = number_of(target);
        let ranges = self.ranges.as_deref().unwrap_or_default();
        let before = ranges[..ranges.partition_point(|(first, _)| *first <= value)].last();
        before.is_some_and(|(_, last)| value <= *last) || self.whole.contains_key(&target)
    }

    /// Whether one of these targets is wanted, after [`Wants::settle`].
    fn has_any(&self, targets: &[ExtendedCommunity]) -> bool {
        self.beyond > 0
            || self.ranges.as_deref().is_some_and(|it| it.first() == Some(&(0, u64::MAX)))
            || targets.iter().any(|it| self.has(*it))
    }
}

/// What a peer wants otherwise since its classes were looked at.
#[derive(Debug, Default)]
struct Touched {
    targets: HashSet<ExtendedCommunity>,
    /// First and last target of prefixes.
    ranges: HashSet<(u64, u64)>,
    /// Any class may be concerned.
    is_all: bool,
}

impl Touched {
    fn take_all(&mut self) {
        *self = Self { is_all: true, ..Self::default() };
    }
}

/// The classes that a peer gets from now on, and those that it gets no more.
#[derive(Debug)]
pub(crate) struct Turned {
    pub(crate) peer: PeerId,
    pub(crate) gained: ClassSet,
    pub(crate) lost: ClassSet,
}

/// Classes and who wants them.
#[derive(Debug)]
pub(crate) struct Interest {
    classes: Vec<Class>,
    index: HashMap<Box<[ExtendedCommunity]>, u32>,
    of_target: BTreeMap<u64, Vec<u32>>,
    wants: HashMap<PeerId, Wants>,
    /// Who wants a whole target.
    whole: HashMap<ExtendedCommunity, Vec<PeerId>>,
    /// Who says prefixes: each is asked for every class that is made.
    prefixed: BTreeSet<PeerId>,
    /// Whose classes are to be looked at: once, however much they have said until then.
    touched: BTreeMap<PeerId, Touched>,
    /// Who has a pause, and until when.
    pauses: HashMap<PeerId, Time>,
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

#[inline]
fn has(members: &[u64], peer: PeerId) -> bool {
    let word = members.get((peer.0 / 64) as usize);
    word.is_some_and(|word| word >> (peer.0 % 64) & 1 != 0)
}

/// A target as a number: prefixes are ranges of them.
fn number_of(target: ExtendedCommunity) -> u64 {
    u64::from_be_bytes(target.0)
}

/// Ranges of prefixes in order, those that lie in others left out.
fn outermost(ranges: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut all: Vec<_> = ranges.collect();
    all.sort_unstable_by_key(|(first, last)| (*first, core::cmp::Reverse(*last)));
    // Of two prefixes one lies in the other, or they are apart.
    all.dedup_by(|next, before| next.1 <= before.1);
    all
}

/// The classes of targets that changed: each once, however many of its targets are among them; and
/// how many steps that took.
fn concerned(of_target: &BTreeMap<u64, Vec<u32>>, touched: &Touched) -> (ClassSet, usize) {
    let (mut some, mut steps) = (ClassSet::default(), 0);
    let whole = touched.targets.iter().filter_map(|it| of_target.get(&number_of(*it)));
    let ranges = outermost(touched.ranges.iter().copied());
    let ranges = ranges.into_iter().flat_map(|(first, last)| of_target.range(first..=last));
    let numbers = whole.chain(ranges.map(|(_, numbers)| numbers)).flatten();
    for number in numbers {
        some.insert(*number);
        steps += 1;
    }
    (some, steps)
}

impl Interest {
    pub(crate) fn new() -> Self {
        Self {
            // Numbers 0 and 1 stand for nobody and everybody.
            classes: vec![Class::default(), Class::default()],
            index: HashMap::new(),
            of_target: BTreeMap::new(),
            wants: HashMap::new(),
            whole: HashMap::new(),
            prefixed: BTreeSet::new(),
            touched: BTreeMap::new(),
            pauses: HashMap::new(),
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
        if targets.len() > TARGETS_OF_CLASS_MAX {
            return EVERYBODY;
        }
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
        let whole = targets.iter().filter_map(|target| self.whole.get(target)).flatten();
        whole.for_each(|peer| set(&mut members, *peer, true));
        for peer in &self.prefixed {
            let Some(wants) = self.wants.get_mut(peer) else { continue };
            wants.settle();
            if wants.has_any(targets) {
                set(&mut members, *peer, true);
            }
        }
        for target in targets {
            self.of_target.entry(number_of(*target)).or_default().push(number);
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
        has(&class.members, peer)
    }

    /// A route of the family of route targets stands, or does no more.
    pub(crate) fn want(&mut self, peer: PeerId, key: &RouteKey, stands: bool) {
        match RouteTarget::read(key.octets()) {
            Some(target) if stands => self.add(peer, target),
            Some(target) => self.remove(peer, target),
            None => {}
        }
    }

    /// A peer wants routes of a target. [`Interest::turn`] says which classes it gets by that.
    pub(crate) fn add(&mut self, peer: PeerId, target: RouteTarget) {
        let wants = self.wants.entry(peer).or_default();
        if target.bits == WHOLE_BITS {
            let count = wants.whole.entry(target.target).or_default();
            if *count == 0 {
                self.whole.entry(target.target).or_default().push(peer);
            }
            *count += 1;
            return self.touch(peer, target);
        }
        self.prefixed.insert(peer);
        if wants.partial.len() < PARTIAL_MAX {
            wants.partial.push(target);
            wants.ranges = None;
        } else {
            wants.beyond += 1;
            return self.touched.entry(peer).or_default().take_all();
        }
        self.touch(peer, target);
    }

    /// A peer no longer wants routes of a target.
    pub(crate) fn remove(&mut self, peer: PeerId, target: RouteTarget) {
        let Some(wants) = self.wants.get_mut(&peer) else { return };
        if target.bits == WHOLE_BITS {
            if let Some(count) = wants.whole.get_mut(&target.target) {
                *count -= 1;
                if *count == 0 {
                    wants.whole.remove(&target.target);
                    self.wants_no_more(peer, target.target);
                }
            }
        } else if let Some(at) = wants.partial.iter().position(|it| *it == target) {
            wants.partial.swap_remove(at);
            wants.ranges = None;
        } else {
            wants.beyond = wants.beyond.saturating_sub(1);
            return self.touched.entry(peer).or_default().take_all();
        }
        self.touch(peer, target);
    }

    fn wants_no_more(&mut self, peer: PeerId, target: ExtendedCommunity) {
        if let Some(peers) = self.whole.get_mut(&target) {
            peers.retain(|it| *it != peer);
            if peers.is_empty() {
                self.whole.remove(&target);
            }
        }
    }

    fn touch(&mut self, peer: PeerId, target: RouteTarget) {
        let touched = self.touched.entry(peer).or_default();
        if target.bits == WHOLE_BITS {
            touched.targets.insert(target.target);
        } else {
            touched.ranges.insert(target.range());
        }
        let is_much =
            touched.targets.len() >= TOUCHED_MAX || touched.ranges.len() >= TOUCHED_RANGES_MAX;
        if touched.is_all || is_much {
            touched.take_all();
        }
    }

    /// A peer is gone.
    pub(crate) fn forget(&mut self, peer: PeerId) {
        self.touched.remove(&peer);
        self.prefixed.remove(&peer);
        if let Some(wants) = self.wants.remove(&peer) {
            wants.whole.into_keys().for_each(|target| self.wants_no_more(peer, target));
            self.classes.iter_mut().for_each(|class| set(&mut class.members, peer, false));
        }
    }

    /// Whether somebody wants something else than it gets.
    pub(crate) fn is_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    /// When the first pause ends of those who want something else than they get.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.touched.keys().filter_map(|peer| self.pauses.get(peer)).min().copied()
    }

    /// Brings the classes up to date of those who want something else and are due, until enough
    /// was looked at; whether others are due, for whom it is to be called again.
    pub(crate) fn turn(
        &mut self,
        now: Time,
        is_due: impl Fn(PeerId) -> bool,
    ) -> (Vec<Turned>, bool) {
        self.pauses.retain(|_, until| *until > now);
        let (mut looks, mut turned) = (0, Vec::new());
        let is_due = |peer: &PeerId| is_due(*peer) && !self.pauses.contains_key(peer);
        let due: Vec<_> = self.touched.keys().copied().filter(is_due).collect();
        for peer in &due {
            if looks >= LOOKS_MAX {
                return (turned, true);
            }
            let Some(touched) = self.touched.remove(peer) else { continue };
            let (more, of_peer) = self.turn_peer(*peer, &touched);
            if of_peer >= LOOKS_MAX {
                self.pauses.insert(*peer, now + LOOKS_PAUSE);
            }
            looks += of_peer;
            turned.extend(more);
        }
        (turned, false)
    }

    /// What a peer gets from now on, and how many looks and steps that took.
    fn turn_peer(&mut self, peer: PeerId, touched: &Touched) -> (Option<Turned>, usize) {
        let Self { classes, of_target, wants, .. } = self;
        let end = crate::number(classes.len());
        let Some(wants) = wants.get_mut(&peer) else { return (None, 0) };
        wants.settle();
        let mut turned = Turned { peer, gained: ClassSet::default(), lost: ClassSet::default() };
        let mut looks = 0;
        let look = |number: u32| {
            looks += 1;
            let Class { targets, members } = &mut classes[number as usize];
            let wanted = wants.has_any(targets);
            if wanted != has(members, peer) {
                set(members, peer, wanted);
                if wanted { &mut turned.gained } else { &mut turned.lost }.insert(number);
            }
        };
        let mut steps = 0;
        if touched.is_all {
            (EVERYBODY + 1..end).for_each(look);
        } else {
            let (some, taken) = concerned(of_target, touched);
            some.numbers().for_each(look);
            steps = taken;
        }
        (Some(turned), looks + steps)
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

    /// The classes that a peer gets from now on, and those that it gets no more.
    fn turned(interest: &mut Interest) -> (Vec<u32>, Vec<u32>) {
        interest.pauses.clear();
        let (turned, _) = interest.turn(Time::ZERO, |_| true);
        let gained = turned.iter().flat_map(|it| it.gained.numbers()).collect();
        (gained, turned.iter().flat_map(|it| it.lost.numbers()).collect())
    }

    fn added(interest: &mut Interest, peer: PeerId, target: RouteTarget) -> Vec<u32> {
        interest.add(peer, target);
        turned(interest).0
    }

    fn removed(interest: &mut Interest, peer: PeerId, target: RouteTarget) -> Vec<u32> {
        interest.remove(peer, target);
        turned(interest).1
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
            gained += added(&mut interest, peer, far(number)).len();
        }
        let before = gained;
        for number in 0..10 {
            gained += added(&mut interest, peer, far(1_000 + number)).len();
        }
        assert_eq!((interest.wants[&peer].partial.len(), gained), (PARTIAL_MAX, all));
        let mut lost = 0;
        for number in (0..10).map(|it| it + 1_000) {
            lost += removed(&mut interest, peer, far(number)).len();
        }
        assert_eq!(lost, all - before, "it has what it wants, no more");
    }

    #[test]
    fn a_class_is_looked_at_once_and_routes_of_many_targets_make_none() {
        let mut interest = Interest::new();
        let several = |count: u8, own: u8| {
            let numbers: Vec<u8> = (0..count).chain([own]).collect();
            attributes(&numbers)
        };
        let many = u8::try_from(TARGETS_OF_CLASS_MAX).unwrap();
        // As many as fit: 64 targets, 63 of them the same.
        let classes: Vec<u32> =
            (many..=255).map(|own| interest.class(PeerId(1), &several(many - 1, own))).collect();
        assert!(classes.iter().all(|class| *class > EVERYBODY));
        let too_many = interest.class(PeerId(1), &several(many, 255));
        assert_eq!((too_many, interest.classes.len()), (EVERYBODY, classes.len() + 2));
        assert!(interest.has(too_many, PeerId(2)), "also who wants none of its targets");
        // All shared targets at once: each class comes once, and goes once.
        let peer = PeerId(2);
        (0..many).for_each(|number| interest.add(peer, wish(number, 96)));
        assert_eq!(turned(&mut interest), (classes.clone(), vec![]));
        (0..many).for_each(|number| interest.remove(peer, wish(number, 96)));
        let looked_at: Vec<u32> =
            concerned(&interest.of_target, &interest.touched[&peer]).0.numbers().collect();
        assert_eq!(looked_at, classes, "not once for every target");
        assert_eq!(turned(&mut interest), (vec![], classes));
    }

    #[test]
    fn a_prefix_concerns_the_classes_of_its_targets_and_many_of_them_cost_a_pause() {
        let mut interest = Interest::new();
        let (maker, peer, other) = (PeerId(1), PeerId(2), PeerId(3));
        let numbered = |number: u16| {
            let mut value = target(0).0;
            value[5..7].copy_from_slice(&number.to_be_bytes());
            let mut out = Vec::new();
            assert!(write_attribute(0xc0, 16, &value, &mut out));
            out
        };
        for number in 0..u16::try_from(LOOKS_MAX).unwrap() {
            assert_ne!(interest.class(maker, &numbered(number)), EVERYBODY);
        }
        let few = interest.class(maker, &attributes(&[6]));
        for (prefix, classes) in [(wish(8, 95), vec![]), (wish(7, 95), vec![few])] {
            interest.add(peer, prefix);
            let looked_at: Vec<u32> =
                concerned(&interest.of_target, &interest.touched[&peer]).0.numbers().collect();
            assert_eq!(looked_at, classes);
            let (turned, _) = interest.turn(Time::ZERO, |_| true);
            assert_eq!(turned[0].gained.numbers().collect::<Vec<_>>(), classes);
        }
        // What concerns as many as are looked at in one go, for two of them.
        let all = LOOKS_MAX + 1;
        let turn = |interest: &mut Interest, now| {
            let (turned, more) = interest.turn(now, |_| true);
            let count = |set: &ClassSet| set.numbers().count();
            let of: Vec<_> =
                turned.iter().map(|it| (it.peer, count(&it.gained) + count(&it.lost))).collect();
            (of, more)
        };
        [peer, other].into_iter().for_each(|it| interest.add(it, wish(0, 0)));
        assert_eq!(turn(&mut interest, Time::ZERO), (vec![(peer, all - 1)], true));
        assert_eq!(turn(&mut interest, Time::ZERO), (vec![(other, all)], false));
        interest.remove(other, wish(0, 0));
        let late = Time::ZERO + LOOKS_PAUSE;
        assert_eq!(interest.deadline(), Some(late));
        assert_eq!(turn(&mut interest, Time::ZERO), (vec![], false));
        interest.add(maker, wish(6, 96));
        assert_eq!(
            turn(&mut interest, Time::ZERO),
            (vec![(maker, 1)], false),
            "others do not wait"
        );
        assert_eq!(turn(&mut interest, late), (vec![(other, all)], false));
        assert_eq!((interest.deadline(), interest.is_touched()), (None, false));
    }

    #[test]
    fn prefixes_that_lie_in_each_other_are_walked_once_and_steps_count_for_the_pause() {
        let mut interest = Interest::new();
        let numbers = |of: u8| -> Vec<u8> { (0..63).chain([of]).collect() };
        let classes = 128;
        for of in (63..).take(classes) {
            assert_ne!(interest.class(PeerId(1), &attributes(&numbers(of))), EVERYBODY);
        }
        let (peer, entries) = (PeerId(2), 64 * classes);
        for bits in 45_u8..89 {
            interest.add(peer, wish(0, bits));
            interest.remove(peer, wish(0, bits));
        }
        let touched = &interest.touched[&peer];
        assert_eq!(touched.ranges.len(), 44);
        let (some, steps) = concerned(&interest.of_target, touched);
        assert_eq!((some.numbers().count(), steps), (classes, entries));
        assert!(classes < LOOKS_MAX && entries > LOOKS_MAX);
        interest.turn(Time::ZERO, |_| true);
        assert!(interest.pauses.contains_key(&peer), "so many steps cost it a pause");
    }

    #[test]
    fn a_class_is_wanted_while_one_of_its_targets_is() {
        let mut interest = Interest::new();
        let both = interest.class(PeerId(1), &attributes(&[1, 2]));
        assert_eq!(both, interest.class(PeerId(1), &attributes(&[2, 1, 2])));
        let peer = PeerId(70);
        assert!(!interest.has(both, peer));
        assert_eq!(added(&mut interest, peer, wish(1, 96)), [both]);
        assert_eq!(added(&mut interest, peer, wish(2, 96)), []);
        assert_eq!(removed(&mut interest, peer, wish(1, 96)), []);
        assert!(interest.has(both, peer) && !interest.has(both, PeerId(69)));
        let one = interest.class(PeerId(1), &attributes(&[2]));
        assert!(interest.has(one, peer), "a class that comes later is wanted at once");
        let mut gone = removed(&mut interest, peer, wish(2, 96));
        gone.sort_unstable();
        assert_eq!(gone, [both, one]);
        assert_eq!(added(&mut interest, peer, wish(0, 0)).len(), 2, "the default target wants all");
        interest.forget(peer);
        assert!(!interest.has(both, peer));
        assert!(interest.whole.is_empty() && interest.prefixed.is_empty());
        interest.add(peer, wish(4, 96));
        interest.forget(peer);
        assert!(interest.whole.is_empty(), "nothing of it stays");
    }

    #[test]
    fn prefixes_want_what_begins_with_them_in_whatever_order_they_come_and_go() {
        let mut interest = Interest::new();
        let peer = PeerId(0);
        let classes: Vec<u32> =
            (0..=255).map(|number| interest.class(PeerId(1), &attributes(&[number]))).collect();
        // 0..16 in 0..64, which is said twice; 128..130; 255 alone.
        let all = [wish(0, 92), wish(0, 90), wish(0, 90), wish(128, 95), wish(255, 96)];
        all.iter().for_each(|it| interest.add(peer, *it));
        let wanted = |interest: &mut Interest| {
            interest.turn(Time::ZERO, |_| true);
            let has = |number: &usize| interest.has(classes[*number], peer);
            (0..256).filter(has).collect::<Vec<_>>()
        };
        let of = |first: usize| (0..first).chain(128..130).chain([255]).collect::<Vec<_>>();
        assert_eq!(wanted(&mut interest), of(64));
        interest.remove(peer, wish(0, 90));
        assert_eq!(wanted(&mut interest), of(64), "it was said twice");
        interest.remove(peer, wish(0, 90));
        assert_eq!(wanted(&mut interest), of(16));
        interest.add(peer, wish(0, 64));
        interest.remove(peer, wish(0, 92));
        assert_eq!(wanted(&mut interest), (0..256).collect::<Vec<_>>());
        interest.remove(peer, wish(0, 64));
        assert_eq!(wanted(&mut interest), of(0));
    }
}
