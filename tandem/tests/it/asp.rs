//! An ASP over TCP, as a real peer of a gateway.

use bytes::Bytes;
use m3ua::codec::{Framing, PointCode, RoutingContext};
use m3ua::{Indication, Key, Out, Parameters, PeerSettings, Process, Role, ServerSettings};
use m3ua::{Settings, Side, Transfer};
use machine::{Machine, Time};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);

/// An ASP over TCP that keeps every message it sends and gets.
pub struct Asp {
    process: Process,
    stream: TcpStream,
    buffer: Vec<u8>,
    pub messages: Vec<Vec<u8>>,
    pub came: Vec<Transfer>,
    peer: m3ua::PeerId,
}

pub fn point_code(number: u32) -> PointCode {
    PointCode::new(number).unwrap()
}

impl Asp {
    pub fn connect(port: u16) -> Self {
        let settings = Settings { peers_max: 1, servers_max: 1, parameters: Parameters::rfc4666() };
        let mut process = Process::new(settings).unwrap();
        let peer = process.add_peer(PeerSettings::new(Role::Asp)).unwrap();
        let (context, key) = (Some(RoutingContext(1)), Key::of(point_code(1)));
        let server = process.add_server(ServerSettings::new(Side::Here, context, key)).unwrap();
        process.assign(Time::ZERO, server, peer, &mut Vec::new()).unwrap();
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let (buffer, messages, came) = (Vec::new(), Vec::new(), Vec::new());
        let mut asp = Self { process, stream, buffer, messages, came, peer };
        asp.tell(m3ua::In::CommunicationUp(peer, None));
        asp.wait("ASP-ACTIVE", |asp| asp.process.is_active(peer, server));
        asp
    }

    pub fn tell(&mut self, input: m3ua::In) {
        let mut outs = Vec::new();
        self.process.step(Time::ZERO, input, &mut outs);
        for wanted in outs {
            match wanted {
                Out::Send(_, _, bytes) => {
                    self.messages.push(bytes.to_vec());
                    self.stream.write_all(&bytes).unwrap();
                }
                Out::Indicate(Indication::Transfer(.., msu)) => self.came.push(msu),
                _ => {}
            }
        }
    }

    pub fn wait(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let end = Instant::now() + LONG;
        while !holds(self) {
            assert!(Instant::now() < end, "{what} has not come: {:?}", self.messages);
            self.poll();
        }
    }

    /// Takes what comes within a tenth of a second.
    pub fn poll(&mut self) {
        let mut octets = [0; 4_096];
        let read = self.stream.read(&mut octets).unwrap_or(0);
        self.buffer.extend_from_slice(&octets[..read]);
        while let Framing::Message(length) = m3ua::codec::frame(&self.buffer) {
            let message: Vec<u8> = self.buffer.drain(..length).collect();
            self.messages.push(message.clone());
            self.tell(m3ua::In::Message(self.peer, 0, Bytes::from(message)));
        }
    }

    /// Sends `count` MSUs to the echo and waits for all of them.
    pub fn echo(&mut self, count: u8) {
        self.came.clear();
        for number in 0..count {
            let payload = Bytes::copy_from_slice(&[number; 40]);
            let (opc, dpc, sls) = (point_code(1), point_code(2), number % 4);
            let msu = Transfer { network: None, opc, dpc, si: 15, ni: 2, mp: 0, sls, payload };
            self.tell(m3ua::In::Transfer(msu));
        }
        self.wait("the echo", |asp| asp.came.len() >= usize::from(count));
        for sls in 0..4 {
            let of_flow = self.came.iter().filter(|msu| msu.sls == sls);
            let numbers: Vec<u8> = of_flow.map(|msu| msu.payload[0]).collect();
            assert!(numbers.is_sorted(), "SLS {sls}: {numbers:?}");
        }
    }
}
