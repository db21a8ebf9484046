//! One program before an interface: a fence, a port that has the whole interface by its first
//! queue, and a port of one target by its second, in one process and in two.

use crate::field::{FAR_MAC, Field, NEAR_MAC};
use driver::Redirect;
use driver::filter::{Count, Filter, Listener, Protocol, Rate, Rates};
use driver::link::interface;
use graph::{Pool, STRIDE};
use ports::xdp::{ENTRIES, Umem, XdpPort};
use ports::{Device, Port};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const OURS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
const UDP: u8 = 17;
/// Where the fence has a listener, what the target's port has, and where neither is.
const FENCED: u16 = 5060;
const ROUTED: u16 = 7000;
const OTHER: u16 = 7001;
/// Frames that the fence lets pass of a source.
const BURST: u32 = 3;
const LIMIT: Duration = Duration::from_secs(60);
const CHILD: &str = "TANDEM_TEST_HAS";

/// A datagram over IPv4 with its sums: the kernel takes it.
fn udp(to: u16, mark: u32) -> Vec<u8> {
    let body = mark.to_be_bytes();
    let udp = [&[0x13, 0xc4], &to.to_be_bytes()[..], &[0, 12, 0, 0], &body].concat();
    let mut ip = vec![0x45, 0, 0, 32, 0, 0, 0, 0, 64, UDP, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2];
    let words = ip.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
    let sum = words.sum::<u32>();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    [&NEAR_MAC[..], &FAR_MAC, &[8, 0], &ip, &udp, &[0; 14]].concat()
}

/// A port with its pool.
struct Host {
    port: Port,
    pool: Pool,
}

impl Host {
    fn open(redirect: &std::sync::Arc<Redirect>, queue: u32) -> Self {
        let pool = Pool::new(4_096, STRIDE);
        let mut umem = Umem::new(&pool, false).unwrap();
        let port = Port::Xdp(XdpPort::open(redirect, queue, ENTRIES, &mut umem).unwrap());
        let mut host = Self { port, pool };
        host.port.attend(&mut host.pool);
        host
    }

    fn whole() -> Self {
        Self::open(&Redirect::attach("near0").unwrap(), 0)
    }

    fn routed() -> Self {
        Self::open(&Redirect::attach_for("near0", OURS.into(), UDP, Some(ROUTED)).unwrap(), 1)
    }

    fn send(&mut self, frame: &[u8]) {
        let mut slots = vec![self.pool.put(frame).unwrap()];
        self.port.send(&mut self.pool, &mut slots);
    }

    /// The marks of the datagrams that are there.
    fn marks(&mut self) -> Vec<u32> {
        let mut slots = Vec::new();
        self.port.receive(&mut self.pool, &mut slots);
        let bytes = slots.iter().map(|slot| self.pool.bytes(*slot));
        let ours = bytes.filter(|bytes| bytes.len() >= 46 && bytes[30..34] == OURS.octets());
        let marks = ours.map(|it| u32::from_be_bytes(it[42..46].try_into().unwrap())).collect();
        self.pool.free_all(&slots);
        self.port.attend(&mut self.pool);
        marks
    }
}

fn fence() -> Filter {
    let rate = |burst| Rate { per_s: 1, burst };
    let many = rate(1_000);
    let rates = Rates { source: rate(BURST), datagrams: many, syns: many, echoes: many };
    let mut fence = Filter::load(rates).unwrap();
    let (address, protocol) = (IpAddr::from(OURS), Protocol::Udp);
    fence.set_listeners(&[Listener { address, port: FENCED, protocol, trusts: false }]).unwrap();
    fence.attach(interface("near0").unwrap()).unwrap();
    fence
}

/// The namespaces, the kernel's sockets here, and a sender by each queue over there.
struct World {
    field: Field,
    sockets: Vec<(u16, UdpSocket)>,
    senders: [Host; 2],
    mark: u32,
}

/// Where a datagram came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Whole,
    Routed,
    Kernel,
    Nowhere,
}

impl World {
    fn new(place: &str) -> Self {
        let field = Field::bare(place);
        field.far("sysctl -qw net.ipv6.conf.all.disable_ipv6=1");
        field.near("sysctl -qw net.ipv6.conf.all.disable_ipv6=1");
        let queues = "numrxqueues 2 numtxqueues 2";
        field.near_ip(&format!("link add near0 {queues} type veth peer name far0 {queues}"));
        field.near_ip(&format!("link set far0 netns {}", field.far_name()));
        field.near_ip("link set near0 address 02:00:00:00:09:02 up");
        field.near_ip("address add 10.9.0.2/24 dev near0");
        field.far("ip link set far0 up");
        let sockets = [FENCED, ROUTED, OTHER].map(|port| {
            let socket = UdpSocket::bind((OURS, port)).unwrap();
            socket.set_nonblocking(true).unwrap();
            (port, socket)
        });
        let senders = field.in_far(|| {
            Device::open("far0").unwrap().set_offloads_off().unwrap();
            let redirect = Redirect::attach("far0").unwrap();
            [0, 1].map(|queue| Host::open(&redirect, queue))
        });
        Self { field, sockets: sockets.into(), senders, mark: 0 }
    }

