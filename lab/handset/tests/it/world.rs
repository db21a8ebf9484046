//! A world: phones, IMS access in a function that passes everything on, a home network.

use handset::{Carrier, Config, Event, Handset, Home, Packet, Subscriber};
use ims::{Access, Ipsec, Leaving, Listener, Realm, Settings, Verdict};
use machine::{Duration, Time};
use runtime::{Flow, PortId, Transport};
use secagree::{Mode, Preference};
use sim::{Link, LinkSpec};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

pub const CLEAR: PortId = PortId(10);
pub const PROTECTED: PortId = PortId(11);
pub const CLIENT: PortId = PortId(12);
pub const TLS: PortId = PortId(13);
pub const INSIDE: PortId = PortId(14);
pub const RAW: PortId = PortId(20);
pub const IN_UDP: PortId = PortId(21);
pub const PCSCF: [u8; 4] = [192, 0, 2, 1];

pub fn section() -> Ipsec {
    Ipsec { sets_max: 1_000, ..Ipsec::default() }
}

pub fn settings(section: Ipsec) -> Settings {
    let ip = IpAddr::from(PCSCF);
    let listener = |port, is_protected, is_known| {
        let is_tls = port == TLS;
        let is_inside = port == INSIDE;
        Listener { port, ip, is_protected, is_tls, is_inside, is_known }
    };
    let address = ipsec::Address { ip, raw: RAW, bypass: false, in_udp: Some((IN_UDP, 4_500)) };
    Settings {
        realms: vec![Realm {
            name: "access".to_owned(),
            section,
            listeners: vec![
                listener(CLEAR, false, true),
                listener(TLS, false, true),
                listener(PROTECTED, true, true),
                listener(INSIDE, true, true),
                listener(CLIENT, true, false),
            ],
            addresses: vec![address],
        }],
    }
}

/// The P-CSCF: IMS access, and instead of a function one that passes all on as it is.
pub struct Pcscf {
    pub access: Access,
    pub home: Home,
    /// Where the answer to each REGISTER goes.
    came_by: BTreeMap<(Vec<u8>, u32), Flow>,
    /// What the function passed on to the core, other than REGISTER.
    pub passed: Vec<(Flow, Vec<u8>)>,
    /// What the core was told: each REGISTER as it went on.
    pub told: Vec<Vec<u8>>,
    /// Whether the core answers nothing.
    pub is_core_silent: bool,
    /// Answers that it gave itself.
    pub refused: Vec<Vec<u8>>,
}

