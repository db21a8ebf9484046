//! The life of a router, drawn from octets: frames of all kinds, broken here and there, packets of
//! its host, time that passes, and, if wanted, programs of all kinds. Nothing panics, and every
//! cell is in a queue or comes back.

use super::drawn::Drawn;
use super::hostile::{first_seed, kinds};
use super::world::{HOST, World, ethernet, interface, mac, packet6, programs, udp4, via};
use graph::meta::{HOSTED, OWN};
use graph::{Outbox, PORTS_MAX};
use nodes::header::seal_ip4;
use nodes::mpls::entry::Entry;
use nodes::program::{
    Advertisement, Bridge, Direction, Drops, Family, Filter, FilterUse, Hop, Interface,
    LabelAction, Marking, Match, Meter, Mode, Policer, PolicerUse, Preference, Pseudowire, Push,
    Queue, Rule, Sampling, Scheduler, Tunnel, Urpf, Verdict,
};
use nodes::{Out, Program};
use scheduler::Schedulers;
use std::time::Duration;

/// Octets of a frame that is not made of a kind, at most.
const FRAME_MAX: usize = 255;
/// Names that programs know.
const WORDS: [&str; 20] = [
    "ip4-in",
    "ip6-in",
    "out",
    "connect-in",
    "bridge-in",
    "ip4-urpf",
    "ip6-urpf",
    "sample",
    "classify",
    "ip4-filter",
    "ip6-filter",
    "l2-filter",
    "filter-out",
    "policer-in",
    "policer-out",
    "mark-out",
    "ip4-lookup",
    "interface-output",
    "nowhere",
    "",
];

/// A router that has something of everything. Ports 0 and 1 as in `world`, with labels.
pub fn rich() -> Vec<Program> {
    let mut said = programs();
    for program in &mut said {
        if let Program::Interface(interface) = program {
            (interface.mpls, interface.proxy_arp) = (true, true);
            interface.directed_broadcast = true;
        }
    }
    let push = |over, label, tunnel| Push { over, labels: vec![label], tunnel, ..Push::default() };
    let wire = Push { flow_label: true, control_word: true, ..push(1, 77, Tunnel::Pipe) };
    let hops = [
        via(2, "10.0.2.2"),
        via(2, "10.0.2.77"),
        Hop::Group { members: vec![(1, 1), (2, 2)], resilient: true },
        Hop::Push(push(3, 400, Tunnel::Uniform)),
        Hop::Push(Push { entropy: true, ..push(4, 401, Tunnel::Pipe) }),
        Hop::Push(wire),
        Hop::Interface { interface: 9 },
        Hop::Interface { interface: 8 },
        Hop::Vrf { vrf: 7 },
        Hop::Vrf { vrf: 0 },
        via(10, "10.0.9.2"),
        Hop::Backup { primary: 2, backup: 1 },
    ];
    said.push(Program::Vrf { vrf: 7 });
    said.push(Program::Interface(Interface { outer: Some(19), mtu: 576, ..interface(10, 1) }));
    said.extend((1..).zip(hops).map(|(id, hop)| Program::Hop { id, hop }));
    said.push(Program::Advertisement(Advertisement {
        interface: 1,
        interval_max_s: 4,
        interval_min_s: 3,
        lifetime_s: 9_000,
        hop_limit: 64,
        managed: false,
        other: true,
        reachable_ms: 0,
        retransmit_ms: 0,
        mtu: 1_500,
        preference: Preference::High,
        prefixes: Vec::new(),
        resolvers: vec!["2001:db8:1::1".parse().unwrap()],
    }));
    said.extend(circuits());
    said.extend(labels());
    said.extend(routes());
    said.extend(classes());
    said
}

/// Interfaces of all kinds, a bridge and a pseudowire.
fn circuits() -> Vec<Program> {
    let bridged = Mode::Bridged { bridge: 1, split_horizon: 0, macs_max: 0 };
    let routed = Mode::Routed { vrf: 7 };
    let rows = [
        (3, 0, Some(8), None, routed, Urpf::Strict),
        (4, 0, Some(9), Some(10), Mode::Routed { vrf: 0 }, Urpf::Loose),
        (5, 0, Some(20), None, bridged.clone(), Urpf::Off),
        (6, 1, Some(20), Some(21), bridged, Urpf::Off),
        (7, 0, Some(30), None, Mode::CrossConnect { hop: 6 }, Urpf::Off),
        (8, 0, Some(31), None, Mode::CrossConnect { hop: 7 }, Urpf::Off),
        (9, 1, Some(40), Some(41), Mode::CrossConnect { hop: 8 }, Urpf::Off),
    ];
    let bridge = Bridge {
        bridge: 1,
        ageing_s: 30,
        macs_max: 20,
        flood_unknown: true,
        learn: true,
        storm_pps: 1_000,
        moves_max: 5,
    };
    let made = rows.into_iter().map(|(index, port, outer, inner, mode, urpf)| {
        Program::Interface(Interface { outer, inner, mode, urpf, ..interface(index, port) })
    });
    let wire = Pseudowire { pseudowire: 1, bridge: 1, hop: 6, split_horizon: 1, macs_max: 5 };
    [Program::Bridge(bridge)].into_iter().chain(made).chain([Program::Pseudowire(wire)]).collect()
}

