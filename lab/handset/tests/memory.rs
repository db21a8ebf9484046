//! What a phone takes of a session controller's memory once it is registered, counted by the
//! allocator: octets that are asked for, whatever they are for.
//! A program of its own, for all of its memory is counted.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "a test program")]
#![allow(unsafe_code, reason = "it counts what the allocator is asked for")]

use handset::{Carrier, Config, Handset, Home, Packet, State, Subscriber};
use machine::{Duration, Time};
use runtime::{Effects, Flow, Function, In, PortId, PortSpec, Seed, Transport};
use secagree::{Mode, Preference};
use ssc::Controller;
use std::alloc::{GlobalAlloc, Layout, System};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

static OCTETS: AtomicIsize = AtomicIsize::new(0);

struct Counting;

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        OCTETS.fetch_add(layout.size().cast_signed(), Relaxed);
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        OCTETS.fetch_sub(layout.size().cast_signed(), Relaxed);
        // SAFETY: as the caller says.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Phones that are registered before memory is looked at first, and phones that are counted: a
/// table of slots grows by 4,096 at once.
const WARM_UP: u32 = 64;
const PHONES: u32 = 4_096;
/// What one of them may take: four associations, the agreement, its registration.
const PHONE_OCTETS_MAX: u64 = 2_048;

const ACCESS: [u8; 4] = [192, 0, 2, 1];
const CORE: [u8; 4] = [192, 0, 2, 2];
const SITE: &str = r#"
name = "sbc"
[registrar]
enabled = true
client_expires_s = 7000
core_expires_s = 7200
[[realm]]
name = "access"
side = "access"
listen = ["udp:192.0.2.1:5060"]
register_required = true
[realm.ipsec]
sets_max = 100000
sets_of_source_max = 100000
[[realm]]
name = "core"
side = "core"
trusted = true
listen = ["udp:192.0.2.2:5060"]
[[next_hop]]
name = "scscf"
realm = "core"
targets = ["udp:192.0.2.9:5080"]
probe_interval_s = 0
[[route]]
from = "access"
to = ["scscf"]
"#;

struct World {
    controller: Controller,
    ports: Vec<PortSpec>,
    now: Time,
    out: Effects,
}

impl World {
    fn new() -> Self {
        let config: ssc::config::Ssc = toml::from_str(SITE).unwrap();
        let ports = config.ports();
        let now = Time::from_millis(1_700_000_000_000);
        let seed = Seed { shard: 0, shards: 1, random: [7; 32], now };
        Self {
            controller: Controller::new(seed, Arc::new(config)),
            ports,
            now,
            out: Effects::default(),
        }
    }

    fn port(&self, listen: SocketAddr, is_raw: bool) -> PortId {
        let is_it = |it: &&PortSpec| {
            it.listen == listen && is_raw == matches!(it.carrier, runtime::Carrier::Raw { .. })
        };
        self.ports.iter().find(is_it).unwrap().id
    }

    /// A packet comes; what left of it.
    fn step(&mut self, flow: Flow, bytes: &[u8]) -> Vec<(Flow, Vec<u8>)> {
        self.controller.step(self.now, In::Message { flow, bytes }, &mut self.out);
        let sends = self.out.sends().map(|(flow, bytes)| (flow, bytes.to_vec())).collect();
        self.out.clear();
        sends
    }

    /// A phone registers, and is seen no more.
    fn registers(&mut self, number: u32) {
        let [_, a, b, c] = number.to_be_bytes();
        let config = Config {
            subscriber: Subscriber::number(number.into()),
            address: IpAddr::from([10, a, b, c]),
            clear_port: 5_060,
            server_port: 6_100,
            client_port: 6_200,
            pcscf: SocketAddr::from((ACCESS, 5_060)),
            preference: Preference { modes: vec![Mode::Transport], ..Preference::usual() },
            expires_s: 7_000,
            seed: number.into(),
            number: 0,
        };
        self.now += Duration::from_millis(20);
        self.controller.tick(self.now, &mut self.out);
        self.out.clear();
        let mut home = Home::new([config.subscriber.clone()], number.into());
        let (mut phone, mut out) = (Handset::new(config), Vec::new());
        phone.register(self.now, &mut out);
        while let Some(packet) = out.pop() {
            for bytes in self.arrives(&mut home, &packet) {
                phone.receive(self.now, &bytes, &mut out);
            }
        }
        assert_eq!(phone.state(), State::Registered, "{number}");
    }

    /// A packet of a phone comes; what comes back to it.
    fn arrives(&mut self, home: &mut Home, packet: &Packet) -> Vec<Packet> {
        let is_raw = packet.carrier == Carrier::Esp;
        let local = SocketAddr::new(packet.to.ip(), if is_raw { 0 } else { packet.to.port() });
        let flow = Flow::to(self.port(local, is_raw), Transport::Udp, local, packet.from);
        let (mut sends, mut back) = (self.step(flow, &packet.bytes), Vec::new());
        while let Some((flow, bytes)) = sends.pop() {
            if flow.local.ip() != IpAddr::from(CORE) {
                let carrier = if flow.local.port() == 0 { Carrier::Esp } else { Carrier::Clear };
                back.push(Packet { carrier, from: flow.local, to: flow.remote, bytes });
                continue;
            }
            if let Some(answer) = home.receive(self.now, flow.local, &bytes) {
                sends.extend(self.step(flow, &answer));
            }
        }
        back
    }

    /// Until no transaction is left of what was.
    fn rests(&mut self) -> isize {
        let end = self.now + Duration::from_secs(60);
        while self.now < end {
            self.now += Duration::from_millis(100);
            self.controller.tick(self.now, &mut self.out);
            self.out.clear();
        }
        OCTETS.load(Relaxed)
    }
}

#[test]
fn a_registered_phone_with_its_four_associations_takes_two_kibibytes() {
    let mut world = World::new();
    (1..=WARM_UP).for_each(|number| world.registers(number));
    let before = world.rests();
    for number in WARM_UP + 1..=WARM_UP + PHONES {
        world.registers(number);
        if number.is_multiple_of(512) {
            world.rests();
        }
    }
    let octets = (world.rests() - before).cast_unsigned() as u64 / u64::from(PHONES);
    assert!(octets <= PHONE_OCTETS_MAX, "{octets} octets a phone");
}
