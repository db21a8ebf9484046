//! Two forwarders of a pair: flows stand in both, and whichever serves goes on with the streams of
//! the other one. No index leaves twice under one key, whenever that one dies.

use super::lives::{frame, item, place};
use super::world::{HOST, World, port, programs};
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use media::program::{
    Duty, FEATURE, FlowSaid, Guard, Keys, LATE, Name, Notice, Range, Said, Snapshot, Tokens,
};
use media::{Expected, PayloadTypes, Rate, Settings, Sources, Use};
use nodes::interfaces::Row as Link;
use nodes::program::{Address, Port, Removed};
use nodes::{Out, Program};
use rtp::{ClockRate, Header, Packet, Rewrite};
use srtp::{KeyEntry, MasterKey, Parameters, Receiver, Sender, Suite};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const OURS: &str = "10.0.1.1:20000";
const ALICE: &str = "10.0.1.2:4000";
const ELSEWHERE: &str = "10.0.1.2:4002";
const THEIRS: &str = "10.0.2.1:20002";
const BOB: &str = "10.0.2.2:5000";

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn keys(number: u8) -> Keys {
    let suite = Suite::AesCm128HmacSha1_80;
    let key = MasterKey::of(suite, &vec![number; MasterKey::octets_of(suite)]).unwrap();
    Keys { parameters: Parameters::of(suite), entries: vec![KeyEntry::alone(key)] }
}

/// Alice has SRTP, Bob has not.
fn flows() -> [FlowSaid; 2] {
    let settings = Settings {
        of: Use::Muxed,
        is_active: true,
        payload_types: PayloadTypes::ALL,
        untimed: PayloadTypes::default(),
        ssrcs: Sources::ANY,
        clock: ClockRate::TELEPHONY,
        rate: Rate::bits(100_000_000),
        rewrite: Rewrite::default(),
    };
    let flow = |own: &str, other: &str, expected, guard| FlowSaid {
        at: place(at(own)),
        to: Some(place(at(other))),
        settings,
        expected,
        guard,
        dscp: None,
        timeout: Some(Duration::from_secs(5)),
        becomes: Vec::new(),
        branches: Vec::new(),
        up: PayloadTypes::default(),
        up_per_s: 0,
        digits: PayloadTypes::default(),
        stun: false,
        dtls: false,
        association: None,
        resume: None,
    };
    let alice = Expected { signaller: Some(at(ALICE).ip()), ..Expected::at(at(ALICE)) };
    let guard = Guard::Keys { receive: keys(1), send: keys(2) };
    [flow(OURS, THEIRS, alice, guard), flow(THEIRS, OURS, Expected::at(at(BOB)), Guard::None)]
}

fn node() -> World {
    let mut world = World::of(&programs());
    for address in ["10.0.1.1", "10.0.2.1"] {
        let address = address.parse().unwrap();
        let range = Range { vrf: 0, address, first: 20_000, ports: 100 };
        world.apply(item(&Said::Range(range)));
    }
    world
}

fn says(world: &mut World, duty: Duty) {
    world.apply(item(&Said::Duty(duty)));
}

/// A standby has applied all that was told, or nothing yet.
fn followed(world: &mut World, number: u64) {
    world.apply(item(&Said::Followed(number)));
}

fn says_flow(world: &mut World, flow: FlowSaid) {
    world.apply(item(&Said::Flow(Box::new(flow))));
}

/// What a node has told of its flows since.
fn told(world: &mut World) -> Vec<(Name, Notice)> {
    said(world.pass(Duration::from_secs(1)))
}

fn said(out: Vec<Out>) -> Vec<(Name, Notice)> {
    let items =
        out.into_iter().filter_map(|it| if let Out::Item(it) = it { Some(it) } else { None });
    items.map(|it| (Name::read(&it.key).unwrap(), Notice::read(&it.value).unwrap())).collect()
}

fn follows(world: &mut World, snapshots: &[(Name, Snapshot)]) {
    for (name, snapshot) in snapshots {
        let flow = flows().into_iter().find(|it| Name::Flow(it.at) == *name).unwrap();
        says_flow(world, FlowSaid { resume: Some(snapshot.clone()), ..flow });
    }
}