fn labels() -> Vec<Program> {
    let tunnels = [Tunnel::Pipe, Tunnel::ShortPipe, Tunnel::Uniform];
    let mut actions: Vec<LabelAction> = Vec::new();
    for tunnel in tunnels {
        actions.extend([1, 4, 5].map(|hop| LabelAction::Forward { hop, tunnel }));
        actions.push(LabelAction::PopVrf { vrf: 7, tunnel });
        actions.push(LabelAction::Pop { tunnel });
    }
    for both in [false, true] {
        let (control_word, flow_label) = (both, both);
        actions.push(LabelAction::PopPseudowire { pseudowire: 1, control_word, flow_label });
        actions.push(LabelAction::PopInterface { interface: 8, control_word, flow_label });
    }
    (100..).zip(actions).map(|(label, action)| Program::Label { label, action }).collect()
}

fn routes() -> Vec<Program> {
    let four = |text: &str, length, hop| (text.parse().unwrap(), length, hop);
    let all4 = vec![
        four("192.0.2.0", 24, 1),
        four("192.0.2.64", 26, 4),
        four("198.51.100.0", 24, 9),
        four("203.0.113.0", 24, 11),
        four("0.0.0.0", 0, 3),
    ];
    let six = |text: &str, length, hop| (text.parse().unwrap(), length, hop);
    let all6 = vec![six("2001:db8:ff::", 48, 5), six("::", 0, 12)];
    let back = vec![four("0.0.0.0", 0, 10), four("192.0.2.0", 24, 11)];
    vec![
        Program::Routes4 { vrf: 0, routes: all4 },
        Program::Routes6 { vrf: 0, routes: all6 },
        Program::Routes4 { vrf: 7, routes: back },
    ]
}

/// Filters, policers, maps, samples and queues.
fn classes() -> Vec<Program> {
    let mut said = Vec::new();
    let verdicts = [Verdict::Class(3), Verdict::Mark(9), Verdict::Police(1), Verdict::Redirect(5)];
    let families = [Family::Ip4, Family::Ip6, Family::Ethernet];
    for (filter, family) in (1..).zip(families) {
        let rule = |(at, verdict): (u8, Verdict)| Rule {
            matches: Match { dscp: vec![at], ..Match::default() },
            verdict,
        };
        let redirects = if family == Family::Ethernet { 3 } else { 4 };
        let mut rules: Vec<_> = (1..).zip(verdicts).take(redirects).map(rule).collect();
        if family == Family::Ethernet {
            rules.iter_mut().zip([0x0806, 0x86dd, 0x8847]).for_each(|(rule, kind)| {
                rule.matches = Match { ethertypes: vec![kind], ..Match::default() };
            });
        }
        rules.push(Rule { matches: Match::default(), verdict: Verdict::Permit });
        said.push(Program::Filter(Filter { filter, family, rules }));
        for (interface, direction) in [(1, Direction::In), (2, Direction::Out), (5, Direction::In)]
        {
            said.push(Program::FilterUse(FilterUse { interface, direction, filter }));
        }
    }
    let policer = Policer {
        policer: 1,
        meter: Meter::TwoRate,
        colour_aware: true,
        committed_bytes: 10_000,
        committed_burst: 1_000,
        excess_bytes: 20_000,
        excess_burst: 2_000,
        mark_yellow: Some(10),
        mark_red: None,
    };
    said.insert(0, Program::Policer(policer));
    for (interface, direction) in [(3, Direction::In), (10, Direction::Out)] {
        let used = PolicerUse { interface, direction, class: Some(0), policer: 1 };
        said.push(Program::PolicerUse(used));
    }
    for interface in [1, 2, 5] {
        said.push(Program::Marking(Marking {
            interface,
            by_dscp: (0..64).map(|dscp| (dscp % 8, dscp % 3)).collect(),
            by_priority: (0..8).map(|class| (class, 0)).collect(),
            to_dscp: (0..24).collect(),
            to_priority: (0..8).collect(),
        }));
    }
    for (interface, octets) in [(1, 64), (3, 0)] {
        said.push(Program::Sampling(Sampling { interface, one_in: 2, octets }));
    }
    let drops = Drops { min_octets: 200, max_octets: 1_000, permille: 500 };
    let queue = |queue, parent, interface, class| Queue {
        queue,
        parent,
        interface,
        class,
        rate_bytes: 50_000,
        priority: 0,
        weight: 1,
        packets_max: 20,
        wred: class.map(|_| [drops; 3]),
    };
    let queues =
        vec![queue(1, 0, Some(2), None), queue(2, 1, None, Some(5)), queue(3, 1, None, None)];
    said.push(Program::Scheduler(Scheduler { port: 1, rate_bytes: 100_000, queues }));
    said
}

