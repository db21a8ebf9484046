//! Thousands of phones in one process: a few addresses, one endpoint of ESP for all of them.
//!
//! ```text
//!  phone 0, 4, 8 … ─┐
//!  phone 1, 5, 9 … ─┼─ Endpoint: the index of a packet names set and phone ─ station: clear, raw
//!  phone 2, 6 …    ─┘                                                        port of each address
//! ```
//! A phone is told from others at its address by its protected server port and its indices, and in
//! the clear by its number, with which its branches begin.

use crate::phone::{Phone, Ports, Turn, is_answer_to_register};
use crate::text::Draw;
use crate::{Carrier, Config, Event, Packet, State, Subscriber};
use ipsec::{Address, Endpoint, Settings};
use machine::{Time, Wheel};
use memchr::memmem;
use runtime::{Effects, Flow, PortId, Transport};
use secagree::Preference;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

/// The first protected server port; each further phone at the same address has the next one.
const SERVER_PORT: u16 = 10_000;
/// Phones at one address.
const PHONES_OF_ADDRESS: usize = 55_000;
/// The first protected client port, below those of servers however often a phone registers.
const CLIENT_PORT: u16 = 2_000;
/// Sets of a phone that may stand in the fleet's table: now, before, under way.
const SETS_OF_PHONE: u32 = 4;
/// What a branch begins with (RFC 3261 §8.1.1.7), before the digits of the phone's number.
const COOKIE: &[u8] = b"branch=z9hG4bK";
const DIGITS: usize = 8;

/// An address of phones, and its ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Station {
    /// The address, with the port in the clear.
    pub clear: SocketAddr,
    /// The port of datagrams in the clear.
    pub clear_port: PortId,
    /// The raw port of ESP (IP protocol 50).
    pub raw: PortId,
}

/// What a fleet is made of.
#[derive(Debug, Clone)]
pub struct FleetConfig {
    /// Its addresses; phones have them in turn.
    pub stations: Vec<Station>,
    /// How many phones; of one address 55,000 at most.
    pub phones: u32,
    /// The number of the first one's subscription ([`Subscriber::number`]).
    pub first: u64,
    /// The P-CSCF.
    pub pcscf: SocketAddr,
    /// What they can, the best first.
    pub preference: Preference,
    /// Seconds of registration that they ask for.
    pub expires_s: u32,
    /// What their random numbers begin with.
    pub seed: u64,
}

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Came {
    /// Nothing, or the answer to a REGISTER.
    Nothing,
    /// A message for this phone, in [`Fleet::octets`].
    Message(u32, Range<usize>),
}

/// Phones by number.
#[derive(Debug)]
pub struct Fleet {
    config: FleetConfig,
    phones: Vec<Phone>,
    esp: Endpoint,
    wheel: Wheel<u32>,
    due: Vec<u32>,
    /// What phones want sent, until it has left.
    packets: Vec<Packet>,
    text: Vec<u8>,
    /// Phones that something has happened to.
    eventful: Vec<u32>,
}

impl Fleet {
    /// Phones that are off.
    #[must_use]
    pub fn new(config: FleetConfig, now: Time) -> Self {
        let mut draw = Draw::new(config.seed);
        let address = |it: &Station| Address {
            ip: it.clear.ip(),
            raw: it.raw,
            bypass: false, // who opens the ports says what carries them
            in_udp: None,
        };
        let addresses = config.stations.iter().map(address).collect();
        let most = config.stations.len().saturating_mul(PHONES_OF_ADDRESS);
        let count = config.phones.min(u32::try_from(most).unwrap_or(u32::MAX));
        let sets_max = count.saturating_mul(SETS_OF_PHONE).min(ipsec::SETS_MAX);
        let settings = Settings { addresses, sets_max };
        let esp = Endpoint::new(settings, 0, draw.number(), now);
        let phones = (0..count).filter_map(|number| phone(&config, number)).collect();
        Self {
            config,
            phones,
            esp,
            wheel: Wheel::new(now),
            due: Vec::new(),
            packets: Vec::new(),
            text: Vec::new(),
            eventful: Vec::new(),
        }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.phones.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.phones.is_empty()
    }

    /// How far a phone is.
    #[must_use]
    pub fn state(&self, number: u32) -> Option<State> {
        self.phones.get(number as usize).map(Phone::state)
    }

    /// Its address and server port, by which the network knows it.
    #[must_use]
    pub fn contact(&self, number: u32) -> Option<SocketAddr> {
        self.phones.get(number as usize).map(Phone::contact)
    }

    /// The phone with that address and server port.
    #[must_use]
    pub fn at(&self, contact: SocketAddr) -> Option<u32> {
        let stations = &self.config.stations;
        let station = stations.iter().position(|it| it.clear.ip() == contact.ip())?;
        let row = usize::from(contact.port().checked_sub(SERVER_PORT)?);
        u32::try_from(row * stations.len() + station).ok()
    }

    /// Whether packets of phones come to that port.
    #[must_use]
    pub fn owns(&self, port: PortId) -> bool {
        self.config.stations.iter().any(|it| it.raw == port || it.clear_port == port)
    }

    /// Packets of ESP that came with a number that had come before, or was left of the window.
    #[must_use]
    pub fn replayed(&self) -> u64 {
        self.esp.count(ipsec::Metric::Replayed)
    }

    /// A phone registers, or registers again.
    pub fn register(&mut self, now: Time, number: u32, out: &mut Effects) {
        self.act(now, number, out, |phone, turn| phone.register(turn));
    }

