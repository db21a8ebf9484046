//! How many packets a second a port takes: `ports KIND SECONDS`, KIND one of `packet`, `xdp`,
//! `tap`, `memif`, `rings`, `testpmd` (DPDK's, between the same veths by its own AF_XDP driver).
//! Interfaces are made in a namespace of its own and gone afterwards
//! (needs root); one thread on core 0 forwards from one port to the other, another on core 1
//! sends as fast as it can. A tap and a memif send back by the port that they received from;
//! the other end of the memif is DPDK's testpmd in its mode `flowgen`.
//!
//! ```text
//!   core 1: generator (AF_XDP) → out0 ══ near0 → core 0: receive, exchange, send → near1 ══ out1
//! ```
#![allow(clippy::print_stdout, reason = "an example prints what it measured")]

use driver::FrameSocket;
use driver::Redirect;
use graph::{Pool, STRIDE, Slot};
use ports::memif::Role;
use ports::xdp::{ENTRIES, Umem, XdpPort};
use ports::{MemifPort, PacketPort, Port, RingPort, TapPort, memif, packet, tap};
use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const SLOTS: usize = 16_384;
const FRAME: usize = 60;
const HEADER: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5];
const RING: usize = 2_048;
/// Calls of the loop between two looks at link and counters.
const ATTEND: u32 = 16_384;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let kind = arguments.get(1).map_or("xdp", String::as_str).to_owned();
    let seconds = arguments.get(2).and_then(|text| text.parse().ok()).unwrap_or(5);
    let time = Duration::from_secs(seconds);
    match kind.as_str() {
        "rings" => return rings(time),
        "memif" => return memif(time),
        _ => {}
    }
    let namespace = format!("driver-measure-{}", std::process::id());
    let result = enter(&namespace).and_then(|()| match kind.as_str() {
        "tap" => tap(time),
        _ => veths(&kind, time),
    });
    ip(&["netns", "del", &namespace])?;
    result
}

fn ip(words: &[&str]) -> io::Result<()> {
    let status = Command::new("ip").args(words).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(words.join(" "))) }
}

fn enter(namespace: &str) -> io::Result<()> {
    use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
    use std::os::fd::AsFd;
    ip(&["netns", "add", namespace])?;
    let file = std::fs::File::open(format!("/run/netns/{namespace}"))?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
    Ok(())
}

/// The two ports of the forwarder, and its pool.
fn forwarder(kind: &str) -> io::Result<(Port, Port, Pool)> {
    let pool = Pool::new(SLOTS, STRIDE);
    if kind == "packet" {
        let open = |name| PacketPort::open(&packet::Spec::new(name)).map(Port::Packet);
        return Ok((open("near0")?, open("near1")?, pool));
    }
    let mut umem = Umem::new(&pool, false)?;
    let mut open = |name| {
        let redirect = Redirect::attach(name)?;
        XdpPort::open(&redirect, 0, ENTRIES, &mut umem).map(Port::Xdp)
    };
    Ok((open("near0")?, open("near1")?, pool))
}

fn veths(kind: &str, time: Duration) -> io::Result<()> {
    for (near, out) in [("near0", "out0"), ("near1", "out1")] {
        ip(&["link", "add", near, "type", "veth", "peer", "name", out])?;
        for name in [near, out] {
            ip(&["link", "set", name, "up"])?;
        }
    }
    // Whose program has them before the ends of the generator are opened.
    let other = (kind == "testpmd").then(testpmd).transpose()?;
    let own = if other.is_none() { Some(forwarder(kind)?) } else { None };
    // The far end of the second pair drops what comes before the kernel makes anything of it.
    let sink = Redirect::attach("out1")?;
    let mut sink_pool = Pool::new(SLOTS, STRIDE);
    let mut umem = Umem::new(&sink_pool, false)?;
    let sink_port = XdpPort::open(&sink, 0, ENTRIES, &mut umem)?;
    let stop = Arc::new(AtomicBool::new(false));
    let generator = {
        let stop = Arc::clone(&stop);
        let own = Pool::new(SLOTS, STRIDE);
        let redirect = Redirect::attach("out0")?;
        let port = XdpPort::open(&redirect, 0, ENTRIES, &mut Umem::new(&own, false)?)?;
        let sink = (Port::Xdp(sink_port), sink_pool_take(&mut sink_pool));
        std::thread::spawn(move || generate((Port::Xdp(port), own), sink, &stop))
    };
    driver::pin(0)?;
    let start = Instant::now();
    match own {
        Some((first, second, pool)) => forward(kind, (first, Some(second), pool), time),
        None => std::thread::sleep(time),
    }
    stop.store(true, Relaxed);
    let (sent, arrived) = generator.join().map_err(|_| io::Error::other("generator"))?;
    let rate = |packets: u64| packets as f64 / start.elapsed().as_secs_f64() / 1e6;
    println!(
        "{kind}: the generator sent {:.3} Mpps, {:.3} arrived behind the forwarder",
        rate(sent),
        rate(arrived)
    );
    drop(other);
    Ok(())
}

