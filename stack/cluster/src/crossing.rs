//! Where something belongs, and what crosses to other nodes.

use crate::early::Place;
use crate::member::{Clustered, GATE_LOOK};
use crate::partition::{group, partition_of_reference};
use crate::peers::{Way, Ways};
use crate::post::Post;
use m3ua::codec::PointCode;
use machine::{Duration, Time};
use runtime::NodeId;
use std::collections::BTreeMap;
use tcap::codec::Message;
use tcap::{PARTITIONS, Transactions};

/// How often work crosses, at most: once, and once more where its partition has just moved.
const HOPS_MAX: u8 = 2;
/// Point codes that one post names: it is no longer than a change may be.
const WAYS_AT_ONCE: usize = 8_192;
/// When work that came back is tried again: by then it is known who is heard.
const AGAIN: Duration = Duration::from_millis(250);

impl Clustered {
    /// Whether this node may speak for a partition now.
    fn may_speak(&self, partition: u8) -> bool {
        self.nodes.as_ref().is_some_and(|it| it.may_speak(group(partition)))
    }

    /// Whether a partition is served here.
    fn serves(&self, partition: u8) -> bool {
        self.open.has(partition) && self.may_speak(partition)
    }

    fn place(&self, partition: u8) -> Place {
        if self.serves(partition) {
            return Place::Here;
        }
        let owner = self.serving.get(usize::from(partition)).and_then(|it| it.0);
        owner.filter(|it| self.heard.contains_key(it)).map_or(Place::Nowhere, Place::At)
    }

    /// Whether a message of that partition is this node's; else it has been sent on, or waits, or
    /// is lost. `hops` is how often it has crossed.
    pub fn is_here(&mut self, partition: u8, hops: u8, post: impl FnOnce() -> Post) -> bool {
        if partition >= PARTITIONS {
            return true;
        }
        let waits = self.early.has(partition);
        match self.place(partition) {
            Place::Here if !waits => return true,
            Place::At(owner) if !waits => _ = self.cross(owner, hops, &post()),
            _ => {
                // A lease may be renewed without a word.
                let is_soon = waits || self.open.has(partition);
                let pause = if is_soon { GATE_LOOK } else { Duration::MAX };
                self.keep(partition, hops, post(), pause);
            }
        }
        false
    }

    fn keep(&mut self, partition: u8, hops: u8, post: Post, pause: Duration) {
        if !self.early.keep(self.timers.now, partition, hops, post, pause) {
            self.counts.unserved += 1;
        }
    }

    /// Work crosses to another node; whether there was a way.
    pub fn cross(&mut self, to: NodeId, hops: u8, post: &Post) -> bool {
        let is_sent = hops < HOPS_MAX && self.heard.contains_key(&to);
        if is_sent {
            self.post(to, hops + 1, post);
            self.counts.crossed += 1;
        } else {
            self.counts.unserved += 1;
        }
        is_sent
    }

    pub(crate) fn post(&mut self, to: NodeId, hops: u8, post: &Post) {
        let mut octets = Vec::with_capacity(256);
        octets.push(hops);
        post.write(&mut octets);
        self.telling.posts.push((to, octets));
    }

    /// Something goes to every other node that is heard.
    pub fn tell_all(&mut self, post: &Post) {
        for node in self.others() {
            self.post(node, 0, post);
        }
    }

    /// Takes what waited for a partition that is served here now: how often each has crossed, and
    /// what it is. What is another node's crosses.
    pub fn take_early(&mut self) -> Vec<(u8, Post)> {
        let mut early = core::mem::replace(&mut self.early, crate::early::Early::new());
        let sorted = early.sort(self.timers.now, |partition| self.place(partition));
        self.early = early;
        self.counts.unserved += sorted.lost;
        for (owner, hops, post) in sorted.elsewhere {
            self.cross(owner, hops, &post);
        }
        sorted.here
    }