struct Talk {
    alice: Sender,
    hears: Receiver,
    sequence: [u16; 2],
    spent: BTreeSet<u64>,
    /// Where Alice's packets come from.
    source: SocketAddr,
}

impl Talk {
    fn new(sequence: u16) -> Self {
        let (own, theirs) = (keys(1), keys(2));
        Self {
            alice: Sender::new(own.parameters, &own.entries).unwrap(),
            hears: Receiver::new(theirs.parameters, &theirs.entries).unwrap(),
            sequence: [sequence; 2],
            spent: BTreeSet::new(),
            source: at(ALICE),
        }
    }

    fn packet(&mut self, side: usize) -> Vec<u8> {
        self.sequence[side] = self.sequence[side].wrapping_add(1);
        let (sequence, ssrc) = (self.sequence[side], 7 + side as u32);
        let header = Header { payload_type: 8, sequence, timestamp: 0, ssrc, marker: false };
        let mut plain = Vec::new();
        Packet { header, payload: &[9; 20], ..Packet::default() }.write(&mut plain);
        plain
    }

    /// Alice speaks; how many packets reach Bob.
    fn alice(&mut self, world: &mut World) -> usize {
        let plain = self.packet(0);
        let mut octets = plain.clone();
        octets.resize(plain.len() + self.alice.overhead(), 0);
        self.alice.protect(&mut octets, plain.len()).unwrap();
        let (port, frame) = frame(self.source, at(OURS), &octets);
        world.send(port, &frame).sent.len()
    }

    /// Bob speaks; how many packets reach Alice, where she is, each with a new index.
    fn bob(&mut self, world: &mut World) -> usize {
        let plain = self.packet(1);
        let (port, frame) = frame(at(BOB), at(THEIRS), &plain);
        let left = world.send(port, &frame).sent;
        for (_, frame) in &left {
            let udp = &frame[34..];
            assert_eq!(udp[2..4], self.source.port().to_be_bytes());
            let mut octets = udp[8..].to_vec();
            self.hears.unprotect(&mut octets).expect("a new index, and a right tag");
            let highest = self.hears.stream(8).unwrap().highest.unwrap().number();
            assert!(self.spent.insert(highest), "an index came twice");
        }
        left.len()
    }
}

#[test]
fn no_index_leaves_twice_whichever_node_dies_and_when() {
    for seed in 1..=12_u64 {
        let mut nodes = [node(), node()];
        says(&mut nodes[0], Duty::Serves(1));
        says(&mut nodes[1], Duty::StandsBy);
        for world in &mut nodes {
            flows().into_iter().for_each(|flow| says_flow(world, flow));
        }
        // Around the wrap of the sequence numbers.
        let mut talk = Talk::new(60_000 + seed as u16 * 300);
        let (mut active, mut known) = (0, BTreeMap::new());
        for turn in 2..6 {
            for round in 0..(seed * 977 + turn * 131) % 3_000 {
                assert_eq!(talk.bob(&mut nodes[active]), 1, "seed {seed}, turn {turn}");
                assert_eq!(talk.alice(&mut nodes[active]), 1, "seed {seed}, turn {turn}");
                if round % 64 == 0 {
                    let told = told(&mut nodes[active]).into_iter();
                    let told = told.filter_map(|(name, it)| Some((name, it.snapshot?)));
                    let told: Vec<_> = told.collect();
                    known.extend(told.clone());
                    follows(&mut nodes[1 - active], &told);
                }
            }
            // It dies; another one takes its place and knows what it was told, then follows.
            active = 1 - active;
            says(&mut nodes[active], Duty::Serves(turn));
            let mut heir = node();
            says(&mut heir, Duty::StandsBy);
            flows().into_iter().for_each(|flow| says_flow(&mut heir, flow));
            follows(&mut heir, &known.clone().into_iter().collect::<Vec<_>>());
            nodes[1 - active] = heir;
            assert_eq!(talk.alice(&mut nodes[active]), 1, "it is where it was");
        }
    }
}