/// Frames with labels and tags, beside those of `hostile`.
fn more_kinds() -> Vec<Vec<u8>> {
    let packet = udp4("10.0.1.9", "192.0.2.70", 64, 60);
    let six = packet6("2001:db8:1::9", "2001:db8:ff::1", 9, 17, &[1, 2, 3, 4, 0, 8, 0, 0]);
    let stack = |labels: &[u32], below: &[u8]| {
        let mut octets = Vec::new();
        for (nth, label) in labels.iter().enumerate() {
            octets.extend(Entry::new(*label, 3, nth + 1 == labels.len(), 64).octets());
        }
        octets.extend_from_slice(below);
        ethernet(0, 0x8847, &octets)
    };
    let inner = ethernet(1, 0x0800, &packet);
    let mut worded = vec![0; 4];
    worded.extend_from_slice(&inner);
    let mut kinds: Vec<_> = (100..115).map(|label| stack(&[label], &packet)).collect();
    kinds.extend([103, 104, 108].map(|label| stack(&[label, 100], &six)));
    kinds.extend([115, 116].map(|label| stack(&[label], &inner)));
    kinds.extend([117, 118].map(|label| stack(&[label, 1_000], &worded)));
    kinds.extend([stack(&[0], &packet), stack(&[2], &six), stack(&[1, 13], &packet)]);
    kinds.push(stack(&[100, 7, 1_000_000], &packet));
    for tags in [&[8_u16][..], &[9, 10], &[20], &[30], &[31]] {
        let mut body = Vec::new();
        for (nth, tag) in tags.iter().enumerate() {
            body.extend(tag.to_be_bytes());
            let next: u16 = if nth + 1 == tags.len() { 0x0800 } else { 0x8100 };
            body.extend(next.to_be_bytes());
        }
        body.extend_from_slice(&packet);
        kinds.push(ethernet(0, if tags.len() > 1 { 0x88a8 } else { 0x8100 }, &body));
    }
    kinds.push(ethernet(0, 0x0800, &udp4("10.0.1.9", "203.0.113.5", 64, 1_400)));
    kinds.push(ethernet(0, 0x86dd, &six));
    let mut asks = vec![133, 0, 0, 0, 0, 0, 0, 0, 1, 1];
    asks.extend(HOST);
    let mut asks = ethernet(0, 0x86dd, &packet6("fe80::9", "ff02::2", 255, 58, &asks));
    asks[..6].copy_from_slice(&[0x33, 0x33, 0, 0, 0, 2]);
    kinds.push(asks);
    kinds
}

/// Makes the checksum of the IPv4 header behind tags and labels right: few that are drawn are.
fn seal(frame: &mut [u8]) {
    let word = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let (mut at, mut kind) = (14, word(12));
    while matches!(kind, Some(0x8100 | 0x88a8)) {
        (at, kind) = (at + 4, word(at + 2));
    }
    if kind == Some(0x8847) {
        while frame.get(at + 2).is_some_and(|octet| octet & 1 == 0) {
            at += 4;
        }
        at += 4;
    }
    let Some(first) = frame.get(at).filter(|first| **first >> 4 == 4) else { return };
    let octets = usize::from(first & 15) * 4;
    if let Some(header) = frame.get_mut(at..at + octets).filter(|header| header.len() >= 20) {
        seal_ip4(header);
    }
}

struct Life {
    world: World,
    schedulers: Schedulers,
}

impl Life {
    fn new(start: &[Program]) -> Self {
        let world = World::of(start);
        let schedulers = Schedulers::new(world.plane.queues(), 1);
        Self { world, schedulers }
    }