    /// Sends one by a queue.
    fn send(&mut self, queue: usize, to: u16) -> u32 {
        self.mark += 1;
        self.senders[queue].send(&udp(to, self.mark));
        self.mark
    }

    /// The marks that came to the kernel.
    fn kernel(&self) -> Vec<u32> {
        let mut marks = Vec::new();
        for (_, socket) in &self.sockets {
            let mut octets = [0; 4];
            while socket.recv(&mut octets).is_ok() {
                marks.push(u32::from_be_bytes(octets));
            }
        }
        marks
    }

    /// Sends one by a queue and looks where it comes to. That it comes nowhere is known when one
    /// that was sent after it is there.
    fn goes(&mut self, queue: usize, to: u16, owners: &mut Owners) -> At {
        let (mark, until) = (self.send(queue, to), Instant::now() + LIMIT);
        let after = self.send(queue, OTHER);
        let (mut at, mut is_over) = (At::Nowhere, false);
        while !is_over {
            assert!(Instant::now() < until, "what comes after it does not come");
            let kernel = self.kernel();
            let whole = owners.whole.as_mut().map(Host::marks).unwrap_or_default();
            let routed = owners.routed.as_mut().map(Host::marks).unwrap_or_default();
            for (marks, where_to) in
                [(&kernel, At::Kernel), (&whole, At::Whole), (&routed, At::Routed)]
            {
                at = if marks.contains(&mark) { where_to } else { at };
                is_over |= marks.contains(&after);
            }
        }
        at
    }

    fn has_program(&self) -> bool {
        self.field.near("ip link show near0").contains("prog/xdp")
    }

    /// Until the last descriptor of another process is closed by the kernel.
    fn loses_program(&self) {
        let until = Instant::now() + LIMIT;
        while self.has_program() {
            assert!(Instant::now() < until, "it stays");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Where all goes is where it should.
    fn check(&mut self, owners: &mut Owners) {
        let (has_whole, has_routed) = (owners.whole.is_some(), owners.routed.is_some());
        let words = format!("{has_whole}, {has_routed}, fence {}", owners.fence.is_some());
        let by_first = if has_whole { At::Whole } else { At::Kernel };
        assert_eq!(self.goes(0, OTHER, owners), by_first, "{words}");
        assert_eq!(self.goes(1, OTHER, owners), At::Kernel, "no queue of the whole one: {words}");
        let routed = if has_routed { At::Routed } else { At::Kernel };
        assert_eq!(self.goes(1, ROUTED, owners), routed, "{words}");
        let otherwise = if has_routed { At::Kernel } else { by_first };
        assert_eq!(self.goes(0, ROUTED, owners), otherwise, "no queue of the target: {words}");
        if let Some(fence) = &mut owners.fence {
            // A bucket that is full again; what it counts goes on.
            let before = fence.counts().unwrap();
            fence.pardon(None);
            let address = IpAddr::from([10, 9, 0, 1]);
            fence.block(address, LIMIT * 10).unwrap();
            assert_eq!(self.goes(0, FENCED, owners), At::Nowhere, "{words}");
            let fence = owners.fence.as_mut().unwrap();
            fence.pardon(Some(address));
            let now = fence.counts().unwrap();
            let dropped = Count::Blacklisted as usize;
            assert_eq!(now[dropped] - before[dropped], 1, "{words}");
            fence.know(address, Some(LIMIT * 10)).unwrap();
            assert_eq!(self.goes(0, FENCED, owners), by_first, "{words}");
            owners.fence.as_mut().unwrap().forget(address);
        } else {
            for _ in 0..2 * BURST {
                assert_eq!(self.goes(0, FENCED, owners), by_first, "{words}");
            }
        }
    }
}

/// Who shares the interface.
#[derive(Default)]
struct Owners {
    fence: Option<Filter>,
    whole: Option<Host>,
    routed: Option<Host>,
}

impl Owners {
    fn all() -> Self {
        let (fence, whole, routed) = (fence(), Host::whole(), Host::routed());
        Self { fence: Some(fence), whole: Some(whole), routed: Some(routed) }
    }

    fn leave(&mut self, which: usize) {
        match which {
            0 => self.fence = None,
            1 => self.whole = None,
            _ => self.routed = None,
        }
    }
}

#[test]
fn a_fence_and_two_ports_share_an_interface_and_each_leaves_the_others() {
    let mut world = World::new("xdp-shared");
    for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
        let mut owners = Owners::all();
        world.check(&mut owners);
        for which in order {
            assert!(world.has_program());
            owners.leave(which);
            world.check(&mut owners);
        }
        world.loses_program();
    }
}

#[test]
fn the_fence_drops_before_a_port_is_given_anything() {
    let mut world = World::new("xdp-fenced");
    let mut owners = Owners::all();
    let all: Vec<At> = (0..10).map(|_| world.goes(0, FENCED, &mut owners)).collect();
    let at = |which| all.iter().filter(|it| **it == which).count();
    let counts = owners.fence.as_ref().unwrap().counts().unwrap();
    let [passed, excess] = [Count::Passed, Count::Excess].map(|it| counts[it as usize]);
    assert_eq!((at(At::Whole) as u64, at(At::Nowhere) as u64), (passed, excess), "{all:?}");
    assert!(excess > 0 && passed >= u64::from(BURST) && at(At::Kernel) == 0, "{all:?}");
}

#[test]
fn what_one_port_has_another_is_refused_in_words_until_it_is_gone() {
    let _world = World::new("xdp-refused");
    let target = || Redirect::attach_for("near0", OURS.into(), UDP, Some(ROUTED));
    let (whole, routed) = (Redirect::attach("near0").unwrap(), target().unwrap());
    let words = Redirect::attach("near0").unwrap_err().to_string();
    assert!(words.contains("another port has all"), "{words}");
    let words = target().unwrap_err().to_string();
    assert!(words.contains("another port has what comes to 10.9.0.2"), "{words}");
    Redirect::attach_for("near0", OURS.into(), UDP, None).unwrap();
    Redirect::attach_for("near0", OURS.into(), 132, Some(ROUTED)).unwrap();
    drop((whole, routed));
    Redirect::attach("near0").unwrap();
    target().unwrap();
}

/// The other process, when it is started: has what it is told until its input ends.
#[test]
#[allow(clippy::print_stdout, reason = "it speaks to the process that started it")]
fn a_second_process() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let mut owners = Owners::default();
    match what.as_str() {
        "fence" => owners.fence = Some(fence()),
        _ => owners.routed = Some(Host::routed()),
    }
    println!("\nready");
    let mut line = String::new();
    while std::io::stdin().read_line(&mut line).unwrap() > 0 {
        let (mark, until) = (line.trim().parse().unwrap(), Instant::now() + LIMIT);
        while !owners.routed.as_mut().unwrap().marks().contains(&mark) {
            assert!(Instant::now() < until, "{mark} does not come");
        }
        println!("\ncame");
        line.clear();
    }
}