/// The number of the last notice with something for a standby, if there is one.
fn number(notices: &[(Name, Notice)]) -> Option<u64> {
    notices.iter().filter(|it| it.1.snapshot.is_some()).map(|it| it.1.number).max()
}

#[test]
fn a_source_that_runs_ahead_of_what_a_standby_has_applied_waits_until_it_has() {
    const MOST: usize = srtp::SKIP_MAX as usize;
    for is_followed in [false, true] {
        let (mut world, mut talk) = (node(), Talk::new(1));
        says(&mut world, Duty::Serves(1));
        if is_followed {
            followed(&mut world, 0);
        }
        flows().into_iter().for_each(|flow| says_flow(&mut world, flow));
        assert_eq!(talk.bob(&mut world), 1);
        let first = number(&told(&mut world)).expect("a stream has begun");
        if is_followed {
            followed(&mut world, first);
        }
        told(&mut world);
        // It is told again and again, and nobody has applied it.
        let sent = MOST + 2_000;
        let mut told_since = Vec::new();
        let left: usize = (0..sent)
            .map(|at| {
                if at % 100 == 0 {
                    told_since.extend(said(world.pass(Duration::from_millis(5))));
                }
                talk.bob(&mut world)
            })
            .sum();
        assert_eq!(left, if is_followed { MOST } else { sent });
        let reason = "srtp: ahead of what a standby was told";
        let dropped = world.dropped().get(reason).copied().unwrap_or(0);
        assert_eq!(dropped as usize, sent - left);
        let last = number(&told_since).expect("it came far");
        assert!(last > first);
        if is_followed {
            followed(&mut world, first);
            world.pass(Duration::from_millis(5));
            assert_eq!(talk.bob(&mut world), 0, "that was applied before");
            followed(&mut world, last);
            talk.bob(&mut world);
            told_since.extend(said(world.pass(Duration::from_millis(5))));
        }
        assert_eq!(talk.bob(&mut world), 1, "it goes on");
        // A leap is a step like any other, and nobody sees it before it is applied.
        talk.sequence[1] = talk.sequence[1].wrapping_add(20_000);
        assert_eq!(talk.bob(&mut world), usize::from(!is_followed));
        for _ in 0..4 {
            told_since.extend(said(world.pass(Duration::from_millis(5))));
            if is_followed {
                followed(&mut world, number(&told_since).expect("notices"));
            }
            talk.bob(&mut world);
        }
        told_since.extend(said(world.pass(Duration::from_millis(5))));
        assert_eq!(talk.bob(&mut world), 1);
        if is_followed {
            // Nobody follows any more: nothing waits.
            let gone = Name::Followed.key();
            world.apply(Program::Remove(Removed::Item(FEATURE.to_owned(), gone)));
            talk.sequence[1] = talk.sequence[1].wrapping_add(20_000);
            assert_eq!(talk.bob(&mut world), 1);
        }
    }
}

#[test]
fn a_source_that_begins_is_told_at_once() {
    let (mut world, mut talk) = (node(), Talk::new(1));
    says(&mut world, Duty::Serves(1));
    followed(&mut world, 0);
    flows().into_iter().for_each(|flow| says_flow(&mut world, flow));
    told(&mut world);
    assert_eq!(talk.bob(&mut world), 1);
    let told = said(world.pass(Duration::from_millis(5)));
    let streams = told.iter().filter_map(|it| it.1.snapshot.as_ref()).map(|it| it.send.len());
    assert_eq!(streams.sum::<usize>(), 1, "{told:?}");
}

