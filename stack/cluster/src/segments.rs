//! Segments that wait at other nodes for the rest of their messages: where the rest comes here, for
//! that node is dead or its association broken, the message is whole here.

use crate::member::Clustered;
use crate::post::Post;
use m3ua::Transfer;
use machine::{Duration, Time};
use runtime::NodeId;
use sccp::codec::{Message, MessageType, SERVICE_INDICATOR, Unit};
use sccp::{Node, SegmentsOf};
use std::collections::{BTreeMap, VecDeque};

/// Octets that are kept of one node, with what each segment costs, at most: the oldest go first.
const OCTETS_MAX: usize = 1 << 20;
const OVERHEAD: usize = 128;
/// Segments of a message that wait, at most (Q.713 §3.17).
const SEGMENTS_MAX: usize = 15;
/// As long as a message waits for its segments at most (Q.714, T(reass)).
const KEPT: Duration = Duration::from_secs(20);

/// Those of one node.
#[derive(Debug, Default)]
struct OfNode {
    /// When each message began, and its segments.
    messages: BTreeMap<SegmentsOf, (Time, Vec<Transfer>)>,
    /// In the order in which they began; some have begun anew since, or are over.
    begun: VecDeque<(Time, SegmentsOf)>,
    octets: usize,
}

impl OfNode {
    fn begin(&mut self, now: Time, of: SegmentsOf) {
        self.remove(&of);
        self.messages.insert(of, (now, Vec::new()));
        self.begun.push_back((now, of));
        if self.begun.len() > 2 * self.messages.len() + 64 {
            let Self { messages, begun, .. } = self;
            begun.retain(|it| messages.get(&it.1).is_some_and(|of| of.0 == it.0));
        }
    }

    fn remove(&mut self, of: &SegmentsOf) -> Option<Vec<Transfer>> {
        let (_, all) = self.messages.remove(of)?;
        self.octets -= all.iter().map(cost).sum::<usize>();
        Some(all)
    }

    fn expire(&mut self, now: Time) {
        while let Some((at, of)) = self.begun.front().copied()
            && (at + KEPT <= now || self.octets > OCTETS_MAX)
        {
            self.begun.pop_front();
            if self.messages.get(&of).is_some_and(|it| it.0 == at) {
                self.remove(&of);
            }
        }
    }
}

fn cost(msu: &Transfer) -> usize {
    msu.payload.len() + OVERHEAD
}

/// Segments of other nodes.
#[derive(Debug, Default)]
pub(crate) struct Segments(BTreeMap<NodeId, OfNode>);

impl Segments {
    /// A segment waits at a node; the first one, or another one behind it.
    fn keep(&mut self, now: Time, at: NodeId, of: SegmentsOf, is_first: bool, segment: Transfer) {
        let node = self.0.entry(at).or_default();
        if is_first {
            node.begin(now, of);
        }
        if let Some((_, all)) = node.messages.get_mut(&of)
            && all.len() < SEGMENTS_MAX
        {
            node.octets += cost(&segment);
            all.push(segment);
        }
        node.expire(now);
    }

    /// A message waits at that node no more.
    fn forget(&mut self, at: NodeId, of: &SegmentsOf) {
        if let Some(node) = self.0.get_mut(&at) {
            node.remove(of);
        }
    }

    /// What waits of a message elsewhere: it waits here from now on.
    fn take(&mut self, now: Time, of: &SegmentsOf) -> Vec<Transfer> {
        self.0.values_mut().for_each(|it| it.expire(now));
        self.0.values_mut().find_map(|it| it.remove(of)).unwrap_or_default()
    }
}

/// A segment that is under way here.
#[derive(Debug)]
pub struct Segment {
    of: SegmentsOf,
    msu: Transfer,
    /// Others know of the message.
    was_waiting: bool,
    /// Those that waited at another node and wait here now.
    pub before: Vec<Transfer>,
}

/// The message that an MSU is a segment of, and whether it is the first one.
fn read(msu: &Transfer) -> Option<(SegmentsOf, bool)> {
    const XUDT: u8 = MessageType::ExtendedUnitdata.number();
    const LUDT: u8 = MessageType::LongUnitdata.number();
    let (SERVICE_INDICATOR, Some(XUDT | LUDT)) = (msu.si, msu.payload.first().copied()) else {
        return None;
    };
    let message = Message::read(&msu.payload).ok()?;
    let unit = Unit::of(&message).ok()??;
    let of = SegmentsOf::unit(msu.opc, &unit)?;
    Some((of, unit.segmentation.is_some_and(|it| it.is_first)))
}