/// A program that ends with its handle, also when what comes after its start fails.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        // One that has ended by itself needs no more.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// DPDK's testpmd on core 0, between the two near ends by AF_XDP.
fn testpmd() -> io::Result<Peer> {
    let mut command = Command::new("dpdk-testpmd");
    command.args(["--no-huge", "-m", "256", "--no-pci", "--no-telemetry", "--lcores=0@0,1@0"]);
    command.args(["--vdev=net_af_xdp0,iface=near0", "--vdev=net_af_xdp1,iface=near1"]);
    command.args(["--file-prefix=measure", "--", "--forward-mode=macswap", "--auto-start"]);
    command.args(["--total-num-mbufs=16384", "--nb-cores=1", "--no-mlockall", "--burst=64"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut peer = Peer(command.spawn()?);
    std::thread::sleep(Duration::from_secs(3));
    match peer.0.try_wait()? {
        None => Ok(peer),
        Some(status) => Err(io::Error::other(format!("testpmd has ended: {status}"))),
    }
}

fn sink_pool_take(pool: &mut Pool) -> Pool {
    std::mem::replace(pool, Pool::new(1, STRIDE))
}

/// Sends 32 frames at a time as fast as it can, and drains what has passed the forwarder.
fn generate(own: (Port, Pool), sink: (Port, Pool), stop: &AtomicBool) -> (u64, u64) {
    let ((mut port, mut pool), (mut end, mut end_pool)) = (own, sink);
    let pinned = driver::pin(1);
    assert!(pinned.is_ok(), "two cores");
    let (mut slots, mut arrived) = (Vec::new(), Vec::new());
    let mut frame = [0u8; FRAME];
    frame[..14].copy_from_slice(&HEADER);
    let mut rounds = 0u32;
    while !stop.load(Relaxed) {
        slots.extend((0..32).map_while(|_| pool.put(&frame)));
        port.send(&mut pool, &mut slots);
        if rounds.is_multiple_of(8) {
            end.receive(&mut end_pool, &mut arrived);
            end_pool.free_all(&arrived);
            arrived.clear();
        }
        rounds = rounds.wrapping_add(1);
    }
    end.attend(&mut end_pool);
    let total = end.counters().received.packets + end.counters().receive_drops.iter().sum::<u64>();
    (port.counters().sent.packets, total)
}

/// The forwarding loop: receive, exchange the addresses, send by the other port, if there is one.
fn forward(kind: &str, ports: (Port, Option<Port>, Pool), time: Duration) {
    let (mut first, mut second, mut pool) = ports;
    let mut slots: Vec<Slot> = Vec::with_capacity(512);
    let (start, mut rounds, mut busy) = (Instant::now(), 0u32, 0u64);
    let before = on_core_ns();
    while rounds % 64 != 1 || start.elapsed() < time {
        if first.receive(&mut pool, &mut slots) > 0 {
            busy += 1;
            for slot in &slots {
                let (to, rest) = pool.bytes_mut(*slot).split_at_mut(6);
                to.swap_with_slice(&mut rest[..6]);
            }
            second.as_mut().unwrap_or(&mut first).send(&mut pool, &mut slots);
        }
        if rounds.is_multiple_of(ATTEND) {
            first.attend(&mut pool);
            second.iter_mut().for_each(|port| port.attend(&mut pool));
        }
        if let Some(port) = second.as_mut().filter(|_| rounds.is_multiple_of(64)) {
            port.receive(&mut pool, &mut slots);
            pool.free_all(&slots);
            slots.clear();
        }
        rounds = rounds.wrapping_add(1);
    }
    let (taken, seconds) = (start.elapsed(), start.elapsed().as_secs_f64());
    let from = first.counters();
    let to = second.as_ref().unwrap_or(&first).counters();
    let sent = to.sent.packets as f64;
    println!("{kind}: {:.3} Mpps forwarded in {taken:.2?}", sent / seconds / 1e6);
    let spent = (on_core_ns() - before) as f64 / sent;
    println!("  {spent:.0} ns of core 0 a packet, {:.1} a vector", sent / busy as f64);
    println!("  in {from:?}\n  out {to:?}");
}

/// What this thread has had of a core, nanoseconds.
fn on_core_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default()
}

/// A tap that gets all its packets back.
fn tap(time: Duration) -> io::Result<()> {
    let interface = "tap0".to_owned();
    let spec = tap::Spec { interface, has_queues: false, mac: [2; 6], is_tun: false };
    let port = TapPort::open(&spec)?;
    port.device().set_up(true)?;
    let socket = FrameSocket::open("tap0")?;
    let stop = Arc::new(AtomicBool::new(false));
    let generator = {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            let pinned = driver::pin(1);
            assert!(pinned.is_ok(), "two cores");
            let frames = HEADER.iter().chain(&[0; FRAME - 14]).copied();
            let frames: Vec<u8> = frames.cycle().take(64 * FRAME).collect();
            while !stop.load(Relaxed) {
                // A full queue is what this is for.
                let _ = socket.send(&frames, FRAME);
            }
        })
    };
    driver::pin(0)?;
    forward("tap", (Port::Tap(port), None, Pool::new(SLOTS, STRIDE)), time);
    stop.store(true, Relaxed);
    generator.join().map_err(|_| io::Error::other("generator"))
}