#[test]
fn what_was_told_to_a_control_that_is_gone_is_told_anew_and_counts_as_not_applied_until_then() {
    let (mut world, mut talk) = (node(), Talk::new(1));
    says(&mut world, Duty::Serves(1));
    followed(&mut world, 0);
    flows().into_iter().for_each(|flow| says_flow(&mut world, flow));
    let most = srtp::BEGUN_MAX as usize;
    assert_eq!((0..most + 9).map(|_| talk.bob(&mut world)).sum::<usize>(), most);
    let lost = number(&told(&mut world)).expect("it came far");
    // Nobody has heard that. The next control says all anew, and is told all.
    world.apply(Program::Begin { generation: 7 });
    says(&mut world, Duty::Serves(1));
    followed(&mut world, lost);
    let again = number(&told(&mut world)).expect("all is told anew");
    assert!(again > lost);
    talk.bob(&mut world);
    world.pass(Duration::from_millis(5));
    assert_eq!(talk.bob(&mut world), 0, "the one that was lost counts for nothing");
    followed(&mut world, again);
    talk.bob(&mut world);
    world.pass(Duration::from_millis(5));
    assert_eq!(talk.bob(&mut world), 1);
}

/// What a node tells is applied late at the other one, and that it was is heard late here, or never
/// again: a source that leaps as far as it can uses nothing that the other one comes to.
#[test]
fn no_index_comes_twice_however_late_a_standby_applies_what_it_is_told() {
    for seed in 1..=10_usize {
        let mut nodes = [node(), node()];
        says(&mut nodes[0], Duty::Serves(1));
        followed(&mut nodes[0], 0);
        says(&mut nodes[1], Duty::StandsBy);
        for world in &mut nodes {
            flows().into_iter().for_each(|flow| says_flow(world, flow));
        }
        let (mut talk, mut has_left) = (Talk::new(1), 1);
        let (mut to_standby, mut back) = (VecDeque::new(), VecDeque::new());
        let cut = 20 + seed * 3;
        let mut sequence = 0;
        for tick in 0..cut + seed * 7 {
            for _ in 0..3 {
                let leap = if has_left > 0 { 700 * seed as u16 % 3_000 } else { 0 };
                talk.sequence[1] = talk.sequence[1].wrapping_add(leap);
                has_left = talk.bob(&mut nodes[0]);
            }
            to_standby.extend(said(nodes[0].pass(Duration::from_millis(5))));
            // The link is cut; the node goes on until it dies.
            if tick >= cut {
                continue;
            }
            while to_standby.len() > seed % 3 {
                let Some((name, notice)) = to_standby.pop_front() else { break };
                let Some(snapshot) = notice.snapshot else { continue };
                sequence = snapshot.send.first().map_or(sequence, |stream| {
                    stream.highest.map_or(sequence, srtp::Index::sequence)
                });
                follows(&mut nodes[1], &[(name, snapshot)]);
                back.push_back(notice.number);
            }
            while back.len() > seed % 2 {
                let Some(number) = back.pop_front() else { break };
                followed(&mut nodes[0], number);
            }
        }
        // It goes back to where the other one was told that it is, and on from there.
        talk.sequence[1] = sequence;
        says(&mut nodes[1], Duty::Serves(2));
        let left: usize = (0..12_000).map(|_| talk.bob(&mut nodes[1])).sum();
        assert!(left > 11_000, "seed {seed}: {left}");
    }
}

#[test]
fn no_index_comes_twice_however_far_a_source_leaps_before_a_takeover() {
    for leap in [1, 3_000, 8_191, 9_000, 20_000, 30_000] {
        let mut nodes = [node(), node()];
        says(&mut nodes[0], Duty::Serves(1));
        followed(&mut nodes[0], 0);
        says(&mut nodes[1], Duty::StandsBy);
        for world in &mut nodes {
            flows().into_iter().for_each(|flow| says_flow(world, flow));
        }
        let mut talk = Talk::new(1);
        talk.bob(&mut nodes[0]);
        let told = told(&mut nodes[0]).into_iter();
        let told: Vec<_> = told.filter_map(|(name, it)| Some((name, it.snapshot?))).collect();
        follows(&mut nodes[1], &told);
        // What is told of it from here on is lost with the node.
        talk.sequence[1] += leap;
        for _ in 0..100 {
            talk.bob(&mut nodes[0]);
        }
        // It goes back to where it was, and as far as it was once more.
        talk.sequence[1] -= leap;
        says(&mut nodes[1], Duty::Serves(2));
        let mut left = 0;
        for _ in 0..40_000 {
            left += talk.bob(&mut nodes[1]);
            if left % 1_000 == 0 {
                nodes[1].pass(Duration::from_millis(5));
            }
        }
        assert!(left > 30_000, "{leap}: {left}");
    }
}