impl Clustered {
    /// An MSU comes, which may be a segment: what waits for it at another node is to wait here.
    pub fn segment_comes(&mut self, now: Time, node: &Node, msu: &Transfer) -> Option<Segment> {
        let (of, is_first) = read(msu)?;
        let was_waiting = node.awaits(&of);
        let mut before = match was_waiting {
            true => Vec::new(),
            false => self.segments.take(now, &of),
        };
        if is_first {
            before.clear();
        }
        let was_waiting = was_waiting || !before.is_empty();
        Some(Segment { of, msu: msu.clone(), was_waiting, before })
    }

    /// It has come: the others hear that it waits, or that its message does no more.
    pub fn segment_came(&mut self, node: &Node, it: Segment) {
        if node.awaits(&it.of) {
            for segment in it.before.into_iter().chain([it.msu]) {
                self.tell_all(&Post::Segment(segment));
            }
        } else if it.was_waiting {
            self.tell_all(&Post::Reassembled(it.msu));
        }
    }

    /// A segment waits at another node.
    pub fn segment_waits(&mut self, now: Time, node: &mut Node, at: NodeId, msu: Transfer) {
        let Some((of, is_first)) = read(&msu) else { return };
        if is_first {
            // It waits there and nowhere else.
            drop(self.segments.take(now, &of));
            node.forget_segments(&of);
        }
        self.segments.keep(now, at, of, is_first, msu);
    }

    /// A message is whole at another node, or never will be.
    pub fn reassembled(&mut self, node: &mut Node, at: NodeId, msu: &Transfer) {
        if let Some((of, _)) = read(msu) {
            self.segments.forget(at, &of);
            node.forget_segments(&of);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use m3ua::codec::PointCode;
    use sccp::codec::{Address, Class, Form, Segmentation, Word};

    const NODE: NodeId = NodeId(2);

    fn message(reference: u32) -> SegmentsOf {
        let segmentation =
            Segmentation { is_first: true, is_sequenced: true, remaining: 2, reference };
        let unit = Unit {
            form: Form::Extended,
            word: Word::Data(Class { is_sequenced: true, returns: false }),
            hops: 0,
            called: Address::subsystem(None, 6),
            calling: Address::subsystem(None, 8),
            segmentation: Some(segmentation),
            importance: None,
            data: &[],
        };
        SegmentsOf::unit(PointCode::MAX, &unit).unwrap()
    }

    fn segment(length: usize) -> Transfer {
        let (opc, dpc, payload) = (PointCode::MAX, PointCode::MAX, vec![7; length].into());
        Transfer { network: None, opc, dpc, si: 3, ni: 2, mp: 0, sls: 5, payload }
    }

    #[test]
    fn what_waits_elsewhere_is_taken_once_in_order_and_not_when_it_is_old_or_over() {
        let mut all = Segments::default();
        let now = Time::from_millis(1_000);
        all.keep(now, NODE, message(1), false, segment(9));
        assert!(all.take(now, &message(1)).is_empty(), "its first one lacks");
        all.keep(now, NODE, message(1), true, segment(1));
        all.keep(now, NODE, message(1), false, segment(2));
        all.keep(now, NODE, message(2), true, segment(3));
        let lengths = |it: Vec<Transfer>| it.iter().map(|it| it.payload.len()).collect::<Vec<_>>();
        assert_eq!(lengths(all.take(now, &message(1))), [1, 2]);
        assert!(all.take(now, &message(1)).is_empty());
        all.forget(NODE, &message(2));
        assert!(all.take(now, &message(2)).is_empty());
        all.keep(now, NODE, message(3), true, segment(3));
        assert!(all.take(now + KEPT, &message(3)).is_empty());
    }

    #[test]
    fn of_too_many_the_oldest_are_forgotten() {
        let mut all = Segments::default();
        for number in 0..2_000 {
            all.keep(Time::from_millis(number), NODE, message(number as u32), true, segment(1_000));
        }
        let now = Time::from_millis(2_000);
        assert!(all.0.values().all(|it| it.octets <= OCTETS_MAX));
        assert!(
            all.take(now, &message(0)).is_empty() && !all.take(now, &message(1_999)).is_empty()
        );
    }
}
