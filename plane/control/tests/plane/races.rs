//! Tables change as fast as their writer can while workers forward: every packet leaves, and by a
//! way that was right at some moment while its worker had it.

use super::world::{World, ethernet, interface, neighbour_mac, port, programs, udp4, via};
use graph::{Graph, Outbox, Pool, STRIDE};
use machine::Time;
use nodes::Program;
use nodes::mpls::entry::Entry;
use nodes::program::{
    Address, Bridge, BridgeMember, Direction, Family, Filter, FilterUse, Hop, Interface,
    LabelAction, Match, Mode, Neighbour, Push, Rule, StaticMac, Tunnel, Verdict,
};
use plane_control::Plane;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};

/// Changes at least.
const CHANGES: u32 = 1_000_000;
/// Vectors that each worker forwards at least while tables change.
const VECTORS: u64 = 300;
const WORKERS: usize = 2;
/// Keys of a kind, each of which changes by itself.
const KEYS: usize = 32;
/// Programs after which what needs it is published.
const PUBLISHED: u32 = 64;
/// Of so many programs one is a filter, which takes longer to compile than all others.
const FILTERS: u64 = 500;

/// What changes. In an even state its packets leave by port 1, in an odd one by port 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// 192.0.2.n: the route of the subnet, and a longer one that comes and goes.
    Route,
    /// 198.51.100.n by hop 100 + n, which is another one each time; 198.18.0.n by a push over it.
    Hop,
    Pushed,
    /// Label 1,000 + n, the hop before the last.
    Label,
    /// Station n of a bridge.
    Station,
    /// 203.0.113.n, redirected by a filter.
    Redirected,
}

const KINDS: [Kind; 6] =
    [Kind::Route, Kind::Hop, Kind::Pushed, Kind::Label, Kind::Station, Kind::Redirected];

/// States of all keys: how many changes have begun, and how many are done.
struct States {
    begun: Vec<AtomicU32>,
    done: Vec<AtomicU32>,
}

impl States {
    fn new() -> Self {
        let zeros = || (0..KINDS.len() * KEYS).map(|_| AtomicU32::new(0)).collect();
        Self { begun: zeros(), done: zeros() }
    }

    fn place(kind: Kind, key: usize) -> usize {
        match kind {
            Kind::Pushed => Self::place(Kind::Hop, key),
            // One filter has all of them.
            Kind::Redirected => Kind::Redirected as usize * KEYS,
            kind => kind as usize * KEYS + key,
        }
    }
}

fn station(key: usize) -> [u8; 6] {
    [2, 0, 0, 0, 8, key as u8]
}

fn host(net: [u8; 3], key: usize) -> Ipv4Addr {
    Ipv4Addr::new(net[0], net[1], net[2], key as u8)
}

fn filter(hop: u32) -> Program {
    let all = Match { destination: Some(("203.0.113.0".parse().unwrap(), 24)), ..Match::default() };
    let rules = vec![
        Rule { matches: all, verdict: Verdict::Redirect(hop) },
        Rule { matches: Match::default(), verdict: Verdict::Permit },
    ];
    Program::Filter(Filter { filter: 1, family: Family::Ip4, rules })
}

/// What makes a key odd or even.
fn change(kind: Kind, key: usize, is_odd: bool) -> Program {
    let (hop, index) = if is_odd { (2, 3) } else { (1, 2) };
    match kind {
        Kind::Route => {
            let longer = if is_odd { 2 } else { 0 };
            Program::Routes4 { vrf: 0, routes: vec![(host([192, 0, 2], key), 32, longer)] }
        }
        Kind::Hop | Kind::Pushed => {
            let made = match key % 3 {
                0 => via(index, if is_odd { "10.0.3.2" } else { "10.0.2.2" }),
                1 => Hop::Group { members: vec![(hop, 1)], resilient: key % 2 == 1 },
                _ => Hop::Backup { primary: hop, backup: 3 - hop },
            };
            Program::Hop { id: 100 + key as u32, hop: made }
        }
        Kind::Label => {
            let action = LabelAction::Forward { hop, tunnel: Tunnel::Pipe };
            Program::Label { label: 1_000 + key as u32, action }
        }
        Kind::Station => {
            let member = BridgeMember::Interface(20 + index);
            Program::StaticMac(StaticMac { bridge: 1, mac: station(key), member })
        }
        Kind::Redirected => filter(hop),
    }
}

