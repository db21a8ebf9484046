//! A node of SCCP of ours over an M3UA process of ours.

use super::asp::{Asp, pc};
use crate::node::LIMIT;
use bytes::Bytes;
use m3ua::{Key, PeerSettings, Role, ServerSettings, Side};
use machine::Machine;
use sccp::codec::{Address, Class, ConnectionClass, LocalReference};
use sccp::{
    Connect, ConnectionEvent, ConnectionInput, ConnectionParameters, In, Indication, Node, Out,
    Parameters, Rules, Settings, Unitdata,
};
use std::time::{Duration, Instant};

/// The subsystem of all nodes here: BSSAP (TS 23.003 §8.2).
pub const BSSAP: u8 = 254;

/// A node with a subsystem that takes connections.
pub struct Sccp {
    pub asp: Asp,
    pub node: Node,
    pub point_code: u32,
    pub heard: Vec<Indication>,
    seen: usize,
}

impl Sccp {
    /// One that registers its routing key; it is told of the node `concerned`.
    pub fn new(point_code: u32, concerned: u32) -> Self {
        let mut server = ServerSettings::new(Side::Here, None, Key::of(pc(point_code)));
        server.registers = true;
        let asp = Asp::new(false, PeerSettings::new(Role::Asp), server);
        let connections =
            ConnectionParameters { guard: Duration::ZERO, ..ConnectionParameters::q714() };
        let settings = Settings {
            network: None,
            point_code: pc(point_code),
            aliases: Vec::new(),
            network_indicator: 2,
            concerned: vec![pc(concerned)],
            parameters: Parameters { connections, ..Parameters::q714() },
        };
        let node = Node::new(settings, Rules::default());
        let mut it = Self { asp, node, point_code, heard: Vec::new(), seen: 0 };
        it.step(In::State(BSSAP, true));
        it.step(In::Connection(ConnectionInput::Serve(BSSAP, true)));
        it
    }

    pub fn step(&mut self, input: In) {
        let mut out = Vec::new();
        self.node.step(self.asp.node.now(), input, &mut out);
        self.take(out);
    }

    fn take(&mut self, out: Vec<Out>) {
        for effect in out {
            match effect {
                Out::Transfer(msu) => self.asp.step(m3ua::In::Transfer(msu)),
                Out::Indicate(it) => self.heard.push(it),
            }
        }
    }

    pub fn turn(&mut self) -> bool {
        let has_arrived = self.asp.turn();
        let told = self.asp.told.get(self.seen..).unwrap_or_default().to_vec();
        self.seen += told.len();
        for it in told {
            match it {
                m3ua::Indication::Transfer(peer, _, _, msu) => {
                    self.step(In::TransferBy(peer, msu));
                }
                m3ua::Indication::Pause(_, affected) => self.step(In::Pause(affected)),
                m3ua::Indication::Resume(_, affected) => self.step(In::Resume(affected)),
                m3ua::Indication::Status(_, affected, cause, _) => {
                    self.step(In::Status(affected, cause));
                }
                _ => {}
            }
        }
        let mut out = Vec::new();
        self.node.tick(self.asp.node.now(), &mut out);
        self.take(out);
        has_arrived
    }

    /// N-UNITDATA request for the subsystem of another node, with the wish to have it back.
    pub fn unitdata(&mut self, to: u32, subsystem: u8, data: &[u8]) {
        self.step(In::Unitdata(Unitdata {
            called: Address::subsystem(Some(pc(to)), subsystem),
            calling: Address::subsystem(Some(pc(self.point_code)), BSSAP),
            class: Class { is_sequenced: false, returns: true },
            sls: 0,
            importance: None,
            data: Bytes::copy_from_slice(data),
        }));
    }

    /// N-CONNECT request.
    pub fn connect(&mut self, to: u32, class: ConnectionClass, data: &[u8]) {
        self.step(In::Connection(ConnectionInput::Connect(Connect {
            tag: 1,
            called: Address::subsystem(Some(pc(to)), BSSAP),
            calling: Some(Address::subsystem(Some(pc(self.point_code)), BSSAP)),
            class,
            importance: None,
            data: Bytes::copy_from_slice(data),
        })));
    }

    /// Data of N-UNITDATA that came.
    pub fn unitdata_heard(&self) -> impl Iterator<Item = &[u8]> {
        self.heard.iter().filter_map(|it| match it {
            Indication::Unitdata(_, it) => Some(&it.data[..]),
            _ => None,
        })
    }

    /// What was heard of connections.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = (LocalReference, &ConnectionEvent)> {
        self.heard.iter().filter_map(|it| match it {
            Indication::Connection(of, event) => Some((*of, event)),
            _ => None,
        })
    }

    /// Data that came by connections.
    pub fn data(&self) -> impl Iterator<Item = &[u8]> {
        self.events().filter_map(|(_, it)| match it {
            ConnectionEvent::Data(data) => Some(&data[..]),
            _ => None,
        })
    }
}

/// Lets time pass for all of them until `ready`.
#[track_caller]
pub fn run(nodes: &mut [&mut Sccp], what: &str, mut ready: impl FnMut(&mut [&mut Sccp]) -> bool) {
    let until = Instant::now() + LIMIT;
    while !ready(nodes) {
        let heard: Vec<_> = nodes.iter().map(|it| &it.heard).collect();
        assert!(Instant::now() < until, "{what}: {heard:?}");
        let mut has_arrived = false;
        for node in nodes.iter_mut() {
            has_arrived |= node.turn();
        }
        if !has_arrived {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}