#[test]
fn one_that_stands_by_drops_what_comes_and_one_that_leaves_does_so_after_a_while() {
    let (mut world, mut talk) = (node(), Talk::new(1));
    flows().into_iter().for_each(|flow| says_flow(&mut world, flow));
    says(&mut world, Duty::StandsBy);
    assert_eq!((talk.alice(&mut world), talk.bob(&mut world)), (0, 0));
    assert_eq!(world.dropped().values().sum::<u64>(), 2, "with a reason");
    world.pass(Duration::from_secs(30));
    assert_eq!(told(&mut world), vec![], "it tells nothing, least of all of silence");
    says(&mut world, Duty::Serves(1));
    assert_eq!((talk.alice(&mut world), talk.bob(&mut world)), (1, 1));
    assert!(told(&mut world).iter().all(|it| !it.1.timed_out));
    says(&mut world, Duty::Leaves);
    world.pass(LATE - Duration::from_millis(1));
    assert_eq!((talk.alice(&mut world), talk.bob(&mut world)), (1, 1));
    world.pass(Duration::from_millis(1));
    world.plane.publish();
    assert_eq!((talk.alice(&mut world), talk.bob(&mut world)), (0, 0));
}

#[test]
fn a_source_that_was_taken_at_the_other_node_is_the_one_here() {
    let mut nodes = [node(), node()];
    says(&mut nodes[0], Duty::Serves(1));
    says(&mut nodes[1], Duty::StandsBy);
    for world in &mut nodes {
        flows().into_iter().for_each(|flow| says_flow(world, flow));
    }
    let mut talk = Talk::new(1);
    talk.source = at(ELSEWHERE);
    assert_eq!(talk.alice(&mut nodes[0]), 1);
    let told: BTreeMap<Name, Snapshot> = told(&mut nodes[0])
        .into_iter()
        .filter_map(|(name, it)| Some((name, it.snapshot?)))
        .collect();
    assert!(told.values().any(|it| it.latched == Some(at(ELSEWHERE))), "{told:?}");
    follows(&mut nodes[1], &told.into_iter().collect::<Vec<_>>());
    says(&mut nodes[1], Duty::Serves(2));
    assert_eq!(talk.bob(&mut nodes[1]), 1, "before Alice has spoken here");
    assert_eq!(talk.alice(&mut nodes[1]), 1);
}

/// The frames that leave by a port's interface.
fn announced(out: &[Out]) -> usize {
    out.iter().filter(|it| matches!(it, Out::Send { .. })).count()
}