    /// Another node has posted this. What is the function's is given back, with how often it has
    /// crossed.
    pub fn came(&mut self, from: NodeId, octets: &[u8]) -> Option<(u8, Post)> {
        let Some((hops, post)) = read(octets) else {
            self.counts.malformed += 1;
            return None;
        };
        match post {
            Post::Rank(subsystem, rank) => self.peers.ranked(from, subsystem, rank),
            Post::Ways(ways) => {
                self.peers.leads(from, &ways);
                self.told.has_other_ways = true;
            }
            Post::MoreWays(ways) => {
                self.peers.leads_also(from, &ways);
                self.told.has_other_ways = true;
            }
            Post::Waiting(ways) => self.peers.waits(from, &ways),
            Post::Stands(it) => self.peers.stand(from, it),
            Post::Born => self.peers.forget(from),
            Post::Management(_) | Post::Segment(_) | Post::Reassembled(_) => {
                return Some((hops, post));
            }
            Post::Unitdata(..) | Post::Notice(..) | Post::Msu(_) | Post::Connected(_) => {
                self.counts.came += 1;
                if let Post::Unitdata(Some(of), _) = &post {
                    self.peers.came_by(from, *of);
                }
                return Some((hops, post));
            }
        }
        None
    }

    /// A post came back. What may have arrived is not posted again; of the rest that is given back
    /// which may begin anywhere.
    pub fn returned(&mut self, to: NodeId, octets: &[u8], has_left: bool) -> Option<(u8, Post)> {
        let (hops, post) = read(octets)?;
        let partition = post.partition();
        match (post, partition) {
            (Post::Rank(subsystem, _), _) => self.peers.rank_returned(to, subsystem),
            (Post::Ways(_) | Post::MoreWays(_) | Post::Waiting(_), _) => {
                self.peers.ways_returned(to)
            }
            (Post::Born, _) if !has_left && self.heard.contains_key(&to) => {
                self.post(to, 0, &Post::Born);
            }
            // They are said again when it is heard again, or once a second.
            (Post::Born | Post::Stands(_), _) => {}
            _ if has_left => self.counts.lost += 1,
            // Of segments all others have heard.
            (Post::Segment(_) | Post::Reassembled(_), _) => {}
            (post @ (Post::Unitdata(..) | Post::Notice(..) | Post::Connected(_)), Some(of)) => {
                self.keep(of, hops, post, AGAIN);
            }
            (post @ (Post::Unitdata(..) | Post::Connected(_)), None) => return Some((hops, post)),
            _ => self.counts.unserved += 1,
        }
        None
    }

    /// Whether the standbys are so far behind, or so much waits, that no dialogue may begin here.
    #[must_use]
    pub fn is_overrun(&self) -> bool {
        let behind = self.behind.and(self.open).len();
        behind * 2 > self.open.len() || self.batches.is_full()
    }

    /// Whether a dialogue may begin here.
    #[must_use]
    pub fn may_begin(&self) -> bool {
        let serves = || self.open.iter().any(|it| self.may_speak(it));
        !self.is_leaving && !self.is_overrun() && serves()
    }

    /// Another node that takes the dialogues of a subsystem and serves partitions.
    #[must_use]
    pub fn taker(&self, subsystem: u8) -> Option<NodeId> {
        let serves = |node: &NodeId| self.serving.iter().any(|it| it.0 == Some(*node));
        let others = self.heard.keys().filter(|it| serves(it) && !self.peers.leaves(**it));
        let ranked = others.filter_map(|node| {
            let rank = self.peers.rank(*node, subsystem)?;
            Some(((rank, self.peers.load(*node), *node), *node))
        });
        ranked.min_by_key(|it| it.0).map(|it| it.1)
    }

    /// Whether another node that stays takes dialogues of a subsystem.
    #[must_use]
    pub fn is_taken_elsewhere(&self, subsystem: u8) -> bool {
        let mut others = self.heard.keys().filter(|it| !self.peers.leaves(**it));
        others.any(|node| self.peers.rank(*node, subsystem).is_some())
    }

    /// What begins a dialogue crosses to another node that takes it; whether there is one.
    pub fn give(&mut self, subsystem: u8, hops: u8, post: &Post) -> bool {
        let taker = self.taker(subsystem);
        let given = taker.filter(|node| self.cross(*node, hops, post));
        given.into_iter().for_each(|node| self.peers.give(node));
        given.is_some()
    }

