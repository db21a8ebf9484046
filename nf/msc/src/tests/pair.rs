//! Two nodes of a pair, each with its forwarder: what the one is told the other knows, and whoever
//! takes over goes on with the same leases, streams and life.

use super::seeds::{Peer, below, holds, ng, reconnects, step};
use super::*;
use crate::pair::Role;
use media::program::{LATE, Snapshot};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use runtime::Mirrored;

/// `192.0.2.1` goes from one node to the other, each of which has an address of its own.
fn site(own: u8) -> String {
    SITE.replace("\"192.0.2.1/24\"", &format!("\"192.0.2.{own}/24\""))
        .replace("\"2001:db8::1/64\"", &format!("\"2001:db8::{own}/64\""))
        + &format!(
            "[replica]\nnode = \"{}\"\nlisten = \"127.0.0.1:59{own}\"\npeer = \"127.0.0.1:5900\"\n",
            if own == 11 { "a" } else { "b" }
        )
}

/// The nodes, and which of them serves.
struct Nodes {
    nodes: [World; 2],
    active: usize,
}

fn mirror(world: &mut World, input: Mirrored<'_>) {
    world.msc.replicate(world.now, input, &mut world.out);
    world.settle();
}

/// A node that was started: its forwarder takes its control before it knows which of the two it is.
fn started(own: u8, plane: Plane, now: Time) -> World {
    let mut world = World::with(settings(&site(own), None), plane, now);
    mirror(&mut world, Mirrored::Deactivate);
    world.adopt();
    world
}

impl Nodes {
    fn new() -> Self {
        let now = Time::from_millis(1_000);
        let nodes = [11, 12].map(|own| started(own, Plane::default(), now));
        let mut nodes = Self { nodes, active: 0 };
        mirror(nodes.active(), Mirrored::Activate);
        nodes.syncs();
        nodes
    }

    fn active(&mut self) -> &mut World {
        &mut self.nodes[self.active]
    }

    fn standby(&mut self) -> &mut World {
        &mut self.nodes[1 - self.active]
    }

    /// The standby begins anew, and is told everything.
    fn syncs(&mut self) {
        self.active().deltas.clear();
        mirror(self.standby(), Mirrored::Forget);
        let active = self.active();
        mirror(active, Mirrored::Snapshot(1));
        while active.msc.pair.deadline() == Some(Time::ZERO) {
            active.msc.tick(active.now, &mut active.out);
            active.settle();
        }
        self.told();
    }

    /// The standby hears what the active one has told since.
    fn told(&mut self) {
        for delta in std::mem::take(&mut self.active().deltas) {
            mirror(self.standby(), Mirrored::Delta(&delta));
        }
        let now = self.active().now;
        self.standby().now = now;
    }

    /// The active one dies after what it told: the other one takes over, and a new one follows
    /// that.
    fn dies(&mut self) {
        self.told();
        let now = self.active().now;
        let own = if self.active == 0 { 11 } else { 12 };
        *self.active() = started(own, Plane::default(), now);
        self.active = 1 - self.active;
        mirror(self.active(), Mirrored::Activate);
        self.syncs();
    }

    fn duty(&self, node: usize) -> Option<Duty> {
        self.nodes[node].plane.duties.last().copied()
    }
}

fn has_groups(world: &World) -> bool {
    let groups = ["192.0.2.1", "192.0.2.2", "2001:db8::1"];
    let has = |text: &&str| world.plane.addresses.contains(&text.parse().expect("an address"));
    let count = groups.iter().filter(|text| has(text)).count();
    assert!(count == 0 || count == 3, "all or none: {:?}", world.plane.addresses);
    count == 3
}