#[test]
fn an_address_that_goes_from_node_to_node_is_announced_again_and_given_up_to_who_announces_it() {
    let mut world = node();
    says(&mut world, Duty::Serves(1));
    let address = "10.0.1.9".parse().unwrap();
    let range = Range { vrf: 0, address, first: 20_000, ports: 100 };
    world.apply(item(&Said::Range(range)));
    world.pass(Duration::from_secs(9));
    let own = Address { interface: 1, address, length: 32 };
    world.apply(Program::Address(own.clone()));
    let mut times = Vec::new();
    for at in 0..=400 {
        let count = announced(&world.pass(Duration::from_millis(10)));
        times.extend(core::iter::repeat_n(10 * (at + 1), count));
    }
    assert_eq!(times, [10, 30, 110, 510, 1_010, 3_010]);
    // Its port goes down while neighbours hear of it: they do so anew when it is up.
    let times = |world: &mut World, steps: u64| {
        let count = |at| (10 * (at + 1), announced(&world.pass(Duration::from_millis(10))));
        (0..steps).map(count).flat_map(|(at, count)| vec![at; count]).collect::<Vec<u64>>()
    };
    world.apply(Program::Remove(Removed::Address(1, address, 32)));
    world.apply(Program::Address(own));
    assert_eq!(times(&mut world, 5), [10, 30]);
    world.apply(Program::Port(Port { up: false, ..port(0) }));
    assert!(times(&mut world, 400).is_empty());
    world.apply(Program::Port(port(0)));
    assert_eq!(times(&mut world, 400), [10, 30, 110, 510, 1_010, 3_010]);
    // Another system announces it (RFC 5227 §3).
    let arp = |ip: [u8; 4]| {
        let mut frame = vec![0xff; 6];
        frame.extend(HOST);
        frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
        frame.extend(HOST);
        frame.extend(ip);
        frame.extend([0; 6]);
        frame.extend(ip);
        frame
    };
    world.send(0, &arp([10, 0, 1, 1]));
    let claimed = |out: &[Out]| -> Vec<IpAddr> {
        let claimed = |it: &Out| match it {
            Out::Claimed { interface: 1, address, is_proved: None, .. } => Some(*address),
            _ => None,
        };
        out.iter().filter_map(claimed).collect()
    };
    // Its ports are media's too, so that is one that goes from node to node as well.
    assert_eq!(claimed(&world.tick()), ["10.0.1.1".parse::<IpAddr>().unwrap()]);
    world.send(0, &arp([10, 0, 1, 9]));
    assert_eq!(claimed(&world.tick()), [address]);
    world.plane.give_way(1, address).unwrap();
    world.plane.publish();
    world.send(0, &arp([10, 0, 1, 9]));
    assert_eq!(claimed(&world.tick()), Vec::<IpAddr>::new(), "it is another one's");
    let mut talk = Talk::new(1);
    flows().into_iter().for_each(|flow| says_flow(&mut world, flow));
    assert_eq!(talk.alice(&mut world), 1, "what comes late goes on");
    world.pass(LATE);
    world.plane.publish();
    assert_eq!(talk.alice(&mut world), 0);
}

#[test]
fn who_takes_an_address_shows_what_its_forerunner_was_told_of_and_nobody_else_can() {
    let mut world = node();
    says(&mut world, Duty::Serves(1));
    let [own, other]: [IpAddr; 2] = ["10.0.1.9", "2001:db8:1::9"].map(|it| it.parse().unwrap());
    for address in [own, other] {
        let range = Range { vrf: 0, address, first: 20_000, ports: 100 };
        world.apply(item(&Said::Range(range)));
    }
    let (shown, wanted) = ([7; 16], [9; 16]);
    let tokens = Tokens { own: Some(shown), heir: Some(wanted) };
    world.apply(item(&Said::Tokens(tokens)));
    world.pass(Duration::from_secs(9));
    world.apply(Program::Address(Address { interface: 1, address: own, length: 32 }));
    world.apply(Program::Address(Address { interface: 1, address: other, length: 128 }));
    // What this one announces is another node's proof, told with other numbers.
    let frames: Vec<Vec<u8>> = world
        .pass(Duration::from_millis(10))
        .into_iter()
        .filter_map(|out| if let Out::Send { frame, .. } = out { Some(frame) } else { None })
        .filter(|frame| frame.ends_with(&shown))
        .collect();
    assert_eq!(frames.len(), 2, "one of each family");
    // Another system's, with what it was told and with something else.
    let link = Link { mac: HOST, ..Link::default() };
    let (IpAddr::V4(own), IpAddr::V6(other)) = (own, other) else { panic!("as they are written") };
    for (token, is_right) in [(None, false), (Some(shown), false), (Some(wanted), true)] {
        let told = [
            nodes::arp::announcement(&link, own, token),
            nodes::nd::announcement(&link, other, token),
        ];
        for frame in told {
            world.send(0, &frame);
            let proved = world.tick().into_iter().filter_map(|it| match it {
                Out::Claimed { is_proved, .. } => Some(is_proved),
                _ => None,
            });
            assert_eq!(proved.collect::<Vec<_>>(), [Some(is_right)]);
        }
    }
}
