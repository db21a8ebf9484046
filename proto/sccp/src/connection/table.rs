//! Sections by their local reference, and references that are frozen (Q.714 §3.3.2).

use super::parameters::ConnectionParameters;
use super::primitives::{ConnectionEvent, Disconnected, Inform};
use super::replica::Shared;
use super::section::{Known, Section, Source, State, Way};
use crate::codec::{ConnectionMessage, LocalReference};
use crate::metrics::Metric;
use crate::room::Room;
use bytes::Bytes;
use m3ua::codec::PointCode;
use machine::identity::mix;
use machine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// How often a reference is drawn at most, until a free one is found.
const DRAWS_MAX: u32 = 4_096;
/// Where the part of a reference begins, where nodes share connections.
pub(super) const PART_SHIFT: u32 = 16;

/// What a reference stands for.
#[derive(Debug)]
enum Slot {
    Section(Box<Section>),
    /// Nothing until its time has come; it is still of its source's share.
    Frozen(Source),
}

/// What shall be done.
#[derive(Debug)]
pub(crate) enum Effect {
    /// A message to another node, with the SLS that the connection keeps; of which section.
    Send(Way, u8, Vec<u8>, Option<LocalReference>),
    Tell(LocalReference, ConnectionEvent),
    /// An N-CONNECT request with that tag got no reference.
    NotConnected(u64, u8),
    /// A segment of a section that is coupled, and whether more follow.
    Pass(LocalReference, bool, Bytes),
    /// A section that is coupled has sent what waited.
    Drained(LocalReference),
    Count(Metric),
}

/// Connections of a node.
#[derive(Debug)]
pub(crate) struct Connections {
    pub(super) parameters: ConnectionParameters,
    slots: BTreeMap<LocalReference, Slot>,
    due: BTreeSet<(Time, LocalReference)>,
    /// Sections that are coupled, each with the other one.
    pub(super) couples: BTreeMap<LocalReference, LocalReference>,
    /// Sections by the node they are with.
    remotes: BTreeSet<(PointCode, LocalReference)>,
    /// Those of them that MTP3 has no way to.
    failed: BTreeSet<PointCode>,
    references: Room,
    octets: Room,
    next: u32,
    /// What the order of references is drawn with, for as long as the node lives.
    key: u64,
    /// Octets of a message, at most.
    pub(super) message_octets_max: usize,
    /// When T(guard) began.
    started: Option<Time>,
    /// The time of what is under way.
    pub(super) now: Time,
    pub(crate) effects: Vec<Effect>,
    /// Where several nodes share connections.
    pub(super) shared: Shared,
}

impl Connections {
    pub(crate) fn new(parameters: ConnectionParameters, message_octets_max: usize) -> Self {
        Self {
            parameters,
            slots: BTreeMap::new(),
            due: BTreeSet::new(),
            couples: BTreeMap::new(),
            remotes: BTreeSet::new(),
            failed: BTreeSet::new(),
            references: Room::default(),
            octets: Room::default(),
            next: parameters.reference_first,
            key: parameters.reference_key,
            message_octets_max,
            started: None,
            now: Time::ZERO,
            effects: Vec::new(),
            shared: Shared::default(),
        }
    }

    /// Other timers and limits: each section takes them at its next event.
    pub(crate) fn configure(&mut self, parameters: ConnectionParameters, octets_max: usize) {
        (self.parameters, self.message_octets_max) = (parameters, octets_max);
    }

    /// Notes when the node began to live. Whether T(guard) has run out since.
    pub(crate) fn is_guarded(&mut self, now: Time) -> bool {
        self.now = now;
        let started = *self.started.get_or_insert(now);
        now < started + self.parameters.guard
    }

    /// The time of what is under way.
    pub(crate) const fn now(&self) -> Time {
        self.now
    }

    /// Sections, and references that are frozen.
    pub(crate) fn count(&self) -> (usize, usize) {
        (self.remotes.len(), self.slots.len() - self.remotes.len())
    }

    /// Octets that wait in all.
    pub(crate) const fn octets(&self) -> usize {
        self.octets.sum()
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.due.first().map(|it| it.0)
    }

    /// The next reference whose time has come; what is frozen is free then.
    pub(super) fn next_due(&mut self, now: Time) -> Option<(LocalReference, Box<Section>)> {
        loop {
            let (at, reference) = *self.due.first()?;
            if at > now {
                return None;
            }
            if let Some(section) = self.take(reference) {
                return Some((reference, section));
            }
            self.due.remove(&(at, reference));
            if let Some(Slot::Frozen(source)) = self.slots.remove(&reference) {
                self.references.give_back(source.by, source.opc, 1);
            }
        }
    }

    /// A reference that nothing stands for and that is not frozen. `None` without room for that
    /// source.
    pub(super) fn allocate(&mut self, source: Source) -> Option<LocalReference> {
        let part = match self.parameters.is_shared {
            true => Some(self.shared.next_part()?),
            false => None,
        };
        self.allocate_in(source, part)
    }

