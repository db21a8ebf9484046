//! Four hosts greet a server that has two addresses: INITs with any parameters (addresses of the
//! other hosts among them), cookies that come back from another host or changed, chunks with the
//! right tag or with none, time between. Nothing panics, associations stay within their number, and
//! until an association stands what answers a packet goes to where it came from.

use crate::script::Script;
use bytes::Bytes;
use machine::{Duration, Time};
use sctp::codec::{Chunk, Header, Init, Packet as Octets, Parameters as List, seal};
use sctp::{Endpoint, In, Out, Packet, Parameters, Settings};
use std::net::IpAddr;

const PORT: u16 = 2_905;
const HOSTS: usize = 4;
const ASSOCIATIONS_MAX: usize = 3;

#[derive(Default)]
struct Host {
    /// Tag of packets to the server.
    tag: u32,
    /// The cookie that came last.
    cookie: Vec<u8>,
}

struct World {
    server: Endpoint,
    hosts: [Host; HOSTS],
    now: Time,
}

fn address(host: usize) -> IpAddr {
    [10, 0, 0, u8::try_from(host + 1).unwrap_or(1)].into()
}

impl World {
    fn new() -> Self {
        let settings = Settings {
            port: PORT,
            addresses: vec![[10, 0, 1, 1].into(), [10, 0, 1, 2].into()],
            listens: true,
            associations_max: ASSOCIATIONS_MAX,
            parameters: Parameters::telecom(2),
        };
        let server = Endpoint::new(settings, [7; 32]);
        Self { server, hosts: Default::default(), now: Time::from_millis(1) }
    }

    /// Host `from` sends these chunks; what answers is looked at.
    fn send(&mut self, from: usize, tag: u32, chunks: &[u8]) {
        let mut bytes = Vec::new();
        let source_port = 5_000;
        Header { source_port, destination_port: PORT, verification_tag: tag }.write(&mut bytes);
        bytes.extend_from_slice(chunks);
        seal(&mut bytes);
        self.packet(from, bytes);
    }

    fn packet(&mut self, from: usize, bytes: Vec<u8>) {
        let source = (address(from), 0).into();
        let packet = Packet { source, destination: [10, 0, 1, 1].into(), bytes: bytes.into() };
        let is_stranger = self.server.associations().next().is_none();
        let mut out = Vec::new();
        self.server.step(self.now, In::Packet(packet), &mut out);
        let stands = self.server.associations().next().is_some();
        for effect in out {
            let Out::Transmit(sent) = effect else { continue };
            if is_stranger && !stands {
                assert_eq!(sent.destination.ip(), address(from), "an answer to another host");
            }
            self.learn(sent.destination.ip(), &sent.bytes);
        }
        assert!(self.server.associations().count() <= ASSOCIATIONS_MAX);
    }

    /// The host that a packet goes to reads it.
    fn learn(&mut self, to: IpAddr, bytes: &[u8]) {
        let Some(host) = (0..HOSTS).find(|&host| address(host) == to) else { return };
        let packet = Octets::read(bytes).expect("what leaves is well-formed");
        for chunk in packet.chunks() {
            let chunk = chunk.expect("what leaves is well-formed");
            let Ok(Chunk::InitAck(ack)) = Chunk::read(&chunk) else { continue };
            self.hosts[host].tag = ack.initiate_tag;
            for parameter in ack.parameters.iter() {
                if let Ok(sctp::codec::Parameter::StateCookie(cookie)) = parameter {
                    self.hosts[host].cookie = cookie.to_vec();
                }
            }
        }
    }

    fn init(&mut self, host: usize, script: &mut Script<'_>) {
        let mut parameters = Vec::new();
        for _ in 0..script.octet() % 4 {
            let other = address(usize::from(script.octet()) % HOSTS);
            sctp::codec::Parameter::Address(other).write(&mut parameters);
        }
        parameters.extend_from_slice(script.piece());
        let init = Init {
            initiate_tag: u32::from(script.octet()),
            a_rwnd: 1_500 * u32::from(script.octet()),
            outbound_streams: u16::from(script.octet()),
            inbound_streams: u16::from(script.octet()),
            initial_tsn: u32::from(script.octet()),
            parameters: List::new(&parameters),
        };
        let mut chunks = Vec::new();
        Chunk::Init(init).write(&mut chunks);
        self.send(host, 0, &chunks);
    }

    fn echo(&mut self, host: usize, script: &mut Script<'_>) {
        let mut cookie = self.hosts[usize::from(script.octet()) % HOSTS].cookie.clone();
        for _ in 0..script.octet() % 3 {
            let (at, octet) = (script.number(), script.octet());
            let length = cookie.len().max(1);
            if let Some(place) = cookie.get_mut(at % length) {
                *place ^= octet;
            }
        }
        let mut chunks = Vec::new();
        Chunk::CookieEcho(&cookie).write(&mut chunks);
        chunks.extend_from_slice(script.piece());
        let tag = self.hosts[host].tag;
        self.send(host, tag, &chunks);
    }

    fn wait(&mut self, octet: u8) {
        self.now += Duration::from_millis(40 * u64::from(octet));
        let mut out = Vec::new();
        self.server.tick(self.now, &mut out);
        assert!(self.server.deadline().is_none_or(|at| at > self.now), "the deadline advances");
        for effect in out {
            if let Out::Transmit(sent) = effect {
                self.learn(sent.destination.ip(), &sent.bytes);
            }
        }
    }
}

pub fn run(input: &[u8]) {
    let (mut world, mut script) = (World::new(), Script::new(input));
    while !script.is_over() {
        let (what, host) = (script.octet(), usize::from(script.octet()) % HOSTS);
        match what % 6 {
            0 => world.init(host, &mut script),
            1 => world.echo(host, &mut script),
            2 => world.send(host, world.hosts[host].tag, script.piece()),
            3 => world.send(host, 0, script.piece()),
            4 => world.packet(host, script.piece().to_vec()),
            _ => world.wait(script.octet()),
        }
        let first = world.server.associations().next();
        if let (Some(id), true) = (first, what & 64 != 0) {
            let end = In::Abort(id, Bytes::new());
            world.server.step(world.now, end, &mut Vec::new());
        }
    }
}