    /// A phone is switched off and on, and registers in the clear.
    pub fn attach(&mut self, now: Time, number: u32, out: &mut Effects) {
        self.act(now, number, out, |phone, turn| {
            phone.restart(turn.esp);
            phone.register(turn);
        });
    }

    /// A phone de-registers.
    pub fn deregister(&mut self, now: Time, number: u32, out: &mut Effects) {
        self.act(now, number, out, |phone, turn| phone.deregister(turn));
    }

    /// Takes a datagram or a packet that came to a port of the fleet.
    pub fn receive(&mut self, now: Time, flow: &Flow, bytes: &[u8], out: &mut Effects) -> Came {
        let is_raw = self.config.stations.iter().any(|it| it.raw == flow.port);
        if !is_raw {
            if let Some(number) = number_of(bytes) {
                self.act(now, number, out, |phone, turn| phone.answered(None, bytes, turn));
            }
            return Came::Nothing;
        }
        let Some(arrived) = self.esp.unprotect(now, flow, bytes) else { return Came::Nothing };
        let payload = &self.esp.octets()[arrived.payload.clone()];
        if !is_answer_to_register(payload) {
            return Came::Message(arrived.owner, arrived.payload);
        }
        let payload = payload.to_vec();
        self.act(now, arrived.owner, out, |phone, turn| {
            phone.answered(Some(arrived.set), &payload, turn);
        });
        Came::Nothing
    }

    /// Where [`Came::Message`] stands, until the next packet.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        self.esp.octets()
    }

    /// Writes a message of a phone as its agreement protects it, and where that goes; requests get
    /// what they must say (RFC 3329 §2.3.1). `None`: it has no agreement.
    pub fn write(&mut self, number: u32, bytes: &[u8], packet: &mut Vec<u8>) -> Option<Flow> {
        let phone = self.phones.get(number as usize)?;
        phone.write(bytes, &mut self.text, &mut self.esp, packet)
    }

    /// Lets time pass.
    pub fn tick(&mut self, now: Time, out: &mut Effects) {
        let mut due = core::mem::take(&mut self.due);
        self.wheel.expire(now, &mut due);
        for number in due.drain(..) {
            self.act(now, number, out, |phone, turn| phone.tick(turn));
        }
        self.due = due;
    }

    /// When [`Fleet::tick`] wants to be called.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.wheel.deadline()
    }

    /// What happened to a phone, until nothing has.
    pub fn event(&mut self) -> Option<(u32, Event)> {
        while let Some(number) = self.eventful.pop() {
            let event = self.phones.get_mut(number as usize).and_then(Phone::event);
            if let Some(event) = event {
                self.eventful.push(number);
                return Some((number, event));
            }
        }
        None
    }

    /// A turn of one phone: what it wants sent leaves, and its timer is set anew.
    fn act(
        &mut self,
        now: Time,
        number: u32,
        out: &mut Effects,
        what: impl FnOnce(&mut Phone, &mut Turn<'_>),
    ) {
        let Some(phone) = self.phones.get_mut(number as usize) else { return };
        let before = phone.deadline();
        what(phone, &mut Turn { now, esp: &mut self.esp, streams: None, out: &mut self.packets });
        let after = phone.deadline();
        self.eventful.push(number);
        if let Some(at) = after.filter(|_| before != after) {
            self.wheel.arm(at, number);
        }
        for packet in self.packets.drain(..) {
            let Some(flow) = self.config.flow(&packet) else { continue };
            let write = |to: &mut Vec<u8>| to.extend(&packet.bytes);
            match packet.carrier {
                // A REGISTER under ESP is longer than Ethernet takes (RFC 4303 §3.3.4).
                Carrier::Esp => out.send_in_parts(flow, write),
                _ => out.send(flow, write),
            }
        }
    }
}

impl FleetConfig {
    fn flow(&self, packet: &Packet) -> Option<Flow> {
        let station = self.stations.iter().find(|it| it.clear.ip() == packet.from.ip())?;
        let port = match packet.carrier {
            Carrier::Clear => station.clear_port,
            Carrier::Esp => station.raw,
            Carrier::InUdp => return None,
        };
        Some(Flow::to(port, Transport::Udp, packet.from, packet.to))
    }
}

/// The phone of that number; `None`: there is no port for it.
fn phone(config: &FleetConfig, number: u32) -> Option<Phone> {
    let stations = &config.stations;
    let station = stations.get(number as usize % stations.len().max(1))?;
    let row = u16::try_from(number as usize / stations.len()).ok()?;
    let seed = config.seed ^ u64::from(number).rotate_left(32);
    let own = Config {
        subscriber: Subscriber::number(config.first + u64::from(number)),
        address: IpAddr::to_canonical(&station.clear.ip()),
        clear_port: station.clear.port(),
        server_port: SERVER_PORT.checked_add(row)?,
        client_port: CLIENT_PORT,
        pcscf: config.pcscf,
        preference: config.preference.clone(),
        expires_s: config.expires_s,
        seed,
        number,
    };
    // Nothing of a fleet is sent in UDP.
    let ports = Ports { raw: station.raw, in_udp: station.clear_port };
    Some(Phone::new(own, ports, Draw::new(seed)))
}

/// The phone that an answer in the clear is for.
fn number_of(bytes: &[u8]) -> Option<u32> {
    let at = memmem::find(bytes, COOKIE)? + COOKIE.len();
    let digits = core::str::from_utf8(bytes.get(at..at + DIGITS)?).ok()?;
    u32::from_str_radix(digits, 16).ok()
}