    /// The same in a part, where nodes share connections.
    pub(super) fn allocate_in(
        &mut self,
        source: Source,
        part: Option<u8>,
    ) -> Option<LocalReference> {
        // A quarter of the numbers at most is in use: a free one is near.
        let numbers: usize = if part.is_some() { self.shared.numbers() } else { 1 << 24 };
        let most = self.parameters.references_max.min(numbers / 4);
        if !self.references.take(source.by, source.opc, 1, most) {
            self.effects.push(Effect::Count(Metric::ConnectionsShed));
            return None;
        }
        for _ in 0..DRAWS_MAX {
            let reference = LocalReference::truncated(match part {
                None => drawn::<12>(self.next, self.key),
                Some(part) => {
                    u32::from(part) << PART_SHIFT
                        | drawn::<8>(self.next, self.key ^ u64::from(part) << 32)
                }
            });
            self.next = self.next.wrapping_add(1);
            if !self.slots.contains_key(&reference) {
                return Some(reference);
            }
        }
        self.give_up(source);
        self.effects.push(Effect::Count(Metric::ConnectionsShed));
        None
    }

    /// Gives back the reference that was allocated last, which nothing stands for yet.
    pub(super) fn give_up(&mut self, source: Source) {
        self.references.give_back(source.by, source.opc, 1);
    }

    /// A section that is not under way.
    pub(super) fn section(&self, reference: LocalReference) -> Option<&Section> {
        match self.slots.get(&reference)? {
            Slot::Section(section) => Some(section),
            Slot::Frozen(_) => None,
        }
    }

    pub(super) fn has(&self, reference: LocalReference) -> bool {
        self.section(reference).is_some()
    }

    pub(super) fn is_offered(&self, reference: LocalReference) -> bool {
        self.section(reference).is_some_and(|it| matches!(it.state, State::Offered(_)))
    }

    /// All sections.
    pub(super) fn sections(&self) -> impl Iterator<Item = (LocalReference, &Section)> {
        self.slots.iter().filter_map(|(reference, slot)| match slot {
            Slot::Section(section) => Some((*reference, &**section)),
            Slot::Frozen(_) => None,
        })
    }

    /// Takes a section out, to [`Connections::keep`] or [`Connections::freeze`] it.
    pub(super) fn take(&mut self, reference: LocalReference) -> Option<Box<Section>> {
        let slot = self.slots.remove(&reference)?;
        match slot {
            Slot::Section(section) => {
                self.due.remove(&(section.armed, reference));
                self.remotes.remove(&(section.way.remote, reference));
                Some(section)
            }
            Slot::Frozen(_) => {
                self.slots.insert(reference, slot);
                None
            }
        }
    }

    /// Puts a section back.
    pub(super) fn keep(&mut self, reference: LocalReference, mut section: Box<Section>) {
        section.armed = section.due(&self.parameters);
        self.due.insert((section.armed, reference));
        self.remotes.insert((section.way.remote, reference));
        self.slots.insert(reference, Slot::Section(section));
        if self.parameters.is_shared {
            self.shared.touched.push(reference);
        }
    }

    /// A section that another node has served; whether nothing stands for its reference.
    pub(super) fn put(&mut self, reference: LocalReference, section: Box<Section>) -> bool {
        let source = section.source;
        let is_free = !self.slots.contains_key(&reference);
        if is_free {
            // It was within the limits of who has given it.
            self.references.take(source.by, source.opc, 1, usize::MAX);
            if section.octets() > 0 {
                self.octets.take(source.by, source.opc, section.octets(), usize::MAX);
            }
            self.keep(reference, section);
        }
        is_free
    }

    /// Forgets sections and frozen references of parts that another node serves now.
    pub(super) fn forget(&mut self, of: RangeInclusive<LocalReference>) {
        for reference in self.slots.range(of.clone()).map(|it| *it.0).collect::<Vec<_>>() {
            let source = match self.take(reference) {
                Some(section) => {
                    self.give_back(section.source, section.octets());
                    section.source
                }
                None => match self.slots.remove(&reference) {
                    Some(Slot::Frozen(source)) => source,
                    _ => continue,
                },
            };
            self.couples.remove(&reference);
            self.references.give_back(source.by, source.opc, 1);
        }
        self.due.retain(|it| !of.contains(&it.1));
        self.shared.forget(&of);
    }

    /// Sections from one reference to another.
    pub(super) fn sections_of(
        &self,
        of: RangeInclusive<LocalReference>,
    ) -> impl Iterator<Item = (LocalReference, &Section)> {
        self.slots.range(of).filter_map(|(reference, slot)| match slot {
            Slot::Section(section) => Some((*reference, &**section)),
            Slot::Frozen(_) => None,
        })
    }

    /// Notes what was told of a section.
    pub(super) fn note_known(&mut self, reference: LocalReference, told: Known) {
        if let Some(Slot::Section(section)) = self.slots.get_mut(&reference) {
            section.told = told;
        }
    }