/// A memif whose other end is testpmd on core 1, both roles after each other.
fn memif(time: Duration) -> io::Result<()> {
    let socket = std::env::temp_dir().join(format!("driver-measure-{}", std::process::id()));
    driver::pin(0)?;
    for (role, theirs) in [(Role::Master, "client"), (Role::Slave, "server")] {
        let spec = memif::Spec::new(&socket, 0, role, [2; 6]);
        let mut port = Port::Memif(MemifPort::open(&spec)?);
        let at = socket.display();
        let device = format!("net_memif0,role={theirs},id=0,socket={at},socket-abstract=no");
        let mut command = Command::new("dpdk-testpmd");
        command.args(["--no-huge", "-m", "256", "--no-pci", "--no-telemetry", "--lcores=0@0,1@1"]);
        command.args([&format!("--vdev={device}"), "--file-prefix=measure", "--"]);
        command.args(["--forward-mode=flowgen", "--flowgen-flows=1024", "--auto-start"]);
        command.args(["--total-num-mbufs=8192", "--nb-cores=1", "--no-mlockall", "--burst=64"]);
        command.args(["--port-topology=loop", "--txd=1024", "--rxd=1024"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let peer = Peer(command.spawn()?);
        let mut pool = Pool::new(SLOTS, STRIDE);
        for _ in 0..1_000 {
            port.attend(&mut pool);
            if port.is_up() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(500));
        forward(&format!("memif {role:?}"), (port, None, pool), time);
        drop(peer);
        // The slave's peer leaves its socket behind.
        let _ = std::fs::remove_file(&socket);
    }
    Ok(())
}

/// A generator's ring, the forwarder, a ring back.
fn rings(time: Duration) -> io::Result<()> {
    let (outer, inner) = (Pool::new(SLOTS, STRIDE), Pool::new(SLOTS, STRIDE));
    let macs = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
    let (generator, first) = RingPort::pair(RING, (&outer, &inner), macs)?;
    let (second, end) = RingPort::pair(RING, (&inner, &outer), macs)?;
    let stop = Arc::new(AtomicBool::new(false));
    let thread = {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || around(Port::Ring(generator), Port::Ring(end), outer, &stop))
    };
    driver::pin(0)?;
    forward("rings", (Port::Ring(first), Some(Port::Ring(second)), inner), time);
    stop.store(true, Relaxed);
    let arrived = thread.join().map_err(|_| io::Error::other("generator"))?;
    println!("rings: {arrived} arrived behind the forwarder");
    Ok(())
}

/// Sends what comes back again, and new frames as long as there is room.
fn around(mut out: Port, mut end: Port, mut pool: Pool, stop: &AtomicBool) -> u64 {
    let pinned = driver::pin(1);
    assert!(pinned.is_ok(), "two cores");
    let mut slots = Vec::with_capacity(512);
    while !stop.load(Relaxed) {
        end.receive(&mut pool, &mut slots);
        pool.free_all(&slots);
        slots.clear();
        let mut cells = [Slot(0); 64];
        let count = pool.take_all(&mut cells);
        for slot in &cells[..count] {
            pool.meta_mut(*slot).length = FRAME as u16;
        }
        slots.extend_from_slice(&cells[..count]);
        out.send(&mut pool, &mut slots);
    }
    end.counters().received.packets
}