impl Pcscf {
    pub fn new(section: Ipsec, home: Home, seed: u64) -> Self {
        let access = Access::new(&settings(section), 0, [seed as u8; 32], Time::ZERO);
        let (passed, told, refused) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            access,
            home,
            came_by: BTreeMap::new(),
            passed,
            told,
            is_core_silent: false,
            refused,
        }
    }

    /// A packet from the network.
    pub fn receive(&mut self, now: Time, packet: &Packet, out: &mut Vec<Packet>) {
        let port = match (packet.carrier, packet.to.port()) {
            (Carrier::Esp, _) => RAW,
            (Carrier::InUdp, _) => IN_UDP,
            (Carrier::Clear, 5_062) => PROTECTED,
            (Carrier::Clear, 5_064) => CLIENT,
            (Carrier::Clear, _) => CLEAR,
        };
        let flow = Flow::to(port, Transport::Udp, packet.to, packet.from);
        match self.access.packet(now, &flow, &packet.bytes) {
            ims::Packet::Dropped => {}
            ims::Packet::Foreign => self.message(now, flow, &packet.bytes.clone(), out),
            ims::Packet::Message(flow) => {
                let mut next = Some(flow);
                while let Some(flow) = next {
                    let text = self.access.text();
                    self.message(now, flow, &text, out);
                    self.access.reuse(text);
                    next = self.access.next_inside(now);
                }
            }
        }
        self.leave(now, out);
    }

    /// What connections of TCP have to say leaves.
    pub fn leave(&mut self, now: Time, out: &mut Vec<Packet>) {
        self.access.leave_inside(now, |flow, bytes| {
            let carrier = if flow.port == RAW { Carrier::Esp } else { Carrier::InUdp };
            let bytes = bytes.to_vec();
            out.push(Packet { carrier, from: flow.local, to: flow.remote, bytes });
        });
    }

    fn message(&mut self, now: Time, flow: Flow, bytes: &[u8], out: &mut Vec<Packet>) {
        let Ok(message) = sip::Message::parse(bytes) else { return };
        let mut text = Vec::new();
        let verdict = self.access.request(now, &flow, &message, &mut text);
        let bytes = match verdict {
            Verdict::Passes => bytes,
            Verdict::Changed => &text,
            Verdict::Dropped => return,
            Verdict::Refused => {
                self.refused.push(text.clone());
                let to = answered_at(&flow, &message);
                return self.send(now, to, &text, out);
            }
        };
        for word in [&b"sec-agree"[..], b"Security-"] {
            let inner = String::from_utf8_lossy(bytes).replace("path, sec-agree", "path");
            assert!(
                !inner.as_bytes().windows(word.len()).any(|it| it == word),
                "the agreement ends here: {inner}"
            );
        }
        let message = sip::Message::parse(bytes).expect("what goes on can be read");
        if message.method() != sip::Method::Register || !message.is_request() {
            return self.passed.push((flow, bytes.to_vec()));
        }
        self.told.push(bytes.to_vec());
        let name = (message.call_id().to_vec(), message.cseq().number);
        self.came_by.insert(name, answered_at(&flow, &message));
        if self.is_core_silent {
            return;
        }
        if let Some(answer) = self.home.receive(now, flow.remote, bytes) {
            self.answer(now, &answer, out);
        }
    }

    /// An answer of the core.
    pub fn answer(&mut self, now: Time, answer: &[u8], out: &mut Vec<Packet>) {
        let mut text = Vec::new();
        let answer = match self.access.unkeyed(now, answer, true, &mut text) {
            Verdict::Changed => &text,
            Verdict::Dropped => return,
            _ => answer,
        };
        let Ok(message) = sip::Message::parse(answer) else { return };
        for value in message.lines_of(sip::Header::WwwAuthenticate) {
            let challenge = aka::digest::Challenge::read(value.value).expect("a challenge");
            assert!(challenge.keys.is_none(), "keys stay here");
        }
        let name = (message.call_id().to_vec(), message.cseq().number);
        if let Some(flow) = self.came_by.get(&name).copied() {
            self.send(now, flow, answer, out);
        }
    }

    /// The function sends.
    pub fn send(&mut self, now: Time, flow: Flow, bytes: &[u8], out: &mut Vec<Packet>) {
        let mut text = Vec::new();
        let (flow, bytes) = match self.access.leaving(now, &flow, bytes, &mut text) {
            Leaving::Stays => (flow, bytes.to_vec()),
            Leaving::Instead(flow) => (flow, text),
            Leaving::Inside => return self.leave(now, out),
            Leaving::Dropped => return,
        };
        let carrier = match flow.port {
            RAW => Carrier::Esp,
            IN_UDP => Carrier::InUdp,
            _ => Carrier::Clear,
        };
        out.push(Packet { carrier, from: flow.local, to: flow.remote, bytes });
    }
}

fn answered_at(flow: &Flow, message: &sip::Message<'_>) -> Flow {
    let via = message.via();
    if via.rport.is_some() {
        return *flow;
    }
    Flow { remote: SocketAddr::new(flow.remote.ip(), via.port.unwrap_or(5_060)), ..*flow }
}

impl Drop for World {
    fn drop(&mut self) {
        crate::metrics::note(self);
    }
}

/// A phone and where the network sees it.
pub struct Phone {
    pub handset: Handset,
    /// The address of its NAT, if it has one, and by how much that shifts ports.
    pub nat: Option<(IpAddr, u16)>,
    pub events: Vec<Event>,
}

impl Phone {
    pub fn new(number: u64, nat: Option<(IpAddr, u16)>, pairs: Preference) -> Self {
        let last = if nat.is_some() { 5 } else { number as u8 + 10 };
        let mode = if nat.is_some() { Mode::UdpTunnel } else { Mode::Transport };
        let handset = Handset::new(Config {
            subscriber: Subscriber::number(number),
            address: IpAddr::from([10, 0, 0, last]),
            clear_port: 5_060,
            server_port: 6_100,
            client_port: 6_200,
            pcscf: SocketAddr::from((PCSCF, 5_060)),
            preference: Preference { modes: vec![mode], ..pairs },
            expires_s: 600,
            seed: number + 77,
            number: 0,
        });
        Self { handset, nat, events: Vec::new() }
    }

    pub fn outside(&self, mut packet: Packet) -> Packet {
        if let Some((address, shift)) = self.nat {
            packet.from = SocketAddr::new(address, packet.from.port().wrapping_add(shift));
        }
        packet
    }

    /// Whether a packet that leaves the P-CSCF for `to` reaches it, and as what.
    pub fn inside(&self, packet: &Packet) -> Option<Packet> {
        let own = self.handset.config().address;
        let to = match self.nat {
            None => packet.to,
            Some((address, shift)) if packet.to.ip() == address => {
                SocketAddr::new(own, packet.to.port().wrapping_sub(shift))
            }
            Some(_) => return None,
        };
        let port = match packet.carrier {
            Carrier::Clear => 5_060,
            Carrier::Esp => 0,
            Carrier::InUdp => 4_500,
        };
        (to.ip() == own && to.port() == port).then(|| Packet { to, ..packet.clone() })
    }
}