    /// The best way by another node to a point code.
    #[must_use]
    pub fn way(&self, dpc: PointCode) -> Option<Way> {
        self.peers.way(self.heard.keys().copied(), dpc)
    }

    /// What this node has a way to, where that is news for the others.
    pub fn ways(&mut self, ways: &Ways) {
        let others = self.others();
        for node in self.peers.lack_ways(&others, ways) {
            let all: Vec<PointCode> = ways.all.iter().copied().collect();
            let (first, more) = all.split_at(all.len().min(WAYS_AT_ONCE));
            self.post(node, 0, &Post::Ways(first.to_vec()));
            for more in more.chunks(WAYS_AT_ONCE) {
                self.post(node, 0, &Post::MoreWays(more.to_vec()));
            }
            let waiting: Vec<PointCode> = ways.waiting.iter().copied().collect();
            for waiting in waiting.chunks(WAYS_AT_ONCE) {
                self.post(node, 0, &Post::Waiting(waiting.to_vec()));
            }
        }
    }

    /// The groups that take dialogues here, where that is news for the others.
    pub fn ranks(&mut self, ranks: &BTreeMap<u8, u8>) {
        let others = self.others();
        for (node, subsystem, rank) in self.peers.lack_ranks(&others, ranks) {
            self.post(node, 0, &Post::Rank(subsystem, rank));
        }
    }

    /// Another node is heard, or is not any more.
    pub(crate) fn hears(&mut self, now: Time, node: NodeId, is_alive: bool) {
        self.peers.forget(node);
        self.early.news(now);
        if is_alive && self.heard.insert(node, now).is_none() {
            // It tells everything then, whatever it has told an earlier life of this node.
            self.post(node, 0, &Post::Born);
        } else if !is_alive {
            self.heard.remove(&node);
        }
    }
}

impl Post {
    /// The partition of the dialogue that it is of; none: it may go anywhere.
    fn partition(&self) -> Option<u8> {
        match self {
            Self::Unitdata(_, it) => Transactions::partition_of(&Message::read(&it.data).ok()?),
            Self::Notice(_, data) => Transactions::partition_of_sender(&Message::read(data).ok()?),
            Self::Connected(it) => {
                let message = sccp::codec::Message::read(&it.payload).ok()?;
                partition_of_reference(message.destination_reference()?.number())
            }
            _ => None,
        }
    }
}