fn start() -> Vec<Program> {
    let mut said = programs();
    for program in &mut said {
        if let Program::Interface(interface) = program {
            interface.mpls = true;
        }
    }
    said.push(Program::Port(port(2)));
    said.push(Program::Interface(interface(3, 2)));
    let address = "10.0.3.1".parse().unwrap();
    said.push(Program::Address(Address { interface: 3, address, length: 24 }));
    let (address, mac) = ("10.0.3.2".parse().unwrap(), neighbour_mac(2));
    said.push(Program::Neighbour(Neighbour { interface: 3, address, mac }));
    said.push(Program::Hop { id: 1, hop: via(2, "10.0.2.2") });
    said.push(Program::Hop { id: 2, hop: via(3, "10.0.3.2") });
    let bridge = Bridge {
        bridge: 1,
        ageing_s: 0,
        macs_max: 1_000,
        flood_unknown: false,
        learn: false,
        storm_pps: 0,
        moves_max: 0,
    };
    said.push(Program::Bridge(bridge));
    for (index, port) in [(21, 0), (22, 1), (23, 2)] {
        let mode = Mode::Bridged { bridge: 1, split_horizon: 0, macs_max: 0 };
        let outer = Some(index as u16);
        said.push(Program::Interface(Interface { outer, mode, ..interface(index, port) }));
    }
    said.push(Program::Routes4 { vrf: 0, routes: vec![(host([192, 0, 2], 0), 24, 1)] });
    said.push(filter(1));
    let used = FilterUse { interface: 1, direction: Direction::In, filter: 1 };
    said.push(Program::FilterUse(used));
    for key in 0..KEYS {
        said.extend([Kind::Hop, Kind::Label, Kind::Station].map(|kind| change(kind, key, false)));
        let (over, label) = (100 + key as u32, 500 + key as u32);
        let push = Push { over, labels: vec![label], ..Push::default() };
        said.push(Program::Hop { id: 200 + key as u32, hop: Hop::Push(push) });
        let routes = vec![
            (host([198, 51, 100], key), 32, 100 + key as u32),
            (host([198, 18, 0], key), 32, 200 + key as u32),
        ];
        said.push(Program::Routes4 { vrf: 0, routes });
    }
    said
}

fn frame(kind: Kind, key: usize) -> Vec<u8> {
    let to = |net| udp4("10.0.1.9", &host(net, key).to_string(), 64, 60);
    match kind {
        Kind::Route => ethernet(0, 0x0800, &to([192, 0, 2])),
        Kind::Hop => ethernet(0, 0x0800, &to([198, 51, 100])),
        Kind::Pushed => ethernet(0, 0x0800, &to([198, 18, 0])),
        Kind::Redirected => ethernet(0, 0x0800, &to([203, 0, 113])),
        Kind::Label => {
            let mut octets = Entry::new(1_000 + key as u32, 0, true, 64).octets().to_vec();
            octets.extend(to([10, 9, 9]));
            ethernet(0, 0x8847, &octets)
        }
        Kind::Station => {
            let mut frame = station(key).to_vec();
            frame.extend([2, 0, 0, 0, 9, 9, 0x81, 0, 0, 21, 0x88, 0xb5]);
            frame.resize(64, 7);
            frame
        }
    }
}

/// A frame that left by a port is that key's, whole, and made for that port.
fn is_whole(kind: Kind, key: usize, port: u16, frame: &[u8]) -> bool {
    let for_port = frame[..6] == neighbour_mac(port);
    match kind {
        Kind::Station => {
            frame[..6] == station(key) && frame[12..16] == [0x81, 0, 0, 21 + port as u8]
        }
        Kind::Pushed => {
            let label = Entry::at(&frame[14..]).map(Entry::label);
            for_port && label == Some(500 + key as u32) && frame[18 + 8] == 63
        }
        Kind::Label => for_port && frame[14 + 16..14 + 20] == host([10, 9, 9], key).octets(),
        _ => for_port && frame[22] == 63 && frame[14 + 19] == key as u8,
    }
}

fn random(state: &mut u64) -> u64 {
    super::hostile::random(state) >> 20
}

