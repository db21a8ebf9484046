//! Segments that wait at other nodes for the rest of their messages: where the rest comes here, for
//! that node is dead or its association broken, the message is whole here.

use crate::member::Clustered;
use crate::post::Post;
use m3ua::{PeerId, Transfer};
use machine::bucket::{Bucket, Rate};
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
/// Segments of one peer that others are told of, a second: beyond these their messages are lost
/// with this node.
const TOLD_PER_S: f64 = 1_000.0;
const TOLD_AT_ONCE: u32 = 500;
/// Peers of whom that is known, before those that are quiet are forgotten.
const PEERS: usize = 1_024;
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

/// Segments of other nodes, and what others are told of the peers of this one.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    of: BTreeMap<NodeId, OfNode>,
    told: BTreeMap<PeerId, Bucket>,
}

impl Segments {
    /// A segment waits at a node; the first one, or another one behind it.
    fn keep(&mut self, now: Time, at: NodeId, of: SegmentsOf, is_first: bool, segment: Transfer) {
        let node = self.of.entry(at).or_default();
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

    /// Whether others are told of one more segment of a peer: it costs each of them what it costs
    /// here.
    fn may_tell(&mut self, now: Time, peer: PeerId) -> bool {
        let rate = Rate::new(TOLD_PER_S, Some(TOLD_AT_ONCE));
        if self.told.len() > PEERS {
            self.told.retain(|_, it| !it.is_rested(now)); // some have gone
        }
        let bucket = self.told.entry(peer).or_default();
        let may = bucket.has_room(now, rate);
        if may {
            bucket.take(now, rate);
        }
        may
    }

    /// A message waits at that node no more.
    fn forget(&mut self, at: NodeId, of: &SegmentsOf) {
        if let Some(node) = self.of.get_mut(&at) {
            node.remove(of);
        }
    }

    /// What waits of a message elsewhere: it waits here from now on.
    fn take(&mut self, now: Time, of: &SegmentsOf) -> Vec<Transfer> {
        self.of.values_mut().for_each(|it| it.expire(now));
        self.of.values_mut().find_map(|it| it.remove(of)).unwrap_or_default()
    }
}

/// A segment that is under way here.
#[derive(Debug)]
pub struct Segment {
    of: SegmentsOf,
    msu: Transfer,
    /// Others know of the message.
    was_waiting: bool,
    may_tell: bool,
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
    /// An MSU comes from a peer, which may be a segment: what waits for it at another node is to
    /// wait here.
    pub fn segment_comes(
        &mut self,
        now: Time,
        node: &Node,
        from: PeerId,
        msu: &Transfer,
    ) -> Option<Segment> {
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
        let may_tell = self.segments.may_tell(now, from);
        Some(Segment { of, msu: msu.clone(), was_waiting, may_tell, before })
    }

    /// It has come: the others hear that it waits, or that its message does no more.
    pub fn segment_came(&mut self, node: &Node, it: Segment) {
        if node.awaits(&it.of) {
            if !it.may_tell {
                return;
            }
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
    fn a_peer_that_floods_is_told_of_no_more_and_another_one_is() {
        let mut all = Segments::default();
        let now = Time::from_millis(1_000);
        let told = (0..9_000).filter(|_| all.may_tell(now, PeerId::of_numbers(1, 0))).count();
        assert!((400..=600).contains(&told), "{told}");
        assert!(all.may_tell(now, PeerId::of_numbers(2, 0)));
        assert!(all.may_tell(now + Duration::from_secs(1), PeerId::of_numbers(1, 0)));
    }

    #[test]
    fn of_too_many_the_oldest_are_forgotten() {
        let mut all = Segments::default();
        for number in 0..2_000 {
            all.keep(Time::from_millis(number), NODE, message(number as u32), true, segment(1_000));
        }
        let now = Time::from_millis(2_000);
        assert!(all.of.values().all(|it| it.octets <= OCTETS_MAX));
        assert!(
            all.take(now, &message(0)).is_empty() && !all.take(now, &message(1_999)).is_empty()
        );
    }
}