/// How often a post has crossed, and what it is.
fn read(octets: &[u8]) -> Option<(u8, Post)> {
    let (hops, post) = octets.split_first()?;
    Some((*hops, Post::read(post).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Cluster;
    use crate::member::Settings;
    use crate::nodes::Nodes;
    use crate::peers::Stands;
    use bytes::Bytes;
    use question::Condition;
    use replica::cluster::Placement;
    use replica::groups::{GroupRow, MemberRow, Members};
    use runtime::{Authority, GroupId, Grouped};
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use tcap::codec::{TransactionId, Writer};

    /// A cluster of which nothing is asked: this node may always speak.
    struct Quiet;

    impl Authority for Quiet {
        fn may_speak(&self, _: GroupId) -> bool {
            true
        }
    }

    impl Nodes for Quiet {
        fn place(&self, _: Vec<Placement>) {}
        fn configure(&self, _: &Members) {}
        fn move_to(&self, _: GroupId, _: NodeId) {}
        fn leave(&self, _: bool) {}
        fn groups(&self) -> Vec<GroupRow> {
            Vec::new()
        }
        fn members(&self) -> Vec<MemberRow> {
            Vec::new()
        }
        fn alarms(&self) -> Vec<Condition> {
            Vec::new()
        }
        fn cells(&self) -> Option<event::MetricCells> {
            None
        }
    }

    const PARTITION: u8 = 5;

    const fn ms(milliseconds: u64) -> Time {
        Time::from_millis(milliseconds)
    }

    /// The node 1, which hears the node 2.
    fn node() -> Clustered {
        let text = "node = 1\nnodes = [{ number = 1, address = \"127.0.0.1:1\" }, \
                    { number = 2, address = \"127.0.0.2:1\" }]";
        let section: Cluster = toml::from_str(text).expect("a section");
        let mut node = Clustered::new(ms(0), NodeId(1), Settings::of(&section, 7));
        node.join(Arc::new(Quiet));
        node.notices(ms(0), &Grouped::Node { node: NodeId(2), is_alive: true });
        node
    }

    fn serves(of: &mut Clustered, now: Time, node: Option<u8>) {
        let (group, node) = (group(PARTITION), node.map(NodeId));
        of.notices(now, &Grouped::Serves { group, node, epoch: 1 });
    }

    /// A message of the partition that came back.
    fn post() -> Post {
        let number = (u32::from(PARTITION) * 4 + 1) << 24;
        let mut data = Vec::new();
        Writer::begin(TransactionId::of(number)).write(&mut data, |_| ());
        Post::Notice(3, Bytes::from(data))
    }

    /// What was posted, but for how this node stands.
    fn posted(of: &mut Clustered) -> Vec<(u8, Post)> {
        let all = core::mem::take(&mut of.telling.posts).into_iter();
        all.filter_map(|it| read(&it.1)).filter(|it| it.1 != Post::Born).collect()
    }

    #[test]
    fn what_waited_has_crossed_as_often_as_before() {
        for (hops, crosses) in [(0, true), (1, true), (HOPS_MAX, false)] {
            let mut node = node();
            assert!(!node.is_here(PARTITION, hops, post), "nobody serves it");
            assert!(posted(&mut node).is_empty());
            serves(&mut node, ms(10), Some(2));
            assert!(node.take_early().is_empty());
            let expected = crosses.then(|| (hops + 1, post()));
            assert_eq!(posted(&mut node), expected.into_iter().collect::<Vec<_>>());
            assert_eq!(node.counts.unserved, u64::from(!crosses));
        }
    }

    /// Where the posts go that are told now, but for how this node stands.
    fn receivers(of: &mut Clustered) -> Vec<NodeId> {
        let all = core::mem::take(&mut of.telling.posts).into_iter();
        all.filter(|it| read(&it.1).is_some_and(|it| it.1 != Post::Born)).map(|it| it.0).collect()
    }

    #[test]
    fn dialogues_that_cross_in_one_second_are_shared_among_the_nodes_that_take_them() {
        let mut node = node();
        for (partition, number) in [(PARTITION, 2), (PARTITION + 1, 3)] {
            let number = NodeId(number);
            node.notices(ms(0), &Grouped::Node { node: number, is_alive: true });
            let (group, served_by) = (group(partition), Some(number));
            node.notices(ms(0), &Grouped::Serves { group, node: served_by, epoch: 1 });
            node.peers.ranked(number, 6, Some(0));
        }
        assert!(!node.give(7, 0, &post()), "nobody takes them");
        let give = |node: &mut Clustered, count: u8| {
            (0..count).for_each(|_| assert!(node.give(6, 0, &post())));
            receivers(node).into_iter().map(|it| it.0).collect::<Vec<_>>()
        };
        assert_eq!(give(&mut node, 4), [2, 3, 2, 3]);
        node.peers.stand(NodeId(2), Stands { dialogues: 4, ..Stands::default() });
        assert_eq!(give(&mut node, 3), [3, 3, 2], "it says how many it has");
    }

    #[test]
    fn ways_that_no_post_has_room_for_are_told_in_several() {
        let all: BTreeSet<PointCode> = (1..=20_000).filter_map(PointCode::new).collect();
        let mut node = node();
        let ways = |all: &BTreeSet<PointCode>| Ways { all: all.clone(), ..Ways::default() };
        node.ways(&ways(&all));
        let posts = core::mem::take(&mut node.telling.posts);
        assert_eq!(posts.iter().filter(|it| it.1[1..].len() > 1).count(), 3);
        assert!(posts.iter().all(|it| it.1.len() < replica::DELTA_BYTES_MAX));
        let mut other = self::node();
        posts.iter().for_each(|it| assert!(other.came(NodeId(2), &it.1).is_none()));
        assert!(all.iter().all(|it| other.peers.reaches(NodeId(2), *it)));
        // One of them comes back: all are told again.
        assert!(node.returned(NodeId(2), &posts[2].1, false).is_none());
        node.ways(&ways(&all));
        assert_eq!(node.telling.posts.len(), 3);
        let fewer = BTreeSet::from_iter(all.first().copied());
        node.telling.posts.clear();
        node.ways(&ways(&fewer));
        node.telling.posts.iter().for_each(|it| drop(other.came(NodeId(2), &it.1)));
        assert!(!all.last().is_some_and(|it| other.peers.reaches(NodeId(2), *it)));
    }

    #[test]
    fn an_active_way_comes_before_one_that_waits_and_then_the_last_one() {
        let code = |number| PointCode::new(number).expect("24 bits");
        let (mut node, dpc) = (node(), code(7));
        node.notices(ms(0), &Grouped::Node { node: NodeId(3), is_alive: true });
        let way = |it: &Clustered| it.way(dpc).map(|it| (it.node.0, it.waits));
        assert_eq!(way(&node), None);
        node.peers.came_by(NodeId(3), dpc);
        node.peers.leads(NodeId(2), &[dpc]);
        assert_eq!(way(&node), Some((2, false)), "who has no way has none for answers");
        node.peers.leads(NodeId(3), &[dpc, code(8)]);
        node.peers.came_by(NodeId(3), dpc);
        assert_eq!(way(&node), Some((3, false)), "the last one");
        node.peers.waits(NodeId(3), &[dpc, code(9)]);
        assert_eq!(way(&node), Some((2, false)));
        assert_eq!(node.way(code(9)), None, "what waits is one of its ways");
        node.peers.waits(NodeId(2), &[dpc]);
        assert_eq!(way(&node), Some((3, true)));
        node.peers.leads(NodeId(2), &[dpc]);
        assert_eq!(way(&node), Some((2, false)), "it is back");
    }

    #[test]
    fn what_has_changed_is_told_at_once_and_not_in_each_step() {
        let mut node = node();
        let tells = |node: &mut Clustered, now: u64, has_changed: bool| {
            node.told.own_ways_changed |= has_changed;
            node.is_time_to_tell(ms(now))
        };
        assert!(tells(&mut node, 100, false) && !tells(&mut node, 101, false));
        assert!(tells(&mut node, 102, true) && !tells(&mut node, 103, false));
        assert!(!tells(&mut node, 104, true), "soon");
        assert_eq!(node.deadline(), Some(ms(120)));
        assert!(tells(&mut node, 120, false) && !tells(&mut node, 121, false));
    }

    #[test]
    fn what_finds_a_node_dead_waits_for_the_news_of_it() {
        let mut node = node();
        serves(&mut node, ms(0), Some(2));
        assert!(!node.is_here(PARTITION, 0, post));
        let [(1, Post::Notice(..))] = posted(&mut node)[..] else { panic!("it crosses") };
        let octets = [&[1][..], &{
            let mut octets = Vec::new();
            post().write(&mut octets);
            octets
        }]
        .concat();
        assert!(node.returned(NodeId(2), &octets, false).is_none());
        node.tick(ms(5));
        assert!(node.take_early().is_empty() && posted(&mut node).is_empty(), "not at once");
        // What comes now comes behind it.
        assert!(!node.is_here(PARTITION, 0, post));
        node.notices(ms(10), &Grouped::Node { node: NodeId(2), is_alive: false });
        serves(&mut node, ms(20), Some(1));
        node.activated(PARTITION, None);
        assert_eq!(node.take_early(), [(1, post()), (0, post())]);
        assert!(node.is_here(PARTITION, 0, post));
        // What may have arrived is not said twice.
        assert!(node.returned(NodeId(2), &octets, true).is_none());
        assert_eq!((node.counts.lost, node.take_early().len()), (1, 0));
    }
}