fn forward(graph: &mut Graph, states: &States, seed: u64, stop: &AtomicBool, vectors: &AtomicU64) {
    let mut pool = Pool::new(300, STRIDE);
    let (mut out, mut state) = (Outbox::default(), seed);
    let entry = graph.entry("ethernet-input").unwrap();
    let frames = KINDS.map(|kind| (0..KEYS).map(|key| frame(kind, key)).collect::<Vec<_>>());
    while !stop.load(SeqCst) {
        let count = 1 + random(&mut state) as usize % 256;
        let mut sent = vec![None; pool.slots()];
        let slots: Vec<_> = (0..count)
            .map(|_| {
                let kind = KINDS[random(&mut state) as usize % KINDS.len()];
                let key = random(&mut state) as usize % KEYS;
                let slot = pool.put(&frames[kind as usize][key]).expect("a cell");
                let done = states.done[States::place(kind, key)].load(SeqCst);
                sent[slot.0 as usize] = Some((kind, key, done));
                slot
            })
            .collect();
        graph.push(entry, &slots, &mut pool);
        graph.run(&mut pool, &mut out, Time::from_millis(1));
        let mut left = 0;
        for port in [1_u16, 2] {
            for slot in out.port(port.into()).map(std::mem::take).unwrap_or_default() {
                let (kind, key, first) = sent[slot.0 as usize].take().expect("it was sent");
                let last = states.begun[States::place(kind, key)].load(SeqCst);
                let was_so = last > first || u32::from(port) == 1 + first % 2;
                assert!(was_so, "{kind:?} {key} by {port}: {first}..={last}");
                let frame = pool.bytes(slot);
                assert!(is_whole(kind, key, port, frame), "{kind:?} {key} by {port}: {frame:x?}");
                pool.free(slot);
                left += 1;
            }
        }
        assert_eq!(left, count, "{sent:?} {:?}", graph.counters());
        vectors.fetch_add(1, SeqCst);
    }
}

/// One program, which changes some keys; how many.
fn change_some(plane: &mut Plane, states: &States, state: &mut u64) -> u32 {
    let kind = match random(state) % FILTERS {
        0 => Kind::Redirected,
        number => [Kind::Route, Kind::Hop, Kind::Label, Kind::Station][number as usize % 4],
    };
    // Routes come by the list, as a control process says them.
    let count = if kind == Kind::Route { 1 + random(state) as usize % KEYS } else { 1 };
    let first = random(state) as usize % KEYS;
    let keys: Vec<_> = (0..count).map(|nth| (first + nth) % KEYS).collect();
    let place = |key: &usize| States::place(kind, *key);
    let now: Vec<u32> = keys.iter().map(|key| states.done[place(key)].load(SeqCst) + 1).collect();
    let mut changes = keys.iter().zip(&now).map(|(key, now)| change(kind, *key, now % 2 == 1));
    let mut program = changes.next().expect("one at least");
    for more in changes {
        if let (Program::Routes4 { routes, .. }, Program::Routes4 { routes: more, .. }) =
            (&mut program, more)
        {
            routes.extend(more);
        }
    }
    keys.iter().zip(&now).for_each(|(key, now)| states.begun[place(key)].store(*now, SeqCst));
    plane.apply(&program).unwrap_or_else(|why| panic!("{program:?}: {why}"));
    if kind == Kind::Redirected {
        plane.publish();
    }
    keys.iter().zip(&now).for_each(|(key, now)| states.done[place(key)].store(*now, SeqCst));
    count as u32
}

#[test]
fn no_packet_is_lost_or_leaves_by_a_way_that_was_not_so_while_all_tables_change() {
    let World { mut plane, graph, .. } = World::of(&start());
    drop(graph);
    let mut graphs: Vec<_> = (0..WORKERS).map(|_| plane.graph().unwrap()).collect();
    let (states, stop) = (States::new(), AtomicBool::new(false));
    let vectors: Vec<_> = (0..WORKERS).map(|_| AtomicU64::new(0)).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15;
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for (at, (graph, vectors)) in graphs.iter_mut().zip(&vectors).enumerate() {
            let (states, stop) = (&states, &stop);
            workers.push(scope.spawn(move || {
                forward(graph, states, at as u64 + 1, stop, vectors);
            }));
        }
        let (mut changes, mut programs) = (0, 0);
        let is_enough = || vectors.iter().all(|vectors| vectors.load(SeqCst) >= VECTORS);
        while changes < CHANGES || !is_enough() {
            changes += change_some(&mut plane, &states, &mut state);
            programs += 1;
            if programs % PUBLISHED == 0 {
                plane.publish();
                plane.tick(Time::from_millis(1), &mut Vec::new());
            }
            if workers.iter().any(std::thread::ScopedJoinHandle::is_finished) {
                break;
            }
        }
        stop.store(true, SeqCst);
    });
}