/// Everything.
pub struct World {
    pub now: Time,
    pub phones: Vec<Phone>,
    pub pcscf: Pcscf,
    /// Packets to the P-CSCF under 0, to the others under 1.
    link: Link<u8>,
    /// What flies, by number; the link carries the number.
    flying: Vec<Packet>,
    /// Everything that ever was on the air.
    pub air: Vec<Packet>,
}

impl World {
    pub fn new(seed: u64, phones: Vec<Phone>, section: Ipsec, spec: LinkSpec) -> Self {
        let subscribers = phones.iter().map(|it| it.handset.config().subscriber.clone());
        let home = Home::new(subscribers, seed);
        let pcscf = Pcscf::new(section, home, seed);
        let link = Link::new(seed, spec);
        Self { now: Time::ZERO, phones, pcscf, link, flying: Vec::new(), air: Vec::new() }
    }

    /// A phone does something.
    pub fn act(&mut self, phone: usize, act: impl FnOnce(&mut Handset, Time, &mut Vec<Packet>)) {
        let mut out = Vec::new();
        act(&mut self.phones[phone].handset, self.now, &mut out);
        let sent: Vec<_> = out.into_iter().map(|it| self.phones[phone].outside(it)).collect();
        sent.into_iter().for_each(|packet| self.fly(packet));
    }

    pub fn fly(&mut self, packet: Packet) {
        let to = u8::from(packet.to.ip() != IpAddr::from(PCSCF));
        let number = (self.flying.len() as u32).to_be_bytes();
        self.air.push(packet.clone());
        self.flying.push(packet);
        self.link.send(self.now, &number, to);
    }

    /// Lets time pass.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        for _ in 0..1_000_000 {
            let phones = self.phones.iter().filter_map(|it| it.handset.deadline());
            let deadlines = phones.chain(self.link.deadline()).chain(self.pcscf.access.deadline());
            let next = deadlines.min().unwrap_or(Time::MAX).max(self.now);
            if next > end {
                self.now = end;
                self.pcscf.access.tick(end);
                return;
            }
            self.now = next;
            self.turn();
        }
        panic!("the world does not come to rest");
    }

    fn turn(&mut self) {
        let mut out = Vec::new();
        while let Some((to, number)) = self.link.deliver(self.now) {
            let number = u32::from_be_bytes(number.try_into().unwrap()) as usize;
            let packet = self.flying[number].clone();
            if to == 0 {
                self.pcscf.receive(self.now, &packet, &mut out);
                continue;
            }
            for phone in &mut self.phones {
                let Some(packet) = phone.inside(&packet) else { continue };
                let mut sent = Vec::new();
                phone.handset.receive(self.now, &packet, &mut sent);
                phone.events.extend(core::iter::from_fn(|| phone.handset.event()));
                out.extend(sent.into_iter().map(|it| phone.outside(it)));
            }
        }
        for phone in &mut self.phones {
            let mut sent = Vec::new();
            phone.handset.tick(self.now, &mut sent);
            phone.events.extend(core::iter::from_fn(|| phone.handset.event()));
            out.extend(sent.into_iter().map(|it| phone.outside(it)));
        }
        self.pcscf.access.tick(self.now);
        self.pcscf.leave(self.now, &mut out);
        out.into_iter().for_each(|packet| self.fly(packet));
    }

    /// What the P-CSCF has of a phone, those that are over or under way left out.
    pub fn current(&self, phone: usize) -> Vec<ims::IpsecRow> {
        let impi = &self.phones[phone].handset.config().subscriber.impi;
        let rows = self.pcscf.access.show(Some(impi), 100);
        rows.into_iter().filter(|row| row.state == "current").collect()
    }

    /// What trails were told since this was asked last: Call-ID and event.
    pub fn told(&mut self) -> Vec<(String, serde_json::Value)> {
        let collector = SocketAddr::from(([127, 0, 0, 1], 9_060));
        let flow = Flow::to(PortId(99), Transport::Udp, collector, collector);
        let settings = trail::Settings {
            flow: Some(flow),
            octets_max: 1_000_000,
            ..trail::Settings::default()
        };
        let mut capture = trail::Capture::new(hep::KIND_SIP, PortId(99), settings);
        self.pcscf.access.tell(self.now, &mut capture);
        let mut out = runtime::Effects::default();
        capture.flush_all(&mut out);
        let read = |(_, bytes): (Flow, &[u8])| {
            let packet = hep::Packet::parse(bytes).expect("a packet");
            let event = serde_json::from_slice(packet.payload).expect("an event");
            (String::from_utf8_lossy(packet.correlation).into_owned(), event)
        };
        out.sends().map(read).collect()
    }

    /// The flow by which the function knows a phone.
    pub fn flow(&self, phone: usize) -> Flow {
        let remote = self.current(phone).pop().expect("it is registered").ue.parse().unwrap();
        Flow::to(PROTECTED, Transport::Udp, SocketAddr::from((PCSCF, 5_062)), remote)
    }
}