#[test]
fn whoever_takes_over_has_the_life_the_leases_and_the_streams_and_tells_nothing_of_them() {
    let mut nodes = Nodes::new();
    nodes.active().greets(1, "ssc1", 7);
    let block = nodes.active().leases(1, "access", 32)[0];
    let stream = stream(at(block, 0), at(block, 1));
    nodes.active().puts(1, 5, 1, &stream);
    let source: SocketAddr = "198.51.100.9:4".parse().expect("a place");
    let snapshot = Snapshot { latched: Some(source), ..Snapshot::default() };
    let notice = Notice { snapshot: Some(snapshot.clone()), ..Notice::default() };
    nodes.active().notices(at(block, 0), &notice);
    nodes.told();
    assert_eq!((nodes.duty(0), nodes.duty(1)), (nodes.duty(0), Some(Duty::StandsBy)));
    assert!(matches!(nodes.duty(0), Some(Duty::Serves(_))));
    assert!(has_groups(&nodes.nodes[0]) && !has_groups(&nodes.nodes[1]));
    let [one, other] = [0, 1].map(|at| nodes.nodes[at].plane.flows());
    assert_eq!((one.len(), other.len()), (4, 4));
    assert_eq!(other[0].resume, Some(snapshot), "it goes on from there");
    let row = |world: &mut World| world.asks("streams", &[])[0]["ends"][0]["latched"].clone();
    assert_eq!(row(nodes.standby()), source.to_string());
    let epoch = nodes.active().msc.epoch;
    // It dies; the other one takes over.
    let before = nodes.nodes[1].plane.items.len();
    nodes.active = 1;
    mirror(nodes.active(), Mirrored::Activate);
    assert!(matches!(nodes.duty(1), Some(Duty::Serves(_))) && has_groups(&nodes.nodes[1]));
    assert_eq!((nodes.active().msc.epoch, before), (epoch, nodes.nodes[1].plane.items.len()));
    assert_eq!(nodes.active().alarms(), ["session-controller-away"]);
    nodes.active().greets(2, "ssc1", 7);
    let told = nodes.active().told(2);
    let is_same =
        |it: &Message| matches!(it, Message::Hello { epoch: of, .. } if Some(*of) == epoch);
    assert!(told.iter().any(is_same), "{told:?}");
    assert_eq!(nodes.active().leases(2, "access", 32), [block]);
    let items = nodes.active().plane.items.clone();
    nodes.active().says(2, Message::Begin);
    nodes.active().puts(2, 5, 1, &stream);
    nodes.active().says(2, Message::End);
    assert!(nodes.active().plane.items == items, "nothing is said of what stands");
    assert_eq!(nodes.active().alarms(), Vec::<String>::new());
}

#[test]
fn a_standby_serves_nobody_and_says_nothing() {
    let mut nodes = Nodes::new();
    let standby = nodes.standby();
    standby.connect(3);
    assert_eq!(standby.closed, [3].into(), "it shall look for the other one");
    standby.passes(200);
    assert_eq!((standby.alarms(), standby.deltas.len()), (Vec::<String>::new(), 0));
    assert_eq!(standby.asks("media", &[])[0]["role"], "standby");
}

#[test]
fn before_it_is_known_which_of_the_two_it_is_the_forwarder_goes_on_as_it_is() {
    let now = Time::from_millis(5_000);
    let mut nodes = Nodes::new();
    nodes.active().greets(1, "ssc1", 7);
    let block = nodes.active().leases(1, "access", 32)[0];
    nodes.active().puts(1, 5, 1, &stream(at(block, 0), at(block, 1)));
    let epoch = nodes.active().msc.epoch;
    // Its control dies, and there is no other node.
    let plane = std::mem::take(&mut nodes.active().plane);
    let (items, turn) = (plane.items.clone(), plane.duties.last().copied());
    let mut again = started(11, plane, now);
    again.passes(3);
    assert_eq!((again.msc.pair.role, again.plane.said.is_none()), (Role::Waiting, true));
    mirror(&mut again, Mirrored::Activate);
    assert_eq!((again.msc.epoch, again.plane.duties.last().copied()), (epoch, turn));
    assert!(again.plane.items == items, "the same life, and no index is passed over");
    again.greets(2, "ssc1", 7);
    assert_eq!(again.leases(2, "access", 32), [block]);
    // What a standby leaves with its forwarder is no life to go on with.
    nodes.standby().adopt();
    let plane = std::mem::take(&mut nodes.standby().plane);
    let mut other = started(12, plane, now);
    mirror(&mut other, Mirrored::Activate);
    assert_ne!(other.msc.epoch, epoch);
}