    /// Ends a section: its reference is frozen. Longer when the other side may have its half.
    pub(super) fn freeze(
        &mut self,
        now: Time,
        reference: LocalReference,
        section: Box<Section>,
        is_agreed: bool,
    ) {
        self.give_back(section.source, section.octets());
        if !self.has_sections(section.way.remote) {
            self.failed.remove(&section.way.remote);
        }
        let freeze = self.parameters.freeze;
        let time = match is_agreed {
            true => freeze,
            false => freeze.max(self.parameters.inactivity_receive),
        };
        // A reference is not taken again in the step in which it was given up.
        let until = now + time.max(Duration::from_millis(1));
        self.due.insert((until, reference));
        self.slots.insert(reference, Slot::Frozen(section.source));
        if self.parameters.is_shared {
            let is_told = section.told.fields != 0;
            self.shared.ended.push((reference, is_told));
        }
    }

    /// Tells the user that the connection is no more.
    pub(super) fn tell_end(&mut self, reference: LocalReference, why: Disconnected, data: Bytes) {
        self.tell(reference, ConnectionEvent::Disconnected { why, data });
    }

    /// Takes room for octets of a section's that wait.
    pub(super) fn make_room(&mut self, source: Source, octets: usize) -> bool {
        let most = self.parameters.waiting_octets_max;
        self.octets.take(source.by, source.opc, octets, most)
    }

    /// Gives room back.
    pub(super) fn give_back(&mut self, source: Source, octets: usize) {
        self.octets.give_back(source.by, source.opc, octets);
    }

    pub(super) fn metric(&mut self, metric: Metric) {
        self.effects.push(Effect::Count(metric));
    }

    pub(super) fn tell(&mut self, reference: LocalReference, event: ConnectionEvent) {
        self.effects.push(Effect::Tell(reference, event));
    }

    /// Sends a message of a section. What its user gave was measured before.
    pub(super) fn send(
        &mut self,
        now: Time,
        reference: LocalReference,
        section: &mut Section,
        message: &ConnectionMessage<'_>,
    ) {
        section.sent = now;
        self.write(section.way, reference, message, Some(reference));
    }

    /// Sends a message that is of no section; the reference gives the SLS.
    pub(super) fn reply(
        &mut self,
        way: Way,
        reference: LocalReference,
        message: &ConnectionMessage<'_>,
    ) {
        self.write(way, reference, message, None);
    }

    fn write(
        &mut self,
        way: Way,
        reference: LocalReference,
        message: &ConnectionMessage<'_>,
        of: Option<LocalReference>,
    ) {
        let mut payload = Vec::new();
        if message.write(&mut payload).is_some() {
            let sls = reference.number().to_le_bytes()[0] & 0x0f;
            self.effects.push(Effect::Send(way, sls, payload, of));
        }
    }

    /// MTP3 has no way to a node any more, or has one again: users of its connections hear so once.
    pub(crate) fn inform(&mut self, of: PointCode, what: Inform) {
        let is_news = match what {
            Inform::Failure => self.has_sections(of) && self.failed.insert(of),
            Inform::Return => self.failed.remove(&of),
        };
        if !is_news {
            return;
        }
        for (_, reference) in self.remotes.range(range_of(of)) {
            let event = ConnectionEvent::Inform(what);
            self.effects.push(Effect::Tell(*reference, event));
        }
    }

    fn has_sections(&self, with: PointCode) -> bool {
        self.remotes.range(range_of(with)).next().is_some()
    }
}

/// The reference of a number of twice so many bits: each has one of its own, by a Feistel network
/// of two halves.
fn drawn<const HALF: u32>(number: u32, key: u64) -> u32 {
    let mask = (1 << HALF) - 1;
    let (mut high, mut low) = (number >> HALF & mask, number & mask);
    if key == 0 {
        return high << HALF | low;
    }
    for round in 1..=6_u64 {
        let [.., a, b] = mix(key ^ mix(round << 32 | u64::from(low))).to_be_bytes();
        let made = u32::from(u16::from_be_bytes([a, b])) & mask;
        (high, low) = (low, high ^ made);
    }
    high << HALF | low
}

fn range_of(of: PointCode) -> RangeInclusive<(PointCode, LocalReference)> {
    (of, LocalReference::truncated(0))..=(of, LocalReference::truncated(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_reference_of_its_own_and_the_next_one_is_elsewhere() {
        let mut seen = vec![false; 1 << 24];
        let mut near = 0;
        let mut last = drawn::<12>(u32::MAX, 7);
        for number in 0..1 << 24 {
            let it = drawn::<12>(number, 7);
            assert!(!core::mem::replace(&mut seen[it as usize], true), "{it} comes twice");
            near += u32::from(it.abs_diff(last) < 16);
            last = it;
        }
        assert!(near < 100, "{near} follow one another");
        assert_eq!(drawn::<12>(5, 0), 5);
        assert_ne!(drawn::<12>(5, 1), drawn::<12>(5, 2));
        let all: BTreeSet<u32> = (0..1 << 16).map(|it| drawn::<8>(it, 7)).collect();
        assert_eq!(all.len(), 1 << 16);
    }
}
