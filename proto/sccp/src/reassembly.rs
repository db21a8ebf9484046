//! Reassembly of segments (Q.714 §4.1.1.2.3), bounded in octets, by association, and by the point
//! codes within one: who writes what he likes as his point code has the room of one association.

use crate::codec::{Address, Class, ReturnCause, Segmentation, Unit};
use crate::room::Room;
use m3ua::PeerId;
use m3ua::codec::PointCode;
use machine::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// What a message that waits costs beside its octets.
const OVERHEAD: usize = 256;

/// Names a message: where its MSUs come from, its local reference, and who sent it (§4.1.1.2.3).
type Key = (PointCode, u32, Address);

/// Names a message in segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SegmentsOf(Key);

impl SegmentsOf {
    /// The message that a unit from there is a segment of, if it is one.
    #[must_use]
    pub fn unit(opc: PointCode, unit: &Unit<'_>) -> Option<Self> {
        unit.segmentation.map(|it| Self((opc, it.reference, unit.calling)))
    }
}

/// How much may wait, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) octets: usize,
    pub(crate) time: Duration,
}

/// A segment that came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment<'a> {
    pub(crate) by: Option<PeerId>,
    pub(crate) opc: PointCode,
    pub(crate) called: Address,
    pub(crate) calling: Address,
    pub(crate) class: Class,
    pub(crate) segmentation: Segmentation,
    pub(crate) data: &'a [u8],
}

/// A message of which segments came.
#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) opc: PointCode,
    pub(crate) called: Address,
    pub(crate) calling: Address,
    /// What the user asked for: class 0 goes as class 1 while it is in segments.
    pub(crate) class: Class,
    pub(crate) data: Vec<u8>,
    /// Octets of the first segment: what is returned.
    pub(crate) first: usize,
    remaining: u8,
    due: Time,
    /// The association that it began by.
    by: Option<PeerId>,
}

/// What a segment led to.
#[derive(Debug)]
pub(crate) enum Came {
    /// Others are to come.
    More,
    /// The message is whole.
    Whole(Partial),
    /// It will never be; with what there was of it.
    Failed(ReturnCause, Option<Partial>),
}

/// Messages that wait for segments.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    partials: BTreeMap<Key, Partial>,
    due: BTreeSet<(Time, Key)>,
    room: Room,
}

impl Reassembly {
    /// Octets of all, with what each costs.
    pub(crate) const fn octets(&self) -> usize {
        self.room.sum()
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Whether a message waits for segments.
    pub(crate) fn awaits(&self, of: &SegmentsOf) -> bool {
        self.partials.contains_key(&of.0)
    }

    /// A message waits no more: it is whole elsewhere.
    pub(crate) fn forget(&mut self, of: &SegmentsOf) {
        self.remove(&of.0);
    }

    fn remove(&mut self, key: &Key) -> Option<Partial> {
        let partial = self.partials.remove(key)?;
        self.due.remove(&(partial.due, *key));
        self.room.give_back(partial.by, key.0, OVERHEAD + partial.data.len());
        Some(partial)
    }

    /// The next message whose time is over.
    pub(crate) fn expire(&mut self, now: Time) -> Option<Partial> {
        let (at, key) = *self.due.first()?;
        if at > now { None } else { self.remove(&key) }
    }

    /// A segment came.
    pub(crate) fn take(&mut self, now: Time, segment: Segment<'_>, limits: Limits) -> Came {
        let key = (segment.opc, segment.segmentation.reference, segment.calling);
        if segment.segmentation.is_first {
            // The source began anew: what was there will never be whole.
            let before = self.remove(&key);
            return match (self.begin(now, key, segment, limits), before) {
                (Came::More, Some(before)) => {
                    Came::Failed(ReturnCause::ErrorInTransport, Some(before))
                }
                (came, _) => came,
            };
        }
        let Some(partial) = self.partials.get_mut(&key) else {
            return Came::Failed(ReturnCause::ErrorInTransport, None);
        };
        if partial.remaining != segment.segmentation.remaining + 1 {
            return Came::Failed(ReturnCause::ErrorInTransport, self.remove(&key));
        }
        if !self.room.take(partial.by, key.0, segment.data.len(), limits.octets) {
            return Came::Failed(ReturnCause::NoReassembly, self.remove(&key));
        }
        partial.data.extend_from_slice(segment.data);
        partial.remaining -= 1;
        match partial.remaining {
            0 => self.remove(&key).map_or(Came::More, Came::Whole),
            _ => Came::More,
        }
    }

    fn begin(&mut self, now: Time, key: Key, segment: Segment<'_>, limits: Limits) -> Came {
        let due = now + limits.time;
        let class = Class { is_sequenced: segment.segmentation.is_sequenced, ..segment.class };
        let partial = Partial {
            opc: segment.opc,
            called: segment.called,
            calling: segment.calling,
            class,
            data: segment.data.to_vec(),
            first: segment.data.len(),
            remaining: segment.segmentation.remaining,
            due,
            by: segment.by,
        };
        if partial.remaining == 0 {
            return Came::Whole(partial);
        }
        let octets = OVERHEAD + partial.data.len();
        if !self.room.take(partial.by, key.0, octets, limits.octets) {
            return Came::Failed(ReturnCause::NoReassembly, Some(partial));
        }
        self.due.insert((due, key));
        self.partials.insert(key, partial);
        Came::More
    }
}