#[test]
fn a_node_that_was_not_told_all_begins_another_life() {
    let mut nodes = Nodes::new();
    nodes.active().greets(1, "ssc1", 7);
    let block = nodes.active().leases(1, "access", 32)[0];
    nodes.active().puts(1, 5, 1, &stream(at(block, 0), at(block, 1)));
    nodes.told();
    let epoch = nodes.active().msc.epoch;
    let standby = nodes.standby();
    mirror(standby, Mirrored::Forget);
    mirror(standby, Mirrored::Activate);
    assert_ne!(standby.msc.epoch, epoch);
    assert_eq!((standby.plane.flows(), standby.msc.streams.total()), (vec![], 0));
}

#[test]
fn in_a_planned_change_what_comes_late_is_forwarded_and_then_no_more() {
    let mut nodes = Nodes::new();
    nodes.active().greets(1, "ssc1", 7);
    for left in ["beginnings", "requests"] {
        assert_eq!(nodes.active().asks("hand-over", &[("left", left)])[0]["requests"], 0);
    }
    mirror(nodes.active(), Mirrored::Deactivate);
    assert_eq!(nodes.duty(0), Some(Duty::Leaves));
    assert!(!has_groups(&nodes.nodes[0]), "who asks for them finds the other one");
    assert_eq!(nodes.active().closed, [1].into());
    assert_eq!(nodes.active().asks("hand-over", &[("left", "late")])[0]["requests"], 1);
    nodes.active().now += LATE;
    nodes.active().passes(1);
    assert_eq!(nodes.duty(0), Some(Duty::StandsBy));
    assert_eq!(nodes.active().asks("hand-over", &[("left", "late")])[0]["requests"], 0);
    // A node whose lease ran out is silent at once.
    let mut nodes = Nodes::new();
    mirror(nodes.active(), Mirrored::Deactivate);
    assert_eq!(nodes.duty(0), Some(Duty::StandsBy));
    // Nobody took over: it serves on.
    mirror(nodes.active(), Mirrored::Activate);
    assert!(matches!(nodes.duty(0), Some(Duty::Serves(_))) && has_groups(&nodes.nodes[0]));
}

#[test]
fn an_active_node_without_its_forwarder_hands_over() {
    let mut nodes = Nodes::new();
    nodes.active().channel(ChannelEvent::Down("it died"));
    assert!(std::mem::take(&mut nodes.active().hands_over), "at once");
    nodes.active().passes(2);
    assert!(nodes.active().hands_over, "and again, for the other one may have come meanwhile");
    nodes.standby().channel(ChannelEvent::Down("it died"));
    nodes.standby().passes(2);
    assert!(!nodes.standby().hands_over);
}

#[test]
fn a_call_of_ng_is_answered_and_ended_where_it_was_not_offered() {
    let mut nodes = Nodes::new();
    let sdp = "v=0\r\no=- 1 1 IN IP4 198.51.100.1\r\ns=-\r\nc=IN IP4 198.51.100.1\r\nt=0 0\r\n\
        m=audio 4000 RTP/AVP 8\r\n";
    let offer = [("command", "offer"), ("call-id", "c"), ("from-tag", "a"), ("sdp", sdp)];
    let reply = nodes.active().commands("1", &offer);
    assert!(reply.contains("result2:ok"), "{reply}");
    nodes.dies();
    let answer = [&[("command", "answer"), ("to-tag", "b")][..], &offer[1..]].concat();
    let reply = nodes.active().commands("2", &answer);
    assert!(reply.contains("result2:ok"), "{reply}");
    assert_eq!(nodes.active().plane.flows().len(), 4);
    nodes.dies();
    assert_eq!(nodes.active().plane.flows().len(), 4);
    nodes.active().passes(30);
    assert_eq!(nodes.active().msc.driven.len(), 1, "silence counts from the takeover");
    let other = [&[("command", "offer"), ("call-id", "d")][..], &offer[2..]].concat();
    nodes.active().commands("3", &other);
    let places = |nodes: &mut Nodes| nodes.active().msc.streams.book.figures(&[0, 1, 2]).in_use;
    assert_eq!(places(&mut nodes), 2);
    nodes.dies();
    let end = [("command", "delete"), ("call-id", "c"), ("from-tag", "a")];
    assert!(nodes.active().commands("4", &end).contains("result2:ok"));
    assert_eq!((nodes.active().plane.flows().len(), places(&mut nodes)), (0, 0));
}

