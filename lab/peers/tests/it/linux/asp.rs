//! An M3UA process of ours over an SCTP endpoint of ours, towards one peer in the guest.

use super::guest::LINUX;
use crate::node::{LIMIT, Node};
use crate::peer::{Field, parameters};
use m3ua::codec::{PointCode, SCTP_PPID};
use m3ua::{
    In, Indication, Out, Parameters, PeerId, PeerSettings, Process, ServerId, ServerSettings,
    Settings, Transfer,
};
use machine::Machine;
use peers::GUEST_ADDRESSES;
use sctp::{AssociationId, Outgoing};
use std::net::IpAddr;
use std::time::{Duration, Instant};

pub struct Asp {
    pub node: Node,
    pub process: Process,
    pub peer: PeerId,
    pub server: ServerId,
    pub told: Vec<Indication>,
    id: Option<AssociationId>,
}

impl Asp {
    pub fn new(listens: bool, peer: PeerSettings, server: ServerSettings) -> Self {
        let node = Node::on(LINUX.place().wires, 1, parameters(), listens);
        let mut parameters = Parameters::rfc4666();
        parameters.t_ack = Duration::from_millis(500);
        parameters.t_refused = Duration::from_millis(500);
        let mut process =
            Process::new(Settings { peers_max: 2, servers_max: 2, parameters }).unwrap();
        let peer = process.add_peer(peer).unwrap();
        let server = process.add_server(server).unwrap();
        let mut out = Vec::new();
        process.assign(node.now(), server, peer, &mut out).unwrap();
        assert!(out.is_empty());
        Self { node, process, peer, server, told: Vec::new(), id: None }
    }

    pub fn associate(&mut self, port: u16) {
        let to = [(IpAddr::from(GUEST_ADDRESSES[0]), 0).into()];
        self.id = Some(self.node.associate_with(&to, port));
    }

    pub fn step(&mut self, input: In) {
        let mut out = Vec::new();
        self.process.step(self.node.now(), input, &mut out);
        self.take(out);
    }

    fn take(&mut self, out: Vec<Out>) {
        for effect in out {
            match effect {
                Out::Send(_, stream, bytes) => {
                    let outgoing = Outgoing::new(stream, SCTP_PPID, bytes);
                    self.node.send(self.id.unwrap(), &outgoing);
                }
                Out::Abort(_) => {
                    let abort = sctp::In::Abort(self.id.unwrap(), bytes::Bytes::new());
                    self.node.step(abort);
                }
                Out::Indicate(what) => self.told.push(what),
            }
        }
    }

    pub fn turn(&mut self) -> bool {
        let has_arrived = self.node.turn();
        for (id, what) in std::mem::take(&mut self.node.told) {
            self.id = Some(id);
            match what {
                sctp::Indication::CommunicationUp(outbound, _) => {
                    self.step(In::CommunicationUp(self.peer, Some(outbound)));
                }
                sctp::Indication::CommunicationLost(_) | sctp::Indication::ShutdownComplete => {
                    self.step(In::CommunicationLost(self.peer));
                }
                sctp::Indication::Data(message) => {
                    assert_eq!(message.ppid, SCTP_PPID);
                    self.step(In::Message(self.peer, message.stream, message.payload));
                }
                _ => {}
            }
        }
        let mut out = Vec::new();
        self.process.tick(self.node.now(), &mut out);
        self.take(out);
        has_arrived
    }

    /// The association ends without a word to the peer's M3UA.
    pub fn lose(&mut self) {
        let abort = sctp::In::Abort(self.id.unwrap(), bytes::Bytes::new());
        self.node.step(abort);
    }

    pub fn is_active(&self) -> bool {
        self.process.is_active(self.peer, self.server)
    }

    pub fn was_told(&self, what: &Indication) -> bool {
        self.told.contains(what)
    }

    /// MSUs that came.
    pub fn came(&self) -> impl Iterator<Item = &Transfer> {
        self.told.iter().filter_map(|it| match it {
            Indication::Transfer(.., transfer) => Some(transfer),
            _ => None,
        })
    }
}

/// Lets time pass for all of them until `ready`.
#[track_caller]
pub fn run(asps: &mut [&mut Asp], what: &str, mut ready: impl FnMut(&[&mut Asp]) -> bool) {
    let until = Instant::now() + LIMIT;
    while !ready(asps) {
        let told: Vec<_> = asps.iter().map(|it| &it.told).collect();
        assert!(Instant::now() < until, "{what}: {told:?}");
        let mut has_arrived = false;
        for asp in asps.iter_mut() {
            has_arrived |= asp.turn();
        }
        if !has_arrived {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

pub fn pc(number: u32) -> PointCode {
    PointCode::new(number).unwrap()
}

/// An MSU of SCCP.
pub fn msu(from: u32, to: u32, sls: u8, payload: &'static str) -> Transfer {
    Transfer {
        network: None,
        opc: pc(from),
        dpc: pc(to),
        si: 3,
        ni: 2,
        mp: 0,
        sls,
        payload: payload.into(),
    }
}
