//! Two nodes of a pair, each with its forwarder: what the one is told the other knows, and whoever
//! takes over goes on with the same leases, streams and life.

use super::keyed::{BROWSER, DTLS, browser, talk};
use super::seeds::{Peer, below, holds, ng, reconnects, step};
use super::*;
use machine::Machine as _;
use media::program::{LATE, Snapshot};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use runtime::Mirrored;

/// The first octet of what a node tells of a call of NG.
const NG_CALL: u8 = 8;

/// `192.0.2.1` goes from one node to the other, each of which has an address of its own.
pub(super) fn site(own: u8) -> String {
    SITE.replace("\"192.0.2.1/24\"", &format!("\"192.0.2.{own}/24\""))
        .replace("\"2001:db8::1/64\"", &format!("\"2001:db8::{own}/64\""))
        + &format!(
            "[replica]\nnode = \"{}\"\nlisten = \"127.0.0.1:59{own}\"\npeer = \"127.0.0.1:5900\"\n",
            if own == 11 { "a" } else { "b" }
        )
}

/// The nodes, and which of them serves.
pub(super) struct Nodes {
    pub nodes: [World; 2],
    pub active: usize,
}

pub(super) fn mirror(world: &mut World, input: Mirrored<'_>) {
    world.msc.replicate(world.now, input, &mut world.out);
    world.settle();
}

/// A node that was started: its forwarder takes its control before it knows which of the two it is.
pub(super) fn started(own: u8, plane: Plane, now: Time) -> World {
    let mut world = World::with(settings(&site(own), None), plane, now);
    mirror(&mut world, Mirrored::Deactivate);
    world.adopt();
    world
}

impl Nodes {
    pub fn new() -> Self {
        let now = Time::from_millis(1_000);
        let nodes = [11, 12].map(|own| started(own, Plane::default(), now));
        let mut nodes = Self { nodes, active: 0 };
        mirror(nodes.active(), Mirrored::Activate { is_current: true });
        nodes.syncs();
        nodes
    }

    pub fn active(&mut self) -> &mut World {
        &mut self.nodes[self.active]
    }

    pub fn standby(&mut self) -> &mut World {
        &mut self.nodes[1 - self.active]
    }

    /// The standby begins anew, and is told everything.
    pub fn syncs(&mut self) {
        self.active().deltas.clear();
        mirror(self.standby(), Mirrored::Forget);
        let active = self.active();
        mirror(active, Mirrored::Snapshot(1));
        while active.msc.state().has_more_to_tell() {
            active.msc.tick(active.now, &mut active.out);
            active.settle();
        }
        self.told();
        // It has applied all.
        let active = self.active();
        if let Some(last) = std::mem::take(&mut active.marks).pop() {
            mirror(active, Mirrored::Followed(Some(last)));
        }
    }

    /// The standby hears what the active one has told since.
    pub fn told(&mut self) {
        for delta in std::mem::take(&mut self.active().deltas) {
            mirror(self.standby(), Mirrored::Delta(&delta));
        }
        let now = self.active().now;
        self.standby().now = now;
    }

    /// The active one dies after what it told: the other one takes over, and a new one follows
    /// that.
    pub fn dies(&mut self) {
        self.told();
        let now = self.active().now;
        let own = if self.active == 0 { 11 } else { 12 };
        *self.active() = started(own, Plane::default(), now);
        self.active = 1 - self.active;
        mirror(self.active(), Mirrored::Activate { is_current: true });
        self.syncs();
    }

