//! One measurement: a plane, its flows, and what they cost.

use graph::{Counters, Graph, Outbox, Pool, STRIDE, Slot};
use machine::Time;
use nodes::Program;
use nodes::program::{Interface, Mode, Neighbour, Port, Urpf};
use plane_control::Plane;
use std::time::Instant;

/// Packets pushed at once.
pub const BURST: usize = 256;
/// Cells of the pool.
const CELLS: usize = 4_096;
/// Ports of every case.
pub const PORTS: u16 = 4;

/// A frame as it comes in.
pub type Frame = [u8; 64];

/// A plane that is ready, and the frames that it gets.
pub struct Case {
    pub plane: Plane,
    pub frames: Vec<(u16, Frame)>,
    /// What a packet may cost, in millions a second, or 0.
    pub wanted: f64,
}

/// A random number; the same every time.
pub fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

pub fn mac(port: u16) -> [u8; 6] {
    [2, 0, 0, 0, 0, port as u8 + 1]
}

/// A plane with [`PORTS`] ports, each with one interface without tags: port n has interface
/// n + 1.
pub fn ports(mode: impl Fn(u16) -> Mode) -> Plane {
    let mut plane = Plane::new(7).expect("memory");
    for port in 0..PORTS {
        let name = format!("port{port}");
        let up = Port { port, name, mac: mac(port), mtu: 1_500, up: true };
        plane.apply(&Program::Port(up)).expect("a port");
        plane.apply(&Program::Interface(interface(port, mode(port)))).expect("an interface");
    }
    plane
}

pub fn interface(port: u16, mode: Mode) -> Interface {
    Interface {
        index: u32::from(port) + 1,
        port,
        outer: None,
        inner: None,
        mode,
        mtu: 0,
        mac: None,
        mpls: true,
        transit_only: false,
        urpf: Urpf::Off,
        proxy_arp: false,
        directed_broadcast: false,
        speaks: Vec::new(),
    }
}

pub fn neighbour(plane: &mut Plane, interface: u32, address: std::net::IpAddr, last: u8) {
    let mac = [2, 0, 0, 1, interface as u8, last];
    let said = Neighbour { interface, address, mac };
    plane.apply(&Program::Neighbour(said)).expect("a neighbour");
}

/// The clock that nodes are counted by.
pub fn clocks() -> u64 {
    // SAFETY: reads a counter.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Frames in bursts of one port each, the ports in turn, as a worker receives them.
fn in_bursts(frames: &[(u16, Frame)]) -> Vec<(u16, Frame)> {
    let mut by_port = vec![Vec::new(); usize::from(PORTS)];
    for frame in frames {
        by_port[usize::from(frame.0)].push(*frame);
    }
    let rounds = by_port.iter().map(|frames| frames.len() / BURST).max().unwrap_or(0);
    let bursts = (0..rounds).flat_map(|round| {
        by_port.iter().filter_map(move |frames| frames.get(round * BURST..(round + 1) * BURST))
    });
    let bursts: Vec<_> = bursts.flatten().copied().collect();
    if bursts.is_empty() { frames.to_vec() } else { bursts }
}

/// Asks for the next frames past the caches that tables lie in: those of a wire are not there.
fn ask(frames: &[(u16, Frame)]) {
    let octets = size_of_val(frames);
    for line in (0..octets).step_by(64) {
        // SAFETY: a prefetch of what is borrowed.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_NTA, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_NTA>(frames.as_ptr().cast::<i8>().add(line));
        }
    }
}

/// Runs a case for some seconds and prints what it cost.
pub fn measure(name: &str, mut case: Case, seconds: f64) {
    case.frames = in_bursts(&case.frames);
    let mut graph = case.plane.graph().expect("a graph");
    case.plane.publish();
    let mut pool = Pool::new(CELLS, STRIDE);
    let mut out = Outbox::default();
    let entry = graph.entry("ethernet-input").expect("the first node");
    let mut slots = [Slot(0); BURST];
    let (mut at, mut spent, mut packets, mut left) = (0, 0_u64, 0_u64, 0_u64);
    let mut before: Vec<Counters> = Vec::new();
    let mut rounds: Vec<u32> = Vec::new();
    let mut now = Time::from_millis(1_000);
    // The first pass over the flows warms up.
    let warm = (case.frames.len() / BURST).clamp(64, 8_192) as u64;
    let (mut started, mut began, mut written) = (Instant::now(), clocks(), 0);
    for round in 0_u64.. {
        if round == warm {
            before = graph.counters();
            (spent, packets, left, written) = (0, 0, 0, 0);
            rounds.clear();
            (started, began) = (Instant::now(), clocks());
        }
        let first = clocks();
        assert_eq!(pool.take_all(&mut slots), BURST, "all cells came back");
        for slot in &slots {
            let (port, frame) = &case.frames[at];
            let (meta, cell) = pool.parts(*slot);
            cell[256..320].copy_from_slice(frame);
            (meta.port, meta.length) = (*port, 64);
            at = if at + 1 == case.frames.len() { 0 } else { at + 1 };
        }
        let second = clocks();
        graph.push(entry, &slots, &mut pool);
        graph.run(&mut pool, &mut out, now);
        let third = clocks();
        ask(&case.frames[at..(at + BURST).min(case.frames.len())]);
        written += second - first;
        spent += third - second;
        rounds.push((third - second) as u32);
        packets += BURST as u64;
        for port in 0..usize::from(PORTS) {
            let sent = out.port(port).map(std::mem::take).unwrap_or_default();
            left += sent.len() as u64;
            pool.free_all(&sent);
            if let Some(queue) = out.port(port) {
                *queue = sent;
                queue.clear();
            }
        }
        now += std::time::Duration::from_micros(8);
        if round > warm && round % 64 == 0 && started.elapsed().as_secs_f64() > seconds {
            break;
        }
    }
    let hertz = (clocks() - began) as f64 / started.elapsed().as_secs_f64();
    let each = spent as f64 / packets as f64;
    let rate = hertz / each / 1e6;
    let writing = written as f64 / packets as f64;
    let flows = case.frames.len();
    println!("{name:<12} {flows:>9} {rate:>8.1} {each:>8.1} {writing:>8.1}");
    // Where others use the processor too, half of the rounds tell more than their mean.
    rounds.sort_unstable();
    let half = f64::from(rounds[rounds.len() / 2]) / BURST as f64;
    println!("{:<12} half of the rounds: {:.1} Mpps, {half:.1} clocks", "", hertz / half / 1e6);
    if case.wanted > 0.0 {
        println!("{:<12} wanted {:.0} Mpps; left {left} of {packets}", "", case.wanted);
    }
    by_node(&graph, &before);
}

fn by_node(graph: &Graph, before: &[Counters]) {
    for (now, before) in graph.counters().iter().zip(before) {
        let packets = now.packets - before.packets;
        if packets > 0 {
            let each = (now.clocks - before.clocks) as f64 / packets as f64;
            let vector = packets as f64 / (now.vectors - before.vectors) as f64;
            println!("  {:<20} {each:>8.1} clocks  {vector:>6.1} packets a vector", now.name);
        }
        for (reason, count) in &now.dropped {
            println!("    {reason}: {count}");
        }
    }
}
