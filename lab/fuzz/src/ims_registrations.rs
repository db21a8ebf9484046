//! Whole registrations of IMS between a phone, IMS access and a home network, with packets that are
//! lost, changed, doubled and made up: nothing panics, no key leaves in the clear, and what stands
//! is bounded and over in the end.

use crate::script::Script;
use handset::{Carrier, Config, Handset, Home, Packet, Subscriber};
use ims::{Access, Ipsec, Leaving, Listener, Realm, Settings, Verdict};
use machine::{Duration, Time};
use runtime::{Flow, PortId, Transport};
use secagree::Preference;
use std::net::{IpAddr, SocketAddr};

const CLEAR: PortId = PortId(1);
const PROTECTED: PortId = PortId(2);
const RAW: PortId = PortId(3);
const IN_UDP: PortId = PortId(4);
const INSIDE: PortId = PortId(5);
const PCSCF: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
/// Packets in the air at most.
const AIR_MAX: usize = 64;
/// Registrations under way at most.
const UNDER_WAY_MAX: u32 = 8;
/// What one script may do.
const STEPS_MAX: usize = 256;

struct World {
    now: Time,
    phone: Handset,
    access: Access,
    home: Home,
    air: Vec<Packet>,
}

fn settings() -> Settings {
    let (is_tls, is_known) = (false, true);
    let listener = |port, is_protected| {
        let is_inside = port == INSIDE;
        Listener { port, ip: PCSCF, is_protected, is_tls, is_inside, is_known }
    };
    let section = Ipsec { under_way_max: UNDER_WAY_MAX, sets_max: 32, ..Ipsec::default() };
    let address =
        ipsec::Address { ip: PCSCF, raw: RAW, bypass: false, in_udp: Some((IN_UDP, 4_500)) };
    let listeners = vec![listener(CLEAR, false), listener(PROTECTED, true), listener(INSIDE, true)];
    let name = "access".to_owned();
    Settings { realms: vec![Realm { name, section, listeners, addresses: vec![address] }] }
}

/// Runs one input: what happens, step by step.
pub fn run(octets: &[u8]) {
    let subscriber = Subscriber::number(1);
    let mut phone = Handset::new(Config {
        subscriber: subscriber.clone(),
        address: IpAddr::from([10, 0, 0, 1]),
        clear_port: 5_060,
        server_port: 6_100,
        client_port: 6_200,
        pcscf: SocketAddr::new(PCSCF, 5_060),
        preference: Preference::usual(),
        expires_s: 600,
        seed: 1,
        number: 0,
    });
    phone.speak_tcp(octets.len() % 2 == 1);
    let now = Time::ZERO;
    let access = Access::new(&settings(), 0, [7; 32], now);
    let mut world = World { now, phone, access, home: Home::new([subscriber], 1), air: Vec::new() };
    let mut script = Script::new(octets);
    for _ in 0..STEPS_MAX {
        if script.is_over() {
            break;
        }
        world.step(&mut script);
        assert!(world.access.show_shard().under_way <= u64::from(UNDER_WAY_MAX));
    }
    world.access.tick(world.now + Duration::from_secs(5_000_000_000));
    let left = world.access.show(None, 100);
    assert!(left.is_empty(), "{left:?}");
}