    pub fn duty(&self, node: usize) -> Option<Duty> {
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
    let epoch = nodes.active().msc.state().epoch();
    // It dies; the other one takes over.
    let before = nodes.nodes[1].plane.of_media().len();
    nodes.active = 1;
    mirror(nodes.active(), Mirrored::Activate { is_current: true });
    assert!(matches!(nodes.duty(1), Some(Duty::Serves(_))) && has_groups(&nodes.nodes[1]));
    assert_eq!(
        (nodes.active().msc.state().epoch(), before),
        (epoch, nodes.nodes[1].plane.of_media().len())
    );
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
fn a_forwarder_that_comes_after_its_control_was_told_all_goes_on_where_streams_are() {
    let section = |own| {
        let site = site(own).replace("[[group]]", "[[group]]\nvrf = \"media\"");
        let table = "[[vrf]]\nname = \"media\"\n[[interface]]\nvrf = \"media\"";
        settings(&site.replace("[[interface]]", table), None)
    };
    let now = Time::from_millis(1_000);
    let nodes = [11, 12].map(|own| World::with(section(own), Plane::default(), now));
    let mut nodes = Nodes { nodes, active: 0 };
    for node in &mut nodes.nodes {
        mirror(node, Mirrored::Deactivate);
    }
    nodes.active().adopt();
    mirror(nodes.active(), Mirrored::Activate { is_current: true });
    nodes.active().greets(1, "ssc1", 7);
    let block = nodes.active().leases(1, "access", 32)[0];
    nodes.active().puts(1, 5, 1, &stream(at(block, 0), at(block, 1)));
    let highest = srtp::Index::of(4_711);
    let send = vec![srtp::StreamState { ssrc: 7, highest, rtcp: None, moved: 8_192 }];
    let snapshot = Snapshot { send, ..Snapshot::default() };
    let notice = Notice { snapshot: Some(snapshot.clone()), ..Notice::default() };
    nodes.active().notices(at(block, 0), &notice);
    nodes.syncs();
    nodes.standby().adopt();
    let resumed = |world: &World| {
        let flows = world.plane.flows().into_iter();
        flows.filter(|it| it.resume.as_ref() == Some(&snapshot)).count()
    };
    assert_eq!(resumed(nodes.standby()), 1, "else its indices would be used again");
    // The same of another forwarder, and after a takeover.
    nodes.standby().plane = Plane::default();
    nodes.standby().channel(ChannelEvent::Down("it died"));
    nodes.standby().adopt();
    assert_eq!(resumed(nodes.standby()), 1);
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
    let epoch = nodes.active().msc.state().epoch();
    // Its control dies, and there is no other node.
    let plane = std::mem::take(&mut nodes.active().plane);
    let (items, turn) = (plane.of_media(), plane.duties.last().copied());
    let mut again = started(11, plane, now);
    again.passes(3);
    assert!(again.msc.state().waits_for_its_role() && again.plane.said.is_none());
    mirror(&mut again, Mirrored::Activate { is_current: true });
    assert_eq!((again.msc.state().epoch(), again.plane.duties.last().copied()), (epoch, turn));
    assert!(again.plane.of_media() == items, "the same life, and no index is passed over");
    again.greets(2, "ssc1", 7);
    assert_eq!(again.leases(2, "access", 32), [block]);
    // What a standby leaves with its forwarder is no life to go on with.
    nodes.standby().adopt();
    let plane = std::mem::take(&mut nodes.standby().plane);
    let mut other = started(12, plane, now);
    mirror(&mut other, Mirrored::Activate { is_current: true });
    assert_ne!(other.msc.state().epoch(), epoch);
}

#[test]
fn a_node_that_was_not_told_all_begins_another_life() {
    let mut nodes = Nodes::new();
    nodes.active().greets(1, "ssc1", 7);
    let block = nodes.active().leases(1, "access", 32)[0];
    nodes.active().puts(1, 5, 1, &stream(at(block, 0), at(block, 1)));
    nodes.told();
    let epoch = nodes.active().msc.state().epoch();
    let standby = nodes.standby();
    mirror(standby, Mirrored::Forget);
    mirror(standby, Mirrored::Activate { is_current: true });
    assert_ne!(standby.msc.state().epoch(), epoch);
    assert_eq!((standby.plane.flows(), standby.msc.state().streams()), (vec![], 0));
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
    mirror(nodes.active(), Mirrored::Activate { is_current: true });
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
    assert_eq!(nodes.active().msc.state().calls(), 1, "silence counts from the takeover");
    let other = [&[("command", "offer"), ("call-id", "d")][..], &offer[2..]].concat();
    nodes.active().commands("3", &other);
    let places = |nodes: &mut Nodes| nodes.active().msc.state().pairs_in_use(&[0, 1, 2]);
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
    let keys =
        |world: &World| -> BTreeSet<Vec<u8>> { world.plane.of_media().into_keys().collect() };
    assert!(keys(one) == keys(other), "the forwarders have the same flows");
    assert_eq!(one.msc.state().epoch(), other.msc.state().epoch());
    let known = other.msc.state().leases();
    for (name, blocks) in one.msc.state().leases() {
        assert_eq!(known.get(&name), Some(&blocks), "{name}");
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
    mirror(nodes.active(), Mirrored::Activate { is_current: true });
    mirror(nodes.standby(), Mirrored::Forget);
    nodes.told();
    assert_eq!(
        nodes.standby().msc.state().epoch(),
        None,
        "what is not told whole is no life to go on with"
    );
    let active = nodes.active();
    while active.msc.state().has_more_to_tell() {
        active.msc.tick(active.now, &mut active.out);
        active.settle();
    }
    nodes.told();
    let epoch = nodes.active().msc.state().epoch();
    assert!(epoch.is_some() && nodes.standby().msc.state().epoch() == epoch);
    assert_eq!(nodes.standby().msc.state().streams(), 1);
}

/// A stream whose end A has keys.
pub(super) fn protected(a: Local, b: Local) -> Stream {
    let mut what = stream(a, b);
    let line = "1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz";
    let offer = srtp::sdes::read_all(core::iter::once(line.as_bytes())).expect("a key");
    let crypto = offer.lines()[0].clone();
    what.ends[0].guard = Guard::Keys { receive: Box::new(crypto.clone()), send: Box::new(crypto) };
    what
}

#[test]
fn a_standby_that_is_behind_begins_another_life_for_what_has_keys_and_the_rest_goes_on() {
    let mut nodes = Nodes::new();
    nodes.active().greets(1, "ssc1", 7);
    let block = nodes.active().leases(1, "access", 32)[0];
    let plain = stream(at(block, 0), at(block, 1));
    nodes.active().puts(1, 5, 1, &plain);
    nodes.active().puts(1, 6, 1, &protected(at(block, 2), at(block, 3)));
    let sdp = "v=0\r\no=- 1 1 IN IP4 198.51.100.1\r\ns=-\r\nc=IN IP4 198.51.100.1\r\nt=0 0\r\n\
        m=audio 4000 RTP/AVP 8\r\n";
    let begins = |nodes: &mut Nodes, call: &str, flag: &str| {
        let offer = [("command", "offer"), ("call-id", call), ("from-tag", "a"), ("sdp", sdp)];
        let answer = sdp.replace(" 1 1 IN", " 2 2 IN");
        let offer = [&offer[..], &[("transport-protocol", flag)]].concat();
        let reply = nodes.active().commands(&format!("{call}1"), &offer);
        let suite = " AES_CM_128_HMAC_SHA1_80 ";
        let answer = match reply.split_once(suite) {
            Some((before, _)) => {
                let tag = before.rsplit_once(':').expect("a tag").1;
                let key = "inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz";
                let answer = answer.replace("RTP/AVP", "RTP/SAVP");
                format!("{answer}a=crypto:{tag}{suite}{key}\r\n")
            }
            None => answer,
        };
        let base = [("command", "answer"), ("call-id", call), ("from-tag", "a"), ("to-tag", "b")];
        let all = [&base[..], &[("sdp", &answer)]].concat();
        let reply = nodes.active().commands(&format!("{call}2"), &all);
        assert!(reply.contains("result2:ok"), "{reply}");
    };
    begins(&mut nodes, "clear", "RTP/AVP");
    begins(&mut nodes, "secret", "RTP/SAVP");
    nodes.told();
    let epoch = nodes.active().msc.state().epoch();
    assert_eq!(
        (nodes.standby().msc.state().streams(), nodes.standby().msc.state().calls()),
        (4, 2)
    );
    // The link was cut for long before the active node died.
    nodes.active = 1;
    mirror(nodes.active(), Mirrored::Activate { is_current: false });
    let active = nodes.active();
    assert_ne!(active.msc.state().epoch(), epoch, "session controllers agree on other keys");
    assert_eq!((active.msc.state().streams(), active.msc.state().calls()), (2, 1));
    assert_eq!(active.plane.flows().len(), 8);
    assert!(active.plane.flows().iter().all(|it| it.guard == media::program::Guard::None));
    active.greets(2, "ssc1", 7);
    assert_eq!(active.leases(2, "access", 32), [block]);
    active.says(2, Message::Begin);
    active.puts(2, 5, 1, &plain);
    active.says(2, Message::End);
    assert_eq!((active.msc.state().streams(), active.plane.flows().len()), (2, 8));
}

#[test]
fn a_control_that_begins_anew_takes_no_life_up_that_the_other_node_went_on_with() {
    let mut nodes = Nodes::new();
    nodes.active().greets(1, "ssc1", 7);
    let block = nodes.active().leases(1, "access", 32)[0];
    nodes.active().puts(1, 5, 1, &protected(at(block, 0), at(block, 1)));
    let (epoch, turn) = (nodes.active().msc.state().epoch(), nodes.duty(0));
    let plane = std::mem::take(&mut nodes.active().plane);
    let mut again = started(11, plane, Time::from_millis(5_000));
    mirror(&mut again, Mirrored::Activate { is_current: false });
    assert_ne!(again.msc.state().epoch(), epoch);
    assert_ne!(again.plane.duties.last().copied(), turn, "and its forwarder goes ahead");
    assert_eq!(again.plane.flows(), vec![], "nothing goes on with keys of that life");
    again.greets(2, "ssc1", 7);
    assert_eq!(again.leases(2, "access", 32), [block]);
}

#[test]
fn a_stream_of_ng_whose_call_was_not_told_goes_at_a_takeover_and_its_ports_rest() {
    let mut nodes = Nodes::new();
    let sdp = "v=0\r\no=- 1 1 IN IP4 198.51.100.1\r\ns=-\r\nc=IN IP4 198.51.100.1\r\nt=0 0\r\n\
        m=audio 4000 RTP/AVP 8\r\n";
    let offer = [("command", "offer"), ("call-id", "c"), ("from-tag", "a"), ("sdp", sdp)];
    nodes.active().commands("1", &offer);
    let answer = [&[("command", "answer"), ("to-tag", "b")][..], &offer[1..]].concat();
    nodes.active().commands("2", &answer);
    nodes.active().deltas.retain(|delta| delta[0] != NG_CALL);
    nodes.told();
    assert_eq!(nodes.standby().plane.flows().len(), 4);
    let ports = |world: &World| -> BTreeSet<u16> {
        world.plane.flows().iter().map(|it| it.at.port).collect()
    };
    let before = ports(nodes.standby());
    nodes.active = 1;
    mirror(nodes.active(), Mirrored::Activate { is_current: true });
    assert_eq!(nodes.active().plane.flows(), vec![], "no command would find it");
    let reply = nodes.active().commands("3", &offer);
    assert!(reply.contains("result2:ok"), "{reply}");
    nodes.active().commands("4", &answer);
    assert!(ports(nodes.active()).is_disjoint(&before), "they rest");
}

#[test]
fn no_far_end_makes_a_record_that_the_standby_cannot_be_told() {
    let mut nodes = Nodes::new();
    let sdp = |octets: usize| {
        let mut sdp = "v=0\r\no=- 1 1 IN IP4 198.51.100.1\r\ns=-\r\nc=IN IP4 198.51.100.1\r\n\
            t=0 0\r\nm=audio 4000 RTP/AVP 8\r\n"
            .to_owned();
        while sdp.len() < octets {
            sdp += "a=x-attribute:that nobody knows and that goes on as it is\r\n";
        }
        sdp
    };
    let (long, short) = (sdp(40_000), sdp(0));
    // No reply by UDP is longer than what was asked.
    let padding = ("x-padding", &*"x".repeat(4_000));
    let offer = [("command", "offer"), ("call-id", "c"), ("from-tag", "a"), ("sdp", &*long)];
    let reply = nodes.active().commands("1", &[&offer[..], &[padding]].concat());
    assert!(reply.contains("result2:ok"), "{reply}");
    assert!(nodes.active().deltas.iter().all(|it| it.len() < replica::DELTA_BYTES_MAX));
    nodes.told();
    assert_eq!(nodes.standby().msc.state().calls(), 1, "it is known, and may be ended");
    // Forks that answer at length take no more room either.
    let offer = [("command", "offer"), ("call-id", "d"), ("from-tag", "a"), ("sdp", &*short)];
    nodes.active().commands("2", &offer);
    let answered = sdp(12_000);
    for n in 0..8 {
        let (cookie, tag) = (format!("3{n}"), format!("b{n}"));
        let base = [("command", "answer"), ("call-id", "d"), ("from-tag", "a")];
        let answer = [&base[..], &[("to-tag", &*tag), ("sdp", &*answered), padding]].concat();
        let reply = nodes.active().commands(&cookie, &answer);
        assert!(reply.contains("result2:ok"), "{reply}");
    }
    assert!(nodes.active().deltas.iter().all(|it| it.len() < replica::DELTA_BYTES_MAX));
    nodes.told();
    assert_eq!(nodes.standby().msc.state().calls(), 2);
}

#[test]
fn leases_of_thousands_of_blocks_are_told_in_pieces() {
    let groups = ["third", "fourth"].map(|name| {
        let at = name.len();
        let addresses = format!("\"192.0.2.{at}\", \"2001:db8::{at}\"");
        let ports = "ports = \"1024-65535\"";
        format!("[[group]]\nname = \"{name}\"\naddresses = [{addresses}]\n{ports}\n")
    });
    let text = |own: u8| {
        site(own)
            .replace("ports = \"20000-20255\"", "ports = \"1024-65535\"")
            .replace("block_pairs = 32", "block_pairs = 16")
            .replace("[limits]", &format!("{}[limits]", groups.concat()))
    };
    let now = Time::from_millis(1_000);
    let nodes = [11, 12].map(|own| {
        let mut world = World::with(settings(&text(own), None), Plane::default(), now);
        mirror(&mut world, Mirrored::Deactivate);
        world.adopt();
        world
    });
    let mut nodes = Nodes { nodes, active: 0 };
    mirror(nodes.active(), Mirrored::Activate { is_current: true });
    nodes.syncs();
    nodes.active().greets(1, "ssc1", 7);
    for group in ["access", "third", "fourth"] {
        nodes.active().says(1, Message::Lease { group: group.into(), pairs: 200_000 });
    }
    assert!(nodes.active().deltas.iter().all(|it| it.len() < replica::DELTA_BYTES_MAX));
    nodes.told();
    let held = |world: &World| world.msc.state().leases().remove("ssc1").expect("it is known");
    let count = held(&nodes.nodes[0]).len();
    assert!(count > 6_000, "{count}");
    assert_eq!(held(&nodes.nodes[0]), held(&nodes.nodes[1]));
}

#[test]
fn what_the_next_one_shows_is_told_by_the_link_of_the_pair_and_is_another_in_each_term() {
    let mut nodes = Nodes::new();
    let heir = nodes.active().plane.tokens.heir;
    assert!(heir.is_some() && nodes.active().plane.tokens.own.is_none());
    assert_eq!(nodes.standby().plane.tokens, Tokens::default(), "it takes nothing yet");
    nodes.told();
    nodes.active = 1;
    mirror(nodes.standby(), Mirrored::Deactivate);
    mirror(nodes.active(), Mirrored::Activate { is_current: true });
    let next = nodes.active().plane.tokens;
    assert_eq!((next.own, next.heir), (heir, None), "nobody has it yet who could show it");
    nodes.syncs();
    let next = nodes.active().plane.tokens.heir;
    assert!(next.is_some() && next != heir);
    // Another one follows, which has not applied it.
    mirror(nodes.active(), Mirrored::Snapshot(2));
    assert_eq!(nodes.active().plane.tokens.heir, None);
}

#[test]
fn a_control_whose_addresses_another_node_has_taken_keeps_leases_and_begins_another_life() {
    let mut nodes = Nodes::new();
    nodes.active().greets(1, "ssc1", 7);
    let block = nodes.active().leases(1, "access", 32)[0];
    nodes.active().puts(1, 5, 1, &protected(at(block, 0), at(block, 1)));
    let epoch = nodes.active().msc.state().epoch();
    let mut plane = std::mem::take(&mut nodes.active().plane);
    plane.is_taken = true;
    let mut again = started(11, plane, Time::from_millis(5_000));
    mirror(&mut again, Mirrored::Activate { is_current: true });
    assert_ne!(again.msc.state().epoch(), epoch);
    assert_eq!(again.plane.flows(), vec![]);
    again.greets(2, "ssc1", 7);
    assert_eq!(again.leases(2, "access", 32), [block]);
}

#[test]
fn what_an_earlier_start_of_a_session_controller_said_fades_in_time_whoever_serves() {
    for is_late in [false, true] {
        fades(is_late);
    }
}

/// `is_late`: the standby comes when the session controller has begun anew.
fn fades(is_late: bool) {
    let mut nodes = Nodes::new();
    nodes.active().greets(1, "ssc1", 7);
    let block = nodes.active().leases(1, "access", 32)[0];
    nodes.active().puts(1, 5, 1, &stream(at(block, 0), at(block, 1)));
    nodes.active().disconnect(1);
    nodes.active().greets(2, "ssc1", 8);
    nodes.active().says(2, Message::Begin);
    nodes.active().says(2, Message::End);
    nodes.active().passes(40);
    nodes.told();
    if is_late {
        nodes.syncs();
    }
    nodes.told();
    nodes.active = 1;
    mirror(nodes.active(), Mirrored::Activate { is_current: true });
    nodes.active().greets(3, "ssc1", 8);
    nodes.active().says(3, Message::Begin);
    nodes.active().says(3, Message::End);
    nodes.active().passes(10);
    assert_eq!(nodes.active().msc.state().streams(), 1, "it has 60 s in all");
    nodes.active().passes(25);
    assert_eq!(nodes.active().msc.state().streams(), 0);
}

/// What the transcoder of a node was told to make.
fn coded(world: &mut World) -> Vec<[codec::End; 2]> {
    let octets = std::mem::take(&mut world.coded);
    let (mut rest, mut all) = (&octets[..], Vec::new());
    while let Ok(Some(length)) = codec::message::whole(rest) {
        let message = codec::message::Message::read(&rest[..length]).expect("a message");
        if let Some(codec::message::Message::Put { ends, .. }) = message {
            all.push(ends);
        }
        rest = &rest[length..];
    }
    all
}

#[test]
fn packets_from_the_transcoder_have_the_same_source_and_numbers_ahead_after_a_takeover() {
    for is_late in [false, true] {
        let mut nodes = Nodes::new();
        nodes.active().greets(1, "ssc1", 7);
        let block = nodes.active().leases(1, "access", 32)[0];
        let what = super::coded::coded_stream(at(block, 0), at(block, 1));
        nodes.active().puts(1, 5, 1, &what);
        let [a, b] = *coded(nodes.active()).last().expect("it is told");
        let stream = nodes.active().msc.state().transcoded(super::id(5)).expect("it passes there");
        let (sequence, timestamp) =
            (b.sequence.wrapping_add(500), b.timestamp.wrapping_add(80_000));
        let end = codec::Side::B;
        let reached = codec::message::Message::Reached { stream, end, sequence, timestamp };
        nodes.active().now += Duration::from_secs(3);
        nodes.told();
        nodes.active().coder_says(&reached);
        if is_late {
            nodes.syncs();
        }
        nodes.told();
        nodes.active = 1;
        let before = coded(nodes.active());
        assert!(before.is_empty(), "one that follows codes nothing");
        nodes.active().now += Duration::from_secs(1);
        mirror(nodes.active(), Mirrored::Activate { is_current: true });
        let [one, other] = *coded(nodes.active()).last().expect("it goes on");
        assert_eq!((one.ssrc, other.ssrc), (a.ssrc, b.ssrc));
        let ahead = other.sequence.wrapping_sub(sequence);
        assert!((50..200).contains(&ahead), "a second are 50 packets: {ahead}");
    }
}

#[test]
fn a_handshake_that_is_under_way_at_a_takeover_begins_anew_at_the_other_node() {
    let now = Time::from_millis(1_000);
    let one = settings(&site(11), None);
    let mut two = Settings::clone(&settings(&site(12), None));
    two.certificate.clone_from(&one.certificate);
    let nodes = [one, Arc::new(two)].map(|settings| {
        let mut world = World::with(settings, Plane::default(), now);
        mirror(&mut world, Mirrored::Deactivate);
        world.adopt();
        world.opens();
        world
    });
    let mut nodes = Nodes { nodes, active: 0 };
    mirror(nodes.active(), Mirrored::Activate { is_current: true });
    nodes.syncs();
    nodes.active().greets(1, "ssc1", 7);
    let block = nodes.active().leases(1, "access", 32)[0];
    let (own, description) = browser();
    let mut what = stream(at(block, 0), at(block, 1));
    let role = srtp::dtls::Role::Server;
    what.ends[0].guard = Guard::Dtls { peer: Box::new(description), role };
    what.ends[0].rtcp = Rtcp::Mux;
    nodes.active().puts(1, 5, 1, &what);
    // The browser has what the first node answered, and its own answer goes to the other one.
    let local = what.ends[0].local;
    let mut peer = dtls::Handshake::new(&own, dtls::Role::Client, now);
    let mut wants = Vec::new();
    peer.step(now, dtls::In::Expect(Box::new(|_| true)), &mut wants);
    peer.step(now, dtls::In::Started, &mut wants);
    let sends = |wants: &mut Vec<dtls::Out>| -> Vec<Vec<u8>> {
        let sends = wants.drain(..).filter_map(|it| match it {
            dtls::Out::Send(payload) => Some(payload),
            _ => None,
        });
        sends.collect()
    };
    for _ in 0..2 {
        for payload in sends(&mut wants) {
            for answer in nodes.active().comes(DTLS, BROWSER, local, &payload) {
                peer.step(now, dtls::In::Datagram(answer), &mut wants);
            }
        }
    }
    nodes.told();
    nodes.active = 1;
    mirror(nodes.active(), Mirrored::Activate { is_current: true });
    for payload in sends(&mut wants) {
        nodes.active().comes(DTLS, BROWSER, local, &payload);
    }
    let flow = |world: &World| {
        world.plane.flows().into_iter().find(|it| it.at.port == local.port).expect("it stands")
    };
    assert_eq!(flow(nodes.active()).guard, media::program::Guard::Dtls);
    // It begins anew, by itself or since its call is offered anew.
    let mut again = dtls::Handshake::new(&own, dtls::Role::Client, now);
    again.step(now, dtls::In::Expect(Box::new(|_| true)), &mut Vec::new());
    talk(nodes.active(), &mut again, BROWSER, local).expect("keys");
    assert!(matches!(flow(nodes.active()).guard, media::program::Guard::Keys { .. }));
}