    fn push(&mut self, node: &str, packet: &[u8], about: impl Fn(&mut graph::Meta)) {
        let Some(slot) = self.world.pool.put(packet) else { return };
        about(self.world.pool.meta_mut(slot));
        let entry = self.world.graph.entry(node).expect("a node");
        self.world.graph.push(entry, &[slot], &mut self.world.pool);
    }

    fn run(&mut self) {
        let World { graph, pool, now, .. } = &mut self.world;
        let mut out = Outbox::default();
        graph.run(pool, &mut out, *now);
        self.schedulers.pass(*now, 32, &mut out, pool);
        out.clear(pool);
        let ports = (0..PORTS_MAX).filter_map(|port| self.schedulers.port(port));
        let held: usize = ports.map(|scheduler| scheduler.held()).sum();
        assert_eq!(pool.free_slots() + held, pool.slots(), "every cell came back or waits");
    }

    /// What the plane wants is done, as a forwarder does it.
    fn pass(&mut self, time: Duration) {
        for out in self.world.pass(time) {
            match out {
                Out::Send { interface, frame } => self.push("inject", &frame, |meta| {
                    (meta.transmit, meta.flags) = (interface, OWN);
                }),
                Out::Route { vrf, packet } => self.push("inject", &packet, |meta| {
                    (meta.vrf, meta.flags) = (vrf, OWN);
                }),
                Out::Unreachable { interface, vrf, packet } => {
                    self.push(nodes::error_entry(&packet), &packet, |meta| {
                        nodes::unreachable(meta, interface, vrf);
                    });
                }
                Out::Neighbour { .. } | Out::Mac(_) | Out::Item(_) | Out::Claimed { .. } => {}
            }
        }
        self.run();
    }

    fn frame(&mut self, drawn: &mut Drawn<'_>, kinds: &[Vec<u8>], about: u8) {
        let kind = usize::from(drawn.octet());
        let mut frame = kinds.get(kind).cloned().unwrap_or_else(|| {
            let length = usize::from(drawn.octet()).min(FRAME_MAX);
            (0..length).map(|_| drawn.octet()).collect()
        });
        for _ in 0..about & 7 {
            let (at, octet) = (usize::from(drawn.octet()), drawn.octet());
            match frame.get_mut(at) {
                Some(place) => *place = octet,
                None if octet & 1 == 0 => frame.truncate(at.saturating_sub(100)),
                None => frame.resize(frame.len() + usize::from(octet), octet),
            }
        }
        let port = u16::from(about >> 3 & 1);
        if about & 0x10 != 0 && frame.len() >= 12 {
            frame[..6].copy_from_slice(&mac(port));
            frame[6..12].copy_from_slice(&HOST);
        }
        if about & 0x20 != 0 {
            seal(&mut frame);
        }
        match about & 0x40 {
            0 => self.push("ethernet-input", &frame, |meta| meta.port = port),
            _ => self.push("inject", frame.get(14..).unwrap_or_default(), |meta| {
                meta.flags = OWN | HOSTED;
            }),
        }
    }
}

/// Lives as the octets say.
pub fn live(start: &[Program], octets: &[u8], takes_programs: bool) {
    let mut life = Life::new(start);
    let mut kinds = kinds();
    kinds.extend(more_kinds());
    let mut drawn = Drawn::new(octets, &WORDS);
    while !drawn.is_over() {
        match drawn.octet() {
            0..=15 => life.pass(Duration::from_millis(50 << (drawn.octet() & 15))),
            16..=95 if takes_programs => {
                if let Some(program) = drawn.value::<Program>() {
                    // Most are refused: that nothing panics is all that is asked.
                    let _ = life.world.plane.apply(&program);
                    life.world.plane.publish();
                }
            }
            about => {
                life.frame(&mut drawn, &kinds, about);
                // Sometimes two or more make a vector.
                if about & 0x80 != 0 {
                    life.run();
                }
            }
        }
    }
    life.run();
    life.pass(Duration::from_secs(100));
}

/// Octets by seed.
fn octets(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count).map(|_| (super::hostile::random(&mut state) >> 56) as u8).collect()
}

#[test]
fn a_router_with_everything_outlives_frames_of_all_kinds() {
    for seed in first_seed()..first_seed() + 60 {
        live(&rich(), &octets(seed, 20_000), false);
    }
}

#[test]
fn a_router_outlives_programs_of_all_kinds_between_frames() {
    for seed in first_seed()..first_seed() + 300 {
        live(&programs(), &octets(seed, 4_000), true);
        live(&rich(), &octets(!seed, 4_000), true);
    }
}
