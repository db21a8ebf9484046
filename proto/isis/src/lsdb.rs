//! A database: the fragments of a level.

use crate::address::{Level, LspId, NodeId, SystemId};
use crate::lsp::Content;
use crate::pdu::{Body, LspFlags, Pdu, Summary};
use crate::settings::Limits;
use machine::{Duration, Time};
use std::collections::BTreeMap;

/// Seconds for which a purge is remembered (ZeroAgeLifetime).
pub(crate) const ZERO_AGE_S: u16 = 60;

/// A fragment.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) summary: Summary,
    pub(crate) flags: LspFlags,
    pub(crate) octets: Box<[u8]>,
    /// When it dies; of a purge, when it is forgotten.
    pub(crate) ends: Time,
    /// When it is looked at next.
    pub(crate) armed: Time,
    /// The circuit by which it came.
    from: Option<u32>,
}

impl Entry {
    pub(crate) fn new(summary: Summary, flags: LspFlags, octets: &[u8], now: Time) -> Self {
        let lives_s = if summary.lifetime_s == 0 { ZERO_AGE_S } else { summary.lifetime_s };
        let ends = now + Duration::from_secs(lives_s.into());
        Self { summary, flags, octets: octets.into(), ends, armed: Time::MAX, from: None }
    }

    pub(crate) const fn is_purge(&self) -> bool {
        self.summary.lifetime_s == 0
    }

    /// What is said of it now: it lives a second at least as long as it is no purge.
    pub(crate) fn summary(&self, now: Time) -> Summary {
        let left = self.ends.since(now).as_secs();
        let left = machine::narrow::at_most(left, u16::MAX).max(1);
        let lifetime_s = if self.is_purge() { 0 } else { left };
        Summary { lifetime_s, ..self.summary }
    }

    /// What it says; nothing that cannot be read is in a database.
    pub(crate) fn content(&self) -> Content {
        let pdu = Pdu::read(&self.octets).ok();
        pdu.and_then(|pdu| Content::read(&pdu).ok()).unwrap_or_default()
    }

    /// Its octets as they leave now.
    pub(crate) fn leaving(&self, now: Time) -> Vec<u8> {
        let mut octets = self.octets.to_vec();
        octets[10..12].copy_from_slice(&self.summary(now).lifetime_s.to_be_bytes());
        octets
    }
}

#[derive(Debug, Default)]
pub(crate) struct Lsdb {
    entries: BTreeMap<LspId, Entry>,
    of_system: BTreeMap<SystemId, usize>,
    of_circuit: BTreeMap<u32, Share>,
    octets: usize,
}

/// What has come by a circuit.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    lsps: usize,
    octets: usize,
}

impl Lsdb {
    pub(crate) fn of(&self, id: LspId) -> Option<&Entry> {
        self.entries.get(&id)
    }

    pub(crate) fn of_mut(&mut self, id: LspId) -> Option<&mut Entry> {
        self.entries.get_mut(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&LspId, &Entry)> {
        self.entries.iter()
    }

    pub(crate) fn range(&self, start: LspId, end: LspId) -> impl Iterator<Item = (&LspId, &Entry)> {
        // A range that ends before it begins has nothing in it.
        let is_right = start <= end;
        let range = if is_right { start..=end } else { LspId::LAST..=LspId::LAST };
        self.entries.range(range).filter(move |_| is_right)
    }

    /// The live fragments of a node; none without the first one (ISO 10589 §7.2.5).
    pub(crate) fn node(&self, node: NodeId) -> impl Iterator<Item = &Entry> {
        let of = |fragment| LspId { node, fragment };
        let has_first = self.of(of(0)).is_some_and(|it| !it.is_purge());
        let all = self.range(of(0), of(u8::MAX)).map(|(_, entry)| entry);
        all.filter(move |it| has_first && !it.is_purge())
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether a fragment of that size may come in by a circuit. Whoever they name, those of one
    /// circuit are no more than what is left then for all others.
    pub(crate) fn has_room(&self, id: LspId, octets: usize, from: u32, limits: &Limits) -> bool {
        let (of_system, was) = match self.entries.get(&id) {
            Some(entry) => (0, entry.octets.len()),
            None => (self.of_system.get(&id.node.system).copied().unwrap_or(0), 0),
        };
        let is_new = usize::from(!self.entries.contains_key(&id));
        let all = Share { lsps: self.entries.len() + is_new, octets: self.octets - was + octets };
        let its = self.of_circuit.get(&from).copied().unwrap_or_default();
        let left = Share {
            lsps: limits.lsps.saturating_sub(all.lsps),
            octets: limits.octets.saturating_sub(all.octets),
        };
        all.lsps <= limits.lsps
            && of_system < limits.lsps_of_system
            && all.octets <= limits.octets
            && (is_new == 0 || its.lsps <= left.lsps)
            && (octets <= was || its.octets <= left.octets)
    }

    /// A fragment has come by a circuit.
    pub(crate) fn bear(&mut self, id: LspId, from: u32) {
        let Some(entry) = self.entries.get_mut(&id).filter(|it| it.from.is_none()) else { return };
        entry.from = Some(from);
        let its = self.of_circuit.entry(from).or_default();
        *its = Share { lsps: its.lsps + 1, octets: its.octets + entry.octets.len() };
    }

    /// A fragment is not there any more.
    fn less(&mut self, was: &Entry) {
        self.octets -= was.octets.len();
        let Some(from) = was.from else { return };
        if let Some(its) = self.of_circuit.get_mut(&from) {
            *its = Share { lsps: its.lsps - 1, octets: its.octets - was.octets.len() };
            if its.lsps == 0 {
                self.of_circuit.remove(&from);
            }
        }
    }

    pub(crate) fn install(&mut self, entry: Entry) -> Option<Entry> {
        let id = entry.summary.id;
        self.octets += entry.octets.len();
        let was = self.entries.insert(id, entry);
        match &was {
            Some(was) => self.less(was),
            None => *self.of_system.entry(id.node.system).or_insert(0) += 1,
        }
        was
    }

    pub(crate) fn remove(&mut self, id: LspId) {
        let Some(was) = self.entries.remove(&id) else { return };
        self.less(&was);
        if let Some(count) = self.of_system.get_mut(&id.node.system) {
            *count -= 1;
            if *count == 0 {
                self.of_system.remove(&id.node.system);
            }
        }
    }
}

/// The level, the header and the flags of a PDU that is a fragment.
pub(crate) fn fragment(pdu: &Pdu<'_>) -> Option<(Level, Summary, LspFlags)> {
    match pdu.body {
        Body::Lsp(summary, flags) => Some((pdu.kind.level()?, summary, flags)),
        _ => None,
    }
}