/// Another process that has something.
struct Other {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Other {
    fn start(world: &World, has: &str) -> Self {
        let program = std::env::current_exe().unwrap();
        let words = format!("{} --exact shared::a_second_process --nocapture", program.display());
        let mut command = world.field.near_command(&words);
        command.env(CHILD, has).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut other = Self { child, output };
        other.says("ready");
        other
    }

    fn says(&mut self, word: &str) {
        let mut line = String::new();
        while line.trim() != word {
            line.clear();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "it ended before {word}");
        }
    }

    fn gets(&mut self, mark: u32) {
        writeln!(self.child.stdin.as_ref().unwrap(), "{mark}").unwrap();
        self.says("came");
    }

    /// kill -9
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn two_processes_share_an_interface_and_one_that_is_killed_leaves_nothing() {
    let mut world = World::new("xdp-process");
    let mut owners = Owners { fence: Some(fence()), whole: Some(Host::whole()), routed: None };
    let mut other = Other::start(&world, "routed");
    let words = Redirect::attach_for("near0", OURS.into(), UDP, Some(ROUTED)).unwrap_err();
    assert!(words.to_string().contains("another port has"), "{words}");
    let mark = world.send(1, ROUTED);
    other.gets(mark);
    assert_eq!(world.goes(0, OTHER, &mut owners), At::Whole);
    assert_eq!(world.goes(0, ROUTED, &mut owners), At::Kernel, "the other's, and not by its queue");
    other.kill();
    world.check(&mut owners);
    owners.routed = Some(Host::routed());
    world.check(&mut owners);

    // The program stays with the process that is left, and with it goes.
    owners.leave(2);
    let mut other = Other::start(&world, "routed");
    owners = Owners::default();
    assert!(world.has_program());
    let mark = world.send(1, ROUTED);
    other.gets(mark);
    owners.whole = Some(Host::whole());
    assert_eq!(world.goes(0, OTHER, &mut owners), At::Whole, "by the other's link");
    owners = Owners::default();
    other.kill();
    world.loses_program();
    world.check(&mut owners);
}

#[test]
fn listeners_of_a_fence_whose_process_is_killed_are_none_and_another_takes_them() {
    let mut world = World::new("xdp-killed");
    let mut owners = Owners { whole: Some(Host::whole()), ..Owners::default() };
    let other = Other::start(&world, "fence");
    let all: Vec<At> = (0..10).map(|_| world.goes(0, FENCED, &mut owners)).collect();
    assert!(all.contains(&At::Nowhere), "{all:?}");
    other.kill();
    world.check(&mut owners);
    owners.fence = Some(fence());
    world.check(&mut owners);
}