/// What both know alike.
fn are_alike(nodes: &mut Nodes, peers: &[Peer]) {
    nodes.told();
    for world in &nodes.nodes {
        holds(world, peers);
    }
    let [one, other] = &nodes.nodes;
    let keys = |world: &World| -> BTreeSet<Vec<u8>> { world.plane.items.keys().cloned().collect() };
    assert!(keys(one) == keys(other), "the forwarders have the same flows");
    assert_eq!(one.msc.epoch, other.msc.epoch);
    for (lessee, controller) in one.msc.controllers.iter() {
        let twin = other.msc.controllers.find(&controller.name).expect("it is known");
        let blocks = |world: &World, of| world.msc.streams.book.held_by(of).collect::<Vec<_>>();
        assert_eq!(blocks(one, lessee), blocks(other, twin), "{}", controller.name);
    }
}

#[test]
fn no_port_has_two_streams_and_none_leaks_whenever_a_node_dies() {
    for seed in 0..12 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut nodes = Nodes::new();
        let peer = |name, conn| Peer { name, conn, blocks: vec![], streams: BTreeMap::new() };
        let (mut peers, mut next) = ([peer("ssc1", 0), peer("ssc2", 0)], 0);
        peers.iter_mut().for_each(|peer| reconnects(nodes.active(), peer, &mut next));
        let mut calls: BTreeSet<String> = BTreeSet::new();
        for round in 0..200 {
            let at = below(&mut random, 2);
            match below(&mut random, 24) {
                0 => reconnects(nodes.active(), &mut peers[at], &mut next),
                1 | 2 => {
                    // In the middle of what is said: the standby knows what was told until then.
                    step(nodes.active(), &mut peers[at], &mut random);
                    nodes.dies();
                    for peer in &mut peers {
                        reconnects(nodes.active(), peer, &mut next);
                    }
                }
                3 => nodes.syncs(),
                4 => nodes.active().passes(1),
                5..8 => {
                    let call = format!("call-{}", below(&mut random, 5));
                    ng(nodes.active(), &call, 1_000 * (seed as usize + 1) + round, &mut calls);
                }
                _ => step(nodes.active(), &mut peers[at], &mut random),
            }
            are_alike(&mut nodes, &peers);
        }
        for peer in &mut peers {
            peer.streams.clear();
            nodes.active().says(peer.conn, Message::Begin);
            nodes.active().says(peer.conn, Message::End);
        }
        for call in std::mem::take(&mut calls) {
            ng(nodes.active(), &call, 100_000, &mut [call.clone()].into());
        }
        are_alike(&mut nodes, &peers);
        assert_eq!(nodes.active().plane.flows(), vec![], "seed {seed}");
    }
}

#[test]
fn a_snapshot_that_is_wanted_before_the_node_serves_is_told_once_it_does() {
    let mut nodes = Nodes::new();
    nodes.active().greets(1, "ssc1", 7);
    let block = nodes.active().leases(1, "access", 32)[0];
    nodes.active().puts(1, 5, 1, &stream(at(block, 0), at(block, 1)));
    nodes.told();
    // A planned change: the other node hears in one datagram that it serves, and who follows it.
    mirror(nodes.active(), Mirrored::Deactivate);
    nodes.active = 1;
    nodes.active().deltas.clear();
    mirror(nodes.active(), Mirrored::Snapshot(9));
    mirror(nodes.active(), Mirrored::Activate);
    mirror(nodes.standby(), Mirrored::Forget);
    nodes.told();
    assert_eq!(nodes.standby().msc.epoch, None, "what is not told whole is no life to go on with");
    let active = nodes.active();
    while active.msc.pair.deadline() == Some(Time::ZERO) {
        active.msc.tick(active.now, &mut active.out);
        active.settle();
    }
    nodes.told();
    let epoch = nodes.active().msc.epoch;
    assert!(epoch.is_some() && nodes.standby().msc.epoch == epoch);
    assert_eq!(nodes.standby().msc.streams.total(), 1);
}