impl World {
    fn step(&mut self, script: &mut Script<'_>) {
        let mut out = Vec::new();
        match script.octet() % 10 {
            0 => self.phone.register(self.now, &mut out),
            1 => self.phone.deregister(self.now, &mut out),
            2..=4 => self.deliver(script.octet(), &mut out),
            5 => drop(self.air.pop()),
            6 => {
                let at = usize::from(script.octet());
                let (place, change) = (script.number(), script.octet());
                let air = &mut self.air;
                let count = air.len().max(1);
                if let Some(octet) = air.get_mut(at % count).and_then(|it| it.bytes.get_mut(place))
                {
                    *octet ^= change;
                }
            }
            7 => {
                let bytes = script.piece().to_vec();
                let carrier = [Carrier::Clear, Carrier::Esp, Carrier::InUdp][bytes.len() % 3];
                let from = SocketAddr::from(([10, 0, 0, 1], 6_200));
                let to = SocketAddr::new(PCSCF, 5_060);
                self.air.push(Packet { carrier, from, to, bytes });
            }
            8 => {
                let bytes = script.piece().to_vec();
                let to = SocketAddr::from(([10, 0, 0, 1], 6_100));
                for port in [CLEAR, PROTECTED, INSIDE] {
                    let local = SocketAddr::new(PCSCF, 5_062);
                    let carrier = if port == INSIDE { Transport::Tcp } else { Transport::Udp };
                    self.send(Flow::to(port, carrier, local, to), &bytes, &mut out);
                }
            }
            _ => {
                self.now += Duration::from_secs(script.number() as u64);
                self.access.tick(self.now);
                self.leave(&mut out);
                self.phone.tick(self.now, &mut out);
            }
        }
        while self.phone.event().is_some() {}
        self.air.extend(out);
        self.air.truncate(AIR_MAX);
    }

    /// One packet reaches its end; the air keeps it where the octet says so.
    fn deliver(&mut self, octet: u8, out: &mut Vec<Packet>) {
        let at = usize::from(octet >> 1) % self.air.len().max(1);
        let Some(packet) = self.air.get(at).cloned() else { return };
        if octet & 1 == 0 {
            self.air.remove(at);
        }
        if packet.to.ip() != PCSCF {
            return self.phone.receive(self.now, &packet, out);
        }
        let port = match packet.carrier {
            Carrier::Clear => CLEAR,
            Carrier::Esp => RAW,
            Carrier::InUdp => IN_UDP,
        };
        let flow = Flow::to(port, Transport::Udp, packet.to, packet.from);
        match self.access.packet(self.now, &flow, &packet.bytes) {
            ims::Packet::Dropped => {}
            ims::Packet::Foreign => self.message(flow, &packet.bytes, out),
            ims::Packet::Message(flow) => {
                let mut next = Some(flow);
                while let Some(flow) = next {
                    let text = self.access.text();
                    self.message(flow, &text, out);
                    self.access.reuse(text);
                    next = self.access.next_inside(self.now);
                }
            }
        }
        self.leave(out);
    }

    fn leave(&mut self, out: &mut Vec<Packet>) {
        self.access.leave_inside(self.now, |flow, bytes| {
            let carrier = if flow.port == RAW { Carrier::Esp } else { Carrier::InUdp };
            let bytes = bytes.to_vec();
            out.push(Packet { carrier, from: flow.local, to: flow.remote, bytes });
        });
    }

    /// A function that passes everything on.
    fn message(&mut self, flow: Flow, bytes: &[u8], out: &mut Vec<Packet>) {
        let Ok(message) = sip::Message::parse(bytes) else { return };
        let mut text = Vec::new();
        let verdict = self.access.request(self.now, &flow, &message, &mut text);
        let bytes = match verdict {
            Verdict::Passes => bytes,
            Verdict::Changed => &text,
            Verdict::Dropped => return,
            Verdict::Refused => return self.send(flow, &text, out),
        };
        let Some(answer) = self.home.receive(self.now, flow.remote, bytes) else { return };
        let mut unkeyed = Vec::new();
        let verdict = self.access.unkeyed(self.now, &answer, true, &mut unkeyed);
        self.send(flow, if verdict == Verdict::Changed { &unkeyed } else { &answer }, out);
    }

    fn send(&mut self, flow: Flow, bytes: &[u8], out: &mut Vec<Packet>) {
        let mut text = Vec::new();
        let (flow, bytes) = match self.access.leaving(self.now, &flow, bytes, &mut text) {
            Leaving::Stays => (flow, bytes),
            Leaving::Instead(flow) => (flow, text.as_slice()),
            Leaving::Inside => return self.leave(out),
            Leaving::Dropped => return,
        };
        let carrier = match flow.port {
            RAW => Carrier::Esp,
            IN_UDP => Carrier::InUdp,
            _ => Carrier::Clear,
        };
        out.push(Packet { carrier, from: flow.local, to: flow.remote, bytes: bytes.to_vec() });
    }
}
